#!/usr/bin/env python3
"""Whether the tests that docs/coverage.md and tests/README.md name exist and are run by `make test`.

Names stand in backquotes in the column "test" of a table, and in the last column of tables that have none:
  `Suite.name`, `.other` (of the same suite), `Suite.*`   a GoogleTest
  `models.zoo`                                            a test of CTest
  `peephole.tir` (`graph`, `other`)                       a text test, and graphs in it
  `some_test.cc`, `check_cli.sh`                          a file of tests
  programs `loops`, zoo `gru`, exported `tied_*`          data of that folder, all of which is run
  `make variants`                                         a target: marks what `make test` leaves out
Other words (options, operators) need no test of that name and are listed in WORDS; tables without the column "test" speak of
code as well, where whatever has no form of a test or a file is no name."""
import fnmatch
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
DOCUMENTS = ("docs/coverage.md", "tests/README.md")
# What a word before a name in backquotes says of it: where such a name is a file.
FOLDERS = {
    "programs": ("tests/torchscript/programs/{}.py",),
    "fixtures": ("tests/torchscript/fixtures/{}.pt",),
    "modules": ("tests/data/modules/{}.pt", "tests/data/modules/{}.pt2"),
    "zoo": ("tests/data/zoo/{}.pt", "tests/data/zoo/{}.pt2"),
    "exported": ("tests/data/exported/{}.pt2",),
}
# In test columns, and no tests: options, environment, what a test is about.
WORDS = {"verify_passes", "guards_fail=on", "check --rounds", "compile_failures", ".pt", ".pt2", ".trace.pt", "aten.view", "aten.slice",
         "prepare_graph", "right checksums", "tierup check", "bench", "compare", "explain"}


def gtests():
    """{Suite.name: file} of all tests in files that CMake builds."""
    found = {}
    pattern = re.compile(r"^TEST(?:_F|_P)?\(\s*(\w+),\s*(\w+)\)", re.M)
    for path in [*ROOT.glob("tierup/**/*_test.cc"), *ROOT.glob("tests/*/*.cc"), *ROOT.glob("plugins/**/*_test.cc")]:
        for suite, name in pattern.findall(path.read_text(encoding="utf-8")):
            found[f"{suite}.{name}"] = path
    return found


def is_built(path):
    """Rooms take all their files; tests/ names each."""
    if "tierup" in path.relative_to(ROOT).parts[:1]:
        return True
    return path.name in (path.parent / "CMakeLists.txt").read_text(encoding="utf-8")


def ctests():
    """The names of CTest's tests; what a loop fills in is a star."""
    text = "".join(path.read_text(encoding="utf-8") for path in
                   [*ROOT.glob("tests/**/CMakeLists.txt"), *ROOT.glob("cmake/*.cmake"), *ROOT.glob("plugins/**/CMakeLists.txt"),
                    ROOT / "CMakeLists.txt"])
    return {re.sub(r"\$\{\w+\}", "*", name) for name in re.findall(r"add_test\(NAME\s+(\S+)", text)}


def cells(document):
    """(line number, cell that names tests, whether all names in it are tests) of each row of a table."""
    column = is_strict = None
    for number, line in enumerate((ROOT / document).read_text(encoding="utf-8").splitlines(), 1):
        if not line.startswith("|"):
            column = None
            continue
        row = [cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]]
        if column is None:
            is_strict = "test" in row
            column = row.index("test") if is_strict else len(row) - 1
        elif column < len(row) and not set(row[column]) <= set("-: "):
            yield number, row[column], is_strict


class Names:
    """What there is, and whether a name in a cell is among it."""

    def __init__(self):
        self.gtests = gtests()
        self.ctests = ctests()
        self.suites = {name.split(".")[0] for name in self.gtests}
        self.tir = {path.name: path for path in ROOT.glob("tests/*/*.tir")}
        self.sources = {path.name for path in [*ROOT.glob("tierup/**/*.cc"), *ROOT.glob("tierup/**/*.h")]}

    def problem(self, name, before, state):
        """None if `name` is a test that is run; `before` is the text of the cell up to it."""
        if name in WORDS or name.startswith("make "):
            return None
        if name.startswith(".") and re.fullmatch(r"\.[\w*]+", name):
            if state.get("suite") is None:
                return f"{name} follows no suite"
            name = state["suite"] + name
        if re.fullmatch(r"[A-Z]\w*\*?(\.[\w*]+)?", name):
            return self.gtest_problem(name, state)
        if name.endswith(".tir"):
            return self.tir_problem(name, state)
        if "/" in name or re.search(r"\.(cc|sh|py|txt)$", name):
            return None if self.is_path(name) or (not state["is_strict"] and name in self.sources) else f"there is no file {name}"
        if re.fullmatch(r"[a-z]\w*\.[\w*]+", name):
            return None if any(fnmatch.fnmatch(known, name) or fnmatch.fnmatch(name, known) for known in self.ctests) \
                else f"CTest has no {name}"
        return self.data_problem(name, before, state) if state["is_strict"] else None

    def gtest_problem(self, name, state):
        pattern = name if "." in name else name + ".*"
        state["suite"], state["tir"] = pattern.split(".")[0], None
        matches = fnmatch.filter(self.gtests, pattern)
        if not matches:
            return f"there is no test {name}"
        left_out = [each for each in matches if not is_built(self.gtests[each])]
        return f"{left_out[0]} is in no CMakeLists.txt" if left_out and not state["target"] else None

    def tir_problem(self, name, state):
        pattern = re.sub(r"\{.*\}", "*", name).split("/")[-1]
        matches = fnmatch.filter(self.tir, pattern)
        if not matches:
            return f"there is no text test {name}"
        for part in re.findall(r"\{(.*)\}", name):
            for each in part.split(","):
                if f"{each}.tir" not in self.tir:
                    return f"there is no text test {each}.tir"
        state["tir"] = self.tir[matches[0]] if len(matches) == 1 else None
        return None

    def data_problem(self, name, before, state):
        if state.get("tir") is not None and f"@{name}(" in state["tir"].read_text(encoding="utf-8"):
            return None
        words = re.findall(r"\b(programs|fixtures|modules|zoo|exported|archive)\b", before)
        kind = words[-1] if words else "exported"
        if kind == "archive":
            return None if fnmatch.filter(self.gtests, f"*.{name}") else f"there is no test of archives {name}"
        patterns = list(FOLDERS[kind])
        if kind == "programs":  # Or a function of one of the programs.
            for path in (ROOT / "tests/torchscript/programs").glob("*.py"):
                if re.search(rf"^def {re.escape(name)}\(", path.read_text(encoding="utf-8"), re.M):
                    return None
        for pattern in patterns:
            if any(ROOT.glob(pattern.format(name))):
                return None
        return f"there is no {patterns[0].format(name)}"

    @staticmethod
    def is_path(name):
        return any((ROOT / base / name).exists() or any((ROOT / base).glob(name))
                   for base in ("", "tests", "tests/cli", "tests/torchscript", "tierup", "tierup/archive"))


def main():
    names = Names()
    problems, count = [], 0
    for document in DOCUMENTS:
        for number, cell, is_strict in cells(document):
            state = {"target": "`make " in cell, "suite": None, "tir": None, "is_strict": is_strict}
            for found in re.finditer(r"`([^`]+)`", cell):
                count += 1
                problem = names.problem(found[1], cell[:found.start()], state)
                if problem:
                    problems.append(f"{document}:{number}: {problem}")
    for problem in problems:
        print(problem)
    print(f"coverage: {count} names, " + ("all there" if not problems else f"{len(problems)} are not"))
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
