"""Functions called on another task; expected: what tests/cluster/programs/remote_calls.py prints if all processes are TensorFlow 1.15.5."""

import itertools

import pytest
from cluster import processes
from cluster.processes import Process

import tfcompat as tf
from tfcompat._src.cluster.remote_calls import mark_remote_calls
from tfcompat._src.contrib.tpu.datasets import StreamingFilesDataset

EXPECTED = [
    [0, "a"], [1, "b"], "OutOfRangeError", [0, "a"], [1, "b"], [2, "c"], [3, "a"], "OutOfRangeError",
    ["is 1.0", 1.5], ["is 3.0", 2.5], "InvalidArgumentError", "InvalidArgumentError",
    ["one"], ["two"], ["three"], "OutOfRangeError", ["a step: 4.0", 3.0],
    ["anywhere: 2.0", 2.0], "InvalidArgumentError", ["anywhere: 2.0", 2.0], [0, "a"], "an iterator of another task",
]  # fmt: skip


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("texts")
    (folder / "a.txt").write_text("one\ntwo\n")
    (folder / "b.txt").write_text("three\n")
    return [str(folder / "a.txt"), str(folder / "b.txt")]


def printed(files, waits="0", reals=(False, False, False)):
    """What the client prints; `reals`: whether worker, coordinator and client are TensorFlow 1.15."""
    worker, coordinator = processes.free_addresses(2)
    cluster = {"worker": [worker], "coordinator": [coordinator]}
    with processes.server(cluster, "worker", 0, real=reals[0]), processes.server(cluster, "coordinator", 0, real=reals[1]):
        with Process("remote_calls", f"grpc://{worker}", waits, *files, real=reals[2]) as client:
            return client.end()


def test_functions_of_datasets_and_steps_run_on_the_task_that_they_name(files):
    # The last call waits for a queue that stays empty: its deadline ends the run, and the session can be closed.
    assert printed(files, "1") == [*EXPECTED, "DeadlineExceededError"]


@pytest.mark.skipif(not processes.TF1_PYTHON, reason="TF1_PYTHON names no Python with TensorFlow 1.15")
@pytest.mark.parametrize("reals", [(*servers, True) for servers in itertools.product([False, True], repeat=2)])
def test_tasks_of_both_call_each_other(reals, files):
    assert printed(files, reals=reals) == EXPECTED


def marked(targets, task="/job:worker/replica:0/task:1"):
    """The op types of nodes that call a function on each target, in the part of a task."""
    with tf.Graph().as_default() as graph:
        double = tf.function(lambda x: x * 2.0).get_concrete_function(tf.TensorSpec([], tf.float32))
        double.add_to_graph()
        calls = [tf.raw_ops.RemoteCall(target=target, args=[1.0], Tout=[tf.float32], f=double)[0] for target in targets]
        part = graph.as_graph_def()
    mark_remote_calls(part, task)
    types = {node.name: node.op for node in part.node}
    return [types[call.op.name] for call in calls]


def test_only_calls_of_other_tasks_leave_a_part():
    own = ["/cpu:0", "", "/job:worker/task:1", "/task:1/device:CPU:0"]
    others = ["/job:ps/task:0", "/task:0", "/job:worker/replica:0/task:0/cpu:0", "/job:ps"]
    assert marked(own) == ["RemoteCall"] * 4
    assert marked(others) == ["_RemoteTaskCall"] * 4


@pytest.mark.parametrize("batched", [None, 2, 0])
def test_files_are_streamed_between_servers_of_one_process(batched, files):
    coordinator, worker = (tf.train.Server.create_local_server() for _ in range(2))
    jobs = {"worker": [worker.target.removeprefix("grpc://")], "reader": [coordinator.target.removeprefix("grpc://")]}
    with tf.Graph().as_default():
        pattern = files[0].replace("a.txt", "*.txt")
        # In any order (`sloppy`), the call that meets the end may be counted before one that brings the last element, as in 1.15.
        streamed = StreamingFilesDataset(pattern, "textline", "reader", num_epochs=2, batch_transfer_size=batched, sloppy=False)
        with tf.device("/job:worker"):
            iterator = tf.data.make_initializable_iterator(streamed)
            following = iterator.get_next()
        with tf.Session(worker.target, config=tf.ConfigProto(cluster_def=tf.train.ClusterSpec(jobs).as_cluster_def())) as session:
            session.run(iterator.initializer)
            assert sorted(session.run(following) for _ in range(6)) == [b"one", b"one", b"three", b"three", b"two", b"two"]
            with pytest.raises(tf.errors.OutOfRangeError):
                session.run(following)


@pytest.mark.parametrize(
    "arguments, message",
    [
        (("*", "foo"), "Unexpected filetype: foo"),
        (("*", 3), "filetype should be a string or a callable"),
        ((123, "tfrecord"), "files was not a string or a dataset: 123"),
    ],
)
def test_what_streaming_refuses(arguments, message):
    with pytest.raises(ValueError, match=message):
        StreamingFilesDataset(*arguments)
