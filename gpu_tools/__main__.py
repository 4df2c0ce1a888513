"""``python -m gpu_tools`` is the same as ``gpu-tools``."""

from gpu_tools.cli.main import main

if __name__ == "__main__":
    raise SystemExit(main())
