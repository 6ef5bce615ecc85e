"""Names of constants."""

import tfcompat as tf


def test_no_name_is_the_op_type():
    with tf.Graph().as_default():
        assert tf.constant([1], name=None).op.name == "Const"
        assert tf.constant([1], name=None).op.name == "Const_1"
