"""Classifies real handwritten digits with a TorchScript model, run by tierup, then trains it anew: no PyTorch in sight.

    python3 tools/demo.py build/release/tierup

Needs only Python's standard library. Prints some digits with the predictions, the accuracy on the held-out part, how far
the answers are from PyTorch's own, and the tiers: the first call, the plan that is installed beside the callers, what
it fused, and how fast steady calls are with and without it; then the curve of a training from random weights.
"""

import json
import pathlib
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "python" / "tierup"))
import _digits

import demo_training


def tierup(command, *arguments):
    run = subprocess.run([command, *arguments], capture_output=True, text=True)
    if run.returncode != 0:
        sys.exit(run.stdout + run.stderr)
    return run.stdout


def bench(command, model, case, *options):
    return json.loads(tierup(command, "bench", model, "--inputs", case, "-t", "1", "--json", *options))


def fused(notes):
    """What the passes' notes say was joined, in words."""
    for note in notes:
        if note.startswith("neural_regions "):
            counts = dict(part.split("=") for part in note.split() if "=" in part)
            yield f"{counts['operators']} operators in compiled nets of layers: {counts['regions']}"
        elif note.startswith("compile_groups "):
            counts = dict(part.split("=") for part in note.split() if "=" in part)
            yield f"{counts['groups']} fusion groups, {counts.get('kernels', 0)} kernels of LLVM"


def show_tiers(command, model, case, count):
    tiered = bench(command, model, case)
    tier0 = bench(command, model, case, "--tiering", "compile=off")
    explained = json.loads(tierup(command, "explain", model, "--inputs", case, "--calls", "6", "--json"))
    print(
        f"against PyTorch's own answers: largest error {max(tiered['error'], tier0['error']):.1e} of the largest value\n"
        f"\nthe tiers, for all {count} digits in one call:\n"
        f"  load             {tiered['load_ms']:7.2f} ms\n"
        f"  first call       {tiered['first_ms']:7.2f} ms   by the interpreter, tier 0: nothing is compiled on the caller's time\n"
        f"  steady, tier 0   {tier0['p50_ms']:7.2f} ms   (p50)"
    )
    for graph in explained["graphs"]:
        for plan in graph["plans"]:
            print(
                f"  plan installed   {plan['compile_ms']:7.2f} ms   of work in the background; {graph['tier0_calls']} calls "
                f"at tier 0, then {plan['hits']} on the plan"
            )
            for line in fused(plan["notes"]):
                print(f"    fused: {line}")
        if not graph["plans"]:
            print(f"  no plan: {graph['reason']} {graph['detail']}")
    print(
        f"  steady, plan     {tiered['p50_ms']:7.2f} ms   (p50), {tiered['p99_ms']:.2f} ms (p99): "
        f"{tier0['p50_ms'] / tiered['p50_ms']:.1f} times as fast as tier 0\n"
        f"  peak memory      {tiered['rss_mib']:7.0f} MiB"
    )
    if not explained["code_generator"]:
        print(f"no compiled kernels: {explained['code_generator_error']}")


def main(command):
    model, case = _digits.folder() / "digits.pt", _digits.folder() / "digits.safetensors"
    with tempfile.TemporaryDirectory() as scratch:
        result = pathlib.Path(scratch) / "answers.safetensors"
        # Fails unless all answers are PyTorch's own within the case's tolerance.
        tierup(command, "run", model, "--inputs", case, "--check", "--out", result)
        (count, classes), scores = _digits.read_tensor(result, "out.0")
    _, images = _digits.read_tensor(case, "in.0")
    read_as, truth = _digits.predictions(scores, count, classes), _digits.labels()
    _digits.draw(images, read_as, truth)
    print(f"\n{_digits.accuracy_line(read_as, truth)}")
    show_tiers(command, model, case, count)
    demo_training.main(command, _digits.folder())


if __name__ == "__main__":
    main(sys.argv[1])
