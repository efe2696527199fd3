"""Python values that the extension makes through Python: named tuples."""

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
