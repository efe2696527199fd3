"""tierup.compile: a PyTorch module or function, exported once, as a Model over PyTorch's own weights."""

from __future__ import annotations

import warnings


def _batch_sizes(tensors):
    """Every first dimension as a symbol, for a first try."""
    import torch

    return torch.utils._pytree.tree_map(
        lambda leaf: {0: torch.export.Dim.AUTO} if isinstance(leaf, torch.Tensor) and leaf.dim() > 0 else None, tensors
    )


def _exported(module, args, kwargs, dynamic):
    import torch

    export = torch.export.export
    if dynamic is not None:
        return export(module, args, kwargs, dynamic_shapes=dynamic or None)
    try:
        names = _batch_sizes(args), _batch_sizes(kwargs)
        shapes = names[0] if not kwargs else _by_name(module, names)
        return export(module, args, kwargs, dynamic_shapes=shapes)
    except Exception as reason:  # What export raises is of many types.
        program = export(module, args, kwargs)
        first = str(reason).strip().splitlines() or [type(reason).__name__]
        warnings.warn(f"tierup.compile: sizes are fixed, since export with dynamic ones failed: {first[0]}", stacklevel=3)
        return program


def _by_name(module, names):
    import inspect

    positional, keyword = names
    parameters = list(inspect.signature(module.forward).parameters)
    return {**dict(zip(parameters, positional)), **keyword}


def _walked(program):
    """(JSON, weights) of an exported program, over PyTorch's memory; Decline if it has more than inputs and results."""
    import torch
    from torch.export.graph_signature import InputKind, OutputKind

    from ._fx_program import Decline, Program

    kinds = {InputKind.PARAMETER: "parameter", InputKind.BUFFER: "buffer", InputKind.CONSTANT_TENSOR: "tensor_constant"}
    bound, tensors = {}, {}
    for position, spec in enumerate(program.graph_signature.input_specs):
        if spec.kind in kinds:
            source = program.constants if spec.target in program.constants else program.state_dict
            bound[position], tensors[spec.target] = (kinds[spec.kind], spec.target), source[spec.target]
        elif spec.kind != InputKind.USER_INPUT:
            raise Decline(f"an input of the kind {spec.kind.name}")
    if any(spec.kind != OutputKind.USER_OUTPUT for spec in program.graph_signature.output_specs):
        raise Decline("writes to weights or inputs")
    signature = program.module_call_graph[0].signature
    dumps = torch.utils._pytree.treespec_dumps
    convention = {
        "in_spec": dumps(signature.in_spec),
        "out_spec": dumps(signature.out_spec),
        "forward_arg_names": signature.forward_arg_names or [],
    }
    ranges = {
        str(symbol): {"min_val": _bound(bounds.lower), "max_val": _bound(bounds.upper)}
        for symbol, bounds in program.range_constraints.items()
    }
    written = Program(program.graph_module, bound, convention, ranges)
    if len([o for o in written.outputs if isinstance(o, torch.fx.Node)]) != len(written.outputs):
        raise Decline("results that are no tensors")
    tensors.update(written.constants)
    return written.json, tensors


def _bound(value):
    import sympy

    return int(value) if isinstance(value, (int, sympy.Integer)) else None  # Else an infinity.


def _saved(program) -> bytes:
    import io

    import torch

    buffer = io.BytesIO()
    torch.export.save(program, buffer)
    return buffer.getvalue()


def _detached(walked):
    text, tensors = walked
    return text, {name: tensor.detach() for name, tensor in tensors.items()}


def compile(
    module_or_function,
    example_args=(),
    example_kwargs=None,
    *,
    dynamic=None,
    method: str = "export",
    weights: str = "live",
    **options,
):
    """A Model of a PyTorch module or function, made by one export with example arguments.

    `dynamic`: as `dynamic_shapes` of torch.export; None tries the first dimension of every tensor as symbolic, and fixes
    sizes with a warning if that fails; False fixes them. `method`: "export", or "script" for torch.jit.script. Options
    are those of `tierup.load`. The Model's weights are PyTorch's own memory. `weights`: "live", each call looks whether one
    was written (its version), given other memory or replaced; or "frozen", none does, and after a write there,
    `model.state_dict()[name].mark_written()`. What the direct way does not take (writes to buffers, constant arguments)
    goes through an archive, with a copy of the weights.
    """
    import torch

    from ._fx_program import Decline
    from ._live_model import LiveModel
    from ._model import Model, load

    if weights not in ("live", "frozen"):
        raise ValueError(f"weights must be 'live' or 'frozen', not {weights!r}")
    outputs = options.pop("outputs", "auto")
    module = module_or_function
    name = getattr(module, "__name__", type(module).__name__)
    if method == "script":
        import io

        buffer = io.BytesIO()
        torch.jit.save(torch.jit.script(module), buffer)
        return load(buffer.getvalue(), outputs=outputs, **options)
    if method != "export":
        raise ValueError(f"method must be 'export' or 'script', not {method!r}")
    if not isinstance(module, torch.nn.Module):
        module = _function_module(module)
    program = _exported(module, tuple(example_args), dict(example_kwargs or {}), dynamic)
    program = program.run_decompositions({})
    try:
        walked = _walked(program)
        if weights == "live":
            return LiveModel(walked, name, options, outputs, module)
        return Model(_detached(walked), name, options, outputs)
    except Decline:
        data = _saved(program)
        return Model(data, name, options, outputs, data)


def _function_module(function):
    import torch

    module = torch.nn.Module()
    module.forward = function
    return module
