"""Writes exported programs that PyTorch's own native executor is known to refuse or get wrong, for tests/data/exported.

    python tools/make_export_defects.py tests/data/exported

Needs PyTorch 2.9 or later, safetensors, and make_export_versions.py beside it. A case holds the calls of one
loaded program in order, so that what a call writes to buffers and inputs shows in the next one's results.
"""

import collections
import dataclasses
import json
import os
import sys

import torch
from safetensors.torch import save_file
from torch import nn
from torch._higher_order_ops.associative_scan import associative_scan
from torch._higher_order_ops.map import map as torch_map
from torch._higher_order_ops.scan import scan
from torch._higher_order_ops.while_loop import while_loop

from make_export_versions import rezip

Point = collections.namedtuple("Point", ["x", "y"])


@dataclasses.dataclass
class Box:
    low: torch.Tensor
    high: torch.Tensor


torch.export.register_dataclass(Box, serialized_type_name="tierup_tests.Box")
torch.utils._pytree._register_namedtuple(Point, serialized_type_name="tierup_tests.Point")


class Mutations(nn.Module):
    """Writes an input, a buffer and a view of a buffer."""

    def __init__(self):
        super().__init__()
        self.register_buffer("total", torch.zeros(3))
        self.register_buffer("last", torch.zeros(2, 3))

    def forward(self, x):
        x.mul_(0.5).add_(1)
        self.total.add_(x.sum(0))
        self.last[0].copy_(x[0])
        return x + self.total, self.last * 1


class Loops(nn.Module):
    """while_loop over numbers and tensors with a captured size, scan and map with captured weights."""

    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(3, 3)

    def forward(self, x):
        rows = x.shape[0]

        def more(i, y):
            return i < rows + 2

        def step(i, y):
            return i + 1, y * 0.5 + rows

        count, y = while_loop(more, step, (torch.tensor(0), x))
        carried, sums = scan(lambda c, r: (c + r, c * r), x.sum(0), x)
        mapped = torch_map(lambda r, w: torch.tanh(r @ w), x, self.linear.weight)
        return count, y, carried, sums, mapped


class Sizes(nn.Module):
    """Integers that C's division and doubles get wrong, chosen and negated sizes, numbers as results."""

    def forward(self, x):
        n = x.shape[0]
        down = (3 - 2 * n) // 4
        rest = (3 - 2 * n) % 4
        large = (n + 3037000493) * (n + 1) - n**3
        chosen = torch.sym_ite(n % 2 == 0, n, -n)
        real = torch.sym_float(n) / 2
        bounded = torch.sym_max(torch.sym_min(n, 4), 3)
        flags = torch.tensor(1.0) if n != 70 else torch.tensor(2.0)
        return x * down + rest, x.new_full((bounded,), 1.0) * flags, down, rest, large, chosen, torch.sym_int(real), real


class Constants(nn.Module):
    """Arguments that were fixed when it was exported; literals that are complex, infinite or not a number."""

    def forward(self, x, count, name, nothing, scale):
        assert name == "wide" and nothing is None
        y = torch.where(x > 0, x * count, float("-inf"))
        z = torch.nan_to_num(torch.full_like(x, float("nan")), 1.5) * (scale + 0.5)
        return y, z, torch.mul(x, 2 + 1j), count, name


class Containers(nn.Module):
    """Containers of every kind as arguments, and as the result."""

    def forward(self, point, box, tables, ordered, queue, extra):
        total = point.x + point.y * box.low - box.high
        total = total + tables["a"][0] * tables["b"][0] + ordered["z"] - ordered["y"] + queue[0] * queue[1]
        return {"point": Point(total, extra[1]), "items": [total * 2, (extra[0], total.sum())]}


class Views(nn.Module):
    """Weights that are views of each other: offsets, strides, overlaps, no elements, no dimensions."""

    def __init__(self):
        super().__init__()
        base = torch.arange(24.0).reshape(4, 6)
        self.register_buffer("middle", base[1:3, 2:5])
        self.register_buffer("turned", base.t())
        self.register_buffer("wide", torch.ones(3, 1).expand(3, 4))
        self.register_buffer("empty", torch.zeros(0, 3))
        self.register_buffer("number", torch.tensor(2.5))
        self.weight = nn.Parameter(torch.randn(3, 3))
        self.again = self.weight

    def forward(self, x):
        self.middle.add_(1)
        shown = self.turned.sum() + self.wide.sum() + self.empty.sum() + self.number
        return (x @ self.weight) @ self.again + self.middle.sum(), shown, x[:, :1], x


class Copies(nn.Module):
    """Copies that change nothing are fresh all the same; two draws are two; a dead assertion stands."""

    def forward(self, x):
        same = torch.ops.aten._to_copy.default(x, dtype=torch.float32)
        same.add_(1)
        first, second = torch.rand(64), torch.rand(64)
        rows = x.nonzero()
        torch._check(rows.shape[0] >= 1, lambda: "x has only zeros")
        return x + same, (first != second).any(), rows


class Effects(nn.Module):
    """An operator with a side effect, which is ordered by tokens once it is decomposed."""

    def forward(self, x):
        torch.ops.aten._print("before")
        y = x + 1
        torch.ops.aten._print("after")
        return y


def tree_of(value, tensors, prefix, known):
    """A value in the case files' JSON; tensors that are one object get one name."""
    if isinstance(value, torch.Tensor):
        name = known.get(id(value))
        if name is None:
            name = f"{prefix}.{len(tensors)}"
            tensors[name] = value.detach().clone().contiguous()
            known[id(value)] = name
        return {"t": name}
    inner = lambda item: tree_of(item, tensors, prefix, known)
    if dataclasses.is_dataclass(value):
        return {"tuple": [inner(getattr(value, field.name)) for field in dataclasses.fields(value)]}
    if isinstance(value, dict):
        return {"dict": [[key, inner(item)] for key, item in value.items()]}
    if isinstance(value, tuple):
        return {"tuple": [inner(item) for item in value]}
    if isinstance(value, (list, collections.deque)):
        return [inner(item) for item in value]
    return value


def write_case(path, build, calls):
    module = build()
    tensors, known, keep, records = {}, {}, [], []
    for args, kwargs in calls:
        keep.append((args, kwargs))
        record = {"method": "forward", "inputs": tree_of(tuple(args), tensors, "in", known)}
        results = module(*args)
        record["outputs"] = tree_of(results, tensors, "out", {})
        records.append(record)
    save_file(tensors, path, metadata={"calls": json.dumps(records)})


class Elements(nn.Module):
    """Elements of tensors as sizes and numbers; a parameter among the results."""

    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(3))

    def forward(self, x, n, f):
        count = n.item()
        torch._check(count >= 1)
        torch._check(count <= 4)
        return x.narrow(0, 0, count), x.new_full((count, 2), f.item()), count * 2, self.weight


class Flags(nn.Module):
    """Numbers chosen by an element that is a bool."""

    def forward(self, x):
        is_positive = (x > 0).all().item()
        return x * torch.sym_ite(is_positive, 2, 3)


class Batches(nn.Module):
    """vmap, in another, over a column, with what depends on no example; a scan that maps over none at its ends."""

    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(3, 2)

    def forward(self, x, y, flags):
        shift = x[0] * 2
        pairs = torch.vmap(lambda a: torch.vmap(lambda b: self.linear(a * b) + y.shape[0])(y))(x)
        columns = torch.vmap(lambda a: (a * 2, shift.cos(), a.sum() > 0), in_dims=1)(x)
        none = torch.vmap(lambda a: (~a, a.sum()))(flags)
        scanned = associative_scan(lambda p, q: p * 0.5 + q, x, 0, combine_mode="generic")
        return pairs, columns, none, scanned


def build(kind):
    torch.manual_seed(0)
    return kind().eval()


def container_call(size):
    torch.manual_seed(size)
    t = lambda: torch.randn(size, 2)
    tables = collections.defaultdict(list, {"a": [t()], "b": [t()]})
    return (Point(t(), t()), Box(t(), t()), tables, collections.OrderedDict(z=t(), y=t()),
            collections.deque([t(), t()]), (t(), t())), {}


BATCH = torch.export.Dim("batch", min=2, max=64)


def programs():
    torch.manual_seed(0)
    x = torch.randn(2, 3)
    yield "mutations", Mutations, ((x,), {}), None, [[((x,), {}), ((x,), {}), ((torch.ones(2, 3),), {})]]
    dynamic = {"x": {0: BATCH}}
    simple = lambda n: ((torch.randn(n, 3),), {})
    yield "loops", Loops, simple(4), dynamic, [[simple(2)], [simple(5)]]
    yield "sizes", Sizes, simple(4), dynamic, [[simple(n)] for n in (2, 3, 5, 9)]
    fixed = lambda n: ((torch.randn(n, 2), 3, "wide", None, 0.25), {})
    yield "constants", Constants, fixed(4), None, [[fixed(4)]]
    yield "containers", Containers, container_call(3), None, [[container_call(3)]]
    yield "copies", Copies, ((torch.randn(3, 3),), {}), None, [[((torch.randn(3, 3),), {})]]
    yield "effects", Effects, ((torch.randn(3),), {}), None, [[((torch.randn(3),), {})]]
    yield "views", Views, simple(4), dynamic, [[simple(2), simple(3)]]
    counted = lambda n: ((torch.randn(4, 3), torch.tensor(n), torch.tensor(n + 0.5)), {})
    yield "elements", Elements, counted(3), None, [[counted(1), counted(4)]]
    signed = lambda sign: ((torch.full((2, 3), sign),), {})
    yield "flags", Flags, signed(1.0), None, [[signed(1.0), signed(-1.0)]]
    pairs = lambda n: ((torch.randn(4, 3), torch.randn(n, 3), torch.zeros(0, 2, dtype=torch.bool)), {})
    yield "batches", Batches, pairs(3), {"x": None, "y": {0: BATCH}, "flags": None}, [[pairs(3), pairs(5)]]


def main(folder):
    for name, kind, example, dynamic, cases in programs():
        for dialect in ("training", "core"):
            base = os.path.join(folder, f"defects_{name}_{dialect}")
            try:
                program = torch.export.export(build(kind), example[0], example[1], dynamic_shapes=dynamic, strict=False)
                if dialect == "core":
                    program = program.run_decompositions()
                torch.export.save(program, base + ".pt2")
            except Exception as error:  # This PyTorch cannot export it: say so, and go on.
                print(f"{name} ({dialect}): {type(error).__name__}: {str(error)[:300]}")
                continue
            rezip(base + ".pt2")
            for index, calls in enumerate(cases):
                write_case(f"{base}.case{index}.safetensors", lambda: build(kind), calls)
    print("wrote with", torch.__version__)


if __name__ == "__main__":
    main(sys.argv[1])
