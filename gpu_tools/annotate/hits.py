"""Hits: the credible chains of each target in its windows, best ones first.

`HitSearch` aligns the windows of a batch of targets; `in_one_direction` and `results_of` choose
among the chains of all; `Explanation` compares the structures of hits.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby, pairwise
from typing import NamedTuple

from gpu_tools.annotate.genome import GenomeRecords
from gpu_tools.annotate.options import Alignment, AnnotationOptions
from gpu_tools.annotate.targets import TargetSet, widened
from gpu_tools.hardware.threads import map_on_threads, prefetch
from gpu_tools.model.loci import interval_of
from gpu_tools.model.locus import SearchWindow, SeedChain, SeedHit
from gpu_tools.model.significance import Gumbel
from gpu_tools.sites.api import SiteCase
from gpu_tools.splicing.chance import evalues_in_place, lengthened

LEAST_REST = 60
"""Fewest nucleotides beside a chain that are tried again."""
LEAST_SHARE = 0.1
"""A chain of words is tried from this share of the least score of a hit on."""
NARROW = 2
"""Ratio of a window's length to its near part's above which the near part is tried first."""
LEAST_NEAR = -0.1
"""Points a residue from which on a near part without a hit is followed by all of its window."""
_CHUNK, _LARGE_CHUNK = 4 << 20, 16 << 20
"""Nucleotides of windows that are prepared at a time; between groups a GPU waits."""


@dataclass(frozen=True)
class HitSearch:
    """What the hits of targets depend on."""

    genome: GenomeRecords
    targets: TargetSet
    laws: Sequence[Gumbel]  # of the best score in the genome if a target is unrelated, by target
    options: AnnotationOptions
    device: str
    threads: int
    # nucleotides of both strands of the whole genome, of which `genome` may be a part
    space: int | None = None

    def of_part(self, first: int, last: int) -> HitSearch:
        """Return the search of a part of the targets, which are counted from its first one."""
        part = replace(self.targets, sequences=self.targets.sequences[first:last])
        return replace(self, targets=part, laws=self.laws[first:last])

    def alignments(self, windows: Iterable[SearchWindow]) -> Iterator[tuple[int, Alignment]]:
        """Yield the best chain of each window, and of what remains beside credible ones.

        What is left of a window on both sides of a hit is tried again, as long as there are hits.
        A window whose hit has an intron that is too long is cut there, and both parts are tried
        instead.
        """
        tried = (window for window in windows if self._is_tried(window))
        waiting = list(tried) if self._knows_words else tried
        while waiting:
            remaining: list[SearchWindow] = []
            for window, alignment in self._aligned(self._promising(waiting)):
                if self.options.is_hit(alignment):
                    cut = _long_intron(alignment, self.options.max_intron)
                    remaining += self._rests(window, cut or interval_of(alignment), bool(cut))
                    if cut:
                        continue
                else:
                    remaining += self._beside(window, alignment)
                if alignment.score is not None:
                    yield window.target, alignment
            waiting = remaining

    def _rests(self, window: SearchWindow, taken: tuple[int, int], cut: bool):
        """Return the parts of a window beside a chain, or beside the middle of an intron.

        Beside a chain only parts count in which the search found something.
        """
        first = self.genome.loci[window.record].start
        left, right = (sum(taken) // 2,) * 2 if cut else taken
        rests = (window.part(window.start, left - first), window.part(right - first, window.end))
        tried = [rest for rest in rests if len(rest) >= LEAST_REST]
        return [_rest(rest) for rest in tried if cut or self._may_hold_more(_rest(rest), window)]

    def _may_hold_more(self, rest: SearchWindow, window: SearchWindow) -> bool:
        """Return whether there may be a further gene in the rest of a window."""
        return not window.chains or (bool(rest.chains) and self._is_tried(rest))

    def _is_tried(self, window: SearchWindow) -> bool:
        """Return whether the best chain of words in a window may be a part of a hit."""
        if not window.chains:
            return True
        best = max(chain.score for chain in window.chains)
        return best >= LEAST_SHARE * self._least_score(window.target)

    @property
    def _knows_words(self) -> bool:
        """Whether windows have chains of words with cores: proteins found by words."""
        return self.options.search == "seeded" and self.targets.finds_loose_ends

    def _promising(self, windows: Iterable[SearchWindow]) -> Iterable[SearchWindow]:
        """Return windows without the chains of words that chance has made, by their cores."""
        if not self._knows_words:
            return windows
        length = [len(target) for target in self.targets.sequences]
        cores = {
            (k, chain): core for k, w in enumerate(windows)
            for chain, core in cores_of(w, length[w.target], self._least_score(w.target)).items()
        }  # fmt: skip
        whole = self._cases([core.window for core in cores.values()])
        cases = [core.case(case) for core, case in zip(cores.values(), whole, strict=True)]
        found = self._align_all(cases)
        scores = dict(zip(cores, (one.score for one in found), strict=True))
        refused = {key for key, score in scores.items() if score is None or score < LEAST}
        return [left for k, w in enumerate(windows) for left in _without(w, k, refused)]

    def _aligned(self, windows: Iterable[SearchWindow]) -> Iterator[tuple[SearchWindow, Alignment]]:
        """Yield each window, and the best chain in it.

        Where a window is much longer than its near part, that is tried first. The rest follows
        only if exons there could win something.
        """
        # the next windows are cut and their sites scored while these are aligned
        for chunk, near, cases in prefetch(self._prepared(windows), 1):
            found = self._best(near, cases)
            wider = {
                k: wide for k, window in enumerate(chunk)
                if (wide := self._wider(window, near[k], found[k]))
            }  # fmt: skip
            again = list(wider.values())
            for k, alignment in zip(wider, self._best(again, self._cases(again)), strict=True):
                found[k] = alignment
            yield from zip(chunk, self._supported(chunk, self._judged(chunk, found)), strict=True)

    def _prepared(self, windows: Iterable[SearchWindow]) -> Iterator[tuple[list, list, list]]:
        """Yield groups of windows, the parts that are tried first, and their cases."""
        size = _LARGE_CHUNK if self.options.waits_for_windows(self.device) else _CHUNK
        for chunk in _chunks(windows, size):
            near = [self._near(window) for window in chunk]
            yield chunk, near, self._cases(near)

    def _near(self, window: SearchWindow) -> SearchWindow:
        """Return the part of a window that is tried first."""
        near = window.near if self.targets.finds_loose_ends else window
        return near if len(window) > NARROW * len(near) else window

    def _wider(self, window: SearchWindow, near: SearchWindow, alignment: Alignment):
        """Return the part of a window that is to be tried after its near part, or None."""
        if near is window or self._is_hopeless(window, alignment):
            return None
        if not alignment.chain:
            return window
        ends = self.targets.loose_ends(alignment)
        own = self._interval(window, alignment)
        return widened(window, near, own, ends, self.options.max_intron)

    def _is_hopeless(self, window: SearchWindow, alignment: Alignment) -> bool:
        """Return whether the best chain of a near part is too bad for a hit in all of a window."""
        if alignment.chain or self._near(window) is window:
            return False
        residues = len(self.targets.sequences[window.target])
        return alignment.score is None or alignment.score < LEAST_NEAR * residues

    def _beside(self, window: SearchWindow, alignment: Alignment) -> list[SearchWindow]:
        """Return a window with its chains beside its near part, if that has no hit."""
        if not self._is_hopeless(window, alignment):
            return []
        best, near = window.best, self._near(window)
        chains = tuple(
            chain for chain in window.chains
            if chain != best and (chain.start < near.start or chain.end > near.end)
        )  # fmt: skip
        other = replace(window, chains=chains)
        return [other] if chains and self._is_tried(other) else []

    def _interval(self, window: SearchWindow, alignment: Alignment) -> tuple[int, int]:
        """Return where a chain lies in its window's sequence."""
        first = self.genome.loci[window.record].start
        start, end = interval_of(alignment)
        return start - first, end - first

    def _judged(self, windows: list[SearchWindow], found: list[Alignment]) -> list[Alignment]:
        """Return alignments; hits that the law may not hold for have the E-value of their place.

        These are hits of biased composition, and all of a target that is not composed like those
        to which the law was fitted; then the genome counts as many such places. A place is made of
        a chain's interval, so that it is the same in every window that holds it.
        """
        doubtful = [
            k for k, one in enumerate(found)
            if self.options.is_hit(one)
            and (not self.laws[windows[k].target].known or self.targets.is_biased(one))
        ]  # fmt: skip
        if not doubtful:
            return found
        cases = map_on_threads(
            self.threads, lambda k: self._case_of(windows[k], found[k]), doubtful
        )
        numbers = [self._places(windows[k], case) for k, case in zip(doubtful, cases, strict=True)]
        scores, codons = [found[k].score for k in doubtful], self.targets.shuffles_codons
        own = evalues_in_place(cases, scores, self._align_all, codons, numbers)
        for k, evalue in zip(doubtful, own, strict=True):
            found[k] = found[k].with_evalue(max(found[k].evalue, evalue))
        return found

    def _case_of(self, window: SearchWindow, alignment: Alignment):
        """Return the case of a target at the place of its chain."""
        place = window.part(*self._interval(window, alignment))
        base = self.genome.cut(place)
        if not self.laws[window.target].known:
            base = lengthened(base)
        tables = self.targets.tables(base, window.strand)
        return self.targets.case(base, self.targets.sequences[window.target], tables)

    def _places(self, window: SearchWindow, case) -> float:
        """Return the number of places like a case's in the genome; 1 if its law counts them."""
        if self.laws[window.target].known:
            return 1.0
        space = self.space or 2 * self.genome.summary.composition.length
        return max(space / len(case.base), 1.0)

    def _align_all(self, cases: list) -> list[Alignment]:
        """Return the best scores of cases, without chains."""
        return self.targets.align(cases, [NO_CHAIN] * len(cases), self.device, self.threads)

    def _supported(self, windows: list[SearchWindow], found: list[Alignment]) -> list[Alignment]:
        """Return alignments; hits without ends that no similarity supports."""
        cut = [
            k for k, one in enumerate(found)
            if self.options.is_hit(one) and self.targets.has_unsupported_end(one)
        ]  # fmt: skip
        cases, own = self._cases([windows[k] for k in cut]), [found[k] for k in cut]
        others = self.targets.supported(cases, own, self.device, self.threads) if cut else []
        again = {
            k: other.moved(self.genome.locus_of(windows[k]))
            for k, other in zip(cut, others, strict=True) if other
        }  # fmt: skip
        return [again.get(k, one) for k, one in enumerate(found)]

    def _best(self, windows: list[SearchWindow], cases: list) -> list[Alignment]:
        """Return the best chain of each window, given the windows' cases."""
        if not windows:
            return []
        least = [self._least_score(window.target) for window in windows]
        found = self.targets.align(cases, least, self.device, self.threads)
        return [self._placed(window, one) for window, one in zip(windows, found, strict=True)]

    def _cases(self, windows: list[SearchWindow]) -> list:
        places = list(dict.fromkeys(map(_place, windows)))
        bases = {place[:3]: None for place in places}
        by_place = dict(zip(map(_place, windows), windows, strict=True))
        for place in places:
            bases[place[:3]] = bases[place[:3]] or self.genome.cut(by_place[place])
        tables = map_on_threads(
            self.threads, lambda place: self.targets.tables(bases[place[:3]], place[3]), places
        )
        table_of = dict(zip(places, tables, strict=True))
        return [
            self.targets.case(
                bases[_place(w)[:3]], self.targets.sequences[w.target], table_of[_place(w)]
            )
            for w in windows
        ]

    def _least_score(self, target: int) -> int:
        """Return a score below which no chain is a hit, just below the first that may be."""
        return math.floor(self.laws[target].score_at(self.options.max_evalue)) - 1

    def _placed(self, window: SearchWindow, alignment: Alignment) -> Alignment:
        """Return an alignment in its record's coordinates, with its E-value."""
        moved = alignment.moved(self.genome.locus_of(window))
        if moved.score is None:
            return moved
        return moved.with_evalue(self.laws[window.target].evalue(moved.score))


def _without(window: SearchWindow, number: int, refused: set) -> list[SearchWindow]:
    """Return a window without some of its chains, or nothing if it has no other."""
    chains = tuple(chain for chain in window.chains if (number, chain) not in refused)
    if len(chains) == len(window.chains):
        return [window]
    return [replace(window, chains=chains)] if chains else []


def _rest(window: SearchWindow) -> SearchWindow:
    """Return a part of a window with the chains that lie in it for `LEAST_REST` nucleotides."""
    chains = tuple(
        chain for chain in window.chains
        if min(chain.end, window.end) - max(chain.start, window.start) >= LEAST_REST
    )  # fmt: skip
    return replace(window, chains=chains)


def _place(window: SearchWindow) -> tuple[int, int, int, str]:
    return window.record, window.start, window.end, window.strand


def _chunks(windows: Iterable[SearchWindow], most: int) -> Iterator[list[SearchWindow]]:
    """Yield windows in groups whose different places have `most` nucleotides together, about."""
    chunk: list[SearchWindow] = []
    size = 0
    for _, group in groupby(windows, key=_place):
        group = list(group)
        if chunk and size + len(group[0]) > most:
            yield chunk
            chunk, size = [], 0
        chunk += group
        size += len(group[0])
    if chunk:
        yield chunk


def _long_intron(alignment: Alignment, longest: int) -> tuple[int, int] | None:
    """Return the longest intron of a chain if it is longer than `longest`."""
    introns = [(a[1], b[0]) for a, b in pairwise(sorted(alignment.chain))]
    worst = max(introns, key=lambda intron: intron[1] - intron[0], default=(0, 0))
    return worst if worst[1] - worst[0] > longest else None


# Cores of windows: few residues show whether a weak chain of words lies in a gene.
#
# Windows of long targets are long, whether a gene or chance has made them, and take most of the
# time of a search. Around a gene's words the neighbouring residues align as well; around words of
# chance they cost more than the words bring.


WEAK = 0.5
"""A chain of words is weak, and its core tried, below this share of the least score of a hit."""
SPARED = 3
"""Least ratio of a window's cells to its core's for which the core is tried."""
LEAST = 0
"""Least score of a core: hits at 30 to 50 % identity have 32 and more, 9 in 10 others less."""
NO_CHAIN = 1 << 28
"""A least score that no chain has, so that none is traced."""
_NEIGHBOURS = 100
_NUCLEOTIDES = 3 * _NEIGHBOURS + 1200


class WindowCore(NamedTuple):
    """A part of a window, and the residues of the target from `first` to before `last` for it."""

    window: SearchWindow
    first: int
    last: int

    def case(self, case: SiteCase) -> SiteCase:
        """Return the case of the core's residues alone."""
        codes = case.target.codes[self.first : self.last]
        return replace(case, target=replace(case.target, codes=codes))


def cores_of(window: SearchWindow, residues: int, least: int) -> dict[SeedChain, WindowCore]:
    """Return the cores of the chains of a window, of weak chains alone."""
    if any(chain.score >= WEAK * least for chain in window.chains):
        return {}
    cores = {chain: _core(window, chain.seed, residues) for chain in window.chains}
    return {chain: core for chain, core in cores.items() if core}


def _core(window: SearchWindow, seed: SeedHit, residues: int) -> WindowCore | None:
    """Return the core around a seed, None if it spares little or cuts the seed."""
    if seed.start < window.start or seed.end > window.end:
        return None
    low, high = seed.start - _NUCLEOTIDES, seed.end + _NUCLEOTIDES
    part = window.part(max(low, window.start), min(high, window.end))
    first, last = max(seed.first - _NEIGHBOURS, 0), min(seed.last + _NEIGHBOURS, residues)
    core = WindowCore(part, first, last)
    return core if len(window) * residues >= SPARED * len(part) * (last - first) else None
