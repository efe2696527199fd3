"""torch.compile(backend="tierup"): functions and modules that were left to PyTorch once, or were wrong."""

import pytest
from conftest import has

if not has("torch"):
    pytest.skip("PyTorch is not installed", allow_module_level=True)

import torch
import torch._dynamo

F = torch.nn.functional
pytestmark = pytest.mark.usefixtures("fresh_graphs")


def compiled(function):
    return torch.compile(function, backend="tierup")


def near(a, b):
    torch.testing.assert_close(a, b, rtol=1e-4, atol=1e-5)


def while_loop(x):
    from torch._higher_order_ops.while_loop import while_loop

    return while_loop(lambda i, x: i < 5, lambda i, x: (i + 1, x * 1.1), (torch.tensor(0), x))[1]


def scan(x):
    from torch._higher_order_ops.scan import scan

    return scan(lambda carried, row: (carried + row, carried * row), torch.zeros(4), x, dim=0)


def mapped(x):
    from torch._higher_order_ops.map import map

    return map(lambda row: row.sin() + 1, x)


def grouped_heads(x):
    query, key = x.reshape(1, 3, 4, 1).repeat(1, 2, 1, 8), x.reshape(1, 3, 4, 1).repeat(1, 1, 1, 8)
    return F.scaled_dot_product_attention(query, key, key, is_causal=True, enable_gqa=True)


def lists(x):
    sums = torch._foreach_add([x, x[0]], [x, x[1]], alpha=2)
    scaled = torch._foreach_mul(sums, [2.0, 3.0])
    return torch._foreach_addcdiv(scaled, sums, sums, 0.5), torch._foreach_norm(scaled, 1), torch._foreach_maximum(sums, 1)


def windows(x):
    window = torch.hann_window(8)
    spectrum = torch.stft(x.repeat(1, 16), 8, 2, window=window, return_complex=True)
    return torch.istft(spectrum, 8, 2, window=window)


def given_memory(x):
    result = torch.empty(0)
    torch._dynamo.graph_break()
    torch.add(x, 1, out=result)
    return result


def checked_solution(x):
    square = x[:, :3] @ x[:, :3].T + 3 * torch.eye(3)
    return torch.linalg.solve(square, x), torch.linalg.cholesky(square)


# What was left to PyTorch once.
FUNCTIONS = {
    "cond": lambda x: torch.cond(x.sum() > 0, lambda x: x.sin(), lambda x: x.cos(), (x,)),
    "while_loop": while_loop,
    "scan": scan,
    "map": mapped,
    "attention of grouped heads": grouped_heads,
    "lists of tensors": lists,
    "windows that are added up": windows,
    "memory given without elements": given_memory,
    "linear algebra that checks for errors": checked_solution,
    "norm of all gradients": lambda x: torch.nn.utils.get_total_norm([x, x[0]]),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions_are_left_whole_to_tierup(name):
    function = FUNCTIONS[name]
    other = compiled(function)
    for sign in (1, -1, 1):
        x = sign * torch.rand(3, 4)
        torch.testing.assert_close(other(x), function(x), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("dynamic", [None, True])
def test_a_view_of_an_input_begins_where_it_does(dynamic):
    def parts(x):
        across = torch.meshgrid(x[0], x[-1], indexing="ij")[1]
        return across, torch.broadcast_tensors(x[0], x[-1].reshape(-1, 1))[1], x.sin()

    other = torch.compile(parts, backend="tierup", dynamic=dynamic)
    for needs_gradient in (False, True):
        whole = torch.arange(20.0).reshape(5, 4)
        x = whole[1:4].requires_grad_(needs_gradient)
        for given, wanted in zip(other(x), parts(x)):
            near(given, wanted)
        assert other(x)[0].data_ptr() == x[-1].data_ptr()


def gradients(function, module, x):
    module.zero_grad()
    function(x).backward()
    return [parameter.grad.clone() for parameter in module.parameters()]


class GroupedAttention(torch.nn.Module):
    """Four heads of queries, two of keys and values; its result is seen in another shape."""

    def __init__(self):
        super().__init__()
        self.query, self.key = torch.nn.Linear(8, 8), torch.nn.Linear(8, 4)

    def forward(self, x):
        query = self.query(x).unflatten(-1, (4, 2)).transpose(1, 2)
        key = self.key(x).unflatten(-1, (2, 2)).transpose(1, 2)
        mixed = F.scaled_dot_product_attention(query, key, key, is_causal=True, enable_gqa=True)
        return mixed.transpose(1, 2).flatten(2)


def test_gradients_of_attention_with_grouped_heads():
    module = GroupedAttention()
    loss = lambda x: module(x).square().mean()  # noqa: E731
    other, x = compiled(loss), torch.randn(2, 5, 8)
    for _ in range(3):
        near(gradients(other, module, x), gradients(loss, module, x))


def test_gradients_under_autocast():
    module = torch.nn.Sequential(torch.nn.Conv2d(3, 8, 3), torch.nn.BatchNorm2d(8), torch.nn.ReLU(), torch.nn.Flatten())

    def loss(x):
        with torch.autocast("cpu", dtype=torch.bfloat16):
            return module(x).float().square().mean()

    other, x = compiled(loss), torch.randn(2, 3, 8, 8)
    for _ in range(3):
        for a, b in zip(gradients(other, module, x), gradients(loss, module, x)):
            torch.testing.assert_close(a, b, rtol=0.05, atol=0.02)


def test_weights_made_for_inference_may_be_written_unseen():
    with torch.inference_mode():
        module = torch.nn.Linear(8, 4)
        other = compiled(module)
        for _ in range(4):
            x = torch.randn(2, 8)
            near(other(x), module(x))
            module.weight.neg_()


def test_gradients_of_gradients_are_refused_as_by_every_backend_of_autograd():
    def cube(x):
        return x.sin() ** 3

    x = torch.rand(3, requires_grad=True)
    (first,) = torch.autograd.grad(compiled(cube)(x).sum(), x, create_graph=True)
    near(first, 3 * x.sin() ** 2 * x.cos())
    with pytest.raises(RuntimeError, match="double backward"):
        first.sum().backward()
