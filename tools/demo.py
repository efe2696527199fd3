"""Classifies real handwritten digits with a TorchScript model, run by tierup: no PyTorch in sight.

    python3 tools/demo.py build/release/tierup

Needs only Python's standard library. Prints some digits with the predictions, the accuracy on the held-out part, how far
the answers are from PyTorch's own, and a latency line.
"""

import array
import json
import pathlib
import struct
import subprocess
import sys
import tempfile

DEMO = pathlib.Path(__file__).resolve().parent.parent / "demo"
SHADES = " .:-=+*#%@"
SHOWN = 6


def read_tensor(path, name):
    """Shape and flat float32 values of one tensor of a safetensors file."""
    data = pathlib.Path(path).read_bytes()
    (length,) = struct.unpack("<Q", data[:8])
    entry = json.loads(data[8 : 8 + length])[name]
    begin, end = entry["data_offsets"]
    values = array.array("f")
    values.frombytes(data[8 + length + begin : 8 + length + end])
    return entry["shape"], values


def draw(images, predictions, labels):
    rows = [[] for _ in range(8)]
    for n in range(SHOWN):
        for y in range(8):
            pixels = images[n * 64 + y * 8 : n * 64 + y * 8 + 8]
            rows[y].append("".join(SHADES[min(9, int(p * 9.99))] * 2 for p in pixels))
    print("\n".join("  ".join(row) for row in rows))
    print("  ".join(f"read as {p} (is {l})".center(16) for p, l in zip(predictions[:SHOWN], labels[:SHOWN])))


def tierup(command, *arguments):
    run = subprocess.run([command, *arguments], capture_output=True, text=True)
    if run.returncode != 0:
        sys.exit(run.stdout + run.stderr)
    return run.stdout


def main(command):
    model, case = DEMO / "digits.pt", DEMO / "digits.safetensors"
    with tempfile.TemporaryDirectory() as scratch:
        result = pathlib.Path(scratch) / "answers.safetensors"
        checked = tierup(command, "run", model, "--inputs", case, "--check", "--out", result)
        (count, classes), scores = read_tensor(result, "out.0")
    _, images = read_tensor(case, "in.0")
    labels = json.loads((DEMO / "labels.json").read_text())
    rows = [scores[n * classes : (n + 1) * classes] for n in range(count)]
    predictions = [max(range(classes), key=row.__getitem__) for row in rows]
    draw(images, predictions, labels)
    right = sum(p == l for p, l in zip(predictions, labels))
    print(f"\naccuracy on {count} held-out digits: {100 * right / count:.1f} %")
    print("against PyTorch's own answers:", checked.strip().splitlines()[-1])
    bench = json.loads(tierup(command, "bench", model, "--inputs", case, "-t", "1", "--json"))
    print(
        f"load {bench['load_ms']:.2f} ms, first call {bench['first_ms']:.2f} ms, then {bench['p50_ms']:.2f} ms (p50) and "
        f"{bench['p99_ms']:.2f} ms (p99) for all {count}; peak memory {bench['rss_mib']:.0f} MiB"
    )


if __name__ == "__main__":
    main(sys.argv[1])
