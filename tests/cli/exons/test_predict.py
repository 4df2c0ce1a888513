"""``gpu-tools exons predict`` and the data of the demo."""

import json
from pathlib import Path

import pytest

from gpu_tools.cli.main import main
from gpu_tools.exons import best_parse, load_model, predict_exons
from gpu_tools.formats.exons.intervals import read_exons
from gpu_tools.formats.sequences.fasta import read_fasta, write_fasta
from gpu_tools.model.locus import Locus
from gpu_tools.model.resources import resource_path
from gpu_tools.model.sequences import Sequence

LOCI = resource_path("demo", "loci.fa.gz")
GENSCAN = Path(__file__).parents[2] / "programs" / "genscan"


def test_demo_data():
    loci, mrnas = read_fasta(LOCI), read_fasta(resource_path("demo", "mrnas.fa.gz"))
    assert len(loci) == len(mrnas) == 10
    for locus in loci:
        start, end = locus.description.split()[3].split("-")
        assert len(locus) == int(end) - int(start) + 2000
    assert [record.name for record in mrnas[:2]] == ["NM_026831.1", "NM_080469.2"]
    assert mrnas[0].description == "Mus musculus myosin binding protein H-like (Mybphl), mRNA"


@pytest.fixture
def two_loci(tmp_path):
    path = tmp_path / "two.fa"
    write_fasta(path, [read_fasta(LOCI)[3], read_fasta(LOCI)[8]])
    return path


def test_candidates_of_many_records(two_loci, tmp_path):
    output = tmp_path / "candidates.gff3"
    assert main(["exons", "predict", "--base", str(two_loci), "--output", str(output)]) == 0
    sets, records = read_exons(output), read_fasta(two_loci)
    assert list(sets) == [record.name for record in records]
    for record in records:
        expected = predict_exons(record.codes, load_model("vertebrate"))
        for column in ("starts", "ends", "reverse", "scores", "types"):
            assert (getattr(sets[record.name], column) == getattr(expected, column)).all()
    first = output.read_text().splitlines()
    assert first[:2] == ["##gff-version 3", "##sequence-region NM_000572.2 1 6891"]


@pytest.mark.parametrize("provider", ["builtin", "genscan"])
def test_loci_of_one_record_keep_their_candidates_apart(provider, tmp_path):
    """Loci that overlap, one named as the record: read back, each has what it has alone."""
    record = read_fasta(LOCI)[3]
    parts = {record.name: (0, 4000), "inner": (2000, 6000)}
    loci = [
        Sequence(name, record.codes[a:b], Locus(record.name, a, b, len(record)).header(name))
        for name, (a, b) in parts.items()
    ]
    write_fasta(tmp_path / "loci.fa", loci)
    options = ["--provider", provider, "--by-sequence", "--threads", "2"]
    if provider == "genscan":
        options += ["--program", str(GENSCAN), "--matrix", str(GENSCAN)]
    words = ["exons", "predict", "--base", tmp_path / "loci.fa", "--output", tmp_path / "all.gff3"]
    assert main([*map(str, words), *options]) == 0
    sets = read_exons(tmp_path / "all.gff3")
    for locus in loci:
        write_fasta(tmp_path / "one.fa", [locus])
        words[3], words[5] = tmp_path / "one.fa", tmp_path / "one.gff3"
        assert main([*map(str, words), *options]) == 0
        (alone,) = read_exons(tmp_path / "one.gff3").values()
        placed, expected = Locus.of(locus), sets[locus.name]
        assert (alone.starts == expected.starts).all()
        moved = placed.exons_from(locus.name, expected)
        assert len(placed.exons_within(moved)) == len(expected) > 0


def test_min_score(two_loci, capsys):
    arguments = ["exons", "predict", "--base", str(two_loci), "--quiet", "--min-score"]
    assert main([*arguments, "12.5"]) == 0
    lines = [line for line in capsys.readouterr().out.splitlines() if line[0] != "#"]
    assert lines
    assert min(float(line.split("\t")[5]) for line in lines) >= 12.5


def test_min_probability(two_loci, tmp_path):
    base, sets = ["exons", "predict", "--base", str(two_loci), "--quiet"], {}
    for value in ("0.001", "1"):
        output = tmp_path / f"{value}.gff3"
        assert main([*base, "--min-probability", value, "--output", str(output)]) == 0
        sets[value] = read_exons(output)
    for record in read_fasta(two_loci):
        expected = predict_exons(record.codes, load_model("vertebrate"), None, 0.001)
        got = sets["0.001"][record.name]
        assert got.probabilities.tolist() == expected.probabilities.tolist()
        best = best_parse(record.codes, load_model("vertebrate"))
        assert sets["1"][record.name].starts.tolist() == best.starts.tolist()


TRAINING = resource_path("training")


def train(*arguments):
    annotated = ["--base", str(TRAINING / "records.fa.gz")]
    annotated += ["--annotation", str(TRAINING / "annotation.gff3")]
    return main(["exons", "train", *annotated, *map(str, arguments)])


def test_a_trained_model_predicts(two_loci, tmp_path, capsys):
    path, usage = tmp_path / "mine.json", TRAINING / "codon_usage.tsv"
    assert train("--codon-usage", usage, "--name", "mine", "--output", path) == 0
    model = load_model(path)
    assert model.name == "mine"
    assert model.source == "45 coding sequences of 3 records: records.fa.gz, annotation.gff3"
    assert main(["exons", "predict", "--base", str(two_loci), "--model", str(path)]) == 0
    assert len(capsys.readouterr().out.splitlines()) > 100
    assert train() == 0
    plain = json.loads(capsys.readouterr().out)
    assert plain["name"] == "trained"
    assert plain["coding"]["coding"] != json.loads(path.read_text())["coding"]["coding"]
    assert plain["donor"] == json.loads(path.read_text())["donor"]
