"""Fails when a room includes a room, or a third-party library, that it may not.

Rules: LAYERS (rooms and their sub-rooms), only `codegen` includes LLVM, only `kernels` includes oneDNN, the public headers
under include/tierup include nothing but each other and the standard library. The command stands on the public headers
alone, and on those headers of `cases` that include nothing of the rooms themselves.
"""

import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
OWNERS = {"llvm/": "codegen", "dnnl": "kernels", "oneapi/dnnl": "kernels"}
# A C interface that a room below api implements.
INTERFACES = {"tierup/plugin.h": "executor"}
# What the command sees of the rooms: recorded cases, which are no part of the public API.
COMMAND_ROOM = "cases"
INCLUDE = re.compile(r'^\s*#\s*include\s+(["<])([^">]+)[">]')


def allowed_rooms():
    allowed = {}
    for line in (ROOT / "LAYERS").read_text().splitlines():
        line = line.split("#")[0].rstrip()
        if not line or line.startswith(" "):
            continue
        room, _, below = line.partition(":")
        allowed[room] = {room, *below.split()}
        unknown = allowed[room] - allowed.keys()
        assert not unknown, f"LAYERS: {room} names {unknown}, which is not above it"
    return allowed


def allowed_sub_rooms():
    """Per room that has sub-rooms: what the files of each may include of the room."""
    allowed, room = {}, None
    for line in (ROOT / "LAYERS").read_text().splitlines():
        name, colon, below = line.split("#")[0].partition(":")
        if not colon:
            continue
        if not name.startswith(" "):
            room = name.strip()
            continue
        subs = allowed.setdefault(room, {})
        subs[name.strip()] = {name.strip(), *below.split()}
        unknown = subs[name.strip()] - subs.keys()
        assert not unknown, f"LAYERS: {room}/{name.strip()} names {unknown}, which is not above it"
    return allowed


def includes(path):
    for number, line in enumerate(path.read_text().splitlines(), 1):
        if match := INCLUDE.match(line):
            yield number, match.group(1), match.group(2)


def check_rooms(root, allowed):
    for path in sorted((root / "tierup").rglob("*.[hc]*")):
        room = path.relative_to(root / "tierup").parts[0]
        if room not in allowed:
            yield f"{path.relative_to(root)}: room {room} is not in LAYERS"
            continue
        for number, _, target in includes(path):
            where = f"{path.relative_to(root)}:{number}"
            parts = target.split("/")
            if parts[0] == "tierup" and len(parts) > 2 and parts[1] not in allowed[room]:
                yield f"{where}: {room} may not include {parts[1]}"
            if parts[0] == "tierup" and len(parts) == 2 and room not in ("api", COMMAND_ROOM, INTERFACES.get(target)):
                yield f"{where}: only api and {COMMAND_ROOM} include the public headers"
            for prefix, owner in OWNERS.items():
                if target.startswith(prefix) and room != owner:
                    yield f"{where}: only {owner} may include {target}"


def check_sub_rooms(root, allowed):
    for room, subs in allowed.items():
        for path in sorted((root / "tierup" / room).glob("*/*.[hcd]*")):
            sub = path.parent.name
            if sub not in subs:
                yield f"{path.relative_to(root)}: sub-room {room}/{sub} is not in LAYERS"
                continue
            if path.stem.endswith(("_test", "_fixture")):
                continue
            for number, _, target in includes(path):
                parts = target.split("/")
                if parts[:2] == ["tierup", room] and (len(parts) == 3 or parts[2] not in subs[sub]):
                    yield f"{path.relative_to(root)}:{number}: {room}/{sub} may not include {'/'.join(parts[2:])}"


def check_public(root):
    for path in sorted((root / "include" / "tierup").glob("*.h")):
        for number, quote, target in includes(path):
            if quote == '"' and not (root / "include" / target).exists():
                yield f"{path.relative_to(root)}:{number}: public headers include only public headers"


def check_command(root):
    """Files of cli/, and what they reach of the room that they may see."""
    pending = sorted((root / "cli").glob("*.[hc]*"))
    seen = set(pending)
    for path in pending:
        for number, _, target in includes(path):
            parts = target.split("/")
            if parts[0] != "tierup" or len(parts) == 2:
                continue
            if parts[1] != COMMAND_ROOM:
                yield f"{path.relative_to(root)}:{number}: the command may not reach {target}"
            elif (header := root / target) not in seen and header.exists():
                seen.add(header)
                pending.append(header)


def check(root):
    allowed = allowed_rooms()
    return [*check_rooms(root, allowed), *check_sub_rooms(root, allowed_sub_rooms()), *check_public(root),
            *check_command(root)]


if __name__ == "__main__":
    problems = check(pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT)
    print("\n".join(problems) or "layers: clean")
    sys.exit(bool(problems))
