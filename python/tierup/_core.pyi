from collections.abc import Sequence


version: str = '0.1.0'

class Tensor:
    """
    An array in tierup's memory. A carrier: hand it to NumPy, PyTorch or any other library by DLPack or as a buffer.
    """

    @property
    def shape(self) -> tuple:
        """Sizes, as a tuple."""

    @property
    def strides(self) -> tuple:
        """Strides in elements, as a tuple."""

    @property
    def dtype(self) -> str:
        """The element type's name: 'float32', 'int64'..."""

    @property
    def ndim(self) -> int:
        """The number of dimensions."""

    @property
    def size(self) -> int:
        """The number of elements."""

    def tolist(self) -> object:
        """The elements as nested lists of Python numbers."""

    def item(self) -> object:
        """The one element as a Python number."""

    def to(self, dtype: str) -> Tensor:
        """The same with another element type."""

    def contiguous(self) -> Tensor:
        """Itself if row-major without gaps, else such a copy."""

    def clone(self) -> Tensor:
        """A row-major copy."""

    def numpy(self) -> object:
        """A NumPy array over the same memory."""

    def torch(self) -> object:
        """A PyTorch tensor over the same memory."""

    @property
    def requires_grad(self) -> bool:
        """Whether recorded calls keep what its gradient needs."""

    @requires_grad.setter
    def requires_grad(self, value: bool, /) -> None: ...

    @property
    def is_leaf(self) -> bool:
        """Whether no recorded call made it."""

    @property
    def grad(self) -> Tensor | None:
        """The gradient that backward passes added up; None before the first."""

    @grad.setter
    def grad(self, gradient: object | None) -> None: ...

    def backward(self, gradient: object | None = None, retain_graph: bool | None = None, create_graph: bool = False) -> None:
        """
        Adds the gradients of this result of Model.record to the leaves that it came from.
        """

    def detach(self) -> Tensor:
        """The same memory without a record."""

    def retain_grad(self) -> None:
        """Has a computed tensor keep its gradient."""

    def mark_written(self) -> None:
        """
        To be called after writing, through NumPy or PyTorch, to a weight of a model.
        """

    def __dlpack__(self, *, stream: object | None = None, max_version: object | None = None, dl_device: object | None = None, copy: object | None = None) -> object:
        """A DLPack capsule over the same memory."""

    def __dlpack_device__(self) -> tuple:
        """DLPack's device: the CPU."""

    def __len__(self) -> int: ...

    def __repr__(self) -> str: ...

    __dlpack_c_exchange_api__: PyCapsule = ...

def tensor(array: object) -> Tensor:
    """
    A Tensor over the memory of any array: NumPy's, PyTorch's, a buffer, or one that speaks DLPack. Read-only memory is copied.
    """

class Object:
    """
    An object that a model made. Its attributes can be read, and it can be given back to the model.
    """

    def __getattr__(self, arg: str, /) -> object: ...

    def __repr__(self) -> str: ...

class Model:
    def __init__(self, source: object, options: object) -> None: ...

    def __call__(self, *args, **kwargs) -> object:
        """Calls the model as Python's module(*args, **kwargs)."""

    def forward(self, *args, **kwargs) -> object:
        """Calls forward, without the module's hooks."""

    def run(self, method: str, *args, **kwargs) -> object:
        """Calls a method by its name."""

    def close(self) -> None:
        """
        Lets go of the model; calls under way end as they would. Later ones raise.
        """

    @property
    def closed(self) -> bool:
        """Whether close() was called."""

    def _set_outputs(self, arg: str, /) -> None: ...

    def _methods(self) -> list: ...

    def _unsupported(self) -> list: ...

    def _state_dict(self) -> dict: ...

    def _parameters(self) -> dict: ...

    def _buffers(self) -> dict: ...

    def _load_state_dict(self, arg0: object, arg1: bool, /) -> None: ...

    def _attribute(self, arg: str, /) -> object: ...

    def _set_attribute(self, path: str, value: object | None) -> None: ...

    def _has_attribute(self, arg: str, /) -> bool: ...

    def _train(self, arg: bool, /) -> None: ...

    def _set_seed(self, arg: int, /) -> None: ...

    def _extra_files(self) -> dict: ...

    def _stats(self) -> tuple: ...

class CancellationToken:
    """Stops runs from any thread."""

    def __init__(self) -> None: ...

    def cancel(self) -> None:
        """Stops the runs that have it."""

    @property
    def cancelled(self) -> bool: ...

class Completions:
    def __init__(self, arg: object, /) -> None: ...

    def drain(self) -> list: ...

class PreparedWeights:
    """Weights that were checked and made ready, and wait to be installed."""

class Executor:
    def __init__(self, model: Model, config: object) -> None: ...

    def _run(self, args: object, kwargs: object, time_limit: object | None) -> object: ...

    def run(self, *args, **kwargs) -> object:
        """
        Runs the model as Python's module(*args, **kwargs) and waits for the result.
        """

    def run_flat(self, leaves: object, time_limit: object | None = None) -> list:
        """Takes the flattened arguments in order, gives the flattened result."""

    def run_into(self, leaves: object, outputs: object, time_limit: object | None = None) -> None:
        """
        Writes the flattened result into `outputs`: arrays of its shapes and dtypes.
        """

    def _is_quick(self) -> bool: ...

    def _start(self, args: object, kwargs: object, time_limit: object | None, token: CancellationToken, sink: Completions, ticket: int) -> None: ...

    def close(self) -> None:
        """Waits for the runs under way, and ends."""

    @property
    def closed(self) -> bool:
        """Whether close() was called."""

    def _weights(self) -> dict: ...

    def _swap_weights(self, arg0: object, arg1: bool, /) -> int: ...

    def _prepare_weights(self, arg0: object, arg1: bool, /) -> PreparedWeights: ...

    def install(self, weights: PreparedWeights) -> int:
        """
        Installs prepared weights by one assignment; returns the generation's number.
        """

    def _stats(self) -> dict: ...

    def trim(self) -> int:
        """
        Gives back memory that no run used since the last call; returns how many frames.
        """

def explain(model: Model) -> dict: ...

def signature(model: Model, method: str) -> dict: ...

def wait_until_compiled(model: Model, timeout: object | None) -> bool: ...

def flush(model: Model) -> None: ...

class LiveWeights:
    def __init__(self, arguments: object, positions: Sequence[int], looks_for_writes: bool) -> None: ...

    def match(self, arguments: object) -> bool: ...

    def tensors(self, names: Sequence[str]) -> dict: ...

class GraphCall:
    def __init__(self, weights: object, model: object, fed: Sequence[int], forms: object, shape: object) -> None: ...

    def __call__(self, inputs: object) -> object: ...

def _end_interpreter() -> None: ...

def set_memory_limit(max_bytes: int) -> None:
    """Tensors of all models together may take this many bytes; 0: no limit."""

def machine_info() -> dict: ...

def memory_stats() -> dict: ...

def record(model: Model, *args, **kwargs) -> object: ...

def backward(outputs: object, gradients: object | None, retain_graph: bool | None, create_graph: bool, inputs: object | None) -> None: ...

def grad(outputs: object, inputs: object, gradients: object | None, retain_graph: bool | None, create_graph: bool, allow_unused: bool) -> list: ...

def zero_grad(tensors: object) -> None: ...

def clip_norm(parameters: object, max_norm: float, norm_type: float, error_if_nonfinite: bool) -> float: ...

def clip_value(parameters: object, limit: float) -> None: ...

class Optimizer:
    def __init__(self, kind: str, target: object, settings: object) -> None: ...

    def step(self) -> None:
        """
        One step by the gradients of the parameters; those without one are skipped.
        """

    def zero_grad(self) -> None:
        """Takes the gradients away; they are no zeros then."""

    def _parameters(self) -> list: ...

    def _group_count(self) -> int: ...

    def _rate(self, group: int, /) -> float: ...

    def _set_rate(self, rate: float, group: int, /) -> None: ...

    def state_dict(self) -> dict:
        """What torch.optim would write: {'state': {...}, 'param_groups': [...]}."""

    def load_state_dict(self, state: object) -> None:
        """Of tierup or torch.optim; all differences are listed in the error."""

class Schedule:
    def __init__(self, kind: object, optimizer: Optimizer, settings: object) -> None: ...

    def step(self, metric: float | None = None) -> None:
        """The next rates; ReduceLROnPlateau takes a metric."""

    def rates(self) -> list[float]:
        """The rates of the optimiser's groups."""

    def state_dict(self) -> dict:
        """What torch.optim.lr_scheduler would write."""

    def load_state_dict(self, state: object) -> None:
        """Of tierup or torch.optim.lr_scheduler."""

def train(model: Model, optimizer: Optimizer, schedule: Schedule | None, data: object, validation: object | None, options: object, callback: object | None) -> list: ...

def save(model: Model, path: str, /) -> None: ...

def save_state_dict(model: Model, path: str, /) -> None: ...

def save_checkpoint(path: str, model: Model, optimizer: Optimizer, schedule: Schedule | None, epoch: int) -> None: ...

def load_checkpoint(path: str, model: Model, optimizer: Optimizer, schedule: Schedule | None) -> int: ...
