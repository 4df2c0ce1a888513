"""What is reported on a genome that hardly anything was chosen on: exact structures, and chance.

Run ``python -m benchmarks.annotate.bench_wild FOLDER [RECORD.json]``. FOLDER holds ``genome.fa.gz``
and ``annotation.gff3.gz`` with features ``exon`` and ``CDS``, as ``worm`` for the worm, or
``truth.gtf.gz`` with features CDS as ``fly2L`` and ``at`` have; beside it lies ``kogs`` of
`benchmarks.accuracy.proteins`. PARTS in the environment chooses parts, MINIPROT names that program.
On ``worm`` the cost of ends, the rule for genes that an edge cuts off and the limits of the warning
about a model were looked at; weights were chosen on the other two.

Parts: ``mrnas``: the longest mRNA of each gene with some per cent of its nucleotides substituted;
``own``: the proteins of all transcripts, and the longest one of each gene at lower identities with
gaps; ``distant``: conserved proteins of other kingdoms; ``shuffled``: proteins in random order.
Each program is a process of one thread, from FASTA files to GFF3 or SAM, index included. All that
it reports counts; of minimap2 what is secondary does not.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np

from benchmarks import record
from benchmarks.accuracy.programs import MINIMAP2, MINIPROT, exons_of_sam, versions, with_stop_codon
from benchmarks.accuracy.proteins import _kogs, diverged
from benchmarks.annotate import peers
from benchmarks.annotate.gene_sets import CodingModel, loci, models_of_gff
from gpu_tools.formats.exons.annotation import read_coding, read_transcripts
from gpu_tools.formats.sequences.fasta import read_fasta
from gpu_tools.model.sequences import Sequence, decode, decode_protein, reverse_complement
from gpu_tools.model.translation import translate

SEED = 2041
MODELS = {
    "worm": ("worm", "NematodC"),
    "fly2L": ("fly", "InsectDm"),
    "at": ("arabidopsis", "Magnolio"),
}
"""Our site model and spaln's parameters for a folder; others are taken for a vertebrate's."""
SUBSTITUTED, IDENTITIES = (0, 5, 15, 25), (80, 60, 40)
KINGDOMS = "human", "fly", "arabidopsis"
SHUFFLED = 500
Genome = dict[str, Sequence]


class Wild(NamedTuple):
    """A genome and its annotated transcripts: their exons, and their coding exons."""

    folder: Path
    genome: Genome
    mrnas: list[CodingModel]
    coding: list[CodingModel]

    @classmethod
    def read(cls, folder: Path) -> Wild:
        """Read a folder."""
        genome = {one.name: one for one in read_fasta(folder / "genome.fa.gz")}
        path = folder / "annotation.gff3.gz"
        path = path if path.exists() else folder / "truth.gtf.gz"
        coding = [
            CodingModel(name, one.strand, tuple(sorted((s.start, s.end) for s in one.segments)))
            for name, several in read_coding(path).items() for one in several
        ]  # fmt: skip
        exons = [CodingModel(*one) for one in read_transcripts(path)]
        return cls(folder, genome, exons, [one for one in coding if one.record in genome])

    def spliced(self, model: CodingModel) -> Sequence:
        """Return the nucleotides of a transcript."""
        codes = self.genome[model.record].codes
        joined = np.concatenate([codes[a:b] for a, b in model.exons])
        return Sequence("", joined if model.strand == "+" else reverse_complement(joined))

    def protein(self, model: CodingModel) -> str:
        """Return the protein of a transcript's coding exons."""
        own = decode_protein(translate(self.spliced(model).codes))
        return own.removesuffix("*").replace("*", "X")


def _length(model: CodingModel) -> int:
    return sum(end - start for start, end in model.exons)


def longest(models: list[CodingModel]) -> list[CodingModel]:
    """Return the longest transcript of each gene, which are transcripts that share nucleotides."""
    return sorted(max(sorted(gene), key=_length) for gene in loci(models))


def coding_mrnas(data: Wild) -> list[CodingModel]:
    """Return the transcripts whose exons hold a coding sequence."""
    return [
        mrna for gene in loci([*data.mrnas, *data.coding]) for mrna in {*gene} & {*data.mrnas}
        if any(holds(mrna, one) for one in {*gene} & {*data.coding})
    ]  # fmt: skip


def holds(mrna: CodingModel, coding: CodingModel) -> bool:
    """Return whether the introns of a coding sequence are all that a transcript has in its span."""
    begin, end = coding.exons[0][0], coding.exons[-1][1]
    inner = tuple(one for one in mrna.introns[2] if begin < one[1] and one[0] < end)
    return (
        (mrna.record, mrna.strand, inner) == coding.introns
        and any(first <= begin < last for first, last in mrna.exons)
        and any(first < end <= last for first, last in mrna.exons)
    )


# Programs: processes that write transcripts.


def structures(
    command: peers.GenomeProgram, data: Wild, targets: dict[str, str], read: Callable,
    models: tuple[str, str] | None = None,
) -> tuple[list[CodingModel], dict]:  # fmt: skip
    """Return the transcripts that a program finds with some targets, and its times.

    `models` are our site model and spaln's parameters, by default those of the folder.
    """
    words = dict(zip(("sites", "species"), models or _models(data), strict=True))
    with tempfile.TemporaryDirectory() as folder:
        files = [Path(folder, name) for name in ("genome.fa", "targets.fa")]
        texts = {name: decode(one.codes) for name, one in data.genome.items()}, targets
        for path, content in zip(files, texts, strict=True):
            path.write_text("".join(f">{name}\n{text}\n" for name, text in content.items()))
        times, lines = peers.run_program(command, *files, **words)
    return read(lines, data.genome), {
        name: times[name] for name in ("seconds", "processor_seconds", "peak_megabytes")
    }


def _models(data: Wild) -> tuple[str, str]:
    return MODELS.get(data.folder.name, ("vertebrate", "Tetrapod"))


def _of_gff(feature: str, extend: Callable | None = None) -> Callable:
    return lambda lines, genome: models_of_gff(lines, feature, genome, extend)


def _of_sam(lines: list[str], genome: Genome) -> list[CodingModel]:
    """Return the exons of primary alignments; each read is one of `exons_of_sam`."""
    rows = [line.split("\t") for line in lines]
    found = []
    for row in rows:
        for exons in exons_of_sam([row]).values():
            found.append(CodingModel(row[2], exons[0][0], tuple(e[1:] for e in exons)))
    return found


def _ours(kind: str) -> peers.GenomeProgram:
    changed = {"fly": "{sites}", "--proteins": f"--{kind}"}
    command = [changed.get(word, word) for word in peers.COMMAND]
    command[command.index("--threads") + 1] = "1"
    return peers.GenomeProgram((tuple(command),), "")


def _spaln(index: str, *options: str) -> peers.GenomeProgram:
    search = ("spaln", "-Q7", "-O0", "-M1", "-t1", *options, "-T{species}", "-d./genome")
    commands = ("spaln", "-W", index, "{genome}"), (*search, "{proteins}")
    return peers.GenomeProgram(commands, "")


_MINIMAP2 = tuple({"{base}": "{genome}", "{targets}": "{proteins}"}.get(w, w) for w in MINIMAP2)
_MINIPROT = (MINIPROT, "-t1", "--outn=1", "--gff", "{genome}", "{proteins}")
PROGRAMS = {
    "cdnas": {
        "gpu-tools": (_ours("cdnas"), _of_gff("exon")),
        "spaln": (_spaln("-KD", "-S3"), _of_gff("exon")),
        "minimap2": (peers.GenomeProgram((_MINIMAP2,), ""), _of_sam),
    },
    "proteins": {
        "gpu-tools": (_ours("proteins"), _of_gff("CDS")),
        "spaln": (_spaln("-KP"), _of_gff("cds", with_stop_codon)),
        "miniprot": (peers.GenomeProgram((_MINIPROT,), ""), _of_gff("CDS", with_stop_codon)),
    },
}
"""Of cDNAs and of proteins: commands, and what reads their output."""


def each_program(
    kind: str, data: Wild, targets: dict[str, str]
) -> Iterator[tuple[str, list[CodingModel], dict]]:
    """Yield name, transcripts and times of each program that is here."""
    for name, (command, read) in PROGRAMS[kind].items():
        if shutil.which(command.commands[-1][0]):
            found, times = structures(command, data, targets, read)
            yield name, found, times


# Parts.


def mrna_rows(data: Wild, tiny: bool) -> Iterator[dict]:
    """Yield exact mRNAs, both outer ends included, and edges of exons at introns."""
    own = longest(coding_mrnas(data))
    for percent in SUBSTITUTED[:1] if tiny else SUBSTITUTED:
        rng = np.random.default_rng([SEED, percent])
        targets = {
            f"t{k}": substituted(rng, decode(data.spliced(mrna).codes), percent / 100)
            for k, mrna in enumerate(own)
        }
        for name, found, times in each_program("cdnas", data, targets):
            yield {
                "method": name, "substituted": percent, "targets": len(own), "found": len(found),
                "exact": len({*own} & {*found}),
                "chains": len(_introns(own) & _introns(found)), "of_chains": len(_introns(own)),
                "edges": _f1(_edges(found), _edges(data.mrnas), _edges(own)), **times,
            }  # fmt: skip


def substituted(rng, text: str, rate: float) -> str:
    """Return nucleotides of which a part is replaced by another one."""
    letters = np.array(list(text))
    changed = rng.random(len(letters)) < rate
    others = {one: [c for c in "ACGT" if c != one] for one in "ACGTN"}
    letters[changed] = [rng.choice(others[one]) for one in letters[changed]]
    return "".join(letters)


def _introns(models: list[CodingModel]) -> set:
    return {model.introns for model in models if len(model.exons) > 1}


def _edges(models: list[CodingModel]) -> set:
    """Return inner exons, and the inner edges of outer ones."""
    found = set()
    for model in (m for m in models if len(m.exons) > 1):
        own = (-1, model.exons[0][1]), *model.exons[1:-1], (model.exons[-1][0], -1)
        found |= {(model.record, model.strand, *part) for part in own}
    return found


def _f1(found: set, known: set, wanted: set) -> float:
    """Return F1: precision by all that is annotated, sensitivity by what the targets are of."""
    precision, sensitivity = (
        len(found & true) / max(len(whole), 1) for true, whole in ((known, found), (wanted, wanted))
    )
    return round(2 * precision * sensitivity / max(precision + sensitivity, 1e-9), 4)


def own_rows(data: Wild, tiny: bool) -> Iterator[dict]:
    """Yield whole structures by own proteins, those of all transcripts and diverged ones."""
    every, single = sorted({*data.coding}), longest(data.coding)
    for identity, own in [(100, every), *((percent, single) for percent in IDENTITIES)]:
        if tiny and identity < 100:
            return
        rng, texts = np.random.default_rng([SEED, identity]), map(data.protein, own)
        targets = {
            f"t{k}": text if identity == 100 else diverged(rng, text, identity, gaps=True)
            for k, text in enumerate(texts)
        }
        for name, found, times in each_program("proteins", data, targets):
            yield {
                "method": name, "identity": identity, "targets": len(own), **_judged(found, data),
                "whole": len({*own} & {*found}),
                "exons": _f1(_exons(found), _exons(data.coding), _exons(own)), **times,
            }  # fmt: skip


def _exons(models: list[CodingModel]) -> set:
    return {(m.record, m.strand, *exon) for m in models for exon in m.exons}


def _judged(found: list[CodingModel], data: Wild) -> dict:
    """Return counts of structures, of junctions, and of loci beside the annotation."""
    reported = {(*m.introns[:2], *one) for m in found for one in m.introns[2]}
    known = {(*m.introns[:2], *one) for m in [*data.coding, *data.mrnas] for one in m.introns[2]}
    every = loci({*found, *data.coding})
    beside = sum({*locus}.isdisjoint(data.coding) for locus in every)
    return {
        "structures": len({*found}), "annotated": len({*found} & {*data.coding}),
        "junctions": len(reported), "junctions_annotated": len(reported & known),
        "loci_beside": beside,
    }  # fmt: skip


def distant_rows(data: Wild, tiny: bool) -> Iterator[dict]:
    """Yield junctions by conserved proteins of each kingdom."""
    for kingdom in () if tiny else KINGDOMS:
        targets = _kogs(data.folder.parent / "kogs" / f"{kingdom}.fa.gz")
        for name, found, times in each_program("proteins", data, targets):
            yield {"method": name, "source": kingdom, "targets": len(targets),
                   **_judged(found, data), **times}  # fmt: skip


def shuffled_rows(data: Wild, tiny: bool) -> Iterator[dict]:
    """Yield what proteins in random order give."""
    rng, texts = np.random.default_rng(SEED), [*map(data.protein, longest(data.coding))]
    several = (texts * (SHUFFLED // len(texts) + 1))[: 5 if tiny else SHUFFLED]
    targets = {f"t{k}": "".join(rng.permutation([*text])) for k, text in enumerate(several)}
    for name, found, times in each_program("proteins", data, targets):
        yield {"method": name, "targets": len(targets), "loci": len(loci(found)), **times}


PARTS = {
    "mrnas": mrna_rows, "own": own_rows, "distant": distant_rows, "shuffled": shuffled_rows,
}  # fmt: skip


def measure(folder: Path, tiny: bool = False) -> Iterator[tuple[str, object]]:
    """Yield versions of the programs, and the rows of the parts."""
    yield "versions", versions()
    data = Wild.read(folder)
    for part in os.environ.get("PARTS", ",".join(PARTS)).split(","):
        for k, figures in enumerate(PARTS[part](data, tiny)):
            yield f"{part} {k}", figures


if __name__ == "__main__":
    record.main(measure, needs_folder=True)
