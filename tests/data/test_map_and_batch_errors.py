"""Errors in a fused map and batch: the whole batch is taken, and its first error is raised; expected values are TensorFlow 1.15.5's."""

import numpy as np
import pytest

import tfcompat as tf

END = "OutOfRangeError: End of sequence"
STOPPED = "InvalidArgumentError: Function invocation produced OutOfRangeError: StopIteration: two"
INFINITE = "InvalidArgumentError: n : Tensor had Inf values"
MISFIT = "InvalidArgumentError: Cannot add tensor to the batch: number of elements does not match. Shapes are: "


def outcomes(dataset, count):
    """What the first `count` runs give."""
    following = dataset.make_one_shot_iterator().get_next()
    found = []
    with tf.Session() as session:
        for _ in range(count):
            try:
                found.append(np.asarray(session.run(following)).tolist())
            except tf.errors.OpError as error:
                found.append(f"{type(error).__name__}: {error.message.splitlines()[0].partition(' [[')[0]}")
    return found


def stop_or_fail(i):
    if i in (2, 7):
        raise StopIteration("two")
    if i == 3:
        raise ValueError("three")
    return i


def inverse(x):
    return tf.debugging.check_numerics(1.0 / tf.cast(x - 4, tf.float32), "n")


calls = pytest.mark.parametrize("calls", [None, 1, 3, 9])


def map_and_batch(function, size, calls, **options):
    return tf.data.experimental.map_and_batch(function, size, num_parallel_calls=calls, **options)


@calls
@pytest.mark.parametrize(("drops", "last"), [(False, [8, 9, 10]), (True, END)])
def test_the_end_that_a_function_raises_is_an_error_of_its_batch(calls, drops, last):
    function = lambda x: tf.py_func(stop_or_fail, [x], tf.int64)  # noqa: E731
    dataset = tf.data.Dataset.range(11).apply(map_and_batch(function, 4, calls, drop_remainder=drops))
    assert outcomes(dataset, 4) == [STOPPED, STOPPED, last, END]


@calls
@pytest.mark.parametrize("where", ["function", "source"])
def test_an_error_takes_its_batch_with_it(calls, where):
    numbers = tf.data.Dataset.range(9)
    dataset = (
        numbers.apply(map_and_batch(inverse, 3, calls))
        if where == "function"
        else numbers.map(inverse).apply(map_and_batch(lambda x: x, 3, calls))
    )
    assert outcomes(dataset, 4) == [
        pytest.approx([-0.25, -1 / 3, -0.5]),
        INFINITE,
        pytest.approx([0.5, 1 / 3, 0.25]),
        END,
    ]


@calls
def test_an_error_of_the_source_comes_in_its_turn_where_calls_run_ahead(calls):
    dataset = (
        tf.data.Dataset.range(9)
        .map(inverse)
        .apply(map_and_batch(lambda x: tf.py_func(lambda y: y, [x], tf.float32), 3, calls))
    )
    assert outcomes(dataset, 4) == [
        pytest.approx([-0.25, -1 / 3, -0.5]),
        INFINITE,
        pytest.approx([0.5, 1 / 3, 0.25]),
        END,
    ]


@calls
def test_elements_of_other_sizes(calls):
    rows = [[1], [2], [3], [[4, 5, 6]], [7], [8], [9], [10]]
    dataset = tf.data.Dataset.from_generator(lambda: iter(rows), tf.int32)
    assert outcomes(dataset.apply(map_and_batch(lambda x: x, 4, calls)), 3) == [
        MISFIT + "[tensor]: [1,3], [batch]: [1]",
        [[7], [8], [9], [10]],
        END,
    ]
    twice = dataset.apply(map_and_batch(lambda x: (x, x), 3, calls))
    assert outcomes(twice, 4) == [
        [[[1], [2], [3]]] * 2,
        MISFIT + "[tensor]: [1], [batch]: [1,3]",
        [[[9], [10]]] * 2,
        END,
    ]
