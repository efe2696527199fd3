"""Cases of the zoo through Python: the results are the command line's, to the bit, at tier 0.

The command is TIERUP_COMMAND, or that of the build folder.
"""

import json
import os
import pathlib
import struct
import subprocess

import pytest
from conftest import ROOT, ZOO

import tierup

COMMAND = pathlib.Path(os.environ.get("TIERUP_COMMAND", ROOT / "build" / "release" / "tierup"))
CODES = {"F32": "f", "F64": "d", "I64": "q", "I32": "i", "I16": "h", "I8": "b", "U8": "B", "BOOL": "?"}


class CaseFile:
    """A file of named tensors, and what its case says."""

    def __init__(self, path):
        data = pathlib.Path(path).read_bytes()
        (length,) = struct.unpack("<Q", data[:8])
        self.entries = json.loads(data[8 : 8 + length])
        self.case = self.entries.pop("__metadata__", {})
        self.data = data[8 + length :]

    def bytes_of(self, name):
        begin, end = self.entries[name]["data_offsets"]
        return self.data[begin:end]

    def tensor(self, name):
        entry = self.entries[name]
        view = memoryview(bytearray(self.bytes_of(name)))
        if 0 in entry["shape"]:
            raise NotImplementedError("a tensor without elements is no memoryview")
        return tierup.tensor(view.cast(CODES[entry["dtype"]], entry["shape"]))

    def value(self, tree):
        if isinstance(tree, list):
            return [self.value(item) for item in tree]
        if not isinstance(tree, dict):
            return tree
        ((kind, inner),) = tree.items()
        if kind == "t":
            return self.tensor(inner)
        if kind == "tuple":
            return tuple(self.value(item) for item in inner)
        if kind == "dict":
            return {self.value(key): self.value(item) for key, item in inner}
        raise NotImplementedError(kind)


def tensors_in(value):
    if isinstance(value, tierup.Tensor):
        yield value
    elif isinstance(value, (list, tuple)):
        for item in value:
            yield from tensors_in(item)
    elif isinstance(value, dict):
        for item in value.values():
            yield from tensors_in(item)


def bytes_of(tensor):
    if tensor.dtype == "bfloat16":  # Buffers have none: the upper halves of float32.
        wide = bytes(memoryview(tensor.to("float32")))
        return b"".join(wide[place : place + 2] for place in range(2, len(wide), 4))
    return bytes(memoryview(tensor.clone()))


def cases():
    for path in sorted(ZOO.glob("*.case*.safetensors")):
        case = CaseFile(path).case
        if "inputs" not in case or "error" in case:
            continue
        for archive in json.loads(case["archives"]):
            yield pytest.param(path, ZOO / archive, id=f"{path.stem}-{archive.rpartition('.')[2]}")


@pytest.mark.skipif(not COMMAND.exists(), reason="the command is not built")
@pytest.mark.parametrize(("path", "archive"), list(cases()))
def test_results_are_those_of_the_command_line(path, archive, tmp_path):
    options = ["--tiering", "compile=off", "--inputs", path, "--out", tmp_path / "out.safetensors"]
    subprocess.run([COMMAND, "run", archive, *options], check=True, capture_output=True)
    file, expected = CaseFile(path), CaseFile(tmp_path / "out.safetensors")
    model = tierup.load(archive, tiering="compile=off", outputs="tierup", warn=lambda text: None)
    results = list(tensors_in(model(*file.value(json.loads(file.case["inputs"])))))
    names = sorted(expected.entries, key=lambda name: int(name.rpartition(".")[2]))
    assert len(results) == len(names)
    for result, name in zip(results, names):
        pair = [2] if result.dtype.startswith("complex") else []
        assert [*result.shape, *pair] == expected.entries[name]["shape"]
        assert bytes_of(result) == expected.bytes_of(name), name
