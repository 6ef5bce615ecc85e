"""FileWriter and the event files it writes."""

import os
import threading
import warnings

import children
import pytest

import tfcompat as tf
from summary import shared
from summary.recorded import RECORDED
from tfcompat._src.summary.event_file_writer import EventFileWriter


def files(folder):
    return sorted(os.path.join(folder, f) for f in os.listdir(folder) if "tfevents" in f)


def events(folder):
    return [e for path in files(folder) for e in tf.train.summary_iterator(path)]


def timeless(event):
    """An event without its time and, in a graph, without what another version writes."""
    copy = tf.Event.FromString(event.SerializeToString())
    copy.wall_time = 0
    if copy.graph_def:
        graph = tf.GraphDef.FromString(copy.graph_def)
        copy.graph_def = b""
        return copy, [(n.name, n.op, n.attr["_output_shapes"]) for n in graph.node]
    if copy.meta_graph_def:
        graph = tf.MetaGraphDef.FromString(copy.meta_graph_def).graph_def
        copy.meta_graph_def = b""
        return copy, [n.name for n in graph.node]
    return copy, None


def test_events_are_tensorflows(tmp_path):
    golden = tmp_path / "golden.tfevents"
    golden.write_bytes(RECORDED["events"])
    shared.write_events(tf, str(tmp_path / "logs"))
    want = [timeless(e) for e in tf.train.summary_iterator(str(golden))]
    assert [timeless(e) for e in events(tmp_path / "logs")] == want
    assert len(want) == 8
    (path,) = files(tmp_path / "logs")
    assert path.endswith(".end")


def test_truncated_event_file(tmp_path):
    path = tmp_path / "cut.tfevents"
    path.write_bytes(RECORDED["events"][:-3])
    found = []
    with pytest.raises(tf.errors.DataLossError, match="truncated record at"):
        for event in tf.train.summary_iterator(str(path)):
            found.append(event)
    assert len(found) == 7


def test_reopening_makes_another_file(tmp_path):
    writer = tf.summary.FileWriter(str(tmp_path))
    assert writer.get_logdir() == str(tmp_path)
    writer.add_event(tf.Event(step=1))
    writer.close()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        writer.add_event(tf.Event(step=2))
    assert [w.category for w in caught] == [UserWarning]
    writer.reopen()
    writer.add_event(tf.Event(step=3))
    writer.close()
    assert len(files(tmp_path)) == 2
    assert [e.step for e in events(tmp_path) if not e.file_version] == [1, 3]


def test_writers_of_the_same_second_have_files_of_their_own(tmp_path):
    writers = [tf.summary.FileWriter(str(tmp_path)) for _ in range(3)]
    for i, writer in enumerate(writers):
        writer.add_event(tf.Event(step=i + 1))
    for writer in writers:
        writer.close()
    assert len(files(tmp_path)) == 3
    assert sorted(e.step for e in events(tmp_path) if not e.file_version) == [1, 2, 3]


def test_the_queue_holds_back_a_fast_program(tmp_path):
    """With `max_queue` 2 and a writer that stands still, the fourth event waits; none is lost."""
    writer = EventFileWriter(str(tmp_path), max_queue=2)
    gate, entered = threading.Event(), threading.Event()
    write = writer._ev_writer.WriteEvent

    def slow(event):
        entered.set()
        gate.wait()
        write(event)

    writer._ev_writer.WriteEvent = slow
    writer.add_event(tf.Event(step=1))
    entered.wait()
    for step in (2, 3):
        writer.add_event(tf.Event(step=step))
    assert writer._event_queue.full()
    fourth = threading.Thread(target=writer.add_event, args=(tf.Event(step=4),))
    fourth.start()
    assert fourth.is_alive()
    gate.set()
    fourth.join()
    writer.close()
    assert [e.step for e in events(tmp_path) if not e.file_version] == [1, 2, 3, 4]


def test_flush_writes_all_events_so_far(tmp_path):
    writer = tf.summary.FileWriter(str(tmp_path), flush_secs=1000)
    for step in range(50):
        writer.add_summary(tf.Summary(value=[tf.Summary.Value(tag="a", simple_value=step)]), step)
    writer.flush()
    assert len(events(tmp_path)) == 51
    writer.close()


def test_a_program_that_does_not_close_its_writer_loses_nothing(tmp_path):
    program = (
        "import tfcompat as tf\n"
        f"writer = tf.summary.FileWriter({str(tmp_path)!r})\n"
        "for i in range(200): writer.add_event(tf.Event(step=i))\n"
    )
    assert children.warm("-c", program).returncode == 0
    assert len(events(tmp_path)) == 201


def test_a_removed_folder_does_not_stop_a_program(tmp_path, caplog):
    writer = tf.summary.FileWriter(str(tmp_path))
    writer.add_event(tf.Event(step=1))
    writer.flush()
    os.remove(files(tmp_path)[0])
    writer.add_event(tf.Event(step=2))
    writer.flush()
    assert "has disappeared" in caplog.text
    writer.close()


def test_wrong_arguments(tmp_path):
    writer = tf.summary.FileWriter(str(tmp_path))
    graph = tf.Graph()
    with pytest.raises(ValueError, match="Please pass only graph"):
        writer.add_graph(graph, graph_def=graph.as_graph_def())
    with pytest.raises(TypeError, match="must be an instance of `Graph`"):
        writer.add_graph("graph")
    with pytest.raises(TypeError, match="must be type MetaGraphDef"):
        writer.add_meta_graph(graph.as_graph_def())
    writer.add_run_metadata(tf.RunMetadata(), "tag")
    with pytest.raises(ValueError, match="already used"):
        writer.add_run_metadata(tf.RunMetadata(), "tag")
    writer.close()


def test_writers_of_a_session_share_their_file(tmp_path):
    with tf.Graph().as_default(), tf.Session() as session:
        first, second = (tf.summary.FileWriter(str(tmp_path), session=session) for _ in range(2))
        first.add_event(tf.Event(step=1))
        second.add_event(tf.Event(step=2))
        second.flush()
        assert [e.step for e in events(tmp_path)] == [0, 1, 2]
        summaries = tf.contrib.summary
        with summaries.create_file_writer(str(tmp_path)).as_default(), summaries.always_record_summaries():
            written = summaries.scalar("x", 2.5, step=3)
            flushed = summaries.flush()
        session.run(written)
        session.run(flushed)
    assert [e.step for e in events(tmp_path)] == [0, 1, 2, 3]
    assert events(tmp_path)[-1].summary.value[0].simple_value == 2.5


def test_cached_writers(tmp_path):
    tf.summary.FileWriterCache.clear()
    with tf.Graph().as_default():
        tf.constant(1)
        first = tf.summary.FileWriterCache.get(str(tmp_path))
        assert tf.summary.FileWriterCache.get(str(tmp_path)) is first
    tf.summary.FileWriterCache.clear()
    assert [bool(e.graph_def) for e in events(tmp_path)] == [False, True, False]
