"""A cluster with a parameter server: variables live in one process, and two workers train on their own part of the data.

Without --job_name the script starts the three tasks as processes of itself, at free ports, and prints what the workers say.
Updates are asynchronous; the workers take turns by queues on the parameter server, so the losses are the same in every run.

    tfcompat run examples/parameter_server.py
"""

import os
import socket
import subprocess
import sys
import tempfile

import numpy as np
import tensorflow as tf

DATA = os.path.join(os.path.dirname(os.path.abspath(__file__)), "data")
flags = tf.app.flags
flags.DEFINE_string("job_name", "", "ps or worker; a cluster is started if empty")
flags.DEFINE_integer("task_index", 0, "number of the task in its job")
flags.DEFINE_string("ps_hosts", "", "addresses of the parameter servers, separated by commas")
flags.DEFINE_string("worker_hosts", "", "addresses of the workers, separated by commas")
flags.DEFINE_string("logdir", "", "folder of the chief's checkpoints")
flags.DEFINE_integer("steps", 60, "training steps of each worker")
FLAGS = flags.FLAGS
WORKERS, BATCH = 2, 32


def free_addresses(count):
    """Addresses of this machine at ports that nothing uses."""
    sockets = [socket.socket() for _ in range(count)]
    for one in sockets:
        one.bind(("localhost", 0))
    addresses = ["localhost:%d" % one.getsockname()[1] for one in sockets]
    for one in sockets:
        one.close()
    return addresses


def start_cluster():
    """Starts the tasks, and waits for their end."""
    addresses = free_addresses(1 + WORKERS)
    common = [
        "--ps_hosts=" + addresses[0], "--worker_hosts=" + ",".join(addresses[1:]),
        "--logdir=" + tempfile.mkdtemp(), "--steps=%d" % FLAGS.steps,
    ]  # fmt: skip

    def start(job, index):
        task = ["--job_name=" + job, "--task_index=%d" % index]
        return subprocess.Popen(
            [sys.executable, os.path.abspath(__file__)] + common + task, stdout=subprocess.PIPE, universal_newlines=True
        )

    server = start("ps", 0)
    workers = [start("worker", i) for i in range(WORKERS)]
    try:
        for worker in workers:
            print(worker.communicate()[0], end="")
            if worker.returncode:
                sys.exit("a worker has failed")
        server.wait()
    finally:
        for process in [server] + workers:
            if process.poll() is None:
                process.kill()
            process.wait()


def shared_queue(name):
    """A queue that lives on the parameter server: every task that makes one of this name has the same."""
    with tf.device("/job:ps/task:0"):
        return tf.FIFOQueue(WORKERS, tf.int32, [[]], shared_name=name)


def serve(server):
    """Serves until every worker has said that it is done; Server.join() would serve for ever."""
    finished = shared_queue("finished").dequeue()
    with tf.Session(server.target, config=tf.ConfigProto(device_filters=["/job:ps"])) as sess:
        for _ in range(WORKERS):
            sess.run(finished)


def batches(worker):
    """Endless batches of images [BATCH, 64] and labels of one worker: every WORKERS-th digit."""
    with np.load(os.path.join(DATA, "digits.npz")) as data:
        images = data["images"].reshape(-1, 64).astype(np.float32)[worker::WORKERS] / 16.0
        labels = data["labels"].astype(np.int64)[worker::WORKERS]
    random = np.random.RandomState(13 + worker)
    while True:
        rows = random.choice(len(images), BATCH, replace=False)
        yield images[rows], labels[rows]


def work(cluster, server):
    """Builds the graph with variables on the parameter server, and trains."""
    chief = FLAGS.task_index == 0
    tf.set_random_seed(13)
    worker = "/job:worker/task:%d" % FLAGS.task_index
    with tf.device(tf.train.replica_device_setter(cluster=cluster, worker_device=worker)):
        x = tf.placeholder(tf.float32, [None, 64], name="images")
        y = tf.placeholder(tf.int64, [None], name="labels")
        hidden = tf.layers.dense(x, 32, tf.nn.relu, name="hidden")
        logits = tf.layers.dense(hidden, 10, name="logits")
        loss = tf.losses.sparse_softmax_cross_entropy(y, logits)
        step = tf.train.get_or_create_global_step()
        train = tf.train.AdagradOptimizer(0.1).minimize(loss, global_step=step)
    turns = [shared_queue("turn_%d" % i) for i in range(WORKERS)]
    my_turn = turns[FLAGS.task_index].dequeue()
    next_turn = turns[(FLAGS.task_index + 1) % WORKERS].enqueue(0)
    finish = shared_queue("finished").enqueue(0)
    config = tf.ConfigProto(device_filters=["/job:ps", worker])  # a session needs no other worker
    if not chief:
        with tf.Session(server.target, config=config) as sess:
            sess.run(my_turn)  # waits until the chief has made the variables
    with tf.train.MonitoredTrainingSession(
        server.target, chief, FLAGS.logdir, save_summaries_steps=0, config=config
    ) as sess:
        for i, (images, labels) in zip(range(FLAGS.steps), batches(FLAGS.task_index)):
            if i > 0:
                sess.run(my_turn)
            value, _ = sess.run([loss, train], {x: images, y: labels})
            sess.run(next_turn)
            if i % 20 == 0 or i == FLAGS.steps - 1:
                print("worker %d  step %2d  loss %.4f" % (FLAGS.task_index, i, value))
        if chief:
            sess.run(my_turn)  # the other worker's last step
    with tf.Session(server.target, config=config) as sess:
        sess.run(finish)
    if chief:
        path = tf.train.latest_checkpoint(FLAGS.logdir)
        for name in ("hidden/kernel", "logits/kernel"):
            variable = [v for v in tf.trainable_variables() if v.op.name == name][0]
            saved = tf.train.load_variable(path, name)
            print("%s on %s, norm %.4f in %s" % (name, variable.device, np.linalg.norm(saved), os.path.basename(path)))


def main(_):
    """Starts the cluster, or is one of its tasks."""
    if not FLAGS.job_name:
        return start_cluster()
    cluster = tf.train.ClusterSpec({"ps": FLAGS.ps_hosts.split(","), "worker": FLAGS.worker_hosts.split(",")})
    server = tf.train.Server(cluster, job_name=FLAGS.job_name, task_index=FLAGS.task_index)
    if FLAGS.job_name == "ps":
        return serve(server)
    return work(cluster, server)


if __name__ == "__main__":
    tf.app.run()
