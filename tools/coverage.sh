#!/usr/bin/env bash
# Line coverage of the tests, by room (needs the coverage preset built: make coverage).
set -euo pipefail
cd "$(dirname "$0")/.."
find build/coverage -name '*.gcda' -delete
ctest --test-dir build/coverage -j "$(nproc)" >/dev/null || echo "some tests failed"
find build/coverage -name '*.gcda' -path '*tierup_*' -print0 |
  xargs -0 gcov -t --json-format 2>/dev/null | python3 tools/coverage.py
