"""Writes tiny torch.export archives with the PyTorch that runs it, for tests/data/exported.

    python tools/make_export_versions.py tests/data/exported

One run per PyTorch release (2.6 is the flat container, 2.8 the package with pickled weights, 2.10 and
later the raw payloads); needs torch, numpy and safetensors. Each archive gets one case per batch
size: in.N are the arguments, out.N the flattened results.
"""

import json
import os
import sys
import zipfile

import torch
from safetensors.torch import save_file
from torch import nn


class Mlp(nn.Module):
    """A buffer, a constant that is lifted, a dynamic batch."""

    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(5, 8), nn.ReLU(), nn.Linear(8, 3))
        self.register_buffer("scale", torch.tensor([1.0, 2.0, 0.5]))

    def forward(self, x):
        return self.layers(x) * self.scale + torch.tensor([0.1, 0.2, 0.3])


class Tied(nn.Module):
    """Two names for one weight, an integer input."""

    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(7, 4)
        self.head = nn.Linear(4, 7, bias=False)
        self.head.weight = self.embedding.weight

    def forward(self, ids):
        return self.head(self.embedding(ids).sum(1))


class Normalized(nn.Module):
    """Convolution and batch normalisation, a reshape by symbolic sizes, several results."""

    def __init__(self):
        super().__init__()
        self.convolution = nn.Conv2d(2, 3, 3, padding=1)
        self.norm = nn.BatchNorm2d(3)

    def forward(self, x):
        y = torch.relu(self.norm(self.convolution(x)))
        values, indices = y.flatten(1).topk(3)
        return values, indices, y.view(y.shape[0], -1).mean(1)


class Branches(nn.Module):
    """torch.cond, a no_grad region, in-place work on a fresh tensor."""

    def forward(self, x):
        with torch.no_grad():
            limit = x.sum()
        y = torch.cond(limit > 0, lambda t: t.sin() * 2, lambda t: t.cos() - 1, (x,))
        z = torch.zeros_like(y)
        z.add_(y).clamp_(min=-0.5)
        return z


class Counter(nn.Module):
    """A buffer that every run changes."""

    def __init__(self):
        super().__init__()
        self.register_buffer("total", torch.zeros(3))

    def forward(self, x):
        self.total.add_(x.sum(0))
        return x + self.total


def batches(make):
    return [(make(size),) for size in (2, 3, 5)]


PROGRAMS = {
    "mlp": (Mlp, lambda: batches(lambda n: torch.randn(n, 5))),
    "tied": (Tied, lambda: batches(lambda n: torch.randint(0, 7, (n, 6)))),
    "normalized": (Normalized, lambda: batches(lambda n: torch.randn(n, 2, 4, 4))),
    "branches": (Branches, lambda: batches(lambda n: torch.randn(n, 3) + n - 3)),
    "counter": (Counter, lambda: batches(lambda n: torch.randn(n, 3))),
}


def drop_traces(content):
    """Without the stack traces of nodes, which name this machine's folders."""
    try:
        tree = json.loads(content)
    except ValueError:
        return content

    def walk(node):
        if isinstance(node, dict):
            metadata = node.get("metadata")
            if isinstance(metadata, dict):
                for key in ("stack_trace", "nn_module_stack", "source_fn_stack", "from_node"):
                    metadata.pop(key, None)
            for value in node.values():
                walk(value)
        elif isinstance(node, list):
            for value in node:
                walk(value)

    walk(tree)
    return json.dumps(tree).encode()


def rezip(path):
    """Fixed dates and compressed text, so that the files are small and stay the same."""
    with zipfile.ZipFile(path) as archive:
        records = [(info.filename, archive.read(info)) for info in archive.infolist()]
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in records:
            if "sample_inputs" in name or "example_inputs" in name:
                continue
            if name.endswith(".json"):
                content = drop_traces(content)
            info = zipfile.ZipInfo(name)
            info.compress_type = zipfile.ZIP_DEFLATED if name.endswith(".json") else zipfile.ZIP_STORED
            archive.writestr(info, content)


def main(folder):
    version = "_".join(torch.__version__.split(".")[:2])
    os.makedirs(folder, exist_ok=True)
    for name, (build, make_cases) in PROGRAMS.items():
        torch.manual_seed(0)
        module = build().eval()
        cases = make_cases()
        dynamic = ({0: torch.export.Dim("batch", min=2, max=64)},)
        program = torch.export.export(module, cases[1], dynamic_shapes=dynamic)
        base = os.path.join(folder, f"torch_{version}_{name}")
        torch.export.save(program, base + ".pt2")
        rezip(base + ".pt2")
        for index, args in enumerate(cases):
            results = build_like(build, module)(*args)
            leaves, _ = torch.utils._pytree.tree_flatten(results)
            tensors = {f"in.{i}": t.contiguous() for i, t in enumerate(args)}
            tensors.update({f"out.{i}": t.detach().clone().contiguous() for i, t in enumerate(leaves)})
            save_file(tensors, f"{base}.case{index}.safetensors")
    print("wrote", version)


def build_like(build, module):
    """A fresh module with the same weights: cases do not see each other's buffers."""
    torch.manual_seed(0)
    return build().eval()


if __name__ == "__main__":
    main(sys.argv[1])
