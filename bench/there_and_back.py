#!/usr/bin/env python3
"""Training there and back: tierup trains and saves, PyTorch opens that and goes on, tierup goes on from PyTorch's checkpoint.

    there_and_back.py FOLDER [--models a,b]      FOLDER as train_peers.py write makes it; TIERUP names the command

Steps are of all the data: two by tierup, two by PyTorch, two by tierup, against six by tierup alone. Compared are what the saved model gives
in PyTorch and in tierup after the first two, and the answers of the two models at the end. Needs torch and safetensors.
"""

import argparse
import os
import pathlib
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import train_peers as peers

MODELS = ["digits", "mlp", "lstm_loop", "resnet18", "transformer", "autoencoder"]
# Of float32 steps by other kernels; AdamW divides by the gradient's own size, which makes small differences larger.
OUTPUTS = dict(rtol=1e-3, atol=1e-4)


def train(folder, name, epochs, out, more=()):
    loss = peers.LOSSES.get(name, "mse")
    subprocess.run([os.environ.get("TIERUP", "tierup"), "train", str(folder / f"{name}.pt"), "--data", str(folder / f"{name}.safetensors"),
                    "--loss", loss, "--optimizer", "adamw", "--lr", str(peers.RATE), "--batch", str(ROWS[name]), "--epochs", str(epochs),
                    "--out", str(out), *more], check=True, stdout=subprocess.DEVNULL)


ROWS = {"digits": 32, "mlp": 32, "lstm_loop": 8, "resnet18": 8, "transformer": 8, "autoencoder": 8}


def given(folder, name):
    import safetensors.torch

    columns = safetensors.torch.load_file(folder / f"{name}.safetensors")
    target = columns.pop("target")
    return list(columns.values()), target


def outputs_here(model, inputs, work):
    import safetensors.torch

    safetensors.torch.save_file({f"in.{i}": x for i, x in enumerate(inputs)}, work / "in.safetensors")
    subprocess.run([os.environ.get("TIERUP", "tierup"), "run", str(model), "--inputs", str(work / "in.safetensors"), "--out", str(work / "out.safetensors")],
                   check=True, stdout=subprocess.DEVNULL)
    return list(safetensors.torch.load_file(work / "out.safetensors").values())[0]


def go_on_there(folder, name, model_file, checkpoint, steps):
    """PyTorch's part: opens the model and the checkpoint, takes steps, and writes the checkpoint again."""
    import torch

    model = torch.jit.load(str(model_file)).train()
    state = torch.load(checkpoint, weights_only=True)
    model.load_state_dict(state["model"])
    optimizer = torch.optim.AdamW(model.parameters(), lr=peers.RATE)
    optimizer.load_state_dict(state["optimizers"]["main"])
    inputs, target = given(folder, name)
    loss_of = peers.loss_function(name)
    for _ in range(steps):
        optimizer.zero_grad()
        loss_of(model(*inputs), target).backward()
        optimizer.step()
    state["model"] = model.state_dict()
    state["optimizers"]["main"] = optimizer.state_dict()
    state["epoch"] += steps
    torch.save(state, checkpoint)


def there_and_back(folder, name, work):
    import torch

    train(folder, name, 6, work / "alone.pt")
    runs = ["--checkpoint", str(work / "runs")]
    train(folder, name, 2, work / "two.pt", runs)
    inputs, _ = given(folder, name)
    there = torch.jit.load(str(work / "two.pt")).eval()
    there.save(str(work / "eval.pt"))
    with torch.no_grad():
        torch.testing.assert_close(outputs_here(work / "eval.pt", inputs, work), there(*inputs), **OUTPUTS)
    go_on_there(folder, name, work / "two.pt", work / "runs" / "checkpoint.pt", 2)
    train(folder, name, 6, work / "back.pt", [*runs, "--resume"])
    return [answer_of(work / which, inputs) for which in ("alone.pt", "back.pt")]


def answer_of(model_file, inputs):
    """In training mode: what a batch norm takes away again, as the bias before it, is moved by rounding alone."""
    import torch

    with torch.no_grad():
        return torch.jit.load(str(model_file)).train()(*inputs)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--models", default=",".join(MODELS))
    arguments = parser.parse_args()
    failed = False
    for name in arguments.models.split(","):
        with tempfile.TemporaryDirectory() as work:
            alone, back = there_and_back(arguments.folder, name, pathlib.Path(work))
        close = (alone - back).abs() <= OUTPUTS["atol"] + OUTPUTS["rtol"] * alone.abs()
        failed |= not close.all()
        print(f"{name:12} {'same' if close.all() else 'DIFFERENT'}: greatest difference {(alone - back).abs().max():.3g} of answers up to {alone.abs().max():.3g}")
    return failed


if __name__ == "__main__":
    sys.exit(main())
