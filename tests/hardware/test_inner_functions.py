"""Functions that only compiled functions call wait for their callers."""

import gc

import pytest
from numba import njit

from gpu_tools.hardware import inner_functions
from gpu_tools.hardware.inner_functions import compiling_inner, is_tested


@pytest.fixture
def ours(monkeypatch):
    """Have the functions of this module compiled as those of the package."""
    monkeypatch.setattr(inner_functions, "is_ours", lambda file: True)


def _called_and_caller():
    @njit
    def called(x):
        if x < 0:
            raise ValueError("below zero", x)
        return x + 1

    @njit
    def caller(x):
        return 2 * called(x)

    return called, caller


def _inner(function) -> list[bool]:
    """Tell of each signature of a function whether it was compiled for compiled callers only."""
    return [inner_functions._is_inner(each.library) for each in function.overloads.values()]


def test_what_a_function_of_the_package_calls_waits_for_it(ours):
    called, caller = _called_and_caller()
    assert caller(3) == 8
    assert (_inner(called), _inner(caller)) == ([True], [False])
    with pytest.raises(ValueError, match="'below zero', -2"):
        caller(-2)


def test_python_calls_what_was_there_for_compiled_callers_only(ours):
    called, caller = _called_and_caller()
    assert (caller(3), called(3), caller(3)) == (8, 4, 8)
    assert _inner(called) == [False]


def test_what_python_has_called_is_not_compiled_again(ours):
    called, caller = _called_and_caller()
    assert (called(3), caller(3)) == (4, 8)
    assert _inner(called) == [False]


def test_functions_of_others_are_compiled_as_numba_does_it():
    called, caller = _called_and_caller()
    assert caller(3) == 8
    assert (_inner(called), _inner(caller)) == ([False], [False])


def test_a_function_that_was_stored_for_compiled_callers_is_not_stored_for_python(
    ours, monkeypatch, tmp_path
):
    """The cache is read by functions that have no signatures yet, as by another process."""
    monkeypatch.setattr("numba.config.CACHE_DIR", str(tmp_path))

    def plus_one(x):
        return x + 1

    def loaded(inner):
        function = njit(cache=True)(plus_one)
        with compiling_inner(inner):
            function.compile("int64(int64)")
        return _inner(function), sum(function.stats.cache_hits.values())

    found = [loaded(inner) for inner in (True, True, False, False)]
    assert found == [([True], 0), ([True], 1), ([False], 0), ([False], 1)]


def test_the_garbage_collector_goes_on_behind_a_compilation(ours):
    called, _ = _called_and_caller()
    called(3)
    assert gc.isenabled()


def test_only_versions_of_numba_that_were_tested_are_mended():
    versions = {"0.60.0": False, "0.61.0": True, "0.68.1": True, "0.69.0rc1": False, "1.0": False}
    assert {version: is_tested(version) for version in versions} == versions
