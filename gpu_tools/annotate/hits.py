"""Hits: the credible chains of each target in its windows, best ones first.

`HitSearch` aligns all windows of a state together; `trials` has the states.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby

import numpy as np

from gpu_tools.annotate.genome import GenomeRecords
from gpu_tools.annotate.options import Alignment, AnnotationOptions
from gpu_tools.annotate.targets import TargetSet
from gpu_tools.annotate.trials import Core, Trial, cores_of, is_promising, without
from gpu_tools.hardware.device import resolve
from gpu_tools.hardware.threads import map_on_threads, prefetch
from gpu_tools.model.acceptance import GAP, YES
from gpu_tools.model.loci import interval_of
from gpu_tools.model.locus import SearchWindow
from gpu_tools.model.sequences import OTHER
from gpu_tools.model.significance import Gumbel
from gpu_tools.search.windows import USUAL
from gpu_tools.sites.api import FLANK
from gpu_tools.splicing.chance import evalues_in_place, lengthened

_CHUNK, _LARGE_CHUNK = 4 << 20, 16 << 20
"""Nucleotides of windows that are prepared at a time; between groups a GPU waits."""
SPANNED = 0.4
"""Least part of a hit's symbols that chains of words span."""
MOST_OF_TARGET = 0.25
"""Part of a target up to which its ends are aligned by themselves."""
_NO_CHAIN = 1 << 28
"""A least score that no chain has, so that none is traced."""


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

    def of_reversed(self, numbers: Sequence[int]) -> HitSearch:
        """Return the search of the reverse complements of some targets, counted from 0."""
        turned = self.targets.turned.sequences
        part = replace(self.targets, sequences=tuple(turned[k] for k in numbers), stranded=True)
        return replace(self, targets=part, laws=[self.laws[k] for k in numbers])

    def alignments(self, windows: Iterable[SearchWindow]) -> Iterator[tuple[int, Alignment]]:
        """Yield the best chain of each window, and of what remains beside hits.

        Of a cDNA whose best window holds an accepted hit, the seeded search leaves out windows
        whose words are of too few symbols for another one.
        """
        accepted: set[int] = set()
        for state in self._best_first(windows):
            left = (
                [one for one in state if one.target not in accepted or self._may_be_hit(one)]
                if accepted
                else state
            )
            for target, alignment in self._alignments(left):
                if self.options.acceptance.verdict(alignment) == YES:
                    accepted.add(target)
                yield target, alignment

    def may_score(self, windows: Iterable[SearchWindow], wanted: Sequence[float]) -> list[int]:
        """Return the targets that score in a near part as much as is wanted of each, in order."""
        left = [
            one.near for one in windows
            if self._may_be_hit(one, wanted[one.target] / self.targets.perfect_score(one.target))
        ]  # fmt: skip
        found = set()
        for chunk in _chunks(left, _CHUNK):
            scores = self._align_all(self._cases(chunk))
            found |= {
                window.target for window, one in zip(chunk, scores, strict=True)
                if one.score is not None and one.score >= wanted[window.target]
            }  # fmt: skip
        return sorted(found)

    def _best_first(self, windows: Iterable[SearchWindow]) -> Iterator[Iterable[SearchWindow]]:
        """Yield the best window of each cDNA, then the others; all windows without words."""
        if self.targets.has_cores or self.options.search != "seeded":
            yield windows
            return
        windows = list(windows)
        rising = sorted(range(len(windows)), key=lambda k: (windows[k].score, -k))
        best = set({windows[k].target: k for k in rising}.values())
        yield [one for k, one in enumerate(windows) if k in best]
        yield [one for k, one in enumerate(windows) if k not in best]

    def _may_be_hit(self, window: SearchWindow, coverage: float | None = None) -> bool:
        """Return whether words are of enough symbols for a hit of a coverage.

        That is not known beside a gap or an end of the record, where symbols may be missing.
        """
        coverage = self.options.min_coverage if coverage is None else coverage
        codes = self.genome.records[window.record].codes
        low = min(chain.low for chain in window.chains)
        high = max(chain.high for chain in window.chains)
        if low == 0 or high == len(codes) or np.count_nonzero(codes[low:high] == OTHER) > GAP:
            return True
        found = np.zeros(len(self.targets.sequences[window.target]), np.bool_)
        for chain in window.chains:
            found[slice(*chain.symbols)] = True
        return found.mean() >= SPANNED * coverage

    def _alignments(self, windows: Iterable[SearchWindow]) -> Iterator[tuple[int, Alignment]]:
        """Yield the chains of windows, then those of what remains of them, and so on."""
        remaining = windows
        while remaining:
            groups, remaining = self._prepared(self._with_cores(remaining)), []
            for trial in (trial for group in groups for trial in self._aligned(*group)):
                if not self.options.is_hit(trial.alignment):
                    remaining += trial.with_other_words()
                elif intron := trial.long_intron(self.options.max_intron):
                    remaining += trial.cut(intron)
                    continue
                else:
                    remaining += trial.beside_hit()
                if trial.alignment.score is not None:
                    yield trial.window.target, trial.alignment

    # The states of windows, one after the other.

    def _with_cores(self, windows: Iterable[SearchWindow]) -> Iterable[SearchWindow]:
        """Return windows without the chains of words that chance has made, by their cores."""
        if not (self.targets.has_cores and self.options.search == "seeded"):
            return windows
        windows, lengths = list(windows), [len(one) for one in self.targets.sequences]
        cores = {
            (k, chain): core for k, one in enumerate(windows) for chain, core in
            cores_of(one, lengths[one.target], self._least_score(one.target)).items()
        }  # fmt: skip
        found = dict(zip(cores, self._in_cores([*cores.values()]), strict=True))
        refused: list[set] = [set() for _ in windows]
        for (k, chain), one in found.items():
            if not is_promising(one):
                refused[k].add(chain)
        return [left for k, one in enumerate(windows) for left in without(one, refused[k])]

    def _prepared(self, windows: Iterable[SearchWindow]) -> Iterator[tuple[list[Trial], list]]:
        """Yield groups of windows with their near parts, and the cases of these.

        With several threads the next windows are cut and their sites scored while these are
        aligned.
        """

        def prepared(chunk: list[SearchWindow]) -> tuple[list[Trial], list]:
            trials = [Trial.near(one, self.genome.loci[one.record].start) for one in chunk]
            return trials, self._cases([trial.part for trial in trials])

        size = _LARGE_CHUNK if resolve(self.device).kind != "cpu" else _CHUNK
        groups = map(prepared, _chunks(windows, size))
        return groups if self.threads == 1 else prefetch(groups, 1)

    def _aligned(self, trials: list[Trial], cases: list) -> list[Trial]:
        """Return trials of near parts, aligned, or those of as much as these ask for."""
        trials = self._tried(trials, cases)
        wider = {k: wide for k, one in enumerate(trials) if (wide := self._wider(one))}
        wider = self._with_ends_beside(trials, wider)
        again = self._tried([*wider.values()], self._cases([w.part for w in wider.values()]))
        for k, trial in zip(wider, again, strict=True):
            trials[k] = trial
        return self._supported(self._judged(trials))

    def _tried(self, trials: list[Trial], cases: list) -> list[Trial]:
        """Return trials with the best chains of their parts, and these chains' E-values.

        A wider part has the chain of the part before, if there is one and none is better.
        """
        if not trials:
            return []
        chained = [bool(one.alignment and one.alignment.chain) for one in trials]
        least = [
            one.alignment.score + 1 if known else one.wanted(self._least_score(one.window.target))
            for one, known in zip(trials, chained, strict=True)
        ]
        found = self.targets.align(cases, least, self.device, self.threads)
        return [
            replace(trial, alignment=self._placed(trial.part, one))
            if not known or one.score >= score else trial
            for trial, one, known, score in zip(trials, found, chained, least, strict=True)
        ]  # fmt: skip

    def _wider(self, trial: Trial) -> Trial | None:
        """Return the trial of what is aligned after a part, None if nothing is.

        Nor is it where with all that loose ends are expected to win there is no hit.
        """
        if trial.part == trial.window or not trial.alignment.chain:
            return None
        ends, costs = self.targets.loose_ends(trial.alignment), self.targets.costs_beside
        won = sum(end.points + USUAL for end in ends) / self.targets.points
        if trial.alignment.score + won < self._least_score(trial.window.target):
            return None
        reach = [end.reach(costs, self.options.max_intron) for end in ends]
        return trial.widened(*(reach if trial.window.strand == "+" else reach[::-1]))

    def _with_ends_beside(
        self, trials: list[Trial], wider: dict[int, Trial]
    ) -> dict[int, Trial]:  # fmt: skip
        """Return wider trials without those of hits whose ends score no more beside their parts.

        Ends of cDNAs are aligned by themselves where that takes few cells. Distant proteins may
        have a better chain of which no end scores more by itself.
        """
        if self.targets.has_cores:
            return wider
        numbers: list[int] = []
        cores: list[Core] = []
        for k, wide in wider.items():
            length = len(self.targets.sequences[wide.window.target])
            symbols = [end.symbols for end in self.targets.loose_ends(trials[k].alignment)]
            pairs = trials[k].ends_beside(wide.part, symbols, length)
            if sum(core.last - core.first for _, core in pairs) <= MOST_OF_TARGET * length:
                numbers += [k] * len(pairs)
                cores += [core for pair in pairs for core in pair]
        known = [-math.inf if one.score is None else one.score for one in self._in_cores(cores)]
        several = zip(numbers, known[::2], known[1::2], strict=True)
        more = {k for k, near, beside in several if beside > near}
        return {k: wide for k, wide in wider.items() if k in more or k not in numbers}

    def _judged(self, trials: list[Trial]) -> list[Trial]:
        """Return trials; hits that the law may not hold for have the E-value of their place.

        These are hits of biased composition, and all of a target that is not composed like those
        to which the law was fitted; then the genome counts as many such places. A place is made of
        a chain's interval, so that it is the same in every window that holds it.
        """
        doubtful = [
            k for k, one in enumerate(trials)
            if self.options.is_hit(one.alignment)
            and (not self._law(one).known or self.targets.is_biased(one.alignment))
        ]  # fmt: skip
        if not doubtful:
            return trials
        trials = list(trials)
        cases = map_on_threads(self.threads, lambda k: self._case_of_place(trials[k]), doubtful)
        numbers = [self._places(trials[k], case) for k, case in zip(doubtful, cases, strict=True)]
        own = [trials[k].alignment for k in doubtful]
        scores, known = [one.score_alone for one in own], [one.evalue for one in own]
        codons = self.targets.shuffles_codons
        found = evalues_in_place(cases, scores, known, self._align_all, codons, numbers)
        for k, one, evalue in zip(doubtful, own, found, strict=True):
            trials[k] = replace(trials[k], alignment=one.with_evalue(evalue))
        return trials

    def _case_of_place(self, trial: Trial):
        """Return the case of a target at the place of its chain."""
        window = trial.window
        base = self.genome.cut(window.part(*trial.interval))
        if not self._law(trial).known:
            base = lengthened(base)
        tables = self.targets.tables(base, window.strand)
        return self.targets.case(base, self.targets.sequences[window.target], tables)

    def _places(self, trial: Trial, case) -> float:
        """Return the number of places like a case's in the genome; 1 if its law counts them."""
        if self._law(trial).known:
            return 1.0
        space = self.space or 2 * self.genome.summary.composition.length
        return max(space / len(case.base), 1.0)

    def _supported(self, trials: list[Trial]) -> list[Trial]:
        """Return trials; hits without ends that no similarity supports."""
        cut = [
            k for k, one in enumerate(trials)
            if self.options.is_hit(one.alignment)
            and self.targets.has_unsupported_end(one.alignment)
        ]  # fmt: skip
        if not cut:
            return trials
        trials = list(trials)
        windows = [self._around_chain(trials[k]) for k in cut]
        loci = [*map(self.genome.locus_of, windows)]
        own = [trials[k].alignment.within(locus) for k, locus in zip(cut, loci, strict=True)]
        others = self.targets.supported(self._cases(windows), own, self.device, self.threads)
        for k, other, locus in zip(cut, others, loci, strict=True):
            if other:
                trials[k] = replace(trials[k], alignment=other.moved(locus))
        return trials

    def _around_chain(self, trial: Trial) -> SearchWindow:
        """Return the window of a trial's chain and of what is beside it in the part."""
        low, high = interval_of(trial.alignment)
        first, part = self.genome.loci[trial.part.record].start, trial.part
        start, end = low - first - FLANK, high - first + FLANK
        return part.part(max(start, part.start), min(end, part.end))

    # What all states need.

    def _cases(self, windows: Sequence[SearchWindow]) -> list:
        """Return the cases of windows; a base is cut, and its sites are scored, once."""
        first = {_place(window): window for window in reversed(windows)}
        bases = {place[:3]: self.genome.cut(window) for place, window in first.items()}
        tables = map_on_threads(
            self.threads, lambda place: self.targets.tables(bases[place[:3]], place[3]), first
        )
        table_of = dict(zip(first, tables, strict=True))
        return [
            self.targets.case(bases[place[:3]], self.targets.sequences[target], table_of[place])
            for place, target in ((_place(window), window.target) for window in windows)
        ]

    def _in_cores(self, cores: list[Core]) -> list[Alignment]:
        """Return the best scores of cores, without chains."""
        cases = self._cases([core.window for core in cores])
        return self._align_all([core.case(one) for core, one in zip(cores, cases, strict=True)])

    def _align_all(self, cases: list) -> list[Alignment]:
        """Return the best scores of cases, without chains."""
        return self.targets.align(cases, [_NO_CHAIN] * len(cases), self.device, self.threads)

    def _law(self, trial: Trial) -> Gumbel:
        return self.laws[trial.window.target]

    def _least_score(self, target: int) -> int:
        """Return a score below which no chain is a hit, just below the first that may be."""
        return math.floor(self.laws[target].score_at(self.options.max_evalue)) - 1

    def _placed(self, window: SearchWindow, alignment: Alignment) -> Alignment:
        """Return an alignment in its record's coordinates, with its E-value."""
        moved = alignment.moved(self.genome.locus_of(window))
        if moved.score is None:
            return moved
        return moved.with_evalue(self.laws[window.target].evalue(moved.score_alone))


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
