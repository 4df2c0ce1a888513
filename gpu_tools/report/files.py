"""Files of a report: those it links to, pictures it holds, sessions of IGV, and figures."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple
from urllib.parse import quote
from xml.etree import ElementTree

import vl_convert

from gpu_tools.errors import OutputError
from gpu_tools.formats.files import open_output, replaced_when_complete

PathLike = str | os.PathLike
_MEANINGS = {
    "scores.tsv": "all cases, a row each and method",
    "summary.json": "command, configuration, limits, SHA-256 of inputs",
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
SESSION_VERSION = "8"
"""Of the format of sessions of the Integrative Genomics Viewer (IGV)."""
TRACKS = (".gff3", ".gtf", ".bed", ".bam")
"""Suffixes of files that IGV shows."""
_OF_BAM = "org.broad.igv.sam.AlignmentTrack"
_COLOURS = {"site_": "213,94,0", "protein_": "0,158,115", "best": "0,114,178", "": "74,85,96"}
"""Of tracks, by how their names begin; those that this project does not make are grey."""
_SESSION_TRACKS = (
    "best.gff3", "site_best.gff3", "protein_best.gff3", "alignments.bam", "site_alignments.bam",
)  # fmt: skip
_UNSAFE = re.compile(r"[^0-9A-Za-z._-]+")
_PNG_SCALE = 2


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
    """Return the files that a page links to."""
    known = [folder / name for name in _MEANINGS]
    known += [path for name in _FOLDERS for path in sorted((folder / name).glob("*.*"))]
    paths = dict.fromkeys(path for path in (*known, *others) if path.is_file())
    return [_linked(path, folder, page) for path in paths]


def _linked(path: Path, folder: Path, page: Path) -> LinkedFile:
    name = path.relative_to(folder).as_posix() if path.is_relative_to(folder) else str(path)
    return LinkedFile(name, address(path, page), _MEANINGS.get(name, ""), _size(path))


def address(path: Path, page: Path) -> str:
    """Return the address of a file, relative to a page's folder."""
    return quote(_relative(path, page.resolve().parent))


def _size(path: Path) -> str:
    size = float(path.stat().st_size)
    for unit in ("B", "kB", "MB"):
        if size < 1000:
            return f"{size:.3g} {unit}"
        size /= 1000
    return f"{size:.3g} GB"


def pictures(folder: Path) -> list[Picture]:
    """Return the figures of segments and local alignments."""
    paths = [path for name in _FOLDERS for path in sorted((folder / name).glob("*.svg"))]
    small = [path for path in paths if path.stat().st_size <= _LARGEST_PICTURE]
    return [
        Picture(path.relative_to(folder).as_posix(), path.read_text("utf-8", errors="replace"))
        for path in small[:_MOST_PICTURES]
    ]


def session_tracks(folder: Path, others: Iterable[Path]) -> list[Path]:
    """Return the files that a session of a genome browser shows, annotation first."""
    own = [folder / name for name in _SESSION_TRACKS]
    shown = [path for path in others if path.suffix.lower() in TRACKS]
    return [path for path in dict.fromkeys((*shown, *own)) if path.exists()]


def write_session(
    path: PathLike, genome: PathLike | None, tracks: Iterable[Path], locus: str = ""
) -> None:
    """Write a session for IGV; it names files relative to itself."""
    folder = Path(path).resolve().parent
    attributes = {"version": SESSION_VERSION, "locus": locus or "All"}
    if genome is not None:
        attributes["genome"] = _relative(Path(genome), folder)
    session = ElementTree.Element("Session", attributes)
    resources = ElementTree.SubElement(session, "Resources")
    alignments = ElementTree.SubElement(session, "Panel", {"name": "Alignments"})
    features = ElementTree.SubElement(session, "Panel", {"name": "FeaturePanel"})
    for track in tracks:
        panel = alignments if track.suffix == ".bam" else features
        _add(resources, panel, track, _relative(track, folder))
    ElementTree.indent(session)
    with open_output(path) as stream:
        stream.write('<?xml version="1.0" encoding="UTF-8" standalone="no"?>\n')
        stream.write(ElementTree.tostring(session, encoding="unicode") + "\n")


def _add(resources, panel, track: Path, name: str) -> None:
    # no index is named: IGV finds it beside the file, and looks elsewhere for a relative path of it
    attributes = {"path": name, "type": track.suffix.lstrip(".").lower()}
    ElementTree.SubElement(resources, "Resource", attributes)
    colour = next(c for prefix, c in _COLOURS.items() if track.name.startswith(prefix))
    shown = {"id": name, "name": track.name, "visible": "true", "displayMode": "EXPANDED"}
    kind = {"clazz": _OF_BAM} if track.suffix == ".bam" else {"color": colour}
    ElementTree.SubElement(panel, "Track", shown | kind)


def _relative(path: Path, folder: Path) -> str:
    """Return a path relative to a folder, with slashes."""
    return Path(os.path.relpath(path.resolve(), folder)).as_posix()


def write_figures(folder: str | Path, figures: dict[str, dict]) -> None:
    """Write each figure as SVG, PNG and Vega-Lite's JSON."""
    folder = Path(folder)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise OutputError(f"{folder}: cannot be written ({error.strerror})") from None
    names = _file_names(list(figures))
    for name, specification in figures.items():
        stem = folder / names[name]
        write_svg(f"{stem}.svg", specification)
        with replaced_when_complete(f"{stem}.png") as temporary:
            temporary.write_bytes(vl_convert.vegalite_to_png(specification, scale=_PNG_SCALE))
        with open_output(f"{stem}.vl.json") as stream:
            json.dump(specification, stream)


def _file_names(names: list[str]) -> dict[str, str]:
    """Return names of files by names of figures, with a number where another one has it."""
    found: dict[str, str] = {}
    for name in names:
        safe = _UNSAFE.sub("_", name)
        numbered = (f"{safe}_{k}" for k in range(2, len(names) + 2))
        free = (candidate for candidate in (safe, *numbered) if candidate not in found.values())
        found[name] = next(free)
    return found


def write_svg(path: str | Path, specification: dict) -> None:
    """Write a figure as SVG."""
    with open_output(path) as stream:
        stream.write(vl_convert.vegalite_to_svg(specification))
