#!/usr/bin/env bash
# Install gpu-tools into the rules' environment: from the folder or address in GPU_TOOLS_SOURCE,
# else from the working folder, which is a checkout when the workflow is started there.
set -euo pipefail
python -m pip install "${GPU_TOOLS_SOURCE:-.}"
