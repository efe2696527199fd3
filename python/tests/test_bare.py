"""The package without NumPy and PyTorch: load, call, results, errors."""

import array
import os
import pathlib
import re
import shutil
import subprocess
import sys

import pytest
from conftest import DIGITS

import tierup
from tierup import _digits


def pixels(count):
    values = array.array("f", [0.25] * (64 * count))
    return memoryview(values).cast("B").cast("f", [count, 1, 8, 8])


def test_import_brings_in_neither_numpy_nor_torch():
    code = "import sys, tierup; sys.exit(bool({'numpy', 'torch', 'asyncio'} & set(sys.modules)))"
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0


@pytest.mark.parametrize("source", ["path", "text", "bytes", "file", "reader"])
def test_models_load_from(source):
    data = DIGITS.read_bytes()
    given = {
        "path": DIGITS,
        "text": str(DIGITS),
        "bytes": data,
        "file": open(DIGITS, "rb"),
        "reader": (len(data), lambda offset, count: data[offset : offset + count]),
    }[source]
    assert tierup.load(given)(pixels(2)).shape == (2, 10)


def test_answers_are_those_recorded_from_pytorch(digits):
    folder = _digits.folder()
    shape, values = _digits.read_tensor(folder / "digits.safetensors", "in.0")
    (count, classes), expected = _digits.read_tensor(folder / "digits.safetensors", "out.0")
    scores = digits(memoryview(values).cast("B").cast("f", shape))
    assert scores.shape == (count, classes)
    flat = [value for row in scores.tolist() for value in row]
    assert max(abs(a - b) for a, b in zip(flat, expected)) < 1e-3


def test_results_are_carriers_that_speak_dlpack_and_buffers(digits):
    scores = digits(images=pixels(3))
    assert isinstance(scores, tierup.Tensor)
    assert (scores.shape, scores.strides, scores.dtype, len(scores)) == ((3, 10), (10, 1), "float32", 3)
    view = memoryview(scores)
    assert (view.shape, view.format) == ((3, 10), "f")
    assert view.tolist() == scores.tolist()
    again = tierup.tensor(scores)
    assert again.tolist() == scores.tolist()
    assert scores.__dlpack_device__() == (1, 0)


class Speaker:
    """An array type that knows DLPack and nothing else."""

    def __init__(self, tensor):
        self.tensor = tensor

    def __dlpack__(self, **options):
        return self.tensor.__dlpack__(**options)

    def __dlpack_device__(self):
        return self.tensor.__dlpack_device__()


class OldSpeaker(Speaker):
    """One from before DLPack 1.0, which takes no arguments."""

    def __dlpack__(self):
        return self.tensor.__dlpack__()


@pytest.mark.parametrize("kind", [Speaker, OldSpeaker])
def test_any_type_that_speaks_dlpack_is_taken(digits, kind):
    images = tierup.tensor(pixels(2))
    assert digits(kind(images)).tolist() == digits(images).tolist()


def test_memory_of_arguments_is_shared_not_copied():
    values = array.array("f", [1, 2, 3])
    tensor = tierup.tensor(values)
    values[1] = 7
    assert tensor.tolist() == [1, 7, 3]


def test_wrong_arguments_are_named(digits):
    with pytest.raises(tierup.InvalidArgument, match="unknown keyword argument 'foo'"):
        digits(foo=1)
    with pytest.raises(TypeError, match=r"argument 1\['a'\]\[0\]: no model takes a value of the type 'object'"):
        digits({"a": [object()]})
    with pytest.raises(ValueError, match="argument 'images'.*64 bits"):
        digits(images=1 << 70)


def test_exceptions_of_the_model_are_the_builtin_and_carry_its_lines(digits):
    with pytest.raises(ValueError, match=r"images must be \[N, 1, 8, 8\]") as raised:
        digits(array.array("f", [1.0]))
    error = raised.value
    assert isinstance(error, tierup.ModelError)
    assert error.code == "model_exception"
    assert error.python_type.endswith("ValueError")
    assert "raise ValueError" in error.context[0]
    if sys.version_info >= (3, 11):
        assert error.__notes__ == list(error.context)


def test_a_closed_model_says_so():
    with tierup.load(DIGITS) as model:
        model(pixels(1))
    with pytest.raises(tierup.InvalidArgument, match="closed"):
        model(pixels(1))
    assert "closed" in repr(model)


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("/lib/libm.so.6: version `GLIBC_2.36' not found (required by libtierup.so.0)", "needs glibc 2.36 or newer"),
        ("/x/_core.abi3.so: wrong ELF class: ELFCLASS32", "made for another architecture"),
        ("cannot import name '_core' from 'tierup'", "extension is not there"),
        ("No module named 'nanobind_backend'", "needs the package nanobind-backend"),
    ],
)
def test_an_import_that_fails_says_why_in_one_sentence(text, sentence):
    from tierup._import_error import reason

    assert sentence in reason(text)


def of_another_machine(extension):
    """AArch64's, or x86-64's where that is this one."""
    extension[18:20] = (62 if extension[18:20] == b"\xb7\0" else 183).to_bytes(2, "little")


def of_a_newer_glibc(extension):
    """Its first version of the C library, by one that none has yet: the name, and its hash where it is asked for."""

    def hash_of(name):
        value = 0
        for byte in name:
            value = (value << 4) + byte
            value = (value ^ (value & 0xF0000000) >> 24) & 0x0FFFFFFF
        return value.to_bytes(4, "little")

    old = re.search(rb"\0(GLIBC_2[.0-9]+)\0", extension)[1]
    new = b"GLIBC_9" + old[7:]
    assert hash_of(old) in extension
    extension[:] = extension.replace(b"\0" + old + b"\0", b"\0" + new + b"\0").replace(hash_of(old), hash_of(new))


def cut_short(extension):
    del extension[25:]


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (of_another_machine, "was made for another architecture than"),
        (of_a_newer_glibc, "needs glibc 9"),
        (cut_short, "tierup"),
    ],
)
def test_an_extension_that_cannot_be_loaded_here_is_told_at_import(tmp_path, change, sentence):
    package = pathlib.Path(tierup.__file__).parent
    for folder in (package, package.with_name("tierup.libs")):  # What auditwheel put beside it.
        if folder.exists():
            shutil.copytree(folder, tmp_path / folder.name)
    (file,) = (tmp_path / "tierup").glob("_core*.so")
    extension = bytearray(file.read_bytes())
    change(extension)
    file.write_bytes(extension)
    code = f"import sys; sys.path.insert(0, {str(tmp_path)!r}); import tierup"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=tmp_path)
    last = run.stderr.strip().splitlines()[-1]
    assert run.returncode == 1 and last.startswith("ImportError: ") and sentence in last, run.stderr


def test_the_configuration_says_what_models_run_on():
    config = tierup.config
    assert config.version == tierup.__version__ and config.threads >= 1
    assert config.instruction_set in ("sse42", "avx2", "avx512", "neon")
    assert "core" in config.threads_reason and config.memory["live_bytes"] >= 0
    assert config.instruction_set in repr(config)
    code = "import tierup; print(tierup.config.instruction_set)"
    environment = {**os.environ, "TIERUP_INSTRUCTION_SET": "sse42"}
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=environment)
    assert run.stdout.strip() in ("sse42", "neon"), run.stderr
    with pytest.raises(AttributeError):
        config.threads = 3
