"""Parallel calls and interleaving: in order, unless a pipeline asks for elements as they come."""

import threading

import numpy as np
import pytest

import tfcompat as tf
from tfcompat._src.data import parallel_ops
from tfcompat._src.data.clone import _AutoShardDataset

Dataset = tf.data.Dataset


def elements(dataset, count=None):
    with tf.Session() as session:
        element = tf.data.make_one_shot_iterator(dataset).get_next()
        found = []
        while count is None or len(found) < count:
            try:
                found.append(np.asarray(session.run(element)).tolist())
            except tf.errors.OutOfRangeError:
                return found
            except tf.errors.InvalidArgumentError:
                found.append("error")
        return found


@pytest.fixture(autouse=True)
def graph():
    with tf.Graph().as_default():
        yield


def test_calls_run_at_the_same_time_and_keep_their_order():
    barrier = threading.Barrier(3)

    def meet(x):
        barrier.wait(60)
        return x * 10

    dataset = Dataset.range(6).map(lambda x: tf.py_func(meet, [x], tf.int64), num_parallel_calls=3)
    assert elements(dataset) == [0, 10, 20, 30, 40, 50]


def test_results_as_they_come():
    second_is_done = threading.Event()

    def first_waits(x):
        if x == 0:
            assert second_is_done.wait(60)
        return x

    def note(x):
        second_is_done.set()
        return x

    options = tf.data.Options()
    options.experimental_deterministic = False
    mapped = Dataset.range(2).map(lambda x: tf.py_func(first_waits, [x], tf.int64), num_parallel_calls=2)
    dataset = mapped.map(lambda x: tf.py_func(note, [x], tf.int64)).with_options(options)
    assert elements(dataset) == [1, 0]


def test_random_numbers_of_parallel_calls_are_those_of_calls_in_turn():
    tf.set_random_seed(3)
    numbers = [
        elements(Dataset.range(8).map(lambda x: (tf.random_uniform([], seed=4) + tf.py_func(lambda: np.float32(0), [], tf.float32)), calls))
        for calls in (None, 4)
    ]
    assert numbers[0] == numbers[1]


def test_a_call_that_fails_leaves_those_after_it():
    def check(x):
        if x == 1:
            raise ValueError("one")
        return x

    assert elements(Dataset.range(4).map(lambda x: tf.py_func(check, [x], tf.int64), num_parallel_calls=2)) == [0, "error", 2, 3]


def test_an_error_takes_the_place_of_a_dataset():
    def check(x):
        if x == 5:
            raise ValueError("five")
        return x

    names = Dataset.from_tensor_slices(np.array([4, 5, 6])).map(lambda x: tf.py_func(check, [x], tf.int64))
    repeat = tf.data.experimental.parallel_interleave(lambda x: Dataset.from_tensors(x).repeat(x), 2)
    assert elements(names.apply(repeat)) == [4, "error", 4, 4, 6, 4, 6, 6, 6, 6, 6]


def test_datasets_whose_next_element_is_not_there_are_passed_over():
    others_are_done = threading.Event()

    def wait(x, i):
        if x == 0:
            assert others_are_done.wait(60)
        elif i == 2:
            others_are_done.set()
        return x

    def inner(x):
        return Dataset.range(3).map(lambda i: tf.py_func(wait, [x, i], tf.int64))

    found = elements(Dataset.range(2).apply(tf.contrib.data.sloppy_interleave(inner, 2)))
    assert found[:2] == [1, 1]
    assert sorted(found) == [0, 0, 0, 1, 1, 1]


@pytest.mark.parametrize("calls", [0, -2])
def test_numbers_of_calls_that_are_none(calls):
    with pytest.raises(tf.errors.InvalidArgumentError, match="num_parallel_calls must be greater than zero"):
        with tf.Session() as session:
            session.run(tf.data.make_one_shot_iterator(Dataset.range(2).map(lambda x: x, num_parallel_calls=calls)).get_next())


def test_slack_needs_a_prefetch():
    options = tf.data.Options()
    options.experimental_slack = True
    assert elements(Dataset.range(3).prefetch(1).with_options(options)) == [0, 1, 2]
    assert elements(Dataset.range(3).with_options(options), 1) == ["error"]


def test_workers_take_files_or_elements(tmp_path):
    names = []
    for i in range(4):
        names.append(str(tmp_path / f"{i}.txt"))
        (tmp_path / f"{i}.txt").write_text(f"{i}a\n{i}b\n")
    lines = _AutoShardDataset(tf.data.TextLineDataset(names), 2, 1)
    assert elements(lines) == [b"1a", b"1b", b"3a", b"3b"]
    assert elements(_AutoShardDataset(Dataset.range(7), 3, 1)) == [1, 4]
    assert elements(_AutoShardDataset(Dataset.range(2), 3, 1), 1) == ["error"]


def test_statistics():
    aggregator = tf.data.experimental.StatsAggregator()
    options = tf.data.Options()
    options.experimental_stats.aggregator = aggregator
    options.experimental_stats.prefix = "all"
    bytes_produced = tf.data.experimental.bytes_produced_stats("bytes")
    dataset = Dataset.range(5).map(lambda x: tf.tile([x], [3])).apply(bytes_produced).with_options(options)
    iterator = tf.data.make_initializable_iterator(dataset)
    element, summary = iterator.get_next(), aggregator.get_summary()
    with tf.Session() as session:
        session.run(iterator.initializer)
        for _ in range(4):
            session.run(element)
        value = tf.Summary.FromString(session.run(summary)).value[0]
    assert (value.tag, value.histo.num, value.histo.min, value.histo.max) == ("all::bytes", 4, 24, 24)


def test_an_iterator_by_its_handle():
    with tf.Session() as session:
        one = tf.data.make_initializable_iterator(Dataset.range(3), shared_name="numbers")
        other = tf.data.Iterator.from_string_handle(one.string_handle(), tf.int64, [])
        session.run(one.initializer)
        assert [session.run(one.get_next()), session.run(other.get_next())] == [0, 1]


def test_a_call_that_waits_to_draw_holds_no_lock_that_an_earlier_one_needs(monkeypatch):
    second_waits = threading.Event()
    wait, make = parallel_ops._Turns.wait, parallel_ops._Calls.__init__
    locks, held = [], []

    def keeps_lock(calls, following, function, *rest):
        make(calls, following, function, *rest)
        locks.append(function._variable_state.lock)

    def waits(turns, number, op):
        if number == 2 and not held:  # it has its turn when it asks again
            held.append(locks[0]._is_owned())
            second_waits.set()
        wait(turns, number, op) if not any(held) else None

    def first_is_late(x):
        assert x or second_waits.wait(60)
        return np.float32(0)

    def function(x):
        with tf.control_dependencies([tf.py_func(first_is_late, [x], tf.float32)]):
            return tf.random_uniform([], seed=4)

    monkeypatch.setattr(parallel_ops._Turns, "wait", waits)
    monkeypatch.setattr(parallel_ops._Calls, "__init__", keeps_lock)
    element = tf.data.make_one_shot_iterator(Dataset.range(2).map(function, num_parallel_calls=2)).get_next()
    with tf.Session() as session:
        assert session.run(element) != session.run(element)
    assert held == [False]
