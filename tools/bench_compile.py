"""torch.compile(backend="tierup") against eager and Inductor. Needs PyTorch, and what ZOO's models need.

    python tools/bench_compile.py inference ZOO [MODEL...]   (ZOO: a file like shared/bench/zoo.py, with build(name))
    python tools/bench_compile.py training [MODEL...]

With tierup-jit installed beside tierup; without it groups are not compiled. Every model is a process of its own, with
fresh caches. `first`: seconds from the moment when the traced graph is handed to the compiler (tierup's, or Inductor's
inner one, which comes later in its work) to the first answer. `p50`: median milliseconds of steady calls, by turns in
one run. Environment: BENCH_THREADS (2); BENCH_SECONDS (3) of steady calls for each way; BENCH_ALONE, a command that
prints a line when the machine is quiet and ends when measuring must; BENCH_CACHE, a folder for Inductor's caches
instead of fresh ones (`first` says nothing then).
"""

import contextlib
import importlib
import json
import math
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

THREADS = int(os.environ.get("BENCH_THREADS", "2"))
SECONDS = float(os.environ.get("BENCH_SECONDS", "3"))


@contextlib.contextmanager
def quiet_machine():
    """Steady calls are timed inside: alone on the machine, if BENCH_ALONE says how."""
    command = os.environ.get("BENCH_ALONE")
    if not command:
        yield
        return
    with subprocess.Popen(command, shell=True, stdout=subprocess.PIPE, text=True) as alone:
        alone.stdout.readline()
        yield


def medians(functions):
    """Median milliseconds of each, by turns of about 20 ms."""
    bursts = {}
    for name, function in functions.items():
        begin = time.perf_counter()
        for _ in range(3):
            function()
        bursts[name] = max(1, int(0.02 * 3 / (time.perf_counter() - begin)))
    times = {name: [] for name in functions}
    with quiet_machine():
        end = time.perf_counter() + SECONDS * len(functions)
        while time.perf_counter() < end:
            for name, function in functions.items():
                for _ in range(bursts[name]):
                    begin = time.perf_counter_ns()
                    function()
                    times[name].append(time.perf_counter_ns() - begin)
    return {name: statistics.median(values) / 1e6 for name, values in times.items()}


class Stopwatch:
    """When a compiler was given its first graph."""

    def __init__(self):
        self.begin = None

    def started(self):
        if self.begin is None:
            self.begin = time.perf_counter()

    def around(self, function):
        def timed(*args, **kwargs):
            self.started()
            return function(*args, **kwargs)

        return timed


def compiled(torch, function, backend):
    """The compiled function, and the stopwatch of its compiler."""
    watch = Stopwatch()
    if backend == "tierup":
        import tierup.torch as tierup_backend

        tierup_backend._compile_graph = watch.around(tierup_backend._compile_graph)
        return torch.compile(function, backend="tierup"), watch
    from torch._inductor.compile_fx import compile_fx, compile_fx_inner

    def inductor(graph, inputs, **_):
        return compile_fx(graph, inputs, inner_compile=watch.around(compile_fx_inner))

    return torch.compile(function, backend=inductor), watch


def settle(function):
    """Until background compilations and the trials of their plans are over."""
    from tierup import _core

    graphs = sys.modules["tierup.torch"]._graphs if "tierup.torch" in sys.modules else ()
    for _ in range(60):
        function()
        for graph in list(graphs):
            for variant in graph.variants:
                _core.wait_until_compiled(variant.model, 120)
    end = time.perf_counter() + SECONDS
    while time.perf_counter() < end:
        function()


def zoo_of(path):
    path = pathlib.Path(path).resolve()
    sys.path.insert(0, str(path.parent))
    return importlib.import_module(path.stem)


def inference(zoo, name):
    import torch

    torch.set_num_threads(THREADS)
    model, inputs = zoo_of(zoo).build(name)
    functions, firsts, answers = {"eager": lambda: model(*inputs)}, {}, {}
    with torch.no_grad():
        expected = model(*inputs)
        for backend in ("tierup", "inductor"):  # Without a reset between: it would drop the other's code.
            function, watch = compiled(torch, model, backend)
            answers[backend] = function(*inputs)
            firsts[backend] = time.perf_counter() - watch.begin
            functions[backend] = lambda f=function: f(*inputs)
            settle(functions[backend])
        p50 = medians(functions)
        flat = lambda answer: answer if isinstance(answer, tuple) else (answer,)  # noqa: E731
        pairs = zip(flat(functions["tierup"]()), flat(expected))
        error = max(float((a - b).abs().max() / (b.abs().max() + 1e-9)) for a, b in pairs)
    return {"p50": p50, "first": firsts, "error": error}


def trained_models(torch):
    nn = torch.nn
    digits = lambda: nn.Sequential(  # noqa: E731
        nn.Conv2d(1, 16, 3, padding=1), nn.BatchNorm2d(16), nn.ReLU(), nn.Conv2d(16, 24, 3, padding=1), nn.ReLU(),
        nn.MaxPool2d(2), nn.Flatten(), nn.Linear(384, 32), nn.ReLU(), nn.Linear(32, 10))  # fmt: skip
    mlp = lambda: nn.Sequential(  # noqa: E731
        nn.Linear(256, 256), nn.ReLU(), nn.Linear(256, 256), nn.ReLU(), nn.Linear(256, 10))  # fmt: skip
    return {"digits": (digits, (64, 1, 8, 8)), "mlp": (mlp, (64, 256))}


def training(name):
    """A step: forward, loss and backward, AdamW; all three compiled."""
    import torch

    torch.set_num_threads(THREADS)
    make, shape = trained_models(torch)[name]
    steps, losses = {}, {}
    for backend in ("eager", "tierup", "inductor"):
        torch.manual_seed(0)
        module, x, y = make(), torch.randn(shape), torch.randint(0, 10, (shape[0],))
        optimiser = torch.optim.AdamW(module.parameters(), lr=1e-3)

        def loss_of(x, y, module=module):
            return torch.nn.functional.cross_entropy(module(x), y)

        loss, update = loss_of, optimiser.step
        if backend != "eager":
            loss, update = (compiled(torch, function, backend)[0] for function in (loss_of, optimiser.step))

        def step(loss=loss, update=update, optimiser=optimiser, x=x, y=y):
            optimiser.zero_grad()
            result = loss(x, y)
            result.backward()
            update()
            return result.item()

        losses[backend] = [step() for _ in range(10)][-1]
        settle(step)
        steps[backend] = step
    return {"p50": medians(steps), "tenth_loss": losses}


def one(arguments):
    """In a process of its own."""
    with tempfile.TemporaryDirectory() as fresh:
        cache = os.environ.get("BENCH_CACHE", fresh)
        environment = os.environ | {"TORCHINDUCTOR_CACHE_DIR": cache, "OMP_NUM_THREADS": str(THREADS)}
        command = [sys.executable, __file__, "--one", *arguments]
        run = subprocess.run(command, env=environment, capture_output=True, text=True)
    lines = [line for line in run.stdout.splitlines() if line.startswith("RESULT ")]
    if not lines:
        print(arguments[-1], "failed:", *run.stderr.strip().splitlines()[-3:], sep="\n  ", flush=True)
        return None
    return json.loads(lines[0][7:])


def report(name, result, ratios):
    p50 = result["p50"]
    best = min(p50["eager"], p50["inductor"]) if "first" in result else p50["inductor"]
    ratios[name] = best / p50["tierup"]
    line = "  ".join(f"{way} {value:9.4f}" for way, value in p50.items())
    print(f"{name:20s} p50 ms: {line}  ratio {ratios[name]:.2f}", end="")
    if "first" in result:
        own, other = (result["first"][way] for way in ("tierup", "inductor"))
        print(f"  first s: tierup {own:.3f}  inductor {other:.2f} ({other / own:.1f}x)  error {result['error']:.1e}", end="")
    else:
        print("  tenth loss:", "  ".join(f"{way} {value:.6f}" for way, value in result["tenth_loss"].items()), end="")
    print(flush=True)


def main(what, *rest):
    if what == "inference":
        zoo, *names = rest
        jobs = [("inference", zoo, name) for name in names or zoo_of(zoo).ZOO]
    else:
        jobs = [("training", name) for name in rest or ("digits", "mlp")]
    ratios = {}
    for job in jobs:
        result = one(job)
        if result is not None:
            report(job[-1], result, ratios)
    if len(ratios) > 1:
        mean = math.exp(sum(map(math.log, ratios.values())) / len(ratios))
        print(f"geometric mean {mean:.2f}, least {min(ratios.values()):.2f}, of {len(ratios)}")


if __name__ == "__main__":
    if sys.argv[1] == "--one":
        print("RESULT", json.dumps({"inference": inference, "training": training}[sys.argv[2]](*sys.argv[3:])))
    else:
        main(*sys.argv[1:])
