"""One task of a training cluster, a TF1 program: `cluster_task.py KIND JOB INDEX CLUSTER SECONDS WARM_UP`, CLUSTER in JSON.

A worker says "ready" when it has taken steps for WARM_UP seconds, goes on until a line comes on stdin, takes steps for SECONDS, prints what
they took as JSON, and goes on until the process is killed: no worker measures while another one rests.
"""

import json
import select
import sys
import time

import numpy as np
import tensorflow as tf

BATCH, VOCABULARY, SIZE = 100, 50000, 128


def perceptron(random, optimizer):
    """784-128-64-10, dense gradients: returns the training operation and what makes feeds."""
    images, labels = tf.placeholder(tf.float32, [None, 784]), tf.placeholder(tf.int32, [None])
    hidden = tf.layers.dense(tf.layers.dense(images, 128, tf.nn.relu), 64, tf.nn.relu)
    losses = tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=tf.layers.dense(hidden, 10))
    train = optimizer.minimize(tf.reduce_mean(losses), global_step=tf.train.get_or_create_global_step())
    batches = [{images: random.rand(BATCH, 784), labels: random.randint(0, 10, BATCH)} for _ in range(8)]
    return train, batches


def word2vec(random, optimizer):
    """Noise-contrastive estimation with 64 samples over two tables of 50,000 rows: gradients of rows."""
    words, contexts = tf.placeholder(tf.int32, [BATCH]), tf.placeholder(tf.int64, [BATCH, 1])
    table = tf.get_variable("table", [VOCABULARY, SIZE], initializer=tf.random_uniform_initializer(-1, 1))
    weights = tf.get_variable("weights", [VOCABULARY, SIZE], initializer=tf.truncated_normal_initializer(stddev=0.1))
    biases = tf.get_variable("biases", [VOCABULARY], initializer=tf.zeros_initializer())
    embedded = tf.nn.embedding_lookup(table, words)
    losses = tf.nn.nce_loss(weights, biases, contexts, embedded, num_sampled=64, num_classes=VOCABULARY)
    train = optimizer.minimize(tf.reduce_mean(losses), global_step=tf.train.get_or_create_global_step())

    def ids(shape):
        return random.zipf(1.3, shape) % VOCABULARY

    return train, [{words: ids([BATCH]), contexts: ids([BATCH, 1])} for _ in range(8)]


def read(elements, worker):
    """The worker needs the last element of a variable on the parameter server; all of it is sent."""
    variable = tf.get_variable("variable", [elements], initializer=tf.zeros_initializer())
    tf.train.get_or_create_global_step()
    with tf.device(worker):
        return tf.identity(variable)[-1].op, [{}]


def build(kind, index, workers):
    """The operation of a step, its feeds and the session's hooks."""
    random, worker = np.random.RandomState(index), "/job:worker/task:%d" % index
    optimizer = tf.train.GradientDescentOptimizer(0.05)
    if kind == "sync":
        optimizer = tf.train.SyncReplicasOptimizer(optimizer, replicas_to_aggregate=workers, total_num_replicas=workers)
        step, feeds = perceptron(random, optimizer)
        return step, feeds, [optimizer.make_session_run_hook(index == 0)]
    if kind == "empty":
        return read(4, worker) + ([],)
    if kind == "pull":
        return read(25000000, worker) + ([],)
    return {"mlp": perceptron, "word2vec": word2vec}[kind](random, optimizer) + ([],)


def main(kind, job, index, cluster, seconds, warm_up):
    index, cluster = int(index), tf.train.ClusterSpec(json.loads(cluster))
    server = tf.train.Server(cluster, job_name=job, task_index=index)
    if job == "ps":
        server.join()
    tf.set_random_seed(1)
    with tf.device(tf.train.replica_device_setter(worker_device="/job:worker/task:%d" % index, cluster=cluster)):
        step, feeds, hooks = build(kind, index, cluster.num_tasks("worker"))
    config = tf.ConfigProto(device_filters=["/job:ps", "/job:worker/task:%d" % index])
    with tf.train.MonitoredTrainingSession(server.target, index == 0, hooks=hooks, config=config) as session:
        taken = 0

        def steps_while(condition):
            nonlocal taken
            durations = []
            while condition():
                start = time.time()
                session.run(step, feeds[taken % len(feeds)])
                durations.append(time.time() - start)
                taken += 1
            return durations

        until = time.time() + float(warm_up)
        steps_while(lambda: time.time() < until)
        print("ready", flush=True)
        steps_while(lambda: not select.select([sys.stdin], [], [], 0)[0])
        before, start = tf.train.global_step(session, tf.train.get_global_step()), time.time()
        durations = steps_while(lambda: time.time() < start + float(seconds))
        took, after = time.time() - start, tf.train.global_step(session, tf.train.get_global_step())
        print(json.dumps({"steps": len(durations) / took, "median": float(np.median(durations)), "updates": int(after - before) / took}), flush=True)
        steps_while(lambda: True)


if __name__ == "__main__":
    main(*sys.argv[1:])
