"""Many calls of each kind, answered and refused: what is alive afterwards is what was before.

Of a way to call there are as many kinds as arguments times errors; `ROUNDS` of each are made.
"""

import array
import asyncio
import gc
import pathlib
import sys
import time

import pytest
from conftest import ROOT, ROUNDS, needs_numpy, needs_torch

import tierup

DATA = ROOT / "python" / "tests" / "data"
# Those that wake threads or event loops take long, and one in so many rounds has them.
SELDOM = 20
# A plan on trial keeps what it is compared by until some later call, on a busy machine beyond the first rounds.
TIERING = "compile=blocking,plan_trial=off"


def floats(*values):
    return array.array("f", values)


def matrix(rows, columns):
    return memoryview(floats(*[1.0] * (rows * columns))).cast("B").cast("f", (rows, columns))


def refuse(*_):
    raise LookupError("refused")


def resident_bytes():
    return int(pathlib.Path("/proc/self/statm").read_text().split()[1]) * 4096


def assert_nothing_stays(watched, often, seldom=(), rounds=ROUNDS):
    """Calls all of both, whatever they raise. `watched`: objects whose references are counted."""

    def repeat(count):
        for number in range(count):
            for call in often:
                try:
                    call()
                except Exception:
                    pass
            for call in seldom if number % SELDOM == 0 else ():
                try:
                    call()
                except Exception:
                    pass

    def alive():
        for _ in range(3):
            gc.collect()
        return [sys.getrefcount(value) for value in watched], tierup.memory_stats()["live_bytes"]

    def alive_at_rest():
        """Cancelled runs end in threads, which a busy machine may let wait. Rests are counted, not timed: a process that
        is stopped for a while has not rested."""
        seen, rests = alive(), 0
        while rests < 10:
            time.sleep(0.05)
            now = alive()
            seen, rests = now, rests + 1 if now == seen else 0
        return seen

    repeat(max(3 * SELDOM, rounds // 2))  # Plans are made.
    before, objects, blocks = alive_at_rest(), len(gc.get_objects()), sys.getallocatedblocks()
    resident = resident_bytes()
    repeat(rounds)
    for _ in range(60):
        if (after := alive_at_rest()) == before:
            break
    assert after == before
    # A few of the interpreter's own caches, and no more however many rounds there are.
    assert len(gc.get_objects()) - objects < 50
    assert sys.getallocatedblocks() - blocks < 500
    assert resident_bytes() - resident < 16 << 20


@pytest.fixture(scope="module")
def nested():
    return tierup.load(DATA / "nested.pt", tiering=TIERING)


def test_arguments_of_every_kind_and_their_errors(nested):
    values = floats(1.0, 2.0)
    endless = []
    endless.append(endless)
    often = [
        lambda: nested(values),
        lambda: nested(memoryview(values), {"a": [values]}, rate=0.5),
        lambda: nested(tierup.tensor(values)).__class__,
        lambda: nested(memoryview(bytes(8)).cast("f")),  # Read-only.
        lambda: nested.run("pair", values),
        lambda: nested.run("identity", values),
        lambda: nested.run("write", values),
        lambda: nested.run("number", 1 + 2j),
        lambda: nested("a text"),
        lambda: nested(),
        lambda: nested(values, None, False, 0.5, 1),
        lambda: nested(values, x=values),
        lambda: nested(values, unknown=1),
        lambda: nested(values, {1: [values]}),
        lambda: nested(values, {"a": 1}),
        lambda: nested(values, rate=1 << 70),
        lambda: nested(object()),
        lambda: nested(endless),
        lambda: nested(values, {"a": [object()]}),
        lambda: nested.run("no such method"),
        lambda: nested.run(3),
        lambda: nested.attributes["no such path"],
        lambda: nested.load_state_dict({"offset": values}),
        lambda: nested.state_dict()["offset"].tolist(),
    ]
    assert_nothing_stays([values, nested, endless], often)


def test_models_and_executors_that_come_and_go():
    values, data = floats(1.0), (DATA / "nested.pt").read_bytes()
    shouting = tierup.load(data, print=refuse)
    executor = tierup.Executor(DATA / "dynamic.pt2", async_threads=1, tiering=TIERING)
    x, y, product, total = matrix(3, 4), matrix(4, 2), matrix(3, 2), tierup.tensor(memoryview(bytearray(4)).cast("f"))

    async def several(*arguments):
        return await asyncio.gather(*[executor.run_async(*arguments) for _ in range(4)], return_exceptions=True)

    async def cancelled():
        executor.run_async(x, y).cancel()

    def served():
        with tierup.Executor(tierup.load(data), max_frames=1) as other:
            other.submit(values).result()

    often = [
        lambda: shouting.run("shout", "a"),
        lambda: executor.run(x, y),
        lambda: executor.run(x),
        lambda: executor.run_flat([x, y]),
        lambda: executor.run_into([x, y], [product, total]),
        lambda: executor.run_into([x, y], [product]),
        lambda: executor.run_into([x, y], [memoryview(bytes(24)).cast("f"), total]),
    ]
    seldom = [
        lambda: executor.submit(x, y).result(),
        lambda: executor.submit(x).result(),
        lambda: executor.submit(x, y).cancel(),
        lambda: asyncio.run(several(x, y)),
        lambda: asyncio.run(several(x)),
        lambda: asyncio.run(cancelled()),
        lambda: list(executor.map([(x, y)] * 3)),
        lambda: list(executor.map([(x, y)] * 3, progress=refuse)),
        served,
        lambda: tierup.load(data[:1000]),
        lambda: tierup.load((len(data), refuse)),
    ]
    with executor:
        assert_nothing_stays([values, x, y, shouting], often, seldom)


@needs_numpy
def test_arrays_of_numpy_and_their_errors(nested):
    import numpy as np

    x = np.arange(4, dtype=np.float32)
    read_only = x.copy()
    read_only.flags.writeable = False
    other, big, structured = np.array([object()]), np.ones(2, ">f4"), np.zeros(2, [("a", "f4")])
    often = [
        lambda: nested(x),
        lambda: nested.run("identity", x[::-1]),
        lambda: nested.run("write", read_only),
        lambda: nested.run("identity", np.broadcast_to(x, (2, 4))),
        lambda: nested(x, rate=np.float32(0.5)),
        lambda: nested(big),
        lambda: nested(other),
        lambda: nested(structured),
        lambda: nested(np.array(["text"])),
    ]
    assert_nothing_stays([x, read_only, big, other, structured], often)


@needs_torch
def test_tensors_of_pytorch_and_their_errors(nested):
    import torch

    x, z = torch.arange(4.0), torch.tensor([1 + 2j])
    learned, sparse, meta = torch.ones(2, requires_grad=True), torch.ones(2).to_sparse(), torch.ones(2, device="meta")
    often = [
        lambda: nested(x),
        lambda: nested.run("identity", x[::2]),
        lambda: nested.run("write", x),
        lambda: nested.run("identity", z.conj()),
        lambda: nested.run("identity", torch._neg_view(x)),
        lambda: nested(learned),
        lambda: nested(sparse),
        lambda: nested(meta),
    ]
    assert_nothing_stays([x, z, learned, sparse, meta], often)


@needs_torch
def test_modules_of_pytorch_whose_weights_are_replaced():
    import torch

    module = torch.nn.Linear(4, 2)
    x, wrong = torch.ones(3, 4), torch.ones(3, 5)
    model = tierup.compile(module, (x,))
    function = torch.compile(module, backend="tierup")

    def replace():
        module.weight = torch.nn.Parameter(torch.ones(2, 4))
        model(x)
        function(x)

    often = [lambda: model(x), lambda: model(wrong), lambda: function(x)]
    with torch.no_grad():
        assert_nothing_stays([x, wrong], often, [replace])
