"""The command ``gpu-tools``, which ``python -m gpu_tools`` is too."""

import sys


def main() -> int:
    """Run the process's command line; an interrupt is told in one line also while it is imported.

    Returns
    -------
    int
        The exit code, see `gpu_tools.cli.main.main`.
    """
    try:
        from gpu_tools.cli.main import main as run
    except KeyboardInterrupt:
        print("gpu-tools: error: interrupted", file=sys.stderr)
        return 130
    return run()


if __name__ == "__main__":
    raise SystemExit(main())
