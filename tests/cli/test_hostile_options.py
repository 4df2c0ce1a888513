"""Options of absurd values: wrong usage, or bad input where only the data tell, or a result."""

import pytest

from gpu_tools.cli.main import main
from tests.cli.damage import FILES

DIGITS = "9" * 5000
LIST = "spliced-align --base base.fa --exons exons.tsv --targets target.fa"
SITES = "spliced-align --base base.fa --site-model vertebrate --targets target.fa"
LOCAL = "local-align --query target.fa --subject base.fa --quiet"
MATCHES = "match-approximate --patterns patterns.fa --text base.fa"
SEGMENTS = "max-segments --sequence base.fa --scale gc"
CUT = "sequences cut --fasta base.fa --record chr1 --locus 1-10"
WRONG_USAGE = [
    f"{LOCAL} --k {2**63}", f"{LOCAL} --k 0", f"{LOCAL} --match {2**30}",
    f"{MATCHES} --max-distance {10**20}", f"{MATCHES} --best --deletion {10**20}",
    f"{CUT} --flank {10**20}", f"{CUT} --flank {DIGITS}", f"{CUT[:-4]}1-{DIGITS}",
    f"{CUT[:-4]}{DIGITS}-1", f"{LIST} --region chr1:1-{DIGITS}",
    f"{LIST} --region chr1:1-9{',999' * 3000}", f"{LIST} --match {DIGITS}",
    f"{LIST} --max-evalue nan", f"{LIST} --min-identity nan", f"{LIST} --exon-weight nan",
    f"{LIST} --device cuda:{DIGITS}", f"{LIST} --threads {10**20}", f"{LIST} --shuffles {10**20}",
    f"{SITES} --min-intron {2**63}", f"{SITES} --min-intron {10**20}",
    f"{SEGMENTS} --min-length {10**20}", f"{SEGMENTS} --min-score 1e400",
    f"{SEGMENTS} --subtract 0e{DIGITS}", f"{SEGMENTS} --subtract 0e-{DIGITS}",
    "sequences fetch --source base.fa --timeout nan", "exons predict --base base.fa --samples 0",
    "sequences fetch --source base.fa --timeout 1e300",
    f"sequences fetch --source base.fa --attempts {DIGITS}",
]  # fmt: skip
BAD_INPUT = [
    f"{LOCAL} --match {2**30 - 1}", f"{MATCHES} --best --deletion {2**30 - 1}",
    f"{MATCHES} --max-distance {2**31 - 1}", f"{LIST} --exon-weight 1e300",
    f"{SITES} --exon-weight 1e300", f"{SITES} --intron-penalty {10**20}",
    f"{SITES} --intron-penalty -{10**20}", f"{LIST} --intron-penalty -{10**20}",
    "spliced-align --base base.fa --site-model deep.json --targets target.fa",
    "spliced-align --base base.fa --site-model digits.json --targets target.fa",
    "exons predict --base base.fa --model deep.json", "max-submatrix --matrix digits.json",
    "exons predict --base base.fa --model digits.json", "max-segments --values digits.json",
    "max-segments --sequence base.fa --scale scale2.tsv", "max-submatrix --matrix blank.tsv",
    "max-segments --sequence header.fa --scale gc",
    f"sequences fetch --source ncbi:NC_1:1-{DIGITS}",
    "sequences fetch --source nowhere.fa --max-size 1e308",
    "spliced-align --base base.fa --site-model= --proteins target.fa",
    f"{LIST} --targets=", "spliced-align --base base.fa --exons exons.tsv --proteins=",
]  # fmt: skip
MORE_FILES = {
    "deep.json": "[" * 100_000 + "]" * 100_000,
    "digits.json": DIGITS,
    "scale2.tsv": f"symbol\tscore\nA\t0e{DIGITS}\n",
    "blank.tsv": "1_0\t2\n",
    "header.fa": f">a:1-4 record_length={DIGITS[:18]}\nACGTA\n>b locus=a:1-{DIGITS}\nACG?\n",
}


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name, text in MORE_FILES.items():
        (tmp_path / name).write_text(text)
    for name in ("base.fa", "target.fa", "exons.tsv", "patterns.fa"):
        (tmp_path / name).write_bytes(FILES[name])
    return tmp_path


@pytest.mark.parametrize(
    ("command", "code"),
    [*((command, 2) for command in WRONG_USAGE), *((command, 1) for command in BAD_INPUT)],
    ids=lambda value: str(value)[:60],
)
def test_absurd_values(folder, capsys, command, code):
    assert main([*command.split(), "--output", "out"]) == code
    assert "rror: " in capsys.readouterr().err
    assert not (folder / "out").exists()


@pytest.mark.parametrize("factor", [6553, 100_000])
def test_scores_of_any_size_scale(folder, factor):
    """Beyond 16 bits the best alignments are those of the same scores divided by a factor."""
    scores, tables = {"match": 5, "mismatch": -4, "gap-open": 16, "gap-extend": 4}, []
    for by in (1, factor):
        words = [word for name, n in scores.items() for word in (f"--{name}", str(n * by))]
        assert main([*LOCAL.split(), *words, "--device", "cpu", "--output", "out"]) == 0
        rows = [row.split("\t") for row in (folder / "out").read_text().splitlines()[1:]]
        tables.append([[*row[:3], int(row[3]) / by, *row[4:]] for row in rows])
    assert tables[0] == tables[1]


def test_more_threads_than_a_machine_has(folder):
    (folder / "matrix.tsv").write_bytes(FILES["matrix.tsv"])
    command = "max-submatrix --matrix matrix.tsv --device cpu --threads 10000000 --output out"
    assert main(command.split()) == 0
    assert (folder / "out").read_text().splitlines()[1] == "2\t2\t1\t2\t9"
