"""Saving and restoring 1 GB of float32: `TF1_PYTHON=path/to/python python -m benchmarks.checkpoints [FOLDER]`.

Runs tfcompat and TensorFlow 1.15 in turn, several times, and prints the median seconds of each and their ratio.
"""

import importlib
import os
import statistics
import subprocess
import sys
import tempfile
import time

MODULES = {"tfcompat": "tfcompat", "TensorFlow": "tensorflow"}
VARIABLES, ELEMENTS, REPEATS, TURNS = 16, 16 << 20, 4, 3


def seconds(function):
    start = time.perf_counter()
    function()
    return time.perf_counter() - start


def measure(module, folder):
    """Prints the times of saves, and of restores, without the first of each, which makes memory and files."""
    tf = importlib.import_module(module)
    prefix = os.path.join(folder, "model")
    shape = [ELEMENTS]
    for i in range(VARIABLES):
        tf.get_variable("v%d" % i, shape, initializer=tf.random_uniform_initializer(seed=i))
    saver = tf.train.Saver()
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        saves = [
            seconds(lambda: saver.save(session, prefix, write_meta_graph=False, write_state=False))
            for _ in range(REPEATS)
        ]
        restores = [seconds(lambda: saver.restore(session, prefix)) for _ in range(REPEATS)]
    print(*saves[1:], *restores[1:])


def main(folder):
    pythons = {"tfcompat": sys.executable, "TensorFlow": os.environ["TF1_PYTHON"]}
    found = {name: ([], []) for name in pythons}
    with tempfile.TemporaryDirectory(dir=folder) as place:
        for _ in range(TURNS):
            for name, python in pythons.items():
                command = [python, __file__, "--measure", MODULES[name], place]
                environment = dict(os.environ, TF_CPP_MIN_LOG_LEVEL="3", PYTHONPATH=os.getcwd())
                output = subprocess.check_output(command, env=environment, stderr=subprocess.DEVNULL, text=True)
                times = [float(t) for t in output.split()[-2 * (REPEATS - 1) :]]
                found[name][0].extend(times[: REPEATS - 1])
                found[name][1].extend(times[REPEATS - 1 :])
    for task, times in (("save", 0), ("restore", 1)):
        medians = {name: statistics.median(all_times[times]) for name, all_times in found.items()}
        ratio = medians["tfcompat"] / medians["TensorFlow"]
        print(
            f"{task}: tfcompat {medians['tfcompat']:.2f} s, TensorFlow {medians['TensorFlow']:.2f} s, ratio {ratio:.2f}"
        )


if __name__ == "__main__":
    if sys.argv[1:2] == ["--measure"]:
        measure(*sys.argv[2:])
    else:
        main(*sys.argv[1:] or [None])
