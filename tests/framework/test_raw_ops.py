"""tf.raw_ops: the arguments that 1.15 lists, by keyword alone."""

import inspect

import pytest

import tfcompat as tf

SIGNATURES = {
    "Sum": "(input, axis, keep_dims=False, name=None)",
    "ExpandDims": "(input, axis, name=None)",
    "Conv2D": "(input, filter, strides, padding, use_cudnn_on_gpu=True, explicit_paddings=[], data_format='NHWC', "
    "dilations=[1, 1, 1, 1], name=None)",
    "Cast": "(x, DstT, Truncate=False, name=None)",
    "ConcatV2": "(values, axis, name=None)",
}


@pytest.mark.parametrize("name", SIGNATURES)
def test_signature(name):
    assert str(inspect.signature(getattr(tf.raw_ops, name))) == SIGNATURES[name]


def test_arguments():
    with tf.Graph().as_default(), tf.Session() as session:
        assert session.run(tf.raw_ops.Sum(input=[[1, 2], [3, 4]], axis=0)).tolist() == [4, 6]
        with pytest.raises(TypeError, match="only takes keyword args"):
            tf.raw_ops.Sum([[1]], 0)
        with pytest.raises(TypeError, match="missing 1 required positional arguments: 'axis'"):
            tf.raw_ops.Sum(input=[1])
        with pytest.raises(TypeError, match="unexpected keyword argument 'reduction_indices'"):
            tf.raw_ops.Sum(input=[1], reduction_indices=0)
