"""Genes on copies of a genome: in other orders, on the other strand, changed, copied and lost."""

from dataclasses import replace

import pytest

from gpu_tools.errors import InputError
from gpu_tools.lift.api import NOT_FOUND, TOO_WEAK, lift_genes
from gpu_tools.lift.options import LiftOptions
from gpu_tools.lift.transcripts import (
    EXON_LOST,
    FRAMESHIFT,
    INTACT,
    INTRON_GAINED,
    INTRON_LOST,
    SITE_CHANGED,
    START_LOST,
    STOP_INSIDE,
    STOP_LOST,
    TRUNCATED,
)
from gpu_tools.model.evidence import RecordJunctions, SpliceEvidence
from gpu_tools.model.genes import with_phases
from gpu_tools.sites.model import load_sites
from tests.lift import genomes

SITES = load_sites("vertebrate")
RECORD, GENES = genomes.reference()


def lifted(letters, options=None, genes=GENES, threads=1):
    new = letters if isinstance(letters, list) else [genomes.sequence(letters, "n")]
    return lift_genes(
        genes, [genomes.sequence(RECORD)], new, SITES, options, device="cpu", threads=threads
    )


def outcome(letters, k=1):
    """Return what became of the transcript of a gene."""
    found = {gene.lifted.gene.id: gene for gene in lifted(letters).genes}
    return found[f"g{k}"].outcomes[0]


def moved(exons, by):
    return tuple((a + by, b + by) for a, b in exons)


def exons_of(k):
    return GENES[k].transcripts[0].exons


def changed(at, old, new):
    """Return the record with other nucleotides at a place."""
    assert RECORD[at : at + len(old)] == old or not old.strip("N")
    return RECORD[:at] + new + RECORD[at + len(old) :]


def test_the_same_genome_has_the_same_genes():
    found = lifted(RECORD)
    assert not found.unmapped
    for gene, reference in zip(found.genes, GENES, strict=True):
        one = gene.lifted.transcripts[0]
        assert (gene.lifted.record, gene.lifted.strand) == ("n", "+")
        assert one.exons == reference.transcripts[0].exons
        assert one.coding == reference.transcripts[0].coding
        assert gene.outcomes[0].statuses == (INTACT,)
        assert gene.outcomes[0].protein_identity == gene.identity == gene.coverage == 1


def test_the_reverse_complement_has_the_mirrored_genes():
    length = len(RECORD)
    for gene in lifted(genomes.turned(RECORD)).genes:
        exons = gene.lifted.gene.transcripts[0].exons
        assert gene.lifted.strand == "-"
        assert gene.lifted.transcripts[0].exons == tuple(
            (length - b, length - a) for a, b in reversed(exons)
        )


def test_threads_change_nothing():
    letters = genomes.substituted(RECORD, 0.1)
    one, two = (lifted(letters, threads=n) for n in (1, 2))
    assert [g.lifted for g in one.genes] == [g.lifted for g in two.genes]
    assert one.scores == two.scores


def test_substitutions_move_no_edge():
    found = lifted(genomes.substituted(RECORD, 0.15))
    assert [g.lifted.transcripts[0].exons for g in found.genes] == [exons_of(k) for k in range(4)]
    assert abs(found.scores.rates[0].substitution - 0.15) < 0.02


def test_an_exon_ends_where_it_did_though_its_site_is_lost():
    donor = exons_of(1)[0][1]
    one = outcome(changed(donor, "GT", "CC"))
    assert one.lifted.exons == exons_of(1)
    assert one.statuses == (SITE_CHANGED,)


def test_a_site_decides_where_the_alignment_leaves_a_choice():
    donor = exons_of(1)[0][1]
    start, end = outcome(changed(donor, "GT", "CCGT")).lifted.exons[0]
    assert (start, end) == (exons_of(1)[0][0], donor + 2)


def test_an_intron_that_was_seen_decides():
    donor, acceptor = exons_of(1)[0][1], exons_of(1)[1][0]
    letters = RECORD[:donor] + "CCCC" + RECORD[donor + 2 :]  # GT became CCCC
    new = [genomes.sequence(letters, "n")]
    for at in (donor, donor + 1, donor + 2):
        seen = RecordJunctions.summed([at], [acceptor + 2], [False], [1000])
        found = lift_genes(
            GENES, [genomes.sequence(RECORD)], new, SITES,
            evidence=SpliceEvidence({"n": seen}), device="cpu", threads=1,
        )  # fmt: skip
        assert found.genes[1].lifted.transcripts[0].exons[0][1] == at
        assert SITE_CHANGED not in found.genes[1].outcomes[0].statuses


@pytest.mark.parametrize("more", ["A", "ACGTA"])
def test_a_longer_exon_has_a_frameshift(more):
    start, end = exons_of(1)[1]
    middle = (start + end) // 2
    one = outcome(changed(middle, "", more))
    assert one.lifted.exons[1] == (start, end + len(more))
    assert FRAMESHIFT in one.statuses
    assert one.protein_identity < 1


def test_whole_codons_that_are_lost_are_no_frameshift():
    start, end = exons_of(1)[1]
    middle = (start + end) // 2
    one = outcome(RECORD[:middle] + RECORD[middle + 6 :])
    assert one.lifted.exons[1] == (start, end - 6)
    assert FRAMESHIFT not in one.statuses


def test_frames_of_diverged_genes_are_kept_as_most_gaps_are_whole_codons():
    record, genes = genomes.reference(seed=5, genes=12)
    letters = genomes.with_other_codons(genomes.substituted(record, 0.15), genes)
    new = [genomes.sequence(letters, "n")]
    reference = [genomes.sequence(record)]
    found = lift_genes(genes, reference, new, SITES, device="cpu", threads=1)
    assert found.scores.keeps_frames
    assert len(found.genes) == len(genes)
    assert not [g for g in found.genes if FRAMESHIFT in g.outcomes[0].statuses]
    assert not lifted(genomes.substituted(RECORD, 0.1)).scores.codon_gaps > 0.5


def test_start_and_stop_codons_that_are_lost_are_told():
    coding = GENES[1].transcripts[0].coding
    assert outcome(changed(coding[0].start, "ATG", "ACG")).statuses == (START_LOST,)
    assert outcome(changed(coding[-1].end - 3, "TAA", "CAA")).statuses == (STOP_LOST,)


def test_a_stop_codon_inside_is_told():
    coding = GENES[1].transcripts[0].coding
    at = coding[0].start + 9
    one = outcome(changed(at, "NNN", "TAG"))
    assert one.statuses == (STOP_INSIDE,)


def test_a_lost_exon_and_a_cut_off_one_are_told():
    start, end = exons_of(1)[1]
    one = outcome(RECORD[: start - 100] + RECORD[end + 100 :])
    assert EXON_LOST in one.statuses
    assert len(one.lifted.exons) == 2
    cut = outcome(RECORD[: exons_of(3)[2][0] + 40], 3)
    assert TRUNCATED in cut.statuses
    assert cut.lifted.exons[:2] == exons_of(3)[:2]


def test_a_lost_intron_joins_two_exons():
    (a, b), (c, d), last = exons_of(1)
    one = outcome(RECORD[:b] + RECORD[c:])
    assert one.lifted.exons == ((a, b + d - c), (last[0] - c + b, last[1] - c + b))
    assert one.statuses == (INTRON_LOST,)
    assert len(one.lifted.coding) == 2


def test_the_rest_of_a_lost_intron_belongs_to_the_exon():
    (a, b), (c, d), _ = exons_of(1)
    one = outcome(RECORD[:b] + "CCCCCC" + RECORD[c:])
    assert one.lifted.exons[0] == (a, b + 6 + d - c)
    assert one.statuses == (INTRON_LOST,)


def test_a_gained_intron_splits_an_exon():
    a, b = exons_of(1)[1]
    at = next(k for k in range((a + b) // 2, b) if RECORD[k - 1 : k + 1] == "GG")
    intron = "GTAAGT" + "ATTCATTGAC" * 12 + "TTCTTTCTTTTTTCAG"
    one = outcome(RECORD[:at] + intron + RECORD[at:])
    assert one.lifted.exons[1:3] == ((a, at), (at + len(intron), b + len(intron)))
    assert one.lifted.exon_origins == (0, 1, 1, 2)
    assert one.statuses == (INTRON_GAINED,)
    assert one.protein_identity == one.identity == one.coverage == 1
    assert [s.phase for s in one.lifted.coding[1:3]] == [
        s.phase for s in with_phases([(s.start, s.end) for s in one.lifted.coding], "+")[1:3]
    ]


def test_what_is_inserted_without_sites_is_no_intron():
    a, b = exons_of(1)[1]
    at = (a + b) // 2
    one = outcome(RECORD[:at] + "ACTTTCATTC" * 15 + RECORD[at:])
    assert one.lifted.exons[1] == (a, b + 150)
    assert INTRON_GAINED not in one.statuses


def test_a_gene_that_is_gone_is_told_and_the_others_stay():
    low, high = GENES[2].interval
    found = lifted(RECORD[: low - 600] + RECORD[high + 600 :])
    assert [each.gene.id for each in found.unmapped] == ["g2"]
    assert found.unmapped[0].reason in (NOT_FOUND, TOO_WEAK)
    assert [g.lifted.gene.id for g in found.genes] == ["g0", "g1", "g3"]


def test_of_two_places_that_of_the_neighbours_is_the_genes_and_the_other_a_copy():
    low, high = GENES[1].interval
    copy = RECORD[low - 50 : high + 50]
    letters = copy + genomes.text(genomes.np.random.default_rng(5), 3000) + RECORD
    by = len(letters) - len(RECORD)
    found = lifted(letters)
    assert [g.lifted.transcripts[0].exons for g in found.genes] == [
        moved(exons_of(k), by) for k in range(4)
    ]
    copies = [g for g in lifted(letters, LiftOptions(copies=True)).genes if g.lifted.copy]
    assert [(g.lifted.gene.id, g.lifted.copy) for g in copies] == [("g1", 1)]
    assert copies[0].lifted.transcripts[0].exons == moved(exons_of(1), 50 - low)


def test_a_moved_gene_is_found_on_another_record_and_strand():
    low, high = GENES[1].interval
    other = genomes.turned(genomes.text(genomes.np.random.default_rng(6), 500) + RECORD[low:high])
    rest = RECORD[:low] + RECORD[high:]
    found = lifted([genomes.sequence(rest, "a"), genomes.sequence(other, "b")])
    assert not found.unmapped
    there = {g.lifted.gene.id: (g.lifted.record, g.lifted.strand) for g in found.genes}
    assert there == {"g0": ("a", "+"), "g1": ("b", "-"), "g2": ("a", "+"), "g3": ("a", "+")}


def test_similar_genes_do_not_share_a_place():
    low, high = GENES[1].interval
    letters = RECORD[:high] + RECORD[low:]  # the gene twice in tandem, once in the new genome
    by = high - low
    one = genomes.ReferenceTranscript("tx", "r", "+", moved(exons_of(1), by), (), None, ())
    genes = [*GENES[:2], genomes.ReferenceGene("x", "r", "+", (low + by, high + by), None, (one,))]
    found = lift_genes(
        genes, [genomes.sequence(letters)], [genomes.sequence(RECORD, "n")], SITES,
        device="cpu", threads=1,
    )  # fmt: skip
    assert len(found.genes) == 2
    assert len(found.unmapped) == 1


def test_genes_beyond_the_reference_are_bad_input():
    with pytest.raises(InputError, match="ends at"):
        lift_genes(GENES, [genomes.sequence(RECORD[:3000])], [genomes.sequence(RECORD)], SITES)
    with pytest.raises(InputError, match="lies on record"):
        lift_genes(GENES, [genomes.sequence(RECORD, "q")], [genomes.sequence(RECORD)], SITES)


def test_genes_that_share_nucleotides_are_copied_together():
    one = GENES[1]
    inner = replace(one.transcripts[0], id="inner", exons=exons_of(1)[:2], coding=())
    other = replace(one, id="inner", interval=inner.interval, transcripts=(inner,))
    low, high = one.interval
    letters = RECORD[:high] + RECORD[low - 50 : high + 50] + RECORD[high:]
    found = lifted(letters, LiftOptions(copies=True), [one, other])
    assert sorted((g.lifted.gene.id, g.lifted.copy) for g in found.genes) == [
        ("g1", 0), ("g1", 1), ("inner", 0), ("inner", 1),
    ]  # fmt: skip
