"""Error classes and messages of array operations, as TensorFlow 1.15.5 gives them."""

import numpy as np
import pytest

import tfcompat as tf


@pytest.fixture(autouse=True)
def graph():
    with tf.Graph().as_default() as g:
        yield g


def fed(value):
    """A tensor of unknown static shape."""
    array = np.asarray(value)
    narrow = {np.dtype(np.float64): np.float32, np.dtype(np.int64): np.int32}.get(array.dtype, array.dtype)
    return tf.placeholder_with_default(array.astype(narrow), None)


WHEN_RUN = {
    "gather": (lambda: tf.gather(fed([1.0, 2, 3]), fed([0, 5])), r"indices\[1\] = 5 is not in \[0, 3\)"),
    "gather scalar": (lambda: tf.gather(fed([1.0, 2, 3]), fed(5)), r"indices = 5 is not in \[0, 3\)"),
    "gather negative": (
        lambda: tf.gather(fed([1.0, 2, 3]), fed([[0, 1], [-1, 1]])),
        r"indices\[1,0\] = -1 is not in \[0, 3\)",
    ),
    "gather_nd": (
        lambda: tf.gather_nd(fed(np.ones((3, 2))), fed([[0], [5]])),
        r"indices\[1\] = \[5\] does not index into param shape \[3,2\]",
    ),
    "scatter_nd": (
        lambda: tf.scatter_nd(fed([[0], [5]]), fed([1.0, 2]), [4]),
        r"indices\[1\] = \[5\] does not index into shape \[4\]",
    ),
    "strided_slice_grad": (
        lambda: tf.raw_ops.StridedSliceGrad(
            shape=[5, 2], begin=fed([0]), end=fed([1, 2]), strides=tf.constant([1]), dy=fed(np.ones([1, 2]))
        ),
        r"1D equal size tensors, but got shapes \[1\], \[2\], and \[1\] instead",
    ),
    "tensor_scatter_add": (
        lambda: tf.tensor_scatter_add(fed([1.0, 2]), fed([[5]]), fed([1.0])),
        r"indices\[0\] = \[5\] does not index into shape \[2\]",
    ),
    "reshape": (
        lambda: tf.reshape(fed([1.0, 2, 3]), fed([2])),
        "Input to reshape is a tensor with 3 values, but the requested shape has 2",
    ),
    "reshape two unknown": (
        lambda: tf.reshape(fed([1.0, 2, 3]), fed([-1, -1])),
        "Only one input size may be -1, not both 0 and 1",
    ),
    "slice": (lambda: tf.slice(fed([1.0, 2, 3]), fed([2]), fed([2])), r"Expected size\[0\] in \[0, 1\], but got 2"),
    "index": (lambda: fed([1.0, 2, 3])[fed(3)], "slice index 3 of dimension 0 out of bounds"),
    "concat": (
        lambda: tf.concat([fed([[1.0, 2]]), fed([[1.0]])], 0),
        r"Dimensions of inputs should match: shape\[0\] = \[1,2\] vs. shape\[1\] = \[1,1\]",
    ),
    "stack": (
        lambda: tf.stack([fed([1.0]), fed([1.0, 2])]),
        r"Shapes of all inputs must match: values\[0\].shape = \[1\] != values\[1\].shape = \[2\]",
    ),
    "stack axis": (lambda: tf.stack([fed([1.0]), fed([2.0])], 2), r"axis = 2 not in \[-2, 2\)"),
    "unstack axis": (lambda: tf.unstack(fed([1.0, 2]), 2, axis=-2), r"axis = -2 not in \[-1, 1\)"),
    "scatter_nd negative size": (
        lambda: tf.scatter_nd(fed([[0]]), fed([9.0]), fed([-1])), "Dimension -1 must be >= 0"
    ),
    "scatter_nd empty": (
        lambda: tf.scatter_nd(fed([[0]]), fed([1.0]), fed([0])),
        r"Indices and updates specified for empty output.  indices shape: \[1,1\]",
    ),
    "split": (lambda: tf.split(fed([1.0, 2, 3]), 2), r"split_dim 0 \(size = 3\) and num_split 2"),
    "tile": (
        lambda: tf.tile(fed([1.0, 2]), fed([1, 2])),
        "Expected multiples argument to be a vector of length 1 but got length 2",
    ),
    "transpose": (lambda: tf.transpose(fed(np.ones((2, 3))), fed([0, 0])), r"1 is missing from \{0,0\}"),
    "invert_permutation": (lambda: tf.invert_permutation(fed([0, 0])), "0 is duplicated in the input"),
    "pad": (lambda: tf.pad(fed([1.0, 2]), fed([[1, -1]])), "Paddings must be non-negative: 1 -1"),
    "mirror pad": (
        lambda: tf.pad(fed([1.0, 2]), [[3, 0]], mode="reflect"),
        "paddings must be less than the dimension size: 3, 0 not less than 2",
    ),
    "one_hot": (lambda: tf.one_hot(fed([0, 1]), fed(-1)), "depth must be non-negative, got: -1"),
    "dynamic_partition": (
        lambda: tf.dynamic_partition(fed([1.0, 2]), fed([0, 2]), 2),
        r"partitions\[1\] = 2 is not in \[0, 2\)",
    ),
    "space_to_batch_nd": (
        lambda: tf.space_to_batch_nd(fed(np.ones((1, 3, 1))), [2], [[0, 0]]),
        r"padded_shape\[0\]=3 is not divisible",
    ),
    "partitions of a scalar": (lambda: tf.dynamic_partition(fed(1.0), fed(17), 7), r"partitions = 17 is not in \[0, 7\)"),
    "diag": (lambda: tf.linalg.diag(fed(0.0)), r"diagonal must be at least 1-dim, received shape: \[\]"),
    "diag_part": (lambda: tf.linalg.diag_part(fed(0.0)), r"input must be at least 2-dim, received shape: \[\]"),
    "set_diag": (lambda: tf.linalg.set_diag(fed([[0.0]]), fed(0.0)), "diagonal must be at least 1-dim"),
    "set_diag sizes": (
        lambda: tf.linalg.set_diag(fed([[0.0, 0.0]]), fed([0.0, 0.0])),
        r"(?s)Input shape: \[1,2\]\nDiagonal shape: \[2\]\nExpected diagonal shape: \[1\]",
    ),
    "reverse_sequence dims": (
        lambda: tf.reverse_sequence(fed([1.0]), fed([1]), seq_axis=0, batch_axis=0),
        "batch_dim == seq_dim == 0",
    ),
    "reverse_sequence rank": (
        lambda: tf.reverse_sequence(fed([[1.0]]), fed([1]), seq_axis=3, batch_axis=0),
        r"seq_dim must be < input.dims\(\)\( 3 vs. 2\)",
    ),
    "reverse_sequence lengths": (
        lambda: tf.reverse_sequence(fed([[1.0]]), fed(1), seq_axis=0, batch_axis=1),
        "seq_lens input must be 1-dim, not 0",
    ),
    "nth_element": (lambda: tf.contrib.nn.nth_element(fed(5.0), 0), r"Input must be >= 1-D, got shape \[\]"),
    "nth_element negative": (lambda: tf.contrib.nn.nth_element(fed([1.0]), fed(-7)), "Need n >= 0, got -7"),
    "cumsum axis": (lambda: tf.cumsum(fed([1.0]), axis=fed([0])), r"ScanOp: axis must be a scalar, not \[1\]"),
    "betainc": (
        lambda: tf.math.betainc(fed(0.5), fed([0.5]), fed([0.1, 0.2])),
        r"Shapes of b and x are inconsistent: \[1\] vs. \[2\]",
    ),
    "too many elements": (
        lambda: tf.pad(fed(np.ones((1, 1, 1))), fed([[10**8, 0]] * 3)),
        r"Shape \[100000001,100000001,100000001\] would have more than 2\*\*63 - 1 elements",
    ),
    "reverse_sequence": (
        lambda: tf.reverse_sequence(fed(np.ones((2, 3))), fed([1, 5]), seq_axis=1, batch_axis=0),
        r"seq_lens\(1\) > input.dims\(1\)",
    ),
    "check_numerics": (lambda: tf.check_numerics([1.0, np.nan], "m"), "m : Tensor had NaN values"),
    "ensure_shape": (lambda: tf.ensure_shape(fed([1.0]), [2]), r"\[1\] is not compatible with expected shape \[2\]"),
    "placeholder": (
        lambda: tf.placeholder(tf.float32, [None, 2], name="x"),
        r"placeholder tensor 'x' with dtype float and shape \[\?,2\]",
    ),
}

WHEN_BUILT = {
    "index": (lambda: tf.constant([1.0, 2, 3])[5], ValueError, "slice index 5 of dimension 0 out of bounds"),
    "too many indices": (lambda: tf.constant([1.0])[1, 2], ValueError, "input has only 1 dims"),
    "float index": (lambda: tf.constant([1, 2])[1.0], TypeError, "Only integers, slices"),
    "vector index": (lambda: tf.constant([1, 2])[tf.constant([1])], TypeError, "Only integers, slices"),
    "slice assignment": (
        lambda: tf.zeros([2])[0].assign(3.0),
        ValueError,
        "Sliced assignment is only supported for variables",
    ),
    "reshape": (
        lambda: tf.reshape([1.0, 2, 3], [2]),
        ValueError,
        r"Cannot reshape a tensor with 3 elements to shape \[2\] \(2 elements\)",
    ),
    "concat scalars": (lambda: tf.concat([1.0, 2.0], 0), ValueError, "Can't concatenate scalars"),
    "concat": (
        lambda: tf.concat([[[1.0]], [[1.0, 2]]], 0),
        ValueError,
        "Dimension 0 in both shapes must be equal, but are 1 and 2",
    ),
    "stack": (lambda: tf.stack([[1.0], [1.0, 2]]), ValueError, "From merging shape 0 with other shapes"),
    "stack axis": (lambda: tf.stack([1, 2], axis=3), ValueError, r"axis = 3 not in \[-1, 1\)"),
    "unstack": (lambda: tf.unstack(fed([1.0])), ValueError, "Cannot infer num from shape <unknown>"),
    "split": (lambda: tf.split(tf.constant([1, 2, 3]), 2), ValueError, "Number of ways to split should evenly divide"),
    "split sizes": (
        lambda: tf.split(tf.constant([1, 2, 3]), [2, 2]),
        ValueError,
        r"can't split axis of size 3 into pieces of size \[2,2\]",
    ),
    "squeeze": (
        lambda: tf.squeeze([1.0, 2], [0]),
        ValueError,
        r"Can not squeeze dim\[0\], expected a dimension of 1, got 2",
    ),
    "squeeze both names": (lambda: tf.squeeze([1.0], axis=[0], squeeze_dims=[0]), ValueError, "Cannot specify both"),
    "expand_dims": (lambda: tf.expand_dims([1.0], 5), ValueError, r"dim 5 not in the interval \[-2, 1\]"),
    "transpose": (
        lambda: tf.transpose(tf.ones([2, 3]), [0, 2]),
        ValueError,
        "perm dim 2 is out of range of input rank 2",
    ),
    "pad mode": (lambda: tf.pad([1.0], [[1, 1]], mode="foo"), ValueError, "Unknown padding mode: FOO"),
    "one_hot dtypes": (lambda: tf.one_hot([0], 2, on_value=1, off_value=0.0), TypeError, "does not match dtype"),
    "mask scalar": (lambda: tf.boolean_mask([1, 2], True), ValueError, "mask cannot be scalar"),
    "meshgrid": (lambda: tf.meshgrid([1], indexing="zz"), ValueError, "indexing parameter must be either 'xy' or 'ij'"),
    "one_hot computed depth": (
        lambda: tf.one_hot([1], tf.bitwise.right_shift([4, 2], [1, 1])), ValueError, "Input must be scalar but has rank 1",
    ),
    "gru_block_cell_grad": (
        lambda: tf.raw_ops.GRUBlockCellGrad(
            x=tf.ones([2, 3]), h_prev=tf.ones([2, 4]), w_ru=tf.ones([2]), w_c=tf.ones([7, 4]), b_ru=tf.ones([8]), b_c=tf.ones([4]),
            **{name: tf.ones([2, 4]) for name in ("r", "u", "c", "d_h")},
        ),
        ValueError, "Shape must be rank 2 but is rank 1",
    ),
    "matrix_set_diag": (
        lambda: tf.raw_ops.MatrixSetDiagV2(input=tf.ones([2, 3, 3]), diagonal=tf.ones([3, 3, 2, 3]), k=fed([0])),
        ValueError, "Shape must be at most rank 3 but is rank 4",
    ),
    "where": (lambda: tf.where([1, 2], [1, 2]), ValueError, "x and y must both be non-None or both be None"),
    "group": (lambda: tf.group(3), TypeError, "Expected tf.group"),
    "tuple": (lambda: tf.tuple([None]), ValueError, "Must have at least one Tensor"),
    "py_func": (lambda: tf.py_func(3, [], tf.float32), ValueError, "Expected func to be callable"),
}


@pytest.mark.parametrize("case", WHEN_RUN)
def test_bad_data_raises_invalid_argument_when_run(case):
    build, message = WHEN_RUN[case]
    result = build()
    with tf.Session() as session, pytest.raises(tf.errors.InvalidArgumentError, match=message):
        session.run(result)


@pytest.mark.parametrize("case", WHEN_BUILT)
def test_bad_arguments_raise_when_built(case):
    build, error, message = WHEN_BUILT[case]
    with pytest.raises(error, match=message):
        build()


def test_dense_form_of_indexed_slices_needs_a_dense_shape():
    slices = tf.IndexedSlices(tf.constant([[1.0, 2]]), tf.constant([0]))
    with pytest.raises(ValueError, match="without dense_shape"):
        tf.convert_to_tensor(slices)


def test_dense_form_of_indexed_slices_adds_equal_indices():
    slices = tf.IndexedSlices(tf.constant([[1.0, 2], [3, 4]]), tf.constant([1, 1]), tf.constant([3, 2]))
    with tf.Session() as session:
        np.testing.assert_array_equal(session.run(tf.convert_to_tensor(slices)), [[0, 0], [4, 6], [0, 0]])


def test_equal_shapes_broadcast_whatever_they_hold():
    shape = fed([2, 3, -1, -1])
    with tf.Session() as session:
        assert session.run(tf.raw_ops.BroadcastArgs(s0=shape, s1=shape)).tolist() == [2, 3, -1, -1]
        assert [axes.tolist() for axes in session.run(tf.raw_ops.BroadcastGradientArgs(s0=shape, s1=shape))] == [[], []]
