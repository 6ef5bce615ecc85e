"""Keras models under strategies, where operations run at once, train as in 1.15.5."""

import pathlib
import subprocess
import sys

HERE = pathlib.Path(__file__).parent


def test_what_1_15_5_prints():
    done = subprocess.run([sys.executable, "-m", "tfcompat", "run", HERE / "eager_distributed.py"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout == (HERE / "eager_distributed_expected.txt").read_text()
