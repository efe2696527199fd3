#!/usr/bin/env bash
# Builds the tests under address+undefined and under thread sanitizers and runs them.
# SANITIZERS="asan tsan" chooses; arguments name rooms, whose own tests alone are then built and run.
# ASAN_TESTS and TSAN_TESTS are ctest regexes of what to run where everything is built.
set -uo pipefail
cd "$(dirname "$0")/.."
failed=0
export UBSAN_OPTIONS=print_stacktrace=1 ASAN_OPTIONS=detect_leaks=1
# libgomp is not instrumented: its barriers look like races to the thread sanitizer.
export TSAN_OPTIONS="suppressions=$PWD/tools/tsan.supp ignore_noninstrumented_modules=1"
for preset in ${SANITIZERS:-asan tsan}; do
  cmake --preset "$preset" >/dev/null && ninja -C "build/$preset" "${@/%/_test}" || { failed=1; continue; }
  if [ $# -gt 0 ]; then
    for room in "$@"; do OMP_NUM_THREADS=1 "build/$preset/${room}_test" --gtest_brief=1 || failed=1; done
    continue
  fi
  if [ "$preset" = tsan ]; then tests=${TSAN_TESTS:-stress|unit.runtime|unit.base}; else tests=${ASAN_TESTS:-.}; fi
  OMP_NUM_THREADS=1 ctest --test-dir "build/$preset" --output-on-failure -j "$(nproc)" -R "$tests" || failed=1
done
exit $failed
