"""``gpu-tools spliced-align`` and ``devices``, run in process."""

import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from gpu_tools.cli import devices
from gpu_tools.cli.devices import row
from gpu_tools.cli.main import main
from gpu_tools.cli.spliced_align import COLUMNS
from gpu_tools.hardware.device import Gpu
from gpu_tools.model.scoring import SplicedScoring
from tests.cases import best_by_strand, random_example
from tests.oracles import spliced as oracles

ROOT = str(Path(__file__).parents[2])
SAID = "device cpu: listed candidates with free ends or that translate always run there"
HEADER = "\t".join(COLUMNS) + "\n"
ROW = "s\tt\t+\t3\t9\t5\t5\t3\t1-2,3-4,8-9\t0.8333\t55\t1.0000\t1.0e+00\tno\n"
GELFAND = ("--exon-weight", "0", "--intron-penalty", "0", "--ends", "global")
BED = "".join(f"s\t{a}\t{b}\n" for a, b in [(0, 2), (2, 4), (3, 5), (5, 8), (7, 9)])


@pytest.fixture
def files(tmp_path, monkeypatch):
    """The source's worked example as files in the working folder."""
    monkeypatch.chdir(tmp_path)
    texts = {"s.fa": ">s\nACCGTATGT\n", "t.fa": ">t\nccggu\n", "e.bed": BED}
    for name, text in texts.items():
        (tmp_path / name).write_text(text)
    return tmp_path


def run(*arguments, base="s.fa", exons="e.bed", targets="t.fa", scoring=GELFAND):
    inputs = ["--base", base, "--exons", exons, "--targets", targets]
    return main(["spliced-align", *inputs, "--device", "cpu", *scoring, *arguments])


def test_table_on_standard_output(files, capsys):
    assert run() == 0
    assert capsys.readouterr().out == HEADER + ROW


def test_scores_are_options(files, capsys):
    assert run("--match", "2", "--mismatch", "-2", "--gap", "-4") == 0
    # no parameters are shipped for these scores, but chance makes copies of five nucleotides
    expected = ROW.replace("\t3\t9", "\t6\t9")
    assert capsys.readouterr().out == HEADER + expected


LETTERS = "ACGTN"


@pytest.mark.parametrize("ends", ["global", "free-target"])
@pytest.mark.parametrize("seed", range(6))
def test_a_matrix_scores_pairs(files, capsys, seed, ends):
    """Rows are the base's letters, in any order; what it does not say of N is --mismatch."""
    rng = np.random.default_rng(seed)
    example, with_n = random_example(rng, 60, 12, 6, 20), bool(seed % 2)
    scores = rng.integers(-4, 6, (5, 5))
    if not with_n:
        scores[4, :] = scores[:, 4] = -3
    order = rng.permutation(5 if with_n else 4)
    names = [LETTERS[k].replace("T", "tU"[seed // 3]) for k in order]
    rows = [" ".join([names[i], *(str(scores[k, c]) for c in order)]) for i, k in enumerate(order)]
    (files / "m.txt").write_text("\n".join(["# " + str(seed), " ".join(names), *rows]) + "\n")
    (files / "s.fa").write_text(f">s\n{example.base}\n")
    (files / "t.fa").write_text(f">t\n{example.target}\n")
    (files / "e.bed").write_text("".join(
        f"s\t{a}\t{b}\te\t0\t{strand}\n"
        for strand, exons in (("+", example.plus), ("-", example.minus)) for a, b in exons
    ))  # fmt: skip
    gelfand = [*GELFAND[:-1], ends]
    assert run("--matrix", "m.txt", "--gap", "-2", "--mismatch", "-3", scoring=gelfand) == 0
    found = capsys.readouterr()
    row = dict(zip(COLUMNS, found.out.splitlines()[1].split("\t"), strict=True))
    scoring = SplicedScoring(gap=-2, matrix=scores, ends=ends)
    best = best_by_strand(example, scoring, oracles.spliced_by_programme)
    assert row["score"] == str(max(best.values()))
    assert row["evalue"] == "." or float(row["evalue"]) == 1
    assert "no E-values are known for this matrix: every chain counts as credible" in found.err


def test_minus_strand_is_written_high_to_low(files, capsys):
    (files / "s.fa").write_text(">s\nACATACGGT\n")  # reverse complement of the example's base
    minus = "".join(f"s\t{9 - b}\t{9 - a}\te\t0\t-\n" for a, b in [(0, 2), (2, 4), (7, 9)])
    (files / "e.bed").write_text(minus)
    assert run() == 0
    assert "\t-\t3\t9\t5\t3\t3\t8-9,6-7,1-2\t" in capsys.readouterr().out


def test_pairs_choose_and_order_the_cases(files, capsys):
    (files / "t.fa").write_text(">t\nCCGGT\n>u\nACG\n")
    (files / "p.tsv").write_text("base\ttarget\ns\tu\ns\tt\n")
    assert run("--pairs", "p.tsv") == 0
    targets = [line.split("\t")[1] for line in capsys.readouterr().out.splitlines()]
    assert targets == ["target", "u", "t"]


def test_without_any_candidate(files, capsys):
    (files / "e.bed").write_text("")
    assert run() == 0
    out = capsys.readouterr()
    assert out.out == HEADER + "s\tt\t.\t.\t9\t5\t0\t0\t.\t.\t0\t.\t.\tno\n"
    assert "e.bed holds no exon" in out.err


def test_exon_weight_and_penalty_and_ends(files, capsys):
    (files / "e.tsv").write_text("base\tstart\tend\tscore\ns\t1\t2\t0.4\ns\t3\t9\t2.5\n")
    arguments = ["--exon-weight", "2", "--intron-penalty", "1", "--ends", "free-target"]
    assert run(*arguments, exons="e.tsv") == 0
    row = capsys.readouterr().out.splitlines()[1].split("\t")
    # CG---GT of CGTATGT with CGGT: 4 pairs, 3 gaps, bonus 5; both exons: 5 pairs, 4 gaps, 1 + 5 - 1
    assert (row[3], row[8], row[9]) == ("3", "3-9", "0.5714")


def test_defaults_are_those_of_the_workflow(files, capsys):
    """Each option alone has the workflow's value by default, and matters in the example."""
    (files / "e.tsv").write_text("base\tstart\tend\tscore\ns\t1\t2\t6\ns\t3\t9\t21.2\n")

    def row(*scoring):
        assert run(exons="e.tsv", scoring=scoring) == 0
        return capsys.readouterr().out.splitlines()[1].split("\t")

    found = row()
    # CG---GT with CGGT of the target: 4 pairs, 3 gaps, and 0.5 * 21.2, halves to even
    assert (found[3], found[8]) == ("9", "3-9")
    workflow = ("--exon-weight", "0.5", "--intron-penalty", "10", "--ends", "free-target")
    for k in (0, 2, 4):
        assert row(*workflow[k : k + 2]) == found
        assert row(*GELFAND[k : k + 2]) != found


def test_candidates_that_translate(files, capsys):
    """The best chain of all misses the start codon; --incomplete admits that one's whole codons."""
    (files / "s.fa").write_text(">s\nATGCCGTTTGCAAATAA\n")
    (files / "t.fa").write_text(">t\nCCGGCAAAT\n")
    (files / "e.bed").write_text("s\t0\t6\ns\t3\t6\ns\t9\t15\ns\t9\t17\ns\t8\t17\n")
    chains = {}
    for options in ((), ("--coding",), ("--coding", "--incomplete")):
        assert run(*options, "--alignments", "x.gtf", "--all-alignments") == 0
        chains[options] = capsys.readouterr().out.splitlines()[1].split("\t")[8]
    assert chains == {
        (): "4-6,10-15", ("--coding",): "1-6,9-17", ("--coding", "--incomplete"): "4-6,10-15",
    }  # fmt: skip
    assert "\tCDS\t4\t6\t.\t+\t0\t" in (files / "x.gtf").read_text()


def test_genscan_report_takes_the_only_base(files, capsys):
    report = (
        "GENSCAN 1.0\tDate run: 1-Jan-100\tTime: 00:00:00\n\n"
        "Sequence OTHER : 9 bp : 44.44% C+G : Isochore 2 (43 - 51 C+G%)\n\n"
        "Predicted genes/exons:\n\n"
        "Gn.Ex Type S .Begin ...End .Len Fr Ph I/Ac Do/T CodRg P.... Tscr..\n"
        "----- ---- - ------ ------ ---- -- -- ---- ---- ----- ----- ------\n\n"
        " 1.01 Intr +      3      4    2  0  2   10   10    10 0.500   1.00\n\n"
        "Predicted peptide sequence(s):\n"
    )
    (files / "r.txt").write_text(report)
    assert run(exons="r.txt") == 0
    out = capsys.readouterr()
    assert "sequence OTHER is taken for s" in out.err
    assert "\t3-4\t" in out.out
    (files / "s.fa").write_text(">s\nACCGTATGT\n>r\nACG\n")
    assert run("--output", "out.tsv", exons="r.txt") == 1
    assert "unknown sequence 'OTHER'" in capsys.readouterr().err


def test_debug_shows_the_traceback(files):
    with pytest.raises(Exception, match="cannot be read"):
        run("--debug", base="none.fa")


def without_gpu(*arguments):
    """Run the command as a process that sees no GPU."""
    settings = {"CUDA_VISIBLE_DEVICES": "", "NUMBA_ENABLE_CUDASIM": "0", "PYTHONPATH": ROOT}
    command = [sys.executable, "-m", "gpu_tools", *arguments]
    return subprocess.run(command, env=os.environ | settings, capture_output=True, text=True)


def test_cuda_without_a_gpu(files):
    inputs = ["spliced-align", "--base", "s.fa", "--exons", "e.bed", "--targets", "t.fa", *GELFAND]
    for more in (["devices"], [*inputs, "--device", "cuda:0"],
                 [*inputs, "--device", "cuda", "--ends", "free"]):  # fmt: skip
        found = without_gpu(*more)
        assert (found.returncode, found.stdout) == (1, "")
        assert re.fullmatch(r"gpu-tools: error: no usable CUDA device: .*\n", found.stderr)
    assert without_gpu(*inputs, "--device", "auto").stdout == HEADER + ROW


def test_devices():
    gpu = Gpu(1, "NVIDIA H200", "9.0", 150_000_000_000, "13.0", "GPU-1")
    assert row(gpu) == ("cuda:1", "NVIDIA H200", "9.0", 150_000_000_000, "13.0")
    assert len(row(gpu)) == len(devices.COLUMNS)


@pytest.mark.cuda
@pytest.mark.parametrize("options", [["--ends", "free"], ["--coding", "--incomplete"]])
def test_what_no_gpu_does_reserves_none_and_says_so(files, capsys, monkeypatch, options):
    monkeypatch.setenv("GPU_TOOLS_LOCKS", str(files / "locks"))
    assert run(*options) == 0
    expected = capsys.readouterr().out
    for device in ("auto", "cuda"):
        assert run(*options, "--device", device, "--log-level", "info") == 0
        found = capsys.readouterr()
        assert found.out == expected
        assert found.err.count(SAID) == 1
    assert not (files / "locks").exists()


@pytest.mark.parametrize("name", ["t.fa", "./t.fa", "link", "e.bed"])
@pytest.mark.parametrize("option", ["--output", "--alignments"])
def test_an_output_never_replaces_an_input(files, capsys, name, option):
    (files / "link").symlink_to("t.fa")
    if option == "--alignments":
        (files / "t.fa").rename(files / "t.bed")
        (files / "t.fa").symlink_to("t.bed")
        name = "t.bed" if name != "e.bed" else name
    before = {path.name: path.read_bytes() for path in files.iterdir()}
    assert run(option, name) == 1
    expected = f"error: {name}: named as input and as output; expected another file to write"
    assert expected in capsys.readouterr().err
    assert {path.name: path.read_bytes() for path in files.iterdir()} == before


def test_odd_records_are_told_once_or_are_errors(files, capsys):
    (files / "t.fa").write_bytes((files / "t.fa").read_bytes() + b">e\n>none\n")
    assert run() == 0
    warnings = [line for line in capsys.readouterr().err.splitlines() if "without symbols" in line]
    assert len(warnings) == 1
    assert "left out: 2; the first: t.fa, line " in warnings[0]
    assert "record e: no symbols" in warnings[0]
    assert run("--strict") == 1
    assert "t.fa, line 3, record e: no symbols" in capsys.readouterr().err
