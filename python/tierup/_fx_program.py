"""FX graphs of ATen operators as the JSON of exported programs: what the library's own front end reads.

One pass over the nodes. A value has its node's name; the values of a node with several results have the name and their
number, and `operator.getitem` nodes are other names of them. Sizes keep their sympy expressions. Weights that are bound
at load are parameters of the program, named by their position; all else are its inputs, in order.
"""

from __future__ import annotations

import json
import math
import operator

import torch
from torch.fx import GraphModule, Node

# The file's numbers; PyTorch's own enumeration has others.
_DTYPES = {
    torch.uint8: 1, torch.int8: 2, torch.int16: 3, torch.int32: 4, torch.int64: 5, torch.float16: 6, torch.float32: 7,
    torch.float64: 8, torch.complex32: 9, torch.complex64: 10, torch.complex128: 11, torch.bool: 12,
    torch.bfloat16: 13, torch.uint16: 28, torch.uint32: 34, torch.uint64: 35,
}  # fmt: skip
_FORMATS = {torch.contiguous_format: 1, torch.channels_last: 2, torch.channels_last_3d: 3, torch.preserve_format: 4}
_LAYOUTS = {torch.strided: 7, torch.sparse_coo: 1, torch.sparse_csr: 2}
_FLASH = torch.ops.aten._scaled_dot_product_flash_attention_for_cpu.default
_WITH_EFFECTS = torch.ops.higher_order.with_effects
_LEAF = {"type": None, "context": None, "children_spec": []}


class Decline(Exception):
    """The graph has something that tierup does not take; the message names it."""


def _tree(kind: str, context: str, children: list) -> dict:
    return {"type": kind, "context": context, "children_spec": children}


def _flat_specs(inputs: int, outputs: int) -> dict:
    arguments = _tree("builtins.tuple", "null", [_LEAF] * inputs)
    in_spec = _tree("builtins.tuple", "null", [arguments, _tree("builtins.dict", "[]", [])])
    out_spec = _tree("builtins.tuple", "null", [_LEAF] * outputs)
    return {
        "in_spec": json.dumps([1, in_spec]),
        "out_spec": json.dumps([1, out_spec]),
        "forward_arg_names": [f"input_{i}" for i in range(inputs)],
    }


def _number(value: float):
    return value if math.isfinite(value) else {math.inf: "Infinity", -math.inf: "-Infinity"}.get(value, "NaN")


def _uses_result(node: Node, number: int) -> bool:
    return any(user.target is not operator.getitem or user.args[1] == number for user in node.users)


class _Writer:
    def __init__(self, graph_module: GraphModule, bound: dict[int, tuple[str, str]]):
        self.module = graph_module
        self.bound = bound
        self.nodes: list[dict] = []
        self.inputs: list[dict] = []
        self.input_specs: list[dict] = []
        self.tensors: dict[str, dict] = {}
        self.numbers: dict[str, dict] = {}
        self.results: dict[Node, list[str]] = {}  # Names of the values of nodes with several.
        self.constants: dict[str, torch.Tensor] = {}
        self.outputs: list = []
        self.fed: list[int] = []  # Positions of the inputs that are no weights.
        self.tokens: set[Node] = set()  # What stands for the order of effects: None in a call.
        self._expressions: dict = {}

    # ---- Values ----

    def size(self, size) -> dict:
        if isinstance(size, int):
            return {"as_int": size}
        expression = size.node.expr
        text = self._expressions.get(expression)
        if text is None:
            import sympy

            text = self._expressions[expression] = sympy.srepr(expression)
        return {"as_expr": {"expr_str": text}}

    def declare(self, name: str, value) -> dict:
        """Notes what is known of a value; gives the reference to it."""
        if isinstance(value, torch.Tensor):
            if value.layout is not torch.strided:
                raise Decline(f"a tensor of the layout {value.layout}")
            if value.device.type != "cpu":
                raise Decline(f"a tensor on {value.device}")
            if value.dtype not in _DTYPES:
                raise Decline(f"a tensor of the dtype {value.dtype}")
            self.tensors[name] = {
                "dtype": _DTYPES[value.dtype],
                "sizes": [self.size(size) for size in value.shape],
                "strides": [self.size(stride) for stride in value.stride()],
            }
            return {"as_tensor": {"name": name}}
        if isinstance(value, (torch.SymInt, int)) and not isinstance(value, bool):
            self.numbers[name] = self.size(value)
            return {"as_sym_int": {"as_name": name}}
        if isinstance(value, (torch.SymBool, bool)):
            return {"as_sym_bool": {"as_name": name}}
        if isinstance(value, (torch.SymFloat, float)):
            return {"as_sym_float": {"as_name": name}}
        raise Decline(f"a value of the type {type(value).__name__}")

    def reference(self, node: Node) -> dict:
        value = node.meta.get("val")
        if isinstance(value, torch.Tensor):
            return {"as_tensor": {"name": self.name(node)}}
        if isinstance(value, (torch.SymBool, bool)):
            return {"as_sym_bool": {"as_name": self.name(node)}}
        if isinstance(value, (torch.SymInt, int)):
            return {"as_sym_int": {"as_name": self.name(node)}}
        if isinstance(value, (torch.SymFloat, float)):
            return {"as_sym_float": {"as_name": self.name(node)}}
        if isinstance(value, (tuple, list)):
            return {"as_tensors": [{"name": name} for name in self.results[node]]}
        raise Decline(f"the value of {node.format_node()}")

    def name(self, node: Node) -> str:
        return self.results[node][0] if node in self.results else node.name

    # ---- Arguments ----

    def argument(self, value) -> dict:
        if isinstance(value, Node):
            inner = self.attribute(value) if value.op == "get_attr" else None
            return self.subgraph(value.name, inner) if isinstance(inner, GraphModule) else self.reference(value)
        if value is None:
            return {"as_none": True}
        if isinstance(value, bool):
            return {"as_bool": value}
        if isinstance(value, int):
            return {"as_int": value}
        if isinstance(value, float):
            return {"as_float": _number(value)}
        if isinstance(value, complex):
            return {"as_complex": {"real": _number(value.real), "imag": _number(value.imag)}}
        if isinstance(value, str):
            return {"as_string": value}
        if isinstance(value, torch.dtype):
            return {"as_scalar_type": self.coded(_DTYPES, value)}
        if isinstance(value, torch.memory_format):
            return {"as_memory_format": self.coded(_FORMATS, value)}
        if isinstance(value, torch.layout):
            return {"as_layout": self.coded(_LAYOUTS, value)}
        if isinstance(value, torch.device):
            return {"as_device": {"type": value.type, "index": value.index}}
        if isinstance(value, (list, tuple)):
            return self.sequence(list(value))
        raise Decline(f"an argument of the type {type(value).__name__}")

    @staticmethod
    def subgraph(name: str, module: GraphModule) -> dict:
        inner = _Writer(module, {})
        graph = inner.graph()
        if inner.constants or len(graph["outputs"]) != len(inner.outputs):
            raise Decline(f"the graph {name}, with constants in it")
        return {"as_graph": {"name": name, "graph": graph}}

    @staticmethod
    def coded(table: dict, value) -> int:
        if value not in table:
            raise Decline(str(value))
        return table[value]

    def sequence(self, items: list) -> dict:
        references = [self.reference(item) if isinstance(item, Node) else None for item in items]
        if any(reference and "as_tensor" in reference for reference in references):
            if None in items:
                return {"as_optional_tensors": [{"as_none": True} if r is None else r for r in references]}
            return {"as_tensors": [reference["as_tensor"] for reference in references]}
        if any(item is None for item in items):
            return {"as_optional_tensors": [{"as_none": True} for _ in items]}
        if any(references):
            kind = next(iter(next(filter(None, references))))
            plain = {"as_sym_int": "as_int", "as_sym_bool": "as_bool", "as_sym_float": "as_float"}[kind]
            return {kind + "s": [r[kind] if r else {plain: item} for r, item in zip(references, items)]}
        if items and all(isinstance(item, bool) for item in items):
            return {"as_bools": items}
        if any(isinstance(item, float) for item in items):
            return {"as_floats": [_number(float(item)) for item in items]}
        if all(isinstance(item, int) for item in items):
            return {"as_ints": items}
        if all(isinstance(item, str) for item in items):
            return {"as_strings": items}
        raise Decline(f"a list of {type(items[0]).__name__}")

    # ---- Nodes ----

    def placeholder(self, node: Node, position: int) -> None:
        if any(user.target is _WITH_EFFECTS and user.args[0] is node for user in node.users):
            self.tokens.add(node)
            return
        value = node.meta.get("val")
        if value is None:
            raise Decline(f"the input {node.name} of an unknown kind")
        reference = self.declare(node.name, value)
        self.inputs.append(reference)
        if position in self.bound:
            kind, name = self.bound[position]
            spec = {kind: {"arg": {"name": node.name}, f"{kind}_name": name}}
        else:
            spec = {"user_input": {"arg": reference}}
            self.fed.append(position)
        self.input_specs.append(spec)

    def attribute(self, node: Node):
        return operator.attrgetter(node.target)(self.module)

    def constant(self, node: Node) -> None:
        value = self.attribute(node)
        if isinstance(value, GraphModule):
            return  # Written where an operator takes it.
        if not isinstance(value, torch.Tensor):
            raise Decline(f"the attribute {node.target}, a {type(value).__name__}")
        node.meta.setdefault("val", value)
        name = f"constant_{len(self.constants)}"
        self.constants[name] = value
        self.inputs.append(self.declare(node.name, value))
        self.input_specs.append({"tensor_constant": {"arg": {"name": node.name}, "tensor_constant_name": name}})

    def call(self, node: Node) -> None:
        if node.target is operator.getitem and node.args[0].target is _WITH_EFFECTS and node.args[1] == 0:
            self.tokens.add(node)
            return
        if node.target is operator.getitem and node.args[0] in self.results:
            self.results[node] = [self.results[node.args[0]][node.args[1]]]
            return
        value = node.meta.get("val")
        if node.target is _FLASH and not _uses_result(node, 1):
            return self.attention(node, value[0])
        if node.target is _WITH_EFFECTS:
            return self.effect(node, value)
        target, inputs = self.target_and_inputs(node)
        if isinstance(value, (tuple, list)):
            names = self.results[node] = [f"{node.name}_{i}" for i in range(len(value))]
            references = [
                {"as_none": True} if item is None else self.declare(name, item) for name, item in zip(names, value)
            ]
            is_list = isinstance(node.target, torch._ops.OpOverload) and len(node.target._schema.returns) == 1
            outputs = [{"as_tensors": [r["as_tensor"] for r in references]}] if is_list else references
        elif value is None:
            outputs = [{"as_none": True}]
        else:
            outputs = [self.declare(node.name, value)]
        self.emit(node, target, inputs, outputs)

    def emit(self, node: Node, target: str, inputs: list[dict], outputs: list[dict]) -> None:
        trace = node.meta.get("stack_trace")
        metadata = {"stack_trace": trace} if trace else {}
        self.nodes.append({"target": target, "inputs": inputs, "outputs": outputs, "metadata": metadata})

    def attention(self, node: Node, value) -> None:
        """Without the sums that a backward pass would need."""
        arguments = dict(zip(("query", "key", "value", "dropout_p", "is_causal"), node.args)) | dict(node.kwargs)
        heads = [arguments[name].meta["val"].shape[1] for name in ("query", "key")]
        arguments["enable_gqa"] = heads[0] != heads[1]
        self.results[node] = [f"{node.name}_0"]
        target = "torch.ops.aten.scaled_dot_product_attention.default"
        self.emit(node, target, self.named(arguments), [self.declare(self.results[node][0], value)])

    def effect(self, node: Node, value) -> None:
        """An operator among those whose order counts, as that of all does here."""
        _, target, *args = node.args
        results = [result for result in value[1:] if result is not None]
        names = [f"{node.name}_{i}" for i in range(len(results))]
        self.results[node] = ["", *names]
        arguments = dict(zip((formal.name for formal in target._schema.arguments), args)) | dict(node.kwargs)
        outputs = [self.declare(name, result) for name, result in zip(names, results)]
        self.emit(node, f"torch.ops.{target}", self.named(arguments), outputs or [{"as_none": True}])

    def target_and_inputs(self, node: Node) -> tuple[str, list[dict]]:
        target, arguments = node.target, {}
        if target is torch.ops.aten.view.default:
            # Nothing is written through it here, and what it sees may lie otherwise than PyTorch's would.
            target = torch.ops.aten.reshape.default
            arguments = {"self": node.args[0], "shape": node.args[1]}
        elif target is torch.ops.prims.convert_element_type.default:
            target, arguments = torch.ops.aten._to_copy.default, {"self": node.args[0], "dtype": node.args[1]}
        elif str(target) == "prims.fma.default":
            factor, other, addend = node.args
            if isinstance(other, Node):
                target, arguments = torch.ops.aten.addcmul.default, {"self": addend, "tensor1": factor, "tensor2": other}
            else:
                target, arguments = torch.ops.aten.add.Tensor, {"self": addend, "other": factor, "alpha": other}
        elif isinstance(target, torch._ops.OpOverload):
            for formal, value in zip(target._schema.arguments, node.args):
                arguments[formal.name] = value
            arguments.update(node.kwargs)
        elif isinstance(target, torch._ops.HigherOrderOperator):
            inputs = [{"name": "", "arg": self.argument(value)} for value in node.args]
            return f"torch.ops.higher_order.{target.name()}", inputs + self.named(node.kwargs)
        elif callable(target) and getattr(target, "__module__", None) in ("_operator", "math", "torch"):
            arguments = {str(i): value for i, value in enumerate(node.args)}
            name = f"{target.__module__}.{target.__name__}"
            return name, self.named(arguments)
        else:
            raise Decline(str(target))
        return f"torch.ops.{target}", self.named(arguments)

    def named(self, arguments: dict) -> list[dict]:
        return [{"name": name, "arg": self.argument(value)} for name, value in arguments.items()]

    def graph(self) -> dict:
        # Constants are inputs of the program, which come before all else.
        placeholders = [node for node in self.module.graph.nodes if node.op == "placeholder"]
        for position, node in enumerate(placeholders):
            self.placeholder(node, position)
        for node in self.module.graph.nodes:
            if node.op == "get_attr":
                self.constant(node)
        for node in self.module.graph.nodes:
            if node.op == "call_function":
                self.call(node)
            elif node.op == "output":
                result = node.args[0]
                values = result if isinstance(result, (tuple, list)) else [result]
                self.outputs = [None if value in self.tokens else value for value in values]
            elif node.op not in ("placeholder", "get_attr"):
                raise Decline(f"a node of the kind {node.op}")
        results = [self.reference(output) for output in self.outputs if isinstance(output, Node)]
        return {
            "inputs": self.inputs,
            "outputs": results,
            "nodes": self.nodes,
            "tensor_values": self.tensors,
            "sym_int_values": self.numbers,
        }

    def write(self, convention: dict | None, ranges: dict) -> str:
        graph = self.graph()
        results = graph["outputs"]
        signature = {
            "input_specs": self.input_specs,
            "output_specs": [{"user_output": {"arg": result}} for result in results],
        }
        root = {"fqn": "", "signature": convention or _flat_specs(len(self.fed), len(results))}
        return json.dumps(
            {
                "schema_version": {"major": 8, "minor": 8},
                "graph_module": {"graph": graph, "signature": signature, "module_call_graph": [root]},
                "range_constraints": ranges,
            }
        )


def weight_name(position: int) -> str:
    """The program's name of the weight that was the graph's input at this position."""
    return f"weight_{position}"


class Program:
    """A graph's JSON; its constants by name; its outputs, of which those that are no nodes are values; and the
    positions of the inputs that it takes in a call."""

    def __init__(self, graph_module: GraphModule, bound: dict[int, tuple[str, str]], convention=None, ranges=None):
        """`bound`: the kind ("parameter", "buffer") and name of each input that is a weight, by position. `convention`:
        the tree specs of arguments and result; None: lists of leaves. `ranges`: bounds of symbols by name."""
        writer = _Writer(graph_module, bound)
        self.json = writer.write(convention, ranges or {})
        self.constants = writer.constants
        self.outputs = writer.outputs
        self.fed = writer.fed
