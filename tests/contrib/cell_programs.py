"""Neural Turing machines, names of what cuDNN layers save, loops of tf.contrib.tpu, probes of hashes by hyperplanes, rows that are scaled by a norm."""

import importlib

import numpy as np


def run(tf, *fetches):
    with tf.Session() as session:
        session.run([tf.global_variables_initializer(), tf.tables_initializer()])
        return session.run(list(fetches))


def turing_machine(tf, folder):
    """Outputs and last state over five steps, with gradients, of a cell whose variables count upwards."""
    module = importlib.import_module("tensorflow.contrib.rnn.python.ops.rnn_cell")
    found = []
    for reads, writes, shift in ((1, 1, 1), (2, 1, 2)):
        with tf.Graph().as_default():
            cell = module.NTMCell(tf.nn.rnn_cell.BasicRNNCell(3), 6, 4, reads, writes, shift, output_dim=2)
            inputs = tf.constant(np.sin(np.arange(30, dtype=np.float32)).reshape(5, 2, 3))
            state, outputs = cell.zero_state(2, tf.float32), []
            for step in range(5):
                output, state = cell(inputs[step], state)
                outputs.append(output)
            variables = tf.trainable_variables()
            starts = [v.assign(np.cos(np.arange(np.prod(v.shape.as_list()))).reshape(v.shape.as_list()) / 2) for v in variables]
            gradients = tf.gradients(tf.add_n(outputs), variables)
            with tf.Session() as session:
                session.run(tf.global_variables_initializer())
                session.run(starts)
                values = session.run([tf.stack(outputs), state.M, state.w_list, gradients[0]])
            found.append({"names": [[v.name, v.shape.as_list()] for v in variables], "values": values[:2] + values[2] + values[3:]})
    return found


def saved_names(tf, folder):
    """What a Saver writes of cuDNN layers, by name."""
    kit, found = tf.contrib.cudnn_rnn, []
    for make, count, direction in (
        (kit.CudnnLSTM, 2, "unidirectional"), (kit.CudnnLSTM, 1, "bidirectional"), (kit.CudnnGRU, 2, "unidirectional"),
        (kit.CudnnGRU, 1, "bidirectional"), (kit.CudnnRNNTanh, 1, "unidirectional"), (kit.CudnnRNNRelu, 2, "bidirectional"),
    ):  # fmt: skip
        with tf.Graph().as_default(), tf.variable_scope("outer"):
            layer = make(count, 3, direction=direction)
            layer(tf.zeros([2, 1, 4]))
            saved = tf.get_collection(tf.GraphKeys.SAVEABLE_OBJECTS)
            found.append([layer.saveable.name, [spec.name for spec in layer.saveable.specs], saved == [layer.saveable]])
    return found


def tpu_loops(tf, folder):
    tpu = tf.contrib.tpu
    pair = tpu.repeat(5, lambda a, b: (a + 1, b * 2), [tf.constant(1), tf.constant(1.5)])
    last = tpu.while_loop(lambda i: i < 7, lambda i: i + 2, [tf.constant(0)])
    counter = tf.get_variable("counter", [], use_resource=True, initializer=tf.zeros_initializer())
    steps = tpu.repeat(3, lambda: [counter.assign_add(2.0).op])
    with tf.control_dependencies([steps]):
        counted = counter.read_value()
    refused = []
    for arguments in (
        (lambda i, j: True, lambda i: i, [1]), (lambda i: True, lambda i, j: i, [1]), (lambda i: i < 1, lambda i: 1.5, [1]),
        (lambda i: i < 1, lambda i: (tf.no_op(), i), [1]),
    ):  # fmt: skip
        try:
            tpu.while_loop(*arguments)
        except (TypeError, ValueError) as error:
            refused.append(type(error).__name__)
    return {"values": run(tf, *pair, last, counted), "refused": refused}


def hash_probes(tf, folder):
    probes = importlib.import_module("tensorflow.contrib.nearest_neighbor").hyperplane_lsh_probes
    numbers, found = np.random.RandomState(0), []
    for tables, planes, count in ((2, 3, 2), (2, 3, 16), (3, 4, 20), (1, 5, 32), (4, 2, 9)):
        for dtype in (np.float32, np.float64):
            products = numbers.randn(5, tables * planes).astype(dtype)
            found += run(tf, *probes(tf.constant(products), tables, planes, count))
    refused = []
    for arguments in ((0, 3, 2), (2, 31, 2), (2, 3, 0), (2, 2, 1), (1, 2, 5)):
        try:
            run(tf, *probes(tf.ones([1, 2]), *arguments))
        except tf.errors.OpError as error:
            refused.append(type(error).__name__)
    return {"found": found, "refused": refused}


def clipped_rows(tf, folder):
    """An update by rows of words that a table finds, scaled by the norm of all of them."""
    embeddings = tf.get_variable("embeddings", [3, 8], initializer=tf.ones_initializer())
    table = tf.contrib.lookup.index_table_from_tensor(["x", "y", "z"])
    rows, places = tf.unique(table.lookup(tf.constant(["x", "x", "x", "x", "y", "x", "x", "y"])))
    picked = tf.gather(tf.gather(embeddings, rows), places)
    (gradient,) = tf.gradients(tf.reduce_sum(picked * picked), [embeddings])
    (clipped,), norm = tf.clip_by_global_norm([gradient], 0.3)
    return run(tf, tf.scatter_sub(embeddings, clipped.indices, clipped.values * 0.1), norm)


PROGRAMS = {
    "turing_machine": turing_machine, "saved_names": saved_names, "tpu_loops": tpu_loops, "hash_probes": hash_probes, "clipped_rows": clipped_rows,
}  # fmt: skip
