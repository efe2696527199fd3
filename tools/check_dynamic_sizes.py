"""Runs each exported program beside the same model as TorchScript, with several sizes of every dynamic dimension.

    tools/check_dynamic_sizes.py --tierup build/release/tierup tests/data/zoo

Inputs are those of the first case that the exported program takes (all its calls), repeated or cut to the wanted sizes;
`tierup compare` tells the first difference. Sizes that both models refuse (an index that no longer fits) or that the exporter's guards exclude count as refused. Standard library only.
"""

import argparse
import json
import math
import os
import pathlib
import re
import struct
import subprocess
import sys
import tempfile

WANTED = (1, 2, 3, 4, 7, 16, 33)
WIDTHS = {"F64": 8, "F32": 4, "F16": 2, "BF16": 2, "I64": 8, "I32": 4, "I16": 2, "I8": 1, "U8": 1, "BOOL": 1, "C64": 8}


def read_case(path):
    data = path.read_bytes()
    length = struct.unpack("<Q", data[:8])[0]
    header = json.loads(data[8:8 + length])
    metadata = header.pop("__metadata__", {})
    body = data[8 + length:]
    tensors = {}
    for name, entry in header.items():
        begin, end = entry["data_offsets"]
        tensors[name] = (entry["dtype"], entry["shape"], body[begin:end])
    return metadata, tensors


def write_case(path, metadata, tensors):
    header, body = {"__metadata__": metadata}, b""
    for name, (dtype, shape, data) in tensors.items():
        header[name] = {"dtype": dtype, "shape": shape, "data_offsets": [len(body), len(body) + len(data)]}
        body += data
    text = json.dumps(header).encode()
    path.write_bytes(struct.pack("<Q", len(text)) + text + body)


def resized(tensor, shape):
    """The tensor with other sizes: repeated where they are larger, cut where they are smaller."""
    dtype, old, data = tensor
    width = WIDTHS[dtype]
    for axis, size in enumerate(shape):
        if old[axis] == size:
            continue
        inner = math.prod(old[axis + 1:]) * width
        rows = [data[i:i + inner] for i in range(0, len(data), inner)] if inner else []
        count = old[axis]
        if count == 0:
            return None
        data = b"".join(rows[outer * count + i % count] for outer in range(math.prod(old[:axis])) for i in range(size))
        old = old[:axis] + [size] + old[axis + 1:]
    return dtype, list(old), data


def leaf_names(tree):
    """The tensors' names in the order of the inputs; None for what is no tensor (fixed at export)."""
    if isinstance(tree, dict):
        if "t" in tree:
            return [tree["t"]]
        if "tuple" not in tree and "dict" not in tree:
            return [None]
        tree = tree.get("tuple", [pair[1] for pair in tree.get("dict", [])])
    return [name for item in tree for name in leaf_names(item)] if isinstance(tree, list) else [None]


def case_of(exported):
    """The first case that the exported program takes: metadata, tensors, and the leaves of each call."""
    for path in sorted(exported.parent.glob(exported.stem + ".case*.safetensors")):
        metadata, tensors = read_case(path)
        if exported.name in json.loads(metadata.get("archives", json.dumps([exported.name]))):
            calls = json.loads(metadata["calls"]) if "calls" in metadata else [{"inputs": json.loads(metadata["inputs"])}]
            return metadata, tensors, [leaf_names(call["inputs"]) for call in calls]
    raise SystemExit(f"{exported}: no case")


class Model:
    def __init__(self, tierup, exported, wanted):
        self.wanted = wanted
        self.exported = exported
        self.twin = exported.with_suffix(".pt")
        text = subprocess.run([tierup, "inspect", str(exported), "--json"], capture_output=True, text=True, check=True)
        description = json.loads(text.stdout)
        self.dims = []
        for line in description["inputs"]:
            found = re.match(r"[^:]*: \w+\[(.*)\]", line)
            self.dims.append([part.strip() for part in found[1].split(",")] if found and found[1] else [])
        self.ranges = {}
        for line in description["ranges"]:
            found = re.match(r"(s\d+) in \[(\d+), (\w+)\]", line)
            if found:
                high = 10**9 if found[3] == "unbounded" else int(found[3])
                self.ranges[found[1]] = (int(found[2]), high)
        self.symbols = sorted({s for dims in self.dims for dim in dims for s in re.findall(r"s\d+", dim)})

    def sizes(self):
        """For each symbol in turn every wanted size, the others as in the case; then all at once."""
        for symbol in self.symbols:
            low, high = self.ranges.get(symbol, (0, 10**9))
            for size in self.wanted:
                if low <= size <= high:
                    yield {symbol: size}
        if len(self.symbols) > 1:
            for size in self.wanted[1:4]:
                if all(low <= size <= high for low, high in self.ranges.values()):
                    yield {symbol: size for symbol in self.symbols}

    def resized_call(self, tensors, names, chosen):
        pairs = [(name, dims) for name, dims in zip(names, self.dims) if name is not None]
        known = {dim: tensors[name][1][axis]
                 for name, dims in pairs for axis, dim in enumerate(dims) if dim in self.symbols}
        known.update(chosen)
        changed = {}
        for name, dims in pairs:
            shape = [int(eval(dim, {"__builtins__": {}}, known)) if re.search("[a-z]", dim) else int(dim) for dim in dims]
            changed[name] = resized(tensors[name], shape) if len(shape) == len(tensors[name][1]) else None
        return changed

    def case_with(self, tensors, calls, chosen):
        changed = {}
        for names in calls:
            changed.update(self.resized_call(tensors, names, chosen))
        return None if None in changed.values() else changed


def check(tierup, model, folder, environment):
    metadata, tensors, calls = case_of(model.exported)
    agreed, refused, problems = 0, 0, []
    if any(len(names) != len(model.dims) for names in calls):
        return 0, 0, [f"{model.exported.name}: the calls of its case have {[len(names) for names in calls]} inputs, "
                      f"the program has {len(model.dims)}"]
    metadata.pop("outputs", None)
    if "calls" in metadata:
        bare = [{key: value for key, value in call.items() if key != "outputs"} for call in json.loads(metadata["calls"])]
        metadata["calls"] = json.dumps(bare)
    for chosen in model.sizes():
        changed = model.case_with(tensors, calls, chosen)
        if changed is None:
            continue
        path = pathlib.Path(folder) / "sizes.safetensors"
        write_case(path, metadata, changed)
        result = subprocess.run([tierup, "compare", str(model.twin), str(model.exported), "--inputs", str(path)],
                                capture_output=True, text=True, env=environment)
        if result.returncode == 0:
            agreed += 1
            continue
        runs = [subprocess.run([tierup, "run", str(one), "--inputs", str(path)], capture_output=True, text=True, env=environment)
                for one in (model.twin, model.exported)]
        outside = runs[1].returncode == 3 and "guard failed" in runs[1].stderr
        if outside or all(run.returncode == 3 for run in runs):
            refused += 1
        else:
            problems.append(f"{model.exported.name} {chosen}: {(result.stdout + result.stderr).strip()[:600]}")
    return agreed, refused, problems


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tierup", required=True)
    parser.add_argument("--tiering", default="compile=off")
    parser.add_argument("--sizes", type=int, nargs="+", default=WANTED)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("models", nargs="*")
    arguments = parser.parse_args()
    totals, failures = [0, 0, 0], []
    with tempfile.TemporaryDirectory() as folder:
        for exported in sorted(arguments.folder.glob("*.pt2")):
            if arguments.models and exported.stem not in arguments.models:
                continue
            if not exported.with_suffix(".pt").exists():
                continue
            model = Model(arguments.tierup, exported, arguments.sizes)
            if not model.symbols:
                continue
            agreed, refused, problems = check(arguments.tierup, model, folder, {**os.environ, "TIERUP_TIERING": arguments.tiering})
            totals = [a + b for a, b in zip(totals, (1, agreed, refused))]
            failures += problems
            for problem in problems:
                print(problem, flush=True)
    print(f"{totals[0]} models, {totals[1]} sizes agree, {totals[2]} refused, {len(failures)} problems")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
