#!/usr/bin/env bash
# tierup train on the digits of the demo: it learns, goes on from a checkpoint to the same bits, and says what is wrong with its
# inputs. Arguments: the tierup binary, the source folder.
set -uo pipefail
tierup=$1
source=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failed=0

fail() { echo "FAILED: $*"; failed=1; }
# refused WORDS OPTIONS...: training ends with an error that has these words, and writes nothing.
refused() {
  local words=$1
  shift
  if "$tierup" train "$work/fresh.pt" --out "$work/none.pt" "$@" >"$work/out" 2>"$work/err"; then
    fail "no error for $*"
  fi
  grep -qF -- "$words" "$work/err" || { fail "the error of $* lacks '$words'"; cat "$work/err"; }
  [ ! -e "$work/none.pt" ] || fail "a file was written for $*"
}

PYTHONPATH="$source/tools" python3 - "$tierup" "$source/demo" "$work" <<'P'
import pathlib, sys
import demo_training as demo
command, folder, work = sys.argv[1], pathlib.Path(sys.argv[2]), pathlib.Path(sys.argv[3])
demo.make_files(command, folder, work)
train = demo.read(work / "train.safetensors")
image, label = train["images"], train["target"]
demo.write(work / "short.safetensors", {"images": image, "target": ("U8", [9], label[2][:9])})
demo.write(work / "wrong.safetensors", {"images": image, "target": ("U8", label[1], [10] * label[1][0])})
demo.write(work / "empty.safetensors", {"images": ("F32", [0, 1, 8, 8], []), "target": ("U8", [0], [])})
demo.write(work / "float.safetensors", {"images": image, "target": ("F32", label[1], [float(x) for x in label[2]])})
P
data=(--data "$work/train.safetensors")
settings=(--loss nll --optimizer adamw --lr 4e-3 --schedule cosine --batch 64 --seed 3)

"$tierup" train "$work/fresh.pt" "${data[@]}" "${settings[@]}" --epochs 4 --validate "$work/unseen.safetensors" \
  --out "$work/whole.pt" --json >"$work/report.json" || fail "training"
python3 - "$work/report.json" <<'P' || fail "it does not learn"
import json, sys
epochs = json.load(open(sys.argv[1]))["epochs"]
assert len(epochs) == 4 and epochs[-1]["validation_accuracy"] > 0.9 and epochs[-1]["loss"] < epochs[0]["loss"] / 2, epochs
P

# The same seed gives the same file, with or without validation, and when it was resumed.
"$tierup" train "$work/fresh.pt" "${data[@]}" "${settings[@]}" --epochs 4 --out "$work/again.pt" >/dev/null
cmp "$work/whole.pt" "$work/again.pt" || fail "two runs differ"
"$tierup" train "$work/fresh.pt" "${data[@]}" "${settings[@]}" --epochs 4 --checkpoint "$work/runs" --out "$work/first.pt" >/dev/null &
child=$!
while [ ! -e "$work/runs/checkpoint.pt" ] && kill -0 $child 2>/dev/null; do sleep 0.01; done
kill -9 $child 2>/dev/null
wait $child 2>/dev/null
"$tierup" train "$work/fresh.pt" "${data[@]}" "${settings[@]}" --epochs 4 --checkpoint "$work/runs" --resume \
  --out "$work/resumed.pt" >/dev/null || fail "resuming"
cmp "$work/whole.pt" "$work/resumed.pt" || fail "a resumed run differs"

# Before the first step, not after the last.
for out in "$work/nowhere/out.pt" "$work"; do
  timeout 20 "$tierup" train "$work/fresh.pt" "${data[@]}" --epochs 1000000 --out "$out" >"$work/out" 2>"$work/err"
  [ $? = 3 ] && grep -qF -- "--out: cannot write $out" "$work/err" || fail "a name that cannot be written: $(cat "$work/err")"
done
refused "the column 'labels' is missing" "${data[@]}" --target labels
refused "different lengths" --data "$work/short.safetensors"
refused "label 10 at position 0 is not below the 10 classes" --data "$work/wrong.safetensors"
refused "has no rows" --data "$work/empty.safetensors"
refused "has no rows" "${data[@]}" --validate "$work/empty.safetensors"
refused "a batch of 5000 rows" "${data[@]}" --batch 5000
refused "labels are integers" --data "$work/float.safetensors"
refused "there is no loss 'hinge'" "${data[@]}" --loss hinge
refused "there is no optimiser 'lion'" "${data[@]}" --optimizer lion
refused "invalid lr value" "${data[@]}" --settings '{"lr": -1}'
refused "no setting 'speed'" "${data[@]}" --settings '{"speed": 1}'
refused "no parameter is called like nothing.*" "${data[@]}" --only 'nothing.*'
refused "needs validation data" "${data[@]}" --early-stop 2
refused "Tried to step" "${data[@]}" --schedule 'OneCycleLR:{"max_lr": 0.1, "total_steps": 1}' --epochs 4 --batch 700
refused "the loss is Float[64, 10], not a single number; name a loss" "${data[@]}" --loss output --batch 64
words=$("$tierup" bench "$work/fresh.pt" --train "${data[@]}" --loss output --batch 64 2>&1) && fail "bench: no error"
[[ $words == *"forward gives Float[64, 10], not a loss, which is a single number; name a loss"* ]] || fail "bench: $words"
refused "in epoch" "${data[@]}" --optimizer sgd --lr 1e30 --epochs 3
refused "does not fit the SGD optimizer" "${data[@]}" --optimizer sgd --schedule cosine --checkpoint "$work/runs" --resume
exit $failed
