"""A net whose weights are changed between calls in every way that PyTorch has, for the tests of torch.compile and
tierup.compile."""

import random

import torch


def net():
    return torch.nn.Sequential(
        torch.nn.Conv2d(3, 8, 3), torch.nn.BatchNorm2d(8), torch.nn.ReLU(), torch.nn.Flatten(), torch.nn.Linear(288, 5)
    ).eval()


# Changes that keep sizes of numbers: thousands of them lose no precision, results stay below 1, so that sums have the
# rounding that assert_close expects of their dtype, and a stale answer is far off.
def write(module):
    with torch.no_grad():
        module[4].weight.neg_()


def replace(module):
    module[4].weight = torch.nn.Parameter(torch.randn(5, 288) / 288)


def give_data(module):
    module[0].weight.data = torch.randn(8, 3, 3, 3) / 27


def fresh_state(module):
    def like(tensor):
        # Weights of a sum by the number of its terms; scales and variances near 1.
        return (torch.rand_like(tensor) + 0.5) / tensor[0].numel()

    return {name: like(t) if t.is_floating_point() else t for name, t in module.state_dict().items()}


def load(module):
    module.load_state_dict(fresh_state(module))


def assign(module):
    module.load_state_dict(fresh_state(module), assign=True)


def buffer(module):
    module[1].running_mean.uniform_(-1, 1)


CHANGES = [write, replace, give_data, load, assign, buffer]


def answers_stay_fresh(module, other, rounds):
    """`other`, the module compiled, answers as the module does, however changes and calls follow each other."""
    chance = random.Random(5)
    x = torch.randn(2, 3, 8, 8)
    with torch.no_grad():
        for step in range(rounds):
            if chance.random() < 0.3:
                chance.choice(CHANGES)(module)
            torch.testing.assert_close(other(x), module(x), msg=lambda text, step=step: f"step {step}: {text}")
