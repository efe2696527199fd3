#!/usr/bin/env bash
# Builds tests under address+undefined (preset asan, clang, the fuzzers' build) and under thread
# sanitizers (preset tsan) and runs them. SANITIZERS="asan tsan" chooses. Arguments name rooms, whose
# own tests alone are then built and run; without, all tests under asan, and under tsan those where
# threads meet: TSAN_TARGETS. ASAN_TESTS is a ctest regex of what to run. The presets asan-rooms and
# tsan-rooms instrument what loads and runs models, and take kernels and passes from the compiler
# cache of a release build: minutes instead of an hour.
set -uo pipefail
cd "$(dirname "$0")/.."
failed=0
read -ra threaded <<<"${TSAN_TARGETS:-runtime_test tier_test executor_test api_test tests/stress/stress_test}"
export UBSAN_OPTIONS=print_stacktrace=1 ASAN_OPTIONS=detect_leaks=1
export LSAN_OPTIONS="suppressions=$PWD/tools/lsan.supp print_suppressions=0"
# libgomp is not instrumented: its barriers look like races to the thread sanitizer.
export TSAN_OPTIONS="suppressions=$PWD/tools/tsan.supp ignore_noninstrumented_modules=1"

run_programs() {  # run_programs PRESET PROGRAM...: builds and runs them one after the other.
  local preset=$1 program
  shift
  ninja -C "build/$preset" "$@" || return 1
  for program in "$@"; do OMP_NUM_THREADS=1 "build/$preset/$program" --gtest_brief=1 || failed=1; done
}

for preset in ${SANITIZERS:-asan tsan}; do
  cmake --preset "$preset" >/dev/null || { failed=1; continue; }
  if [ $# -gt 0 ]; then
    run_programs "$preset" "${@/%/_test}" || failed=1
  elif [ "$preset" = tsan ]; then
    run_programs tsan "${threaded[@]}" || failed=1
  else
    ninja -C "build/$preset" || { failed=1; continue; }
    OMP_NUM_THREADS=1 ctest --test-dir "build/$preset" --output-on-failure -j "$(nproc)" -R "${ASAN_TESTS:-.}" || failed=1
  fi
done
exit $failed
