#!/usr/bin/env bash
# Line coverage of the tests, by room (needs the coverage preset built: make coverage).
set -euo pipefail
cd "$(dirname "$0")/.."
ctest --test-dir build/coverage -j "$(nproc)" >/dev/null || echo "some tests failed"
find build/coverage -name '*.gcda' -path '*tierup_*' -print0 |
  xargs -0 gcov -n -r -s "$PWD" 2>/dev/null |
  python3 -c '
import re, sys, collections
rooms = collections.defaultdict(lambda: [0.0, 0])
for name, percent, lines in re.findall(r"File .(tierup/\S+).\nLines executed:([0-9.]+)% of (\d+)", sys.stdin.read()):
    room = rooms[name.split("/")[1]]
    room[0] += float(percent) / 100 * int(lines)
    room[1] += int(lines)
for name, (hit, total) in sorted(rooms.items()):
    print(f"{name:10} {100 * hit / total:5.1f} % of {total} lines")
'
