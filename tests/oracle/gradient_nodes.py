"""The nodes that tf.gradients adds for a row of the case tables; the recorder and the test share it."""

from cases import observe

from oracle import describe

WAYS = (("full", False), ("full", True), ("dims", False))
TOO_MANY = 1500
KEPT_IN_ORDER = 8


def compact(node):
    """A node as a list: name, type, inputs, static shapes, attributes that are not its inputs' types, device.

    1.15 keeps the edges into a node that has more than eight in the order of addresses, which a run does not repeat.
    """
    data = [name for name in node["inputs"] if not name.startswith("^")]
    control = [name for name in node["inputs"] if name.startswith("^")]
    if len(node["inputs"]) > KEPT_IN_ORDER:
        control.sort()
    return [node["name"], node["op"], data + control, node["shapes"], node["attrs"], node["device"]]


def added(tf, case, variant, gate):
    """What tf.gradients adds to the row's graph, and what it gives; None for a row that it says nothing of."""
    with tf.Graph().as_default() as graph:
        inputs, outputs, _ = observe.build(tf, case, variant)
        ys = [tf.convert_to_tensor(t) for _, t in observe.flat_outputs(tf, outputs) if t.dtype.is_floating or t.dtype.is_complex]
        xs = [inputs[key] for key in case.float_inputs()] + list(tf.trainable_variables())
        start = len(graph.get_operations())
        if not (ys and xs) or start > TOO_MANY:
            return None
        given = [tf.ones_like(y) if y.dtype.is_complex else None for y in ys]
        start = len(graph.get_operations())
        grads = tf.gradients(ys, xs, given, gate_gradients=gate)
        found = [[g.values.name, g.indices.name] if hasattr(g, "indices") else g.name if g is not None else None for g in grads]
        return {"nodes": [compact(n) for n in describe.nodes(graph, start)], "gradients": found}


def entry(tf, case):
    """`added` in every way of asking, or the class of the exception that it raises; None where there is nothing to compare."""
    found = {}
    for variant, gate in WAYS:
        try:
            found[variant + (" gated" if gate else "")] = added(tf, case, variant, gate)
        except Exception as error:  # noqa: BLE001
            found[variant + (" gated" if gate else "")] = describe.exception(error)["error"]
    return found if any(isinstance(value, dict) for value in found.values()) else None
