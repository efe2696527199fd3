"""Writes tests/data/plugin/*.pt2: exported programs with operators of the test plugin's.

    cd tools && python make_plugin_fixture.py ../tests/data/plugin
"""

import sys

import torch
from make_export_versions import rezip
from safetensors.torch import save_file
from torch import nn

library = torch.library.Library("my", "DEF")
library.define("scale(Tensor x, float by=2.0) -> Tensor")
library.impl("scale", lambda x, by=2.0: x * by, "CompositeExplicitAutograd")


class Scaled(nn.Module):
    def forward(self, x):
        return torch.ops.my.scale(torch.ops.my.scale(x), 3.0)


library.define("set_(Tensor(a!) x, float value) -> ()")


def set_in_place(x, value):
    x.fill_(value)


library.impl("set_", set_in_place, "CompositeExplicitAutograd")
torch.library.register_fake("my::set_", lambda x, value: None)


class Written(nn.Module):
    def forward(self, x):
        y = x.clone()
        torch.ops.my.set_(y, 3.0)
        return x + y


def save(name, module, decompose):
    x = torch.tensor([1.0, 2.0, 3.0])
    program = torch.export.export(module, (x,))
    path = f"{sys.argv[1]}/{name}"
    torch.export.save(program.run_decompositions() if decompose else program, path + ".pt2")
    rezip(path + ".pt2")
    save_file({"in.0": x, "out.0": module(x)}, path + ".case0.safetensors")


save("custom_op", Scaled(), False)
save("functionalized", Written(), True)
