"""Site models: tables, files, training, and site mode on the command line."""

import json
import subprocess

import numpy as np
import pytest

from gpu_tools import Case, DeviceError, InputError, Sequence, SplicedScoring, spliced_align
from gpu_tools.cli.main import main
from gpu_tools.exons.model import load_model
from gpu_tools.exons.predict import predict_exons
from gpu_tools.formats.sequences.fasta import read_fasta
from gpu_tools.hardware.device import Gpu
from gpu_tools.model.resources import resource_path
from gpu_tools.model.sequences import decode, encode, reverse_complement
from gpu_tools.sites.api import SiteCase, site_align, tables_of
from gpu_tools.sites.model import load_sites, sites_from_dict
from gpu_tools.sites.table import CLOSED
from gpu_tools.sites.training import train_sites
from gpu_tools.splicing.codons import translation_of
from gpu_tools.splicing.site_matrix import site_scores
from tests.oracles import sites as oracle_sites
from tests.programs import require

MATRIX = [[0.0, 0.0, 0.0, 0.0]]
ONLY = {
    letter: [0.0 if k == code else None for code in range(4)] for k, letter in enumerate("ACGT")
}


def content(**changes):
    """Return a small model: GT-AG of one point each, AT-AC of another kind."""
    site = {"cutoff": -9.0}
    donor = site | {"before": 0, "scores": [ONLY["G"], [None, None, None, 1.0]]}
    acceptor = site | {"before": 2, "scores": [ONLY["A"], [None, None, 1.0, None]]}
    minor_donor = site | {"before": 0, "scores": [ONLY["A"], [None, None, None, 2.0]]}
    minor_acceptor = site | {"before": 2, "scores": [ONLY["A"], [None, 2.0, None, None]]}
    return {
        "format": "gpu-tools site model", "version": 1, "name": "small", "source": "test",
        "units": "bits", "points_per_bit": 1.0,
        "introns": [
            {"donor": donor, "acceptor": acceptor, "from": [4, 6], "penalties": [5, 3]},
            {"donor": minor_donor, "acceptor": minor_acceptor, "from": [4], "penalties": [4]},
        ],
        "start": 2, "stop": 3, "begin": -7, "end": -8, "stops": ["TAA", "TAG", "TGA"],
    } | changes  # fmt: skip


def test_table_of_a_small_model():
    table = sites_from_dict(content()).table(encode("CATGGTAAACAGTAATC"))
    opened = [{i: int(s) for i, s in enumerate(x) if s != CLOSED} for x in table.scores]
    first, acceptors, donors, last = opened
    assert {i for i in first if first[i] == 2} == {1}
    assert {last[i] for i in last} == {-8, 3}
    assert {i for i in last if last[i] == 3} == {8, 15}
    assert donors == {1: 2, 4: 1, 11: 1, 14: 2}
    assert acceptors == {10: 2, 12: 1}
    assert [tuple(i) for i in table.introns] == [(0, 4, 5), (0, 6, 3), (1, 4, 4)]
    assert table.exit_kind[[1, 4]].tolist() == [1, 0]
    assert table.entry_kind[[10, 12]].tolist() == [1, 0]


def test_free_ends_and_reading_change_first_and_last():
    model, codes = sites_from_dict(content()), encode("CATGGTAAACAGTAATC")
    assert set(model.table(codes, "free").first_entry.tolist()) == {0, 2}
    coding = model.table(codes, reading="complete")
    assert np.flatnonzero(coding.first_entry != CLOSED).tolist() == [1]
    assert np.flatnonzero(coding.last_exit != CLOSED).tolist() == [8, 15]
    assert coding.stops.sum() == 3
    assert model.table(codes, reading="incomplete").first_entry.min() == -7


def test_sites_score_as_the_exon_models_do():
    rng = np.random.default_rng(4)
    codes = rng.integers(0, 5, 3000).astype(np.uint8)
    model = load_sites("vertebrate")
    table = model.table(codes)
    for kind, intron in enumerate(model.introns):
        for site, scores, kinds in (
            (intron.donor, table.inner_exit, table.exit_kind),
            (intron.acceptor, table.inner_entry, table.entry_kind),
        ):
            bits = site_scores(codes, site)
            here = (scores != CLOSED) & (kinds == kind)
            assert np.array_equal(scores[here], np.rint(bits[here] / 100))
            assert np.array_equal(here, bits >= site.cutoff)
            assert here.any()


def test_penalties_and_lengths_can_be_changed():
    model = sites_from_dict(content())
    assert [i.penalties for i in model.with_penalty(9).introns] == [((4, 9),), ((4, 9),)]
    assert model.with_shortest_intron(5).introns[0].penalties == ((5, 5), (6, 3))
    assert model.with_shortest_intron(8).introns[0].penalties == ((8, 3),)


@pytest.mark.parametrize(
    ("changes", "key"),
    [
        ({"format": "other"}, "format"), ({"introns": []}, "introns"), ({"begin": 0.5}, "begin"),
        ({"stops": ["AAA"]}, "stops"), ({"points_per_bit": "1"}, "points_per_bit"),
        ({"introns": [content()["introns"][0] | {"penalties": [1, 2]}]}, r"introns\[0\].penalties"),
        ({"introns": [content()["introns"][0] | {"from": [6, 4]}]}, r"introns\[0\].from"),
    ],
)  # fmt: skip
def test_bad_models_name_the_key(changes, key):
    with pytest.raises(InputError, match=f"wrong value of {key}"):
        sites_from_dict(content(**changes))


def test_unknown_model_names_the_shipped_ones():
    with pytest.raises(InputError, match=r"no such site model .*one of .*vertebrate"):
        load_sites("martian")


def test_shipped_model_is_what_training_gives():
    from benchmarks.accuracy.cases import annotated_records

    shipped = json.loads(resource_path("models", "sites", "vertebrate.json").read_text())
    assert train_sites(annotated_records(), shipped["name"], shipped["source"]) == shipped


def test_translation():
    chain = [(0, 4), (10, 11), (20, 24), (30, 33)]
    codes = encode("ATGA" + "C" * 26 + "TAG" + "C")
    found = translation_of(codes, chain)
    assert found == {"phases": (0, 2, 1, 0), "start_codon": True, "stop_codon": True}
    other = translation_of(codes[1:], chain)
    assert (other["start_codon"], other["stop_codon"]) == (False, False)


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
    assert run("--site-model", "vertebrate", "--strand", "-") == 0
    minus = capsys.readouterr().out.splitlines()[1].split("\t")
    assert int(cheap[3]) > int(long[3]) > int(minus[3])
    assert (cheap[2], minus[2], long[7]) == ("+", "-", "1")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ((), "either --exons or --site-model"),
        (("--exons", "e.bed", "--site-model", "vertebrate"), "either --exons or --site-model"),
        (("--exons", "e.bed", "--strand", "+"), "--strand needs --site-model"),
        (("--exons", "e.bed", "--coding", "--ends", "free"), "needs whole candidates"),
        (("--site-model", "vertebrate", "--incomplete"), "--incomplete needs --coding"),
    ],
)
def test_wrong_usage(files, capsys, arguments, words):
    assert run(*arguments) == 2
    assert words in capsys.readouterr().err


def no_gpu():
    raise DeviceError("no usable CUDA device: there is none")


def test_explicit_cuda_without_a_gpu_is_an_error(files, capsys, monkeypatch):
    monkeypatch.setattr("gpu_tools.hardware.device.list_gpus", no_gpu)
    assert run("--site-model", "vertebrate", "--device", "cuda") == 1
    assert "no usable CUDA device" in capsys.readouterr().err


@pytest.mark.parametrize("asked", ["auto", "cuda"])
def test_a_gpu_is_held(files, monkeypatch, asked):
    """Also for free ends, which list mode computes on the CPU."""
    gpu, used = Gpu(0, "card", "9.0", 1, "13.0", "GPU-a"), []
    monkeypatch.setenv("GPU_TOOLS_LOCKS", str(files / "locks"))
    for module in ("device", "reservation"):
        monkeypatch.setattr(f"gpu_tools.{module}.list_gpus", lambda: [gpu])

    def on_cpu(*given, device, **options):
        used.append(device)
        return site_align(*given, device="cpu", **options)

    monkeypatch.setattr("gpu_tools.sites.api.site_align", on_cpu)
    assert run("--site-model", "vertebrate", "--ends", "free", "--device", asked) == 0
    assert used == ["cuda:0"]


def test_no_chain_gives_missing_values(files, capsys):
    (files / "s.fa").write_text(">s\nCCCCCCCC\n")
    assert run("--site-model", "vertebrate", "--coding") == 0
    assert capsys.readouterr().out.splitlines()[1].split("\t")[2:4] == [".", "."]


def test_bad_cases():
    base, model = Sequence.from_text("b", "ACGT"), load_sites("vertebrate")
    with pytest.raises(InputError, match="empty target"):
        site_align([SiteCase(base, Sequence.from_text("t", ""), tables_of(base, model))])
    with pytest.raises(InputError, match="sites of 4 bases"):
        site_align([SiteCase(Sequence.from_text("b", "A"), base, tables_of(base, model))])


def demo_pairs():
    """Return the demo's loci, each with its mRNA."""
    folder = ("demo",)
    loci = read_fasta(resource_path(*folder, "loci.fa.gz"))
    mrnas = read_fasta(resource_path(*folder, "mrnas.fa.gz"))
    return list(zip(loci, mrnas, strict=True))


def check_translates(base, result):
    """Check that a chain reads through from a start codon to a stop codon, and its phases."""
    m, forward = len(base), result.strand == "+"
    chain = [(s, e) if forward else (m - e, m - s) for s, e in result.chain]
    text = decode(base.codes if forward else reverse_complement(base.codes))
    assert oracle_sites.translates(text, chain)
    before = np.cumsum([0] + [end - start for start, end in chain[:-1]])
    assert result.phases == tuple(-before % 3)
    return "".join(text[start:end] for start, end in chain)


@pytest.mark.parametrize("reading", ["complete", "incomplete"])
def test_all_site_chains_of_the_demo_translate(reading):
    model = load_sites("vertebrate")
    cases = [
        SiteCase(locus, mrna, tables_of(locus, model, reading=reading))
        for locus, mrna in demo_pairs()
    ]
    assert len(cases) == 10
    results = site_align(cases, SplicedScoring(ends="free-target"), device="cpu")
    for case, result in zip(cases, results, strict=True):
        spliced = check_translates(case.base, result)
        assert result.start_codon == (spliced[:3] == "ATG")
        if reading == "complete":
            assert result.start_codon
            assert result.stop_codon


@pytest.mark.parametrize("reading", ["complete", "incomplete"])
def test_all_candidate_chains_of_the_demo_translate(reading):
    cases = [
        Case(locus, mrna, predict_exons(locus.codes, load_model("vertebrate")))
        for locus, mrna in demo_pairs()
    ]
    scoring = SplicedScoring(exon_weight=1, intron_penalty=15, ends="free-target")
    results = spliced_align(cases, scoring, device="cpu", reading=reading)
    for case, result in zip(cases, results, strict=True):
        check_translates(case.base, result)
        known = set(zip(case.exons.starts.tolist(), case.exons.ends.tolist(), strict=True))
        assert set(result.chain) <= known
        if reading == "complete":
            assert result.start_codon
            assert result.stop_codon
