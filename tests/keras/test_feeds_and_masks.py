"""What Keras models feed to graphs, and the dropout masks of recurrent cells in graphs and where operations run at once."""

import numpy as np
import pytest

import tfcompat as tf
from tfcompat._src.base import tensor_shape
from tfcompat._src.eager.mode import eager_mode
from tfcompat._src.proto import messages

keras = tf.keras


def test_labels_have_one_dimension_less_than_the_output():
    with tf.Graph().as_default(), tf.Session().as_default():
        model = keras.Sequential([keras.layers.Dense(4, input_shape=(3, 2), kernel_initializer="zeros", activation="softmax")])
        model.compile("sgd", "sparse_categorical_crossentropy")
        loss = model.train_on_batch(np.ones([5, 3, 2]), np.zeros([5, 3]))
    assert loss == pytest.approx(np.log(4), rel=1e-6)


def test_callables_made_from_options_take_any_shape():
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.placeholder(tf.float32, [None, None, None])
        y = tf.reshape(x, [-1]) * 2
        options = messages.CallableOptions(feed=[x.name], fetch=[y.name])
        assert session._make_callable_from_options(options)([[1, 2], [3, 4]])[0].tolist() == [2, 4, 6, 8]
        for run in (lambda: session.run(y, {x: [[1.0]]}), lambda: session.make_callable(y, [x])([[1.0]])):
            with pytest.raises(ValueError, match="Cannot feed value of shape \\(1, 1\\) for Tensor 'Placeholder:0'"):
                run()


@pytest.mark.parametrize("cell", [keras.layers.SimpleRNNCell, keras.layers.GRUCell, keras.layers.LSTMCell])
def test_masks_of_a_graph_are_not_those_of_eager_steps(cell):
    with eager_mode():
        tf.random.set_random_seed(1)
        cells = [cell(3, dropout=0.5, recurrent_dropout=0.5) for _ in range(2)]
        inputs = keras.Input((None, 5))
        model = keras.Model(inputs, keras.layers.RNN(cells)(inputs))
        with tf.GradientTape() as tape:
            total = tf.reduce_sum(model(np.ones([2, 4, 5], np.float32), training=True) ** 2)
        grads = tape.gradient(total, model.trainable_variables)
    assert len(grads) == 6 and all(np.isfinite(grad.numpy()).all() for grad in grads)


def test_arrays_of_tensors_where_dimensions_are_numbers():
    tensor_shape.enable_v2_tensorshape()
    try:
        with eager_mode():
            array = tf.TensorArray(tf.float32, size=0, dynamic_size=True).unstack(tf.constant([[1.0, 2.0], [3.0, 4.0]]))
            assert array.size().numpy() == 2 and array.read(1).numpy().tolist() == [3, 4]
    finally:
        tensor_shape.disable_v2_tensorshape()
