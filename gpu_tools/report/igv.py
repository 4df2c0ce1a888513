"""A session of the Integrative Genomics Viewer (IGV): genome, annotation and chains."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path
from xml.etree import ElementTree

from gpu_tools.formats.files import open_output

PathLike = str | os.PathLike
SESSION_VERSION = "8"
"""Of the format of sessions."""
TRACKS = (".gff3", ".gtf", ".bed", ".bam")
"""Suffixes of files that IGV shows."""
_OF_BAM = "org.broad.igv.sam.AlignmentTrack"
_COLOURS = {"site_": "213,94,0", "protein_": "0,158,115", "best": "0,114,178", "": "74,85,96"}
"""Of tracks, by how their names begin; those that this project does not make are grey."""


def write_session(
    path: PathLike,
    genome: PathLike | None,
    tracks: Iterable[Path],
    locus: str = "",
) -> None:
    """Write a session for IGV; it names files relative to itself.

    Parameters
    ----------
    path : path-like
        File to write, ``.xml``.
    genome : path-like or None
        FASTA with its index beside it. Without one IGV shows the tracks on the genome that is
        loaded.
    tracks : iterable of Path
        Files to show, from top to bottom.
    locus : str
        What to show first, ``RECORD:START-END``.

    Raises
    ------
    OutputError
        If the file cannot be written.
    """
    folder = Path(path).resolve().parent
    attributes = {"version": SESSION_VERSION, "locus": locus or "All"}
    if genome is not None:
        attributes["genome"] = _beside(Path(genome), folder)
    session = ElementTree.Element("Session", attributes)
    resources = ElementTree.SubElement(session, "Resources")
    alignments = ElementTree.SubElement(session, "Panel", {"name": "Alignments"})
    features = ElementTree.SubElement(session, "Panel", {"name": "FeaturePanel"})
    for track in tracks:
        panel = alignments if track.suffix == ".bam" else features
        _add(resources, panel, track, _beside(track, folder))
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


def _beside(path: Path, folder: Path) -> str:
    """Return a path relative to a folder, with slashes."""
    return Path(os.path.relpath(path.resolve(), folder)).as_posix()
