"""Rules of eager execution: what is refused, what is freed, what is kept."""

import gc
import subprocess
import sys
import weakref

import numpy as np
import pytest

import tfcompat as tf
from tfcompat._src.runtime.eager import eager_graph, eager_mode, graph_mode


@pytest.fixture(autouse=True)
def eagerly():
    with eager_mode():
        yield


def test_modes():
    assert tf.executing_eagerly()
    with tf.Graph().as_default():
        assert not tf.executing_eagerly()
        with tf.init_scope():
            assert not tf.executing_eagerly()
    with graph_mode():
        assert not tf.executing_eagerly()
    seen = []
    tf.function(lambda: seen.append(tf.executing_eagerly()) or tf.constant(1))()
    assert seen == [False]


@pytest.mark.parametrize(
    "call, error",
    [
        (lambda: tf.placeholder(tf.float32), RuntimeError),
        (lambda: tf.gradients(tf.constant(1.0), tf.constant(1.0)), RuntimeError),
        (lambda: tf.matmul(tf.ones([2, 2]), tf.ones([3, 3])), tf.errors.InvalidArgumentError),
        (lambda: tf.gather(tf.ones([3]), 7), tf.errors.InvalidArgumentError),
        (lambda: tf.constant([1, 2, 3], shape=[2, 2]), TypeError),
        (lambda: tf.constant(1.0).name, AttributeError),
        (lambda: tf.constant(1.0).eval(), NotImplementedError),
        (lambda: tf.Assert(tf.constant(False), ["no"]), tf.errors.InvalidArgumentError),
        (lambda: tf.constant([1.0]) + tf.constant([1]), TypeError),
        (lambda: len(tf.constant(1.0)), TypeError),
        (lambda: int(tf.constant([1, 2])), TypeError),
        (lambda: tf.Variable(1.0).initial_value, RuntimeError),
    ],
)
def test_refused(call, error):
    with pytest.raises(error):
        call()


def test_tensor_of_a_graph_is_refused():
    with tf.Graph().as_default():
        tensor = tf.constant(1.0)
    with pytest.raises(TypeError, match="Graph"):
        tensor + 1


def test_eager_tensor_in_a_graph_is_refused():
    tensor = tf.constant(1.0)
    with tf.Graph().as_default(), pytest.raises(RuntimeError, match="without building a function"):
        tf.square(tensor)


def test_failed_update_leaves_the_variable():
    variable = tf.Variable([1.0, 2.0])
    with pytest.raises(tf.errors.InvalidArgumentError):
        variable.scatter_update(tf.IndexedSlices(tf.constant([9.0]), tf.constant([5])))
    assert variable.numpy().tolist() == [1.0, 2.0]


def test_read_value_outlives_an_update():
    variable = tf.Variable(np.zeros((64, 64), np.float32))
    step = tf.function(lambda: variable.assign_add(tf.ones([64, 64])))
    step()
    before = variable.read_value()
    for _ in range(3):
        step()
    assert before.numpy().max() == 1.0
    assert variable.numpy().min() == 4.0


def test_value_given_to_a_variable_outlives_it():
    value = tf.random.normal([256, 256])
    copy = value.numpy()
    variable = tf.Variable(value)
    variable.assign_add(tf.ones([256, 256]))
    np.testing.assert_array_equal(value.numpy(), copy)


def test_variable_and_its_value_are_freed():
    variable = tf.Variable([1.0])
    key = variable.handle._value.key
    assert key in eager_graph().state.variables
    gc.collect()
    gc.disable()
    try:
        del variable
        assert key not in eager_graph().state.variables
    finally:
        gc.enable()
    assert key not in eager_graph().state.variables


def test_history_is_freed_with_the_tape():
    x = tf.random.normal([4, 4])
    with tf.GradientTape() as tape:
        tape.watch(x)
        middle = x * 2
        last = middle + 1
    gone = weakref.ref(middle)
    del tape, middle
    gc.collect()
    assert gone() is None
    assert last.shape == [4, 4]


def test_function_and_its_programs_are_freed():
    def make():
        function = tf.function(lambda a: a + 1)
        function(tf.constant(1.0))
        return weakref.ref(function)

    gone = make()
    gc.collect()
    assert gone() is None
    assert not [name for name in eager_graph()._functions if "lambda" in name]


def test_same_operation_compiles_once(compiles):
    x = tf.random.normal([200, 200])
    tf.matmul(x, x)
    before = compiles.count
    for _ in range(3):
        tf.matmul(x, x)
    assert compiles.count == before


def test_control_flow_is_not_differentiated_at_other_values():
    variable = tf.Variable(2.0)
    function = tf.function(lambda x: tf.cond(x > 0, lambda: x * variable, lambda: x))
    x = tf.constant(3.0)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = function(x)
    variable.assign(5.0)
    with pytest.raises(RuntimeError, match="has changed"):
        tape.gradient(y, x)


def test_control_flow_that_acts_is_not_differentiated():
    variable = tf.Variable(2.0)
    function = tf.function(lambda x: tf.cond(x > 0, lambda: x * variable.assign_add(1.0), lambda: x))
    with tf.GradientTape() as tape, pytest.raises(NotImplementedError, match="would run twice"):
        tape.watch(variable.handle)
        function(tf.constant(3.0))


def test_functions_may_run_as_python():
    modes = []
    function = tf.function(lambda x: modes.append(tf.executing_eagerly()) or x + 1)
    tf.config.experimental_run_functions_eagerly(True)
    try:
        assert function(tf.constant(1)).numpy() == 2
    finally:
        tf.config.experimental_run_functions_eagerly(False)
    assert function(tf.constant(1)).numpy() == 2
    assert modes == [True, False]


def test_config_says_the_devices():
    code = (
        "import tfcompat as tf; tf.enable_eager_execution(tf.ConfigProto(device_count={'CPU': 2}))\n"
        "with tf.device('/cpu:1'): print((tf.constant(1.0) + 1).device)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=100)
    assert done.stdout.strip() == "/job:localhost/replica:0/task:0/device:CPU:1", done.stderr
