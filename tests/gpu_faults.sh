#!/usr/bin/env bash
# Breaks the GPU of this machine in several ways for single processes, and runs commands meanwhile.
# tests/gpu_faults.sh [RECORD.json] [--processes N]
set -euo pipefail
cd "$(dirname "$0")/.."
unset NUMBA_ENABLE_CUDASIM
exec "${PYTHON:-python3}" -m tests.real_gpu.faults "$@"
