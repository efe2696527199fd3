"""What the extension does through Python: named tuples, and words for what it refuses."""

from __future__ import annotations

_made: dict[tuple[str, ...], type] = {}


def named_tuple(fields: list[str], items: list):
    """A `collections.namedtuple` of the model's field names; one class per list of names."""
    names = tuple(fields)
    made = _made.get(names)
    if made is None:
        import collections

        made = _made[names] = collections.namedtuple("Result", names, rename=True)
    return made(*items)


def unreadable(tensor, said: str) -> str:
    """Why the memory of a tensor cannot be read, and what to give instead; `said`: what its library told."""
    first = (said.strip().splitlines() or [""])[0]
    try:
        if tensor.is_quantized:
            return "the tensor is quantized: give x.dequantize()"
        if tensor.is_nested:
            return "the tensor is nested, with rows of many lengths: give x.to_padded_tensor(0)"
        if tensor.device.type == "meta":
            return "the tensor is on the device meta, and has no numbers"
        if tensor.device.type != "cpu":
            return f"the tensor is on the device {tensor.device}, and models run on the CPU: give x.cpu()"
        if str(tensor.layout) != "torch.strided":
            return f"the tensor has the layout {tensor.layout}: give x.to_dense()"
    except (AttributeError, RuntimeError):
        pass
    return f"the tensor has no memory that can be read (a transform of torch.func, or a subclass, has none): {first}"
