"""Genes planted in small genomes are found, each once, whatever the batches and threads."""

import re
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

from gpu_tools import with_confidence
from gpu_tools.annotate import batches, tables
from gpu_tools.annotate.genome import GenomeRecords
from gpu_tools.annotate.hits import HitSearch
from gpu_tools.annotate.tables import reversed_targets
from gpu_tools.annotate.targets import CdnaTargets, cdna_targets
from gpu_tools.errors import InputError, ScoringError
from gpu_tools.formats.alignments.gene_model import target_attribute
from gpu_tools.formats.tables import read_table
from tests.annotate.genomes import (
    CODONS,
    SITES,
    annotate,
    cdnas,
    gene,
    genome,
    mutated,
    places,
    proteins,
    random_protein,
    random_text,
    reversed_text,
)

SEARCHES = ["exhaustive", "seeded"]
RNG = np.random.default_rng(20)
A, B = random_protein(RNG), random_protein(RNG)
GENE_A, GENE_B = gene(RNG, A), gene(RNG, B)
COPY = gene(RNG, mutated(RNG, A, 0.1))
SPACE = [random_text(RNG, 1500) for _ in range(4)]
TWO = genome(SPACE[0], GENE_A, SPACE[1], reversed_text(GENE_B), SPACE[2])
START_B = len(SPACE[0]) + len(GENE_A) + len(SPACE[1])
PLACES = [
    ("chr1", "+", 1500, 1500 + len(GENE_A)), ("chr1", "-", START_B, START_B + len(GENE_B))
]  # fmt: skip


@pytest.mark.parametrize("search", SEARCHES)
def test_genes_of_both_strands_are_found_by_targets_that_agree(search):
    rng = np.random.default_rng(1)
    targets = proteins(a=A, a2=mutated(rng, A), b=mutated(rng, B), none=random_protein(rng))
    found = annotate([TWO], targets, search=search)
    assert places(found) == PLACES
    assert [gene.name for gene in found.genes] == ["chr1:1", "chr1:2"]
    assert found.genes[0].targets == ("a", "a2")
    (transcript,) = found.genes[0].transcripts
    assert transcript.targets == ("a", "a2")
    assert transcript.intron_support == (2, 2)
    assert [(t.loci, t.gene) for t in found.targets] == [
        (1, "chr1:1"), (1, "chr1:1"), (1, "chr1:2"), (0, None)
    ]  # fmt: skip


def test_a_cdna_that_fits_perfectly_is_not_tried_reversed(monkeypatch):
    targets, align = [], CdnaTargets.align

    def noting(self, cases, *more):
        targets.extend(case.target.letters() for case in cases)
        return align(self, cases, *more)

    monkeypatch.setattr(CdnaTargets, "align", noting)
    text = random_text(np.random.default_rng(9), 600)
    changed = "".join("ACGT"["CGTA".index(c)] if k % 9 == 0 else c for k, c in enumerate(text))
    record = genome(SPACE[0], text, SPACE[1])
    for own, tried in ((text, 1), (text + "A" * 30, 1), (changed, 2)):
        targets.clear()
        assert len(annotate([record], cdnas(a=own)).genes) == 1
        assert len({*targets} & {own, reversed_text(own)}) == tried


@pytest.mark.parametrize("search", SEARCHES)
def test_a_reversed_cdna_gets_its_gene_on_the_right_strand(search):
    rng = np.random.default_rng(8)
    text = gene(rng, A)
    spans = [m.span() for m in re.finditer("GTAAGT.{50}TACTAAC.*?TTTTTTCAG", text)]
    whole = text[: spans[0][0]] + text[spans[0][1] : spans[1][0]] + text[spans[1][1] :]
    record = genome(SPACE[0], text, SPACE[1])
    plain = annotate([record], cdnas(a=whole), search=search)
    turned = annotate([record], cdnas(a=reversed_text(whole)), search=search)
    (one,), (other,) = ([t.alignment for g in each.genes for t in g.transcripts]
                        for each in (plain, turned))  # fmt: skip
    assert (one.strand, one.n_chain, one.target_reversed) == ("+", 3, False)
    assert other == one.with_target_reversed()
    assert reversed_targets(turned) == ["a"]
    assert reversed_targets(plain) == []
    low, high = len(whole) - other.target_end + 1, len(whole) - other.target_start
    found = target_attribute(other, other.target_start, other.target_end)
    assert found == f"Target=a {low} {high} -"
    given = cdna_targets(cdnas(a=reversed_text(whole)).sequences, SITES, stranded=True)
    (alone,) = annotate([record], given, search=search).genes
    assert alone.strand == "-"


@pytest.mark.parametrize("search", SEARCHES)
def test_tandem_copies_stay_two_genes_and_a_paralogue_is_one_more(search):
    records = [
        genome(SPACE[0], GENE_A, SPACE[1][:400], COPY, SPACE[2]),
        genome(SPACE[3], reversed_text(COPY), SPACE[2], name="chr2"),
    ]
    found = annotate(records, proteins(a=A), search=search)
    start = 1500 + len(GENE_A) + 400
    assert places(found) == [
        ("chr1", "+", 1500, 1500 + len(GENE_A)), ("chr1", "+", start, start + len(COPY)),
        ("chr2", "-", 1500, 1500 + len(COPY)),
    ]  # fmt: skip
    assert found.targets[0].loci == 3
    assert found.targets[0].gene == "chr1:1"


def test_what_remains_beside_a_chain_is_tried_again_where_the_search_found_more(monkeypatch):
    """Words of chance beside it are refused by their cores."""
    aligned, tried = [], HitSearch._tried

    def counting(self, trials, cases):
        aligned.extend(trial for trial in trials if trial.window.strand == "+")
        return tried(self, trials, cases)

    monkeypatch.setattr(HitSearch, "_tried", counting)
    assert len(annotate([TWO], proteins(a=A), search="seeded").genes) == 1
    assert len(aligned) == 1
    tandem = genome(SPACE[0], GENE_A, SPACE[1][:100], COPY, SPACE[2])
    assert len(annotate([tandem], proteins(a=A), search="seeded").genes) == 2


def test_shuffled_proteins_give_nothing():
    rng = np.random.default_rng(2)
    targets = proteins(**{f"p{k}": "".join(rng.permutation([*(A, B)[k % 2]])) for k in range(8)})
    assert annotate([TWO], targets).genes == ()


@pytest.mark.parametrize("search", SEARCHES)
def test_a_stretch_of_two_amino_acids_is_found_by_its_order_alone(search):
    """Shuffled proteins of the same residues score far above the law of the whole genome."""
    rng = np.random.default_rng(22)
    own = "M" + "".join(rng.choice([*"HP"], 79))
    record = genome(SPACE[0], gene(rng, own, 0), SPACE[1])
    targets = {f"p{k}": "".join(rng.permutation([*own])) for k in range(4)}
    found = annotate([record], proteins(own=own, **targets), search=search)
    assert places(found) == [("chr1", "+", 1500, 1743)]
    assert [target.loci for target in found.targets] == [1, 0, 0, 0, 0]


def test_cdnas_find_genes_too_and_are_one_gene_with_proteins():
    rng = np.random.default_rng(3)
    spliced = gene(rng, A, 0)
    found = annotate([TWO], proteins(a=A), cdnas(c=spliced))
    assert places(found) == PLACES[:1]
    assert set(found.genes[0].targets) == {"a", "c"}
    assert [target.kind for target in found.targets] == ["protein", "cDNA"]


@pytest.mark.parametrize("search", SEARCHES)
def test_threads_and_batches_change_nothing(search):
    rng = np.random.default_rng(4)
    targets = proteins(a=A, b=B, **{f"p{k}": mutated(rng, A) for k in range(3)})
    first = annotate([TWO], targets, search=search, threads=1)
    assert len(first.genes) == 2
    assert annotate([TWO], targets, search=search, batch=2) == first


def test_tiles_find_what_one_tile_finds(monkeypatch):
    targets = proteins(a=A, b=B)
    whole = annotate([TWO], targets)
    monkeypatch.setattr("gpu_tools.annotate.genome.TILE", 100)
    tiled = annotate([TWO], targets, longest_gene=600)
    assert places(tiled) == places(whole) == PLACES


def test_a_run_that_ended_goes_on_to_the_same_genes(tmp_path, monkeypatch):
    targets = proteins(a=A, b=B, c=mutated(np.random.default_rng(5), A))
    whole = annotate([TWO], targets, batch=1)
    finished = []
    write = batches.open_output

    def limited(path):
        if len(finished) == 2:
            raise KeyboardInterrupt
        finished.append(path)
        return write(path)

    monkeypatch.setattr(batches, "open_output", limited)
    with pytest.raises(KeyboardInterrupt):
        annotate([TWO], targets, batch=1, work=tmp_path, threads=1)
    monkeypatch.setattr(batches, "open_output", write)
    assert len(list(tmp_path.iterdir())) == 2
    assert annotate([TWO], targets, batch=1, work=tmp_path) == whole
    monkeypatch.setattr("gpu_tools.annotate.api.credible_or_best", None)
    assert annotate([TWO], targets, batch=1, work=tmp_path) == whole


def test_other_content_and_broken_files_are_not_taken_for_results(tmp_path, caplog):
    whole = annotate([TWO], proteins(a=A), work=tmp_path)
    other = annotate([genome(*SPACE)], proteins(a=A), work=tmp_path)
    assert (len(whole.genes), len(other.genes)) == (1, 0)
    assert annotate([TWO], proteins(a=A), work=tmp_path, min_identity=1.0) == whole
    files = sorted(tmp_path.iterdir())
    assert len(files) == 3
    for path in files:
        path.write_text(path.read_text()[:40])
    assert annotate([TWO], proteins(a=A), work=tmp_path) == whole
    assert "they are computed again" in caplog.text


def test_no_changed_byte_of_kept_results_is_believed(tmp_path, caplog):
    whole = annotate([TWO], proteins(a=A), work=tmp_path)
    (path,) = tmp_path.iterdir()
    content = path.read_bytes()
    digits = [k for k, byte in enumerate(content) if chr(byte).isdigit()]
    for place in digits[:: max(len(digits) // 20, 1)]:
        path.write_bytes(content[:place] + bytes([content[place] ^ 1]) + content[place + 1 :])
        caplog.clear()
        assert annotate([TWO], proteins(a=A), work=tmp_path) == whole
        assert [record.getMessage().split(":")[0] for record in caplog.records] == [str(path)]
        assert path.read_bytes() == content


def test_loci_of_a_record_give_its_coordinates():
    text = TWO.letters()
    parts = [
        genome(text[:START_B], name=f"chr1:1-{START_B}"),
        genome(text[START_B:], name=f"chr1:{START_B + 1}-{len(text)}"),
    ]
    parts = [replace(part, description=f"record_length={len(text)}") for part in parts]
    found = annotate(parts, proteins(a=A, b=B))
    assert places(found) == PLACES
    assert found.record_lengths == {"chr1": len(text)}


def test_a_longest_intron_is_never_exceeded():
    rng = np.random.default_rng(6)
    exons = gene(rng, A, 0)
    text = exons[:180] + INTRON_TEXT + random_text(rng, 800) + INTRON_END + exons[180:]
    record = genome(SPACE[0], text, SPACE[1])
    (whole,) = annotate([record], proteins(a=A)).genes
    assert whole.transcripts[0].alignment.n_chain == 2
    cut = annotate([record], proteins(a=A), max_intron=500, max_evalue=0.1)
    introns = [
        b[0] - a[1]
        for g in cut.genes for t in g.transcripts for a, b in pairwise(sorted(t.alignment.chain))
    ]  # fmt: skip
    assert len(cut.genes) > 0
    assert max(introns, default=0) <= 500


INTRON_TEXT, INTRON_END = "GTAAGT", "TACTAACTTTTTTTTTCTTTCCTTTTTTCAG"


@pytest.mark.parametrize(
    ("targets", "error"),
    [
        ([], "no target"),
        ([proteins(a=A), proteins(a=B)], "two targets of one name"),
    ],
)
def test_targets_must_be_there_and_have_different_names(targets, error):
    with pytest.raises(InputError, match=error):
        annotate([TWO], *targets)


def test_scores_without_a_law_are_refused():
    targets = proteins(a=A)
    with pytest.raises(ScoringError, match="no E-values"):
        annotate([TWO], replace(targets, scoring=replace(targets.scoring, gap_open=3)))


@pytest.mark.parametrize("seed", [1, 2])
def test_unrelated_cdnas_rich_in_a_and_t_have_no_gene(seed):
    """Of 25 % G and C, like the genome; but the genome's own cDNA has one."""
    print(f"seed {seed}")
    rng, shares = np.random.default_rng(seed), (0.375, 0.125, 0.125, 0.375)
    record, *texts = ("".join(rng.choice([*"ACGT"], n, p=shares)) for n in (30_000, *[600] * 8))
    own = record[9000:9600]
    found = annotate([genome(record)], cdnas(own=own, **{f"t{k}": t for k, t in enumerate(texts)}))
    (one,) = found.genes
    assert (one.targets, one.start) == (("own",), 9000)


FIRST = GENE_A[: GENE_A.index("GTAAGT") + 6]
"""The first exon of a gene, a third of it, and where its intron begins."""
PLAIN = "A" * 1500
SPLICED_A = "".join(CODONS[letter] for letter in A)


@pytest.mark.parametrize("targets", [proteins(a=A), cdnas(a=SPLICED_A)], ids=["protein", "cDNA"])
@pytest.mark.parametrize("turned", [False, True])
@pytest.mark.parametrize(
    ("behind", "is_cut"),
    [("", True), ("N" * 10 + PLAIN, True), ("N" * 9 + PLAIN, False), (PLAIN, False)],
    ids=["end", "gap", "short run", "inside"],
)  # fmt: skip
def test_a_third_of_a_gene_is_a_gene_where_an_edge_cuts_it_off(targets, turned, behind, is_cut):
    text = SPACE[0] + FIRST + behind
    found = annotate([genome(reversed_text(text) if turned else text)], targets)
    (target,) = found.targets
    assert target.accepted == ("yes" if is_cut else "part")
    assert 0.3 < target.best.coverage < 0.4
    assert (target.loci, target.gene) == ((1, "chr1:1") if is_cut else (0, None))
    assert len(found.genes) == is_cut
    if is_cut:
        (transcript,) = found.genes[0].transcripts
        begin, end = transcript.alignment.beyond
        assert begin == 0 < end
    assert len(annotate([genome(text)], targets, min_coverage=0.3).genes) == 1


def _check_descriptions(found, folder):
    """Check the last column of both tables: it is there if a target has a description."""
    first, second = found.targets
    text = "a\tkinase locus=c:1-9 (A) record_length=9"
    named = replace(found, targets=(replace(first, description=text), second))
    for each, texts in ((found, []), (named, ["a kinase (A)", "."])):
        tables.write_target_table(folder / "t.tsv", each)
        tables.write_gene_table(folder / "g.tsv", each)
        for name, wanted in (("t.tsv", texts), ("g.tsv", texts[:1])):
            header, *rows = (line.split("\t") for line in (folder / name).read_text().splitlines())
            assert (header[-1] == "description") == bool(wanted)
            assert [row[-1] for row in rows if wanted] == wanted


def test_a_part_of_a_gene_supports_no_other(tmp_path):
    other = A[:60] + random_protein(np.random.default_rng(77), 200)
    found = annotate([TWO], proteins(a=A, part=other))
    assert found.genes[0].targets == ("a",)
    assert [target.accepted for target in found.targets] == ["yes", "part"]
    tables.write_target_table(tmp_path / "targets.tsv", found)
    rows = [row for _, row in read_table(tmp_path / "targets.tsv", ("target", "accepted", "found"))]
    assert [(row["accepted"], row["found"]) for row in rows] == [("yes", "yes"), ("part", "no")]
    _check_descriptions(found, tmp_path)
    own = tables.summary_of(found, GenomeRecords([TWO]))
    assert own["targets"] == {"protein": {"given": 2, "found": 1, "part": 1}}
    assert own["cut_off_genes"] == 0


def test_an_accepted_hit_is_a_target_s_best_one_though_a_part_scores_more():
    """The copy is the first third, alike; the gene covers more, less alike."""
    far = mutated(np.random.default_rng(3), A, 0.7)
    copy, whole = FIRST, gene(RNG, far)
    found = annotate([genome(SPACE[0], copy, SPACE[1], whole, SPACE[2])], proteins(a=A))
    (target,) = found.targets
    assert (target.accepted, target.loci) == ("yes", 1)
    assert target.best.coverage > 0.9


@pytest.mark.parametrize("targets", ["proteins", "cdnas"])
def test_introns_and_exons_have_the_confidence_of_their_alignment(targets):
    rng = np.random.default_rng(3)
    text = gene(rng, A)
    spans = [m.span() for m in re.finditer("GTAAGT.{50}TACTAAC.*?TTTTTTCAG", text)]
    whole = text[: spans[0][0]] + text[spans[0][1] : spans[1][0]] + text[spans[1][1] :]
    records = [genome(SPACE[0], reversed_text(text), SPACE[1])]
    given = proteins(a=A) if targets == "proteins" else cdnas(a=reversed_text(whole))
    plain = annotate(records, given)
    found = annotate(records, given, confidence=True)
    (one,) = [t.alignment for g in plain.genes for t in g.transcripts]
    (other,) = [t.alignment for g in found.genes for t in g.transcripts]
    assert one.min_confidence is None
    assert other.changed(intron_confidences=None, exon_confidences=None) == one
    target = given if targets == "proteins" else given.turned
    tables = target.tables(records[0], "-")
    case = target.case(records[0], target.sequences[0], tables)
    (wanted,) = with_confidence([case], [one], target.scoring, flank=None)
    assert other.intron_confidences == wanted.intron_confidences
    assert other.exon_confidences == wanted.exon_confidences
    least = other.min_confidence
    assert least > 0
    assert annotate(records, given, min_confidence=least).genes == found.genes
    none = annotate(records, given, min_confidence=least + 1)
    assert none.genes == ()
    assert [(t.loci, t.gene) for t in none.targets] == [(1, None)]
