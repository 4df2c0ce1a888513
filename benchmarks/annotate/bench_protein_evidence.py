"""What evidence of introns is worth to proteins: listed junctions, and introns of the targets.

Run ``python -m benchmarks.annotate.bench_protein_evidence FOLDER [RECORD.json]``; FOLDER is one of
`bench_wild`. PARTS in the environment chooses parts, by commas. Targets are the longest protein of
each annotated gene, at lower identities with gaps.

Parts: ``junctions``: ``annotate --junctions`` with introns that were seen: `COVERED` of those
annotated, and `FALSE` of as many that are none, GT to AG, half of them between a true site and
another one nearby. True ones were seen exp(N(3, 1.5)) times, false ones as often or, as ``rare``,
one to three times. A false one is followed where a structure of its gene has it. ``shuffled``: the
same with proteins in random order. ``places``: ``annotate --target-introns`` with the proteins' own
introns, of which some are elsewhere, as those of a relative.
"""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np

from benchmarks import record
from benchmarks.accuracy.proteins import MATRIX, diverged
from benchmarks.annotate import peers
from benchmarks.annotate.bench_wild import SEED, SHUFFLED, Wild, _models, _ours, longest
from benchmarks.annotate.gene_sets import CodingModel, loci, models_of_gff
from gpu_tools import ProteinSequence, global_align
from gpu_tools.model.scoring import AffineScoring
from gpu_tools.model.sequences import decode

IDENTITIES = 100, 60, 40
COVERED, FALSE = 0.8, 0.05
NEAR = 60
"""Nucleotides from a true site to the site of a false intron nearby, at most."""
CONSERVED = 1.0, 0.5
Intron = tuple[str, str, int, int]


class Junctions(NamedTuple):
    """Introns that were seen: those annotated, and those that are none, with counts."""

    true: dict[Intron, int]
    false: dict[Intron, int]

    def write(self, path: Path) -> None:
        """Write BED6."""
        every = sorted((self.true | self.false).items())
        path.write_text("".join(
            f"{name}\t{start}\t{end}\t.\t{count}\t{strand}\n"
            for (name, strand, start, end), count in every
        ))  # fmt: skip


def introns_of(models: list[CodingModel]) -> set[Intron]:
    """Return the introns of models."""
    return {(*m.introns[:2], *one) for m in models for one in m.introns[2]}


def junctions_of(data: Wild, rare: bool) -> Junctions:
    """Return what was seen."""
    rng, known = np.random.default_rng(SEED), sorted(introns_of([*data.mrnas, *data.coding]))
    seen = [known[k] for k in np.flatnonzero(rng.random(len(known)) < COVERED)]

    def counts(introns, low: bool = False) -> dict[Intron, int]:
        many = np.ceil(np.exp(rng.normal(3, 1.5, len(introns)))).astype(int)
        few = rng.integers(1, 4, len(introns))
        return dict(zip(introns, (few if low else many).tolist(), strict=True))

    false = sorted(_false(rng, data, known, round(FALSE * len(seen))))
    return Junctions(counts(seen), counts(false, rare))


def _false(rng, data: Wild, known: list[Intron], count: int) -> set[Intron]:
    """Return introns from GT to AG that are none."""
    texts = {name: decode(one.codes) for name, one in data.genome.items()}
    found: set[Intron] = set()
    while len(found) < count:
        name, strand, start, end = known[rng.integers(len(known))]
        donor, acceptor = ("GT", "AG") if strand == "+" else ("CT", "AC")
        low = 0 if len(found) % 2 else 10 * NEAR
        begins = _places(texts[name], donor, start - max(low, NEAR), start + max(low, NEAR))
        ends = _places(texts[name], acceptor, end - 2 - max(low, NEAR), end + max(low, NEAR) - 2)
        if not low:  # one site stays
            begins, ends = (begins, [end - 2]) if rng.random() < 0.5 else ([start], ends)
        if begins and ends:
            first, last = int(rng.choice(begins)), int(rng.choice(ends)) + 2
            one = name, strand, first, last
            if last - first >= NEAR and one not in known:
                found.add(one)
    return found


def _places(text: str, word: str, low: int, high: int) -> list[int]:
    low = max(low, 0)
    return [low + m.start() for m in re.finditer(f"(?={word})", text[low : high + len(word)])]


def annotated(data: Wild, targets: dict[str, str], files: dict[str, str]) -> list[CodingModel]:
    """Return the structures that ``annotate`` finds; `files` are texts of further options."""
    with tempfile.TemporaryDirectory() as folder:
        genome, proteins = (Path(folder, name) for name in ("genome.fa", "targets.fa"))
        texts = {name: decode(one.codes) for name, one in data.genome.items()}
        for path, content in ((genome, texts), (proteins, targets)):
            path.write_text("".join(f">{name}\n{text}\n" for name, text in content.items()))
        command = [*_ours("proteins").commands[0]]
        for option, text in files.items():
            path = Path(folder, f"{option}.{'bed' if option == 'junctions' else 'gff3'}")
            path.write_text(text)
            command[-2:-2] = f"--{option}", str(path)
        program = peers.GenomeProgram((tuple(command),), "CDS")
        _, lines = peers.run_program(program, genome, proteins, sites=_models(data)[0])
    return models_of_gff(lines, "CDS", data.genome, None)


def targets_of(data: Wild, identity: int, own: list[CodingModel]) -> dict[str, str]:
    """Return the proteins of models at an identity."""
    rng, texts = np.random.default_rng([SEED, identity]), map(data.protein, own)
    return {
        f"t{k}": text if identity == 100 else diverged(rng, text, identity, gaps=True)
        for k, text in enumerate(texts)
    }


def judged(found: list[CodingModel], data: Wild, own: list[CodingModel]) -> dict:
    """Return counts of introns: true ones among those reported, and of those of the targets."""
    reported, wanted = introns_of(found), introns_of(own)
    known = introns_of([*data.coding, *data.mrnas])
    return {
        "structures": len({*found}), "whole": len({*own} & {*found}),
        "introns": len(reported), "annotated": len(reported & known),
        "wanted": len(wanted), "wanted_found": len(wanted & reported),
    }  # fmt: skip


def junction_rows(data: Wild, tiny: bool) -> Iterator[dict]:
    """Yield introns with what was seen, and without."""
    own = longest(data.coding)[: 8 if tiny else None]
    for identity in IDENTITIES[:1] if tiny else IDENTITIES:
        targets = targets_of(data, identity, own)
        kinds = ("none", False), ("same", False), ("rare", True)
        for evidence, rare in kinds[-1:] if tiny else kinds:
            seen = junctions_of(data, rare)
            with tempfile.TemporaryDirectory() as folder:
                seen.write(Path(folder, "seen.bed"))
                text = Path(folder, "seen.bed").read_text()
            found = annotated(data, targets, {} if evidence == "none" else {"junctions": text})
            yield {
                "identity": identity, "false": evidence,
                **judged(found, data, own), **followed(found, own, seen),
            }  # fmt: skip


def followed(found: list[CodingModel], own: list[CodingModel], seen: Junctions) -> dict:
    """Return how many of the targets' introns that were seen are reported, and how many false.

    Those that are spanned lie between the ends of a structure that is reported.

    Of the latter count genes: those of the targets in whose span a false one lies, and those of
    whose structures one has one.
    """
    reported, wanted = introns_of(found), introns_of(own)
    covered = wanted & set(seen.true)
    spanned = {one for one in covered if any(_within(one, model) for model in found)}
    genes = [
        (gene, [one for one in seen.false if _within(one, gene)]) for gene in own
    ]  # fmt: skip
    genes = [(gene, false) for gene, false in genes if false]
    return {
        "covered": len(covered), "covered_found": len(covered & reported),
        "covered_spanned": len(spanned),
        "not_covered": len(wanted - covered),
        "not_covered_found": len((wanted - covered) & reported),
        "genes_with_false": len(genes),
        "false_followed": sum(any(one in reported for one in false) for _, false in genes),
    }  # fmt: skip


def _within(intron: Intron, gene: CodingModel) -> bool:
    name, strand, start, end = intron
    inside = gene.exons[0][0] <= start and end <= gene.exons[-1][1]
    return inside and (name, strand) == (gene.record, gene.strand)


def shuffled_rows(data: Wild, tiny: bool) -> Iterator[dict]:
    """Yield what proteins in random order give with junctions, and without."""
    rng, texts = np.random.default_rng(SEED), [*map(data.protein, longest(data.coding))]
    several = (texts * (SHUFFLED // len(texts) + 1))[: 5 if tiny else SHUFFLED]
    targets = {f"t{k}": "".join(rng.permutation([*text])) for k, text in enumerate(several)}
    with tempfile.TemporaryDirectory() as folder:
        junctions_of(data, True).write(Path(folder, "seen.bed"))
        text = Path(folder, "seen.bed").read_text()
    evidence = {"no evidence": {}, "junctions": {"junctions": text}}
    for name, files in list(evidence.items())[tiny:]:
        found = annotated(data, targets, files)
        yield {"evidence": name, "targets": len(targets), "loci": len(loci(found))}


def place_rows(data: Wild, tiny: bool) -> Iterator[dict]:
    """Yield introns with those of the targets' own genes, and without."""
    own = longest(data.coding)[: 8 if tiny else None]
    for identity in IDENTITIES[:1] if tiny else (*IDENTITIES[1:], 30):
        targets = targets_of(data, identity, own)
        for conserved in CONSERVED[:1] if tiny else (None, *CONSERVED):
            files = {}
            if conserved is not None:
                rng = np.random.default_rng([SEED, 7])
                files["target-introns"] = "".join(
                    _own_gene(rng, name, data.protein(model), targets[name], model, conserved)
                    for name, model in zip(targets, own, strict=True)
                )
            found = annotated(data, targets, files)
            yield {"identity": identity, "conserved": conserved, **judged(found, data, own)}


def _own_gene(rng, name: str, before: str, protein: str, model: CodingModel, conserved) -> str:
    """Return a target's gene as GFF3: its introns where the protein has them after its gaps."""
    lengths = [end - start for start, end in model.exons]
    lengths = lengths if model.strand == "+" else lengths[::-1]
    column = _columns(before, protein)
    places = set()
    for place in np.cumsum(lengths)[:-1].tolist():
        residue, phase = divmod(place, 3)
        if rng.random() < conserved:
            places.add(3 * column[min(residue, len(before))] + phase)
        else:
            places.add(int(rng.integers(1, 3 * len(protein))))
    edges = [0, *sorted(p for p in places if 0 < p < 3 * len(protein)), 3 * len(protein) + 3]
    starts = [edge + 100 * k for k, edge in enumerate(edges[:-1])]
    return "".join(
        f"own_{name}\tx\tCDS\t{start + 1}\t{start + b - a}\t.\t+\t{-a % 3}\tParent={name}\n"
        for start, a, b in zip(starts, edges, edges[1:], strict=False)
    )


def _columns(before: str, after: str) -> list[int]:
    """Return how many residues of a mutated protein lie before each of its original's."""
    scoring = AffineScoring(matrix=MATRIX, gap_open=12, gap_extend=1)
    pair = tuple(ProteinSequence.from_text("p", text) for text in (before, after))
    columns, at = [], 0
    (found,) = global_align([pair], scoring, device="cpu")
    for letter, length in found.cigar:
        for k in range(length):
            if letter != "D":
                columns.append(at + (k if letter != "I" else 0))
        at += length if letter != "I" else 0
    return [*columns, at]


PARTS = {"junctions": junction_rows, "shuffled": shuffled_rows, "places": place_rows}


def measure(folder: Path, tiny: bool = False) -> Iterator[tuple[str, object]]:
    """Yield the rows of the parts."""
    data = Wild.read(folder)
    for part in os.environ.get("PARTS", ",".join(PARTS)).split(","):
        for k, figures in enumerate(PARTS[part](data, tiny)):
            yield f"{part} {k}", figures


if __name__ == "__main__":
    record.main(measure, needs_folder=True)
