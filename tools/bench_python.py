"""What Python costs: calls, awaits, torch.compile, against ONNX Runtime, eager and Inductor. Needs PyTorch, ONNX Runtime.

    python tools/bench_python.py calls|await|compile [MODEL...]

Medians; every figure of a line comes from turns in one run.
"""

import asyncio
import io
import statistics
import sys
import time

import numpy as np
import torch

import tierup


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
    with torch.no_grad():
        for name, took in each({**functions, **onnx_sessions(x)}).items():
            print(f"{name:26s} {took:7.2f} us")


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


def models(names):
    import torchvision.models as vision
    import transformers

    image = torch.randn(1, 3, 224, 224)
    known = {
        "mlp": lambda: (torch.nn.Sequential(*[torch.nn.Linear(256, 256), torch.nn.ReLU()] * 3), (torch.randn(8, 256),)),
        "resnet18": lambda: (vision.resnet18(weights=None), (image,)),
        "mobilenet": lambda: (vision.mobilenet_v3_small(weights=None), (image,)),
        "bert": lambda: (transformers.BertModel(transformers.BertConfig()), (torch.randint(0, 1000, (1, 128)),)),
    }
    for name in names or known:
        torch.manual_seed(0)
        yield name, *known[name]()


def compiled(names):
    for name, module, inputs in models(names):
        module.eval()
        functions, firsts = {"eager": lambda m=module: m(*inputs)}, {}
        with torch.no_grad():
            for backend in ("eager", "tierup", "inductor"):
                torch._dynamo.reset()
                function = torch.compile(module, backend=backend)
                begin = time.perf_counter()
                function(*inputs)
                firsts[backend] = time.perf_counter() - begin
                if backend != "eager":
                    functions[backend] = lambda f=function: f(*inputs)
            for _ in range(60):
                functions["tierup"]()
            time.sleep(3)
            took = each(functions, seconds=4, burst=1)
        print(
            f"{name:10s} first answer: no-op backend {firsts['eager']:.2f} s, tierup {firsts['tierup']:.2f}, Inductor "
            f"{firsts['inductor']:.2f}; steady: eager {took['eager'] / 1e3:.3f} ms, tierup {took['tierup'] / 1e3:.3f}, "
            f"Inductor {took['inductor'] / 1e3:.3f}",
            flush=True,
        )


if __name__ == "__main__":
    what = sys.argv[1]
    {"calls": calls, "await": awaits}[what]() if what != "compile" else compiled(sys.argv[2:])
