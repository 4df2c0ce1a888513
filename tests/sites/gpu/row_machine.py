"""What the kernels of site mode do with rows of cells, done by NumPy; and by definition."""

import numpy as np
from numpy.typing import NDArray

from gpu_tools.model.scoring import N_SYMBOLS
from gpu_tools.model.sequences import OTHER
from gpu_tools.sites.bounds import cost_behind
from gpu_tools.sites.gpu import codon_plan
from gpu_tools.sites.gpu import steps as gpu_steps
from gpu_tools.sites.gpu.job import SiteJobs, SiteStrand
from gpu_tools.sites.gpu.plan import NO_SYMBOL
from gpu_tools.sites.table import CLOSED
from gpu_tools.splicing.codons import completes, split_class
from gpu_tools.splicing.recurrence import clipped_chain


class Job:
    """One strand with a target, laid out for a GPU."""

    def __init__(self, codes, table, scoring, target):
        self.codes, self.table, self.scoring, self.target = codes, table, scoring, target
        self.strand, self.columns = SiteStrand(codes, table, scoring), len(target) + 1
        self.jobs = SiteJobs.of([self.strand], [target], [0], [0], scoring)
        self.floor, self.fits = int(self.jobs.floor[0]), bool(self.jobs.fits[0])
        self.least = self.strand.limits.least

    def possible(self, score: int) -> int | None:
        """Return the score of a best end, None if no chain ends so."""
        return score if score >= self.jobs.least[0] else None


def stored_rows(job: Job) -> int:
    """Return how many rows a traceback reads."""
    table = job.table
    return (len(table.donors.boundaries) + len(table.acceptors.boundaries)) * table.tracks


class Machine:
    """Rows in slots; -1 is a row like any other."""

    def __init__(self, job: Job, n_slots: int):
        scoring, self.columns = job.scoring, job.columns
        self.floor = job.floor
        self.gap = scoring.gap
        self.cells = np.full((n_slots + 1, self.columns), self.floor, dtype=np.int64)
        free, columns = scoring.ends != "global", range(self.columns)
        cost = scoring.clip_cost
        self.empty = [clipped_chain(column, self.gap, free, cost) for column in columns]
        self.higher = np.add(self.empty, cost)
        self.drops = [self.gap * c - cost_behind(c, job.target, scoring) for c in columns]
        self.symbols = np.append(OTHER, job.target)
        self.lifted = scoring.substitution()[:N_SYMBOLS] - self.gap
        self.first = 0 if free else self.columns - 1
        self.best = (-(2**62), 0, 0)

    def advance(self, slot: int, symbol: int) -> None:
        row = self.cells[slot]
        paired = np.append(self.floor, row[:-1]) + self.lifted[symbol, self.symbols]
        raised = np.maximum(np.maximum(paired, row + self.gap), self.floor)
        self.cells[slot] = np.maximum.accumulate(raised)

    def advanced(self, row, symbol: int):
        self.cells[-1] = row
        self.advance(-1, symbol)
        return self.cells[-1].copy()

    def find_end(self, slot: int, boundary: int, bonus: int) -> None:
        scores = self.cells[slot] + self.drops + bonus
        column = self.first + int(scores[self.first :].argmax())
        if scores[column] > self.best[0]:
            self.best = int(scores[column]), boundary, column


class StepMachine(Machine):
    """Rows in slots, copies of rows, and what the packed kernel does with them in a step."""

    def __init__(self, job: Job, steps: gpu_steps.StepPlan):
        super().__init__(job, steps.n_slots)
        self.last_exits = job.table.last_exit
        self.boundaries = {number: i for i, number in enumerate(steps.numbers.tolist())}
        n_copies = gpu_steps.FIRST_STORED + stored_rows(job)
        self.copies = np.full((n_copies, self.columns), self.floor)
        self.cells[gpu_steps.ZERO], self.cells[gpu_steps.LEAST] = 0, -(2**31)
        self.cells[gpu_steps.START] = self.higher
        # nothing may be read before it is set
        self.cells[gpu_steps.NOWHERE : -1] = 2**40

    def step(self, n: int, what: int, bonuses: int, others: int, begins: int, leaving: int) -> None:
        symbols, scores = (what & 7, what >> 4 & 7), unpacked(begins)
        for late, (symbol, exit) in enumerate(zip(symbols, unpacked(leaving), strict=True)):
            if symbol != NO_SYMBOL:
                self.advance(-1, symbol)
            boundary = self.boundaries.get(2 * n + late)
            if exit != -(2**15):
                assert exit == self.last_exits[boundary]
                self.find_end(-1, boundary, exit)
            if scores[late] != -(2**15):
                row = self.cells[-1]
                self.cells[-1] = np.maximum(row, self.higher + scores[late])
        self.set_slot_and_row(what, bonuses, others)

    def set_slot_and_row(self, what: int, bonuses: int, others: int) -> None:
        cells, (source, old, to) = self.cells, (what >> at & 127 for at in (8, 16, 24))
        (bonus, row_bonus), raising, copy = unpacked(bonuses), others & 127, others >> 8
        other = cells[source] + (cells[-1] if what & gpu_steps.FROM_ROW else 0)
        made = np.maximum(cells[old], other + bonus)
        if copy:
            assert abs(copy) >= gpu_steps.FIRST_STORED
            self.copies[abs(copy)] = other if copy > 0 else cells[raising]
        cells[-1] = np.maximum(cells[-1], cells[raising] + row_bonus)
        assert to >= gpu_steps.NOWHERE
        cells[to] = made if to != gpu_steps.NOWHERE else 2**40


class CodonMachine(Machine):
    """Rows in slots, stored rows, and what the packed kernel of chains that translate does."""

    def __init__(self, job: Job, plan: codon_plan.CodonPlan):
        super().__init__(job, plan.n_slots)
        # nothing may be read before it is set
        self.cells[:] = 2**40
        self.cells[plan.start] = self.higher
        self.rows = [np.full(self.columns, self.floor) for _ in range(3)]
        self.stored = np.full((stored_rows(job), self.columns), 2**40)
        self.plan, self.exits = plan, 0
        words, operations = plan.arrays[0].tolist(), plan.arrays[1].reshape(-1, 4).tolist()
        self.words, self.operands = words[: plan.n_steps], iter(words[plan.n_steps : -1])
        self.operations = iter(operations)

    def do_operations(self) -> None:
        row, what = None, 0
        while not what & codon_plan.LAST:
            what, source, copy, bonuses = next(self.operations)
            low, high = unpacked(bonuses)
            if what & codon_plan.FRESH:
                row = np.full(self.columns, self.floor)
            old, to = (
                what >> at & codon_plan.NO_SLOT for at in (codon_plan.OLD_AT, codon_plan.TO_AT)
            )
            if old != codon_plan.NO_SLOT:
                row = np.maximum(row, self.cells[old] + low)
            if source < 0:
                self.take(-1 - source, copy, high)
                continue
            if source != codon_plan.NO_SOURCE:
                row = np.maximum(row, self.cells[source] + high)
            if copy:
                self.stored[copy - codon_plan.FIRST_STORED] = row
            if what & 7 != NO_SYMBOL:
                row = self.advanced(row, what & 7)
            if to != codon_plan.NO_SLOT:
                self.cells[to] = row

    def take(self, exit: int, slots: int, bonus: int) -> None:
        assert self.exits - self.plan.ring <= exit < self.exits
        for track in range(3):
            slot = slots >> codon_plan.TAKEN_BITS * track & codon_plan.TAKEN_MASK
            if slot != codon_plan.TAKEN_MASK:
                row = self.stored[3 * exit + track] + bonus
                self.cells[slot] = np.maximum(self.cells[slot], row)

    def happen(self, track: int, boundary: int, events: int) -> None:
        row = self.rows[track]
        if events & codon_plan.FINAL:
            self.cells[-1] = row
            self.find_end(-1, boundary, next(self.operands))
        if events & codon_plan.STOP:
            row = np.full(self.columns, self.floor)
        if events & codon_plan.JOIN:
            row = np.maximum(row, self.cells[codon_plan.JOINING + boundary % codon_plan.JOINS])
        if events & codon_plan.BEGIN:
            slot, bonus = unpacked(next(self.operands))
            row = np.maximum(row, self.cells[slot] + bonus)
        self.rows[track] = row
        if events & codon_plan.EXIT:
            self.stored[3 * self.exits : 3 * self.exits + 3] = self.rows
            self.exits += 1
        if events & codon_plan.ENTER:
            self.rows[track] = np.maximum(row, self.cells[codon_plan.ENTERED + track])

    def run_steps(self) -> None:
        for step, word in enumerate(self.words):
            if word & codon_plan.HAS_OPERATIONS:
                self.do_operations()
            for track in range(3):
                symbol = word >> 3 * track & 7
                if symbol != NO_SYMBOL:
                    self.rows = [self.advanced(row, symbol) for row in self.rows]
                self.happen(track, 3 * step + track, word >> (9 + 6 * track) & 63)
        assert next(self.operations, None) is next(self.operands, None) is None


def unpacked(word: int) -> tuple[int, int]:
    """Return the halves of a word, the lower one first."""
    low, high = np.array([word], dtype=np.int32).view(np.int16).tolist()
    return low, high


def rows_by_definition(job: Job) -> NDArray:
    """Return the rows that are stored of a table whose intron penalties do not rise.

    A site of a kind that no class has may have others stored, or none: nobody reads them.
    """
    return (_coding_rows if job.table.stops is not None else _plain_rows)(job)


def _exits_of(job: Job, exits: dict, boundary: int, intron) -> list:
    """Return row or rows, boundary and score of the exits that an intron of a class may follow."""
    table = job.table
    return [
        (rows, exit, table.inner_exit[exit]) for exit, rows in exits.items()
        if table.exit_kind[exit] == intron.kind and exit + intron.min_length <= boundary
    ]  # fmt: skip


def _plain_rows(job: Job) -> NDArray:
    machine, table, exits, entered = Machine(job, 0), job.table, {}, []
    low = np.full(job.columns, machine.floor)
    for i in range(len(job.codes) + 1):
        if i > 0:
            machine.advance(-1, job.codes[i - 1])
        row = machine.cells[-1]
        if table.inner_exit[i] != CLOSED:
            exits[i] = row.copy()
        if table.first_entry[i] != CLOSED:
            row[:] = np.maximum(row, np.add(machine.empty, table.first_entry[i]))
        if table.inner_entry[i] != CLOSED:
            rows = [
                own + score - intron.penalty
                for intron in table.introns if table.entry_kind[i] == intron.kind
                for own, _, score in _exits_of(job, exits, i, intron)
            ]  # fmt: skip
            entered.append(np.max([low, *rows], axis=0))
            row[:] = np.maximum(row, entered[-1] + table.inner_entry[i])
    return np.array([*exits.values(), *entered])


def _coding_rows(job: Job) -> NDArray:
    machine, table, exits, entered = Machine(job, 0), job.table, {}, []
    codes, stops, low = job.codes, table.stops, np.full(job.columns, machine.floor)
    tracks, joining = [low] * 3, {}

    def moved(row, first: int, past: int):
        for symbol in codes[first:past]:
            row = machine.advanced(row, symbol)
        return row

    for i in range(len(codes) + 1):
        tracks, own = [moved(row, max(i - 1, 0), i) for row in tracks], i % 3
        if i >= 3 and stops[tuple(codes[i - 3 : i])]:
            tracks[own] = low
        tracks[own] = np.max([tracks[own], *joining.pop(i, [])], axis=0)
        if table.inner_exit[i] != CLOSED:
            exits[i] = list(tracks)
        begins = table.first_entry[i] != CLOSED and i + 3 <= len(codes)
        if begins and not stops[tuple(codes[i : i + 3])]:
            row = np.add(machine.empty, table.first_entry[i])
            joining.setdefault(i + 3, []).append(moved(row, i, i + 3))
        for bases in range(3) if table.inner_entry[i] != CLOSED else ():
            rows = [
                own[(exit - bases) % 3] + score + table.inner_entry[i] - intron.penalty
                for intron in table.introns
                if table.entry_kind[i] == intron.kind
                for own, exit, score in _exits_of(job, exits, i, intron)
                if bases <= exit and completes(codes, stops, split_class(codes, exit, bases), i)
            ]
            entered.append(np.max([low, *rows], axis=0))
            if bases == 0:
                tracks[own] = np.maximum(tracks[own], entered[-1])
            elif i + 3 - bases <= len(codes):
                row = moved(entered[-1], i, i + 3 - bases)
                joining.setdefault(i + 3 - bases, []).append(row)
    return np.array([*(row for own in exits.values() for row in own), *entered])


def run_steps(job: Job) -> tuple[NDArray, tuple[int, int, int]]:
    """Return stored rows and best end of a job as the packed kernel gives them."""
    steps = job.strand.compiled
    machine = StepMachine(job, steps)
    for n, words in enumerate(steps.arrays[0].reshape(-1, gpu_steps.WORDS).tolist()):
        machine.step(n, *words)
    return machine.copies[gpu_steps.FIRST_STORED :], machine.best


def run_codons(job: Job) -> tuple[NDArray, tuple[int, int, int]]:
    """Return stored rows and best end as the packed kernel of chains that translate gives them."""
    machine = CodonMachine(job, job.strand.compiled)
    machine.run_steps()
    return machine.stored, machine.best
