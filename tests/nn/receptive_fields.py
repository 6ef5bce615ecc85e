"""Networks with branches, paddings and windows of every kind, and what is found out about them; imports under both Pythons."""

LAYERS = ("Conv2D", "Relu", "Pad", "MaxPool", "AvgPool", "MaxPoolV2", "DepthwiseConv2dNative")


def branches(tf, slim, x):
    left = slim.conv2d(x, 1, [1, 1], stride=4, scope="L1", padding="VALID")
    right = tf.pad(x, [[0, 0], [1, 0], [1, 0], [0, 0]])
    right = slim.conv2d(right, 1, [3, 3], stride=2, scope="L2", padding="VALID")
    right = slim.conv2d(right, 1, [1, 1], stride=2, scope="L3", padding="VALID")
    return tf.nn.relu(left + right, name="output")


def pools(tf, slim, x):
    return tf.nn.relu6(slim.avg_pool2d(slim.conv2d(x, 1, [5, 3], stride=2, scope="A", padding="SAME"), [2, 2], scope="P"), name="output")


def unaligned_strides(tf, slim, x):
    left = slim.conv2d(tf.pad(x, [[0, 0], [2, 1], [2, 1], [0, 0]]), 1, [5, 5], stride=2, scope="L1", padding="VALID")
    return tf.nn.relu(left + slim.conv2d(x, 1, [3, 3], scope="L2", padding="VALID"), name="output")


def unknown_padding(tf, slim, x):
    left = slim.conv2d(x, 1, [1, 1], stride=4, scope="L1", padding="VALID")
    right = slim.conv2d(x, 1, [3, 3], stride=2, scope="L2", padding="SAME")
    return tf.nn.relu(left + slim.conv2d(right, 1, [1, 1], stride=2, scope="L3", padding="VALID"), name="output")


def oblong(tf, slim, x):
    x = slim.conv2d(x, 1, [3, 5], stride=2, scope="L1", padding="VALID")
    return tf.nn.relu(slim.conv2d(x, 1, [3, 1], stride=2, scope="L2", padding="VALID"), name="output")


def newer_pool(tf, slim, x):
    x = tf.raw_ops.MaxPoolV2(input=x, ksize=[1, 3, 2, 1], strides=[1, 2, 1, 1], padding="SAME", name="pool")
    return tf.nn.relu(tf.nn.depthwise_conv2d(x, tf.get_variable("w", [3, 3, 1, 1]), [1, 1, 1, 1], "SAME"), name="output")


def dropped(tf, slim, x):
    return tf.nn.relu(x + slim.dropout(slim.conv2d(x, 1, [3, 3], scope="L1")), name="output")


def unknown_layer(tf, slim, x):
    return tf.nn.softmax(x, name="output")


NETWORKS = (branches, pools, unaligned_strides, unknown_padding, oblong, newer_pool, dropped, unknown_layer)
OPTIONS = {
    "plain": {},
    "sized": {"input_resolution": [224, 223]},
    "stopped": {"stop_propagation": ["L2"]},
    "stopped_early": {"stop_propagation": ["L", "Dropout"]},
}


def _number(value):
    return None if value is None else float(value)


def outcome(tf, api, network, options):
    """The numbers of the receptive field, or the error, and the order and sizes of layers."""
    with tf.Graph().as_default() as graph:
        network(tf, tf.contrib.slim, tf.placeholder(tf.float32, (None, None, None, 1), name="image"))
    try:
        field = [_number(v) for v in api.compute_receptive_field_from_graph_def(graph.as_graph_def(), "image", "output", **options)]
    except ValueError as e:
        field = str(e)
    infos, _ = api.get_compute_order(graph.as_graph_def(), "image", options.get("input_resolution"))
    return [field, sorted([n, i.order, i.input_size, i.output_size] for n, i in infos.items() if i.node.op in LAYERS)]


def outcomes(tf, api):
    """Everything, by network and options."""
    return {n.__name__ + "/" + key: outcome(tf, api, n, options) for n in NETWORKS for key, options in OPTIONS.items()}
