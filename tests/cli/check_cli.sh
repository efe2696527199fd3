#!/usr/bin/env bash
# The command's exit codes and the shape of what it prints. Arguments: the tierup binary, the zoo folder.
set -uo pipefail
tierup=$1
zoo=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failed=0

# expect CODE DESCRIPTION COMMAND...: runs it, keeps its output in $work/out and $work/err.
expect() {
  local code=$1 what=$2
  shift 2
  "$@" >"$work/out" 2>"$work/err"
  local got=$?
  if [ "$got" -ne "$code" ]; then
    echo "FAILED: $what: exit code $got instead of $code"
    cat "$work/out" "$work/err"
    failed=1
  fi
}
# says FILE WORDS: the output or error of the last command has these words.
says() {
  grep -qF -- "$2" "$work/$1" || { echo "FAILED: $1 lacks '$2':"; cat "$work/$1"; failed=1; }
}
# lacks FILE WORDS: they are not there.
lacks() {
  ! grep -qF -- "$2" "$work/$1" || { echo "FAILED: $1 has '$2':"; cat "$work/$1"; failed=1; }
}

model=("$zoo/mlp3.pt" --inputs "$zoo/mlp3.case0.safetensors")
expect 0 "a right answer" "$tierup" run "${model[@]}" --check
says out "ok"
says out "of the largest value: ok"
expect 1 "an answer outside of the tolerance" "$tierup" run "${model[@]}" --check --rtol 0 --atol 1e-30
expect 0 "writing results" "$tierup" run "${model[@]}" --out "$work/out.safetensors"
[ -s "$work/out.safetensors" ] || { echo "FAILED: nothing written"; failed=1; }
expect 2 "an unknown option" "$tierup" run "${model[@]}" --no-such-option
expect 2 "no subcommand" "$tierup"
expect 3 "a missing file" "$tierup" run "$work/none.pt" --inputs "$zoo/mlp3.case0.safetensors"
says err "none.pt"
expect 3 "an error in JSON" "$tierup" run "$work/none.pt" --inputs "$zoo/mlp3.case0.safetensors" --json
says err '"code": "not_found"'
expect 3 "a method that is not there" "$tierup" run "${model[@]}" --method nothing
says err "no method 'nothing'; it has: forward"
expect 0 "a case that expects an error" "$tierup" run "$zoo/strings.pt" --inputs "$zoo/strings.case2.safetensors" --check
expect 0 "calls in sequence" "$tierup" run "$zoo/kv_cache.pt" --inputs "$zoo/kv_cache.case0.safetensors" --check --json
says out '"passed": true'
bounded=$zoo/../modules/bounded
expect 0 "calls of which one raises" "$tierup" run "$bounded.pt" --inputs "$bounded.case0.safetensors" --check
says out "x is below zero"
says out "numbers: 2"
expect 0 "a model that prints, in JSON" "$tierup" run "$bounded.pt" --inputs "$bounded.case0.safetensors" --check --json
lacks out "numbers: 2"
says err "numbers: 2"
expect 3 "the same without expectations" "$tierup" run "$bounded.pt" --inputs "$bounded.case0.safetensors"
says err "x is below zero"
products=$zoo/../modules/small_products
expect 0 "compiled groups of products over nothing" "$tierup" run "$products.pt" \
  --inputs "$products.case1.safetensors" --check --tiering compile=blocking,profiled_runs=1
expect 0 "checking one model" "$tierup" check "$zoo/mlp3.pt"
says out "3 passed, 0 failed, 0 refused"
expect 0 "checking with tiering options" "$tierup" check "$zoo/mlp3.pt" --rounds 2 --tiering compile=blocking,log=on
says err "plan 1 installed"
mkdir "$work/raising"
sed 's/level/error/g' "$zoo/../ops/aten.relu.default.safetensors" >"$work/raising/aten.relu.default.safetensors"
expect 1 "operator cases that raise no error where one is expected" "$tierup" check "$work/raising"
says out "no error; PyTorch raises: direct"
rm -r "$work/raising"
expect 0 "figures" "$tierup" bench "${model[@]}" -t 0.05 -c 2 --json
for key in load_ms first_ms warm_ms p50_ms p90_ms p99_ms p999_ms max_ms rss_mib error throughput; do
  says out "\"$key\":"
done
expect 0 "so many calls" "$tierup" bench "${model[@]}" -n 25 -c 2 --json
says out '"calls": 50'
for key in number begin_ms cpu_ms; do says out "\"$key\":"; done
expect 0 "times of nodes" "$tierup" bench "${model[@]}" -t 0.05 --nodes --tiering compile=off
says out "aten::linear float32["
says out "GFLOP/s"
expect 0 "times of nodes in JSON" "$tierup" bench "${model[@]}" -t 0.05 --nodes --json
for key in nodes kinds us_per_run share gflop_per_s gb_per_s shapes place; do says out "\"$key\":"; done
expect 0 "times of nodes over so many runs" "$tierup" bench "${model[@]}" --nodes --warmup-runs 2 --main-runs 7 --json
says out '"runs": 7'
for command in ops "check $zoo/mlp3.pt" "inspect $zoo/mlp3.pt" "run ${model[*]}" "explain ${model[*]}"; do
  # shellcheck disable=SC2086
  expect 3 "$command at a level that there is not" env TIERUP_INSTRUCTION_SET=avx1024 "$tierup" $command
  says err "TIERUP_INSTRUCTION_SET=avx1024: not a known level; known are"
done
# Numbers that an option cannot take are refused before anything runs.
for option in "-t nan" "-t -1" "-t inf" "-n -1" "-n 1.5" "-c 0" "-c -1" "--memory-limit -1" "--memory-limit 1e30"; do
  # shellcheck disable=SC2086
  expect 2 "bench $option" timeout 20 "$tierup" bench "${model[@]}" -t 0.01 $option
done
for option in "--rtol nan" "--atol nan" "--rtol -1" "--atol inf" "--rtol x"; do
  # shellcheck disable=SC2086
  expect 2 "run $option" "$tierup" run "${model[@]}" --check $option
  says err "${option%% *}: ${option#* }: expected a number from 0 to"
done
for option in "--timeout 0" "--rounds -1" "--tiering compile=never"; do
  # shellcheck disable=SC2086
  expect 2 "check $option" "$tierup" check "$zoo/mlp3.pt" $option
done
for option in "--lr nan" "--lr -1" "--clip-norm nan" "--clip-value -1" "--early-stop 0"; do
  # shellcheck disable=SC2086
  expect 2 "train $option" "$tierup" train "$zoo/mlp3.pt" --data "$zoo/mlp3.case0.safetensors" $option
done
for option in compile_cpu_share={1e-30,nan,-1,inf} verify_rate={1e-30,nan,2} profiled_runs={-1,1e30} inter_op_grain_us=1e300 \
  max_plan_mib=-3 compile_threads=1000000 release_delay_ms=99999999999999999999 fusion_strategy=static:-1; do
  expect 2 "--tiering $option" "$tierup" run "${model[@]}" --tiering "$option"
  says err "tiering option ${option%%=*}="
done
# A command without the code generator beside it, and one with it.
mkdir "$work/alone"
cp "$tierup" "$work/alone/tierup"
for command in "bench -t 0.05" "bench -t 0.05 --nodes" "compare $zoo/mlp3.pt" "explain --calls 3"; do
  # shellcheck disable=SC2086
  expect 0 "$command without the code generator" "$work/alone/tierup" ${command%% *} ${command#* } "${model[@]}"
  head -n 1 "$work/out" >"$work/first" && mv "$work/first" "$work/out"
  says out "no compiled kernels: the code generator could not be loaded"
  # shellcheck disable=SC2086
  expect 0 "$command without the code generator, in JSON" "$work/alone/tierup" ${command%% *} ${command#* } "${model[@]}" --json
  says out '"code_generator": false'
  says out '"code_generator_error": "the code generator could not be loaded'
  [ -f "$(dirname "$tierup")/libtierup_codegen.so" ] || continue
  # shellcheck disable=SC2086
  expect 0 "$command with the code generator" "$tierup" ${command%% *} ${command#* } "${model[@]}"
  lacks out "no compiled kernels"
  # shellcheck disable=SC2086
  expect 0 "$command with the code generator, in JSON" "$tierup" ${command%% *} ${command#* } "${model[@]}" --json
  says out '"code_generator": true'
done
expect 0 "the interpreter alone, which needs none" "$work/alone/tierup" bench "${model[@]}" -t 0.05 --tiering compile=off
lacks out "no compiled kernels"
expect 0 "the same model by both front ends" "$tierup" compare "$zoo/mlp3.pt" "$zoo/mlp3.pt2" \
  --inputs "$zoo/mlp3.case0.safetensors" --inputs "$zoo/mlp3.case1.safetensors"
says out "call 0: largest error"
expect 0 "their times by turns" "$tierup" compare "$zoo/mlp3.pt" "$zoo/mlp3.pt2" \
  --inputs "$zoo/mlp3.case0.safetensors" -t 0.05
says out "second / first"
expect 0 "their times in JSON" "$tierup" compare "$zoo/mlp3.pt" "$zoo/mlp3.pt2" \
  --inputs "$zoo/mlp3.case0.safetensors" -t 0.05 --json
for key in equal first_p50_ms second_p50_ms timed_calls; do says out "\"$key\":"; done
expect 0 "one model under two settings" "$tierup" compare "$zoo/mlp3.pt" "$zoo/mlp3.pt" \
  --inputs "$zoo/mlp3.case0.safetensors" --tiering compile=off --other-tiering inter_op_threads=2
says out "equal"
for option in --tiering --other-tiering; do
  expect 2 "a setting that is not there" "$tierup" compare "$zoo/mlp3.pt" "$zoo/mlp3.pt" \
    --inputs "$zoo/mlp3.case0.safetensors" "$option" what=2
  says err "unknown tiering option 'what'; known: policy="
done
expect 0 "a model that writes to its inputs, by both front ends" "$tierup" compare \
  "$zoo/inplace_views.pt" "$zoo/inplace_views.pt2" --inputs "$zoo/inplace_views.case1.safetensors"
packages=$zoo/../packages
expect 3 "an archive of several models without a choice" "$tierup" run "$packages/two_models.pt2" \
  --inputs "$packages/encoder.case0.safetensors"
says err "the archive has several models (encoder, parts/decoder); choose one"
for name in encoder parts/decoder; do
  for number in 0 1; do
    expect 0 "the model $name of several" "$tierup" run "$packages/two_models.pt2" --check \
      --model-name "$name" --inputs "$packages/$(basename "$name").case$number.safetensors"
  done
  expect 0 "the signature of $name" "$tierup" inspect "$packages/two_models.pt2" --model-name "$name"
done
says out "state"
expect 3 "a model that is not in the archive" "$tierup" inspect "$packages/two_models.pt2" --model-name third
says err "no model 'third'; the archive has: encoder, parts/decoder"
expect 1 "two models that differ" "$tierup" compare "$zoo/resnet18.pt" "$zoo/resnet50.pt2" \
  --inputs "$zoo/resnet18.case0.safetensors" --json
says out '"equal": false'
says out 'instead of'
expect 3 "a comparison with nothing" "$tierup" compare "$zoo/mlp3.pt" "$work/none.pt" \
  --inputs "$zoo/mlp3.case0.safetensors" --json
says err '"code": "not_found"'
expect 0 "the signature of an exported program" "$tierup" inspect "$zoo/mlp3.pt2"
says out "torch.export by PyTorch 2."
says out "in   x: float32["
says out "with "
expect 0 "the same in JSON" "$tierup" inspect "$zoo/mlp3.pt2" --json
for key in schema dialect signature inputs outputs ranges; do says out "\"$key\":"; done
expect 0 "a summary" "$tierup" inspect "$zoo/mlp3.pt"
says out "forward(Tensor x) -> Tensor"
expect 0 "the source" "$tierup" inspect "$zoo/mlp3.pt" --code
says out "class Mlp3(Module):"
expect 0 "the graph" "$tierup" inspect "$zoo/mlp3.pt" --graph
says out "aten::relu"
expect 0 "the plan" "$tierup" inspect "$zoo/mlp3.pt" --plan
says out "op aten::linear"
expect 0 "the weights" "$tierup" inspect "$zoo/mlp3.pt" --weights
says out "fc1.weight"
expect 0 "the operators" "$tierup" inspect "$zoo/mlp3.pt" --ops --json
says out '"aten::linear": 3'
# A model whose case has inputs only; a model without any case.
python3 - "$zoo/mlp3.case0.safetensors" "$work/bare.case0.safetensors" <<'PYTHON' || failed=1
import json, struct, sys
data = open(sys.argv[1], "rb").read()
size = struct.unpack("<Q", data[:8])[0]
header = json.loads(data[8:8 + size])
del header["__metadata__"]["outputs"]
text = json.dumps(header).encode()
open(sys.argv[2], "wb").write(struct.pack("<Q", len(text)) + text + data[8 + size:])
PYTHON
cp "$zoo/mlp3.pt" "$work/bare.pt"
expect 0 "a case without outputs" "$tierup" run "$work/bare.pt" --inputs "$work/bare.case0.safetensors"
expect 1 "nothing to compare" "$tierup" run "$work/bare.pt" --inputs "$work/bare.case0.safetensors" --check
says err "nothing to compare"
says out "forward: nothing to compare"
expect 0 "an error that cannot be known" "$tierup" bench "$work/bare.pt" --inputs "$work/bare.case0.safetensors" -t 0.05 --json
says out '"error": null'
rm "$work/bare.case0.safetensors"
expect 1 "a model without cases" "$tierup" check "$work/bare.pt"
says err "nothing was checked"
expect 3 "a filter that nothing passes" "$tierup" check "$zoo" --filter no_such_model
# A model of which tier 1 serves some calls: text, JSON, page and trace tell the same.
explained=("$tierup" explain "${model[@]}" --calls 12 --tiering profiled_runs=2,plan_trial=off)
expect 0 "an explanation" "${explained[@]}" --graph
says out "12 calls, 2 of them at tier 0; a specialised plan stands"
says out "plan 1 (any shapes): 10 hits"
says out "guard: argument 1: float32 rank 2"
says out "= tierup::"
expect 0 "the same as a page, a trace and JSON" "${explained[@]}" --html "$work/page.html" --trace "$work/trace.json" --json
python3 "$(dirname "$0")/check_explanation.py" "$work/out" "$work/page.html" "$work/trace.json" || failed=1
expect 0 "a model that stays at tier 0" "$tierup" explain "${model[@]}" --tiering compile=off
says out "10 calls, 10 of them at tier 0; compilation is off"
expect 3 "a page that cannot be written" "${explained[@]}" --html "$work/none/page.html"
says err "cannot write"
expect 0 "the table" "$tierup" ops
says out "aten::relu(Tensor self) -> Tensor"
# Started by its bare name from a folder in which somebody put a code generator.
mkdir "$work/bin" "$work/planted"
ln "$tierup" "$work/bin/tierup" 2>/dev/null || cp "$tierup" "$work/bin/tierup"
printf '#include <stdio.h>\n__attribute__((constructor)) static void f(void) { puts("PLANTED"); }\n' >"$work/planted.c"
if cc -shared -fPIC -o "$work/planted/libtierup_codegen.so" "$work/planted.c"; then
  chain=$(realpath "$zoo")/pointwise_chain
  from_planted() { (cd "$work/planted" && PATH=$work/bin:$PATH "$@"); }
  expect 0 "a code generator of the working folder is not loaded" from_planted \
    tierup bench "$chain.pt" --inputs "$chain.case0.safetensors" -n 5 --tiering compile=blocking,profiled_runs=1
  lacks out PLANTED
  named_relative() { (cd "$work/planted" && exec -a ./tierup "$work/bin/tierup" "$@"); }
  expect 0 "nor is it if the program is called ./tierup" named_relative \
    bench "$chain.pt" --inputs "$chain.case0.safetensors" -n 5 --tiering compile=blocking,profiled_runs=1
  lacks out PLANTED
  # The check can fail: whoever names it loads it.
  LD_PRELOAD="$work/planted/libtierup_codegen.so" "$tierup" --version >"$work/out" 2>&1
  says out PLANTED
fi

exit $failed
