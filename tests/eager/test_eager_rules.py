"""Rules of eager execution: what is refused, what is freed, what is kept."""

import gc
import weakref

import children
import numpy as np
import pytest

import tfcompat as tf
from tfcompat._src.eager.mode import eager_graph, eager_mode, graph_mode
from tfcompat._src.function.defun import Defun
from tfcompat._src.testing.leaks import assert_no_garbage_created


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


def test_a_defun_is_called_in_graphs():
    triple = Defun(tf.float32)(lambda x: 3 * x)
    with pytest.raises(AttributeError, match="Tensor.op is meaningless when eager execution is enabled."):
        triple(tf.constant(1.0))
    assert float(tf.constant(1.0) + 1) == 2.0


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


def test_control_flow_that_acts_is_not_differentiated():
    function = tf.function(lambda x: tf.cond(x > 0, lambda: x * tf.random.uniform([]), lambda: x))
    x = tf.constant(3.0)
    with tf.GradientTape() as tape, pytest.raises(NotImplementedError, match="would run twice"):
        tape.watch(x)
        function(x)


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
    done = children.warm("-c", code)
    assert done.stdout.strip() == "/job:localhost/replica:0/task:0/device:CPU:1", done.stderr


class Cycles(tf.test.TestCase):
    @assert_no_garbage_created
    def test_variables_and_arrays_leave_none(self):
        with graph_mode(), eager_mode():
            tf.Variable(1.0, use_resource=True)
            array = tf.TensorArray(tf.float32, size=2, infer_shape=False).write(0, [[4.0, 5.0]]).write(1, -3.0)
            self.assertAllEqual(-3.0, array.read(1))

    def test_a_test_that_leaves_one_fails(self):
        @assert_no_garbage_created
        def leaves_one(case):
            cycle = []
            cycle.append(cycle)

        with self.assertRaisesRegex(AssertionError, "list"):
            leaves_one(self)


def test_functions_in_a_critical_section_may_return_what_ran():
    section, variable = tf.CriticalSection(), tf.Variable(1.0)
    assert section.execute(lambda: tf.group(variable.assign_add(2.0))) is None
    nothing, value = section.execute(lambda: (None, variable.read_value()))
    assert nothing is None and value.numpy() == 3.0


def test_gradient_of_a_loop_in_a_function_by_a_tensor_outside():
    v = tf.constant(3.0)

    @tf.function
    def slope():
        return tf.gradients(tf.while_loop(lambda i, _: i < 2, lambda i, x: (i + 1, x * v), [0, 1.0])[1], [v])

    assert slope()[0].numpy() == 6.0


def test_python_functions_that_run_at_once_give_what_they_return():
    x = tf.constant([1.0, 2.0])
    assert tf.py_func(lambda v: v + 1, [x], [tf.float32]).numpy().tolist() == [2.0, 3.0]
    pair = tf.py_func(lambda v: (v, np.int8(3)), [x], tf.float32)
    assert [t.dtype for t in pair] == [tf.float32, tf.int8]
    assert tf.py_func(lambda: None, [], []) is None
    assert tf.py_function(lambda: None, [], []) == []
    with pytest.raises(tf.errors.InvalidArgumentError, match="returns 0 values, but expects to see 1 values"):
        tf.py_function(lambda: None, [], tf.float32)


def test_the_derivative_of_a_variable_by_itself_is_one():
    v = tf.Variable(3.0, use_resource=True)
    with tf.GradientTape(persistent=True) as tape:
        square = v * v
    assert tape.gradient(v, v).numpy() == 1.0
    assert tape.gradient([square, v], v).numpy() == 7.0
    with tf.GradientTape(watch_accessed_variables=False) as tape:
        pass
    assert tape.gradient(v, v) is None


def test_nothing_is_unstacked_or_packed():
    assert tf.raw_ops.Unpack(value=tf.zeros([0]), num=0) == []
    with tf.Graph().as_default():
        assert tf.raw_ops.Unpack(value=tf.zeros([0]), num=0) == []
    assert tf.map_fn(lambda x: tf.constant(""), tf.constant([]), dtype=tf.string).dtype == tf.string
    assert tf.TensorArray(tf.float32, size=0).gather([]).shape == (0,)


def test_functions_over_no_rows():
    found = tf.map_fn(lambda _: tf.constant(""), tf.constant([]), dtype=tf.string)
    assert (found.dtype, found.shape) == (tf.string, [0])
    assert tf.TensorArray(tf.float32, 2).unstack(tf.zeros([0, 3])).size().numpy() == 0


def test_layers_have_trainable_variables():
    dense, norm = tf.layers.Dense(3), tf.layers.BatchNormalization()
    norm(dense(tf.ones([2, 4])), training=True)
    assert [len(v) for v in (dense.trainable_variables, norm.trainable_variables, norm.non_trainable_variables)] == [2, 2, 2]


def test_a_function_makes_variables():
    made = {}

    @tf.function
    def call(x):
        if not made:
            made["scale"] = tf.get_variable("scale", [2], initializer=tf.ones_initializer())
            made["layer"] = tf.layers.Dense(1, kernel_initializer=tf.ones_initializer())
        return made["layer"](x * made["scale"])

    assert call(tf.constant([[2.0, 3.0]])).numpy().tolist() == [[5.0]]
    made["scale"].assign([1.0, 2.0])
    assert call(tf.constant([[2.0, 3.0]])).numpy().tolist() == [[8.0]]
    assert len(made["layer"].trainable_variables) == 2


def test_variables_of_a_template_are_in_collections():
    def variables():
        tf.get_variable("a", [2])
        tf.get_variable("b", [2], trainable=False)
        tf.get_variable("c", [], collections=["own"])

    with tf.Graph().as_default(), eager_mode():
        template = tf.make_template("t", variables)
        template(), template()
        tf.get_variable("alone", [1])
        found = [[v.name for v in tf.get_collection(key)] for key in ("variables", "trainable_variables", "own")]
    assert found == [["t/a:0", "t/b:0"], ["t/a:0", "t/c:0"], ["t/c:0"]]


def test_templates_inside_a_template_find_their_variables_again():
    def outer():
        inner = tf.make_template("inner", lambda: tf.get_variable("v", [2]), create_scope_now_=True)
        return inner(), inner.variables

    with tf.Graph().as_default(), eager_mode():
        template = tf.make_template("outer", outer)
        (first, own), (second, _) = template(), template()
        assert first is second and own == [first] == template.variables and first.name == "outer/inner/v:0"


def test_assertions_in_a_traced_function_check_the_values_of_its_runs():
    checks = tf.test.TestCase()

    @tf.function
    def checked(x, y):
        checks.assertAllEqual(x, y)
        checks.assertNear(x[0], 1.0, 1e-3)
        checks.assertNotAllEqual(x, y + 1)
        checks.assertAllInRange(x, 0, 9)

    @tf.function
    def refused(x):
        checks.assertAllLess(x, 2.0)
        return x

    checked(tf.constant([1.0, 2.0]), tf.constant([1.0, 2.0]))
    with pytest.raises(tf.errors.UnknownError, match="AssertionError"):
        checked(tf.constant([1.0, 2.0]), tf.constant([1.0, 3.0]))
    assert refused(tf.constant([1.0])).numpy() == [1.0]
    with pytest.raises(tf.errors.UnknownError, match=r"AssertionError: .*2\.0.? not less than 2\.0"):
        refused(tf.constant([1.0, 2.0]))
