"""What the tests share: where models lie, cases of recorded answers, and which optional libraries are there."""

import importlib.util
import os
import pathlib
import warnings

import pytest

import tierup

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
ZOO = ROOT / "tests" / "data" / "zoo"
DIGITS = ROOT / "demo" / "digits.pt"
# Of tests that repeat calls: TIERUP_TEST_ROUNDS=10000 for the whole number.
ROUNDS = int(os.environ.get("TIERUP_TEST_ROUNDS", "500"))


def has(package: str) -> bool:
    return importlib.util.find_spec(package) is not None


needs_numpy = pytest.mark.skipif(not has("numpy"), reason="NumPy is not installed")
needs_torch = pytest.mark.skipif(not has("torch"), reason="PyTorch is not installed")


@pytest.fixture(scope="session")
def digits():
    return tierup.load(DIGITS)


@pytest.fixture
def fresh_graphs():
    """Of torch.compile: nothing is compiled yet, and a graph left to PyTorch is a failure."""
    import torch
    import torch._dynamo

    torch._dynamo.reset()
    torch.manual_seed(0)
    with warnings.catch_warnings():
        warnings.filterwarnings("error", message="tierup")
        yield
    torch._dynamo.reset()
