"""Explanations of how a model runs, and what its methods take, for people and notebooks."""

from __future__ import annotations

import html
import math
import time

from . import _core


class ValueSpec:
    """An input or output of a method: `name`, `type`, and for exported programs `dtype` and `shape` (numbers, and names
    of symbolic sizes); `is_constant` inputs must equal `default`, and may be left out."""

    __slots__ = ("name", "type", "dtype", "shape", "is_constant", "is_used", "has_default", "default")

    def __init__(self, fields: dict):
        for name in self.__slots__:
            setattr(self, name, fields[name])

    def __repr__(self) -> str:
        shape = "" if self.shape is None else f"[{', '.join(map(str, self.shape))}]"
        return f"<{self.name}: {self.dtype or self.type}{shape}>"


class Call:
    """A call that an explanation made: `milliseconds`, and `by_plan`, whether no graph ran at tier 0 in it."""

    __slots__ = ("milliseconds", "by_plan")

    def __init__(self, milliseconds: float, by_plan: bool):
        self.milliseconds, self.by_plan = milliseconds, by_plan


def _tier0_calls(model) -> int:
    return sum(graph["tier0_calls"] for graph in _core.explain(model)["graphs"])


def _timed_calls(model, args, kwargs, count: int) -> list[Call]:
    """Each is followed by the end of the compilation that it may have caused."""
    made = []
    for _ in range(count):
        before, begin = _tier0_calls(model), time.perf_counter()
        model(*args, **kwargs)
        took = time.perf_counter() - begin
        model.wait_until_compiled()
        made.append(Call(1e3 * took, _tier0_calls(model) == before))
    return made


def _time_text(milliseconds: float) -> str:
    return f"{milliseconds:.2f} ms" if milliseconds >= 1 else f"{1e3 * milliseconds:.1f} µs"


def _curve(calls: list[Call]) -> str:
    """One bar a call, its height by the logarithm of the time; the colour tells the tier."""
    if not calls:
        return ""
    least, most = (bound(call.milliseconds for call in calls) for bound in (min, max))
    span = max(math.log(most / least), 1e-9)
    width = 1000 / len(calls)
    bars = []
    for i, call in enumerate(calls):
        height = 12 + 110 * math.log(call.milliseconds / least) / span
        bars.append(
            f'<rect class="{"plan" if call.by_plan else "tier0"}" x="{i * width:.2f}" y="{125 - height:.2f}" '
            f'width="{max(0.85 * width, 0.4):.2f}" height="{height:.2f}"><title>call {i + 1}: '
            f"{_time_text(call.milliseconds)}</title></rect>"
        )
    text = f"{len(calls)} calls; fastest {_time_text(least)}, slowest {_time_text(most)}"
    return (
        f'<svg viewBox="0 0 1000 150" role="img" aria-label="time of each call">{"".join(bars)}'
        f'<text x="0" y="145">{text}</text></svg><p><b class="tier0">&#9632;</b> tier 0 '
        '<b class="plan">&#9632;</b> plan</p>'
    )


class Explanation:
    """How each graph of a model that was called runs, and why so: `str()` is a table, notebooks show a page.

    `calls`: the calls that were made for it, if it was asked for some.
    """

    def __init__(self, model, args=(), kwargs=None, calls: int = 0):
        self.name = model.name
        self.calls = _timed_calls(model, args, kwargs or {}, calls)
        self._fields = _core.explain(model)

    @property
    def graphs(self) -> list[dict]:
        return self._fields["graphs"]

    @property
    def options(self) -> str:
        """The tiering options in force."""
        return self._fields["options"]

    def to_dict(self) -> dict:
        return self._fields

    def _rows(self):
        for graph in self.graphs:
            plans = graph["plans"]
            fused = sum(len(region["operators"]) for plan in plans for region in plan["regions"])
            held = sum(plan["held_bytes"] for plan in plans) / (1 << 20)
            served = graph["calls"] - graph["tier0_calls"]
            state = graph["state"] + (f" ({graph['detail']})" if graph["detail"] else "")
            yield graph["method"], state, graph["calls"], served, len(plans), fused, f"{held:.1f}"

    _HEAD = ("method", "state", "calls", "by plans", "plans", "fused operators", "MiB held")

    def __str__(self) -> str:
        rows = [self._HEAD, *([str(cell) for cell in row] for row in self._rows())]
        widths = [max(len(row[i]) for row in rows) for i in range(len(self._HEAD))]
        return "\n".join("  ".join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip() for row in rows)

    def __repr__(self) -> str:
        return f"<explanation of {self.name!r}, {len(self.graphs)} graphs>"

    def page(self) -> str:
        """A page of HTML, whole in itself."""
        cell = lambda value: f"<td>{html.escape(str(value))}</td>"  # noqa: E731
        rows = "".join(f"<tr>{''.join(map(cell, row))}</tr>" for row in self._rows())
        head = "".join(f"<th>{name}</th>" for name in self._HEAD)
        details = "".join(
            f"<details><summary>{html.escape(graph['method'])}, plan {plan['serial']}: {plan['hits']} calls, made in "
            f"{plan['compile_ms']:.1f} ms</summary><pre>{html.escape(plan['guard'])}</pre>"
            f"<pre>{html.escape(plan['steps'])}</pre></details>"
            for graph in self.graphs
            for plan in graph["plans"]
        )
        style = (
            "body{font:14px sans-serif}td,th{padding:2px 10px;text-align:left}pre{font-size:12px;overflow:auto}"
            "svg{width:100%}.tier0{fill:#c8853a;color:#c8853a}.plan{fill:#2f7d6b;color:#2f7d6b}"
        )
        return (
            f"<!doctype html><meta charset=utf-8><title>{html.escape(self.name)}</title><style>{style}</style>"
            f"{_curve(self.calls)}<table><tr>{head}</tr>{rows}</table>{details}"
        )

    def save(self, path) -> None:
        """Writes the page to a file."""
        with open(path, "w", encoding="utf-8") as file:
            file.write(self.page())

    def _repr_html_(self) -> str:
        # A frame of its own: its styles cannot leak into the notebook.
        return f'<iframe srcdoc="{html.escape(self.page(), quote=True)}" width="100%" height="320"></iframe>'


def explain(model, args=(), kwargs=None, calls: int = 0) -> Explanation:
    """How a model runs, and why so. With `calls`, it is called so often with `args` and `kwargs` first, waiting for the
    compilations in between, and the page shows the time of each call."""
    return Explanation(model, args, kwargs, calls)


def model_page(model) -> str:
    """A notebook's view of a model: name, signature, and how it runs."""
    return (
        f"<b>{html.escape(model.name)}</b> <code>{html.escape(model.signature)}</code>"
        + Explanation(model)._repr_html_()
    )
