"""Fails on what a reader of the house would trip over: long files, promises for later, vague names."""

import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
LIMIT = 500
VAGUE = re.compile(r"(^|_)(utils?|helpers?|common|manager|impl|misc)(_|\.|$)")
PROMISE = re.compile(r"\b(TODO(?!\(#\d+\))|FIXME|XXX)\b")
OPERATOR_NAME = re.compile(r'"aten::')
# Who knows operators by what their rows say: roles, effects, shapes, costs. Names stand in rows and derivatives; in formulas over
# rows (autodiff, losses); where another's format names operators (front ends, autocast, cases).
NAMED = re.compile(
    r"tierup/(ops/(rows|derivatives)|autodiff|frontend|cases)/"
    r"|tierup/ops/table/((autocast|environment|index_arithmetic|tensor_literals)[.]cc|derivative[.]h)|tierup/api/model/losses[.]cc"
)
# A shape function says which sizes come out, and nothing else of an operator.
SHAPE_COMPARED = re.compile(r"[=!]= *&(\w+::)*shapes::|\bshape\(?\)? *[=!]= *&")


# Why something is in no region: each reason must be reached by a test.
REFUSALS = ["tierup/ops/regions/refusal.cc", "tierup/kernels/net/net_refusal.cc"]
REFUSAL = re.compile(r"\{(\w+)::(k\w+), \"(\w+)\",")


def untested_refusals():
    tests = [path.read_text() for path in [*ROOT.glob("tests/passes/*.tir"), *ROOT.glob("tierup/**/*_test.cc")]]
    for name in REFUSALS:
        for enum, reason, counter in REFUSAL.findall((ROOT / name).read_text()):
            words = f"refused:{counter}(=[1-9]|\")|{enum}::{reason}\\b"
            if reason != "kNone" and not any(re.search(words, test) for test in tests):
                yield f"{name}: no test reaches {enum}::{reason} (a .tir with refused:{counter}=1, or a unit test)"


def tracked():
    names = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True)
    for name in names.stdout.splitlines():
        path = ROOT / name
        if path.suffix in {".h", ".cc", ".py"} and path.exists() and "generated" not in path.parts:
            yield name, path.read_text().splitlines()


def problems():
    for name, lines in tracked():
        if len(lines) > LIMIT:
            yield f"{name}: {len(lines)} lines, the limit is {LIMIT}: split it along an idea"
        if VAGUE.search(pathlib.Path(name).name):
            yield f"{name}: a name that says nothing"
        for number, line in enumerate(lines, 1):
            if PROMISE.search(line) and not name.endswith("check_style.py"):
                yield f"{name}:{number}: a promise without an issue"
            is_test = re.search("_(test|fixture)[.]|^tests/", name)
            code = line.split("//")[0]
            if name.startswith("tierup/") and not is_test and not NAMED.match(name) and OPERATOR_NAME.search(code):
                yield f"{name}:{number}: operators are known by what their rows say, never by name"
            if SHAPE_COMPARED.search(code):
                yield f"{name}:{number}: a shape function tells sizes; what else is to be known is a fact of the row (ops/table/facts.h)"


if __name__ == "__main__":
    found = [*problems(), *untested_refusals()]
    print("\n".join(found) or "style: clean")
    sys.exit(bool(found))
