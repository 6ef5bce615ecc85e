"""Loops, TensorArrays, and the functions over rows."""

from cases.table import F32, I32, Table

TABLE = Table("control")
case, error_case = TABLE.case, TABLE.error_case


def _sums(tf, x):
    _, total = tf.while_loop(lambda i, s: i < 5, lambda i, s: (i + 1, s * x + 1.0), [0, tf.zeros([3])])
    return total


def _refs(tf, x):
    """The body gives what an assignment gives."""
    v = tf.Variable(tf.zeros([5]), name="v")
    return tf.while_loop(lambda i, a: i < 3, lambda i, a: (i + 1, tf.scatter_add(v, [1, 3], x)), [0, tf.zeros([5])])[1]


def _nested(tf, x):
    def body(i, s):
        _, inner = tf.while_loop(lambda j, t: j < i, lambda j, t: (j + 1, t * x + 1.0), [0, s])
        return i + 1, inner

    return tf.while_loop(lambda i, s: i < 4, body, [0, tf.ones([3])], name="outer")[1]


def _cond_inside(tf, x):
    def body(i, s):
        return i + 1, tf.cond(tf.equal(i % 2, 0), lambda: s * x, lambda: s + tf.constant(2.0))

    return tf.while_loop(lambda i, s: i < 4, body, [0, tf.ones([3])], back_prop=True, parallel_iterations=3)[1]


def _inside_cond(tf, x):
    def loop():
        return tf.while_loop(lambda i, s: i < 3, lambda i, s: (i + 1, s * x), [0, x])[1]

    return tf.cond(tf.reduce_sum(x) > 0.0, loop, lambda: x)


def _array_loop(tf, x):
    rows = tf.TensorArray(tf.float32, 4).unstack(x)
    made = tf.TensorArray(tf.float32, 4, element_shape=[3], name="made")

    def body(i, s, out):
        s = s * 0.5 + rows.read(i)
        return i + 1, s, out.write(i, s)

    _, last, made = tf.while_loop(lambda i, *_: i < 4, body, (0, tf.zeros([3]), made), swap_memory=True)
    return made.stack() * last


def _array_methods(tf, x):
    array = tf.TensorArray(tf.float32, size=3, clear_after_read=False, infer_shape=True)
    array = array.write(0, x[0]).write(1, x[1]).write(2, x[0] * x[1])
    return array.read(1), array.gather([2, 0]), array.stack(), array.size(), array.identity().concat()


def _growing(tf, n):
    array = tf.TensorArray(tf.float32, size=0, dynamic_size=True)

    def body(i, a):
        return i + 1, a.write(i, tf.cast(i, tf.float32) * 2.0)

    return tf.while_loop(lambda i, _: i < n, body, (0, array))[1].stack()


case("while_sums", _sums, x=F32(3))
case("while_nested", _nested, x=F32(3))
case("while_cond_inside", _cond_inside, x=F32(3))
case("while_inside_cond", _inside_cond, x=F32(3), partial=False)
case("while_single", lambda tf, n: tf.while_loop(lambda i: i < n, lambda i: i + 2, [0]), n=I32(low=3, high=6), partial=False)
case(
    "while_same_structure",
    lambda tf: tf.while_loop(lambda i: i < 3, lambda i: [i + 1], [0], return_same_structure=True),
)
case(
    "while_maximum_iterations",
    lambda tf, x: tf.while_loop(lambda s: tf.reduce_sum(s) < 1e6, lambda s: s * x + 1.0, [x], maximum_iterations=3),
    x=F32(3),
)
case(
    "while_structure",
    lambda tf, x: tf.while_loop(
        lambda i, d: i < 2, lambda i, d: (i + 1, {"a": d["a"] + x, "b": (d["b"][0] * 2.0,)}), (0, {"a": x, "b": (x,)})
    )[1]["b"][0],
    x=F32(3),
)
case(
    "while_shape_invariants",
    lambda tf, x: tf.while_loop(
        lambda y: tf.shape(y)[0] < 5, lambda y: tf.concat([y, y], 0), [x], shape_invariants=[tf.TensorShape([None, 3])]
    ),
    x=F32(2, 3), grad=False, partial=False,
)  # fmt: skip
case("tensor_array_loop", _array_loop, x=F32(4, 3, low=-1.0, high=1.0), partial=False)
case("tensor_array_methods", _array_methods, x=F32(2, 3), partial=False, grad=False)
case("tensor_array_growing", _growing, n=I32(low=3, high=6), partial=False)
case("map_fn", lambda tf, x: tf.map_fn(lambda row: row * row + 1.0, x), x=F32(4, 3, low=-1.0, high=1.0))
case(
    "map_fn_several", lambda tf, x, y: tf.map_fn(lambda r: (r[0] + r[1], r[1]), (x, y), dtype=(tf.float32, tf.float32)),
    x=F32(4, 3, low=-1.0, high=1.0), y=F32(4, 3, low=-1.0, high=1.0), partial=False,
)  # fmt: skip
case("foldl", lambda tf, x: tf.foldl(lambda a, row: a * 0.5 + row, x), x=F32(4, 3, low=-1.0, high=1.0))
case("foldr", lambda tf, x: tf.foldr(lambda a, row: a * 0.5 + row, x, initializer=tf.ones([3])), x=F32(4, 3, low=-1.0, high=1.0))
case("scan", lambda tf, x: tf.scan(lambda a, row: a * 0.5 + row, x), x=F32(4, 3, low=-1.0, high=1.0))
case("scan_reverse", lambda tf, x: tf.scan(lambda a, row: a + row, x, tf.zeros([3]), reverse=True), x=F32(4, 3, low=-1.0, high=1.0))
case("while_gives_refs", _refs, x=F32(2, low=1.0))
error_case("cond_nothing", lambda tf, x: tf.cond(tf.greater(x, 0.0), lambda: [], lambda: []), x=F32())
error_case("while_no_variables", lambda tf: tf.while_loop(lambda: True, lambda: [], []))
error_case("while_not_callable", lambda tf: tf.while_loop(True, lambda i: i, [0]))
error_case(
    "while_shape_changes",
    lambda tf: tf.while_loop(lambda y: tf.shape(y)[0] < 5, lambda y: tf.concat([y, y], 0), [tf.ones([2])]),
)
error_case("while_condition_shape", lambda tf: tf.while_loop(lambda i: tf.less([i], 3), lambda i: i + 1, [0]))
error_case("while_structure_changes", lambda tf: tf.while_loop(lambda i, j: i < 3, lambda i, j: i + 1, [0, 0]))
error_case("tensor_array_no_size", lambda tf: tf.TensorArray(tf.float32))
error_case("tensor_array_shapes", lambda tf: tf.TensorArray(tf.float32, 2).write(0, [1.0]).write(1, [1.0, 2.0]))
error_case("map_fn_scalar", lambda tf: tf.map_fn(lambda x: x, 1.0))
