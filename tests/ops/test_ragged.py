"""Ragged tensors: indexing, and the functions that take them. The values are those that TensorFlow 1.15.5 gives."""

import numpy as np
import pytest

import tfcompat as tf
from tfcompat._src.ops.ragged import factory

nan = float("nan")
VALUES = [
    ("rt[:, :0]", [[1, 2, 3], [], [4, 5], [6]]),
    ("rt[:,::-1]", [[], [], [], []]),
    ("rt[:, -1:]", [[3], [], [5], [6]]),
    ("rt[:, 1:]", [[2, 3], [], [5], []]),
    ("rt[:,::2]", [[1, 3], [], [4], [6]]),
    ("rt[::-1]", [[6], [4, 5], [], [1, 2, 3]]),
    ("rt[1:3]", [[], [4, 5]]),
    ("rt[0]", [1, 2, 3]),
    ("rt[0,1]", 2),
    ("rt[-1]", [6]),
    ("rt[...]", [[1, 2, 3], [], [4, 5], [6]]),
    ("rt[...,1:]", [[2, 3], [], [5], []]),
    ("rt[tf.newaxis]", [[[1, 2, 3], [], [4, 5], [6]]]),
    ("rt[:,tf.newaxis]", [[[1, 2, 3]], [[]], [[4, 5]], [[6]]]),
    ("rt[...,tf.newaxis]", [[[1], [2], [3]], [], [[4], [5]], [[6]]]),
    ("rt[0,tf.newaxis]", [[1, 2, 3]]),
    ("r3[0]", [[1, 2], [3]]),
    ("r3[0,1]", [3]),
    ("r3[:,:1]", [[[1, 2]], [], [[4, 5, 6]]]),
    ("r3[...,:1]", [[[1], [3]], [], [[4]]]),
    ("r3[0,:,:1]", [[1], [3]]),
    ("r3[tf.newaxis,0]", [[[1, 2], [3]]]),
    ("rt[...,...]", [[1, 2, 3], [], [4, 5], [6]]),
    ("rt[:,:tf.constant(-1)]", [[1, 2], [], [4], []]),
    ("r3[:, tf.newaxis, :1]", [[[[1, 2]]], [[]], [[[4, 5, 6]]]]),
    ("rt[2:,1:]", [[5], []]),
    ("rt[:, :100]", [[1, 2, 3], [], [4, 5], [6]]),
    ("rt[:, 5:]", [[], [], [], []]),
    ("rt[:, -100:]", [[1, 2, 3], [], [4, 5], [6]]),
    ("tf.concat([rt,rt],0)", [[1, 2, 3], [], [4, 5], [6], [1, 2, 3], [], [4, 5], [6]]),
    ("tf.concat([rt,rt],1)", [[1, 2, 3, 1, 2, 3], [], [4, 5, 4, 5], [6, 6]]),
    ("tf.stack([rt,rt])", [[[1, 2, 3], [], [4, 5], [6]], [[1, 2, 3], [], [4, 5], [6]]]),
    ("tf.stack([rt,rt],1)", [[[1, 2, 3], [1, 2, 3]], [[], []], [[4, 5], [4, 5]], [[6], [6]]]),
    ("tf.concat([rt,[[7]]],0)", [[1, 2, 3], [], [4, 5], [6], [7]]),
    ("tf.reduce_mean(rt,1)", [2.0, nan, 4.5, 6.0]),
    ("tf.reduce_sum(rt)", 21),
    ("tf.reduce_sum(r3,[0,2])", [18, 3]),
    ("tf.reduce_sum(r3,2)", [[3, 3], [], [15]]),
    ("tf.reduce_sum(rt,axis=-1)", [6, 0, 9, 6]),
    ("tf.reduce_max(rt,1)", [3, -2147483648, 5, 6]),
    ("tf.reduce_all(tf.equal(rt,1),1)", [False, True, False, False]),
    ("rt+rt", [[2, 4, 6], [], [8, 10], [12]]),
    ("rt+1", [[2, 3, 4], [], [5, 6], [7]]),
    ("rt+[[1],[2],[3],[4]]", [[2, 3, 4], [], [7, 8], [10]]),
    ("tf.where(tf.greater(rt,2))", [[0, 2], [2, 0], [2, 1], [3, 0]]),
    ("tf.size(rt)", 6),
    ("tf.rank(rt)", 2),
    ("tf.expand_dims(rt,0)", [[[1, 2, 3], [], [4, 5], [6]]]),
    ("tf.expand_dims(rt,1)", [[[1, 2, 3]], [[]], [[4, 5]], [[6]]]),
    ("tf.expand_dims(rt,-1)", [[[1], [2], [3]], [], [[4], [5]], [[6]]]),
    ("tf.tile(rt,[2,1])", [[1, 2, 3], [], [4, 5], [6], [1, 2, 3], [], [4, 5], [6]]),
    ("tf.tile(rt,[1,2])", [[1, 2, 3, 1, 2, 3], [], [4, 5, 4, 5], [6, 6]]),
    ("tf.gather(rt,[2,0])", [[4, 5], [1, 2, 3]]),
    ("tf.gather(rt,[[2],[0]])", [[[4, 5]], [[1, 2, 3]]]),
    ("tf.gather_nd(rt,[[2,1],[0,0]])", [5, 1]),
    ("tf.batch_gather(rt,tf.ragged.constant([[0],[],[1],[0,0]]))", [[1], [], [5], [6, 6]]),
    ("tf.squeeze(tf.expand_dims(rt,0),0)", [[1, 2, 3], [], [4, 5], [6]]),
    (
        "tf.one_hot(rt,3)",
        [
            [[0.0, 1.0, 0.0], [0.0, 0.0, 1.0], [0.0, 0.0, 0.0]],
            [],
            [[0.0, 0.0, 0.0], [0.0, 0.0, 0.0]],
            [[0.0, 0.0, 0.0]],
        ],
    ),
    ("tf.cast(rt,tf.float32)", [[1.0, 2.0, 3.0], [], [4.0, 5.0], [6.0]]),
    ("tf.ragged.boolean_mask(rt,[True,False,True,True])", [[1, 2, 3], [4, 5], [6]]),
    ("tf.unsorted_segment_sum(rt,[0,1,0,1],2)", [[5, 7, 3], [6]]),
    ("tf.unsorted_segment_mean(tf.cast(rt,tf.float32),[0,1,0,1],2)", [[2.5, 3.5, 3.0], [6.0]]),
    ("tf.ragged.stack_dynamic_partitions([1,2,3],[1,0,1],3)", [[2], [1, 3], []]),
    ("tf.add_n([rt,rt])", [[2, 4, 6], [], [8, 10], [12]]),
    ("tf.maximum(rt,2)", [[2, 2, 3], [], [4, 5], [6]]),
    ("-rt", [[-1, -2, -3], [], [-4, -5], [-6]]),
    ("2-rt", [[1, 0, -1], [], [-2, -3], [-4]]),
    ("rt/2", [[0.5, 1.0, 1.5], [], [2.0, 2.5], [3.0]]),
    ("rt//2", [[0, 1, 1], [], [2, 2], [3]]),
    ("rt%2", [[1, 0, 1], [], [0, 1], [0]]),
    ("rt**2", [[1, 4, 9], [], [16, 25], [36]]),
    ("rt>2", [[False, False, True], [], [True, True], [True]]),
    ("~tf.equal(rt,1)", [[False, True, True], [], [True, True], [True]]),
    ("abs(rt)", [[1, 2, 3], [], [4, 5], [6]]),
    ("tf.zeros_like(rt)", [[0, 0, 0], [], [0, 0], [0]]),
    ("tf.clip_by_value(rt,2,4)", [[2, 2, 3], [], [4, 4], [4]]),
    ("rt.to_tensor()", [[1, 2, 3], [0, 0, 0], [4, 5, 0], [6, 0, 0]]),
    ("tf.RaggedTensor.from_tensor([[1,2,0],[0,3,0]],padding=0)", [[1, 2], [0, 3]]),
    ("tf.RaggedTensor.from_tensor([[1,2,0],[0,3,0]],lengths=[1,2])", [[1], [0, 3]]),
    ("tf.RaggedTensor.from_sparse(tf.SparseTensor([[0,0],[1,0],[1,1]],[1,2,3],[3,4]))", [[1], [2, 3], []]),
    ("rt.bounding_shape()", [4, 3]),
    ("r3.bounding_shape()", [3, 2, 3]),
    ("r3.bounding_shape(1)", 2),
    ("rt.bounding_shape([1,0])", [3, 4]),
    ("tf.ragged.map_flat_values(tf.add,rt,rt)", [[2, 4, 6], [], [8, 10], [12]]),
    ("tf.reduce_sum(r3,[1,2])", [6, 0, 15]),
    ("tf.reduce_prod(rt,0)", [24, 10, 3]),
    ("tf.reduce_min(tf.cast(rt,tf.float32),1)", [1.0, 3.4028234663852886e38, 4.0, 6.0]),
    ("tf.where([True,False,True,False],rt,rt+1)", [[1, 2, 3], [], [4, 5], [7]]),
    ("tf.where(tf.equal(rt,1),rt,rt+1)", [[1, 3, 4], [], [5, 6], [7]]),
    ("tf.ragged.range([1,5],[3,9])", [[1, 2], [5, 6, 7, 8]]),
    (
        "tf.tile(r3,[1,2,2])",
        [[[1, 2, 1, 2], [3, 3], [1, 2, 1, 2], [3, 3]], [], [[4, 5, 6, 4, 5, 6], [4, 5, 6, 4, 5, 6]]],
    ),
    ("tf.gather(tf.constant([10,20,30,40,50,60,70]),rt)", [[20, 30, 40], [], [50, 60], [70]]),
    ("tf.reduce_any(tf.equal(rt,1))", True),
]
ERRORS = [
    ("rt[7]", ValueError),
    ("r3[:,0]", ValueError),
    ("rt[:,0]", ValueError),
    ("r3[...,0]", ValueError),
    ("rt[1,2,3]", ValueError),
    ("rt['a']", TypeError),
    ("rt[:,'a']", ValueError),
    ("rt[:, 'a':]", TypeError),
    ("rt[::0]", ValueError),
    ("rt[:,:,1:]", ValueError),
    ("rt[:,:1.5]", TypeError),
    ("tf.reduce_sum(rt,5)", ValueError),
    ("tf.reduce_mean(rt,axis=1,keepdims=True)", ValueError),
    ("rt+tf.constant([[1,2,3]])", tf.errors.InvalidArgumentError),
    ("rt*r3", tf.errors.InvalidArgumentError),
    ("bool(rt)", TypeError),
    ("rt + tf.constant([1,2])", tf.errors.InvalidArgumentError),
    ("tf.ragged.constant([[1,2],[3]])+tf.ragged.constant([[1],[3]])", tf.errors.InvalidArgumentError),
]


def evaluate(expression):
    """The value of an expression over `rt`, a ragged matrix, and `r3`, a ragged tensor of rank 3."""
    with tf.Graph().as_default(), tf.Session() as session:
        rt = tf.ragged.constant([[1, 2, 3], [], [4, 5], [6]])
        r3 = tf.ragged.constant([[[1, 2], [3]], [], [[4, 5, 6]]])
        value = session.run(eval(expression, {"tf": tf, "rt": rt, "r3": r3}))
    return value.to_list() if isinstance(value, tf.ragged.RaggedTensorValue) else value.tolist()


@pytest.mark.parametrize("expression, expected", VALUES, ids=[e for e, _ in VALUES])
def test_value(expression, expected):
    np.testing.assert_equal(evaluate(expression), expected)


@pytest.mark.parametrize("expression, error", ERRORS, ids=[e for e, _ in ERRORS])
def test_error(expression, error):
    with pytest.raises(error):
        evaluate(expression)


def test_feed_and_fetch():
    with tf.Graph().as_default(), tf.Session() as session:
        ragged = tf.ragged.placeholder(tf.float32, 1)
        value = tf.ragged.constant_value([[1.0], [], [2.0, 3.0]], np.float32)
        result = session.run({"twice": ragged * 2.0, "same": [ragged]}, {ragged: value})
    assert result["twice"].to_list() == [[2.0], [], [4.0, 6.0]]
    assert result["same"][0].to_list() == value.to_list()


def test_gradient_of_a_row_sum():
    with tf.Graph().as_default(), tf.Session() as session:
        values = tf.constant([1.0, 2.0, 3.0, 4.0])
        ragged = tf.RaggedTensor.from_row_splits(values, [0, 3, 3, 4])
        total = tf.reduce_sum(ragged * ragged, axis=1) * [1.0, 10.0, 100.0]
        assert session.run(tf.gradients(total, values)[0]).tolist() == [2.0, 4.0, 6.0, 800.0]


def test_spec_round_trip():
    with tf.Graph().as_default(), tf.Session() as session:
        ragged = tf.ragged.constant([[[1], [2, 3]], [[4]]])
        spec = ragged._type_spec
        again = spec._from_components(spec._to_components(ragged))
        through_variant = spec._from_tensor_list(spec._to_tensor_list(ragged))
        found = session.run([again, through_variant])
    assert [f.to_list() for f in found] == [[[[1], [2, 3]], [[4]]]] * 2


@pytest.mark.parametrize("lists, depths", [(3, (0, 0)), ([], (None, 1)), ([[]], (None, 2)), ([[1], []], (2, 2)), ([[], [[]]], (None, 3))])
def test_depths_of_nested_lists(lists, depths):
    assert factory.scalar_and_largest_depth(lists) == depths


def test_inner_shape_of_nested_lists():
    assert factory.inner_shape_below([[[1], [2]], [[3], [4], [5]]], 1) == (1,)
    assert factory.inner_shape_below([[[1], [2]], [[3]]], 2) == ()
    with pytest.raises(ValueError, match="inconsistent shape"):
        factory.inner_shape_below([[[1], [2, 3]]], 1)


def test_the_inner_shape_must_be_that_of_the_values():
    with tf.Graph().as_default(), pytest.raises(TypeError, match="Expected Tensor's shape: \\(1, 1\\), got \\(3,\\)"):
        tf.ragged.constant([1, 2, 3], inner_shape=(1, 1))
