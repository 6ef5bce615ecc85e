"""Programs for TensorFlow before 1.0 give what they gave in TensorFlow 0.12.1: tests/oracle/record_tf0.py records it."""

import json
import pathlib
import re

import children
import pytest

from tfcompat._src.cli.tf0 import evidence

HERE = pathlib.Path(__file__).parent
RECORDED = json.loads((HERE.parent / "golden" / "tf0_meanings.json").read_text())


def run(*arguments, cwd):
    return children.warm(*children.RUN, *arguments, cwd=cwd)


@pytest.fixture(scope="module")
def found(tmp_path_factory):
    path = tmp_path_factory.mktemp("tf0") / "found.json"
    ended = run("--tf", "0.12", str(HERE / "tf0" / "rows.py"), str(path), cwd=path.parent)
    assert ended.returncode == 0, ended.stderr
    return json.loads(path.read_text())


def test_the_record_is_of_this_table():
    assert set(RECORDED) == set(re.findall(r"^## (.*)$", (HERE / "tf0" / "meanings.txt").read_text(), re.MULTILINE)) and len(RECORDED) >= 80


@pytest.mark.parametrize("name", RECORDED)
def test_meaning(name, found):
    assert found[name] == RECORDED[name]


@pytest.mark.parametrize(
    ("source", "version"),
    [
        ("import tensorflow as tf\ntf.scalar_summary('a', 1.)", "0.12"),
        ("import tensorflow as tf\ntf.mul(1, 2)\ntf.pack([1])", "0.12"),
        ("import tensorflow as tf\ntf.mul(1, 2)", None),
        ("import tensorflow as tf\ntf.mul(tf.mul(1, 2), tf.mul(3, 4))", "0.12"),
        ("import tensorflow as tf\ntf.concat(1, [a, b])\ntf.split(0, 2, x)", "0.12"),
        ("import tensorflow as tf\ntf.concat([a, b], 1)\ntf.split(x, 2, 0)\ntf.nn.softmax_cross_entropy_with_logits(logits=a, labels=b)", None),
        ("import tensorflow\nfrom tensorflow.models.rnn import rnn_cell", "0.12"),
        ("from tensorflow.python.ops import rnn_cell, seq2seq", "0.12"),
        ("import tensorflow as tf\ntry:\n    w = tf.train.SummaryWriter\nexcept AttributeError:\n    w = tf.summary.FileWriter", None),
        ("import tensorflow as tf\nif hasattr(tf, 'scalar_summary'):\n    tf.scalar_summary('a', 1.)", None),
        ("import tensorflow as tf\ntf.concat(1, [a, b])\ntf.pack([1])\ntf.layers.dense(x, 3)", None),
        ("import tensorflow as tf\nprint(tf.app.flags.FLAGS.__flags)", "1.4"),
        ("import tensorflow as tf\nFLAGS = tf.app.flags.FLAGS\nFLAGS._parse_flags()", "1.4"),
        ("def mul(a, b): return a\nmul(1, 2), mul(3, 4), mul(5, 6)", None),
    ],
)
def test_evidence(source, version):
    found = evidence.find([(source.encode(), "/nowhere/program.py")])
    assert (found and found.version) == version


def test_a_program_says_why_it_runs_so(tmp_path):
    (tmp_path / "part.py").write_text("import tensorflow as tf\n\ndef double(x):\n    return tf.mul(x, -3) % 2, tf.pack([x, x])\n")
    (tmp_path / "main.py").write_text("import part, tensorflow as tf\nprint(tf.Session().run(part.double(tf.constant(1))))\n")
    found = run("main.py", cwd=tmp_path)
    assert found.stdout == "(-1, array([1, 1], dtype=int32))\n"
    assert found.stderr == "tfcompat: part.py is for TensorFlow before 1.0 (tf.mul, line 4): it runs with the meaning of 0.12\n"


def test_a_hand_decides(tmp_path):
    (tmp_path / "main.py").write_text("import tensorflow as tf\nprint(hasattr(tf, 'mul'), tf.nn.rnn_cell.BasicLSTMCell(2).state_size)\n")
    assert run("main.py", cwd=tmp_path).stdout == "False LSTMStateTuple(c=2, h=2)\n"
    assert run("--tf", "0.10", "main.py", cwd=tmp_path).stdout == "True 4\n"
    assert run("--tf=1.4", "main.py", cwd=tmp_path).stdout == "False LSTMStateTuple(c=2, h=2)\n"
    wrong = run("--tf", "3", "main.py", cwd=tmp_path)
    assert wrong.returncode == 2 and "--tf is one of 0.5, " in wrong.stderr
    assert run("--strict", "--tf", "0.12", "main.py", cwd=tmp_path).returncode == 2


def test_what_a_program_leaves_open_is_said(tmp_path):
    source = "import tensorflow as tf\ntf.scalar_summary('a', 1.)\ncells = [tf.nn.rnn_cell.BasicLSTMCell(2{}) for _ in range(2)]\n"
    (tmp_path / "open.py").write_text(source.format(""))
    (tmp_path / "said.py").write_text(source.format(", state_is_tuple=True"))
    assert run("open.py", cwd=tmp_path).stderr.count("leaves out state_is_tuple") == 1
    assert "state_is_tuple" not in run("said.py", cwd=tmp_path).stderr


def test_python_2_and_tensorflow_before_1_together(tmp_path):
    (tmp_path / "main.py").write_text(
        "import tensorflow as tf\nflags = tf.app.flags\nflags.DEFINE_boolean('train', True, '')\nprint flags.FLAGS.train, flags.FLAGS.__flags\n"
        "x = tf.pack([7, -7])\ns = tf.merge_all_summaries()\nprint tf.Session().run([x % 4, x / 2]), '%s' % s, 7 / 2\n"
    )
    found = run("main.py", "--train", "False", cwd=tmp_path)
    assert found.stdout == "False {'train': False}\n[array([ 3, -3], dtype=int32), array([ 3, -3], dtype=int32)] None 3\n", found.stderr
    assert found.stderr.count("tfcompat: main.py is for ") == 2


def test_floats_are_indices_of_arrays_in_a_program_of_python_3(tmp_path):
    """As NumPy 1.11.3 printed it."""
    (tmp_path / "program.py").write_text("import numpy as np\nn = 7 * 0.9\nprint(np.arange(9)[:n].tolist(), np.zeros(n).shape)\n")
    assert children.warm(*children.RUN, "--tf", "0.12", "program.py", cwd=tmp_path).stdout == "[0, 1, 2, 3, 4, 5] (6,)\n"
