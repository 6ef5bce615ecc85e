"""Branches and loops as nodes that run functions, gradients through them, and runs that are planned again midway."""

import numpy as np
import pytest

import tfcompat as tf
from tfcompat._src.function.control_flow_v2 import cond_v2, while_v2
from tfcompat._src.nodes import raw
from tfcompat._src.proto import messages


def test_a_predicate_that_is_a_fed_constant_decides() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        predicate, value = tf.constant(True), tf.constant(37.0)
        result = tf.identity(cond_v2(predicate, lambda: tf.constant(0.0), lambda: value))
        assert session.run(result, {predicate: False}) == 37.0
        assert session.run(result) == 0.0


def test_predicates_with_dimensions_of_size_one() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        found = while_v2(lambda v: v < 45.0, lambda v: v * 3.0, [tf.constant([[5.0]])], return_same_structure=False)
        assert session.run(found) == [[45.0]]


def test_second_derivative_of_a_loop_without_a_known_length() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.constant(2.0)
        fourth_power = while_v2(lambda v: v < 8.0, lambda v: v * v, [x], return_same_structure=False)
        first = tf.gradients(fourth_power, x)
        assert session.run([*first, *tf.gradients(first, x)]) == [32.0, 48.0]


def test_a_tape_sees_loops_that_are_one_node() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        with tf.GradientTape() as tape:
            x = tf.constant(2.0)
            tape.watch(x)
            squared = while_v2(lambda v: v < 4.0, lambda v: v * v, [x], return_same_structure=False)
        assert session.run(tape.gradient(squared, x)) == 4.0


def test_gradients_in_a_function_go_on_in_the_graph_around_it() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.constant(5.0)
        squared = tf.square(x)
        assert session.run(tf.function(lambda: tf.gradients(squared * [1.0, 2.0, 3.0], x)[0])()) == 60.0


def test_gradient_of_a_variable_read_in_nested_loops_of_functions() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        variable = tf.Variable(np.ones(4, np.float32), use_resource=True)

        @tf.function
        def inner(x, v):
            return tf.while_loop(lambda i, _: i < 3, lambda i, y: (i + 1, y + tf.reduce_sum(v.sparse_read([1, 2]))), [0, x])[1]

        @tf.function
        def outer(v):
            found = tf.while_loop(lambda i, _: i < 2, lambda i, x: (i + 1, inner(x, v)), [0, 0.0])[1]
            return tf.convert_to_tensor(tf.gradients(found, v)[0])

        session.run(variable.initializer)
        np.testing.assert_array_equal(session.run(outer(variable)), [0.0, 6.0, 6.0, 0.0])


def test_indices_of_branches_become_int64_where_one_has_it() -> None:
    def slices(dtype):
        return tf.IndexedSlices(tf.constant([10]), tf.constant([0], dtype))

    with tf.Graph().as_default():
        joined = cond_v2(tf.constant(True), lambda: slices(tf.int32), lambda: slices(tf.int64))
        assert joined.indices.dtype == tf.int64
        with pytest.raises(TypeError, match="Cannot reconcile tf.cond 0-th outputs"):
            cond_v2(tf.constant(True), lambda: slices(tf.int32), lambda: tf.constant([10]))


def test_gradient_of_a_ref_that_a_loop_hands_on() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        ref = tf.Variable(0.0, use_resource=False)._ref()
        found = tf.while_loop(lambda i, x: i < 10, lambda i, x: [i + 1, raw.RefIdentity(x)], [tf.constant(0), ref])
        grads = tf.gradients([found[1]], [ref], grad_ys=[tf.constant(73.0)])
        session.run(tf.global_variables_initializer())
        assert session.run([*found, *grads]) == [10, 0.0, 73.0]


def test_an_endless_loop_ends_when_the_time_is_over() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        endless = tf.while_loop(lambda x: True, lambda x: x + 1, [tf.constant(0)])
        with pytest.raises(tf.errors.DeadlineExceededError):
            session.run(endless, options=tf.RunOptions(timeout_in_ms=1))


def test_a_compiled_loop_ends_when_the_time_is_over() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        count = tf.placeholder(tf.int64, [])
        half = tf.while_loop(lambda i, _: i < count, lambda i, x: (i + 1, x * 0.5), [tf.constant(0, tf.int64), 1.0], back_prop=False)[1]
        assert session.run(half, {count: 3}, options=tf.RunOptions(timeout_in_ms=10**7)) == 0.125
        for _ in range(2):
            with pytest.raises(tf.errors.DeadlineExceededError, match="Timed out waiting for notification"):
                session.run(half, {count: 2**62}, options=tf.RunOptions(timeout_in_ms=50))
            assert session.run(half, {count: 3}, options=tf.RunOptions(timeout_in_ms=10**7)) == 0.125


def test_values_of_two_frames_do_not_meet() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        data = tf.placeholder(tf.float32, [])
        one, other = (raw.Enter(data, frame_name=name) for name in ("foo_1", "foo_2"))
        with pytest.raises(tf.errors.InvalidArgumentError, match="has inputs from different frames"):
            session.run(tf.add(one, other), {data: 1.0})


def test_a_value_of_a_loop_is_not_used_elsewhere() -> None:
    inside = []
    with tf.Graph().as_default():
        tf.while_loop(lambda i: i < 10, lambda i: i + (inside.append(tf.constant(1)) or inside[0]), [0])
        with pytest.raises(ValueError, match="Cannot use 'while/Const_1' as input to 'Add' because 'while/Const_1' is in a while loop"):
            tf.add(1, inside[0])
        with pytest.raises(ValueError, match="'while/Const_1' as input to 'while_1/Add' because they are in different while loops"):
            tf.while_loop(lambda i: i < 10, lambda i: tf.add(1, inside[0]), [0])


def test_a_fetched_handle_names_its_variable() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        variable = tf.Variable([1.0, 2.0], use_resource=True, name="scope/weights")
        session.run(variable.initializer)
        handle = messages.ResourceHandleProto.FromString(session.run(variable.handle).tobytes())
        assert (handle.container, handle.name) == ("localhost", "scope/weights")


def test_what_ran_before_another_plan_was_needed_runs_once() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        fed = tf.placeholder(tf.float32, [None])
        variable = tf.Variable([1.0, 2.0])
        text, _ = tf.unique(tf.as_string(variable.assign_add([1.0, 1.0])))
        with tf.control_dependencies([text]):
            result = tf.cond(tf.reduce_sum(fed) > 2.0, lambda: tf.zeros([2]), lambda: tf.zeros([3]))
            noise = tf.random_normal([], seed=1)
        session.run(tf.global_variables_initializer())
        first = session.run([text, result, noise], {fed: [1.0, 2.0]})
        assert first[0].tolist() == [b"2.000000", b"3.000000"]
        np.testing.assert_array_equal(session.run(variable), [2.0, 3.0])


@pytest.mark.parametrize(("outer", "inner", "slopes"), [(True, True, [0, 0]), (True, False, [0, 0]), (False, True, [4, 2]), (False, False, [5, 0])])
def test_gradients_in_a_function_of_branches_around_it(outer, inner, slopes) -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        first, second = tf.placeholder(tf.bool, []), tf.placeholder(tf.bool, [])
        x, y = tf.constant(1.0), tf.constant(2.0)
        result = cond_v2(first, lambda: 2.0, lambda: cond_v2(second, lambda: x * y * 2.0, lambda: x * 5.0))
        grads = tf.function(lambda: tf.gradients(result, [x, y]))()
        assert session.run(grads, {first: outer, second: inner}) == slopes


@pytest.mark.parametrize("branches", [tf.cond, cond_v2])
def test_what_acts_in_a_branch(branches) -> None:
    """In a tf.function all of it runs; elsewhere, and in a wrapped function of TensorFlow 1, what the result hangs on."""
    seen = []

    def note(letter):
        return tf.py_func(lambda: seen.append(letter), [], [])

    def branch():
        note("a")
        with tf.control_dependencies([note("b")]):
            return tf.constant(10)

    def call():
        return branches(tf.constant(True), branch, lambda: tf.constant(0))

    with tf.Graph().as_default(), tf.Session() as session:
        for result, letters in ((call(), "b"), (tf.function(call)(), "ab"), (tf.wrap_function(call, [])(), "b")):
            seen.clear()
            assert session.run(result) == 10 and "".join(sorted(seen)) == letters


def test_calls_name_the_executor():
    double = tf.function(lambda v: v * 2.0)
    with tf.Graph().as_default(), tf.Session() as session:
        with tf.experimental.function_executor_type("SINGLE_THREADED_EXECUTOR"):
            first = double(tf.constant(3.0))
        second = double(tf.constant(3.0))
        assert [y.op.get_attr("executor_type") for y in (first, second)] == [b"SINGLE_THREADED_EXECUTOR", b""]
        assert session.run([first, second]) == [6.0, 6.0]
        with tf.experimental.function_executor_type(3), pytest.raises(TypeError, match="executor_type"):
            double(tf.constant(3.0))


@pytest.mark.parametrize("state", [True, False, None])
def test_gradients_need_no_outputs_of_intermediates(state):
    tf.experimental.output_all_intermediates(state)
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.constant(2.0)
        tf.enable_control_flow_v2()
        try:
            y = tf.cond(x > 1.0, lambda: x * x * x, lambda: x)
        finally:
            tf.disable_control_flow_v2()
        assert any(op.type in ("If", "StatelessIf") for op in tf.get_default_graph().get_operations())
        assert session.run(tf.gradients(y, x)) == [12.0]
    with pytest.raises(TypeError, match="state must be"):
        tf.experimental.output_all_intermediates("all")


def of_map(change, v):
    return tf.data.Dataset.range(2).map(lambda i: change(v) + tf.cast(i, tf.float32))


BODIES = {
    "tf.function": lambda change, v: tf.function(lambda: change(v) + 0.0, autograph=False)(),
    "tf.switch_case": lambda change, v: tf.switch_case(tf.constant(1), [lambda: v + 1.0, lambda: change(v) + 0.0]),
    "Dataset.map": of_map,
}
CHANGES = {
    "Assign": (lambda v: tf.assign(v, [5.0, 5.0]), "tf.float32, tf.float32", "tf.float32_ref, tf.float32"),
    "AssignAdd": (lambda v: v.assign_add([1.0, 1.0]), "tf.float32, tf.float32", "tf.float32_ref, tf.float32"),
    "ScatterAdd": (lambda v: tf.scatter_add(v, [0], [1.0]), "tf.float32, tf.int32, tf.float32", "tf.float32_ref, tf.int32, tf.float32"),
}


@pytest.mark.parametrize("body", BODIES)
@pytest.mark.parametrize("op_type", CHANGES)
def test_a_function_does_not_assign_a_ref_from_outside(op_type, body):
    """TensorFlow 1.15.5 raises with these words, as a function captures the value of a ref."""
    change, given, expected = CHANGES[op_type]
    with tf.Graph().as_default():
        v = tf.Variable([1.0, 2.0], use_resource=False)
        with pytest.raises(TypeError) as caught:
            BODIES[body](change, v)
        assert f"In op '{op_type}', input types ([{given}]) are not compatible with expected types ([{expected}])" in str(caught.value)


@pytest.mark.parametrize("body", ["tf.function", "tf.switch_case"])
def test_a_function_reads_a_ref_from_outside(body):
    with tf.Graph().as_default(), tf.Session() as session:
        v = tf.Variable([1.0, 2.0], use_resource=False)
        session.run(v.initializer)
        assert session.run(BODIES[body](lambda v: v._ref() * 2.0, v)).tolist() == [2.0, 4.0]
