"""tf.layers: names, reuse, settings and collections that no single graph shows."""

import copy

import numpy as np
import pytest

import tfcompat as tf


@pytest.fixture(autouse=True)
def graph():
    """A graph of its own for each test."""
    with tf.Graph().as_default() as made:
        yield made


def names(variables):
    return [v.name for v in variables]


def test_names_count_by_kind_and_scopes_start_without_a_number():
    x = tf.ones([2, 3])
    layers = [tf.layers.Dense(4) for _ in range(2)]
    for made in layers:
        made(x)
    assert [made.name for made in layers] == ["dense_1", "dense_2"]
    assert [made.scope_name for made in layers] == ["dense", "dense_1"]


def test_variables_of_two_calls_are_shared():
    made = tf.layers.Dense(4, name="d")
    first, second = made(tf.ones([2, 3])), made(tf.zeros([5, 3]))
    assert names(tf.global_variables()) == ["d/kernel:0", "d/bias:0"]
    assert (first.name, second.name) == ("d/BiasAdd:0", "d/BiasAdd_1:0")
    assert made.count_params() == 16


def test_reuse_by_scope():
    x = tf.ones([2, 3])
    with tf.variable_scope("s"):
        tf.layers.dense(x, 4, name="d")
    with tf.variable_scope("s", reuse=True):
        tf.layers.dense(x, 4, name="d")
    with tf.variable_scope("s", reuse=tf.AUTO_REUSE):
        tf.layers.dense(x, 4, name="e")
        tf.layers.dense(x, 4, name="e")
    assert names(tf.trainable_variables()) == ["s/d/kernel:0", "s/d/bias:0", "s/e/kernel:0", "s/e/bias:0"]


def test_regularization_loss_joins_once():
    made = tf.layers.Dense(4, kernel_regularizer=tf.contrib.layers.l2_regularizer(0.1))
    made(tf.ones([2, 3]))
    made(tf.ones([2, 3]))
    assert len(tf.losses.get_regularization_losses()) == 1
    assert len(made.losses) == 1


def test_frozen_layer_has_no_trainable_weights():
    made = tf.layers.Dense(4, trainable=False)
    made(tf.ones([2, 3]))
    assert made.trainable_weights == [] and tf.trainable_variables() == []
    assert names(made.non_trainable_weights) == ["dense/kernel:0", "dense/bias:0"]


def test_batch_norm_updates_are_collected_once_and_run():
    made = tf.layers.BatchNormalization(momentum=0.5)
    made(tf.constant([[1.0], [3.0]]), training=True)
    updates = tf.get_collection(tf.GraphKeys.UPDATE_OPS)
    assert updates == made.updates and len(updates) == 2
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        session.run(updates)
        np.testing.assert_allclose(session.run([made.moving_mean, made.moving_variance]), [[1.0], [1.0]], rtol=1e-6)


def test_updates_and_losses_by_input():
    x, other = tf.ones([2, 3]), tf.ones([2, 3])
    made = tf.layers.BatchNormalization(fused=False)
    made(x, training=True)
    assert made.get_updates_for(x) == made.updates
    assert made.get_updates_for(other) == [] and made.get_updates_for(None) == []
    dense = tf.layers.Dense(2, activity_regularizer=tf.reduce_sum, kernel_regularizer=tf.reduce_sum)
    dense(x)
    assert len(dense.get_losses_for(x)) == 1 and len(dense.get_losses_for(None)) == 1
    assert dense.get_losses_for(other) == []


def test_weights_are_read_and_set_in_the_default_session():
    made = tf.layers.Dense(2)
    made(tf.ones([2, 3]))
    with tf.Session().as_default():
        tf.global_variables_initializer().run()
        made.set_weights([np.full([3, 2], 2.0, np.float32), np.ones([2], np.float32)])
        kernel, bias = made.get_weights()
        with pytest.raises(ValueError, match="weight list of length 1"):
            made.set_weights([kernel])
    assert kernel.tolist() == [[2.0, 2.0]] * 3 and bias.tolist() == [1.0, 1.0]


def test_config_makes_the_same_layer():
    config = {
        "name": "d", "trainable": True, "dtype": None, "units": 4, "activation": "linear", "use_bias": True,
        "kernel_initializer": None, "bias_initializer": {"class_name": "Zeros", "config": {"dtype": "float32"}},
        "kernel_regularizer": None, "bias_regularizer": None, "activity_regularizer": None, "kernel_constraint": None,
        "bias_constraint": None,
    }  # fmt: skip
    made = tf.layers.Dense(4, name="d")
    assert made.get_config() == config
    assert tf.layers.Dense.from_config(config).get_config() == config


@pytest.mark.parametrize(
    "made, shape, wanted",
    [
        (lambda: tf.layers.Dense(4), [None, 7, 3], [None, 7, 4]),
        (lambda: tf.layers.Conv2D(5, 3, strides=2), [None, 9, None, 3], [None, 4, None, 5]),
        (lambda: tf.layers.Conv2D(5, 3, padding="same", data_format="channels_first"), [2, 3, 8, 6], [2, 5, 8, 6]),
        (lambda: tf.layers.Conv2DTranspose(5, 3, strides=2), [2, 4, 4, 3], [2, 9, 9, 5]),
        (lambda: tf.layers.MaxPooling2D(2, 2), [2, 7, 8, 3], [2, 3, 4, 3]),
        (lambda: tf.layers.Flatten(), [None, 4, 5], [None, 20]),
    ],
)
def test_compute_output_shape(made, shape, wanted):
    assert tf.TensorShape(made().compute_output_shape(tf.TensorShape(shape))).as_list() == wanted


def test_input_spec_of_the_first_call_holds():
    made = tf.layers.Dense(4)
    made(tf.ones([2, 3]))
    with pytest.raises(ValueError, match="expected axis -1 of input shape to have value 3"):
        made(tf.ones([2, 5]))


def test_training_goes_to_inner_layers():
    class Outer(tf.layers.Layer):
        def call(self, inputs, training=None):
            return tf.layers.Dropout(0.5)(inputs)

    x = tf.ones([4, 4])
    assert Outer()(x, training=True).op.type != "Identity"
    assert Outer()(x, training=False).op.type == "Identity"


def test_copy_of_a_built_layer_keeps_its_scope():
    made = tf.layers.Dense(4, name="d")
    copied = copy.deepcopy(made)
    copied(tf.ones([2, 3]))
    assert names(copied.weights) == ["d/kernel:0", "d/bias:0"] and not made.built


def test_call_that_gives_nothing_is_an_error():
    class Nothing(tf.layers.Layer):
        def call(self, inputs):
            return None

    with pytest.raises(ValueError, match="should return a Tensor or a list of Tensors, not None"):
        Nothing()(tf.ones([1]))


def test_arg_scope_tells_what_it_sets():
    framework = tf.contrib.framework

    @framework.add_arg_scope
    def function(a, b=1, c=2):
        return a, b, c

    assert framework.has_arg_scope(function) and framework.arg_scoped_arguments(function) == ("b", "c")
    with framework.arg_scope([function], b=5), framework.arg_scope([function], c=6):
        assert function(0) == (0, 5, 6)
        assert function(0, c=7) == (0, 5, 7)
    assert function(0) == (0, 1, 2)


def test_wrong_weights_fail_in_the_run():
    a, weights = tf.placeholder(tf.float32, [None, 2]), tf.placeholder(tf.float32)
    loss = tf.losses.mean_squared_error(a, a, weights=weights)
    with tf.Session() as session:
        assert session.run(loss, {a: np.ones([4, 2]), weights: np.ones([4, 1])}) == 0.0
        with pytest.raises(tf.errors.InvalidArgumentError):
            session.run(loss, {a: np.ones([4, 2]), weights: np.ones([3, 2])})


def test_a_custom_getter_may_give_a_tensor():
    """The custom getter of tf.contrib.tpu.bfloat16_scope does so; names and types are those of TensorFlow 1.15.5."""
    layer = tf.layers.Dense(3, kernel_regularizer=tf.reduce_sum)
    with tf.contrib.tpu.bfloat16_scope():
        y = layer.apply(tf.ones([2, 3], tf.bfloat16))
        z = tf.layers.batch_normalization(tf.ones([2, 8, 8, 3], tf.bfloat16), training=True)
    assert (y.dtype, z.dtype) == (tf.bfloat16, tf.bfloat16)
    assert names(tf.trainable_variables()) == ["dense/kernel:0", "dense/bias:0", "batch_normalization/gamma:0", "batch_normalization/beta:0"]
    assert {v.dtype.base_dtype for v in tf.global_variables()} == {tf.float32}
    assert layer.trainable_weights == [] and [w.dtype for w in layer.weights] == [tf.bfloat16, tf.bfloat16]
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        assert session.run(z).shape == (2, 8, 8, 3)
