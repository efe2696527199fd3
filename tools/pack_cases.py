"""Copies the part of the conformance material that the project's own tests run: the tiny zoo, its training modules, some
operator cases, and of each operator the smallest gradient case (of second order, if there is one), unless it is large.

    python3 tools/pack_cases.py CONFORMANCE_DATA tests/data

Needs only the standard library. Of each operator the
cases are thinned to at most PER_DTYPE of each dtype, the smallest first, gradients dropped.
"""

import json
import pathlib
import shutil
import struct
import sys

PER_DTYPE = 3
LARGEST_GRADIENT_CASE = 2048  # Bytes.


def read(path):
    data = path.read_bytes()
    (length,) = struct.unpack("<Q", data[:8])
    header = json.loads(data[8 : 8 + length])
    return header.pop("__metadata__", {}), header, data[8 + length :]


def write(path, metadata, tensors, body):
    header, chunks, offset = {"__metadata__": metadata}, [], 0
    for name, entry in tensors.items():
        begin, end = entry["data_offsets"]
        header[name] = {**entry, "data_offsets": [offset, offset + end - begin]}
        chunks.append(body[begin:end])
        offset += end - begin
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    path.write_bytes(struct.pack("<Q", len(text)) + text + b"".join(chunks))


def sizes_of_cases(tensors):
    sizes = {}
    for name, entry in tensors.items():
        case = int(name.split(".")[0])
        begin, end = entry["data_offsets"]
        sizes[case] = sizes.get(case, 0) + end - begin
    return sizes


def thin_gradients(path, target):
    metadata, tensors, body = read(path)
    sizes = sizes_of_cases(tensors)
    cases = sorted(json.loads(metadata["cases"]), key=lambda c: ("double" not in c, sizes.get(c["id"], 0), c["id"]))
    if sizes.get(cases[0]["id"], 0) > LARGEST_GRADIENT_CASE:
        return 0
    chosen = {n: e for n, e in tensors.items() if int(n.split(".")[0]) == cases[0]["id"]}
    write(target, {**metadata, "cases": json.dumps(cases[:1], separators=(",", ":"))}, chosen, body)
    return 1


def thin(path, target):
    metadata, tensors, body = read(path)
    sizes = sizes_of_cases(tensors)
    kept, taken = [], {}
    for case in sorted(json.loads(metadata["cases"]), key=lambda c: (sizes.get(c["id"], 0), c["id"])):
        key = (case["dtype"], case["level"])
        if taken.get(key, 0) < PER_DTYPE:
            taken[key] = taken.get(key, 0) + 1
            case.pop("grads", None)
            kept.append(case)
    kept.sort(key=lambda c: c["id"])
    ids = {case["id"] for case in kept}
    chosen = {n: e for n, e in tensors.items() if int(n.split(".")[0]) in ids and ".grad." not in n}
    write(target, {**metadata, "cases": json.dumps(kept, separators=(",", ":"))}, chosen, body)
    return len(kept)


def main(source, target):
    for folder in ("ops", "zoo", "grads", "training"):
        shutil.rmtree(target / folder, ignore_errors=True)
        (target / folder).mkdir(parents=True)
    for path in sorted((source / "zoo").iterdir()):
        shutil.copy(path, target / ("training" if ".train." in path.name else "zoo") / path.name)
    count = sum(thin(path, target / "ops" / path.name) for path in sorted((source / "ops").glob("*.safetensors")))
    gradients = sum(thin_gradients(path, target / "grads" / path.name) for path in sorted((source / "grads").glob("*.safetensors")))
    for folder in ("ops", "grads"):
        index = json.loads((source / folder / "index.json").read_text())
        (target / folder / "index.json").write_text(json.dumps({"torch": index["torch"], "tolerances": index["tolerances"]}) + "\n")
    print(f"{count} operator cases, {gradients} gradient cases")


if __name__ == "__main__":
    main(pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2]))
