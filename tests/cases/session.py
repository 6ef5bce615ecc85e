"""Control edges, printing, assertions, Python functions and what Session.run accepts."""

import collections

import numpy as np

from cases.table import F32, I32, Table

TABLE = Table("session")
case, error_case = TABLE.case, TABLE.error_case
Pair = collections.namedtuple("Pair", ["first", "second"])

case(
    "group", lambda tf, x: [tf.group(x + 1.0, tf.no_op()), tf.group(), tf.group(x.op, name="g")], x=F32(2), fetch=False
)
case("tuple", lambda tf, x: tf.tuple([x + 1.0, None, x * 2.0], control_inputs=[tf.no_op()]), x=F32(2), partial=False)
case("print_op", lambda tf, x: tf.Print(x, [x, tf.shape(x)], "value: ", first_n=2, summarize=3), x=F32(2))
case("assert_true", lambda tf, x: _checked(tf, tf.Assert(tf.reduce_all(x < 100.0), [x]), x), x=F32(2), partial=False)
case(
    "asserts",
    lambda tf, x: [
        _checked(tf, f(x, y), x)
        for f, y in (
            (tf.assert_less, 100.0),
            (tf.assert_greater, -100.0),
            (tf.assert_equal, x + 0.0),
            (tf.assert_less_equal, 50.0),
        )
    ],
    x=F32(2),
    partial=False,
)
case(
    "assert_static",
    lambda tf, x: [
        tf.assert_rank(x, 2),
        tf.assert_rank_at_least(x, 1),
        tf.assert_type(x, tf.float32),
        tf.assert_rank_in(x, [1, 2]),
    ],
    x=F32(2, 3),
    fetch=False,
    partial=False,
)
case(
    "assert_signs",
    lambda tf, x: [_checked(tf, f(tf.abs(x) + 1.0), x) for f in (tf.assert_positive, tf.assert_non_negative)],
    x=F32(2),
    partial=False,
)
case("py_func", lambda tf, x: tf.py_func(lambda a: np.sin(a), [x], tf.float32), x=F32(3), grad=False)
case(
    "py_func_list",
    lambda tf, x: tf.py_func(lambda a: (a * 2, a.sum()), [x], [tf.float32, tf.float32], stateful=False),
    x=F32(3),
    grad=False,
)
case("py_func_strings", lambda tf: tf.py_func(lambda s: s + b"!", ["hello"], tf.string))
case("cond", lambda tf, x: tf.cond(tf.reduce_sum(x) > 0.0, lambda: x * 2.0, lambda: x - 1.0), x=F32(3))
case("cond_constant", lambda tf, x: tf.cond(tf.constant(True), lambda: x * 2.0, lambda: x - 1.0), x=F32(3))
case("while_loop", lambda tf, x: tf.while_loop(lambda i, a: i < 3, lambda i, a: [i + 1, a * 2.0], [0, x]), x=F32(3))
case("case", lambda tf, x: tf.case([(tf.reduce_sum(x) > 100.0, lambda: x)], default=lambda: -x), x=F32(3))

FETCHES = {
    "list": lambda g: [g("a:0"), [g("b:0")]],
    "tuple": lambda g: (g("a:0"), g("b:0")),
    "dict": lambda g: {"x": g("a:0"), "y": [g("b:0")]},
    "names": lambda g: ["a:0", "b:0"],
    "operation": lambda g: [g("a:0").op, g("b:0")],
    "twice": lambda g: [g("a:0"), g("a:0")],
    "namedtuple": lambda g: Pair(g("a:0"), g("b:0")),
    "one": lambda g: g("a:0"),
    "empty": lambda g: [],
    "op_name": lambda g: ["a", "b:0"],
}


def _plain(value):
    return "None" if value is None else [_plain(v) for v in value] if isinstance(value, (list, tuple)) else value


def _ab(tf, x):
    return [tf.multiply(x, 2.0, name="a"), tf.add(x, 1.0, name="b")]


for _name, _structure in FETCHES.items():
    case(
        "fetch_" + _name,
        lambda tf, x: _ab(tf, x),
        x=F32(3),
        run=lambda tf, s, out, feed, f=_structure: _typed(s.run(f(s.graph.get_tensor_by_name), feed)),
    )


def _typed(result):
    if isinstance(result, dict):
        return {key: _plain(value) for key, value in result.items()}
    return [type(result).__name__, _plain(result)]


case(
    "fetch_variable",
    lambda tf: [tf.Variable([1.0, 2.0], name="v")],
    run=lambda tf, s, out, feed: s.run([out[0], "v:0", out[0].op.name + "/read:0"]),
)
case(
    "fetch_sparse",
    lambda tf: tf.SparseTensor([[0, 1]], [2.0], [2, 3]),
    run=lambda tf, s, out, feed: _sparse(s.run(out)),
)
case(
    "fetch_slices",
    lambda tf, x: tf.IndexedSlices(x, tf.constant([1, 2])),
    x=F32(2, 2),
    run=lambda tf, s, out, feed: list(s.run(out, feed)[:2]),
)
case("fetch_placeholder", lambda tf, x: x, x=F32(3))
case(
    "feed_intermediate",
    lambda tf, x: _ab(tf, x),
    x=F32(3),
    run=lambda tf, s, out, feed: [s.run(out[1] * 2.0 + out[0], {out[0]: [1, 2, 3], out[1]: np.zeros(3)})],
)
case(
    "feed_constant",
    lambda tf: tf.constant([1.0, 2.0], name="c") * 3.0,
    run=lambda tf, s, out, feed: s.run(out, {"c:0": [5, 6]}),
)
case(
    "feed_sparse",
    lambda tf: tf.sparse_placeholder(tf.float32, [2, 3]),
    run=lambda tf, s, out, feed: _sparse(s.run(out, {out: ([[0, 1]], [2.0], [2, 3])})),
)
case(
    "feed_kinds",
    lambda tf, x: x + 1.0,
    x=F32(),
    run=lambda tf, s, out, feed: [s.run(out, {list(feed)[0]: v}) for v in (1, 2.5, np.float64(3), np.array(4), True)],
)
case(
    "feed_other_batch",
    lambda tf: tf.reduce_sum(tf.placeholder(tf.float32, [None, 2], name="p"), 1),
    run=lambda tf, s, out, feed: [s.run(out, {"p:0": np.ones([n, 2])}) for n in (3, 1, 0, 5)],
)
case(
    "make_callable",
    lambda tf, x: _ab(tf, x),
    x=F32(3),
    run=lambda tf, s, out, feed: list(s.make_callable(out, [list(feed)[0]])([1.0, 2.0, 3.0])),
)
case(
    "partial_run",
    lambda tf, x, y: [x + 1.0, y * (x + 1.0)],
    x=F32(2),
    y=F32(2),
    run=lambda tf, s, out, feed: _partial(s, out, feed),
)
case(
    "eval_and_run",
    lambda tf, x: x * 2.0,
    x=F32(2),
    run=lambda tf, s, out, feed: [out.eval(feed, s), _default(s, out, feed)],
)
case("control_flow_order", lambda tf: _ordered(tf), run=lambda tf, s, out, feed: [s.run(out), s.run(out)])
case("numbers", lambda tf, x: [x + 1, x * 1.5 if x.dtype.is_floating else x * 2], x=I32(3), grad=False)


def _checked(tf, assertion, x):
    with tf.control_dependencies([assertion] if assertion is not None else []):
        return tf.identity(x)


def _sparse(value):
    return [type(value).__name__, value.indices, value.values, value.dense_shape]


def _partial(session, out, feed):
    x, y = list(feed)
    handle = session.partial_run_setup(out, [x, y])
    first = session.partial_run(handle, out[0], {x: feed[x]})
    return [first, session.partial_run(handle, out[1], {y: feed[y]})]


def _default(session, out, feed):
    with session.as_default():
        return out.eval(feed)


def _ordered(tf):
    v = tf.Variable(0.0)
    with tf.control_dependencies([v.assign_add(1.0)]):
        return [tf.identity(v), v * 10.0]


error_case("unfed", lambda tf: tf.placeholder(tf.float32, [2]) + 1.0)
error_case(
    "feed_shape",
    lambda tf, x: x + 1.0,
    x=F32(2),
    run=lambda tf, s, out, feed: s.run(out, {list(feed)[0]: [1.0, 2.0, 3.0]}),
)
error_case(
    "feed_dtype", lambda tf, x: x + 1, x=I32(2), run=lambda tf, s, out, feed: s.run(out, {list(feed)[0]: ["a", "b"]})
)
error_case(
    "feed_float_to_int", lambda tf, x: x + 1, x=I32(2), run=lambda tf, s, out, feed: s.run(out, {list(feed)[0]: 1.5})
)
error_case(
    "feed_tensor", lambda tf, x: x + 1.0, x=F32(2), run=lambda tf, s, out, feed: s.run(out, {list(feed)[0]: out})
)
error_case(
    "feed_ragged",
    lambda tf: tf.placeholder(tf.float32, [None, None], name="p") + 1.0,
    run=lambda tf, s, out, feed: s.run(out, {"p:0": [[1.0, 2.0], [3.0]]}),
)
error_case(
    "feed_unknown_key", lambda tf, x: x + 1.0, x=F32(2), run=lambda tf, s, out, feed: s.run(out, {"nothing:0": 1.0})
)
error_case("feed_bad_key", lambda tf, x: x + 1.0, x=F32(2), run=lambda tf, s, out, feed: s.run(out, {3: 1.0}))
error_case("fetch_none", lambda tf, x: x, x=F32(2), run=lambda tf, s, out, feed: s.run(None))
error_case("fetch_number", lambda tf, x: x, x=F32(2), run=lambda tf, s, out, feed: s.run([1.5]))
error_case("fetch_unknown_name", lambda tf, x: x, x=F32(2), run=lambda tf, s, out, feed: s.run("nothing:0"))
error_case(
    "fetch_other_graph", lambda tf, x: x, x=F32(2), run=lambda tf, s, out, feed: tf.Session(graph=tf.Graph()).run(out)
)
error_case("empty_graph", lambda tf: [], run=lambda tf, s, out, feed: tf.Session(graph=tf.Graph()).run([]))
error_case("mixed_graphs", lambda tf, x: x + _foreign(tf), x=F32(2))
error_case("closed", lambda tf, x: x + 1.0, x=F32(2), run=lambda tf, s, out, feed: [s.close(), s.run(out, feed)])
error_case("eval_without_session", lambda tf, x: tf.constant(1.0).eval(), x=F32(2))
error_case("finalized", lambda tf: [tf.get_default_graph().finalize(), tf.constant(1.0)])
error_case("assert_false", lambda tf, x: _checked(tf, tf.Assert(tf.reduce_all(x > 100.0), ["text", x]), x), x=F32(2))
error_case("assert_equal", lambda tf, x: _checked(tf, tf.assert_equal(x, x + 1.0, message="differ"), x), x=F32(2))
error_case("assert_equal_static", lambda tf: tf.assert_equal(1, 2))
error_case("assert_rank", lambda tf, x: tf.assert_rank(x, 3), x=F32(2))
error_case("assert_type", lambda tf, x: tf.assert_type(x, tf.int32), x=F32(2))
error_case("py_func_raises_value", lambda tf, x: tf.py_func(_raiser(ValueError), [x], tf.float32), x=F32(2))
error_case("py_func_raises_type", lambda tf, x: tf.py_func(_raiser(TypeError), [x], tf.float32), x=F32(2))
error_case("py_func_raises_index", lambda tf, x: tf.py_func(_raiser(StopIteration), [x], tf.float32), x=F32(2))
error_case("py_func_raises_other", lambda tf, x: tf.py_func(_raiser(AttributeError), [x], tf.float32), x=F32(2))
error_case("py_func_wrong_dtype", lambda tf, x: tf.py_func(lambda a: a.astype(np.float64), [x], tf.float32), x=F32(2))
error_case("py_func_wrong_count", lambda tf, x: tf.py_func(lambda a: (a, a), [x], tf.float32), x=F32(2))
error_case("unknown_device", lambda tf: _on_gpu(tf))
error_case("bad_device", lambda tf: tf.device("/nonsense:x").__enter__())
error_case("unknown_tensor", lambda tf: tf.get_default_graph().get_tensor_by_name("nothing:0"))
error_case("unknown_operation", lambda tf: tf.get_default_graph().get_operation_by_name("nothing"))
error_case("tensor_name_without_index", lambda tf, x: tf.get_default_graph().get_tensor_by_name("x"), x=F32(2))
error_case("unknown_op_type", lambda tf: tf.import_graph_def(_unknown_op(tf)))


def _raiser(kind):
    def raiser(_):
        raise kind("broken")

    return raiser


def _foreign(tf):
    with tf.Graph().as_default():
        return tf.constant([1.0, 2.0])


def _on_gpu(tf):
    with tf.device("/device:GPU:7"):
        return tf.constant(1.0) + 1.0


def _unknown_op(tf):
    definition = tf.GraphDef()
    definition.node.add(name="n", op="NoSuchOperation")
    return definition
