"""Lookup tables: static and mutable ones, their initializers, sizes, contents and errors."""

import numpy as np

from cases.table import Table

TABLE = Table("lookup")
case, error_case = TABLE.case, TABLE.error_case


def in_order(*steps):
    """A run= that runs each of the named outputs in turn; what it returns is recorded."""

    def run(tf, session, outputs, feed):
        session.run(tf.tables_initializer())
        return [session.run(outputs[i], feed) for i in steps if outputs[i] is not None]

    return run


def static(tf, keys, values, default, **kwargs):
    init = tf.contrib.lookup.KeyValueTensorInitializer(keys, values, **kwargs)
    return tf.contrib.lookup.HashTable(init, default)


def words(tf):
    return static(tf, tf.constant(["a", "b", "c"]), tf.constant([1, 2, 3], tf.int64), -1)


def _found(tf):
    table = words(tf)
    sparse = tf.SparseTensor([[0, 1], [2, 0]], ["c", "z"], [3, 2])
    return [table.lookup(tf.constant([["a", "z"], ["c", "b"]])), table.lookup(sparse), table.size(), table.lookup(tf.constant("b"))]


case("static", _found, run=in_order(0, 1, 2, 3))
case(
    "static_dtypes",
    lambda tf: [
        static(tf, [5, 7], values, default, key_dtype=tf.int64, value_dtype=dtype, name="init").lookup(
            tf.constant([7, 6], tf.int64)
        )
        for values, default, dtype in (([0.5, 1.5], 9.0, tf.float32), (["x", "y"], "?", tf.string), ([3, 4], 0, tf.int32))
    ],
    run=in_order(0, 1, 2),
)
case("static_again", lambda tf: [words(tf).lookup(tf.constant(["b"])), tf.tables_initializer()], run=in_order(0, 1, 0))


def _mutable(tf):
    table = tf.contrib.lookup.MutableHashTable(tf.string, tf.int64, -1)
    keys = tf.constant(["a", "b", "a"])
    return [
        table.insert(keys, tf.constant([1, 2, 3], tf.int64)), table.lookup(tf.constant([["a", "x"], ["b", "a"]])),
        table.size(), table.remove(tf.constant(["b", "q"])), table.lookup(keys), table.export(),
    ]  # fmt: skip


case("mutable", _mutable, run=in_order(0, 1, 2, 3, 4, 5))


def _vectors(tf):
    table = tf.contrib.lookup.MutableHashTable(tf.int64, tf.float32, [0.0, -1.0], name="t", checkpoint=False)
    keys = tf.constant([4, 5], tf.int64)
    return [table.insert(keys, [[1.0, 2.0], [3.0, 4.0]]), table.lookup(tf.constant([[5], [6]], tf.int64)), table.size()]


case("mutable_vectors", _vectors, run=in_order(1, 0, 1, 2))


def _dense(tf, keys, more, empty, deleted, dtype):
    table = tf.contrib.lookup.MutableDenseHashTable(dtype, tf.int64, -1, empty, deleted, initial_num_buckets=4)
    keys, more = tf.constant(keys, dtype), tf.constant(more, dtype)
    return [
        table.insert(keys, tf.range(tf.size(keys, out_type=tf.int64))), table.export(), table.remove(keys[:1]), table.export(),
        table.insert(more, 10 + tf.range(tf.size(more, out_type=tf.int64))), table.export(), table.lookup(more), table.size(),
    ]  # fmt: skip


case("dense_int", lambda tf: _dense(tf, [11, 12, 15], [19, 23, 11, 6, 7], 0, -1, tf.int64), run=in_order(*range(8)))
case("dense_string", lambda tf: _dense(tf, ["a", "b"], ["hello", "world", "a"], "", "-", tf.string), run=in_order(*range(8)))


def _dense_vectors(tf):
    table = tf.contrib.lookup.MutableDenseHashTable(tf.int64, tf.float32, [0.5, 0.5], [0, 0], [-1, -1], initial_num_buckets=8)
    keys = tf.constant([[1, 2], [3, 4]], tf.int64)
    return [table.insert(keys, [[1.0, 2.0], [3.0, 4.0]]), table.lookup(tf.constant([[3, 4], [3, 5]], tf.int64)), table.export()]


case("dense_vectors", _dense_vectors, run=in_order(0, 1, 2))


def _references(tf):
    raw = tf.raw_ops
    table = raw.MutableHashTable(key_dtype=tf.string, value_dtype=tf.float32)
    return [
        raw.LookupTableInsert(table_handle=table, keys=["a", "b"], values=[1.0, 2.0]),
        raw.LookupTableFind(table_handle=table, keys=["b", "c"], default_value=-1.0),
        raw.LookupTableSize(table_handle=table),
        raw.LookupTableImport(table_handle=table, keys=["z"], values=[5.0]),
        raw.LookupTableExport(table_handle=table, Tkeys=tf.string, Tvalues=tf.float32),
    ]


def _static_references(tf):
    raw = tf.raw_ops
    table = raw.HashTable(key_dtype=tf.string, value_dtype=tf.int64, shared_name="shared")
    return [
        raw.InitializeTable(table_handle=table, keys=["a"], values=tf.constant([7], tf.int64)),
        raw.LookupTableFind(table_handle=table, keys=["a", "b"], default_value=tf.constant(0, tf.int64)),
    ]


case("references", _references, run=in_order(*range(5)))
case("static_references", _static_references, run=in_order(0, 1))
case(
    "in_cond",
    lambda tf: [tf.cond(tf.constant(True), lambda: words(tf).lookup(tf.constant(["b"])), lambda: tf.constant([0], tf.int64))],
    run=in_order(0),
)




error_case("not_initialized", lambda tf: words(tf).lookup(tf.constant(["a"])))
error_case("keys_of_other_dtype", lambda tf: words(tf).lookup(tf.constant([1])))
error_case("default_of_other_dtype", lambda tf: static(tf, ["a"], [1], "x", value_dtype=tf.int64))
error_case("different_values", lambda tf: static(tf, ["a", "a"], [1, 2], -1), run=in_order())
error_case("pairs_of_other_shapes", lambda tf: static(tf, ["a", "b"], [1], -1))
error_case("no_pairs", lambda tf: static(tf, tf.constant([], tf.string), tf.constant([], tf.int64), -1), run=in_order())
error_case("not_initialized_export", lambda tf: words(tf).export())
error_case("pair_of_dtypes", lambda tf: static(tf, [1.5], [2.5], 0.0).size())
error_case(
    "mutable_value_shape",
    lambda tf: [tf.contrib.lookup.MutableHashTable(tf.string, tf.int64, -1).insert(["a", "b"], [1])],
    run=in_order(0),
)
for _name, _key in (("empty", 0), ("deleted", -1)):
    error_case(
        "dense_%s_key" % _name,
        lambda tf, key=_key: [
            tf.contrib.lookup.MutableDenseHashTable(tf.int64, tf.int64, -1, 0, -1).lookup(tf.constant([5, key], tf.int64))
        ],
        run=in_order(0),
    )
error_case(
    "dense_equal_keys",
    lambda tf: [tf.contrib.lookup.MutableDenseHashTable(tf.int64, tf.int64, -1, 3, 3).size()],
    run=in_order(0),
)
error_case(
    "dense_buckets",
    lambda tf: [tf.contrib.lookup.MutableDenseHashTable(tf.int64, tf.int64, -1, 3, 4, initial_num_buckets=12).size()],
    run=in_order(0),
)
error_case("file_name_missing", lambda tf: tf.contrib.lookup.index_table_from_file(""))
error_case("file_column", lambda tf: tf.lookup.TextFileInitializer("f", tf.string, -1, tf.int64, 0))
error_case("buckets_negative", lambda tf: tf.contrib.lookup.index_table_from_tensor(["a"], num_oov_buckets=-1))
error_case("buckets_only", lambda tf: tf.contrib.lookup.IdTableWithHashBuckets(None, 0))
error_case("strong_hash_key", lambda tf: tf.contrib.lookup.StrongHashSpec([1]))
BUCKETS = np.array(["a", "word", ""])
case(
    "hash_buckets",
    lambda tf: [
        tf.contrib.lookup.IdTableWithHashBuckets(None, 100, hasher_spec=spec).lookup(tf.constant(BUCKETS))
        for spec in (
            tf.contrib.lookup.FastHashSpec, tf.contrib.lookup.StrongHashSpec((3, 4)), tf.contrib.lookup.HasherSpec("legacy", None),
        )
    ]
    + [tf.contrib.lookup.IdTableWithHashBuckets(words(tf), 5, name="ids").lookup(tf.constant(["b", "q"]))],
    run=in_order(0, 1, 2, 3),
)  # fmt: skip
