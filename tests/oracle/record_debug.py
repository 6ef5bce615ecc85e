"""Writes what the real debugger dumps of tests/debug/debugged_programs.py, and what it says of its dumps, into tests/golden/debug/.

.venv-tf1/bin/python tests/oracle/record_debug.py
"""

import os
import shutil
import sys
import tempfile

os.environ["CUDA_VISIBLE_DEVICES"] = ""
TESTS = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path[:0] = [TESTS, os.path.join(TESTS, "debug")]

import debugged_programs  # noqa: E402
import tensorflow as tf  # noqa: E402
from tensorflow.core.protobuf import rewriter_config_pb2  # noqa: E402
from tensorflow.python import debug as tf_debug  # noqa: E402
from tensorflow.python.debug.lib import debug_data  # noqa: E402

from oracle import golden  # noqa: E402

REWRITES = rewriter_config_pb2.RewriterConfig(disable_model_pruning=True, disable_meta_optimizer=True)
CONFIG = tf.ConfigProto(graph_options=tf.GraphOptions(
    rewrite_options=REWRITES, optimizer_options=tf.OptimizerOptions(opt_level=tf.OptimizerOptions.L0)))


def files_of(root):
    """The files below a folder: path -> bytes."""
    found = {}
    for folder, _, names in os.walk(root):
        for name in names:
            path = os.path.join(folder, name)
            with open(path, "rb") as file:
                found[os.path.relpath(path, root)] = file.read()
    return found


def value_of(datum):
    value = datum.get_tensor()
    if isinstance(value, debug_data.InconvertibleTensorProto):
        return "initialized" if value.initialized else "uninitialized"
    return value


def answers(dump):
    """What a DebugDumpDir says."""
    nodes = sorted(dump.nodes())
    last = dump.dumped_tensor_data[-1].node_name
    return {
        "size": dump.size, "devices": dump.devices(), "nodes": nodes, "metadata": list(dump.core_metadata),
        "data": [[d.watch_key, d.timestamp - dump.t0, d.dump_size_bytes, value_of(d)] for d in dump.dumped_tensor_data],
        "op_types": [dump.node_op_type(n) for n in nodes],
        "inputs": [dump.node_inputs(n) for n in nodes],
        "control_inputs": [sorted(dump.node_inputs(n, is_control=True)) for n in nodes],
        "recipients": [sorted(dump.node_recipients(n)) for n in nodes],
        "control_recipients": [sorted(dump.node_recipients(n, is_control=True)) for n in nodes],
        "transitive": [sorted(set(dump.transitive_inputs(n))) for n in nodes],
        "watch_keys": [sorted(dump.debug_watch_keys(n)) for n in nodes],
        "paths_to_last": [len(dump.find_some_path(n, last) or []) for n in nodes],
        "last": last,
    }


def record(program):
    tf.reset_default_graph()
    tf.set_random_seed(1)
    folder = tempfile.mkdtemp()
    fetches, feeds, initializer = program(tf)
    options, metadata = tf.RunOptions(output_partition_graphs=True), tf.RunMetadata()
    tf_debug.watch_graph(options, tf.get_default_graph(), debug_urls="file://" + folder)
    with tf.Session(config=CONFIG) as sess:
        sess.run(initializer)
        fetched = sess.run(fetches, feeds, options=options, run_metadata=metadata)
    found = {"files": files_of(folder), "answers": answers(tf_debug.DebugDumpDir(folder)), "fetched": fetched}
    shutil.rmtree(folder)
    return found


if __name__ == "__main__":
    for each in debugged_programs.PROGRAMS:
        path = os.path.join(TESTS, "golden", "debug", each.__name__ + ".json.gz")
        golden.write(path, record(each))
        print("%-28s %7d bytes" % (each.__name__, os.path.getsize(path)))
