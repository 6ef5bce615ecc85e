"""What set operations check of sparse positions, recorded from TensorFlow 1.15.5: the same with and without `validate_indices`."""

import numpy as np
import pytest

import tfcompat as tf

raw = tf.raw_ops
GOOD = ([[1, 1], [1, 2]], [3, 2], [3, 3])
BEHIND_INVALID = (tf.errors.InvalidArgumentError, r"indices\[0\] = \[3,3\] is out of bounds: need 0 <= index < \[3,2\]")


def sparse(indices):
    return (indices, [2, 0], [3, 2])


def fed(part):
    return tf.placeholder_with_default(tf.constant(part, tf.int64), None)


def two(first, second):
    parts = map(fed, (*first, *second))
    names = [f"set{i}_{part}" for i in (1, 2) for part in ("indices", "values", "shape")]
    return raw.SparseToSparseSetOperation, dict(zip(names, parts), set_operation="intersection")


def dense(indices):
    names = ("set2_indices", "set2_values", "set2_shape")
    return raw.DenseToSparseSetOperation, dict(zip(names, map(fed, sparse(indices))), set1=fed(np.arange(6).reshape(3, 2)), set_operation="union")


def size(indices):
    return raw.SetSize, dict(zip(("set_indices", "set_values", "set_shape"), map(fed, sparse(indices))))


RAISES = {
    "first": (lambda: two(sparse([[3, 3], [2, 3]]), GOOD), BEHIND_INVALID),
    "second, group": (lambda: two(GOOD, sparse([[0, 0], [3, 0]])), (tf.errors.InternalError, r"indices\[0, 0\] expected < 3, got 3\.")),
    "second, element": (lambda: two(GOOD, sparse([[0, 0], [1, 5]])), (tf.errors.InternalError, r"indices\[0, 1\] expected < 2, got 5\.")),
    "dense": (lambda: dense([[3, 3], [2, 3]]), BEHIND_INVALID),
    "dense, order": (lambda: dense([[1, 0], [0, 0]]), (tf.errors.InvalidArgumentError, r"indices\[1\] = \[0,0\] is out of order")),
    "size": (lambda: size([[3, 3], [2, 3]]), BEHIND_INVALID),
}


@pytest.mark.parametrize("validate", [True, False])
@pytest.mark.parametrize("name", RAISES)
def test_raises(name, validate):
    make, (error, text) = RAISES[name]
    with tf.Graph().as_default(), tf.Session() as session:
        function, arguments = make()
        with pytest.raises(error, match=text):
            session.run(function(**arguments, validate_indices=validate))


@pytest.mark.parametrize("validate", [True, False])
@pytest.mark.parametrize("indices", [[[1, 0], [0, 0]], [[1, 1], [1, 0]], [[1, 0], [1, 0]]])
def test_order_of_the_second(indices, validate):
    with tf.Graph().as_default(), tf.Session() as session:
        function, arguments = two(GOOD, sparse(indices))
        found = session.run(function(**arguments, validate_indices=validate))
        assert [part.tolist() for part in found] == [[[1, 0]], [2], [3, 1]]
