"""Makes the models of python/tests/data. Needs PyTorch.

    python tools/make_python_models.py python/tests/data
"""

import pathlib
import sys
from typing import Dict, List, NamedTuple, Optional, Tuple

import torch


class Endless(torch.nn.Module):
    def forward(self, n: int) -> int:
        while n > 0:
            n = n % 1000 + 1
        return n


class Pair(NamedTuple):
    first: torch.Tensor
    count: int


class Nested(torch.nn.Module):
    """Arguments and results of many kinds."""

    def __init__(self):
        super().__init__()
        self.scale = torch.nn.Parameter(torch.tensor(2.0))
        self.register_buffer("offset", torch.tensor([1.0]))
        self.factor = 3

    def forward(
        self,
        x: torch.Tensor,
        extra: Optional[Dict[str, List[torch.Tensor]]] = None,
        flag: bool = False,
        rate: float = 0.5,
    ) -> Tuple[torch.Tensor, Dict[str, torch.Tensor], List[int]]:
        result = x * self.scale + self.offset
        if extra is not None:
            for name in extra:
                for item in extra[name]:
                    result = result + item
        return result, {"rate": torch.full([1], rate)}, [self.factor, int(flag)]

    @torch.jit.export
    def pair(self, x: torch.Tensor) -> Pair:
        return Pair(x + 1, x.size(0))

    @torch.jit.export
    def identity(self, x: torch.Tensor) -> torch.Tensor:
        return x

    @torch.jit.export
    def write(self, x: torch.Tensor) -> torch.Tensor:
        x.add_(1)
        return x

    @torch.jit.export
    def shout(self, text: str) -> str:
        print(text)
        return text + "!"

    @torch.jit.export
    def number(self, z: complex) -> complex:
        return z * 2


class Dynamic(torch.nn.Module):
    def forward(self, x, y):
        return torch.relu(x @ y), x.sum()


def main(folder):
    folder = pathlib.Path(folder)
    torch.jit.script(Endless()).save(str(folder / "endless.pt"))
    torch.jit.script(Nested()).save(str(folder / "nested.pt"))
    batch = torch.export.Dim("batch", min=1, max=64)
    program = torch.export.export(
        Dynamic(), (torch.randn(3, 4), torch.randn(4, 2)), dynamic_shapes={"x": {0: batch}, "y": None}
    )
    torch.export.save(program, folder / "dynamic.pt2")


if __name__ == "__main__":
    main(sys.argv[1])
