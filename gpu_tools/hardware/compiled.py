"""Compiled functions: numba's ``njit``, with what this package wants of it.

Functions that Python calls are stored in the compile cache: ``@njit(cache=True)``. All others are
*inner* functions, which compiled functions call: their code becomes a part of the caller's. Numba
would also make each of them callable from Python and from C, which takes half of the time of
compiling. Here nothing is made for calls from C, and inner functions are not made for calls from
Python, where they are plain Python functions.
"""

from __future__ import annotations

from collections.abc import Callable

import numba
from numba.extending import register_jitable

from gpu_tools.hardware.compile_cache import stored_in_cache

_inner_functions: set[Callable] = set()


def njit(function: Callable | None = None, **options) -> Callable:
    """Have a function compiled; see the module."""
    if function is None:
        return lambda function: njit(function, **options)
    options["nogil"] = True  # numba compiles again what is called by functions of other options
    if "inline" in options:  # numba copies it into its callers before it compiles them
        return numba.njit(**options)(function)
    if options.pop("cache", False):
        return stored_in_cache(function, numba.njit, numba.config, **options, no_cfunc_wrapper=True)
    if function not in _inner_functions:
        _inner_functions.add(function)
        register_jitable(**options, no_cpython_wrapper=True, no_cfunc_wrapper=True)(function)
    return function
