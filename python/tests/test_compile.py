"""tierup.compile: modules and functions of PyTorch, exported once."""

import asyncio

import pytest
from conftest import ROUNDS, has

if not has("torch"):
    pytest.skip("PyTorch is not installed", allow_module_level=True)

import torch
import weight_changes

import tierup


def near(a, b):
    torch.testing.assert_close(a, b, rtol=1e-4, atol=1e-5)


def net():
    return torch.nn.Sequential(torch.nn.Linear(16, 8), torch.nn.ReLU(), torch.nn.Linear(8, 4)).eval()


def test_the_batch_may_change_and_weights_are_pytorchs_own():
    module = net()
    model = tierup.compile(module, (torch.randn(3, 16),))
    with torch.no_grad():
        for batch in (3, 5, 1, 8):
            x = torch.randn(batch, 16)
            near(model(x), module(x))
        assert set(model.state_dict()) == set(module.state_dict())
        module[0].weight.mul_(2)
        near(model(x), module(x))


@pytest.mark.parametrize("way", ["call", "forward", "run", "run_into"])
def test_no_interleaving_of_writes_and_calls_gives_a_stale_answer(way):
    module = weight_changes.net()
    example = (torch.randn(2, 3, 8, 8),)
    model = tierup.compile(module, example, dynamic=False, tiering="compile=blocking,profiled_runs=1")

    def into(x):
        result = torch.empty(2, 5)
        model.run_into([x], [result])
        return result

    call = {"call": model, "forward": model.forward, "run": lambda x: model.run("forward", x), "run_into": into}[way]
    weight_changes.answers_stay_fresh(module, call, ROUNDS if way == "call" else 100)


def test_awaited_runs_see_written_and_replaced_weights():
    module = weight_changes.net()
    model = tierup.compile(module, (torch.randn(2, 3, 8, 8),), dynamic=False)

    async def run(x):
        return await model.run_async(x)

    weight_changes.answers_stay_fresh(module, lambda x: asyncio.run(run(x)), 60)


def test_frozen_weights_are_marked_by_hand():
    module, x = net(), torch.randn(3, 16)
    model = tierup.compile(module, (x,), weights="frozen", tiering="compile=blocking,profiled_runs=1")
    with torch.no_grad():
        for _ in range(4):
            near(model(x), module(x))
        module[0].weight.mul_(2)
        model.state_dict()["0.weight"].mark_written()
        near(model(x), module(x))
    with pytest.raises(ValueError, match="'live' or 'frozen', not 'cold'"):
        tierup.compile(module, (x,), weights="cold")


def test_a_weight_of_another_shape_is_refused_by_name():
    module, x = net(), torch.randn(3, 16)
    model = tierup.compile(module, (x,))
    for weight in (torch.nn.Parameter(torch.ones(8, 1)), None):
        module[0].weight = weight
        with torch.no_grad(), pytest.raises(tierup.InvalidArgument, match=r"'0.weight' is .*, and was \(8, 16\)"):
            model(x)


def test_sizes_are_checked():
    model = tierup.compile(net(), (torch.randn(3, 16),), dynamic=False)
    with torch.no_grad(), pytest.raises(tierup.InvalidArgument):
        model(torch.randn(4, 16))


def test_functions_keywords_and_nested_results():
    def f(x, scale=None):
        return {"sum": x.sum(0), "pair": [x * scale, x.max()]}

    x, scale = torch.randn(3, 4), torch.tensor(2.0)
    model = tierup.compile(f, (x,), {"scale": scale})
    result = model(x, scale=scale)
    near(result["sum"], x.sum(0))
    near(result["pair"][0], x * 2)


def test_buffers_that_are_written_and_constants_go_through_an_archive():
    module = torch.nn.BatchNorm1d(4).train()
    expected = torch.nn.BatchNorm1d(4).train()
    model = tierup.compile(module, (torch.randn(6, 4),), dynamic=False)
    with torch.no_grad():
        for _ in range(3):
            x = torch.randn(6, 4)
            near(model(x), expected(x))
        near(torch.from_dlpack(model.state_dict()["running_mean"]), expected.running_mean)


def test_scripts():
    module = net()
    x = torch.randn(2, 16)
    with torch.no_grad():
        near(tierup.compile(module, (x,), method="script")(x), module(x))
    with pytest.raises(ValueError, match="method"):
        tierup.compile(module, (x,), method="trace")
