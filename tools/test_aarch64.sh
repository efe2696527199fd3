#!/usr/bin/env bash
# Cross-builds tierup for AArch64 and runs it on QEMU: test_aarch64.sh [part].
#
# `part` is the bits of our own kernels and the tests of the room at the bottom; without it come what
# each component uses, the unit tests of every room, and the zoo at tier 0 and with plans from the
# first call on. With AVX2 on this machine, and a build for it in build/release, our kernels must
# give the bits that they give here at that level: both fuse multiply-adds, and everything else is
# rounded alike. Tests of what QEMU itself cannot do say so and are skipped.
# Ends with the plain line "N passed, N failed".
set -uo pipefail
cd "$(dirname "$0")/.."
part=${1:-all}
build=build/aarch64
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
passed=0
failed=0

# step NAME PROGRAM...: shows what the program printed if it fails.
step() {
  local name=$1 start=$SECONDS
  shift
  "$@" >"$work/out" 2>&1
  local status=$?
  if [ $status -eq 0 ]; then
    echo "ok: $name ($((SECONDS - start)) s)"
    passed=$((passed + 1))
  else
    echo "FAILED: $name ended with $status"
    tail -n 60 "$work/out"
    failed=$((failed + 1))
  fi
}
# A server's processor without SVE, as most are; `max` has SVE of 512 bits, the only length that
# oneDNN makes code for.
emulated_as() {
  local processor=$1
  shift
  qemu-aarch64 -cpu "$processor" -L build/aarch64-root "$@"
}
emulated() { emulated_as neoverse-n1 "$@"; }
same_bits() {
  [ -s "$1" ] && diff "$1" "$2"
}

rooms=(base)
targets=(kernel_bits base_test)
if [ "$part" = all ]; then
  rooms=($(sed -n 's/^\([a-z]*\):.*/\1/p' LAYERS))
  targets=(all)
fi
step "packages for AArch64" tools/aarch64_root.sh
step configure cmake --preset aarch64 -DTIERUP_PCH=ON -DTIERUP_UNITY=ON
step build ninja -C "$build" "${targets[@]}"
[ $failed -eq 0 ] || { echo "$passed passed, $failed failed"; exit 1; }

emulated "$build/tests/machines/kernel_bits" >"$work/emulated"
here=build/release/tests/machines/kernel_bits
if [ -x "$here" ] && grep -qw avx2 /proc/cpuinfo; then
  TIERUP_INSTRUCTION_SET=avx2 "$here" >"$work/here"
  step "our kernels give the bits of AVX2" same_bits "$work/here" "$work/emulated"
else
  echo "skipped: bits of our kernels (no kernel_bits in build/release, or no AVX2 here)"
fi
for room in "${rooms[@]}"; do
  [ -x "$build/${room}_test" ] || continue
  step "unit tests of $room" emulated "$build/${room}_test" --gtest_brief=1
done
if [ "$part" = all ]; then
  for processor in neoverse-n1 max; do
    for level in "" neon; do
      TIERUP_INSTRUCTION_SET=$level step "what components use, $processor, limit '$level'" \
        emulated_as $processor "$build/codegen_test" --gtest_brief=1 --gtest_filter='LimitedComponents.*'
    done
  done
  for tiering in compile=off compile=blocking,profiled_runs=1; do
    TIERUP_TIERING=$tiering step "zoo, $tiering" \
      emulated "$build/tierup" check --timeout 1200 --rounds 4 tests/data/zoo
  done
fi
echo "$passed passed, $failed failed"
[ $failed -eq 0 ]
