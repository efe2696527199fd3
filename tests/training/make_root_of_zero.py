#!/usr/bin/env python3
"""Writes root_of_zero.pt: its loss is finite, the gradient of its weight, which is zero, is not.

    make_root_of_zero.py FOLDER
"""
import pathlib
import sys

import torch


class RootOfZero(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.zeros(3))

    def forward(self, x):
        size = (x * self.weight).sum(1)
        return torch.sqrt(size * size).mean()


torch.jit.script(RootOfZero()).save(str(pathlib.Path(sys.argv[1]) / "root_of_zero.pt"))
