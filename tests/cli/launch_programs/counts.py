"""A program of parameter servers and workers, from TF_CONFIG or flags: each worker adds its number plus one, ten times."""

import json
import os
import sys

import tensorflow as tf

if len(sys.argv) > 1:
    tf.app.flags.DEFINE_string("job_name", None, "")
    tf.app.flags.DEFINE_integer("task_index", None, "")
    tf.app.flags.DEFINE_string("ps_hosts", None, "")
    tf.app.flags.DEFINE_string("worker_hosts", None, "")
    flags = tf.app.flags.FLAGS
    job, index = flags.job_name, flags.task_index
    cluster = {"ps": flags.ps_hosts.split(","), "worker": flags.worker_hosts.split(",")}
else:
    config = json.loads(os.environ["TF_CONFIG"])
    job, index, cluster = config["task"]["type"], config["task"]["index"], config["cluster"]
server = tf.train.Server(tf.train.ClusterSpec(cluster), job_name=job, task_index=index)
if job == "ps":
    server.join()
with tf.device(tf.train.replica_device_setter(worker_device=f"/job:worker/task:{index}", cluster=cluster)):
    total = tf.get_variable("total", initializer=0.0, use_resource=True)
    ended = tf.get_variable("ended", initializer=0.0, use_resource=True)
add, end = total.assign_add(index + 1.0), ended.assign_add(1.0)
if index:  # a MonitoredTrainingSession that is there before the chief's looks again after 30 seconds
    uninitialized = tf.report_uninitialized_variables()
    with tf.Session(server.target) as waiting:
        while waiting.run(uninitialized).size:
            pass
with tf.train.MonitoredTrainingSession(server.target, is_chief=index == 0) as session:
    for _ in range(10):
        session.run(add)
    session.run(end)
    while session.run(ended) < len(cluster["worker"]):
        pass
    print("total", session.run(total))
