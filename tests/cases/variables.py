"""Variables, their scopes and initializers, assignment and scatter updates."""

import numpy as np

from cases.table import F32, Table

TABLE = Table("variables")
case, error_case = TABLE.case, TABLE.error_case
LOOSE = dict(rtol=1e-6, atol=1e-6, reason="log, sin and cos of the C library")


def stateful(name, build, fetches, **inputs):
    """A case that builds a list and runs the named items of it one after another, reading item 0 after each."""

    def run(tf, session, out, feed):
        return [[_value(session.run(out[i], feed)), session.run(out[0])] for i in fetches]

    case(name, build, run=run, **inputs)


def _value(result):
    return "no value" if result is None else result


case(
    "variable",
    lambda tf: [
        tf.Variable(1.0),
        tf.Variable([1, 2], name="v"),
        tf.Variable(tf.zeros([2, 3]), trainable=False),
        tf.Variable(3, dtype=tf.float64),
    ],
    grad=False,
)
case("variable_callable", lambda tf: tf.Variable(lambda: tf.ones([2]), name="made"), grad=False)
case("variable_collections", lambda tf: tf.Variable(1.0, collections=[tf.GraphKeys.LOCAL_VARIABLES]))
case(
    "variable_options",
    lambda tf: [
        tf.Variable([1.0], validate_shape=False),
        tf.Variable([1.0], expected_shape=[1]),
        tf.Variable(1.0, caching_device="/cpu:0"),
    ],
    grad=False,
)
case(
    "variable_resource",
    lambda tf: [
        tf.Variable([1.0, 2.0], use_resource=True),
        tf.get_variable("r", [2], initializer=tf.ones_initializer(), use_resource=True),
    ],
    grad=False,
)
case("variable_operators", lambda tf: _operators(tf.Variable([1.0, 2.0, 3.0])))
case("resource_operators", lambda tf: _operators(tf.Variable([1.0, 2.0, 3.0], use_resource=True)))
case("variable_of_variable", lambda tf: _from_other(tf), grad=False)
case("variable_properties", lambda tf: _properties(tf, tf.Variable([1.0, 2.0], name="v")), grad=False)
case(
    "resource_properties", lambda tf: _properties(tf, tf.Variable([1.0, 2.0], name="v", use_resource=True)), grad=False
)
case("string_variable", lambda tf: tf.Variable(["a", "b"]))
case(
    "int_variables",
    lambda tf: [tf.Variable(0, name="step", trainable=False), tf.Variable(np.arange(3)), tf.Variable(True)],
)
case("device", lambda tf: _on_device(tf), fetch=False)
case("control_dependencies", lambda tf, x: _controlled(tf, x), x=F32(2))
case("colocate", lambda tf: _colocated(tf), grad=False)
case(
    "initializers_run",
    lambda tf: [
        tf.Variable(1.0),
        tf.Variable(2.0),
        tf.global_variables_initializer(),
        tf.local_variables_initializer(),
        tf.tables_initializer(),
    ],
    fetch=False,
)
case(
    "variables_initializer",
    lambda tf: [tf.variables_initializer([tf.Variable(1.0, name="a")]), tf.variables_initializer([], name="none")],
    fetch=False,
)
case("report_uninitialized", lambda tf: [tf.Variable(1.0), tf.report_uninitialized_variables()][1], grad=False)
case("is_initialized", lambda tf: tf.is_variable_initialized(tf.Variable(1.0)), grad=False)
case("assert_initialized", lambda tf: [tf.Variable(1.0), tf.assert_variables_initialized()][0], fetch=False)
case("initialized_value", lambda tf: _initialized(tf), grad=False, seed=1)
case("global_step", lambda tf: [tf.train.get_or_create_global_step(), tf.train.get_global_step()])
case("global_step_resource", lambda tf: _resource_scope(tf, tf.train.create_global_step))
case(
    "count_parameters",
    lambda tf: [tf.get_variable("w", [3, 4]), [int(np.prod(v.shape.as_list())) for v in tf.trainable_variables()]],
    seed=1,
    grad=False,
)

_INITIALIZERS = [
    ("zeros", lambda tf: tf.zeros_initializer()),
    ("ones", lambda tf: tf.ones_initializer()),
    ("constant", lambda tf: tf.constant_initializer(0.5)),
    ("constant_list", lambda tf: tf.constant_initializer(np.arange(12))),
    ("random_uniform", lambda tf: tf.random_uniform_initializer(-0.1, 0.1)),
    ("random_normal", lambda tf: tf.random_normal_initializer(1.0, 0.5, seed=3)),
    ("truncated_normal", lambda tf: tf.truncated_normal_initializer(stddev=0.1)),
    ("uniform_unit_scaling", lambda tf: tf.uniform_unit_scaling_initializer()),
    ("variance_scaling", lambda tf: tf.variance_scaling_initializer()),
    ("variance_scaling_uniform", lambda tf: tf.variance_scaling_initializer(2.0, "fan_out", "uniform")),
    (
        "variance_scaling_average",
        lambda tf: tf.variance_scaling_initializer(mode="fan_avg", distribution="untruncated_normal"),
    ),
    ("glorot_uniform", lambda tf: tf.glorot_uniform_initializer()),
    ("glorot_normal", lambda tf: tf.glorot_normal_initializer(seed=5)),
    ("he_normal", lambda tf: tf.initializers.he_normal()),
    ("he_uniform", lambda tf: tf.initializers.he_uniform()),
    ("lecun_normal", lambda tf: tf.initializers.lecun_normal()),
    ("lecun_uniform", lambda tf: tf.initializers.lecun_uniform()),
    ("identity", lambda tf: tf.initializers.identity(gain=2.0)),
]
for _name, _make in _INITIALIZERS:
    case(
        "initializer_" + _name,
        lambda tf, make=_make: tf.get_variable("w", [3, 4], initializer=make(tf)),
        seed=42,
        grad=False,
        **LOOSE,
    )
for _name in ("zeros", "random_uniform", "truncated_normal", "glorot_uniform"):
    _make = dict(_INITIALIZERS)[_name]
    case(
        "initializer_f64_" + _name,
        lambda tf, make=_make: tf.get_variable("w", [3, 4], tf.float64, make(tf)),
        seed=42,
        grad=False,
        **LOOSE,
    )
case(
    "initializer_call",
    lambda tf: [
        tf.zeros_initializer()([2]),
        tf.constant_initializer(2)([3], tf.int32),
        tf.glorot_uniform_initializer()([3, 2]),
        tf.orthogonal_initializer(),
    ],
    seed=3,
    fetch=False,
)
case("initializer_class", lambda tf: tf.get_variable("w", [3], initializer=tf.zeros_initializer), grad=False)
case(
    "initializer_tensor",
    lambda tf: [
        tf.get_variable("w", initializer=tf.ones([2])),
        tf.get_variable("v", initializer=[1.0, 2.0]),
        tf.get_variable("c", initializer=3),
    ],
    grad=False,
)
case(
    "initializer_function",
    lambda tf: tf.get_variable("w", [2, 2], initializer=lambda shape, dtype, partition_info: tf.fill(shape, 7.0)),
    grad=False,
)

case(
    "get_variable",
    lambda tf: [
        tf.get_variable("w", [3, 4]),
        tf.get_variable("b", [4], initializer=tf.zeros_initializer()),
        tf.get_variable("s", []),
    ],
    seed=42,
    grad=False,
    **LOOSE,
)
case("get_variable_int", lambda tf: [tf.get_variable("i", [2], tf.int32), tf.get_variable("b", [2], tf.bool)])
case(
    "get_variable_regularizer",
    lambda tf: tf.get_variable("w", [3], regularizer=lambda w: tf.reduce_sum(w * w), initializer=tf.ones_initializer()),
    grad=False,
)
case("get_local_variable", lambda tf: tf.get_local_variable("l", [2], initializer=tf.zeros_initializer()))
case("variable_scopes", lambda tf: _scopes(tf), grad=False, seed=2)
case("variable_scope_reuse", lambda tf: _reuse(tf), grad=False, seed=2)
case("variable_scope_defaults", lambda tf: _defaults(tf), grad=False)
case("variable_scope_getter", lambda tf: _getter(tf), grad=False)
case("variable_scope_auxiliary", lambda tf: _auxiliary(tf), grad=False)
case("variable_op_scope", lambda tf: _op_scope(tf), grad=False)
case("partitioned", lambda tf: _partitioned(tf, tf.fixed_size_partitioner(2)), seed=2, grad=False)
case("partitioned_axis", lambda tf: _partitioned(tf, tf.fixed_size_partitioner(3, axis=1)), seed=2, grad=False)
case("partitioned_max_size", lambda tf: _partitioned(tf, tf.variable_axis_size_partitioner(32)), seed=2, grad=False)
case(
    "partitioned_min_max",
    lambda tf: _partitioned(tf, tf.min_max_variable_partitioner(max_partitions=4, min_slice_size=16)),
    seed=2,
    grad=False,
)
case(
    "partitioned_lookup",
    lambda tf: tf.nn.embedding_lookup(tf.get_variable("w", [5, 2], partitioner=tf.fixed_size_partitioner(2)), [4, 0]),
    seed=2,
    grad=False,
)
case("templates", lambda tf, x: _template(tf, x), x=F32(2), seed=1)

for _resource in (False, True):
    _label = "resource_" if _resource else "ref_"
    stateful(
        _label + "assign",
        lambda tf, r=_resource: _assignments(tf, tf.Variable([1.0, 2.0], use_resource=r)),
        [1, 2, 3, 4, 1],
    )
    stateful(
        _label + "scatter",
        lambda tf, r=_resource: _scatters(tf, tf.Variable(np.ones([4, 2], np.float32), use_resource=r)),
        [1, 2, 3, 4, 5, 6, 7, 8],
    )
    stateful(
        _label + "scatter_nd",
        lambda tf, r=_resource: _scatter_nds(tf, tf.Variable(np.ones([4], np.float32), use_resource=r)),
        [1, 2, 3],
    )
    stateful(
        _label + "count_up",
        lambda tf, r=_resource: [_count(tf, r), tf.count_up_to(tf.global_variables()[0], 3)],
        [1, 1],
    )
    stateful(
        _label + "read_after_assign", lambda tf, r=_resource: _ordered(tf, tf.Variable(1.0, use_resource=r)), [1, 1, 2]
    )
    stateful(_label + "group", lambda tf, r=_resource: _grouped(tf, r), [1, 1])
    stateful(
        _label + "feed_variable", lambda tf, r=_resource: _doubled(tf, tf.Variable([1.0, 2.0], use_resource=r)), [1]
    )
stateful("assign_shapes", lambda tf: _reshaped(tf), [1])
stateful("assign_functions", lambda tf: _assign_functions(tf, tf.Variable([1, 2])), [1, 2, 3])
case(
    "load",
    lambda tf: tf.Variable([1.0, 2.0]),
    run=lambda tf, s, v, feed: [v.load([5.0, 6.0], s), s.run(v), v.eval(s)][1:],
)
case(
    "feed_ref",
    lambda tf: tf.Variable([1.0, 2.0]),
    run=lambda tf, s, v, feed: [s.run(v * 2.0, {v: [7.0, 8.0]}), s.run(v)],
)
case("sessions_are_separate", lambda tf: tf.Variable(1.0), run=lambda tf, s, v, feed: _two_sessions(tf, s, v))


def _operators(v):
    return [v + 1.0, 1.0 - v, v * v, v / 2.0, v[0], v[1:], -v, abs(v), v < 2.0, v**2]


def _from_other(tf):
    first = tf.Variable(tf.random_uniform([2], seed=3), name="first")
    return [first, tf.Variable(first.initialized_value() * 2.0, name="second")]


def _initialized(tf):
    v = tf.Variable(tf.random_normal([2]), name="v")
    return tf.Variable(v.initialized_value(), name="w")


def _properties(tf, v):
    return [
        v.name,
        v.op.name,
        v.dtype.name,
        v.shape,
        v.initializer.name,
        v.value(),
        v.read_value(),
        v.initial_value,
        v.device,
        v.graph is tf.get_default_graph(),
        tf.identity(v),
        tf.convert_to_tensor(v),
    ]


def _on_device(tf):
    with tf.device("/cpu:0"):
        a = tf.Variable(1.0, name="a")
        with tf.device("/device:GPU:1"):
            b = tf.constant(2.0)
    with tf.device(lambda op: "/cpu:0" if op.type == "Const" else ""):
        return [a, tf.constant(1.0) + b]


def _controlled(tf, x):
    v = tf.Variable(1.0)
    with tf.control_dependencies([v.assign_add(1.0)]):
        y = tf.identity(x)
        with tf.control_dependencies(None):
            z = x + 1.0
        with tf.control_dependencies([y]):
            w = tf.no_op()
    with tf.control_dependencies([w]):
        return [y, z, tf.identity(y, name="out")]


def _colocated(tf):
    v = tf.Variable(1.0, name="v")
    with tf.colocate_with(v):
        a = tf.constant(2.0)
    with v.graph.colocate_with(a.op):
        return [a, tf.constant(3.0, name="b")]


def _resource_scope(tf, make):
    with tf.variable_scope("", use_resource=True):
        return make()


def _scopes(tf):
    with tf.variable_scope("a"):
        w = tf.get_variable("w", [2])
        with tf.variable_scope("b"):
            u, v = tf.get_variable("u", [2]), tf.Variable([1.0], name="v")
            t = u + 1.0
    with tf.variable_scope("a"):
        x = tf.get_variable("x", [2])
        c = tf.constant(1.0)
    with tf.variable_scope(None, "default"):
        y = tf.get_variable("y", [1])
    with tf.variable_scope(None, "default") as scope:
        z = tf.get_variable("z", [1])
        names = [scope.name, scope.original_name_scope, tf.get_variable_scope().name]
    return [w, u, v, t, x, c, y, z, names]


def _reuse(tf):
    with tf.variable_scope("a") as scope:
        w = tf.get_variable("w", [2])
        scope.reuse_variables()
        again = tf.get_variable("w", [2])
    with tf.variable_scope(scope, reuse=True):
        third = tf.get_variable("w")
    with tf.variable_scope("a", reuse=tf.AUTO_REUSE):
        fourth, fresh = tf.get_variable("w", [2]), tf.get_variable("fresh", [1])
    return [w is again, again is third, third is fourth, w, fresh, w + 1.0]


def _defaults(tf):
    with tf.variable_scope(
        "a",
        initializer=tf.constant_initializer(3.0),
        regularizer=tf.contrib.layers.l2_regularizer(0.5),
        dtype=tf.float64,
    ):
        w = tf.get_variable("w", [2])
        with tf.variable_scope("b", use_resource=True):
            return [w, tf.get_variable("u", [2], regularizer=tf.no_regularizer), tf.get_variable_scope().use_resource]


def _getter(tf):
    def half(getter, name, *args, **kwargs):
        return getter(name, *args, **kwargs) * 0.5

    with tf.variable_scope("a", custom_getter=half):
        return tf.get_variable("w", [2], initializer=tf.ones_initializer())


def _auxiliary(tf):
    with tf.variable_scope("a") as scope:
        first = tf.constant(1.0)
    with tf.variable_scope(scope, auxiliary_name_scope=False):
        second = tf.get_variable("w", [1], initializer=tf.zeros_initializer())
        third = tf.constant(2.0)
    with tf.variable_scope(scope):
        return [first, second, third, tf.constant(3.0)]


def _op_scope(tf):
    with tf.variable_scope("a", "b", [tf.constant(1.0)]), tf.name_scope("inner"):
        return [tf.constant(1.0), tf.get_variable("w", initializer=1.0)]


def _partitioned(tf, partitioner):
    w = tf.get_variable("w", [5, 6], partitioner=partitioner)
    return [tf.convert_to_tensor(w), w.as_tensor(), [part.name for part in w], w.name, w.shape, w.dtype.name]


def _template(tf, x):
    def scaled(value):
        return value * tf.get_variable("scale", [], initializer=tf.ones_initializer())

    shared = tf.make_template("shared", scaled)
    return [shared(x), shared(x + 1.0), len(tf.global_variables())]


def _assignments(tf, v):
    return [v, v.assign([3.0, 4.0]), v.assign_add([1.0, 1.0]), v.assign_sub([0.5, 0.5]), tf.assign(v, v * 2.0)]


def _assign_functions(tf, v):
    return [v, tf.assign_add(v, [1, 1]), tf.assign_sub(v, [5, 5]), tf.assign(v, [9, 9], name="put")]


def _scatters(tf, v):
    rows = np.full([2, 2], 2.0, np.float32)
    return [
        v,
        tf.scatter_update(v, [0, 2], rows),
        tf.scatter_add(v, [1, 1], rows),
        tf.scatter_sub(v, [3, 0], rows),
        tf.scatter_mul(v, [2, 2], rows),
        tf.scatter_div(v, [1, 0], rows),
        tf.scatter_min(v, [0, 1], rows),
        tf.scatter_max(v, [3, 2], rows),
        v.scatter_add(tf.IndexedSlices(tf.constant(rows), tf.constant([0, 3]))),
    ]


def _scatter_nds(tf, v):
    return [
        v,
        tf.scatter_nd_update(v, [[1], [2]], [5.0, 6.0]),
        tf.scatter_nd_add(v, [[1], [1]], [1.0, 2.0]),
        tf.scatter_nd_sub(v, [[0]], [3.0]),
    ]


def _count(tf, resource):
    return tf.Variable(0, use_resource=resource)


def _ordered(tf, v):
    add = v.assign_add(1.0)
    with tf.control_dependencies([add]):
        after = v.read_value() * 10.0
    return [v, after, [add, after]]


def _grouped(tf, resource):
    a, b = tf.Variable(1.0, use_resource=resource), tf.Variable(2.0, use_resource=resource)
    return [[a, b], tf.group(a.assign_add(1.0), b.assign_sub(1.0), name="both"), tf.tuple([a + 0.0, b + 0.0])]


def _doubled(tf, v):
    return [v, v * 2.0]


def _reshaped(tf):
    v = tf.Variable([1.0, 2.0], validate_shape=False)
    return [v, tf.assign(v, [[1.0, 2.0, 3.0]], validate_shape=False)]


def _two_sessions(tf, session, v):
    session.run(v.assign(5.0))
    with tf.Session(graph=session.graph) as other:
        other.run(v.initializer)
        return [session.run(v), other.run(v)]


error_case(
    "uninitialised", lambda tf: tf.Variable(1.0) + 1.0, run=lambda tf, s, y, feed: tf.Session(graph=s.graph).run(y)
)
error_case(
    "uninitialised_resource",
    lambda tf: tf.Variable(1.0, use_resource=True) + 1.0,
    run=lambda tf, s, y, feed: tf.Session(graph=s.graph).run(y),
)
error_case("duplicate", lambda tf: [tf.get_variable("w", [2]), tf.get_variable("w", [2])])
error_case("reuse_other_shape", lambda tf: _reuse_with(tf, [3], tf.float32))
error_case("reuse_other_dtype", lambda tf: _reuse_with(tf, [2], tf.float64))
error_case("no_shape", lambda tf: tf.get_variable("w"))
error_case("shape_and_tensor", lambda tf: tf.get_variable("w", [2], initializer=tf.ones([2])))
error_case("unknown_shape", lambda tf, x: tf.Variable(tf.placeholder_with_default(x, [None])), x=F32(2))
error_case("assign_shape", lambda tf: tf.Variable([1.0, 2.0]).assign([1.0]))
error_case("assign_shape_resource", lambda tf: tf.Variable([1.0, 2.0], use_resource=True).assign([1.0]))
error_case("assign_dtype", lambda tf: tf.Variable([1.0, 2.0]).assign(tf.constant([1, 2])))
error_case("assign_to_tensor", lambda tf, x: tf.assign(x, [1.0, 2.0]), x=F32(2))
error_case("assign_operator", lambda tf: _inplace(tf))
error_case("scatter_out_of_range", lambda tf: tf.scatter_add(tf.Variable([1.0, 2.0]), [5], [1.0]))
error_case("count_up_limit", lambda tf: tf.count_up_to(tf.Variable(3), 3))
error_case("bad_scope", lambda tf: tf.variable_scope(3).__enter__())
error_case("bad_initializer", lambda tf: tf.get_variable("w", [2], initializer="zeros"))
error_case("no_initial_value", lambda tf: tf.Variable())
error_case("variable_as_bool", lambda tf: bool(tf.Variable(1.0) > 0.0))
error_case("iterate", lambda tf: list(tf.Variable([1.0])))


def _reuse_with(tf, shape, dtype):
    with tf.variable_scope("a"):
        tf.get_variable("w", [2])
    with tf.variable_scope("a", reuse=True):
        return tf.get_variable("w", shape, dtype)


def _inplace(tf):
    v = tf.Variable([1.0])
    v[0] = 2.0
