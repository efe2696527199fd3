"""Executors: threads, futures, await, cancellation, deadlines, weights swapped under load."""

import array
import asyncio
import concurrent.futures
import gc
import math
import os
import pickle
import shutil
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from multiprocessing import get_context

import pytest
from conftest import DIGITS, ROOT

import tierup

LOOP = ROOT / "python" / "tests" / "data" / "endless.pt"


def pixels(count, value=0.25):
    values = array.array("f", [value] * (64 * count))
    return memoryview(values).cast("B").cast("f", [count, 1, 8, 8])


def near(rows, expected):
    """Tiers sum in another order: their last bits may differ."""
    return all(row == pytest.approx(other, rel=1e-5, abs=1e-5) for row, other in zip(rows, expected, strict=True))


@pytest.fixture(scope="module")
def expected(digits):
    return digits(pixels(2)).tolist()


@pytest.fixture
def executor():
    with tierup.Executor(DIGITS, async_threads=2) as executor:
        yield executor


def test_calls_answer_as_the_model(executor, expected):
    assert near(executor.run(pixels(2)).tolist(), expected)
    assert near(executor(images=pixels(2)).tolist(), expected)
    assert near(executor.run_flat([pixels(2)])[0].tolist(), expected)
    assert near(executor.submit(pixels(2)).result().tolist(), expected)
    assert executor.stats["runs"] == 4


def test_results_are_written_into_given_memory(executor, expected):
    results = array.array("f", [0] * 20)
    executor.run_into([pixels(2)], [memoryview(results).cast("B").cast("f", [2, 10])])
    assert near([list(results[:10]), list(results[10:])], expected)
    with pytest.raises(ValueError, match="output 1.*read-only"):
        executor.run_into([pixels(2)], [memoryview(bytes(80)).cast("f", [2, 10])])


def test_many_runs_are_awaited_at_once(executor, expected):
    async def many():
        return await asyncio.gather(*[executor.run_async(pixels(2)) for _ in range(200)])

    assert all(near(result.tolist(), expected) for result in asyncio.run(many()))


def test_models_are_awaited_without_an_executor(expected):
    async def once(model):
        return await model.run_async(pixels(2))

    with tierup.load(DIGITS) as model:
        assert near(asyncio.run(once(model)).tolist(), expected)


def test_errors_arrive_where_the_run_is_awaited(executor):
    async def wrong():
        await executor.run_async(array.array("f", [1]))

    with pytest.raises(ValueError, match="images must be"):
        asyncio.run(wrong())
    with pytest.raises(tierup.ModelError):
        executor.submit(array.array("f", [1])).result()


def test_cancelling_the_awaiting_task_stops_the_run():
    with tierup.Executor(LOOP, async_threads=1) as executor:

        async def cancelled():
            task = asyncio.ensure_future(executor.run_async(1))
            await asyncio.sleep(0.1)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task

        asyncio.run(cancelled())
        with pytest.raises((asyncio.TimeoutError, TimeoutError)):
            asyncio.run(asyncio.wait_for(_awaited(executor), 0.1))
        future = executor.submit(1)
        time.sleep(0.05)
        future.cancel()
        # Had any of them gone on, the one thread would not come to this.
        with pytest.raises(TimeoutError):
            executor.with_time_limit(0.05).submit(1).result()


async def _awaited(executor):
    return await executor.run_async(1)


def test_time_limits_are_timeouts():
    with tierup.Executor(LOOP, time_limit=0.05) as executor:
        with pytest.raises(tierup.DeadlineExceeded) as raised:
            executor.run(1)
        assert isinstance(raised.value, TimeoutError)
    with pytest.raises(TimeoutError):
        tierup.load(LOOP, time_limit=0.05)(1)


def test_other_threads_run_during_a_call_and_a_signal_ends_it():
    with tierup.Executor(LOOP) as executor:
        ticks = []

        def tick():
            while executor.stats["frames_in_use"] == 0:
                time.sleep(0.001)
            while len(ticks) < 50:
                ticks.append(executor.stats["frames_in_use"])
                time.sleep(0.001)
            os.kill(os.getpid(), signal.SIGINT)

        thread = threading.Thread(target=tick)
        # Where the tests run in the background, SIGINT may be ignored.
        old = signal.signal(signal.SIGINT, signal.default_int_handler)
        try:
            with pytest.raises(KeyboardInterrupt):
                thread.start()
                executor.run(1)
        finally:
            signal.signal(signal.SIGINT, old)
        thread.join()
    assert ticks == [1] * 50


def test_a_signal_ends_a_long_call():
    code = (
        "import tierup, sys, threading, os, signal\n"
        "model = tierup.load(sys.argv[1])\n"
        "signal.signal(signal.SIGINT, signal.default_int_handler)\n"
        "try:\n"
        "    threading.Timer(0.3, lambda: os.kill(os.getpid(), signal.SIGINT)).start()\n"
        "    model(1)\n"
        "except KeyboardInterrupt:\n    print('interrupted')\n"
    )
    run = subprocess.run([sys.executable, "-c", code, str(LOOP)], capture_output=True, text=True, timeout=600)
    assert run.stdout.strip() == "interrupted", run.stderr


def test_a_signal_whose_handler_returns_lets_the_call_go_on(expected):
    seen = []
    old = signal.signal(signal.SIGALRM, lambda *_: seen.append(1))
    signal.setitimer(signal.ITIMER_REAL, 0.05)
    try:
        with pytest.raises(TimeoutError):
            tierup.load(LOOP, time_limit=0.4)(1)
    finally:
        signal.signal(signal.SIGALRM, old)
    assert seen == [1]


def test_pending_runs_do_not_keep_the_interpreter():
    code = (
        "import tierup, sys\n"
        "executor = tierup.Executor(sys.argv[1], async_threads=1)\n"
        "futures = [executor.submit(1) for _ in range(3)]\n"
        "print('ends', flush=True)\n"
    )
    run = subprocess.run([sys.executable, "-c", code, str(LOOP)], capture_output=True, text=True, timeout=600)
    assert (run.returncode, run.stdout.strip()) == (0, "ends"), run.stderr


# Each leaves an endless run behind, at the end of the interpreter or by Ctrl-C.
ENDS = {
    "result": "tierup.Executor(path).submit(1).result()",
    "map": "list(tierup.Executor(path).map([1, 1, 1]))",
    "await": "asyncio.run(awaited(tierup.Executor(path)))",
    "with": "with tierup.Executor(path) as e: e.submit(1)",
    "close": "e = tierup.Executor(path); f = e.submit(1); e.close()",
    "run_flat": "tierup.Executor(path).run_flat([1])",
    "fork in a thread": "fork_in_a_thread(tierup.load(path))",
}
HELPERS = """
import asyncio, os, signal, sys, threading, tierup
path = sys.argv[1]
signal.signal(signal.SIGINT, signal.default_int_handler)
def send(thread):
    signal.pthread_kill(thread.ident, signal.SIGINT)
def later():
    threading.Timer(0.5, send, [threading.main_thread()]).start()
def later_elsewhere():
    timer = threading.Timer(0.5, lambda: send(timer))
    timer.start()
async def awaited(executor):
    await executor.run_async(1)
async def left(executor):
    executor.run_async(1)
    await asyncio.sleep(0.1)
def fork_in_a_thread(model):
    def fork():
        child = os.fork()
        if child == 0:
            later()
            try:
                model(1)
            except KeyboardInterrupt:
                os._exit(7)
        codes.append(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
    codes = []
    thread = threading.Thread(target=fork)
    thread.start()
    thread.join()
    if codes == [7]:
        raise KeyboardInterrupt
"""


def ends_of(code):
    return subprocess.run([sys.executable, "-c", HELPERS + code, str(LOOP)], capture_output=True, text=True, timeout=120)


@pytest.mark.parametrize("name", ENDS)
def test_a_signal_ends_every_kind_of_waiting(name):
    begin = "" if "fork" in name else "later()\n"
    run = ends_of(f"{begin}try:\n    {ENDS[name]}\nexcept KeyboardInterrupt:\n    print('interrupted')\n")
    assert (run.returncode, run.stdout.strip()) == (0, "interrupted"), run.stderr


# A loop's own wait is asyncio's affair.
@pytest.mark.parametrize("name", ["result", "map", "with", "close", "run_flat"])
def test_a_signal_that_another_thread_took_ends_the_waiting(name):
    run = ends_of(f"later_elsewhere()\ntry:\n    {ENDS[name]}\nexcept KeyboardInterrupt:\n    print('interrupted')\n")
    assert (run.returncode, run.stdout.strip()) == (0, "interrupted"), run.stderr


def test_a_future_waits_for_as_long_as_it_is_told():
    with tierup.Executor(LOOP) as executor:
        future = executor.with_time_limit(1).submit(1)
        begin = time.monotonic()
        with pytest.raises(concurrent.futures.TimeoutError):
            future.result(0.25)
        assert time.monotonic() - begin >= 0.25
        assert not future.done()
        with pytest.raises(tierup.DeadlineExceeded):
            future.result()
        assert isinstance(future.exception(), tierup.DeadlineExceeded)


def test_an_executor_dropped_while_its_run_begins_does_not_wait_for_it():
    run = ends_of(
        "import time\nmodel = tierup.load(path)\nfor i in range(2000):\n    e = tierup.Executor(model)\n"
        "    end = time.perf_counter() + i % 200 * 1e-6\n    f = e.submit(1)\n"
        "    while time.perf_counter() < end: pass\n"
        "    del e\n    f.cancel()\nprint('ends', flush=True)\n"
    )
    assert (run.returncode, run.stdout.strip()) == (0, "ends"), run.stderr


@pytest.mark.parametrize("code", ["asyncio.run(left(e))", "e.submit(1)\ndel e", "asyncio.run(left(e))\ndel e"])
def test_an_executor_left_with_a_run_does_not_keep_the_interpreter(code):
    run = ends_of(f"e = tierup.Executor(path)\n{code}\nprint('ends', flush=True)\n")
    assert (run.returncode, run.stdout.strip()) == (0, "ends"), run.stderr


def test_executors_answer_after_a_fork_in_parent_and_child(executor, expected):
    executor.submit(pixels(2)).result()
    child = os.fork()
    if child == 0:
        fine = near(executor.run(pixels(2)).tolist(), expected)
        os._exit(0 if fine and near(executor.submit(pixels(2)).result().tolist(), expected) else 3)
    assert os.waitpid(child, 0)[1] == 0
    assert near(executor.submit(pixels(2)).result().tolist(), expected)


def test_exceptions_in_the_progress_callback_end_the_map(executor):
    def refuse(*_):
        raise LookupError("refused")

    with pytest.raises(LookupError, match="refused"):
        list(executor.map([pixels(1)] * 3, progress=refuse))


def test_threads_of_python_share_a_model(digits, expected):
    with ThreadPoolExecutor(8) as pool:
        results = list(pool.map(lambda _: digits(pixels(2)).tolist(), range(200)))
    assert all(near(result, expected) for result in results)


def test_map_gives_results_in_order(executor):
    seen = []
    counts = [1, 3, 2, 5]
    report = lambda *state: seen.append(state)  # noqa: E731
    results = list(executor.map([pixels(n) for n in counts], concurrency=2, progress=report))
    assert [result.shape[0] for result in results] == counts
    assert seen[-1] == ("map", 4, 4)


def test_weights_are_swapped_whole_or_not_at_all(executor, expected):
    weights = {name: tierup.tensor(tensor).clone() for name, tensor in executor.weights.items()}
    first = next(iter(weights))
    assert executor.swap_weights(weights) == 1
    assert near(executor.run(pixels(2)).tolist(), expected)
    with pytest.raises(tierup.InvalidArgument, match=first):
        executor.swap_weights({name: tensor for name, tensor in weights.items() if name != first})
    with pytest.raises(tierup.InvalidArgument):
        executor.swap_weights({**weights, first: array.array("f", [1])})
    prepared = executor.prepare_weights(weights)
    assert executor.install(prepared) == 2
    with pytest.raises(tierup.InvalidArgument, match="installed"):
        executor.install(prepared)


def test_models_are_pickled_by_path_and_by_bytes(digits, expected, tmp_path):
    assert near(pickle.loads(pickle.dumps(digits))(pixels(2)).tolist(), expected)
    from_bytes = tierup.load(DIGITS.read_bytes())
    assert near(pickle.loads(pickle.dumps(from_bytes))(pixels(2)).tolist(), expected)
    copy = tmp_path / "model.pt"
    copy.write_bytes(DIGITS.read_bytes())
    data = pickle.dumps(tierup.load(copy))
    copy.write_bytes(LOOP.read_bytes())
    with pytest.raises(tierup.InvalidArgument, match="another file"):
        pickle.loads(data)
    copy.unlink()
    with pytest.raises(FileNotFoundError):
        pickle.loads(data)
    reader = tierup.load((LOOP.stat().st_size, lambda at, count: LOOP.read_bytes()[at : at + count]))
    with pytest.raises(pickle.PicklingError, match="reader"):
        pickle.dumps(reader)


def _first_row(model):
    return model(pixels(2)).tolist()[0]


def test_process_pools_take_models(digits, expected):
    with ProcessPoolExecutor(2, mp_context=get_context("spawn")) as pool:
        assert all(near([row], expected[:1]) for row in pool.map(_first_row, [digits, digits]))


def test_an_executor_that_is_forgotten_waits_for_its_runs_without_the_gil():
    model = tierup.load(LOOP, time_limit=0.1)
    executor = tierup.Executor(model)
    futures = [executor.submit(1) for _ in range(3)]
    del executor
    for future in futures:
        with pytest.raises(TimeoutError):
            future.result(timeout=600)


def test_a_file_that_was_loaded_into_memory_may_be_cut(tmp_path, expected):
    path = shutil.copy(DIGITS, tmp_path / "cut.pt")
    model = tierup.load(path, load_into_memory=True)
    os.truncate(path, 100)  # A mapped file would end the process here.
    assert near(model(pixels(2)).tolist(), expected)


def test_models_answer_after_a_fork_in_parent_and_child(digits, expected):
    context = get_context("fork")
    with context.Pool(2) as pool:
        assert all(near([row], expected[:1]) for row in pool.map(_first_row_of_digits, range(4)))
    assert near([_first_row(digits)], expected[:1])


_digits = tierup.load(DIGITS)


def _first_row_of_digits(_):
    return _first_row(_digits)


def test_arrays_may_be_changed_and_dropped_while_runs_read_them(executor, expected):
    shared = array.array("f", [0.25] * 128)
    batch = memoryview(shared).cast("B").cast("f", [2, 1, 8, 8])
    ended = threading.Event()

    def change():
        while not ended.is_set():
            for place in range(128):
                shared[place] = 1.0 - shared[place]

    thread = threading.Thread(target=change)
    thread.start()
    rows = [future.result().tolist() for future in [executor.submit(batch) for _ in range(100)]]
    ended.set()
    thread.join()
    assert all(math.isfinite(score) for result in rows for row in result for score in row)
    futures = [executor.submit(pixels(2)) for _ in range(100)]  # Nobody else holds these.
    gc.collect()
    assert all(near(future.result().tolist(), expected) for future in futures)


def test_a_signal_between_a_runs_start_and_its_note_ends_the_run():
    begun = []

    class Interrupted(tierup.Executor):
        def _start(self, args, kwargs, time_limit, token, sink, ticket):
            super()._start(args, kwargs, time_limit, token, sink, ticket)
            begun.append(token)
            raise KeyboardInterrupt

    with Interrupted(LOOP, async_threads=1) as loop:
        with pytest.raises(KeyboardInterrupt):
            loop.submit(1)
        assert begun[0].cancelled  # Else the end of the block would wait for good.


def test_a_closed_executor_says_so(executor):
    executor.close()
    with pytest.raises(tierup.InvalidArgument, match="closed"):
        executor.run(pixels(1))


class Telling:
    """An enumeration's member as far as arguments go: tells when a call has come to it."""

    __members__ = {}

    def __init__(self):
        self.told = threading.Event()

    @property
    def value(self):
        self.told.set()
        return 1


def test_a_model_closed_while_calls_are_in_flight_lets_them_end():
    model = tierup.load(LOOP, time_limit=0.3)
    failures = []

    def call(argument):
        try:
            model(argument)
        except Exception as error:
            failures.append(type(error))

    arguments = [Telling() for _ in range(4)]
    threads = [threading.Thread(target=call, args=(argument,)) for argument in arguments]
    for thread in threads:
        thread.start()
    for argument in arguments:
        argument.told.wait()
    model.close()
    for thread in threads:
        thread.join()
    assert failures == [tierup.DeadlineExceeded] * 4


def test_errors_are_pickled_with_their_code(executor):
    with pytest.raises(tierup.ModelError) as raised:
        executor.run(array.array("f", [1]))
    copy = pickle.loads(pickle.dumps(raised.value))
    assert (type(copy), copy.code, copy.context) == (type(raised.value), "model_exception", raised.value.context)
