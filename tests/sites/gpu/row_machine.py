"""What kernels that work on rows in places are told to do, done by NumPy."""

import numpy as np

from gpu_tools import SplicedScoring
from gpu_tools.model.scoring import N_SYMBOLS
from gpu_tools.model.sequences import OTHER
from gpu_tools.sites.gpu.job import DeviceRows, End
from gpu_tools.sites.gpu.program import (
    ADVANCE,
    BEGIN,
    CLEAR,
    FINAL,
    LAST,
    NO_SYMBOL,
    PUT,
    RAISE,
    SPECIAL,
)
from gpu_tools.splicing.recurrence import empty_chain


class Machine:
    """Rows in places, and a kernel's operations on them; -1 is a row like any other."""

    def __init__(self, target, scoring: SplicedScoring, floor: int, n_places: int):
        self.gap, self.floor, self.columns = scoring.gap, floor, len(target) + 1
        self.cells = np.full((n_places + 1, self.columns), floor, dtype=np.int64)
        free = scoring.ends != "global"
        self.empty = [empty_chain(column, self.gap, free) for column in range(self.columns)]
        self.symbols = np.append(OTHER, target)
        self.lifted = scoring.substitution()[:N_SYMBOLS] - self.gap
        self.first = 0 if free else self.columns - 1
        self.best = (-(2**62), 0, 0)

    def advance(self, place: int, symbol: int) -> None:
        row = self.cells[place]
        paired = np.append(self.floor, row[:-1]) + self.lifted[symbol, self.symbols]
        raised = np.maximum(np.maximum(paired, row + self.gap), self.floor)
        self.cells[place] = np.maximum.accumulate(raised)

    def find_end(self, place: int, boundary: int, bonus: int) -> None:
        scores = self.cells[place] + self.gap * np.arange(self.columns) + bonus
        column = self.first + int(scores[self.first :].argmax())
        if scores[column] > self.best[0]:
            self.best = int(scores[column]), boundary, column

    def operate(self, kind: int, to: int, source: int, bonus: int) -> None:
        cells = self.cells
        if kind == PUT:
            cells[to] = cells[source] + bonus
        elif kind == RAISE:
            cells[to] = np.maximum(cells[to], cells[source] + bonus)
        elif kind == BEGIN:
            cells[to] = np.maximum(cells[to], np.add(self.empty, bonus))
        elif kind == CLEAR:
            cells[to] = self.floor
        elif kind == FINAL:
            self.find_end(to, source, bonus)
        else:
            assert kind == ADVANCE
            self.advance(to, source)

    def run(self, program, tracks, at_boundary=lambda i: None, behind_boundary=lambda i: None):
        """Do a program's work; `tracks` are the places that each base moves on."""
        operations = iter(program.operations.tolist())
        for i, info in enumerate(program.boundaries.tolist()):
            if info % SPECIAL != NO_SYMBOL:
                for track in tracks:
                    self.advance(track, info % SPECIAL)
            at_boundary(i)
            more = info & SPECIAL
            while more:
                code, *rest = next(operations)
                self.operate(code % LAST, *rest)
                more = not code & LAST
            behind_boundary(i)
        assert next(operations, None) is None

    def rows(self, first: int) -> DeviceRows:
        kept = self.cells[first:-1].astype(np.int32)
        return DeviceRows(kept.reshape(1, len(kept), -1, 1, 1), first)


def run_rows(job, scoring: SplicedScoring) -> tuple[DeviceRows, End]:
    """Return rows and best end of a `RowJob` as the 32-bit kernel gives them."""
    program = job.program
    machine = Machine(job.target, scoring, job.floor, program.n_places)
    machine.cells[program.start] = machine.empty
    machine.run(program, [program.row + k for k in range(program.tracks)])
    return machine.rows(0), End(*machine.best)
