"""Unusual and wrong feeds, and what a run makes of each: rows for `test_feed_misuses.py`, recorded from TensorFlow 1.15.5.

    .venv-tf1/bin/python tests/oracle/record_feed_misuses.py

Each row is a name, the dtype and shape of a placeholder, and a function of (tf, placeholder) that returns a feed_dict. The run fetches the
placeholder's identity.
"""

import collections
import decimal
import fractions

import numpy as np

Row = collections.namedtuple("Row", "name dtype shape feed")
ROWS = []
GOOD = {"float32": 1.5, "float64": 1.5, "int32": 1, "int64": 1, "uint8": 1, "int8": 1, "bool": True, "string": b"a", "complex64": 1j, "float16": 1.5, "uint16": 1, "uint32": 1, "uint64": 1, "bfloat16": 1}


def row(name, dtype, shape, value):
    """A row that feeds `value` for the placeholder."""
    ROWS.append(Row(name, dtype, shape, lambda tf, x: {x: value}))


def special(name, dtype="float32", shape=()):
    """Decorator: a row whose feed_dict is made by a function of (tf, placeholder)."""

    def add(feed):
        ROWS.append(Row(name, dtype, shape, feed))
        return feed

    return add


# ---- numbers out of range ----
row("list_out_of_uint8", "uint8", [None], [-1, 300])
row("list_out_of_int8", "int8", [None], [-129, 128])
row("nested_list_out_of_uint8", "uint8", [None, None], [[-1, 2], [300, 4]])
row("tuple_out_of_uint16", "uint16", [None], (-1, 65536))
row("list_out_of_int32", "int32", [None], [2**31, -(2**31) - 1])
row("list_out_of_int64", "int64", [None], [2**63])
row("list_out_of_uint32", "uint32", [None], [-1, 2**32])
row("list_out_of_uint64", "uint64", [None], [-1, 2**63])
row("list_beyond_uint64", "uint64", [None], [2**64])
row("list_out_of_uint8_with_floats", "uint8", [None], [1.9, 300, 301.5])
row("list_out_of_uint8_with_nan", "uint8", [None], [float("nan"), 300])
row("list_out_of_int64_with_floats", "int64", [None], [1e300, 2])
row("scalar_of_uint64", "uint64", [], 2**64 - 1)
row("negative_scalar_of_uint64", "uint64", [], -1)
row("scalar_out_of_uint64", "uint64", [], 2**64)
row("large_int_of_float64", "float64", [], 2**53 + 1)
row("int_of_complex64", "complex64", [], 3)
row("int_beyond_float16", "float16", [], 65536)
row("int_of_bfloat16", "bfloat16", [], 3)
row("scalar_out_of_uint8", "uint8", [], 300)
row("negative_scalar_of_uint8", "uint8", [], -1)
row("scalar_out_of_int32", "int32", [], 2**31)
row("scalar_out_of_int64", "int64", [], 2**63)
row("huge_int_of_float32", "float32", [], 2**24 + 1)
row("int_beyond_float32", "float32", [], 10**40)
row("list_of_huge_ints_of_float32", "float32", [None], [10**40, 2**24 + 1])
row("list_of_ints_beyond_float64", "float32", [None], [10**400])
row("array_out_of_uint8", "uint8", [None], np.array([-1, 300]))
row("array_of_floats_of_int32", "int32", [None], np.array([1.9, -1.9]))
row("list_of_floats_of_int32", "int32", [None], [1.9, -1.9])
row("float_of_int32", "int32", [], 1.9)
row("numpy_float_of_int32", "int32", [], np.float32(1.9))
row("numpy_int_of_uint8", "uint8", [], np.int64(300))
row("list_of_numpy_ints_of_uint8", "uint8", [None], [np.int64(300), np.int64(-1)])
row("float64_beyond_float32", "float32", [None], np.array([1e300, -1e300, 1e-60]))
row("list_beyond_float16", "float16", [None], [1e6, 1e-9])
row("bools_of_float32", "float32", [None], [True, False])
row("bool_of_int32", "int32", [], True)
row("bool_of_string", "string", [], True)
row("ints_of_bool", "bool", [None], [0, 1, 2])
row("int_of_bool", "bool", [], 1)
row("larger_int_of_bool", "bool", [], 2)
row("strings_of_bool", "bool", [None], ["False", ""])
row("complex_of_float32", "float32", [], 1 + 2j)
row("complex_array_of_float32", "float32", [None], np.array([1 + 2j]))
row("float_of_complex64", "complex64", [], 1.5)
row("decimal_of_float32", "float32", [], decimal.Decimal("1.5"))
row("fraction_of_float32", "float32", [], fractions.Fraction(1, 2))
# ---- other kinds ----
row("none", "float32", [], None)
row("none_of_int32", "int32", [], None)
row("none_of_string", "string", [], None)
row("list_with_none", "float32", [None], [1.0, None])
row("list_with_none_of_int32", "int32", [None], [1, None])
row("string_of_float32", "float32", [], "abc")
row("number_as_string_of_float32", "float32", [], "1.5")
row("bytes_of_float32", "float32", [], b"1.5")
row("number_as_string_of_int32", "int32", [], "15")
row("list_of_strings_of_float32", "float32", [None], ["1.5", "x"])
row("list_of_numbers_as_strings", "float32", [None], ["1.5", "2"])
row("dict", "float32", [], {"a": 1})
row("set", "float32", [None], {1.0, 2.0})
row("object", "float32", [], Ellipsis)
row("type", "float32", [], float)
row("generator_object", "float32", [None], range(3))
row("ragged_list", "float32", [None, None], [[1.0], [2.0, 3.0]])
row("ragged_list_of_int32", "int32", None, [[1], [2, 3]])
row("ragged_depth", "float32", None, [1.0, [2.0, 3.0]])
row("ragged_strings", "string", None, [["a"], ["b", "c"]])
row("list_of_arrays", "float32", [None, None], [np.array([1.0, 2.0]), np.array([3.0, 4.0])])
row("list_of_unequal_arrays", "float32", None, [np.array([1.0, 2.0]), np.array([3.0])])
row("list_of_arrays_of_unequal_ends", "float32", None, [np.ones([2, 2]), np.ones([2, 3])])
row("object_array_of_float32", "float32", [None], np.array([1, 2.5], object))
row("object_array_of_lists", "float32", None, np.array([[1], [2, 3]], object))
row("int_of_string", "string", [], 5)
row("float_of_string", "string", [], 1.5)
row("list_of_ints_of_string", "string", [None], [1, 2])
row("bytes_and_str_of_string", "string", [None], [b"a", "\u00e9"])
row("unicode_array_of_string", "string", [None], np.array(["a", "bc"]))
row("bytes_array_of_string", "string", [None], np.array([b"a", b"bc\0"]))
row("array_of_floats_of_string", "string", [None], np.array([1.5]))
row("bytearray_of_string", "string", [], bytearray(b"abc"))
row("datetime_of_int64", "int64", [None], np.array(["2001-01-01"], "datetime64[D]"))
row("structured_array", "float32", None, np.array([(1, 2.0)], [("a", "i4"), ("b", "f4")]))
row("masked_array", "float32", [None], np.ma.masked_array([1.0, 2.0], [False, True]))
row("big_endian", "float32", [None], np.array([1.0, 2.0], ">f4"))
row("not_contiguous", "float32", [None, None], np.arange(6, dtype=np.float32).reshape(2, 3).T)
# ---- shapes ----
row("too_many_elements", "float32", [2], [1.0, 2.0, 3.0])
row("scalar_for_vector", "float32", [2], 1.0)
row("vector_for_scalar", "float32", [], [1.0])
row("wrong_rank", "float32", [None, 2], [1.0, 2.0])
row("wrong_last", "float32", [None, 2], np.ones([3, 3], np.float32))
row("empty_list", "float32", [None], [])
row("empty_list_for_matrix", "float32", [None, 2], [])
row("wrong_shape_of_strings", "string", [2], ["a"])
row("wrong_kind_and_shape", "float32", [2], ["x"])


# ---- tensors and sparse values as values; wrong keys ----
@special("tensor")
def _(tf, x):
    return {x: tf.identity(tf.constant(1.0, name="fed"), name="fed_identity")}


@special("list_of_tensors", shape=(None,))
def _(tf, x):
    return {x: [tf.constant(1.0, name="in_list")]}


@special("variable")
def _(tf, x):
    return {x: tf.Variable(1.0, name="fed_variable")}


@special("resource_variable")
def _(tf, x):
    return {x: tf.get_variable("fed_resource", initializer=1.0, use_resource=True)}


@special("operation")
def _(tf, x):
    return {x: tf.no_op(name="fed_operation")}


@special("sparse_value_for_dense", shape=(None,))
def _(tf, x):
    return {x: tf.SparseTensorValue([[0]], [1.0], [2])}


@special("sparse_tensor_for_dense", shape=(None,))
def _(tf, x):
    return {x: tf.SparseTensor([[0]], [1.0], [2])}


@special("ragged_value_for_dense", shape=(None,))
def _(tf, x):
    return {x: tf.ragged.constant_value([[1.0], [2.0, 3.0]])}


@special("indexed_slices_for_dense", shape=(None,))
def _(tf, x):
    return {x: tf.IndexedSlices(tf.constant([1.0]), tf.constant([0]))}


@special("placeholder_itself")
def _(tf, x):
    return {x: x}


@special("tensor_of_another_graph")
def _(tf, x):
    with tf.Graph().as_default():
        return {x: 1.0, tf.placeholder(tf.float32, name="elsewhere"): 1.0}


@special("unknown_name")
def _(tf, x):
    return {x: 1.0, "nowhere:0": 1.0}


@special("name_of_an_operation")
def _(tf, x):
    return {x: 1.0, x.op.name: 1.0}


@special("operation_as_key")
def _(tf, x):
    return {x: 1.0, x.op: 1.0}


@special("int_as_key")
def _(tf, x):
    return {x: 1.0, 5: 1.0}


@special("none_as_key")
def _(tf, x):
    return {x: 1.0, None: 1.0}


@special("tuple_key_and_shorter_value")
def _(tf, x):
    return {(x, tf.placeholder(tf.float32, name="second")): (1.0,)}


@special("tuple_key_and_scalar")
def _(tf, x):
    return {(x, tf.placeholder(tf.float32, name="second")): 1.0}


@special("tuple_key_and_tensor")
def _(tf, x):
    return {(x, tf.placeholder(tf.float32, name="second")): (1.0, tf.constant(1.0, name="fed"))}


@special("key_twice")
def _(tf, x):
    return {x: 1.0, x.name: 2.0}


@special("not_feedable")
def _(tf, x):
    t = tf.constant(3.0, name="kept")
    tf.get_default_graph().prevent_feeding(t)
    return {x: 1.0, t: 1.0}


@special("not_feedable_of_wrong_kind")
def _(tf, x):
    t = tf.constant(3.0, name="kept")
    tf.get_default_graph().prevent_feeding(t)
    return {x: 1.0, t: "abc"}


@special("sparse_key_and_dense", shape=(None,))
def _(tf, x):
    return {x: [1.0], tf.sparse_placeholder(tf.float32, name="sparse"): np.eye(2)}


@special("sparse_key_and_short_tuple", shape=(None,))
def _(tf, x):
    return {x: [1.0], tf.sparse_placeholder(tf.float32, name="sparse"): ([[0]], [1.0])}


@special("sparse_key_and_tensor", shape=(None,))
def _(tf, x):
    return {x: [1.0], tf.sparse_placeholder(tf.float32, name="sparse"): tf.SparseTensor([[0]], [1.0], [2])}


@special("sparse_key_and_wrong_indices", shape=(None,))
def _(tf, x):
    return {x: [1.0], tf.sparse_placeholder(tf.float32, name="sparse"): ([0, 1], [1.0], [2])}


@special("sparse_key_and_strings", shape=(None,))
def _(tf, x):
    return {x: [1.0], tf.sparse_placeholder(tf.float32, name="sparse"): ([["a"]], [1.0], [2])}


@special("sparse_key_and_none", shape=(None,))
def _(tf, x):
    return {x: [1.0], tf.sparse_placeholder(tf.float32, name="sparse"): None}


@special("ragged_key_and_list", shape=(None,))
def _(tf, x):
    return {x: [1.0], tf.ragged.placeholder(tf.float32, 1, name="ragged"): [[1.0], [2.0]]}


@special("sparse_key_and_tensor_inside", shape=(None,))
def _(tf, x):
    return {x: [1.0], tf.sparse_placeholder(tf.float32, name="sparse"): (tf.constant([[0]], name="inside"), [1.0], [2])}


@special("tensor_by_name")
def _(tf, x):
    return {x.name: tf.constant(1.0, name="fed")}


@special("wrong_value_before_wrong_key")
def _(tf, x):
    return collections.OrderedDict([(x, "abc"), ("nowhere:0", 1.0)])


@special("feed_dict_is_a_list_of_keys")
def _(tf, x):
    return [x]


@special("feed_dict_is_a_list")
def _(tf, x):
    return [(x, 1.0)]


@special("feed_dict_is_a_tensor")
def _(tf, x):
    return x


@special("unfed")
def _(tf, x):
    return {}


def shape_of(row):
    return None if row.shape is None else list(row.shape)


def good_value(row):
    """A value that the placeholder of a row takes."""
    sizes = [1 if size is None else size for size in row.shape or ()]
    value = GOOD[row.dtype]
    return np.full(sizes, value, object if row.dtype == "string" else "float32" if row.dtype == "bfloat16" else row.dtype)


def described(make):
    """The result of a call as data: class and first line of its error, or its value with dtype."""
    try:
        value = make()
    except Exception as e:  # noqa: BLE001  (each is recorded)
        return [type(e).__name__, str(e).split("\n")[0]]
    dtype = str(value.dtype) if hasattr(value, "dtype") else type(value).__name__
    plain = np.asarray(value, np.float32 if dtype == "bfloat16" else None)
    return ["value", dtype, str(plain.tolist())]


def observed(tf, row, before, run_last=lambda run, feeds: run(feeds)):
    """What the run with the feeds of a row gives.

    Args:
      before: a function of (session, run, good, bad) that calls `run` with feed_dicts as often as it likes; `bad` is the one of the row.
      run_last: a function of (run, bad) that does the run which is described.
    """
    with tf.Graph().as_default():
        x = tf.placeholder(row.dtype, shape_of(row), name="x")
        y = tf.identity(x, name="y")
        fed = row.feed(tf, x)
        config = tf.ConfigProto(inter_op_parallelism_threads=1, intra_op_parallelism_threads=1)
        with tf.Session(config=config) as session:
            # Runs with the same keys as the misuse are the ones that a session knows when it comes.
            by_name = isinstance(fed, dict) and x.name in fed
            good = {x.name if by_name else x: good_value(row)}

            def run(feeds):
                return session.run(y, feeds)

            before(session, run, good, fed)
            return described(lambda: run_last(run, fed))
