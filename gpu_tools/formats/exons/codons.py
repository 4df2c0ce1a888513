"""Codon usage as a table with the columns ``codon`` and ``frequency``."""

from __future__ import annotations

import os

import numpy as np
from numpy.typing import NDArray

from gpu_tools.errors import InputError
from gpu_tools.formats.fields import Location
from gpu_tools.formats.tables import read_table
from gpu_tools.model.sequences import OTHER, encode

N_CODONS = 64


def read_codon_usage(path: str | os.PathLike) -> NDArray[np.float64]:
    """Read how often codons are used.

    Parameters
    ----------
    path : str or PathLike
        Plain or compressed table with the columns ``codon``, in letters of DNA or RNA, and
        ``frequency``, a count or a share of any scale, not negative.

    Returns
    -------
    ndarray of float64, shape (64,)
        Frequencies in the order AAA, AAC, AAG, AAT, ... TTT; 0 for a codon that the table lacks.

    Raises
    ------
    InputError
        If a line is no codon and its frequency, a codon occurs twice, or all frequencies are 0.
    """
    usage = np.full(N_CODONS, np.nan)
    for line, row in read_table(path, ("codon", "frequency")):
        location = Location(path, line)
        codon = _codon(location, row["codon"].strip())
        if not np.isnan(usage[codon]):
            raise location.error(f"codon {row['codon'].strip()!r} occurs twice")
        usage[codon] = location.number(row["frequency"].strip(), "frequency")
        if usage[codon] < 0:
            raise location.error(f"frequency {row['frequency'].strip()!r} is negative", "0 or more")
    usage = np.nan_to_num(usage, nan=0.0)
    if not usage.any():
        raise InputError("no codon of a frequency above 0", path=path, expected="a codon usage")
    return usage


def _codon(location: Location, text: str) -> int:
    try:
        codes = encode(text)
    except InputError:
        codes = np.full(1, OTHER)
    if len(codes) != 3 or OTHER in codes:
        raise location.error(f"{text!r} is no codon", "three of the letters A, C, G, T or U")
    return int(codes @ (16, 4, 1))
