"""Writes the quantised modules of tests/data/modules: trained for quantisation, and made of quantized_decomposed's operators.

Needs what make_module_cases.py needs, which stands beside it. By hand:
    python tools/make_quantized_cases.py tests/data/modules
"""

import copy
import sys
import warnings

import torch
import torch.ao.quantization as ao
import torch.ao.quantization.fx._decomposed
from make_module_cases import write_calls, write_case
from torch import nn

decomposed = torch.ops.quantized_decomposed


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.enter = ao.QuantStub()
        self.convolution = nn.Conv2d(3, 4, 3)
        self.norm = nn.BatchNorm2d(4)
        self.activation = nn.ReLU()
        self.head = nn.Linear(4, 5)
        self.leave = ao.DeQuantStub()

    def forward(self, x):
        x = self.activation(self.norm(self.convolution(self.enter(x))))
        return self.leave(self.head(x.mean((2, 3))))


def trained(x, fused):
    net = Net().train()
    net.qconfig = ao.get_default_qat_qconfig("x86")
    if fused:
        net = ao.fuse_modules_qat(net, [["convolution", "norm", "activation"]])
    ao.prepare_qat(net, inplace=True)
    for scale in (1, 2):
        net(x * scale)
    return net.eval()


class Parameters(nn.Module):
    """Fake quantisation by numbers, tensors and channels, as modules of before have it."""

    def __init__(self):
        super().__init__()
        observer = ao.MovingAverageMinMaxObserver
        self.whole = ao.FakeQuantize(observer=observer, quant_min=0, quant_max=255)
        rows = ao.MovingAveragePerChannelMinMaxObserver
        symmetric = {"dtype": torch.qint8, "qscheme": torch.per_channel_symmetric, "ch_axis": 0}
        self.rows = ao.FakeQuantize(observer=rows, quant_min=-128, quant_max=127, **symmetric)

    def forward(self, x):
        x = torch.fake_quantize_per_tensor_affine(torch.tanh(x) * 2, 0.05, 3, 0, 40) + 1
        return self.rows(self.whole(x).t()).t()


class Decomposed(nn.Module):
    """What a converted program holds: integers between layers, and as weights."""

    def __init__(self):
        super().__init__()
        self.register_buffer("weight", torch.randint(-127, 128, (4, 3, 3, 3), dtype=torch.int8))
        self.register_buffer("scales", torch.rand(4) / 100 + 0.001)
        self.register_buffer("zeros", torch.zeros(4, dtype=torch.int64))
        self.register_buffer("scale", torch.tensor(0.03))
        self.register_buffer("zero", torch.tensor(-4))

    def forward(self, x):
        steps = decomposed.quantize_per_tensor.default(x, 0.04, 2, -128, 127, torch.int8)
        x = decomposed.dequantize_per_tensor.default(steps, 0.04, 2, -128, 127, torch.int8)
        weight = decomposed.dequantize_per_channel.default(
            self.weight, self.scales, self.zeros, 0, -127, 127, torch.int8)
        x = torch.relu(nn.functional.conv2d(x, weight))
        parameters = (self.scale, self.zero, -128, 127, torch.int8)
        steps = decomposed.quantize_per_tensor.tensor(x, *parameters)
        x = decomposed.dequantize_per_tensor.tensor(steps, *parameters)
        steps = decomposed.quantize_per_channel.default(x, self.scales * 9, self.zeros, 1, 0, 255, torch.uint8)
        return x.mean((2, 3)), steps


def main(folder):
    warnings.filterwarnings("ignore")
    torch.manual_seed(0)
    torch.set_grad_enabled(False)
    x = torch.randn(2, 3, 8, 8)
    for fused in (False, True):
        name = "qat_fused" if fused else "qat"
        net = trained(x, fused)
        traced = torch.jit.trace(copy.deepcopy(net), (x,), check_trace=False)
        traced.save(f"{folder}/{name}.pt")
        write_calls(folder, name, torch.jit.load(f"{folder}/{name}.pt"), [(x,), (x * 3,), (x - 1,)])
        net.apply(ao.disable_observer)
        program = torch.export.export(net, (x,))
        for form, exported in ((name, program), (f"{name}_core", program.run_decompositions())):
            torch.export.save(exported, f"{folder}/{form}_exported.pt2")
            write_case(folder, f"{form}_exported", (x,), net(x), kind="pt2")
    module = Parameters()
    matrix = torch.randn(6, 4)
    module(matrix)
    module = torch.jit.script(module.eval())
    module.save(f"{folder}/fake_quantized.pt")
    write_calls(folder, "fake_quantized", torch.jit.load(f"{folder}/fake_quantized.pt"), [(matrix,), (matrix * 3,)])
    module = Decomposed()
    torch.export.save(torch.export.export(module, (x,)), f"{folder}/quantized_decomposed.pt2")
    write_case(folder, "quantized_decomposed", (x,), list(module(x)), kind="pt2")


if __name__ == "__main__":
    main(sys.argv[1])
