"""Writes programs with enabled autocast regions, for tests/data/exported and tests/data/modules.

    python tools/make_autocast_cases.py tests/data/exported tests/data/modules

Needs PyTorch 2.9 or later, safetensors, and make_export_versions.py beside it. in.N are the
arguments, out.N the flattened results, as eager PyTorch gives them. Results of float32 that went
through float16 have `atol`: how far PyTorch's own are from the same in double precision.
"""

import copy
import os
import sys

import torch
import torch.nn.functional as F
from safetensors.torch import save_file
from torch import nn

from make_export_versions import rezip


class Regions(nn.Module):
    """bfloat16: products, what stays as it is, what goes up to float32, a region that is off inside."""

    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(6, 6)
        self.norm = nn.LayerNorm(6)

    def forward(self, x, wide):
        before = self.linear(x)
        with torch.autocast("cpu", dtype=torch.bfloat16):
            y = self.linear(x)
            z = torch.softmax(y, -1)
            n = self.norm(x)
            product = torch.matmul(y.t(), x)
            joined = torch.cat([y, x], 1)
            reduced = torch.stack([y, z])
            loss = F.mse_loss(y, z)
            multiplied = y.prod(1)
            doubles = torch.mm(wide, wide)
            with torch.autocast("cpu", enabled=False):
                off = torch.mm(x, product.float())
            summed = torch.einsum("bi,bj->ij", x, z) + y.sum()
        return before, y, z, n, product, joined, reduced, loss, multiplied, doubles, off, summed


class Images(nn.Module):
    """float16: convolutions, pooling, batch norm, attention."""

    def __init__(self):
        super().__init__()
        self.convolution = nn.Conv2d(2, 4, 3, padding=1)
        self.norm = nn.BatchNorm2d(4)
        self.up = nn.ConvTranspose2d(4, 2, 2, stride=2)
        self.is_narrow = True

    def forward(self, x):
        with torch.autocast("cpu", dtype=torch.float16, enabled=self.is_narrow):
            y = torch.relu(self.norm(self.convolution(x)))
            padded = F.pad(y, (1, 1, 1, 1), mode="reflect")
            rows = y.flatten(2)
            attended = F.scaled_dot_product_attention(rows, rows, rows)
            return y, padded, self.up(y), F.avg_pool2d(y, 2), attended


class Scripted(nn.Module):
    """TorchScript's compiler casts by lists of its own; a region that is off, one in a branch."""

    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(4, 4)
        self.norm = nn.LayerNorm(4)

    def forward(self, a, wide):
        with torch.autocast("cpu", dtype=torch.bfloat16):
            y = self.linear(a)
            z = torch.add(a, y)
            joined = torch.cat([a, y], 0)
            soft = torch.softmax(y, -1)
            doubles = torch.mm(wide, wide)
            total = torch.sum(y)
            kept = torch.sum(y, dtype=torch.bfloat16)
            twice = y * 2
            normed = self.norm(y)
            stacked = torch.stack([y, y])
            with torch.autocast("cpu", enabled=False):
                off = torch.mm(a, y.float().t())
            if bool(a.sum() > 0):
                branch = torch.mm(a, y.t())
            else:
                branch = y.exp()
        after = torch.mm(a, a.t())
        with torch.autocast("cuda", dtype=torch.float16):
            other = torch.mm(a, a.t())
        return (y, z, joined, soft, doubles, total, kept, twice, normed, stacked, off, branch, after,
                other)


PROGRAMS = {
    "regions": (Regions, lambda size: (torch.randn(size, 6), torch.randn(4, 4, dtype=torch.float64))),
    "images": (Images, lambda size: (torch.randn(size, 2, 6, 6),)),
}


def rounding_error(module, args, results):
    """The largest difference of `results` from those in double precision, two digits."""
    exact = copy.deepcopy(module).double()
    exact.is_narrow = False
    with torch.no_grad():
        leaves = torch.utils._pytree.tree_flatten(exact(*(a.double() for a in args)))[0]
    return f"{max((a - b.double()).abs().max().item() for a, b in zip(leaves, results)):.2g}"


def main(folder):
    for name, (build, make) in PROGRAMS.items():
        torch.manual_seed(0)
        module = build().eval()
        args = make(3)
        dynamic = tuple({0: torch.export.Dim("batch", min=2, max=64)} if i == 0 else None
                        for i in range(len(args)))
        program = torch.export.export(module, args, dynamic_shapes=dynamic)
        base = os.path.join(folder, f"autocast_{name}")
        torch.export.save(program, base + ".pt2")
        rezip(base + ".pt2")
        for index, size in enumerate((2, 5)):
            args = make(size)
            with torch.no_grad():
                leaves = torch.utils._pytree.tree_flatten(module(*args))[0]
            tensors = {f"in.{i}": t.contiguous() for i, t in enumerate(args)}
            tensors.update({f"out.{i}": t.clone().contiguous() for i, t in enumerate(leaves)})
            metadata = {"atol": rounding_error(module, args, leaves)} if hasattr(module, "is_narrow") else None
            save_file(tensors, f"{base}.case{index}.safetensors", metadata)


def write_scripted(folder):
    torch.manual_seed(0)
    module = torch.jit.script(Scripted().eval())
    base = os.path.join(folder, "autocast_scripted")
    module.save(base + ".pt")
    for index, sign in enumerate((1, -1)):
        args = (sign * torch.rand(4, 4), torch.randn(3, 3, dtype=torch.float64))
        with torch.no_grad():
            for _ in range(3):
                leaves = module(*args)
        tensors = {f"in.{i}": t.contiguous() for i, t in enumerate(args)}
        tensors.update({f"out.{i}": t.clone().contiguous() for i, t in enumerate(leaves)})
        save_file(tensors, f"{base}.case{index}.safetensors")


if __name__ == "__main__":
    main(sys.argv[1])
    write_scripted(sys.argv[2])
