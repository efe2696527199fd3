"""Gates on the wheel that others install: sizes, licences, one libgomp under its own name, the time of an import.

    python3 tools/check_wheel.py WHEEL PYTHON     (PYTHON: of an environment where it is installed)
"""

import os
import resource
import subprocess
import sys
import zipfile

MAX_ZIPPED = 18e6
MAX_UNPACKED = 55e6
MAX_IMPORT_MS = 20
RUNS = 9


def cpu_ms(python, code):
    """CPU time of a process, the least of several: other work on the machine does not count."""

    def once():
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run([python, "-I", "-c", code], check=True)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        return 1e3 * (after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)

    return min(once() for _ in range(RUNS))


def problems(wheel, python):
    zipped = os.path.getsize(wheel)
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
        unpacked = sum(item.file_size for item in archive.infolist())
    print(f"zipped {zipped / 1e6:.1f} MB, unpacked {unpacked / 1e6:.1f} MB")
    if zipped > MAX_ZIPPED or unpacked > MAX_UNPACKED:
        yield f"the wheel is above {MAX_ZIPPED / 1e6:.0f} MB zipped or {MAX_UNPACKED / 1e6:.0f} MB unpacked"
    if [name for name in names if "gomp" in name and ".so" in name] != ["tierup/lib/libgomp.so.1"]:
        yield "libgomp must be there once, under its own name"
    for library in {name.split("/")[1].split("-")[0] for name in names if name.startswith("tierup.libs/")}:
        stem = library.removeprefix("lib").lower()
        if not any(name.startswith("tierup/licenses/") and stem in name.lower() for name in names):
            yield f"no licence of {library}"
    took = cpu_ms(python, "import tierup") - cpu_ms(python, "pass")
    print(f"import: {took:.1f} ms of CPU time over a bare interpreter")
    if took > MAX_IMPORT_MS:
        yield f"an import takes {took:.1f} ms, the limit is {MAX_IMPORT_MS}"


if __name__ == "__main__":
    found = list(problems(*sys.argv[1:]))
    print("\n".join(found) or "wheel: fine")
    sys.exit(bool(found))
