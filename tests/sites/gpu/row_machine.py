"""Operations on rows in slots, as the kernels of site mode do them, done by NumPy."""

import numpy as np

from gpu_tools.model.scoring import N_SYMBOLS
from gpu_tools.model.sequences import OTHER
from gpu_tools.sites.gpu.job import DeviceRows, SiteJob, SweepEnd
from gpu_tools.sites.gpu.row_plan import LAST, NO_SYMBOL, SPECIAL
from gpu_tools.sites.operations import ADVANCE, BEGIN, CLEAR, FINAL, LOWER, PUT, RAISE
from gpu_tools.splicing.recurrence import empty_chain


class Machine:
    """Rows in slots, and a kernel's operations on them; -1 is a row like any other."""

    def __init__(self, job: SiteJob, n_slots: int):
        scoring, self.floor, self.columns = job.scoring, job.limit.floor, job.columns
        self.gap = scoring.gap
        self.cells = np.full((n_slots + 1, self.columns), self.floor, dtype=np.int64)
        free = scoring.ends != "global"
        self.empty = [empty_chain(column, self.gap, free) for column in range(self.columns)]
        self.symbols = np.append(OTHER, job.target)
        self.lifted = scoring.substitution()[:N_SYMBOLS] - self.gap
        self.first = 0 if free else self.columns - 1
        self.best = (-(2**62), 0, 0)

    def advance(self, slot: int, symbol: int) -> None:
        row = self.cells[slot]
        paired = np.append(self.floor, row[:-1]) + self.lifted[symbol, self.symbols]
        raised = np.maximum(np.maximum(paired, row + self.gap), self.floor)
        self.cells[slot] = np.maximum.accumulate(raised)

    def find_end(self, slot: int, boundary: int, bonus: int) -> None:
        scores = self.cells[slot] + self.gap * np.arange(self.columns) + bonus
        column = self.first + int(scores[self.first :].argmax())
        if scores[column] > self.best[0]:
            self.best = int(scores[column]), boundary, column

    def operate(self, kind: int, to: int, source: int, bonus: int) -> None:
        cells = self.cells
        if kind == PUT:
            cells[to] = cells[source] + bonus
        elif kind == LOWER:
            cells[to] = np.maximum(cells[source] + bonus, self.floor)
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

    def run(self, plan, tracks, behind_boundary=lambda i: None):
        """Do a plan's operations; each nucleotide advances the slots `tracks`."""
        operations = iter(plan.operations.tolist())
        for i, info in enumerate(plan.boundaries.tolist()):
            if info % SPECIAL != NO_SYMBOL:
                for track in tracks:
                    self.advance(track, info % SPECIAL)
            more = info & SPECIAL
            while more:
                code, *rest = next(operations)
                self.operate(code % LAST, *rest)
                more = not code & LAST
            behind_boundary(i)
        assert next(operations, None) is None

    def rows(self, first: int) -> DeviceRows:
        stored = self.cells[first:-1].astype(np.int32)
        return DeviceRows([stored.reshape(1, len(stored), -1, 1, 1, 1)], first)


def run_rows(job: SiteJob) -> tuple[DeviceRows, SweepEnd]:
    """Return rows and best end of a job as the 32-bit kernel gives them."""
    plan = job.strand.row_plan
    machine = Machine(job, plan.traceback.n_slots)
    machine.cells[plan.start] = machine.empty
    machine.run(plan, [plan.row + k for k in range(plan.tracks)])
    return machine.rows(0), SweepEnd(*machine.best)
