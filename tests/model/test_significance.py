"""Laws of best scores: fits find the parameters of simulated ones."""

import math
from dataclasses import replace
from itertools import product

import numpy as np
import pytest

from gpu_tools import Gumbel, fit_gumbel
from gpu_tools.model.significance import (
    EULER,
    LEAST_SCALE,
    NO_SCORE,
    SPREAD,
    Circumstances,
    NullModel,
    RepetitionShift,
    _shipped,
    fit_null_model,
    terms_of,
)

SEED = 41


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
    models = [model for _, model in _shipped()] if names == "shipped" else [falling]
    spaces = np.geomspace(50, 1e9, 25)
    for model, length, agreement in product(models, (30.0, 300.0, 3000.0), (0.06, 0.25, 0.3)):
        where = Circumstances(*(np.full(25, x) for x in (length, 1.0, agreement, 0.25)))
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
