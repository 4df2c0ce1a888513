"""Damage to files that knows their structure, and hostile values of options; by a random.Random."""

from __future__ import annotations

import gzip
import io
import json
import re
import struct
from collections.abc import Callable
from random import Random

import click
import numpy as np
import pysam

from gpu_tools.cli.main import LazyGroup
from tests.cli.damage import _WORDS as WORDS
from tests.cli.damage import damaged

HOSTILE_WORDS = (
    *WORDS, b"1_0", b"0x10", b"1e999999999", b"0e999999999", b"-0", b"--", b"9" * 400, b" " * 400,
    b"{x}", b"../x", b"%00", b"%", b"\x1b[2J", b"\xed\xa0\x80", b"\xc2\x85", b"NaN", b"Infinity",
    b"[" * 3000, b"1:1-9", b"track", b"browser", b"#x", b"a=" * 200, b";" * 200, b"::", b",,",
    b"\x1f\x8b", b"2147483648", b"4294967296", b"-9223372036854775809", b"\xef\xbb\xbf", b"\r",
    b"##FASTA", b"##gff-version 3", b"GENSCAN 1.0", b"@", b";", b"*", b"?", b"~", b"1-", b"-1-5",
)  # fmt: skip
HOSTILE_VALUES = (
    "", "-", "--", "0", "-1", "1", "2", "nan", "inf", "-inf", "1e308", "1e-320", "0.5", "1_0",
    "2147483647", "2147483648", "-2147483649", "1073741823", "9223372036854775808", "9" * 400,
    "\u0661", "x", "\n", "a\tb", "\udcff", "é", "../x", "/dev/null", "/dev/full", "loop",
    "folder", "base.fa", "x" * 300, "chr1:1-5", "chr1:5-1", "chr1:0-0", "1-5", "cpu", "{x}", "%s",
    "/", ".", "~", "pipe", "nowhere/out", "a.gff3", "a.bam", "a.svg", "1,2", "+", "vertebrate",
    "BLOSUM62", "kyte-doolittle", "gc", "locus", "chr1",
)  # fmt: skip
_NUMBERS = (0, 1, -1, 2, 2**31 - 1, 2**31, -(2**31), 2**63 - 1, 2**63, 10**30, 0.5, -1e308, 1e-320)
_JSON = (None, True, "", "x", [], {}, [[]], [0], {"a": 1}, [None], "\udcff", *_NUMBERS)

Change = Callable[[bytes, Random], bytes]


def mutated(name: str, content: bytes, rng: Random) -> bytes:
    """Return a file's content with one to four changes, most of them such as its kind invites."""
    own = _changes_of(name, content)
    for _ in range(rng.choice((1, 1, 1, 2, 2, 3, 4))):
        content = rng.choice((*own, _word, _any))(content or b"\n", rng)
    return content


def _changes_of(name: str, content: bytes) -> tuple[Change, ...]:
    if name.endswith(".npy"):
        return _npy_header, _npy_array, _any
    if name.endswith((".gz", ".bgz")):
        return _within_gzip, _gzip, _any
    if name.endswith(".json"):
        return _json, _json, _json
    if name.endswith((".fa", ".fq")):
        return _record, _record, _field
    if name.endswith(".bam"):
        return _within_bgzip, _any
    return _field, _field, _column, _number


def _any(content: bytes, rng: Random) -> bytes:
    return damaged(content, rng)


def _word(content: bytes, rng: Random) -> bytes:
    """Put a hostile word in the place of a word, number or name of the file."""
    words = list(re.finditer(rb'[^\s,:;=\[\]{}"]+', content))
    if not words:
        return content
    first, behind = rng.choice(words).span()
    return content[:first] + rng.choice(HOSTILE_WORDS) + content[behind:]


def _field(content: bytes, rng: Random) -> bytes:
    """Change a field of a line: leave it out, take another line's, make it hostile, or double."""
    lines = content.split(b"\n")
    k = rng.randrange(len(lines))
    fields = lines[k].split(b"\t")
    at = rng.randrange(len(fields))
    others = rng.choice(lines).split(b"\t")
    fields[at : at + 1] = rng.choice(
        ([], [rng.choice(others)], [rng.choice(HOSTILE_WORDS)], [fields[at]] * 2, [b""])
    )
    lines[k] = b"\t".join(fields)
    return b"\n".join(lines)


def _column(content: bytes, rng: Random) -> bytes:
    """Put two columns of all lines in each other's place, or leave lines out, or shuffle them."""
    lines = content.split(b"\n")
    kind = rng.randrange(3)
    if kind == 0:
        a, b = rng.randrange(9), rng.randrange(9)
        return b"\n".join(_swapped(line, a, b) for line in lines)
    if kind == 1:
        rng.shuffle(lines)
        return b"\n".join(lines)
    return b"\n".join(line for line in lines if rng.random() < 0.7)


def _swapped(line: bytes, a: int, b: int) -> bytes:
    fields = line.split(b"\t")
    if max(a, b) < len(fields):
        fields[a], fields[b] = fields[b], fields[a]
    return b"\t".join(fields)


def _number(content: bytes, rng: Random) -> bytes:
    """Change a number a little or much, so that it keeps its form."""
    found = list(re.finditer(rb"-?[0-9]+", content))
    if not found:
        return content
    match = rng.choice(found)
    value = int(match[0][:30])
    other = rng.choice((value + 1, value - 1, -value, value * 10, value // 2, *_NUMBERS))
    return content[: match.start()] + str(other).encode() + content[match.end() :]


def _record(content: bytes, rng: Random) -> bytes:
    """Change records of FASTA or FASTQ: names, headers, symbols, lines, order."""
    change = rng.choice((_header, _symbols, _blocks, _line_lengths))
    return change(content, rng)


def _header(content: bytes, rng: Random) -> bytes:
    headers = (
        b">", b"> x", b">a", b">chr1:1-5", b">chr1:1-5 record_length=4", b">x locus=chr1:1-3",
        b">x locus=chr1:9-1", b">\xff", b">a\x00b", b">#x", b">track", b">a b=c", b"@", b">a\t>b",
        b">chr1:" + b"9" * 18 + b"-" + b"9" * 18, b">x record_length=" + b"9" * 30, b">{x}", b">/",
    )  # fmt: skip
    lines = content.split(b"\n")
    own = [k for k, line in enumerate(lines) if line[:1] in (b">", b"@")]
    k = rng.choice(own) if own else 0
    if rng.random() < 0.3:
        lines.insert(rng.randrange(len(lines) + 1), rng.choice(headers))
    else:
        lines[k] = rng.choice(headers)
    return b"\n".join(lines)


def _symbols(content: bytes, rng: Random) -> bytes:
    k = rng.randrange(len(content))
    symbols = rng.choice((b"N", b"-", b"*", b"!", b" ", b"\t", b"u", b"X" * 50, b"N" * 3000, b"1"))
    return content[:k] + symbols + content[k + rng.choice((0, 1, 5)) :]


def _blocks(content: bytes, rng: Random) -> bytes:
    records = content.split(b">")
    rng.shuffle(records)
    return b">".join(records * rng.choice((1, 1, 2)))


def _line_lengths(content: bytes, rng: Random) -> bytes:
    if rng.random() < 0.3:
        return content.replace(b"\n", rng.choice((b"\r\n", b"\r", b"\n\n", b" \n", b"")))
    width = rng.choice((1, 7, 60))
    lines = content.split(b"\n")
    cut = [
        [line] if line[:1] in b">@+" else [line[i : i + width] for i in range(0, len(line), width)]
        for line in lines
    ]
    return b"\n".join(part for parts in cut for part in parts)


def _json(content: bytes, rng: Random) -> bytes:
    """Change one value, key or item anywhere in JSON."""
    try:
        value = json.loads(content)
    except (ValueError, RecursionError):
        return damaged(content, rng)
    places: list[tuple] = []
    if isinstance(value, dict | list):
        _collect(value, places)
    if not places:
        return json.dumps(rng.choice(_JSON)).encode()
    holder, key = rng.choice(places)
    if isinstance(holder, dict):
        change = rng.randrange(4)
        if change == 0:
            del holder[key]
        elif change == 1:
            holder[rng.choice(("x", "", "name", "introns"))] = holder.pop(key)
        else:
            holder[key] = rng.choice(_JSON)
    else:
        holder[key : key + 1] = rng.choice(([], [holder[key]] * 2, [rng.choice(_JSON)]))
    return json.dumps(value).encode("utf-8", "replace")


def _collect(value, places: list[tuple]) -> None:
    """List the places of a value: all keys, and of lists' items the first few."""
    items = value.items() if isinstance(value, dict) else list(enumerate(value))[:12]
    for key, inner in list(items):
        places.append((value, key))
        if isinstance(inner, dict | list):
            _collect(inner, places)


def _npy_header(content: bytes, rng: Random) -> bytes:
    heads = (
        "(9999999999,)", "(2, 3, 4)", "()", "(-1,)", "(0,)", "(3, 0)", "('x',)", f"({2**62}, 8)",
    )  # fmt: skip
    types = ("<f8", "<f4", "<i4", "<i8", "<u8", "|O", "<c16", "<M8[s]", "|b1", "|S3", "<f2", ">i4")
    changed = re.sub(rb"\([^)]*\)", rng.choice(heads).encode(), content[:128], count=1)
    if rng.random() < 0.5:
        changed = re.sub(rb"'[<|>][a-zA-Z]\w*'", f"'{rng.choice(types)}'".encode(), content[:128])
    return changed + content[128:]


def _npy_array(content: bytes, rng: Random) -> bytes:
    values = rng.choice((
        np.array([]), np.array([[1.0]]), np.array([np.nan, 1.0]), np.array([np.inf]),
        np.array([[1e308, 1e308], [1e308, -1e308]]), np.array([2**62, 2**62]),
        np.array([[2**63 - 1, 1]]), np.array([1e-320, 5.0]), np.array([True, False]),
        np.array([1 + 2j]), np.array(["a"]), np.array([[-(2**63)]]), np.zeros((2, 2, 2)),
        np.array([2**63], np.uint64), np.asfortranarray(np.arange(12).reshape(3, 4)),
        np.array([1, 2], ">i8"), np.array([0.5, -0.25], np.float16), np.zeros((0, 3)),
    ))  # fmt: skip
    stream = io.BytesIO()
    np.save(stream, values)
    return stream.getvalue()


def _gzip(content: bytes, rng: Random) -> bytes:
    return rng.choice((
        content * 2, content[:-8], content + b"\0" * 9, content + b"x", gzip.compress(b"", mtime=0),
        gzip.compress(content, mtime=0), content[:-8] + struct.pack("<II", 0, 0), b"\x1f\x8b",
        gzip.compress(b">a\n" + b"A" * 100_000, mtime=0),
    ))  # fmt: skip


def _within_gzip(content: bytes, rng: Random) -> bytes:
    try:
        text = gzip.decompress(content)
    except Exception:
        return damaged(content, rng)
    return gzip.compress(_record(text or b"\n", rng), 1, mtime=0)


def _within_bgzip(content: bytes, rng: Random) -> bytes:
    """Damage what a BAM file holds below its compression."""
    try:
        text = bytearray(gzip.decompress(content))
    except Exception:
        return damaged(content, rng)
    for _ in range(rng.choice((1, 2, 8))):
        text[rng.randrange(len(text))] = rng.choice((0, 1, 127, 128, 255, rng.randrange(256)))
    return bgzipped(bytes(text))


def bgzipped(content: bytes) -> bytes:
    """Return what bgzip makes of some bytes."""
    import tempfile

    with tempfile.NamedTemporaryFile() as file:
        with pysam.BGZFile(file.name, "wb") as stream:
            stream.write(content)
        return file.read()


def options_of(words: list[str], program: click.Command) -> list[click.Option]:
    """Return the options of the command that a command line begins with."""
    command, context = program, click.Context(program)
    for word in words:
        if not isinstance(command, LazyGroup):
            break
        command = command.get_command(context, word)
    return [each for each in command.params if isinstance(each, click.Option)]


def hostile_options(
    options: list[click.Option], forbidden: tuple[str, ...], rng: Random
) -> list[str]:
    """Return up to three options of a command, with values of which most are wrong."""
    words = []
    known = [option for option in options if option.name not in forbidden]
    for option in rng.choices(known, k=rng.choice((0, 0, 1, 1, 2, 3))) if known else ():
        words.append(option.opts[0])
        if not option.is_flag:
            choices = tuple(getattr(option.type, "choices", ()))
            words += [rng.choice((*HOSTILE_VALUES, *choices * 3)) for _ in range(option.nargs)]
    return words
