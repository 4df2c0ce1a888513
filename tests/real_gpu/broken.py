"""Run gpu-tools in a process that has broken its GPU: broken FAULT ARGUMENTS..., see `BREAKS`."""

import os
import sys
import warnings

import numba_cuda  # noqa: F401  (puts its own numba.cuda in the place of numba's)
import numpy as np
from numba import cuda
from numba.cuda.dispatcher import _Kernel

from gpu_tools.cli.main import main

HELD = []


def hold(size: int) -> None:
    """Take all of the GPU's memory in blocks of a size."""
    try:
        while True:
            HELD.append(cuda.device_array(size, np.uint8))
    except Exception:  # there is no more
        return


def in_the_middle() -> None:
    """Have the third launch of a kernel leave no memory to later ones."""
    launch, left = _Kernel.launch, [2]

    def launched(self, *arguments, **options):
        left[0] -= 1
        if left[0] == 0:
            hold(1 << 30)
            hold(1 << 24)
            hold(1 << 20)
        return launch(self, *arguments, **options)

    _Kernel.launch = launched


def in_fragments() -> None:
    """Leave half of the memory free, in pieces of 2 MiB."""
    hold(1 << 30)
    del HELD[-8:]
    hold(1 << 21)
    del HELD[-2000::2]


@cuda.jit
def _beyond(values):
    values[1 << 50] = 1


def with_a_broken_kernel() -> None:
    """Have a kernel write where there is no memory, after which the context is of no use."""
    _beyond[1, 1](cuda.to_device(np.zeros(1)))
    try:
        cuda.synchronize()
    except Exception as error:
        print(f"broken on purpose: {type(error).__name__}")


def in_a_fork() -> None:
    """Use the GPU, then go on in a fork, for which the parent waits."""
    cuda.to_device(np.zeros(1))
    child = os.fork()
    if child:
        os._exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))


BREAKS = {
    "middle": in_the_middle, "fragments": in_fragments, "kernel": with_a_broken_kernel,
    "fork": in_a_fork,
}  # fmt: skip

if __name__ == "__main__":
    with warnings.catch_warnings(action="ignore"):  # a launch of one thread, a fork
        BREAKS[sys.argv[1]]()
    sys.exit(main(sys.argv[2:]))
