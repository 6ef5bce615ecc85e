"""Datasets where operations run at once."""

import numpy as np
import pytest

import tfcompat as tf
from tfcompat._src.eager.mode import eager_mode

Dataset = tf.data.Dataset


@pytest.fixture(autouse=True)
def eager():
    with eager_mode():
        yield


def values(dataset):
    return [x.numpy().tolist() for x in dataset]


def test_loops_pass_as_often_as_one_likes():
    dataset = Dataset.range(3).map(lambda x: x * x).prefetch(1)
    assert values(dataset) == values(dataset) == [0, 1, 4]


def test_structures():
    elements = list(Dataset.from_tensor_slices({"a": [1.0, 2.0], "b": ([3, 4], ["x", "y"])}))
    assert [(e["a"].numpy(), e["b"][0].numpy(), e["b"][1].numpy()) for e in elements] == [(1.0, 3, b"x"), (2.0, 4, b"y")]


def test_iterators():
    iterator = Dataset.range(2).make_one_shot_iterator()
    assert [iterator.get_next().numpy(), next(iterator).numpy()] == [0, 1]
    with pytest.raises(tf.errors.OutOfRangeError, match="End of sequence"):
        iterator.get_next()
    with pytest.raises(StopIteration):
        next(iterator)
    with pytest.raises(RuntimeError, match="make_initializable_iterator is not supported"):
        Dataset.range(2).make_initializable_iterator()


def test_functions_use_variables_as_they_are():
    offset = tf.Variable(3, dtype=tf.int64)
    dataset = Dataset.range(3).map(lambda x: x + offset)
    assert values(dataset) == [3, 4, 5]
    offset.assign(10)
    assert values(dataset) == [10, 11, 12]


def test_functions_change_variables():
    count = tf.Variable(0, dtype=tf.int64)
    assert values(Dataset.range(3).map(lambda x: count.assign_add(2))) == [2, 4, 6]
    assert tf.data.experimental.get_single_element(Dataset.range(1).map(lambda x: count.assign_add(1))).numpy() == 7
    assert count.numpy() == 7


def test_an_iterator_in_a_function():
    iterator = iter(Dataset.range(10))
    assert values(Dataset.range(3).map(lambda x: iterator.get_next() * 10 + x)) == [0, 11, 22]
    assert next(iterator).numpy() == 3

    @tf.function
    def two(dataset):
        inner = iter(dataset)
        return inner.get_next() + inner.get_next()

    assert two(Dataset.range(5).skip(2)).numpy() == 5


def test_reductions_and_windows():
    assert Dataset.range(10).reduce(np.int64(0), lambda a, b: a + b).numpy() == 45
    assert [values(window.batch(3)) for window in Dataset.range(6).window(3)] == [[[0, 1, 2]], [[3, 4, 5]]]


def test_order_is_that_of_tensorflow():
    assert values(Dataset.range(5).shuffle(5, seed=3).repeat(2)) == [2, 4, 3, 0, 1, 1, 0, 3, 4, 2]


def test_generators_and_python_functions():
    dataset = Dataset.from_generator(lambda: iter(range(3)), tf.int32).map(lambda x: tf.py_function(lambda v: v + 1, [x], tf.int32))
    assert values(dataset) == [1, 2, 3]


def test_errors_are_raised_where_the_element_is():
    found = []
    iterator = iter(Dataset.range(3).map(lambda x: tf.check_numerics(1.0 / tf.cast(x, tf.float32), "not finite")))
    with pytest.raises(tf.errors.InvalidArgumentError, match="not finite"):
        next(iterator)
    found.extend(x.numpy() for x in iterator)
    assert found == [1.0, 0.5]


def test_a_checkpoint_of_an_iterator(tmp_path):
    iterator = iter(Dataset.range(9))
    checkpoint = tf.train.Checkpoint(iterator=iterator)
    assert [next(iterator).numpy() for _ in range(2)] == [0, 1]
    path = checkpoint.save(str(tmp_path / "all"))
    assert next(iterator).numpy() == 2
    checkpoint.restore(path)
    assert next(iterator).numpy() == 2


def test_for_statement_in_a_function_is_refused_where_it_is_not_converted():
    def total():
        found = tf.constant(0, tf.int64)
        for element in tf.data.Dataset.range(3):
            found += element
        return found

    with eager_mode():
        assert tf.function(total)().numpy() == 3
        with pytest.raises(TypeError, match="never end, is not allowed: AutoGraph is disabled"):
            tf.function(total, autograph=False)()
