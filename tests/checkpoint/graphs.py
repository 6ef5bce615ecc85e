"""Graphs with savers, built with either program (`tf`), and their nodes as data."""

import re

V1 = 1
SAVERS = {
    "default": {},
    "sharded": {"sharded": True},
    "version 1": {"write_version": V1},
    "version 1, sharded": {"write_version": V1, "sharded": True},
    "reshape": {"reshape": True},
    "restore_sequentially": {"restore_sequentially": True},
    "named": {"filename": "file", "name": "abc", "max_to_keep": 2, "keep_checkpoint_every_n_hours": 1.5},
}


def build_saver(tf, name):
    """A Saver of variables of all kinds on two devices."""
    with tf.device("/job:ps/task:1"):
        tf.get_variable("a", [3, 2])
    tf.get_variable("r", [2], use_resource=True)
    tf.get_variable("p", [4, 2], partitioner=tf.fixed_size_partitioner(2))
    tf.get_variable("q", [4, 2], partitioner=tf.fixed_size_partitioner(2), use_resource=True)
    return tf.train.Saver(**SAVERS[name])


def build_objects(tf):
    """A Checkpoint of two variables and the optimizer that changes them."""
    v, w = tf.get_variable("v", [3], use_resource=True), tf.get_variable("w", [2])
    optimizer = tf.train.AdamOptimizer(0.1)
    loss = tf.reduce_sum(v * v) + tf.reduce_sum(w * w)
    return tf.train.Checkpoint(v=v, w=w, optimizer=optimizer), optimizer.minimize(loss), loss


def nodes(tf, graph):
    """[name, op, inputs, device, colocation groups, constant where it is no float] of all nodes, without what is random."""
    found = []
    for node in graph.as_graph_def().node:
        text = ""
        if node.op == "Const" and not tf.as_dtype(node.attr["dtype"].type).is_floating:
            text = re.sub("[0-9a-f]{32}", "UUID", str(tf.make_ndarray(node.attr["value"].tensor).tolist()))
        groups = [g.decode() for g in node.attr["_class"].list.s]
        found.append([node.name, node.op, list(node.input), node.device, groups, text])
    return found


def saver_def(saver):
    """The fields of a SaverDef."""
    found = saver.as_saver_def()
    names = ("filename_tensor_name", "save_tensor_name", "restore_op_name", "max_to_keep", "sharded", "version")
    return [getattr(found, n) for n in names] + [round(found.keep_checkpoint_every_n_hours, 3)]
