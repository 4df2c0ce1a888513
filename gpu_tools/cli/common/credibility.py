"""Which chains of spliced-align are credible: options, E-values, and what users are told."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import compress

from gpu_tools.cli.common import options
from gpu_tools.cli.common.options import option, progress
from gpu_tools.errors import ScoringError, counted
from gpu_tools.model.acceptance import Acceptance
from gpu_tools.model.results import SplicedAlignment
from gpu_tools.model.sequences import reversed_complement
from gpu_tools.model.significance import (
    NOT_CREDIBLE,
    Gumbel,
    NullModel,
    circumstances_of,
    laws_by,
    least_evalues,
    with_evalues,
)
from gpu_tools.splicing.chance import SHUFFLES, is_doubtful, judged_in_place
from gpu_tools.splicing.reading import begins_with_start, ends_with_stop
from gpu_tools.splicing.shuffles import LEAST_SHUFFLES, shuffled_laws

_log = logging.getLogger(__name__)
_FRACTION = options.NumberRange(0, 1)

acceptance = options.added(
    option(
        "--max-evalue X", type=options.NumberRange(min=0), default=Acceptance.max_evalue,
        help="Largest E-value of an accepted chain.",
    ),
    option(
        "--min-identity F", type=_FRACTION, default=Acceptance.min_identity,
        help="Smallest identity of an accepted chain.",
    ),
    option(
        "--min-coverage F", type=_FRACTION, default=Acceptance.min_coverage,
        help="Smallest coverage of the target by an accepted chain; with less it is part of a "
        "gene. What lies beyond a record's end or in a gap of N does not count.",
    ),
)  # fmt: skip
"""Adds the limits of acceptance to a command; it receives them by name."""

credibility = options.added(
    acceptance,
    option(
        "--shuffles N", type=options.Count(LEAST_SHUFFLES),
        help="E-values from N shuffled targets of each pair, instead of shipped parameters.",
    ),
    option(
        "--all-alignments",
        "Write all chains to the files of --alignments, not only accepted ones.",
    ),
)  # fmt: skip
"""Adds the options of acceptance to a command; it receives them by name."""


@dataclass(frozen=True)
class Run:
    """Cases, and how they are aligned.

    `align` aligns cases by the same scores on the same device. `nulls` gives the model of unrelated
    targets' scores of each case, or raises `ScoringError` if none is known. `shuffles` is the
    number of shuffled targets of each case, None for the shipped model. Only `nucleotides` have a
    reverse complement. `doubtful` tells of a case and its result whether the strand may be wrong.
    """

    cases: list
    align: Callable[..., Sequence[SplicedAlignment]]
    nulls: Callable[[list], list[NullModel]]
    reading: str
    shuffles: int | None
    nucleotides: bool = True
    doubtful: Callable[..., bool] = lambda case, result: False

    def laws(self, progress: Callable[[int], None], limit: float) -> list[Gumbel | None]:
        """Return the law of each case's best score; None where it is not known.

        Targets that are too short for an E-value within the limit have `NOT_CREDIBLE` then.
        """
        if self.shuffles:
            align = partial(self.align, progress=progress)
            return shuffled_laws(self.cases, align, self.shuffles, self.reading != "any")
        try:
            return laws_by(self.nulls(self.cases), circumstances_of(self.cases))
        except ScoringError as error:
            _log.warning(
                "%s: every chain counts as credible; --shuffles 100 computes E-values", error
            )
        return [NOT_CREDIBLE if e > limit else None for e in least_evalues(self.cases)]

    def judged(
        self, cases: list, results: Sequence[SplicedAlignment], laws: list[Gumbel | None],
        quiet: bool,
    ) -> list[SplicedAlignment]:  # fmt: skip
        """Return results with E-values, by the laws and where these leave doubts by chance."""
        results = with_evalues(results, laws)
        if self.shuffles:
            return results
        doubtful = [case for case, one, law in zip(cases, results, laws, strict=True)
                    if is_doubtful(one.evalue, law)]  # fmt: skip
        total = SHUFFLES * sum(case.cells for case in doubtful)
        with progress("shuffling doubtful targets", total, quiet) as done:
            align = partial(self.align, progress=done)
            return judged_in_place(cases, results, laws, align, self.reading != "any")

    def tell_reversed(
        self, results: list[SplicedAlignment], laws: list[Gumbel | None], wanted: Acceptance,
        quiet: bool,
    ) -> None:  # fmt: skip
        """Warn of targets whose reverse complements fit clearly better.

        Without shuffles only targets are tried that have no credible chain or a doubtful one.
        """
        if not self.nucleotides:
            return
        credible = [*map(wanted.is_credible, results)]
        placed = {one.target for one in compress(results, credible)}
        chosen = [
            k for k, (result, law) in enumerate(zip(results, laws, strict=True))
            if law and (
                self.shuffles or result.target not in placed
                or (credible[k] and self.doubtful(self.cases[k], result))
            )
        ]  # fmt: skip
        turned = [_turned(self.cases[k]) for k in chosen]
        aligned = self._align_turned(turned, quiet)
        found = self.judged(turned, aligned, [laws[k] for k in chosen], quiet)
        names = dict.fromkeys(
            other.target
            for k, other in zip(chosen, found, strict=True)
            if wanted.is_credible(other) and laws[k].is_clearly_above(other.score, results[k].score)
        )
        tell(list(names), "target", "with a clearly better fit as the reverse complement")

    def _align_turned(self, cases: list, quiet: bool) -> Sequence[SplicedAlignment]:
        if not cases:
            return []
        with progress("trying reverse complements", sum(c.cells for c in cases), quiet) as done:
            return self.align(cases, progress=done)


def _turned(case):
    return replace(case, target=reversed_complement(case.target))


def tell_codons(targets: Sequence, reading: str, ends: str) -> None:
    """Warn of targets that chains from start codon to stop codon cannot fit as a whole."""
    if reading != "complete" or ends != "global":
        return
    names = [
        t.name for t in targets if not (begins_with_start(t.codes) and ends_with_stop(t.codes))
    ]
    tell(
        names,
        "target",
        "without a start codon at the beginning or a stop codon at the end, as --coding expects "
        "(see --incomplete, --ends free-target)",
    )


def tell(names: list[str], kind: str, what: str) -> None:
    """Warn of things of a kind that have something in common, if there are any."""
    if names:
        shown = ", ".join(names[:3]) + (" ..." if len(names) > 3 else "")
        _log.warning("%s %s: %s", counted(len(names), kind), what, shown)
