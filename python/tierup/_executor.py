"""Executor: one model served to many callers at once."""

from __future__ import annotations

from . import _core, _runs

_LOAD_OPTIONS = {"threads", "fork_threads", "inter_op_threads", "tiering", "max_call_depth", "seed", "devices_to_cpu"}
_LOAD_OPTIONS |= {"allow_unsupported", "load_into_memory", "run_model_code_at_load", "plugins", "print", "warn", "outputs"}


class Limited:
    """An executor's calls under another time limit."""

    def __init__(self, executor: Executor, seconds: float):
        self._executor, self._seconds = executor, seconds

    def run(self, *args, **kwargs):
        return self._executor._run(args, kwargs, self._seconds)

    def run_async(self, *args, **kwargs):
        return _runs.run_async(self._executor, args, kwargs, self._seconds)

    def submit(self, *args, **kwargs):
        return _runs.submit(self._executor, args, kwargs, self._seconds)

    def run_flat(self, leaves):
        return self._executor.run_flat(leaves, self._seconds)

    def run_into(self, leaves, outputs) -> None:
        self._executor.run_into(leaves, outputs, self._seconds)


class Executor(_core.Executor):
    """Serves a model: bounded frames, futures, deadlines, weights swapped under load.

    `model`: a Model, or what `tierup.load` takes (its options may be given here, too). `max_frames`: runs at once, 0 as
    many as come; `wait_for_frame`: False refuses one too many with Exhausted; `async_threads`: for run_async and
    submit, 0 the usable cores; `max_queued`: runs that may wait for such a thread; `time_limit`: seconds of one run,
    its waiting included; `frame_idle`: seconds after which idle memory is given back; `prepare_weights`: a swap returns
    when everything made of weights is made anew. A context manager: leaving it waits for the runs under way.
    """

    def __init__(self, model, **config):
        load_options = {name: config.pop(name) for name in list(config) if name in _LOAD_OPTIONS}
        if not isinstance(model, _core.Model):
            from ._model import load

            model = load(model, **load_options)
        elif load_options:
            raise TypeError(f"{', '.join(sorted(load_options))}: options of loading, and the model is loaded")
        config = {name: value for name, value in config.items() if value is not None}
        super().__init__(model, config)
        self.model = model

    def __enter__(self) -> Executor:
        return self

    def __exit__(self, *_) -> None:
        self.close()

    def __call__(self, *args, **kwargs):
        return self._run(args, kwargs, None)

    def with_time_limit(self, seconds: float) -> Limited:
        """The same calls, each of which may take so long: `executor.with_time_limit(0.02).run(x)`."""
        return Limited(self, seconds)

    def run_async(self, *args, **kwargs):
        """Runs in a thread of the executor's; to be awaited. Cancelling the awaiting task stops the run."""
        return _runs.run_async(self, args, kwargs)

    def submit(self, *args, **kwargs):
        """Runs in a thread of the executor's; a concurrent.futures.Future, whose cancel() stops the run."""
        return _runs.submit(self, args, kwargs)

    def map(self, iterable, *, concurrency: int = 2, progress=None):
        """Results of calls with each item (a tuple is the positional arguments), in order, so many under way."""
        from collections import deque

        from ._progress import counter

        with counter(progress, "map", len(iterable) if hasattr(iterable, "__len__") else None) as tick:
            waiting: deque = deque()
            try:
                for item in iterable:
                    if len(waiting) >= max(1, concurrency):
                        yield _first_result(waiting)
                        tick()
                    waiting.append(self.submit(*item) if isinstance(item, tuple) else self.submit(item))
                while waiting:
                    yield _first_result(waiting)
                    tick()
            finally:
                for future in waiting:
                    future.cancel()

    @property
    def weights(self) -> dict:
        """The weights of the generation that new runs take, by name."""
        return self._weights()

    def swap_weights(self, weights, strict: bool = True) -> int:
        """Replaces weights under load, whole or not at all; each run sees one generation. From a mapping of names to
        arrays, or a path (.safetensors, a state dict, .pt, .pt2). Without `strict`, names not given keep theirs.
        Returns the generation's number."""
        return self._swap_weights(_weights_of(weights), strict)

    def prepare_weights(self, weights, strict: bool = True):
        """The first half of a swap: checked and made ready, to be given to install()."""
        return self._prepare_weights(_weights_of(weights), strict)

    @property
    def stats(self) -> dict[str, int]:
        """Counts of runs, errors, frames, generations."""
        return self._stats()

    def __repr__(self) -> str:
        if self.closed:
            return "<tierup.Executor, closed>"
        stats = self.stats
        return f"<tierup.Executor of {self.model!r}, {stats['runs']} runs, generation {stats['generation']}>"


def _first_result(waiting):
    """It stays among those that wait until it is there: an interrupted wait ends its run, too."""
    result = waiting[0].result()
    waiting.popleft()
    return result


def _weights_of(weights):
    """A path as text; a module, or anything with a state_dict(), as its mapping."""
    if hasattr(weights, "__fspath__"):
        return weights.__fspath__()
    if not hasattr(weights, "items") and hasattr(weights, "state_dict"):
        return weights.state_dict()
    return weights

