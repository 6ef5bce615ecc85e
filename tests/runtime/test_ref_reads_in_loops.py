"""A read of a ref variable shares the variable's buffer inside loops too: its users see what the variable holds when they run.

The expected values are TensorFlow 1.15.5's.
"""

import pytest

import tfcompat as tf
from tfcompat._src.runtime.engines import choice

ONES = [1.0, 1.0]


def after(tensor, make):
    with tf.control_dependencies([tensor]):
        return make()


def loop(step, start=(0.0, 0.0), go_on=lambda i, y: i < 2):
    """Two steps of `step(i, y)`, each of which waits for the one before."""

    def body(i, y):
        result = step(i, y)
        return after(result, lambda: i + 1), after(result, lambda: tf.identity(result))

    return tf.while_loop(go_on, body, [0, tf.convert_to_tensor(start)])[1]


def called(tensor):
    result = tf.py_func(lambda a: a * 1, [tensor], tf.float32)
    result.set_shape(tensor.shape)
    return result


def update(v, is_scattered):
    return tf.cond(is_scattered, lambda: tf.scatter_sub(v, [0], [3.0]) + 0, lambda: v.assign_add(ONES) + 0)


def before_and_after(v, p):
    def step(i, y):
        before = after(y, lambda: v + 0.5)
        return before + after(after(before, lambda: v.assign_add(ONES)), lambda: v + 0.25)

    return loop(step)


def slope(v, p):
    x = tf.constant(ONES)
    return tf.gradients(loop(lambda i, y: after(v.assign_add(ONES), lambda: y * v), x), x)[0]


PROGRAMS = {
    "update of the loop variable": lambda v, p: loop(lambda i, y: after(v.assign_add(y), lambda: v + 1.0), ONES),
    "before and after": before_and_after,
    "behind a py_func": lambda v, p: loop(lambda i, y: after(after(v.assign_add(ONES), lambda: called(y)), lambda: v + y)),
    "in a py_func": lambda v, p: loop(lambda i, y: after(v.assign_add(ONES), lambda: called(v)) + y),
    "update in a branch": lambda v, p: loop(lambda i, y: after(update(v, p), lambda: v + y)),
    "read in a branch": lambda v, p: loop(
        lambda i, y: after(v.assign_add(ONES), lambda: tf.cond(tf.identity(p), lambda: v + y, lambda: v * (y + 1)))
    ),
    "loop in a loop": lambda v, p: loop(lambda i, y: loop(lambda j, z: after(v.assign_add(ONES), lambda: v + z), y)),
    "read in an inner loop": lambda v, p: loop(
        lambda i, y: loop(lambda j, z: z + v, after(v.assign_add(ONES), lambda: tf.identity(y)))
    ),
    "condition": lambda v, p: loop(lambda i, y: after(v.assign_add(ONES), lambda: y + v), go_on=lambda i, y: tf.reduce_sum(v) < 8.0),
    "assign": lambda v, p: loop(lambda i, y: after(v.assign([5.0, 5.0] + tf.cast(i, tf.float32)), lambda: y + v)),
    "scatter": lambda v, p: loop(lambda i, y: after(tf.scatter_add(v, [i], [1.0]), lambda: y + v)),
    "gradient": slope,
}  # fmt: skip
VALUES = {
    "update of the loop variable": [([6, 8], [5, 7]), ([14, 18], [13, 17]), ([30, 38], [29, 37])],
    "before and after": [([5.75, 7.75], [3, 4]), ([9.75, 11.75], [5, 6]), ([13.75, 15.75], [7, 8])],
    "behind a py_func": [([5, 7], [3, 4]), ([9, 11], [5, 6]), ([13, 15], [7, 8])],
    "in a py_func": [([5, 7], [3, 4]), ([9, 11], [5, 6]), ([13, 15], [7, 8])],
    "update in a branch": [([5, 7], [3, 4]), ([-3, 8], [-3, 4]), ([-3, 11], [-1, 6])],
    "read in a branch": [([9, 16], [3, 4]), ([9, 11], [5, 6]), ([49, 64], [7, 8])],
    "loop in a loop": [([14, 18], [5, 6]), ([30, 34], [9, 10]), ([46, 50], [13, 14])],
    "read in an inner loop": [([10, 14], [3, 4]), ([18, 22], [5, 6]), ([26, 30], [7, 8])],
    "condition": [([9, 12], [4, 5]), ([0, 0], [4, 5]), ([0, 0], [4, 5])],
    "assign": [([11, 11], [6, 6]), ([11, 11], [6, 6]), ([11, 11], [6, 6])],
    "scatter": [([4, 5], [2, 3]), ([6, 7], [3, 4]), ([8, 9], [4, 5])],
    "gradient": [([9, 16], [3, 4]), ([25, 36], [5, 6]), ([49, 64], [7, 8])],
}
"""Of three runs, the second with a predicate that is True: what the loop gives, and the variable after it."""


@pytest.mark.parametrize("engine", ["interpret", "compile"])
@pytest.mark.parametrize("name", PROGRAMS)
def test_a_read_in_a_loop_has_the_value_of_the_variable(name, engine, monkeypatch):
    monkeypatch.setattr(choice, "ENGINE", engine)
    v, p = tf.Variable([1.0, 2.0]), tf.placeholder(tf.bool, [])
    result, found = PROGRAMS[name](v, p), []
    with tf.Session() as session:
        session.run(v.initializer)
        for predicate in (False, True, False):
            value = session.run(result, {p: predicate}).tolist()
            found.append((value, session.run(v).tolist()))
    assert found == VALUES[name]
