"""Functions that only modules of TensorFlow name: values and errors are those of 1.15.5."""

import numpy as np
import pytest

import tfcompat as tf
from tfcompat._src.function.defun import Defun
from tfcompat._src.function.functional_calls import partitioned_call
from tfcompat._src.nodes import raw
from tfcompat._src.nodes.convert import constant_v2
from tfcompat._src.ops.composed import v2_forms
from tfcompat._src.ops.nn.embedding import embedding_lookup_and_transform


def run(make):
    with tf.Graph().as_default(), tf.Session() as session:
        return session.run(make())


def test_constant_of_one_value_fills_a_shape():
    assert run(lambda: constant_v2([7], shape=[2, 2])).tolist() == [[7, 7], [7, 7]]
    assert run(lambda: constant_v2([[1, 2], [3, 4]], shape=[4])).tolist() == [1, 2, 3, 4]


@pytest.mark.parametrize("shape", [[5], [10], [], [2, 3]])
def test_constant_with_another_number_of_values(shape):
    with tf.Graph().as_default(), pytest.raises(TypeError, match="Expected Tensor's shape"):
        constant_v2([1, 2, 3, 4, 5, 6, 7], shape=shape)


@pytest.mark.parametrize("ids", [2, [1, 2], [[1, 0], [2, 5]]])
@pytest.mark.parametrize("parts", [1, 2])
def test_rows_are_clipped_and_transformed(ids, parts):
    table = np.arange(18.0).reshape(6, 3) + 1
    params = [table[i::parts] for i in range(parts)]

    def make():
        return embedding_lookup_and_transform(params, ids, max_norm=2.0, transform_fn=lambda x: tf.norm(x, axis=1))

    np.testing.assert_allclose(run(make), np.full(np.shape(ids), 2.0), rtol=1e-12)


def test_other_v2_forms():
    assert run(lambda: v2_forms.pad_v2([[1], [2]], [[1, 0], [0, 0]], "CONSTANT", 7)).tolist() == [[7], [1], [2]]
    weighted = run(lambda: v2_forms.confusion_matrix_v2([1, 2], [2, 2], 3, [0.5, 1.0], tf.float32))
    assert weighted.tolist() == [[0, 0, 0], [0, 0, 0.5], [0, 0, 1]]
    assert run(lambda: v2_forms.decode_raw_v2(["ab", "cde"], tf.uint8, fixed_length=2)).tolist() == [[97, 98], [99, 100]]
    assert run(lambda: v2_forms.decode_raw_v2(["ab", "cd"], tf.uint16)).tolist() == [[25185], [25699]]


def test_partitioned_call():
    def make():
        call = partitioned_call([tf.constant(3)], Defun(tf.int32)(lambda x: x * 2))
        assert call[0].op.type == "PartitionedCall"
        assert call[0].op.get_attr("config_proto") == b"R\x05R\x03\x98\x01\x01"
        return call

    assert run(make) == [6]


def test_array_beyond_memory():
    with pytest.raises(tf.errors.ResourceExhaustedError):
        run(lambda: tf.range(0, 2**46))


@pytest.mark.parametrize(
    "limits, error",
    [
        ((0, 2**63 - 1), tf.errors.ResourceExhaustedError),
        ((-1e38, 1.0), tf.errors.InvalidArgumentError),
        ((0.0, np.inf), tf.errors.InvalidArgumentError),
    ],
)
def test_range_that_cannot_be_counted(limits, error):
    with pytest.raises(error, match="Dimension -9223372036854775808 must be >= 0"):
        run(lambda: tf.range(*limits))


def test_sparse_tensors_and_slices_stay_what_they_are():
    with tf.Graph().as_default():
        sparse = tf.SparseTensor([[0]], [1.0], [2])
        slices = tf.IndexedSlices(tf.ones([1]), tf.zeros([1], tf.int32))
        for value in (sparse, slices):
            assert tf.convert_to_tensor_or_indexed_slices(value) is value
            with pytest.raises(ValueError, match="Tensor conversion requested dtype int32 for Tensor with dtype float32"):
                tf.convert_to_tensor_or_indexed_slices(value, tf.int32)
        assert tf.convert_to_tensor_or_indexed_slices([1, 2]).shape == [2]


def test_empty_windows_of_fractional_pooling_get_nothing():
    with tf.Graph().as_default(), tf.Session() as session:
        grads = raw.FractionalAvgPoolGrad(tf.constant([1, 4, 4, 1], tf.int64), tf.ones([1, 2, 2, 1]), tf.constant([0, 0, 4], tf.int64), tf.constant([0, 2, 4], tf.int64))
        assert (session.run(grads) == 0.125).all()
