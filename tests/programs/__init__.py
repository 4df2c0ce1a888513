"""Other programs that tests need."""

import os
import shutil

import pytest


def require(*programs):
    """Skip the test where a program is missing; fail where all of them have to be there.

    GPU_TOOLS_ALL_TESTS says so: ``.ci/run`` sets it once it has installed them.
    """
    missing = [program for program in programs if not shutil.which(program)]
    if missing and os.environ.get("GPU_TOOLS_ALL_TESTS"):
        pytest.fail(f"not installed: {', '.join(missing)}")
    if missing:
        pytest.skip(f"not installed: {', '.join(missing)}")
