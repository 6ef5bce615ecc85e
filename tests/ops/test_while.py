"""Loops at run time: how they are compiled, gradients, state, random numbers, host work, errors."""

import numpy as np
import pytest

import tfcompat as tf
from tfcompat._src.runtime.engines import choice


@pytest.fixture(autouse=True)
def graph():
    with tf.Graph().as_default() as found:
        yield found


def run(fetches, feed=None):
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        return session.run(fetches, feed)


def power(x, n, c):
    return tf.while_loop(lambda i, _: i < n, lambda i, y: (i + 1, y * c), [0, x])[1]


def test_device_loop_is_one_compiled_call(monkeypatch):
    monkeypatch.setattr(choice, "ENGINE", "compile")
    y = power(tf.placeholder_with_default(1.0, []), tf.placeholder_with_default(10, []), 2.0)
    with tf.Session() as session:
        assert session.run(y) == 1024.0
        plan = session.plan(y)
        assert len(plan.steps) == len(plan.clusters) == 1
        assert plan.compile_count() == 1


@pytest.mark.parametrize("n", [0, 1, 5, 9])
def test_gradient_with_a_limit_that_is_fed(n):
    x, c, limit = tf.placeholder_with_default(1.5, []), tf.placeholder_with_default(2.0, []), tf.placeholder(tf.int32, [])
    y = power(x, limit, c)
    found = run([y, *tf.gradients(y, [x, c])], {limit: n})
    np.testing.assert_allclose(found, [1.5 * 2.0**n, 2.0**n, 1.5 * n * 2.0 ** (n - 1)], rtol=1e-6)


def test_gradient_of_a_loop_that_ends_on_its_value():
    x = tf.placeholder_with_default(3.0, [])
    y = tf.while_loop(lambda y: y < 100.0, lambda y: y * y, [x])
    assert run([y, tf.gradients(y, x)[0]]) == [6561.0, 8 * 3.0**7]


def test_gradient_of_nested_loops_whose_length_varies():
    x = tf.placeholder_with_default(2.0, [])

    def body(i, y):
        return i + 1, tf.while_loop(lambda j, _: j < i, lambda j, z: (j + 1, z * x), [0, y])[1]

    y = tf.while_loop(lambda i, _: i < 4, body, [0, 1.0])[1]
    assert run([y, tf.gradients(y, x)[0]]) == [64.0, 6 * 32.0]


def test_gradient_of_a_loop_that_changes_shape():
    x = tf.placeholder_with_default(3.0, [])
    y = tf.while_loop(
        lambda v: tf.size(v) < 8, lambda v: tf.concat([v, v * x], 0), [tf.reshape(x, [1])], shape_invariants=[tf.TensorShape([None])]
    )
    total = tf.reduce_sum(y)
    value, grad = run([total, tf.gradients(total, x)[0]])
    assert value == 3.0 * 4.0**3
    assert grad == 4.0**3 + 3.0 * 3 * 4.0**2


def test_shape_that_changes_where_only_the_run_shows_it():
    x = tf.placeholder(tf.float32, [None])
    y = tf.while_loop(lambda v: tf.size(v) < 8, lambda v: tf.concat([v, v + 1.0], 0), [x])
    with tf.Session() as session:
        np.testing.assert_array_equal(session.run(y, {x: [1.0, 2.0, 3.0]}), [1, 2, 3, 2, 3, 4, 2, 3, 4, 3, 4, 5])
        assert session.run(y, {x: np.ones(9)}).shape == (9,)


def test_relu_and_maximum_have_tensorflow_slopes_at_ties():
    x = tf.placeholder_with_default(0.0, [])
    y = tf.while_loop(lambda i, _: i < 1, lambda i, v: (i + 1, tf.nn.relu(v) + tf.maximum(v, 0.0)), [0, x])[1]
    assert run(tf.gradients(y, x)) == [1.0]


def test_stop_gradient_inside():
    x = tf.placeholder_with_default(3.0, [])
    y = tf.while_loop(lambda i, _: i < 2, lambda i, v: (i + 1, v * tf.stop_gradient(v)), [0, x])[1]
    assert run(tf.gradients(y, x)) == [27.0]


def test_back_prop_false_stops_gradients():
    x = tf.placeholder_with_default(3.0, [])
    y = tf.while_loop(lambda i, _: i < 2, lambda i, v: (i + 1, v * v), [0, x], back_prop=False)[1]
    assert tf.gradients(y, x) == [None]


def test_gradient_of_a_loop_in_a_branch():
    x, on = tf.placeholder_with_default(3.0, []), tf.placeholder(tf.bool, [])
    y = tf.cond(on, lambda: power(x, 3, x), lambda: x * 2.0)
    grad = tf.gradients(y, x)[0]
    assert run([y, grad], {on: True}) == [81.0, 108.0]
    assert run([y, grad], {on: False}) == [6.0, 2.0]


def test_gradients_inside_a_loop():
    x = tf.while_loop(lambda i, _: i < 50, lambda i, v: (i + 1, v - 0.2 * tf.gradients((v - 3.0) ** 2, v)[0]), [0, 0.0])[1]
    np.testing.assert_allclose(run(x), 3.0, rtol=1e-5)


def test_variables_are_written_in_each_iteration():
    v = tf.get_variable("v", initializer=1.0, use_resource=True)
    w = tf.Variable(1.0)

    def body(i):
        with tf.control_dependencies([v.assign_add(2.0), w.assign_add(1.0)]):
            return tf.identity(i) + 1

    loop = tf.while_loop(lambda i: i < 5, body, [0])
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        assert session.run(loop) == 5
        assert session.run([v, w]) == [11.0, 6.0]


def test_gradient_to_variables_read_inside():
    v = tf.get_variable("v", initializer=3.0, use_resource=True)
    w = tf.Variable(2.0)
    y = tf.while_loop(lambda i, _: i < 2, lambda i, x: (i + 1, x * v + w), [0, 1.0])[1]
    assert run([y, *tf.gradients(y, [v, w])]) == [17.0, 8.0, 4.0]


def test_random_numbers_move_on_with_each_iteration():
    """Expected numbers: TensorFlow 1.15.5, graph-level seed unset."""
    n = tf.placeholder(tf.int32, [])
    total = tf.while_loop(lambda i, _: i < n, lambda i, s: (i + 1, s + tf.random_uniform([], seed=1)), [0, 0.0])[1]
    with tf.Session() as session:
        np.testing.assert_allclose(session.run(total, {n: 3}), 0.8047583, rtol=1e-6)
        np.testing.assert_allclose(session.run(total, {n: 2}), 1.8298815, rtol=1e-6)


def test_python_in_the_body_is_called_in_each_iteration():
    seen = []

    def note(x):
        seen.append(float(x))
        return np.float32(x * 2)

    def body(i, x):
        y = tf.py_func(note, [x], tf.float32)
        y.set_shape([])
        return i + 1, y

    assert run(tf.while_loop(lambda i, _: i < 3, body, [0, 1.0])[1]) == 8.0
    assert seen == [1.0, 2.0, 4.0]


def test_array_grows_past_its_first_room():
    array = tf.TensorArray(tf.float32, 0, dynamic_size=True)
    n = tf.placeholder(tf.int32, [])
    array = tf.while_loop(lambda i, _: i < n, lambda i, a: (i + 1, a.write(i, tf.cast(i, tf.float32))), [0, array])[1]
    np.testing.assert_array_equal(run(array.stack(), {n: 300}), np.arange(300, dtype=np.float32))


def test_array_of_different_shapes_stays_on_the_host():
    array = tf.TensorArray(tf.float32, 3, infer_shape=False)
    array = tf.while_loop(lambda i, _: i < 3, lambda i, a: (i + 1, a.write(i, tf.ones([i + 1]) * 2.0)), [0, array])[1]
    np.testing.assert_array_equal(run(array.concat()), np.full(6, 2.0, np.float32))


@pytest.mark.parametrize("grows", [True, False])
def test_an_array_whose_shapes_nobody_checks_has_gradients(grows):
    x, scale = tf.placeholder(tf.float32, [None, 2]), tf.Variable([2.0, 3.0])
    array = tf.TensorArray(tf.float32, 0 if grows else tf.shape(x)[0], dynamic_size=grows, infer_shape=False)
    array = tf.while_loop(lambda i, _: i < tf.shape(x)[0], lambda i, a: (i + 1, a.write(i, x[i] * x[i] * scale)), (0, array))[1]
    y = tf.reshape(array.stack(), tf.shape(x))
    of_x, of_scale = run(tf.gradients(y * y, [x, scale]), {x: [[1, 2], [3, 4], [5, 6]]})
    np.testing.assert_allclose(of_x, [[16, 288], [432, 2304], [2000, 7776]], rtol=1e-6)
    np.testing.assert_allclose(of_scale, [2828, 9408], rtol=1e-6)


def test_an_array_of_several_shapes_has_a_gradient_through_a_loop_by_node_only(monkeypatch):
    x, array = tf.placeholder_with_default(tf.ones([4]), [4]), tf.TensorArray(tf.float32, 3, infer_shape=False)
    array = tf.while_loop(lambda i, _: i < 3, lambda i, a: (i + 1, a.write(i, x[: i + 1])), (0, array))[1]
    slope = tf.gradients(array.concat(), x)
    monkeypatch.setattr(choice, "ENGINE", "nodes")
    np.testing.assert_allclose(run(slope), [[3, 2, 1, 0]])
    monkeypatch.setattr(choice, "ENGINE", "interpret")
    with pytest.raises(NotImplementedError, match="elements have several shapes"):
        run(slope)


@pytest.mark.parametrize(
    "build, text",
    [
        (lambda a, i: a.write(i, 1.0).write(i, 2.0).flow, "Could not write to TensorArray index 1 because it has already been written to."),
        (lambda a, i: a.write(i + 6, 1.0).flow, "Tried to write to index 7 but array is not resizeable and size is: 3"),
        (lambda a, i: a.write(i, 1.0).read(i + 6), "Tried to read from index 7 but array size is: 3"),
        (lambda a, i: a.scatter([0, 3], [1.0, 2.0]).stack(), "Max scatter index must be < array size"),
        (lambda a, i: a.read(i), "Could not read from TensorArray index"),
    ],
)
def test_array_errors(build, text):
    index = tf.placeholder_with_default(1, [])
    with pytest.raises(tf.errors.InvalidArgumentError, match=text):
        run(build(tf.TensorArray(tf.float32, 3), index))


def test_error_in_a_loop_changes_no_variable():
    v = tf.Variable(1.0)
    array = tf.TensorArray(tf.float32, 2)

    def body(i, a):
        with tf.control_dependencies([v.assign_add(1.0)]):
            return tf.identity(i) + 1, a.write(0, 1.0)

    loop = tf.while_loop(lambda i, _: i < 2, body, [0, array])[1].flow
    with tf.Session() as session:
        session.run(v.initializer)
        with pytest.raises(tf.errors.InvalidArgumentError, match="already been written"):
            session.run(loop)
        assert session.run(v) == 1.0


def test_tensors_inside_cannot_be_fetched():
    inside = []

    def body(i):
        inside.append(i + 1)
        return inside[0]

    tf.while_loop(lambda i: i < 3, body, [0])
    with tf.Session() as session, pytest.raises(ValueError, match="has been marked as not fetchable"):
        session.run(inside[0])


def test_imported_loop_runs_and_has_a_gradient(graph):
    x = tf.placeholder(tf.float32, [], name="x")
    tf.identity(power(x, 4, x), name="y")
    definition = graph.as_graph_def()
    with tf.Graph().as_default(), tf.Session() as session:
        x, y = tf.import_graph_def(definition, return_elements=["x:0", "y:0"], name="")
        assert session.run([y, tf.gradients(y, x)[0]], {x: 2.0}) == [32.0, 80.0]


def test_a_failing_check_ends_the_loop():
    with tf.Graph().as_default(), tf.Session() as session:
        start = tf.placeholder(tf.int32, [])

        def body(i):
            with tf.control_dependencies([tf.Assert(i < 5, [i])]):
                return tf.identity(i) + tf.cast(i < 5, tf.int32)

        final = tf.while_loop(lambda i: i < 10, body, [start])
        with pytest.raises(tf.errors.InvalidArgumentError, match=r"assertion failed: \[5\]"):
            session.run(final, {start: 0})


def test_gradient_of_a_loop_over_rows_that_its_iterations_draw():
    """The values are those of TensorFlow 1.15.5."""

    def body(i, s):
        chosen = tf.random_uniform([4], seed=3) > 0.5

        def some():
            rows = tf.cast(tf.where(chosen), tf.int32)
            values = tf.gather_nd(s, rows)
            return s * 0.5 + tf.scatter_nd(rows, values * values, tf.shape(s))

        return i + 1, tf.cond(tf.reduce_any(chosen), some, lambda: s * 2.0) + x

    with tf.Graph().as_default(), tf.Session() as session:
        tf.set_random_seed(1)
        x = tf.placeholder(tf.float32, [4, 3])
        y = tf.while_loop(lambda i, s: i < 4, body, [0, tf.zeros([4, 3])], parallel_iterations=1)[1]
        fetches = [y, tf.gradients(y, x)[0]]
        found = session.run(fetches, {x: np.linspace(-1, 1, 12).reshape(4, 3)})
    wanted = [
        [-1.5, -1.2111, -0.9409, -0.2195, -0.2836, -0.1451, 0.2169, 1.2066, 4.1482, 1.1932, 1.5341, 1.875],
        [1.625, 1.542, 1.4319, -0.9091, 0.2045, 1.3182, 3.0208, 8.9868, 26.1374, 1.875, 1.875, 1.875],
    ]
    np.testing.assert_allclose(np.reshape(found, [2, 12]), wanted, rtol=1e-4, atol=1e-4)


def test_several_gradients_of_one_scan_whose_first_element_starts_it():
    x, w = tf.placeholder(tf.float64, [None, 2]), tf.constant([0.5, -0.25], tf.float64)
    loss = tf.reduce_sum(tf.scan(lambda a, row: 0.5 * a + row * w, x) ** 2)
    once, thrice = tf.gradients(loss, [x, w]), tf.gradients(3 * loss, [x, w])
    with tf.name_scope("other"):
        half = tf.gradients(loss / 2, w)
    (of_x, of_w), (more_of_x, more_of_w), (less_of_w,) = run([once, thrice, half], {x: [[1.0, 2.0], [-1.0, 0.5], [0.25, 3.0]]})
    np.testing.assert_allclose(of_x, [[2.0625, 4.71875], [0.0625, -0.359375], [0.125, 0.15625]])
    np.testing.assert_allclose(of_w, [-0.0625, -1.15625])
    np.testing.assert_allclose(more_of_x, 3 * of_x)
    np.testing.assert_allclose(more_of_w, 3 * of_w)
    np.testing.assert_allclose(less_of_w, of_w / 2)
