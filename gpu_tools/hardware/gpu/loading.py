"""The loading of kernels onto GPUs, where numba-cuda is changed.

numba-cuda looks whether a kernel has been loaded onto a GPU and then loads it, without a lock: of
two threads that start a kernel at the same time both load it, and the second one fails. At the end
of Python it unloads what GPUs of one kind share once for each of them, which crashes the process.
"""

from __future__ import annotations

import logging
from functools import wraps
from importlib.metadata import version
from threading import RLock

_log = logging.getLogger(__name__)
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
