"""Errors of runs name their node as 1.15.5's do: in `message` and `str`, `op` and `node_def`, with each engine, in warm runs and parts."""

import json
from pathlib import Path

import error_programs
import pytest

import tfcompat as tf
from tfcompat._src.runtime.engines import choice

RECORDED = json.loads((Path(__file__).resolve().parent.parent / "golden/runtime/error_texts.json").read_text())


@pytest.mark.parametrize("engine", ["compile", "interpret", "choose"])
@pytest.mark.parametrize("name", error_programs.PROGRAMS)
def test_an_error_names_its_node(name, engine, monkeypatch):
    monkeypatch.setattr(choice, "ENGINE", engine)
    assert error_programs.outcome(tf, name) == RECORDED[name]


def test_the_place_is_the_line_of_the_program():
    x = tf.placeholder(tf.float32, [2])
    y = tf.log(tf.check_numerics(x, "bad", name="warm"))
    with tf.Session() as session:
        for _ in range(50):
            session.run(y, {x: [1.0, 2.0]})
        for _ in range(2):
            with pytest.raises(tf.errors.InvalidArgumentError) as raised:
                session.run(y, {x: [float("nan"), 1.0]})
    assert f"\n\t [[node warm (defined at {__file__}:" in raised.value.message
    assert raised.value.message.count("[[") == 1


def test_parts_of_a_run_name_the_node():
    x = tf.placeholder(tf.float32, [2])
    y = tf.check_numerics(x, "bad", name="part")
    with tf.Session() as session:
        handle = session.partial_run_setup([y], [x])
        with pytest.raises(tf.errors.InvalidArgumentError, match=r"\[\[node part \(defined at"):
            session.partial_run(handle, y, {x: [float("nan"), 1.0]})
