"""The digits of the demos: real handwriting, 8 by 8 pixels, with PyTorch's own answers. Standard library alone."""

import array
import json
import pathlib
import struct

SHADES = " .:-=+*#%@"
SHOWN = 6


def folder() -> pathlib.Path:
    """Where digits.pt, digits.safetensors and labels.json lie: in the package, or in a checkout."""
    here = pathlib.Path(__file__).resolve().parent
    installed = here / "digits"
    return installed if installed.is_dir() else here.parent.parent / "demo"


def read_tensor(path, name: str):
    """Shape and flat float32 values of one tensor of a safetensors file."""
    data = pathlib.Path(path).read_bytes()
    (length,) = struct.unpack("<Q", data[:8])
    entry = json.loads(data[8 : 8 + length])[name]
    begin, end = entry["data_offsets"]
    values = array.array("f")
    values.frombytes(data[8 + length + begin : 8 + length + end])
    return entry["shape"], values


def labels() -> list[int]:
    return json.loads((folder() / "labels.json").read_text())


def predictions(scores, count: int, classes: int) -> list[int]:
    rows = [scores[n * classes : (n + 1) * classes] for n in range(count)]
    return [max(range(classes), key=row.__getitem__) for row in rows]


def draw(images, read_as, truth) -> None:
    rows = [[] for _ in range(8)]
    for n in range(SHOWN):
        for y in range(8):
            pixels = images[n * 64 + y * 8 : n * 64 + y * 8 + 8]
            rows[y].append("".join(SHADES[min(9, int(p * 9.99))] * 2 for p in pixels))
    print("\n".join("  ".join(row) for row in rows))
    print("  ".join(f"read as {p} (is {l})".center(16) for p, l in zip(read_as[:SHOWN], truth[:SHOWN])))


def accuracy_line(read_as, truth) -> str:
    right = sum(p == l for p, l in zip(read_as, truth))
    return f"accuracy on {len(read_as)} held-out digits: {100 * right / len(read_as):.1f} %"
