"""The exceptions: one tree under Error, each class also what a Python user would catch."""

from __future__ import annotations


class Error(RuntimeError):
    """Any error of tierup.

    Attributes: `code` ("invalid_argument", "model_exception"...), `message` (the sentence alone), `context` (where it
    happened, innermost first: the operator with its shapes, the model's own lines), and `python_type` (the exception's
    type where the model raised it, else ""). The context also stands in the traceback, as notes.
    """

    code: str = "internal"
    message: str = ""
    context: tuple[str, ...] = ()
    python_type: str = ""

    def __str__(self) -> str:
        return self.message or RuntimeError.__str__(self)

    def __reduce__(self):
        return make, (self.code, self.message, self.python_type, list(self.context))


class InvalidArgument(Error, ValueError):
    """A value, shape, rank or dtype that the method or operator does not take."""


class OutOfRange(Error, IndexError):
    """An index or number outside its range."""


class ArgumentTypeError(Error, TypeError):
    """A value of another type than declared."""


class SyntaxError_(Error, ValueError):
    """TorchScript that does not parse or type-check."""


class ModelError(Error):
    """Raised by the model's own code; also an instance of the builtin exception that it raised."""


class NotFound(Error, KeyError):
    """A record, attribute, method or name that is not there."""


class FileMissing(NotFound, FileNotFoundError):
    """A file that is not there."""


class Unsupported(Error, NotImplementedError):
    """Known to PyTorch, not done by tierup: the message names it."""


class CorruptArchive(Error, ValueError):
    """Bytes that break the archive's format."""


class DeadlineExceeded(Error, TimeoutError):
    """The time limit of the run passed."""


class OutOfMemory(Error, MemoryError):
    """An allocation failed or passed its limit."""


class RecursionLimit(Error, RecursionError):
    """Call depth or nesting above the limit."""


class Exhausted(Error):
    """All frames are in use, or too many runs wait: the same call may work later."""


class Internal(Error):
    """A bug in tierup."""


_CLASSES: dict[str, type[Error]] = {
    "invalid_argument": InvalidArgument,
    "out_of_range": OutOfRange,
    "type_error": ArgumentTypeError,
    "syntax": SyntaxError_,
    "model_exception": ModelError,
    "not_found": NotFound,
    "unsupported": Unsupported,
    "corrupt_archive": CorruptArchive,
    "deadline_exceeded": DeadlineExceeded,
    "out_of_memory": OutOfMemory,
    "recursion_limit": RecursionLimit,
    "exhausted": Exhausted,
    "internal": Internal,
}
_raised_by_models: dict[str, type[Error]] = {}


def cancelled_class() -> type[Error]:
    """`tierup.Cancelled`, also an asyncio.CancelledError."""
    if "cancelled" not in _CLASSES:
        import asyncio

        class Cancelled(Error, asyncio.CancelledError):
            """The caller cancelled the run."""

        Cancelled.__module__ = "tierup"
        _CLASSES["cancelled"] = Cancelled
    return _CLASSES["cancelled"]


def _model_error(python_type: str) -> type[Error]:
    """ModelError as a subclass of the builtin exception that the model raised."""
    import builtins

    name = python_type.rpartition(".")[2]
    if name not in _raised_by_models:
        builtin = getattr(builtins, name, None)
        made: type[Error] = ModelError
        if isinstance(builtin, type) and issubclass(builtin, Exception) and not issubclass(ModelError, builtin):
            try:
                made = type(f"Model{name}", (ModelError, builtin), {"__module__": "tierup"})
                made("a message alone")
            except TypeError:  # A layout, or arguments, of its own: UnicodeDecodeError.
                made = ModelError
        _raised_by_models[name] = made
    return _raised_by_models[name]


def _class_of(code: str, message: str, python_type: str) -> type[Error]:
    if code == "cancelled":
        return cancelled_class()
    if code == "model_exception" and python_type:
        return _model_error(python_type)
    if code == "not_found" and "No such file" in message:
        return FileMissing
    return _CLASSES.get(code, Error)


def make(code: str, message: str, python_type: str, context: list[str]) -> Error:
    """The exception for an error of the library."""
    error = _class_of(code, message, python_type)(message)
    error.code, error.message, error.context, error.python_type = code, message, tuple(context), python_type
    if hasattr(error, "add_note"):
        for line in context:
            error.add_note(line)
    return error


for _class in [*_CLASSES.values(), Error, FileMissing]:
    _class.__module__ = "tierup"
