#!/usr/bin/env python3
"""Line coverage by room, and the files with the most lines that nothing ran.

Reads gcov's JSON (one object per line, as `gcov -t --json-format` prints it) from standard input, in
the repository's root. A line counts once, however many objects hold it: headers are part of many.
"""
import collections
import json
import os
import sys

SHOWN_FILES = 20


def lines_of(stream):
    """Which lines of each of our files hold code, and whether any object ran them."""
    lines = collections.defaultdict(dict)
    for text in stream:
        unit = json.loads(text)
        for file in unit["files"]:
            # As the compiler was told it, from where it ran.
            name = os.path.relpath(os.path.join(unit["current_working_directory"], file["file"]))
            if name.startswith("tierup/"):
                known = lines[name]
                for line in file["lines"]:
                    number = line["line_number"]
                    known[number] = known.get(number, False) or line["count"] > 0
    return lines


def report(lines):
    rooms = collections.defaultdict(lambda: [0, 0])
    for name, known in lines.items():
        for room in (name.split("/")[1], "all"):
            rooms[room][0] += sum(known.values())
            rooms[room][1] += len(known)
    for name, (hit, total) in sorted(rooms.items(), key=lambda room: (room[0] == "all", room[0])):
        yield f"{name:10} {100 * hit / total:5.1f} % of {total} lines"
    missed = {name: len(known) - sum(known.values()) for name, known in lines.items()}
    for name in sorted(missed, key=lambda name: -missed[name])[:SHOWN_FILES]:
        if missed[name]:
            yield f"{missed[name]:6} of {len(lines[name]):5} lines not run: {name}"


if __name__ == "__main__":
    print("\n".join(report(lines_of(sys.stdin))))
