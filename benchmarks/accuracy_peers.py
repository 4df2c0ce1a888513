"""Other programs that align a cDNA to a locus, for bench_accuracy.py; each only if installed."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

_EXONERATE = (
    "exonerate", "--showalignment", "no", "--showvulgar", "no", "--showtargetgff", "yes",
    "--bestn", "1", "--model",
)  # fmt: skip
PEERS = {
    "spaln": ("spaln", "-Q0", "-O0", "-TTetrapod", "{locus}", "{target}"),
    "exonerate est2genome": (*_EXONERATE, "est2genome", "{target}", "{locus}"),
    "exonerate coding2genome": (*_EXONERATE, "coding2genome", "{target}", "{locus}"),
    "minimap2": ("minimap2", "-a", "-x", "splice", "{locus}", "{target}"),
    "gmap": ("gmap", "-g", "{locus}", "-f", "gff3_gene", "-n", "1", "--cross-species", "{target}"),
}


def installed() -> list[str]:
    """Return the peers that are here."""
    return [name for name, command in PEERS.items() if shutil.which(command[0])]


def exons_of(peer: str, locus: Path, target: Path) -> list[tuple[int, int]]:
    """Run a peer and return its exons on the forward strand, 0-based and half-open."""
    command = [word.format(locus=locus, target=target) for word in PEERS[peer]]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=locus.parent)
    lines = [line.split("\t") for line in done.stdout.splitlines() if line[:1] not in ("#", "@")]
    return _from_sam(lines) if peer == "minimap2" else _from_gff(lines)


def _from_gff(lines: list[list[str]]) -> list[tuple[int, int]]:
    return [
        (int(fields[3]) - 1, int(fields[4]))
        for fields in lines
        if len(fields) >= 8 and fields[2] == "exon" and fields[6] == "+"
    ]


def _from_sam(lines: list[list[str]]) -> list[tuple[int, int]]:
    """Return the primary alignment's exons; flags 4, 16, 256 and 2048 are none on this strand."""
    exons = []
    for fields in (f for f in lines if len(f) > 5 and not int(f[1]) & (4 | 16 | 256 | 2048)):
        start = end = int(fields[3]) - 1
        for length, letter in re.findall(r"(\d+)([MIDNSH=X])", fields[5]):
            if letter == "N":
                exons.append((start, end))
                start = end = end + int(length)
            elif letter in "MD=X":
                end += int(length)
        exons.append((start, end))
    return exons
