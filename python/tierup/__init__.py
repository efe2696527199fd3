"""tierup: runs PyTorch programs (TorchScript `.pt`, torch.export `.pt2`) without PyTorch.

    import tierup

    model = tierup.load("model.pt")
    result = model(array)          # NumPy in, NumPy out; torch in, torch out; nothing is copied

The first calls are answered at once by an interpreter; compiled plans replace it in the background.
Neither NumPy nor PyTorch is needed, and neither is imported by `import tierup`.
"""

import atexit as _atexit

try:
    from . import _core
except ImportError as _error:
    from ._import_error import reason as _reason

    raise ImportError(_reason(str(_error))) from _error
from . import _errors
from ._core import Object, Tensor, memory_stats, set_memory_limit, tensor
from ._errors import (
    ArgumentTypeError,
    CorruptArchive,
    DeadlineExceeded,
    Error,
    Exhausted,
    Internal,
    InvalidArgument,
    ModelError,
    NotFound,
    OutOfMemory,
    OutOfRange,
    RecursionLimit,
    SyntaxError_,
    Unsupported,
)
from ._executor import Executor
from ._model import Model, load

__version__ = _core.version

__all__ = [
    "ArgumentTypeError",
    "Cancelled",
    "CorruptArchive",
    "DeadlineExceeded",
    "Error",
    "Executor",
    "Exhausted",
    "Internal",
    "InvalidArgument",
    "Model",
    "ModelError",
    "NotFound",
    "Object",
    "OutOfMemory",
    "OutOfRange",
    "RecursionLimit",
    "SyntaxError_",
    "Tensor",
    "Unsupported",
    "load",
    "memory_stats",
    "set_memory_limit",
    "tensor",
]


_atexit.register(_core._end_interpreter)


def __getattr__(name: str):
    if name in ("InferenceSession", "SessionOptions", "RunOptions"):
        from . import _session

        return getattr(_session, name)
    if name == "compile":
        from ._compile import compile

        return compile
    if name == "config":
        from ._config import config

        return config
    if name in ("train", "Optimizer", "Schedule"):
        from . import training

        return getattr(training, name)
    if name in ("check", "Report"):
        from . import _check

        return getattr(_check, name)
    if name in ("explain", "Explanation"):
        from . import _explain

        return getattr(_explain, name)
    raise AttributeError(f"module 'tierup' has no attribute '{name}'")
