"""What a case does under TensorFlow 1.15 or tfcompat, as plain data; the recorder and the tests share it."""

import re

import numpy as np
from oracle import describe

VARIANTS = ("full", "batch", "dims", "rank")
GRADIENT_SCOPE = re.compile(r"^\^?(?:.*/)?gradients(?:_\d+)?(?:/|$)")
COLLECTIONS = (
    "variables",
    "trainable_variables",
    "local_variables",
    "regularization_losses",
    "losses",
    "update_ops",
    "moving_average_variables",
    "train_op",
    "model_variables",
    "queue_runners",
)


def variant_shape(shape, variant):
    """The static shape of a placeholder: everything known, the first dimension unknown, all, or even the rank."""
    if variant == "rank":
        return None
    if variant == "dims":
        return [None] * len(shape)
    return [None] + list(shape[1:]) if variant == "batch" and shape else list(shape)


def build(tf, case, variant="full"):
    """Makes the case's placeholders and outputs in the default graph: (placeholders, outputs, nodes before it)."""
    if case.seed is not None:
        tf.set_random_seed(case.seed)
    inputs = {
        key: tf.placeholder(
            tf.as_dtype("string" if array.dtype.kind in "SO" else array.dtype.name),
            variant_shape(array.shape, variant),
            name=key,
        )
        for key, array in case.arrays.items()
    }
    start = len(tf.get_default_graph().get_operations())
    return inputs, case.build(tf, **inputs), start


def is_tensor(tf, leaf):
    """Whether a leaf of the outputs can be fetched for a value."""
    return isinstance(leaf, (tf.Tensor, tf.Variable)) or hasattr(leaf, "_as_graph_element")


def flat_outputs(tf, outputs):
    """(path, tensor) for every tensor in the outputs, with IndexedSlices and SparseTensors taken apart."""
    result = []
    for path, leaf in describe.leaves(outputs):
        if isinstance(leaf, tf.SparseTensor):
            parts = [("indices", leaf.indices), ("values", leaf.values), ("dense_shape", leaf.dense_shape)]
            result += [(path + "." + key, part) for key, part in parts]
        elif isinstance(leaf, tf.IndexedSlices):
            result += [(path + "." + key, part) for key, part in (("indices", leaf.indices), ("values", leaf.values))]
        elif is_tensor(tf, leaf) and not isinstance(leaf, tf.Operation):
            result.append((path, leaf))
    return result


def _plain(tf, leaf):
    if isinstance(leaf, tf.Operation):
        return "Operation " + leaf.name
    text = str(leaf)
    return type(leaf).__name__ if " object at 0x" in text else text


def plain_outputs(tf, outputs):
    """(path, text) for the leaves that are no tensors: names of operations, Python values, static shapes."""
    known = (tf.SparseTensor, tf.IndexedSlices)
    return [
        [path, _plain(tf, leaf)]
        for path, leaf in describe.leaves(outputs)
        if isinstance(leaf, tf.Operation) or not (isinstance(leaf, known) or is_tensor(tf, leaf))
    ]


def node_list(graph, start):
    """The nodes of the case; those of tf.gradients are left out, and references to them name the scope only."""
    result = []
    for node in describe.nodes(graph, start):
        if GRADIENT_SCOPE.match(node["name"]):
            continue
        node["inputs"] = ["gradients/*" if GRADIENT_SCOPE.match(i) else i for i in node["inputs"]]
        result.append(node)
    return result


def collections(tf):
    """Names in the well-known collections of the default graph."""
    found = {key: [getattr(item, "name", str(item)) for item in tf.get_collection(key)] for key in COLLECTIONS}
    return {key: names for key, names in found.items() if names}


def static_shapes(tf, case):
    """Static shapes of the outputs with less and less known of the inputs, or the exception that building raised."""
    result = {}
    for variant in VARIANTS[1:] if case.partial and case.arrays else ():
        with tf.Graph().as_default():
            try:
                outputs = build(tf, case, variant)[1]
            except Exception as error:  # noqa: BLE001
                result[variant] = describe.exception(error)["error"]
                continue
            result[variant] = [describe.static_shape(t) for _, t in flat_outputs(tf, outputs)]
    return result


def weights(case, index, shape):
    """The fixed cotangent of one output."""
    seed = np.random.RandomState((len(case.id) * 7919 + index) & 0x7FFFFFFF)
    return seed.uniform(0.5, 1.5, shape)


def gradient_tensors(tf, case, inputs, outputs, shapes):
    """(name, gradient) for every float input and trainable variable, with fixed weights on the float outputs."""
    floats = [(i, t) for i, (_, t) in enumerate(flat_outputs(tf, outputs)) if t.dtype.is_floating or t.dtype.is_complex]
    sources = [(key, inputs[key]) for key in case.float_inputs()] + [(v.name, v) for v in tf.trainable_variables()]
    if not (case.grad and floats and sources):
        return []
    grad_ys = [tf.constant(weights(case, i, shapes[i]).astype(t.dtype.base_dtype.as_numpy_dtype)) for i, t in floats]
    ys = [tf.convert_to_tensor(t) for _, t in floats]
    grads = tf.gradients(ys, [source for _, source in sources], grad_ys)
    return [(key, grad) for (key, _), grad in zip(sources, grads)]


def dense_gradient(kind, fetched, shape):
    """A fetched gradient as an array; the rows of IndexedSlices are added up in shape."""
    if kind != "IndexedSlices":
        return fetched
    values, indices = fetched
    total = np.zeros(shape, values.dtype)
    np.add.at(total, indices, values)
    return total


def gradient_kind(grad):
    """How tf.gradients returned a gradient: None, Tensor or IndexedSlices."""
    return None if grad is None else "IndexedSlices" if hasattr(grad, "indices") else "Tensor"


def gradient_fetch(grad):
    """What to fetch for one gradient."""
    return [grad.values, grad.indices] if hasattr(grad, "indices") else grad


def initialise(tf, session):
    """Runs the initializers that the graph has."""
    if tf.global_variables():
        session.run(tf.global_variables_initializer())
    if tf.local_variables():
        session.run(tf.local_variables_initializer())


def feed_for(case, inputs):
    """The feed dictionary."""
    return {inputs[key]: array for key, array in case.arrays.items()}


def eager_results(tf, case):
    """Values of a case in eager mode as (path, value), and (name, kind, gradient) for each float input."""
    inputs = {key: tf.constant(array) for key, array in case.arrays.items()}
    sources = [(key, inputs[key]) for key in case.float_inputs()] if case.grad else []
    with tf.GradientTape(persistent=True) as tape:
        for _, source in sources:
            tape.watch(source)
        outputs = flat_outputs(tf, case.build(tf, **inputs))
    values = [(path, tensor.numpy()) for path, tensor in outputs]
    floats = [(i, t) for i, (_, t) in enumerate(outputs) if t.dtype.is_floating or t.dtype.is_complex]
    if not (floats and sources):
        return values, []
    ys = [tf.convert_to_tensor(t) for _, t in floats]
    grad_ys = [tf.constant(weights(case, i, y.shape.as_list()).astype(y.dtype.as_numpy_dtype)) for (i, _), y in zip(floats, ys)]
    grads = tape.gradient(ys, [source for _, source in sources], grad_ys)
    found = []
    for (key, source), grad in zip(sources, grads):
        kind = gradient_kind(grad)
        parts = grad.numpy() if kind == "Tensor" else kind and (grad.values.numpy(), grad.indices.numpy())
        found.append((key, kind, None if grad is None else dense_gradient(kind, parts, source.shape.as_list())))
    return values, found
