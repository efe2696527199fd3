"""Writes tests/data/plugin/custom_op.pt2: an exported program with an operator of the test plugin's.

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


x = torch.tensor([1.0, 2.0, 3.0])
path = sys.argv[1] + "/custom_op"
torch.export.save(torch.export.export(Scaled(), (x,)), path + ".pt2")
rezip(path + ".pt2")
save_file({"in.0": x, "out.0": Scaled()(x)}, path + ".case0.safetensors")
