"""`tf.compat.v2.summary` has TensorBoard's functions where it is installed, as in 1.15."""

import subprocess
import sys

import pytest

PROGRAM = """
import tensorflow as tf
print(tf.compat.v2.summary.scalar(2))
"""


@pytest.fixture
def found(tmp_path):
    def run(files):
        for name, text in files.items():
            (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / name).write_text(text)
        (tmp_path / "program.py").write_text(PROGRAM)
        return subprocess.run([sys.executable, "-m", "tfcompat", "run", "program.py"], cwd=tmp_path, capture_output=True, text=True)

    return run


def test_functions_of_an_installed_tensorboard(found):
    done = found({
        "tensorboard/__init__.py": "", "tensorboard/summary/__init__.py": "",
        "tensorboard/summary/v2.py": "import tensorflow as tf\ndef scalar(x): return x, tf.__version__",
    })  # fmt: skip
    assert done.stdout == "(2, '1.15.5')\n", done.stderr


def test_no_functions_without_tensorboard(found):
    done = found({"tensorboard.py": "raise ModuleNotFoundError('no', name='tensorboard')"})
    assert "AttributeError: tfcompat has no tf.compat.v2.summary.scalar" in done.stderr


def test_a_broken_tensorboard_says_why(found):
    done = found({"tensorboard.py": "import no_such_module_of_tensorboard"})
    assert "No module named 'no_such_module_of_tensorboard'" in done.stderr.splitlines()[-1]
