"""Training from Python, without NumPy and PyTorch: recorded calls, optimisers, schedules, epochs, files."""

import array
import random

import pytest
from conftest import DIGITS, has

import tierup
from tierup import training


def matrix(values, *shape, code="f"):
    return memoryview(array.array(code, values)).cast("B").cast(code, shape)


def images(count, seed=0):
    chance = random.Random(seed)
    labels = [chance.randrange(10) for _ in range(count)]
    pixels = [float(chance.random() < 0.2) + (place // 6 == label) for label in labels for place in range(64)]
    return {"images": matrix(pixels, count, 1, 8, 8), "target": matrix(labels, count, code="q")}


def weights(model):
    return [tensor.tolist() for tensor in model.state_dict().values()]


def test_epochs_lower_the_loss_and_a_seed_repeats_them():
    def trained():
        model = tierup.load(DIGITS)
        model.manual_seed(3)
        optimizer = tierup.Optimizer("SGD", model, lr=0.01, momentum=0.9)
        return model, tierup.train(model, optimizer, images(64), images(32, 1), epochs=3, batch=16)

    model, reports = trained()
    assert [report.epoch for report in reports] == [1, 2, 3]
    assert reports[-1].loss < reports[0].loss and reports[-1].validation_loss is not None
    assert weights(model) == weights(trained()[0])


def test_steps_by_hand_follow_the_gradient():
    model = tierup.load(DIGITS)
    weight = next(iter(model.parameters().values()))
    before = weight.tolist()
    optimizer = tierup.Optimizer("SGD", model, lr=0.5)
    scores = model.record(images(4)["images"])
    assert scores.requires_grad and not scores.is_leaf and weight.is_leaf and weight.grad is None
    scores.backward(matrix([1.0] * 40, 4, 10))
    gradient = weight.grad.tolist()
    optimizer.step()
    flat = lambda nested: [nested] if isinstance(nested, float) else [x for item in nested for x in flat(item)]
    for old, step, new in zip(flat(before), flat(gradient), flat(weight.tolist())):
        assert new == pytest.approx(old - 0.5 * step, rel=1e-4, abs=1e-4)
    optimizer.zero_grad()
    assert weight.grad is None


def test_gradients_are_given_without_touching_leaves():
    model = tierup.load(DIGITS)
    weight = next(iter(model.parameters().values()))
    scores = model.record(images(2)["images"])
    (found,) = training.grad(scores, [weight], matrix([1.0] * 20, 2, 10))
    assert found.shape == weight.shape and weight.grad is None
    with pytest.raises(tierup.Error, match="second time|freed"):
        training.grad(scores, [weight], matrix([1.0] * 20, 2, 10))


def test_groups_rates_and_schedules():
    model = tierup.load(DIGITS)
    named = list(model.parameters().items())
    optimizer = tierup.Optimizer("AdamW", [{"params": dict(named[:2]), "lr": 0.1}, {"params": dict(named[2:])}], lr=0.01)
    assert optimizer.rates == [0.1, 0.01] and len(optimizer.parameters) == len(named)
    schedule = tierup.Schedule("StepLR", optimizer, step_size=1, gamma=0.5)
    schedule.step()
    assert optimizer.rates == pytest.approx([0.05, 0.005]) and schedule.rates() == optimizer.rates
    halves = tierup.Schedule(lambda step: 0.5**step, tierup.Optimizer("SGD", model, lr=1.0))
    halves.step()
    assert halves.rates() == [0.5]
    optimizer.set_rate(0.2)
    assert optimizer.rates == [0.2, 0.2]
    assert optimizer.state_dict()["param_groups"][0]["lr"] == 0.2


def test_wrong_settings_are_named():
    model = tierup.load(DIGITS)
    with pytest.raises(tierup.InvalidArgument, match="momentums"):
        tierup.Optimizer("SGD", model, lr=0.1, momentums=0.9)
    optimizer = tierup.Optimizer("SGD", model, lr=0.1)
    with pytest.raises(TypeError, match="epoch"):
        tierup.train(model, optimizer, images(4), epoch=3)
    with pytest.raises(tierup.Error):
        tierup.Schedule("NoSuchLR", optimizer)


def test_an_exception_in_the_callback_ends_the_training():
    model = tierup.load(DIGITS)
    optimizer = tierup.Optimizer("SGD", model, lr=0.001)
    seen = []

    def callback(report):
        seen.append(report.epoch)
        raise KeyError("of the callback")

    with pytest.raises(KeyError, match="of the callback"):
        tierup.train(model, optimizer, images(8), batch=8, epochs=3, callback=callback)
    assert seen == [1]
    assert len(tierup.train(model, optimizer, images(8), batch=8, epochs=3, callback=lambda report: report.epoch < 2)) == 2


def test_models_and_checkpoints_are_saved(tmp_path):
    model = tierup.load(DIGITS)
    optimizer = tierup.Optimizer("Adam", model, lr=0.001)
    tierup.train(model, optimizer, images(16), batch=8, epochs=1)
    model.save(tmp_path / "trained.pt")
    assert weights(tierup.load(tmp_path / "trained.pt")) == weights(model)
    model.save_state_dict(tmp_path / "weights.safetensors")
    other = tierup.load(DIGITS)
    other.load_state_dict(tmp_path / "weights.safetensors")
    assert weights(other) == weights(model)
    training.save_checkpoint(tmp_path / "run.ckpt", model, optimizer, epoch=1)
    again = tierup.load(DIGITS)
    resumed = tierup.Optimizer("Adam", again, lr=0.5)
    assert training.load_checkpoint(tmp_path / "run.ckpt", again, resumed) == 1
    assert weights(again) == weights(model) and resumed.rates == [0.001]


def test_norms_are_clipped():
    model = tierup.load(DIGITS)
    model.record(images(4)["images"]).backward(matrix([1.0] * 40, 4, 10))
    norm = training.clip_norm(model.parameters(), 1.0)
    assert norm > 1 and training.clip_norm(model.parameters(), 1.0) == pytest.approx(1.0, rel=1e-4)


@pytest.mark.skipif(not has("torch"), reason="PyTorch is not installed")
@pytest.mark.parametrize("kind", ["SGD", "AdamW"])
def test_steps_are_those_of_pytorch(kind):
    import torch

    model, twin = tierup.load(DIGITS), torch.jit.load(str(DIGITS))
    settings = {"lr": 0.01, "weight_decay": 0.1}
    ours = tierup.Optimizer(kind, model, **settings)
    theirs = getattr(torch.optim, kind)(twin.parameters(), **settings)
    x, y = torch.rand(8, 1, 8, 8), torch.randint(0, 10, (8,))
    for _ in range(3):
        ours.zero_grad()
        theirs.zero_grad()
        scores = model.record(x)
        kept = torch.from_dlpack(scores.detach()).clone().requires_grad_()
        torch.nn.functional.cross_entropy(kept, y).backward()
        scores.backward(kept.grad)
        torch.nn.functional.cross_entropy(twin(x), y).backward()
        for weight, other in zip(ours.parameters, twin.parameters()):
            torch.testing.assert_close(torch.from_dlpack(weight.grad), other.grad, rtol=1e-4, atol=1e-5)
            weight.grad = other.grad  # Adam makes steps of one size of the least of differences.
        ours.step()
        theirs.step()
    for name, weight in twin.state_dict().items():
        torch.testing.assert_close(torch.from_dlpack(model.state_dict()[name]), weight, rtol=1e-4, atol=1e-5)
    theirs.load_state_dict(theirs.state_dict())
    ours.load_state_dict(theirs.state_dict())
