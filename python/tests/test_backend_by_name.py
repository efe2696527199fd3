"""What PyTorch does with every backend that is asked for by its name, here "tierup"."""

import copy

import pytest
from conftest import has

if not has("torch"):
    pytest.skip("PyTorch is not installed", allow_module_level=True)

import torch
import torch._dynamo
from torch._dynamo.testing import CompileCounterWithBackend

pytestmark = pytest.mark.usefixtures("fresh_graphs")


def near(a, b):
    torch.testing.assert_close(a, b, rtol=1e-4, atol=1e-5)


def net():
    return torch.nn.Sequential(torch.nn.Linear(10, 10), torch.nn.ReLU(), torch.nn.Linear(10, 10), torch.nn.Sigmoid())


def test_the_name_is_listed_and_found():
    assert "tierup" in torch._dynamo.list_backends()
    assert callable(torch._dynamo.lookup_backend("tierup"))


def test_a_module_in_evaluation():
    module, x = net().eval(), torch.randn(2, 10)
    near(torch.compile(module, backend="tierup")(x), module(x))


def test_a_module_compiled_in_place_keeps_its_state():
    module = net()
    other = copy.deepcopy(module)
    module.compile(backend="tierup")
    x = torch.randn(2, 10)
    near(module(x), other(x))
    assert list(module.state_dict()) == list(other.state_dict())


def test_a_decorated_function_and_a_method():
    @torch.compile(backend="tierup", fullgraph=True)
    def twice(x):
        return x * 2

    class Scale:
        by = 3.0

        @torch.compile(backend="tierup")
        def __call__(self, x):
            return x * self.by

    x = torch.randn(4)
    near(twice(x), x * 2)
    near(Scale()(x), x * 3)


def test_frames_of_a_function_that_breaks():
    def f(x):
        x = x.sin()
        torch._dynamo.graph_break()
        if x.sum() > 0:
            return x + 1
        return x - 1

    counter = CompileCounterWithBackend("tierup")
    function = torch.compile(f, backend=counter)
    for x in (torch.ones(3), -torch.ones(3), torch.ones(3)):
        near(function(x), f(x))
    plain = CompileCounterWithBackend("eager")
    torch._dynamo.reset()
    function = torch.compile(f, backend=plain)
    for x in (torch.ones(3), -torch.ones(3), torch.ones(3)):
        function(x)
    assert counter.frame_count == plain.frame_count


@pytest.mark.parametrize("context", [torch.no_grad, torch.inference_mode, torch.enable_grad], ids=lambda c: c.__name__)
def test_contexts_compile_anew_and_answer_the_same(context):
    module, x = net(), torch.randn(2, 10)
    function = torch.compile(module, backend="tierup")
    expected = module(x)
    with context():
        for _ in range(3):
            near(function(x), expected)
    near(function(x), expected)


def test_inputs_that_are_written_in_inference_mode():
    def f(x):
        x.add_(1)
        return x * 2

    with torch.inference_mode():
        x = torch.zeros(3)
        function = torch.compile(f, backend="tierup")
        for n in range(1, 4):
            near(function(x), torch.full((3,), 2.0 * n))
            assert x.tolist() == [n] * 3


def test_weights_tied_to_each_other():
    class Tied(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.embed, self.head = torch.nn.Embedding(7, 5), torch.nn.Linear(5, 7, bias=False)
            self.head.weight = self.embed.weight

        def forward(self, ids):
            return self.head(self.embed(ids))

    module, ids = Tied(), torch.tensor([[1, 2, 6]])
    function = torch.compile(module, backend="tierup")
    for _ in range(3):
        module.zero_grad()
        module(ids).square().sum().backward()
        expected = module.embed.weight.grad.clone()
        module.zero_grad()
        function(ids).square().sum().backward()
        near(module.embed.weight.grad, expected)
        with torch.no_grad():
            module.embed.weight.mul_(0.9)


def test_sizes_that_the_data_tell():
    def f(x):
        return x[x > 0] * 2, torch.nonzero(x)

    with torch._dynamo.config.patch(capture_dynamic_output_shape_ops=True):
        function = torch.compile(f, backend="tierup", fullgraph=True)
        for seed in range(4):
            x = torch.randn(8, generator=torch.Generator().manual_seed(seed))
            for a, b in zip(function(x), f(x)):
                near(a, b)


def test_results_that_are_written_afterwards_and_results_of_no_tensors():
    def f(x):
        return x + 1, None, 7, "text", {"a": [x * 2, x]}

    function, x = torch.compile(f, backend="tierup"), torch.ones(3)
    for _ in range(3):
        more, none, seven, text, nested = function(x)
        assert (none, seven, text) == (None, 7, "text") and nested["a"][1] is x
        more.zero_()
        nested["a"][0].fill_(9)
    near(function(x)[0], torch.full((3,), 2.0))


@pytest.mark.parametrize("dynamic", [False, True])
def test_results_lie_as_eagers_do_whatever_the_sizes(dynamic):
    convolution = torch.nn.Conv2d(3, 4, 3, padding=1).to(memory_format=torch.channels_last)

    def f(x):
        y = convolution(x)
        return y, y.relu() + 1, x.transpose(1, 2) * 2, y.mean((2, 3), keepdim=True)

    function = torch.compile(f, backend="tierup", dynamic=dynamic)
    with torch.no_grad():
        for batch in (2, 3, 5):
            x = torch.randn(batch, 3, 6, 5).to(memory_format=torch.channels_last)
            for a, b in zip(function(x), f(x)):
                near(a, b)
                assert a.stride() == b.stride()


def test_hooks_and_gradients_of_inputs():
    module, x = net(), torch.randn(2, 10, requires_grad=True)
    function, seen = torch.compile(module, backend="tierup"), []
    result = function(x)
    result.register_hook(lambda gradient: seen.append(gradient.shape))
    result.sum().backward()
    own, x.grad = x.grad, None
    module(x).sum().backward()
    near(own, x.grad)
    assert seen == [(2, 10)]


def test_gradients_are_added_up_over_several_passes():
    module, other = net(), None
    other = copy.deepcopy(module)
    function = torch.compile(module, backend="tierup")
    for batch in (2, 3, 4):
        x = torch.randn(batch, 10)
        function(x).square().mean().backward()
        other(x).square().mean().backward()
    for a, b in zip(module.parameters(), other.parameters()):
        near(a.grad, b.grad)
