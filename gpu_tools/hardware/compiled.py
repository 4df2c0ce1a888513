"""Compiled functions: numba's ``njit`` with what this package wants of it, and the compile cache.

Functions that Python calls are stored in the compile cache: ``@njit(cache=True)``. All others are
*inner* functions, which compiled functions call: their code becomes a part of the caller's. Numba
would also make each of them callable from Python and from C, which takes half of the time of
compiling. Here nothing is made for calls from C, and inner functions are not made for calls from
Python, where they are plain Python functions. Machine code is made of functions that Python calls.

Numba stores what it compiles of a function in numbered files, and an index of them that it reads,
extends and writes back. It looks at a function's own file to see whether it has changed, although
compiled code contains what it calls from other files; it trusts what it reads; and it has no lock.
So this package's functions lie in a folder of their own, see `cache_folder`:

- Its name holds a digest of the package's modules, the processor and numba's version. So what
  is stored there never changes, and other versions have folders of their own.
- One process at a time compiles a function. The others load what is stored meanwhile; only those
  that miss the same function wait, and then look again.
- A list has the size and checksum of every file. What does not fit, because it was damaged or a
  process was killed before it had stored all, is removed before numba reads it.
- A second lock is held alone while files and list are written, and shared while they are read.
"""

from __future__ import annotations

import gc
import hashlib
import json
import logging
import os
import platform
import shutil
import signal
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from functools import cache, partial, wraps
from importlib.metadata import version
from pathlib import Path
from threading import RLock
from types import ModuleType, SimpleNamespace

import numba
from llvmlite import binding
from numba import __version__ as numba_version
from numba.core import environment, event
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import Compiler
from numba.core.cpu import CPUContext
from numba.core.environment import Environment, lookup_environment
from numba.core.runtime import rtsys
from numba.extending import register_jitable

from gpu_tools.hardware import about_to_compile, system
from gpu_tools.hardware.own_files import checksum_of, private_folder

_log = logging.getLogger(__name__)
_PACKAGE = Path(__file__).parents[1]
NAMED = "NUMBA_CACHE_DIR"
_LIST, _LOCK, _COMPILING = "checksums.json", "lock", "compiling"
"""The list of files, the lock of what is stored, and where the locks of functions begin, which
processes hold that compile them."""
WARMED = "warm-up.txt"
"""A record of what is compiled beforehand."""
_LEAST_FREE = 1 << 26
"""Bytes that the disk must have left for compiled code."""
_OLD_SECONDS = 14 * 86_400
"""A folder of another version that was not used for so long is removed."""
PLAIN = "__pycache__", "annotate", "cli", "estimate", "formats", "report"
"""Folders without compiled functions and without constants that these read."""
_setting = threading.Lock()


def stored_in_cache(function: Callable, jit: Callable, config: ModuleType, **options) -> Callable:
    """Return a function as numba compiles it, stored in the compile cache if there can be one."""
    folder = cache_folder()
    with _setting:  # the folder of the user's own functions stays what it is
        before, config.CACHE_DIR = config.CACHE_DIR, str(folder or "")
        try:
            dispatcher = jit(cache=folder is not None, **options)(function)
        finally:
            config.CACHE_DIR = before
    if hasattr(dispatcher, "_cache"):  # else numba is disabled
        _share(dispatcher._cache, folder)
    return dispatcher


def _share(cache, folder: Path | None) -> None:
    """Replace what numba's cache of a function loads and saves with, which knows no lock."""
    load, save = partial(_load, cache.load_overload), cache.save_overload
    lock = folder and folder / _lock_of(cache)

    def stored(*arguments):
        with suppress(OSError), _locked(folder, shared=True):
            return load(*arguments)
        return None  # what cannot be read is compiled

    def load_overload(*arguments):
        found = folder and stored(*arguments)
        if found is None and _turn.begin(lock):
            found = folder and stored(*arguments)  # another process may have stored it meanwhile
            if found is not None:
                _turn.end()
        return found

    def save_overload(*arguments):
        with suppress(OSError), _locked(folder):
            save(*arguments)
            _list_files(folder)

    cache.load_overload = load_overload
    if folder is not None:
        cache.save_overload = save_overload


def _lock_of(cache) -> str:
    """Return the name of the lock of a function, given its cache of numba's."""
    place = f"{cache.cache_path}/{cache._cache_file._index_name}"
    return f"{_COMPILING}-{hashlib.sha256(place.encode()).hexdigest()[:16]}"


def _load(load: Callable, signature, context):
    """Load as numba does, but for its compilers' declarations: 0.2 s, and 0.5 s for a GPU."""
    if isinstance(context, CPUContext):
        rtsys.initialize(context)
    context.refresh = lambda: None  # stored code has what it needs of them
    try:
        return load(signature, context)
    finally:
        del context.refresh


def _restored(module: str, constants: list, name: str) -> Environment:
    """Return what a compiled function reads from Python as numba does, without numba's modules.

    They take 20 ms to import, and 0.25 s where there is SciPy; compiled code reads nothing of them.
    """
    if not module.startswith("numba."):
        return _rebuild(module, constants, name)
    if (made := lookup_environment(name)) is None:
        made = Environment._memo[name] = Environment({"__name__": module})
        made.consts[:], made.env_name = constants, name
    return made


_rebuild, environment._rebuild_env = environment._rebuild_env, _restored


@cache
def package_digest() -> str:
    """Return a digest of the package's modules.

    Folders on which nothing compiled depends are left out. Times of files are left out too:
    archives and images round them.
    """
    digest = hashlib.sha256()
    for folder, folders, files in os.walk(_PACKAGE):
        folders[:] = sorted(name for name in folders if name not in PLAIN)
        for name in sorted(name for name in files if name.endswith(".py")):
            path = Path(folder, name)
            digest.update(f"{path.relative_to(_PACKAGE)}\0".encode() + path.read_bytes() + b"\0")
    return digest.hexdigest()


def folder_name() -> str:
    """Return the name of the cache's folder: of these sources, this processor and this numba."""
    features = binding.get_host_cpu_features().flatten()
    processor = binding.get_host_cpu_name(), features, numba_version, platform.python_version()
    parts = package_digest(), hashlib.sha256(repr(processor).encode()).hexdigest()
    return "-".join(part[:16] for part in parts)


def places() -> Iterator[Path]:
    """Yield the folders in which the cache's folder may be, the first one that can be written."""
    if named := os.environ.get(NAMED):
        yield Path(named).absolute() / "gpu-tools"
    with suppress(RuntimeError):  # there is no home
        home = Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache").expanduser()
        yield home.absolute() / "gpu-tools"
    yield private_folder()


@cache
def cache_folder() -> Path | None:
    """Return the folder of this process's compiled code, checked; None if there can be none.

    What lies in a folder that cannot be written, such as one of an image, is copied to one that
    can be.
    """
    name, shipped = folder_name(), None
    for place in places():
        folder = place / name
        if usable(folder):
            if shipped is not None and not (folder / _LIST).exists():
                with _locked(folder), suppress(OSError):
                    shutil.copytree(shipped, folder, dirs_exist_ok=True)
            _repair(folder)
            _remove_old(place, name)
            return folder
        if (folder / _LIST).exists():
            shipped = folder
    _log.warning("compiled code cannot be stored: the next run compiles it again")
    return None


def usable(folder: Path) -> bool:
    """Tell whether files can be written and locked in a folder, which is made."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if shutil.disk_usage(folder).free < _LEAST_FREE:
            return False
        with _locked(folder, shared=True):
            os.utime(folder / _LOCK)  # it is in use
            (folder / f"writable-{os.getpid()}-{threading.get_ident()}").touch()
            (folder / f"writable-{os.getpid()}-{threading.get_ident()}").unlink()
        return True
    except OSError:
        return False


@contextmanager
def _locked(folder: Path, shared: bool = False) -> Iterator[None]:
    """Hold the lock of what is stored; interrupts wait, since a library that loads loses them."""
    with (folder / _LOCK).open("a") as lock:
        system.lock(lock, shared)
        with deferred_interrupts():
            yield


@contextmanager
def deferred_interrupts() -> Iterator[None]:
    """Let an interrupt that arrives within the block take effect at the block's end."""
    if threading.current_thread() is not threading.main_thread():
        yield  # signals are handled in the main thread
        return
    arrived: list[int] = []
    handlers = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    for number, handler in handlers.items():
        if handler is not None:  # None is a handler that Python cannot put back
            signal.signal(number, lambda number, frame: arrived.append(number))
    try:
        yield
    finally:
        for number, handler in handlers.items():
            if handler is not None:
                signal.signal(number, handler)
        if arrived:
            signal.raise_signal(arrived[0])


def damaged(folder: Path) -> list[str]:
    """Return the files of a cache that are not what was stored, or are not listed yet."""
    known = listed(folder)
    return [name for name, path in _files(folder) if _checksum(path) != known.get(name, [])[:2]]


def _files(folder: Path) -> Iterator[tuple[str, Path]]:
    """Yield numba's files: indexes and compiled code."""
    for path in sorted(folder.glob("*/*.nb[ic]")):
        yield str(path.relative_to(folder)), path


def _checksum(path: Path) -> list[int] | None:
    try:
        return checksum_of(path)
    except OSError:
        return None


def listed(folder: Path) -> dict[str, list[int]]:
    """Return size, checksum and time of each file by name; a list that is damaged is empty."""
    try:
        content = json.loads((folder / _LIST).read_text(encoding="utf-8"))
        return {name: [*map(int, numbers)] for name, numbers in content.items()}
    except (OSError, ValueError, TypeError, AttributeError):
        return {}


def _repair(folder: Path) -> None:
    """Remove files that are damaged or, since a process was killed, not listed."""
    if not damaged(folder):
        return
    with _locked(folder):
        known, wrong = listed(folder), damaged(folder)
        if not wrong:
            return  # another process had not listed yet what it stored
        (folder / WARMED).unlink(missing_ok=True)
        for name in wrong:
            path = folder / name
            shutil.rmtree(path) if path.is_dir() else path.unlink(missing_ok=True)
        if any(name in known for name in wrong):
            _log.warning("%s: compiled code was damaged, and is compiled again", folder)


def _list_files(folder: Path) -> None:
    """Bring the list up to date; the caller holds the lock."""
    known, found = listed(folder), {}
    for name, path in _files(folder):
        state = path.stat()
        numbers = known.get(name)
        if numbers is None or [numbers[0], numbers[2]] != [state.st_size, state.st_mtime_ns]:
            numbers = [*checksum_of(path), state.st_mtime_ns]
        found[name] = numbers
    temporary = folder / f"{_LIST}.new"
    temporary.write_text(json.dumps(found), encoding="utf-8")
    temporary.replace(folder / _LIST)


def _remove_old(place: Path, name: str) -> None:
    """Remove folders of other versions that are not in use any more."""
    with suppress(OSError):
        for lock in place.glob(f"*-*/{_LOCK}"):
            if lock.parent.name != name and time.time() - lock.stat().st_mtime > _OLD_SECONDS:
                shutil.rmtree(lock.parent, ignore_errors=True)


class _Turn:
    """The turn of this process, and of one of its threads, to compile.

    It begins when a function is missing from the cache, and ends when numba gives back the lock of
    its compiler: what a function calls is compiled in its turn.
    """

    def __init__(self):
        self._threads, self._depth, self._turn = threading.RLock(), 0, None

    def enter(self) -> None:
        """Wait for other threads when numba takes its lock."""
        self._threads.acquire()
        self._depth += 1

    def leave(self) -> None:
        """Let others go on when numba gives its lock back."""
        self._depth -= 1
        try:
            if not self._depth:
                self.end()
        finally:
            self._threads.release()

    def begin(self, lock: Path | None) -> bool:
        """Wait for the lock of a function; return whether the turn has not begun before."""
        if self._turn is not None:
            return False
        about_to_compile()
        self._turn = ExitStack()
        if lock is not None:
            with suppress(OSError):
                system.lock(self._turn.enter_context(lock.open("a")))
        if gc.isenabled():  # compiling makes little garbage in cycles, and many objects to search
            gc.disable()
            self._turn.callback(gc.enable)
        return True

    def end(self) -> None:
        """Let another process compile."""
        turn, self._turn = self._turn, None
        if turn is not None:
            turn.close()


_turn = _Turn()


def listen(events: ModuleType, kind: str) -> None:
    """Have the events of a library's compiler lock, of some kind, begin and end turns."""

    class Listener(events.Listener):
        def on_start(self, event):
            _turn.enter()

        def on_end(self, event):
            _turn.leave()

    events.register(kind, Listener())


listen(event, "numba:compiler_lock")


TESTED = "0.30."
"""The versions of numba-cuda that have what is changed here, as pyproject.toml has them."""


def load_one_by_one(library: type | None = None) -> None:
    """Have kernels loaded by one thread at a time, and stay loaded until the process ends."""
    if library is None:
        found = version("numba-cuda")
        if not found.startswith(TESTED):
            _log.warning("numba-cuda %s may fail on several GPUs; expected %s*", found, TESTED)
            return
        from numba.cuda import codegen  # the simulator has none

        library = codegen.CUDACodeLibrary
    loading, load = RLock(), library.get_cufunc

    @wraps(load)
    def loaded(self):
        with loading:
            function = load(self)
        function.module._finalizer.atexit = False
        return function

    library.get_cufunc = loaded


def load_stored(kernels: Iterable) -> None:
    """Load the stored code of kernels to the current GPU: later that waits for all that run."""
    for each in kernels:
        if (cache := getattr(each, "_cache", None)) is None or not cache.cache_path:
            continue  # it is simulated, or nothing is stored
        codegen = each.targetctx.codegen()
        for key in cache._cache_file._load_index():
            if cache._index_key(key[0], codegen) == key:
                each.compile(key[0]).bind()


class _InnerLibrary(JITCodeLibrary):
    """Code of an inner function, which is optimized as a whole and translated in callers alone.

    Numba does so for each function, and again for each function between it and one that Python
    calls, although nothing but the last of these is ever executed.
    """

    codegen = SimpleNamespace(set_env=lambda name, environment: None)  # see `_EntryCompiler`

    def _optimize_final_module(self) -> None:
        pass

    def _finalize_final_module(self) -> None:
        self._finalize_dynamic_globals()
        self._verify_declare_only_symbols()
        self._finalized = True


class _InnerCompiler(Compiler):
    """Numba's steps for an inner function."""

    def define_pipelines(self):
        codegen, name = self.state.targetctx.codegen(), self.state.func_id.func_qualname
        self.state.library = _InnerLibrary(codegen, name)
        return super().define_pipelines()


class _EntryCompiler(Compiler):
    """Numba's steps for a function that Python calls.

    Its options are those of inner functions until its own code is made: numba compiles again what
    is called by functions of other options.
    """

    def define_pipelines(self):
        self.state.flags.no_cpython_wrapper = False
        return super().define_pipelines()

    def compile_extra(self, func):
        result = super().compile_extra(func)
        for inner in result._find_referenced_environments():
            result.codegen.set_env(inner.env_name, inner)
        return result


_NO_WRAPPERS = {"no_cpython_wrapper": True, "no_cfunc_wrapper": True}
_inner_functions: set[Callable] = set()


def njit(function: Callable | None = None, **options) -> Callable:
    """Have a function compiled; see the module.

    With ``makes_arrays=False`` it counts no references to arrays, and can make none. Each count
    waits for the memory of a counter, which all threads share: half of the time of some functions.
    """
    if function is None:
        return lambda function: njit(function, **options)
    if not options.pop("makes_arrays", True):
        options["_nrt"] = False
    options["nogil"] = True  # numba compiles again what is called by functions of other options
    if "inline" in options:  # numba copies it into its callers before it compiles them
        return numba.njit(**options)(function)
    if options.pop("cache", False):
        jit = partial(numba.njit, pipeline_class=_EntryCompiler, **_NO_WRAPPERS)
        return stored_in_cache(function, jit, numba.config, **options)
    if function not in _inner_functions:
        _inner_functions.add(function)
        register_jitable(pipeline_class=_InnerCompiler, **_NO_WRAPPERS, **options)(function)
    return function
