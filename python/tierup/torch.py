"""`torch.compile(module, backend="tierup")`.

AOTAutograd makes graphs of ATen operators; each is walked into the JSON of an exported program (_fx_program.py) and
loaded in this process. Calls answer at once from tier 0, plans come in the background.

Options, as `torch.compile(..., options={...})`: `fallback`, "graph" (a graph with something missing is run by PyTorch,
with one warning that lists all of it) or "error"; `weights`, "live" (checked in each call for writes and replacement)
or "frozen" (checked for replacement alone); `tiering`, as of `tierup.load`. `mode="max-autotune"` compiles before a
call instead of beside it; `mode="reduce-overhead"` is `weights="frozen"`.
"""

from __future__ import annotations

import threading
import warnings
import weakref

import torch
from torch._dynamo.backends.common import aot_autograd
from torch._guards import TracingContext

from . import _core
from ._errors import Error, Unsupported
from ._foreach import is_foreach, one_by_one
from ._fx_program import Decline, Program, weight_name

_MAX_VARIANTS = 4
_graphs: weakref.WeakSet = weakref.WeakSet()


class Options:
    """What the backend was asked for."""

    def __init__(self, mode: str | None, options: dict | None):
        given = dict(options or {})
        self.fallback = given.pop("fallback", "graph")
        self.weights = given.pop("weights", "frozen" if mode == "reduce-overhead" else "live")
        self.tiering = given.pop("tiering", "compile=blocking,profiled_runs=1" if mode == "max-autotune" else "")
        if given:
            raise ValueError(f"tierup knows no option {', '.join(map(repr, given))}: it has fallback, weights, tiering")
        if self.fallback not in ("graph", "error") or self.weights not in ("live", "frozen"):
            raise ValueError("fallback must be 'graph' or 'error', weights 'live' or 'frozen'")
        if mode not in (None, "default", "reduce-overhead", "max-autotune", "max-autotune-no-cudagraphs"):
            raise ValueError(f"there is no mode {mode!r}")


class _Bound:
    """The program over one set of weights. A weight that dies takes it along."""

    def __init__(self, graph: Graph, arguments: list):
        positions = graph.static
        names = [weight_name(position) for position in positions]
        self.watch = _core.LiveWeights(arguments, positions, graph.options.weights == "live")
        tensors = self.watch.tensors(names)
        tensors.update({name: _core.tensor(value.detach()) for name, value in graph.program.constants.items()})
        options = {"tiering": graph.options.tiering} if graph.options.tiering else {}
        self.model = _core.Model((graph.program.json, tensors), options)
        self.call = _core.GraphCall(self.watch, self.model, graph.program.fed, graph.forms, _shape_result)
        # Another object may come to lie where a dead weight lay. These references go with this object.
        self.alive = True
        own, graph = weakref.ref(self), weakref.ref(graph)
        self.ends = [weakref.ref(arguments[position], lambda _: _forget(graph, own)) for position in positions]


def _forget(graph: weakref.ref, bound: weakref.ref) -> None:
    if graph() is not None and bound() is not None:
        graph().forget(bound())


class Graph:
    """One graph, compiled: called with a list of its inputs, which it empties."""

    def __init__(self, graph_module, static: list[int], kind: str, options: Options):
        placeholders = [node for node in graph_module.graph.nodes if node.op == "placeholder"]
        self.kind, self.options, self.reason = kind, options, ""
        self.mutated = _mutated_inputs(graph_module, placeholders)
        self.original, self.left = graph_module, None
        self.bind(i for i in static if i not in self.mutated and _is_weight(placeholders[i].meta.get("val")))
        results = [node for node in self.program.outputs if isinstance(node, torch.fx.Node)]
        self.forms = [_form(node.meta["val"]) for node in results]
        self.views = _views_of_inputs(results, placeholders)
        self.fixed = len(results) < len(self.program.outputs)
        self.is_random = any(_is_random(node.target) for node in graph_module.graph.nodes)
        self.variants: list[_Bound] = []
        self.lock = threading.RLock()  # The collector may end a weight while it is held.
        # Missing operators are told now, not in a call: over weights without numbers.
        self.probe()
        _graphs.add(self)

    def bind(self, static) -> None:
        """Writes the program, with the inputs at these positions as its weights."""
        self.static = sorted(static)
        self.program = Program(self.original, {i: ("parameter", weight_name(i)) for i in self.static})

    def probe(self) -> None:
        options = {"tiering": "compile=off"}
        _core.Model((self.program.json, {}), options).close()

    def forget(self, bound: _Bound) -> None:
        bound.alive = False
        with self.lock:
            self.variants = [variant for variant in self.variants if variant.alive]

    def bound(self, arguments: list) -> _Bound:
        for variant in self.variants:
            if variant.watch.match(arguments):
                return variant
        with self.lock:
            tracked = [i for i in self.static if not arguments[i].is_inference()]
            if len(tracked) < len(self.static):
                self.bind(tracked)  # Writes to the others would not be seen.
        made = _Bound(self, arguments)
        with self.lock:
            kept = [made, *self.variants[: _MAX_VARIANTS - 1]]
            self.variants = [variant for variant in kept if variant.alive]
        return made

    def __call__(self, arguments: list) -> list:
        if self.left is not None:
            return self.left(arguments)
        taken = arguments.copy()
        arguments.clear()
        try:
            results = self.results_of(taken)
        except Exception as error:
            # What PyTorch says of these inputs is the truth. Not after a write: it would be made twice.
            if self.options.fallback == "error" or self.mutated:
                raise
            return self.by_pytorch(taken, error)
        return self.with_constants(results) if self.fixed else results

    def results_of(self, arguments: list) -> list:
        if torch.is_grad_enabled():
            with torch.no_grad():
                return self.results_of(arguments)
        if self.is_random:
            self.bound(arguments).model._set_seed(torch.empty((), dtype=torch.int64).random_().item())
        for variant in self.variants:
            results = variant.call(arguments)
            if results is not None:
                break
        else:
            results = self.bound(arguments).call(arguments)
        if self.mutated:
            torch.autograd.graph.increment_version([arguments[i] for i in self.mutated])
        for result, argument in self.views:
            results[result] = _in_storage_of(arguments[argument], results[result])
        return results

    def by_pytorch(self, arguments: list, error: Exception):
        """The answer, or the exception, of PyTorch. If it has one, the graph is PyTorch's from here on."""
        with torch.no_grad():
            results = self.original(*arguments)
        warnings.warn(f"tierup leaves this {self.kind} graph to PyTorch: {error}", stacklevel=2)
        self.left = _left_to_pytorch(self.original)
        return results

    def with_constants(self, results: list) -> list:
        left = iter(results)
        return [next(left) if isinstance(output, torch.fx.Node) else output for output in self.program.outputs]

    def __repr__(self) -> str:
        return f"<tierup graph, {self.kind}, {len(self.static)} weights, {len(self.program.fed)} inputs>"


def _is_weight(value) -> bool:
    return isinstance(value, torch.Tensor) and not value.is_inference() and all(isinstance(s, int) for s in value.shape)


def _form(value):
    """The dtype and strides that a result must have; None for strides that are not known before the call, or mean
    nothing, and for what is no tensor."""
    if not isinstance(value, torch.Tensor):
        return None
    strides = tuple(value.stride()) if _is_static(value) and value.numel() > 0 else None
    return str(value.dtype).removeprefix("torch."), strides


def _is_static(value) -> bool:
    return isinstance(value, torch.Tensor) and all(isinstance(n, int) for n in (*value.shape, *value.stride()))


def _shape_result(results: list, i: int, dtype: str, strides) -> None:
    """Gives a result the dtype and strides that it must have, in memory of PyTorch's own: one without elements is often
    resized, as by `out=`."""
    laid = torch.empty_strided(results[i].shape, strides or results[i].stride(), dtype=getattr(torch, dtype))
    results[i] = laid.copy_(results[i])


def _views_of_inputs(results: list, placeholders: list) -> list[tuple[int, int]]:
    """Pairs of a result and the input whose memory it lies in."""

    def storage(node):
        value = node.meta.get("val")
        is_plain = isinstance(value, torch.Tensor) and value.layout == torch.strided
        return value.untyped_storage()._cdata if is_plain else None

    owners: dict = {}
    for position, node in enumerate(placeholders):
        owners.setdefault(storage(node), position)
    owners.pop(None, None)
    return [(i, owners[storage(node)]) for i, node in enumerate(results) if storage(node) in owners]


def _in_storage_of(base: torch.Tensor, result: torch.Tensor) -> torch.Tensor:
    """The same result as a part of the input's storage. Autograd makes its own view from where the result begins
    there, which a tensor of other origin over the same memory does not tell."""
    storage = base.untyped_storage()
    begin = result.data_ptr() - storage.data_ptr()
    if not 0 <= begin < storage.nbytes():
        return result
    part = torch.empty(0, dtype=result.dtype, device=base.device)
    return part.set_(storage, begin // result.element_size(), result.shape, result.stride())


def _is_random(target) -> bool:
    return isinstance(target, torch._ops.OpOverload) and torch.Tag.nondeterministic_seeded in target.tags


def _mutated_inputs(graph_module, placeholders) -> list[int]:
    """Inputs that an operator of the graph writes to."""
    position = {node: i for i, node in enumerate(placeholders)}
    written = set()
    for node in graph_module.graph.nodes:
        if node.op != "call_function" or not isinstance(node.target, torch._ops.OpOverload):
            continue
        for formal, value in zip(node.target._schema.arguments, node.args):
            if formal.alias_info is not None and formal.alias_info.is_write and value in position:
                written.add(position[value])
    return sorted(written)


def _decomposed(graph_module, missing: set[str]):
    """The graph with PyTorch's own decompositions of what is missing; None if there are none."""
    from torch._decomp import get_decompositions
    from torch.fx.experimental.proxy_tensor import make_fx

    targets = {
        node.target
        for node in graph_module.graph.nodes
        if node.op == "call_function" and isinstance(node.target, torch._ops.OpOverload)
    }
    wanted = [target for target in targets if target._schema.name + _overload(target) in missing]
    table = get_decompositions(wanted) | {target: one_by_one(target) for target in wanted if is_foreach(target)}
    if not table:
        return None
    values = [node.meta["val"] for node in graph_module.graph.nodes if node.op == "placeholder"]
    with torch._guards.detect_fake_mode(values):
        return make_fx(graph_module, decomposition_table=table)(*values)


def _overload(target) -> str:
    return f".{target._overloadname}" if target._overloadname != "default" else ""


def _missing_names(error: Unsupported) -> set[str]:
    return {line[2:].split(": ")[0] for line in error.message.splitlines() if line.startswith("- ")}


def _compile_graph(graph_module, example_inputs, kind: str, options: Options):
    context = TracingContext.try_get()
    metadata = context.fw_metadata if context is not None else None
    # An optimiser writes the weights of a graph with a backward in every step: nothing is made of them.
    static = list(getattr(metadata, "static_input_indices", None) or []) if kind == "inference" else []
    try:
        try:
            return _boxed(Graph(graph_module, static, kind, options))
        except Unsupported as error:
            simpler = _decomposed(graph_module, _missing_names(error))
            if simpler is None:
                raise
            return _boxed(Graph(simpler, static, kind, options))
    except (Decline, Error) as error:
        if options.fallback == "error":
            raise
        warnings.warn(f"tierup leaves this {kind} graph to PyTorch: {error}", stacklevel=2)
        return _left_to_pytorch(graph_module)


def _left_to_pytorch(graph_module):
    def run(arguments: list):
        inputs = list(arguments)
        arguments.clear()
        return graph_module(*inputs)

    return _boxed(run)


def _boxed(callable_):
    """As a function: PyTorch's wrappers copy a function's attributes, and not those of a class."""

    def run(arguments: list):
        return callable_(arguments)

    run._boxed_call = True
    return run


def backend(graph_module, example_inputs, *, mode: str | None = None, options: dict | None = None):
    """The backend that `torch.compile` finds by its name."""
    chosen = Options(mode, options)

    def compiler(kind: str):
        return lambda graph, inputs: _compile_graph(graph, inputs, kind, chosen)

    return aot_autograd(
        fw_compiler=compiler("forward"),
        bw_compiler=compiler("backward"),
        inference_compiler=compiler("inference"),
        keep_inference_input_mutations=True,
    )(graph_module, example_inputs)
