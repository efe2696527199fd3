#!/usr/bin/env python3
"""Writes the sources that compile several files of one target at once (see united.cmake).

Usage: united_sources.py PREFIX LARGEST ROOT FILE...
Writes PREFIX0.cc, PREFIX1.cc, ... and prints what to compile instead of the files: those, and the
files that stay by themselves.

A group is at most LARGEST bytes of source. Two files share one only if neither would read a name
otherwise than alone: no name that one keeps to itself (an unnamed namespace, `static`, a macro) is
declared, in a header or not, or used without a qualifier in the other, and no alias means two things. So nobody needs
to rename anything, and no call finds a function of another file. What every file of a family calls
the same (SHARED) is told apart by macros. Includes are relative to ROOT: another checkout's
compiler cache serves.
"""
import functools
import os
import pathlib
import re
import sys

WORD = r"[A-Za-z_]\w*"
KEYWORDS = {"auto", "const", "constexpr", "noexcept", "operator", "return"}
SHARED = ("kRows", "kDecomposed", "kBad")


def cleaned(path):
    """The text of a file without comments and strings, the ends of unnamed namespaces marked."""
    text = pathlib.Path(path).read_text(encoding="utf-8")
    text = re.sub(r"^\}  // namespace$", "end_unnamed", text, flags=re.M)
    text = re.sub(r'R"(\w*)\(.*?\)\1"', '""', text, flags=re.S)
    text = re.sub(r"//[^\n]*|/\*.*?\*/", "", text, flags=re.S)
    return re.sub(r'(?<!include )"(?:\\.|[^"\\\n])*"', '""', text)


def declared_name(line):
    """What a line declares outside of functions and classes, or None."""
    if not re.match(WORD, line) or re.match(r"namespace\b|using [\w:]+;", line):
        return None
    match = (re.match(rf"(?:template\s*<.*>\s*)?(?:struct|class|union|enum class|enum|using)\s+({WORD})", line)
             or re.match(rf"[\w:<>,&*\s\[\]()]*?[\s&*>]({WORD})\s*[(=\[{{;]", line))
    return match and match.group(1)


@functools.lru_cache(maxsize=None)
def header_names(path, root):
    """What a header of this project and those that it includes declare."""
    text = cleaned(path)
    names = {declared_name(line) for line in text.splitlines()} - {None}
    return names.union(*(header_names(header, root) for header in included(text, root) if header != path))


def included(text, root):
    paths = (pathlib.Path(root) / name for name in re.findall(r'^#\s*include "(.*\.h)"', text, flags=re.M))
    return [path for path in paths if path.exists()]


class Source:
    """What a file declares for itself, what its headers declare, and what it names unqualified."""

    def __init__(self, path, root):
        text = cleaned(path)
        self.path = path
        self.size = pathlib.Path(path).stat().st_size
        self.aliases = dict(re.findall(r"^\s*namespace (\w+) = ([\w:]+);", text, flags=re.M))
        self.aliases.update((name.rsplit("::", 1)[-1], name)
                            for name in re.findall(r"^using ([\w:]+);", text, flags=re.M))
        names = self.kept(text)
        self.own = names - KEYWORDS - set(SHARED)
        self.shared = [name for name in SHARED if name in names]
        self.from_headers = set().union(*(header_names(path, root) for path in included(text, root)))
        self.named = set(re.findall(rf"(?<![\w.:>])({WORD})", text))
        self.called = set(re.findall(rf"(?<![\w.:>])({WORD})\s*[(<{{]", text))

    @staticmethod
    def kept(text):
        """Names of macros and of what is declared in unnamed namespaces or as static."""
        names = set(re.findall(r"^#\s*define\s+(\w+)", text, flags=re.M))
        inside = False
        for line in text.splitlines():
            if re.match(r"namespace\s*\{", line) or line == "end_unnamed":
                inside = line != "end_unnamed"
            elif inside or line.startswith("static "):
                names.add(declared_name(line))
        return names - {None}

    def disturbs(self, other):
        """Whether a name that this file keeps to itself would be seen in the other."""
        constants = {name for name in self.own if name[0].isupper() or re.match("k[A-Z]", name)}
        return bool(self.own & other.own or constants & other.named or self.own & other.called or
                    self.own & set(other.aliases) or
                    self.own & (other.from_headers - self.from_headers) or
                    any(other.aliases.get(name, path) != path for name, path in self.aliases.items()))


def groups(sources, largest):
    """Each source in the first group that has room for it and holds nothing that it disturbs."""
    made = []
    for source in sources:
        for group in made:
            if sum(other.size for other in group) + source.size <= largest and not any(
                    source.disturbs(other) or other.disturbs(source) for other in group):
                group.append(source)
                break
        else:
            made.append([source])
    return made


def united(group, root):
    """The text of a source that holds the files of a group."""
    lines = []
    for number, source in enumerate(group):
        lines += [f"#define {name} {name}_{number}" for name in source.shared]
        lines.append(f'#include "{os.path.relpath(source.path, root)}"')
        lines += [f"#undef {name}" for name in source.shared]
    return "\n".join(lines) + "\n"


def main():
    prefix, largest, root, files = sys.argv[1], int(sys.argv[2]), sys.argv[3], sys.argv[4:]
    for number, group in enumerate(groups([Source(path, root) for path in files], largest)):
        if len(group) == 1:
            print(group[0].path)
            continue
        path, text = pathlib.Path(f"{prefix}{number}.cc"), united(group, root)
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")
        print(path)


if __name__ == "__main__":
    main()
