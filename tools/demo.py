"""Classifies real handwritten digits with a TorchScript model, run by tierup: no PyTorch in sight.

    python3 tools/demo.py build/release/tierup

Needs only Python's standard library. Prints some digits with the predictions, the accuracy on the held-out part, how far
the answers are from PyTorch's own, and a latency line.
"""

import json
import pathlib
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "python" / "tierup"))
import _digits


def tierup(command, *arguments):
    run = subprocess.run([command, *arguments], capture_output=True, text=True)
    if run.returncode != 0:
        sys.exit(run.stdout + run.stderr)
    return run.stdout


def main(command):
    model, case = _digits.folder() / "digits.pt", _digits.folder() / "digits.safetensors"
    with tempfile.TemporaryDirectory() as scratch:
        result = pathlib.Path(scratch) / "answers.safetensors"
        checked = tierup(command, "run", model, "--inputs", case, "--check", "--out", result)
        (count, classes), scores = _digits.read_tensor(result, "out.0")
    _, images = _digits.read_tensor(case, "in.0")
    read_as, truth = _digits.predictions(scores, count, classes), _digits.labels()
    _digits.draw(images, read_as, truth)
    print(f"\n{_digits.accuracy_line(read_as, truth)}")
    print("against PyTorch's own answers:", checked.strip().splitlines()[-1])
    bench = json.loads(tierup(command, "bench", model, "--inputs", case, "-t", "1", "--json"))
    print(
        f"load {bench['load_ms']:.2f} ms, first call {bench['first_ms']:.2f} ms, then {bench['p50_ms']:.2f} ms (p50) and "
        f"{bench['p99_ms']:.2f} ms (p99) for all {count}; peak memory {bench['rss_mib']:.0f} MiB"
    )


if __name__ == "__main__":
    main(sys.argv[1])
