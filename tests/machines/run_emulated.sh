#!/usr/bin/env bash
# The build's own programs on an emulated processor: run_emulated.sh BUILD CPU LEVEL PART
#
# CPU is a processor that qemu-x86_64 knows (Nehalem, Haswell, EPYC-Milan), LEVEL what of
# TIERUP_INSTRUCTION_SET it has. PART is `part` (minutes; in CTest) or `all` (make variants).
# An instruction that the processor does not have ends a program with "Illegal instruction"; our own
# kernels must give the bits that they give here at that level. Ends with 77 where nothing was
# tested: qemu-x86_64 is not installed.
set -uo pipefail
cd "$(dirname "$0")/../.."
build=$1
cpu=$2
level=$3
part=$4
if ! command -v qemu-x86_64 >/dev/null; then
  echo "skipped: qemu-x86_64 (Debian's qemu-user) is not installed, so nothing ran on a $cpu"
  exit 77
fi
# What OpenBLAS is told to take the machine for holds for this one, not for the emulated one.
unset OPENBLAS_CORETYPE
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failed=0

# step NAME PROGRAM...: runs it there; shows what it printed if it fails.
step() {
  local name=$1 start=$SECONDS status
  shift
  qemu-x86_64 -cpu "$cpu" "$@" >"$work/out" 2>"$work/err"
  status=$?
  if [ $status -ne 0 ]; then
    echo "FAILED on $cpu: $name ended with $status"
    grep -vh "TCG doesn't support requested feature" "$work/out" "$work/err" | tail -n 60
    failed=1
  else
    echo "ok on $cpu: $name ($((SECONDS - start)) s)"
  fi
}
tests() {  # tests PROGRAM FILTER
  step "$1 $2" "$build/$1" --gtest_brief=1 --gtest_filter="$2"
}
models() {  # models TIERING ROUNDS PATH...
  local tiering=$1 rounds=$2
  shift 2
  export TIERUP_TIERING=$tiering
  step "check, $tiering, $*" "$build/tierup" check --timeout 1200 --rounds "$rounds" "$@"
  unset TIERUP_TIERING
}

# Functions of the C library are chosen by the processor as well: it is lowered along.
lowered=(env TIERUP_INSTRUCTION_SET="$level")
[ "$level" = sse42 ] &&
  lowered+=(GLIBC_TUNABLES=glibc.cpu.hwcaps=-AVX_Usable,-AVX2_Usable,-FMA_Usable,-AVX,-AVX2,-FMA)
step "bits of own kernels" "$build/tests/machines/kernel_bits"
mv "$work/out" "$work/emulated"
"${lowered[@]}" "$build/tests/machines/kernel_bits" >"$work/native" || failed=1
if ! diff "$work/native" "$work/emulated" >"$work/diff" || [ ! -s "$work/native" ]; then
  echo "FAILED on $cpu: own kernels give other bits than here at level $level:"
  head -n 40 "$work/diff"
  failed=1
fi

# What takes oneDNN's tanh for AVX2 in a net: compiled nets with it are refused there, as wrong.
with_tanh=
if [ "$level" = avx2 ] && ! qemu-x86_64 -cpu "$cpu" "$build/tests/machines/gather_probe" 2>/dev/null; then
  echo "left out on $cpu: tests that want nets with oneDNN's tanh compiled; this qemu gathers wrong (gather_probe.cc)"
  with_tanh='NeuralNetValues.of_s*:NeuralNet.attention_written*:NeuralNet.halves*:NeuralNet.rows_take*:NeuralNet.small_parts*:NeuralNet.transposed_convolutions*'
fi

zoo=tests/data/zoo
now=compile=blocking,profiled_runs=1
if [ "$part" = part ]; then
  tests kernels_test 'RowKernels.*:MaxPool.*:*Swish*:Gemm*'
  tests ops_test "NeuralNet*-NeuralNetValues.of_steps_*:NeuralNet.rows_take*:NeuralNet.*sizes*:NeuralNet.few_rows*:$with_tanh"
  tests codegen_test 'LimitedComponents.*:Products.*'
  models compile=off 1 $zoo/{mlp3,gru,linear_algebra}.pt
  models $now 4 $zoo/{mlp3,pointwise_chain,bert_base,mobilenet_v3_small}.pt
else
  for program in base tensor kernels ops codegen passes runtime tier; do
    tests ${program}_test "*-$with_tanh"
  done
  models compile=off 1 $zoo tests/data/modules tests/data/exported
  models $now 4 $zoo
fi
exit $failed
