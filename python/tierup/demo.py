"""Classifies real handwritten digits with a TorchScript model: no PyTorch, no NumPy in sight.

    python -m tierup.demo

Prints some digits with the predictions, the accuracy on the held-out part, how far the answers are from PyTorch's own,
and a latency line.
"""

import resource
import statistics
import time

import tierup
from tierup import _digits


def timed(call):
    begin = time.perf_counter()
    result = call()
    return result, 1e3 * (time.perf_counter() - begin)


def main() -> None:
    folder = _digits.folder()
    shape, pixels = _digits.read_tensor(folder / "digits.safetensors", "in.0")
    (count, classes), expected = _digits.read_tensor(folder / "digits.safetensors", "out.0")
    images = memoryview(pixels).cast("B").cast("f", shape)
    model, load_ms = timed(lambda: tierup.load(folder / "digits.pt"))
    scores, first_ms = timed(lambda: model(images))
    flat = [value for row in scores.tolist() for value in row]
    read_as, truth = _digits.predictions(flat, count, classes), _digits.labels()
    _digits.draw(pixels, read_as, truth)
    print(f"\n{_digits.accuracy_line(read_as, truth)}")
    worst = max(abs(a - b) for a, b in zip(flat, expected))
    print(f"against PyTorch's own answers: largest difference {worst:.2g}")
    end = time.perf_counter() + 1
    times = [first_ms]
    while time.perf_counter() < end:
        times.append(timed(lambda: model(images))[1])
    p99 = sorted(times)[int(0.99 * (len(times) - 1))]
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(
        f"load {load_ms:.2f} ms, first call {first_ms:.2f} ms, then {statistics.median(times):.2f} ms (p50) and "
        f"{p99:.2f} ms (p99) for all {count}; peak memory {peak:.0f} MiB"
    )


if __name__ == "__main__":
    main()
