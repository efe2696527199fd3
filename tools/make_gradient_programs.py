"""Writes tests/data/gradients: programs that call torch.autograd themselves, with recorded calls.

Needs a Python with torch and safetensors; nothing else in the repository does. By hand:
    python tools/make_gradient_programs.py tests/data/gradients
Each NAME.pt has NAME.case0.safetensors beside it: calls of its methods in order, with what the eager
module gives, or a part of the text of the error that it raises. The cases' metadata say that
gradients are on ("gradients").
"""
import json
import sys
from typing import List, Optional, Tuple

import torch
from safetensors.torch import save_file
from torch import Tensor, nn


def encode(value, prefix, tensors):
    if isinstance(value, torch.Tensor):
        name = f"{prefix}.{len(tensors)}"
        tensors[name] = value.detach().clone(memory_format=torch.contiguous_format)
        return {"t": name}
    if isinstance(value, (list, tuple)):
        items = [encode(item, prefix, tensors) for item in value]
        return items if isinstance(value, list) else {"tuple": items}
    return value


class Step(nn.Module):
    """A training step inside the module: gradients, then updates without recording."""

    def __init__(self):
        super().__init__()
        self.w = nn.Parameter(torch.tensor([[0.5, -1.0], [2.0, 0.25]]))
        self.b = nn.Parameter(torch.tensor([0.1, -0.2]))

    def forward(self, x):
        return torch.tanh(torch.mm(x, self.w) + self.b)

    @torch.jit.export
    def step(self, x, y):
        loss = torch.mean((self.forward(x) - y) * (self.forward(x) - y))
        grads = torch.autograd.grad([loss], [self.w, self.b])
        gw, gb = grads[0], grads[1]
        assert gw is not None and gb is not None
        with torch.no_grad():
            self.w.sub_(gw, alpha=0.5)
            self.b.sub_(gb, alpha=0.5)
        return loss.detach()


class Accumulating(nn.Module):
    """backward(), gradients read, reset in place, and None where there is none."""

    def __init__(self):
        super().__init__()
        self.w = nn.Parameter(torch.tensor([1.0, 2.0, 3.0]))
        self.unused = nn.Parameter(torch.tensor([1.0]))

    def forward(self, x):
        (self.w * x).sum().backward()
        grad = self.w.grad
        assert grad is not None
        return grad.clone()

    @torch.jit.export
    def reset(self) -> Tensor:
        grad = self.w.grad
        assert grad is not None
        grad.zero_()
        return grad.clone()

    @torch.jit.export
    def has_gradients(self) -> Tuple[bool, bool]:
        return self.w.grad is not None, self.unused.grad is not None


class Flags(nn.Module):
    def __init__(self):
        super().__init__()
        self.w = nn.Parameter(torch.tensor([1.0, 2.0]))

    def forward(self, x) -> List[bool]:
        y = x * self.w
        d = y.detach()
        flags = [self.w.is_leaf, y.is_leaf, y.requires_grad, d.requires_grad, d.is_leaf,
                 x.requires_grad, torch.argmax(y).requires_grad, y.view(2, 1).requires_grad]
        with torch.no_grad():
            z = x * self.w
            flags.append(z.requires_grad)
            flags.append(self.w.view(2, 1).requires_grad)
        free = torch.zeros(2)
        free.requires_grad_(True)
        flags.append((free * 2).requires_grad)
        return flags


class Second(nn.Module):
    """The gradient of a gradient's norm."""

    def __init__(self):
        super().__init__()
        self.w = nn.Parameter(torch.tensor([0.3, -0.7]))

    def forward(self, x):
        y = torch.sigmoid(x * self.w).sum()
        first = torch.autograd.grad([y], [self.w], create_graph=True)[0]
        assert first is not None
        second = torch.autograd.grad([(first * first).sum()], [self.w])[0]
        assert second is not None
        return first.detach(), second


class Flow(nn.Module):
    """Loops, branches, writes in place and through views."""

    def __init__(self):
        super().__init__()
        self.w = nn.Parameter(torch.tensor([0.9, 1.1]))

    def forward(self, x, n: int):
        h = x
        for i in range(n):
            h = h * self.w
            if i % 2 == 0:
                h = torch.tanh(h) * 2.0
            h += 1.0
        out = torch.zeros(2, 2)
        out[0] = h
        out[1].copy_(h * 2)
        out.mul_(3.0)
        loss = (out * out).sum()
        grad = torch.autograd.grad([loss], [self.w])[0]
        assert grad is not None
        return loss.detach(), grad


class Attention(nn.Module):
    """What heads give lies as the query does, with gradients and without: some views need that."""

    def __init__(self):
        super().__init__()
        self.w = nn.Parameter(torch.arange(36.0).reshape(6, 6).cos())

    def forward(self, x, seen: Optional[Tensor], bias: Optional[Tensor]):
        heads = (x @ self.w).view(2, 5, 3, 2).transpose(1, 2)
        mask = seen if seen is not None else bias
        made = torch.nn.functional.scaled_dot_product_attention(heads, heads, heads, mask)
        y = made.transpose(1, 2).view(2, 5, 6)
        grad = torch.autograd.grad([(y * y).sum()], [self.w])[0]
        assert grad is not None
        return y.detach(), grad

    @torch.jit.export
    def contiguous(self, x):
        heads = (x @ self.w).view(2, 5, 3, 2).transpose(1, 2).contiguous()
        y = torch.nn.functional.scaled_dot_product_attention(heads, heads, heads, None).view(6, 5, 2)
        grad = torch.autograd.grad([(y * y).sum()], [self.w])[0]
        assert grad is not None
        return y.detach(), grad


class Refused(nn.Module):
    def __init__(self):
        super().__init__()
        self.w = nn.Parameter(torch.tensor([1.0, 2.0]))

    def forward(self, kind: str):
        x = self.w * 2
        if kind == "twice":
            y = (x * x).sum()
            y.backward()
            y.backward()
        elif kind == "vector":
            (x * x).backward()
        elif kind == "plain":
            torch.ones(1).sum().backward()
        elif kind == "leaf":
            self.w.add_(1.0)
        elif kind == "view_of_leaf":
            self.w[0].add_(1.0)
        elif kind == "stale":
            y = x.exp()
            y.add_(1.0)
            y.sum().backward()
        elif kind == "several":
            parts = x.unbind(0)
            parts[0].add_(1.0)
        elif kind == "no_grad_view":
            with torch.no_grad():
                v = self.w.view(2, 1)
            v.add_(1.0)
        elif kind == "resize":
            x.resize_(3)
        elif kind == "not_leaf":
            x.requires_grad_(False)
        return x.detach()


ERRORS = {
    "twice": "Trying to backward through the graph a second time",
    "vector": "grad can be implicitly created only for scalar outputs",
    "plain": "does not require grad and does not have a grad_fn",
    "leaf": "a leaf Variable that requires grad is being used in an in-place operation",
    "view_of_leaf": "a view of a leaf Variable that requires grad is being used in an in-place",
    "stale": "has been modified by an inplace operation: [torch.FloatTensor [2]], which is output 0 of",
    "several": "is a view and is being modified inplace. This view is the output of a function",
    "no_grad_view": "A view was created in no_grad mode and is being modified inplace",
    "resize": "cannot resize variables that require grad",
    "not_leaf": "you can only change requires_grad flags of leaf variables",
}


def record(folder, name, module, calls):
    torch.jit.script(module).save(f"{folder}/{name}.pt")
    done, tensors = [], {}
    for method, args in calls:
        call = {"method": method, "inputs": encode(list(args), "in", tensors)}
        try:
            call["outputs"] = encode(getattr(module, method)(*args), "out", tensors)
        except RuntimeError as error:
            words = ERRORS[args[0]]
            assert words in str(error), (words, str(error))
            call["error"] = words
        done.append(call)
    save_file(tensors or {"none": torch.zeros(1)}, f"{folder}/{name}.case0.safetensors",
              {"calls": json.dumps(done), "rtol": "1e-5", "atol": "1e-6", "gradients": "true",
               "archives": json.dumps([f"{name}.pt"])})


def main(folder):
    torch.manual_seed(0)
    x, y = torch.randn(4, 2), torch.randn(4, 2)
    record(folder, "step", Step(), [("step", (x, y))] * 3 + [("forward", (x,))])
    v = torch.tensor([1.0, -2.0, 0.5])
    record(folder, "accumulating", Accumulating(), [
        ("has_gradients", ()), ("forward", (v,)), ("forward", (v * 2,)), ("has_gradients", ()),
        ("reset", ()), ("forward", (v,))])
    record(folder, "flags", Flags(), [("forward", (torch.ones(2),))])
    record(folder, "second", Second(), [("forward", (torch.tensor([1.5, -0.5]),))] * 2)
    record(folder, "flow", Flow(), [("forward", (torch.tensor([0.2, -0.4]), n)) for n in (1, 2)])
    words, seen = torch.randn(2, 5, 6).double(), torch.ones(5, 5, dtype=torch.bool).tril()
    record(folder, "attention", Attention().double(), [
        ("forward", (words, None, None)), ("forward", (words, seen, None)), ("forward", (words, None, seen.double() - 1)),
        ("contiguous", (words,))])
    record(folder, "refused", Refused(), [("forward", (kind,)) for kind in ERRORS])


if __name__ == "__main__":
    main(sys.argv[1])
