"""Sessions of servers of this process: clusters in a ConfigProto, defaults of a server, pruned placement."""

import pytest

import tfcompat as tf


def cluster(share=False):
    servers = [tf.train.Server.create_local_server() for _ in range(2)]
    config = tf.ConfigProto()
    job = config.cluster_def.job.add(name="worker")
    for task, server in enumerate(servers):
        job.tasks[task] = server.target.removeprefix("grpc://")
    config.experimental.share_session_state_in_clusterspec_propagation = share
    return servers, config


def test_nodes_run_on_the_tasks_of_a_cluster():
    servers, config = cluster()
    with tf.Graph().as_default():
        with tf.device("/job:worker/task:1"):
            a = tf.constant(17)
        metadata = tf.RunMetadata()
        with tf.Session(servers[0].target, config=config) as session:
            assert session.run(a, options=tf.RunOptions(trace_level=3), run_metadata=metadata) == 17
            names = {d.name for d in session.list_devices() if d.device_type == "CPU"}
    assert names == {f"/job:worker/replica:0/task:{task}/device:CPU:0" for task in range(2)}
    at = {(d.device, n.node_name) for d in metadata.step_stats.dev_stats for n in d.node_stats}
    assert ("/job:worker/replica:0/task:1/device:CPU:0", "Const") in at


@pytest.mark.parametrize("share", [False, True])
def test_variables_of_a_cluster_are_shared_where_that_is_asked_for(share):
    servers, config = cluster(share)
    with tf.Graph().as_default():
        v = tf.Variable(37)
        first, second = (tf.Session(servers[0].target, config=config) for _ in range(2))
        first.run(v.initializer)
        if share:
            assert second.run(v) == 37
        else:
            with pytest.raises(tf.errors.FailedPreconditionError):
                second.run(v)


def test_a_session_without_config_takes_that_of_its_server():
    server = tf.train.Server.create_local_server(config=tf.ConfigProto(operation_timeout_in_ms=50))
    with tf.Graph().as_default():
        taken = tf.FIFOQueue(1, tf.float32).dequeue()
        with tf.Session(server.target) as session, pytest.raises(tf.errors.DeadlineExceededError):
            session.run(taken)


def test_an_interactive_session_places_only_what_it_runs():
    with tf.Graph().as_default():
        with tf.device("/device:GPU:7"):
            a = tf.constant(1.0)
        b = tf.constant(2.0)
        session = tf.InteractiveSession()
        try:
            assert b.eval() == 2
            with pytest.raises(tf.errors.InvalidArgumentError, match="GPU:7"):
                a.eval()
        finally:
            session.close()


def test_partition_graphs_hold_constants():
    with tf.Graph().as_default(), tf.Session() as session:
        metadata = tf.RunMetadata()
        session.run(tf.constant(1, name="one"), options=tf.RunOptions(output_partition_graphs=True), run_metadata=metadata)
    assert [node.name for graph in metadata.partition_graphs for node in graph.node] == ["one", "_retval_one_0_0"]
