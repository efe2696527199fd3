"""Writes torch.export packages of several models, for tests/data/packages.

    python tools/make_export_packages.py tests/data/packages

Needs PyTorch 2.9 or later, safetensors, and make_export_versions.py beside it. The models of
`two_models.pt2` share an embedding; the decoder ties its head to it. Each model has cases of its own:
in.N are the arguments, out.N the flattened results.
"""

import os
import sys

import torch
from safetensors.torch import save_file
from torch import nn
from torch.export.pt2_archive._package import package_pt2

from make_export_versions import rezip


class Encoder(nn.Module):
    def __init__(self, embedding):
        super().__init__()
        self.embedding = embedding
        self.layer = nn.Linear(4, 4)

    def forward(self, ids):
        return torch.tanh(self.layer(self.embedding(ids))).mean(1)


class Decoder(nn.Module):
    """The head's weight is the embedding's."""

    def __init__(self, embedding):
        super().__init__()
        self.embedding = embedding
        self.head = nn.Linear(4, 7, bias=False)
        self.head.weight = embedding.weight
        self.register_buffer("shift", torch.arange(7.0), persistent=False)

    def forward(self, state, ids):
        return {"scores": self.head(state + self.embedding(ids)) + self.shift}


def main(folder):
    os.makedirs(folder, exist_ok=True)
    torch.manual_seed(0)
    embedding = nn.Embedding(7, 4)
    models = {"encoder": Encoder(embedding).eval(), "parts/decoder": Decoder(embedding).eval()}
    batch = torch.export.Dim("batch", min=2, max=64)

    def arguments(name, size):
        ids = torch.randint(0, 7, (size, 3) if name == "encoder" else (size,))
        return (ids,) if name == "encoder" else (torch.randn(size, 4), ids)

    programs = {}
    for name, model in models.items():
        args = arguments(name, 3)
        programs[name] = torch.export.export(model, args, dynamic_shapes=tuple({0: batch} for _ in args))
    path = os.path.join(folder, "two_models.pt2")
    package_pt2(path, exported_programs=programs, extra_files={"note.txt": "two models"})
    rezip(path)
    for name, model in models.items():
        for index, size in enumerate((2, 5)):
            args = arguments(name, size)
            leaves, _ = torch.utils._pytree.tree_flatten(model(*args))
            tensors = {f"in.{i}": t.contiguous() for i, t in enumerate(args)}
            tensors.update({f"out.{i}": t.detach().clone() for i, t in enumerate(leaves)})
            save_file(tensors, os.path.join(folder, f"{os.path.basename(name)}.case{index}.safetensors"))


if __name__ == "__main__":
    main(sys.argv[1])
