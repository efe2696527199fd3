"""What a model takes, how it runs, and ONNX Runtime's names over it."""

import array
import threading

import pytest
from conftest import DIGITS, ROOT

import tierup

DATA = ROOT / "python" / "tests" / "data"


def block(*shape, value=1.0):
    count = shape[0] * shape[1]
    return memoryview(array.array("f", [value] * count)).cast("B").cast("f", shape)


def test_inputs_and_outputs_are_described():
    model = tierup.load(DATA / "dynamic.pt2")
    x, y = model.inputs
    assert (x.name, x.dtype, y.shape) == ("x", "float32", (4, 2))
    assert isinstance(x.shape[0], str) and x.shape[1] == 4
    assert [output.dtype for output in model.outputs] == ["float32", "float32"]
    scripted = {spec.name: spec for spec in tierup.load(DATA / "nested.pt").inputs}
    assert (scripted["rate"].type, scripted["rate"].has_default, scripted["rate"].default) == ("float", True, 0.5)


def test_sizes_out_of_range_are_refused_by_name():
    model = tierup.load(DATA / "dynamic.pt2")
    assert model(block(64, 4), block(4, 2))[0].shape == (64, 2)
    with pytest.raises(tierup.InvalidArgument, match="x"):
        model(block(3, 5), block(4, 2))


def test_explanations_tell_what_ran():
    model = tierup.load(DIGITS, tiering="compile=blocking,profiled_runs=1")
    image = memoryview(array.array("f", [0.5] * 64)).cast("B").cast("f", (1, 1, 8, 8))
    for _ in range(5):
        model(image)
    assert model.wait_until_compiled(10)
    explanation = model.explain()
    (forward,) = [graph for graph in explanation.graphs if graph["method"] == "forward"]
    assert forward["calls"] == 5 and forward["plans"]
    assert "forward" in str(explanation) and "<table>" in explanation.page()
    assert "<iframe" in explanation._repr_html_() and "digits.pt" in model._repr_html_()
    model.flush()
    assert not [plan for graph in model.explain().graphs for plan in graph["plans"]]


def test_calls_are_timed_and_drawn_by_tier():
    model = tierup.load(DIGITS, tiering="profiled_runs=2,plan_trial=off")
    image = memoryview(array.array("f", [0.5] * 64)).cast("B").cast("f", (1, 1, 8, 8))
    explanation = model.explain((), {"images": image}, calls=12)
    tiers = [call.by_plan for call in explanation.calls]
    assert len(tiers) == 12 and not tiers[0] and tiers[-1]
    assert all(call.milliseconds > 0 for call in explanation.calls)
    page = explanation.page()
    assert page.count("<rect") == 12 and page.count('<rect class="plan"') == sum(tiers)
    assert "<svg" not in model.explain().page()


def test_a_page_is_saved(tmp_path):
    model = tierup.load(DATA / "nested.pt")
    model(array.array("f", [1]))
    model.explain().save(tmp_path / "page.html")
    assert (tmp_path / "page.html").read_text().startswith("<!doctype html>")


def test_files_are_checked_without_a_run():
    report = tierup.check(DATA / "nested.pt")
    assert report.ok and not report.missing and "nothing is missing" in str(report)
    with pytest.raises(FileNotFoundError):
        tierup.check(DATA / "absent.pt")


@pytest.fixture
def session():
    return tierup.InferenceSession(str(DATA / "dynamic.pt2"), providers=["CPUExecutionProvider"])


def test_sessions_have_onnx_runtimes_names(session):
    x, y = session.get_inputs()
    assert (x.name, x.type, y.shape) == ("x", "tensor(float)", [4, 2])
    assert session.get_providers() == ["CPUExecutionProvider"]
    feed = {"x": block(3, 4), "y": block(4, 2)}
    product, total = session.run(None, feed)
    assert product.tolist() == [[4, 4]] * 3 and total.item() == 12
    second = session.get_outputs()[1].name
    assert session.run([second], feed)[0].item() == 12
    assert session.get_modelmeta().graph_name == "dynamic.pt2"


def test_sessions_call_back(session):
    done, seen = threading.Event(), []

    def callback(results, data, error):
        seen.append((len(results), data, error))
        done.set()

    session.run_async(None, {"x": block(3, 4), "y": block(4, 2)}, callback, "mine")
    assert done.wait(10) and seen == [(2, "mine", "")]


def test_sessions_bind_memory(session):
    binding = session.io_binding()
    binding.bind_cpu_input("x", block(3, 4))
    binding.bind_cpu_input("y", block(4, 2))
    product, total = block(3, 2, value=0), memoryview(bytearray(4)).cast("f")
    first, second = (node.name for node in session.get_outputs())
    binding.bind_output(first, product)
    binding.bind_output(second, tierup.tensor(memoryview(bytearray(4)).cast("B").cast("f", [])))
    session.run_with_iobinding(binding)
    assert product.tolist() == [[4, 4]] * 3 and len(total) == 1
    assert [type(output).__name__ for output in binding.get_outputs()] == ["memoryview", "Tensor"]


def test_sessions_refuse_what_has_no_meaning(session):
    with pytest.raises(tierup.InvalidArgument, match="no input 'z'"):
        session.run(None, {"z": block(3, 4)})
    with pytest.raises(tierup.InvalidArgument, match="no value for the input.*y"):
        session.run(None, {"x": block(3, 4)})
    with pytest.raises(tierup.Unsupported, match="CUDA"):
        tierup.InferenceSession(str(DATA / "dynamic.pt2"), providers=["CUDAExecutionProvider"])
    with pytest.raises(AttributeError):
        tierup.SessionOptions().enable_profiling = True
