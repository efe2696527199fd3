"""tierup.compile: modules and functions of PyTorch, exported once."""

import pytest
from conftest import has

if not has("torch"):
    pytest.skip("PyTorch is not installed", allow_module_level=True)

import torch

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
        model.state_dict()["0.weight"].mark_written()
        near(model(x), module(x))


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
