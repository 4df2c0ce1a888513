"""Files of the results that a report links to, and pictures that it holds."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple
from urllib.parse import quote

from gpu_tools.report.igv import TRACKS

_MEANINGS = {
    "scores.tsv": "all cases, a row each and method",
    "best.tsv": "the best target of each locus",
    "best_targets.tsv": "loci of accepted chains, with their best targets",
    "best_loci.tsv": "accepted chains of each target, ranked",
    "best.gff3": "gene models of the best targets, from candidate exons",
    "site_best.gff3": "gene models of the best targets, from splice sites",
    "protein_best.gff3": "gene models of the best targets, from proteins",
    "alignments.gff3": "chains of candidate exons, gene models",
    "alignments.bed": "chains of candidate exons, BED12",
    "alignments.bam": "chains of candidate exons, alignments",
    "site_alignments.gff3": "chains of site mode, gene models",
    "site_alignments.bed": "chains of site mode, BED12",
    "site_alignments.bam": "chains of site mode, alignments",
    "protein_alignments.gff3": "chains of proteins, gene models",
    "protein_alignments.bed": "chains of proteins, BED12",
    "protein_alignments.txt": "alignments of proteins, to be read",
    "structures.svg": "figure of the best chains",
    "accuracy.tsv": "candidates and chains against the annotation",
    "provenance.tsv": "where sequences were fetched from",
    "estimate.tsv": "parallelism of the cases, and estimated times",
}
_FOLDERS = ("segments", "local", "matches")
_LARGEST_PICTURE = 2_000_000
_MOST_PICTURES = 40
_SESSION_TRACKS = (
    "best.gff3", "site_best.gff3", "protein_best.gff3", "alignments.bam", "site_alignments.bam",
)  # fmt: skip


class LinkedFile(NamedTuple):
    """A file of the results: path from their folder, address from the page, meaning, size."""

    name: str
    address: str
    what: str
    size: str


class Picture(NamedTuple):
    """An SVG of the results: its path from their folder, and its text."""

    name: str
    svg: str


def linked_files(folder: Path, others: Iterable[Path], page: Path) -> list[LinkedFile]:
    """Return the files that a page links to.

    Parameters
    ----------
    folder : Path
        Of the results.
    others : iterable of Path
        Further files.
    page : Path
        The page; addresses are relative to its folder.

    Returns
    -------
    list of LinkedFile
        Those that exist.
    """
    known = [folder / name for name in _MEANINGS]
    known += [path for name in _FOLDERS for path in sorted((folder / name).glob("*.*"))]
    paths = dict.fromkeys(path for path in (*known, *others) if path.is_file())
    return [_linked(path, folder, page) for path in paths]


def _linked(path: Path, folder: Path, page: Path) -> LinkedFile:
    inside = path.is_relative_to(folder)
    name = path.relative_to(folder).as_posix() if inside else str(path)
    return LinkedFile(name, address(path, page), _MEANINGS.get(name, ""), _size(path))


def address(path: Path, page: Path) -> str:
    """Return the address of a file, relative to a page's folder."""
    return quote(Path(os.path.relpath(path.resolve(), page.resolve().parent)).as_posix())


def _size(path: Path) -> str:
    size = float(path.stat().st_size)
    for unit in ("B", "kB", "MB"):
        if size < 1000:
            return f"{size:.3g} {unit}"
        size /= 1000
    return f"{size:.3g} GB"


def pictures(folder: Path) -> list[Picture]:
    """Return the figures of segments and local alignments.

    Parameters
    ----------
    folder : Path
        Of the results.

    Returns
    -------
    list of Picture
        The first `_MOST_PICTURES` that are not too large for a page.
    """
    paths = [path for name in _FOLDERS for path in sorted((folder / name).glob("*.svg"))]
    small = [path for path in paths if path.stat().st_size <= _LARGEST_PICTURE]
    return [
        Picture(path.relative_to(folder).as_posix(), path.read_text("utf-8", errors="replace"))
        for path in small[:_MOST_PICTURES]
    ]  # fmt: skip


def session_tracks(folder: Path, others: Iterable[Path]) -> list[Path]:
    """Return the files that a session of a genome browser shows, annotation first."""
    own = [folder / name for name in _SESSION_TRACKS]
    shown = [path for path in others if path.suffix.lower() in TRACKS]
    return [path for path in dict.fromkeys((*shown, *own)) if path.exists()]
