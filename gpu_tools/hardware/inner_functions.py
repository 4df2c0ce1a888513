"""Compiled functions that compiled functions call: they wait for their callers.

numba makes machine code of each function that a compiled function calls, and a way to call it from
Python, although its code becomes a part of the caller's. Importing this module has it wait with
both: such a function, called *inner* here, stays in LLVM's language. It is optimised and made
machine code of with the function that Python calls, once, which halves the time of compiling.

- This holds below functions of this package. Others are compiled as numba does it.
- If Python calls a function that is there as an inner one, it is compiled once more.
- The cache holds inner functions under keys of their own.
- This changes parts of numba that it may change itself. So it is done for the versions in `TESTED`
  alone; with another one first calls take longer, and nothing else differs.

Functions that call each other in a circle are not supported: numba finds their addresses in the
machine code of each.
"""

from __future__ import annotations

import gc
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import wraps
from pathlib import Path

import numba
from llvmlite import binding
from numba.core import caching, codegen, cpu, dispatcher, sigutils
from numba.core.compiler_lock import global_compiler_lock
from numba.core.environment import lookup_environment
from numba.core.lowering import Lower

TESTED = (0, 61), (0, 69)
"""The first version of numba that the tests ran with, and the one behind the last."""
_PACKAGE = Path(__file__).parents[1]
_ENVIRONMENT = "_ZN08NumbaEnv"
"""So begin the names of variables that hold a function's globals."""
_KIND = "gpu-tools-inner"
"""Marks inner functions in the cache."""


class _Compiling(threading.local):
    """What a thread compiles: whether Python calls a function of this package, and an inner one."""

    ours = False
    inner = False


_compiling = _Compiling()


def is_ours(file: str) -> bool:
    """Tell whether a file is one of this package."""
    return Path(file).is_relative_to(_PACKAGE)


@contextmanager
def compiling_inner(inner: bool = True) -> Iterator[None]:
    """Have what this thread compiles within the block be inner functions, or not."""
    before, _compiling.inner = _compiling.inner, inner
    try:
        yield
    finally:
        _compiling.inner = before


@contextmanager
def _garbage_left() -> Iterator[None]:
    """Let Python not look for garbage in cycles, of which compiling makes little, in the block."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            if not gc.get_freeze_count():  # all count as old now, which Python seldom looks at
                gc.freeze()
                gc.unfreeze()
            gc.enable()


def _is_inner(library: codegen.CodeLibrary) -> bool:
    return getattr(library, "inner_of_gpu_tools", False)


def _called_by_compiled(method):
    """Mend how a dispatcher types a call from a compiled function."""

    @wraps(method)
    def get_call_template(self, *arguments):
        with compiling_inner(_compiling.inner or _compiling.ours):
            return method(self, *arguments)

    return get_call_template


def _called_by_python(method):
    """Mend how a dispatcher compiles for a call from Python, which may be made while compiling."""

    @wraps(method)
    def compile_for_args(self, *arguments, **named):
        with compiling_inner(False):
            return method(self, *arguments, **named)

    return compile_for_args


def _unless_inner(method):
    """Mend the compiling of a function: an inner one is no substitute for one that Python calls."""

    @wraps(method)
    def compile_signature(self, signature):
        if _compiling.inner:
            return method(self, signature)
        types, _ = sigutils.normalize_signature(signature)
        with global_compiler_lock, _garbage_left():  # another thread may use the inner function
            found = self.overloads.get(tuple(types))
            if found is not None and _is_inner(found.library):
                del self.overloads[tuple(types)]
            before, _compiling.ours = _compiling.ours, is_ours(self.py_func.__code__.co_filename)
            try:
                return method(self, signature)
            finally:
                _compiling.ours = before

    return compile_signature


def _for_compiled_only(method):
    """Mend the registering of a compiled function: Python cannot call an inner one."""

    @wraps(method)
    def add_overload(self, compiled):
        if _is_inner(compiled.library):
            self.overloads[tuple(compiled.signature.args)] = compiled
        else:
            method(self, compiled)

    return add_overload


def _not_called_by_python(method):
    @wraps(method)
    def create(self, *arguments):
        if not _compiling.inner:
            method(self, *arguments)

    return create


def _not_called_by_c(method):
    """Mend what numba compiles for calls from C: nothing calls functions of the package so."""

    @wraps(method)
    def create(self):
        if not (_compiling.inner or is_ours(self.func_ir.loc.filename)):
            method(self)

    return create


def _later(method):
    """Mend the making of machine code: none of inner functions; and their globals are set here."""

    @wraps(method)
    def get_executable(self, library, description, environment):
        if _compiling.inner or _is_inner(library):
            library.inner_of_gpu_tools = True
            library._ensure_finalized()
            return object()  # stands for the function where numba looks for it
        function = method(self, library, description, environment)
        for variable in library._final_module.global_variables:
            if variable.name.startswith(_ENVIRONMENT):
                found = lookup_environment(variable.name)
                if found is not None:
                    library.codegen.set_env(variable.name, found)
        return function

    return get_executable


def _where_defined(method):
    """Mend the setting of a function's globals, which there are in machine code only."""

    @wraps(method)
    def set_env(self, name, environment):
        if self._engine.is_symbol_defined(name):
            method(self, name, environment)

    return set_env


def _with_callers(method):
    """Mend the optimising of what a function is linked to: an inner one waits for its callers."""

    @wraps(method)
    def optimize(self):
        if not _is_inner(self):
            method(self)

    return optimize


def _without_machine_code(method):
    """Mend the end of compiling, which makes machine code."""

    @wraps(method)
    def finalize(self):
        if _is_inner(self):
            self._finalize_dynamic_globals()
            self._finalized = True
        else:
            method(self)

    return finalize


def _as_bitcode(method):
    @wraps(method)
    def serialize(self):
        if _is_inner(self):
            return self.name, _KIND, self._final_module.as_bitcode()
        return method(self)

    return serialize


def _from_bitcode(method):
    @wraps(method)
    def unserialize(cls, generator, state):
        name, kind, data = state
        if kind != _KIND:
            return method(cls, generator, state)
        library = generator.create_library(name)
        library._final_module = binding.parse_bitcode(data)
        library.inner_of_gpu_tools = True
        library._finalize_final_module()
        return library

    return classmethod(unserialize)


def _of_its_own(method):
    """Mend the key of a compiled function in the cache."""

    @wraps(method)
    def index_key(self, *arguments):
        key = method(self, *arguments)
        return (*key, _KIND) if _compiling.inner else key

    return index_key


def is_tested(version: str) -> bool:
    """Tell whether a version of numba is one of those that are mended."""
    first, past = TESTED
    major, minor, *_ = version.split(".")
    return major.isdigit() and minor.isdigit() and first <= (int(major), int(minor)) < past


def _mend() -> None:
    library = codegen.JITCodeLibrary
    for owner, name, mend in (
        (dispatcher._DispatcherBase, "get_call_template", _called_by_compiled),
        (dispatcher._DispatcherBase, "_compile_for_args", _called_by_python),
        (dispatcher._DispatcherBase, "add_overload", _for_compiled_only),
        (dispatcher.Dispatcher, "compile", _unless_inner),
        (Lower, "create_cpython_wrapper", _not_called_by_python),
        (Lower, "create_cfunc_wrapper", _not_called_by_c),
        (cpu.CPUContext, "get_executable", _later),
        (codegen.JITCPUCodegen, "set_env", _where_defined),
        (library, "_optimize_final_module", _with_callers),
        (library, "_finalize_final_module", _without_machine_code),
        (library, "serialize_using_object_code", _as_bitcode),
        (caching.Cache, "_index_key", _of_its_own),
    ):
        setattr(owner, name, mend(getattr(owner, name)))
    library._unserialize = _from_bitcode(library._unserialize.__func__)


if is_tested(numba.__version__):
    _mend()
