"""The largest published case beside spaln: time, and what both find.

Run ``python -m benchmarks.spliced.bench_large [RECORD.json] [--tiny]``. The case has the shape of
the gene IL1RAPL1: random sequences, and a target that is a mutated chain of candidates. List mode
gets the candidates; spaln searches the base itself, once as it is, and once with GT and AG beside
the exons of the best chain, without which no programme that looks for splice sites can find them.
Times are the processor's. Shared nucleotides are those of exons of both.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise

from benchmarks import case_sets, record
from benchmarks.accuracy import programs
from gpu_tools import Case, Sequence, spliced_align
from gpu_tools.model.sequences import decode, encode

SPALN = programs.OF_CDNAS["spaln"]
_INDEX, (_NAME, *_OPTIONS) = SPALN.commands
LONG_GENES = SPALN._replace(commands=(_INDEX, (_NAME, "-yX1", "-XG3M", *_OPTIONS)))
"""spaln for cDNAs of other species, and genes of up to 3 Mb: by default it takes shorter ones."""
DONOR, ACCEPTOR = encode("GT"), encode("AG")


def with_signals(case: Case, chain: list[tuple[int, int]]) -> Case:
    """Return a case whose introns of a chain on the forward strand begin with GT and end in AG."""
    codes = case.base.codes.copy()
    for (_, end), (start, _) in pairwise(chain):
        codes[end : end + 2], codes[start - 2 : start] = DONOR, ACCEPTOR
    return replace(case, base=Sequence(case.base.name, codes))


def measure(tiny: bool = False) -> Iterator[tuple[str, dict]]:
    """Yield list mode on one core, and spaln where it is installed."""
    case = case_sets.case_set(case_sets.SMALL)[0] if tiny else case_sets.il1rapl1_like()
    spliced_align([case], device="cpu", threads=1)  # compiles
    begin = time.process_time()
    (result,) = spliced_align([case], device="cpu", threads=1)
    seconds, chain = time.process_time() - begin, list(result.chain)
    yield "list mode, one core", figures_of(case, chain, chain, seconds)
    if "spaln" not in programs.installed(programs.OF_CDNAS):
        return
    for name, own in (("as it is", case), ("with GT and AG", with_signals(case, chain))):
        pair = own.base.codes, decode(own.target.codes)
        (exons,), seconds = programs.run(LONG_GENES, [pair])
        found = [(start, end) for strand, start, end in exons if strand == "+"]
        yield f"spaln, the base {name}", figures_of(own, chain, found, seconds)


def figures_of(case: Case, chain: list, found: list, seconds: float) -> dict:
    """Return what is found: exons, nucleotides, and what is shared with the best chain."""
    places = [{k for start, end in own for k in range(start, end)} for own in (chain, found)]
    return {
        "base": len(case.base), "target": len(case.target), "processor_seconds": round(seconds, 3),
        "exons": len(found), "same": len(set(chain) & set(found)), "of": len(chain),
        "nucleotides": len(places[1]), "shared": len(places[0] & places[1]),
        "of_nucleotides": len(places[0]),
    }  # fmt: skip


if __name__ == "__main__":
    record.main(measure)
