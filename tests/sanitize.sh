#!/usr/bin/env bash
# Runs compute-sanitizer over a small case of every kernel, on a machine with a GPU and CUDA's tools.
# tests/sanitize.sh [RECORD.json] [--processes N] [--seconds S] [--tools memcheck racecheck ...]
set -euo pipefail
cd "$(dirname "$0")/.."
unset NUMBA_ENABLE_CUDASIM
exec "${PYTHON:-python3}" -m tests.real_gpu.sanitize "$@"
