#!/usr/bin/env python3
"""Plants small faults, one at a time, and shows that a test finds each (`make faults`).

A copy of the tree (build/faults/tree) is changed as tests/planted_faults.ini says, built in its own build/release and tested.
Sources are united as `make` unites them, so that the compiler's cache has all of the tree as it is, and a fault costs one object.
First every test must pass as the tree is, and select some test at all; then, of each fault, the test must fail: a fault that is
not found, does not apply or does not compile fails the whole. Arguments name faults (patterns); --list lists them.

    [name]                 what is wrong, in words
    file  = PATH           of the tree
    from  = TEXT           stands there exactly once, and is replaced
    to    = TEXT
    build = TARGET...      of ninja; none for what needs no build
    test  = COMMAND        in the tree's root; the first word may be a program of the build folder (build/release)"""
import argparse
import configparser
import filecmp
import fnmatch
import os
import pathlib
import shlex
import shutil
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
TREE = ROOT / "build" / "faults" / "tree"
BUILD = TREE / "build" / "release"
JOBS = os.environ.get("JOBS", str(os.cpu_count()))


def read_faults(patterns):
    ini = configparser.ConfigParser(interpolation=None, delimiters=("=",), comment_prefixes=("#",), strict=True)
    ini.read(ROOT / "tests" / "planted_faults.ini", encoding="utf-8")
    names = [name for name in ini.sections() if not patterns or any(fnmatch.fnmatch(name, each) for each in patterns)]
    return {name: dict(ini[name]) for name in names}


def copy_tree():
    """What git tracks, as it stands in the working tree; files that did not change keep their times."""
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, check=True, capture_output=True, text=True).stdout
    wanted = {name for name in listed.split("\0") if name and (ROOT / name).is_file()}
    for path in [each for each in TREE.rglob("*") if each.is_file() and BUILD not in each.parents]:
        if str(path.relative_to(TREE)) not in wanted:
            path.unlink()
    for name in wanted:
        source, copy = ROOT / name, TREE / name
        if copy.is_file() and filecmp.cmp(source, copy, shallow=False):
            continue
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(source, copy)


def build(targets):
    if not targets:
        return True
    run = subprocess.run(["ninja", f"-j{JOBS}", "-C", BUILD, *targets], capture_output=True, text=True, check=False)
    if run.returncode != 0:
        print("\n".join(line for line in run.stdout.splitlines() if "error" in line)[:2000])
    return run.returncode == 0


def passes(command):
    words = shlex.split(command)
    program = next((path for path in (BUILD / words[0], *BUILD.glob(f"tests/*/{words[0]}")) if path.is_file()), words[0])
    try:
        run = subprocess.run([str(program), *words[1:]], cwd=TREE, capture_output=True, timeout=600, check=False)
    except subprocess.TimeoutExpired:
        return False
    # A filter that fits no test passes whatever is planted.
    return run.returncode == 0 and b"Running 0 tests" not in run.stdout


def stands_once(path, text):
    return path.is_file() and path.read_text(encoding="utf-8").count(text) == 1


def planted(fault):
    """The file and its text before; None if the fault does not apply."""
    path = TREE / fault["file"]
    if not stands_once(path, fault["from"]):
        return None
    text = path.read_text(encoding="utf-8")
    path.write_text(text.replace(fault["from"], fault["to"]), encoding="utf-8")
    return path, text


def outcome_of(fault):
    place = planted(fault)
    if place is None:
        return "does not apply"
    path, text = place
    try:
        if not build(fault.get("build", "").split()):
            return "does not compile"
        return "NOT FOUND" if passes(fault["test"]) else "found"
    finally:
        path.write_text(text, encoding="utf-8")


def prepare(faults):
    """Copies and builds; the tests that fail without any fault."""
    copy_tree()
    # An edited source must not make CMake unite all sources again: a fault is no new tree.
    subprocess.run(["cmake", "--preset", "release", "-DTIERUP_PCH=ON", "-DTIERUP_UNITY=ON", "-DCMAKE_SUPPRESS_REGENERATION=ON"],
                   cwd=TREE, check=True, stdout=subprocess.DEVNULL)
    targets = sorted({target for fault in faults.values() for target in fault.get("build", "").split()})
    if not build(targets):
        sys.exit("the tree itself does not build")
    return {test for test in {fault["test"] for fault in faults.values()} if not passes(test)}


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("names", nargs="*", help="patterns of names")
    parser.add_argument("--list", action="store_true", help="their names alone")
    parser.add_argument("--applies", action="store_true", help="only whether each stands where it says, once")
    options = parser.parse_args()
    faults = read_faults(options.names)
    if options.list:
        print("\n".join(faults))
        return 0
    if options.applies:
        astray = [name for name, fault in faults.items() if not stands_once(ROOT / fault["file"], fault["from"])]
        print("\n".join(f"planted fault does not apply: {name}" for name in astray) or f"planted faults: {len(faults)} apply")
        return 1 if astray else 0
    red = prepare(faults)
    failed = 0
    for name, fault in faults.items():
        start = time.monotonic()
        outcome = "its test fails without it" if fault["test"] in red else outcome_of(fault)
        failed += outcome != "found"
        print(f"{name}: {outcome} ({time.monotonic() - start:.0f} s)", flush=True)
    print(f"{len(faults)} faults planted, {len(faults) - failed} found")
    return 1 if failed or not faults else 0


if __name__ == "__main__":
    sys.exit(main())
