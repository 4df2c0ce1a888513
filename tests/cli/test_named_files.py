"""An error names the file at fault, also where several files meet."""

import pytest

from gpu_tools.cli.main import main

FILES = {
    "base.fa": ">c\n" + "ACGTTGCAAC" * 20 + "\n",
    "loci.fa": ">z:5-8 record_length=20\nACGT\n>z:7-10 record_length=20\nACGT\n",
    "c.gff3": "c\tx\texon\t1\t9\t.\t+\t.\tParent=a\n",
    "d.gff3": "d\tx\texon\t1\t9\t.\t+\t.\tParent=a\n",
    "p.fa": ">p\nMKVLAAGIVGLLLAQWERTYHPSDFGHKLCVNM\n",
    "more.fa": ">q\nMKVLA\n>p\nMKVLA\n",
    "dna.fa": ">n\nACGTTGCAACACGTTGCAACACGTTGCAAC\n",
    "matrix.txt": "  A C\nA 1 0\nC 0 1\n",
    "patterns.fa": ">x\nACG\n",
    "quoted.fa": '>a"b\nACGTTGCAAC\n',
    "at.fa": ">a@b\nACGTTGCAAC\n",
    "exons.bed": "c\t10\t20\n",
    "far.bed": "c\t10\t2000\n",
}
CASES = {
    "exons compare --candidates c.gff3 --truth d.gff3":
        "c.gff3: candidates and truth have no sequence in common, 'c' and 'd' being the first of "
        "each; expected names of d.gff3",
    "exons compare --candidates c.gff3 --truth d.gff3 --transcripts":
        "c.gff3: candidates and truth have no sequence in common",
    "annotate --genome base.fa --proteins p.fa --proteins more.fa --site-model vertebrate "
    "-o x.gff3": "more.fa, record p: a target of that name has been read from another file",
    "annotate --genome base.fa --proteins p.fa --cdnas dna.fa --cdnas dna.fa --site-model "
    "vertebrate -o x.gff3": "dna.fa, record n: a target of that name has been read from another",
    "annotate --genome loci.fa --proteins p.fa --site-model vertebrate -o x.gff3":
        "loci.fa, record z: z:5-8 and z:7-10 overlap",
    "local-align --query p.fa --subject dna.fa --matrix matrix.txt":
        "p.fa, record p, position 1: the matrix matrix.txt has no scores for 'M'",
    "global-align --query dna.fa --subject p.fa --matrix matrix.txt":
        "dna.fa, record n, position 3: the matrix matrix.txt has no scores for 'G'",
    "match-approximate --patterns patterns.fa --text base.fa --max-distance 3":
        "patterns.fa, record x: the maximum distance 3 is not below 3",
    "spliced-align --base base.fa --exons exons.bed --targets quoted.fa --alignments x.gtf":
        'quoted.fa, record a"b: the name cannot stand in GTF',
    "spliced-align --base base.fa --exons exons.bed --targets at.fa --alignments x.sam":
        "at.fa, record a@b: the name cannot stand in SAM",
    "exons convert far.bed --to gff3 --base base.fa":
        "far.bed, record c: exon 11-2000 does not lie within the sequence",
}  # fmt: skip


@pytest.mark.parametrize("command", CASES)
def test_the_file_at_fault_is_named(tmp_path, capsys, monkeypatch, command):
    monkeypatch.chdir(tmp_path)
    for name, text in FILES.items():
        (tmp_path / name).write_text(text)
    assert main(command.split()) == 1
    last = capsys.readouterr().err.splitlines()[-1]
    assert last.startswith(f"gpu-tools: error: {CASES[command]}")
    assert {path.name for path in tmp_path.iterdir()} <= {*FILES, "base.fa.fai"}


def test_a_table_that_is_read_is_not_told_as_written(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    costs = ["   A  C  G  T", *(f"{x}" + "  1" * 4 for x in "ACGT")]
    (tmp_path / "costs.txt").write_text("\n".join(costs) + "\n")
    for name in ("base.fa", "patterns.fa"):
        (tmp_path / name).write_text(FILES[name])
    words = "match-approximate --patterns patterns.fa --text base.fa --best --device cpu"
    assert main([*words.split(), "--substitution-table", "costs.txt"]) == 0
    assert "written" not in capsys.readouterr().err
