"""A closed session gives back files and threads: of datasets and readers that have not ended, in every form."""

import os
import sqlite3
import sys
import threading

import pytest

import tfcompat as tf

TIMES = 10


def line_reader(path):
    queue = tf.train.string_input_producer([path])
    return tf.TextLineReader().read(queue)[1]


def records(path):
    records_path = path + ".tfrecords"
    with tf.python_io.TFRecordWriter(records_path) as writer:
        for _ in range(1000):
            writer.write(b"x" * 100)
    return tf.data.TFRecordDataset(records_path).make_one_shot_iterator().get_next()


def rows(path):
    database = path + ".sqlite"
    with sqlite3.connect(database) as connection:
        connection.execute("CREATE TABLE IF NOT EXISTS t (a INTEGER)")
        connection.executemany("INSERT INTO t VALUES (?)", [(n,) for n in range(1000)])
    connection.close()
    dataset = tf.data.experimental.SqlDataset("sqlite", database, "SELECT a FROM t", (tf.int64,))
    return dataset.make_one_shot_iterator().get_next()


def lines_of(path):
    with open(path) as file:
        yield from file


def next_of(dataset):
    return dataset.make_one_shot_iterator().get_next()


def lines(path):
    return tf.data.TextLineDataset(path)


FORMS = {
    "lines": lambda path: next_of(lines(path)),
    "several_files": lambda path: next_of(lines([path] * 20)),
    "fixed_length": lambda path: next_of(tf.data.FixedLengthRecordDataset(path, 2)),
    "csv": lambda path: next_of(tf.data.experimental.CsvDataset(path, [tf.string])),
    "records": records,
    "rows": rows,
    "map_and_prefetch": lambda path: next_of(lines(path).map(lambda x: x + x, num_parallel_calls=2).prefetch(2)),
    "shuffle_repeat_batch": lambda path: next_of(lines(path).shuffle(10).repeat().batch(2)),
    "interleave": lambda path: next_of(tf.data.Dataset.from_tensors([path] * 8).interleave(tf.data.TextLineDataset, 4)),
    "parallel_interleave": lambda path: next_of(
        tf.data.Dataset.from_tensor_slices([path] * 8).interleave(tf.data.TextLineDataset, 4, num_parallel_calls=2)
    ),
    "flat_map": lambda path: next_of(tf.data.Dataset.from_tensor_slices([path] * 3).flat_map(tf.data.TextLineDataset)),
    "zip": lambda path: next_of(tf.data.Dataset.zip((lines(path), lines(path)))),
    "generator": lambda path: next_of(tf.data.Dataset.from_generator(lambda: lines_of(path), tf.string).prefetch(1)),
    "line_reader": line_reader,
}


def open_files():
    return sorted(os.readlink(f"/proc/self/fd/{fd}") for fd in os.listdir("/proc/self/fd") if os.path.exists(f"/proc/self/fd/{fd}"))


def run_once(path, form, kept):
    """A session that takes some elements. `kept` keeps the graph and the session: closing gives back, not the garbage collector."""
    with tf.Graph().as_default() as graph:
        following = FORMS[form](path)
        with tf.Session() as session:
            coordinator = tf.train.Coordinator()
            threads = tf.train.start_queue_runners(session, coordinator)
            for _ in range(3):
                session.run(following)
            coordinator.request_stop()
            session.close()
            coordinator.join(threads, ignore_live_threads=False)
    kept.append((graph, session))


@pytest.mark.skipif(sys.platform != "linux", reason="counts the entries of /proc/self/fd")
@pytest.mark.parametrize("form", FORMS)
def test_closing_gives_back_files_and_threads(form, tmp_path):
    path = str(tmp_path / "lines.txt")
    with open(path, "w") as file:
        file.write("ab\n" * 10000)
    kept = []
    run_once(path, form, kept)
    files, threads = open_files(), threading.active_count()
    for _ in range(TIMES):
        run_once(path, form, kept)
    assert open_files() == files
    assert threading.active_count() <= threads


@pytest.mark.skipif(sys.platform != "linux", reason="counts the entries of /proc/self/fd")
def test_a_file_that_ended_is_not_kept_by_the_iteration(tmp_path):
    paths = []
    for n in range(50):
        paths.append(str(tmp_path / f"{n}.txt"))
        with open(paths[-1], "w") as file:
            file.write("a\n")
    dataset = tf.data.Dataset.from_tensor_slices(paths).flat_map(tf.data.TextLineDataset)
    following = dataset.make_one_shot_iterator().get_next()
    with tf.Session() as session:
        session.run(following)
        before = len(open_files())
        for _ in range(48):
            session.run(following)
        assert len(open_files()) == before


@pytest.mark.skipif(sys.platform != "linux", reason="counts the entries of /proc/self/fd")
def test_estimators_leave_no_file_open(tmp_path):
    path = str(tmp_path / "lines.txt")
    with open(path, "w") as file:
        file.write("1\n" * 10000)

    def inputs():
        return tf.data.TextLineDataset(path).map(lambda line: ({"x": tf.string_to_number(line)}, 1.0)).batch(2)

    def model(features, labels, mode):
        w = tf.get_variable("w", [], initializer=tf.zeros_initializer())
        predictions = features["x"] * w
        if mode == tf.estimator.ModeKeys.PREDICT:
            return tf.estimator.EstimatorSpec(mode, predictions=predictions)
        loss = tf.reduce_mean(tf.square(predictions - labels))
        step = tf.train.GradientDescentOptimizer(0.1).minimize(loss, tf.train.get_global_step())
        return tf.estimator.EstimatorSpec(mode, loss=loss, train_op=step)

    estimator = tf.estimator.Estimator(model, str(tmp_path / "model"))
    estimator.train(inputs, steps=2)
    estimator.train(inputs, steps=2)
    estimator.evaluate(inputs, steps=2)
    next(estimator.predict(inputs))
    assert path not in open_files()  # the event files stay open, as in 1.15, until the process ends
