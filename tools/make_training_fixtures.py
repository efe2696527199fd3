#!/usr/bin/env python3
"""Records what torch.optim does, for tierup/training's tests: tests/data/training.

Needs torch and safetensors. Each optimiser file holds a parameter's values before and after every
step for given gradients, in float32 and float64; schedules.json the rates that schedules give;
checkpoint.pt and random.json what torch.save and the generator wrote.
"""
import argparse
import json
import pathlib
import warnings

import torch
from safetensors.torch import save_file

STEPS = 5
SIZES = [(5, 7), (33,)]  # Whole vectors and rests.

RECIPES = {
    "sgd": ("SGD", {"lr": 0.1}),
    "sgd_momentum": ("SGD", {"lr": 0.1, "momentum": 0.9, "dampening": 0.3, "weight_decay": 0.01}),
    "sgd_nesterov": ("SGD", {"lr": 0.1, "momentum": 0.8, "nesterov": True, "maximize": True}),
    "adam": ("Adam", {"lr": 0.01, "weight_decay": 0.1}),
    "adam_half": ("Adam", {"lr": 0.01, "betas": (0.5, 0.9), "amsgrad": True}),
    "adamw": ("AdamW", {"lr": 0.01, "weight_decay": 0.2, "maximize": True}),
    "rmsprop": ("RMSprop", {"lr": 0.01}),
    "rmsprop_centered": ("RMSprop", {"lr": 0.01, "momentum": 0.5, "centered": True, "weight_decay": 0.1}),
    "adagrad": ("Adagrad", {"lr": 0.1, "lr_decay": 0.1, "initial_accumulator_value": 0.2}),
    "adadelta": ("Adadelta", {"lr": 0.5, "weight_decay": 0.01}),
    "nadam": ("NAdam", {"lr": 0.01, "weight_decay": 0.1}),
    "nadam_decoupled": ("NAdam", {"lr": 0.01, "weight_decay": 0.1, "decoupled_weight_decay": True}),
    "radam": ("RAdam", {"lr": 0.05, "betas": (0.9, 0.9), "weight_decay": 0.01, "decoupled_weight_decay": True}),
    "radam_early": ("RAdam", {"lr": 0.05}),
    "adamax": ("Adamax", {"lr": 0.02, "weight_decay": 0.1}),
}

SCHEDULES = {
    "step": ("StepLR", {"step_size": 3, "gamma": 0.5}),
    "multi_step": ("MultiStepLR", {"milestones": [2, 2, 5], "gamma": 0.3}),
    "constant": ("ConstantLR", {"factor": 0.25, "total_iters": 3}),
    "linear": ("LinearLR", {"start_factor": 0.2, "end_factor": 0.9, "total_iters": 4}),
    "exponential": ("ExponentialLR", {"gamma": 0.8}),
    "polynomial": ("PolynomialLR", {"total_iters": 6, "power": 2.0}),
    "cosine": ("CosineAnnealingLR", {"T_max": 4, "eta_min": 0.01}),
    "warm_restarts": ("CosineAnnealingWarmRestarts", {"T_0": 2, "T_mult": 2, "eta_min": 0.01}),
    "one_cycle": ("OneCycleLR", {"max_lr": 0.5, "total_steps": 12}),
    "cyclic": ("CyclicLR", {"base_lr": [0.05, 0.01], "max_lr": 0.2, "step_size_up": 3, "step_size_down": 2}),
    "cyclic_halves": ("CyclicLR", {"base_lr": 0.01, "max_lr": 0.2, "step_size_up": 2, "mode": "triangular2",
                                   "cycle_momentum": False}),
    "cyclic_decays": ("CyclicLR", {"base_lr": 0.01, "max_lr": [0.2, 0.1], "step_size_up": 2, "mode": "exp_range",
                                   "gamma": 0.9, "base_momentum": 0.7, "max_momentum": 0.95}),
    "one_cycle_linear": ("OneCycleLR", {"max_lr": [0.5, 0.3], "epochs": 4, "steps_per_epoch": 3, "three_phase": True,
                                        "anneal_strategy": "linear", "cycle_momentum": False}),
    "sequence": ("SequentialLR", {"schedulers": [["LinearLR", {"total_iters": 3}], ["CosineAnnealingLR", {"T_max": 5}],
                                                 ["ExponentialLR", {"gamma": 0.5}]], "milestones": [3, 8]}),
    "plateau": ("ReduceLROnPlateau", {"factor": 0.5, "patience": 1, "cooldown": 1}),
    "plateau_max": ("ReduceLROnPlateau", {"mode": "max", "factor": 0.1, "patience": 0, "threshold": 0.01,
                                          "threshold_mode": "abs", "min_lr": 0.002}),
}
METRICS = [1.0, 0.9, 0.95, 0.94, 0.93, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0]


def record_optimizer(kind, settings, seed):
    tensors = {}
    for name, dtype in (("float32", torch.float32), ("float64", torch.float64)):
        torch.manual_seed(seed)
        parameters = [torch.nn.Parameter(torch.randn(size, dtype=torch.float64).to(dtype)) for size in SIZES]
        optimizer = getattr(torch.optim, kind)(parameters, foreach=False, **settings)
        for i, parameter in enumerate(parameters):
            tensors[f"{name}.{i}.start"] = parameter.detach().clone()
        for step in range(STEPS):
            for i, parameter in enumerate(parameters):
                parameter.grad = torch.randn(SIZES[i], dtype=torch.float64).to(dtype)
                tensors[f"{name}.{i}.grad{step}"] = parameter.grad.clone()
                if i == 1 and step == 2:
                    parameter.grad = None  # Skipped: neither it nor its state moves.
            optimizer.step()
            for i, parameter in enumerate(parameters):
                tensors[f"{name}.{i}.after{step}"] = parameter.detach().clone()
    return tensors


def make_schedule(kind, settings, optimizer):
    if kind != "SequentialLR":
        return getattr(torch.optim.lr_scheduler, kind)(optimizer, **settings)
    parts = [make_schedule(name, values, optimizer) for name, values in settings["schedulers"]]
    return torch.optim.lr_scheduler.SequentialLR(optimizer, parts, settings["milestones"])


def record_schedule(kind, settings):
    parameters = [torch.nn.Parameter(torch.zeros(1)) for _ in range(2)]
    optimizer = torch.optim.SGD([{"params": parameters[:1], "lr": 0.1}, {"params": parameters[1:], "lr": 0.02}],
                                momentum=0.9)
    schedule = make_schedule(kind, settings, optimizer)
    rates = [[group["lr"] for group in optimizer.param_groups]]
    momenta = [[group["momentum"] for group in optimizer.param_groups]]
    for metric in METRICS:
        optimizer.step()
        schedule.step(metric) if kind == "ReduceLROnPlateau" else schedule.step()
        rates.append([group["lr"] for group in optimizer.param_groups])
        momenta.append([group["momentum"] for group in optimizer.param_groups])
    return {"kind": kind, "settings": settings, "rates": rates, "momenta": momenta}


def record_checkpoint(path):
    torch.manual_seed(11)
    net = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.BatchNorm1d(4))
    optimizer = torch.optim.AdamW(net.parameters(), lr=0.01, amsgrad=True)
    schedule = torch.optim.lr_scheduler.MultiStepLR(optimizer, [1, 4], gamma=0.5)
    for _ in range(2):
        optimizer.zero_grad()
        net(torch.randn(5, 3)).square().sum().backward()
        optimizer.step()
        schedule.step()
    torch.randn(1)  # Leaves the second of a pair of normals behind.
    torch.save({"model": net.state_dict(), "optimizers": {"main": optimizer.state_dict()},
                "schedules": {"main": schedule.state_dict()}, "rng": torch.get_rng_state(), "epoch": 2}, path)
    next_numbers = torch.cat([torch.randn(1, dtype=torch.float64), torch.rand(700, dtype=torch.float64)])
    for parameter in net.parameters():
        parameter.grad = torch.full_like(parameter, 0.25)
    optimizer.step()
    tensors = {f"after.{name}": value.clone() for name, value in net.state_dict().items()}
    tensors["random"] = next_numbers
    save_file(tensors, path.with_suffix(".safetensors"))


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=pathlib.Path, default=pathlib.Path("tests/data/training"))
    out = parser.parse_args().out
    out.mkdir(parents=True, exist_ok=True)
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    for seed, (name, (kind, settings)) in enumerate(RECIPES.items()):
        save_file(record_optimizer(kind, settings, seed), out / f"{name}.steps.safetensors",
                  {"kind": kind, "settings": json.dumps(settings)})
    lines = [f'"{name}": {json.dumps(record_schedule(*recipe))}' for name, recipe in SCHEDULES.items()]
    (out / "schedules.json").write_text("{\n" + ",\n".join(lines) + "\n}\n")
    record_checkpoint(out / "checkpoint.pt")


if __name__ == "__main__":
    main()
