"""What the tests share: where models lie, cases of recorded answers, and which optional libraries are there."""

import importlib.util
import pathlib

import pytest

import tierup

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
ZOO = ROOT / "tests" / "data" / "zoo"
DIGITS = ROOT / "demo" / "digits.pt"


def has(package: str) -> bool:
    return importlib.util.find_spec(package) is not None


needs_numpy = pytest.mark.skipif(not has("numpy"), reason="NumPy is not installed")
needs_torch = pytest.mark.skipif(not has("torch"), reason="PyTorch is not installed")


@pytest.fixture(scope="session")
def digits():
    return tierup.load(DIGITS)
