"""Compiled functions on disk are right, whatever processes and disks do to them."""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace
from unittest.mock import MagicMock

import numba
import pytest

from gpu_tools.hardware import about_to_compile, compiled, once_compiling
from gpu_tools.hardware.compiled import load_one_by_one, njit
from gpu_tools.hardware.device import simulated

_PACKAGE = Path(compiled.__file__).parents[1]
_CALLER = """
import sys
import time

import numpy as np
from numba.core import event

from gpu_tools.hardware.compiled import njit
from gpu_tools.hardware import about_to_compile, once_compiling
from gpu_tools.called import called

class Compiled(event.Listener):
    n = 0

    def on_start(self, found):
        if found.data["dispatcher"] is caller:
            self.n += 1
            print("compiles", flush=True)
            time.sleep(float(sys.argv[1]))

    def on_end(self, found):
        pass

compiled = Compiled()
event.register("numba:compile", compiled)

@njit(cache=True, nogil=True)
def caller(x):
    return called(x)

if __name__ == "__main__":
    value = caller(getattr(np, sys.argv[2])(1))
    print(compiled.n, value, caller.stats.cache_path)
"""
_CALLED = """
from gpu_tools.hardware.compiled import njit
from gpu_tools.hardware import about_to_compile, once_compiling

@njit
def called(x):
    return x + {}
"""

_RAISER = """
import sys

import numpy as np
from numba.core import event

from gpu_tools.hardware.compiled import njit

class Compiled(event.Listener):
    names = []

    def on_start(self, found):
        self.names.append(found.data["dispatcher"].py_func.__name__)

    def on_end(self, found):
        pass

event.register("numba:compile", Compiled())

@njit
def inner(count):
    if count < -1:
        raise ValueError("too few", count)
    return np.empty(count)

@njit
def between(count):
    return inner(count).size

@njit(cache=True)
def made(count):
    return inner(count).size + between(count)

for count in (-1, -2):
    try:
        made(count)
    except ValueError as error:
        print(*error.args)
print(Compiled.names.count("inner"), made(3), "numba.np.arrayobj" in sys.modules)
"""


@pytest.fixture
def small_package(tmp_path):
    """Make a package with the compile cache and one function; return how to run its module."""
    package, cache = tmp_path / "lib" / "gpu_tools", tmp_path / "cache"
    (package / "hardware").mkdir(parents=True)
    (package / "__init__.py").touch()
    for path in [_PACKAGE / "errors.py", *(_PACKAGE / "hardware").glob("*.py")]:
        shutil.copy(path, package / path.relative_to(_PACKAGE))
    (package / "caller.py").write_text(_CALLER)
    (package / "called.py").write_text(_CALLED.format(1))
    (tmp_path / "tmp").mkdir()

    def start(seconds=0, kind="int64", **environment):
        changed = {
            "PYTHONPATH": str(tmp_path / "lib"), "NUMBA_CACHE_DIR": "", "HOME": "/proc/none",
            "XDG_CACHE_HOME": str(cache), "TMPDIR": str(tmp_path / "tmp"), **environment,
        }  # fmt: skip
        return subprocess.Popen(
            [sys.executable, "-m", "gpu_tools.caller", str(seconds), kind], cwd=tmp_path,
            env=os.environ | changed, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        )  # fmt: skip

    def end(process):
        out, errors = process.communicate()
        assert process.returncode == 0, errors
        count, value, folder = out.splitlines()[-1].split()
        return SimpleNamespace(
            count=int(count), value=value, folder=Path(folder).parent, errors=errors
        )

    def run(*arguments, **options):
        return end(start(*arguments, **options))

    return SimpleNamespace(
        folder=package, cache=cache, start=start, end=end, run=run, tmp=tmp_path / "tmp"
    )


def test_edits_of_what_a_compiled_function_calls_count_and_times_do_not(small_package):
    """Numba looks at the caller's own file alone, and at times, which archives and images round."""
    found = []
    for time_of_file, addend in enumerate((1, 1, 20)):
        (small_package.folder / "called.py").write_text(_CALLED.format(addend))
        os.utime(small_package.folder / "caller.py", (time_of_file, time_of_file))
        done = small_package.run()
        found.append((done.count, done.value))
    assert found == [(1, "2"), (0, "2"), (1, "21")]


def test_an_inner_function_is_compiled_once_and_raises_its_errors(small_package):
    (small_package.folder / "caller.py").write_text(_RAISER)
    for last_line in ("1 6 True", "0 6 False"):  # stored code imports nothing of the compiler
        out, errors = small_package.start().communicate()
        lines = ["negative dimensions not allowed", "too few -2", last_line, ""]
        assert (out, errors) == ("\n".join(lines), "")


def test_stored_code_declares_nothing_to_the_compiler():
    context = MagicMock()
    declare = context.refresh
    compiled._load(lambda signature, context: context.refresh(), None, context)
    assert not declare.called


def test_a_process_waits_for_one_that_compiles_and_finds_what_it_stored(small_package):
    first = small_package.start(3)
    assert first.stdout.readline() == "compiles\n"
    second = small_package.start()
    assert [small_package.end(each).count for each in (first, second)] == [1, 0]


def test_loading_does_not_wait_for_one_that_compiles(small_package):
    stored = small_package.run()
    compiling = small_package.start(120, "float64")
    try:
        assert compiling.stdout.readline() == "compiles\n"
        loaded = small_package.run()
        assert (loaded.count, loaded.value, loaded.errors) == (0, stored.value, "")
        assert compiling.poll() is None
    finally:
        compiling.kill()
        compiling.communicate()
    assert small_package.run(kind="float64").count == 1


def test_processes_that_compile_for_several_types_at_once_keep_all(small_package):
    """Without the lock two of them take the same number, and one finds the other's code."""
    kinds = ["int64", "float64", "float32"]
    for _ in range(2):
        processes = [small_package.start(kind=kind) for kind in kinds]
        done = [small_package.end(each) for each in processes]
        assert [each.value for each in done] == ["2", "2.0", "2.0"]
    assert [each.count for each in done] == [0] * 3


def _damage(path, damage):
    content = bytearray(path.read_bytes())
    content[len(content) // 3] ^= 1
    path.unlink()
    if damage == "folder":
        path.mkdir()
    else:
        path.write_bytes(content if damage == "byte" else b"")


def test_what_is_damaged_is_compiled_again_and_told(small_package):
    first = small_package.run()
    for suffix, damage in (("nbi", "byte"), ("nbc", "byte"), ("nbi", "empty"), ("nbc", "folder")):
        (path,) = first.folder.rglob(f"*caller*.{suffix}")
        _damage(path, damage)
        again = small_package.run()
        assert (again.count, again.value) == (1, first.value), (suffix, damage)
        assert again.errors.count("compiled code was damaged") == 1
    last = small_package.run()
    assert (last.count, last.value, last.errors) == (0, first.value, "")


def test_without_the_list_nothing_is_believed(small_package):
    path = small_package.run().folder / "checksums.json"
    for content in (None, "[]", "\\"):
        path.unlink()
        if content is not None:
            path.write_text(content)
        assert small_package.run().count == 1, content
    assert small_package.run().count == 0


def test_a_process_that_is_killed_leaves_nothing_that_is_believed(small_package):
    """It dies before the files are listed."""
    path = small_package.run().folder / "checksums.json"
    known = json.loads(path.read_text())
    path.write_text(json.dumps({name: known[name] for name in known if name.endswith("nbi")}))
    done = small_package.run()
    assert (done.value, done.errors) == ("2", "")
    assert small_package.run().count == 0


def test_without_a_home_the_cache_is_a_private_folder(small_package):
    done = small_package.run(XDG_CACHE_HOME="/proc/none")
    assert done.count == 1
    assert small_package.tmp / f"gpu-tools-{os.geteuid()}" in done.folder.parents
    assert small_package.run(XDG_CACHE_HOME="/proc/none").count == 0


def test_the_users_own_folder_is_respected(small_package, tmp_path):
    done = small_package.run(NUMBA_CACHE_DIR=str(tmp_path / "own"))
    assert done.folder.parent == tmp_path / "own" / "gpu-tools"
    assert os.environ.get("NUMBA_CACHE_DIR", "") == numba.config.CACHE_DIR


def _here(monkeypatch, *places):
    monkeypatch.setattr(compiled, "places", lambda: iter(places))
    return compiled.cache_folder.__wrapped__()


def test_code_of_a_folder_that_cannot_be_written_is_copied(tmp_path, monkeypatch):
    """As in an image."""
    shipped, own = tmp_path / "shipped", tmp_path / "own"
    folder = _here(monkeypatch, shipped)
    (folder / "one").mkdir()
    (folder / "one" / "a.nbi").write_bytes(b"index")
    compiled._list_files(folder)
    usable = compiled.usable
    monkeypatch.setattr(compiled, "usable", lambda f: f.parent != shipped and usable(f))
    found = _here(monkeypatch, shipped, own)
    assert found.parent == own
    assert (found / "one" / "a.nbi").read_bytes() == b"index"


def test_on_a_full_disk_nothing_is_stored(tmp_path, monkeypatch, caplog):
    monkeypatch.setattr(shutil, "disk_usage", lambda path: SimpleNamespace(free=9))
    assert _here(monkeypatch, tmp_path) is None
    assert "cannot be stored" in caplog.text
    monkeypatch.setattr(compiled, "cache_folder", lambda: None)
    function = njit(cache=True)(lambda x: x + 1)
    assert (function(1), function.stats.cache_path) == (2, None)


def test_folders_of_other_versions_go_when_they_were_not_used_for_long(tmp_path, monkeypatch):
    for name in ("old-one", "new-one"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "lock").touch()
    (tmp_path / "other").mkdir()
    os.utime(tmp_path / "old-one" / "lock", (1, 1))
    folder = _here(monkeypatch, tmp_path)
    assert {path.name for path in tmp_path.iterdir()} == {"new-one", "other", folder.name}


def test_an_inner_function_is_a_plain_one_for_python():
    """Code that Python could call is not compiled: a call must not reach it."""

    @njit
    def inner(x):
        return x + 1

    @njit(cache=True)
    def outer(x):
        return inner(x) + inner(x)

    assert (outer(1), inner(1), inner("x" * 0 or 1.5)) == (4, 2, 2.5)


_GPU_THEN_CPU = """
import numpy as np

from gpu_tools import SplicedScoring, case_columns, spliced_align, spliced_scores
from gpu_tools.spliced.case import graphs_of
from gpu_tools.spliced.cpu.sweep import sweep
from gpu_tools.spliced.cpu.traceback import Swept
from gpu_tools.spliced.gpu.launch import lay_out_graphs
from tests.cases import WORKED_EXAMPLE

case = WORKED_EXAMPLE.case()
strands = case_columns([case]).strands
lay_out_graphs(strands, SplicedScoring(), False, 1, lambda name, n, dtype: np.empty(n, dtype))
print(spliced_align([case], device="cpu")[0].score)
(graph,), target = graphs_of(case, SplicedScoring()), case.target.codes
swept = Swept(graph, sweep(graph, target, SplicedScoring()), target, SplicedScoring())
found = swept.result_fields()
columns = found["target_start"], found["target_end"]
print(swept.best.score, columns, spliced_scores([case], device="cpu"))
"""


def test_what_one_function_brings_along_from_the_cache_does_not_hide_another():
    """Numba loads a function once, also inside of another one, which Python then cannot call."""
    for _ in range(2):  # the second process finds everything in the cache
        done = subprocess.run(
            [sys.executable, "-c", _GPU_THEN_CPU], capture_output=True, text=True, check=False
        )
        assert (done.returncode, done.stdout, done.stderr) == (0, "3\n3 (0, 5) [3]\n", "")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupt_waits_until_code_is_loaded(number):
    arrived, before = [], signal.getsignal(number)
    signal.signal(number, lambda *_: arrived.append(number))
    try:
        with compiled.deferred_interrupts(), compiled.deferred_interrupts():
            signal.raise_signal(number)
            assert arrived == []
        assert arrived == [number]
    finally:
        signal.signal(number, before)


@pytest.mark.parametrize("one_by_one", [True, False])
def test_two_threads_that_start_a_kernel_at_once_load_it_once(one_by_one):
    """Without the lock both load it: the test sees what it is there for."""

    class Library:
        loads = 0
        loaded = None

        def get_cufunc(self):
            if self.loaded is None:
                time.sleep(0.2)
                self.loads += 1
                self.loaded = MagicMock()
            return self.loaded

    if one_by_one:
        load_one_by_one(Library)
    library = Library()
    with ThreadPoolExecutor(2) as pool:
        found = list(pool.map(lambda _: library.get_cufunc(), range(2)))
    assert library.loaded in found
    assert library.loads == (1 if one_by_one else 2)


def test_what_numba_has_loaded_is_not_unloaded_at_the_end_of_python():
    """With numba's own classes, which are told of a GPU that is not there."""
    pytest.importorskip("numba_cuda")
    if simulated():
        pytest.skip("the simulator loads nothing")
    from numba.cuda.cudadrv import driver

    modules = []

    class Library:
        def get_cufunc(self):
            modules.append(driver.load_module_image(MagicMock(), MagicMock()))
            return modules[-1].get_function("kernel")

    before = Library().get_cufunc()
    load_one_by_one(Library)
    after = Library().get_cufunc()
    assert [each.module._finalizer.atexit for each in (before, after)] == [True, False]
    assert modules[0]._finalizer.detach()


def test_kernels_are_loaded_one_by_one():
    pytest.importorskip("numba_cuda")
    if simulated():
        pytest.skip("the simulator loads nothing")
    from numba.cuda.codegen import CUDACodeLibrary

    import gpu_tools.hardware.gpu.intrinsics.words  # noqa: F401  (what every kernel comes from)

    assert hasattr(CUDACodeLibrary.get_cufunc, "__wrapped__")


def test_a_listener_is_called_once_and_not_behind_its_block():
    calls = []
    with once_compiling(lambda: calls.append("first")):
        about_to_compile()
        about_to_compile()
    with once_compiling(lambda: calls.append("second")):
        pass
    about_to_compile()
    assert calls == ["first"]


def test_folders_outside_of_the_digest_compile_nothing():
    package = Path(compiled.__file__).parents[1]
    texts = [path.read_text() for name in compiled.PLAIN for path in (package / name).rglob("*.py")]
    assert len(texts) > 40
    assert not any(re.search(r"^\s*(@.*njit|@cuda|@register_jitable)", t, re.M) for t in texts)


def test_what_another_process_stores_meanwhile_is_not_damaged(tmp_path, monkeypatch):
    """A file that is found between its writing and its listing costs no record of a warm-up."""
    record = tmp_path / compiled.WARMED
    record.touch()
    found = iter([["a.nbi"], []])
    monkeypatch.setattr(compiled, "damaged", lambda folder: next(found))
    compiled._repair(tmp_path)
    assert record.exists()
    assert next(found, None) is None
