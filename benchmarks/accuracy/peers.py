"""Other programs that align a cDNA or a protein to a locus, for bench_accuracy.py.

Each runs only if it is installed. Programs for proteins get the target's translation.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path
from typing import NamedTuple

from gpu_tools.model.translation import STOP_CODONS

_EXONERATE = (
    "exonerate", "--showalignment", "no", "--showvulgar", "no", "--showtargetgff", "yes",
    "--bestn", "1", "--model",
)  # fmt: skip
_SPALN = ("spaln", "-Q0", "-O0", "-TTetrapod", "{locus}")


class Peer(NamedTuple):
    """A program: its command, and the GFF feature of its exons; None if it writes SAM."""

    command: tuple[str, ...]
    feature: str | None

    @property
    def takes_protein(self) -> bool:
        """Whether the program aligns a protein."""
        return "{protein}" in self.command


PEERS = {
    "spaln": Peer((*_SPALN, "{target}"), "exon"),
    "spaln, protein": Peer((*_SPALN, "{protein}"), "cds"),
    "exonerate est2genome": Peer((*_EXONERATE, "est2genome", "{target}", "{locus}"), "exon"),
    "exonerate coding2genome": Peer((*_EXONERATE, "coding2genome", "{target}", "{locus}"), "exon"),
    "exonerate protein2genome": Peer(
        (*_EXONERATE, "protein2genome", "{protein}", "{locus}"), "exon"
    ),
    "genewise, protein": Peer(
        ("genewise", "{protein}", "{locus}", "-tfor", "-gff", "-quiet"), "cds"
    ),
    "minimap2": Peer(("minimap2", "-a", "-x", "splice", "{locus}", "{target}"), None),
    "gmap": Peer(
        ("gmap", "-g", "{locus}", "-f", "gff3_gene", "-n", "1", "--cross-species", "{target}"),
        "exon",
    ),
}  # fmt: skip


class Inputs(NamedTuple):
    """FASTA files of a locus, of a cDNA and of its translation, and the locus as text."""

    locus: Path
    target: Path
    protein: Path
    text: str


def installed() -> list[str]:
    """Return the peers that are here."""
    return [name for name, peer in PEERS.items() if shutil.which(peer.command[0])]


def exons_of(name: str, inputs: Inputs) -> tuple[list[tuple[int, int]], float]:
    """Run a peer; return its exons on the forward strand, 0-based half-open, and CPU seconds.

    A protein has no stop codon: where one follows the last exon, it is taken in.
    """
    peer, files = PEERS[name], inputs._asdict()
    command = [word.format(**files) for word in peer.command]
    output, seconds = timed_output(command, inputs.locus.parent)
    lines = [line.split("\t") for line in output.splitlines() if line[:1] not in ("#", "@")]
    exons = _from_sam(lines) if peer.feature is None else _from_gff(lines, peer.feature)
    if peer.takes_protein and exons and inputs.text[exons[-1][1] :][:3] in STOP_CODONS:
        exons[-1] = exons[-1][0], exons[-1][1] + 3
    return exons, seconds


def timed_output(command: list[str], folder: Path) -> tuple[str, float]:
    """Return a program's output and the seconds that it kept a processor busy."""
    process = subprocess.Popen(
        command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    )
    with process.stdout as stream:
        output = stream.read()
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    return output, usage.ru_utime + usage.ru_stime


def _from_gff(lines: list[list[str]], feature: str) -> list[tuple[int, int]]:
    found = exons_of_gff(lines, "", feature)[""]
    return [(start, end) for strand, start, end in found if strand == "+"]


def _from_sam(lines: list[list[str]]) -> list[tuple[int, int]]:
    """Return the primary alignment's exons on the forward strand."""
    found = [exons for exons in exons_of_sam(lines).values() if exons]
    return [(start, end) for exons in found for strand, start, end in exons if strand == "+"]


def exons_of_gff(
    lines: list[list[str]], name: str, feature: str
) -> dict[str, list[tuple[str, int, int]]]:
    """Return strand and interval of each feature, all of them under one name."""
    rows = (f for f in lines if len(f) >= 8 and f[2] == feature)
    return {name: sorted((f[6], int(f[3]) - 1, int(f[4])) for f in rows)}


def exons_of_sam(lines: list[list[str]], name: str = "") -> dict[str, list[tuple[str, int, int]]]:
    """Return strand and exons of the primary alignments by query; `name` has no use.

    Flags 4, 256 and 2048 are unaligned, secondary and supplementary lines.
    """
    found = {}
    for fields in (f for f in lines if len(f) > 5 and f[0][:1] != "@"):
        flag, exons = int(fields[1]), []
        if flag & (4 | 256 | 2048):
            continue
        strand, start = "-" if flag & 16 else "+", int(fields[3]) - 1
        end = start
        for length, letter in re.findall(r"(\d+)([MIDNSH=X])", fields[5]):
            if letter == "N":
                exons.append((strand, start, end))
                start = end = end + int(length)
            elif letter in "MD=X":
                end += int(length)
        found[fields[0]] = [*exons, (strand, start, end)]
    return found
