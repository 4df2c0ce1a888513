"""``gpu-tools annotate``: its files agree with each other, and what is wrong is said."""

import gzip
import hashlib
import json
import re
import shlex
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

from gpu_tools.annotate import batches
from gpu_tools.cli.main import main
from gpu_tools.formats.sequences.fasta import read_fasta, write_fasta
from gpu_tools.formats.tables import read_table
from gpu_tools.model.sequences import decode_protein, encode_protein
from gpu_tools.model.translation import translate
from tests.annotate.genomes import gene, genome, mutated, random_protein, random_text, reversed_text
from tests.programs import require

OUTPUTS = {
    "--output": "genes.gff3", "--table": "genes.tsv", "--targets-table": "targets.tsv",
    "--protein-sequences": "proteins.fa", "--cds-sequences": "cds.fa", "--summary": "figures.json",
}  # fmt: skip


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder with a genome of three genes, targets, and what annotate wrote."""
    rng, path = np.random.default_rng(11), tmp_path_factory.mktemp("annotate")
    a, b = random_protein(rng), random_protein(rng)
    one = genome(random_text(rng, 900), gene(rng, a), random_text(rng, 700), name="chr|1;x")
    two = genome(
        random_text(rng, 500), reversed_text(gene(rng, b)), random_text(rng, 600),
        gene(rng, mutated(rng, a, 0.1)), random_text(rng, 300), name="chr2",
    )  # fmt: skip
    write_fasta(path / "genome.fa", [one, two])
    texts = {"a": a, "b": mutated(rng, b), "b=2": mutated(rng, b), "none": random_protein(rng)}
    (path / "targets.fa").write_text("".join(f">{n}\n{t}\n" for n, t in texts.items()))
    assert run(path, *(word for pair in OUTPUTS.items() for word in named(path, *pair))) == 0
    return path


def named(path, option, name):
    return option, str(path / name)


def run(path, *more):
    words = ["--genome", path / "genome.fa", "--proteins", path / "targets.fa", "--quiet"]
    model = ["--site-model", "vertebrate", "--device", "cpu", "--threads", "2"]
    return main(["annotate", *map(str, words), *model, *more])


def rows(path):
    return [row for _, row in read_table(path, (), ("gene", "target", "found", "loci", "mrnas"))]


def test_tables_say_which_genes_and_targets_there_are(folder):
    assert [row["gene"] for row in rows(folder / "genes.tsv")] == ["chr|1;x:1", "chr2:1", "chr2:2"]
    found = {row["target"]: (row["found"], row["loci"]) for row in rows(folder / "targets.tsv")}
    assert found == {"a": ("yes", "2"), "b": ("yes", "1"), "b=2": ("yes", "1"), "none": ("no", "0")}


def test_sequences_are_those_of_the_models(folder):
    coding = read_fasta(folder / "cds.fa")
    products = read_fasta(folder / "proteins.fa", encode_protein)
    assert [s.name for s in coding] == [s.name for s in products]
    assert [s.name for s in coding] == ["chr|1;x:1.1", "chr2:1.1", "chr2:2.1"]
    for nucleotides, protein in zip(coding, products, strict=True):
        assert translate(nucleotides.codes)[:-1].tolist() == protein.codes.tolist()


def test_gtf_has_the_same_models(folder, tmp_path):
    assert run(folder, "--output", str(tmp_path / "genes.gtf.gz")) == 0
    of_gff3 = transcripts_in((folder / "genes.gff3").read_text())
    assert transcripts_in(gzip.decompress((tmp_path / "genes.gtf.gz").read_bytes()).decode()) == (
        of_gff3
    )
    assert len(of_gff3) == 3


def transcripts_in(text):
    """Return exons by gene and mRNA of a file in GFF3 or GTF."""
    found = {}
    for line in text.splitlines():
        *fields, last = line.split("\t")
        if fields[2:3] != ["exon"]:
            continue
        if match := re.fullmatch(r'gene_id "gene:(.*?)"; transcript_id "mRNA:(.*?)"; .*', last):
            gene, mrna = match.groups()
        else:
            mrna = re.search(r"Parent=mRNA:([^;]*)", last)[1]
            gene = mrna.rpartition(".")[0]
        found.setdefault((gene, mrna), []).append((fields[0].replace("%3B", ";"), *fields[3:5]))
    return {name: sorted(exons) for name, exons in found.items()}


def test_gff3_has_models_whose_parts_lie_within(folder):
    lines = (folder / "genes.gff3").read_text().splitlines()
    features = [line.split("\t") for line in lines if not line.startswith("#")]
    kinds = [fields[2] for fields in features]
    assert [kinds.count(kind) for kind in ("gene", "mRNA", "exon", "CDS")] == [3, 3, 9, 9]
    assert [kinds.count(f"{end}_codon") for end in ("start", "stop")] == [3, 3]
    mrna = next(fields[8] for fields in features if fields[2] == "mRNA" and "chr2:1.1" in fields[8])
    attributes = dict(pair.split("=", 1) for pair in mrna.split(";"))
    assert attributes["Target"].split()[1:] == ["1", "120"]
    assert attributes["support"] == "2"
    assert attributes["intron_support"] == "2,2"


@pytest.mark.skipif(not shutil.which("gt"), reason="genometools is not installed")
def test_genometools_accepts_the_gff3(folder):
    command = ["gt", "gff3validator", folder / "genes.gff3"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_selenocysteine_is_no_stop_inside(tmp_path):
    """In no file of a gene whose protein has U where the genome has TGA."""
    rng = np.random.default_rng(8)
    protein = random_protein(rng)
    text = gene(rng, protein)
    changed = text[:30] + "TGA" + text[33:]
    record = genome(random_text(rng, 500), changed, random_text(rng, 500), name="chr")
    write_fasta(tmp_path / "genome.fa", [record])
    target = protein[:10] + "U" + protein[11:]
    (tmp_path / "targets.fa").write_text(f">p\n{target}.\n")
    assert (
        run(tmp_path, *(word for pair in OUTPUTS.items() for word in named(tmp_path, *pair))) == 0
    )
    (product,) = read_fasta(tmp_path / "proteins.fa", encode_protein)
    assert product.codes.tolist() == encode_protein(target).tolist()
    gff3 = (tmp_path / "genes.gff3").read_text()
    assert "identity=1.0000" in gff3
    assert "in_frame_stop" not in gff3
    assert json.loads((tmp_path / "figures.json").read_text())["inner_stops"] == 0
    ((_, row),) = read_table(tmp_path / "genes.tsv", (), ("identity", "inner_stops"))
    assert (row["identity"], row["inner_stops"]) == ("1.0000", "0")


def broken(rng, protein, *changes):
    """Return a gene in which nucleotides of exons are left out, or others stand instead.

    Changes are (residue, nucleotides left out, text); residues lie in the first or last third.
    """
    text = gene(rng, protein)
    end_of_intron = "CCTTTTTTCAG"
    behind = text.rindex(end_of_intron) + len(end_of_intron) - 2 * len(protein)
    for residue, left_out, new in sorted(changes, reverse=True):
        at = 3 * residue + (behind if residue > len(protein) // 2 else 0)
        text = text[:at] + new + text[at + left_out :]
    return text


@pytest.fixture(scope="module")
def broken_genes(tmp_path_factory):
    """A folder with a genome of genes with frameshifts and stop codons, and their proteins."""
    rng, path = np.random.default_rng(21), tmp_path_factory.mktemp("broken")
    changes = {
        "whole": (), "one more": ((20, 0, "A"),), "two more": ((100, 0, "AC"),),
        "one less": ((25, 1, ""),), "two less": ((15, 2, ""),), "stop": ((30, 3, "TAA"),),
        "decayed": ((12, 1, ""), (25, 0, "C"), (100, 3, "TGA")),
    }  # fmt: skip
    proteins = {name.replace(" ", "_"): random_protein(rng) for name in changes}
    texts = [broken(rng, p, *c) for p, c in zip(proteins.values(), changes.values(), strict=True)]
    texts = [reversed_text(text) if k % 2 else text for k, text in enumerate(texts)]
    parts = [part for text in texts for part in (random_text(rng, 400), text)]
    write_fasta(path / "genome.fa", [genome(*parts, random_text(rng, 400), name="chr")])
    (path / "targets.fa").write_text("".join(f">{n}\n{p}\n" for n, p in proteins.items()))
    return path


def encode_with_dots(symbols):
    """Encode a protein, or nucleotides by their letters, in which dots are stop codons."""
    return encode_protein(symbols.replace(b".", b"*"))


def annotated(path, frameshifts, suffix="gff3"):
    """Annotate; return the names of genes' best targets, and those of decayed ones."""
    names = [(option, name.replace("gff3", suffix)) for option, name in OUTPUTS.items()]
    words = [word for pair in names for word in named(path, *pair)]
    assert run(path, *words, "--frameshifts", frameshifts) == 0
    lines = (path / f"genes.{suffix}").read_text().splitlines()
    features = [line.split("\t") for line in lines if line[0] != "#"]
    genes = [fields for fields in features if fields[2] in ("gene", "pseudogene")]
    target = {fields[8].partition("Name=")[2].partition(";")[0]: fields[2] for fields in genes}
    return target, json.loads((path / "figures.json").read_text())


def test_frameshifts_are_kept_and_counted(broken_genes, capsys):
    target, figures = annotated(broken_genes, "keep")
    assert target == {
        "whole": "gene", "one_more": "gene", "two_more": "gene", "one_less": "gene",
        "two_less": "gene", "stop": "gene", "decayed": "pseudogene",
    }  # fmt: skip
    assert (figures["broken_mrnas"], figures["pseudogenes"], figures["dropped_hits"]) == (6, 1, 0)
    assert (figures["frameshifts"], figures["inner_stops"]) == (6, 2)
    errors = capsys.readouterr().err
    assert "6 mRNAs with a frameshift or a stop codon inside" in errors
    assert "1 gene with several of them, written as pseudogenes" in errors


def test_structures_with_frameshifts_or_stops_are_dropped(broken_genes):
    target, figures = annotated(broken_genes, "drop")
    assert target == {"whole": "gene"}
    assert (figures["broken_mrnas"], figures["pseudogenes"], figures["dropped_hits"]) == (0, 0, 6)
    found = [row for row in rows(broken_genes / "targets.tsv") if row["target"] != "whole"]
    assert {(row["found"], row["gene"]) for row in found} == {("yes", None)}


@pytest.mark.parametrize("suffix", ["gff3", "gtf"])
def test_split_parts_are_read_alike_by_other_programs(broken_genes, suffix):
    """``gffread`` writes a stop codon as a dot."""
    require("gt", "gffread")
    target, figures = annotated(broken_genes, "split", suffix)
    path = broken_genes / f"genes.{suffix}"
    if suffix == "gff3":
        assert (len(target), figures["broken_mrnas"]) == (7, 6)
        command = ["gt", "gff3validator", path]
        done = subprocess.run(command, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
    for option, own in (("-y", "proteins.fa"), ("-x", "cds.fa")):
        output = broken_genes / "read.fa"
        command = ["gffread", option, output, "-g", broken_genes / "genome.fa", path]
        subprocess.run(command, check=True, capture_output=True)
        read, known = (
            {one.name.removeprefix("mRNA:"): decode_protein(one.codes)
             for one in read_fasta(path, encode_with_dots)}
            for path in (output, broken_genes / own)
        )  # fmt: skip
        assert read == known


def test_the_summary_counts(folder):
    figures = json.loads((folder / "figures.json").read_text())
    assert figures["targets"] == {"protein": {"given": 4, "found": 3, "part": 0}}
    assert (figures["genes"], figures["mrnas"], figures["exons"]) == (3, 3, 9)
    assert figures["introns"] == {"GT-AG": 6}
    assert figures["complete"] == 3
    assert figures["unaligned_ends"] == 0


def genes_in(folder):
    return [
        row for _, row in read_table(folder / "genes.tsv", ("coverage", "identity", "exons", "end"))
    ]


@pytest.mark.parametrize("search", ["seeded", "exhaustive"])
def test_exons_beyond_the_longest_intron_are_told_and_not_invented(tmp_path, capsys, search):
    rng = np.random.default_rng(5)
    protein = random_protein(rng, 240)
    whole = gene(rng, protein)
    at = whole.index("GTAAGT") + 40
    far = whole[:at] + random_text(rng, 5000) + whole[at:]
    base = random_text(rng, 500) + far + random_text(rng, 500)
    write_fasta(tmp_path / "genome.fa", [genome(base)])
    (tmp_path / "targets.fa").write_text(f">p\n{protein}\n")
    words = ["--output", "genes.gff3", "--summary", "figures.json", "--table", "genes.tsv"]
    words = [str(tmp_path / word) if "." in word else word for word in words]
    limits = ["--max-intron", "3000", "--search", search]
    assert run(tmp_path, *words, *limits) == 0
    *_, best = sorted(genes_in(tmp_path), key=lambda row: float(row["coverage"]))
    assert 0.6 < float(best["coverage"]) < 0.73
    assert float(best["identity"]) > 0.95
    assert (best["exons"], best["end"]) == ("2", str(len(base) - 500))
    assert json.loads((tmp_path / "figures.json").read_text())["unaligned_ends"] >= 1
    assert "with an end that is aligned to nothing" in capsys.readouterr().err
    assert run(tmp_path, *words, *limits, "--keep-ends") == 0
    assert json.loads((tmp_path / "figures.json").read_text())["unaligned_ends"] == 0
    assert run(tmp_path, *words, "--search", search) == 0
    assert [row["coverage"] for row in genes_in(tmp_path)] == ["1.0000"]


def test_the_same_files_come_of_kept_batches(folder, tmp_path):
    more = ["--batch", "1", "--work", str(tmp_path / "work")]
    for name in ("first", "second"):
        assert run(folder, "--output", str(tmp_path / name), *more) == 0
        assert (tmp_path / name).read_bytes() == (folder / "genes.gff3").read_bytes()


def test_a_command_that_was_stopped_goes_on_to_the_same_files(folder, tmp_path, monkeypatch):
    """It is stopped when the results of a third batch are about to be written."""
    more = ["--batch", "1", "--work", str(tmp_path / "work"), "--output", str(tmp_path / "genes")]
    written = []
    write = batches.write_found

    def stopping(path, *content):
        if len(written) == 2:
            raise KeyboardInterrupt
        written.append(path)
        write(path, *content)

    monkeypatch.setattr(batches, "write_found", stopping)
    assert run(folder, *more) != 0
    assert not (tmp_path / "genes").exists()
    monkeypatch.setattr(batches, "write_found", write)
    before = {path: path.stat().st_mtime_ns for path in written}
    assert run(folder, *more) == 0
    assert {path: path.stat().st_mtime_ns for path in written} == before
    assert len(list((tmp_path / "work").iterdir())) == 4
    assert (tmp_path / "genes").read_bytes() == (folder / "genes.gff3").read_bytes()


def test_the_summary_names_the_site_model(folder):
    assert json.loads((folder / "figures.json").read_text())["site_model"] == "vertebrate"


def test_the_summary_tells_of_the_run(folder):
    figures = json.loads((folder / "figures.json").read_text())
    run, path = figures["run"], folder / "genome.fa"
    assert shlex.split(run["command"])[:4] == ["gpu-tools", "annotate", "--genome", str(path)]
    assert (run["max_evalue"], run["min_identity"], run["min_coverage"]) == (1e-3, 0, 0.5)
    known = {"file": str(path), "bytes": path.stat().st_size}
    known["sha256"] = hashlib.sha256(path.read_bytes()).hexdigest()
    assert run["inputs"][0] == known
    assert [Path(each["file"]).name for each in run["inputs"]] == ["genome.fa", "targets.fa"]
    assert (figures["searched"], figures["parts"]) == (figures["nucleotides"], [])


def test_the_summary_names_the_parts_that_were_searched(folder, tmp_path):
    summary = tmp_path / "part.json"
    region = ["--region", "chr2:401-2000", "--output", str(tmp_path / "a.gff3")]
    assert run(folder, *region, "--summary", str(summary)) == 0
    figures = json.loads(summary.read_text())
    assert (figures["searched"], figures["parts"]) == (1600, ["chr2:401-2000"])


def test_few_introns_leave_the_generic_model(folder, tmp_path, capsys):
    output, summary = tmp_path / "auto.gff3", tmp_path / "auto.json"
    words = ["--genome", folder / "genome.fa", "--proteins", folder / "targets.fa"]
    more = ["--site-model", "auto", "--device", "cpu", "--output", output, "--summary", summary]
    assert main(["annotate", *map(str, [*words, *more])]) == 0
    told = capsys.readouterr().err
    assert "site model generic: a first pass found " in told
    assert "introns, which are too few to choose by" in told
    assert json.loads(summary.read_text())["site_model"] == "generic"


def test_an_intron_penalty_is_of_one_kind_of_target(folder, tmp_path, capsys):
    cheap, dear = tmp_path / "cheap.gff3", tmp_path / "dear.gff3"
    assert run(folder, "--output", str(cheap), "--intron-penalty", "20") == 0
    assert run(folder, "--output", str(dear), "--intron-penalty", "300") == 0
    assert cheap.read_text() != dear.read_text()
    both = ["--cdnas", str(folder / "cds.fa"), "--output", "-", "--intron-penalty", "20"]
    assert run(folder, *both) == 2
    assert "--intron-penalty is in points of proteins or of cDNAs" in capsys.readouterr().err
