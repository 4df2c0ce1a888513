"""The command ``gpu-tools``, which ``python -m gpu_tools`` is too."""

import gc
import sys

_OBJECTS = 100_000
"""Garbage is looked for after so many new objects: modules and compiled code are many that stay."""


def main() -> int:
    """Run the process's command line; an interrupt during its import is one line, too."""
    gc.set_threshold(_OBJECTS)
    try:
        from gpu_tools.cli.main import main as run
    except KeyboardInterrupt:
        print("gpu-tools: error: interrupted", file=sys.stderr)
        return 130
    try:
        return run()
    finally:
        gc.freeze()  # the process ends: nothing is looked for again


if __name__ == "__main__":
    raise SystemExit(main())
