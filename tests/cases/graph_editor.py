"""tf.contrib.graph_editor: parts of graphs selected, copied, replaced, cut and connected."""

from cases.table import F32, Table

TABLE = Table("graph_editor")
case, error_case = TABLE.case, TABLE.error_case

STATIC = dict(partial=False, grad=False)


def chain(tf, x):
    """Three nodes and a control edge in the scope "a"."""
    with tf.name_scope("a"):
        y = tf.exp(x, name="exp")
        with tf.control_dependencies([y]):
            z = tf.square(x, name="square")
        return tf.add(y, z, name="sum")


def names(elements):
    """The names of operations or tensors as one string tensor's value."""
    return " ".join(e.name for e in elements)


def copied(tf, x, **options):
    ge = tf.contrib.graph_editor
    total = chain(tf, x)
    view, info = ge.copy_with_input_replacements(ge.sgv_scope("a", tf.get_default_graph()), {x: x + 1.0}, **options)
    return [total, info.transformed(total), view.outputs[0]]


case("copy_with_input_replacements", lambda tf, x: copied(tf, x, dst_scope="b", src_scope="a"), x=F32(2, 3), partial=False)
case("copy_in_one_scope", lambda tf, x: copied(tf, x), x=F32(2, 3), partial=False)
case("copy_twice", lambda tf, x: copied(tf, x, dst_scope="b") + copied(tf, x, dst_scope="b"), x=F32(2), partial=False)


def other_graph(tf, x):
    ge = tf.contrib.graph_editor
    chain(tf, x)
    graph = tf.Graph()
    view, info = ge.copy(ge.sgv("^a/", graph=tf.get_default_graph()), graph, "copy")
    with tf.Session(graph=graph) as session:
        placeholders = [op.outputs[0] for op in graph.get_operations() if op.type == "Placeholder"]
        value = session.run(view.outputs[0], {t: [[1.0, 2.0]] for t in placeholders})
    return [tf.constant(value), tf.constant(names(graph.get_operations())), tf.constant(names(view.inputs))]


case("copy_to_another_graph", other_graph, x=F32(1, 2), **STATIC)


def replaced(tf, x):
    y = tf.exp(x)
    z = tf.nn.relu(y) * tf.sin(x)
    return tf.contrib.graph_editor.graph_replace([z, y], {y: tf.cos(x)})


case("graph_replace", replaced, x=F32(3), partial=False)
case("graph_replace_dict", lambda tf, x: tf.contrib.graph_editor.graph_replace({"s": x * 2.0}, {x: tf.sin(x)}, "again")["s"], x=F32(3),
     partial=False)  # fmt: skip


def replaced_loop(tf, x):
    start = tf.identity(x)
    end = tf.while_loop(lambda i, v: i < 3, lambda i, v: (i + 1, v * start), (0, start))[1]
    return tf.contrib.graph_editor.graph_replace(end, {start: x + 1.0})


case("graph_replace_loop", replaced_loop, x=F32(3), **STATIC)
error_case("graph_replace_apart", lambda tf, x: tf.contrib.graph_editor.graph_replace(tf.exp(x), {tf.sin(x): x}), x=F32(3))


def rerouted(tf, x, function):
    a, b = tf.exp(x, name="a"), tf.sin(x, name="b")
    p, q = tf.square(a, name="p"), tf.negative(b, name="q")
    count = getattr(tf.contrib.graph_editor, function)(a, b)
    return [p, q, tf.constant(count)]


case("swap_ts", lambda tf, x: rerouted(tf, x, "swap_ts"), x=F32(3), partial=False)
case("reroute_ts", lambda tf, x: rerouted(tf, x, "reroute_ts"), x=F32(3), partial=False)
error_case("reroute_dtypes", lambda tf, x: tf.contrib.graph_editor.reroute_ts(x, tf.constant([1, 2, 3])), x=F32(3))
error_case("reroute_shapes", lambda tf, x: tf.contrib.graph_editor.swap_ts(x, tf.constant([1.0])), x=F32(3))


def views_swapped(tf, x, function):
    a = tf.exp(tf.sin(x, name="s"), name="a")
    b = tf.square(tf.cos(x, name="c"), name="b")
    first, second = tf.negative(a, name="na"), tf.abs(b, name="ab")
    getattr(tf.contrib.graph_editor, function)(a.op, b.op)
    return [first, second]


for _function in ("swap_inputs", "reroute_inputs", "swap_outputs", "reroute_outputs", "swap_ios", "reroute_ios"):
    case(_function, lambda tf, x, f=_function: views_swapped(tf, x, f), x=F32(3), partial=False)


def cut(tf, x, function):
    """The nodes after an edit; what is cut off is fed."""
    ge = tf.contrib.graph_editor
    y = chain(tf, x)
    z = tf.negative(y, name="after")
    found = getattr(ge, function)(ge.sgv_scope("a", tf.get_default_graph()))
    placeholders = [t for part in found[1:] for t in part]
    with tf.Session() as session:
        feed = {t: [5.0, 7.0, 9.0] for t in placeholders}
        feed[x] = [1.0, 2.0, 3.0]
        return [tf.constant(session.run(z, feed)), tf.constant(names(placeholders))]


for _function in ("detach", "detach_inputs", "detach_outputs", "bypass"):
    case(_function, lambda tf, x, f=_function: cut(tf, x, f), x=F32(3), **STATIC)


def connected(tf, x, **options):
    a, b = tf.exp(x, name="a"), tf.sin(x, name="b")
    after = tf.negative(a, name="after")
    c = tf.square(b, name="c")
    tf.contrib.graph_editor.connect(a.op, c.op, **options)
    return [c, tf.constant(" ".join(i.name for i in after.op.inputs))]


case("connect", lambda tf, x: connected(tf, x), x=F32(3), **STATIC)
case("connect_alone", lambda tf, x: connected(tf, x, disconnect_first=True), x=F32(3), **STATIC)


def controls(tf, x):
    ge = tf.contrib.graph_editor
    total = chain(tf, x)
    graph = total.graph
    square, exp = graph.get_operation_by_name("a/square"), graph.get_operation_by_name("a/exp")
    before = names(ge.ControlOutputs(graph).get(exp))
    ge.remove_control_inputs(square, exp)
    ge.add_control_inputs(exp, square)
    return [total, tf.constant(before), tf.constant(names(ge.ControlOutputs(graph).get(square)))]


case("control_inputs", controls, x=F32(3), **STATIC)
error_case("control_input_not_there", lambda tf, x: tf.contrib.graph_editor.remove_control_inputs(tf.exp(x).op, tf.sin(x).op), x=F32(3))


def selected(tf, x):
    ge = tf.contrib.graph_editor
    total = chain(tf, x)
    after = tf.negative(total, name="after")
    graph = total.graph
    exp = graph.get_operation_by_name("a/exp")
    control_ios = ge.ControlOutputs(graph)
    view = ge.sgv("a/sum", "(?#ts)after", graph=graph)
    found = [
        names(ge.select_ops("^a/s", graph=graph)),
        names(ge.select_ts("(?#ts)^a/.*:0$", after, graph=graph)),
        names(ge.get_name_scope_ops(graph, "a/")),
        names(sorted(ge.get_forward_walk_ops(exp), key=lambda op: op.name)),
        names(sorted(ge.get_forward_walk_ops(exp, inclusive=False, control_outputs=control_ios), key=lambda op: op.name)),
        names(sorted(ge.get_walks_intersection_ops(exp, total.op), key=lambda op: op.name)),
        names(sorted(ge.get_walks_union_ops([exp], [exp], control_ios=control_ios), key=lambda op: op.name)),
        names(ge.get_within_boundary_ops(graph, exp, [total.op, x.op], inclusive=False)),
        names(ge.get_ops_ios(exp, control_ios=control_ios)),
        " | ".join(names(part) for part in ge.compute_boundary_ts([exp, total.op])),
        " | ".join(names(part) for part in (view.ops, view.inputs, view.outputs, view.passthroughs, view.consumers())),
        names(view.remap_inputs([1]).inputs),
        names(view.remap([1, 0], [0, 0]).outputs),
        ge.placeholder_name(total) + ge.placeholder_name(total, "b") + ge.placeholder_name(scope="c"),
    ]
    return [tf.constant(text) for text in found]


case("selections", selected, x=F32(3), **STATIC)
