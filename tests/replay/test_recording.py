"""Sessions of tfcompat are recorded, replayed and compared; a killed program leaves a record; bad records are refused by name."""

import io
import json
import pathlib
import shutil
import zipfile

import children
import numpy as np
import pytest

from tfcompat._src.replay import recorder
from tfcompat._src.replay.compare import Comparison
from tfcompat._src.replay.differences import EQUAL, NOISE
from tfcompat._src.replay.page import curves, page
from tfcompat._src.replay.record import Record, RecordError
from tfcompat._src.replay.replay import Replay

RECORDS = pathlib.Path(__file__).parents[1] / "golden/records"
PROGRAMS = pathlib.Path(__file__).parent / "programs"
TRAINS = """
import numpy as np
import tensorflow as tf
tf.set_random_seed(1)
x = tf.placeholder(tf.float32, [2], name="x")
w = tf.Variable(tf.random_normal([2]), name="w")
loss = tf.reduce_sum(tf.square(w - x), name="loss")
step = tf.train.GradientDescentOptimizer({rate}).minimize(loss)
session = tf.Session()
session.run(w.initializer)
for number in range(4):
    print(session.run([loss, step, tf.random_uniform([])], {{x: [number, 1.0]}})[0])
"""


def record_here(folder, program, *options):
    return children.warm("-m", "tfcompat", "run", "--record", str(folder), *options, "-c", program)


@pytest.fixture(scope="module")
def recorded(tmp_path_factory):
    """A record that `tfcompat run --record` has made, and what the program printed."""
    folder = tmp_path_factory.mktemp("recorded") / "rec"
    done = record_here(folder, TRAINS.format(rate=0.25), "--all-tensors")
    assert done.returncode == 0, done.stderr
    return folder, done


def unpacked(name, folder):
    with zipfile.ZipFile(RECORDS / f"{name}.zip") as archive:
        archive.extractall(folder)
    return folder


def test_recording_changes_no_number(recorded):
    plain = children.warm("-m", "tfcompat", "run", "-c", TRAINS.format(rate=0.25))
    assert plain.stdout == recorded[1].stdout and plain.stdout.count("\n") == 4
    assert "recorded 5 runs of 1 sessions" in recorded[1].stderr


def test_a_record_of_tfcompat_is_replayed_bit_for_bit(recorded):
    """The graph grows between the runs: each has a version of its own."""
    record = Record(str(recorded[0]))
    assert len({run.graph for run in record.runs}) > 1
    replay = Replay(record)
    assert {v.verdict for v in replay.in_order() + replay.shuffled()} <= {EQUAL, NOISE} and not record.notes


def test_compare_says_that_a_program_is_the_same_here(tmp_path):
    done = children.warm("-m", "tfcompat", "run", "--record", str(tmp_path / "here"), "--all-tensors", "linear.py", cwd=PROGRAMS)
    assert done.returncode == 0, done.stderr
    page_file = tmp_path / "page.html"
    done = children.warm("-m", "tfcompat", "compare", str(RECORDS / "linear.zip"), str(tmp_path / "here"), "--html", str(page_file))
    assert done.returncode == 0 and "4 runs in both" in done.stdout and done.stdout.endswith("the runs agree\n"), done.stdout
    assert page_file.read_text().count("<polyline") == 2 and "<h2>loss:0</h2>" in page_file.read_text()


def test_compare_names_the_first_difference(recorded, tmp_path):
    assert record_here(tmp_path / "other", TRAINS.format(rate=0.125), "--all-tensors").returncode == 0
    found = Comparison(Record(str(recorded[0])), Record(str(tmp_path / "other")))
    assert not found.agrees and found.first.one.order == 1 and found.first.first.name == "GradientDescent/learning_rate:0"
    assert "node GradientDescent/learning_rate (Const, computed in the run)" in "\n".join(found.lines())
    assert [name for name in curves(found)][0] == "loss:0" and 'class="differs"' in page(found)
    done = children.warm("-m", "tfcompat", "compare", str(recorded[0]), str(tmp_path / "other"))
    assert done.returncode == 1 and "first difference: run 1" in done.stdout


def test_compare_says_which_runs_one_record_lacks(recorded, tmp_path):
    shutil.copytree(recorded[0], tmp_path / "short")
    lines = (tmp_path / "short/index.jsonl").read_bytes().splitlines(keepends=True)
    kept = [line for line in lines if json.loads(line).get("order") != 4]
    (tmp_path / "short/index.jsonl").write_bytes(b"".join(kept))
    found = Comparison(Record(str(recorded[0])), Record(str(tmp_path / "short")))
    assert not found.agrees and len(found.alone) == 1 and "has run 4" in found.alone[0] and found.first is None


def test_a_killed_program_leaves_a_record(tmp_path):
    program = TRAINS.format(rate=0.25) + "import os, signal\nos.kill(os.getpid(), signal.SIGKILL)"
    done = children.python("-m", "tfcompat", "run", "--record", str(tmp_path / "rec"), "-c", program)
    assert done.returncode == -9
    record = Record(str(tmp_path / "rec"))
    assert len(record.runs) == 5 and record.notes == ["the recorded program was killed; its first 5 recorded runs are used"]
    assert {v.verdict for v in Replay(record).in_order()} <= {EQUAL, NOISE}


def test_the_recorder_is_one_file_that_is_printed():
    done = children.warm("-m", "tfcompat", "recorder")
    assert done.stdout == pathlib.Path(recorder.__file__).read_text() and "tfcompat." not in done.stdout


# ---- records that are not whole ----


def write(path, change):
    path.write_bytes(change(path.read_bytes()))


def without_array(content):
    with np.load(io.BytesIO(content)) as arrays:
        kept = dict(list(arrays.items())[1:])
    out = io.BytesIO()
    np.savez(out, **kept)
    return out.getvalue()


def of_objects(content):
    out = io.BytesIO()
    np.savez(out, a0=np.array([print], object))
    return out.getvalue()


BAD = {
    "no record": ("record.json", None, "record.json cannot be read"),
    "another version": ("record.json", lambda c: c.replace(b'"version": 1', b'"version": 7'), "says format 'tfcompat record', version 7"),
    "no JSON": ("record.json", lambda c: c[:20], "record.json is not JSON"),
    "a run without a field": ("index.jsonl", lambda c: c.replace(b'"of_session"', b'"of_nothing"'), "index.jsonl, line 2, does not describe a run: KeyError: 'of_session'"),
    "a line that is no JSON": ("index.jsonl", lambda c: c.replace(b"{", b"", 1), "index.jsonl, line 1, is not JSON"),
    "a graph cut off": ("graphs/0-190.pb", lambda c: c[:1001], "graphs/0-190.pb is not a GraphDef"),
    "a graph without a node": ("graphs/0-190.pb", lambda c: b"", "graphs/0-190.pb lacks the node 'init', which run 0 names"),
    "a graph with an unknown op": ("graphs/0-190.pb", lambda c: c.replace(b"BiasAdd\x1a", b"BiasOdd\x1a"), "graphs/0-190.pb, which run 0 and others need, cannot be built here"),
    "arrays cut off": ("runs/000001.npz", lambda c: c[:3000], "runs/000001.npz (of run 1) is cut off"),
    "arrays missing": ("runs/000001.npz", without_array, "runs/000001.npz (of run 1) has no array 'a0', the value of"),
    "arrays gone": ("runs/000002.npz", None, "runs/000002.npz (of run 2) cannot be read"),
    "a pickle": ("runs/000001.npz", of_objects, "runs/000001.npz (of run 1) is cut off or not an .npz file without pickles"),
    "another shape": ("index.jsonl", lambda c: c.replace(b'"shape": [16, 3]', b'"shape": [3, 16]'), "has x:0 in the shape [16, 3]; index.jsonl says [3, 16]"),
}  # fmt: skip


@pytest.mark.parametrize("kind", BAD)
def test_bad_records_are_refused_by_name(kind, tmp_path):
    unpacked("linear", tmp_path)
    file, change, text = BAD[kind]
    if change is None:
        (tmp_path / file).unlink()
    else:
        before = (tmp_path / file).read_bytes()
        write(tmp_path / file, change)
        assert (tmp_path / file).read_bytes() != before
    with pytest.raises(RecordError) as caught:
        Replay(Record(str(tmp_path))).in_order()
    assert text in str(caught.value)


def test_the_command_says_what_is_wrong(tmp_path):
    done = children.warm("-m", "tfcompat", "replay", str(tmp_path))
    assert (done.returncode, done.stdout) == (2, "") and done.stderr.startswith("tfcompat replay: ") and "record.json cannot be read" in done.stderr


def test_an_index_that_is_cut_off_gives_the_runs_before(tmp_path):
    unpacked("linear", tmp_path)
    write(tmp_path / "index.jsonl", lambda content: content[: content.index(b'"order": 2')])
    record = Record(str(tmp_path))
    assert [run.order for run in record.runs] == [0, 1] and "cut off in line 4; the 2 runs before it are used" in record.notes[0]


def test_a_variable_without_a_value_in_the_record_is_named(tmp_path):
    unpacked("linear", tmp_path)
    entries = [json.loads(line) for line in (tmp_path / "index.jsonl").read_text().splitlines()]
    for entry in entries:
        if entry.get("order") == 2:
            entry["before"]["dense/bias"] = {"dtype": "float32", "unrecorded": "no node of the graph reads it"}
    (tmp_path / "index.jsonl").write_text("".join(json.dumps(entry) + "\n" for entry in entries))
    verdicts = Replay(Record(str(tmp_path))).in_order()
    assert [v.why for v in verdicts if v.why] == ["the variable dense/bias no node of the graph reads it in the record"]


# ---- values ----


@pytest.mark.parametrize("value, dtype", [
    (np.array([[1.5, -0.0], [np.nan, np.inf]], np.float32), "float32"), (np.array(True), "bool"), (np.zeros((0, 3), np.int64), "int64"),
    (np.array([b"a\x00", b"", b"\xff"], object), "string"), (b"ends in zeros\x00\x00", "string"), (np.array([1 + 2j]), "complex128"),
], ids=["float32", "bool", "empty", "strings", "bytes", "complex"])  # fmt: skip
def test_values_come_back(value, dtype, tmp_path):
    arrays = recorder.Arrays("runs/000000.npz", 1 << 20)
    said = arrays.add(value, dtype)
    record = Record(str(unpacked("linear", tmp_path)))
    np.savez(tmp_path / "runs/000000.npz", **arrays.arrays)
    found = record.value(json.loads(json.dumps(said)), 0, "x:0")
    assert found.is_whole and found.dtype == dtype and found.shape == np.shape(value)
    wanted = value if isinstance(value, np.ndarray) else np.array([value], object).reshape(())
    assert found.array.tolist() == wanted.tolist() if dtype == "string" else found.array.tobytes() == wanted.tobytes()


def test_large_values_are_a_sample_with_a_summary():
    arrays = recorder.Arrays("runs/000000.npz", 2000)
    said = arrays.add(np.arange(5000, dtype=np.float32), "float32")
    assert arrays.arrays[said["key"]].shape == (1024,) and said["summary"]["sum"] == 5000 * 4999 / 2 and said["summary"]["nan"] == 0
    assert said["places"] == "spread over the 5000 elements"


def test_fed_arrays_may_change_after_the_run():
    arrays, fed = recorder.Arrays("runs/000000.npz", 2000), np.ones(3)
    said = arrays.add(fed, "float64")
    fed[:] = 2.0
    assert arrays.arrays[said["key"]].tolist() == [1.0, 1.0, 1.0]

