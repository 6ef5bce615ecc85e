"""tf.xla.experimental.compile: nodes, names, values."""

from cases.table import F32, Table

TABLE = Table("xla")
case, error_case = TABLE.case, TABLE.error_case


def compiled(tf, computation, inputs=None):
    return tf.xla.experimental.compile(computation, inputs)


def with_variable(tf):
    x = tf.get_variable("x", [], use_resource=True, initializer=tf.zeros_initializer())
    return compiled(tf, lambda: (x.assign_add(1.0), tf.no_op(name="done")))


def initialized(tf, session, outputs, feed):
    session.run(tf.global_variables_initializer())
    return [session.run(outputs, feed), session.run(outputs, feed)]


case("one", lambda tf, x: compiled(tf, lambda a, b: a + b, [x, 2.0]), grad=False, partial=False, x=F32(3))
case("structure", lambda tf, x: compiled(tf, lambda p: (p["a"], [p["b"], 3]), [{"a": x, "b": 2.0}]), grad=False, partial=False, x=F32(3))
case("dict", lambda tf, x: compiled(tf, lambda a: {"sum": tf.reduce_sum(a)}, [x]), grad=False, partial=False, x=F32(3))
case("operation_after", lambda tf, x: compiled(tf, lambda a: (tf.sin(a), tf.no_op(name="x")), [x]), grad=False, partial=False, x=F32(3))
case("variable", with_variable, run=initialized)
case("outside", lambda tf, x: compiled(tf, lambda: tf.stack([x, 1.0 + tf.exp(x)])), grad=False, partial=False, x=F32(3))
error_case("not_a_list", lambda tf, x: compiled(tf, lambda a: a, x), x=F32(3))
error_case("operation_first", lambda tf, x: compiled(tf, lambda a: (tf.no_op(), a), [x]), x=F32(3))
error_case("operation_inside", lambda tf, x: compiled(tf, lambda a: {"a": tf.no_op()}, [x]), x=F32(3))
error_case("no_tensor", lambda tf, x: compiled(tf, lambda a: [object()], [x]), x=F32(3))
error_case("gradient", lambda tf, x: tf.gradients(compiled(tf, lambda a: a * a, [x]), x), x=F32(3))
error_case("inner_fetched", lambda tf, x: [compiled(tf, tf.sin, [x]), tf.get_default_graph().get_tensor_by_name("Sin:0")][1], x=F32(3))
