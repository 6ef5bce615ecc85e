"""Values that no constant, shape or argument of a graph can have; the words of the message are 1.15's where it wrote them itself."""

import numpy as np

from cases.table import Table

TABLE = Table("bad_constants")
error_case = TABLE.error_case

# fmt: off
SAME_WORDS = {
    "none": lambda tf: tf.constant(None),
    "none_in_list": lambda tf: tf.constant([1, None]),
    "tensor": lambda tf: tf.constant(tf.constant(3)),
    "tensor_in_list": lambda tf: tf.constant([tf.constant(3), 1]),
    "tensor_of_dtype": lambda tf: tf.constant(tf.constant(3), tf.int32),
    "range_of_dtype": lambda tf: tf.constant(range(3), tf.float32),
    "too_large": lambda tf: tf.constant(2**63, tf.int64),
    "too_large_unsigned": lambda tf: tf.constant(2**64, tf.uint64),
    "argument_too_large": lambda tf: tf.argmax([[1, 2]], 2**63),
    "float_for_int": lambda tf: tf.constant(1.5, tf.int32),
    "text_for_int": lambda tf: tf.constant([1, "a"], tf.int32),
    "int_for_text": lambda tf: tf.constant(1, tf.string),
    "int_for_bool": lambda tf: tf.constant([True, 2], tf.bool),
    "ragged_list": lambda tf: tf.constant([[1], [2, 3]]),
    "object": lambda tf: tf.constant(slice(1)),
    "dtype_name": lambda tf: tf.constant(1, "float33"),
    "name_empty": lambda tf: tf.constant(1, name=""),
    "name_with_space": lambda tf: tf.constant(1, name="a b"),
    "too_many": lambda tf: tf.constant([1, 2, 3], shape=[2]),
    "verified_shape": lambda tf: tf.constant([1, 2], shape=[2, 1], verify_shape=True),
    "text_for_bool_array": lambda tf: tf.where(np.array(["a"])),
    "eye_float": lambda tf: tf.eye(2.5),
    "eye_columns_text": lambda tf: tf.eye(2, "a"),
    "eye_infinite": lambda tf: tf.eye(float("inf")),
    "range_down": lambda tf: tf.range(3, 0),
    "range_down_float": lambda tf: tf.range(3.0, 0.0),
    "range_no_step": lambda tf: tf.range(0, 3, 0),
    "range_nan": lambda tf: tf.Session().run(tf.range(0.0, float("nan")).op),
    "linspace_none": lambda tf: tf.linspace(0.0, 1.0, 0),
    "linspace_int": lambda tf: tf.linspace(0, 1, 3),
    "one_hot_depth": lambda tf: tf.one_hot([0], -1),
    "one_hot_axis_nan": lambda tf: tf.one_hot([0], 3, axis=float("nan")),
    "one_hot_axis_large": lambda tf: tf.one_hot([0], 3, axis=2**31),
    "one_hot_values": lambda tf: tf.one_hot([0], 3, on_value="a"),
    "split_parts_large": lambda tf: tf.split([1, 2], 2**31),
    "split_parts_none": lambda tf: tf.split([1, 2], 0),
    "reshape_two_unknown": lambda tf: tf.reshape([1, 2, 3], [-1, 2]),
    "reshape_float": lambda tf: tf.reshape([1, 2], [2.0]),
    "placeholder_size": lambda tf: tf.placeholder(tf.int32, [2**63]),
    "placeholder_text": lambda tf: tf.placeholder(tf.int32, "ab"),
    "diag_scalar": lambda tf: tf.diag(1),
    "stack_shapes": lambda tf: tf.stack([[1], [1, 2]]),
    "fill_scalar_shape": lambda tf: tf.fill(2, 0),
    "shape_of_tensor": lambda tf: tf.TensorShape(tf.constant(3)),
    "iterated": lambda tf: list(tf.constant([1, 2])),
    "random_scalar_shape": lambda tf: tf.random.normal(3),
    "random_matrix_shape": lambda tf: tf.random.uniform([[1, 2]]),
}
SAME_CLASS = {
    "zeros_shape_negative": lambda tf: tf.zeros([-1]),
    "eye_negative": lambda tf: tf.eye(-1),
    "range_of_text": lambda tf: tf.range("a"),
    "shape_text": lambda tf: tf.constant(1, shape="a"),
    "shape_bytes": lambda tf: tf.constant(1, shape=b"a"),
    "shape_set": lambda tf: tf.constant(1, shape={1, 2}),
    "shape_iterator": lambda tf: tf.constant(1, shape=iter([1])),
    "shape_nested": lambda tf: tf.constant(1, shape=[[1], [2, 3]]),
    "text_as_bool": lambda tf: tf.constant(np.array(["a"]), tf.bool),
    "sparse_identity": lambda tf: tf.identity(tf.SparseTensor([[0]], [1], [2])),
    "slices_identity": lambda tf: tf.identity(tf.IndexedSlices(tf.ones([1]), tf.constant([0]))),
}
# fmt: on

for _name, _build in SAME_WORDS.items():
    error_case(_name, _build, same_words=True)
for _name, _build in SAME_CLASS.items():
    error_case(_name, _build)
