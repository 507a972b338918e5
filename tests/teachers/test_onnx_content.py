"""ONNX files that cannot be trusted: refused in one line before they run, ended by Ctrl-C while they do, and silent."""

import json
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper
from skl2onnx import to_onnx
from sklearn.ensemble import RandomForestClassifier

import softlabel
from softlabel.data.problem import Problem
from softlabel.errors import InputError
from softlabel.export import export_student, load_model
from softlabel.teachers.onnx_content import OURS, checksum
from softlabel.teachers.onnx_file import OnnxTeacher
from softlabel.teachers.onnx_runtime import interruptible
from softlabel.teachers.onnx_session import OnnxSession
from softlabel.teachers.sources import query_teacher
from tests.export.students import inputs, student
from tests.mutations import refusals
from tests.networks.deep.small import images

FLOAT, INT64, BOOL = TensorProto.FLOAT, TensorProto.INT64, TensorProto.BOOL
ROWS = inputs(90)
TRUTH = (ROWS[:, 0] > 0).astype(int)
PROBLEM = Problem.from_arrays(ROWS, TRUTH)


def value(name, kind=FLOAT, shape=("n", 3)):
    return helper.make_tensor_value_info(name, kind, list(shape))


def model(nodes=None, given=None, taken=None, constants=None, about=None):
    """x (n, 3) times w, unless told otherwise."""
    nodes = nodes or [helper.make_node("MatMul", ["x", "w"], ["z"])]
    given = [value("x")] if given is None else given
    taken = [value("z", shape=("n", 2))] if taken is None else taken
    weights = np.random.default_rng(0).normal(size=(3, 2)).astype(np.float32)
    held = [numpy_helper.from_array(weights, "w")] if constants is None else constants
    graph = helper.make_graph(nodes, "g", given, taken, held)
    built = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
    helper.set_model_props(built, about or {})
    return built


def endless(kind="Loop"):
    """A loop of 2⁶² turns about nothing."""
    body = helper.make_graph(
        [helper.make_node("Identity", ["go"], ["on"]), helper.make_node("Identity", ["a"], ["b"])], "body",
        [value("i", INT64, ()), value("go", BOOL, ()), value("a")], [value("on", BOOL, ()), value("b")],
    )  # fmt: skip
    loop = helper.make_node("Loop", ["many", "", "x"], ["turned"], body=body)
    constants = [
        numpy_helper.from_array(np.array(2**62), "many"),
        numpy_helper.from_array(np.ones((3, 2), np.float32), "w"),
    ]
    if kind == "If":
        branch = helper.make_graph([loop], "branch", [], [value("turned")])
        other = helper.make_graph([helper.make_node("Identity", ["x"], ["same"])], "other", [], [value("same")])
        loop = helper.make_node("If", ["yes"], ["turned"], then_branch=branch, else_branch=other)
        constants.append(numpy_helper.from_array(np.array(True), "yes"))
    return model([loop, helper.make_node("MatMul", ["turned", "w"], ["z"])], constants=constants)


def outside():
    built = model()
    tensor = built.graph.initializer[0]
    tensor.data_location = TensorProto.EXTERNAL
    tensor.ClearField("raw_data")
    tensor.external_data.add(key="location", value="weights.bin")
    return built


def ours(**about):
    about = {"format": f"{OURS}-1", "classes": '["a", "b"]', "columns": '["p", "q", "r"]'} | about
    built = model(about=about)
    helper.set_model_props(built, about | {"checksum": checksum(built.graph, about)})
    return built


def changed():
    return model(about={"format": f"{OURS}-1", "classes": '["a", "b"]', "columns": "null", "checksum": "0" * 64})


def typed(kind):
    return onnx.ValueInfoProto(name="x", type=kind)


TENSOR = helper.make_tensor_type_proto(FLOAT, ["n", 3])
AS_IT_IS = [helper.make_node("Identity", ["x"], ["z"])]
SEQUENCE = helper.make_sequence_type_proto(TENSOR)
HOSTILE = {
    "loop": (endless, "holds a loop"),
    "loop in a branch": (lambda: endless("If"), "holds a loop"),
    "weights outside": (outside, "keeps its weights in other files"),
    "no input": (
        lambda: model([helper.make_node("Identity", ["w"], ["z"])], given=[], taken=[value("z", shape=(3, 2))]),
        "takes no input",
    ),
    "no output": (lambda: model(taken=[]), "no output"),
    "no node": (lambda: onnx.ModelProto(ir_version=9), "cannot be read as an ONNX model"),
    "other bytes": (lambda: b"x" * 50, "cannot be read as an ONNX model"),
    "cut off": (lambda: model().SerializeToString()[:-30], "cannot be read as an ONNX model"),
    "changed": (changed, "was changed after softlabel wrote it"),
    "columns that are none": (lambda: ours(columns='{"a": 1}'), "'columns' is not a list of different names"),
    "classes that are none": (lambda: ours(classes="[1, 2]"), "'classes' is not a list of different names"),
    "classes twice": (lambda: ours(classes='["a", "a"]'), "'classes' is not a list of different names"),
    "broken metadata": (lambda: ours(classes="["), "'classes' is not a list of different names"),
    "deep metadata": (lambda: ours(classes="[" * 100_000), "'classes' is not a list of different names"),
    "too many columns": (lambda: ours(columns='["a", "b", "c", "d"]'), "columns"),
    "too many classes": (lambda: ours(classes='["a", "b", "c"]'), "classes"),
    "huge batch": (lambda: model(given=[value("x", shape=(10**9, 3))], taken=[value("z", shape=(10**9, 2))]),
                   "takes batches of 1,000,000,000 rows"),
    "wrong shape": (lambda: model(given=[value("x", shape=("n", 3, 5))]), "of shape|cannot be read as an ONNX model"),
    "scalar": (lambda: model(AS_IT_IS, given=[value("x", shape=())], taken=[value("z", shape=())]),
               "of shape|columns|fails on the data|no table"),
    "text": (lambda: model(AS_IT_IS, given=[value("x", TensorProto.STRING)], taken=[value("z", TensorProto.STRING)]),
             r"takes tensor\(string\)"),
    "halves": (lambda: model(AS_IT_IS, given=[value("x", TensorProto.FLOAT16)],
                             taken=[value("z", TensorProto.FLOAT16)]), r"takes tensor\(float16\)"),
    "a sequence": (lambda: model(AS_IT_IS, given=[typed(SEQUENCE)],
                                 taken=[onnx.ValueInfoProto(name="z", type=SEQUENCE)]),
                   r"takes seq\(|of shape|cannot be read"),
    "an unknown operator": (lambda: model([helper.make_node("Nothing", ["x"], ["z"])]), "cannot be read as an ONNX"),
    "missing weights": (lambda: model(constants=[]), "cannot be read as an ONNX model"),
    "too much memory": (
        lambda: model([helper.make_node("ConstantOfShape", ["s"], ["big"]), helper.make_node("Shape", ["x"], ["of"]),
                       helper.make_node("Expand", ["x", "s"], ["z"])],
                      constants=[numpy_helper.from_array(np.array([2**20, 2**20, 2**10, 3]), "s")]),
        "fails on the data|cannot be read as an ONNX model"),
}  # fmt: skip


@pytest.mark.parametrize("name", HOSTILE)
@pytest.mark.parametrize("use", ["teacher", "predict", "images"])
def test_hostile_models_are_one_line(tmp_path, capfd, name, use):
    make, message = HOSTILE[name]
    built, path = make(), tmp_path / "m.onnx"
    path.write_bytes(built if isinstance(built, bytes) else built.SerializeToString())

    def run():
        if use == "teacher":
            query_teacher(PROBLEM, path)
        elif use == "images":
            OnnxTeacher(path, 2)(images().pixels)
        else:
            load_model(path).probabilities(ROWS)

    tolerant = (use, name) in {("teacher", "columns that are none"), ("teacher", "too many columns")}
    if use == "images" or tolerant:
        message = None
    with pytest.raises(InputError, match=message) as caught:
        run()
    assert "\n" not in str(caught.value)
    assert capfd.readouterr() == ("", "")


def test_a_pipe_is_no_model(tmp_path):
    os.mkfifo(tmp_path / "m.onnx")
    for use in (load_model, lambda path: query_teacher(PROBLEM, path), lambda path: OnnxTeacher(path, 2)):
        with pytest.raises(InputError, match="is a named pipe, and only regular files are read"):
            use(tmp_path / "m.onnx")


def test_a_name_that_is_no_utf_8(tmp_path):
    path = tmp_path / os.fsdecode(b"caf\xe9.onnx")
    path.write_bytes(ours().SerializeToString())
    assert load_model(path).classes == ("a", "b")


def test_a_teacher_of_ours_that_was_changed_is_refused(tmp_path):
    ours_of_two = next(one for seed in range(20) if 0.2 < (one := student(seed=seed)).predict(ROWS).mean() < 0.8)
    path = export_student(ours_of_two, tmp_path, "s", inputs()).path("onnx")
    truth = ours_of_two.predict(ROWS)
    problem = Problem.from_arrays(ROWS, np.array(["no", "yes"])[truth])
    assert (query_teacher(problem, path).logits.argmax(axis=1) == truth).all()
    held = onnx.load(path)
    weights = next(tensor for tensor in held.graph.initializer if len(tensor.dims) == 2)
    weights.CopyFrom(numpy_helper.from_array(-numpy_helper.to_array(weights), weights.name))
    onnx.save(held, path)
    for use in (lambda: query_teacher(problem, path), lambda: load_model(path), lambda: OnnxTeacher(path, 2)):
        with pytest.raises(InputError, match="was changed after softlabel wrote it: export it again"):
            use()


def test_mutated_models_are_used_or_refused_in_one_line(tmp_path, capfd):
    path = export_student(student(), tmp_path, "s", inputs()).path("onnx")
    ours_said = refusals(path.read_bytes(), tmp_path / "m.onnx", load_model, 60)
    assert len(ours_said) > 50
    content = model().SerializeToString()
    said = refusals(content, tmp_path / "m.onnx", lambda path: load_model(path).probabilities(ROWS), 150)
    forest = RandomForestClassifier(3, max_depth=3, random_state=0).fit(ROWS, TRUTH)
    content = to_onnx(forest, ROWS[:1]).SerializeToString()
    said += refusals(content, tmp_path / "m.onnx", lambda path: query_teacher(PROBLEM, path), 100, seed=2)
    assert len(said) > 50
    assert not [line for line in ours_said + said if "\n" in line]
    assert capfd.readouterr() == ("", "")


def test_ctrl_c_ends_a_call_that_lasts(request):
    """The loop is opened without the check that refuses it."""
    from softlabel.teachers.onnx_runtime import Runtime

    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # shells let background jobs ignore it
    request.addfinalizer(lambda: signal.signal(signal.SIGINT, before))
    runtime = Runtime(endless().SerializeToString(), "endless")
    threading.Timer(0.5, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
    with pytest.raises(KeyboardInterrupt):
        runtime.run(["z"], {"x": ROWS})
    for _ in range(100):
        alive = [thread for thread in threading.enumerate() if thread.name == "softlabel-onnx"]
        if not alive:
            break
        time.sleep(0.05)
    assert not alive  # it was told to stop, and did


def test_what_work_raises_is_raised():
    def fail():
        raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        interruptible(fail, lambda: None)


def test_quick_calls_need_no_thread(tmp_path):
    (tmp_path / "m.onnx").write_bytes(model().SerializeToString())
    session = OnnxSession(tmp_path / "m.onnx")
    for rows in (90, 10, 90):
        assert session.run({"x": ROWS[:rows]}, ["z"])[0].shape == (rows, 2)
    assert session.runtime.quick_rows in (0, 10, 90)


WATCHED = """
import json, os, sys
sockets = []
sys.addaudithook(lambda event, given: sockets.append(event) if event.startswith("socket.") else None)
import softlabel
from softlabel.export import load_model
import numpy as np
found = load_model(sys.argv[1])
found.probabilities(np.zeros((5, 3), np.float32))
import time
time.sleep(1)
held = []
for fd in os.listdir("/proc/self/fd"):
    try:
        held.append(os.readlink(f"/proc/self/fd/{fd}"))
    except OSError:
        pass  # that of the listing itself
print(json.dumps({"sockets": sockets, "files": [name for name in held if name.startswith(("socket:", sys.argv[2]))]}))
"""


def test_the_runtime_opens_no_socket_and_writes_nothing(tmp_path):
    """Without `ORT_DISABLE_TELEMETRY` onnxruntime 1.31 writes a device id and a queue of events into the cache."""
    path = export_student(student(), tmp_path / "model", "s", inputs()).path("onnx")
    home = tmp_path / "home"
    places = {name: home / name.lower() for name in ("HOME", "XDG_CACHE_HOME", "XDG_CONFIG_HOME", "TMPDIR")}
    for place in places.values():
        place.mkdir(parents=True)
    kept = {name: text for name, text in os.environ.items() if name != "ORT_DISABLE_TELEMETRY"}
    source = str(Path(softlabel.__file__).parents[1])
    done = subprocess.run(
        [sys.executable, "-c", WATCHED, str(path), str(home)], capture_output=True, text=True, check=True,
        env=kept | {name: str(place) for name, place in places.items()} | {"PYTHONPATH": source},
    )  # fmt: skip
    assert json.loads(done.stdout)["sockets"] == []
    assert json.loads(done.stdout)["files"] == []
    assert done.stderr == ""
    assert [str(file) for file in home.rglob("*") if file not in places.values()] == []


def test_one_module_imports_the_runtime():
    source = Path(softlabel.__file__).parent
    importing = [
        str(file.relative_to(source))
        for file in source.rglob("*.py")
        if any(
            line.strip().startswith(("import onnxruntime", "from onnxruntime"))
            for line in file.read_text().splitlines()
        )
    ]
    assert importing == ["teachers/onnx_runtime.py"]
