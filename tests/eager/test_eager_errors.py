"""What operations that run when they are called raise: the first lines of 1.15.5's messages."""

import numpy as np
import pytest

import tfcompat as tf
from tfcompat._src.eager.mode import eager_mode
from tfcompat._src.nodes import raw
from tfcompat._src.ops.flow import list_functions as lists

INVALID = tf.errors.InvalidArgumentError
SAME = "must have the same size and shape.  Input"


def ones(*sizes):
    return np.ones(sizes, np.float32)


CASES = {
    "split_list": (
        "tensor shape [2,1] is not compatible with element_shape [1] [Op:TensorListSplit]",
        lambda: lists.tensor_list_split(ones(2, 1), element_shape=[1], lengths=[1, 1]),
    ),
    "add": ("Incompatible shapes: [2,3] vs. [2,4] [Op:Add]", lambda: tf.add(ones(2, 3), ones(2, 4))),
    "matmul": ("Matrix size-incompatible: In[0]: [2,3], In[1]: [2,3] [Op:MatMul] name: MatMul/", lambda: tf.matmul(ones(2, 3), ones(2, 3))),
    "matmul_rank": ("In[0] is not a matrix. Instead it has shape [2] [Op:MatMul]", lambda: raw.MatMul(ones(2), ones(2, 3))),
    "batch_matmul": (
        "In[0].dim(0) and In[1].dim(0) must be the same: [2,2,3] vs [3,3,3] [Op:BatchMatMul]",
        lambda: raw.BatchMatMul(ones(2, 2, 3), ones(3, 3, 3)),
    ),
    "batch_matmul_rank": (
        "In[0] and In[1] has different ndims: [2,2,3] vs. [3,3] [Op:BatchMatMul]",
        lambda: raw.BatchMatMul(ones(2, 2, 3), ones(3, 3)),
    ),
    "batch_matmul_v2": (
        "In[0] and In[1] must have compatible batch dimensions: [2,2,3] vs. [3,3,3] [Op:BatchMatMulV2]",
        lambda: raw.BatchMatMulV2(ones(2, 2, 3), ones(3, 3, 3)),
    ),
    "where_batches": (
        "Number of batches of 'then' must match size of 'cond', but saw: 3 vs. 1 [Op:Select]",
        lambda: tf.where([True], ones(3, 2), ones(3, 2)),
    ),
    "where_values": (
        "'then' and 'else' must have the same size.  but received: [2,2] vs. [3,2] [Op:Select]",
        lambda: tf.where([True, False], ones(2, 2), ones(3, 2)),
    ),
    "where_scalar": ("'then' must be at least a vector, but saw shape: [] [Op:Select]", lambda: tf.where([True], ones(), ones())),
    "where_condition": (
        f"Inputs to operation Select of type Select {SAME} 0: [1] != input 1: [2] [Op:Select]",
        lambda: tf.where([True], ones(2), ones(2)),
    ),
    "where_else": (
        f"Inputs to operation Select of type Select {SAME} 0: [2] != input 2: [3] [Op:Select]",
        lambda: tf.where([True, False], ones(2), ones(3)),
    ),
    "where_v2": ("then [3,2] and else [3] must be broadcastable [Op:SelectV2]", lambda: tf.where_v2([True, False], ones(3, 2), ones(3))),
    "where_v2_condition": (
        "condition [2], then [3], and else [3] must be broadcastable [Op:SelectV2]",
        lambda: tf.where_v2([True, False], ones(3), ones(3)),
    ),
    "clip": (
        "clip_value_min and clip_value_max must be either of the same shape as input, or a scalar. "
        "input shape: [3]clip_value_min shape: [3]clip_value_max shape: [1] [Op:ClipByValue]",
        lambda: raw.ClipByValue(ones(3), ones(3), ones(1)),
    ),
    "join": ("Input shapes do not match: [2] vs. [1] [Op:StringJoin]", lambda: tf.strings.join([["a", "b"], ["c"], [["c"]]])),
    "inverse": ("Input matrix must be square. [Op:MatrixInverse]", lambda: tf.linalg.inv(ones(2, 3))),
    "solve": ("First input (lhs) must be a square matrix. [Op:MatrixSolve]", lambda: raw.MatrixSolve(ones(2, 3), ones(2, 1))),
    "solve_rank": ("All input tensors must have the same rank. [Op:MatrixSolve]", lambda: raw.MatrixSolve(ones(2, 2), ones(1, 2, 1))),
    "solve_rows": ("Input matrix and rhs are incompatible. [Op:MatrixSolve]", lambda: raw.MatrixSolve(ones(2, 2), ones(3, 1))),
    "multinomial": ("logits should be a matrix, got shape [3] [Op:Multinomial]", lambda: raw.Multinomial(ones(3), 2)),
    "sparse_order": (
        "indices[1] = [0,0] is out of order. Many sparse ops require sorted indices.",
        lambda: tf.sparse.to_dense(tf.SparseTensor([[1, 0], [0, 0]], [1.0, 2.0], [2, 2])),
    ),
    "one_hot": ("depth must be a scalar, but got: [1] [Op:OneHot]", lambda: raw.OneHot([1], [2], 1.0, 0.0)),
    "linspace": ("stop must be a scalar, not shape [1] [Op:LinSpace]", lambda: tf.linspace(0.0, [1.0], 3)),
    "gather": ("axis must be scalar [Op:GatherV2]", lambda: raw.GatherV2(ones(2, 3), [1], [0])),
    "concat": ("axis tensor should be a scalar integer, but got shape [2] [Op:ConcatV2]", lambda: raw.ConcatV2([ones(2), ones(2)], [0, 1])),
    "split": ("split_dim must be a scalar but has rank 1 [Op:Split]", lambda: raw.Split([0], ones(2), num_split=2)),
}


@pytest.mark.parametrize("name", CASES)
def test_kernels_say_what_is_wrong_with_shapes(name):
    text, call = CASES[name]
    with eager_mode():
        for _ in range(2):
            with pytest.raises(INVALID) as raised:
                call()
            assert raised.value.message.startswith(text)
            assert raised.value.op is None


def test_cross_product_of_other_vectors():
    with eager_mode(), pytest.raises(tf.errors.FailedPreconditionError, match="only defined for 3-element vectors"):
        raw.Cross(ones(2), ones(2))


def test_where_in_a_graph_does_not_repeat_the_condition():
    with tf.Graph().as_default(), tf.Session() as session:
        condition, value = tf.placeholder(tf.bool), tf.placeholder(tf.float32)
        chosen = tf.where(condition, value, value)
        with pytest.raises(INVALID, match="Number of batches of 'then' must match size of 'cond', but saw: 3 vs. 1"):
            session.run(chosen, {condition: [True], value: ones(3, 2)})


MISFITS_IN_FUNCTIONS = {
    "matmul": lambda a, b: tf.matmul(a, b),
    "add": lambda a, b: a + b,
    "reshape": lambda a, b: tf.reshape(a, [5]),
    "ensure_shape": lambda a, b: tf.ensure_shape(a, [5, 5]),
    "concat": lambda a, b: tf.concat([a, b], 1),
    "axis": lambda a, b: tf.gather(a, [0], axis=2),
    "branch": lambda a, b: tf.cond(tf.reduce_sum(a) > 0, lambda: tf.matmul(a, b), lambda: a),
    "function": lambda a, b: tf.function(lambda a, b: tf.matmul(a, b))(a, b),
}


@pytest.mark.parametrize("name", MISFITS_IN_FUNCTIONS)
def test_shapes_that_do_not_fit_in_a_function_of_all_shapes(name):
    with eager_mode():
        signature = [tf.TensorSpec(None, tf.float32)] * 2
        function = tf.function(MISFITS_IN_FUNCTIONS[name], input_signature=signature)
        with pytest.raises(INVALID):
            function(ones(2, 3), ones(4, 3) if name != "concat" else ones(4, 2))
