"""How loops run: lengths that vary, growing arrays, second derivatives, and functions of the graph."""

import numpy as np
import pytest

import tfcompat as tf
from tfcompat._src.function.control_flow_v2 import while_v2


@pytest.fixture(autouse=True)
def fresh_graph():
    """A graph of its own for each test."""
    with tf.Graph().as_default():
        yield


def growing_training():
    """A training step over a growing TensorArray: sum of (1.1 w)^(2 i) below n."""
    n = tf.placeholder(tf.int32, [])
    w = tf.get_variable("w", [], initializer=tf.ones_initializer())
    array = tf.TensorArray(tf.float32, 0, dynamic_size=True, element_shape=[])
    _, array, _ = tf.while_loop(
        lambda i, a, v: i < n, lambda i, a, v: (i + 1, a.write(i, v), v * w * 1.1), (0, array, 1.0), maximum_iterations=100
    )
    stacked = array.stack()
    loss = tf.reduce_sum(stacked**2)
    return n, w, stacked, loss, w.assign_sub(1e-3 * tf.gradients(loss, w)[0])


def test_lengths_that_stay_the_same_become_one_compiled_call():
    n, w, stacked, loss, train = growing_training()
    weight = 1.0
    with tf.Session() as session:
        session.run(w.initializer)
        for length in (3, 3, 3, 3, 3, 3, 5, 3, 3, 3, 3, 3, 0):
            powers = (1.1 * weight) ** np.arange(length)
            slope = sum(2 * i * 1.1 ** (2 * i) * weight ** (2 * i - 1) for i in range(length))
            before, (rows, value, weight) = weight, session.run([stacked, loss, train], {n: length})
            np.testing.assert_allclose(rows, powers, rtol=1e-5)
            np.testing.assert_allclose(value, (powers**2).sum(), rtol=1e-5)
            np.testing.assert_allclose(weight, before - 1e-3 * slope, rtol=1e-6)
        for _ in range(5):
            session.run([stacked, loss, train], {n: 4})
        assert len(session.plan([stacked, loss, train], {n: 4}).steps) == 1


def test_gradient_of_a_loop_whose_length_is_data():
    x = tf.placeholder(tf.float64, [])
    last = tf.while_loop(lambda a: a < 50.0, lambda a: a * a * x, [x])
    slope = tf.gradients(last, x)[0]
    with tf.Session() as session:
        assert session.run([last, slope], {x: 1.4}) == pytest.approx([1.4**15, 15 * 1.4**14])
        assert session.run([last, slope], {x: 3.0}) == pytest.approx([3.0**7, 7 * 3.0**6])


def test_second_derivative_is_refused():
    x = tf.placeholder(tf.float64, [])
    first = tf.gradients(tf.while_loop(lambda i, a: i < 4, lambda i, a: (i + 1, a * x), (0, x))[1], x)[0]
    with pytest.raises(TypeError, match="Second-order gradient for while loops not supported"):
        tf.gradients(first, x)


def test_second_derivative_of_a_loop_that_is_one_node():
    x, w = tf.placeholder(tf.float64, []), tf.placeholder(tf.float64, [])
    _, y = while_v2(lambda i, a: i < 4, lambda i, a: (i + 1, a * x * w), (0, x), return_same_structure=False)
    first = tf.gradients(y, x)[0]
    second = tf.gradients(first, [x, w])
    with tf.Session() as session:
        found = session.run([first, *second], {x: 1.2, w: 1.5})
    assert found == pytest.approx([5 * 1.2**4 * 1.5**4, 20 * 1.2**3 * 1.5**4, 20 * 1.2**4 * 1.5**3])


def test_second_derivative_over_a_tensor_array_is_refused():
    x = tf.placeholder(tf.float32, [3])
    first = tf.gradients(tf.scan(lambda a, e: a * e, x), x)[0]
    with pytest.raises(TypeError, match="Second-order gradient for while loops not supported"):
        tf.gradients(first, x)


@pytest.fixture
def functional():
    """Branches and loops as nodes that run functions."""
    tf.enable_control_flow_v2()
    yield
    tf.disable_control_flow_v2()


def test_control_flow_v2(functional):
    x, p = tf.placeholder(tf.float32, []), tf.placeholder(tf.bool, [])
    branch = tf.cond(p, lambda: x * 3.0, lambda: x + 1.0)
    loop = tf.while_loop(lambda i, a: i < 5, lambda i, a: (i + 1, a * x), (0, 1.0))[1]
    assert branch.op.inputs[0].op.type == "StatelessIf" and loop.op.inputs[0].op.type == "While"
    slopes = tf.gradients(branch + loop, x)[0]
    with tf.Session() as session:
        assert session.run([branch, loop, slopes], {x: 2.0, p: True}) == [6.0, 32.0, 83.0]
        assert session.run([branch, loop, slopes], {x: 2.0, p: False}) == [3.0, 32.0, 81.0]


def test_switch_case():
    x, index = tf.placeholder(tf.float32, []), tf.placeholder(tf.int32, [])
    found = tf.switch_case(index, {0: lambda: x, 1: lambda: x * 2}, default=lambda: x - 1)
    assert found.op.inputs[0].op.type == "Case"
    with tf.Session() as session:
        assert [session.run(found, {x: 5.0, index: i}) for i in (-1, 0, 1, 2)] == [4.0, 5.0, 10.0, 4.0]


def test_function_with_a_variable():
    v = tf.get_variable("v", [], initializer=tf.ones_initializer(), use_resource=True)

    @tf.function
    def step(x, k=2):
        v.assign_add(1.0)
        return {"a": x * v, "b": [x + k]}

    x = tf.placeholder(tf.float32, [None])
    found = step(x)
    slopes = tf.gradients(found["a"], [x, v])
    with tf.Session() as session:
        session.run(v.initializer)
        first = session.run(found, {x: [1.0, 2.0]})
        assert first["a"].tolist() == [2.0, 4.0] and first["b"][0].tolist() == [3.0, 4.0]
        by_x, by_v = session.run(slopes, {x: [1.0, 2.0]})
        assert by_x.tolist() == [3.0, 3.0] and by_v == 3.0
    assert step(x, k=3)["b"][0].shape.as_list() == [None]
    assert len({op.type for op in tf.get_default_graph().get_operations()} & {"StatefulPartitionedCall"}) == 1


@pytest.mark.parametrize("place", [lambda i: i, lambda i: 2 * i, lambda i: i + 4, lambda i: i // 2], ids=["counter", "twice", "beyond", "again"])
def test_where_a_loop_writes_is_checked(place):
    """At a counter nothing has to be checked while it runs; elsewhere 1.15's errors come."""
    array = tf.TensorArray(tf.float32, 7)
    written = tf.while_loop(lambda i, _: i < 4, lambda i, a: (i + 1, a.write(place(i), tf.cast(i, tf.float32))), [0, array])[1]
    indices = [place(i) for i in range(4)]
    with tf.Session() as session:
        if max(indices) > 6:
            with pytest.raises(tf.errors.InvalidArgumentError, match="Tried to write to index 7 but array is not resizeable and size is: 7"):
                session.run(written.flow)
        elif len(set(indices)) < 4:
            with pytest.raises(tf.errors.InvalidArgumentError, match="index 0 because it has already been written to"):
                session.run(written.flow)
        else:
            found = session.run(written.gather(indices))
            np.testing.assert_array_equal(found, np.arange(4))


def test_an_element_written_in_a_loop_is_not_written_again_behind_it():
    array = tf.TensorArray(tf.float32, 4)
    written = tf.while_loop(lambda i, _: i < 3, lambda i, a: (i + 1, a.write(i, 1.0)), [0, array])[1]
    again = written.write(tf.placeholder_with_default(2, []), 5.0)
    last = written.write(3, 5.0)
    with tf.Session() as session:
        np.testing.assert_array_equal(session.run(last.stack()), [1, 1, 1, 5])
        with pytest.raises(tf.errors.InvalidArgumentError, match="index 2 because it has already been written to"):
            session.run(again.flow)


def test_a_reference_goes_out_of_a_frame_without_condition():
    v = tf.Variable(7)
    inside = tf.raw_ops.RefEnter(data=v, frame_name="frame", is_constant=True)
    nine = tf.raw_ops.Enter(data=tf.constant(9), frame_name="frame")
    assigned = tf.assign(inside, nine)
    with tf.control_dependencies([assigned]):
        out = tf.raw_ops.RefExit(data=tf.raw_ops.RefIdentity(input=inside))
    with tf.Session() as session:
        session.run(v.initializer)
        assert session.run([out, v]) == [9, 9]


def test_rounding_in_a_loop_has_the_slope_of_its_gradient_op():
    x, low, high = tf.placeholder(tf.float32, [4]), tf.Variable(-1.0), tf.Variable(2.0)
    values = {x: [-3.0, 0.5, 1.5, 4.0]}

    def rounded():
        fixed = tf.fake_quant_with_min_max_args(x, -1.0, 2.0)
        return tf.reduce_sum(fixed) + tf.reduce_sum(tf.fake_quant_with_min_max_vars(x, low, high))

    loop = tf.while_loop(lambda i, _: i < 3, lambda i, s: (i + 1, s + rounded()), [0, 0.0])[1]
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        by_x, by_low, by_high = session.run(tf.gradients(loop, [x, low, high]), values)
    np.testing.assert_array_equal(by_x, [0, 6, 6, 0])
    assert (by_low, by_high) == (3, 3)


def test_gradients_of_loops_over_a_variable_that_they_write():
    def body(i, z):
        z = z * v.read_value()
        with tf.control_dependencies([z]), tf.control_dependencies([v.assign_add([1.0, 1.0])]):
            return i + 1, tf.identity(z)

    with tf.Graph().as_default(), tf.Session() as session:
        v, a = tf.Variable([2.0, 3.0], use_resource=True), tf.constant([0.3, -1.2])
        grads = tf.gradients(tf.while_loop(lambda i, z: i < 3, body, [0, a])[1], [a, v])
        session.run(tf.global_variables_initializer())
        np.testing.assert_allclose(session.run(grads), [[24, 60], [7.8, -56.4]], rtol=1e-5)  # of TensorFlow 1.15.5


def test_arrays_that_other_programs_made_grow_in_loops():
    n = tf.placeholder(tf.int32, [])
    w = tf.get_variable("w", [], initializer=tf.ones_initializer())
    array = tf.TensorArray(tf.float32, 0, dynamic_size=True, element_shape=[]).write(0, w)
    # The host function runs between the write and the loop, so each is in a program of its own.
    count = tf.ensure_shape(tf.py_func(lambda flow, k: k, [array.flow, n], tf.int32), [])
    _, array = tf.while_loop(lambda i, a: i < count, lambda i, a: (i + 1, a.write(i, w * tf.to_float(i))), (1, array))
    stacked = array.stack()
    slope = tf.gradients(tf.reduce_sum(stacked), w)[0]
    with tf.Session() as session:
        session.run(w.initializer)
        for length in (10, 70, 300):
            rows, value = session.run([stacked, slope], {n: length})
            np.testing.assert_array_equal(rows, [1, *range(1, length)])
            assert value == 1 + sum(range(length))


REF_UPDATES = {
    "assign": lambda ref, i: tf.assign_add(ref, tf.ones([3, 2])),
    "scatter": lambda ref, i: tf.scatter_update(ref, [0], tf.fill([1, 2], tf.cast(i + 5, tf.float32))),
    "scatter_nd": lambda ref, i: tf.scatter_nd_update(ref, [[1]], tf.fill([1, 2], tf.cast(i + 5, tf.float32))),
    "none": lambda ref, i: ref,
}
# By 1.15.5: the array of first elements of each iteration (joined, or added up) and the variable, after runs of 2, 2, 0 and 1 iterations.
REF_RUNS = {
    ("assign", True): [([0, 2, 3], [3, 3, 3]), ([0, 4, 5], [5, 5, 5]), ([0], [5, 5, 5]), ([0, 6], [6, 6, 6])],
    ("assign", False): [([5], [3, 3, 3]), ([9], [5, 5, 5]), ([0], [5, 5, 5]), ([6], [6, 6, 6])],
    ("scatter", True): [([0, 5, 6], [6, 1, 1]), ([0, 5, 6], [6, 1, 1]), ([0], [6, 1, 1]), ([0, 5], [5, 1, 1])],
    ("scatter_nd", True): [([0, 1, 1], [1, 6, 1]), ([0, 1, 1], [1, 6, 1]), ([0], [1, 6, 1]), ([0, 1], [1, 5, 1])],
    ("none", True): [([0, 1, 1], [1, 1, 1]), ([0, 1, 1], [1, 1, 1]), ([0], [1, 1, 1]), ([0, 1], [1, 1, 1])],
}


@pytest.mark.parametrize(("update", "grows"), REF_RUNS)
def test_a_loop_variable_that_is_a_ref_has_the_value_of_the_variable(update, grows):
    n = tf.placeholder(tf.int32, [])
    v = tf.Variable(np.ones((3, 2), np.float32))

    def body(i, ref, rows):
        ref = REF_UPDATES[update](ref, i)
        with tf.control_dependencies([ref]):
            row = tf.identity(ref)[:1]
        return i + 1, ref, tf.concat([rows, row], 0) if grows else rows + row

    shapes = [tf.TensorShape([]), tf.TensorShape([3, 2]), tf.TensorShape([None, 2])]
    start = [0, v._ref(), tf.zeros([1, 2])]
    _, _, rows = tf.while_loop(lambda i, *_: i < n, body, start, shapes, parallel_iterations=1)
    found = []
    with tf.Session() as session:
        session.run(v.initializer)
        for length in (2, 2, 0, 1):
            found.append((session.run(rows, {n: length})[:, 0].tolist(), session.run(v)[:, 0].tolist()))
    assert found == REF_RUNS[update, grows]
