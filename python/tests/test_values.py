"""Arguments and results of every kind, through the model `nested` of tools/make_python_models.py."""

import array
import collections
import enum
import gc
import sys
import time
from concurrent.futures import ThreadPoolExecutor

import pytest
from conftest import ROOT, needs_numpy, needs_torch

import tierup

DATA = ROOT / "python" / "tests" / "data"


@pytest.fixture(scope="module")
def nested():
    return tierup.load(DATA / "nested.pt")


def floats(*values):
    return array.array("f", values)


def test_nested_arguments_keywords_and_defaults(nested):
    result, rates, numbers = nested(floats(1, 2))
    assert (result.tolist(), rates["rate"].tolist(), numbers) == ([3, 5], [0.5], [3, 0])
    result, rates, numbers = nested(
        floats(1, 2), {"a": [floats(10, 20), floats(1, 1)], "b": []}, rate=2, flag=True
    )
    assert (result.tolist(), rates["rate"].tolist(), numbers) == ([14, 26], [2], [3, 1])


def test_named_tuples_texts_and_complex_numbers(nested):
    pair = nested.run("pair", floats(1, 2))
    assert isinstance(pair, tuple)
    assert (pair.first.tolist(), pair.count, type(pair)._fields) == ([2, 3], 2, ("first", "count"))
    assert type(nested.run("pair", floats(1))) is type(pair)
    assert nested.run("number", 1 + 2j) == 2 + 4j


def test_prints_go_where_the_caller_says(nested, capsys):
    assert nested.run("shout", "hé") == "hé!"
    assert capsys.readouterr().out == "hé\n"
    heard = []
    assert tierup.load(DATA / "nested.pt", print=heard.append).run("shout", "a") == "a!"
    assert heard == ["a\n"]


def test_calls_side_by_side_raise_each_its_own_callbacks_exception():
    def refuse(text):
        time.sleep(0.0005)  # Others raise meanwhile.
        raise LookupError(text)

    def call(number):
        try:
            model.run("shout", str(number))
        except Exception as error:
            return type(error) is LookupError and str(error) == f"{number}\n"

    model = tierup.load(DATA / "nested.pt", print=refuse)
    with ThreadPoolExecutor(8) as pool:
        assert all(pool.map(call, range(400)))


def test_an_exception_in_a_callback_becomes_the_calls(nested):
    def refuse(text):
        raise LookupError(f"refused {text!r}")

    model = tierup.load(DATA / "nested.pt", print=refuse)
    for _ in range(50):  # Also once calls are short enough to keep the GIL.
        with pytest.raises(LookupError, match="refused 'a"):
            model.run("shout", "a")
    assert model.run("pair", floats(1)).count == 1


def test_arguments_are_shared_with_the_caller(nested):
    values = floats(1, 2)
    result = nested.run("write", values)
    assert list(values) == [2, 3]
    values[0] = 9
    assert result.tolist() == [9, 3]


def test_a_result_may_outlive_the_argument_whose_memory_it_has(nested):
    result = nested.run("identity", floats(1, 2, 3))
    gc.collect()
    assert result.tolist() == [1, 2, 3]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("text",), "argument 'x'"),
        ((floats(1), {"a": 1}), "argument 'extra'"),
        ((floats(1), None, False, "fast"), "argument 'rate'"),
    ],
)
def test_wrong_types_name_the_argument(nested, arguments, message):
    with pytest.raises((TypeError, ValueError), match=message):
        nested(*arguments)


def test_wrong_numbers_of_arguments(nested):
    with pytest.raises(ValueError, match="missing value for argument 'x'"):
        nested()
    with pytest.raises((TypeError, ValueError)):
        nested(floats(1), None, False, 0.5, 1)
    with pytest.raises(ValueError, match="both by position and by name"):
        nested(floats(1), x=floats(1))
    with pytest.raises(tierup.NotFound, match="no method 'missing'"):
        nested.run("missing")


def test_containers_that_hold_themselves_are_refused(nested):
    endless = []
    endless.append(endless)
    with pytest.raises(ValueError, match="too deep"):
        nested(endless)


def test_state_is_read_written_and_replaced():
    model = tierup.load(DATA / "nested.pt")
    assert set(model.state_dict()) == {"scale", "offset"}
    assert (list(model.parameters()), list(model.buffers())) == (["scale"], ["offset"])
    model.load_state_dict({"offset": floats(7)}, strict=False)
    assert model(floats(1))[0].tolist() == [9]
    with pytest.raises(tierup.InvalidArgument, match="scale"):
        model.load_state_dict({"offset": floats(7)})
    assert model.attributes["factor"] == 3
    model.attributes["factor"] = 4
    assert model(floats(1))[2] == [4, 0]
    assert "offset" in model.attributes and "nothing" not in model.attributes
    with pytest.raises(KeyError):
        model.attributes["nothing"]


def test_missing_and_broken_files():
    with pytest.raises(FileNotFoundError):
        tierup.load(DATA / "absent.pt")
    with pytest.raises(tierup.CorruptArchive):
        tierup.load(b"PK\x03\x04 and then nothing")
    with pytest.raises(TypeError, match="not from 'int'"):
        tierup.load(3)
    with pytest.raises(TypeError, match="unexpected keyword argument 'thread'"):
        tierup.load(DATA / "nested.pt", thread=1)
    with pytest.raises(ValueError, match="outputs"):
        tierup.load(DATA / "nested.pt", outputs="jax")
    with open(__file__, encoding="utf-8") as text, pytest.raises(TypeError, match="the mode 'rb'"):
        tierup.load(text)


@pytest.mark.parametrize("option", ["threads", "seed", "tiering", "print", "warn"])
def test_options_of_a_wrong_type_are_named(option):
    with pytest.raises(tierup.ArgumentTypeError, match=f"option '{option}'"):
        tierup.load(DATA / "nested.pt", **{option: [1]})
    if option == "threads":
        with pytest.raises(tierup.ArgumentTypeError, match="option 'max_frames': 'two'"):
            tierup.Executor(DATA / "nested.pt", max_frames="two")


def test_what_a_reader_raises_is_the_loads_exception():
    def broken(offset, count):
        raise LookupError(f"no bytes at {offset}")

    with pytest.raises(LookupError, match="no bytes at"):
        tierup.load((1000, broken))
    with pytest.raises(TypeError, match="expected bytes"):
        tierup.load((1000, lambda offset, count: "text"))
    with pytest.raises(tierup.CorruptArchive, match="0 bytes instead of"):
        tierup.load((1000, lambda offset, count: b""))


class Strange:
    """Says that it speaks DLPack, and gives something else."""

    def __init__(self, given):
        self.given = given

    def __dlpack__(self, **options):
        return self.given()

    def __dlpack_device__(self):
        return (1, 0)


def test_arrays_that_break_their_protocol_are_named(nested):
    with pytest.raises(TypeError, match="argument 1: .*no DLPack capsule"):
        nested(Strange(lambda: 3))
    with pytest.raises(ZeroDivisionError):
        nested(Strange(lambda: 1 / 0))
    used = tierup.tensor(floats(1)).__dlpack__()
    assert nested(Strange(lambda: used))[0].tolist() == [3]
    with pytest.raises(TypeError, match="no DLPack capsule"):
        nested(Strange(lambda: used))


def test_memory_in_use_cannot_be_resized_or_lost(nested):
    values = floats(1, 2)
    kept = nested.run("identity", values)
    with pytest.raises(BufferError):
        values.append(3)
    del values
    gc.collect()
    assert kept.tolist() == [1, 2]


def test_calls_hold_no_references(nested):
    values = floats(1, 2)
    with pytest.raises(TypeError):
        nested(values, {"a": object()})
    before = [sys.getrefcount(values), sys.getrefcount(nested), tierup.memory_stats()["live_bytes"]]
    for _ in range(2000):
        nested(values, {"a": [values]}, rate=1.5)
        nested.run("identity", values)
        with pytest.raises(TypeError):
            nested(values, {"a": object()})
    gc.collect()
    after = [sys.getrefcount(values), sys.getrefcount(nested), tierup.memory_stats()["live_bytes"]]
    assert after[:2] == before[:2]
    assert after[2] <= before[2] + (1 << 16)


class Color(enum.IntEnum):
    RED = 3


def test_enum_members_and_subclasses_of_builtins(nested):
    Extra = collections.namedtuple("Extra", "a")
    assert nested(floats(1), rate=Color.RED)[1]["rate"].tolist() == [3]
    assert nested(floats(1), extra=collections.OrderedDict(a=[floats(1)]))[0].tolist() == [4]
    with pytest.raises(TypeError):
        nested(Extra(1))


@needs_numpy
class TestNumpy:
    def test_numpy_in_numpy_out_without_copies(self, nested):
        import numpy as np

        x = np.arange(6, dtype=np.float32).reshape(2, 3)
        result = nested.run("identity", x)
        assert type(result) is np.ndarray and np.shares_memory(result, x)
        assert result.flags.writeable
        part = nested.run("identity", x[:, 1:])
        assert np.shares_memory(part, x) and part.tolist() == [[1, 2], [4, 5]]

    @pytest.mark.parametrize("outputs", ["tierup", "numpy"])
    def test_kinds_of_results_can_be_chosen(self, outputs):
        import numpy as np

        model = tierup.load(DATA / "nested.pt", outputs=outputs)
        expected = np.ndarray if outputs == "numpy" else tierup.Tensor
        assert type(model.run("identity", floats(1))) is expected
        assert type(model.run("identity", np.ones(1))) is expected

    @pytest.mark.parametrize(
        "dtype", "bool int8 int16 int32 int64 uint8 uint16 float16 float32 float64 complex64 complex128".split()
    )
    def test_every_dtype_comes_back(self, nested, dtype):
        import numpy as np

        for x in (np.ones((2, 3), dtype), np.ones((), dtype), np.ones((0, 3), dtype)):
            result = nested.run("identity", x)
            assert (result.dtype, result.shape) == (x.dtype, x.shape)
            assert result.tolist() == x.tolist()

    def test_read_only_reversed_and_broadcast_arrays_are_read(self, nested):
        import numpy as np

        x = np.arange(4, dtype=np.float32)
        read_only = x.copy()
        read_only.flags.writeable = False
        assert nested.run("identity", read_only).tolist() == [0, 1, 2, 3]
        assert nested.run("write", read_only).tolist() == [1, 2, 3, 4]
        assert read_only.tolist() == [0, 1, 2, 3]
        assert nested.run("identity", x[::-1]).tolist() == [3, 2, 1, 0]
        assert nested.run("identity", np.broadcast_to(x, (2, 4))).tolist() == [[0, 1, 2, 3]] * 2

    def test_arrays_that_are_no_tensors_are_refused_by_name(self, nested):
        import numpy as np

        with pytest.raises(ValueError, match="argument 1: the array is big-endian"):
            nested(np.ones(2, ">f4"))
        for array in (np.array([object()]), np.zeros(2, [("a", "f4")]), np.array(["text"])):
            with pytest.raises(TypeError, match="argument 1: arrays of the dtype"):
                nested(array)
        with pytest.raises(TypeError, match="'MaskedArray'"):
            nested(np.ma.array([1.0, 2.0], mask=[False, True]))

    def test_arrays_that_lie_oddly_are_read(self, nested):
        import numpy as np

        field = np.zeros(3, [("a", "i1"), ("b", "f4")])["b"]
        unaligned = np.frombuffer(b"x" + np.ones(2, np.float32).tobytes(), np.uint8)[1:].view(np.float32)
        assert nested.run("identity", field).tolist() == [0, 0, 0]
        assert nested.run("identity", unaligned).tolist() == [1, 1]
        assert nested.run("identity", np.matrix([[1.0, 2.0]])).tolist() == [[1, 2]]

    def test_scalars_of_numpy_are_numbers(self, nested):
        import numpy as np

        assert nested(floats(1), rate=np.float32(0.25), flag=np.bool_(True))[2] == [3, 1]

    def test_results_go_into_numpy_arrays(self):
        import numpy as np

        model = tierup.load(DATA / "dynamic.pt2")
        x, y = np.ones((3, 4), np.float32), np.ones((4, 2), np.float32)
        product, total = np.zeros((3, 2), np.float32), np.zeros((), np.float32)
        for _ in range(5):
            model.run_into([x, y], [product, total])
            assert product.tolist() == [[4, 4]] * 3 and total == 12
            product[:] = 0
        product.flags.writeable = False
        with pytest.raises(ValueError, match="output 1"):
            model.run_into([x, y], [product, total])


@needs_torch
class TestTorch:
    def test_torch_in_torch_out_without_copies(self, nested):
        import torch

        x = torch.arange(6.0).reshape(2, 3)
        result = nested.run("identity", x)
        assert type(result) is torch.Tensor and result.data_ptr() == x.data_ptr()
        part = nested.run("identity", x[:, 1:])
        assert part.data_ptr() == x[:, 1:].data_ptr() and part.stride() == (3, 1)

    @pytest.mark.parametrize("dtype", "bool int8 int64 uint8 float16 bfloat16 float64 complex64".split())
    def test_every_dtype_comes_back(self, nested, dtype):
        import torch

        for x in (torch.ones(2, 3), torch.ones(()), torch.ones(0, 3)):
            x = x.to(getattr(torch, dtype))
            result = nested.run("identity", x)
            assert result.dtype == x.dtype and result.shape == x.shape and torch.equal(result, x)

    def test_negative_and_conjugate_views_keep_their_signs(self, nested):
        import torch

        z = torch.tensor([1 + 2j, 3 - 4j])
        for view in (z.conj(), z.conj().imag, torch._neg_view(z.real)):
            assert torch.equal(nested.run("identity", view), view.resolve_conj().resolve_neg())

    def test_tensors_that_require_gradients_are_refused_unless_none_are_recorded(self, nested):
        import torch

        x = torch.ones(2, requires_grad=True)
        with pytest.raises(ValueError, match="argument 1: the tensor requires gradients"):
            nested(x)
        with torch.no_grad():
            assert nested(x)[0].tolist() == [3, 3]
        assert nested(x.detach())[0].tolist() == [3, 3]
        assert nested(torch.nn.Parameter(torch.ones(2)).data)[0].tolist() == [3, 3]

    @pytest.mark.parametrize(
        ("kind", "words"),
        [
            ("sparse", "layout torch.sparse_coo: give x.to_dense"),
            ("csr", "layout torch.sparse_csr"),
            ("mkldnn", "layout torch._mkldnn"),
            ("meta", "device meta"),
            ("quantized", "quantized: give x.dequantize"),
            ("nested", "nested, with rows"),
            ("fake", "no memory that can be read"),
            ("zeros", "no memory that can be read"),
        ],
    )
    @pytest.mark.filterwarnings("ignore")
    def test_tensors_without_plain_memory_are_refused_by_name(self, nested, kind, words):
        import torch
        from torch._subclasses.fake_tensor import FakeTensorMode

        with FakeTensorMode():
            fake = torch.ones(2)
        x = {
            "sparse": lambda: torch.ones(2).to_sparse(),
            "csr": lambda: torch.eye(2).to_sparse_csr(),
            "mkldnn": lambda: torch.ones(2).to_mkldnn(),
            "meta": lambda: torch.ones(2, device="meta"),
            "quantized": lambda: torch.quantize_per_tensor(torch.ones(2), 0.1, 0, torch.quint8),
            "nested": lambda: torch.nested.nested_tensor([torch.ones(2), torch.ones(3)]),
            "fake": lambda: fake,
            "zeros": lambda: torch._efficientzerotensor((2,)),
        }[kind]()
        with pytest.raises(tierup.InvalidArgument, match=rf"argument 2\['a'\]\[0\]: .*{words}"):
            nested(torch.ones(2), {"a": [x]})

    def test_transforms_of_functions_are_refused(self, nested):
        import torch

        for transform in (torch.vmap, lambda f: lambda x: torch.func.jvp(f, (x,), (x,))):
            with pytest.raises(tierup.InvalidArgument, match="argument 1: the tensor has no memory"):
                transform(lambda x: nested(x)[0])(torch.ones(2, 2))

    def test_state_dicts_of_torch_are_taken(self):
        import torch

        model = tierup.load(DATA / "nested.pt")
        state = {"scale": torch.nn.Parameter(torch.tensor(10.0)), "offset": torch.tensor([5.0])}
        model.load_state_dict(state)
        assert model(torch.ones(1))[0].tolist() == [15]
        with tierup.Executor(model) as executor:
            executor.swap_weights({"scale": torch.tensor(1.0), "offset": torch.tensor([0.0])})
            assert executor.run(torch.ones(1))[0].tolist() == [1]

    def test_one_openmp_runtime_serves_both(self):
        import subprocess

        for first, second in (("torch", "tierup"), ("tierup", "torch")):
            code = (
                f"import {first}, {second}, sys\n"
                "tierup.load(sys.argv[1])(tierup.tensor(memoryview(b'1234').cast('f')))\n"
                "names = {line.split()[-1] for line in open('/proc/self/maps') if 'gomp' in line}\n"
                "print(len(names))"
            )
            run = subprocess.run([sys.executable, "-c", code, str(DATA / "nested.pt")], capture_output=True, text=True)
            assert run.stdout.strip() == "1", run.stderr + run.stdout
