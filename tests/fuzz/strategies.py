"""What hypothesis draws: damage to files that knows their structure, and hostile option values."""

import re

import click
from hypothesis import strategies as st

from gpu_tools.cli.common.lazy import LazyGroup
from tests.cli.damage import _WORDS as WORDS

HOSTILE_WORDS = (
    *WORDS, b"1_0", b"0x10", b"1e999999999", b"0e999999999", b"-0", b"--", b"9" * 400, b" " * 400,
    b"{x}", b"../x", b"%00", b"%", b"\x1b[2J", b"\xed\xa0\x80", b"\xc2\x85", b"NaN", b"Infinity",
    b"[" * 3000, b"1:1-9", b"track", b"browser", b"#x", b"a=" * 200, b";" * 200, b"::", b",,",
    b"\x1f\x8b", b"2147483648", b"4294967296", b"-9223372036854775809",
)  # fmt: skip
HOSTILE_VALUES = (
    "", "-", "--", "0", "-1", "1", "2", "nan", "inf", "-inf", "1e308", "1e-320", "0.5", "1_0",
    "2147483647", "2147483648", "-2147483649", "1073741823", "9223372036854775808", "9" * 400,
    "\u0661", "x", "\n", "a\tb", "\udcff", "é", "../x", "/dev/null", "/dev/full", "loop",
    "folder", "base.fa", "x" * 300, "chr1:1-5", "chr1:5-1", "chr1:0-0", "1-5", "cpu", "{x}", "%s",
)  # fmt: skip
_FRACTION = st.floats(0, 1, exclude_max=True)
_LENGTH = st.sampled_from((1, 2, 5, 20, 200))


@st.composite
def damages(draw, content: bytes) -> bytes:
    """Draw a file's content with one to four changes."""
    for _ in range(draw(st.integers(1, 4))):
        change = draw(st.sampled_from((_byte, _cut, _short, _double, _word, _word, _word, _lines)))
        content = change(draw, content or b"\n")
    return content


def _at(draw, content: bytes) -> int:
    return int(draw(_FRACTION) * len(content))


def _byte(draw, content: bytes) -> bytes:
    k = _at(draw, content)
    return content[:k] + bytes([draw(st.integers(0, 255))]) + content[k + 1 :]


def _cut(draw, content: bytes) -> bytes:
    k = _at(draw, content)
    return content[:k] + content[k + draw(_LENGTH) :]


def _short(draw, content: bytes) -> bytes:
    return content[: _at(draw, content)]


def _double(draw, content: bytes) -> bytes:
    k = _at(draw, content)
    return content[: k + draw(_LENGTH)] + content[k:]


def _word(draw, content: bytes) -> bytes:
    """Put a hostile word in the place of a word, number or name of the file."""
    words = list(re.finditer(rb'[^\s,:;=\[\]{}"]+', content))
    if not words:
        return content
    first, behind = words[int(draw(_FRACTION) * len(words))].span()
    return content[:first] + draw(st.sampled_from(HOSTILE_WORDS)) + content[behind:]


def _lines(draw, content: bytes) -> bytes:
    lines = content.split(b"\n")
    line = lines[int(draw(_FRACTION) * len(lines))]
    lines.insert(int(draw(_FRACTION) * len(lines)), line)
    return b"\n".join(lines)


def options_of(words: list[str], program: click.Command) -> list[click.Option]:
    """Return the options of the command that a command line begins with."""
    command, context = program, click.Context(program)
    for word in words:
        if not isinstance(command, LazyGroup):
            break
        command = command.get_command(context, word)
    return [each for each in command.params if isinstance(each, click.Option)]


@st.composite
def hostile_options(draw, options: list[click.Option], forbidden: tuple[str, ...]) -> list[str]:
    """Draw up to three options of a command, with values of which most are wrong."""
    words = []
    known = [option for option in options if option.name not in forbidden]
    for _ in range(draw(st.integers(0, 3))):
        option = draw(st.sampled_from(known))
        words.append(option.opts[0])
        if not option.is_flag:
            choices = getattr(option.type, "choices", ())
            values = st.sampled_from((*HOSTILE_VALUES, *choices, *choices))
            words += [draw(values) for _ in range(option.nargs)]
    return words
