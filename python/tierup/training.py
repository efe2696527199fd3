"""Training: models that PyTorch wrote, trained and saved without it. Names and defaults are those of torch.optim.

    model = tierup.load("model.pt")
    optimizer = tierup.Optimizer("AdamW", model, lr=1e-3)
    reports = tierup.train(model, optimizer, {"x": images, "target": labels}, epochs=3, batch=64)
    model.save("trained.pt")

Or step by step:

    optimizer.zero_grad()
    loss = model.record(images, labels)      # forward gives the loss
    loss.backward()
    optimizer.step()
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping

from . import _core
from ._core import Tensor
from ._model import Model


class Optimizer(_core.Optimizer):
    """SGD, Adam, AdamW, RMSprop, Adagrad, Adadelta, NAdam, RAdam or Adamax, with torch.optim's settings.

    `parameters`: a Model (all that require gradients), a mapping of names to tensors (`model.parameters()` or part of
    it), or a list of groups: mappings with "params", such a mapping, and settings of their own.
    """

    def __init__(self, kind: str, parameters, **settings):
        if isinstance(parameters, Model):
            super().__init__(kind, parameters, settings)
            return
        groups = [{"params": parameters}] if isinstance(parameters, Mapping) else list(parameters)
        pairs = []
        for group in groups:
            own = {name: value for name, value in group.items() if name != "params"}
            pairs.append((group["params"], {**settings, **own}))
        super().__init__(kind, pairs, {})

    @property
    def parameters(self) -> list[Tensor]:
        """All of them, in the order of the groups."""
        return self._parameters()

    @property
    def rates(self) -> list[float]:
        """The learning rate of each group."""
        return [self._rate(group) for group in range(self._group_count())]

    def set_rate(self, rate: float, group: int | None = None) -> None:
        """Of one group, or of all."""
        for number in range(self._group_count()) if group is None else [group]:
            self._set_rate(rate, number)


class Schedule(_core.Schedule):
    """Sets an optimiser's rates: a kind of torch.optim.lr_scheduler with its settings, or a function of the number of
    steps whose result the first rates are multiplied by."""

    def __init__(self, kind: str | Callable[[int], float], optimizer: Optimizer, **settings):
        super().__init__(kind, optimizer, settings)


class Report:
    """Of one epoch: `epoch` (from 1), `loss`, `accuracy`, `validation_loss`, `validation_accuracy` (None where there
    is none), `rate`, `seconds`, `is_best`."""

    def __init__(self, fields: dict):
        self.__dict__.update(fields)

    def __repr__(self) -> str:
        return f"<epoch {self.epoch}, loss {self.loss:.4g}>"


def train(
    model: Model,
    optimizer: Optimizer,
    data: Mapping,
    validation: Mapping | None = None,
    *,
    schedule: Schedule | None = None,
    callback: Callable[[Report], bool | None] | None = None,
    **options,
) -> list[Report]:
    """Epochs of shuffled batches; gives a Report of each.

    `data`, and `validation`: columns `[N, ...]`, forward's arguments in order, then the target. Options: `loss`
    ("cross_entropy", "nll", "mse", "l1", "smooth_l1", "huber", "bce", "bce_with_logits"; "output": forward gives it),
    `epochs`, `batch`, `shuffle`, `drop_last`, `clip_norm`, `clip_value`, `early_stop` (epochs without a lower
    validation loss; the best weights come back), `stop_at_nonfinite`, `step_schedule_by_batch`, `checkpoint` (a file
    written after every epoch) and `resume`. The model's seed decides the order of batches. `callback` sees each
    Report; what it raises ends the training, and so does a False.
    """
    if "checkpoint" in options:
        options["checkpoint"] = os.fspath(options["checkpoint"])
    see = None if callback is None else lambda fields: callback(Report(fields))
    reports = _core.train(model, optimizer, schedule, data, validation, options, see)
    return [Report(fields) for fields in reports]


def backward(outputs, gradients=None, *, retain_graph=None, create_graph=False, inputs=None) -> None:
    """Adds the gradients of results of `Model.record` to those of the leaves that they came from."""
    _core.backward(outputs, gradients, retain_graph, create_graph, inputs)


def grad(outputs, inputs, gradients=None, *, retain_graph=None, create_graph=False, allow_unused=False) -> list:
    """The gradients of `inputs`, one for each; no leaf is touched."""
    return _core.grad(outputs, inputs, gradients, retain_graph, create_graph, allow_unused)


def _tensors(parameters) -> list:
    if isinstance(parameters, Mapping):
        return list(parameters.values())
    return list(parameters)


def clip_norm(parameters, max_norm: float, norm_type: float = 2.0, error_if_nonfinite: bool = False) -> float:
    """Scales gradients so that the norm of their norms is at most `max_norm`; gives what it was."""
    return _core.clip_norm(_tensors(parameters), max_norm, norm_type, error_if_nonfinite)


def clip_value(parameters, limit: float) -> None:
    """Clamps gradients to [-limit, limit]."""
    _core.clip_value(_tensors(parameters), limit)


def save_checkpoint(path, model: Model, optimizer: Optimizer, schedule: Schedule | None = None, epoch: int = 0) -> None:
    """Weights, optimiser, schedule, random stream and epoch, as torch.load(weights_only=True) reads it."""
    _core.save_checkpoint(os.fspath(path), model, optimizer, schedule, epoch)


def load_checkpoint(path, model: Model, optimizer: Optimizer, schedule: Schedule | None = None) -> int:
    """Puts everything back and gives the epoch; nothing changes if the file is of something else."""
    return _core.load_checkpoint(os.fspath(path), model, optimizer, schedule)
