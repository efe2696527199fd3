#!/usr/bin/env python3
"""Fails if a derivative names an operator that the build does not have.

Names stand in the sources as literals and are looked up when a formula first runs; this finds the
ones that no row has before a user does. Usage: check_derivatives.py [TIERUP]
"""
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
LITERAL = re.compile(r'"((?:aten|prim|tierup)::[A-Za-z0-9_.]+)"(?!\s*[a-z#"])')


def joined(text):
    """The source with what macros do to names done: "aten::" row "_backward" and #name."""
    rows = []
    for macro, names in (("TIERUP_PAD", ["{0}", "{0}_backward"]),
                         ("TIERUP_NEAREST", ["{0}%dd_backward" % d for d in (1, 2, 3)]),
                         ("TIERUP_ALIGNED", ["{1}_backward"]),
                         ("TIERUP_RESAMPLE_BACKWARD", ["{1}"])):
        for call in re.findall(r"^" + macro + r"\(([^)]*)", text, re.M):
            arguments = [a.strip().strip('"') for a in call.split(",")]
            rows += ["aten::" + name.format(*arguments) for name in names]
    return rows


def main():
    tierup = sys.argv[1] if len(sys.argv) > 1 else str(ROOT / "build/release/tierup")
    listed = subprocess.run([tierup, "ops"], check=True, capture_output=True, text=True).stdout
    known = {line.split("(")[0] for line in listed.splitlines()}
    status = 0
    for path in sorted((ROOT / "tierup/ops/derivatives").glob("*.cc")):
        text = path.read_text()
        for name in sorted(set(LITERAL.findall(text) + joined(text))):
            if name not in known:
                print(f"{path.relative_to(ROOT)}: {name} is no operator of this build")
                status = 1
    return status


sys.exit(main())
