"""Variables that an index or a conditional chooses when a run comes to it; values are TensorFlow 1.15.5's."""

import numpy as np
import pytest

import tfcompat as tf


@pytest.fixture(autouse=True)
def graph():
    with tf.Graph().as_default():
        yield


def two(*shapes, use_resource):
    """Variables "a" of 1, 2, ... and "b" of 10, 20, ..."""
    counts = [np.arange(1.0, 1 + np.prod(shape)).reshape(shape).astype(np.float32) for shape in shapes or ((2,), (2,))]
    return [tf.Variable(s * c, name=n, use_resource=use_resource) for n, s, c in zip("ab", (1, 10), counts)]


def chosen_by(index, *variables):
    return tf.raw_ops.RefSelect(index=index, inputs=[v if isinstance(v, tf.Tensor) else v._ref() for v in variables])


def either(on, a, b):
    """The handle of one of two variables."""
    return tf.cond(on, lambda: a.handle, lambda: b.handle)


def read(handle):
    return tf.raw_ops.ReadVariableOp(resource=handle, dtype=tf.float32)


@pytest.fixture
def begin():
    """Begins a session in which all variables have their first values."""
    with tf.Session() as session:

        def begun():
            session.run(tf.global_variables_initializer())
            return session

        yield begun


def lists(values):
    return [np.asarray(v).tolist() for v in values]


# ---- an index: RefSelect ----


def test_index_says_what_is_read_and_updated(begin):
    a, b = two(use_resource=False)
    index = tf.placeholder(tf.int32, [])
    ref = chosen_by(index, a, b)
    double, more = tf.identity(ref) * 2, tf.assign_add(ref, [100.0, 200.0])
    session = begin()
    assert [session.run(double, {index: i}).tolist() for i in (0, 1)] == [[2, 4], [20, 40]]
    assert [session.run(more, {index: i}).tolist() for i in (1, 0, 1)] == [[110, 220], [101, 202], [210, 420]]
    assert lists(session.run([a, b])) == [[101, 202], [210, 420]]


def test_index_out_of_range(begin):
    index = tf.placeholder(tf.int32, [])
    y = tf.identity(chosen_by(index, *two(use_resource=False)))
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"Index must be in the range \[0, 2\) but got 2"):
        begin().run(y, {index: 2})


def test_all_variables_of_an_index_must_have_values():
    a, b = two(use_resource=False)
    y = tf.identity(chosen_by(0, a, b))
    with tf.Session() as session:
        session.run(a.initializer)
        with pytest.raises(tf.errors.FailedPreconditionError, match="Attempting to use uninitialized value b"):
            session.run(y)


def test_rows_of_the_chosen_variable_change(begin):
    a, b = two(use_resource=False)
    index = tf.placeholder(tf.int32, [])
    update = tf.scatter_update(chosen_by(index, a, b), [1], [7.0])
    with tf.control_dependencies([update.op]):
        after = tf.identity(a) + 0.0
    session = begin()
    assert [session.run(after, {index: i}).tolist() for i in (1, 0)] == [[1, 2], [1, 7]]
    assert session.run(b).tolist() == [10, 7]


def test_variables_of_different_shapes(begin):
    a, b = two((2,), (3,), use_resource=False)
    index = tf.placeholder(tf.int32, [])
    ref = chosen_by(index, a, b)
    total, longer = tf.reduce_sum(tf.identity(ref)), tf.assign(ref, [1.0, 2.0, 3.0, 4.0], validate_shape=False)
    session = begin()
    assert ref.shape.ndims is None
    assert [session.run(total, {index: i}) for i in (0, 1)] == [3, 60]
    session.run(longer, {index: 0})
    assert session.run(total, {index: 0}) == 10


def test_fetched_and_fed_refs(begin):
    a, b = two(use_resource=False)
    index = tf.placeholder(tf.int32, [])
    ref = chosen_by(index, a, b)
    session = begin()
    assert session.run(ref, {index: 1}).tolist() == [10, 20]
    assert session.run(ref, {ref: [3.0, 3.0]}).tolist() == [3, 3]


def test_index_of_an_index(begin):
    a, b = two(use_resource=False)
    c = tf.Variable([7.0, 8.0], use_resource=False)
    inner, outer = tf.placeholder(tf.int32, []), tf.placeholder(tf.int32, [])
    less = tf.assign_sub(chosen_by(outer, chosen_by(inner, a, b), c), [1.0, 1.0])
    session = begin()
    assert [session.run(less, {inner: i, outer: o}).tolist() for i, o in ((0, 0), (1, 0), (0, 1))] == [[0, 1], [9, 19], [6, 7]]


def test_another_variable_in_each_iteration(begin):
    a, b = two(use_resource=False)

    def body(i):
        with tf.control_dependencies([tf.assign_add(chosen_by(i % 2, a, b), [1.0, 1.0])]):
            return i + 1

    end = tf.while_loop(lambda i: i < 5, body, [0], parallel_iterations=1)
    session = begin()
    assert session.run(end) == 5
    assert lists(session.run([a, b])) == [[4, 5], [12, 22]]


def test_no_gradient():
    a, b = two(use_resource=False)
    with pytest.raises(LookupError, match="RefSelect"):
        tf.gradients(tf.identity(chosen_by(0, a, b)), a._ref())


# ---- a conditional ----


def test_conditional_of_refs(begin):
    a, b = two(use_resource=False)
    on = tf.placeholder(tf.bool, [])
    ref = tf.cond(on, lambda: a._ref(), lambda: b._ref())
    more = tf.assign_add(ref, [1.0, 1.0])
    session = begin()
    assert ref.op.type == "RefMerge"
    assert [session.run(more, {on: v}).tolist() for v in (True, False)] == [[2, 3], [11, 21]]


def test_conditional_of_handles(begin):
    a, b = two(use_resource=True)
    on = tf.placeholder(tf.bool, [])
    handle = either(on, a, b)
    value, row = read(handle), tf.raw_ops.ResourceGather(resource=handle, indices=[1], dtype=tf.float32)
    more = tf.raw_ops.AssignAddVariableOp(resource=handle, value=[1.0, 1.0])
    session = begin()
    assert value.shape.ndims is None
    assert [lists(session.run([value, row], {on: v})) for v in (True, False)] == [[[1, 2], [2]], [[10, 20], [20]]]
    for v in (True, False, False):
        session.run(more, {on: v})
    assert lists(session.run([a, b])) == [[2, 3], [12, 22]]


def test_predicate_that_the_run_computes(begin):
    a, b = two(use_resource=True)
    x = tf.placeholder(tf.float32, [None])
    handle = either(tf.reduce_sum(x) > 0, a, b)
    y = read(handle) * 2 + tf.reduce_sum(x)
    with tf.control_dependencies([tf.raw_ops.AssignSubVariableOp(resource=handle, value=y)]):
        total = a.read_value() + b.read_value()
    session = begin()
    found = [lists(session.run([y, total], {x: v})) for v in ([1.0], [-1.0], [2.0, 3.0])]
    assert found == [[[3, 5], [8, 17]], [[19, 39], [-11, -22]], [[1, -1], [-12, -21]]]


def test_predicate_that_is_a_variable(begin):
    a, b = two(use_resource=True)
    turn = tf.Variable(True)
    with tf.control_dependencies([tf.raw_ops.AssignAddVariableOp(resource=either(turn, a, b), value=[1.0, 1.0])]):
        other = tf.assign(turn, tf.logical_not(turn))
    session = begin()
    for _ in range(3):
        session.run(other)
    assert lists(session.run([a, b, turn])) == [[3, 4], [11, 21], False]


def test_case_of_three_handles(begin):
    a, b = two(use_resource=True)
    c = tf.Variable([0.0, 0.0], use_resource=True)
    index = tf.placeholder(tf.int32, [])
    handle = tf.case([(tf.equal(index, 0), lambda: a.handle), (tf.equal(index, 1), lambda: b.handle)], default=lambda: c.handle)
    triple = tf.raw_ops.AssignVariableOp(resource=handle, value=read(handle) * 3.0)
    session = begin()
    assert [session.run(read(handle), {index: i}).tolist() for i in range(3)] == [[1, 2], [10, 20], [0, 0]]
    for i in range(3):
        session.run(triple, {index: i})
    assert lists(session.run([a, b, c])) == [[3, 6], [30, 60], [0, 0]]


def test_identities_branches_and_functions_of_a_chosen_handle(begin):
    a, b = two(use_resource=True)
    p, q = tf.placeholder(tf.bool, []), tf.placeholder(tf.bool, [])
    handle = tf.identity(tf.cond(p, lambda: tf.identity(a.handle), lambda: either(q, a, b)))
    branch = tf.cond(q, lambda: read(handle) * 2, lambda: tf.zeros([2]))
    called = tf.function(lambda: read(handle) * 3)()
    session = begin()
    found = [lists(session.run([branch, called], {p: v, q: w})) for v in (True, False) for w in (True, False)]
    assert found == [[[2, 4], [3, 6]], [[0, 0], [3, 6]], [[2, 4], [3, 6]], [[0, 0], [30, 60]]]


def test_handle_in_each_iteration(begin):
    a, b = two(use_resource=True)

    def body(i):
        handle = either(tf.equal(i % 2, 0), a, b)
        with tf.control_dependencies([tf.raw_ops.AssignAddVariableOp(resource=handle, value=[1.0, 1.0])]):
            return i + 1

    end = tf.while_loop(lambda i: i < 5, body, [0], parallel_iterations=1)
    session = begin()
    assert session.run(end) == 5
    assert lists(session.run([a, b])) == [[4, 5], [12, 22]]


def test_several_chosen_handles_of_one_operation(begin):
    variables = [two(use_resource=True) for _ in range(3)]
    on = tf.placeholder(tf.bool, [])
    var, m, v = (either(on, a, b) for a, b in variables)
    grad = tf.placeholder_with_default([1.0, 2.0], None)
    step = tf.raw_ops.ResourceApplyAdam(
        var=var, m=m, v=v, beta1_power=0.9, beta2_power=0.99, lr=0.1, beta1=0.9, beta2=0.99, epsilon=1e-8, grad=grad
    )
    session = begin()
    session.run(step, {on: True})
    session.run(step, {on: False})
    expected = [[0.9000001, 1.8592806], [9.710929, 19.591398], [1.0, 2.0], [9.099999, 18.199999], [1.0, 2.02], [9.91, 19.84]]
    np.testing.assert_allclose(session.run([v for pair in variables for v in pair]), expected, rtol=1e-6)


def test_gradient_goes_to_the_chosen_variable(begin):
    a, b = two(use_resource=True)
    on = tf.placeholder(tf.bool, [])
    grads = tf.gradients(read(either(on, a, b)) ** 2, [a.handle, b.handle])
    session = begin()
    assert [g.op.type for g in grads] == ["Merge", "Merge"]
    assert session.run(grads[0], {on: True}).tolist() == [2, 4]
    assert session.run(grads[1], {on: False}).tolist() == [20, 40]
    assert session.run(grads[0], {on: False}).tolist() == [0, 0]


def test_only_the_chosen_variable_needs_a_value():
    a, b = two(use_resource=True)
    on = tf.placeholder(tf.bool, [])
    handle = either(on, a, b)
    value, row = read(handle), tf.raw_ops.ResourceGather(resource=handle, indices=[0], dtype=tf.float32)
    with tf.Session() as session:
        session.run(a.initializer)
        assert session.run(value, {on: True}).tolist() == [1, 2]
        with pytest.raises(tf.errors.FailedPreconditionError, match="Error while reading resource variable b from Container: localhost"):
            session.run(value, {on: False})
        with pytest.raises(tf.errors.NotFoundError, match="Resource localhost/b/N10tensorflow3VarE does not exist"):
            session.run(row, {on: False})
        session.run(tf.raw_ops.AssignVariableOp(resource=handle, value=[4.0, 4.0]), {on: False})
        assert session.run(b).tolist() == [4, 4]


def test_status_shape_and_end_of_a_chosen_variable():
    a, b = two((2,), (3,), use_resource=True)
    on = tf.placeholder(tf.bool, [])
    handle = either(on, a, b)
    exists, sizes = tf.raw_ops.VarIsInitializedOp(resource=handle), tf.raw_ops.VariableShape(input=handle)
    with tf.Session() as session:
        session.run(a.initializer)
        assert [session.run(exists, {on: v}) for v in (True, False)] == [True, False]
        session.run(b.initializer)
        assert [session.run(sizes, {on: v}).tolist() for v in (True, False)] == [[2], [3]]
        session.run(tf.raw_ops.DestroyResourceOp(resource=handle), {on: False})
        assert [session.run(exists, {on: v}) for v in (True, False)] == [True, False]


def test_fetched_handle(begin):
    a, b = two(use_resource=True)
    on = tf.placeholder(tf.bool, [])
    handle = either(on, a, b)
    session = begin()
    for v, variable in ((True, a), (False, b)):
        assert session.run(handle, {on: v}).tobytes() == session.run(variable.handle).tobytes()
