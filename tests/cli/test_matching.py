"""``gpu-tools match-exact`` and ``match-approximate``."""

import numpy as np
import pytest

from gpu_tools.cli.main import main
from gpu_tools.matching import ALPHABETS
from tests.oracles import matching as oracle

TEXT = ">t one\nACGTAC\nGTRN\n\n>u\r\nttacgaa\r\n>v\nACG"


@pytest.fixture
def files(tmp_path):
    text, patterns = tmp_path / "text.fa", tmp_path / "patterns.fa"
    text.write_bytes(TEXT.encode())
    patterns.write_text(">p\nACG\n>q\nRY\n")
    return ["--patterns", str(patterns), "--text", str(text), "--quiet", "--device", "cpu"]


def test_exact_table_and_bed(files, tmp_path, capsys):
    bed = tmp_path / "found.bed"
    assert main(["match-exact", *files, "--both-strands", "--bed", str(bed)]) == 0
    lines = [line.split("\t") for line in capsys.readouterr().out.splitlines()]
    assert lines[0] == ["pattern", "text", "start", "end", "strand"]
    texts = {"t": "ACGTACGTRN", "u": "ttacgaa", "v": "ACG"}
    expected = oracle.exact({"p": "ACG", "q": "RY"}, texts, both=True)
    assert [tuple(line) for line in lines[1:]] == [
        (p, t, str(start + 1), str(end), strand) for p, t, start, end, strand in expected
    ]
    assert [line.split("\t") for line in bed.read_text().splitlines()] == [
        [t, str(start), str(end), p, "0", strand] for p, t, start, end, strand in expected
    ]


def test_approximate_table(files, capsys):
    assert main(["match-approximate", *files, "--max-distance", "1", "--substitution", "2"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "pattern\ttext\tstart\tend\tstrand\tdistance\tcigar"
    assert lines[1:4] == [
        "q\tt\t1\t1\t+\t1\t1=1I", "p\tt\t1\t2\t+\t1\t2=1I", "q\tt\t1\t2\t+\t0\t2=",
    ]  # fmt: skip


def test_best(files, tmp_path, capsys):
    patterns = tmp_path / "one.fa"
    patterns.write_text(">x\nTACGAA\n")
    assert main(["match-approximate", *files, "--patterns", str(patterns), "--best"]) == 0
    assert capsys.readouterr().out.splitlines()[1:] == ["x\tu\t2\t7\t+\t0\t6="]


def test_locally_best(files, tmp_path, capsys):
    """Of all matches the best is taken, then the best that overlaps none taken, and so on."""
    patterns, text = tmp_path / "some.fa", tmp_path / "long.fa"
    patterns.write_text(">x\nACGTACG\n>y\nTTT\n")
    rng = np.random.default_rng(4)
    some = "".join(rng.choice(list("ACGT"), 150))
    text.write_text(f">long\n{some}ACGTACGTACGTACG{some[:9]}TTTTTTT\n>short\nACGTCG\n")
    inputs = [*files, "--patterns", str(patterns), "--text", str(text), "--both-strands"]

    def rows(*options):
        assert main(["match-approximate", *inputs, "--max-distance", "2", *options]) == 0
        return [line.split("\t") for line in capsys.readouterr().out.splitlines()[1:]]

    rest, taken, every = rows(), [], rows()
    while rest:
        best = min(rest, key=lambda row: (row[1], int(row[5]), int(row[3])))
        taken.append(best)
        rest = [
            row for row in rest
            if (row[0], row[1], row[4]) != (best[0], best[1], best[4])
            or int(row[3]) < int(best[2]) or int(best[3]) < int(row[2])
        ]  # fmt: skip
    assert len(taken) < len(every)
    assert rows("--locally-best") == [row for row in every if row in taken]


def two(letter):
    return 2


TRANSITIONS = "# costs\n   A C G T\nA  0 2 1 2\nC  2 0 2 1\nG  1 2 0 2\nT  2 1 2 0\n"


def test_substitution_table(files, tmp_path, capsys):
    table, patterns = tmp_path / "costs.txt", tmp_path / "one.fa"
    table.write_text(TRANSITIONS)
    patterns.write_text(">x\nACACGT\n")

    def pair(symbol, letter):
        if letter == "N":
            return 3
        return 0 if symbol == letter else 1 if {symbol, letter} in ({"A", "G"}, {"C", "T"}) else 2

    arguments = ["--substitution", "3", "--insertion", "2", "--deletion", "2", "--patterns"]
    code = main([
        "match-approximate", *files, *arguments, str(patterns), "--max-distance", "4",
        "--substitution-table", str(table),
    ])  # fmt: skip
    assert code == 0
    texts = {"t": "ACGTACGTNN", "u": "TTACGAA", "v": "ACG"}
    expected = oracle.approximate({"x": "ACACGT"}, texts, (two, two, pair), 4)
    lines = [line.split("\t") for line in capsys.readouterr().out.splitlines()[1:]]
    assert [line[:6] for line in lines] == [
        [p, t, str(start + 1), str(end), strand, str(distance)]
        for p, t, start, end, strand, distance in expected
    ]
    assert expected


def test_classes_cost_what_their_cheapest_member_does():
    costs = np.array([[0, 7], [5, 0]])
    table = ALPHABETS["dna"].pair_costs("AC", costs, 9)
    assert table[1].tolist() == [0, 7, 9, 9, 9]  # A
    assert table[2].tolist() == [5, 0, 9, 9, 9]  # C
    assert table[3].tolist() == [0, 0, 9, 9, 9]  # M
    assert table[5].tolist() == [0, 7, 0, 9, 9]  # R
    assert ALPHABETS["protein"].pair_costs("A", np.array([[1]]), 4)[0, 0] == 1
    assert ALPHABETS["dna"].deletion_costs({"A": 2, "U": 5}, 3).tolist()[1:10] == [
        2, 3, 2, 3, 2, 3, 2, 5, 2,
    ]  # fmt: skip
    assert ALPHABETS["dna"].insertion_costs({"a": 2}, 3).tolist() == [2, 3, 3, 3, 3]


def pairs_file(path, letters, cost):
    """Write a substitution table of letters."""
    rows = ("\t".join([a, *(str(cost(a, b)) for b in letters)]) for a in letters)
    path.write_text("\n".join([" ".join(letters), *rows]) + "\n")


SMALL_LETTERS = "abcdefghijklmnopqrstuvwxyz"
KEYS = {
    letter: (row, column)
    for row, letters in enumerate(("qwertyuiop", "asdfghjkl", "zxcvbnm"))
    for column, letter in enumerate(letters)
}


def vowels(a, b):
    """A vowel for a vowel, or a consonant for a consonant, costs less than one for the other."""
    return 0 if a == b else 1 if (a in "aeiou") == (b in "aeiou") else 3


def keyboard(a, b):
    """A key costs what its distance to the right one is, in steps to neighbours."""
    return max(abs(x - y) for x, y in zip(KEYS[a], KEYS[b], strict=True))


@pytest.mark.parametrize(
    ("pattern", "text", "cost", "best"),
    [
        ("house", "mouse hause hpuse house's haus", vowels, None),
        ("letter", "litter latter setter", vowels, {("litter", 1), ("latter", 1), ("setter", 1)}),
        ("word", "ward wotd wird", keyboard, {("wotd", 1), ("wird", 1)}),
    ],
)
def test_words_by_vowels_and_keys(pattern, text, cost, best, tmp_path, capsys):
    """The examples of weighted edit distances: cheap exchanges of vowels, and of near keys."""
    words, patterns, table = (tmp_path / name for name in ("text", "patterns", "table"))
    words.write_text(text)
    patterns.write_text(pattern + "\n")
    pairs_file(table, SMALL_LETTERS, cost)
    costs = {"insertion": {" ": 6, "'": 6, "s": 2}, "deletion": {"e": 2}}
    for kind, by_letter in costs.items():
        rows = (f"{'0x20' if letter == ' ' else letter}\t{c}\n" for letter, c in by_letter.items())
        (tmp_path / kind).write_text("symbol\tcost\n" + "".join(rows))
    code = main([
        "match-approximate", "--alphabet", "bytes", "--patterns", str(patterns),
        "--text", str(words), "--best", "--quiet", "--device", "cpu",
        "--substitution-table", str(table), "--insertion", "4", "--deletion", "3",
        "--substitution", "5",
        *(word for kind in costs for word in (f"--{kind}-costs", str(tmp_path / kind))),
    ])  # fmt: skip
    assert code == 0

    def pair(a, b):
        return cost(a, b) if {a, b} <= set(SMALL_LETTERS) else 0 if a == b else 5

    terms = (
        lambda letter: costs["insertion"].get(letter, 4),
        lambda symbol: costs["deletion"].get(symbol, 3),
        pair,
    )
    expected = oracle.approximate({"1": pattern}, {"text": text}, terms, alphabet="bytes")
    lines = [line.split("\t") for line in capsys.readouterr().out.splitlines()[1:]]
    assert [line[:6] for line in lines] == [
        [p, t, str(start + 1), str(end), strand, str(distance)]
        for p, t, start, end, strand, distance in expected
    ]
    found = {(text[int(line[2]) - 1 : int(line[3])], int(line[5])) for line in lines}
    assert best is None or found == best


@pytest.mark.parametrize("seed", range(5))
def test_case_is_ignored(seed, tmp_path, capsys):
    """The letters A to Z match in either case; signs beside them and other bytes do not."""
    rng = np.random.default_rng(seed)
    letters = list("aAzZ@[`{")
    text, patterns = ("".join(rng.choice(letters, n)) for n in (200, 30))
    words = {str(k): patterns[3 * k : 3 * k + 2 + k % 2] for k in range(10)}
    (tmp_path / "text.txt").write_text(text)
    (tmp_path / "patterns.txt").write_text("".join(f"{word}\n" for word in words.values()))
    (tmp_path / "costs.tsv").write_text("symbol\tcost\nZ\t2\n")
    arguments = ["--patterns", str(tmp_path / "patterns.txt"), "--text", str(tmp_path / "text.txt"),
                 "--alphabet", "bytes", "--ignore-case", "--device", "cpu", "--quiet"]  # fmt: skip

    def rows(*command):
        assert main([*command, *arguments]) == 0
        return [line.split("\t") for line in capsys.readouterr().out.splitlines()[1:]]

    def shown(row):
        return [str(int(row[0]) + 1), row[1], str(row[2] + 1), *map(str, row[3:])]

    texts = {"text.txt": text}
    assert rows("match-exact") == [*map(shown, oracle.exact(words, texts, "text"))]
    one = {"0": words["0"] + words["1"]}
    (tmp_path / "patterns.txt").write_text(one["0"])
    terms = two, (lambda letter: 2 if letter in "zZ" else 1), (
        lambda a, b: 0 if a.lower() == b.lower() else 3
    )  # fmt: skip
    found = rows("match-approximate", "--best", "--insertion", "2", "--substitution", "3",
                 "--deletion-costs", str(tmp_path / "costs.tsv"))  # fmt: skip
    expected = oracle.approximate(one, texts, terms, alphabet="text")
    assert [row[:6] for row in found] == [*map(shown, expected)]


def test_bytes_alphabet(tmp_path, capsys):
    text, patterns = tmp_path / "text.bin", tmp_path / "patterns.txt"
    text.write_bytes(b"\x00\xff\x00\xff")
    patterns.write_bytes(b"\xff\x00\r\n\x00\n")
    arguments = ["--patterns", str(patterns), "--text", str(text), "--alphabet", "bytes"]
    assert main(["match-exact", *arguments, "--quiet"]) == 0
    assert capsys.readouterr().out.splitlines()[1:] == [
        "2\ttext.bin\t1\t1\t+", "1\ttext.bin\t2\t3\t+", "2\ttext.bin\t3\t3\t+",
    ]  # fmt: skip
