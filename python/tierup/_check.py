"""tierup.check: what a file needs that tierup does not have."""

from __future__ import annotations


class Report:
    """`missing`: what is not there, each with the model's own line; `signature`; `ok`: whether every run can go on."""

    def __init__(self, model, error: str):
        self.name, self.signature, self.missing, self.error = model.name, model.signature, model.unsupported, error
        self.ok = not error

    def __bool__(self) -> bool:
        return self.ok

    def __str__(self) -> str:
        found = [f"- {item.name}: {item.reason}\n{item.place}".rstrip() for item in self.missing]
        return "\n".join([f"{self.name}: {self.signature}", *(found or ["nothing is missing"])])

    def __repr__(self) -> str:
        return f"<report on {self.name!r}: {'ok' if self.ok else f'{len(self.missing)} missing'}>"


def check(source) -> Report:
    """What the file needs, all that is missing, with the model's own lines; runs nothing."""
    from ._errors import Unsupported
    from ._model import load

    try:
        return Report(load(source, tiering="compile=off"), "")
    except Unsupported as error:
        return Report(load(source, tiering="compile=off", allow_unsupported=True), error.message)
