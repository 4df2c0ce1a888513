"""``gpu-tools spliced-align --proteins``, run in process on a gene of the demo's kind."""

import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

from gpu_tools.cli.main import main
from gpu_tools.formats.alignments.gene_model import gene_lines, read_models
from gpu_tools.formats.exons.gff import features
from gpu_tools.formats.files import read_lines
from gpu_tools.splicing.target_introns import POINTS
from tests.annotate import genomes as genes
from tests.annotate.genomes import random_protein, random_text
from tests.programs import require
from tests.sites.proteins.test_api import EXONS, INTRON, PROTEIN, gene

COLUMNS = "strand", "n_chain", "chain", "identity", "coverage", "accepted"


@pytest.fixture
def files(tmp_path, monkeypatch):
    """A locus with a gene of two exons, and its protein with a stop at the end."""
    monkeypatch.chdir(tmp_path)
    text, flank = gene()
    (tmp_path / "base.fa").write_text(f">chr\n{text}\n")
    (tmp_path / "protein.fa").write_text(f">p description\n{PROTEIN.lower()}*\n")
    return flank


def run(*arguments, proteins="protein.fa"):
    return main([
        "spliced-align", "--base", "base.fa", "--proteins", proteins, "--site-model", "vertebrate",
        "--quiet", "--device", "cpu", "--output", "out.tsv", *arguments,
    ])  # fmt: skip


def text(path):
    return Path(path).read_text()


def rows():
    head, *rest = (line.split("\t") for line in text("out.tsv").splitlines())
    return [dict(zip(head, row, strict=True)) for row in rest]


def chain(flank):
    second = flank + len(EXONS[0]) + len(INTRON)
    return f"{flank + 1}-{flank + len(EXONS[0])},{second + 1}-{second + len(EXONS[1])}"


def write_own_gene(path, *lengths):
    """Write an annotation in which the protein's own gene has exons of some lengths."""
    starts = np.cumsum([1, *(100 + n for n in lengths[:-1])]).tolist()
    Path(path).write_text("".join(
        f"own\tx\tCDS\t{start}\t{start + n - 1}\t.\t+\t.\tID=c;Parent=p\n"
        for start, n in zip(starts, lengths, strict=True)
    ))  # fmt: skip


def test_target_introns_gain_points_that_evalues_leave_out(files, capsys):
    """The gene's own intron, and one a codon beside it; names without a gene are counted."""
    assert run() == 0
    (plain,) = rows()
    Path("two.fa").write_text(text("protein.fa") + f">q\n{PROTEIN[:20]}\n")
    first, whole = len(EXONS[0]), 3 * len(PROTEIN) + 3
    for shift, points in ((0, 12), (3, 4), (1, 0)):
        write_own_gene("own.gff3", first + shift, whole - first - shift)
        assert run("--target-introns", "own.gff3", proteins="two.fa") == 0
        found = rows()[0]
        assert int(found["score"]) == int(plain["score"]) + points
        assert (found["chain"], found["evalue"]) == (plain["chain"], plain["evalue"])
    told = "1 target without a coding sequence of this name and length in own.gff3: q"
    assert told in capsys.readouterr().err


def test_target_introns_of_no_target(files, capsys):
    write_own_gene("own.gff3", 30, 60)
    assert run("--target-introns", "own.gff3") == 1
    error = capsys.readouterr().err
    assert "own.gff3: no coding sequence with a target's name and length" in error


def test_target_introns_are_for_site_mode(files, capsys):
    write_own_gene("own.gff3", 30, 60)
    for extra, said in (
        (["--proteins", "protein.fa", "--exons", "own.gff3"], "--target-introns needs"),
        (["--cdnas", "base.fa", "--exons", "own.gff3"], "--target-introns needs"),
        (["--cdnas", "base.fa", "--site-model", "fly", "--confidence"], "without confidences"),
    ):
        arguments = ["--genome", "base.fa", "--target-introns", "own.gff3", *extra]
        assert main(["spliced-align", *arguments, "--output", "out.tsv"]) == 2
        assert said in capsys.readouterr().err


def test_target_introns_of_a_cdna(files, capsys):
    """By the exons of its transcript, else by its coding sequence; E-values leave them out."""
    whole = "".join(EXONS)
    Path("cdna.fa").write_text(f">p\n{whole}\n")
    arguments = ["--genome", "base.fa", "--cdnas", "cdna.fa", "--site-model", "vertebrate"]
    arguments += ["--output", "out.tsv", "--quiet"]
    assert main(["spliced-align", *arguments]) == 0
    (plain,) = rows()
    first = len(EXONS[0])
    for shift, points in ((0, POINTS[0]), (3, POINTS[1]), (4, 0)):
        for kind in ("exon", "CDS"):
            write_own_gene("own.gff3", first + shift, len(whole) - first - shift)
            lines = Path("own.gff3").read_text().replace("CDS", kind)
            Path("own.gff3").write_text(lines)
            assert main(["spliced-align", *arguments, "--target-introns", "own.gff3"]) == 0
            (found,) = rows()
            assert int(found["score"]) == int(plain["score"]) + points
            assert (found["chain"], found["evalue"]) == (plain["chain"], plain["evalue"])
    write_own_gene("own.gff3", first, 30)
    assert main(["spliced-align", *arguments, "--target-introns", "own.gff3"]) == 1
    assert "no transcript with a target's name and length" in capsys.readouterr().err


def test_table(files):
    assert run() == 0
    (row,) = rows()
    expected = ["+", "2", chain(files), "1.0000", "1.0000", "yes"]
    assert [row[name] for name in COLUMNS] == expected
    assert (row["target_length"], row["n_exons"]) == (str(len(PROTEIN)), ".")
    assert float(row["evalue"]) < 1e-3


def test_files(files):
    names = ["x.gff3", "x.gtf", "x.bed", "x.paf"]
    more = ("--protein-sequences", "p.fa", "--cds-sequences", "c.fa", "--show", "x.txt")
    assert run(*(word for name in names for word in ("--alignments", name)), *more) == 0
    assert f"<{len(INTRON)} nt, phase 1>" in text("x.txt")
    assert text("p.fa") == f">p chr:{chain(files)}(+)\n{PROTEIN}\n"
    lines = text("c.fa").splitlines()
    assert "".join(lines[1:]) == "".join(EXONS)
    paf = text("x.paf").rstrip("\n").split("\t")
    length = len(EXONS[0]) + len(INTRON) + len(EXONS[1]) - 3
    assert paf[:4] == ["p", str(len(PROTEIN)), "0", str(len(PROTEIN))]
    assert paf[4:6] + paf[7:11] == [
        "+", "chr", str(files), str(files + length), *[str(3 * len(PROTEIN))] * 2,
    ]  # fmt: skip
    assert paf[12:] == [
        paf[12], "np:i:27", "fs:i:0", "st:i:0", f"cg:Z:15M{len(INTRON)}U11M",
    ]  # fmt: skip
    features = [
        line.split("\t") for line in text("x.gff3").splitlines() if not line.startswith("#")
    ]
    coding = [(f[3], f[4], f[7]) for f in features if f[2] == "CDS"]
    spans = [part.split("-") for part in chain(files).split(",")]
    assert coding == [(*spans[0], "0"), (*spans[1], "2")]
    assert "Target=p 1 15\n" in text("x.gff3")
    assert "identity=1.0000;positive=1.0000;coverage=1.0000" in text("x.gff3")
    coding = [line.split("\t")[3:5] for line in text("x.gtf").splitlines() if "\tCDS\t" in line]
    assert coding[1] == [spans[1][0], str(int(spans[1][1]) - 3)], "GTF leaves the stop codon out"
    assert text("x.bed").split("\t")[9] == "2"
    if shutil.which("gt"):
        subprocess.run(["gt", "gff3validator", "x.gff3"], check=True, capture_output=True)


@pytest.mark.parametrize("end", ["*", "."])
def test_a_stop_at_the_end_of_a_protein_is_left_out(files, end):
    Path("stopped.fa").write_text(f">p\n{PROTEIN}{end}\n")
    assert run(proteins="stopped.fa") == 0
    assert rows()[0]["target_length"] == str(len(PROTEIN))


def run_listed(flank, *arguments, phases=(0, 2)):
    """Align to candidates with phases, in GFF3, and to another one without."""
    spans = [part.split("-") for part in chain(flank).split(",")]
    lines = [
        f"chr\tx\tCDS\t{start}\t{end}\t2.5\t+\t{phase}\t.\n"
        for (start, end), phase in zip(spans, phases, strict=True)
    ]
    lines.append(f"chr\tx\texon\t{int(spans[0][0]) + 7}\t{spans[0][1]}\t9\t+\t.\t.\n")
    Path("exons.gff3").write_text("".join(lines))
    return main([
        "spliced-align", "--base", "base.fa", "--proteins", "protein.fa", "--exons", "exons.gff3",
        "--quiet", "--device", "cpu", "--output", "out.tsv", *arguments,
    ])  # fmt: skip


def test_listed_candidates(files, capsys):
    assert run_listed(files, "--alignments", "x.gff3") == 0
    assert "no E-values" not in capsys.readouterr().err
    (row,) = rows()
    expected = ["+", "2", chain(files), "1.0000", "1.0000", "yes"]
    assert [row[name] for name in COLUMNS] == expected
    assert row["n_exons"] == "3"
    assert 0 < float(row["evalue"]) < 1e-3
    features = [line.split("\t") for line in text("x.gff3").splitlines() if "\tCDS\t" in line]
    assert [f[7] for f in features] == ["0", "2"]
    assert run_listed(files, "--frameshift", "99", phases=(0, 1)) == 0
    assert rows()[0]["n_chain"] == "1"
    weights = ("--exon-weight", "0", "--intron-penalty", "0")
    assert run_listed(files, *weights) == 0
    assert "no E-values" in capsys.readouterr().err
    assert rows()[0]["evalue"] == "."
    assert run_listed(files, "--shuffles", "20", *weights) == 0
    assert float(rows()[0]["evalue"]) < 1e-3
    assert rows()[0]["score"] == str(int(row["score"]) + 20 - 2 * 2)


def test_copies_of_a_gene_have_ranks(files):
    base, name = text("base.fa").splitlines()[1], "two.bed"
    Path("base.fa").write_text(f">chr\n{base}{base}\n")
    copies = [[int(n) for n in part.split("-")] for part in chain(files).split(",")]
    places = [(s - 1 + shift, e + shift) for shift in (0, len(base)) for s, e in copies]
    Path(name).write_text("".join(f"chr\t{s}\t{e}\te\t0\t+\n" for s, e in places))
    listed = ["--proteins", "protein.fa", "--exons", name, "--quiet", "--output", "out.tsv"]
    for mode in (run, lambda *more: main(["spliced-align", "--base", "base.fa", *listed, *more])):
        assert mode("--best", "3", "--alignments", "x.paf") == 0
        first, second, *_ = rows()
        expected = [",".join(f"{s + 1}-{e}" for s, e in own) for own in (places[:2], places[2:])]
        assert sorted([first["chain"], second["chain"]]) == expected
        assert (first["rank"], second["rank"]) == ("1", "2")
        assert (first["accepted"], first["score"]) == ("yes", second["score"])
        assert "tp:A:P\trk:i:1" in text("x.paf")


def test_an_end_whose_exons_are_not_there_is_told_and_left_out(files, tmp_path, capsys):
    rng = np.random.default_rng(5)
    protein = random_protein(rng, 240)
    base = genes.gene(rng, protein)
    base = random_text(rng, 400) + base[base.index("GTAAGT") + 40 :] + random_text(rng, 400)
    (tmp_path / "base.fa").write_text(f">chr\n{base}\n")
    (tmp_path / "protein.fa").write_text(f">p\n{protein}\n")
    assert run("--alignments", "out.paf") == 0
    assert "1 protein with an end that is like nothing" in capsys.readouterr().err
    (row,) = rows()
    assert 0.6 < float(row["coverage"]) < 0.73
    fields = text("out.paf").split("\t")
    assert (fields[1], fields[3]) == ("240", "240")
    assert 60 < int(fields[2]) < 90
    assert f"AS:i:{row['score']}" in fields
    forced = run("--keep-ends"), rows()[0]
    assert forced[0] == 0
    assert int(forced[1]["score"]) < int(row["score"])
    assert forced[1]["evalue"] == row["evalue"]
    assert run("--ends", "free-target") == 0
    assert int(rows()[0]["score"]) >= int(row["score"])
    assert capsys.readouterr().err == ""


def test_region_gives_the_records_coordinates(files):
    assert run() == 0
    whole = rows()
    assert run("--region", "chr:101-500") == 0
    (part,) = rows()
    assert part["chain"] == whole[0]["chain"]


def test_shuffles_give_an_evalue(files):
    assert run("--shuffles", "20", "--region", "chr:151-500") == 0
    assert float(rows()[0]["evalue"]) < 1e-3


def test_a_random_protein_is_not_accepted(files, tmp_path):
    (tmp_path / "other.fa").write_text(">o\nWHKYCFPNWQHHDEKWYCTRWGKNMYPEHWC\n")
    assert run(proteins="other.fa") == 0
    assert rows()[0]["accepted"] == "no"


def test_the_standard_code_stands_in_for_another_one(files, capsys):
    """A message names the genetic code, and E-values are those of the standard code."""
    found = {}
    for code in ("1", "6"):
        assert run("--genetic-code", code) == 0
        found[code] = rows()[0]["evalue"]
        told = "no E-values are known for genetic code 6; those of the standard code stand in"
        assert (told in capsys.readouterr().err) == (code == "6")
    assert found["6"] != "."


@pytest.mark.parametrize("frameshifts", ["keep", "split", "drop"])
def test_frameshifts_are_kept_split_or_dropped(tmp_path, monkeypatch, frameshifts):
    """One nucleotide too many in the first exon, and one codon that lacks two in the last."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(31)
    protein = random_protein(rng)
    whole = genes.gene(rng, protein)
    changed = whole[:60] + "C" + whole[60:-62] + whole[-60:]
    flank = random_text(rng, 300)
    Path("base.fa").write_text(f">chr\n{flank}{genes.reversed_text(changed)}{flank}\n")
    Path("p.fa").write_text(f">p\n{protein}\n")
    files = ["--alignments", "x.gff3", "--alignments", "x.gtf"]
    files += ["--protein-sequences", "own.fa", "--cds-sequences", "cds.fa"]
    assert run("--frameshifts", frameshifts, *files, proteins="p.fa") == 0
    assert rows()[0]["accepted"] == "yes"
    lines = [line.split("\t") for line in text("x.gff3").splitlines() if line[0] != "#"]
    kinds = [fields[2] for fields in lines]
    if frameshifts == "drop":
        assert (kinds, text("own.fa"), text("x.gtf")) == ([], "", "")
        return
    assert kinds[:2] == ["pseudogene", "pseudogenic_transcript"]
    assert text("x.gtf").splitlines()[0].endswith('target_id "p"; pseudo "true";')
    assert kinds.count("exon") == 3
    assert kinds.count("CDS") == (3 if frameshifts == "keep" else 5)
    own = "".join(text("own.fa").splitlines()[1:])
    assert ("X" in own) == (frameshifts == "keep")
    if frameshifts == "split":
        phases = [int(fields[7]) for fields in lines if fields[2] == "CDS"][::-1]
        spans = [int(f[4]) - int(f[3]) + 1 for f in lines if f[2] == "CDS"][::-1]
        assert phases == [-sum(spans[:k]) % 3 for k in range(len(spans))]
        require("gt", "gffread")
        subprocess.run(["gt", "gff3validator", "x.gff3"], check=True, capture_output=True)
        for option, known in (("-y", own), ("-x", "".join(text("cds.fa").splitlines()[1:]))):
            command = ["gffread", option, "read.fa", "-g", "base.fa", "x.gff3"]
            subprocess.run(command, check=True, capture_output=True)
            assert "".join(text("read.fa").splitlines()[1:]) == known
    merged = "".join(gene_lines(read_models(features("x.gff3", read_lines("x.gff3")))))
    assert merged == "".join("\t".join(fields) + "\n" for fields in lines)


def test_frameshifts_need_proteins(files, capsys):
    words = ["--base", "base.fa", "--targets", "base.fa", "--site-model", "vertebrate"]
    assert main(["spliced-align", *words, "--frameshifts", "split"]) == 2
    assert "--frameshifts needs --proteins" in capsys.readouterr().err
