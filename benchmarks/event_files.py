"""Writing 10,000 scalars with a FileWriter: `TF1_PYTHON=path/to/python python -m benchmarks.event_files [FOLDER]`.

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
SCALARS, REPEATS, TURNS = 10_000, 4, 5


def measure(module, folder):
    """Prints the times without the first: Summary messages made, added, and the file closed."""
    tf = importlib.import_module(module)
    times = []
    for _ in range(REPEATS):
        with tempfile.TemporaryDirectory(dir=folder) as logdir:
            writer = tf.summary.FileWriter(logdir)
            start = time.perf_counter()
            for step in range(SCALARS):
                writer.add_summary(tf.Summary(value=[tf.Summary.Value(tag="loss", simple_value=step / 7.0)]), step)
            writer.close()
            times.append(time.perf_counter() - start)
    print(*times[1:])


def main(folder):
    pythons = {"tfcompat": sys.executable, "TensorFlow": os.environ["TF1_PYTHON"]}
    found = {name: [] for name in pythons}
    for _ in range(TURNS):
        for name, python in pythons.items():
            environment = dict(os.environ, TF_CPP_MIN_LOG_LEVEL="3", PYTHONPATH=os.getcwd())
            command = [python, __file__, "--measure", MODULES[name], folder]
            output = subprocess.check_output(command, env=environment, stderr=subprocess.DEVNULL, text=True)
            found[name].extend(float(t) for t in output.split()[-(REPEATS - 1) :])
    medians = {name: statistics.median(times) for name, times in found.items()}
    ratio = medians["tfcompat"] / medians["TensorFlow"]
    print(f"{SCALARS} scalars: tfcompat {medians['tfcompat']:.3f} s, TensorFlow {medians['TensorFlow']:.3f} s, ratio {ratio:.2f}")


if __name__ == "__main__":
    if sys.argv[1:2] == ["--measure"]:
        measure(*sys.argv[2:])
    else:
        main(sys.argv[1] if sys.argv[1:] else tempfile.gettempdir())
