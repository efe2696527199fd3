#!/usr/bin/env python3
"""Writes tests/data/exported_training: programs whose gradients PyTorch's exporter changes, for exported_training_test.cc.

    make_exported_training.py [--out FOLDER]

Needs torch and safetensors. `attention.joint.pt2` hands the weights of attention to a backward operator that wants the logarithms of
rows' sums: run by PyTorch, its gradients are wrong. `gated.training.pt2` has a part under no_grad, `gated.core.pt2` the same
program decomposed, where that is gone and gradients flow. Beside each: its inputs, and the gradients that the module itself has
(`own.NAME`) or those of the program as PyTorch loads it (`loaded.NAME`).
"""
import argparse
import pathlib
import warnings

import torch
from safetensors.torch import save_file
from torch import nn
from torch.export.experimental import _export_forward_backward


class Attention(nn.Module):
    def __init__(self):
        super().__init__()
        self.qkv = nn.Linear(8, 24)

    def forward(self, x, target):
        q, k, v = (y.view(2, 5, 2, 4).transpose(1, 2) for y in self.qkv(x).chunk(3, -1))
        mixed = nn.functional.scaled_dot_product_attention(q, k, v)
        return nn.functional.mse_loss(mixed.transpose(1, 2).reshape(2, 5, 8), target)


class Gated(nn.Module):
    def __init__(self):
        super().__init__()
        self.gate = nn.Linear(4, 4)
        self.value = nn.Linear(4, 4)

    def forward(self, x):
        with torch.no_grad():
            gate = torch.sigmoid(self.gate(x))
        return (gate * self.value(x)).sum()


def save(program, path):
    for node in program.graph.nodes:
        node.meta.pop("stack_trace", None)
    torch.export.save(program, path)


def gradients(module, inputs):
    module.zero_grad()
    module(*inputs).backward()
    return {name: p.grad.clone() for name, p in module.named_parameters() if p.grad is not None}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=pathlib.Path, default=pathlib.Path("tests/data/exported_training"))
    out = parser.parse_args().out
    out.mkdir(parents=True, exist_ok=True)
    warnings.simplefilter("ignore")
    torch.manual_seed(3)
    model, inputs = Attention(), (torch.randn(2, 5, 8), torch.randn(2, 5, 8))
    save(_export_forward_backward(torch.export.export(model, inputs)), out / "attention.joint.pt2")
    save_file({"x": inputs[0], "target": inputs[1], **{f"own.{k}": v for k, v in gradients(model, inputs).items()}}, out / "attention.safetensors")

    model, inputs = Gated(), (torch.randn(3, 4),)
    program = torch.export.export(model, inputs)
    save(program, out / "gated.training.pt2")
    save(program.run_decompositions(), out / "gated.core.pt2")
    there = torch.export.load(out / "gated.core.pt2").module()
    save_file({"x": inputs[0], **{f"own.{k}": v for k, v in gradients(model, inputs).items()},
               **{f"loaded.{k}": v for k, v in gradients(there, inputs).items()}}, out / "gated.safetensors")


if __name__ == "__main__":
    main()
