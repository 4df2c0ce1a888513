"""Site mode on the command line: ``spliced-align --site-model``."""

import re
import subprocess

import numpy as np
import pytest

from gpu_tools.cli.main import main
from gpu_tools.sites.model import load_sites
from tests.oracles import sites as oracle_sites
from tests.programs import require


def gene(rng):
    """Return a base with a gene of three exons, and its coding sequence."""
    words = [a + b + c for a in "ACGT" for b in "ACGT" for c in "ACGT"]
    codons = [w for w in words if w not in oracle_sites.STOPS]
    coding = "ATG" + "".join(rng.choice(codons, 70)) + "TAA"
    exons = coding[:61], coding[61:140], coding[140:]
    fill = ["".join(rng.choice(list("ACGT"), 80)) for _ in range(4)]
    donor, acceptor = "GTAAGT", "TTTTCTTTTCTTTTTCTTTTCAG"
    text = fill[0] + exons[0]
    for k in (1, 2):
        text = text[:-1] + "G" + donor + fill[k] + acceptor + exons[k]
    return text + fill[3], coding


@pytest.fixture
def files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    base, target = gene(np.random.default_rng(8))
    (tmp_path / "s.fa").write_text(f">s\n{base}\n")
    (tmp_path / "t.fa").write_text(f">t\n{target}\n")
    return tmp_path


def run(*arguments):
    return main(["spliced-align", "--base", "s.fa", "--targets", "t.fa", "--quiet", *arguments])


def test_command_finds_the_gene(files, capsys):
    assert run("--site-model", "vertebrate", "--alignments", "x.gff3", "--coding") == 0
    row = dict(
        zip(*(line.split("\t") for line in capsys.readouterr().out.splitlines()), strict=True)
    )
    assert row["chain"] == "81-141,251-329,439-514"
    assert (row["strand"], row["n_exons"], row["n_chain"]) == ("+", ".", "3")
    assert int(row["cells"]) == 2 * int(row["base_length"]) * int(row["target_length"])
    lines = [line.split("\t") for line in (files / "x.gff3").read_text().splitlines()[2:]]
    assert [line[7] for line in lines if line[2] == "CDS"] == ["0", "2", "1"]
    assert [line[3:5] for line in lines if line[2] == "CDS"] == [
        line[3:5] for line in lines if line[2] == "exon"
    ]


@pytest.mark.parametrize("shuffles", [(), ("--shuffles", "20")])
def test_a_matrix_scores_pairs(files, capsys, shuffles):
    """The scores of a matrix of the defaults are those of the defaults; it has no E-values."""
    columns = "score", "chain", "identity", "evalue"

    def table(*options):
        assert run("--site-model", "vertebrate", *options) == 0
        out, err = capsys.readouterr()
        header, row = (line.split("\t") for line in out.splitlines())
        return [row[header.index(name)] for name in columns], err

    rows = (f"{a} " + " ".join("1" if a == b else "-1" for b in "TGCA") for a in "ACGT")
    (files / "m.txt").write_text("T G C A\n" + "\n".join(rows) + "\n")
    own, said = table("--matrix", "m.txt", *shuffles)
    usual, _ = table(*shuffles)
    assert own[:3] == usual[:3]
    if shuffles:
        assert own == usual
    else:
        assert own[3] == "." != usual[3]
        assert "no E-values are known for this matrix: every chain counts as credible" in said


@pytest.mark.parametrize("strand", "+-")
def test_coding_gff3_is_valid(files, strand):
    require("gt")
    if strand == "-":
        from tests.oracles.spliced import reverse_complement

        text = (files / "s.fa").read_text().split()[1]
        (files / "s.fa").write_text(f">s\n{reverse_complement(text)}\n")
    arguments = ("--site-model", "vertebrate", "--coding", "--alignments", "x.gff3")
    assert run(*arguments, "--output", "o.tsv") == 0
    done = subprocess.run(["gt", "gff3validator", "x.gff3"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert f"\t{strand}\t2\t" in (files / "x.gff3").read_text()


def test_strand_and_model_options(files, capsys):
    assert run("--site-model", "vertebrate", "--strand", "+", "--intron-penalty", "0") == 0
    cheap = capsys.readouterr().out.splitlines()[1].split("\t")
    assert run("--site-model", "vertebrate", "--strand", "+", "--min-intron", "1000") == 0
    long = capsys.readouterr().out.splitlines()[1].split("\t")
    assert run("--site-model", "vertebrate", "--strand", "+", "--max-intron", "100") == 0
    short = capsys.readouterr().out.splitlines()[1].split("\t")
    ends = [int(end) for part in short[8].split(",") for end in part.split("-")]
    assert max(b - a for a, b in zip(ends[1:-1:2], ends[2::2], strict=True)) <= 101
    assert int(short[3]) < int(cheap[3])
    assert run("--site-model", "vertebrate", "--strand", "-") == 0
    minus = capsys.readouterr().out.splitlines()[1].split("\t")
    assert int(cheap[3]) > int(long[3]) > int(minus[3])
    assert (cheap[2], minus[2], long[7]) == ("+", "-", "1")


def test_few_introns_leave_the_generic_model(files, capsys):
    words = ["spliced-align", "--base", "s.fa", "--targets", "t.fa", "--device", "cpu", "--coding"]
    assert main([*words, "--site-model", "auto"]) == 0
    told = capsys.readouterr()
    assert "site model generic: a first pass found 2 introns, which are too few" in told.err
    assert told.out.splitlines()[1].split("\t")[8] == "81-141,251-329,439-514"
    assert run("--site-model", "auto", "--pairs", "-") == 2
    assert "auto reads files twice" in capsys.readouterr().err


def test_defaults_are_the_models_weights_and_free_ends_of_the_target(files, capsys):
    """Target's ends that nothing resembles stay unaligned unless the whole target is aligned."""
    name, symbols = (files / "t.fa").read_text().split()
    (files / "t.fa").write_text(f"{name}\n{'CA' * 20}{symbols}{'AC' * 20}\n")
    model = load_sites("vertebrate")
    scored = {}
    for options in ((), ("--ends", "free-target", "--exon-weight", str(model.points_per_bit)),
                    ("--ends", "global")):  # fmt: skip
        words = ("--site-model", "vertebrate", "--strand", "+", "--coding", *options)
        assert run(*words) == 0
        scored[options[:2]] = capsys.readouterr().out.splitlines()[1].split("\t")
    free, stated, whole = scored.values()
    assert free == stated
    assert free[8] == "81-141,251-329,439-514"
    assert float(free[9]) > 0.98
    assert int(whole[3]) < int(free[3])


@pytest.mark.cuda
@pytest.mark.parametrize("device", ["auto", "cuda"])
def test_a_gpu_is_reserved(files, monkeypatch, device):
    """Also for free ends, which list mode computes on the CPU."""
    locks = files / "locks"
    monkeypatch.setenv("GPU_TOOLS_LOCKS", str(locks))
    (files / "s.fa").write_text(">s\nACGTA\n")
    (files / "t.fa").write_text(">t\nACG\n")
    assert run("--site-model", "vertebrate", "--ends", "free", "--device", device) == 0
    assert len(list(locks.glob("*.lock"))) == 1


def test_no_chain_gives_missing_values(files, capsys):
    (files / "s.fa").write_text(">s\nCCCCCCCC\n")
    assert run("--site-model", "vertebrate", "--coding") == 0
    assert capsys.readouterr().out.splitlines()[1].split("\t")[2:4] == [".", "."]


def test_confidence_of_introns_and_exons_is_told(files, capsys):
    assert run("--site-model", "vertebrate", "--alignments", "x.gff3", "--output", "o.tsv") == 0
    assert "confidence" not in (files / "x.gff3").read_text()
    words = ("--site-model", "vertebrate", "--confidence", "--output", "o.tsv")
    assert run(*words, "--alignments", "x.gff3", "--alignments", "x.gtf") == 0
    lines = [line.split("\t") for line in (files / "x.gff3").read_text().splitlines()[2:]]
    (introns,) = re.findall(r"intron_confidence=(\d+),(\d+)", (files / "x.gff3").read_text())
    exons = [re.findall(r";confidence=(\d+)", f[8]) for f in lines if f[2] == "exon"]
    assert len(introns) == 2
    assert [len(each) for each in exons] == [1, 1, 1]
    # an outer exon has one of the intron's two sites
    assert int(exons[0][0]) >= int(introns[0])
    assert int(exons[2][0]) >= int(introns[1])
    assert 'intron_confidence "' + ",".join(introns) + '"' in (files / "x.gtf").read_text()
    capsys.readouterr()
    (files / "e.bed").write_text("s\t80\t141\n")
    assert run("--exons", "e.bed", "--confidence") == 2
    assert "--confidence needs --site-model" in capsys.readouterr().err


def test_splice_evidence_changes_scores(files, capsys):
    """Introns of the gene gain points; scores of sites change those of the model."""
    (files / "j.bed").write_text("s\t141\t250\t.\t15\t+\ns\t329\t438\t.\t3\t+\n")
    (files / "s.tsv").write_text("s\t141\t+\tD\t14\ns\t250\t+\tA\t14\n")
    scores = []
    for more in (
        (), ("--junctions", "j.bed", "--junction-weight", "2"),
        ("--junctions", "j.bed", "--junctions", "j.bed"),
        ("--splice-scores", "s.tsv", "--splice-weight", "0"),
        ("--splice-scores", "s.tsv", "--splice-weight", "0", "--splice-only"),
    ):  # fmt: skip
        assert run("--site-model", "vertebrate", "--coding", "--strand", "+", *more) == 0
        columns, row = (line.split("\t") for line in capsys.readouterr().out.splitlines())
        assert row[columns.index("chain")] == "81-141,251-329,439-514"
        scores.append(int(row[columns.index("score")]))
    # 16 and 4 times for 2 points, then 31 and 7 times for 0.85
    assert scores[1:4] == [scores[0] + 2 * 4 + 2 * 2, scores[0] + 4 + 2, scores[0]]
    assert scores[4] < scores[0]


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        (("--junctions", "j.bed", "--exons", "x"), 2, "--junctions needs --site-model"),
        (("--splice-scores", "x", "--exons", "x"), 2, "--splice-scores needs --site-model"),
        (("--site-model", "worm", "--junction-weight", "0"), 2, "needs --junctions"),
        (("--site-model", "worm", "--splice-weight", "0"), 2, "needs --splice-scores"),
        (("--site-model", "worm", "--junctions", "-"), 2, "are files, not -"),
        (("--site-model", "worm", "--splice-only"), 2, "--splice-only needs --splice-scores"),
        (("--site-model", "worm", "--junctions", "j.bed"), 1,
         "j.bed, line 1: evidence on an unknown sequence 'x'; expected names of the genome"),
    ],
)  # fmt: skip
def test_wrong_use_of_splice_evidence(words, code, message, files, capsys):
    (files / "j.bed").write_text("x\t1\t9\n")
    assert run(*words) == code
    assert message in capsys.readouterr().err
