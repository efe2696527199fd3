"""Model: the loaded module, as Python's callable."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping

from . import _core


def _print(text: str) -> None:
    sys.stdout.write(text)


def _warn(text: str) -> None:
    import warnings

    warnings.warn(text.rstrip("\n"), stacklevel=2)


class Method:
    """A method of a model: `name`, `signature`, `result_type`, and `arguments` as (name, type, has_default)."""

    def __init__(self, name: str, signature: str, result_type: str, arguments: list[tuple[str, str, bool]]):
        self.name, self.signature, self.result_type, self.arguments = name, signature, result_type, arguments

    def __repr__(self) -> str:
        return f"<method {self.signature}>"


class Attributes:
    """A model's attributes by dotted path: `model.attributes["encoder.scale"]`."""

    def __init__(self, model: Model):
        self._model = model

    def __getitem__(self, path: str):
        return self._model._attribute(path)

    def __setitem__(self, path: str, value) -> None:
        self._model._set_attribute(path, value)

    def __contains__(self, path: str) -> bool:
        return self._model._has_attribute(path)


class Missing:
    """Something that the model's code names and tierup does not have: `name`, `reason`, `place`."""

    def __init__(self, name: str, reason: str, place: str):
        self.name, self.reason, self.place = name, reason, place

    def __repr__(self) -> str:
        return f"<{self.name}: {self.reason or 'unknown'}>"


class Model(_core.Model):
    """A model, called like the module that it was: `model(*args, **kwargs)`. Made by `tierup.load`.

    Any number of threads may call it at once; changing weights or attributes needs the caller's order. A context
    manager: leaving it closes the model.
    """

    def __init__(self, source, name: str, options: dict, outputs: str = "auto", origin=None):
        self._options, self._outputs, self._origin = dict(options), outputs, origin
        options.setdefault("print", _print)
        options.setdefault("warn", _warn)
        super().__init__(source, options)
        self._set_outputs(outputs)
        self.name = name
        self._executor = None

    def __enter__(self) -> Model:
        return self

    def __exit__(self, *_) -> None:
        self.close()

    def close(self) -> None:
        """Lets go of the model; calls under way end as they would. Later ones raise InvalidArgument."""
        executor, self._executor = self._executor, None
        if executor is not None:
            executor.close()
        super().close()

    def _own_executor(self):
        from ._executor import Executor

        if self._executor is None:
            self._executor = Executor(self, max_queued=1 << 20)
        return self._executor

    def run_into(self, leaves, outputs) -> None:
        """Writes the flattened result into `outputs`, arrays of its shapes and dtypes; takes flattened arguments."""
        self._own_executor().run_into(leaves, outputs)

    def run_async(self, *args, **kwargs):
        """Runs in a thread of the model's; to be awaited. Cancelling the awaiting task stops the run."""
        return self._own_executor().run_async(*args, **kwargs)

    @property
    def methods(self) -> dict[str, Method]:
        """The methods by name, with their signatures."""
        return {row[0]: Method(*row) for row in self._methods()}

    @property
    def signature(self) -> str:
        """Of forward: "forward(Tensor x, int n=1) -> Tensor"."""
        forward = self.methods.get("forward")
        return forward.signature if forward else ""

    @property
    def inputs(self):
        """What forward takes: an exported program's leaves in order, or TorchScript's arguments."""
        return self._specs("inputs")

    @property
    def outputs(self):
        """What forward gives: an exported program's leaves, or TorchScript's one result."""
        return self._specs("outputs")

    def _specs(self, which: str):
        from ._explain import ValueSpec

        return [ValueSpec(fields) for fields in _core.signature(self, "forward")[which]]

    def explain(self, args=(), kwargs=None, calls: int = 0):
        """How each graph that was called runs, and why so; waits for no compilation. With `calls`, it is called so
        often with `args` and `kwargs` first, and the page shows the time of each call by tier."""
        from ._explain import Explanation

        return Explanation(self, args, kwargs, calls)

    def flush(self) -> None:
        """Drops all plans and profiles: the next calls begin anew at tier 0."""
        _core.flush(self)

    def wait_until_compiled(self, timeout: float | None = None) -> bool:
        """Returns when no compile job waits or runs, or after `timeout` seconds; whether none does."""
        return _core.wait_until_compiled(self, timeout)

    @property
    def attributes(self) -> Attributes:
        """Attributes by dotted path. They are not attributes of this object: names would shadow its own."""
        return Attributes(self)

    @property
    def unsupported(self) -> list[Missing]:
        """What some inputs may reach and would fail on."""
        return [Missing(*row) for row in self._unsupported()]

    @property
    def extra_files(self) -> dict[str, bytes]:
        """Files saved along with the model."""
        return self._extra_files()

    @property
    def stats(self) -> dict[str, int]:
        """Counts of runs and errors."""
        runs, errors = self._stats()
        return {"runs": runs, "errors": errors}

    def state_dict(self) -> dict[str, _core.Tensor]:
        """Parameters and buffers by name, the model's own memory. After writing there: `mark_written()`."""
        return self._state_dict()

    def parameters(self) -> dict[str, _core.Tensor]:
        """Parameters by name."""
        return self._parameters()

    def buffers(self) -> dict[str, _core.Tensor]:
        """Buffers by name."""
        return self._buffers()

    def load_state_dict(self, state, strict: bool = True) -> None:
        """Copies weights in: a mapping of names to arrays, or the path of a torch.save or safetensors file."""
        self._load_state_dict(state if isinstance(state, Mapping) else os.fspath(state), strict)

    def train(self, mode: bool = True) -> Model:
        """Sets `training` on every module that has it."""
        self._train(mode)
        return self

    def eval(self) -> Model:
        """train(False)."""
        return self.train(False)

    def record(self, *args, **kwargs):
        """Calls the model and records it for gradients: results are tierup.Tensor, with backward()."""
        return _core.record(self, *args, **kwargs)

    def zero_grad(self) -> None:
        """Takes the gradients of all parameters away."""
        _core.zero_grad(list(self.parameters().values()))

    def save(self, path) -> None:
        """Writes an archive of the kind that was loaded, which PyTorch opens as well, with the weights as they are."""
        _core.save(self, os.fspath(path))

    def save_state_dict(self, path) -> None:
        """Weights: as safetensors if the path ends so, else as torch.load(weights_only=True) reads them."""
        _core.save_state_dict(self, os.fspath(path))

    def manual_seed(self, seed: int) -> None:
        """Of the model's random generator."""
        self._set_seed(seed)

    def __reduce__(self):
        from . import _pickles

        return _pickles.reduce(self)

    def _repr_html_(self) -> str:
        from ._explain import model_page

        return repr(self) if self.closed else model_page(self)

    def __repr__(self) -> str:
        if self.closed:
            return f"<tierup.Model {self.name!r}, closed>"
        return f"<tierup.Model {self.name!r}, {self.signature or 'without forward'}>"


def _source_of(source):
    """What the extension takes, and a name for messages."""
    if isinstance(source, (bytes, bytearray, memoryview)):
        return bytes(source), "<bytes>"
    if isinstance(source, (str, os.PathLike)):
        path = os.fspath(source)
        return path, os.path.basename(path)
    if isinstance(source, tuple) and len(source) == 2 and callable(source[1]):
        return source, "<reader>"
    if hasattr(source, "read"):
        data = source.read()
        if not isinstance(data, bytes):
            raise TypeError(f"the file gives '{type(data).__name__}' instead of bytes: open it with the mode 'rb'")
        return data, str(getattr(source, "name", "<file>"))
    raise TypeError(
        "a model is loaded from a path, bytes, a file object, or (size, read) with read(offset, count) -> bytes; "
        f"not from '{type(source).__name__}'"
    )


def load(source, *, outputs: str = "auto", **options) -> Model:
    """Loads a TorchScript or torch.export archive.

    `source`: a path, bytes, an open file, or `(size, read)` where `read(offset, count)` gives bytes. `outputs`: the
    kind of results, "auto" (that of the first array given; tierup.Tensor without one), "numpy", "torch" or "tierup".

    Options: `threads` for one operator, 0 the usable cores; `fork_threads`; `inter_op_threads`; `tiering`, how plans
    are made ("compile=off", "compile=blocking"...); `time_limit` of a run in seconds; `max_call_depth`; `seed`;
    `devices_to_cpu`; `load_into_memory`, which reads a file whole instead of mapping it (a mapped file is replaced by
    rename while it is in use: cutting it short ends the process); `allow_unsupported`; `run_model_code_at_load`;
    `plugins`, paths of shared objects; `print` and `warn`, functions that get what the model prints and warns of.
    """
    taken, name = _source_of(source)
    origin = taken if isinstance(taken, (bytes, str)) else None
    return Model(taken, name, options, outputs, origin)
