"""Writes the small archives that archive tests read. Needs torch; the files are committed.

    cd tools && python make_archive_fixtures.py ../tests/data/archive

Run it from this folder, so that the source positions inside hold no machine's path. What each
archive must hold is asserted in tierup/archive/fixtures_test.cc.
"""

import enum
import os
import sys
import zipfile
from collections import OrderedDict
from typing import Dict, List, NamedTuple, Optional, Tuple, Union

import torch
from torch import Tensor, nn


class Point(NamedTuple):
    x: int
    y: float


class Color(enum.Enum):
    RED = 1
    BLUE = 2


class Holder(nn.Module):
    """A module that only holds what is assigned to it."""

    def forward(self, x: Tensor) -> Tensor:
        return x


def attributes():
    m = Holder()
    m.weight = nn.Parameter(torch.arange(12.0).reshape(4, 3))
    m.bias = nn.Parameter(torch.tensor([1.0, 2.0, 3.0, 4.0]), requires_grad=False)
    m.register_buffer("steps", torch.tensor(7))
    m.i, m.f, m.b, m.s = 3, 2.5, True, "text ü\0end"
    m.ints = torch.jit.Attribute([1, 2, 3], List[int])
    m.floats = torch.jit.Attribute([1.5], List[float])
    m.bools = torch.jit.Attribute([True, False], List[bool])
    m.strs = torch.jit.Attribute(["a", "b"], List[str])
    m.table = torch.jit.Attribute({"one": 1, "two": 2}, Dict[str, int])
    m.pair = torch.jit.Attribute((1, "two", 3.0), Tuple[int, str, float])
    m.device = torch.device("cuda:1")
    m.dtype = torch.float16
    m.z = 1.0 + 2.0j
    m.nothing = torch.jit.Attribute(None, Optional[int])
    m.tensors = torch.jit.Attribute([torch.ones(2), torch.zeros(1)], List[Tensor])
    return m


def views():
    m = Holder()
    base = torch.arange(24.0).reshape(4, 6)
    for name, value in {
        "base": base, "tied": base, "turned": base.t(), "part": base[1:3, 2:5],
        "strided": torch.as_strided(base, (2, 2), (7, 1), 3), "spread": base[:1].expand(5, 6),
        "scalar": torch.tensor(5.0), "empty": torch.empty(0, 3), "hollow": torch.empty(2, 0, 4),
        "behind": base[4:, 2:],
    }.items():
        m.register_buffer(name, value)
    return m


DTYPES = [torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64, torch.float16,
          torch.float32, torch.float64, torch.complex32, torch.complex64, torch.complex128,
          torch.bool, torch.bfloat16, torch.float8_e5m2, torch.float8_e4m3fn, torch.uint16,
          torch.uint32, torch.uint64]


def dtypes():
    m = Holder()
    for dtype in DTYPES:
        value = torch.tensor([0.0, 1.0]).to(dtype)
        m.register_buffer("t_" + str(dtype)[len("torch."):], value)
    return m


def math_bits():
    m = Holder()
    z = torch.tensor([1 + 2j, 3 - 4j])
    m.register_buffer("conjugated", z.conj())
    m.register_buffer("negated", torch._neg_view(torch.tensor([1.0, -2.0])))
    m.register_buffer("plain", z)
    return m


INTS = [0, 255, 256, 65535, 65536, 2**31 - 1, 2**31, -1, -2**31, -2**31 - 1, 2**62, -2**62, -2**63]
FLOATS = [0.0, -0.0, float("inf"), float("-inf"), float("nan"), 5e-324, 0.1]


def numbers():
    m = Holder()
    m.ints = torch.jit.Attribute(INTS, List[int])
    m.floats = torch.jit.Attribute(FLOATS, List[float])
    m.values = torch.jit.Attribute(dict(enumerate(INTS)), Dict[int, int])
    return m


def memo():
    m = Holder()
    m.words = torch.jit.Attribute([f"word{i % 300}" for i in range(600)], List[str])
    return m


def tags():
    m = Holder()
    m.colors = torch.jit.Attribute([Color.RED, Color.BLUE], List[Color])
    m.points = torch.jit.Attribute({"a": Point(1, 2.0)}, Dict[str, Point])
    m.mixed = torch.jit.Attribute((Point(3, 4.0), [5]), Tuple[Point, List[int]])
    m.unions = torch.jit.Attribute([1, "two"], List[Union[int, str]])
    m.maybe = torch.jit.Attribute([None, 1], List[Optional[int]])
    m.nested = torch.jit.Attribute([[1], [], [2, 3]], List[List[int]])
    return m


class Shared(nn.Module):
    def __init__(self):
        super().__init__()
        self.a: List[int] = [1, 2]
        self.b: List[int] = [3]

    @torch.jit.export
    def share(self):
        self.b = self.a

    def forward(self) -> int:
        return len(self.a)


class Quantized(nn.Module):
    def __init__(self):
        super().__init__()
        self.q = torch.quantize_per_tensor(torch.ones(2), 0.5, 0, torch.qint8)

    def forward(self) -> Tensor:
        return self.q


class Sparse(nn.Module):
    def __init__(self):
        super().__init__()
        self.s = torch.eye(2).to_sparse()

    def forward(self) -> Tensor:
        return self.s


def drop_positions(path):
    """Leaves out the source positions, which hold paths. Other records keep order and alignment."""
    with zipfile.ZipFile(path) as old:
        records = [(item, old.read(item)) for item in old.infolist()]
    with zipfile.ZipFile(path, "w") as new:
        for item, content in records:
            if item.filename.endswith(".debug_pkl"):
                continue
            info = zipfile.ZipInfo(item.filename)
            info.compress_type = item.compress_type
            start = new.fp.tell() + 30 + len(item.filename.encode()) + 4
            padding = -start % 64
            info.extra = b"FB" + padding.to_bytes(2, "little") + b"Z" * padding
            new.writestr(info, content)


def script(out, name, module, **extra):
    scripted = torch.jit.script(module)
    if name == "shared":
        scripted.share()
    path = os.path.join(out, name + ".pt")
    torch.jit.save(scripted, path, **extra)
    if name in ("shared", "quantized", "sparse"):
        drop_positions(path)
    print(path, os.path.getsize(path))


def save(out, name, value, **options):
    path = os.path.join(out, name + ".pt")
    torch.save(value, path, **options)
    print(path, os.path.getsize(path))


def main(out):
    os.makedirs(out, exist_ok=True)
    for make in (attributes, views, dtypes, math_bits, numbers, memo, tags):
        script(out, make.__name__, make())
    script(out, "shared", Shared())
    script(out, "quantized", Quantized())
    script(out, "sparse", Sparse())
    script(out, "extra", Holder(), _extra_files={"notes.txt": "hello", "deep/er/notes": b"\0\1"})
    net = nn.Sequential(nn.Linear(3, 2), nn.BatchNorm1d(2))
    with torch.no_grad():
        for i, parameter in enumerate(net.parameters()):
            parameter.fill_(i + 1)
    save(out, "state_dict", net.state_dict())
    save(out, "checkpoint", OrderedDict(epoch=3, state_dict=net.state_dict(), note=None,
                                        sizes=[torch.Size([1, 2])], parameter=net[0].weight))
    save(out, "legacy", {"a": torch.ones(1)}, _use_new_zipfile_serialization=False)


if __name__ == "__main__":
    main(sys.argv[1])
