"""Plans are used again only while the facts that they were made with are true. Expected values: TensorFlow 1.15.5 ran the same programs."""

import numpy as np
import pytest

import tfcompat as tf
from tfcompat._src.base.arrays import content_key
from tfcompat._src.base.recent import SHAPES
from tfcompat._src.runtime.engines import choice
from tfcompat._src.runtime.session.session import PREPARED_RUNS


@pytest.fixture
def session():
    with tf.Graph().as_default(), tf.Session() as session:
        yield session


def plans_of(session, fetches, feeds):
    """The plans that a session keeps for these fetches and feeds."""
    prepared, _ = session._prepare(fetches, feeds)
    return prepared.plans


def test_a_fed_string_decides(session):
    mode = tf.placeholder(tf.string)
    branches = [(tf.equal(mode, name), lambda number=number: tf.constant(number)) for number, name in enumerate(("train", "eval"), 1)]
    chosen = tf.case(branches, default=lambda: tf.constant(3))
    words = ["train", "eval", "test", "eval", "train", "tram", "eval "]
    assert [session.run(chosen, {mode: "".join(word)}) for word in words] == [1, 2, 3, 2, 1, 3, 3]
    # Each string is a new object, at whose address another may have been before.
    assert [session.run(chosen, {mode: f"{word}"[::-1][::-1]}) for word in words * 20] == [1, 2, 3, 2, 1, 3, 3] * 20


def test_the_shape_of_a_feed_decides(session):
    x = tf.placeholder(tf.float32)
    has_three = tf.cond(tf.equal(tf.shape(x)[-1], 3), lambda: tf.constant(1), lambda: tf.constant(0))
    shapes = [(3,), (2,), (2, 3), (3, 2), (3, 3), (5, 3), (2,)]
    assert [session.run(has_three, {x: np.zeros(shape)}) for shape in shapes] == [1, 0, 1, 0, 1, 1, 0]
    assert len(plans_of(session, has_three, {x: np.zeros(3)})) == 2


def test_the_value_of_a_feed_of_unknown_shape_decides_if_it_is_a_scalar(session):
    x = tf.placeholder(tf.float32)
    positive = tf.cond(tf.reduce_sum(x) > 0.0, lambda: tf.constant(1), lambda: tf.constant(0))
    assert [session.run(positive, {x: value}) for value in (2.0, [1.0, -3.0], -1.0, [[4.0]], 1.0)] == [1, 0, 0, 1, 1]


def test_a_mask_that_a_feed_fills_is_that_of_the_run(session):
    training = tf.placeholder(tf.bool, [])
    x = tf.ones([2000])
    masked = tf.where(tf.fill([2000], training), x + 1, x - 1)
    beside = tf.cond(training, lambda: tf.constant(1.0), lambda: tf.constant(0.0))
    for on in (True, False, True, False):
        value, branch = session.run([masked, beside], {training: on})
        np.testing.assert_array_equal(value, np.full(2000, 2.0 * on, np.float32))
        assert branch == on


def test_a_constant_of_the_status_of_a_variable(session):
    v = tf.Variable(1.0)
    sign = tf.where(tf.fill([2000], tf.is_variable_initialized(v)), tf.ones([2000]), -tf.ones([2000]))
    assert set(session.run(sign)) == {-1.0}
    session.run(v.initializer)
    assert set(session.run(sign)) == {1.0}


def test_a_function_of_a_dataset_asks_for_the_status_of_a_variable_for_each_element(session):
    v = tf.get_variable("v", initializer=1.0, use_resource=True)
    chosen = tf.data.Dataset.range(9).map(lambda i: tf.cond(v.is_initialized(), lambda: tf.constant(1), lambda: tf.constant(2)))
    iterator = chosen.make_initializable_iterator()
    following = iterator.get_next()
    session.run(iterator.initializer)
    assert [session.run(following), session.run(following)] == [2, 2]
    session.run(v.initializer)
    assert [session.run(following), session.run(following)] == [1, 1]
    session.run(iterator.initializer)
    assert session.run(following) == 1


def test_a_loop_in_a_run_with_a_time_limit_and_without(session):
    limit = tf.placeholder(tf.int32, [])
    total = tf.while_loop(lambda i, s: s < limit, lambda i, s: (i + 1, s + i), [0, 0])[1]
    options = tf.RunOptions(timeout_in_ms=60000)
    assert [session.run(total, {limit: n}, options=options if n % 2 else None) for n in (4, 5, 4, 5, 6, 7)] == [6, 6, 6, 6, 6, 10]
    limited = "only while the run has no time limit"
    assert limited in session.explain(total, {limit: 4})


def test_a_predicate_of_a_counter_has_two_plans(session):
    step = tf.placeholder(tf.int64, [])
    x = tf.constant([1.0, 2.0])
    scaled = tf.cond(step > 60, lambda: x * 2, lambda: x)
    for number in range(120):
        np.testing.assert_array_equal(session.run(scaled, {step: number}), [2.0, 4.0] if number > 60 else [1.0, 2.0])
    assert len(plans_of(session, scaled, {step: 0})) == 2
    assert "only while the feeds Placeholder:0 decide: Greater:0 is True" in session.explain(scaled, {step: 61})


def test_a_debugged_run_decides_each_time(session):
    training = tf.placeholder(tf.bool, [])
    x = tf.Variable([1.0, 4.0])
    session.run(x.initializer)
    value = tf.cond(training, lambda: x * 2, lambda: x / 0.5 - 1)
    options = tf.RunOptions()
    options.debug_options.debug_tensor_watch_opts.add(
        node_name="*", output_slot=0, debug_ops=["DebugNumericSummary(gated_grpc=0,mute_if_healthy=1)"], debug_urls=["grpc://localhost:0"]
    )
    for on in (True, False, True):
        expected = [2.0, 8.0] if on else [1.0, 7.0]
        np.testing.assert_array_equal(session.run(value, {training: on}), expected)


NESTED = {
    "in a branch that the run chooses": lambda p, q, x: tf.cond(q, lambda: tf.cond(p, lambda: x + 1, lambda: x + 2), lambda: tf.cond(p, lambda: x + 3, lambda: x + 4)),
    "around one": lambda p, q, x: tf.cond(p, lambda: tf.cond(q, lambda: x + 1, lambda: tf.cond(p, lambda: x + 2, lambda: x + 3)), lambda: x + 4),
    "behind another case": lambda p, q, x: tf.case([(tf.identity(q), lambda: x + 1), (tf.identity(p), lambda: x + 2)], default=lambda: x + 3),
    "beside work of the host": lambda p, q, x: tf.cond(
        q, lambda: tf.cond(p, lambda: tf.py_func(lambda v: v + 1, [x], tf.float32), lambda: tf.cond(p, lambda: x, lambda: x + 2)), lambda: x + 3
    ),
}
"""Conditionals on the fed p and the computed q. By rows of (p, q), what each adds to x: closed formulas."""
ADDED = {
    "in a branch that the run chooses": {(True, True): 1, (False, True): 2, (True, False): 3, (False, False): 4},
    "around one": {(True, True): 1, (True, False): 2, (False, True): 4, (False, False): 4},
    "behind another case": {(True, True): 1, (False, True): 1, (True, False): 2, (False, False): 3},
    "beside work of the host": {(True, True): 1, (False, True): 2, (True, False): 3, (False, False): 3},
}


@pytest.mark.parametrize("engine", ["interpret", "compile"])
@pytest.mark.parametrize("name", NESTED)
def test_fed_predicates_among_computed_ones(session, monkeypatch, name, engine):
    monkeypatch.setattr(choice, "ENGINE", engine)
    p, x = tf.placeholder(tf.bool, []), tf.placeholder(tf.float32, [2])
    value = NESTED[name](p, tf.reduce_sum(x) > 0, x)
    for _ in range(2):
        for (on, positive), added in ADDED[name].items():
            given = np.array([3.0, 1.0] if positive else [-3.0, 1.0], np.float32)
            np.testing.assert_array_equal(session.run(value, {p: on, x: given}), given + added)


def test_a_string_that_enters_a_loop_for_nothing(session):
    word, x = tf.placeholder(tf.string, []), tf.placeholder(tf.float32, [3])

    def body(total, each):
        joined = tf.cond(total > 100, lambda: tf.strings.length(tf.strings.join([word, word])), lambda: tf.constant(1))
        del joined
        return total + each

    total = tf.scan(body, x, 0.0)
    np.testing.assert_array_equal(session.run(total, {word: "w", x: [1.0, 2.0, 3.0]}), [1.0, 3.0, 6.0])


def test_caches_keep_as_many_plans_as_they_say(session):
    number = tf.placeholder(tf.int32, [])
    cases = [(tf.equal(number, n), lambda n=n: tf.constant(n * n)) for n in range(SHAPES + 6)]
    square = tf.case(cases, default=lambda: tf.constant(-1))
    for n in [*range(SHAPES + 6), 0, SHAPES + 5, SHAPES + 7]:
        assert session.run(square, {number: n}) == (n * n if n < SHAPES + 6 else -1)
    assert len(plans_of(session, square, {number: 0})) == SHAPES


def test_a_session_keeps_as_many_prepared_runs_as_it_says(session):
    numbers = tf.unstack(tf.range(3))
    for n in range(PREPARED_RUNS + 5):
        fetches = [numbers[n // 3**digit % 3] for digit in range(8)]
        assert session.run(fetches) == [n // 3**digit % 3 for digit in range(8)]
    assert len(session._prepared) == PREPARED_RUNS


def test_large_constants_go_with_the_plans_that_have_them():
    with tf.Graph().as_default(), tf.Session() as session:
        sizes = tf.placeholder(tf.bool, [])
        kept = tf.constant(np.arange(4000.0))
        total = tf.reduce_sum(kept * tf.cond(sizes, lambda: tf.constant(1.0, tf.float64), lambda: tf.constant(2.0, tf.float64)))
        assert [session.run(total, {sizes: on}) for on in (True, False, True)] == [7998000.0, 15996000.0, 7998000.0]
        assert len(session.context.large_constants) == 1
        session.close()
        assert len(session.context.large_constants) == 0


def test_equal_keys_mean_equal_arrays():
    arrays = [
        np.array(1), np.array(1.0), np.array([1]), np.array(["a"], object), np.array([b"a"], object), np.array([["a"]], object),
        np.array([1, 0], np.int32), np.array([[1], [0]], np.int32), np.zeros((0, 2)), np.zeros((2, 0)),
    ]  # fmt: skip
    assert len(set(map(content_key, arrays))) == len({(a.dtype, a.shape, repr(a.tolist())) for a in arrays})
    one, other = np.array(["".join(["tr", "ain"])], object), np.array(["".join(["tra", "in"])], object)
    assert content_key(one) == content_key(other)
