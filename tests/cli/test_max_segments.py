"""max-segments and max-submatrix on the command line: tables, scales, and every refusal."""

import math
from decimal import Decimal

import numpy as np
import pytest

from gpu_tools.cli.main import main
from gpu_tools.errors import InputError
from gpu_tools.formats.scales import known_scales, load_scale
from gpu_tools.model.sequences import encode
from gpu_tools.segments import dot_plot
from gpu_tools.segments.api import statistics
from tests.oracles import segments as oracle


@pytest.fixture
def run(tmp_path, monkeypatch, capsys):
    """Run a command in an empty folder; return its exit code, output and errors."""
    monkeypatch.chdir(tmp_path)

    def call(*arguments):
        code = main([*arguments, "--device", "cpu"])
        shown = capsys.readouterr()
        return code, shown.out, shown.err

    return call


def rows(text):
    return [line.split("\t") for line in text.splitlines()]


def test_best_segment_of_each_record(run, tmp_path):
    (tmp_path / "s.fa").write_text(">a\nATTGGCGCAT\n>none\nATAT\n>b x\nacgnnC\n")
    code, out, _ = run("max-segments", "--sequence", "s.fa", "--scale", "gc")
    assert code == 0
    assert rows(out) == [
        ["sequence", "rank", "start", "end", "score"],
        ["a", "1", "4", "8", "5"],
        ["b", "1", "2", "6", "3"],
    ]


def test_all_segments_ranked_with_decimals(run, tmp_path):
    (tmp_path / "p.fa").write_text(">p\nAAKIIKKKVL\n")
    arguments = ("max-segments", "--sequence", "p.fa", "--scale", "kyte-doolittle", "--all")
    assert rows(run(*arguments)[1])[1:] == [
        ["p", "1", "4", "5", "9"],
        ["p", "2", "9", "10", "8"],
        ["p", "3", "1", "2", "3.6"],
    ]
    scores = [1.8, 1.8, -3.9, 4.5, 4.5, -3.9, -3.9, -3.9, 4.2, 3.8]
    assert len(oracle.maximal_by_list(scores)) == 3
    assert len(rows(run(*arguments, "--min-score", "8")[1])) == 3
    assert len(rows(run(*arguments, "--min-score", "3.6")[1])) == 4
    assert len(rows(run(*arguments, "--min-score", "3.61")[1])) == 3


def test_bed_has_the_same_segments(run, tmp_path):
    (tmp_path / "s.fa").write_text(">a\nATTGGCGCAT\n")
    code, _, _ = run("max-segments", "--sequence", "s.fa", "--scale", "gc", "--bed", "x.bed")
    assert code == 0
    assert (tmp_path / "x.bed").read_text() == "a\t3\t8\tsegment1\t5\n"


def test_gff3_has_lengths_and_scores(run, tmp_path):
    (tmp_path / "s.fa").write_text(">a=1 x\nATTGGCGCATGG\n>none\nAT\n")
    arguments = ("--scale", "gc", "--all", "--significance", "--gff3", "x.gff3")
    more = ("--feature", "GC_rich_region", "--output", "x.tsv")
    assert run("max-segments", "--sequence", "s.fa", *arguments, *more)[0] == 0
    head, *lines = (tmp_path / "x.gff3").read_text().splitlines()
    assert head == "##gff-version 3"
    assert lines == [
        "##sequence-region a%3D1 1 12",
        "##sequence-region none 1 2",
        "a%3D1\tgpu-tools\tGC_rich_region\t4\t8\t5\t.\t.\trank=1",
        "a%3D1\tgpu-tools\tGC_rich_region\t11\t12\t2\t.\t.\trank=2",
    ]


def test_several_files_are_searched_in_their_order(run, tmp_path):
    for name in "ab":
        (tmp_path / f"{name}.fa").write_text(f">{name}\nTGC\n")
    sequences = ("--sequence", "b.fa", "--sequence", "a.fa")
    found = rows(run("max-segments", *sequences, "--scale", "gc")[1])[1:]
    assert found == [["b", "1", "2", "3", "2"], ["a", "1", "2", "3", "2"]]


def test_subtract_and_min_length(run, tmp_path):
    (tmp_path / "s.fa").write_text(">a\nTGGAGGGGTG\n")
    arguments = ("max-segments", "--sequence", "s.fa", "--scale", "gc", "--all", "--subtract")
    found = rows(run(*arguments, "0.2")[1])[1:]
    assert found == [["a", "1", "2", "8", "3.6"], ["a", "2", "10", "10", "0.8"]]
    assert rows(run(*arguments, "0.2", "--min-length", "2")[1])[1:] == found[:1]
    found = rows(run(*arguments, "0.9")[1])[1:]
    assert found == [
        ["a", "1", "5", "8", "0.4"], ["a", "2", "2", "3", "0.2"], ["a", "3", "10", "10", "0.1"],
    ]  # fmt: skip


def test_subtract_from_numbers(run, tmp_path):
    np.save(tmp_path / "v.npy", np.array([2**62 - 1, 1, -(2**31)]))
    np.save(tmp_path / "w.npy", np.array([3, 4, 2], np.uint8))
    np.save(tmp_path / "huge.npy", np.array([-(2**63)]))
    arguments = ("max-segments", "--subtract")
    assert rows(run(*arguments, "1", "--values", "v.npy")[1])[1][2:] == ["1", "1", str(2**62 - 2)]
    assert rows(run(*arguments, "3", "--values", "w.npy")[1])[1] == ["w", "1", "1", "2", "1"]
    assert rows(run(*arguments, "2.5", "--values", "w.npy")[1])[1] == ["w", "1", "1", "2", "2"]
    assert run(*arguments, "1", "--values", "huge.npy")[0] == 1


REFUSED = {
    "complex": (np.array([1 + 2j, -3]), "values of type complex128; expected real numbers"),
    "dates": (np.array(["2020-01-01"], "M8[D]"), "values of type datetime64[D]; expected real"),
    "texts": (np.array(["1", "2"]), "values of type <U1; expected real numbers"),
    "unsigned": (np.array([2**63], np.uint64), "values of 2^63 and more; expected 64-bit signed"),
    "large": (np.array([2**62, 1]), "less {} the integers exceed what is exact; expected smaller"),
}


@pytest.mark.parametrize("kind", REFUSED)
@pytest.mark.parametrize("subtract", ["1", "0.5", "-1"])
def test_subtract_from_what_is_no_number_or_too_large(run, tmp_path, kind, subtract):
    values, message = REFUSED[kind]
    np.save(tmp_path / "v.npy", values)
    code, out, errors = run("max-segments", "--values", "v.npy", "--subtract", subtract)
    assert (code, out) == (1, "")
    assert f"error: v.npy: {message.format(subtract)}" in errors


def test_subtract_is_exact_up_to_the_largest_integers(run, tmp_path):
    for largest, subtract, score in (
        (2**62 - 1, "-1", 2**62),
        (2**53 - 1001, "0.5", 2**53 - 1001.5),
    ):
        np.save(tmp_path / "v.npy", np.array([largest]))
        _, out, _ = run("max-segments", "--values", "v.npy", "--subtract", subtract)
        assert float(rows(out)[1][-1]) == pytest.approx(score, rel=1e-15)


def test_the_best_segment_and_the_first_of_all_may_differ(run, tmp_path):
    (tmp_path / "v.txt").write_text("1\n-1\n2\n")
    best, every = (run("max-segments", "--values", "v.txt", *o)[1] for o in ((), ("--all",)))
    assert rows(best)[1] == ["v", "1", "1", "3", "2"]
    assert rows(every)[1] == ["v", "1", "3", "3", "2"]


def test_values_in_text_and_binary(run, tmp_path):
    values = [1, -2, 3, 4, -9, 2]
    np.save(tmp_path / "v.npy", np.array(values, np.int32))
    (tmp_path / "v.tsv").write_text("".join(f"{value}\n" for value in values))
    (tmp_path / "halves.tsv").write_text("".join(f"{value / 2}\n" for value in values))
    for name in ("v.npy", "v.tsv"):
        assert rows(run("max-segments", "--values", name)[1])[1] == ["v", "1", "3", "4", "7"]
    found = rows(run("max-segments", "--values", "halves.tsv", "--all")[1])[1:]
    assert found == [
        ["halves", "1", "3", "4", "3.5"], ["halves", "2", "6", "6", "1"],
        ["halves", "3", "1", "1", "0.5"],
    ]  # fmt: skip


def test_integers_of_64_bits_in_a_text(run, tmp_path):
    (tmp_path / "v.tsv").write_text(f"{-(2**63 - 2)}\n+{2**63 - 1}\n-{'0' * 30}1\n")
    found = rows(run("max-segments", "--values", "v.tsv")[1])[1:]
    assert found == [["v", "1", "2", "2", str(2**63 - 1)]]


def test_no_positive_value_gives_no_row(run, tmp_path):
    (tmp_path / "v.tsv").write_text("-1\n0\n")
    for more in ((), ("--all",)):
        code, out, _ = run("max-segments", "--values", "v.tsv", *more)
        assert (code, len(rows(out))) == (0, 1)


def test_pair_scales_score_the_second_symbol(tmp_path):
    scale = load_scale("cpg")
    assert scale.values(b"cgCA").tolist() == [0, 1812, 461, -913]
    assert scale.text(1812) == "1.812"
    assert scale.text(2000) == "2"


def test_shipped_scales():
    assert known_scales() == ["cpg", "eisenberg", "gc", "hopp-woods", "kyte-doolittle"]
    for name in ("eisenberg", "hopp-woods", "kyte-doolittle"):
        assert set("ACDEFGHIKLMNPQRSTVWYBZXUOJ") == set(load_scale(name).scores)
    assert load_scale("kyte-doolittle").scores["I"] == Decimal("4.5")
    assert load_scale("eisenberg").scores["R"] == Decimal("-2.53")
    assert load_scale("hopp-woods").scores["W"] == Decimal("-3.4")
    assert len(load_scale("cpg").scores) == 15 * 15


def test_values_that_are_not_finite_name_the_file(run, tmp_path):
    np.save(tmp_path / "v.npy", np.array([1.0, np.nan]))
    np.save(tmp_path / "m.npy", np.array([[1.0, 2.0], [3.0, np.inf]]))
    code, _, err = run("max-segments", "--values", "v.npy")
    assert (code, "v.npy, position 2: value nan is not a finite number" in err) == (1, True)
    code, _, err = run("max-submatrix", "--matrix", "m.npy")
    assert code == 1
    assert "m.npy: row 2, column 2: value inf is not a finite number" in err


def test_max_submatrix(run, tmp_path):
    matrix = [[-1, 2, 3], [-4, 5, -6]]
    np.save(tmp_path / "m.npy", np.array(matrix))
    (tmp_path / "m.tsv").write_text("\n".join("\t".join(map(str, row)) for row in matrix))
    for name in ("m.npy", "m.tsv"):
        code, out, _ = run("max-submatrix", "--matrix", name)
        assert code == 0
        assert rows(out) == [
            ["row_start", "row_end", "column_start", "column_end", "score"],
            ["1", "2", "2", "2", "7"],
        ]
    (tmp_path / "m.tsv").write_text("-1.5\n")
    assert len(rows(run("max-submatrix", "--matrix", "m.tsv")[1])) == 1


@pytest.mark.parametrize("seed", range(5))
def test_ranked_rectangles(run, tmp_path, seed):
    matrix = np.random.default_rng(seed).integers(-4, 4, (4, 6))
    (tmp_path / "m.tsv").write_text("\n".join("\t".join(map(str, row)) for row in matrix.tolist()))
    expected = [
        [str(k), str(r0 + 1), str(r1), str(c0 + 1), str(c1), str(score)]
        for k, ((r0, r1, c0, c1), score) in enumerate(
            oracle.disjoint_submatrices(matrix.tolist()), 1
        )
    ]
    header = ["rank", "row_start", "row_end", "column_start", "column_end", "score"]
    for options, count in ((("--all",), None), (("--count", "2"), 2), (("--count", "99"), None)):
        code, out, _ = run("max-submatrix", "--matrix", "m.tsv", *options)
        assert code == 0
        assert rows(out) == [header, *expected[:count]]
    (tmp_path / "m.tsv").write_text("-1\t0\n")
    assert rows(run("max-submatrix", "--matrix", "m.tsv", "--all")[1]) == [header]


DOTS = {"a.fa": ">a\nAAAACNGT\n", "b.fa": ">b\nGAAANAC\n", "two.fa": ">a\nA\n>b\nA\n"}


def test_dot_plot_of_two_sequences(run, tmp_path):
    for name, text in DOTS.items():
        (tmp_path / name).write_text(text)
    rows_, columns = "AAAACNGT", "GAAANAC"
    for scores in ((), ("--match", "3", "--mismatch", "-2")):
        match, mismatch = (3, -2) if scores else (1, -1)
        plot = [[match if a == b != "N" else mismatch for b in columns] for a in rows_]
        (r0, r1, c0, c1), best = oracle.best_submatrix(plot)
        found = rows(run("max-submatrix", "--dot-plot", "a.fa", "b.fa", *scores)[1])[1]
        assert found == [str(v) for v in (r0 + 1, r1, c0 + 1, c1, best)]
    assert dot_plot(encode("AN"), encode("NA"), never=4).tolist() == [[-1, 1], [-1, -1]]


def test_dot_plot_of_proteins(run, tmp_path):
    (tmp_path / "p.fa").write_text(">p\nXWW*\n")
    found = run("max-submatrix", "--dot-plot", "p.fa", "p.fa", "--alphabet", "protein")
    assert rows(found[1])[1] == ["2", "3", "2", "3", "4"]


def test_dot_plot_refuses_scores_that_do_not_fit():
    with pytest.raises(InputError, match="score -32768; expected a magnitude below 32768"):
        dot_plot(encode("A"), encode("A"), mismatch=-(2**15))


def test_statistics_of_known_scoring_systems():
    """+1/-1 and +1/-3 at a quarter each: lambda is ln 3 and K 1/3; 1.374 and 0.711 in BLAST."""
    simple = statistics([1, -1, -1, -1] * 50)
    assert simple.decay == pytest.approx(math.log(3), rel=1e-6)
    assert simple.factor == pytest.approx(1 / 3, rel=1e-4)
    blast = statistics([1, -3, -3, -3] * 50)
    assert (round(blast.decay, 3), round(blast.factor, 3)) == (1.374, 0.711)


def test_statistics_do_not_depend_on_the_unit():
    coarse, fine = statistics([2, -1, -1, -3]), statistics([20, -10, -10, -30])
    assert fine.expected(100, 50) == pytest.approx(coarse.expected(100, 5), rel=1e-9)


@pytest.mark.parametrize("values", [[1, 1, -1], [1, -1], [-1, -2], [0]])
def test_statistics_where_the_theory_does_not_hold(values):
    assert statistics(values) is None


def test_statistics_of_wide_scores_are_close():
    """Scores a thousand times as fine, with noise in the last digits."""
    rng = np.random.default_rng(6)
    values = rng.choice([3, -1, -2], p=[0.25, 0.35, 0.4], size=5000) * 1000
    coarse, fine = statistics(values), statistics(values + rng.integers(-2, 3, 5000))
    assert fine.decay == pytest.approx(coarse.decay, rel=0.01)
    assert fine.expected(100, 5000) == pytest.approx(coarse.expected(100, 5000), rel=0.6)


def test_evalue_is_the_number_expected_by_chance():
    """Shuffled scores have about as many segments of a score as expected."""
    rng = np.random.default_rng(4)
    values = rng.choice([2, 1, -1, -3], p=[0.2, 0.2, 0.3, 0.3], size=200_000)
    from gpu_tools import max_segments

    found = max_segments(values, min_score=12, device="cpu")
    assert len(found) == pytest.approx(statistics(values).expected(len(values), 12), rel=0.15)


def test_significance_adds_a_column(run, tmp_path):
    (tmp_path / "s.fa").write_text(">a\nATATATAAGGCGCATATTATA\n>rich\nGGGCA\n")
    arguments = ("max-segments", "--sequence", "s.fa", "--scale", "gc", "--significance")
    found = rows(run(*arguments)[1])
    assert found[0][-1] == "evalue"
    assert 0 < float(found[1][-1]) < 10
    assert found[2][-1] == "."  # the mean is positive


def test_unknown_symbol_error_is_the_librarys_too():
    with pytest.raises(InputError, match="position 2: 'AZ' has no score in the scale cpg"):
        load_scale("cpg").values(b"AZ")
