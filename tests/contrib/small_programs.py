"""Small packages and names of tf.contrib."""

import functools
import importlib
import os

import numpy as np


def run(tf, *fetches):
    with tf.Session() as session:
        session.run([tf.global_variables_initializer(), tf.local_variables_initializer()])
        return session.run(list(fetches))


def quantization(tf, folder):
    kit = tf.contrib.quantization
    x = tf.constant(np.linspace(-3, 7, 12, dtype=np.float32).reshape(3, 4))
    found = [kit.quantize_v2(x, -4.0, 8.0, tf.quint8, mode, "HALF_AWAY_FROM_ZERO") for mode in ("MIN_FIRST", "MIN_COMBINED", "SCALED")]
    joined = kit.quantized_concat(0, [found[0][0]] * 2, [found[0][1]] * 2, [found[0][2]] * 2)
    numbers = [tf.cast(each[0], tf.int32) for each in (*found, joined)]
    return run(tf, *numbers, kit.dequantize(*found[0], mode="MIN_FIRST"), kit.quantized_array_ops.dequantize(*found[1]))


# ---- checkpoints ----


def split(tf, folder):
    """Two objects whose values are the halves of one variable, written by one program and read by another."""
    values = []
    for start in ([1.0, 2.0, 3.0, 4.0], [0.0] * 4):
        with tf.Graph().as_default(), tf.Session() as session:
            whole = tf.Variable(start, name="whole")

            def fill(buffer, whole=whole):
                buffer.update(zip(("first", "second"), tf.split(whole, 2)))

            def consume(buffer, whole=whole):
                return whole.assign(tf.concat([buffer["first"], buffer["second"]], 0))

            parts = tf.contrib.checkpoint.split_dependency(("first", "second"), (tf.float32,) * 2, fill, consume, device="")
            holder = tf.train.Checkpoint(a=parts["first"], b=parts["second"])
            session.run(whole.initializer)
            path = os.path.join(folder, "saved")
            if start[0]:
                path = holder.save(path, session)
                values.append(sorted(name for name, _ in tf.train.list_variables(path)))
            else:
                holder.restore(path + "-1").run_restore_ops(session)
                values.append(session.run(whole))
    return values


def picture(tf, folder):
    with tf.Graph().as_default(), tf.Session() as session:
        dense = tf.keras.layers.Dense(2, name="dense")
        optimizer = tf.train.AdamOptimizer()
        train = optimizer.minimize(tf.reduce_sum(dense(tf.ones([1, 3]))))
        holder = tf.train.Checkpoint(dense=dense, optimizer=optimizer, number=tf.Variable(1, name="n"))
        session.run(tf.global_variables_initializer())
        session.run(train)
        path = holder.save(os.path.join(folder, "saved"), session)
    return tf.contrib.checkpoint.dot_graph_from_checkpoint(path).split("\n")


def picture_of_a_saver(tf, folder):
    tf.get_variable("v", [2])
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        path = tf.train.Saver().save(session, os.path.join(folder, "saved"))
    return tf.contrib.checkpoint.dot_graph_from_checkpoint(path)


# ---- zeros ----


def zeros(use_resource, twice, tf, folder):
    v = tf.get_variable("v", [2, 3], tf.int32 if twice else tf.float32, use_resource=use_resource)
    made = tf.contrib.framework.zero_initializer(v)
    with tf.Session() as session:
        for _ in range(1 + twice):
            session.run(made.op if hasattr(made, "op") else made)
        return session.run(v)


# ---- metric learning ----


def clusters(refined, tf, folder):
    """1.15 asks for scikit-learn also where it measures with "const"."""
    module = importlib.import_module("tensorflow.contrib.losses.python.metric_learning.metric_loss_ops")
    module.HAS_SKLEARN = True
    random = np.random.RandomState(3)
    labels = np.array([0, 1, 2, 3] * 4)
    points = random.normal(size=(16, 3)).astype(np.float32) + 2 * np.eye(4, 3, dtype=np.float32)[labels]
    embeddings = tf.constant(points)
    loss = tf.contrib.losses.metric_learning.cluster_loss(tf.constant(labels[:, None]), embeddings, 2.0, refined, "const")
    distances, classes = module.pairwise_distance(embeddings), tf.constant(labels)
    medoids = module.compute_augmented_facility_locations(distances, classes, tf.range(16), 2.0, "const")
    more = [
        medoids, module.compute_augmented_facility_locations_pam(distances, classes, 2.0, "const", medoids, 2),
        module.get_cluster_assignment(distances, [3, 8, 1, 2]), module.compute_facility_energy(distances, [3, 8]),
        module.compute_gt_cluster_score(distances, classes), module.compute_clustering_score(classes, classes, "const"),
    ]  # fmt: skip
    return run(tf, loss, tf.gradients(loss, embeddings)[0], *more)


def unknown_margin(tf, folder):
    importlib.import_module("tensorflow.contrib.losses.python.metric_learning.metric_loss_ops").HAS_SKLEARN = True
    return run(tf, tf.contrib.losses.metric_learning.cluster_loss(tf.constant([[0], [1]]), tf.ones([2, 3]), 1.0, margin_type="other"))


PROGRAMS = {f.__name__: f for f in (quantization, split, picture, picture_of_a_saver, unknown_margin)}
PROGRAMS.update({"zeros_%s" % ("resource" if kind else "reference"): functools.partial(zeros, kind, False) for kind in (False, True)})
PROGRAMS.update({"zeros_twice_%s" % ("resource" if kind else "reference"): functools.partial(zeros, kind, True) for kind in (False, True)})
PROGRAMS.update({"clusters_%s" % ("refined" if refined else "greedy"): functools.partial(clusters, refined) for refined in (False, True)})
