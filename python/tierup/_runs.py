"""Runs in the background: what waits for their ends, an event loop or a thread.

An executor's thread puts a result into `_core.Completions` and calls `_wake` once for all results until the next drain,
so that many runs that end together cost one wake-up of the loop.
"""

from __future__ import annotations

import itertools
import weakref

from . import _core

_tickets = itertools.count(1)


def _waking(runs: weakref.ref):
    def wake() -> None:
        alive = runs()
        if alive is not None:
            alive._wake()

    return wake


class _Runs:
    """Runs under way, by ticket: the future and the token that stops the run."""

    def __init__(self):
        self._pending: dict[int, tuple] = {}
        # Not a method of this object: the collector does not see what the extension holds.
        self._core = _core.Completions(_waking(weakref.ref(self)))

    def _wake(self) -> None:
        self._drain()

    def _drain(self) -> None:
        """Whatever is raised at the end of one run, the others' futures get their results."""
        ended, raised = self._core.drain(), None
        ended.reverse()
        while ended:
            try:
                while ended:
                    self._end(*ended.pop())
            except BaseException as error:
                raised = raised or error
        if raised is not None:
            raise raised

    def _end(self, ticket, error, value) -> None:
        future, _ = self._pending.pop(ticket, (None, None))
        if future is None or not self._takes_result(future):
            return
        if error is None:
            future.set_result(value)
        else:
            future.set_exception(error)

    @staticmethod
    def _takes_result(future) -> bool:
        """False if it was cancelled; afterwards it cannot be."""
        return future.set_running_or_notify_cancel()

    def start(self, executor, future, args, kwargs, time_limit):
        """The run's ticket, and the token that stops it."""
        ticket, token = next(_tickets), _core.CancellationToken()
        self._pending[ticket] = (future, token)
        try:
            executor._start(args, kwargs, time_limit, token, self._core, ticket)
        except BaseException:
            token.cancel()  # A signal's exception may come when the run is under way.
            self._pending.pop(ticket, None)
            raise
        return ticket, token

    def cancel_all(self) -> None:
        for _, token in list(self._pending.values()):
            token.cancel()


def _run_here(future, executor, args, kwargs, time_limit) -> None:
    try:
        future.set_result(executor._run(args, kwargs, time_limit))
    except Exception as error:
        future.set_exception(error)


class LoopRuns(_Runs):
    """The runs that an event loop waits for."""

    def __init__(self, loop):
        super().__init__()
        self._loop = weakref.ref(loop)

    def _wake(self) -> None:
        loop = self._loop()
        try:
            if loop is not None:
                return loop.call_soon_threadsafe(self._drain)
        except RuntimeError:
            pass  # The loop is closed.
        for ticket, _, _ in self._core.drain():
            self._pending.pop(ticket, None)  # Its future keeps the loop.

    @staticmethod
    def _takes_result(future) -> bool:
        return not future.done()

    def run(self, loop, executor, args, kwargs, time_limit):
        future = loop.create_future()
        if executor._is_quick():  # It ends sooner than a thread would begin.
            _run_here(future, executor, args, kwargs, time_limit)
            return future
        ticket, token = self.start(executor, future, args, kwargs, time_limit)

        def stop(done) -> None:
            if done.cancelled():
                token.cancel()
                # It would keep the loop, and with it a result that arrives after the loop's last turn.
                self._pending.pop(ticket, None)

        future.add_done_callback(stop)
        return future


_by_loop: weakref.WeakKeyDictionary = weakref.WeakKeyDictionary()
_by_thread = _Runs()


def run_async(executor, args, kwargs, time_limit=None):
    """An asyncio.Future of the running loop; cancelling it, or the task that awaits it, stops the run."""
    import asyncio

    loop = asyncio.get_running_loop()
    runs = _by_loop.get(loop)
    if runs is None:
        _drop_closed()
        runs = _by_loop[loop] = LoopRuns(loop)
    return runs.run(loop, executor, args, kwargs, time_limit)


def _drop_closed() -> None:
    """Nobody can wait for runs of a closed loop, and their futures keep it."""
    for loop, runs in list(_by_loop.items()):
        if loop.is_closed():
            runs.cancel_all()
            del _by_loop[loop]


def submit(executor, args, kwargs, time_limit=None):
    """A concurrent.futures.Future, which is pending until the run ends: cancel() stops the run."""
    from ._futures import RunFuture

    future = RunFuture()
    _, token = _by_thread.start(executor, future, args, kwargs, time_limit)
    future.add_done_callback(lambda done: token.cancel() if done.cancelled() else None)
    return future

