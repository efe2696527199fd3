#!/usr/bin/env bash
# The models and the text programs under every way in which plans are made and run:
# each variant must pass what tier 0 passes. Arguments name variants; without, all of them run.
# FOLDERS are what `tierup check` checks (default: the project's zoo, modules and exported archives,
# training runs and gradients).
set -uo pipefail
cd "$(dirname "$0")/.."
build=${BUILD:-build/release}
read -ra folders <<<"${FOLDERS:-tests/data/zoo tests/data/modules tests/data/exported tests/data/training tests/data/grads}"
now='compile=blocking,profiled_runs=1'

# NAME | tiering options | rounds of each case | instruction set | cores
variants="
tier0           | compile=off                                              | 1 | |
blocking        | $now                                                     | 4 | |
background      | profiled_runs=1                                          | 5 | |
dynamic         | policy=reference,$now,fusion_strategy=dynamic:12         | 4 | |
static          | policy=reference,$now,fusion_strategy=static:12          | 4 | |
exact           | $now,accuracy=exact                                      | 3 | |
no_fusion       | $now,fusion=off                                          | 4 | |
no_memory_plan  | $now,memory_plan=off                                     | 4 | |
verify_passes   | $now,verify_passes=on                                    | 1 | |
guards_fail     | $now,guards_fail=on                                      | 4 | |
poison          | $now,poison=on                                           | 5 | |
checked         | profiled_runs=1,verify_rate=1                            | 5 | |
small_budget    | profiled_runs=1,max_plans=1,fusion_strategy=static:1     | 4 | |
no_budget       | $now,max_plans=1,fusion_strategy=dynamic:0               | 3 | |
avx512          | $now                                                     | 4 | avx512 |
avx2            | $now                                                     | 4 | avx2 |
avx2_tier0      | compile=off                                              | 1 | avx2 |
sse42           | $now                                                     | 4 | sse42 |
sse42_tier0     | compile=off                                              | 1 | sse42 |
one_thread      | $now                                                     | 4 | | 0
two_threads     | $now                                                     | 4 | | 0,1
"

trim() { local text=${1#"${1%%[![:space:]]*}"}; echo "${text%"${text##*[![:space:]]}"}"; }

run_variant() {  # run_variant NAME TIERING ROUNDS INSTRUCTION_SET CORES
  local name=$1 failed=0 start=$SECONDS line
  export TIERUP_TIERING=$2
  local on=()
  unset TIERUP_INSTRUCTION_SET
  [ -n "$4" ] && export TIERUP_INSTRUCTION_SET=$4
  [ -n "$5" ] && on=(taskset -c "$5")  # tierup uses as many threads as it may use cores.
  "${on[@]}" "$build/tierup" check --rounds "$3" "${folders[@]}" >"$log" 2>&1 || failed=1
  line=$(tail -n 1 "$log")
  [ $failed = 0 ] || grep -E '^(failed|refused)' "$log"
  if ! "${on[@]}" "$build/tests/torchscript/torchscript_test" --gtest_brief=1 --gtest_filter='*Tiered*' >"$log" 2>&1; then
    failed=1
    grep -E 'FAILED|Failure' "$log"
  fi
  echo "$name: $line; text programs: $(tail -n 1 "$log") ($((SECONDS - start)) s)"
  return $failed
}

log=$(mktemp)
trap 'rm -f "$log"' EXIT
passed=0
failed=0
while IFS='|' read -r name tiering rounds isa cores; do
  name=$(trim "$name")
  [ -z "$name" ] && continue
  if [ $# -gt 0 ] && [[ " $* " != *" $name "* ]]; then continue; fi
  if run_variant "$name" "$(trim "$tiering")" "$(trim "$rounds")" "$(trim "$isa")" "$(trim "$cores")"; then
    passed=$((passed + 1))
  else
    failed=$((failed + 1))
  fi
done <<<"$variants"
# NAME | processor | instruction set: everything on an emulated one, an hour or so each.
emulated="
nehalem | Nehalem    | sse42
haswell | Haswell    | avx2
milan   | EPYC-Milan | avx2
"
skipped=0
while IFS='|' read -r name cpu level; do
  name=$(trim "$name")
  [ -z "$name" ] && continue
  if [ $# -gt 0 ] && [[ " $* " != *" $name "* ]]; then continue; fi
  tests/machines/run_emulated.sh "$build" "$(trim "$cpu")" "$(trim "$level")" all
  case $? in
    0) passed=$((passed + 1)) ;;
    77) skipped=$((skipped + 1)) ;;
    *) failed=$((failed + 1)) ;;
  esac
done <<<"$emulated"
[ "$skipped" -eq 0 ] || echo "$skipped skipped"
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ] && [ "$passed" -gt 0 ]
