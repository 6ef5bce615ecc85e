"""Variables that a tf.function makes of tensors when it is first called; values of TensorFlow 1.15.5."""

import pytest

import tfcompat as tf
from tfcompat._src.eager.mode import eager_mode
from tfcompat._src.function.variable_lifting import UnliftableError
from tfcompat._src.ops.control import control_flow_util

OF_CONSTANTS = {
    "constant": (lambda x: tf.zeros([]), 0.0),
    "arithmetic": (lambda x: tf.zeros([]) + tf.constant(2.0) * 3, 6.0),
    "random": (lambda x: tf.random.normal([], seed=1) * 0 + 4, 4.0),
}


def _with_variable(initial_value, make=tf.Variable):
    made = []

    @tf.function
    def added(x):
        if not made:
            made.append(make(initial_value(x)))
        return made[0].assign_add(x)

    return added, made


@pytest.mark.parametrize("name", OF_CONSTANTS)
def test_variables_of_tensors_of_the_body(name):
    initial_value, value = OF_CONSTANTS[name]
    with eager_mode():
        added, made = _with_variable(initial_value)
        assert [float(added(tf.constant(3.0))) for _ in range(2)] == [value + 3, value + 6]
        assert made[0].numpy() == value + 6
    with tf.Graph().as_default(), tf.Session() as session:
        added, made = _with_variable(initial_value)
        result = added(tf.constant(3.0))
        session.run(made[0].initializer)
        assert [session.run(result) for _ in range(2)] == [value + 3, value + 6]


def test_variables_of_arguments_have_a_value_where_operations_run_at_once():
    with eager_mode():
        added, made = _with_variable(lambda x: x * 2)
        assert float(added(tf.constant(3.0))) == 9.0
        assert float(added(tf.constant(1.0))) == 10.0
    with tf.Graph().as_default():
        added, _ = _with_variable(lambda x: x * 2)
        with pytest.raises(UnliftableError, match="depends transitively on placeholder"):
            added(tf.constant(3.0))


@pytest.mark.parametrize("place", ["loop", "branch", "function"])
def test_variables_that_are_not_lifted_refuse_tensors_of_bodies(place, monkeypatch):
    monkeypatch.setattr(control_flow_util, "ENABLE_CONTROL_FLOW_V2", True)

    def read(*_):
        return tf.get_variable("v", initializer=tf.zeros([]), use_resource=True).read_value()

    with (
        tf.Graph().as_default(),
        pytest.raises(ValueError, match="Tensor-typed variable initializers must either be wrapped in"),
    ):
        if place == "loop":
            tf.while_loop(lambda x: x < 1, read, [0.0])
        elif place == "branch":
            tf.cond(tf.constant(True), read, lambda: 0.0)
        else:
            tf.contrib.eager.defun(read)()
