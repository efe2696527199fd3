#!/bin/sh
# check_ranks.sh PROGRAM MPIEXEC MODEL: two ranks, two threads and one process train to the same
# weights, each run to the same bits as before. Two parts are summed either way, so ranks and
# threads are equal to the bit; the whole batch in one part differs by rounding.
set -eu
program=$1 mpiexec=$2 model=$3
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_rmaps_base_oversubscribe=1
export OMPI_MCA_btl_vader_single_copy_mechanism=none

"$mpiexec" -n 2 "$program" "$model" "$work/ranks.safetensors" >"$work/log"
"$mpiexec" -n 2 "$program" "$model" "$work/again.safetensors" >/dev/null
"$mpiexec" -n 1 "$program" "$model" "$work/threads.safetensors" 2 >/dev/null
"$mpiexec" -n 1 "$program" "$model" "$work/whole.safetensors" >/dev/null
cmp "$work/ranks.safetensors" "$work/again.safetensors"
cmp "$work/ranks.safetensors" "$work/threads.safetensors"
python3 - "$work/ranks.safetensors" "$work/whole.safetensors" "$work/log" <<'PY'
import array
import json
import struct
import sys


def numbers(path):
    with open(path, "rb") as file:
        (length,) = struct.unpack("<Q", file.read(8))
        json.loads(file.read(length))
        return array.array("f", file.read())


ranks, whole = numbers(sys.argv[1]), numbers(sys.argv[2])
largest = max(map(abs, whole))
assert len(ranks) == len(whole) > 0
# Adam divides by the root of a squared gradient: where that is near zero, rounding is most of it.
assert max(abs(a - b) for a, b in zip(ranks, whole)) < 1e-4 * largest
losses = [float(line.split()[-1]) for line in open(sys.argv[3])]
assert sum(losses[-4:]) < sum(losses[:4]), losses
PY
