"""Operators over lists of tensors (`_foreach_...`) as the operator of each of them."""

from __future__ import annotations

import torch

# Where the operator of one tensor has another name, or other ways to take its arguments.
_ONE = {
    "addcdiv": lambda x, a, b, value=1: x + value * (a / b),
    "addcmul": lambda x, a, b, value=1: x + value * (a * b),
    "copy": lambda x, source, non_blocking=False: source.to(x.dtype).expand_as(x).clone(),
    "maximum": lambda x, other: torch.clamp_min(x, other),
    "minimum": lambda x, other: torch.clamp_max(x, other),
    "norm": lambda x, order=2, dtype=None: torch.linalg.vector_norm(x, order, dtype=dtype),
    "powsum": lambda x, order=2, dtype=None: x.to(dtype or x.dtype).abs().pow(order).sum(),
    "zero": torch.zeros_like,
}


def _name(target) -> str:
    return target._schema.name.removeprefix("aten::_foreach_")


def is_foreach(target) -> bool:
    name = _name(target)
    return name != target._schema.name and (name in _ONE or hasattr(torch, name))


def one_by_one(target):
    """A function that does what the operator does, by operators of single tensors."""
    name = _name(target)
    one = _ONE.get(name) or getattr(torch, name)
    # Of a list, or of one tensor with a number for each: `scalars`.
    counted = {formal.name for formal in target._schema.arguments if formal.name == "scalars"}

    def run(*args, **kwargs):
        formals = [formal.name for formal in target._schema.arguments]
        count = max(len(value) for value in args if isinstance(value, (list, tuple)))

        def of(i, formal, value):
            return value[i] if isinstance(value, (list, tuple)) or formal in counted else value

        return [
            one(*(of(i, formal, value) for formal, value in zip(formals, args)), **kwargs) for i in range(count)
        ]

    return run
