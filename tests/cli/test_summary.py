"""`tfcompat summary`, on files that TensorFlow 1.15.5 wrote and on small ones whose contents stand here."""

import os
import pathlib

import pytest
from google.protobuf import text_format

import tfcompat as tf
from tfcompat._src.cli import summary, tables

GOLDEN = pathlib.Path(__file__).parent.parent / "golden"
GRAPH = """
node { name: "x" op: "Placeholder"
  attr { key: "dtype" value { type: DT_FLOAT } } attr { key: "shape" value { shape { dim { size: -1 } dim { size: 3 } } } } }
node { name: "c" op: "Const" attr { key: "value" value { tensor { dtype: DT_FLOAT tensor_shape { dim { size: 3 } dim { size: 2 } } } } } }
node { name: "v" op: "VariableV2" attr { key: "shape" value { shape { dim { size: 1200 } } } } }
node { name: "y" op: "MatMul" input: "x" input: "c" }
node { name: "z" op: "MatMul" input: "x" input: "c" }
"""
OF_GRAPH = """\
input  dtype    shape
x      float32  [?, 3]

type         operations
MatMul                2
Placeholder           1
Const                 1
VariableV2            1
5 operations, 6 elements in constants, 1,200 in variables of a known shape
"""


@pytest.fixture
def printed(capsys):
    def printed(path):
        assert summary.main([str(path)]) == 0
        return capsys.readouterr().out

    return printed


def test_checkpoint(printed):
    assert printed(GOLDEN / "checkpoint" / "v2_parts") == """\
variable  dtype    shape   elements  size
columns   float32  [5, 3]        15  60 bytes
rows      float32  [5, 3]        15  60 bytes
2 variables, 30 elements, 120 bytes without strings
"""


def test_strings_have_no_size(printed):
    lines = printed(GOLDEN / "checkpoint" / "v1").splitlines()
    (line,) = [line for line in lines if line.startswith("v_string")]
    assert line.split() == ["v_string", "string", "[2,", "3]", "6"]
    # six elements each of 1, 16, 8, 2, 4, 8, 2, 4, 8, 1, 4, 1, 1, 2, 1 bytes, as their types have, and a scalar of four
    assert lines[-1] == f"18 variables, {16 * 6 + 1} elements, {6 * 63 + 4} bytes without strings"


def test_saved_model(printed):
    text = printed(GOLDEN / "saved_model" / "classifier")
    assert text.startswith("graph with tags serve: ") and "\n\ngraph with tags serve, gpu: " in text
    rows = [line.split() for line in text.splitlines()]
    # as saved_model_cli prints them, in classifier_show.txt
    assert ["serving_default", "input", "images", "float32", "[?,", "8,", "8,", "3]", "images:0"] in rows
    assert ["serving_default", "output", "logits", "float32", "[?,", "4]", "logits:0"] in rows
    assert any(row[0] == "dense/kernel" for row in rows if row)
    assert printed(GOLDEN / "saved_model" / "classifier" / "saved_model.pb") == text


@pytest.mark.parametrize("name", ["graph.pb", "graph.pbtxt"])
def test_graph(printed, tmp_path, name):
    graph = tf.GraphDef()
    text_format.Parse(GRAPH, graph)
    (tmp_path / name).write_bytes(graph.SerializeToString() if name.endswith(".pb") else GRAPH.encode())
    assert printed(tmp_path / name) == OF_GRAPH


@pytest.mark.parametrize("as_text", [False, True])
def test_meta_graph(printed, tmp_path, as_text):
    with tf.Graph().as_default():
        tf.get_variable("a", [2, 3])
        tf.get_variable("b", [4], trainable=False)
        tf.train.export_meta_graph(str(tmp_path / "model.meta"), as_text=as_text)
    lines = [line.split() for line in printed(tmp_path / "model.meta").splitlines()]
    assert lines[:3] == [["collection", "entries"], ["trainable_variables", "1"], ["variables", "2"]]
    assert ["VariableV2", "2"] in lines and lines[-1][-7:] == ["10", "in", "variables", "of", "a", "known", "shape"]


def test_event_files(printed, tmp_path):
    with tf.summary.FileWriter(str(tmp_path)) as writer:
        for step, loss in ((10, 2.5), (20, 0.125)):
            writer.add_summary(tf.Summary(value=[tf.Summary.Value(tag="loss", simple_value=loss)]), step)
        writer.add_summary(tf.Summary(value=[tf.Summary.Value(tag="digits", image=tf.Summary.Image(height=1))]), 20)
    lines = printed(tmp_path).splitlines()
    assert [line.split() for line in lines[:3]] == [
        ["tag", "kind", "values", "steps", "last"], ["digits", "image", "1", "20–20"], ["loss", "simple_value", "2", "10–20", "0.125"],
    ]  # fmt: skip
    assert lines[3].startswith("4 events in 1 file, ")  # and the version of the file
    (name,) = os.listdir(tmp_path)
    assert printed(tmp_path / name).splitlines() == lines


@pytest.mark.parametrize("name, content", [("nothing", None), ("broken.pb", b"\xff"), ("broken.pbtxt", b"node {"), ("broken.meta", b"\xff"), ("x.tfevents.1", b"x" * 64)])
def test_what_cannot_be_read_is_said(capsys, tmp_path, name, content):
    if content is not None:
        (tmp_path / name).write_bytes(content)
    assert summary.main([str(tmp_path / name)]) == 1
    found = capsys.readouterr()
    assert found.err.startswith("tfcompat summary: ")


def test_tables_fit_the_terminal(capsys, monkeypatch):
    rows = [("a/very/long/name/of/a/variable/Adam_1", "float32", 1234567), ("b", "int64", 8)]
    tables.print_table(("variable", "dtype", "elements"), rows)
    assert capsys.readouterr().out.splitlines()[1] == "a/very/long/name/of/a/variable/Adam_1  float32  1,234,567"
    monkeypatch.setenv("COLUMNS", "40")
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    tables.print_table(("variable", "dtype", "elements"), rows)
    lines = capsys.readouterr().out.splitlines()
    assert lines[1] == "a/very/lon…le/Adam_1  float32  1,234,567"
    assert max(map(len, lines)) == 40


def test_names_are_shortened_in_the_middle():
    assert tables.shortened("abcdefghij", 10) == "abcdefghij"
    assert tables.shortened("abcdefghij", 6) == "abc…ij"
    assert tables.shortened("abcdefghij", 5) == "ab…ij"


def test_sizes():
    assert [tables.size(n) for n in (0, 1023, 1024, 5 * 1024**3, 1024**5)] == ["0 bytes", "1023 bytes", "1.0 KB", "5.0 GB", "1024.0 TB"]
