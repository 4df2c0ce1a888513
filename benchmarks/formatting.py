"""How figures stand in tables."""

from __future__ import annotations


def ms(value: float | None) -> str:
    """Return a time with three digits that count; nothing for None."""
    if value is None:
        return ""
    return f"{value:,.0f} ms" if value >= 100 else f"{float(f'{value:.3g}'):g} ms"


def seconds(value: float) -> str:
    """Return a time in seconds, as milliseconds below one second."""
    return ms(1e3 * value) if value < 1 else f"{float(f'{value:.3g}'):g} s"


def number(value: float) -> str:
    """Return a number with three digits that count, or all of an integer's."""
    return f"{value:,.0f}" if value >= 100 else f"{float(f'{value:.3g}'):g}"
