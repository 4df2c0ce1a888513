"""Batches: what a changed sheet leaves alone, and how many jobs a plan has."""

import random

import pytest

from tests.workflow.folders import BASES, HEADER, LOCI, MRNAS, TARGETS, write_sheet
from tests.workflow.rules import BATCHES, read_rules

JOBS_OF_A_BATCH, OTHER_JOBS = 4, 9
SIZE = 20


def sheet(n_bases, n_targets):
    return [
        (f"base{b}", "loci.fa", f"target{b}.{t}", "mrnas.fa")
        for b in range(n_bases)
        for t in range(n_targets)
    ]


def write_fasta_of(rows, folder):
    """Write the files of a sheet that `sheet` made, with a record of each name."""
    for name, column in (("loci.fa", 0), ("mrnas.fa", 2)):
        records = dict.fromkeys([*(row[column] for row in rows), "another"])
        (folder / name).write_text("".join(f">{record}\nA\n" for record in records))


@pytest.fixture
def names(folder, monkeypatch):
    """Return a function that gives the names of the batches of a sheet."""
    monkeypatch.chdir(folder.path)
    write_fasta_of(sheet(40, 10), folder.path)

    def names_of(rows, header=HEADER):
        write_sheet(folder.path / "config" / "cases.tsv", rows, header)
        return set(read_rules({"batch_size": SIZE}, BATCHES)["BATCHES"])

    return names_of


def test_changed_row_makes_its_own_batch_again(names):
    rows = sheet(40, 5)
    before = names(rows)
    assert 200 / SIZE <= len(before) <= 4 * 200 / SIZE
    for k in (0, 77, 199):
        base, fasta, _, mrnas = rows[k]
        after = names([*rows[:k], (base, fasta, "another", mrnas), *rows[k + 1 :]])
        assert (len(before - after), len(after - before)) == (1, 1)


def test_rows_of_a_base_may_stand_apart(names):
    rows = sorted(sheet(40, 5), key=lambda row: row[2].partition(".")[2])
    assert 200 / SIZE <= len(names(rows)) <= 4 * 200 / SIZE


@pytest.mark.parametrize("seed", range(3))
def test_added_and_removed_rows_leave_the_other_batches(names, seed):
    rows, chosen = sheet(40, 5), random.Random(seed)
    before = names(rows)
    k = chosen.randrange(len(rows))
    base, fasta, _, mrnas = rows[k]
    after = names([*rows[:k], (base, fasta, "another", mrnas), *rows[k:]])
    # a batch that has become too large is split
    assert (len(before - after), len(after - before)) in {(1, 1), (1, 2)}
    fewer = names([*rows[:k], *rows[k + 1 :]])
    assert len(before - fewer) <= 2
    assert len(before & names(rows[:-50])) >= len(before) / 2


def test_a_file_of_exons_changes_the_name_of_no_batch(names):
    rows = [(*row, ".") for row in sheet(4, 10)]
    others = [(*row[:4], MRNAS) if row[0] == "base1" else row for row in rows]
    header = (*HEADER, "annotation")
    assert names(rows, header) == names(others, header)


def test_batches_of_long_loci_take_equal_time(names):
    """A case on 1,500,000 nucleotides takes some eight times as long as one on 100,000."""
    rows = sheet(10, 2)
    assert len(names(rows)) == 1
    assert len(names([(*row, "1-1500000") for row in rows], (*HEADER, "locus"))) == 10
    assert len(names([(*row, "1-90000") for row in rows], (*HEADER, "locus"))) == 1


def test_jobs_grow_with_the_work_not_with_the_sequences(folder, monkeypatch):
    """20,000 cases, each with a target of its own; the plan is that of 2,000."""
    monkeypatch.chdir(folder.path)
    for n_bases in (200, 20):
        rows = sheet(n_bases, 100)
        write_sheet(folder.path / "config" / "cases.tsv", rows)
        write_fasta_of(rows, folder.path)
        batches = len(read_rules({}, BATCHES)["BATCHES"])
        assert len(rows) / 500 <= batches <= 3 * len(rows) / 500
    assert folder.counts()["total"] == JOBS_OF_A_BATCH * batches + OTHER_JOBS


def test_all_against_all_is_planned_as_the_long_sheet(names, folder):
    """Patterns of names in one file, and in several that a pattern names."""
    with_names = [(base, LOCI, target, MRNAS) for base in ALL_BASES for target in ALL_TARGETS]
    assert names([("*", LOCI, "*", MRNAS)]) == names(with_names)
    some = [row for row in with_names if row[0].endswith("5.1")]
    assert names([("*5.?", LOCI, "NM_*", MRNAS)]) == names(some)
    for name in "ab":
        (folder.path / f"{name}.fa").write_text(f">{name}.1\nACGT\n>other\nAC\n")
    rows = [(f"{name}.1", f"{name}.fa", target, MRNAS) for name in "ab" for target in ALL_TARGETS]
    assert names([("?.1", "[ab].fa", "*", MRNAS)]) == names(rows)


def first_words(path):
    return [line.split("\t")[0] for line in path.with_name(f"{path.name}.fai").open()]


ALL_BASES, ALL_TARGETS = first_words(LOCI), first_words(MRNAS)


def test_only_the_batch_of_a_changed_row_runs_again(folder):
    """Two batches, of a base each; then the second base has another target."""
    rows = [(base, LOCI, target, MRNAS) for base in BASES for target in TARGETS]
    path = folder.path / "config" / "cases.tsv"
    settings = ("--config", "batch_size=2", "mode=sites", "--", "results/scores.tsv")
    write_sheet(path, rows)
    folder.run(*settings)
    assert len(folder.batches("site_scores.tsv")) == 2
    done = {p: p.stat().st_mtime_ns for p in folder.batches("*")}
    write_sheet(path, [*rows[:3], (*rows[3][:2], "NM_026831.1", MRNAS)])
    folder.run(*settings)
    assert {p: p.stat().st_mtime_ns for p in done} == done
    assert len(folder.batches("site_scores.tsv")) == 3
    found = [(row["base"], row["target"]) for row in folder.table("results/scores.tsv")]
    assert found == [(r[0], r[2]) for r in rows[:3]] + [(BASES[1], "NM_026831.1")]
