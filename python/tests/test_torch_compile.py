"""torch.compile(backend="tierup"): answers, weights written and replaced, sizes, mutations, layouts, what is missing."""

import pytest
from conftest import ROUNDS, has

if not has("torch"):
    pytest.skip("PyTorch is not installed", allow_module_level=True)

import torch
import torch._dynamo
from weight_changes import answers_stay_fresh, net, replace

import tierup.torch

F = torch.nn.functional
pytestmark = pytest.mark.usefixtures("fresh_graphs")


def compiled(module, **options):
    return torch.compile(module, backend="tierup", **options)


def near(a, b):
    torch.testing.assert_close(a, b, rtol=1e-4, atol=1e-5)


class Transformer(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = torch.nn.Embedding(50, 16)
        self.layer = torch.nn.TransformerEncoderLayer(16, 2, 32, batch_first=True)
        self.out = torch.nn.Linear(16, 50)

    def forward(self, ids):
        return self.out(self.layer(self.embed(ids))).softmax(-1)


CASES = {
    "net": (net, lambda: (torch.randn(2, 3, 8, 8),)),
    "transformer": (lambda: Transformer().eval(), lambda: (torch.randint(0, 50, (2, 7)),)),
    "lstm": (lambda: torch.nn.LSTM(4, 6, batch_first=True).eval(), lambda: (torch.randn(2, 5, 4),)),
}


@pytest.mark.parametrize("name", CASES)
def test_answers_are_those_of_eager(name):
    make, inputs = CASES[name]
    module = make()
    other = compiled(module)
    with torch.no_grad():
        for _ in range(6):
            args = inputs()
            near(other(*args), module(*args))


def test_blocking_compilation_answers_the_same():
    module = net()
    other = compiled(module, mode="max-autotune")
    with torch.no_grad():
        for _ in range(4):
            x = torch.randn(2, 3, 8, 8)
            near(other(x), module(x))


def test_changing_sizes_need_no_more_compilations_than_a_backend_that_does_nothing():
    def count(backend):
        torch._dynamo.reset()
        seen = []

        def counting(graph, inputs, **options):
            seen.append(graph)
            return torch._dynamo.lookup_backend(backend)(graph, inputs)

        module, function = net(), None
        function = torch.compile(module, backend=counting)
        with torch.no_grad():
            for batch in range(2, 102):
                x = torch.randn(batch, 3, 8, 8)
                near(function(x), module(x))
        return len(seen)

    assert count("tierup") == count("aot_eager")


def test_arithmetic_on_sizes():
    def f(x):
        half = x.shape[0] // 2
        return x[:half].reshape(half * x.shape[1]) * (x.shape[0] + 1), x.shape[0] * 2

    other = compiled(f, dynamic=True)
    with torch.no_grad():
        for n in (4, 6, 9):
            x = torch.randn(n, 3)
            result, number = other(x)
            near(result, f(x)[0])
            assert number == n * 2


def test_no_interleaving_of_writes_and_calls_gives_a_stale_answer():
    module = net()
    answers_stay_fresh(module, compiled(module, options={"tiering": "compile=blocking,profiled_runs=1"}), ROUNDS)


def test_two_modules_of_one_class_share_the_code_and_not_the_weights():
    first, second = net(), net()
    a, b = compiled(first), compiled(second)
    x = torch.randn(2, 3, 8, 8)
    with torch.no_grad():
        for _ in range(5):
            near(a(x), first(x))
            near(b(x), second(x))


def test_weights_are_not_kept_alive():
    import gc
    import weakref

    module = net()
    other = compiled(module)
    with torch.no_grad():
        other(torch.randn(2, 3, 8, 8))
    gone = weakref.ref(module[4].weight)
    del module, other
    torch._dynamo.reset()
    gc.collect()
    assert gone() is None


def test_inputs_are_mutated_in_place():
    def f(x, y):
        x.add_(y)
        y[0] = 7
        return x * 2

    other = compiled(f)
    for _ in range(4):
        x, y = torch.ones(3), torch.ones(3)
        version = x._version
        near(other(x, y), torch.full((3,), 4.0))
        assert x.tolist() == [2, 2, 2] and y.tolist() == [7, 1, 1] and x._version > version


def test_outputs_alias_inputs_as_in_eager():
    def f(x):
        return x.t(), x, x + 1

    x = torch.randn(2, 3)
    transposed, same, more = compiled(f)(x)
    assert transposed.data_ptr() == x.data_ptr() and same is x
    near(more, x + 1)


def test_layouts_of_results_are_those_of_eager():
    module = net()[:3].to(memory_format=torch.channels_last)
    other = compiled(module)
    x = torch.randn(2, 3, 8, 8).to(memory_format=torch.channels_last)
    with torch.no_grad():
        for _ in range(5):
            result, expected = other(x), module(x)
            assert result.stride() == expected.stride()
            near(result, expected)


@pytest.mark.parametrize(
    "x",
    [
        torch.randn(4, 3).t(),
        torch.randn(3, 1).expand(3, 4),
        torch.randn(3, 4, dtype=torch.float64),
        torch.randn(3, 4, dtype=torch.bfloat16),
        torch.arange(12).reshape(3, 4),
        torch.randn(3, 4) > 0,
        torch.randn(0, 4),
        torch.tensor(2.0),
        torch.randn(3, 4, dtype=torch.complex64).conj(),
        torch._neg_view(torch.randn(3, 4)),
    ],
    ids=str,
)
def test_inputs_of_every_layout(x):
    def f(x):
        return x + x, x * 2

    for a, b in zip(compiled(f)(x), f(x)):
        assert a.dtype == b.dtype
        near(a, b)


def test_what_is_missing_leaves_the_graph_to_pytorch_with_one_warning():
    def f(x):
        return torch.ops.tierup_tests.strange(x) + 1

    torch.library.define("tierup_tests::strange", "(Tensor x) -> Tensor", tags=())
    torch.library.impl("tierup_tests::strange", "CPU", func=lambda x: x * 3)
    torch.library.register_fake("tierup_tests::strange", lambda x: torch.empty_like(x))
    other = compiled(f)
    with pytest.warns(UserWarning, match="tierup_tests::strange") as seen:
        for _ in range(3):
            near(other(torch.ones(2)), torch.full((2,), 4.0))
    assert len(seen) == 1
    torch._dynamo.reset()
    with pytest.raises(Exception, match="tierup_tests::strange"):
        compiled(f, options={"fallback": "error"})(torch.ones(2))


def test_unknown_options_are_refused():
    with pytest.raises(Exception, match="knows no option 'fast'"):
        compiled(lambda x: x + 1, options={"fast": True})(torch.ones(2))


def test_random_numbers_follow_the_generator_of_pytorch():
    def f(x):
        return F.dropout(x, 0.5, training=True)

    other, x = compiled(f), torch.ones(1000)
    torch.manual_seed(3)
    first, second = other(x), other(x)
    torch.manual_seed(3)
    assert torch.equal(other(x), first) and not torch.equal(first, second)
    assert set(first.tolist()) == {0.0, 2.0} and 400 < int((first == 0).sum()) < 600


class Recurrent(torch.nn.Module):
    def __init__(self, kind):
        super().__init__()
        self.layers = getattr(torch.nn, kind)(8, 12, num_layers=2, bidirectional=True, batch_first=True)
        self.out = torch.nn.Linear(24, 10)

    def forward(self, x):
        return self.out(self.layers(x.flatten(1, 2))[0][:, -1])


class Attention(torch.nn.Module):
    """Over [length, batch, width] inside: the result of attention lies as its query does."""

    def __init__(self):
        super().__init__()
        self.layer = torch.nn.TransformerEncoderLayer(8, 2, 16, dropout=0.0, batch_first=True)
        self.out = torch.nn.Linear(8, 10)

    def forward(self, x):
        return self.out(self.layer(x.flatten(1, 2)).mean(1))


TRAINED = {
    "mlp": lambda: torch.nn.Sequential(
        torch.nn.Flatten(), torch.nn.Linear(64, 32), torch.nn.ReLU(), torch.nn.Linear(32, 10)
    ),
    "digits": lambda: torch.nn.Sequential(
        torch.nn.Conv2d(1, 8, 3), torch.nn.BatchNorm2d(8), torch.nn.ReLU(), torch.nn.Flatten(), torch.nn.Linear(288, 10)
    ),
    "lstm": lambda: Recurrent("LSTM"),
    "gru": lambda: Recurrent("GRU"),
    "attention": Attention,
}
# Rates at which the loss of each falls well within the steps of a curve.
SGD_RATES = {"mlp": 0.05, "digits": 0.05, "lstm": 3.0, "gru": 0.5, "attention": 0.5}
OPTIMISERS = {
    "sgd": lambda name, parameters: torch.optim.SGD(parameters, lr=SGD_RATES[name], momentum=0.9),
    "adamw": lambda name, parameters: torch.optim.AdamW(parameters, lr=0.02),
}


def curve(backend, name, optimiser, steps=12):
    """Losses of a training whose forward, backward and steps are graphs."""
    torch.manual_seed(1)
    torch._dynamo.reset()
    module = TRAINED[name]()
    optimiser = OPTIMISERS[optimiser](name, module.parameters())
    x, y = torch.randn(32, 1, 8, 8), torch.randint(0, 10, (32,))

    def loss_of(x, y):
        return F.cross_entropy(module(x), y)

    function = torch.compile(loss_of, backend=backend) if backend else loss_of
    step = torch.compile(optimiser.step, backend=backend) if backend else optimiser.step
    losses = []
    for _ in range(steps):
        optimiser.zero_grad()
        loss = function(x, y)
        loss.backward()
        step()
        losses.append(loss.item())
    return losses


@pytest.mark.parametrize("optimiser", OPTIMISERS)
@pytest.mark.parametrize("name", TRAINED)
def test_training_follows_eagers_curve(name, optimiser):
    expected = curve(None, name, optimiser)
    losses = curve("tierup", name, optimiser)
    assert expected[-1] < 0.8 * expected[0]
    assert losses == pytest.approx(expected, rel=1e-3, abs=1e-4)


def test_what_fails_in_a_call_is_left_to_pytorch_and_errors_are_pytorchs(monkeypatch):
    def f(x, i):
        return F.embedding(i, x) * 2

    other, x = compiled(f), torch.randn(4, 3)
    near(other(x, torch.tensor([1])), f(x, torch.tensor([1])))
    with pytest.raises(IndexError):
        other(x, torch.tensor([9]))
    near(other(x, torch.tensor([2])), f(x, torch.tensor([2])))

    def fails(self, arguments):
        raise RuntimeError("a kernel that is not there")

    monkeypatch.setattr(tierup.torch.Graph, "results_of", fails)
    with pytest.warns(UserWarning, match="a kernel that is not there") as seen:
        for _ in range(3):
            near(other(x, torch.tensor([3])), f(x, torch.tensor([3])))
    assert len(seen) == 1


def test_frozen_weights_are_looked_at_for_replacement():
    module = net()
    other = compiled(module, options={"weights": "frozen"})
    x = torch.randn(2, 3, 8, 8)
    with torch.no_grad():
        for _ in range(40):  # A new object soon lies where a dead one lay.
            near(other(x), module(x))
            replace(module)
