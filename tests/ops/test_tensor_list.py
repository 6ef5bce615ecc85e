"""TensorLists, stacks and critical sections: values of closed formulas, and 1.15's error texts."""

import threading

import numpy as np
import pytest

import tfcompat as tf
from tfcompat._src.nodes import raw
from tfcompat._src.ops.flow import list_functions as lists


@pytest.fixture(autouse=True)
def graph():
    with tf.Graph().as_default() as g:
        yield g


def run(fetches, feed=None):
    with tf.Session() as session:
        return session.run(fetches, feed)


def test_elements_and_their_gradients():
    x = tf.constant([1.0, 2.0])
    y = tf.constant(3.0)
    handle = lists.tensor_list_set_item(lists.tensor_list_from_tensor(x, element_shape=[]), 0, y)
    first, second = (lists.tensor_list_get_item(handle, i, tf.float32) for i in (0, 1))
    slopes = tf.gradients(first * first + second * second, [x, y])
    assert first.shape.as_list() == []
    found = run([first, second, *slopes])
    np.testing.assert_array_equal(found[0], 3)
    np.testing.assert_array_equal(found[1], 2)
    np.testing.assert_array_equal(found[2], [0, 4])
    np.testing.assert_array_equal(found[3], 6)


def test_pushing_in_a_loop():
    empty = lists.empty_tensor_list([], tf.int32)
    _, handle = tf.while_loop(lambda i, _: i < 4, lambda i, h: (i + 1, raw.TensorListPushBack(h, i * i)), [0, empty])
    np.testing.assert_array_equal(run(lists.tensor_list_stack(handle, tf.int32)), [0, 1, 4, 9])


def test_elements_that_are_not_set_are_zeros():
    handle = lists.tensor_list_set_item(lists.tensor_list_reserve(None, 3, tf.float32), 1, [1.0, 2.0])
    joined = lists.tensor_list_concat(handle, tf.float32)
    np.testing.assert_array_equal(run(lists.tensor_list_stack(handle, tf.float32)), [[0, 0], [1, 2], [0, 0]])
    np.testing.assert_array_equal(run(joined), [0, 0, 1, 2, 0, 0])


def test_sum_and_zeros_of_nested_lists():
    inner = lists.tensor_list_from_tensor([1.0, 2.0], element_shape=[])
    outer = raw.TensorListPushBack(lists.empty_tensor_list([], tf.variant), inner)
    for handle, expected in ((tf.add_n([outer, outer, outer]), [3, 6]), (tf.zeros_like(outer), [0, 0])):
        item = lists.tensor_list_get_item(handle, 0, tf.variant)
        np.testing.assert_array_equal(run(lists.tensor_list_stack(item, tf.float32)), expected)


@pytest.mark.parametrize(
    ("make", "text"),
    [
        (lambda: raw.TensorListPushBack(lists.empty_tensor_list([], tf.float32, 0), 1.0), "Tried to push item into a full list"),
        (lambda: lists.tensor_list_pop_back(lists.empty_tensor_list([], tf.float32), tf.float32)[1], "Trying to pop from an empty list"),
        (lambda: lists.tensor_list_get_item(lists.tensor_list_reserve([], 2, tf.float32), 2, tf.float32), "element 2 in a list with 2"),
        (lambda: lists.tensor_list_stack(lists.tensor_list_reserve(None, 2, tf.float32), tf.float32), "non-fully-defined element_shape: <unknown>"),
        (lambda: lists.tensor_list_split([1.0, 2.0], None, [3]), r"Attempting to slice \[0, 3\] from tensor with length 2"),
    ],
)  # fmt: skip
def test_errors_of_a_run(make, text):
    node = make()
    with pytest.raises(tf.errors.InvalidArgumentError, match=text):
        run(node.op)


def test_wrong_dtype_is_found_while_building():
    with pytest.raises(ValueError, match="wrong element dtype"):
        raw.TensorListPushBack(lists.empty_tensor_list([], tf.float32), tf.constant(1))


def test_stack_gives_the_last_first():
    handle = raw.StackV2(2, elem_type=tf.float32, stack_name="s")
    assert handle.shape == [2]
    pushed = raw.StackPushV2(handle, 1.0)
    with tf.control_dependencies([pushed]):
        pushed = raw.StackPushV2(handle, [2.0, 3.0])
    with tf.control_dependencies([pushed]):
        last = raw.StackPopV2(handle, elem_type=tf.float32)
        over = raw.StackPushV2(handle, 4.0)
    with tf.control_dependencies([last]):
        first = raw.StackPopV2(handle, elem_type=tf.float32)
    found = run([first, last])
    np.testing.assert_array_equal(found[0], 1)
    np.testing.assert_array_equal(found[1], [2, 3])
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"overflowed its max_size \(2\)"):
        run(over)


def counting(section, variable):
    """Reads a variable, then adds 1 to it, under the section's lock."""

    def count():
        value = variable.read_value()
        with tf.control_dependencies([value]), tf.control_dependencies([variable.assign_add(1)]):
            return tf.identity(value)

    return section.execute(count)


def test_rows_of_a_tensor_of_lists():
    handles = tf.stack([lists.tensor_list_from_tensor([float(i), i + 0.5], element_shape=[]) for i in range(3)])
    rows = [tf.gather(handles, 1), *tf.unstack(handles)]
    found = run([lists.tensor_list_stack(row, tf.float32) for row in rows])
    np.testing.assert_array_equal(found, [[1.0, 1.5], [0.0, 0.5], [1.0, 1.5], [2.0, 2.5]])


def test_critical_section_in_threads():
    section = tf.CriticalSection()
    variable = tf.get_variable("v", initializer=0, use_resource=True)
    value = counting(section, variable)
    seen = []
    with tf.Session() as session:
        session.run(variable.initializer)
        threads = [threading.Thread(target=lambda: seen.extend(session.run(value) for _ in range(10))) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert sorted(seen) == list(range(40))


def test_critical_section_is_free_after_a_failed_run():
    section = tf.CriticalSection()
    divisor = tf.placeholder(tf.int32, [])
    value = section.execute(lambda: tf.constant([8]) // divisor)
    with tf.Session() as session:
        for _ in range(2):
            with pytest.raises(tf.errors.InvalidArgumentError):
                session.run(value, {divisor: 0})
        np.testing.assert_array_equal(session.run(value, {divisor: 2}), [4])


def test_critical_section_inside_itself_is_refused():
    section = tf.CriticalSection()
    with pytest.raises(ValueError, match="attempts to directly access the CriticalSection in which it would be running"):
        section.execute(lambda: section.execute(lambda: tf.constant(1)))
