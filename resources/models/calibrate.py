"""Simulate best scores of unrelated targets and write the parameters of their law as JSON.

Run as ``python resources/models/calibrate.py`` for list mode and the shipped site models; needed
again whenever a site model's numbers or the default scores change. ``--only vertebrate`` does one
site model, ``--only candidates`` list mode, ``--only proteins-vertebrate`` proteins in site mode,
``--only proteins-candidates`` proteins in list mode.
``--device cuda`` gives the same files sooner, ``--missing`` leaves the entries that a file has.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from gpu_tools.exons.model import load_model
from gpu_tools.exons.predict import predict_exons
from gpu_tools.formats.scales import load_matrix
from gpu_tools.formats.sequences.fasta import read_fasta
from gpu_tools.formats.tables import read_table
from gpu_tools.model.json_model import shipped_in
from gpu_tools.model.scoring import (
    CANDIDATE_WEIGHTS,
    SITE_SCORING,
    ProteinScoring,
    SplicedScoring,
)
from gpu_tools.model.sequences import AMINO_ACIDS, ProteinSequence, Sequence, encode
from gpu_tools.model.significance import (
    SIGNIFICANCE_FORMAT,
    circumstances_of,
    fit_null_model,
    setting_of,
)
from gpu_tools.model.translation import STOP_CODONS, amino_acids
from gpu_tools.sites import GeneSites, SiteCase, load_sites, site_align, tables_of
from gpu_tools.sites.proteins.api import (
    ProteinCase,
    protein_align,
    protein_sites,
    protein_tables_of,
)
from gpu_tools.spliced import Case, spliced_align
from gpu_tools.spliced.proteins.api import ListedProteinCase, protein_spliced_align

HERE = Path(__file__).parent
TRAINING = HERE.parent / "training"
SEED = 22
LENGTHS = (51, 120, 300, 699, 1500)
"""Lengths of targets; whole codons."""
RESIDUES = (30, 70, 150, 300, 600)
"""Lengths of proteins."""
SPACES = ((5_000, 6, 5), (20_000, 6, 5), (80_000, 6, 4), (200_000, 4, 3), (None, 1, 8))
"""Lengths of base sequences, how many of each, and targets of each length on each of them."""
READINGS = "any", "complete", "incomplete"
KINDS = ("any", False), ("any", True), ("complete", True), ("incomplete", True)
"""Readings, each with whether targets are coding from end to end."""
SITE_SETTINGS = tuple(
    (reading, coding, ends, cost)
    for reading, coding in KINDS
    for ends in ("global", "free-target", "free")
    for cost in ((0,) if ends == "global" else (0, SITE_SCORING.end_cost))
)
CANDIDATE_SETTINGS = tuple(
    (reading, ends, weight, penalty)
    for reading in READINGS
    for ends in ("global", "free-target", "free")
    for weight, penalty in ((0.0, 0), (0.5, 10))
    if reading == "any" or ends != "free"  # which is not possible
)
SEEN = 0.99
"""Quantile of the simulated agreements up to which a law holds, see `NullModel`."""
NUCLEOTIDES, CANDIDATES = 100_000, 2_500
"""Spaces at which the best scores of site mode and of list mode may begin to rise faster."""
LEAST_AGREEMENT = 0.2525
"""Agreement that smaller ones count as for chains that translate, see `limits_of`.

Such chains lie in open reading frames, whose composition is not the base's. On other genomes than
the calibration's the best scores of coding targets do not fall with the agreement as the fit has
it. What is above 1/4 is a margin in proportion to the target's length, some 10 points a thousand
nucleotides.
"""
PROTEINS, LISTED = "proteins-", "candidates"
PROTEIN_ENDS = ("global", "free-target")
PROTEIN_MARGIN = 2.0
"""See `gpu_tools.model.significance.NullModel`. Of shuffled fly proteins on 3 Mb of the fly's
genome 5 of 70 would pass an E-value of 0.01 without it."""
LISTED_PROTEIN_MARGIN = 1.5
"""The same in list mode: 3 of 400 shuffled fly proteins would pass with global ends, 10 with free
target ends."""
CODING_MARGIN = 1.5
"""The same, for chains that translate in site mode. A stretch of few codons scores like one of few
amino acids. Of 2,000 fly coding sequences with shuffled codons 44 would pass an E-value of 0.01
without it, with free target ends 31."""
LISTED_REPETITIONS = {
    "global": {"usual": 0.27, "slope": 50.0, "least": 0.0},
    "free-target": {"usual": 0.285, "slope": 50.0, "least": -1.0},
}
"""Shifts of locations by ends for chains of listed candidates that translate, see
`gpu_tools.model.significance.RepetitionShift`, chosen on fly. Without them 18 of 2,000 fly coding
sequences with shuffled codons would pass an E-value of 0.01 with global ends, and 24 with free
target ends, nearly all of them with a high repetition."""
_GC, _TILT = (0.3, 0.7), 1.0
_COMPOSITION = 0.6
"""Standard deviation of the logarithm of an amino acid's frequency in a protein."""


@dataclass
class Simulation:
    """Random targets on parts of genomic records.

    Attributes
    ----------
    records : ndarray of uint8
        The records' nucleotides, one record behind the other.
    device : str
    known : list
        Entries that are there already.
    """

    records: np.ndarray
    device: str
    known: list[dict[str, Any]] = field(default_factory=list)

    def targets(
        self, random: np.random.Generator, reading: str | None, count: int
    ) -> list[Sequence]:
        """Return targets of all lengths, of random composition; proteins without a reading."""
        if reading is None:
            return [protein(random, length) for length in RESIDUES for _ in range(count)]
        make = nucleotides if reading == "any" else coding
        return [make(random, length) for length in LENGTHS for _ in range(count)]

    def bases(self, random: np.random.Generator) -> Iterator[tuple[Sequence, int]]:
        """Yield parts of the records, each with how many targets of each length it gets."""
        for length, windows, count in SPACES:
            size = min(length or len(self.records), len(self.records))
            for _ in range(windows):
                start = random.integers(0, len(self.records) - size + 1)
                yield Sequence("base", self.records[start : start + size].copy()), count

    def law(self, setting: dict[str, Any], make_cases, align, usual_space: float):
        """Return the entry of one setting, made of the scores of all targets on all bases.

        What passes is counted without `LEAST_AGREEMENT`, so that it tells how good the fit is.
        """
        for law in self.known:
            if law["setting"] == setting:
                return law
        random, cases, scores = np.random.default_rng(SEED), [], []
        for base, count in self.bases(random):
            made = make_cases(base, self.targets(random, setting.get("reading"), count))
            aligned = align(made, device=self.device)
            found = [k for k, alignment in enumerate(aligned) if alignment.score is not None]
            cases += [made[k] for k in found]
            scores += [aligned[k].score for k in found]
        where = circumstances_of(cases)
        model = fit_null_model(where, scores, usual_space)
        laws = model.laws(where)
        at = np.array([law.evalue(s) for law, s in zip(laws, scores, strict=True)])
        return {
            "setting": setting, "cases": len(scores),
            "mean": [round(x, 6) for x in model.mean],
            "variance": [round(x, 6) for x in model.variance],
            "usual_space": usual_space, "least_space": round(model.least_space, 1),
            "largest_space": round(float(where.spaces.max()), 1),
            "largest_agreement": round(float(np.quantile(where.agreements, SEEN)), 4),
            "passing": {str(x): round(float(np.mean(at <= x)), 4) for x in (0.1, 0.05, 0.01)},
        } | limits_of(setting)  # fmt: skip


def limits_of(setting: dict[str, Any]) -> dict[str, Any]:
    """Return the corrections of a setting, as an entry has them, if it has any.

    Proteins have a margin, and so have chains that translate in site mode. Those of list mode with
    an exon weight have a shift. They have a least agreement, too, and so have those of site mode
    with global ends.
    """
    in_sites = bool(setting["sites"])
    if "pairs" in setting:
        return {"margin": PROTEIN_MARGIN if in_sites else LISTED_PROTEIN_MARGIN}
    if setting.get("reading", "any") == "any" or not (in_sites or setting["exon_weight"] > 0):
        return {}
    least = {"least_agreement": LEAST_AGREEMENT}
    if not in_sites:
        return least | {"repetition": LISTED_REPETITIONS[setting["ends"]]}
    return (least if setting["ends"] == "global" else {}) | {"margin": CODING_MARGIN}


def nucleotides(random: np.random.Generator, length: int) -> Sequence:
    """Return independent nucleotides of a random content of G and C."""
    gc = random.uniform(*_GC) / 2
    codes = random.choice(4, length, p=(0.5 - gc, gc, gc, 0.5 - gc))
    return Sequence("target", codes.astype(np.uint8))


def coding(random: np.random.Generator, length: int) -> Sequence:
    """Return a start codon, independent codons of tilted human usage, and a stop codon."""
    usage = {row["codon"]: float(row["frequency"]) for row in codon_usage()}
    codons = [codon for codon in usage if codon not in STOP_CODONS]
    tilt = random.uniform(-_TILT, _TILT)
    chances = [usage[c] * np.exp(tilt * sum(letter in "GC" for letter in c)) for c in codons]
    inner = random.choice(codons, length // 3 - 2, p=np.array(chances) / np.sum(chances))
    return Sequence.from_text("target", "ATG" + "".join(inner) + "TAA")


def protein(random: np.random.Generator, length: int) -> ProteinSequence:
    """Return M and independent residues, with frequencies near those of human codon usage."""
    usage = {row["codon"]: float(row["frequency"]) for row in codon_usage()}
    frequencies = np.zeros(len(AMINO_ACIDS))
    for codon, frequency in usage.items():
        if codon not in STOP_CODONS:
            frequencies[amino_acids()[tuple(encode(codon))]] += frequency
    frequencies *= np.exp(random.normal(0, _COMPOSITION, len(frequencies)))
    codes = random.choice(len(AMINO_ACIDS), length, p=frequencies / frequencies.sum())
    codes[0] = AMINO_ACIDS.index("M")
    return ProteinSequence("target", codes.astype(np.uint8))


def codon_usage() -> list[dict[str, str]]:
    """Return the rows of the table of codon usage."""
    return [row for _, row in read_table(TRAINING / "codon_usage.tsv", ("codon", "frequency"))]


def site_laws(simulation: Simulation, model: GeneSites) -> Iterator[dict[str, Any]]:
    """Yield the entries of a site model."""
    for reading, coding, ends, cost in SITE_SETTINGS:

        def cases(base, targets, reading=reading, coding=coding, ends=ends):
            tables = tables_of(base, model, "+-", ends, reading, coding=coding)
            return [SiteCase(base, target, tables) for target in targets]

        scoring = SplicedScoring(ends=ends, end_cost=cost)
        setting = setting_of(scoring, reading, model.fingerprint, coding)
        align = partial(site_align, scoring=scoring)
        yield simulation.law(setting, cases, align, NUCLEOTIDES)


def protein_laws(simulation: Simulation, model: GeneSites) -> Iterator[dict[str, Any]]:
    """Yield the entries of a site model for proteins."""
    weighted = protein_sites(model)
    for ends in PROTEIN_ENDS:
        scoring = ProteinScoring(load_matrix("BLOSUM62"), ends=ends)

        def cases(base, targets, scoring=scoring):
            tables = protein_tables_of(base, weighted, scoring)
            return [ProteinCase(base, target, tables) for target in targets]

        setting = setting_of(scoring, sites=weighted.fingerprint)
        align = partial(protein_align, scoring=scoring)
        yield simulation.law(setting, cases, align, NUCLEOTIDES)


def listed_cases(make: type[Case]):
    """Return what makes cases of a base and targets, with the candidates of ``exons predict``."""
    predictor, predicted = load_model("vertebrate"), {}

    def cases(base, targets):
        key = base.codes.tobytes()
        if key not in predicted:
            predicted[key] = predict_exons(base.codes, predictor)
        return [make(base, target, predicted[key]) for target in targets]

    return cases


def listed_protein_laws(simulation: Simulation) -> Iterator[dict[str, Any]]:
    """Yield the entries of list mode for proteins."""
    cases = listed_cases(ListedProteinCase)
    for ends in PROTEIN_ENDS:
        scoring = ProteinScoring(load_matrix("BLOSUM62"), ends=ends, **CANDIDATE_WEIGHTS)
        align = partial(protein_spliced_align, scoring=scoring)
        yield simulation.law(setting_of(scoring), cases, align, CANDIDATES)


def candidate_laws(simulation: Simulation) -> Iterator[dict[str, Any]]:
    """Yield the entries of list mode."""
    cases = listed_cases(Case)
    for reading, ends, weight, penalty in CANDIDATE_SETTINGS:
        scoring = SplicedScoring(exon_weight=weight, intron_penalty=penalty, ends=ends)
        align = partial(spliced_align, scoring=scoring, reading=reading)
        yield simulation.law(setting_of(scoring, reading), cases, align, CANDIDATES)


def write(path: Path, laws: Iterator[dict[str, Any]], source: str) -> None:
    """Write a file of entries, one a line."""
    lines = []
    for law in laws:
        print(path.stem, law["setting"], law["cases"], law["passing"], flush=True)
        lines.append(f"    {json.dumps(law)}")
    head = {"format": SIGNIFICANCE_FORMAT, "version": 1, "source": source, "seed": SEED}
    texts = [f"  {json.dumps(key)}: {json.dumps(value)}" for key, value in head.items()]
    texts.append('  "laws": [\n' + ",\n".join(lines) + "\n  ]")
    path.parent.mkdir(exist_ok=True)
    path.write_text("{\n" + ",\n".join(texts) + "\n}\n", encoding="ascii", newline="\n")


def main() -> None:
    """Write the files."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--records", type=Path, default=TRAINING / "records.fa.gz")
    parser.add_argument("--source", default="random targets on resources/training/records.fa.gz")
    parser.add_argument(
        "--only",
        action="append",
        metavar="candidates|SITE_MODEL|proteins-candidates|proteins-SITE_MODEL",
    )
    parser.add_argument("--output", type=Path, default=HERE / "significance", metavar="FOLDER")
    parser.add_argument("--device", default="auto")
    parser.add_argument("--missing", action="store_true")
    options = parser.parse_args()
    codes = np.concatenate([record.codes for record in read_fasta(options.records)])
    simulation = Simulation(codes, options.device)
    shipped = shipped_in(HERE / "sites")
    proteins = [f"{PROTEINS}{name}" for name in [LISTED, *shipped]]
    for name in options.only or [LISTED, *shipped, *proteins]:
        path = options.output / f"{name}.json"
        if options.missing and path.exists():
            simulation.known = json.loads(path.read_text("ascii"))["laws"]
        write(path, _laws(simulation, name), options.source)


def _laws(simulation: Simulation, name: str) -> Iterator[dict[str, Any]]:
    if name == LISTED:
        return candidate_laws(simulation)
    if name == f"{PROTEINS}{LISTED}":
        return listed_protein_laws(simulation)
    if name.startswith(PROTEINS):
        return protein_laws(simulation, load_sites(name.removeprefix(PROTEINS)))
    return site_laws(simulation, load_sites(name))


if __name__ == "__main__":
    main()
