#!/usr/bin/env python3
"""Steps of training side by side: tierup, eager PyTorch, torch.compile, on the same archives and batches.

    train_peers.py write FOLDER [--models a,b]        makes NAME.pt and NAME.safetensors (columns)
    train_peers.py run FOLDER [--models a,b] [--runtimes tierup,eager,compile,torchscript]
                   [--threads N] [--seconds S] [--rounds R] [--json FILE]

A step: gradients undefined, forward, loss, backward, clipping by norm 1, AdamW. Every pair of model and runtime is a
process of its own; runtimes take turns, R rounds of them, and the best round's p50 counts: quote ratios of one run.
Needs torch, torchvision and safetensors (in an environment outside the project); TIERUP names the command.
`step_mib` is the peak of a step's tensors above what lives between steps, by each side's own allocator. `tenth_loss`
is compared: runtimes that trained something else are shown.
"""

import argparse
import json
import math
import os
import pathlib
import resource
import statistics
import subprocess
import sys
import time

ORDER = ["digits", "mlp", "lstm_loop", "resnet18", "transformer", "autoencoder", "chain"]
LOSSES = {"digits": "nll", "mlp": "cross_entropy", "resnet18": "cross_entropy", "transformer": "cross_entropy"}
CLIP = 1.0
RATE = 1e-3


def modules():
    """The models' classes; torch is imported on need."""
    import torch
    import torch.nn.functional as F
    from torch import nn

    class Digits(nn.Module):
        def __init__(self):
            super().__init__()
            self.features = nn.Sequential(
                nn.Conv2d(1, 16, 3, padding=1), nn.BatchNorm2d(16), nn.ReLU(),
                nn.Conv2d(16, 24, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2))
            self.classifier = nn.Sequential(nn.Flatten(), nn.Linear(384, 32), nn.ReLU(), nn.Linear(32, 10))

        def forward(self, images):
            return torch.log_softmax(self.classifier(self.features(images)), 1)

    class LstmLoop(nn.Module):
        """A cell written out in a loop of 32 steps."""

        def __init__(self, width: int = 128):
            super().__init__()
            self.width = width
            self.ih = nn.Linear(width, 4 * width)
            self.hh = nn.Linear(width, 4 * width)

        def forward(self, xs):
            h = torch.zeros(xs.size(0), self.width)
            c = torch.zeros(xs.size(0), self.width)
            for t in range(xs.size(1)):
                gates = self.ih(xs[:, t]) + self.hh(h)
                i, f, g, o = gates.chunk(4, 1)
                c = torch.sigmoid(f) * c + torch.sigmoid(i) * torch.tanh(g)
                h = torch.sigmoid(o) * torch.tanh(c)
            return h

    class Block(nn.Module):
        def __init__(self, width: int, heads: int):
            super().__init__()
            self.heads = heads
            self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
            self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
            self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

        def forward(self, x):
            b, l, w = x.size(0), x.size(1), x.size(2)
            qkv = self.qkv(self.norm1(x)).view(b, l, 3, self.heads, w // self.heads).permute(2, 0, 3, 1, 4)
            mixed = F.scaled_dot_product_attention(qkv[0], qkv[1], qkv[2])
            x = x + self.out(mixed.transpose(1, 2).reshape(b, l, w))
            return x + self.down(F.gelu(self.up(self.norm2(x))))

    class Transformer(nn.Module):
        def __init__(self, words: int = 1000, width: int = 256, length: int = 128, layers: int = 4):
            super().__init__()
            self.embed = nn.Embedding(words, width)
            self.place = nn.Parameter(0.02 * torch.randn(length, width))
            self.blocks = nn.ModuleList([Block(width, 4) for _ in range(layers)])
            self.norm = nn.LayerNorm(width)
            self.head = nn.Linear(width, words)

        def forward(self, ids):
            x = self.embed(ids) + self.place
            for block in self.blocks:
                x = block(x)
            return self.head(self.norm(x)).transpose(1, 2)

    class Autoencoder(nn.Module):
        def __init__(self):
            super().__init__()
            self.net = nn.Sequential(
                nn.Conv2d(3, 32, 4, 2, 1), nn.ReLU(), nn.Conv2d(32, 64, 4, 2, 1), nn.ReLU(),
                nn.Conv2d(64, 128, 4, 2, 1), nn.ReLU(), nn.ConvTranspose2d(128, 64, 4, 2, 1), nn.ReLU(),
                nn.ConvTranspose2d(64, 32, 4, 2, 1), nn.ReLU(), nn.ConvTranspose2d(32, 3, 4, 2, 1), nn.Sigmoid())

        def forward(self, images):
            return self.net(images)

    class Chain(nn.Module):
        """1,000 additions of 8 numbers: what is left is the tape's work."""

        def __init__(self):
            super().__init__()
            self.w = nn.Parameter(torch.rand(8))

        def forward(self, x):
            y = self.w
            for _ in range(1000):
                y = y + x
            return y

    return dict(digits=Digits, lstm_loop=LstmLoop, transformer=Transformer, autoencoder=Autoencoder, chain=Chain)


def build(name):
    """The model in training mode, and its columns."""
    import torch
    from torch import nn

    torch.manual_seed(0)
    if name == "mlp":
        model = nn.Sequential(nn.Linear(128, 256), nn.ReLU(), nn.Linear(256, 256), nn.ReLU(), nn.Linear(256, 10))
        columns = {"input": torch.randn(32, 128), "target": torch.randint(0, 10, (32,))}
    elif name == "resnet18":
        import torchvision

        model = torchvision.models.resnet18(weights=None)
        columns = {"x": torch.randn(8, 3, 224, 224), "target": torch.randint(0, 1000, (8,))}
    else:
        model = modules()[name]()
        columns = {
            "digits": lambda: {"images": torch.rand(32, 1, 8, 8), "target": torch.randint(0, 10, (32,))},
            "lstm_loop": lambda: {"xs": torch.randn(8, 32, 128), "target": torch.rand(8, 128)},
            "transformer": lambda: {"ids": torch.randint(0, 1000, (8, 128)), "target": torch.randint(0, 1000, (8, 128))},
            "autoencoder": lambda: (lambda images: {"images": images, "target": images})(torch.rand(8, 3, 64, 64)),
            "chain": lambda: {"x": torch.rand(8), "target": torch.rand(8)},
        }[name]()
    return model.train(), columns


def write(folder, names):
    import safetensors.torch
    import torch

    folder.mkdir(parents=True, exist_ok=True)
    for name in names:
        model, columns = build(name)
        torch.jit.script(model).save(str(folder / f"{name}.pt"))
        safetensors.torch.save_file({k: v.clone() for k, v in columns.items()}, folder / f"{name}.safetensors")


def loss_function(name):
    import torch.nn.functional as F

    kind = LOSSES.get(name, "mse")
    return {"nll": F.nll_loss, "cross_entropy": F.cross_entropy, "mse": F.mse_loss}[kind]


def peak_mib(step):
    """The peak of the CPU allocator's bytes in a step above what is left after it."""
    from torch.profiler import ProfilerActivity, profile

    with profile(activities=[ProfilerActivity.CPU], profile_memory=True) as seen:
        step()
    changes = [e.nbytes() for e in sorted(seen.profiler.kineto_results.events(), key=lambda e: e.start_ns()) if e.name() == "[memory]"]
    now, peak = 0, 0
    for change in changes:
        now += change
        peak = max(peak, now)
    return (peak - now) / 2**20


def torch_figures(folder, name, runtime, threads, seconds):
    import safetensors.torch
    import torch

    torch.set_num_threads(threads)
    if runtime == "torchscript":
        model = torch.jit.load(str(folder / f"{name}.pt")).train()
    else:
        model = build(name)[0]
        model.load_state_dict(torch.jit.load(str(folder / f"{name}.pt")).state_dict())
    columns = list(safetensors.torch.load_file(folder / f"{name}.safetensors").items())
    target = next(v for k, v in columns if k == "target")
    inputs = [v for k, v in columns if k != "target"]
    loss_of = loss_function(name)
    optimizer = torch.optim.AdamW(model.parameters(), lr=RATE)
    called = torch.compile(model) if runtime == "compile" else model
    last = []

    def step():
        optimizer.zero_grad()
        loss = loss_of(called(*inputs), target)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), CLIP)
        optimizer.step()
        last[:] = [loss.detach()]

    start = time.perf_counter()
    step()
    first = time.perf_counter() - start
    for _ in range(9):
        step()
    tenth = last[0].item()
    times = []
    end = time.perf_counter() + seconds
    while len(times) < 10 or time.perf_counter() < end:
        start = time.perf_counter()
        step()
        times.append(1e3 * (time.perf_counter() - start))
    peak = None if name == "chain" else peak_mib(step)
    times.sort()
    return {"p50_ms": statistics.median(times), "p99_ms": times[int(0.99 * len(times))], "first_ms": 1e3 * first, "step_mib": peak,
            "rss_mib": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024, "tenth_loss": tenth, "steps": len(times)}


def tierup_command(folder, name, threads, seconds):
    return [os.environ.get("TIERUP", "tierup"), "bench", str(folder / f"{name}.pt"), "--train", "--data", str(folder / f"{name}.safetensors"),
            "--loss", LOSSES.get(name, "mse"), "--optimizer", "adamw", "--lr", str(RATE), "--clip-norm", str(CLIP),
            "--threads", str(threads), "-t", str(seconds), "--json"]


def figures_of(folder, name, runtime, threads, seconds):
    if runtime == "tierup":
        command = tierup_command(folder, name, threads, seconds)
    else:
        command = [sys.executable, __file__, "one", str(folder), name, runtime, str(threads), str(seconds)]
    done = subprocess.run(command, capture_output=True, text=True)
    lines = done.stdout.strip().splitlines()
    if done.returncode or not lines:
        return {"error": (done.stderr.strip() or done.stdout.strip()).splitlines()[-1:]}
    return json.loads(lines[-1])


def show(name, best, lines):
    for runtime, figures in best.items():
        if "error" in figures:
            print(f"{name:12} {runtime:12} {figures['error']}")
            continue
        peak = figures.get("step_mib")
        print(f"{name:12} {runtime:12} p50 {figures['p50_ms']:9.3f} ms   step {peak if peak is None else round(peak, 2)} MiB   "
              f"tenth loss {figures['tenth_loss']:.5g}")
    mine = best.get("tierup", {})
    for runtime in ("eager", "compile"):
        other = best.get(runtime, {})
        if "p50_ms" in mine and "p50_ms" in other:
            lines.setdefault(runtime, {})[name] = other["p50_ms"] / mine["p50_ms"]
            if mine.get("step_mib") and other.get("step_mib"):
                lines.setdefault(f"memory of {runtime}", {})[name] = mine["step_mib"] / other["step_mib"]
            print(f"{name:12} {runtime}/tierup {other['p50_ms'] / mine['p50_ms']:.2f}")


def run(arguments, folder, names):
    report, lines = {}, {}
    for name in names:
        best = {}
        for _ in range(arguments.rounds):
            for runtime in arguments.runtimes.split(","):
                figures = figures_of(folder, name, runtime, arguments.threads, arguments.seconds)
                if runtime not in best or figures.get("p50_ms", math.inf) < best[runtime].get("p50_ms", math.inf):
                    best[runtime] = figures
        show(name, best, lines)
        report[name] = best
    for what, ratios in lines.items():
        kept = [v for k, v in ratios.items() if k != "chain"]
        if kept:
            print(f"{what}: geometric mean {math.exp(sum(map(math.log, kept)) / len(kept)):.3f} of {len(kept)}")
    if arguments.json:
        pathlib.Path(arguments.json).write_text(json.dumps(report, indent=1))


def main():
    if len(sys.argv) > 1 and sys.argv[1] == "one":
        folder, name, runtime, threads, seconds = sys.argv[2:7]
        print(json.dumps(torch_figures(pathlib.Path(folder), name, runtime, int(threads), float(seconds))))
        return
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("action", choices=["write", "run"])
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--models", default=",".join(ORDER))
    parser.add_argument("--runtimes", default="tierup,eager,compile")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--seconds", type=float, default=3)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--json")
    arguments = parser.parse_args()
    names = [name for name in ORDER if name in arguments.models.split(",")]
    if arguments.action == "write":
        write(arguments.folder, names)
    else:
        run(arguments, arguments.folder, names)


if __name__ == "__main__":
    main()
