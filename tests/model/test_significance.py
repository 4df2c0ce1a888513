"""Laws of best scores: fits to simulated ones, shipped parameters, and what cases bring."""

import math
from dataclasses import replace
from itertools import product

import numpy as np
import pytest

from gpu_tools import (
    Case,
    ExonSet,
    Gumbel,
    Sequence,
    SiteCase,
    SplicedAlignment,
    SplicedScoring,
    fit_gumbel,
    load_sites,
    null_laws,
    null_model,
    tables_of,
    with_evalues,
)
from gpu_tools.formats.scales import load_matrix
from gpu_tools.model.json_model import shipped_in
from gpu_tools.model.resources import resource_path
from gpu_tools.model.scoring import CANDIDATE_WEIGHTS, ProteinScoring
from gpu_tools.model.sequences import ProteinSequence
from gpu_tools.model.significance import (
    EULER,
    LEAST_SCALE,
    NO_SCORE,
    SPREAD,
    Circumstances,
    Composition,
    NullModel,
    RepetitionShift,
    circumstances_of,
    fit_null_model,
    genome_circumstances,
    repetition_of,
    setting_of,
    shipped_models,
    terms_of,
)
from gpu_tools.sites.proteins.api import (
    ProteinCase,
    protein_align,
    protein_sites,
    protein_tables_of,
)
from tests.oracles.credibility import agreement, coverage, repetition

SEED = 41
SITES = load_sites("vertebrate")
WITH_LAWS = sorted(
    {*shipped_in(resource_path("models", "sites"))}
    & {*shipped_in(resource_path("models", "significance"))}
)
"""Site models with laws of their own; other ones take those of `vertebrate`."""


def draw(random, law, count):
    """Return best scores that follow a law, by the inverse of its distribution."""
    return law.location - law.scale * np.log(-np.log(random.random(count)))


@pytest.mark.parametrize("law", [Gumbel(15.0, 3.0), Gumbel(-120.0, 11.5)])
def test_a_fit_finds_the_parameters(law):
    print(f"seed {SEED}")
    found = fit_gumbel(draw(np.random.default_rng(SEED), law, 20_000))
    assert found.location == pytest.approx(law.location, abs=0.03 * law.scale)
    assert found.scale == pytest.approx(law.scale, rel=0.03)


def test_evalues_are_the_frequencies_of_higher_scores():
    print(f"seed {SEED}")
    law = Gumbel(20.0, 4.0)
    scores = draw(np.random.default_rng(SEED), law, 200_000)
    for threshold in (10, 20, 30, 40):
        assert law.evalue(threshold) == pytest.approx(np.mean(scores >= threshold), rel=0.1)


def test_evalues_far_away():
    law = Gumbel(0.0, 2.0)
    assert law.evalue(-1e6) == 1
    assert law.evalue(200) == pytest.approx(math.exp(-100))
    assert law.evalue(1e6) == 0


def test_equal_scores_have_the_least_scale():
    assert fit_gumbel([7, 7, 7])[:2] == (7 - EULER * LEAST_SCALE, LEAST_SCALE)


@pytest.mark.parametrize("scores", [[], [3]])
def test_too_few_scores(scores):
    with pytest.raises(ValueError, match="expected at least 2"):
        fit_gumbel(scores)


def simulated(random, count):
    """Return circumstances of a wide range, a model, and scores that follow it."""
    where = Circumstances(
        np.exp(random.uniform(math.log(50), math.log(2000), count)),
        np.exp(random.uniform(math.log(1e4), math.log(1e6), count)),
        random.uniform(0.2, 0.3, count),
    )
    mean = (5.0, 3.0, -1.0, -12.0, 20.0, -20.0, 340.0, 30.0, 2.0, 1.0, 5.0, 10.0)
    model = NullModel(mean, (3.5, 0.9, 0.1), 1e5, 1e4)
    uniform = random.random(count)
    scores = [
        law.location - law.scale * math.log(-math.log(u))
        for law, u in zip(model.laws(where), uniform, strict=True)
    ]
    return where, model, np.array(scores)


def test_a_fit_finds_how_the_law_depends_on_circumstances():
    print(f"seed {SEED}")
    random = np.random.default_rng(SEED)
    where, model, scores = simulated(random, 4000)
    found = fit_null_model(where, scores, 1e5)
    others, *_ = simulated(random, 500)
    for known, fitted in zip(model.laws(others), found.laws(others), strict=True):
        assert fitted.location == pytest.approx(known.location, abs=0.35 * known.scale)
        assert fitted.scale == pytest.approx(known.scale, rel=0.15)
    passing = [law.evalue(s) <= 0.01 for law, s in zip(found.laws(where), scores, strict=True)]
    assert 0.005 < np.mean(passing) < 0.015


def test_terms_of_the_usual_circumstances_vanish():
    """At 400 nucleotides, 100,000 of space and even composition three terms are left."""
    means, variances = terms_of(Circumstances(*(np.array([x]) for x in (400.0, 1e5, 0.25))), 1e5)
    assert means.tolist() == [[1, 0, 0, 0.4, 0, 0, 0, 0, 0, 0, 0, 0]]
    assert variances.tolist() == [[1, 0, 0]]


def test_a_smaller_space_than_any_that_was_looked_at_counts_as_the_least():
    model = NullModel((0.0, 4.0) + (0.0,) * 10, (0.0, 0.0, 0.0), 1e5, 1e5)
    small, least, large = model.laws(
        Circumstances(np.full(3, 400.0), np.array([10.0, 1e5, 1e6]), np.full(3, 0.25))
    )
    assert small == least
    assert large.smaller == (least,)
    assert large.location - least.location == pytest.approx(4 * math.log(10))
    assert least.scale == pytest.approx(1 / SPREAD)


def test_a_margin_widens_the_law_where_it_is():
    where = Circumstances(*(np.array([x]) for x in (300.0, 1e5, 0.25)))
    model = NullModel((20.0,) + (1.0,) * 11, (3.0, 0.0, 0.0), 1e5, 1.0)
    (law,), (wider,) = model.laws(where), replace(model, margin=2.0).laws(where)
    assert wider[:2] == (law.location, 2 * law.scale)


def test_a_shift_moves_the_location_with_the_repetition():
    """By scales, with a margin by its wider ones, and at least by the least."""
    where = Circumstances(*(np.full(3, x) for x in (300.0, 1e5, 0.25)), np.array([0.2, 0.3, 0.4]))
    model = NullModel((20.0,) + (1.0,) * 11, (3.0, 0.0, 0.0), 1e5, 1.0, margin=2.0)
    plain = model.laws(where)
    laws = replace(model, shift=RepetitionShift(0.3, 30.0, -1.0)).laws(where)
    moved = [(a.location - b.location) / b.scale for a, b in zip(laws, plain, strict=True)]
    assert moved == pytest.approx([-1, 0, 3])
    assert [law.scale for law in laws] == [law.scale for law in plain]


def test_a_smaller_agreement_than_the_least_counts_as_the_least():
    """1,000 nucleotides that agree half a percent more have 10 * 0.005 * 100 points more."""
    model = NullModel((0.0,) * 6 + (100.0,) + (0.0,) * 5, (0.0, 0.0, 0.0), 1e5, 1e4)
    where = Circumstances(np.full(4, 1e3), np.full(4, 1e5), np.array([0.2, 0.245, 0.25, 0.255]))
    free, limited = model.laws(where), replace(model, least_agreement=0.25).laws(where)
    assert limited == [free[2], free[2], free[2], free[3]]
    assert [law.location - free[2].location for law in free] == pytest.approx([-50, -5, 0, 5])


@pytest.mark.parametrize("names", ["shipped", "falling"])
def test_an_evalue_never_falls_with_the_space_and_never_rises_with_the_score(names):
    """For each shipped law, and one whose location and scale fall as the space grows."""
    falling = NullModel((50.0, -2.0) + (0.0,) * 10, (5.0, 0.0, -0.3), 1e5, 1e4)
    models = [model for _, model in shipped_models()] if names == "shipped" else [falling]
    spaces = np.geomspace(50, 1e9, 25)
    for model, length, share in product(models, (30.0, 300.0, 3000.0), (0.06, 0.25, 0.3)):
        where = Circumstances(*(np.full(25, x) for x in (length, 1.0, share, 0.25)))
        laws = model.laws(where._replace(spaces=spaces))
        lowest = min(law.location for law in laws)
        highest = max(law.location + 30 * law.scale for law in laws)
        scores = np.linspace(lowest, highest, 12)
        found = np.array([[law.evalue(score) for score in scores] for law in laws])
        assert (np.diff(found, axis=1) <= 0).all()
        before, after = found[:-1], found[1:]
        assert ((after >= before * (1 - 1e-9)) | (before > 0.3)).all()


def test_the_larger_of_the_law_and_the_chance_of_a_copy_counts():
    law = Gumbel(10.0, 2.0, least=0.02)
    assert law.evalue(1e6) == 0.02
    assert law.evalue(12) == Gumbel(10.0, 2.0).evalue(12)
    assert law.score_at(0.05) == Gumbel(10.0, 2.0).score_at(0.05)
    assert law.score_at(0.01) == NO_SCORE


def test_laws_of_smaller_spaces_count():
    """Far from the location that of the largest scale has the largest E-value."""
    law = Gumbel(12.0, 1.0, smaller=(Gumbel(10.0, 3.0),))
    assert law.evalue(12.5) == Gumbel(12.0, 1.0).evalue(12.5)
    assert law.evalue(40) == Gumbel(10.0, 3.0).evalue(40)
    for evalue in (0.5, 1e-9):
        assert law.evalue(law.score_at(evalue)) == pytest.approx(evalue)


def test_a_law_is_known_up_to_the_largest_agreement():
    model = NullModel((0.0,) * 12, (0.0, 0.0, 0.0), 1e5, 1e4, largest_agreement=0.27)
    where = Circumstances(np.full(3, 400.0), np.full(3, 1e5), np.array([0.2, 0.27, 0.271]))
    assert [law.known for law in model.laws(where)] == [True, True, False]


@pytest.mark.parametrize("name", WITH_LAWS)
@pytest.mark.parametrize("reading", ["any", "complete", "incomplete"])
@pytest.mark.parametrize("ends", ["global", "free-target", "free"])
def test_every_shipped_site_model_has_parameters(name, reading, ends):
    """If this fails a model has changed: run resources/models/calibrate.py."""
    for cost, coding in product((0, 5), (False, True)):
        scoring = SplicedScoring(ends=ends, end_cost=cost)
        assert null_model(scoring, reading, load_sites(name), coding) is not None


def test_the_next_smaller_cost_of_clipped_ends_counts():
    models = {
        cost: null_model(SplicedScoring(ends="free-target", end_cost=cost), "any", SITES)
        for cost in (0, 3, 5, 1000)
    }
    assert models[3] == models[0] != models[5] == models[1000]
    whole = [null_model(SplicedScoring(end_cost=cost), "any", SITES) for cost in (0, 5)]
    assert whole[0] == whole[1]


def test_targets_that_are_coding_have_parameters_of_their_own():
    of_kind = [null_model(SplicedScoring(), "any", SITES, coding) for coding in (False, True)]
    assert of_kind[0] != of_kind[1]
    whole = [null_model(SplicedScoring(), "complete", SITES, coding) for coding in (False, True)]
    assert whole[0] == whole[1]


@pytest.mark.parametrize(
    ("reading", "ends"),
    [("any", "free"), *product(("any", "complete", "incomplete"), ("global", "free-target"))],
)
@pytest.mark.parametrize(("weight", "penalty"), [(0, 0), (0.5, 10)])
def test_list_mode_has_parameters(reading, ends, weight, penalty):
    scoring = SplicedScoring(exon_weight=weight, intron_penalty=penalty, ends=ends)
    assert null_model(scoring, reading) is not None
    assert null_model(scoring, reading) != null_model(scoring, reading, load_sites("vertebrate"))


@pytest.mark.parametrize("ends", ["global", "free-target"])
def test_proteins_have_parameters(ends):
    """For each site model with laws, and for listed candidates, with the command's weights."""
    listed = ProteinScoring(load_matrix("BLOSUM62"), ends=ends, **CANDIDATE_WEIGHTS)
    scoring = ProteinScoring(load_matrix("BLOSUM62"), ends=ends)
    found = [null_model(listed), *(
        null_model(scoring, sites=protein_sites(load_sites(name))) for name in WITH_LAWS
    )]  # fmt: skip
    assert None not in found
    assert len(set(found)) == len(found) == len(WITH_LAWS) + 1
    for other in ({"exon_weight": 0.5}, {"intron_penalty": 10}, {"gap_open": 9}):
        assert null_model(replace(listed, **other)) is None
    assert null_model(scoring) is None


@pytest.mark.parametrize(
    "scores", [{"match": 2}, {"mismatch": -2}, {"gap": -3}, {"exon_weight": 1},
               {"intron_penalty": 3}, {"matrix": np.eye(5, dtype=int)}]
)  # fmt: skip
def test_other_scores_have_none(scores):
    assert null_model(SplicedScoring(**scores)) is None


def test_another_site_model_has_none():
    model = load_sites("vertebrate")
    assert null_model(sites=replace(model, name="mine", source="mine")) is not None
    for other in (model.with_penalty(3), model.with_shortest_intron(70),
                  replace(model, points_per_bit=2.0), replace(model, begin=-3)):  # fmt: skip
        assert other.fingerprint != model.fingerprint
        assert null_model(sites=other) is None


def test_a_longest_intron_has_the_parameters_without_one():
    """It lowers the scores of unrelated targets, so that E-values are on the safe side."""
    model = load_sites("vertebrate")
    assert null_model(sites=model.with_longest_intron(5000)) == null_model(sites=model)


def test_the_weights_of_list_mode_do_not_count_in_site_mode():
    scoring = SplicedScoring(exon_weight=2, intron_penalty=4)
    assert setting_of(scoring, "any", "x") == setting_of(SplicedScoring(), "any", "x")


def test_circumstances():
    base = Sequence.from_text("b", "AACGTTTNGA")
    targets = [Sequence.from_text("t", text) for text in ("ACCA", "GGNT")]
    two = ExonSet.from_intervals([(0, 3), (0, 3), (1, 3)])  # one of them twice
    cases = [
        Case(base, target, e) for target, e in zip(targets, (ExonSet.empty(), two), strict=True)
    ]
    site = SiteCase(base, targets[0], tables_of(base, load_sites("vertebrate"), "+-"))
    assert (site.space, replace(site, tables={"+": site.tables["+"]}).space) == (20, 10)
    where = circumstances_of(cases)
    assert where.lengths.tolist() == [4, 4]
    assert where.spaces.tolist() == [1, 2]
    expected = [agreement("AACGTTTNGA", text) for text in ("ACCA", "GGNT")]
    assert where.agreements == pytest.approx(expected)
    assert where.repetitions == pytest.approx([repetition("ACCA"), repetition("GGNT")])


@pytest.mark.parametrize("seed", range(5))
def test_repetition(seed):
    """Of short targets, too, with N and of few kinds of nucleotides."""
    print(f"seed {seed}")
    random = np.random.default_rng(seed)
    for length in (*range(9), 40, 300):
        text = "".join(random.choice(list("ACGTN"), length, p=(0.5, 0.2, 0.1, 0.1, 0.1)))
        assert repetition_of(Sequence.from_text("t", text)) == pytest.approx(repetition(text))


def test_repetition_of_codons():
    """Equal codons have 1, and the frame does not matter."""
    assert repetition_of(Sequence.from_text("t", "GGC" * 40)) == 1
    assert repetition_of(Sequence.from_text("t", "A" + "GGC" * 40)) == pytest.approx(1, abs=0.02)
    random = np.random.default_rng(1).integers(0, 4, 30_000).astype(np.uint8)
    assert repetition_of(Sequence("t", random)) == pytest.approx(0.25, abs=0.002)


def test_proteins_have_no_repetition():
    protein = ProteinSequence.from_text("p", "MGGGG")
    (law,) = genome_circumstances(Composition(4, (1, 1, 1, 1)), [protein]).repetitions
    assert law == 0.25


@pytest.mark.parametrize("reading", ["complete", "incomplete"])
@pytest.mark.parametrize(("ends", "even"), [("global", 0.27), ("free-target", 0.265)])
def test_a_listed_coding_target_of_few_codons_has_a_higher_law(reading, ends, even):
    """The targets have equal compositions, so that the repetition alone differs."""
    model = null_model(SplicedScoring(exon_weight=0.5, intron_penalty=10, ends=ends), reading)
    base = Sequence.from_text("b", "ACGT" * 2500)
    random = np.random.default_rng(3)
    mixed = "".join(random.permutation(list("GGC" * 100)))
    targets = [Sequence.from_text("t", text) for text in (mixed, "GGC" * 100)]
    usual, repeated = null_laws(model, [Case(base, t, ExonSet.empty()) for t in targets])
    assert usual.scale == repeated.scale
    difference = 50 * (repetition("GGC" * 100) - max(repetition(mixed), even))
    assert repeated.location - usual.location == pytest.approx(difference * usual.scale)


@pytest.mark.parametrize(("letters", "kind"), [("ACG", Sequence), ("MWK", ProteinSequence)])
def test_copies_that_chance_makes_of_a_target(letters, kind):
    """On both strands of 1,000 even nucleotides; a residue has one that is similar."""
    base, target = Sequence.from_text("b", "ACGT" * 250), kind.from_text("t", letters)
    codons = {"M": 1, "W": 1, "K": 2}
    chance = math.prod(codons[x] / 32 if kind is ProteinSequence else 1 / 4 for x in letters)
    found = circumstances_of([Case(base, target, ExonSet.empty())]).copies
    assert np.exp(found) == pytest.approx(2000 * chance)
    longer = kind.from_text("t", letters + "NX"[kind is ProteinSequence])
    (with_unknown,) = genome_circumstances(Composition(1000, (250,) * 4), [longer]).copies
    assert np.exp(with_unknown) == pytest.approx(2000 * chance)


@pytest.mark.parametrize(
    ("kind", "letters", "base", "least"),
    [
        (Sequence, "ACCA", "AATT" * 250, 0.0),  # the base has no C
        (ProteinSequence, "MG", "AATT" * 250, 0.0),  # nor a codon of G
        (Sequence, "ACCA", "N" * 1000, 1.0),  # or it is not known what it has
    ],
)
def test_a_base_without_a_symbol_has_no_copy_of_it(kind, letters, base, least):
    case = Case(Sequence.from_text("b", base), kind.from_text("t", letters), ExonSet.empty())
    assert circumstances_of([case]).least_evalues() == [pytest.approx(least)]


@pytest.mark.parametrize("seed", [1, 2])
@pytest.mark.parametrize("residues", [1, 3, 5])
def test_short_random_proteins_are_not_credible(seed, residues):
    """On 4.5 kb one in a hundred, at most, has an E-value of 0.01 or less."""
    print(f"seed {seed}")
    random = np.random.default_rng(seed)
    base = Sequence("b", random.integers(0, 4, 4500).astype(np.uint8))
    scoring, sites = ProteinScoring(load_matrix("BLOSUM62")), protein_sites(load_sites("worm"))
    tables = protein_tables_of(base, sites, scoring)
    letters = ["".join(random.choice(list("ACDEFGHIKLMNPQRSTVWY"), residues)) for _ in range(400)]
    cases = [ProteinCase(base, ProteinSequence.from_text("t", text), tables) for text in letters]
    found = protein_align(cases, scoring, device="cpu")
    judged = with_evalues(found, null_laws(null_model(scoring, sites=sites), cases))
    assert sum(one.score is not None and one.evalue <= 0.001 for one in judged) <= 1
    assert sum(one.score is not None and one.evalue <= 0.01 for one in judged) <= 8


def test_no_case_has_no_law():
    assert null_laws(null_model(), []) == []


def test_evalues_of_alignments():
    chain = SplicedAlignment("b", "t", 9, 5, "+", 30, chain=((0, 5),), cigar=(("=", 5),))
    none = SplicedAlignment("b", "t", 9, 5)
    law = Gumbel(20.0, 3.0)
    found = with_evalues([chain, none, chain], [law, law, None])
    assert [a.evalue for a in found] == [law.evalue(30), None, None]
    assert found[0] == replace(chain, evalue=law.evalue(30))


@pytest.mark.parametrize("seed", range(5))
def test_coverage(seed):
    print(f"seed {seed}")
    random = np.random.default_rng(seed)
    letters, counts = random.choice(list("=XIDN"), 30), random.integers(1, 9, 30)
    cigar = tuple((str(letter), int(n)) for letter, n in zip(letters, counts, strict=True))
    length = sum(n for letter, n in cigar if letter in "=XI") + int(random.integers(0, 20))
    alignment = SplicedAlignment("b", "t", 999, length, "+", 1, chain=((0, 5),), cigar=cigar)
    assert alignment.coverage == coverage(cigar, length)
    assert SplicedAlignment("b", "t", 9, 5).coverage is None


@pytest.mark.parametrize("sites", [None, *WITH_LAWS])
def test_a_coding_target_unlike_the_base_counts_as_one_of_its_composition(sites):
    """A target of G and C alone on a base of A and T has the law of one that agrees by chance.

    Its repetition, which list mode's laws regard, does not count here.
    """
    scoring = SplicedScoring() if sites else SplicedScoring(exon_weight=0.5, intron_penalty=10)
    model = replace(null_model(scoring, "complete", sites and load_sites(sites)), shift=None)
    base = Sequence.from_text("b", "AATT" * 2500)
    targets = [Sequence.from_text("t", text * 150) for text in ("GGCC", "ACGT", "AATT")]
    laws = null_laws(model, [Case(base, target, ExonSet.empty()) for target in targets])
    assert laws[0] == laws[1]
    assert laws[2].location > laws[1].location
