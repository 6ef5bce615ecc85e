"""Disks and files that fail: a debugged run says so by name, and the session goes on."""

import errno
import os
import resource

import children
import numpy as np
import pytest

import tfcompat as tf
from tfcompat._src.base import errors
from tfcompat._src.debug.dump_dir import DebugDumpDir
from tfcompat._src.debug.dumping_wrapper import DumpingDebugWrapperSession
from tfcompat._src.io import debug_files

KILLED = """
import os, signal, sys
import numpy as np, tfcompat as tf
from tfcompat._src.debug.dumping_wrapper import DumpingDebugWrapperSession
x = tf.constant(np.ones(3, np.float32), name="x")
end = tf.py_func(lambda a: os.kill(os.getpid(), signal.SIGKILL), [tf.add(x, x, name="twice")], tf.float32, name="end")
with tf.Session() as sess:
    DumpingDebugWrapperSession(sess, sys.argv[1]).run(end)
"""


@pytest.fixture
def doubled():
    """x + x for 100,000 numbers: the fetch, the feeds, a session."""
    with tf.Graph().as_default(), tf.Session() as sess:
        x = tf.placeholder(tf.float32, [100_000], "x")
        yield tf.add(x, x, name="twice"), {x: np.ones(100_000, np.float32)}, sess


def runs(root):
    return sorted(root.iterdir(), key=lambda path: int(path.name.rpartition("_")[2]))


def test_a_full_disk(doubled, tmp_path):
    """A limit of the size of files is what a full disk is here. No part of a file is left, and the next run is complete.

    1.15.5 leaves files that are cut off, and says nothing.
    """
    fetch, feeds, sess = doubled
    wrapped = DumpingDebugWrapperSession(sess, str(tmp_path))
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, hard))
    try:
        found = wrapped.run(fetch, feeds)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert isinstance(found, errors.InternalError)
    assert "_arg_x_0_0_0_DebugIdentity_" in found.message and found.message.endswith(os.strerror(errno.EFBIG))
    np.testing.assert_array_equal(wrapped.run(fetch, feeds)[:2], [2, 2])
    first, second = (DebugDumpDir(str(run)) for run in runs(tmp_path))
    assert first.size == 0
    assert sorted(datum.node_name for datum in second.dumped_tensor_data) == ["_arg_x_0_0", "twice"]


def test_the_limit_of_bytes_holds_for_all_runs(doubled, tmp_path, monkeypatch):
    """A run dumps 800,000 bytes."""
    fetch, feeds, sess = doubled
    monkeypatch.setenv("TFDBG_DISK_BYTES_LIMIT", "1300000")
    wrapped = DumpingDebugWrapperSession(sess, str(tmp_path))
    assert wrapped.run(fetch, feeds)[0] == 2
    found = wrapped.run(fetch, feeds)
    assert isinstance(found, errors.ResourceExhaustedError)
    assert found.message == (
        "TensorFlow Debugger has exhausted file-system byte-size allowance (1300000), therefore it cannot dump an additional 400000 byte(s) of "
        "tensor data for the debug tensor twice:0. You may use the environment variable TFDBG_DISK_BYTES_LIMIT to set a higher limit."
    )
    assert sess.run(fetch, feeds)[0] == 2


def test_a_tensor_larger_than_a_message(doubled, tmp_path, monkeypatch):
    """Its value is left out, with a warning; 1.15.5 writes an empty file. Nothing of 2 GiB is made here."""
    fetch, feeds, sess = doubled
    assert debug_files.LARGEST < 2**31
    monkeypatch.setattr(debug_files, "LARGEST", 399_999)
    said = []
    monkeypatch.setattr(debug_files.logging, "warning", said.append)
    assert DumpingDebugWrapperSession(sess, str(tmp_path)).run(fetch, feeds)[0] == 2
    assert said[1] == "The debugger leaves out the value of twice:0, which has 400000 bytes: a file holds 399999 at most."
    (value,) = DebugDumpDir(str(runs(tmp_path)[0])).get_tensors("twice", 0, "DebugIdentity")
    assert not value.initialized
    assert value._tensor_proto.tensor_shape.dim[0].size == 100_000


def test_a_dump_root_that_is_a_file(doubled, tmp_path):
    fetch, feeds, sess = doubled
    (tmp_path / "file").touch()
    with pytest.raises(ValueError, match="session_root path points to a file"):
        DumpingDebugWrapperSession(sess, str(tmp_path / "file"))


def test_the_dump_of_a_killed_run_can_be_read(tmp_path):
    (tmp_path / "killed.py").write_text(KILLED)
    assert children.warm(tmp_path / "killed.py", tmp_path / "root").returncode == -9
    (run,) = runs(tmp_path / "root")
    dump = DebugDumpDir(str(run))
    assert [datum.node_name for datum in dump.dumped_tensor_data] == ["x", "twice"]
    np.testing.assert_array_equal(dump.get_tensors("twice", 0, "DebugIdentity"), [[2, 2, 2]])
    assert "end" in dump.nodes()
    assert dump.core_metadata.output_names == ["end:0"]


def test_a_truncated_graph_is_named(doubled, tmp_path):
    fetch, feeds, sess = doubled
    DumpingDebugWrapperSession(sess, str(tmp_path)).run(fetch, feeds)
    (graph,) = tmp_path.rglob("_tfdbg_graph_hash*")
    graph.write_bytes(graph.read_bytes()[:100])
    with pytest.raises(errors.DataLossError, match=f"{graph.name} is cut off or damaged"):
        DebugDumpDir(str(runs(tmp_path)[0]))
