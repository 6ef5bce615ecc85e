"""Bad input of barriers, staging areas, accumulators, stacks, arrays and sparse tensors; what is put in has to fit what is taken out."""

import numpy as np

from cases.bad_control import fed
from cases.table import Table

TABLE = Table("bad_stores")
error_case = TABLE.error_case


def after(tf, operation, make):
    """What make gives, once operation has run."""
    with tf.control_dependencies([operation]):
        return make()


def numbers(tf, *values):
    return fed(tf, values, np.float32)


def barrier(tf, shapes=((),), **attrs):
    return tf.raw_ops.Barrier(component_types=[tf.float32], shapes=list(shapes), **attrs)


def inserted(tf, handle=None, keys=("a", "b"), values=(1.0, 2.0), index=0):
    handle = barrier(tf) if handle is None else handle
    return after(
        tf, tf.raw_ops.BarrierInsertMany(handle=handle, keys=list(keys), values=numbers(tf, *values), component_index=index),
        lambda: tf.raw_ops.BarrierReadySize(handle=handle),
    )  # fmt: skip


def taken(tf, count=1, types=None, **options):
    handle = barrier(tf)
    insert = tf.raw_ops.BarrierInsertMany(handle=handle, keys=["a"], values=[1.0], component_index=0)
    closed = after(tf, insert, lambda: tf.raw_ops.BarrierClose(handle=handle))
    take = dict(handle=handle, num_elements=count, component_types=types or [tf.float32], **options)
    return after(tf, closed, lambda: tf.raw_ops.BarrierTakeMany(**take))[0]


def staged(tf, take="Unstage", types=None, **inputs):
    """What a staging area gives after one float32 vector was put in."""
    stage = tf.raw_ops.Stage(values=[numbers(tf, 1.0, 2.0)], shared_name="area")
    return after(tf, stage, lambda: getattr(tf.raw_ops, take)(dtypes=types or [tf.float32], shared_name="area", **inputs))


def mapped(tf, take="MapUnstage", types=None, put=(0,), indices=(0,), values=1):
    """What a map of staged values gives after some were put in under key 1."""
    kinds = types or [tf.float32]
    stage = tf.raw_ops.MapStage(key=1, indices=list(put), values=[numbers(tf, 1.0)] * values, dtypes=kinds, shared_name="map")
    return after(
        tf, stage, lambda: getattr(tf.raw_ops, take)(key=1, indices=fed(tf, indices), dtypes=kinds, shared_name="map")
    )  # fmt: skip


def accumulator(tf, kind="", shape=(2,)):
    return getattr(tf.raw_ops, kind + "ConditionalAccumulator")(dtype=tf.float32, shape=list(shape))


def accumulated(tf, gradient=(1.0, 2.0), step=0, required=1, dtype=None):
    handle = accumulator(tf)
    apply = tf.raw_ops.AccumulatorApplyGradient(handle=handle, local_step=step, gradient=numbers(tf, *gradient))
    return after(
        tf, apply, lambda: tf.raw_ops.AccumulatorTakeGradient(handle=handle, num_required=required, dtype=dtype or tf.float32)
    )  # fmt: skip


def slices(tf, indices=(0, 2), shape=(3, 2), rows=2, **attrs):
    handle = accumulator(tf, "Sparse", (3, 2))
    apply = tf.raw_ops.SparseAccumulatorApplyGradient(
        handle=handle, local_step=0, gradient_indices=fed(tf, indices, np.int64), gradient_values=fed(tf, np.ones([rows, 2]), np.float32),
        gradient_shape=fed(tf, shape, np.int64), has_known_shape=True,
    )  # fmt: skip
    return after(tf, apply, lambda: tf.raw_ops.AccumulatorNumAccumulated(handle=handle))


def stack(tf, limit=5):
    return tf.raw_ops.StackV2(max_size=limit, elem_type=tf.float32)


def array(tf, size=2, **attrs):
    return tf.raw_ops.TensorArrayV3(size=size, dtype=tf.float32, **attrs)


def split(tf, lengths, value=((1.0,), (2.0,))):
    handle, flow = array(tf)
    return tf.raw_ops.TensorArraySplitV3(handle=handle, value=fed(tf, value), lengths=lengths, flow_in=flow)


def scattered(tf, indices):
    handle, flow = array(tf, dynamic_size=True)
    return tf.raw_ops.TensorArrayScatterV3(handle=handle, indices=fed(tf, indices), value=numbers(tf, 1.0), flow_in=flow)


def parts(tf, indices=((0, 0), (1, 1)), shape=(2, 2)):
    """Indices, values and shape of a sparse tensor."""
    return fed(tf, indices, np.int64), fed(tf, np.ones(len(indices)), np.float32), fed(tf, shape, np.int64)


def kept(tf, shape):
    indices, values, sizes = parts(tf, shape=shape)
    return tf.raw_ops.AddSparseToTensorsMap(sparse_indices=indices, sparse_values=values, sparse_shape=sizes)


def reduced(tf, axes, shape=(2, 2)):
    indices, values, _ = parts(tf)
    return tf.raw_ops.SparseReduceSum(input_indices=indices, input_values=values, input_shape=shape, reduction_axes=fed(tf, axes))


# fmt: off
ROWS = {
    "barrier_capacity_attr": lambda tf: inserted(tf, barrier(tf, capacity=3)),
    "barrier_shapes_attr": lambda tf: inserted(tf, barrier(tf, ((), ()))),
    "barrier_shape_unknown_attr": lambda tf: inserted(tf, barrier(tf, ((None,),)), values=((1.0,), (2.0,))),
    "barrier_component_attr": lambda tf: inserted(tf, index=1),
    "barrier_key_twice": lambda tf: inserted(tf, tf.raw_ops.Barrier(component_types=[tf.float32] * 2, shapes=[(), ()]), ("a", "a")),
    "barrier_value_shape": lambda tf: inserted(tf, barrier(tf, ((3,),)), values=((1.0,), (2.0,))),
    "barrier_take_rank": lambda tf: taken(tf, fed(tf, [1])),
    "barrier_take_many": lambda tf: taken(tf, fed(tf, 3)),
    "barrier_take_type_attr": lambda tf: taken(tf, types=[tf.int32]),
    "barrier_take_types_attr": lambda tf: taken(tf, types=[tf.float32] * 2),
    "stage_type_attr": lambda tf: staged(tf, types=[tf.int32]),
    "stage_types_attr": lambda tf: staged(tf, types=[tf.float32] * 2),
    "stage_peek_type_attr": lambda tf: staged(tf, "StagePeek", [tf.float64], index=0),
    "map_type_attr": lambda tf: mapped(tf, types=[tf.int32]),
    "map_peek_type_attr": lambda tf: mapped(tf, "MapPeek", [tf.int32]),
    "map_put_order": lambda tf: mapped(tf, types=[tf.float32] * 2, put=(1, 0), values=2),
    "map_take_index": lambda tf: mapped(tf, indices=(3,)),
    "accumulator_gradient": lambda tf: accumulated(tf, (1.0, 2.0, 3.0)),
    "accumulator_step_rank": lambda tf: accumulated(tf, step=fed(tf, [0], np.int64)),
    "accumulator_step_rank_static": lambda tf: accumulated(tf, step=[0]),
    "accumulator_required": lambda tf: accumulated(tf, required=fed(tf, 0)),
    "accumulator_required_rank_static": lambda tf: accumulated(tf, required=[1]),
    "accumulator_global_step_static": lambda tf: tf.raw_ops.AccumulatorSetGlobalStep(handle=accumulator(tf), new_global_step=[1]),
    "sparse_accumulator_index": lambda tf: slices(tf, (0, 3)),
    "sparse_accumulator_lengths": lambda tf: slices(tf, (0, 1, 2)),
    "sparse_accumulator_shape": lambda tf: slices(tf, shape=(3, 4)),
    "stack_size_rank": lambda tf: tf.raw_ops.StackPopV2(handle=stack(tf, fed(tf, [5])), elem_type=tf.float32),
    "stack_empty": lambda tf: tf.raw_ops.StackPopV2(handle=stack(tf), elem_type=tf.float32),
    "split_lengths_rank": lambda tf: split(tf, fed(tf, [[1, 1]], np.int64)),
    "split_lengths_rank_static": lambda tf: split(tf, [[1, 1]]),
    "split_lengths_sum": lambda tf: split(tf, fed(tf, [1, 2], np.int64)),
    "split_dtype": lambda tf: split(tf, fed(tf, [1, 1], np.int64), ((1,), (2,))),
    "scatter_largest_index": lambda tf: scattered(tf, [2**31 - 1]),
    "sparse_kept_large": lambda tf: kept(tf, (2**62, 4)),
    "sparse_reduce_axis": lambda tf: reduced(tf, [2]),
    "sparse_reduce_shape_static": lambda tf: reduced(tf, [0], shape=np.int64(2)),
    "sparse_product_shape_static": lambda tf: tf.raw_ops.SparseTensorDenseMatMul(
        a_indices=[[0, 0]], a_values=[1.0], a_shape=np.int64(2), b=[[1.0]]
    ),
    "sparse_transpose_static": lambda tf: tf.sparse.transpose(tf.SparseTensor([[0, 0]], [1.0], [2, 3]), [0]).values,
    "sparse_concat_shape": lambda tf: tf.sparse.concat(
        1, [tf.SparseTensor(*parts(tf)), tf.SparseTensor(*parts(tf, shape=(3, 2)))]
    ).values,
    "sparse_fill_rows": lambda tf: tf.sparse.fill_empty_rows(tf.SparseTensor(*parts(tf, ((0, 0), (5, 0)))), 0.0)[1],
    "record_batch_pattern": lambda tf: tf.raw_ops.RecordInput(file_pattern="/nowhere/*", batch_size=1),
}
# fmt: on

for _name, _build in ROWS.items():
    error_case(_name, _build)
