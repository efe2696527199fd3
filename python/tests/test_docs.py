"""Every Python sample of the documents, and every example, is run."""

import os
import re
import shutil
import subprocess
import sys

import pytest
from conftest import DIGITS, ROOT, has

DOCUMENTS = ["README.md", *sorted(str(p.relative_to(ROOT)) for p in (ROOT / "docs" / "python").glob("*.md"))]
FENCE = re.compile(r"^```python\n(.*?)^```$", re.M | re.S)
SAMPLES = [
    pytest.param(text, id=f"{document}-{n}")
    for document in DOCUMENTS
    for n, text in enumerate(FENCE.findall((ROOT / document).read_text()))
]
EXAMPLES = ROOT / "examples" / "python"


@pytest.fixture
def folder(tmp_path):
    for file in (ROOT / "python" / "tests" / "data").iterdir():
        shutil.copy(file, tmp_path)
    shutil.copy(DIGITS, tmp_path / "model.pt")
    return tmp_path


def run(code, folder):
    (folder / "sample.py").write_text(code)
    done = subprocess.run([sys.executable, "sample.py"], cwd=folder, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr


def test_there_are_samples():
    assert len(SAMPLES) >= 6


@pytest.mark.parametrize("code", SAMPLES)
def test_samples(code, folder):
    for package in ("torch", "numpy"):
        if f"import {package}" in code and not has(package):
            pytest.skip(f"needs {package}")
    run(code, folder)


def test_the_pool_of_processes(folder):
    done = subprocess.run(
        [sys.executable, EXAMPLES / "pool.py", "model.pt"], cwd=folder, capture_output=True, text=True, timeout=600
    )
    assert done.returncode == 0, done.stderr
    assert len(eval(done.stdout)) == 8


@pytest.mark.skipif(not (has("ray") and has("pyarrow")), reason="Ray is not installed: pip install 'ray[data]'")
def test_ray(folder):
    done = subprocess.run(
        [sys.executable, EXAMPLES / "with_ray.py", "model.pt"], cwd=folder, capture_output=True, text=True, timeout=1200
    )
    assert done.returncode == 0 and "64 images" in done.stdout, done.stderr


@pytest.mark.skipif(not (has("starlette") and has("httpx")), reason="Starlette is not installed")
def test_the_endpoint(folder):
    code = (
        "from starlette.testclient import TestClient\nimport app\n"
        "client = TestClient(app.app)\n"
        "answer = client.post('/classify', json={'images': [[0.5] * 64] * 3})\n"
        "assert answer.status_code == 200 and len(answer.json()['digits']) == 3, answer.text\n"
    )
    environment = {**os.environ, "MODEL": "model.pt", "PYTHONPATH": f"{EXAMPLES}:{os.environ.get('PYTHONPATH', '')}"}
    done = subprocess.run([sys.executable, "-c", code], cwd=folder, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
