"""Sets in the rows of tensors."""

import numpy as np

from cases.table import Table

TABLE = Table("sets")
case, error_case = TABLE.case, TABLE.error_case

DENSE = np.array([[5, 9, 1, 1], [2, 2, 3, 8]], np.int64)
OTHER = np.array([[1, 9], [7, 2]], np.int64)


def _sparse(tf, values=(9, 1, 3, 4), sizes=(2, 5)):
    return tf.SparseTensor([[0, 0], [0, 3], [1, 1], [1, 2]], np.array(values, np.int64), sizes)


def _words(tf):
    return tf.SparseTensor([[0, 0], [0, 1], [1, 0]], ["b", "a", "b"], [2, 2])


for name in ("intersection", "union", "difference"):
    case(name + "_dense", lambda tf, a, b, n=name: getattr(tf.sets, n)(a, b), a=DENSE, b=OTHER)
    case(name + "_dense_sparse", lambda tf, a, n=name: getattr(tf.sets, n)(a, _sparse(tf)), a=DENSE)
    case(name + "_sparse_dense", lambda tf, a, n=name: getattr(tf.sets, "set_" + n)(_sparse(tf), a), a=DENSE)
    case(name + "_sparse", lambda tf, n=name: getattr(tf.sets, n)(_sparse(tf), _sparse(tf, (1, 2, 3, 7))))
    case(name + "_words", lambda tf, n=name: getattr(tf.sets, n)([["a", "a"], ["b", "c"]], _words(tf)))
case("difference_reversed", lambda tf, a, b: tf.sets.difference(a, b, aminusb=False), a=DENSE, b=OTHER)
case("difference_sparse_dense_reversed", lambda tf, a: tf.sets.difference(_sparse(tf), a, aminusb=False), a=DENSE)
case("size", lambda tf: [tf.sets.size(_sparse(tf, (1, 1, 3, 4))), tf.sets.set_size(_words(tf))])
error_case("size_dense", lambda tf, a: tf.sets.size(a), a=DENSE)
error_case("types", lambda tf, a, b: tf.sets.union(a, b), a=DENSE, b=OTHER.astype(np.int32))
error_case("floats", lambda tf, a: tf.sets.union(a, a), a=DENSE.astype(np.float32))
error_case("groups", lambda tf, a, b: tf.sets.union(a, b), a=DENSE, b=OTHER[:1])
error_case("order", lambda tf, a: tf.sets.union(a, tf.SparseTensor([[1, 0], [0, 0]], [tf.cast(1, tf.int64)] * 2, [2, 2])), a=DENSE)
