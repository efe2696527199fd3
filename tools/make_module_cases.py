"""Writes tests/data/modules: modules of PyTorch's module database, and archives in other forms.

Needs a Python with torch, safetensors and expecttest; nothing else in the repository does. By hand:
    python tools/make_module_cases.py tests/data/modules
Each NAME.pt has NAME.case0.safetensors beside it: arguments, and what the eager module gives. Of
every module of the database the first sample that can be scripted is kept, in its training mode if
it has one of its own; random modules, and those whose forward is overloaded (which PyTorch cannot
call once they are saved), are left out; `overloaded_forward` is one of them, which answers to its first overload.
"""
import copy
import inspect
import json
import os
import random
import sys
import warnings
from typing import Dict, List, Optional

import numpy
import torch
import torch.nn.functional as F
from safetensors.torch import save_file
from torch import nn
from torch.testing._internal.common_modules import module_db
from torch.utils import _pytree as pytree

RANDOM = {"nn.FractionalMaxPool2d", "nn.FractionalMaxPool3d"}
OVERLOADED = {"nn.RNN", "nn.GRU", "nn.LSTM"}


def encode(value, prefix, tensors):
    if isinstance(value, torch.Tensor):
        name = f"{prefix}.{len(tensors)}"
        tensors[name] = value.detach().clone(memory_format=torch.contiguous_format)
        return {"t": name}
    if isinstance(value, float) and value in (float("inf"), float("-inf")):
        return {"float": repr(value)}
    if isinstance(value, (list, tuple)):
        items = [encode(item, prefix, tensors) for item in value]
        return items if isinstance(value, list) else {"tuple": items}
    return value


def write_case(folder, name, args, expected, tolerance=(1e-4, 1e-5), kind="pt", number=0):
    inputs, outputs = {}, {}
    metadata = {"inputs": json.dumps(encode(list(args), "in", inputs)),
                "outputs": json.dumps(encode(expected, "out", outputs)),
                "rtol": str(tolerance[0]), "atol": str(tolerance[1]),
                "archives": json.dumps([f"{name}.{kind}"])}
    save_file({**inputs, **outputs}, f"{folder}/{name}.case{number}.safetensors", metadata)


def write_calls(folder, name, module, arguments):
    """Calls of forward one after the other, some of which may raise."""
    calls, tensors = [], {}
    for args in arguments:
        call = {"method": "forward", "inputs": encode(list(args), "in", tensors)}
        try:
            call["outputs"] = encode(module(*args), "out", tensors)
        except ValueError as error:
            call["outputs"], call["error"] = None, str(error)
        calls.append(call)
    metadata = {"calls": json.dumps(calls), "rtol": "1e-4", "atol": "1e-5",
                "archives": json.dumps([f"{name}.pt"])}
    save_file(tensors, f"{folder}/{name}.case0.safetensors", metadata)


def detached(tree):
    return pytree.tree_map_only(torch.Tensor, lambda t: t.detach().clone(), tree)


def without_dropout(module):
    for part in module.modules():
        if isinstance(part, nn.Dropout):
            part.p = 0.0
        if isinstance(getattr(part, "dropout", None), float):
            part.dropout = 0.0
    return module


def scripted_sample(info, sample, training):
    """(archive bytes' module, arguments, result) of a sample, or None if it cannot be scripted."""
    args, kwargs = sample.forward_input.args, sample.forward_input.kwargs
    torch.manual_seed(2)
    module = info.module_cls(*sample.constructor_input.args, **sample.constructor_input.kwargs)
    module = without_dropout(module.requires_grad_(False).train(training))
    if kwargs:
        bound = inspect.signature(module.forward).bind(*args, **kwargs)
        bound.apply_defaults()
        args = tuple(bound.arguments.values())
    if any(isinstance(arg, tuple) for arg in args):
        return None
    try:
        script = torch.jit.script(copy.deepcopy(module))
    except Exception:  # Whatever keeps PyTorch from scripting it.
        return None
    return script, detached(args), detached(module(*detached(args)))


def write_database(folder):
    for info in module_db:
        if info.name in RANDOM | OVERLOADED or "Lazy" in info.name:
            continue
        torch.manual_seed(1), random.seed(1), numpy.random.seed(1)
        training = info.train_and_eval_differ
        samples = info.module_inputs_func(info, device="cpu", dtype=torch.float32,
                                          requires_grad=False, training=training)
        for sample in samples:
            made = scripted_sample(info, sample, training) if sample.forward_input else None
            if made is None:
                continue
            name = info.name.replace(".", "_")
            made[0].save(f"{folder}/{name}.pt")
            write_case(folder, name, *made[1:])
            break


class Small(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv, self.norm, self.linear = nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4), nn.Linear(4, 2)
        self.names: List[str] = ["a", "b"]
        self.table: Dict[str, int] = {"x": 3}
        self.norm.running_mean.uniform_()
        self.norm.running_var.uniform_(0.5, 2)

    def forward(self, x):
        y = self.norm(self.conv(x)).relu().mean([2, 3])
        for name in self.names:
            y = y + len(name)
        return self.linear(y) * self.table["x"]


class FromShapes(nn.Module):
    def forward(self, x):
        rows, half = x.size(0), x.shape[1] // 2
        steps = torch.arange(rows * half).float()[:, None] * float(half)
        return x.reshape(rows * half, -1) + steps, x[:, :half].sum() / rows


class Interpolations(nn.Module):
    def forward(self, x):
        line, volume = x[:, :, :, 0], x[:, :, None]
        return [
            F.interpolate(x, scale_factor=2.0, mode="nearest"),
            F.interpolate(x, size=[5, 7], mode="bilinear", align_corners=False),
            F.interpolate(x, size=[5, 7], mode="bilinear", align_corners=True),
            F.interpolate(x, scale_factor=1.5, mode="bicubic", recompute_scale_factor=True),
            F.interpolate(x, size=3, mode="area"),
            F.interpolate(x, size=[5, 7], mode="nearest-exact"),
            F.interpolate(line, size=5, mode="linear", align_corners=False),
            F.interpolate(volume, scale_factor=[2.0, 1.5, 0.5], mode="trilinear"),
            F.interpolate(x, size=[4, 4], mode="bilinear", antialias=True),
            F.interpolate(x, size=[4, 4], mode="bicubic", antialias=True),
        ]


class Bounded(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("total", torch.zeros(2))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        print("numbers:", x.size(0))
        if bool((x < 0).any()):
            raise ValueError("x is below zero")
        self.total += x
        return self.total


class TracedMarks(nn.Module):
    def forward(self, x):
        with torch.profiler.record_function("part"):
            y = x.exp()
        return y - 1


class TracedNumbers(nn.Module):
    def forward(self, x):
        whole = x.int()
        return whole * 1.5, whole.sum() - 0.5, whole / 4, (1.0 - whole) * -10000.0


class Decomposed(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm = nn.BatchNorm1d(4)
        self.linear = nn.utils.parametrizations.weight_norm(nn.Linear(4, 3))

    def forward(self, x, sign):
        return F.hinge_embedding_loss(self.linear(self.norm(x)), sign), self.norm.running_mean + 0


class Tied(nn.Module):
    """One parameter by two names."""

    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(7, 8)
        self.head = nn.Linear(8, 7, bias=False)
        self.head.weight = self.embedding.weight

    def forward(self, ids):
        return self.head(self.embedding(ids))


class LookUps(nn.Module):
    """Of so many elements that look-ups go into fused kernels."""

    def __init__(self):
        super().__init__()
        self.words, self.places = nn.Embedding(50, 64), nn.Embedding(160, 64)
        self.norm = nn.LayerNorm(64)

    def forward(self, ids, table):
        at = torch.arange(160)[None]
        summed = self.norm(self.words(ids) + self.places(at))
        rows = ids.reshape(-1)
        picked = torch.gather(summed.reshape(-1, 64), 1, (torch.arange(20480) * 7 % 64).view(320, 64))
        return (torch.sigmoid(table[rows - 25] * 2.0), (picked * 0.5 + 1.0).mean(-1),
                torch.index_select(summed, 1, rows).relu().amax(-1), (table.t()[:, rows] + 1.0).sum(-1))


class SmallProducts(nn.Module):
    """Products so small that they go into fused kernels with what stands around them."""

    def __init__(self):
        super().__init__()
        cell = nn.GRUCell(6, 10)
        self.wi, self.wh, self.bi = cell.weight_ih, cell.weight_hh, cell.bias_ih

    def forward(self, x, h, q, k, v, mask, turn, points):
        for i in range(x.size(0)):
            gi, gh = F.linear(x[i], self.wi, self.bi), F.linear(h, self.wh)
            r, z, n = gi.chunk(3, 1)
            hr, hz, hn = gh.chunk(3, 1)
            r, z = torch.sigmoid(r + hr), torch.sigmoid(z + hz)
            n = torch.tanh(n + r * hn)
            h = n + z * (h - n)
        scores = torch.matmul(q, k.transpose(-2, -1)) * 0.35
        weights = torch.softmax(scores.masked_fill(mask, -1e9), -1)
        attended = torch.matmul(weights, v)
        moved = torch.bmm(turn, points) + 1.0
        back = torch.bmm(turn.transpose(1, 2), torch.relu(moved))
        low = torch.addmm(h, torch.mm(h, self.wh.t()[:, :4]), self.wh[:4], beta=0.5, alpha=2.0)
        along = torch.mv(low, torch.tanh(h[0]))
        return h, attended, scores.double() @ v.double().exp(), back, low, along, torch.dot(along, along) + 1.0


class Mixed(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(4, 4)

    def forward(self, x):
        with torch.autocast("cpu", dtype=torch.bfloat16):
            y = self.linear(x)
            z = F.mse_loss(y, x, reduction="none")
            with torch.autocast("cpu", enabled=False):
                w = x @ x.t()
            return y, z, w, y @ x.t(), x + y


def product(ops: torch.Tensor, k: int = 2, names: Optional[List[str]] = None) -> torch.Tensor:
    return ops * k


def write_forms(folder):
    """Frozen, traced over shapes, saved for mobiles, a function by itself, a deep one."""
    torch.manual_seed(0)
    small, x = Small().eval(), torch.rand(2, 3, 8, 8)
    torch.jit.freeze(torch.jit.script(small)).save(f"{folder}/frozen.pt")
    write_case(folder, "frozen", (x,), small(x))
    torch.jit.script(small)._save_for_lite_interpreter(f"{folder}/mobile.pt")
    write_case(folder, "mobile", (x,), small(x))
    torch.jit.script(product).save(f"{folder}/function.pt")
    write_case(folder, "function", (x, 3, None), x * 3)
    traced = torch.jit.trace(FromShapes(), x[0], check_trace=False)
    traced.save(f"{folder}/traced_shapes.pt")
    longer = torch.rand(4, 6, 5)
    write_case(folder, "traced_shapes", (longer,), traced(longer))
    torch.jit.script(Interpolations()).save(f"{folder}/interpolate.pt")
    write_case(folder, "interpolate", (x,), Interpolations()(x))
    torch.jit.trace(TracedNumbers(), x[0], check_trace=False).save(f"{folder}/traced_numbers.pt")
    write_case(folder, "traced_numbers", (x[0] * 9,), TracedNumbers()(x[0] * 9))
    torch.jit.script(Bounded()).save(f"{folder}/bounded.pt")
    numbers = [(torch.tensor([a, b]),) for a, b in ((1.0, 2.0), (-1.0, 3.0), (4.0, 5.0))]
    write_calls(folder, "bounded", Bounded(), numbers)
    torch.jit.trace(TracedMarks(), x[0], check_trace=False).save(f"{folder}/traced_marks.pt")
    write_case(folder, "traced_marks", (x[0],), TracedMarks()(x[0]))
    training, inputs = Decomposed(), (torch.rand(5, 4), torch.tensor([1.0, -1.0, 1.0]))
    program = torch.export.export(copy.deepcopy(training), inputs).run_decompositions()
    torch.export.save(program, f"{folder}/decomposed.pt2")
    write_case(folder, "decomposed", inputs, training(*inputs), kind="pt2")
    mixed, rows = Mixed(), torch.rand(3, 4)
    torch.export.save(torch.export.export(mixed, (rows,)), f"{folder}/autocast.pt2")
    write_case(folder, "autocast", (rows,), mixed(rows), (1e-2, 1e-2), "pt2")
    look_ups, ids = LookUps().eval(), torch.randint(0, 50, (2, 160))
    torch.jit.script(look_ups).save(f"{folder}/look_ups.pt")
    table = torch.rand(50, 64)
    write_case(folder, "look_ups", (ids, table), look_ups(ids, table))
    products, mask = SmallProducts().eval(), torch.triu(torch.ones(5, 5, dtype=torch.bool), 1)
    small_inputs = (torch.rand(3, 2, 6), torch.rand(2, 10), torch.rand(2, 3, 5, 8), torch.rand(2, 3, 5, 8),
                    torch.rand(2, 3, 5, 8), mask, torch.rand(7, 3, 3), torch.rand(7, 3, 11))
    torch.jit.script(products).save(f"{folder}/small_products.pt")
    write_case(folder, "small_products", small_inputs, products(*small_inputs))
    empty_inputs = tuple(x[:0] if x.dim() == 4 else x for x in small_inputs)
    write_case(folder, "small_products", empty_inputs, products(*empty_inputs), number=1)
    recurrent, steps = nn.LSTM(3, 2), torch.rand(4, 2, 3)
    torch.jit.script(recurrent).save(f"{folder}/overloaded_forward.pt")
    write_case(folder, "overloaded_forward", (steps,), recurrent(steps))
    torch.manual_seed(21)
    tied, ids = Tied(), torch.randint(0, 7, (3, 6))
    torch.jit.script(tied).save(f"{folder}/tied.pt")
    write_case(folder, "tied", (ids,), tied(ids))
    # What the runtime refuses by name has no case: tests of the API load it.
    torch.jit.optimize_for_inference(torch.jit.script(small)).save(f"{folder}/refused_optimized.pt")


def main():
    folder = sys.argv[1]
    os.makedirs(folder, exist_ok=True)
    warnings.filterwarnings("ignore")
    torch.set_num_threads(1)
    torch.set_grad_enabled(False)
    write_database(folder)
    write_forms(folder)


if __name__ == "__main__":
    main()
