"""Make site models from AUGUSTUS's figures of species.

Run as ``python resources/models/augustus_sites.py [FOLDER] [--output FOLDER]``. FOLDER holds the
species of AUGUSTUS, by default where Debian's package ``augustus-data`` puts them.

AUGUSTUS counts words at donors and acceptors, has a Markov chain of the nucleotides before
acceptors, the lengths of introns and exons, and words of five nucleotides in introns and between
genes, which are the background here, both strands together.
"""

from __future__ import annotations

import argparse
import re
from itertools import product
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from gpu_tools.model.json_model import model_to_json
from gpu_tools.model.sequences import encode, reverse_complement
from gpu_tools.model.translation import stop_codons
from gpu_tools.sites.training import (
    LARGEST_SHORTEST,
    LEAST_SHORTEST,
    IntronFigures,
    SiteDesign,
    site_model,
)
from gpu_tools.splicing.site_matrix import rounded

HERE = Path(__file__).parent
FOLDER = Path("/usr/share/augustus/config/species")


class Species(NamedTuple):
    """A species of AUGUSTUS."""

    name: str  # of the model
    folder: str  # AUGUSTUS's name
    latin: str
    code: int = 1  # genetic code


SPECIES = (
    Species("aphid", "pea_aphid", "Acyrthosiphon pisum"),
    Species("aspergillus", "aspergillus_nidulans", "Aspergillus nidulans"),
    Species("beetle", "tribolium2012", "Tribolium castaneum"),
    Species("chicken", "chicken", "Gallus gallus"),
    Species("chlamydomonas", "chlamy2011", "Chlamydomonas reinhardtii"),
    Species("cryptococcus", "cryptococcus_neoformans_neoformans_JEC21", "Cryptococcus neoformans"),
    Species("fission-yeast", "schizosaccharomyces_pombe", "Schizosaccharomyces pombe"),
    Species("frog", "Xenopus_tropicalis", "Xenopus tropicalis"),
    Species("fusarium", "fusarium_graminearum", "Fusarium graminearum"),
    Species("grape", "Vitis_vinifera", "Vitis vinifera"),
    Species("honeybee", "honeybee1", "Apis mellifera"),
    Species("human", "human", "Homo sapiens"),
    Species("maize", "maize", "Zea mays"),
    Species("mosquito", "Anopheles_gambiae", "Anopheles gambiae"),
    Species("moss", "Physcomitrium_patens", "Physcomitrium patens"),
    Species("neurospora", "neurospora_crassa", "Neurospora crassa"),
    Species("plasmodium", "pfalciparum", "Plasmodium falciparum"),
    Species("rhizopus", "rhizopus_oryzae", "Rhizopus oryzae"),
    Species("rice", "rice", "Oryza sativa"),
    Species("schistosoma", "schistosoma", "Schistosoma mansoni"),
    Species("sea-squirt", "ciona", "Ciona intestinalis"),
    Species("tetrahymena", "tetrahymena", "Tetrahymena thermophila", 6),
    Species("tomato", "tomato", "Solanum lycopersicum"),
    Species("toxoplasma", "toxoplasma", "Toxoplasma gondii"),
    Species("ustilago", "ustilago_maydis", "Ustilago maydis"),
    Species("wasp", "nasonia", "Nasonia vitripennis"),
    Species("wheat", "wheat", "Triticum aestivum"),
    Species("worm", "caenorhabditis", "Caenorhabditis elegans"),
    Species("yeast", "saccharomyces_cerevisiae_rm11-1a_1", "Saccharomyces cerevisiae"),
    Species("zebrafish", "zebrafish", "Danio rerio"),
)
WIDTH = 5
WORDS = np.array([encode("".join(word)) for word in product("ACGT", repeat=WIDTH)])
POWERS = 4 ** np.arange(WIDTH)[::-1]
FAR = 3
"""Columns from a site's two fixed nucleotides to which the background's words of five reach."""
GC_SHARE = 0.01
"""Share of donors with GC, which AUGUSTUS does not count: that of fly and Arabidopsis together."""


def words_of(text: str, sign: str = "") -> tuple[NDArray, NDArray]:
    """Return the words of nucleotides at the beginning of lines, as codes, and their numbers."""
    found = re.findall(rf"^{sign}([ACGTacgt]+)\t([0-9.][0-9.e-]*)\s*$", text, re.M)
    return np.array([encode(word.upper()) for word, _ in found]), np.array(
        [float(number) for _, number in found]
    )


def of_five(codes: NDArray, numbers: NDArray) -> NDArray[np.float64]:
    """Return numbers of words of five in the order of `WORDS`.

    Longer words count as their first five nucleotides, shorter ones go on as a Markov chain.
    """
    width = min(codes.shape[1], WIDTH)
    found = np.bincount(codes[:, :width] @ POWERS[-width:], numbers, 4**width)
    for _ in range(width, WIDTH):
        behind = found.reshape(4, -1, 4).sum(axis=0)
        behind /= behind.sum(axis=1, keepdims=True)
        found = (found.reshape(-1, len(behind))[..., None] * behind).ravel()
    return found


def setting(text: str, name: str) -> int:
    """Return an integer of AUGUSTUS's configuration."""
    return int(re.search(rf"^/Constant/{name}\s+(\d+)", text, re.M)[1])


def number_below(text: str, title: str) -> float:
    """Return the number on the line below a title."""
    return float(re.search(rf"{title}.*\n\s*(\S+)", text)[1])


def shares(codes: NDArray, weights: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the shares of A, C, G, T in each column of some words."""
    table = [np.bincount(column, weights, 4) for column in codes.T]
    return np.array(table) / weights.sum()


def chain_shares(section: str, words: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the shares of a Markov chain, begun with the words' first nucleotides."""
    width, order = (int(number_below(section, f"{letter}=")) for letter in "nk")
    before = words.reshape(4**order, -1).sum(axis=1) / words.sum()
    columns = []
    for k in range(width):
        line = re.search(rf"^ ?{k}[ \t]+(\S.*)$", section, re.M)[1]
        joint = before[:, None] * np.array(line.split(), dtype=float).reshape(-1, 4)
        before = joint.reshape(4, -1).sum(axis=0)
        columns.append(joint.sum(axis=0))
    return np.array(columns)


def surroundings(background: NDArray, words: tuple[str, ...], before: int, after: int) -> NDArray:
    """Return the background's shares around one of some words of two, and in these.

    Beyond `FAR` columns they are those of the whole background.
    """
    near_before, near_after = min(before, FAR), min(after, FAR)

    def near(at: int) -> NDArray:
        holds = np.any([np.all(WORDS[:, at : at + 2] == encode(w), axis=1) for w in words], axis=0)
        return shares(WORDS, np.where(holds, background, 0.0))

    usual = shares(WORDS, background)[2]
    left, right = near(near_before)[: near_before + 2], near(0)[2 : 2 + near_after]
    far = [np.tile(usual, (n, 1)) for n in (before - near_before, after - near_after)]
    return np.vstack([far[0], left, right, far[1]])


def matrix(
    observed: NDArray, chance: NDArray, n: int, before: int, cutoff: float, design: SiteDesign
) -> tuple[dict, float]:
    """Return a matrix in bits, the background being added to `n` observations, and their mean."""
    smoothed = (observed * n + chance * design.site_weight) / (n + design.site_weight)
    with np.errstate(divide="ignore", invalid="ignore"):
        bits = np.where(chance > 0, np.log2(smoothed / chance), -np.inf)
    mean = float((observed * np.where(observed > 0, bits, 0)).sum())
    return {"before": before, "scores": rounded(bits), "cutoff": cutoff}, round(mean, 2)


def donor(words, n: int, before: int, background, design: SiteDesign) -> tuple[dict, float]:
    """Return the matrix of donors and its mean.

    Its columns are `before` exon nucleotides, GT or GC, and the intron's next.
    """
    own = shares(*words)
    fixed = np.array([[0.0, 0, 1, 0], [0, GC_SHARE, 0, 1 - GC_SHARE]])
    observed = np.vstack([own[:before], fixed, own[before:]])
    chance = surroundings(background, design.donor.words, before, len(own) - before)
    return matrix(observed, chance, n, before, design.cutoff, design)


def acceptor(
    words, n: int, before: int, upstream, background, design: SiteDesign
) -> tuple[dict, float]:
    """Return the matrix of acceptors and its mean.

    Its columns are the chain, `before` nucleotides, AG, and the exon's first.
    """
    own = shares(*words)
    upstream = upstream[max(len(upstream) + before + 2 - design.acceptor.before, 0) :]
    fixed = np.array([[1.0, 0, 0, 0], [0, 0, 1, 0]])
    observed = np.vstack([upstream, own[:before], fixed, own[before:]])
    far = np.tile(shares(WORDS, background)[2], (len(upstream), 1))
    near = surroundings(background, design.acceptor.words, before, len(own) - before)
    width = len(upstream) + before + 2
    cutoff = design.acceptor_cutoff
    return matrix(observed, np.vstack([far, near]), n, width, cutoff, design)


def lengths_of(text: str) -> NDArray[np.float64]:
    """Return the share of introns of each length, from 0 on.

    AUGUSTUS smooths the lengths to a limit, says how many introns are not longer than that, and the
    mean of what the others have beyond it.
    """
    section = text.split("[LENGTH]")[1].split("# end")[0]
    near = np.array([float(p) for p in re.findall(r"^\s*([0-9.e-]+)\s*$", section, re.M)[1:]])
    within, mean = (number_below(text, t) for t in ("length at most d", "with length > d"))
    mean = max(mean, 1.0)
    tail = np.exp(-np.arange(int(12 * mean)) / mean)
    return np.concatenate([near / near.sum() * within, tail / tail.sum() * (1 - within)])


def per_nucleotide(text: str) -> float:
    """Return the introns per coding nucleotide, by numbers and mean lengths of exons."""
    section = re.sub(r"#.*", "", text.split("[LENGTH]")[1].split("# end")[0])
    rows = [line.split() for line in section.splitlines() if line.strip()]
    numbers = np.array(next(row for row in rows if len(row) == 4), dtype=float)
    table = np.array([row for row in rows if len(row) == 5], dtype=float)
    means = table[:, 0] @ table[:, 1:] / np.maximum(table[:, 1:].sum(axis=0), 1e-9)
    return float(max(numbers[1], numbers[3]) + numbers[2]) / float(numbers @ means)


def background_of(introns: NDArray, between: str) -> NDArray[np.float64]:
    """Return the frequency of words of five in introns and between genes, on both strands.

    Where the words between genes are not counted, they count as many as those of introns.
    """
    if "# patterns" in between:
        others = of_five(*words_of(between.split("# patterns")[1].split("[")[0]))
    else:
        parts = [part.split("[EMISSION]")[0] for part in between.split("[P_ls]")[1:]]
        others = sum(of_five(*words_of(part.split("# l=")[-1])) for part in parts)
        others *= introns.sum() / others.sum()
    forward = introns + others
    mirrored = [int(reverse_complement(codes) @ POWERS) for codes in WORDS]
    return forward + forward[mirrored]


def model_of(species: Species, folder: Path) -> dict:
    """Return the content of the model's JSON file."""
    design, path = SiteDesign(), str(folder / species.folder / species.folder)
    settings = Path(f"{path}_parameters.cfg").read_text()
    text, between, exons = (
        Path(f"{path}_{part}_probs.pbl").read_text() for part in ("intron", "igenic", "exon")
    )
    head = text.split("[EMISSION]")[0]
    introns = of_five(*words_of(text.split("# patterns")[1].split("[ASSMOTIF]")[0], "#\t"))
    background = background_of(introns, between)
    ass, dss = head.split("[ASS]")[1].split("[DSS]")
    counts = {key: int(number_below(text, f"# c_{key} ")) for key in ("ass", "dss")}
    # AUGUSTUS weighs the same introns by the G+C of their surroundings in each part
    parts = text.split("[ASSMOTIF]")[1:]
    upstream = np.mean([chain_shares(part, introns) for part in parts], axis=0)
    starts = {key: setting(settings, f"{key}_start") for key in counts}
    major, mean_bits = {}, {}
    major["donor"], mean_bits["donor"] = donor(
        words_of(dss), counts["dss"], starts["dss"], background, design
    )
    major["acceptor"], mean_bits["acceptor"] = acceptor(
        words_of(ass), counts["ass"], starts["ass"], upstream, background, design
    )
    lengths = lengths_of(text)
    # smoothed lengths reach below the shortest ones
    shortest = int(np.searchsorted(np.cumsum(lengths), 0.01)) * 9 // 10
    least = min(max(shortest, LEAST_SHORTEST), LARGEST_SHORTEST)
    figures = IntronFigures(lengths, counts["dss"], least, per_nucleotide(exons))
    source = (
        f"{species.latin}: splice site words at {counts['dss']:,} donors and {counts['ass']:,} "
        "acceptors, the chain before acceptors, and the lengths of introns and exons of AUGUSTUS "
        f"3.5.0, species {species.folder}; resources/models/README.md"
    )
    content = site_model(species.name, source, major, figures, design)
    return content | {"stops": list(stop_codons(species.code)), "mean_bits": mean_bits}


GENERIC_SOURCE = (
    "the mean of the models of other species that are made from AUGUSTUS's figures; "
    "resources/models/README.md"
)
NEAR = {"donor": (3, 6), "acceptor": (20, 2)}
"""Columns of the generic model before and behind the edge."""


def generic(models: list[dict]) -> dict:
    """Return the mean of models.

    It is that of the bits of each column near the edge, 0 where a model has none, and that of the
    penalties, from the least shortest intron on.
    """
    usual = [model["introns"][0] for model in models]
    major = {kind: _mean_matrix([one[kind] for one in usual], *NEAR[kind]) for kind in NEAR}
    minor = dict(models[0]["introns"][1])
    least = min(one["from"][0] for one in usual)
    costs = [model["introns"][k]["penalties"][-1] for k in (0, 1) for model in models]
    mean = [round(float(np.mean(each))) for each in np.split(np.array(costs), 2)]
    rising = [list(line) for line in SiteDesign().rising]
    introns = [
        kind | {"from": [least], "penalties": [cost], "rising": rising}
        for kind, cost in zip((major, minor), mean, strict=True)
    ]
    density = float(np.exp(np.mean([np.log(model["introns_per_kb"]) for model in models])))
    content = {**models[0], "name": "generic", "source": GENERIC_SOURCE, "introns": introns}
    del content["mean_bits"]
    return content | {"stops": list(stop_codons()), "introns_per_kb": round(density, 3)}


def _mean_matrix(sites: list[dict], before: int, behind: int) -> dict:
    total = np.zeros((len(sites), before + behind, 4))
    for table, site in zip(total, sites, strict=True):
        bits = np.array(
            [[-np.inf if n is None else n for n in column] for column in site["scores"]]
        )
        for k in range(-before, behind):
            if 0 <= site["before"] + k < len(bits):
                table[before + k] = bits[site["before"] + k]
    return {"before": before, "scores": rounded(total.mean(axis=0)), "cutoff": sites[0]["cutoff"]}


def main() -> None:
    """Write the models."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path, nargs="?", default=FOLDER)
    parser.add_argument("--output", type=Path, default=HERE / "sites", metavar="FOLDER")
    options = parser.parse_args()
    models = [model_of(species, options.folder) for species in SPECIES]
    for model in (*models, generic(models)):
        path = options.output / f"{model['name']}.json"
        path.write_text(model_to_json(model), encoding="ascii", newline="\n")


if __name__ == "__main__":
    main()
