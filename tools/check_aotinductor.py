"""Compiles small models by AOTInductor, runs them through tierup with its delegate, and compares with eager PyTorch:
the library alone in its archive, and beside the exported program.

What AOTInductor writes fits one machine and one version of PyTorch, so nothing of it is kept in the
repository: this needs the PyTorch that the delegate was built for, and a C++ compiler.
"""

import argparse
import pathlib
import subprocess
import sys

import torch
from safetensors.torch import save_file
from torch.export.pt2_archive._package import package_pt2


class Mlp(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.first = torch.nn.Linear(8, 16)
        self.second = torch.nn.Linear(16, 4)

    def forward(self, x, y):
        hidden = torch.relu(self.first(x)) * y
        return {"scores": self.second(hidden), "sums": (hidden.sum(-1), hidden.argmax(-1))}


class Convolutions(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = torch.nn.Sequential(
            torch.nn.Conv2d(3, 8, 3, padding=1), torch.nn.BatchNorm2d(8), torch.nn.ReLU(),
            torch.nn.Conv2d(8, 4, 3, stride=2))

    def forward(self, x):
        return torch.softmax(self.layers(x).flatten(1), -1)


def cases():
    batch = torch.export.Dim("batch", min=2, max=64)
    yield "mlp", Mlp(), ({0: batch}, {0: batch}), [
        (torch.randn(n, 8), torch.randn(n, 16)) for n in (3, 2, 17)]
    yield "convolutions", Convolutions(), None, [(torch.randn(2, 3, 12, 12),)]


def tree_of(value, tensors):
    """The case file's form of a nested value: tensors by key."""
    if isinstance(value, torch.Tensor):
        key = f"t{len(tensors)}"
        tensors[key] = value.detach().contiguous()
        return '{"t": "' + key + '"}'
    items = value.items() if isinstance(value, dict) else enumerate(value)
    inner = [(name, tree_of(item, tensors)) for name, item in items]
    if isinstance(value, dict):
        return '{"dict": [' + ", ".join(f'["{name}", {text}]' for name, text in inner) + "]}"
    return '{"tuple": [' + ", ".join(text for _, text in inner) + "]}"


def write_case(path, inputs, outputs):
    tensors = {}
    texts = {"inputs": tree_of(tuple(inputs), tensors), "outputs": tree_of(outputs, tensors)}
    save_file(tensors, path, metadata=texts)


def run(arguments, *command):
    result = subprocess.run([arguments.tierup, *command], capture_output=True, text=True)
    return result.returncode, result.stdout + result.stderr


def passes(arguments, what, package, case, *options):
    code, text = run(arguments, "run", package, "--inputs", case, "--check", *options)
    print(f"{what}: {text.strip()}")
    return code == 0


def refuses(arguments, what, command, words):
    package, case, *options = command
    code, text = run(arguments, "run", package, "--inputs", case, *options)
    if code != 0 and words in text:
        return True
    print(f"{what} should be refused with '{words}': {text.strip()}")
    return False


def check(arguments, name, module, dynamic_shapes, inputs):
    module.eval()
    program = torch.export.export(module, inputs[0], dynamic_shapes=dynamic_shapes)
    package = str(arguments.folder / f"{name}.pt2")
    torch._inductor.aoti_compile_and_package(program, package_path=package)
    files = torch._inductor.aot_compile(program.module(), inputs[0], options={"aot_inductor.package": True})
    both = str(arguments.folder / f"{name}_both.pt2")
    package_pt2(both, exported_programs={"model": program}, aoti_files={"model": files})
    failures = 0
    for index, example in enumerate(inputs):
        case = str(arguments.folder / f"{name}.case{index}.safetensors")
        with torch.no_grad():
            write_case(case, example, module(*example))
        failures += not passes(arguments, f"{name} case {index}", package, case, "--delegate", arguments.delegate)
        failures += not passes(arguments, f"{name} case {index}, program beside", both, case, "--delegate", arguments.delegate)
        failures += not passes(arguments, f"{name} case {index}, program alone", both, case)
    failures += not refuses(arguments, name, (package, case), "name a delegate that runs such libraries")
    # The library alone knows no names; with the program beside it, what is wrong is named before it runs.
    wrong = str(arguments.folder / f"{name}.wrong.safetensors")
    write_case(wrong, [one.double() for one in inputs[0]], torch.zeros(1))
    failures += not refuses(arguments, name, (both, wrong, "--delegate", arguments.delegate), "expected dtype float32, got float64")
    return failures


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tierup", required=True)
    parser.add_argument("--delegate", required=True)
    parser.add_argument("--folder", required=True, type=pathlib.Path)
    arguments = parser.parse_args()
    arguments.folder.mkdir(parents=True, exist_ok=True)
    torch.manual_seed(0)
    return sum(check(arguments, *case) for case in cases())


if __name__ == "__main__":
    sys.exit(1 if main() else 0)
