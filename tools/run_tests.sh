#!/usr/bin/env bash
# Runs every test of a build folder and ends with the plain line "N passed, N failed".
set -uo pipefail
cd "$(dirname "$0")/.."
build=${1:-build/release}
log=$(mktemp)
trap 'rm -f "$log"' EXIT
ctest --test-dir "$build" --output-on-failure -j "$(nproc)" | tee "$log"
status=${PIPESTATUS[0]}
total=$(sed -n 's/.* tests failed out of \([0-9]*\).*/\1/p' "$log")
failed=$(sed -n 's/.* tests passed, \([0-9]*\) tests failed.*/\1/p' "$log")
skipped=$(grep -c '^[[:space:]]*[0-9]* - .* (Skipped)$' "$log")  # CTest counts them among those that passed.
[ "$skipped" -eq 0 ] || echo "$skipped skipped"
echo "$((${total:-0} - ${failed:-0} - skipped)) passed, ${failed:-0} failed"
[ "$status" -eq 0 ] && [ "${total:-0}" -gt 0 ]
