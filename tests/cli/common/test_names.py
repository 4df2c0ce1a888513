"""Suggestions for mistyped names."""

import pytest

from gpu_tools.errors import did_you_mean


@pytest.mark.parametrize(
    ("name", "known", "suggested"),
    [
        ("1", ["chr2", "chr1"], "'chr1'"),
        ("NM_1", ["NM_12.1", "NM_1.4"], "'NM_1.4'"),
        ("nm_1.2", ["NM_1.4", "x"], "'NM_1.4'"),
        ("kyte", ["gc", "kyte-doolittle"], "'kyte-doolittle'"),
        ("verterbate", ["fly", "vertebrate"], "'vertebrate'"),
        ("zebra", ["fly", "worm"], ""),
        ("", ["fly"], ""),
    ],
)
def test_names_that_are_alike(name, known, suggested):
    assert did_you_mean(name, known) == (suggested and f" (did you mean {suggested}?)")
