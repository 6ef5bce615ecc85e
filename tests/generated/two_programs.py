"""Asks tfcompat and TensorFlow 1.15 the same of the same graphs, each in a process of its own.

TF1_PYTHON is the Python that has TensorFlow 1.15.5 (tests/oracle/README.md).
"""

import os
import pathlib
import pickle
import subprocess
import sys
import tempfile

WORKER = str(pathlib.Path(__file__).with_name("graph_worker.py"))


def both(task, graphs, seconds, worker=WORKER):
    """The answers of tfcompat and of TensorFlow for graphs, as `answers` gives them."""
    ours = answers(sys.executable, "tfcompat", task, graphs, seconds, worker)
    return ours, answers(os.environ["TF1_PYTHON"], "tensorflow", task, graphs, seconds, worker)


def answers(python, module, task, graphs, seconds, worker=WORKER):
    """What a program gives for graphs (number, GraphDef, names), by number; of those that end the process, or take longer than
    the limit, how they end, as a string.

    task: "run" or "shapes", see graph_worker. seconds: the limit for a process.
    """
    found = {}
    with tempfile.TemporaryDirectory() as folder:
        while len(found) < len(graphs):
            left = [g for g in graphs if g[0] not in found]
            source, sink = os.path.join(folder, "graphs"), os.path.join(folder, "answers")
            with open(source, "wb") as file:
                pickle.dump(left, file, 2)
            open(sink, "wb").close()  # noqa: SIM115
            environment = {**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3", "CUDA_VISIBLE_DEVICES": "", "JAX_PLATFORMS": "cpu"}
            try:
                done = subprocess.run([python, worker, task, module, source, sink], env=environment, capture_output=True, timeout=seconds)
                end = f"status {done.returncode}: {done.stderr[-300:].decode('utf8', 'replace')}"
            except subprocess.TimeoutExpired:
                end = "hang"
            begun = _read(sink, found)
            if begun is not None:
                found[begun] = end
            elif len(found) < len(graphs) and end != "hang":
                raise RuntimeError(f"{python} {module} ended without a graph: {end}")
    return found


def _read(path, found):
    """Puts the answers of a file into `found`; the number of the graph that was begun and not answered, or None."""
    begun = None
    with open(path, "rb") as file:
        while True:
            try:
                number, given = pickle.load(file)
            except (EOFError, pickle.UnpicklingError):
                return begun
            begun = number if given is None else None
            if given is not None:
                found[number] = given
