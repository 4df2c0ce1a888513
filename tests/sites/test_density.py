"""Sites per kb of a model."""

import numpy as np
import pytest

from gpu_tools.model.sequences import OTHER
from gpu_tools.sites.model import load_sites, sites_from_dict
from gpu_tools.sites.table import CLOSED
from gpu_tools.sites.training import CHUNK, sites_per_kb_of
from tests.sites.test_model import content


def text_codes(rng, n):
    return rng.integers(0, 4, n).astype(np.uint8)


def test_counts_are_those_of_tables():
    rng = np.random.default_rng(5)
    model, strands = load_sites("fly"), [text_codes(rng, 3000), text_codes(rng, 700)]
    tables = [model.table(codes) for codes in strands]
    found = sites_per_kb_of(model, strands)
    for per_kb, name in zip(found, ("inner_exit", "inner_entry"), strict=True):
        count = sum(int((getattr(table, name) != CLOSED).sum()) for table in tables)
        assert per_kb == pytest.approx(count / 3.7, abs=0.01)


def test_unknown_nucleotides_do_not_count():
    codes = np.tile(np.array([2, 3, 0, 2], dtype=np.uint8), 100)  # GTAG
    model = sites_from_dict(content())
    alone = sites_per_kb_of(model, [codes])
    assert alone.donors == pytest.approx(250)
    unknown = np.full(5000, OTHER, dtype=np.uint8)
    assert sites_per_kb_of(model, [np.concatenate([codes, unknown]), unknown]) == alone
    assert sites_per_kb_of(model, [unknown]) == (0, 0)


def test_long_strands_are_sampled():
    codes = text_codes(np.random.default_rng(6), CHUNK // 4)
    once = sites_per_kb_of(load_sites("fly"), [codes])
    sampled = sites_per_kb_of(load_sites("fly"), [np.tile(codes, 4)] * 50)
    assert sampled == pytest.approx(once, rel=0.001)
