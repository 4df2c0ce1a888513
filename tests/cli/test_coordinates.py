"""Results on loci in their records' coordinates: cut and align equals align on the whole record."""

import lzma
import re
import subprocess

import numpy as np
import pysam
import pytest

from gpu_tools.cli.common.loci import joined, read_loci
from gpu_tools.cli.main import main
from gpu_tools.formats.exons.intervals import read_exons
from gpu_tools.formats.sequences.fasta import read_fasta
from gpu_tools.model.locus import RecordRegion
from gpu_tools.model.resources import resource_path
from gpu_tools.model.sequences import Sequence, decode, reverse_complement
from tests.cli.sequences.test_cut import GENSCAN
from tests.programs import require

LENGTH = 4000
EXONS = [(1200, 1290), (1500, 1561), (1900, 2045)]
"""Of the gene, 0-based half-open; on chr2 the same, on the reverse strand."""
LOCI = {"chr1": (1001, 2500), "chr2": (1101, 2200)}
FORMATS = ("gff3", "gtf", "bed", "paf", "sam")


@pytest.fixture(scope="module")
def genome(tmp_path_factory):
    """A folder with a genome of two genes, one a strand, their cDNAs and their annotation."""
    folder = tmp_path_factory.mktemp("genome")
    rng = np.random.default_rng(7)
    records = {name: "".join(rng.choice(list("ACGT"), LENGTH)) for name in ("chr0", *LOCI)}
    cdnas = {f"t_{name}": "".join(records[name][a:b] for a, b in EXONS) for name in LOCI}
    cdnas["t_chr2"] = reverse(cdnas["t_chr2"])
    write(folder / "genome.fa", records)
    write(folder / "cdnas.fa", cdnas)
    decoys = [(1210, 1400), (1600, 1700), (2000, 2100)]
    (folder / "exons.bed").write_text(bed(EXONS + decoys, name="x"))
    (folder / "annotation.bed").write_text(bed(EXONS, name="gene"))
    (folder / "pairs.tsv").write_text("base\ttarget\nchr1\tt_chr1\nchr2\tt_chr2\n")
    return folder


def reverse(symbols):
    return decode(reverse_complement(read_codes(symbols)))


def read_codes(symbols):
    return np.array(["ACGT".index(s) for s in symbols], dtype=np.uint8)


def write(path, records):
    path.write_text("".join(f">{name} of a test\n{text}\n" for name, text in records.items()))


def bed(intervals, name):
    lines = [(record, *i, name, 0, "+-"[record == "chr2"]) for record in LOCI for i in intervals]
    return "".join("\t".join(map(str, line)) + "\n" for line in lines)


def run(*words, code=0):
    assert main([str(word) for word in words]) == code


@pytest.fixture(scope="module")
def cut(genome, tmp_path_factory):
    """The loci of both genes in one file, as sequences cut makes them."""
    folder, parts = tmp_path_factory.mktemp("cut"), []
    for record, (start, end) in LOCI.items():
        parts.append(folder / f"{record}.fa")
        run("sequences", "cut", "--fasta", genome / "genome.fa", "--record", record,
            "--locus", f"{start + 9}-{end - 9}", "--flank", 9, "--output", parts[-1])  # fmt: skip
    (folder / "cut.fa").write_text("".join(part.read_text() for part in parts))
    return folder / "cut.fa"


@pytest.fixture(scope="module")
def aligned(genome, cut):
    """The folder of what `align` writes of the loci, its table and its contents."""
    return cut.parent / "aligned", align(genome, cut.parent / "aligned", cut)


def regions():
    return [w for r, (a, b) in LOCI.items() for w in ("--region", f"{r}:{a // 1000},001-{b:,}")]


def without_command(text):
    """Return SAM without its command line, which has the names of files."""
    return re.sub(r"\tCL:.*", "", text)


def text_of(path):
    """Return a file's text, of SAM without the command line."""
    return without_command(path.read_text())


def align(genome, folder, base, *options, exons="exons.bed", pairs="pairs.tsv"):
    """Align; return the table and the contents of the alignment files."""
    folder.mkdir()
    files = [folder / f"x.{suffix}" for suffix in (*FORMATS, "bam")]
    inputs = ["--base", base, "--targets", genome / "cdnas.fa", "--pairs", genome / pairs]
    inputs += ["--exons", genome / exons] if exons else []
    outputs = [word for file in files for word in ("--alignments", file)]
    table = ["--output", folder / "x.tsv", "--device", "cpu"]
    run("spliced-align", *inputs, *outputs, *table, *options)
    contents = {file.suffix: text_of(file) for file in files[:-1]}
    with pysam.AlignmentFile(folder / "x.bam") as bam:
        contents[".bam"] = without_command(str(bam.header)), [record.to_string() for record in bam]
    return (folder / "x.tsv").read_text(), contents


def without_evalues(found):
    """Return what `align` gives without E-values: they depend on how much is searched."""
    table, contents = found
    lines = [line.split("\t") for line in table.splitlines()]
    at = lines[0].index("evalue")
    texts = {
        suffix: re.sub("evalue=[^;\n]*;?", "", text) if isinstance(text, str) else text
        for suffix, text in contents.items()
    }
    return [line[:at] + line[at + 1 :] for line in lines], texts


def rows(table):
    header, *lines = [line.split("\t") for line in table.splitlines()]
    return [dict(zip(header, line, strict=True)) for line in lines]


def test_loci_give_what_the_whole_records_give(genome, aligned, tmp_path):
    """Tables and files of three ways, byte by byte; SAM's header names the records once more."""
    whole = tmp_path / "two.fa"
    write(whole, {r.name: r.letters() for r in read_fasta(genome / "genome.fa")[1:]})
    expected = align(genome, tmp_path / "whole", whole)
    chains = [row["chain"] for row in rows(expected[0])]
    one = [f"{a + 1}-{b}" for a, b in EXONS]
    assert chains == [",".join(one), ",".join(one[::-1])]
    by_region = align(genome, tmp_path / "region", genome / "genome.fa", *regions())
    for found in (aligned[1], by_region):
        assert without_evalues(found) == without_evalues(expected)


def test_bam_holds_the_records_lengths_and_the_exons_symbols(genome, aligned):
    with (
        pysam.AlignmentFile(aligned[0] / "x.bam") as bam,
        pysam.FastaFile(str(genome / "genome.fa")) as fasta,
    ):
        assert bam.check_index()
        assert dict(zip(bam.references, bam.lengths, strict=True)) == dict.fromkeys(LOCI, LENGTH)
        records = [r for name in LOCI for r in bam.fetch(name, EXONS[0][0], EXONS[0][0] + 1)]
        assert [r.is_reverse for r in records] == [False, True]
        for record in records:
            blocks = record.get_blocks()
            exons = [fasta.fetch(record.reference_name, *block) for block in blocks]
            assert "".join(exons) == record.query_sequence


def test_bedtools_finds_every_annotated_exon(genome, aligned, tmp_path):
    require("bedtools", "samtools")
    folder, (_, contents) = aligned
    lines = contents[".gff3"].splitlines(keepends=True)
    exons = "".join(line for line in lines if line.startswith("#") or "\texon\t" in line)
    annotation, blocks = genome / "annotation.bed", tmp_path / "blocks"
    for text in (exons, output_of("bedtools", "bed12tobed6", "-i", folder / "x.bed")):
        blocks.write_text(text)
        words = ["-a", annotation, "-b", blocks, "-f", "1", "-r", "-s", "-u"]
        assert output_of("bedtools", "intersect", *words) == annotation.read_text()
    assert output_of("samtools", "view", "-c", folder / "x.bam", "chr2:1201-1290") == "1\n"


def output_of(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def test_locus_coordinates_are_the_files_own(genome, cut, tmp_path):
    table, files = align(genome, tmp_path / "own", cut, "--coordinates", "locus")
    assert [row["base"] for row in rows(table)] == ["chr1:1001-2500", "chr2:1101-2200"]
    assert [row["base_length"] for row in rows(table)] == ["1500", "1100"]
    start = LOCI["chr1"][0] - 1
    expected = ",".join(f"{a - start + 1}-{b - start}" for a, b in EXONS)
    assert rows(table)[0]["chain"] == expected
    assert "@SQ\tSN:chr1:1001-2500\tLN:1500" in files[".sam"]


@pytest.mark.parametrize("strand", "+-")
def test_site_mode_on_a_locus(tmp_path, strand):
    """The demo's genes: with 300 nucleotides less on either side the same chain and files."""
    names = {"+": ("NM_198149.1", "NM_175259.3"), "-": ("NM_000572.2", "NM_010548.1")}[strand]
    base, target = (
        next(r for r in read_fasta(resource_path("demo", file)) if r.name == name)
        for name, file in zip(names, ("loci.fa.gz", "mrnas.fa.gz"), strict=True)
    )
    write(tmp_path / "genome.fa", {base.name: base.letters()})
    write(tmp_path / "cdnas.fa", {target.name: target.letters()})
    (tmp_path / "pairs.tsv").write_text(f"base\ttarget\n{base.name}\t{target.name}\n")
    options = ["--site-model", "vertebrate", "--ends", "free-target"]
    results = []
    for name, more in (
        ("whole", []),
        ("part", ["--region", f"{base.name}:301-{len(base) - 300}"]),
    ):
        found = align(
            tmp_path, tmp_path / name, tmp_path / "genome.fa", *options, *more, exons=None
        )
        (row,) = rows(found[0])
        row.pop("cells")
        row.pop("evalue")
        results.append((row, without_evalues(found)[1]))
    assert results[0] == results[1]
    assert results[0][0]["strand"] == strand
    assert int(results[0][0]["n_chain"]) > 3


def test_exons_and_pairs_may_name_the_locus(genome, cut, aligned, tmp_path):
    """Positions on a locus's name are the locus's own, those on the record's name the record's."""
    own = genome / "own.tsv"
    lines = ["base\tstart\tend\tstrand"]
    for name, strand in (("chr1", "+"), ("chr2", "-")):
        first, last = LOCI[name]
        for line in (genome / "exons.bed").read_text().splitlines():
            record, start, end, *_ = line.split("\t")
            if record == name:
                start, end = int(start) + 2 - first, int(end) - first + 1
                lines.append(f"{name}:{first}-{last}\t{start}\t{end}\t{strand}")
    own.write_text("\n".join(lines) + "\n")
    (genome / "own_pairs.tsv").write_text(
        "base\ttarget\nchr1:1001-2500\tt_chr1\nchr2:1101-2200\tt_chr2\n"
    )
    found = align(genome, tmp_path / "own", cut, exons="own.tsv", pairs="own_pairs.tsv")
    assert found == aligned[1]


def test_exons_that_leave_the_locus_are_left_out(genome, tmp_path):
    (genome / "wide.bed").write_text(
        "chr1\t1000\t1290\nchr1\t1200\t1290\nchr1\t1900\t2500\nchr0\t0\t9\n"
    )
    (genome / "one.tsv").write_text("base\ttarget\nchr1\tt_chr1\n")
    found, _ = align(genome, tmp_path / "x", genome / "genome.fa", "--region", "chr1:1002-2499",
                     exons="wide.bed", pairs="one.tsv")  # fmt: skip
    (row,) = rows(found)
    assert (row["n_exons"], row["chain"]) == ("1", "1201-1290")


def test_two_loci_of_a_record_make_one_reference(genome, tmp_path):
    """A pair that names the record stands for both; equal files whatever the regions' form."""
    (tmp_path / "regions.bed").write_text("chr1\t1100\t1700\nchr1\t1400\t2100\tb\t0\t-\n")
    (genome / "one.tsv").write_text("base\ttarget\nchr1\tt_chr1\n")
    by_bed, by_name = (
        align(genome, tmp_path / str(len(words)), genome / "genome.fa", *words, pairs="one.tsv")
        for words in (
            ["--region", tmp_path / "regions.bed"],
            ["--region", "chr1:1101-1700", "--region", "chr1:1401-2100"],
        )
    )
    assert by_bed == by_name
    table, files = by_bed
    first, second = (row["chain"].split(",") for row in rows(table))
    assert first[:2] == ["1201-1290", "1501-1561"]
    assert second[-1] == "1901-2045"
    assert second != first
    assert files[".sam"].count("@SQ") == files[".gff3"].count("##sequence-region") == 1
    assert "@SQ\tSN:chr1\tLN:4000" in files[".sam"]


def test_a_name_that_only_looks_like_a_locus_is_a_name(genome, tmp_path):
    """HLA alleles have such names: what the name says does not fit the length."""
    name = "HLA:1-2"
    symbols = read_fasta(genome / "genome.fa")[1].letters()
    write(tmp_path / "hla.fa", {name: symbols})
    (genome / "hla.bed").write_text("".join(f"{name}\t{a}\t{b}\n" for a, b in EXONS))
    (genome / "hla.tsv").write_text(f"base\ttarget\n{name}\tt_chr1\n")
    table, files = align(
        genome, tmp_path / "x", tmp_path / "hla.fa", exons="hla.bed", pairs="hla.tsv"
    )
    (row,) = rows(table)
    assert (row["base"], row["base_length"]) == (name, str(LENGTH))
    assert row["chain"] == ",".join(f"{a + 1}-{b}" for a, b in EXONS)
    assert f"@SQ\tSN:{name}\tLN:{LENGTH}" in files[".sam"]


def test_convert_moves_what_another_program_found_on_a_locus(cut, tmp_path):
    """Exons on the locus's name move, those on the record's name do not; BED there, GFF3 back."""
    (tmp_path / "own.bed").write_text(
        "chr1:1001-2500\t200\t290\tIntr\t1.5\t+\nchr2\t1200\t1290\tTerm\t2\t-\n"
    )
    words = ["exons", "convert", tmp_path / "own.bed", "--to", "gff3", "--output"]
    run(*words, tmp_path / "x.gff3", "--base", cut)
    assert (tmp_path / "x.gff3").read_text().splitlines()[1:] == [
        "##sequence-region chr1 1 4000",
        "##sequence-region chr2 1 4000",
        "chr1\tgpu-tools\texon\t1201\t1290\t1.5\t+\t.\texon_type=Intr",
        "chr2\tgpu-tools\texon\t1201\t1290\t2\t-\t.\texon_type=Term",
    ]
    (tmp_path / "own.bed").write_text("chr3\t1\t2\n")
    run(*words, tmp_path / "y.gff3", "--base", cut, code=1)


@pytest.mark.parametrize(("name", "first"), [("another", 0), ("chr1:1001-2500", 0), ("chr1", 1000)])
def test_a_report_under_the_records_name_is_in_its_coordinates(genome, tmp_path, name, first):
    """Under any other name it is taken for the one sequence there is."""
    head, rest = GENSCAN.split(" 1.01 Sngl")
    a, b = EXONS[0][0] + first - 999, EXONS[0][1] + first - 1000
    line = f" 1.01 Intr + {a:6d} {b:6d} {b - a + 1:4d}  1  0   50   60   100 0.900   5.50\n"
    report = head.replace("its_own_name : 30", f"{name} : 4000") + line + rest.split("\n", 1)[1]
    (genome / "report.txt").write_text(report)
    (genome / "one.tsv").write_text("base\ttarget\nchr1\tt_chr1\n")
    table, _ = align(genome, tmp_path / "x", genome / "genome.fa", "--region", "chr1:1001-2500",
                     exons="report.txt", pairs="one.tsv")  # fmt: skip
    assert rows(table)[0]["chain"] == "1201-1290"


def test_exons_predict_gives_the_records_coordinates(tmp_path):
    base = next(r for r in read_fasta(resource_path("demo", "loci.fa.gz")) if len(r) == 6891)
    write(tmp_path / "genome.fa", {base.name: base.letters()})
    sets = {}
    for coordinates in ("record", "locus"):
        output = tmp_path / f"{coordinates}.gff3"
        run("exons", "predict", "--base", tmp_path / "genome.fa", "--region",
            f"{base.name}:1501-6000", "--coordinates", coordinates, "--output", output)  # fmt: skip
        ((sets[coordinates], exons),) = read_exons(output).items()
        sets[coordinates] = sets[coordinates], exons
    (record, moved), (locus, own) = sets["record"], sets["locus"]
    assert (record, locus) == (base.name, f"{base.name}:1501-6000")
    assert np.array_equal(moved.starts, own.starts + 1500)
    assert np.array_equal(moved.ends, own.ends + 1500)
    assert {*moved.reverse.tolist()} == {False, True}
    for start, end, minus, kind in zip(
        moved.starts, moved.ends, moved.reverse, moved.types, strict=True
    ):
        if kind in (1, 4):  # Init and Sngl begin with ATG
            text = base.letters()[start:end]
            assert (reverse(text.replace("N", "A")) if minus else text).startswith("ATG")
    text = (tmp_path / "record.gff3").read_text()
    assert f"##sequence-region {base.name} 1 6891\n" in text


def local(genome, folder, subject, *options, query="cdnas.fa"):
    folder.mkdir()
    files = [folder / f"x.{suffix}" for suffix in ("paf", "sam", "txt")]
    outputs = [word for file in files for word in ("--alignments", file)]
    run("local-align", "--query", genome / query, "--subject", subject, "--k", 2, "--min-score",
        200, "--both-strands", *outputs, "--dot-plot", folder / "x.svg", "--output",
        folder / "x.tsv", "--device", "cpu", *options)  # fmt: skip
    return [(folder / "x.tsv").read_text(), *map(text_of, files)]


def test_local_alignments_on_loci(genome, cut, tmp_path):
    whole = tmp_path / "two.fa"
    write(whole, {r.name: r.letters() for r in read_fasta(genome / "genome.fa")[1:]})
    expected = local(genome, tmp_path / "whole", whole)
    assert {row["s_start"] for row in rows(expected[0])} >= {"1201", "1901"}
    assert local(genome, tmp_path / "cut", cut) == expected
    assert local(genome, tmp_path / "region", genome / "genome.fa", *regions()) == expected
    own = local(genome, tmp_path / "own", cut, "--coordinates", "locus")
    assert rows(own[0])[0]["subject"] == "chr1:1001-2500"


def test_a_query_that_is_a_locus(genome, cut, tmp_path):
    """The query's positions move too; SAM holds the query as it is."""
    table, paf, sam, _ = local(cut.parent, tmp_path / "x", genome / "genome.fa", query="cut.fa")
    best = [row for row in rows(table) if row["rank"] == "1" and row["strand"] == "+"]
    assert [(r["query"], r["subject"], r["q_start"], r["s_start"]) for r in best] == [
        ("chr1", "chr1", "1001", "1001"), ("chr2", "chr2", "1101", "1101"),
    ]  # fmt: skip
    assert paf.startswith("chr1\t4000\t1000\t2500\t+\tchr1\t4000\t1000\t2500\t")
    assert "\nchr1:1001-2500\t0\tchr1\t1001\t255\t1500=\t" in sam


@pytest.mark.parametrize("command", ["match-exact", "match-approximate"])
def test_matches_in_loci(genome, cut, tmp_path, command):
    symbols = {r.name: r.letters() for r in read_fasta(genome / "genome.fa")}
    patterns = {"p": symbols["chr1"][1300:1330], "q": reverse(symbols["chr2"][1400:1430])}
    write(tmp_path / "patterns.fa", patterns)
    options = ["--max-distance", 1] if command == "match-approximate" else []
    run(command, "--patterns", tmp_path / "patterns.fa", "--text", cut, "--text",
        genome / "cdnas.fa", "--both-strands", *options, "--bed", tmp_path / "x.bed",
        "--output", tmp_path / "x.tsv", "--device", "cpu")  # fmt: skip
    found = [r for r in rows((tmp_path / "x.tsv").read_text()) if r.get("distance", "0") == "0"]
    assert [(r["text"], r["start"], r["end"], r["strand"]) for r in found] == [
        ("chr1", "1301", "1330", "+"), ("chr2", "1401", "1430", "-"),
    ]  # fmt: skip
    assert "chr2\t1400\t1430\tq\t" in (tmp_path / "x.bed").read_text()


def test_segments_of_loci(cut, tmp_path):
    tables = {}
    for coordinates in ("record", "locus"):
        run("max-segments", "--sequence", cut, "--scale", "gc", "--coordinates", coordinates,
            "--gff3", tmp_path / "x.gff3", "--output", tmp_path / "x.tsv")  # fmt: skip
        tables[coordinates] = rows((tmp_path / "x.tsv").read_text())
        heads = (tmp_path / "x.gff3").read_text().splitlines()[1:3]
        length = {"record": LENGTH, "locus": 1500}[coordinates]
        assert heads[0].endswith(f" 1 {length}")
    for moved, own, (name, (first, _)) in zip(*tables.values(), LOCI.items(), strict=True):
        assert moved["sequence"] == name
        assert int(moved["start"]) == int(own["start"]) + first - 1
        assert int(moved["end"]) == int(own["end"]) + first - 1


def test_training_on_loci_takes_the_records_annotation(tmp_path):
    """A locus with all genes of a record, annotated on the record or on the locus: one model."""
    training = resource_path("training", "annotation.gff3")
    record = next(r for r in read_fasta(training.parent / "records.fa.gz") if r.name == "Z69719")
    lines = [line.split("\t") for line in training.read_text().splitlines() if "Z69719\t" in line]
    coding = [line for line in lines if line[2] == "CDS"]
    first = min(int(line[3]) for line in coding) - 500
    header = f"Z69719:{first}-{len(record)}"
    write(tmp_path / "part.fa", {header: record.letters()[first - 1 :]})
    own = [[header, *x[1:3], *(str(int(p) - first + 1) for p in x[3:5]), *x[5:]] for x in coding]
    models = []
    for name, features in (("record", coding), ("own", own)):
        text = "".join("\t".join(line) + "\n" for line in features)
        (tmp_path / "a.gff3").write_text("##gff-version 3\n" + text)
        run("exons", "train", "--base", tmp_path / "part.fa", "--annotation",
            tmp_path / "a.gff3", "--output", tmp_path / name)  # fmt: skip
        models.append((tmp_path / name).read_text())
    assert models[0] == models[1]


def test_submatrix_of_loci(tmp_path):
    for name, header in (("rows", "r:11-14 record_length=20"), ("columns", "c:101-106")):
        symbols = {"rows": "AACC", "columns": "GGAACC"}[name]
        (tmp_path / f"{name}.fa").write_text(f">{header}\n{symbols}\n")
    files = [tmp_path / "rows.fa", tmp_path / "columns.fa"]
    run("max-submatrix", "--dot-plot", *files, "--mismatch", -9, "--output", tmp_path / "x.tsv")
    found = rows((tmp_path / "x.tsv").read_text())
    assert [list(row.values()) for row in found] == [["11", "12", "103", "104", "4"]]


def test_regions_without_a_bound_and_behind_the_end(genome, caplog):
    path = genome / "genome.fa"
    whole = {record.name: record.letters() for record in read_fasta(path)}["chr1"]
    for text, start, end in (
        ("chr1", 0, 4000), ("chr1:3,001-", 3000, 4000), ("chr1:-20", 0, 20), ("chr1:7-7", 6, 7),
        ("chr1:3999-4001", 3998, 4000),
    ):  # fmt: skip
        for packed in (path, compressed(path)):
            (found,) = read_loci(packed, [RecordRegion.parse(text), RecordRegion.parse(text)])
            assert (found.name, found.letters()) == (f"chr1:{start + 1}-{end}", whole[start:end])
            assert found.description == "record_length=4000"
    (*_, warning) = (record.message for record in caplog.records)
    assert warning.endswith("region chr1:3999-4001 ends behind its record, which has 4000 symbols")


def compressed(path):
    packed = path.with_suffix(".xz")
    packed.write_bytes(lzma.compress(path.read_bytes()))
    return packed


@pytest.mark.parametrize("name", ["HLA-A*01:01", "HLA-A*01:01-02", "a:5-", "b:1-4"])
@pytest.mark.parametrize("suffix", ["fa", "xz"])
def test_a_name_that_a_record_has_is_a_name(tmp_path, name, suffix):
    path = tmp_path / "x.fa"
    write(path, {"HLA-A*01": "TTTT", name: "ACGTACGT", "b": "GGGG"})
    path = path if suffix == "fa" else compressed(path)
    for text, symbols in ((name, "ACGTACGT"), (f"{name}:3-4", "GT"), (f"{name}:3-", "GTACGT")):
        assert [s.letters() for s in read_loci(path, [RecordRegion.parse(text)])] == [symbols]
    (tmp_path / "exons.bed").write_text(f"{name}\t0\t8\n")
    write(tmp_path / "t.fa", {"t": "ACGTACGT"})
    (tmp_path / "pairs.tsv").write_text(f"base\ttarget\n{name}\tt\n")
    run("spliced-align", "--base", path, "--exons", tmp_path / "exons.bed", "--targets",
        tmp_path / "t.fa", "--pairs", tmp_path / "pairs.tsv", "--region", name, "--output",
        tmp_path / "x.tsv", "--device", "cpu", "--exon-weight", 0, "--intron-penalty",
        0)  # fmt: skip
    (row,) = rows((tmp_path / "x.tsv").read_text())
    assert (row["base"], row["chain"]) == (name, "1-8")


def test_overlapping_loci_are_joined():
    def cut(start, end, record="a"):
        symbols = "ACGTACGTAACCGGTT"[start:end]
        return Sequence.from_text(f"{record}:{start + 1}-{end}", symbols, "record_length=16")

    found = joined([cut(6, 9), cut(2, 5, "b"), cut(0, 4), cut(2, 6), cut(3, 4), cut(9, 16)])
    assert [(s.name, s.letters(), s.description) for s in found] == [
        ("a:1-6", "ACGTAC", "record_length=16"), ("a:7-9", "GTA", "record_length=16"),
        ("a:10-16", "ACCGGTT", "record_length=16"), ("b:3-5", "GTA", "record_length=16"),
    ]  # fmt: skip
