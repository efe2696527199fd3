"""The demo's second half: the digits network from random weights to digits that it has never seen, by `tierup train`.

Needs only Python's standard library. Ends with an error below the accuracy that the demo promises.
"""

import array
import json
import math
import pathlib
import random
import re
import struct
import subprocess
import sys
import tempfile

EPOCHS = 12
PROMISED = 97.0  # Percent of unseen digits.
BARS = " ▁▂▃▄▅▆▇█"
DTYPES = {"F32": "f", "U8": "B", "I64": "q"}


def read(path):
    """{name: (dtype, shape, values)} of a safetensors file."""
    data = pathlib.Path(path).read_bytes()
    (length,) = struct.unpack("<Q", data[:8])
    tensors = {}
    for name, entry in json.loads(data[8 : 8 + length]).items():
        if name == "__metadata__":
            continue
        begin, end = entry["data_offsets"]
        values = array.array(DTYPES[entry["dtype"]], data[8 + length + begin : 8 + length + end])
        tensors[name] = (entry["dtype"], entry["shape"], values)
    return tensors


def write(path, tensors):
    header, body = {}, b""
    for name, (dtype, shape, values) in tensors.items():
        part = array.array(DTYPES[dtype], values).tobytes()
        header[name] = {"dtype": dtype, "shape": shape, "data_offsets": [len(body), len(body) + len(part)]}
        body += part
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    pathlib.Path(path).write_bytes(struct.pack("<Q", len(text)) + text + body)


def random_weights(state):
    """The same names and shapes, as a fresh network of PyTorch's would have them."""
    numbers = random.Random(1)
    fresh = {}
    for name, (dtype, shape, values) in state.items():
        if len(shape) > 1:  # Of a convolution or a linear layer; its bias goes with it.
            bound = 1 / math.sqrt(math.prod(shape[1:]))
        if name.startswith("features.1."):  # Batch norm.
            new = [1.0 if name.endswith(("weight", "running_var")) else 0] * len(values)
        else:
            new = [numbers.uniform(-bound, bound) for _ in values]
        fresh[name] = (dtype, shape, new)
    return fresh


def make_files(command, demo, folder):
    def run(*arguments):
        done = subprocess.run([command, *map(str, arguments)], capture_output=True, text=True)
        if done.returncode != 0:
            sys.exit(done.stdout + done.stderr)

    run("save", demo / "digits.pt", "--state-dict", "--out", folder / "trained.safetensors")
    write(folder / "random.safetensors", random_weights(read(folder / "trained.safetensors")))
    run("save", demo / "digits.pt", "--weights", folder / "random.safetensors", "--out", folder / "fresh.pt")
    known, unseen = read(demo / "digits_train.safetensors"), read(demo / "digits.safetensors")
    images = known["images"]
    write(
        folder / "train.safetensors",
        {"images": ("F32", images[1], [pixel / 16 for pixel in images[2]]), "target": known["labels"]},
    )
    labels = json.loads((demo / "labels.json").read_text())
    write(folder / "unseen.safetensors", {"images": unseen["in.0"], "target": ("I64", [len(labels)], labels)})


def bar(percent):
    """Of 50 to 100 %, since guessing gives 10 and the first epoch more than half."""
    eighths = round(max(0.0, percent - 50) / 50 * 40 * 8)
    return "█" * (eighths // 8) + (BARS[eighths % 8] if eighths % 8 else "")


def main(command, demo):
    print("\nThe same network, trained here from random weights:")
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        make_files(command, demo, folder)
        arguments = ["--data", folder / "train.safetensors", "--validate", folder / "unseen.safetensors", "--loss", "nll"]
        arguments += ["--optimizer", "adamw", "--lr", "4e-3", "--schedule", "cosine", "--epochs", EPOCHS, "--batch", 32]
        arguments += ["--seed", 1, "--out", folder / "digits.pt"]
        process = subprocess.Popen(
            [command, "train", str(folder / "fresh.pt"), *map(str, arguments)], stdout=subprocess.PIPE, text=True
        )
        seconds, percent = 0.0, 0.0
        for line in process.stdout:
            found = re.match(r"epoch +(\d+)/.*validation.*right +([\d.]+) %.* ([\d.]+) s$", line)
            if not found:
                print(line, end="")
                continue
            percent, seconds = float(found[2]), seconds + float(found[3])
            print(f"epoch {int(found[1]):2d}  {percent:5.1f} %  {bar(percent)}", flush=True)
        if process.wait() != 0:
            sys.exit("training failed")
    print(f"{percent:.1f} % of unseen digits after {seconds:.1f} s of training")
    if percent < PROMISED:
        sys.exit(f"below the {PROMISED:.0f} % that the demo promises")
