#!/usr/bin/env python3
"""Writes bad_inputs.pt: methods that ask what has no answer, for bad_inputs_test.cc, which has the answers.

    make_bad_inputs.py FOLDER

Needs torch. Each method takes x, three numbers.
"""

import pathlib
import sys
from typing import List, Optional

import torch
from torch import Tensor, nn


class BadInputs(nn.Module):
    def __init__(self):
        super().__init__()
        self.w = nn.Parameter(torch.tensor([1.,2.,3.]))
        self.bn = nn.BatchNorm1d(3)
    def forward(self, x):
        return (self.w*x).sum()

    @torch.jit.export
    def no_derivative(self, x):
        return torch.heaviside(self.w, x).sum()

    @torch.jit.export
    def igamma(self, x):
        return torch.special.gammainc(self.w.abs(), x).sum()

    @torch.jit.export
    def twice(self, x):
        y = (self.w*x).exp().sum()
        y.backward()
        y.backward()
        return y

    @torch.jit.export
    def not_scalar(self, x):
        y = self.w*x
        y.backward()
        return y

    @torch.jit.export
    def other_sizes(self, x):
        y = self.w*x
        g: List[Optional[Tensor]] = [torch.ones(2)]
        torch.autograd.backward([y], g)
        return y

    @torch.jit.export
    def nothing_recorded(self, x):
        y = x.detach()*2
        y.sum().backward()
        return y

    @torch.jit.export
    def of_integers(self, x):
        y = torch.argmax(self.w)
        y.backward()
        return y

    @torch.jit.export
    def under_no_grad(self, x):
        with torch.no_grad():
            y = (self.w*x).sum()
        y.backward()
        return y

    @torch.jit.export
    def writes_leaf(self, x):
        self.w.add_(1.0)
        return self.w.sum()

    @torch.jit.export
    def writes_view_of_leaf(self, x):
        self.w[1:].add_(1.0)
        return self.w.sum()

    @torch.jit.export
    def writes_one_of_several(self, x):
        a, b, c = (self.w*2).unbind()
        a.mul_(2)
        return b.sum()

    @torch.jit.export
    def writes_base_of_several(self, x):
        h = self.w*2
        parts = h.split([1,2])
        h.mul_(3)
        return parts[0].sum()

    @torch.jit.export
    def writes_view_of_no_grad(self, x):
        h = self.w*2
        with torch.no_grad():
            v = h[1:]
        v.mul_(2)
        return h.sum()

    @torch.jit.export
    def writes_leafs_view_of_no_grad(self, x):
        with torch.no_grad():
            v = self.w[1:]
        v.mul_(2)
        return self.w.sum()

    @torch.jit.export
    def overwrites_saved(self, x):
        y = self.w.exp()
        y.add_(1)
        return y.sum()

    @torch.jit.export
    def steps_in_between(self, x):
        y = (self.w*self.w).sum()
        with torch.no_grad():
            self.w.sub_(0.1)
        y.backward()
        return y

    @torch.jit.export
    def out_argument(self, x):
        y = torch.empty(3)
        torch.add(self.w, x, out=y)
        return y.sum()

    @torch.jit.export
    def one_value_a_channel(self, x):
        return self.bn(x.view(1,3)).sum()

    @torch.jit.export
    def flag_of_computed(self, x):
        z = self.w*2
        z.requires_grad_(False)
        return z.sum()

    @torch.jit.export
    def detaches_view(self, x):
        z = (self.w*2)[1:]
        z.detach_()
        return z.sum()

    @torch.jit.export
    def resizes(self, x):
        z = self.w*2
        z.resize_(6)
        return z.sum()

    @torch.jit.export
    def sets_data(self, x):
        y = (self.w*self.w*x).sum()
        self.w.set_data(torch.tensor([5.,6.,7.]))
        y.backward()
        return y

    @torch.jit.export
    def sets_other_sizes(self, x):
        y = (self.w*self.w*x).sum()
        self.w.set_data(torch.tensor([5.,6.]))
        y.backward()
        return y

    @torch.jit.export
    def retains(self, x):
        h = self.w*2
        h.retain_grad()
        l = (h*h*x).sum()
        l.backward()
        return h.grad

    @torch.jit.export
    def records_for_ever(self, x):
        y = x.repeat(100000)*self.w.repeat(100000)
        for i in range(100000):
            y = y.exp()
        return y.sum()

    @torch.jit.export
    def complete_qr(self, x):
        q, r = torch.linalg.qr(self.w.repeat(4).view(4,3), "complete")
        return q.sum()

    @torch.jit.export
    def freezes(self, x):
        y = (self.w * self.w * x).sum()
        self.w.requires_grad_(False)
        y.backward()
        return y

    @torch.jit.export
    def chain(self, x):
        y = self.w
        for i in range(1000000):
            y = y * 1.0
        return y.sum()

    @torch.jit.export
    def doubles_in_place(self, x):
        x.mul_(2.0)
        return (self.w * x).sum()

    @torch.jit.export
    def square(self, x):
        return (self.w * x * x).sum()

    @torch.jit.export
    def gives(self, x):
        return [x * 2.0, x, x[1:], self.w]


torch.jit.script(BadInputs()).save(str(pathlib.Path(sys.argv[1]) / "bad_inputs.pt"))
