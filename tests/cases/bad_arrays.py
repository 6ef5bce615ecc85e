"""Bad input of TensorArrays, lists of tensors, and functions over rows."""

import numpy as np

from cases.bad_control import fed, vector
from cases.table import Table

TABLE = Table("bad_arrays")
error_case = TABLE.error_case


def array(tf, size=2, **options):
    """A TensorArray of float32."""
    return tf.TensorArray(tf.float32, size, **options)


def written(tf, size=2, **options):
    """An array whose first two places hold ones of shape [2]."""
    return array(tf, size, **options).write(0, [1.0, 1.0]).write(1, [1.0, 1.0])


def loose(tf, size=2, **options):
    """An array without a known element shape."""
    return array(tf, size, infer_shape=False, **options)


def after(tf, operation, make):
    """What make gives, once operation has run."""
    with tf.control_dependencies([operation]):
        return make()


def read_in_loop(tf, count, **options):
    """The sum of count reads of an array of two elements."""
    rows = array(tf, 2, **options).unstack(fed(tf, [1.0, 2.0], shape=[None]))
    return tf.while_loop(lambda i, s: i < count, lambda i, s: (i + 1, s + rows.read(i)), [0, 0.0])[1]


def write_in_loop(tf, index, count=3, **options):
    """An array that a loop of count iterations writes at index(i)."""
    start = array(tf, 2, element_shape=[], **options)
    return tf.while_loop(lambda i, a: i < count, lambda i, a: (i + 1, a.write(index(i), 1.0)), [0, start])[1].stack()


def reserved(tf, count=2, shape=()):
    return tf.raw_ops.TensorListReserve(element_shape=np.array(shape, np.int32), num_elements=count, element_dtype=tf.float32)


def from_tensor(tf, *values):
    return tf.raw_ops.TensorListFromTensor(tensor=vector(tf, *values), element_shape=tf.constant([], tf.int32))


# fmt: off
ARRAY = {
    "no_size": lambda tf: tf.TensorArray(tf.float32),
    "size_negative": lambda tf: array(tf, -1).size(),
    "size_negative_fed": lambda tf: array(tf, fed(tf, -1)).size(),
    "size_vector": lambda tf: array(tf, [1, 2]).size(),
    "size_vector_fed": lambda tf: array(tf, fed(tf, [1, 2])).size(),
    "size_float": lambda tf: array(tf, 2.5),
    "size_float_fed": lambda tf: array(tf, fed(tf, 2.5)),
    "size_text": lambda tf: array(tf, "two"),
    "dtype": lambda tf: tf.TensorArray("nothing", 2),
    "dtype_none": lambda tf: tf.TensorArray(None, 2),
    "handle_and_name": lambda tf: array(tf, None, handle=array(tf).handle, tensor_array_name="a"),
    "handle_and_size": lambda tf: array(tf, 2, handle=array(tf).handle),
    "handle_and_dynamic": lambda tf: array(tf, None, handle=array(tf).handle, dynamic_size=True),
    "handle_and_clear": lambda tf: array(tf, None, handle=array(tf).handle, clear_after_read=False),
    "handle_type": lambda tf: array(tf, None, handle=3),
    "element_shape": lambda tf: array(tf, element_shape=[-3]),
    "read_unwritten": lambda tf: loose(tf).read(0),
    "read_unwritten_partial": lambda tf: array(tf, element_shape=[None]).read(0),
    "read_unwritten_fed": lambda tf: loose(tf).read(fed(tf, 1)),
    "read_other_place": lambda tf: loose(tf).write(0, 1.0).read(1),
    "read_past_end": lambda tf: written(tf).read(2),
    "read_past_end_fed": lambda tf: written(tf).read(fed(tf, 7)),
    "read_negative": lambda tf: written(tf).read(-1),
    "read_negative_fed": lambda tf: written(tf).read(fed(tf, -1)),
    "read_vector": lambda tf: written(tf).read([0]),
    "read_vector_fed": lambda tf: written(tf).read(fed(tf, [0])),
    "read_float": lambda tf: written(tf).read(0.0),
    "read_twice": lambda tf: read_twice(tf, written(tf)),
    "read_after_gather": lambda tf: after_gather(tf),
    "read_past_end_in_loop": lambda tf: read_in_loop(tf, fed(tf, 3)),
    "read_past_end_in_loop_static": lambda tf: read_in_loop(tf, 3),
    "read_past_end_in_loop_dynamic": lambda tf: read_in_loop(tf, fed(tf, 3), dynamic_size=True),
    "read_dtype": lambda tf: tf.raw_ops.TensorArrayReadV3(handle=written(tf).handle, index=0, flow_in=written(tf).flow, dtype=tf.int32),
    "write_twice": lambda tf: loose(tf).write(0, 1.0).write(0, 2.0).read(0),
    "write_twice_stacked": lambda tf: loose(tf).write(0, 1.0).write(0, 2.0).stack(),
    "write_twice_fed": lambda tf: loose(tf).write(fed(tf, 0), 1.0).write(fed(tf, 0), 2.0).flow,
    "write_twice_in_loop": lambda tf: write_in_loop(tf, lambda i: 0),
    "write_twice_in_loop_fed": lambda tf: write_in_loop(tf, lambda i: i // 2, fed(tf, 3)),
    "write_past_end": lambda tf: array(tf).write(2, 1.0).flow,
    "write_past_end_fed": lambda tf: array(tf).write(fed(tf, 2), 1.0).flow,
    "write_past_end_in_loop": lambda tf: write_in_loop(tf, lambda i: i),
    "write_past_end_in_loop_fed": lambda tf: write_in_loop(tf, lambda i: i, fed(tf, 3)),
    "write_negative": lambda tf: array(tf).write(-1, 1.0).flow,
    "write_negative_growing": lambda tf: array(tf, dynamic_size=True).write(fed(tf, -1), 1.0).flow,
    "write_negative_in_loop": lambda tf: write_in_loop(tf, lambda i: i - 1, fed(tf, 3)),
    "write_dtype_raw": lambda tf: tf.raw_ops.TensorArrayWriteV3(handle=array(tf).handle, index=0, value=1, flow_in=array(tf).flow),
    "write_index_float": lambda tf: array(tf).write(0.5, 1.0),
    "write_index_vector": lambda tf: array(tf).write([0], 1.0),
    "write_index_vector_fed": lambda tf: array(tf).write(fed(tf, [0]), 1.0).flow,
    "write_shape": lambda tf: array(tf).write(0, [1.0]).write(1, [1.0, 2.0]),
    "write_shape_declared": lambda tf: array(tf, element_shape=[2]).write(0, [1.0]),
    "write_shape_declared_fed": lambda tf: array(tf, element_shape=[2]).write(0, vector(tf, 1.0)).flow,
    "write_rank_declared_fed": lambda tf: array(tf, element_shape=[2]).write(0, fed(tf, 1.0, np.float32)).flow,
    "write_shapes_fed": lambda tf: array(tf, element_shape=[None]).write(0, vector(tf, 1.0)).write(1, vector(tf, 1.0, 2.0)).stack(),
    "write_shapes_unknown_fed": lambda tf: array(tf).write(0, vector(tf, 1.0)).write(1, vector(tf, 1.0, 2.0)).stack(),
    "write_after_stack": lambda tf: written_after_stack(tf),
    "stack_unwritten": lambda tf: loose(tf).write(0, 1.0).stack(),
    "stack_nothing_written": lambda tf: loose(tf).stack(),
    "stack_empty_unknown": lambda tf: loose(tf, 0).stack(),
    "stack_empty_partial": lambda tf: array(tf, 0, element_shape=[None]).stack(),
    "stack_shapes": lambda tf: loose(tf).write(0, [1.0]).write(1, [1.0, 2.0]).stack(),
    "stack_shapes_fed": lambda tf: loose(tf).write(0, vector(tf, 1.0)).write(1, vector(tf, 1.0, 2.0)).stack(),
    "stack_part_in_loop": lambda tf: write_in_loop(tf, lambda i: i, fed(tf, 1)) + loose(tf).write(0, 1.0).stack(),
    "stack_twice_cleared": lambda tf: stack_twice(tf),
    "concat_scalars": lambda tf: loose(tf).write(0, 1.0).write(1, 2.0).concat(),
    "concat_shapes": lambda tf: loose(tf).write(0, [[1.0]]).write(1, [[1.0, 2.0]]).concat(),
    "concat_unwritten": lambda tf: loose(tf).write(0, [1.0]).concat(),
    "concat_empty": lambda tf: loose(tf, 0).concat(),
    "gather_past_end": lambda tf: written(tf).gather([0, 2]),
    "gather_negative": lambda tf: written(tf).gather(fed(tf, [-1])),
    "gather_unwritten": lambda tf: loose(tf).write(0, 1.0).gather([0, 1]),
    "gather_matrix": lambda tf: written(tf).gather([[0, 1]]),
    "gather_scalar": lambda tf: written(tf).gather(fed(tf, 0)),
    "gather_float": lambda tf: written(tf).gather([0.0]),
    "scatter_past_end": lambda tf: array(tf).scatter([0, 2], vector(tf, 1.0, 2.0)).flow,
    "scatter_negative": lambda tf: array(tf).scatter(fed(tf, [-1, 0]), vector(tf, 1.0, 2.0)).flow,
    "scatter_twice": lambda tf: loose(tf).scatter(fed(tf, [0, 0]), vector(tf, 1.0, 2.0)).flow,
    "scatter_lengths": lambda tf: array(tf).scatter([0, 1], tf.ones([3])),
    "scatter_lengths_fed": lambda tf: array(tf).scatter(fed(tf, [0, 1]), vector(tf, 1.0, 2.0, 3.0)).flow,
    "scatter_scalar": lambda tf: array(tf).scatter([0], tf.constant(1.0)),
    "scatter_scalar_fed": lambda tf: array(tf).scatter(fed(tf, [0]), fed(tf, 1.0, np.float32)).flow,
    "unstack_scalar": lambda tf: array(tf).unstack(1.0),
    "unstack_scalar_fed": lambda tf: array(tf).unstack(fed(tf, 1.0, np.float32)).flow,
    "unstack_long": lambda tf: array(tf).unstack(tf.ones([3])).flow,
    "unstack_long_fed": lambda tf: array(tf).unstack(vector(tf, 1.0, 2.0, 3.0)).flow,
    "unstack_short": lambda tf: loose(tf).unstack(vector(tf, 1.0)).stack(),
    "unstack_shape": lambda tf: array(tf, element_shape=[3]).unstack(tf.ones([2, 2])),
    "unstack_twice": lambda tf: loose(tf).unstack(vector(tf, 1.0, 2.0)).unstack(vector(tf, 1.0, 2.0)).flow,
    "split_lengths": lambda tf: array(tf).split(tf.ones([4]), [1, 2]).flow,
    "split_lengths_fed": lambda tf: array(tf).split(vector(tf, 1.0, 2.0, 3.0), fed(tf, [1, 1])).flow,
    "split_count": lambda tf: array(tf).split(tf.ones([4]), [1, 1, 2]).flow,
    "split_count_fed": lambda tf: array(tf).split(vector(tf, 1.0, 2.0, 3.0, 4.0), fed(tf, [1, 1, 2])).flow,
    "split_scalar_fed": lambda tf: array(tf).split(fed(tf, 1.0, np.float32), fed(tf, [1])).flow,
    "split_scalar_lengths": lambda tf: array(tf).split(tf.ones([2]), fed(tf, 2)).flow,
    "split_unequal_shaped": lambda tf: array(tf, element_shape=[2]).split(vector(tf, 1.0, 2.0, 3.0), fed(tf, [1, 2])).flow,
    "close_and_read": lambda tf: closed(tf, lambda a: a.read(0)),
    "close_and_write": lambda tf: closed(tf, lambda a: a.write(0, [1.0, 1.0]).flow),
    "close_and_stack": lambda tf: closed(tf, lambda a: a.stack()),
    "grad_unknown_element": lambda tf: array(tf).grad("source").read(0),
    "grad_write_shape": lambda tf: written(tf, clear_after_read=False).grad("a").write(0, vector(tf, 1.0, 2.0, 3.0)).flow,
    "gradient_of_two_reads": lambda tf: tf.gradients(read_in_loop(tf, 2) + read_in_loop(tf, 3), []) or read_in_loop(tf, 3),
    "handle_fed": lambda tf: tf.raw_ops.TensorArraySizeV3(handle=tf.placeholder(tf.resource, []), flow_in=0.0),
    "handle_of_variable": lambda tf: tf.raw_ops.TensorArraySizeV3(
        handle=tf.Variable(1.0, use_resource=True, collections=[]).handle, flow_in=0.0
    ),
    "in_cond": lambda tf: tf.cond(fed(tf, True), lambda: loose(tf).read(0), lambda: 1.0),
    "not_an_array": lambda tf: tf.while_loop(lambda i, a: i < 3, lambda i, a: (i + 1, a.write(i, 1.0)), [0, 1.0]),
}
LIST = {
    "pop_empty": lambda tf: tf.raw_ops.TensorListPopBack(
        input_handle=tf.raw_ops.EmptyTensorList(element_shape=np.zeros([0], np.int32), max_num_elements=-1, element_dtype=tf.float32),
        element_shape=tf.constant([], tf.int32), element_dtype=tf.float32,
    ).tensor,
    "push_full": lambda tf: tf.raw_ops.TensorListLength(input_handle=tf.raw_ops.TensorListPushBack(
        input_handle=tf.raw_ops.EmptyTensorList(element_shape=np.zeros([0], np.int32), max_num_elements=0, element_dtype=tf.float32), tensor=1.0
    )),
    "push_shape": lambda tf: tf.raw_ops.TensorListLength(input_handle=tf.raw_ops.TensorListPushBack(
        input_handle=tf.raw_ops.EmptyTensorList(element_shape=[2], max_num_elements=-1, element_dtype=tf.float32),
        tensor=vector(tf, 1.0),
    )),
    "push_dtype": lambda tf: tf.raw_ops.TensorListLength(input_handle=tf.raw_ops.TensorListPushBack(
        input_handle=tf.raw_ops.EmptyTensorList(element_shape=[2], max_num_elements=-1, element_dtype=tf.int32),
        tensor=vector(tf, 1.0, 2.0),
    )),
    "get_past_end": lambda tf: item(tf, from_tensor(tf, 1.0), fed(tf, 1)),
    "get_negative": lambda tf: item(tf, from_tensor(tf, 1.0), fed(tf, -1)),
    "get_dtype": lambda tf: item(tf, from_tensor(tf, 1.0), 0, dtype=tf.int32),
    "get_shape": lambda tf: item(tf, from_tensor(tf, 1.0), 0, shape=[2]),
    "get_unset_unknown": lambda tf: item(tf, reserved(tf, shape=(-1,)), 0, shape=[-1]),
    "set_past_end": lambda tf: tf.raw_ops.TensorListLength(
        input_handle=tf.raw_ops.TensorListSetItem(input_handle=reserved(tf), index=fed(tf, 2), item=1.0)
    ),
    "set_negative": lambda tf: tf.raw_ops.TensorListLength(
        input_handle=tf.raw_ops.TensorListSetItem(input_handle=reserved(tf), index=fed(tf, -1), item=1.0)
    ),
    "set_shape": lambda tf: tf.raw_ops.TensorListLength(
        input_handle=tf.raw_ops.TensorListSetItem(input_handle=reserved(tf), index=0, item=vector(tf, 1.0, 2.0))
    ),
    "stack_count": lambda tf: tf.raw_ops.TensorListStack(
        input_handle=from_tensor(tf, 1.0, 2.0), element_shape=tf.constant([], tf.int32), element_dtype=tf.float32, num_elements=3
    ),
    "stack_shape": lambda tf: tf.raw_ops.TensorListStack(
        input_handle=from_tensor(tf, 1.0, 2.0), element_shape=[4], element_dtype=tf.float32
    ),
    "stack_unset_unknown": lambda tf: tf.raw_ops.TensorListStack(
        input_handle=reserved(tf, shape=(-1,)), element_shape=[-1], element_dtype=tf.float32
    ),
    "from_scalar": lambda tf: tf.raw_ops.TensorListLength(input_handle=tf.raw_ops.TensorListFromTensor(
        tensor=fed(tf, 1.0, np.float32), element_shape=tf.constant([], tf.int32)
    )),
    "gather_past_end": lambda tf: tf.raw_ops.TensorListGather(
        input_handle=from_tensor(tf, 1.0, 2.0), indices=fed(tf, [0, 2]), element_shape=tf.constant([], tf.int32),
        element_dtype=tf.float32,
    ),
    "scatter_negative": lambda tf: tf.raw_ops.TensorListLength(input_handle=tf.raw_ops.TensorListScatter(
        tensor=vector(tf, 1.0), indices=fed(tf, [-1]), element_shape=tf.constant([], tf.int32)
    )),
    "resize_negative": lambda tf: tf.raw_ops.TensorListLength(
        input_handle=tf.raw_ops.TensorListResize(input_handle=reserved(tf), size=fed(tf, -1))
    ),
    "split_lengths": lambda tf: tf.raw_ops.TensorListLength(input_handle=tf.raw_ops.TensorListSplit(
        tensor=vector(tf, 1.0, 2.0, 3.0), element_shape=[-1], lengths=fed(tf, [1, 1], np.int64)
    )),
    "concat_lists_lengths": lambda tf: tf.raw_ops.TensorListLength(input_handle=tf.raw_ops.TensorListConcatLists(
        input_a=from_tensor(tf, 1.0), input_b=tf.raw_ops.EmptyTensorList(
            element_shape=np.zeros([0], np.int32), max_num_elements=-1, element_dtype=tf.int32), element_dtype=tf.float32,
    )),
    "not_a_list": lambda tf: tf.raw_ops.TensorListLength(input_handle=fed(tf, 1.0)),
}
ROWS = {
    "map_not_callable": lambda tf: tf.map_fn(3, tf.ones([2])),
    "map_scalar": lambda tf: tf.map_fn(lambda x: x, 1.0),
    "map_scalar_fed": lambda tf: tf.map_fn(lambda x: x, fed(tf, 1.0)),
    "map_lengths": lambda tf: tf.map_fn(lambda x: x[0], (tf.ones([2]), tf.ones([3])), dtype=tf.float32),
    "map_dtype": lambda tf: tf.map_fn(tf.to_int32, tf.ones([2])),
    "map_dtype_structure": lambda tf: tf.map_fn(lambda x: (x, x), tf.ones([2])),
    "map_dtype_structure_nested": lambda tf: tf.map_fn(lambda x: (x, x), tf.ones([2]), dtype=[tf.float32, tf.float32]),
    "map_sparse": lambda tf: tf.map_fn(lambda x: x, tf.SparseTensor([[0]], [1.0], [2])),
    "map_shapes": lambda tf: tf.map_fn(lambda n: tf.zeros([n]), fed(tf, [1, 2]), dtype=tf.float32),
    "map_none": lambda tf: tf.map_fn(lambda x: None, tf.ones([2])),
    "map_object": lambda tf: tf.map_fn(lambda x: object(), tf.ones([2])),
    "foldl_not_callable": lambda tf: tf.foldl(3, tf.ones([2])),
    "foldl_empty": lambda tf: tf.foldl(lambda a, x: a + x, fed(tf, [], np.float32)),
    "foldl_dtype": lambda tf: tf.foldl(lambda a, x: tf.to_int32(a + x), tf.ones([2])),
    "foldl_shape": lambda tf: tf.foldl(lambda a, x: [a, a], tf.ones([2])),
    "foldl_structure": lambda tf: tf.foldl(lambda a, x: (a, a), tf.ones([2])),
    "foldr_not_callable": lambda tf: tf.foldr(None, tf.ones([2])),
    "foldr_empty": lambda tf: tf.foldr(lambda a, x: a + x, fed(tf, [], np.float32)),
    "scan_not_callable": lambda tf: tf.scan(3, tf.ones([2])),
    "scan_empty": lambda tf: tf.scan(lambda a, x: a + x, fed(tf, [], np.float32)),
    "scan_dtype": lambda tf: tf.scan(lambda a, x: tf.to_int32(a + x), tf.ones([2])),
    "scan_shape": lambda tf: tf.scan(lambda a, x: tf.concat([a, a], 0), tf.ones([2, 1])),
    "scan_structure": lambda tf: tf.scan(lambda a, x: (a, a), tf.ones([2])),
    "scan_growing_fed": lambda tf: tf.scan(lambda a, x: tf.zeros([tf.to_int32(x)]), vector(tf, 1.0, 2.0), vector(tf, 1.0)),
    "reverse_lengths": lambda tf: tf.reverse_sequence(fed(tf, np.ones([2, 3])), fed(tf, [4, 1]), 1, 0),
    "reverse_lengths_negative": lambda tf: tf.reverse_sequence(fed(tf, np.ones([2, 3])), fed(tf, [-1, 1]), 1, 0),
    "reverse_batch": lambda tf: tf.reverse_sequence(fed(tf, np.ones([2, 3])), fed(tf, [1, 1, 1]), 1, 0),
    "reverse_axes": lambda tf: tf.reverse_sequence(tf.ones([2, 3]), [1, 1], 0, 0),
    "reverse_axis_range": lambda tf: tf.reverse_sequence(fed(tf, np.ones([2, 3])), fed(tf, [1, 1]), 3, 0),
    "reverse_lengths_rank": lambda tf: tf.reverse_sequence(fed(tf, np.ones([2, 3])), fed(tf, [[1, 1]]), 1, 0),
    "reverse_axis_none": lambda tf: tf.reverse_sequence(tf.ones([2, 3]), [1, 1]),
    "mask_rank": lambda tf: tf.sequence_mask([1, 2], [[3]]),
}
# fmt: on


def read_twice(tf, rows):
    first = rows.read(0)
    return after(tf, first, lambda: rows.read(0) + first)


def read_again(tf):
    rows = array(tf, 2).unstack(fed(tf, [1.0, 2.0], shape=[None]))
    return tf.while_loop(lambda i, s: i < 2, lambda i, s: (i + 1, s + rows.read(0)), [0, 0.0], parallel_iterations=1)[1]


def after_gather(tf):
    rows = written(tf)
    first = rows.gather([0])
    return after(tf, first, lambda: rows.read(0) + first)


def stack_twice(tf):
    rows = written(tf)
    first = rows.stack()
    return after(tf, first, lambda: rows.stack() + first)


def written_after_stack(tf):
    rows = written(tf)
    first = rows.stack()
    return after(tf, first, lambda: rows.write(0, [1.0, 1.0]).read(0) + first)


def closed(tf, make):
    rows = written(tf)
    with tf.control_dependencies([rows.flow]):
        end = rows.close()
    return after(tf, end, lambda: make(rows))


def gradient_of_growing(tf):
    x = vector(tf, 1.0, 2.0)
    rows = array(tf, 1, dynamic_size=True).write(0, x).write(3, x)
    return tf.gradients(rows.stack(), x)


def item(tf, handle, index, dtype=None, shape=()):
    return tf.raw_ops.TensorListGetItem(
        input_handle=handle, index=index, element_shape=np.array(shape, np.int32), element_dtype=dtype or tf.float32
    )

OWN_WORDS = {
    "array_write_after_stack", "array_grad_unknown_element", "list_push_dtype", "list_get_dtype", "list_get_unset_unknown",
    "rows_map_shapes", "rows_scan_growing_fed",
}
"""Rows whose message is worded otherwise, and says the same."""


for _family, _rows in (("array", ARRAY), ("list", LIST), ("rows", ROWS)):
    for _name, _build in _rows.items():
        error_case(_family + "_" + _name, _build, same_words=_family + "_" + _name not in OWN_WORDS)
