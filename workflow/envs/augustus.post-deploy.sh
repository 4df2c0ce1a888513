#!/usr/bin/env bash
# Install gpu-tools into the rules' environment, from the folder or address in GPU_TOOLS_SOURCE. The
# workflow sets it to the checkout that it lies in, unless it is set already.
set -euo pipefail
python -m pip install "${GPU_TOOLS_SOURCE:?no folder or address of gpu-tools; set it, say to a checkout}"
