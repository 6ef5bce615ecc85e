"""A client that runs two workers in its threads, or a task: `standalone_client.py PS WORKER WORKER [JOB INDEX]`; TensorFlow 1.15.5 runs it too."""

import json
import sys
import threading

import tensorflow as tf
from tensorflow.python.distribute import distribute_coordinator as coordinator
from tensorflow.python.distribute import distribute_coordinator_context as context

PS, *WORKERS = sys.argv[1:4]
JOB, INDEX = (sys.argv[4], int(sys.argv[5])) if len(sys.argv) > 4 else (None, None)
found = {"results": [], "workers": [], "chiefs": []}
lock = threading.Lock()


def work(strategy):
    here = context.get_current_worker_context()
    with tf.Graph().as_default(), strategy.scope():
        total = tf.get_variable("total", initializer=1.0)
        added = total.assign_add(here.task_id + 1.0)
        with tf.train.MonitoredSession() as session:
            session.run(added)
            here.wait_for_other_workers()
            value = session.run(total)
            here.wait_for_other_workers()
    with lock:
        found["results"].append(float(value))
        found["workers"].append(here.num_workers)
        found["chiefs"].append(here.is_chief)


tf.logging.set_verbosity(tf.logging.ERROR)
coordinator.run_distribute_coordinator(
    work, tf.distribute.experimental.ParameterServerStrategy(), cluster_spec={"ps": [PS], "worker": WORKERS}, task_type=JOB, task_id=INDEX
)
print(json.dumps({key: sorted(values) for key, values in found.items()}))
