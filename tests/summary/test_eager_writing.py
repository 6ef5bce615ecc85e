"""tf.compat.v2.summary: summaries that are written at once, in functions and by sessions."""

import glob

import numpy as np
import pytest

import tfcompat as tf
from tfcompat._src.eager.mode import eager_mode
from tfcompat._src.graph.tensor_proto import make_ndarray

summary = tf.compat.v2.summary


@pytest.fixture(autouse=True)
def _without_step():
    yield
    summary.experimental.set_step(None)


def written(logdir):
    """(step, tag, value) of all summaries of a folder, in order."""
    events = [e for path in sorted(glob.glob(f"{logdir}/*")) for e in tf.train.summary_iterator(path)]
    assert events[0].file_version == "brain.Event:2"
    return [(e.step, v.tag, make_ndarray(v.tensor).tolist()) for e in events for v in e.summary.value]


def test_what_is_written_is_there_after_the_block(tmp_path):
    with eager_mode(), summary.create_file_writer(str(tmp_path)).as_default():
        with summary.experimental.summary_scope("a?b") as (tag, scope):
            assert (tag, scope) == ("a?b", "ab/")
            assert bool(summary.write(tag, [[1, 2]], step=7))
        with summary.record_if(False):
            assert not bool(summary.write("off", 1, step=7))
        summary.experimental.set_step(8)
        summary.write("text", [b"x", b"y"])
    assert written(tmp_path) == [(7, "a?b", [[1, 2]]), (8, "text", [b"x", b"y"])]


def test_functions_write_each_time_they_are_called_where_a_tensor_says_so(tmp_path):
    with eager_mode():
        writer = summary.create_file_writer(str(tmp_path))
        step = tf.Variable(0, dtype=tf.int64)
        summary.experimental.set_step(step)

        @tf.function
        def train(x):
            with writer.as_default(), summary.record_if(tf.equal(step.read_value() % 2, 0)):
                return summary.write("x", x * 2.0)

        found = []
        for value in (1.0, 2.0, 3.0):
            found.append(bool(train(tf.constant(value))))
            step.assign_add(1)
        writer.close()
    assert found == [True, False, True]
    assert written(tmp_path) == [(0, "x", 2.0), (2, "x", 6.0)]


def test_a_session_writes_by_nodes(tmp_path):
    with tf.Graph().as_default(), tf.Session() as sess:
        writer = summary.create_file_writer(str(tmp_path))
        with writer.as_default():
            node = summary.write("y", np.float32(3.0), step=4)
        assert tf.summary.all_v2_summary_ops() == [node]
        sess.run(writer.init())
        assert sess.run([node, node]) == [True, True]
        sess.run(writer.close())
    assert written(tmp_path) == [(4, "y", 3.0)]


def test_two_writers_of_a_folder_have_files_of_their_own(tmp_path):
    with eager_mode():
        first, second = (summary.create_file_writer(str(tmp_path)) for _ in range(2))
        for step, writer in enumerate((first, second, first)):
            with writer.as_default():
                summary.write("t", step, step=step)
        del first, second, writer
    assert len(glob.glob(f"{tmp_path}/*")) == 2
    assert sorted(step for path in glob.glob(f"{tmp_path}/*") for e in tf.train.summary_iterator(path) for step in [e.step]) == [0, 0, 0, 1, 2]


def test_messages_are_merged_and_damaged_ones_refused(tmp_path):
    message = tf.Summary(value=[tf.Summary.Value(tag="v", simple_value=2.0)]).SerializeToString()
    with eager_mode(), summary.create_file_writer(str(tmp_path)).as_default():
        assert bool(summary.experimental.write_raw_pb([message, message], step=1))
        with pytest.raises(tf.errors.DataLossError, match="at index 0"):
            summary.experimental.write_raw_pb("notaproto", step=1)
    (path,) = glob.glob(f"{tmp_path}/*")
    assert [[v.simple_value for v in e.summary.value] for e in tf.train.summary_iterator(path)] == [[], [2.0, 2.0]]


def test_what_is_refused(tmp_path):
    with tf.Graph().as_default():
        folder = tf.constant(str(tmp_path))
    with eager_mode():
        assert not bool(summary.write("t", 1))
        writer = summary.create_file_writer(str(tmp_path))
        with writer.as_default(), pytest.raises(ValueError, match="No step set"):
            summary.write("t", 1)
        writer.close()
        writer.close()
        with pytest.raises(RuntimeError, match="already closed"), writer.as_default():
            pass
        with pytest.raises(ValueError, match="logdir cannot be None"):
            summary.create_file_writer(None)
        with pytest.raises(ValueError, match="Invalid graph Tensor argument.*logdir"):
            summary.create_file_writer(folder)
        with pytest.raises(RuntimeError, match="graph mode"):
            tf.contrib.summary.summary_writer_initializer_op()
