"""What list mode and site mode of spliced alignment share."""

import gpu_tools.hardware.compile_cache  # noqa: F401  (compiled functions on disk: one process at a time)
