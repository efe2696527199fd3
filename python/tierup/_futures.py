"""What submit() returns. By itself, since concurrent.futures doubles the time of an import of tierup."""

from __future__ import annotations

import concurrent.futures
import math
import time


class RunFuture(concurrent.futures.Future):
    """Whose wait ends by a signal, whichever thread the system gave the signal to.

    A signal for the process is any thread's: one that computes may take it from the main thread, which then sleeps on in
    a wait that has no end, since only Python code looks for what a handler left.
    """

    _BETWEEN_SIGNALS = 0.1  # Seconds.

    def result(self, timeout=None):
        return self._waiting(super().result, timeout)

    def exception(self, timeout=None):
        return self._waiting(super().exception, timeout)

    def _waiting(self, outcome, timeout):
        end = None if timeout is None else time.monotonic() + timeout
        while True:
            left = math.inf if end is None else end - time.monotonic()
            if left <= self._BETWEEN_SIGNALS:
                return outcome(left)
            try:
                return outcome(self._BETWEEN_SIGNALS)
            except concurrent.futures.TimeoutError:
                if self.done():  # It is the run's own one.
                    return outcome()
