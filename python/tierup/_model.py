"""Model: the loaded module, as Python's callable."""

from __future__ import annotations

import os
import sys

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


class Model(_core.Model):
    """A model, called like the module that it was: `model(*args, **kwargs)`. Made by `tierup.load`."""

    def __init__(self, source, name: str, options: dict, outputs: str = "auto"):
        options.setdefault("print", _print)
        options.setdefault("warn", _warn)
        super().__init__(source, options)
        self._set_outputs(outputs)
        self.name = name

    def __enter__(self) -> Model:
        return self

    def __exit__(self, *_) -> None:
        self.close()

    @property
    def methods(self) -> dict[str, Method]:
        """The methods by name, with their signatures."""
        return {row[0]: Method(*row) for row in self._methods()}

    def __repr__(self) -> str:
        if self.closed:
            return f"<tierup.Model {self.name!r}, closed>"
        forward = self.methods.get("forward")
        return f"<tierup.Model {self.name!r}, {forward.signature if forward else 'without forward'}>"


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
        return source.read(), str(getattr(source, "name", "<file>"))
    raise TypeError(
        "a model is loaded from a path, bytes, a file object, or (size, read) with read(offset, count) -> bytes; "
        f"not from '{type(source).__name__}'"
    )


def load(source, *, outputs: str = "auto", **options) -> Model:
    """Loads a TorchScript or torch.export archive.

    `source`: a path, bytes, an open file, or `(size, read)` where `read(offset, count)` gives bytes. `outputs`: the
    kind of results, "auto" (that of the first array given), "numpy", "torch" or "tierup".
    """
    taken, name = _source_of(source)
    return Model(taken, name, options, outputs)
