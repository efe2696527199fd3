"""What Python costs: calls, awaits, threads, against ONNX Runtime, eager PyTorch and C++ callers.

    TIERUP=COMMAND python tools/bench_python.py calls|await|threads

Needs PyTorch, safetensors, onnx and ONNX Runtime. Medians; the figures of a table come from turns in one run, but for
those of the command (C++), which runs before and after the others.
"""

import asyncio
import io
import json
import os
import statistics
import subprocess
import sys
import tempfile
import threading
import time

import numpy as np
import safetensors.torch
import torch

import tierup

COMMAND = os.environ.get("TIERUP", "tierup")


def each(functions, seconds=1.0, burst=20):
    """Median microseconds of a call of each, measured by turns."""
    times = {name: [] for name in functions}
    for function in functions.values():
        for _ in range(50):
            function()
    end = time.perf_counter() + seconds * len(functions)
    while time.perf_counter() < end:
        for name, function in functions.items():
            begin = time.perf_counter_ns()
            for _ in range(burst):
                function()
            times[name].append((time.perf_counter_ns() - begin) / burst / 1e3)
    return {name: statistics.median(values) for name, values in times.items()}


class AddOne(torch.nn.Module):
    def forward(self, x):
        return x + 1.0


def onnx_sessions(x):
    import onnx
    import onnxruntime

    tensor = onnx.helper.make_tensor_value_info
    one = onnx.numpy_helper.from_array(np.array(1, np.float32), "one")
    graph = onnx.helper.make_graph(
        [onnx.helper.make_node("Add", ["x", "one"], ["y"])],
        "add",
        [tensor("x", onnx.TensorProto.FLOAT, x.shape)],
        [tensor("y", onnx.TensorProto.FLOAT, x.shape)],
        [one],
    )
    model = onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 17)], ir_version=9)
    session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    binding = session.io_binding()
    binding.bind_cpu_input("x", x)
    binding.bind_output("y")
    return {
        "onnxruntime run": lambda: session.run(None, {"x": x}),
        "onnxruntime io binding": lambda: session.run_with_iobinding(binding),
    }


def command_bench(folder, data, x, *options):
    """What `tierup bench` tells of a model, whose calls are C++'s."""
    path = os.path.join(folder, "model.pt")
    with open(path, "wb") as file:
        file.write(data)
    inputs = os.path.join(folder, "case.safetensors")
    safetensors.torch.save_file({"in.0": x}, inputs)
    command = [COMMAND, "bench", path, "--inputs", inputs, "--threads", "1", "--json", *options]
    return json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)


def calls():
    x = np.ones((4, 4), np.float32)
    t = torch.ones(4, 4)
    buffer = io.BytesIO()
    torch.jit.save(torch.jit.script(AddOne()), buffer)
    model = tierup.load(buffer.getvalue(), threads=1)
    own = tierup.tensor(x)
    functions = {
        "tierup, its own tensors": lambda: model(own),
        "tierup, NumPy": lambda: model(x),
        "tierup, torch": lambda: model(t),
        "eager torch": lambda: t + 1.0,
    }
    with torch.no_grad(), tempfile.TemporaryDirectory() as folder:
        plain = lambda: command_bench(folder, buffer.getvalue(), t, "-t", "1")["p50_ms"] * 1e3  # noqa: E731
        before = plain()
        for name, took in each({**functions, **onnx_sessions(x)}).items():
            print(f"{name:26s} {took:7.2f} us")
        print(f"{'C++':26s} {before:7.2f} us before, {plain():.2f} after")


def awaits():
    x = np.ones((4, 4), np.float32)
    buffer = io.BytesIO()
    torch.jit.save(torch.jit.script(AddOne()), buffer)
    executor = tierup.Executor(buffer.getvalue(), threads=1, max_queued=1 << 16)

    async def one(count):
        begin = time.perf_counter()
        for _ in range(count):
            await executor.run_async(x)
        return (time.perf_counter() - begin) / count * 1e6

    async def many(count):
        begin = time.perf_counter()
        results = await asyncio.gather(*[executor.run_async(x) for _ in range(count)])
        assert len(results) == count and all(result[0, 0] == 2 for result in results)
        return (time.perf_counter() - begin) / count * 1e6

    asyncio.run(one(200))
    print(f"{'plain call':26s} {each({'call': lambda: executor.run(x)})['call']:7.2f} us")
    print(f"{'await, one by one':26s} {asyncio.run(one(3000)):7.2f} us")
    print(f"{'await, 10,000 in flight':26s} {asyncio.run(many(10_000)):7.2f} us")


def spinning(n):
    """A TorchScript model that takes about a millisecond of one core."""

    class Products(torch.nn.Module):
        def forward(self, x):
            for _ in range(12):
                x = torch.tanh(x @ x)
            return x

    buffer = io.BytesIO()
    torch.jit.save(torch.jit.script(Products()), buffer)
    return buffer.getvalue(), torch.full((n, n), 1.0 / n)


def threads():
    """Calls a second of 16 threads that share a model of 1 ms: of Python, and of the command (C++)."""
    data, x = spinning(160)
    own = tierup.tensor(x)
    rates = {"Python": [], "C++": []}
    model = tierup.load(data, threads=1)
    for _ in range(100):
        model(own)
    with tempfile.TemporaryDirectory() as folder:
        for _ in range(3):
            rates["C++"].append(command_bench(folder, data, x, "-c", "16", "-t", "2")["throughput"])
            rates["Python"].append(rate_of_threads(16, 2, lambda: model(own)))
    for name, values in rates.items():
        print(f"16 threads, {name:7s} {max(values):8.0f} calls/s ({', '.join(f'{value:.0f}' for value in values)})")


def rate_of_threads(count, seconds, function):
    done = [0] * count
    stop = threading.Event()

    def work(place):
        while not stop.is_set():
            function()
            done[place] += 1

    workers = [threading.Thread(target=work, args=(place,)) for place in range(count)]
    begin = time.perf_counter()
    for worker in workers:
        worker.start()
    time.sleep(seconds)
    stop.set()
    took = time.perf_counter() - begin
    for worker in workers:
        worker.join()
    return sum(done) / took


if __name__ == "__main__":
    {"calls": calls, "await": awaits, "threads": threads}[sys.argv[1]]()
