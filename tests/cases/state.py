"""The op types of variables by themselves: update rules dense and by rows, scatters, counters, slices."""
import numpy as np

from cases.table import Table

TABLE = Table("state")
case, error_case = TABLE.case, TABLE.error_case
ULPS = dict(rtol=3e-6, atol=3e-6, reason="fused arithmetic and a reciprocal square root of another precision")

SCALARS = dict(
    alpha=0.1, lr=0.1, l1=0.05, l2=0.1, rho=0.9, epsilon=1e-3, lr_power=-0.5, l2_shrinkage=0.02, momentum=0.8, beta1_power=0.9,
    beta2_power=0.99, beta1=0.9, beta2=0.99, sign_decay=0.7, beta=0.9, logbase=1.2, global_step=3,
)
# name, variables, other inputs of the dense op, attributes, whether it has a sparse op, whether it takes references
RULES = [
    ("GradientDescent", "var", "alpha delta", {}, False, True),
    ("ProximalGradientDescent", "var", "alpha l1 l2 delta", {}, True, True),
    ("Adadelta", "var accum accum_update", "lr rho epsilon grad", {}, True, True),
    ("Adagrad", "var accum", "lr grad", {}, True, True),
    ("Adagrad", "var accum", "lr grad", {"update_slots": False}, True, True),
    ("AdagradV2", "var accum", "lr epsilon grad", {}, True, True),
    ("ProximalAdagrad", "var accum", "lr l1 l2 grad", {}, True, True),
    ("AdagradDA", "var gradient_accumulator gradient_squared_accumulator", "grad lr l1 l2 global_step", {}, True, True),
    ("Ftrl", "var accum linear", "grad lr l1 l2 lr_power", {}, True, True),
    ("FtrlV2", "var accum linear", "grad lr l1 l2 l2_shrinkage lr_power", {}, True, True),
    ("Momentum", "var accum", "lr grad momentum", {}, True, True),
    ("Momentum", "var accum", "lr grad momentum", {"use_nesterov": True}, True, True),
    ("KerasMomentum", "var accum", "lr grad momentum", {}, True, False),
    ("KerasMomentum", "var accum", "lr grad momentum", {"use_nesterov": True}, True, False),
    ("Adam", "var m v", "beta1_power beta2_power lr beta1 beta2 epsilon grad", {}, False, True),
    ("Adam", "var m v", "beta1_power beta2_power lr beta1 beta2 epsilon grad", {"use_nesterov": True}, False, True),
    ("AdamWithAmsgrad", "var m v vhat", "beta1_power beta2_power lr beta1 beta2 epsilon grad", {}, False, False),
    ("AdaMax", "var m v", "beta1_power lr beta1 beta2 epsilon grad", {}, False, True),
    ("RMSProp", "var ms mom", "lr rho momentum epsilon grad", {}, True, True),
    ("CenteredRMSProp", "var mg ms mom", "lr rho momentum epsilon grad", {}, True, True),
    ("AddSign", "var m", "lr alpha sign_decay beta grad", {}, False, True),
    ("PowerSign", "var m", "lr logbase sign_decay beta grad", {}, False, True),
]
ROWS = [2, 0, 2]


def _values(seed, names, sizes, dtype):
    """Positive starting values; a mean gradient (mg) is kept small, so that ms - mg * mg stays positive."""
    random = np.random.RandomState(seed)
    return [(random.uniform(0.5, 1.0, sizes) * (0.1 if n == "mg" else 1.0)).astype(dtype) for n in names]


def _rule(tf, name, variables, inputs, attrs, resource, sparse, sizes, dtype, scalars):
    """The variables and the update op of one rule."""
    names = variables.split()
    made = [tf.Variable(v, use_resource=resource) for v in _values(3, names, sizes, dtype)]
    arguments = dict(zip(names, [v.handle if resource else v for v in made]), **attrs)
    for key in inputs.split():
        if key in ("grad", "delta"):
            shape = (len(ROWS),) + sizes[1:] if sparse else sizes
            gradient = np.random.RandomState(4).uniform(-0.2, 0.2, shape).astype(dtype)
            arguments["grad" if sparse else key] = tf.constant(gradient)
        else:
            arguments[key] = tf.constant(scalars[key], "int64" if key == "global_step" else dtype)
    if sparse:
        arguments["indices"] = tf.constant(ROWS)
    op_type = ("Resource" if resource else "") + ("SparseApply" if sparse else "Apply") + name
    return [made, getattr(tf.raw_ops, op_type)(**arguments)]


def _steps(tf, session, out, feed):
    """The variables after each of four updates."""
    made, update = out
    found = []
    for _ in range(4):
        session.run(update if update is not None and not hasattr(update, "op") else update.op)
        found.append(session.run(made))
    return found


def _add_rules():
    for name, variables, inputs, attrs, has_sparse, has_refs in RULES:
        for resource in (False, True) if has_refs else (True,):
            for sparse in (False, True) if has_sparse else (False,):
                _add_rule(name, variables, inputs, attrs, resource, sparse, (4, 3), "float32", SCALARS, "")
    for name, variables, inputs, attrs, has_sparse, _ in RULES:
        if has_sparse:
            _add_rule(name, variables, inputs, attrs, True, True, (4,), "float64", SCALARS, "_vector")
        if "l1" in inputs:
            _add_rule(name, variables, inputs, attrs, True, False, (4,), "float64", dict(SCALARS, l1=0.0), "_no_l1")
        if "lr_power" in inputs:
            _add_rule(name, variables, inputs, attrs, True, False, (4,), "float64", dict(SCALARS, lr_power=-0.3), "_power")


def _add_rule(name, variables, inputs, attrs, resource, sparse, sizes, dtype, scalars, suffix):
    label = "_".join(filter(None, ["resource" * resource, "sparse" * sparse, name] + sorted(attrs))) + suffix
    tolerance = ULPS if dtype == "float32" else {}
    case(label, lambda tf: _rule(tf, name, variables, inputs, attrs, resource, sparse, sizes, dtype, scalars), run=_steps, **tolerance)


_add_rules()


def _fetch(tf, session, out, feed):
    """The result of the update, then the variable."""
    return [session.run(out[1], feed), session.run(out[0])]


def both(name, build, start):
    """A case on a reference and one on a resource: build(tf, variable) gives the update."""
    for resource in (False, True):
        def pair(tf, resource=resource):
            v = tf.Variable(start, use_resource=resource)
            return [v, build(tf, v)]
        case(("resource_" if resource else "") + name, pair, run=_fetch)


INTS, FLOATS = np.arange(1, 9, dtype=np.int32).reshape(4, 2), np.arange(1, 9, dtype=np.float32).reshape(4, 2)
for _kind in ("update", "add", "sub", "mul", "div", "min", "max"):
    both("scatter_%s_twice" % _kind, lambda tf, v, k=_kind: getattr(tf, "scatter_" + k)(v, [1, 3, 1], [[2.0, 3.0], [3.0, -4.0], [4.0, 5.0]]), FLOATS)
    both("scatter_%s_scalar" % _kind, lambda tf, v, k=_kind: getattr(tf, "scatter_" + k)(v, [[0], [2]], 3), INTS)
both("scatter_div_negative", lambda tf, v: tf.scatter_div(v, [0, 0, 3], [[2, -2], [-3, 3], [5, -5]]), -INTS)
both("scatter_update_strings", lambda tf, v: tf.scatter_update(v, [1], ["x"]), ["a", "b"])
both("scatter_update_bool", lambda tf, v: tf.scatter_update(v, [1], [True]), [False, False])
both("scatter_nd_rows", lambda tf, v: tf.scatter_nd_add(v, [[1], [1]], [[1.0, 2.0], [3.0, 4.0]]), FLOATS)
both("scatter_nd_elements", lambda tf, v: tf.scatter_nd_sub(v, [[[1, 1], [0, 0]]], [[1.0, 2.0]]), FLOATS)
both("scatter_nd_update", lambda tf, v: tf.scatter_nd_update(v, [[3], [0]], [[1.0, 2.0], [3.0, 4.0]]), FLOATS)
both("count_up_to", lambda tf, v: tf.count_up_to(v, 5), 3)
both("assign_slice", lambda tf, v: v[1:3, 0].assign([7.0, 8.0]), FLOATS)
both("batch_scatter_update", lambda tf, v: v.batch_scatter_update(tf.IndexedSlices(tf.constant([[5.0], [6.0], [7.0], [8.0]]), tf.constant([[0], [1], [1], [0]]))), FLOATS)
case("assign_unknown_shape", lambda tf: _unknown(tf), run=_fetch)
case("resource_gather_gradient", lambda tf: _gather_gradient(tf))
case("destroyed", lambda tf: _destroyed(tf), run=lambda tf, s, out, feed: [s.run(out[1]), s.run(out[0]), s.run(out[1])])
case("temporary_variable", lambda tf: _temporary(tf))


def _unknown(tf):
    v = tf.Variable([1.0, 2.0], validate_shape=False)
    return [v, tf.assign(v, [[1.0], [2.0], [3.0]], validate_shape=False)]


def _gather_gradient(tf):
    v = tf.Variable(FLOATS, use_resource=True)
    slices = tf.gradients(tf.reduce_sum(v.sparse_read([[0, 2], [2, 1]]) * 2.0), [v.handle])[0]
    return [slices.values, slices.indices, slices.dense_shape]


def _destroyed(tf):
    v = tf.Variable(1.0, use_resource=True)
    return [tf.raw_ops.DestroyResourceOp(resource=v.handle), v.is_initialized()]


def _temporary(tf):
    ref = tf.raw_ops.TemporaryVariable(shape=[2], dtype=tf.float32, var_name="scratch")
    ref = tf.assign(ref, [1.0, 2.0])
    return tf.raw_ops.DestroyTemporaryVariable(ref=tf.assign_add(ref, [1.0, 1.0]), var_name="scratch")


def _run(tf, session, out, feed):
    return session.run(out)


def _late(tf, value):
    return tf.placeholder_with_default(value, None)


for _label, _resource in (("", False), ("resource_", True)):
    error_case(_label + "assign_add_late", lambda tf, r=_resource: tf.assign_add(tf.Variable([1.0, 2.0], use_resource=r), _late(tf, [1.0])))
    error_case(_label + "scatter_range", lambda tf, r=_resource: tf.scatter_add(tf.Variable([[1.0, 2.0]], use_resource=r), [[0, -1]], [[[1.0, 2.0], [3.0, 4.0]]]))
    error_case(_label + "scatter_nd_range", lambda tf, r=_resource: tf.scatter_nd_add(tf.Variable([1.0, 2.0], use_resource=r), [[2]], [1.0]))
    error_case(_label + "scatter_nd_late", lambda tf, r=_resource: tf.scatter_nd_add(tf.Variable([1.0, 2.0], use_resource=r), _late(tf, [[0]]), [1.0, 2.0]))
    error_case(_label + "count_at_limit", lambda tf, r=_resource: tf.count_up_to(tf.Variable(3, use_resource=r), 3))
    error_case(_label + "rule_range", lambda tf, r=_resource: _bad_rule(tf, r, [0, 9]), run=_run)
    error_case(_label + "rule_shape", lambda tf, r=_resource: _bad_rule(tf, r, [0]), run=_run)
error_case("scatter_late", lambda tf: tf.scatter_add(tf.Variable([[1.0, 2.0]]), [0], _late(tf, [[1.0]])))
error_case("assign_late", lambda tf: tf.assign(tf.Variable([1.0, 2.0]), _late(tf, [1.0])))
error_case("ftrl_rate", lambda tf: _rule(tf, "Ftrl", "var accum linear", "grad lr l1 l2 lr_power", {}, False, False, (4,), "float32", dict(SCALARS, lr=-1.0))[1])
error_case("rule_scalar", lambda tf: tf.raw_ops.ApplyGradientDescent(var=tf.Variable([1.0]), alpha=_late(tf, [0.1]), delta=[1.0]))
error_case("rule_dense_shape", lambda tf: tf.raw_ops.ApplyGradientDescent(var=tf.Variable([1.0]), alpha=0.1, delta=_late(tf, [1.0, 2.0])))


def _bad_rule(tf, resource, indices):
    var, accum = (tf.Variable(FLOATS, use_resource=resource) for _ in range(2))
    if resource:
        return tf.raw_ops.ResourceSparseApplyAdagrad(var=var.handle, accum=accum.handle, lr=0.1, grad=FLOATS[:2], indices=_late(tf, indices))
    return tf.raw_ops.SparseApplyAdagrad(var=var, accum=accum, lr=0.1, grad=FLOATS[:2], indices=_late(tf, indices))
