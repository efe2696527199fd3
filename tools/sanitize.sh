#!/usr/bin/env bash
# Builds tests under address+undefined (preset asan, clang, the fuzzers' build) and under thread
# sanitizers (preset tsan) and runs them. SANITIZERS="asan tsan" chooses. Arguments name rooms, whose
# own tests alone are then built and run; without, all tests under asan, and under tsan those where
# threads meet: TSAN_TARGETS. ASAN_TESTS is a ctest regex of what to run. The presets asan-rooms and
# tsan-rooms instrument what loads and runs models, and take kernels and passes from the compiler
# cache of a release build: minutes instead of an hour. A path (tests/training/threads) names a test
# program by its folder; CASES="FOLDER..." are checked by the command, too.
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

# check_cases PRESET FOLDER...: at tier 0, and with plans from the first call on; in one process,
# whose leaks are seen.
check_cases() {
  local preset=$1 folder known tiering
  shift
  ninja -C "build/$preset" tierup || return 1
  for folder in "$@"; do
    known=()
    [ -f "$folder/known.txt" ] && known=(--known "$folder/known.txt")
    for tiering in compile=off compile=blocking,profiled_runs=1; do
      OMP_NUM_THREADS=1 TIERUP_TIERING=$tiering "build/$preset/tierup" check --in-process "$folder" "${known[@]}" ||
        failed=1
    done
  done
}

for preset in ${SANITIZERS:-asan tsan}; do
  cmake --preset "$preset" >/dev/null || { failed=1; continue; }
  if [ $# -gt 0 ]; then
    run_programs "$preset" "${@/%/_test}" || failed=1
    read -ra folders <<<"${CASES:-}"
    [ ${#folders[@]} -eq 0 ] || check_cases "$preset" "${folders[@]}" || failed=1
  elif [ "$preset" = tsan ]; then
    run_programs tsan "${threaded[@]}" || failed=1
  else
    ninja -C "build/$preset" || { failed=1; continue; }
    OMP_NUM_THREADS=1 ctest --test-dir "build/$preset" --output-on-failure -j "$(nproc)" -R "${ASAN_TESTS:-.}" || failed=1
  fi
done
exit $failed
