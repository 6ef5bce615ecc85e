"""Conditionals whose branches hold gradients, write their own predicate or differ in shape; values are TensorFlow 1.15.5's."""

import numpy as np
import pytest

import tfcompat as tf


@pytest.fixture(autouse=True)
def graph():
    with tf.Graph().as_default():
        yield


def run(fetches, feed=None):
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        return session.run(fetches, feed)


def unknown(value):
    return tf.placeholder_with_default(value, [])


def test_gradient_inside_a_branch():
    x = tf.constant(3.0)
    y = tf.cond(unknown(True), lambda: tf.gradients(x * x, x)[0], lambda: x)
    assert run(y) == 6.0


def test_gradient_of_what_is_outside_inside_a_branch():
    x = tf.constant(3.0)
    z = x * x * x
    assert run(tf.cond(unknown(True), lambda: tf.gradients(z, x)[0], lambda: x)) == 27.0


def test_gradient_of_a_resource_variable_inside_a_branch():
    v = tf.get_variable("v", initializer=3.0, use_resource=True)
    assert run(tf.cond(unknown(True), lambda: tf.gradients(v * v, v)[0], lambda: v * 1.0)) == 6.0


def test_training_inside_a_branch():
    v = tf.get_variable("v", initializer=3.0, use_resource=True)

    def train():
        loss = v * v
        with tf.control_dependencies([tf.train.AdamOptimizer(0.1).minimize(loss)]):
            return tf.identity(loss)

    y = tf.cond(unknown(True), train, lambda: v * v)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        assert session.run(y) == 9.0
        np.testing.assert_allclose(session.run(v), 2.9, rtol=1e-6)


@pytest.mark.parametrize("other", [lambda e: tf.nn.embedding_lookup(e, [1, 0]), lambda e: e * 2.0])
def test_sparse_gradient_through_a_branch(other):
    e = tf.get_variable("e", initializer=[[1.0, 2.0], [3.0, 4.0]], use_resource=True)
    y = tf.cond(unknown(True), lambda: tf.nn.embedding_lookup(e, [0, 0]), lambda: other(e))
    gradient = tf.convert_to_tensor(tf.gradients(tf.reduce_sum(y), e)[0])
    assert run(gradient).tolist() == [[2, 2], [0, 0]]


def test_a_branch_that_writes_its_predicate():
    v = tf.get_variable("v", initializer=True, use_resource=True)
    one = tf.constant(1.0)

    def written():
        with tf.control_dependencies([v.assign(False)]):
            return tf.identity(one)

    y = tf.cond(v, written, lambda: one)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        assert [session.run(y), session.run(y), session.run(v)] == [1.0, 1.0, False]


VECTORS = [[1.0, 2.0, 3.0], [-1.0, -2.0, -3.0]]


def test_branches_of_different_shapes():
    x = tf.placeholder(tf.float32, [None])
    y = tf.cond(tf.reduce_sum(x) > 0, lambda: x, lambda: x[:2])
    gradient = tf.gradients(tf.reduce_sum(y * y), x)[0]
    with tf.Session() as session:
        found = [[v.tolist() for v in session.run([y * 2, gradient], {x: v})] for v in VECTORS]
    assert found == [[[2, 4, 6], [2, 4, 6]], [[-2, -4], [-2, -4, 0]]]


def test_branches_of_different_shapes_in_a_loop():
    x = tf.placeholder(tf.float32, [None])

    def body(i, total):
        return i + 1, total + tf.reduce_sum(tf.cond(total > 0, lambda: x, lambda: x[:2]))

    total = tf.while_loop(lambda i, _: i < 3, body, [0, 0.0])[1]
    gradient = tf.gradients(total, x)[0]
    with tf.Session() as session:
        found = [(float(t), g.tolist()) for t, g in (session.run([total, gradient], {x: v}) for v in VECTORS)]
    assert found == [(15.0, [3, 3, 2]), (-9.0, [3, 3, 0])]


def test_training_through_branches_of_different_shapes():
    x, v = tf.placeholder(tf.float32, [None]), tf.get_variable("v", initializer=3.0)
    y = tf.cond(v * x[0] > 0, lambda: x * v, lambda: x[:2] * v)
    train = tf.train.GradientDescentOptimizer(0.1).minimize(tf.reduce_sum(y))
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        found = [session.run([y, train], {x: value})[0] for value in VECTORS]
        np.testing.assert_allclose(found[0], [3, 6, 9], rtol=1e-6)
        np.testing.assert_allclose(found[1], [-2.4, -4.8], rtol=1e-6)
        np.testing.assert_allclose(session.run(v), 2.7, rtol=1e-6)


def test_a_read_of_a_ref_in_a_loop_sees_what_the_loop_writes():
    v, start = tf.get_variable("v", initializer=2.0), tf.constant(0)

    def body(i):
        with tf.control_dependencies([tf.cond(tf.constant(True), lambda: tf.assign(v, tf.square(v)), lambda: v)]):
            return i + 1

    with tf.control_dependencies([start]):
        end = tf.while_loop(lambda i: i < 4, body, [start])
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        assert (session.run(end), session.run(v)) == (4, 65536.0)


def test_gradient_through_the_initial_value_of_the_loop_around_is_refused():
    x = tf.placeholder(tf.float32, [], name="x")
    with pytest.raises(ValueError, match="inside while loop with respect to op 'x'"):
        tf.while_loop(lambda i, v: i < 3, lambda i, v: (i + 1, tf.gradients(v * 2, x)[0]), [0, x + 1])


def test_indices_of_two_dtypes_become_int64():
    values = tf.constant([10])
    found = tf.cond(
        tf.less(1, 2), lambda: tf.IndexedSlices(values + 1, tf.constant([0])), lambda: tf.IndexedSlices(values, tf.constant([0], tf.int64))
    )
    values, indices = run([found.values, found.indices])
    assert (values.tolist(), indices.tolist(), indices.dtype) == ([11], [0], np.int64)


def test_gradient_of_a_variable_through_a_loop_and_functions():
    v = tf.get_variable("v", initializer=[1.0, 2.0, 3.0, 4.0], use_resource=True)

    @tf.function
    def add(x, variable):
        return x + tf.reduce_sum(variable * variable)

    @tf.function
    def gradient(variable):
        total = tf.while_loop(lambda i, _: i < 2, lambda i, x: (i + 1, add(x, variable)), [0, 0.0])[1]
        return tf.gradients(total, variable)[0]

    assert run(gradient(v)).tolist() == [4, 8, 12, 16]


def test_a_gradient_that_waits_for_its_loop_inside_a_function():
    @tf.function
    def gradient():
        start = tf.constant(2.0)
        end = tf.while_loop(lambda i, _: i < 2, lambda i, x: [i + 1, x**2], [0, start])[1]
        with tf.control_dependencies([end]):
            return tf.gradients(end, start)[0]

    assert run(gradient()) == 32.0


def test_gradient_of_a_static_rnn_with_sequence_lengths():
    lengths = tf.placeholder(tf.int32, [None])
    x = tf.placeholder(tf.float32, [None, 3, 1])
    with tf.variable_scope("", initializer=tf.constant_initializer(0.5)):
        cell = tf.nn.rnn_cell.BasicLSTMCell(2)
        outputs, _ = tf.nn.static_rnn(cell, tf.unstack(x, axis=1), dtype=tf.float32, sequence_length=lengths)
    rows = tf.reshape(tf.transpose(tf.stack(outputs), [1, 0, 2]), [-1, 2])
    last = tf.gather(rows, tf.range(tf.shape(x)[0]) * 3 + lengths - 1)
    bias = tf.trainable_variables()[1]
    gradient = tf.gradients(tf.reduce_mean(tf.square(last)), bias)[0]
    data = np.arange(6.0).reshape(2, 3, 1) / 6
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        found = [session.run(gradient, {x: data, lengths: value})[::2] for value in ([1, 2], [2, 2], [3, 1])]
    expected = [
        [0.008920826, 0.06185907, 0.0011572667, 0.00930079],
        [0.009042379, 0.0678957850, 0.0011572667, 0.009422495],
        [0.002648463, 0.04405352, 0.00015336474, 0.0026624757],
    ]
    np.testing.assert_allclose(found, expected, rtol=2e-6)


def test_gradients_through_nested_branches_of_a_graph_from_a_file():
    a, b = (tf.placeholder(tf.bool, [], name=name) for name in "ab")
    x, y = (tf.placeholder(tf.float32, [], name=name) for name in "xy")
    tf.identity(tf.cond(a, lambda: 2.0 * y, lambda: tf.cond(b, lambda: x * y * 2.0, lambda: x * 5.0)), name="result")
    graph_def = tf.get_default_graph().as_graph_def()
    with tf.Graph().as_default(), tf.Session() as session:
        a, b, x, y, result = tf.import_graph_def(graph_def, return_elements=["a:0", "b:0", "x:0", "y:0", "result:0"])
        slopes = tf.gradients(result, [x, y])
        for outer, inner, expected in ((True, True, [0, 2]), (True, False, [0, 2]), (False, True, [14, 6]), (False, False, [5, 0])):
            assert session.run(slopes, {a: outer, b: inner, x: 3.0, y: 7.0}) == expected


def test_a_branch_that_changes_the_variable_it_hangs_on():
    variable = tf.get_variable("flag", dtype=tf.bool, initializer=True)
    result = tf.cond(variable, lambda: tf.assign(variable, False), lambda: True)
    with tf.Session() as session:
        session.run(variable.initializer)
        assert [bool(session.run(result)) for _ in range(2)] == [False, True]


def test_gradient_through_one_side_of_a_switch():
    x = tf.constant(2.0)
    off, on = tf.raw_ops.Switch(data=x, pred=tf.placeholder_with_default(True, []))
    assert run([tf.gradients(off, x)[0], tf.gradients(on, x)[0]]) == [0.0, 1.0]


def test_a_predicate_chooses_between_two_outer_tensors():
    """Branches that hold nothing of their own: the predicate is known only when the step runs."""
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.placeholder(tf.float32, [3])
        step = tf.get_variable("step", shape=[], dtype=tf.int64, initializer=tf.zeros_initializer())
        late = tf.greater_equal(tf.assign_add(step, 1), 2)
        y = tf.exp(x)
        chosen = tf.cond(late, lambda: y, lambda: x)
        session.run(tf.global_variables_initializer())
        values = [session.run(chosen, {x: [0.0, 0.0, 0.0]}).tolist() for _ in range(3)]
        assert values == [[0.0] * 3, [1.0] * 3, [1.0] * 3]


def test_what_stands_in_a_branch_not_taken_has_no_value() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        x, inside = tf.placeholder(tf.float32, [2]), []
        tf.cond(tf.reduce_sum(x) > 0.0, lambda: inside.append(tf.constant(2.0) * 3.0) or inside[0], lambda: tf.constant(1.0))
        after = inside[0] + 1.0
        assert session.run(after, {x: [1.0, 1.0]}) == 7.0
        with pytest.raises(tf.errors.InvalidArgumentError, match=r"Retval\[0\] does not have value"):
            session.run(after, {x: [-1.0, -1.0]})


def test_ops_of_loops_pass_values_on_where_there_is_no_loop() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.placeholder(tf.float32, [])
        entered = tf.raw_ops.Enter(data=x, frame_name="frame")
        assert session.run([entered, tf.raw_ops.NextIteration(data=x)], {x: 2.0}) == [2.0, 2.0]
        assert session.run(tf.raw_ops.LoopCond(input=x > 1.0), {x: 2.0})


def test_gradient_of_a_list_that_a_conditional_resizes() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        x, n = tf.constant([1.0, 2.0, 3.0]), tf.placeholder(tf.int32, [])
        scalar = np.zeros([0], np.int32)
        made = tf.raw_ops.TensorListFromTensor(tensor=x, element_shape=scalar)
        grown = tf.cond(n > 3, lambda: tf.raw_ops.TensorListResize(input_handle=made, size=n), lambda: made)
        written = tf.raw_ops.TensorListSetItem(input_handle=grown, index=n - 1, item=tf.constant(4.0))
        rows = tf.raw_ops.TensorListStack(input_handle=written, element_shape=scalar, element_dtype=tf.float32)
        slope = tf.gradients(rows * rows, x)[0]
        np.testing.assert_array_equal(session.run(slope, {n: 4}), [2.0, 4.0, 6.0])
        np.testing.assert_array_equal(session.run(slope, {n: 3}), [2.0, 4.0, 0.0])


@pytest.mark.parametrize("slices", [False, True])
@pytest.mark.parametrize("in_branch", [False, True])
def test_a_variable_grows_and_keeps_what_it_held(slices, in_branch):
    """An assignment of another shape gives a variable other memory: what was read before is as it was."""
    x = tf.placeholder(tf.float32, [None])
    kept = tf.Variable(tf.constant([1.0, 2.0]), validate_shape=False)
    length = tf.Variable(2)

    def grown():
        before = kept.value()
        with tf.control_dependencies([before]):
            larger = tf.assign(kept, tf.zeros([length + tf.shape(x)[0]]), validate_shape=False)
        with tf.control_dependencies([larger]):
            copied = kept[:length].assign(before[:length]) if slices else tf.assign(kept, tf.concat([before, x], 0))
        with tf.control_dependencies([copied]):
            return tf.no_op()

    step = tf.cond(length > 1, grown, tf.no_op) if in_branch else grown()
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        session.run(step, {x: [3.0, 4.0, 5.0]})
        assert session.run(kept).tolist() == ([1.0, 2.0, 0.0, 0.0, 0.0] if slices else [1.0, 2.0, 3.0, 4.0, 5.0])


def test_a_branch_computes_the_size_of_its_result():
    """The size depends on a variable, and so does the predicate: the host runs the branch."""
    size = tf.Variable(3)
    grown = tf.cond(size > 2, lambda: tf.ones([tf.cast(tf.pow(2.0, tf.cast(size, tf.float32)), tf.int32)]), lambda: tf.zeros([1]))
    assert run(grown).tolist() == [1.0] * 8


@pytest.mark.parametrize("v2", [False, True])
@pytest.mark.parametrize("in_loop", [False, True])
def test_a_branch_that_cannot_be_computed_matters_only_where_it_is_taken(v2, in_loop):
    if v2:
        tf.enable_control_flow_v2()
    x, v = tf.placeholder(tf.float32, [None, None]), tf.get_variable("v", initializer=2.0)

    def value():
        one_column = tf.equal(tf.shape(x)[1], 1)
        return tf.cond(one_column, lambda: v * tf.reduce_sum(tf.squeeze(x, [1])), lambda: v * v * tf.reduce_sum(x))

    y = tf.while_loop(lambda i, a: i < 3, lambda i, a: (i + 1, a + value()), [0, 0.0])[1] if in_loop else value()
    gradient, rounds = tf.gradients(y, [v])[0], 3 if in_loop else 1
    try:
        with tf.Session() as session:
            session.run(v.initializer)
            for columns, expected in ((3, (24, 24)), (1, (4, 2)), (2, (16, 16))):
                assert session.run([y, gradient], {x: np.ones((2, columns))}) == [rounds * e for e in expected]
    finally:
        tf.disable_control_flow_v2()


def test_the_error_of_a_branch_is_raised_where_it_is_taken():
    x = tf.placeholder(tf.float32, [None, None])
    y = tf.cond(tf.equal(tf.shape(x)[1], 1), lambda: tf.reduce_sum(tf.squeeze(x, [0])), lambda: tf.reduce_sum(x))
    with tf.Session() as session:
        assert session.run(y, {x: np.ones((2, 3))}) == 6
        with pytest.raises(tf.errors.InvalidArgumentError, match=r"Can not squeeze dim\[0\], expected a dimension of 1, got 2"):
            session.run(y, {x: np.ones((2, 1))})


def test_gradient_of_a_branch_with_unknown_sizes_is_compiled():
    x, w = tf.placeholder(tf.float32, [None, 3]), tf.get_variable("w", [1, 3], initializer=tf.ones_initializer())
    result = tf.cond(tf.reduce_sum(x) > 0, lambda: tf.tanh(x * w), lambda: x - w)
    gradient = tf.gradients(result, w)[0]
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        data = np.arange(6.0).reshape(2, 3)
        assert session.explain(gradient, {x: data}).startswith("plan: 1 compiled call(s), 0 host step(s)")
        np.testing.assert_allclose(session.run(gradient, {x: data}), [np.sum(data / np.cosh(data) ** 2, 0)], rtol=1e-4)
        np.testing.assert_allclose(session.run(gradient, {x: -data}), [[-2, -2, -2]])


@pytest.mark.parametrize("value", [True, False])
def test_a_branch_takes_what_an_earlier_one_of_the_same_variable_gave(value):
    x, chosen = tf.constant([1.0, 2.0]), tf.Variable(value)
    first = tf.cond(chosen, lambda: x * 2, lambda: x)
    second = tf.cond(chosen, lambda: first + 1, lambda: -first)
    third = tf.cond(chosen, lambda: second * first, lambda: second - first)
    want = [[2, 4], [3, 5], [6, 20]] if value else [[1, 2], [-1, -2], [-2, -4]]
    np.testing.assert_array_equal(run([first, second, third]), want)


@pytest.mark.parametrize("fed", [True, False])
def test_batch_norm_by_a_variable_that_is_fed(fed):
    x, training = tf.placeholder(tf.float32, [None, 1]), tf.Variable(not fed, trainable=False)
    y = tf.contrib.layers.batch_norm(x, decay=0.5, is_training=training, fused=False, epsilon=0.0, updates_collections=None)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        found = session.run(y, {x: [[1.0], [3.0]], training: fed})
        moved = session.run("BatchNorm/moving_mean:0")
    np.testing.assert_allclose(found, [[-1.0], [1.0]] if fed else [[1.0], [3.0]], rtol=1e-6)
    np.testing.assert_allclose(moved, [1.0 if fed else 0.0], rtol=1e-6)


def rows(x):
    """The sums of the rows of a matrix, in branches of which one can only be computed where there is one column."""
    return tf.cond(tf.equal(tf.shape(x)[1], 1), lambda: tf.squeeze(x, [1]), lambda: tf.scan(lambda a, b: a + b, tf.transpose(x))[-1])


@pytest.mark.parametrize("columns", [3, 1])
def test_a_branch_that_a_shape_chooses_is_compiled_with_its_gradient(columns):
    x = tf.placeholder(tf.float32, [None, None])
    total = rows(x)
    slope = tf.gradients(total * total, x)[0]
    given = np.arange(2.0 * columns, dtype=np.float32).reshape(2, columns)
    sums = given.sum(1)
    with tf.Session() as session:
        found = session.run([total, slope], {x: given})
        text = session.explain([total, slope], {x: given})
    np.testing.assert_allclose(found[0], sums)
    np.testing.assert_allclose(found[1], np.repeat(2 * sums[:, None], columns, 1))
    assert "1 compiled call(s), 0 host step(s)" in text


def test_a_shape_from_outside_is_known_in_a_branch_of_a_loop():
    x = tf.placeholder(tf.float32, [None])
    size = tf.shape(x)[0]

    def body(i, s):
        return i + 1, s + tf.cond(i > 0, lambda: x, lambda: tf.zeros([size]))

    total = tf.while_loop(lambda i, s: i < 3, body, [0, x], [tf.TensorShape([]), tf.TensorShape([None])])[1]
    with tf.Session() as session:
        assert session.run(total, {x: [1.0, 2.0]}).tolist() == [3.0, 6.0]
        assert "1 compiled call(s), 0 host step(s)" in session.explain(total, {x: [1.0, 2.0]})


def test_sizes_of_a_branch_that_the_host_runs_are_not_known_to_the_compiler():
    x = tf.placeholder(tf.float32, [None, None])

    def products():
        found = tf.scan(lambda a, b: a * b, tf.transpose(x))[-1]
        with tf.control_dependencies([tf.py_func(lambda a: None, [found], [])]):
            return tf.identity(found)

    total = tf.cond(tf.equal(tf.shape(x)[1], 1), lambda: tf.squeeze(x, [1]), products)
    given = np.arange(1, 7, dtype=np.float32).reshape(2, 3)
    found, slope = run([total, tf.gradients(total * total, x)[0]], {x: given})
    product = given.prod(1)
    np.testing.assert_allclose(found, product)
    np.testing.assert_allclose(slope, 2 * product[:, None] ** 2 / given, rtol=1e-6)
