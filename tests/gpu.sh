#!/usr/bin/env bash
# Runs the CUDA tests on a real GPU and fails if none of them ran.
# PYTHON chooses the interpreter, PYTEST_OPTIONS adds options (-n 10 with pytest-xdist); the record
# goes to the file named by the first argument, if any.
set -euo pipefail
cd "$(dirname "$0")/.."
unset NUMBA_ENABLE_CUDASIM
python=${PYTHON:-python3}
report=$(mktemp)
trap 'rm -f "$report"' EXIT
"$python" -m gpu_tools devices
"$python" -m pytest -m cuda -p no:cacheprovider ${PYTEST_OPTIONS:-} --junitxml="$report" $(find tests -type d -name gpu -o -name test_gpu.py) tests/cli/test_warm_up.py
"$python" - "$report" "${1:-}" <<'PY'
import sys
import xml.etree.ElementTree as tree

from benchmarks import record

suite = tree.parse(sys.argv[1]).getroot().find("testsuite")
ran = int(suite.get("tests")) - int(suite.get("skipped"))
if ran == 0:
    sys.exit("no CUDA test ran")
print(f"{ran} CUDA tests ran on a GPU")
if sys.argv[2]:
    record.write(sys.argv[2], {"cuda_tests_passed": ran, "skipped": int(suite.get("skipped"))})
PY
