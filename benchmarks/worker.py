"""One subject in a process of its own: `python -m benchmarks.worker SUBJECT` obeys JSON lines on stdin.

A request is `{"do": COMMAND, ...}`, the reply one JSON line on the stdout that the process was started with.
Runs on Python 3.7 too.
"""

import importlib
import itertools
import json
import os
import resource
import sys
import time

import numpy as np


class GraphRunner:
    """A workload's TF1 graph on tfcompat, TensorFlow 1.15 or tensorflow.compat.v1."""

    MODULES = {"tfcompat": "tfcompat", "tf1": "tensorflow", "tf2": "tensorflow.compat.v1"}

    def __init__(self, subject):
        self.tf = importlib.import_module(self.MODULES[subject])
        if subject == "tf2":
            self.tf.disable_v2_behavior()

    def version(self):
        return self.tf.__version__

    def build(self, workload):
        name, *arguments = workload.split(":")
        module = importlib.import_module("benchmarks.workloads." + name)
        self.feeds = itertools.cycle(module.batches(*arguments))
        start = time.perf_counter()
        self.tf.set_random_seed(1)
        self.model = module.build(self.tf, *arguments)
        self.initializer = self.tf.global_variables_initializer()
        seconds = time.perf_counter() - start
        return {"seconds": seconds, "nodes": len(self.tf.get_default_graph().get_operations())}

    def initialize(self):
        start = time.perf_counter()
        self.session = self.tf.Session()
        self.session.run(self.initializer)
        if self.tf.get_collection(self.tf.GraphKeys.QUEUE_RUNNERS):
            self.tf.train.start_queue_runners(self.session)
        return {"seconds": time.perf_counter() - start}

    def steps(self, count):
        run, fetches, placeholders = self.session.run, self.model.fetches, self.model.feeds
        start = time.perf_counter()
        for batch in itertools.islice(self.feeds, count):
            values = run(fetches, feed_dict=dict(zip(placeholders, batch)))
        last = values[-1]
        if last is None:
            last = run(self.model.probe)
        return {"seconds": time.perf_counter() - start, "loss": float(last)}


    def prepare_path(self, path, warm_up, seconds):
        """Makes a path of `workloads/path.py`, runs it for `warm_up` seconds, and returns how many steps fit in `seconds`."""
        self.step = importlib.import_module("benchmarks.workloads.path").PATHS[path](self.tf)
        self.step()
        start, steps = time.perf_counter(), 0
        while time.perf_counter() - start < warm_up or not steps:
            self.step()
            steps += 1
        return {"steps": max(1, int(steps * seconds / (time.perf_counter() - start)))}

    def path_steps(self, count):
        """Returns the CPU milliseconds of a step, of all threads of the process, over `count` steps."""
        start = time.process_time()
        for _ in range(count):
            self.step()
        return {"milliseconds": 1e3 * (time.process_time() - start) / count}


class JaxRunner:
    """The hand-written JAX twin of a workload."""

    def __init__(self, subject):
        self.jax = importlib.import_module("jax")
        self.optax = importlib.import_module("optax")

    def version(self):
        return self.jax.__version__

    def build(self, workload):
        """Makes the model and traces its step. Only big_graph traces: elsewhere the first step is to pay for it."""
        name, *arguments = workload.split(":")
        self.model = importlib.import_module("benchmarks.workloads.%s_jax" % name).model(*arguments)
        batches = importlib.import_module("benchmarks.workloads." + name).batches(*arguments)
        self.feeds = itertools.cycle(batches)
        start = time.perf_counter()
        nodes = None
        if workload == "big_graph":
            state = self.jax.eval_shape(self.model.init, self.jax.random.key(1))
            nodes = len(self.model.step.trace(state, *batches[0]).jaxpr.eqns)
        return {"seconds": time.perf_counter() - start, "nodes": nodes}

    def initialize(self):
        start = time.perf_counter()
        self.state = self.jax.block_until_ready(self.model.init(self.jax.random.key(1)))
        return {"seconds": time.perf_counter() - start}

    def steps(self, count):
        step, reads_loss, state = self.model.step, self.model.reads_loss, self.state
        start = time.perf_counter()
        for batch in itertools.islice(self.feeds, count):
            state, loss = step(state, *batch)
            if reads_loss:
                loss = np.asarray(loss)
        last = float(loss)
        self.state = state
        return {"seconds": time.perf_counter() - start, "loss": last}


def warm_up(runner, count, seconds):
    """Runs `count` steps again and again for so many seconds."""
    start = time.perf_counter()
    while time.perf_counter() - start < seconds:
        runner.steps(count)
    return {}


def accelerator():
    """JAX's first device: its platform, kind, how many there are of it, and the most memory that this process has taken of it."""
    devices = importlib.import_module("jax").devices()
    memory = devices[0].memory_stats() or {}
    peak = memory.get("peak_bytes_in_use")
    return {
        "platform": devices[0].platform,
        "kind": devices[0].device_kind,
        "count": len(devices),
        "mebibytes": None if peak is None else peak / 2.0**20,
    }


def answer(runner, request):
    command = request.pop("do")
    if command == "peak":
        return {"mebibytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024.0}
    if command == "accelerator":
        return accelerator()
    if command == "version":
        return {"version": runner.version(), "python": sys.version.split()[0], "numpy": np.__version__}
    if command == "warm_up":
        return warm_up(runner, **request)
    return getattr(runner, command)(**request)


def main():
    replies = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    subject = sys.argv[1]
    runner = (JaxRunner if subject == "jax" else GraphRunner)(subject)
    for line in sys.stdin:
        replies.write(json.dumps(answer(runner, json.loads(line))) + "\n")
        replies.flush()


if __name__ == "__main__":
    main()
