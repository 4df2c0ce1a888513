"""The time model is sane, figures are found where they were stored, and fits find figures."""

import itertools
import json
from dataclasses import asdict, replace

import numpy as np
import pytest

from gpu_tools import (
    Case,
    ExonSet,
    Sequence,
    SiteCase,
    calibrate_device,
    device_figures,
    estimated_seconds,
    spliced_estimate,
    store_figures,
)
from gpu_tools.estimate import figures
from gpu_tools.estimate.api import expected_seconds
from gpu_tools.estimate.figures import Sample, sample_cases, shipped_figures, stored_figures
from gpu_tools.estimate.model import (
    CALL,
    CPU,
    FEATURES,
    GPU,
    LIST,
    MODES,
    SITE,
    case_work,
)

KINDS = [shipped_figures(CPU), shipped_figures(GPU)]


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    """A cache folder of the test's own."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    return tmp_path / "gpu-tools"


def case_of(exons, exon, target):
    """Return a case of exons that do not overlap."""
    starts = [k * (exon + 10) for k in range(exons)]
    intervals = [(start, start + exon) for start in starts]
    base = Sequence("b", np.zeros(100_000, np.uint8))
    return Case(base, Sequence("t", np.zeros(target, np.uint8)), ExonSet.from_intervals(intervals))


def seconds(case):
    return spliced_estimate([case], KINDS)[0].seconds


def test_more_work_takes_no_less_time_and_none_is_negative():
    shapes = list(itertools.product((1, 5, 100), (1, 50, 700), (1, 90, 3000)))
    found = {shape: seconds(case_of(*shape)) for shape in shapes}
    assert min(value for own in found.values() for value in own.values()) >= 0
    for one, other in itertools.product(shapes, shapes):
        if all(a <= b for a, b in zip(one, other, strict=True)):
            assert all(found[one][key] <= found[other][key] for key in found[one])


@pytest.mark.parametrize("mode", MODES)
def test_cases_add_up_on_a_cpu_and_overlap_on_a_gpu(mode):
    cases = [case_of(3, 40, 100), case_of(80, 120, 1500), case_of(20, 300, 700)]
    for own in KINDS:
        call = own.seconds[mode][CALL]
        each = [estimated_seconds([case], own, mode) - call for case in cases]
        together = estimated_seconds(cases, own, mode) - call
        if own.kind == CPU:
            assert together == pytest.approx(sum(each))
            shared = case_work(cases).threads[mode]
            assert mode == SITE or (shared == 1).all()
            on_many_threads = estimated_seconds(cases, own, mode, threads=50)
            longest = max(each / np.minimum(shared, 50))
            assert on_many_threads == pytest.approx(call + max(longest, sum(each) / 50))
        assert max(each) <= together <= sum(each) + 1e-12
    assert estimated_seconds([], KINDS[0]) == 0


def test_commands_expect_what_the_model_says():
    case = case_of(40, 150, 1200)
    site = SiteCase(case.base, case.target, {})
    for kind, own in zip((CPU, GPU), KINDS, strict=True):
        for mode, each in ((LIST, case), (SITE, site)):
            expected = estimated_seconds([case], own, mode, 2)
            assert expected_seconds([each], kind, 2) == pytest.approx(expected)
    assert expected_seconds([case, "protein"], CPU, 2) is None


def test_times_have_the_magnitude_of_cells():
    """A core does some 10^10 cells a second, a GPU 10^12; nothing is nearer than a factor of 10."""
    cases = sample_cases(Sample(50_000, 80, 150, 2_500, 50))
    cells = sum(case.cells for case in cases)
    rates = {own.kind: cells / estimated_seconds(cases, own) for own in KINDS}
    assert 1e9 < rates[CPU] < 1e11
    assert 1e10 < rates[GPU] < 1e13
    swept = sum(2 * len(case.base) * len(case.target) for case in cases)
    assert 1e9 < swept / estimated_seconds(cases, KINDS[0], SITE) < 1e11
    assert 1e9 < swept / estimated_seconds(cases, KINDS[1], SITE) < 1e13


@pytest.mark.parametrize(("device", "kind"), [(CPU, CPU), ("cuda:0", GPU)])
def test_a_calibration_finds_the_figures_and_reports_all_its_weights(monkeypatch, device, kind):
    """Times that follow the model are explained by it, whatever else the fit weighs."""
    truth = {mode: [1e-3, *np.full(len(FEATURES[mode, kind]), 1e-9)] for mode in MODES}
    told = []

    def seconds_of(calls, device, tell, weights):
        told.extend(weights)
        return [figures.call_features(mode, kind, own) @ truth[mode] for mode, own in calls]

    monkeypatch.setattr(figures, "call_of", lambda mode, cases, device: (mode, cases))
    monkeypatch.setattr(figures, "least_seconds", seconds_of)
    monkeypatch.setattr(figures, "device_name", lambda kind: kind)
    if kind == GPU:
        tiny = {key: (Sample(300, 2, 20, 20),) for key in figures.SAMPLES}
        monkeypatch.setattr(figures, "SAMPLES", tiny)
    found = calibrate_device(device)
    assert sum(told) == figures.calibration_weights(device)
    for mode in MODES if kind == CPU else ():
        case = case_of(40, 150, 1200)
        features = case_work([case]).features[mode, kind]
        expected = truth[mode][0] + float(features[0] @ truth[mode][1:])
        assert found.each(mode, features)[0] == pytest.approx(expected, rel=0.02)


def test_figures_are_those_of_this_device_and_version(folder):
    own = replace(KINDS[0], device=figures.device_name(CPU), version=figures.installed_version())
    assert stored_figures(CPU) is None
    assert device_figures(CPU) == KINDS[0]
    path = store_figures(own)
    assert path.parent == folder
    assert device_figures(CPU) == own
    for change in ({"version": "0"}, {"device": "another"}, {"kind": GPU}):
        path.write_text(json.dumps(asdict(replace(own, **change))))
        assert stored_figures(CPU) is None
    assert figures.was_calibrated(CPU)
    assert not figures.was_calibrated(GPU)


DAMAGED = ["", "[]", "{}", '{"kind": 1}', "NaN", "1", '{"seconds": -1}']


@pytest.mark.parametrize("change", [*DAMAGED, -1.0, float("nan"), float("inf"), None], ids=repr)
def test_damaged_figures_count_as_absent(change):
    """A whole file, or the time of a call."""
    own = replace(KINDS[0], device=figures.device_name(CPU), version=figures.installed_version())
    path, text = store_figures(own), change
    if not isinstance(change, str):
        content = asdict(own)
        content["seconds"][LIST][CALL] = change
        text = json.dumps(content)
    path.write_text(text)
    assert stored_figures(CPU) is None


def test_without_a_home_figures_lie_in_a_private_folder(monkeypatch, tmp_path):
    (tmp_path / "file").touch()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    monkeypatch.setattr(figures, "private_folder", lambda: tmp_path / "private")
    assert figures.cache_folder() == tmp_path / "private"


def test_the_least_time_counts_and_long_calls_are_timed_twice(monkeypatch):
    clock, done = [0.0], []
    steps = {"short": iter([9.0, 0.5, 0.2, 0.4]), "long": iter([3.0, 2.0])}

    def call(name):
        return lambda: (done.append(name), clock.__setitem__(0, clock[0] + next(steps[name])))

    monkeypatch.setattr(figures.time, "thread_time", lambda: clock[0])
    told = []
    calls, weights = [call("short"), call("long")], figures.weights_of([0, 3e-6])
    found = figures.least_seconds(calls, CPU, told.append, rounds=3, weights=weights)
    assert found == pytest.approx([0.2, 2.0])
    assert (done.count("short"), done.count("long"), told) == (4, 2, [1, 3] * 3)


def test_sites_of_a_base_are_scored_once_on_a_gpu():
    """A second target of a base adds less than the same case on a base of its own."""
    case, gpu = case_of(3, 40, 100), KINDS[1]
    other = replace(case, base=Sequence("c", case.base.codes))
    same, apart = (estimated_seconds([case, second], gpu, SITE) for second in (case, other))
    nucleotides = gpu.seconds[SITE]["nucleotides"] * 2 * len(case.base)
    assert apart - same == pytest.approx(nucleotides)
    site = [SiteCase(each.base, each.target, {}) for each in (case, case)]
    assert expected_seconds(site, GPU, 1) == pytest.approx(same)
