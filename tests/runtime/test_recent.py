"""How many compiled programs are kept, of how many that were made."""

import numpy as np
import pytest
import shape_memory

import tfcompat as tf
from tfcompat._src.base.recent import SHAPES, Recent
from tfcompat._src.eager.mode import eager_graph, eager_mode
from tfcompat._src.runtime.engines import choice

MORE = SHAPES + 8


def test_what_was_used_longest_ago_goes():
    kept = Recent(3)
    for key in "abc":
        kept[key] = key.upper()
    assert kept.get("a") == "A"
    kept["d"] = "D"
    assert list(kept) == ["c", "a", "d"]
    kept["c"] = "C again"
    kept["e"] = "E"
    assert list(kept) == ["d", "c", "e"] and kept.get("b") is None


@pytest.fixture
def session(monkeypatch):
    monkeypatch.setattr(choice, "ENGINE", "compile")
    with tf.Graph().as_default(), tf.Session() as sess:
        yield sess


def test_a_session_keeps_the_shapes_that_were_used_last(session):
    x = tf.placeholder(tf.float32, [None])
    y = tf.reduce_sum(x * 2.0)
    for n in range(1, MORE + 1):
        assert session.run(y, {x: np.ones(n)}) == 2 * n
    (cluster,) = session.plan(y, {x: np.ones(1)}).clusters
    (program,) = cluster.programs.values()
    assert len(program.executables) == SHAPES
    assert f"made ready for {SHAPES} input shape(s); the {SHAPES} that were used last are kept" in session.explain(y, {x: np.ones(1)})
    made = program.traces
    assert session.run(y, {x: np.ones(MORE)}) == 2 * MORE and program.traces == made
    assert session.run(y, {x: np.ones(1)}) == 2 and program.traces > made


def test_a_dropped_program_draws_the_next_random_numbers(session):
    x = tf.placeholder(tf.float32, [None])
    y = tf.random_uniform(tf.shape(x), seed=7) + 0.0 * x
    first = [session.run(y, {x: np.zeros(3)}) for _ in range(3)]
    with tf.Session() as other:
        found = []
        for _ in range(3):
            found.append(other.run(y, {x: np.zeros(3)}))
            (cluster,) = other.plan(y, {x: np.zeros(3)}).clusters
            for program in cluster.programs.values():
                program.executables.clear()
    np.testing.assert_array_equal(found, first)


def test_plans_for_fed_numbers_that_decide_are_bounded(session):
    number = tf.placeholder(tf.int32, [])
    y = tf.cond(tf.equal(number, 3), lambda: 1, lambda: 2)
    for n in range(MORE):
        assert session.run(y, {number: n}) == (1 if n == 3 else 2)
    prepared = next(iter(session._prepared.values()))
    assert len(prepared.plans) <= SHAPES
    assert f"the {SHAPES} that were used last are kept" in session.explain(y, {number: 0})


def test_eager_operations_keep_the_shapes_that_were_used_last():
    with eager_mode():
        for n in range(1, MORE + 1):
            assert tf.matmul(tf.ones([n, 2]), tf.ones([2, 1])).numpy()[-1, 0] == 2
        programs = [p for kind, p in eager_graph().state.programs.items() if kind[0] == "MatMul"]
    assert programs and max(map(len, programs)) == SHAPES


def test_a_function_keeps_the_programs_of_its_last_traces():
    with eager_mode():
        w = tf.Variable(tf.ones([2, 1]))

        @tf.function
        def total(x):
            return tf.reduce_sum(tf.matmul(x, w))

        for n in range(1, MORE + 1):
            with tf.GradientTape() as tape:
                y = total(tf.ones([n, 2]))
            assert y.numpy() == 2 * n
            np.testing.assert_array_equal(tape.gradient(y, w).numpy(), [[n], [n]])
        assert total(tf.ones([1, 2])).numpy() == 2
        assert total.experimental_get_tracing_count() == MORE
        assert {role: len(kept) for role, kept in total._programs.items()} == {"call": 1, "forward 0": SHAPES, "backward 0": SHAPES}


@pytest.mark.parametrize("kind", ["session", "function", "eager"])
def test_dropped_programs_are_freed(kind):
    """By count; `python tests/runtime/shape_memory.py` measures the memory."""
    with tf.Graph().as_default() if kind == "session" else eager_mode():
        step = shape_memory.STEPS[kind]()
        before = shape_memory.compiled_calls()
        for n in range(1, MORE + 1):
            step(n)
        assert shape_memory.compiled_calls() - before <= SHAPES
