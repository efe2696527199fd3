"""Runs that outlast what they belong to: their executor, their thread, the process that forked, the interpreter."""

import array
import asyncio
import concurrent.futures
import gc
import subprocess
import sys
import threading
import weakref

import pytest
from conftest import ROOT

import tierup
from tierup import _runs
from tierup._futures import RunFuture

DATA = ROOT / "python" / "tests" / "data"
LOOP = DATA / "endless.pt"
HELPERS = """
import array, os, signal, sys, threading, time, tierup
path = sys.argv[1]
signal.signal(signal.SIGINT, signal.default_int_handler)
def ignoring(call):
    try:
        call()
    except TimeoutError:
        pass
def forever(call):
    while True:
        ignoring(call)
def in_threads(count, target, *args):
    for _ in range(count):
        threading.Thread(target=target, args=args, daemon=True).start()
"""


def ends_of(code):
    """A deadlock or a crash is the other process's."""
    return subprocess.run([sys.executable, "-c", HELPERS + code, str(LOOP)], capture_output=True, text=True, timeout=120)


def assert_ends(code):
    run = ends_of(f"{code}\nprint('ends', flush=True)\n")
    assert (run.returncode, run.stdout.strip()) == (0, "ends"), run.stderr


def test_a_call_that_others_closed_meanwhile_ends_and_is_waited_for():
    assert_ends(
        "e = tierup.Executor(path)\n"
        "limited = e.with_time_limit(0.5)\n"
        "ignoring(lambda: e.with_time_limit(0.01).submit(1).result())\n"  # Its thread wants the GIL when it ends.
        "thread = threading.Thread(target=ignoring, args=(lambda: limited.run(1),))\n"
        "begin = time.monotonic()\n"
        "thread.start()\n"
        "while e.stats['frames_in_use'] == 0: time.sleep(0.001)\n"
        "e.close()\n"
        "assert time.monotonic() - begin >= 0.5\n"
        "thread.join()\n"
    )


def test_an_executor_closed_at_the_end_of_its_own_run_does_not_wait_for_it():
    executor, closed = tierup.Executor(DATA / "nested.pt"), threading.Event()

    def close(_):
        executor.close()
        closed.set()

    executor.submit(array.array("f", [1.0])).add_done_callback(close)
    assert closed.wait(60)


def test_who_waits_for_cancelled_futures_learns_of_their_end():
    with tierup.Executor(LOOP, async_threads=1) as executor:
        futures = [executor.submit(1) for _ in range(3)]
        assert all(future.cancel() for future in futures)
        assert len(concurrent.futures.wait(futures, timeout=60).done) == 3
        assert len(list(concurrent.futures.as_completed(futures, timeout=60))) == 3


class Ended:
    """Ends of runs, one after the other in one wake-up."""

    def __init__(self, *values):
        self._values = values

    def drain(self):
        return [(ticket, None, value) for ticket, value in enumerate(self._values)]


def ending(futures):
    runs = _runs._Runs()
    runs._core, runs._pending = Ended(*range(len(futures))), {n: (future, None) for n, future in enumerate(futures)}
    return runs


def test_an_exit_in_a_futures_callback_leaves_the_others_their_results():
    futures = [RunFuture() for _ in range(3)]
    futures[0].add_done_callback(lambda _: sys.exit())
    with pytest.raises(SystemExit):
        ending(futures)._wake()
    assert [future.result(timeout=0) for future in futures] == [0, 1, 2]


def test_a_future_cancelled_as_its_result_arrives_leaves_the_others_theirs():
    class Racing(RunFuture):
        def set_result(self, result):
            self.cancel()
            super().set_result(result)

    futures = [Racing() for _ in range(3)]
    ending(futures)._wake()
    assert [future.result(timeout=0) for future in futures] == [0, 1, 2]


def test_an_event_loop_closed_as_a_run_ends_is_no_failure():
    class Closed:
        def call_soon_threadsafe(self, function):
            raise RuntimeError("Event loop is closed")

    loop = Closed()
    runs = _runs.LoopRuns(loop)
    runs._core, runs._pending = Ended("a", "b"), {0: (None, None), 1: (None, None)}
    runs._wake()
    assert not runs._pending  # Its futures would keep the loop.


def test_a_cancelled_run_keeps_no_loop_that_was_closed_before_its_end():
    class Endless:
        def _is_quick(self):
            return False

        def _start(self, *_):
            pass

    async def cancelled():
        _runs.run_async(Endless(), (), {}).cancel()

    loop = asyncio.new_event_loop()
    loop.run_until_complete(cancelled())
    loop.close()
    kept = weakref.ref(loop)
    del loop
    gc.collect()
    assert kept() is None


def test_runs_in_the_background_hold_nothing_of_pythons_for_their_end():
    """A thread that let go of it would wait for the GIL, and not survive the interpreter."""
    with tierup.Executor(LOOP, time_limit=5) as executor:
        futures = [executor.submit(1)]
        before = sys.getrefcount(_runs._by_thread._core)
        futures.append(executor.submit(1))
        after = sys.getrefcount(_runs._by_thread._core)
        assert after == before
        for future in futures:
            future.cancel()


@pytest.mark.parametrize("call", ["model(1)", "e.run(1)", "e.submit(1).result()"])
def test_threads_that_call_when_the_interpreter_ends_do_not_end_the_process(call):
    code = "model = tierup.load(path, time_limit=0.003)\ne = tierup.Executor(model)\n"
    for delay in range(5):
        assert_ends(f"{code}in_threads(3, forever, lambda: {call})\ntime.sleep({0.02 + 0.005 * delay})")


@pytest.mark.parametrize("call", ["model(1)", "e.run(1)", "model.record(1)"])
def test_an_endless_call_in_another_thread_does_not_keep_the_interpreter(call):
    assert_ends(f"model = tierup.load(path)\ne = tierup.Executor(model)\nin_threads(1, lambda: {call})\ntime.sleep(0.1)")


def test_calls_of_other_threads_after_the_interpreters_end_began_are_refused():
    run = ends_of(
        "import atexit\n"
        "def call():\n"
        "    try: model(0)\n"
        "    except RuntimeError as error: raised.append(str(error)[:20])\n"
        "raised, thread = [], threading.Thread(target=lambda: (go.wait(), call()), daemon=True)\n"
        "go = threading.Event()\n"
        "model = tierup.load(path)\n"
        "atexit.unregister(tierup._core._end_interpreter)\n"
        "atexit.register(lambda: (go.set(), thread.join(), print(raised, model(0))))\n"
        "atexit.register(tierup._core._end_interpreter)\n"  # The last that is registered is the first to run.
        "thread.start()\n"
    )
    assert (run.returncode, run.stdout.strip()) == (0, "['the interpreter ends'] 0"), run.stderr


@pytest.mark.parametrize("then", ["pass", "del e", "e.close()"])
def test_a_child_forked_beside_a_run_ends(then):
    assert_ends(
        "e = tierup.Executor(path)\n"
        "future = e.submit(1)\n"
        "while e.stats['frames_in_use'] == 0: time.sleep(0.001)\n"
        f"{'del e' if then == 'del e' else 'pass'}\n"
        "child = os.fork()\n"
        "if child == 0:\n"
        f"    {'pass' if then == 'del e' else then}\n"
        "    sys.exit(7)\n"
        "end = time.monotonic() + 60\n"
        "while not (ended := os.waitpid(child, os.WNOHANG))[0]:\n"
        "    assert time.monotonic() < end\n"
        "    time.sleep(0.01)\n"
        "assert os.waitstatus_to_exitcode(ended[1]) == 7\n"
    )


def test_other_threads_run_during_a_long_call_of_a_model_whose_calls_are_short():
    assert_ends(
        "model = tierup.load(path)\n"
        "for _ in range(2000): model(0)\n"
        "def tick():\n"
        "    for _ in range(50): time.sleep(0.001)\n"
        "    signal.pthread_kill(threading.main_thread().ident, signal.SIGINT)\n"
        "in_threads(1, tick)\n"
        "try:\n    model(1)\nexcept KeyboardInterrupt:\n    pass"
    )


INSIDE = """
import atexit
class Inside:
    def __dlpack__(self, **_):
        inside.set()
        ending.wait()
        for _ in range(signals):
            time.sleep(0.1)
            os.kill(os.getpid(), signal.SIGINT)
        time.sleep(afterwards)
        raise ValueError
class Late:  # So that the interpreter still ends when the thread comes out.
    def __del__(self, sleep=time.sleep): sleep(1)
sys.modules["late"], model, inside, ending = Late(), tierup.load(path), threading.Event(), threading.Event()
in_threads(1, lambda: model(Inside()))
inside.wait()
atexit.register(ending.set)
"""


@pytest.mark.parametrize("signals", [1, 2, 3, 5])
def test_signals_at_the_interpreters_end_do_not_end_a_call_inside_of_python_code(signals):
    """Their exceptions end the wait for runs; a thread that came out of Python code later would end the process."""
    run = ends_of(f"signals, afterwards = {signals}, 0.3\n{INSIDE}print('ends', flush=True)\n")
    assert (run.returncode, run.stdout.strip()) == (0, "ends"), run.stderr
    assert "KeyboardInterrupt" in run.stderr


def test_signals_end_a_process_whose_callback_never_returns():
    run = ends_of(f"signals, afterwards = 1000, 1000\n{INSIDE}")
    assert run.returncode == 128 + 2, run.stderr
