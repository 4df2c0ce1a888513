"""Candidate exons by other programs: GENSCAN's place is taken by a stand-in, AUGUSTUS is real."""

import os
import stat
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from gpu_tools.cli.main import main
from gpu_tools.errors import InputError, ProgramError
from gpu_tools.exons.providers import Genscan, log_odds
from gpu_tools.formats.exons.intervals import read_exons
from gpu_tools.formats.exons.predictors import parse_augustus
from gpu_tools.formats.sequences.fasta import read_fasta, write_fasta
from gpu_tools.model.resources import resource_path
from gpu_tools.model.sequences import Sequence, encode, reverse_complement
from tests.programs import require

GENSCAN = Path(__file__).parents[1] / "programs" / "genscan"


def rows(exons):
    columns = (exons.reverse, exons.starts, exons.ends, exons.types, exons.scores)
    return list(zip(*(column.tolist() for column in columns), strict=True))


@pytest.fixture
def matrix(tmp_path):
    path = tmp_path / "HumanIso.smat"
    path.write_text("a matrix that the stand-in does not read\n")
    return str(path)


@pytest.fixture
def codes():
    """Return a sequence with many of the stand-in's exons."""
    words = ["ACAG", "GTAA", "TTAC", "CTGT", "ACGT", "GCGC", "TATT", "GGCA"]
    rng = np.random.default_rng(5)
    return encode("".join(rng.choice(words, 5000)))


def test_genscan_predicted_and_suboptimal_exons(matrix, codes):
    exons = Genscan(matrix, str(GENSCAN), min_probability=0.3).exons(codes)
    assert len(exons) > 100
    likely = exons.probabilities >= 0.9
    assert 0 < likely.sum() < len(exons)
    assert exons.probabilities.min() >= 0.3
    assert np.allclose(exons.scores, 40 * exons.probabilities - 10)
    few = Genscan(matrix, str(GENSCAN), min_probability=1).exons(codes)
    assert rows(few) == rows(exons.take(likely))


def test_genscan_on_the_other_strand(matrix, codes):
    one, other = (
        Genscan(matrix, str(GENSCAN)).exons(c) for c in (codes, reverse_complement(codes))
    )
    n = len(codes)
    turned = {(not r, n - e, n - s, t, x) for r, s, e, t, x in rows(one)}
    assert turned == set(rows(other))


@pytest.mark.parametrize(("window", "overlap"), [(20_000, 0), (8_000, 900), (5_000, 500)])
def test_genscan_of_windows_is_that_of_the_whole(matrix, codes, window, overlap):
    """The stand-in's exons do not depend on their surroundings and are shorter than the overlap."""
    whole = Genscan(matrix, str(GENSCAN)).exons(codes)
    assert int((whole.ends - whole.starts).max()) + 8 < 500
    split = Genscan(matrix, str(GENSCAN), window=window, overlap=overlap).exons(codes)
    assert rows(split) == rows(whole)


def test_genscan_takes_more_than_a_megabase(matrix, tmp_path):
    """Planted exons: far from the windows' ends, across an end, and where two windows overlap."""
    bases = np.frombuffer(b"N" * 1_250_000, dtype=np.uint8).copy()
    planted = [5_000, 260_000, 999_990, 1_100_000, 1_249_000]
    for k, start in enumerate(planted):
        word = b"ACAG" + b"C" * (20 + k) + b"GTAA"
        bases[start - 4 : start - 4 + len(word)] = np.frombuffer(word, dtype=np.uint8)
    base, output = tmp_path / "chr.fa", tmp_path / "exons.gff3"
    write_fasta(base, [Sequence("chr1", encode(bases.tobytes())), Sequence("chr2", encode("ACGT"))])
    arguments = ["--provider", "genscan", "--program", str(GENSCAN), "--matrix", matrix]
    assert main(["exons", "predict", "--base", str(base), *arguments, "-o", str(output)]) == 0
    sets = read_exons(output)
    assert list(sets) == ["chr1"]
    found = [(s, e) for _, s, e, _, _ in rows(sets["chr1"])]
    assert found == [(start, start + 20 + k) for k, start in enumerate(planted)]


@pytest.fixture
def two_loci(tmp_path):
    path = tmp_path / "two.fa"
    loci = read_fasta(resource_path("demo", "loci.fa.gz"))
    write_fasta(path, [loci[3], loci[8]])
    return path


USAGE = [
    (("--provider", "genscan"), "--provider genscan needs --matrix"),
    (("--matrix", "x"), "--matrix is no option of --provider builtin"),
    (("--provider", "augustus", "--min-score", "3"), "--min-score is no option of --provider aug"),
    (("--provider", "genscan", "--matrix", "x", "--samples", "9"), "--samples is no option of"),
    (("--provider", "augustus", "--min-probability", "1.5"), "1.5 is not in the range"),
    (("--provider", "mzef"), "'mzef' is not one of 'builtin', 'genscan', 'augustus'"),
]


@pytest.mark.parametrize(("options", "message"), USAGE)
def test_options_of_another_provider_are_wrong_usage(two_loci, capsys, options, message):
    assert main(["exons", "predict", "--base", str(two_loci), *options]) == 2
    assert message in capsys.readouterr().err


def script(folder, text):
    path = folder / "program"
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return str(path)


NO_REPORT = "line 1: no GENSCAN report; expected a line 'Sequence NAME : N bp'"
OTHER = "reports on 1 sequences, the last of 9 bp; expected a GENSCAN report on one sequence of 4 "
FAILURES = [
    ("echo out; echo first >&2; echo why >&2; exit 3", ProgramError, "failed with status 3: why"),
    ("echo out; exit 1", ProgramError, "failed with status 1: out"),
    ("exit 1", ProgramError, "failed with status 1"),
    ("kill -9 $$", ProgramError, "was killed by signal 9"),
    ("echo hello", InputError, NO_REPORT),
    ("exit 0", InputError, "reports on 0 sequences"),
    ("printf 'GENSCAN 1.0\\nSequence x : 4 bp : y\\n'", InputError, "the report is cut short"),
    (
        "printf 'GENSCAN 1.0\\nSequence x : 9 bp\\nPredicted peptide sequence(s):\\n'",
        InputError, OTHER,
    ),
]  # fmt: skip


@pytest.mark.parametrize(("text", "error", "message"), FAILURES)
def test_a_program_that_fails(tmp_path, text, error, message):
    program = script(tmp_path, text)
    with pytest.raises(error) as caught:
        Genscan("matrix", program).exons(encode("ACGT"))
    assert message in str(caught.value)
    assert program in str(caught.value)


def test_failures_are_one_line_and_leave_no_file(two_loci, tmp_path, capsys):
    output = tmp_path / "exons.gff3"
    for arguments, message in (
        (("--program", tmp_path / "none", "--matrix", "x"), "cannot be run (No such file"),
        (("--program", two_loci, "--matrix", "x"), "cannot be run (Permission denied)"),
        (("--program", GENSCAN, "--matrix", "none.smat"), "No such file or directory: 'none.smat'"),
    ):
        words = ["--base", two_loci, "--provider", "genscan", *arguments, "-o", output]
        assert main(["exons", "predict", "--quiet", *map(str, words)]) == 1
        (line,) = capsys.readouterr().err.splitlines()
        assert message in line
        assert not output.exists()


def is_alive(process):
    """Return whether a process is there and no zombie."""
    try:
        return Path(f"/proc/{process}/stat").read_text().rsplit(")")[-1].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


def test_end_of_a_job_ends_its_program_and_leaves_nothing(two_loci, tmp_path):
    """SIGTERM, as a scheduler sends it."""
    temporary, output = tmp_path / "temporary", tmp_path / "exons.gff3"
    temporary.mkdir()
    pid = tmp_path / "pid"
    program = script(tmp_path, f"sleep 0.3; echo $$ >{pid}.new; mv {pid}.new {pid}; exec sleep 60")
    words = ["--provider", "genscan", "--matrix", "x", "--program", program, "--output", output]
    process = subprocess.Popen(
        [sys.executable, "-m", "gpu_tools", "exons", "predict", "--base", two_loci, *words],
        env=os.environ | {"TMPDIR": str(temporary)}, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    while not pid.exists():
        assert process.poll() is None
        time.sleep(0.02)
    process.terminate()
    assert process.communicate(timeout=30)[1].strip() == "gpu-tools: error: terminated"
    assert process.returncode == 143
    while is_alive(int(pid.read_text())):  # SIGKILL has been sent
        time.sleep(0.02)
    assert list(temporary.iterdir()) == []
    assert not output.exists()


AUGUSTUS_OUTPUT = """# This output was generated with AUGUSTUS
x\tAUGUSTUS\tgene\t1\t900\t1\t-\t.\tg1
x\tAUGUSTUS\ttranscript\t101\t480\t0.5\t-\t.\tg1.t1
x\tAUGUSTUS\tterminal\t101\t160\t0.99\t-\t0\ttranscript_id "g1.t1"; gene_id "g1";
x\tAUGUSTUS\tinitial\t401\t480\t0.52\t-\t0\ttranscript_id "g1.t1"; gene_id "g1";
x\tAUGUSTUS\ttranscript\t101\t480\t0.3\t-\t.\tg1.t2
x\tAUGUSTUS\tterminal\t101\t160\t0.99\t-\t0\ttranscript_id "g1.t2"; gene_id "g1";
x\tAUGUSTUS\tinternal\t201\t260\t0.87\t-\t1\ttranscript_id "g1.t2"; gene_id "g1";
x\tAUGUSTUS\tinternal\t201\t260\t0.135\t-\t2\ttranscript_id "g1.t3"; gene_id "g1";
x\tAUGUSTUS\tterminal\t201\t260\t0.02\t-\t2\ttranscript_id "g1.t3"; gene_id "g1";
x\tAUGUSTUS\tsingle\t501\t560\t1\t+\t0\ttranscript_id "g2.t1"; gene_id "g2";
# command line:
"""


def test_augustus_exons_once_with_the_probabilities_of_their_frames_together():
    exons = parse_augustus("x", enumerate(AUGUSTUS_OUTPUT.splitlines(), start=1))
    found = zip(rows(exons), exons.probabilities.tolist(), strict=True)
    assert [(*row[:4], probability) for row, probability in found] == [
        (False, 500, 560, 4, 1.0),
        (True, 100, 160, 3, 0.99),
        (True, 200, 260, 2, 1.0),  # two shares, each rounded
        (True, 200, 260, 3, 0.02),
        (True, 400, 480, 1, 0.52),
    ]
    assert len(parse_augustus("x", [(1, "# (none)")])) == 0


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("terminal\t101\t160\t0.99", "terminal\t101\t160\t.", "line 4: an exon without a probab"),
        ("single", "CDS", "line 11: unknown feature 'CDS'; expected initial, internal, terminal, "),
        ("\t501\t560", "\t561\t560", "line 11: start 561 lies after end 560"),
        ("\tgene\t1\t900\t1\t-\t.", "\tgene\t1", "line 2: 5 columns; expected 9 tab-separated"),
    ],
)
def test_augustus_output_that_is_none(old, new, message):
    text = AUGUSTUS_OUTPUT.replace(old, new, 1)
    with pytest.raises(InputError) as caught:
        parse_augustus("x", enumerate(text.splitlines(), start=1))
    assert str(caught.value).startswith(f"x, {message}")


def test_scores_are_log_odds():
    found = log_odds(np.array([0.0, 0.5, 0.75, 1.0]), 100)
    assert found.tolist() == [-7.65, 0.0, round(np.log2(75.5 / 25.5), 2), 7.65]


def test_augustus_itself(two_loci, tmp_path):
    """The real program: its exons, posteriors and types, the same whatever else is in the file."""
    require("augustus")
    output, alone = tmp_path / "exons.gff3", tmp_path / "alone.gff3"
    words = ["exons", "predict", "--quiet", "--provider", "augustus", "--samples", "60"]
    assert main([*words, "--base", str(two_loci), "-o", str(output)]) == 0
    sets = read_exons(output)
    assert list(sets) == ["NM_000572.2", "NM_198149.1"]
    # an exon that the mouse mRNA's chain has, too
    sure = sets["NM_198149.1"].take(sets["NM_198149.1"].probabilities > 0.9)
    assert (False, 1540, 1712) in [row[:3] for row in rows(sure)]
    for exons in sets.values():
        # more than one structure has: overlapping exons, whose probabilities are shares
        assert (exons.starts[1:] < exons.ends[:-1]).any()
        assert (exons.probabilities < 0.3).any()
        assert ((exons.probabilities > 0) & (exons.probabilities <= 1)).all()
        assert exons.scores.tolist() == log_odds(exons.probabilities, 60).tolist()
        assert {1, 2, 3} <= set(exons.types.tolist())
    second = tmp_path / "second.fa"
    write_fasta(second, [read_fasta(two_loci)[1]])
    least = float(np.median(sets["NM_198149.1"].probabilities))  # one of them, and still taken
    options = ["--base", str(second), "-o", str(alone), "--min-probability", str(least)]
    assert main([*words, *options]) == 0
    expected = sets["NM_198149.1"].take(sets["NM_198149.1"].probabilities >= least)
    assert rows(read_exons(alone)["NM_198149.1"]) == rows(expected)


def test_augustus_without_such_a_species(two_loci, capsys):
    require("augustus")
    words = ["--base", str(two_loci), "--provider", "augustus", "--species", "unicorn"]
    assert main(["exons", "predict", "--quiet", *words]) == 1
    (line,) = capsys.readouterr().err.splitlines()
    assert "augustus failed with status 1: Species-specific configuration files not found" in line
