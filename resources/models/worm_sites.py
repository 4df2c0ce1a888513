"""Make the site model ``worm`` from AUGUSTUS's figures of Caenorhabditis elegans.

Run as ``python resources/models/worm_sites.py [FOLDER] [--output FILE]``. FOLDER holds the species
``caenorhabditis`` of AUGUSTUS, by default where Debian's package ``augustus-data`` puts it.

AUGUSTUS counts words at donors and acceptors, has a Markov chain of the nucleotides before
acceptors, and counts words of five nucleotides in introns and between genes, which are the
background here, both strands together.
"""

from __future__ import annotations

import argparse
import re
from itertools import product
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from gpu_tools.model.json_model import model_to_json
from gpu_tools.model.sequences import encode, reverse_complement
from gpu_tools.sites.training import SiteDesign, rising_penalties, site_model
from gpu_tools.splicing.site_matrix import rounded

HERE = Path(__file__).parent
FOLDER = Path("/usr/share/augustus/config/species/caenorhabditis")
SOURCE = (
    "Caenorhabditis elegans: splice site words at 8,405 donors and 8,397 acceptors, the chain "
    "before acceptors and the intron lengths of AUGUSTUS 3.5.0, species caenorhabditis; "
    "resources/models/README.md"
)
WORDS = ["".join(word) for word in product("ACGT", repeat=5)]
CODES = np.array([encode(word) for word in WORDS])
COUNT = r"^#?\s*([ACGT]{5})\t([0-9][0-9.e-]*)$"


def numbers_by_word(text: str) -> NDArray[np.float64]:
    """Return the numbers of lines of a word of five and a number, in the order of `WORDS`."""
    found = dict(re.findall(COUNT, text, re.M))
    return np.array([float(found.get(word, 0)) for word in WORDS])


def setting(text: str, name: str) -> int:
    """Return an integer of AUGUSTUS's configuration."""
    return int(re.search(rf"^/Constant/{name}\s+(\d+)", text, re.M)[1])


def shares(weights: NDArray[np.float64], columns: list[int]) -> NDArray[np.float64]:
    """Return the shares of A, C, G, T in some columns of the words of five."""
    table = [np.bincount(CODES[:, k], weights, 4) for k in columns]
    return np.array(table) / weights.sum()


def chain_shares(section: str, words: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the shares of a Markov chain of order 2, begun with the words' first nucleotides."""
    width = int(section.split("n=")[1].split()[0])
    before = np.zeros((4, 4))
    np.add.at(before, (CODES[:, 0], CODES[:, 1]), words / words.sum())
    columns = []
    for k in range(width):
        line = re.search(rf"^ {k}  ?(.*)$", section, re.M)[1]
        triples = before[:, :, None] * np.array(line.split(), dtype=float).reshape(4, 4, 4)
        before = triples.sum(axis=0)
        columns.append(before.sum(axis=0))
    return np.array(columns)


def near(background: NDArray[np.float64], words: tuple[str, ...], at: int, columns: range):
    """Return the shares of columns of five where one of some words stands at a column."""
    holds = np.any([np.all(CODES[:, at : at + 2] == encode(w), axis=1) for w in words], axis=0)
    return shares(np.where(holds, background, 0.0), list(columns))


def log_odds(observed, chance, n: int, design: SiteDesign) -> NDArray[np.float64]:
    """Return bits, the background being added `design.site_weight` times to `n` observations."""
    smoothed = (observed * n + chance * design.site_weight) / (n + design.site_weight)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(chance > 0, np.log2(smoothed / chance), -np.inf)


def donor(words, n: int, before: int, background, design: SiteDesign) -> dict:
    """Return the matrix of donors: `before` exon nucleotides, GT or GC, and the intron's next."""
    observed = shares(words, list(range(5)))
    fixed = np.array([[0.0, 0, 1, 0], [0, 0, 0, 1]])
    observed = np.vstack([observed[:before], fixed, observed[before:]])
    left = near(background, design.donor.words, before, range(before + 2))
    right = near(background, design.donor.words, 0, range(2, 7 - before))
    bits = log_odds(observed, np.vstack([left, right]), n, design)
    return {"before": before, "scores": rounded(bits), "cutoff": design.cutoff}


def acceptor(words, n: int, before: int, upstream, background, design: SiteDesign) -> dict:
    """Return the matrix of acceptors: the chain, `before` nucleotides, AG, and the exon's first."""
    observed = shares(words, list(range(5)))
    fixed = np.array([[1.0, 0, 0, 0], [0, 0, 1, 0]])
    observed = np.vstack([upstream, observed[:before], fixed, observed[before:]])
    far = np.repeat(shares(background, [2]), len(upstream), axis=0)
    left = near(background, design.acceptor.words, before, range(before + 2))
    right = near(background, design.acceptor.words, 0, range(2, 7 - before))
    bits = log_odds(observed, np.vstack([far, left, right]), n, design)
    width, cutoff = len(bits) - (5 - before), design.acceptor_cutoff
    return {"before": width, "scores": rounded(bits), "cutoff": cutoff}


def length_at(text: str, share: float) -> int:
    """Return the length that a share of the introns does not exceed.

    AUGUSTUS smooths the lengths to a limit, and says how many introns are not longer than that.
    """
    section = text.split("[LENGTH]")[1].split("# end")[0]
    lengths = np.array([float(p) for p in re.findall(r"^[0-9.e-]+$", section, re.M)[1:]])
    within = float(re.search(r"length at most d\n(\S+)", text)[1])
    return int(np.searchsorted(np.cumsum(lengths) / lengths.sum() * within, share))


def model_of(folder: Path) -> dict:
    """Return the content of the model's JSON file."""
    design, species = SiteDesign(), folder.name
    settings = (folder / f"{species}_parameters.cfg").read_text()
    text = (folder / f"{species}_intron_probs.pbl").read_text()
    between = (folder / f"{species}_igenic_probs.pbl").read_text()
    head, _, emission = text.partition("[EMISSION]")
    introns = numbers_by_word(emission.split("# patterns")[1].split("[ASSMOTIF]")[0])
    forward = introns + numbers_by_word(between.split("patterns")[-1])
    mirrored = [int(reverse_complement(codes) @ (256, 64, 16, 4, 1)) for codes in CODES]
    background = forward + forward[mirrored]
    ass, dss = head.split("[ASS]")[1].split("[DSS]")
    counts = {key: int(re.search(rf"# c_{key} .*\n(\d+)", text)[1]) for key in ("ass", "dss")}
    upstream = chain_shares(text.split("[ASSMOTIF]")[1], introns)
    major = {
        "donor": donor(numbers_by_word(dss), counts["dss"], setting(settings, "dss_start"),
                       background, design),
        "acceptor": acceptor(numbers_by_word(ass), counts["ass"], setting(settings, "ass_start"),
                             upstream, background, design),
    }  # fmt: skip
    shortest, quartile = (length_at(text, share) for share in (0.001, 0.75))
    introns = shortest, rising_penalties(quartile, design)
    return site_model("worm", SOURCE, major, introns, design)


def main() -> None:
    """Write the model."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path, nargs="?", default=FOLDER)
    parser.add_argument("--output", type=Path, default=HERE / "sites" / "worm.json")
    options = parser.parse_args()
    content = model_of(options.folder)
    options.output.write_text(model_to_json(content), encoding="ascii", newline="\n")


if __name__ == "__main__":
    main()
