"""A Model over the weights of a PyTorch module that lives: written, given other memory or replaced between calls."""

from __future__ import annotations

from . import _core
from ._errors import make
from ._model import Model


class _Slot:
    """Where a weight is found before each call: `holder[key]`, a dict of the module's own. `name`: its name in the model;
    `form`: the shape and dtype that it must keep."""

    def __init__(self, name: str, holder: dict, key: str):
        self.name, self.holder, self.key, self.form = name, holder, key, _form(holder[key])


def _form(weight) -> str:
    return "gone" if weight is None else f"{tuple(weight.shape)}, {weight.dtype}"


def _slots(module, tensors: dict) -> list[_Slot]:
    """Of the module's parameters and buffers; what else the program has is looked at where it was found."""
    found = []
    for name, tensor in tensors.items():
        path, _, key = name.rpartition(".")
        try:
            owner = module.get_submodule(path)
        except AttributeError:
            owner = None
        holders = [] if owner is None else [owner._parameters, owner._buffers]
        holder = next((h for h in holders if h.get(key) is not None), {key: tensor})
        if not holder[key].is_inference():  # These do not tell when they are written.
            found.append(_Slot(name, holder, key))
    return found


class LiveModel(Model):
    """Made by `tierup.compile`. Each call looks first whether a weight was written, given other memory, or replaced."""

    def __init__(self, source, name: str, options: dict, outputs: str, module):
        text, tensors = source
        self._slots = _slots(module, tensors)
        seen = self._watch(self._current())
        taken = {name: tensor.detach() for name, tensor in tensors.items() if name not in seen}
        super().__init__((text, taken | seen), name, options, outputs)

    def _current(self) -> list:
        return [slot.holder.get(slot.key) for slot in self._slots]

    def _watch(self, weights: list) -> dict:
        """What the model is to have as its weights: marked as written when PyTorch's are."""
        # Held, so that no other object can come to lie where one of them lay.
        self._weights = weights
        self._live = _core.LiveWeights(weights, list(range(len(weights))), True)
        return self._live.tensors([slot.name for slot in self._slots])

    def _look(self) -> None:
        current = self._current()
        if not self._live.match(current):
            self._take(current)

    def _take(self, current: list) -> None:
        for slot, weight in zip(self._slots, current):
            if _form(weight) != slot.form:
                words = f"the weight '{slot.name}' is {_form(weight)}, and was {slot.form} when it was compiled"
                raise make("invalid_argument", words, "", [])
        for name, tensor in self._watch(current).items():
            self._set_attribute(name, tensor)

    def __call__(self, *args, **kwargs):
        self._look()
        return _core.Model.__call__(self, *args, **kwargs)

    def forward(self, *args, **kwargs):
        self._look()
        return _core.Model.forward(self, *args, **kwargs)

    def run(self, method, *args, **kwargs):
        self._look()
        return _core.Model.run(self, method, *args, **kwargs)

    def run_into(self, leaves, outputs) -> None:
        self._look()
        super().run_into(leaves, outputs)

    def run_async(self, *args, **kwargs):
        self._look()
        return super().run_async(*args, **kwargs)

    def record(self, *args, **kwargs):
        self._look()
        return super().record(*args, **kwargs)
