"""Builds and runs every sample of the documents, its text taken from the document itself.

    python3 run_samples.py --tierup BUILD/tierup --library BUILD --cxx c++ [DOCUMENT...]

Fenced blocks marked `cpp`, `c` and `sh` are samples; a block in any other language is text.
- A `cpp` block is a program, or statements that are put into one (its #include lines stay outside). It is built against
  include/ and libtierup.so alone, and run.
- A block marked `cpp file=PATH` or `c file=PATH` is a file that later blocks of the document use: written to PATH in the
  document's scratch folder, where everything runs.
- A block of any language marked `excerpt=PATH` stands in that file of tierup's, line by line but for indentation; `...` on a
  line of its own stands for whatever is between.
- `sh` blocks run line by line; each line must succeed. `make` is asked only whether it has the target (make -n).
The scratch folder has model.pt, model.pt2 and case.safetensors (a small classifier, [N, 1, 8, 8] to [N, 10]), and a folder
`models` with archives and their cases. SOURCE and BUILD name the source and build folders.
Ends with "N passed, N failed"; no sample at all is a failure.
"""

import argparse
import os
import pathlib
import re
import shlex
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
FENCE = re.compile(r"^( *)```(\w+)((?: \S+)*)\n(.*?)^ *```$", re.M | re.S)


class Sample:
    def __init__(self, document, language, options, text, line):
        self.document, self.language, self.text, self.line = document, language, text, line
        self.options = dict(option.split("=", 1) for option in options.split())

    def __str__(self):
        return f"{self.document}:{self.line} ({self.language})"


def samples_of(document):
    text = (ROOT / document).read_text()
    for match in FENCE.finditer(text):
        indent, language, options, body = match.groups()
        if language in ("cpp", "c", "sh") or "excerpt=" in options:
            body = "".join(line.removeprefix(indent) for line in body.splitlines(keepends=True))
            yield Sample(document, language, options, body, text.count("\n", 0, match.start()) + 1)


def missing_excerpt(text, path):
    """What of an excerpt the file does not have; empty: nothing."""
    lines = [line.strip() for line in (ROOT / path).read_text().splitlines()]
    at = 0
    for piece in re.split(r"^\s*\.\.\.\s*$", text, flags=re.M):
        wanted = [line.strip() for line in piece.strip().splitlines()]
        while wanted and lines[at : at + len(wanted)] != wanted:
            at += 1
            if at > len(lines):
                return f"{path} does not have, behind the piece before:\n{piece}"
        at += len(wanted)
    return ""


def program_of(text):
    """A whole program: as it is, or statements with their #include lines in front."""
    if re.search(r"\bint main\(", text):
        return text
    includes = [line for line in text.splitlines() if line.startswith("#include")]
    rest = [line for line in text.splitlines() if not line.startswith("#include")]
    return "\n".join([*includes, "int main() {", *rest, "}\n"])


def prepare(folder):
    shutil.copy(ROOT / "demo/digits.pt", folder / "model.pt")
    shutil.copy(ROOT / "demo/digits.safetensors", folder / "case.safetensors")
    models = folder / "models"
    models.mkdir()
    for path in sorted((ROOT / "tests/data/zoo").glob("mlp3.*")):
        shutil.copy(path, models)
    programs = folder / "bin"
    programs.mkdir()
    make = programs / "make"
    make.write_text(f'#!/bin/sh\nexec {shutil.which("make")} -s -n -C {ROOT} "$@" >/dev/null\n')
    make.chmod(0o755)


class Runner:
    def __init__(self, arguments):
        self.arguments = arguments
        self.build = pathlib.Path(arguments.library).resolve()

    def environment(self, folder):
        path = f"{folder / 'bin'}:{pathlib.Path(self.arguments.tierup).resolve().parent}:{os.environ['PATH']}"
        return {**os.environ, "PATH": path, "SOURCE": str(ROOT), "BUILD": str(self.build), "CXX": self.arguments.cxx}

    def command(self, folder, command):
        run = subprocess.run(["bash", "-ec", command], cwd=folder, env=self.environment(folder), capture_output=True,
                             text=True, timeout=300, check=False)
        return "" if run.returncode == 0 else f"$ {command}\nstatus {run.returncode}\n{run.stdout[-2000:]}{run.stderr[-4000:]}"

    def run(self, sample, folder):
        """What went wrong; empty: nothing."""
        if "excerpt" in sample.options:
            return missing_excerpt(sample.text, sample.options["excerpt"])
        if "file" in sample.options:
            path = folder / sample.options["file"]
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(sample.text)
            return ""
        if sample.language == "sh":
            for line in sample.text.replace("\\\n", " ").splitlines():
                failure = self.command(folder, line) if line.strip() else ""
                if failure:
                    return failure
            return ""
        source = folder / f"sample{sample.line}.cc"
        source.write_text(program_of(sample.text))
        cxx = [self.arguments.cxx, "-std=c++20", "-Wall", "-Wextra", "-Werror", f"-I{ROOT / 'include'}", str(source),
               "-o", f"./sample{sample.line}", f"-L{self.build}", f"-Wl,-rpath,{self.build}", "-ltierup", "-pthread"]
        return self.command(folder, shlex.join(cxx)) or self.command(folder, f"./sample{sample.line}")


def documents():
    paths = [ROOT / "README.md", *ROOT.glob("docs/*.md"), *ROOT.glob("docs/guides/*.md")]
    return sorted(str(path.relative_to(ROOT)) for path in paths)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--tierup", required=True)
    parser.add_argument("--library", required=True)
    parser.add_argument("--cxx", default="c++")
    parser.add_argument("documents", nargs="*")
    arguments = parser.parse_args()
    runner = Runner(arguments)
    passed = failed = 0
    for document in arguments.documents or documents():
        with tempfile.TemporaryDirectory() as scratch:
            folder = pathlib.Path(scratch)
            prepare(folder)
            for sample in samples_of(document):
                failure = runner.run(sample, folder)
                print(f"{sample}: {'FAILED' if failure else 'ok'}\n{failure}".rstrip(), flush=True)
                passed, failed = passed + (not failure), failed + bool(failure)
    print(f"{passed} passed, {failed} failed")
    return 1 if failed or not passed else 0


if __name__ == "__main__":
    sys.exit(main())
