"""Compiled functions on disk stay apart, whatever processes do at the same time."""

import os
import resource
import shutil
import signal
import subprocess
import sys
import time
import weakref
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from unittest.mock import MagicMock

import pytest
from numba.core.caching import IndexDataCacheFile

import gpu_tools
from gpu_tools.hardware import compile_cache as kernel_cache
from gpu_tools.hardware.device import simulated
from gpu_tools.hardware.interrupts import deferred_interrupts

_MENDS = "compile_cache.py", "own_files.py", "compiling.py", "inner_functions.py", "interrupts.py"
"""The modules that mend numba, which import nothing else of the package."""


@pytest.mark.parametrize("locked", [True, False])
def test_two_processes_that_save_at_once_keep_what_each_saved(tmp_path, monkeypatch, locked):
    """Without the lock both take the same number: the test sees what it is there for."""

    class Slow(IndexDataCacheFile):
        if not locked:
            load = IndexDataCacheFile.load.__wrapped__
            save = IndexDataCacheFile.save.__wrapped__

        def _load_index(self):
            index = super()._load_index()
            time.sleep(0.3)
            return index

    def save(key):
        Slow(str(tmp_path), "function", "stamp").save(key, f"compiled for {key}")

    with ThreadPoolExecutor(2) as pool:
        list(pool.map(save, ["int16", "int32"]))
    loaded = [Slow(str(tmp_path), "function", "stamp").load(key) for key in ("int16", "int32")]
    assert (loaded == ["compiled for int16", "compiled for int32"]) is locked


def test_a_cache_that_cannot_be_written_is_read(tmp_path, monkeypatch):
    IndexDataCacheFile(str(tmp_path), "function", "stamp").save("key", "compiled")

    def refuse(*_):
        raise PermissionError

    monkeypatch.setattr(kernel_cache, "open", refuse, raising=False)
    assert IndexDataCacheFile(str(tmp_path), "function", "stamp").load("key") == "compiled"


class Renamed:
    """A class that an index names."""


def _entries(folder, key):
    """Return the cache of a function in which something is stored, and the path of its index."""
    cache = IndexDataCacheFile(str(folder), "function", "stamp")
    cache.save(key, "compiled")
    assert cache.load(key) == "compiled"
    return cache, folder / "function.nbi"


def test_an_index_that_names_a_class_that_is_gone_counts_as_empty(tmp_path, monkeypatch):
    cache, _ = _entries(tmp_path, (Renamed, "int32"))
    monkeypatch.delattr(sys.modules[__name__], "Renamed")
    assert cache.load("other") is None
    cache.save("other", "compiled again")
    assert cache.load("other") == "compiled again"


@pytest.mark.parametrize("suffix", [".nbi", ".1.nbc"])
def test_a_damaged_file_counts_as_absent(tmp_path, suffix):
    cache, _ = _entries(tmp_path, "key")
    path = tmp_path / f"function{suffix}"
    whole = path.read_bytes()
    for length in range(len(whole)):
        path.write_bytes(whole[:length])
        assert cache.load("key") is None
    cache.save("key", "compiled again")
    assert cache.load("key") == "compiled again"


def test_an_index_that_may_not_be_read_is_an_error(tmp_path):
    """It is not taken for an empty one, which would be written back."""
    cache, index = _entries(tmp_path, "key")
    index.unlink()
    index.mkdir()
    with pytest.raises(IsADirectoryError):
        cache.load("key")


_CALL = "from gpu_tools.caller import caller; print(caller(1))"
_CALLER = """
from numba import njit

{mend}
from gpu_tools.called import called

@njit(cache=True)
def caller(x):
    return called(x)
"""
_CALLED = """
from numba import njit

@njit
def called(x):
    return x + {}
"""


@pytest.mark.parametrize("mended", [True, False])
def test_an_edit_of_what_a_compiled_function_calls_is_seen(tmp_path, mended):
    """Without the package's stamp the result is an old one: the test sees what it is there for."""
    package = tmp_path / "gpu_tools"
    (package / "hardware").mkdir(parents=True)
    for folder in (package, package / "hardware"):
        (folder / "__init__.py").touch()
    for name in _MENDS:
        source = Path(kernel_cache.__file__).with_name(name)
        (package / "hardware" / name).write_text(source.read_text())
    mend = "import gpu_tools.hardware.compile_cache" if mended else ""
    (package / "caller.py").write_text(_CALLER.format(mend=mend))
    printed = []
    for addend in (1, 1, 20):
        (package / "called.py").write_text(_CALLED.format(addend))
        environment = os.environ | {"PYTHONPATH": str(tmp_path), "NUMBA_CACHE_DIR": ""}
        command = [sys.executable, "-P", "-c", _CALL]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
        printed.append(done.stdout.strip())
    assert printed == ["2", "2", "21" if mended else "2"]


class Module:
    """What is loaded of a kernel, as numba-cuda has it: unloaded at the end of Python."""

    def __init__(self):
        self._finalizer = weakref.finalize(self, str)


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
                self.loaded = SimpleNamespace(module=Module())
            return self.loaded

    if one_by_one:
        kernel_cache.load_one_by_one(Library)
    library = Library()
    with ThreadPoolExecutor(2) as pool:
        found = list(pool.map(lambda _: library.get_cufunc(), range(2)))
    assert library.loaded in found
    assert library.loads == (1 if one_by_one else 2)
    assert [function.module._finalizer.atexit for function in found] == [not one_by_one] * 2


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
    kernel_cache.load_one_by_one(Library)
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


def _with_compiled_functions():
    root = Path(gpu_tools.__file__).parent
    return sorted(path for path in root.rglob("*.py") if "cache=True" in path.read_text())


@pytest.mark.parametrize("path", _with_compiled_functions(), ids=lambda path: path.name)
def test_every_module_with_compiled_functions_locks_them(path):
    root = Path(gpu_tools.__file__).parent
    importing = "import gpu_tools.hardware.compile_cache"
    packages = [folder / "__init__.py" for folder in path.parents if root in folder.parents]
    assert any(importing in file.read_text() for file in (path, *packages))


_GPU_THEN_CPU = """
import numpy as np

from gpu_tools import SplicedScoring, case_columns, spliced_align, spliced_scores
from gpu_tools.spliced.case import Preparation
from gpu_tools.spliced.cpu.sweep import sweep
from gpu_tools.spliced.cpu.traceback import Swept
from gpu_tools.spliced.gpu.graph_tables import lay_out_graphs
from tests.cases import WORKED_EXAMPLE

case = WORKED_EXAMPLE.case()
strands = case_columns([case]).strands
lay_out_graphs(strands, SplicedScoring(), False, 1, lambda name, n, dtype: np.empty(n, dtype))
print(spliced_align([case], device="cpu")[0].score)
(graph,), target = Preparation(SplicedScoring())(case).graphs, case.target.codes
swept = Swept(graph, sweep(graph, target, SplicedScoring()), target, SplicedScoring())
print(swept.score, swept.chain().columns, spliced_scores([case], device="cpu"))
"""


def test_what_one_function_brings_along_from_the_cache_does_not_hide_another():
    """Numba loads a function once, also inside of another one, which Python then cannot call."""
    for _ in range(2):  # the second process finds everything in the cache
        done = subprocess.run(
            [sys.executable, "-c", _GPU_THEN_CPU], capture_output=True, text=True, check=False
        )
        assert (done.returncode, done.stdout, done.stderr) == (0, "3\n3 (0, 5) [3]\n", "")


_MODULE = """
import sys
from functools import partial
from pathlib import Path

from numba import njit
from numba.core import event

import gpu_tools.hardware.compile_cache

compiled = event.RecordingListener()
event.register("numba:compile", compiled)

@njit(cache=True)
def function(x):
    return x + 1

if __name__ == "__main__":
    function(1)
    starts = [e for _, e in compiled.buffer if e.is_start and e.data["dispatcher"] is function]
    print(len(starts), function._cache.cache_path)
"""


@pytest.fixture
def small_package(tmp_path):
    """Make a package with the compile cache and one function; return how to run its module."""
    package = tmp_path / "lib" / "gpu_tools"
    hardware = package / "hardware"
    hardware.mkdir(parents=True)
    for folder in (package, hardware):
        (folder / "__init__.py").touch()
    for name in _MENDS:
        source = Path(kernel_cache.__file__).with_name(name)
        (hardware / name).write_text(source.read_text())
    (package / "module.py").write_text(_MODULE)
    (tmp_path / "tmp").mkdir()

    def start(preexec_fn=None, **environment):
        changed = {
            "PYTHONPATH": str(tmp_path / "lib"), "NUMBA_CACHE_DIR": "", "HOME": "/proc/none",
            "XDG_CACHE_HOME": "/proc/none", "TMPDIR": str(tmp_path / "tmp"), **environment,
        }  # fmt: skip
        return subprocess.Popen(
            [sys.executable, "-m", "gpu_tools.module"], env=os.environ | changed, text=True,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=tmp_path, preexec_fn=preexec_fn,
        )  # fmt: skip

    def run(**options):
        process = start(**options)
        out, errors = process.communicate()
        assert process.returncode == 0, errors
        count, folder = out.split()
        return int(count), Path(folder)

    return SimpleNamespace(folder=package, start=start, run=run, tmp=tmp_path / "tmp")


def _no_folder_can_be_made_in(package: Path) -> None:
    """Put a file where the package's compiled code would be, so that also root cannot write."""
    shutil.rmtree(package / "__pycache__", ignore_errors=True)
    (package / "__pycache__").touch()


def test_without_a_home_and_a_writable_package_the_cache_is_a_private_folder(small_package):
    _no_folder_can_be_made_in(small_package.folder)
    count, folder = small_package.run()
    assert count == 1
    assert small_package.tmp / f"gpu-tools-{os.geteuid()}" in folder.parents
    assert small_package.run() == (0, folder)


def test_code_that_comes_with_a_package_is_used_where_the_cache_is_elsewhere(small_package):
    """As in an image: the package holds compiled code and cannot be written."""
    count, shipped = small_package.run()
    assert (count, shipped) == (1, small_package.folder / "__pycache__")
    elsewhere = small_package.tmp / "cache"
    elsewhere.mkdir()
    locators = "UserWideCacheLocator"
    environment = {"NUMBA_CACHE_LOCATOR_CLASSES": locators, "XDG_CACHE_HOME": str(elsewhere)}
    count, folder = small_package.run(**environment)
    assert count == 0
    assert elsewhere in folder.parents
    shutil.rmtree(shipped)
    assert small_package.run(**environment) == (1, folder)


def test_on_a_full_disk_functions_are_compiled_and_not_stored(small_package):
    """No file can get a byte, as on a full disk."""
    full = partial(resource.setrlimit, resource.RLIMIT_FSIZE, (0, 0))
    assert [small_package.run(preexec_fn=full)[0] for _ in range(2)] == [1, 1]
    assert [small_package.run()[0] for _ in range(2)] == [1, 0]


@pytest.mark.parametrize(
    ("suffix", "damage"), [("nbi", "cut"), ("nbc", "empty"), ("nbi", "folder"), ("nbc", "folder")]
)
def test_a_damaged_cache_is_no_error(small_package, suffix, damage):
    _, folder = small_package.run()
    (path,) = (found for found in folder.glob(f"*.{suffix}") if "module.function" in found.name)
    content = {"cut": path.read_bytes()[:9], "empty": b""}
    path.unlink()
    if damage == "folder":
        path.mkdir()
    else:
        path.write_bytes(content[damage])
    assert small_package.run()[0] == 1
    assert small_package.run()[0] == (damage == "folder")


def test_a_process_that_dies_leaves_no_older_code(tmp_path):
    """The files of a cache hold what was compiled of an older function, then one is killed."""
    IndexDataCacheFile(str(tmp_path), "function", "old").save("key", "old code")
    cache = IndexDataCacheFile(str(tmp_path), "function", "new")
    with pytest.MonkeyPatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(cache, "_save_data", MagicMock(side_effect=KeyboardInterrupt))
        cache.save("key", "new code")
    assert cache.load("key") is None


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupt_waits_until_code_is_loaded(number):
    arrived, before = [], signal.getsignal(number)
    signal.signal(number, lambda *_: arrived.append(number))
    try:
        with deferred_interrupts(), deferred_interrupts():
            signal.raise_signal(number)
            assert arrived == []
        assert arrived == [number]
    finally:
        signal.signal(number, before)


def test_processes_that_need_a_function_at_once_compile_it_once(small_package):
    processes = [small_package.start() for _ in range(4)]
    counts = [int(process.communicate()[0].split()[0]) for process in processes]
    assert sorted(counts) == [0, 0, 0, 1]
    left = [path.name for path in (small_package.folder / "__pycache__").glob("*.compiling")]
    assert left == []


def test_times_of_files_do_not_matter(small_package):
    """Archives and images round them."""
    assert small_package.run()[0] == 1
    os.utime(small_package.folder / "module.py", (1, 1))
    assert small_package.run()[0] == 0


def test_without_a_lock_nothing_is_stored(tmp_path, monkeypatch):
    def refuse(*_):
        raise OSError("no locks")

    monkeypatch.setattr(kernel_cache.fcntl, "flock", refuse)
    cache = IndexDataCacheFile(str(tmp_path), "function", "stamp")
    cache.save("key", "compiled")
    assert cache.load("key") is None
