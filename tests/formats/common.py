"""Files to read, and the texts of errors."""

import pytest

from gpu_tools import InputError


def saved(folder, content, name="x.fa"):
    path = folder / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def error_of(call, *arguments, kind=InputError):
    """Return what the error says that a call raises."""
    with pytest.raises(kind) as caught:
        call(*arguments)
    return str(caught.value)
