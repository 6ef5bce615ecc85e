"""The rest of a plan node by node: shapes that come once are not traced, and nothing tells such a run from a compiled one."""

import json
import threading
from pathlib import Path

import numpy as np
import pytest

import tfcompat as tf
from tests.runtime import node_programs
from tfcompat._src.runtime.engines import choice

RECORDED = json.loads((Path(__file__).resolve().parent.parent / "golden/runtime/nodes.json").read_text())


def _compare(found, wanted):
    if isinstance(wanted, list) and any(isinstance(v, list) for v in wanted):
        assert len(found) == len(wanted)
        for f, w in zip(found, wanted):
            _compare(f, w)
    else:
        np.testing.assert_allclose(found, wanted, rtol=2e-5, atol=1e-6)


@pytest.mark.parametrize("engine", choice.ENGINES)
@pytest.mark.parametrize("name", node_programs.PROGRAMS)
def test_programs_with_a_new_shape_in_each_run(name, engine, monkeypatch):
    monkeypatch.setattr(choice, "ENGINE", engine)
    _compare(node_programs.observed(tf, name), RECORDED[name])


@pytest.fixture
def session():
    with tf.Graph().as_default(), tf.Session() as session:
        yield session


@pytest.fixture(autouse=True)
def chosen(monkeypatch):
    monkeypatch.setattr(choice, "ENGINE", "choose")


def _product(x):
    """A loop over the rows of a matrix, whose number is not known before the run."""
    return tf.while_loop(
        lambda i, _: i < tf.shape(x)[0], lambda i, y: (i + 1, y * tf.reduce_sum(x[i])), [0, 1.0],
    )[1]  # fmt: skip


def test_a_shape_that_comes_once_is_not_traced(session, compile_counter):
    x = tf.placeholder(tf.float32, [None, 2])
    slope = tf.gradients(_product(x), x)[0]
    before = compile_counter.count
    for rows in range(1, 8):
        values = np.full([rows, 2], 0.5, np.float32)
        np.testing.assert_allclose(session.run(slope, {x: values}), np.ones([rows, 2]))
    assert session.plan(slope, {x: values}).compile_count() == 0 and compile_counter.count == before
    assert "node by node" in session.explain(slope, {x: values})


def test_a_shape_that_comes_back_is_traced(session, monkeypatch):
    monkeypatch.setattr(choice, "OF_A_TRACED_OPERATION", 6 * choice.OF_A_NODE)
    x = tf.placeholder(tf.float32, [None, 2])
    count = tf.get_variable("count", initializer=-1.0)
    fetches = [_product(x), count.assign_add(1.0)]
    session.run(count.initializer)
    session.run(fetches, {x: np.ones([1, 2], np.float32)})
    feeds = {x: np.full([3, 2], 0.75, np.float32)}
    for run in range(1, 9):
        assert session.run(fetches, feeds) == [np.float32(1.5**3), run]
    assert session.plan(fetches, feeds).compile_count() == 1
    assert session.run(fetches, {x: np.full([2, 2], 0.5, np.float32)}) == [1.0, 9]
    assert session.plan(fetches, feeds).compile_count() == 1


def test_a_program_of_one_shape_is_traced_soon(session):
    x = tf.placeholder(tf.float32, [None, 2])
    product = _product(x)
    feeds = {x: np.ones([2, 2], np.float32)}
    counts = []
    for _ in range(5):
        assert session.run(product, feeds) == 4.0
        counts.append(session.plan(product, feeds).compile_count())
    assert counts == [0, 0, 0, 1, 1]
    assert session.run(product, {x: np.ones([3, 2], np.float32)}) == 8.0 and session.plan(product, feeds).compile_count() == 1


def test_a_long_loop_is_traced_in_the_same_run(session):
    n = tf.placeholder(tf.int32, [])
    count = tf.get_variable("count", initializer=0.0)
    add = count.assign_add(tf.while_loop(lambda i, _: i < n, lambda i, y: (i + 1, y + tf.random_uniform([], seed=5)), [0, 0.0])[1])
    session.run(count.initializer)
    assert 4900 < session.run(add, {n: 10000}) < 5100
    assert session.plan(add, {n: 10000}).compile_count() == 1
    first = session.run(add, {n: 0})
    one = session.run(add, {n: 1}) - first
    with tf.Session() as other:
        drawn = tf.while_loop(lambda i, _: i < n, lambda i, y: (i + 1, tf.random_uniform([], seed=5)), [0, 0.0])[1]
        assert abs(one - other.run(drawn, {n: 10001})) < 1e-3


def test_a_failed_run_changes_no_variable_and_draws(session):
    x = tf.placeholder(tf.float32, [None, 2])
    count = tf.get_variable("count", initializer=0.0)
    drawn = tf.random_uniform([], seed=4)
    wanted = [session.run(drawn) for _ in range(3)]
    add = count.assign_add(1.0)
    with tf.control_dependencies([add]):
        checked = tf.check_numerics(_product(x), "no number")
    with tf.Session() as other:
        other.run(count.initializer)
        feeds = {x: np.ones([2, 2], np.float32)}
        assert other.run([checked, drawn], feeds) == [4.0, wanted[0]]
        with pytest.raises(tf.errors.InvalidArgumentError, match="no number"):
            other.run([checked, drawn], {x: np.full([3, 2], np.inf, np.float32)})
        assert other.run(count) == 1.0
        assert other.run(drawn) == wanted[2]


@pytest.mark.parametrize("engine", choice.ENGINES)
def test_what_came_before_a_failed_host_step_stays(session, engine, monkeypatch):
    monkeypatch.setattr(choice, "ENGINE", engine)
    x = tf.placeholder(tf.float32, [None, 2])
    count = tf.get_variable("count", initializer=0.0)
    add = count.assign_add(_product(x))
    numbers = tf.data.Dataset.range(1).make_one_shot_iterator()
    with tf.control_dependencies([add]):
        number = numbers.get_next() * 2
    session.run(count.initializer)
    feeds = {x: np.full([3, 2], 0.5, np.float32)}
    assert session.run(number, feeds) == 0
    with pytest.raises(tf.errors.OutOfRangeError):
        session.run(number, feeds)
    assert session.run(count) == 2.0  # as in 1.15: the addition has run


def test_no_write_of_another_thread_is_lost(session):
    x = tf.placeholder(tf.float32, [None, 2])
    count = tf.get_variable("count", initializer=0)
    with tf.control_dependencies([_product(x)]):
        add = count.assign_add(1)
    session.run(count.initializer)

    def count_up():
        for rows in range(1, 26):
            session.run(add.op, {x: np.ones([rows, 2], np.float32)})

    threads = [threading.Thread(target=count_up) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert session.run(count) == 100


def test_a_run_reads_what_it_has_written(session):
    x = tf.placeholder(tf.float32, [None, 2])
    for use_resource in (False, True):
        v = tf.get_variable(f"v{use_resource}", initializer=1.0, use_resource=use_resource)
        session.run(v.initializer)
        with tf.control_dependencies([v.assign(_product(x))]):
            again = v.assign_add(1.0)
        with tf.control_dependencies([again]):
            seen = v.read_value() * 2.0
        assert session.run(seen, {x: np.ones([2, 2], np.float32)}) == 10.0
        assert session.run(v) == 5.0


def test_results_are_nobody_elses_arrays(session):
    x = tf.placeholder(tf.float32, [None, 2])
    v = tf.get_variable("v", initializer=[1.0, 2.0])
    session.run(v.initializer)
    given = np.ones([3, 2], np.float32)
    _, rows, same, held = session.run([_product(x), x[1:], tf.identity(x), tf.identity(v)], {x: given})
    for array in (rows, same, held):
        array[...] = 7.0
    assert given.tolist() == [[1.0, 1.0]] * 3 and session.run(v).tolist() == [1.0, 2.0]
