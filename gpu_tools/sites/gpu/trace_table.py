"""What tracebacks on a GPU read beside stored rows: lists of a strand's sites, a row a job."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from gpu_tools.hardware.compiled import njit
from gpu_tools.sites.scores import BoundaryScores
from gpu_tools.sites.table import IntronClass, SiteTable

BOUNDARY, VALUE, KIND = range(3)
"""An element of a list of sites; those of first entries have no kind."""
SITE, FIRST = 3, 2
"""Numbers of an element."""
KIND_OF, LENGTH, PENALTY, ORIGIN, N_LINES, LINES = range(6)
"""Of an intron class: its kind, least length and penalty, the origin of its borders, and its lines
(extra, every).
"""
NO_STOPS = -1
NOT_EXPLAINED, TOO_MANY = -1, -2
"""Numbers of exons if the sweep is wrong, or if there are more than the buffer takes."""


OUTSIDE = -3
"""Number of exons if rows are needed that are not in memory."""


class RowsInMemory(NamedTuple):
    """Which of a job's stored rows there are.

    Attributes
    ----------
    low : int
        The first boundary whose rows there are.
    first_exit : int
        The first exit from there on.
    exit_rows, entry_rows : int
        What is taken off the numbers of rows of exits and of entries.
    """

    low: int = 0
    first_exit: int = 0
    exit_rows: int = 0
    entry_rows: int = 0


class TraceNumbers(NamedTuple):
    """What the traceback of a job begins with.

    Attributes
    ----------
    job : int
        The job's row of the table of jobs.
    end, column, value : int
        The boundary where the chain ends, its column, and S' there without the last exit's score.
    target, gains, exons : int
        Where the job's symbols, its columns of W and its exons begin in their buffers.
    most_exons : int
        Exons that the job's part of the buffer can take.
    parts : int
        Rows stored for an entry.
    best_sites : int
        The largest sum of sites less penalties of a part of a chain.
    codes : int
        Where the strand's nucleotides begin in their buffer.
    length : int
        Nucleotides of the strand.
    exits, entries, firsts, classes, stops : int
        Where the strand's lists begin in their buffer; of stop codons, `NO_STOPS` without any.
    n_exits, n_entries, n_firsts, n_classes : int
        Elements of the lists.
    class_size : int
        Numbers of an intron class.
    usual_first : int
        Score of a first entry that is not listed, `CLOSED` if there is none.
    low, first_exit, exit_rows, entry_rows : int
        See `RowsInMemory`.
    """

    job: int
    end: int
    column: int
    value: int
    target: int
    gains: int
    exons: int
    most_exons: int
    parts: int
    best_sites: int
    codes: int
    length: int
    exits: int
    entries: int
    firsts: int
    classes: int
    stops: int
    n_exits: int
    n_entries: int
    n_firsts: int
    n_classes: int
    class_size: int
    usual_first: int
    low: int
    first_exit: int
    exit_rows: int
    entry_rows: int


(
    AT_JOB, AT_END, AT_COLUMN, AT_VALUE, AT_TARGET, AT_GAINS, AT_EXONS, AT_MOST_EXONS, AT_PARTS,
    AT_BEST_SITES, AT_CODES, AT_LENGTH, AT_EXITS, AT_ENTRIES, AT_FIRSTS, AT_CLASSES, AT_STOPS,
    AT_N_EXITS, AT_N_ENTRIES, AT_N_FIRSTS, AT_N_CLASSES, AT_CLASS_SIZE, AT_USUAL_FIRST,
    AT_LOW, AT_FIRST_EXIT, AT_EXIT_ROWS, AT_ENTRY_ROWS,
) = range(len(TraceNumbers._fields))  # fmt: skip
"""Where the elements of `TraceNumbers` are."""


_NOTHING = TraceNumbers(*[0] * len(TraceNumbers._fields))


class StrandLists(NamedTuple):
    """The lists of a strand, one behind the other, and the part of `TraceNumbers` about them."""

    numbers: NDArray[np.int32]
    about: dict[str, int]

    def about_from(self, first: int, **more) -> TraceNumbers:
        """Return what is known of a strand if the lists begin at an element of a buffer.

        The rest, which a job has, is 0; `more` is known, too.
        """
        starts = ("exits", "entries", "firsts", "classes", "stops")
        moved = {name: self.about[name] + first for name in starts if self.about[name] >= 0}
        return _NOTHING._replace(**self.about, **more)._replace(**moved)


def strand_lists(table: SiteTable) -> StrandLists:
    """Lay out the lists of a table."""
    stops = [] if table.stops is None else table.stops.astype(np.int32).ravel()
    size = LINES + 2 * max((len(intron.rising) for intron in table.introns), default=0)
    classes = np.zeros((len(table.introns), size), dtype=np.int32)
    for row, intron in zip(classes, table.introns, strict=True):
        numbers = _class_numbers(intron)
        row[: len(numbers)] = numbers
    parts = {
        "exits": _elements(table.donors, SITE), "entries": _elements(table.acceptors, SITE),
        "firsts": _elements(table.first, FIRST),
        "classes": classes,
        "stops": np.array(stops, dtype=np.int32),
    }  # fmt: skip
    sizes = [part.size for part in parts.values()]
    about = dict(zip(parts, (np.cumsum(sizes) - sizes).tolist(), strict=True))
    about |= {f"n_{name}": len(parts[name]) for name in ("exits", "entries", "firsts", "classes")}
    about |= {"usual_first": table.first.usual, "length": table.length, "class_size": size}
    if table.stops is None:
        about["stops"] = NO_STOPS
    return StrandLists(np.concatenate([part.ravel() for part in parts.values()]), about)


def _elements(scores: BoundaryScores, numbers: int) -> NDArray[np.int32]:
    return _side_by_side(scores.boundaries, scores.scores, scores.kinds, numbers)


@njit(cache=True, nogil=True)
def _side_by_side(boundaries, scores, kinds, numbers):
    """Return the elements of a list of sites, with or without kinds."""
    made = np.empty((len(boundaries), numbers), np.int32)
    for k in range(len(boundaries)):
        made[k, BOUNDARY], made[k, VALUE] = boundaries[k], scores[k]
        if numbers > KIND:
            made[k, KIND] = kinds[k]
    return made


def _class_numbers(intron: IntronClass) -> list[int]:
    lines = [number for line in intron.rising for number in line]
    head = [intron.kind, intron.min_length, intron.penalty, intron.origin, len(intron.rising)]
    return head + lines
