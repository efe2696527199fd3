"""ONNX Runtime's names over a Model: code written for it changes one import.

    import tierup as ort

    session = ort.InferenceSession("model.pt2")
    (scores,) = session.run(None, {"x": array})
"""

from __future__ import annotations

import threading

from . import _core, _errors
from ._executor import Executor
from ._model import load

_TYPES = {
    "float32": "float", "float64": "double", "float16": "float16", "bfloat16": "bfloat16", "int8": "int8",
    "int16": "int16", "int32": "int32", "int64": "int64", "uint8": "uint8", "uint16": "uint16", "uint32": "uint32",
    "uint64": "uint64", "bool": "bool", "complex64": "complex64", "complex128": "complex128",
}  # fmt: skip


class NodeArg:
    """An input or output: `name`, `shape` (numbers, names of symbolic sizes), `type` ("tensor(float)")."""

    def __init__(self, spec):
        self.name, self.shape = spec.name, list(spec.shape or [])
        self.type = f"tensor({_TYPES.get(spec.dtype, spec.dtype)})" if spec.dtype else spec.type

    def __repr__(self) -> str:
        return f"NodeArg(name={self.name!r}, type={self.type!r}, shape={self.shape})"


class SessionOptions:
    """Threads. What has no meaning here cannot be set: an option never passes silently."""

    __slots__ = ("intra_op_num_threads", "inter_op_num_threads", "tiering", "plugins")

    def __init__(self):
        self.intra_op_num_threads = 0
        self.inter_op_num_threads = 0
        self.tiering = ""
        self.plugins: list[str] = []

    def register_custom_ops_library(self, path: str) -> None:
        """A shared object with operators (tierup/plugin.h)."""
        self.plugins.append(path)


class RunOptions:
    """Of one run: `terminate` stops it from another thread."""

    __slots__ = ("_terminate",)

    def __init__(self):
        self._terminate = False

    @property
    def terminate(self) -> bool:
        return self._terminate

    @terminate.setter
    def terminate(self, value: bool) -> None:
        self._terminate = bool(value)


class ModelMetadata:
    def __init__(self, model):
        self.graph_name, self.description, self.version = model.name, model.signature, 0
        self.producer_name, self.domain = "PyTorch", ""
        self.custom_metadata_map = {name: text.decode("utf-8", "replace") for name, text in model.extra_files.items()}


class IOBinding:
    """Arrays bound to names, for runs that copy nothing."""

    def __init__(self, session: InferenceSession):
        self._session, self._inputs, self._outputs, self._results = session, {}, {}, []

    def bind_cpu_input(self, name: str, array) -> None:
        self._session._check_names([name], self._session._input_names, "input")
        self._inputs[name] = array

    def bind_output(self, name: str, array=None) -> None:
        """`array` receives the result; without one, it is made by the run."""
        self._session._check_names([name], self._session._output_names, "output")
        self._outputs[name] = array

    def clear_binding_inputs(self) -> None:
        self._inputs.clear()

    def clear_binding_outputs(self) -> None:
        self._outputs.clear()

    def get_outputs(self) -> list:
        return list(self._results)

    copy_outputs_to_cpu = get_outputs


class InferenceSession:
    """A model with ONNX Runtime's names. `providers` may name the CPU's alone."""

    def __init__(self, path_or_bytes, sess_options: SessionOptions | None = None, providers=None, provider_options=None):
        names = [provider if isinstance(provider, str) else provider[0] for provider in providers or []]
        if names and "CPUExecutionProvider" not in names:
            raise _errors.make("unsupported", f"tierup runs on the CPU, not by {', '.join(names)}", "", [])
        if provider_options:
            raise _errors.make("unsupported", "the CPU provider takes no options here", "", [])
        self._options = sess_options or SessionOptions()
        given = {"threads": self._options.intra_op_num_threads, "tiering": self._options.tiering}
        given |= {"inter_op_threads": self._options.inter_op_num_threads, "plugins": list(self._options.plugins)}
        self._model = path_or_bytes if isinstance(path_or_bytes, _core.Model) else load(path_or_bytes, **given)
        self._executor = Executor(self._model)
        self._inputs = [NodeArg(spec) for spec in self._model.inputs if not spec.is_constant]
        self._outputs = [NodeArg(spec) for spec in self._model.outputs]
        self._input_names = [arg.name for arg in self._inputs]
        self._output_names = [arg.name for arg in self._outputs]

    def get_inputs(self) -> list[NodeArg]:
        return self._inputs

    def get_outputs(self) -> list[NodeArg]:
        return self._outputs

    def get_providers(self) -> list[str]:
        return ["CPUExecutionProvider"]

    def get_session_options(self) -> SessionOptions:
        return self._options

    def get_modelmeta(self) -> ModelMetadata:
        return ModelMetadata(self._model)

    @staticmethod
    def _check_names(names, known, what: str) -> None:
        for name in names:
            if name not in known:
                raise _errors.make("invalid_argument", f"no {what} '{name}'; there are {', '.join(known)}", "", [])

    def _leaves(self, feed: dict) -> list:
        self._check_names(feed, self._input_names, "input")
        missing = [name for name in self._input_names if name not in feed]
        if missing:
            raise _errors.make("invalid_argument", f"no value for the input(s) {', '.join(missing)}", "", [])
        return [feed[name] for name in self._input_names]

    def _chosen(self, output_names, results: list) -> list:
        if output_names is None or list(output_names) == []:
            return results
        self._check_names(output_names, self._output_names, "output")
        return [results[self._output_names.index(name)] for name in output_names]

    def run(self, output_names, input_feed: dict, run_options: RunOptions | None = None) -> list:
        """The outputs of these names (None: all), in the kind of the inputs."""
        if run_options is not None and run_options.terminate:
            raise _errors.make("cancelled", "the run's options say terminate", "", [])
        return self._chosen(output_names, self._executor.run_flat(self._leaves(input_feed)))

    def run_async(self, output_names, input_feed: dict, callback, user_data=None, run_options=None) -> None:
        """Runs in another thread, which calls `callback(results, user_data, error text)`."""
        leaves = self._leaves(input_feed)

        def work() -> None:
            try:
                results, error = self._chosen(output_names, self._executor.run_flat(leaves)), ""
            except Exception as failure:
                results, error = [], str(failure)
            callback(results, user_data, error)

        threading.Thread(target=work, daemon=True).start()

    def io_binding(self) -> IOBinding:
        return IOBinding(self)

    def run_with_iobinding(self, binding: IOBinding, run_options: RunOptions | None = None) -> None:
        leaves = self._leaves(binding._inputs)
        names = list(binding._outputs) or self._output_names
        given = [binding._outputs.get(name) for name in self._output_names]
        if all(array is not None for array in given):
            self._executor.run_into(leaves, given)
            binding._results = [given[self._output_names.index(name)] for name in names]
            return
        results = self._executor.run_flat(leaves)
        for array, result in zip(given, results):
            if array is not None:
                array[...] = result
        binding._results = self._chosen(names, results)
