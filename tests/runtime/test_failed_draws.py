"""Random streams after runs that fail: what waits for the failed operation has not drawn. Expected values: TensorFlow 1.15.5."""

import deviations
import numpy as np
import pytest

import tfcompat as tf
from tfcompat._src.runtime.engines import choice


def behind_an_assertion(ok, x):
    with tf.control_dependencies([tf.Assert(ok, [x])]):
        return tf.random_uniform([2])


def behind_a_check(ok, x):
    with tf.control_dependencies([tf.check_numerics(tf.cond(ok, lambda: tf.constant(1.0), lambda: tf.constant(np.nan)), "bad")]):
        return tf.random_normal([2])


DRAWN = {
    behind_an_assertion: [[0.323876, 0.052961], [0.18704, 0.687996], [0.734317, 0.883908]],
    behind_a_check: [[-1.254341, 1.093223], [-0.257711, -0.108918], [-0.679184, 0.005467]],
}


@pytest.mark.parametrize("engine", ["interpret", "compile"])
@pytest.mark.parametrize("build", DRAWN, ids=lambda build: build.__name__)
def test_a_failed_run_leaves_the_stream_of_what_did_not_run(build, engine, monkeypatch):
    monkeypatch.setattr(choice, "ENGINE", engine)
    with tf.Graph().as_default(), tf.Session() as session:
        tf.set_random_seed(3)
        ok, x = tf.placeholder(tf.bool, []), tf.placeholder(tf.float32, [2])
        drawn, found = build(ok, x), []
        for holds in (True, False, False, True, False, True):
            if holds:
                found.append(session.run(drawn, {ok: True, x: [1.0, 2.0]}))
                continue
            with pytest.raises(tf.errors.InvalidArgumentError):
                session.run(drawn, {ok: False, x: [1.0, 2.0]})
        np.testing.assert_allclose(found, DRAWN[build], atol=1e-6)


def test_text_for_a_bool():
    p = tf.placeholder(tf.bool)
    with tf.Session() as session:
        assert session.run(p, {p: np.array(["1", "0", "7"])}).tolist() == [True, False, True]
        assert session.run(p, {p: ["0", ""]}).tolist() == [True, False]
        for text in ("x", "", b"x"):
            with pytest.raises(ValueError, match=r"invalid literal for int\(\) with base 10: '"):
                session.run(p, {p: np.array([text])})


def test_a_failed_step_undoes_its_updates():
    """A known difference: 1.15 keeps the update of the failed run (`deviations.RUNS`)."""
    v, ok = tf.Variable(0.0), tf.placeholder(tf.bool, [])
    with tf.control_dependencies([v.assign_add(1.0)]):
        checked = tf.Assert(ok, ["no"])
    assert "assign_before_failed_assert" in deviations.RUNS
    with tf.Session() as session:
        session.run(v.initializer)
        with pytest.raises(tf.errors.InvalidArgumentError, match="assertion failed"):
            session.run(checked, {ok: False})
        assert session.run(v) == 0.0
        session.run(checked, {ok: True})
        assert session.run(v) == 1.0
