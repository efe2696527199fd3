"""Writes the expected lines of programs/*.py, as PyTorch computes them.

Needs a Python with torch; nothing else in the repository does. Run by hand after adding a case:
    python tests/torchscript/record_expected.py tests/torchscript/programs/NAME.py...
Lines "#~" state where tierup means to differ, and are kept.
"""

import io
import multiprocessing
import sys
import warnings
import zipfile

import torch

warnings.filterwarnings("ignore")
multiprocessing.set_start_method("fork")  # One import of torch for all cases.


def read_program(path):
    """The code without cases, and the cases as [expression, kept line or None]."""
    code, cases = [], []
    with open(path, encoding="utf8") as file:
        for line in file.read().split("\n"):
            if line.startswith("#? "):
                cases.append([line[3:], None])
            elif line.startswith("#~"):
                cases[-1][1] = line
            elif not line.startswith(("#=", "#!")):
                code.append(line)
    return "\n".join(code).rstrip("\n") + "\n", cases


def archive_with(code):
    """An archive of one module class Main, whose code file is `code`."""
    class Main(torch.nn.Module):
        def forward(self):
            return 0

    source = io.BytesIO()
    torch.jit.save(torch.jit.script(Main()), source)
    result = io.BytesIO()
    with zipfile.ZipFile(source) as old, zipfile.ZipFile(result, "w") as new:
        for name in old.namelist():
            data = old.read(name)
            if name.endswith(".debug_pkl"):
                continue
            if name.endswith("code/__torch__.py"):
                data = code.encode()
            new.writestr(name, data)
    result.seek(0)
    return result


def evaluate(code, expression, queue):
    main = (
        "class Main(Module):\n  __parameters__ = []\n  __buffers__ = []\n  training : bool\n"
        "  _is_full_backward_hook : Optional[bool]\n"
        f"  def forward(self) -> str:\n    return str({expression})\n"
    )
    try:
        module = torch.jit.load(archive_with(code + main))
        queue.put(("#=", module.forward()))
    except Exception as error:  # The text is what is wanted, whatever it is.
        lines = [line for line in str(error).strip().split("\n") if line.strip()]
        queue.put(("#!", lines[-1] if "Traceback" in str(error) else lines[0]))


def expected_line(code, case):
    queue = multiprocessing.Queue()
    process = multiprocessing.Process(target=evaluate, args=(code, case, queue))
    process.start()
    process.join(20)
    if process.is_alive() or queue.empty():
        process.kill()
        return "#! PyTorch itself crashes or hangs"
    mark, text = queue.get()
    if mark == "#!":
        text = text.removeprefix("RuntimeError: ").rstrip(":.")
    text = text.replace("\\", "\\\\").replace("\n", "\\n")
    return f"{mark} {text}".rstrip() if text else mark


def main():
    for path in sys.argv[1:]:
        code, cases = read_program(path)
        lines = []
        for expression, kept in cases:
            lines += [f"#? {expression}", kept or expected_line(code, expression)]
        with open(path, "w", encoding="utf8") as file:
            file.write(code + "\n" + "\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
