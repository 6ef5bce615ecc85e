"""`Layer.add_variable`, the older name of `add_weight`: names are those of TensorFlow 1.15.5."""

import tfcompat as tf


def test_the_variable_stands_in_the_scope_of_the_layer():
    with tf.Graph().as_default():
        layer = tf.layers.Layer(name="my_layer")
        with tf.name_scope("around"):
            variable = layer.add_variable("w", [2, 2], regularizer=tf.reduce_sum)
        assert variable.name == "my_layer/w:0"
        assert layer.variables == [variable] == tf.trainable_variables()
        assert len(tf.get_collection(tf.GraphKeys.REGULARIZATION_LOSSES)) == 1
