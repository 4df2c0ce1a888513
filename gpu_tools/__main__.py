"""The command ``gpu-tools``, which ``python -m gpu_tools`` is too."""

import sys


def main() -> int:
    """Run the process's command line; an interrupt during its import is one line, too."""
    try:
        from gpu_tools.cli.main import main as run
    except KeyboardInterrupt:
        print("gpu-tools: error: interrupted", file=sys.stderr)
        return 130
    return run()


if __name__ == "__main__":
    raise SystemExit(main())
