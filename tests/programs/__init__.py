"""Other programs that tests need."""

import os
import shutil

import pytest


def require(*programs):
    """Leave the test out unless all programs are installed."""
    missing = [program for program in programs if not shutil.which(program)]
    if missing:
        leave_out(f"not installed: {', '.join(missing)}")


def leave_out(reason):
    """Skip the test; fail where GPU_TOOLS_ALL_TESTS says that every program has to be there."""
    if os.environ.get("GPU_TOOLS_ALL_TESTS"):
        pytest.fail(reason)
    pytest.skip(reason)
