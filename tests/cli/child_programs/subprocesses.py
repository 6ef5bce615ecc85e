"""The ways in which a program starts Python, its own and that of its processes."""

import os
import subprocess
import sys

import tensorflow as tf  # noqa: F401

HERE = os.path.dirname(os.path.abspath(__file__))
WORKER = os.path.join(HERE, "worker.py")
TINY = "import numpy as np, tensorflow as tf; print(tf.constant(1).name, np.float)"


def show(*command, **options):
    print(subprocess.check_output(list(command), **options).decode().strip())


def as_it_is():
    show(sys.executable, WORKER, "a")
    show(sys.executable, "-c", TINY)
    show(sys.executable, "-m", "worker", "b", cwd=HERE)
    subprocess.check_call('"%s" "%s" c' % (sys.executable, WORKER), shell=True)


def with_other_environments():
    show(sys.executable, WORKER, "d", env={})
    show(sys.executable, WORKER, "e", env=dict(os.environ, PYTHONPATH=HERE))
    os.environ["PYTHONPATH"] = HERE
    show(sys.executable, "-c", "import worker")
    sys.stdout.flush()
    print(os.spawnve(os.P_WAIT, sys.executable, [sys.executable, WORKER, "f"], {"A": "b"}))


def of_processes():
    inner = "import subprocess, sys; subprocess.check_call([sys.executable, %r, 'g'], env={})" % WORKER
    show(sys.executable, "-c", inner)
    show(sys.executable, "-c", "import runpy; runpy.run_path(%r, run_name='other')" % WORKER)


def again():
    if len(sys.argv) < 3:
        print("first")
        sys.stdout.flush()
        os.execv(sys.executable, [sys.executable] + sys.argv + ["second"])
    print(sys.argv[1:], tf.constant(2).name)


globals()[sys.argv[1]]()
