"""Bad input of string, parsing, set, table and variable ops, and of conversions of ragged tensors."""

import numpy as np

from cases.table import Table

TABLE = Table("bad_text")
error_case = TABLE.error_case


def fed(tf, value, dtype=None):
    """A tensor of unknown rank; numbers have 64 bits."""
    return tf.placeholder_with_default(np.asarray(value, dtype), None)


def text(tf, *values):
    """A vector of strings of unknown static shape."""
    return fed(tf, list(values), object)


def ones(tf, *shape):
    return fed(tf, np.ones(shape), np.float32)


def encoded(tf, splits=(0, 1, 3), errors="replace"):
    return tf.raw_ops.UnicodeEncode(
        input_values=fed(tf, [97, 98, 0x110000], np.int32), input_splits=fed(tf, list(splits), np.int64), errors=errors,
        output_encoding="UTF-8",
    )  # fmt: skip


def slice_grad(tf, rows, chosen):
    """The gradient of a slice that chose some of the rows of a sparse tensor."""
    return tf.raw_ops.SparseSliceGrad(
        backprop_val_grad=ones(tf, len(chosen)), input_indices=fed(tf, rows, np.int64), input_start=[0, 0],
        output_indices=fed(tf, chosen, np.int64),
    )  # fmt: skip


def padded(tf, kinds=("ROW_SPLITS",), parts=((0, 1, 3),), shape=(-1, -1), values=3):
    return tf.raw_ops.RaggedTensorToTensor(
        shape=fed(tf, list(shape), np.int64), values=ones(tf, values), default_value=0.0,
        row_partition_tensors=[fed(tf, part, np.int64) for part in parts], row_partition_types=list(kinds),
    )  # fmt: skip


def looked_up(tf, keys, values, asked):
    table = tf.lookup.StaticHashTable(tf.lookup.KeyValueTensorInitializer(keys, values), -1)
    with tf.control_dependencies([table.initializer]):
        return table.lookup(asked)


def after(tf, operation):
    """A tensor that is there when an operation has run."""
    with tf.control_dependencies([operation]):
        return tf.constant(0)


def dense_table(tf, **options):
    settings = dict(default_value=-1, empty_key=0, deleted_key=-1)
    return tf.contrib.lookup.MutableDenseHashTable(tf.int64, tf.int64, **dict(settings, **options))


# fmt: off
STRINGS = {
    "number_hexadecimal_exponent": lambda tf: tf.string_to_number(text(tf, b"0x1p3")),
    "number_hexadecimal_fraction": lambda tf: tf.string_to_number(text(tf, b"0x1.8"), tf.float64),
    "number_empty": lambda tf: tf.string_to_number(text(tf, b"")),
    "number_int_too_large": lambda tf: tf.string_to_number(text(tf, b"2147483648"), tf.int32),
    "as_string_fill": lambda tf: tf.as_string(ones(tf, 2), fill="x"),
    "as_string_fill_digit": lambda tf: tf.as_string(ones(tf, 2), width=7, fill="1"),
    "as_string_fill_long": lambda tf: tf.as_string(ones(tf, 2), width=4, fill="ab"),
    "as_string_precision": lambda tf: tf.as_string(fed(tf, [1, 2], np.int32), precision=3),
    "as_string_scientific": lambda tf: tf.as_string(fed(tf, [1, 2], np.int64), scientific=True),
    "as_string_both": lambda tf: tf.as_string(ones(tf, 2), scientific=True, shortest=True),
    "format_count": lambda tf: tf.raw_ops.StringFormat(inputs=[ones(tf, 2)], template="{} {}", placeholder="{}"),
    "regex_open": lambda tf: tf.raw_ops.RegexReplace(input=text(tf, b"ab"), pattern=fed(tf, b"(", object), rewrite="x"),
    "regex_repetition": lambda tf: tf.raw_ops.RegexFullMatch(input=text(tf, b"ab"), pattern=fed(tf, b"x{2000}", object)),
    "unicode_encoding": lambda tf: tf.raw_ops.UnicodeDecode(input=text(tf, b"ab"), input_encoding="nothing").char_values,
    "unicode_strict": lambda tf: tf.raw_ops.UnicodeDecode(
        input=text(tf, b"\xff\xfe"), input_encoding="UTF-8", errors="strict"
    ).char_values,
    "unicode_encode_strict": lambda tf: encoded(tf, errors="strict"),
    "unicode_encode_no_splits_static": lambda tf: tf.raw_ops.UnicodeEncode(
        input_values=[97], input_splits=tf.zeros([0], tf.int64), output_encoding="UTF-8"
    ),
    "ngrams_rank_static": lambda tf: tf.raw_ops.StringNGrams(
        data=tf.constant([["a", "b"]]), data_splits=fed(tf, [0, 2]), separator=" ", ngram_widths=[2], left_pad="", right_pad="",
        pad_width=0, preserve_short_sequences=False,
    ),
    "ngrams_split": lambda tf: tf.raw_ops.StringNGrams(
        data=text(tf, b"a", b"b"), data_splits=fed(tf, [0, 3]), separator=" ", ngram_widths=[2], left_pad="", right_pad="",
        pad_width=0, preserve_short_sequences=False,
    ),
    "reduce_join_axes_rank_static": lambda tf: tf.raw_ops.ReduceJoin(inputs=[["a", "b"]], reduction_indices=[[0, 1]]),
    "base64_length": lambda tf: tf.decode_base64(text(tf, b"Y")),
    "csv_delimiter": lambda tf: tf.raw_ops.DecodeCSV(records=text(tf, b"1,2"), record_defaults=[[1.0]], field_delim="ab"),
    "csv_required": lambda tf: tf.decode_csv(text(tf, b"1,"), [[1.0], tf.constant([], tf.int32)]),
    "csv_quote": lambda tf: tf.decode_csv(text(tf, b'a"b'), [[b""]]),
    "parse_tensor_dtype": lambda tf: tf.parse_tensor(tf.serialize_tensor(ones(tf, 2)), tf.int32),
    "compression_type": lambda tf: tf.decode_compressed(text(tf, b"ab"), "BZ2"),
}
SPARSE = {
    "slice_grad_fewer_rows": lambda tf: slice_grad(tf, [[0, 0]], [[0, 0], [0, 1]]),
    "slice_grad_order": lambda tf: slice_grad(tf, [[1, 0], [0, 1], [0, 0]], [[0, 0], [0, 1]]),
    "slice_grad_repeated": lambda tf: slice_grad(tf, [[0, 0], [0, 1], [1, 0]], [[0, 0], [0, 0]]),
    "sets_operation": lambda tf: tf.raw_ops.DenseToDenseSetOperation(
        set1=fed(tf, [[1, 2]]), set2=fed(tf, [[1, 2]]), set_operation="xor"
    ),
    "sets_groups": lambda tf: tf.sets.union(fed(tf, [[1, 2]]), fed(tf, [[1, 2], [3, 4]])).values,
    "sets_order": lambda tf: tf.sets.size(tf.SparseTensor(fed(tf, [[1, 0], [0, 0]], np.int64), fed(tf, [1, 2]), [2, 2])),
    "padded_kind": lambda tf: padded(tf, ["X"]),
    "padded_no_kinds": lambda tf: padded(tf, []),
    "padded_count": lambda tf: padded(tf, parts=[[0, 1, 3]] * 2),
    "padded_size_alone": lambda tf: padded(tf, ["FIRST_DIM_SIZE"], [2]),
    "padded_size_later": lambda tf: padded(tf, ["ROW_SPLITS", "FIRST_DIM_SIZE"], [[0, 1, 3], 2]),
    "padded_rows_first": lambda tf: padded(tf, ["VALUE_ROWIDS"], [[0, 1, 1]]),
    "padded_more_values": lambda tf: padded(tf, values=4),
    "padded_fewer_values": lambda tf: padded(tf, values=2),
    "padded_splits_end": lambda tf: padded(tf, parts=[[0, 1, 99]]),
    "padded_no_splits": lambda tf: padded(tf, parts=[[]]),
    "padded_size_negative": lambda tf: padded(tf, ["FIRST_DIM_SIZE", "VALUE_ROWIDS"], [-1, [0, 1, 1]]),
    "padded_shape_rank": lambda tf: padded(tf, shape=[-1]),
    "padded_too_large": lambda tf: padded(tf, shape=[2**62, 2**62]),
}
SIZES = {
    "fill": lambda tf: tf.fill(fed(tf, [2**40]), 1.0),
    "fill_summed": lambda tf: tf.reduce_sum(tf.fill(fed(tf, [2**40]), 1.0)),
    "fill_overflow": lambda tf: tf.fill(fed(tf, [2**62, 4]), 1.0),
    "broadcast_overflow": lambda tf: tf.broadcast_to(ones(tf, 1), fed(tf, [2**62, 4])),
    "tile": lambda tf: tf.tile(ones(tf, 1), fed(tf, [2**40])),
    "range": lambda tf: tf.range(fed(tf, 2**40)),
    "uniform": lambda tf: tf.random_uniform(fed(tf, [2**40])),
    "uniform_overflow": lambda tf: tf.random_uniform(fed(tf, [2**62, 4])),
    "pad": lambda tf: tf.pad(ones(tf, 1), fed(tf, [[2**40, 0]])),
}
TABLES = {
    "uninitialized": lambda tf: tf.lookup.StaticHashTable(
        tf.lookup.KeyValueTensorInitializer(["a"], [1]), -1
    ).lookup(text(tf, b"a")),
    "lengths": lambda tf: looked_up(tf, text(tf, b"a", b"b"), fed(tf, [1]), text(tf, b"a")),
    "repeated_key": lambda tf: looked_up(tf, text(tf, b"a", b"a"), fed(tf, [1, 2]), text(tf, b"a")),
    "no_file": lambda tf: started(tf, tf.contrib.lookup.index_table_from_file("/no/such/file.txt")),
    "file_name_empty": lambda tf: tf.contrib.lookup.index_table_from_file(""),
    "buckets_negative": lambda tf: tf.contrib.lookup.index_table_from_tensor(["a"], num_oov_buckets=-1),
    "dense_empty_key": lambda tf: dense_table(tf).lookup(fed(tf, [0])),
    "dense_deleted_key": lambda tf: dense_table(tf).lookup(fed(tf, [-1])),
    "dense_insert_empty": lambda tf: after(tf, dense_table(tf).insert(fed(tf, [0]), fed(tf, [1]))),
    "dense_remove_scalar": lambda tf: after(tf, tf.raw_ops.LookupTableRemoveV2(
        table_handle=dense_table(tf).resource_handle, keys=fed(tf, 4)
    )),
    "dense_deleted_first": lambda tf: dense_table(tf).lookup(fed(tf, [-1, 0])),
    "dense_same_keys": lambda tf: dense_table(tf, empty_key=-1).lookup(fed(tf, [1])),
    "dense_buckets": lambda tf: dense_table(tf, initial_num_buckets=3).lookup(fed(tf, [1])),
    "mutable_shapes": lambda tf: after(
        tf, tf.contrib.lookup.MutableHashTable(tf.int64, tf.int64, -1).insert(fed(tf, [1, 2]), fed(tf, [1]))
    ),
}
VARIABLES = {
    "count_rank": lambda tf: tf.raw_ops.CountUpTo(
        ref=tf.Variable(tf.placeholder_with_default([1], None), validate_shape=False, use_resource=False)._ref(), limit=3
    ),
    "slice_assign_shape": lambda tf: tf.Variable(np.ones([3, 2], np.float32), use_resource=True)[:2].assign(ones(tf, 2)),
    "slice_assign_shape_reference": lambda tf: tf.Variable(np.ones([3, 2], np.float32), use_resource=False)[:2].assign(ones(tf, 2)),
    "scatter_row": lambda tf: tf.scatter_add(
        tf.Variable(np.ones([3, 2], np.float32), use_resource=True), fed(tf, [3]), ones(tf, 1, 2)
    ),
    "wrong_dtype": lambda tf: tf.raw_ops.ReadVariableOp(
        resource=tf.Variable(np.ones(3, np.float32), use_resource=True).handle, dtype=tf.int32
    ),
}
# fmt: on


def started(tf, table):
    """What a table gives for a key, after its initializer."""
    with tf.control_dependencies([table.init]):
        return table.lookup(text(tf, b"a"))


OWN_WORDS = {"sparse_padded_shape_rank", "sparse_sets_groups", "table_dense_remove_scalar"}
"""Rows whose message is worded otherwise, as are those of sizes: 1.15 names device and allocator, or sizes modulo 2**32."""

for _family, _rows in (("string", STRINGS), ("sparse", SPARSE), ("size", SIZES), ("table", TABLES), ("variable", VARIABLES)):
    for _name, _build in _rows.items():
        error_case(_family + "_" + _name, _build, same_words=_family != "size" and _family + "_" + _name not in OWN_WORDS)
