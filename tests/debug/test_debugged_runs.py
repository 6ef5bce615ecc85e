"""Debugged runs: they dump what the real program dumps of the same program, with its values."""

import os

import debugged_programs
import numpy as np
import pytest
from oracle import golden

import tfcompat as tf
from tfcompat._src.debug.debug_utils import watch_graph
from tfcompat._src.debug.dump_dir import DebugDumpDir
from tfcompat._src.debug.dump_files import InconvertibleTensorProto

GOLDEN = os.path.join(os.path.dirname(os.path.dirname(__file__)), "golden", "debug")


def debugged(program, folder):
    """The fetched values and the dump of a program's run, and what 1.15.5 recorded of it."""
    record = golden.unpack(golden.read(os.path.join(GOLDEN, program.__name__ + ".json.gz")))
    with tf.Graph().as_default() as graph:
        tf.set_random_seed(1)
        fetches, feeds, initializer = program(tf)
        options, metadata = tf.RunOptions(output_partition_graphs=True), tf.RunMetadata()
        watch_graph(options, graph, debug_urls=f"file://{folder}")
        with tf.Session() as sess:
            sess.run(initializer)
            fetched = sess.run(fetches, feeds, options=options, run_metadata=metadata)
    return fetched, DebugDumpDir(str(folder)), record


def close(found, value):
    if isinstance(value, str):
        assert isinstance(found, InconvertibleTensorProto)
        assert found.initialized == (value == "initialized")
    elif value.array.dtype == object:
        assert found.tolist() == value.array.tolist()
    else:
        assert found.dtype == value.array.dtype
        np.testing.assert_allclose(found, value.array, rtol=2e-6, atol=1e-7)


@pytest.mark.parametrize("program", debugged_programs.PROGRAMS, ids=lambda p: p.__name__)
def test_it_dumps_what_the_real_program_dumps(program, tmp_path):
    _, dump, record = debugged(program, tmp_path)
    expected = {}
    for key, _, _, value in record["answers"]["data"]:
        expected.setdefault(key, []).append(value)
    found = {}
    for datum in dump.dumped_tensor_data:
        found.setdefault(datum.watch_key, []).append(datum.get_tensor())
    assert {k: len(v) for k, v in found.items()} == {k: len(v) for k, v in expected.items()}
    for key, values in expected.items():
        for mine, value in zip(found[key], values, strict=True):
            close(mine, value)


@pytest.mark.parametrize("program", debugged_programs.PROGRAMS, ids=lambda p: p.__name__)
def test_its_graph_is_that_of_the_real_program(program, tmp_path):
    _, dump, record = debugged(program, tmp_path)
    said = record["answers"]
    nodes = sorted(dump.nodes())
    assert nodes == said["nodes"]
    assert [dump.node_op_type(n) for n in nodes] == said["op_types"]
    assert [dump.node_inputs(n) for n in nodes] == said["inputs"]
    assert [sorted(dump.node_inputs(n, is_control=True)) for n in nodes] == said["control_inputs"]
    assert dump.core_metadata[3:] == tuple(said["metadata"][3:])
