"""`tfcompat run --as 2.15`: libraries of today that use tf.compat.v1 read version 2.15 and find the names that it has."""

import subprocess
import sys

import pytest

from tfcompat._src.shim.answers_as import OWN, SAME

PROGRAM = f"""
import importlib.metadata, os, subprocess, sys
import tensorflow.compat.v1 as tf
print(tf.__version__, tf.VERSION, tf.version.VERSION, importlib.metadata.version("tensorflow"))
def find(path):
    value = tf
    for name in path.split("."):
        value = getattr(value, name)
    return value
same, own = {SAME!r}, {sorted(OWN)!r}
print([new for new in [*same, *own] if not hasattr(find(new.rpartition(".")[0]) if "." in new else tf, new.rpartition(".")[2])])
"""
USE = """
print([new for new, old in same.items() if find(new) is not find(old)])
v, x = tf.Variable(1.0), tf.constant(2.0)
print(x.ref().deref() is x, {v.ref(): 1}[v.ref()], tf.config.list_physical_devices("CPU")[0].device_type)
child = "import tfcompat, tensorflow, importlib.metadata as m; print(tensorflow is tfcompat, tensorflow.__version__, m.version('tensorflow'))"
sys.stdout.flush()
subprocess.run([sys.executable, "-c", child], env={"PATH": os.environ["PATH"]})
"""


def run(*arguments):
    return subprocess.run([sys.executable, "-m", "tfcompat", "run", *arguments], capture_output=True, text=True)


def test_version_and_names_of_2_15():
    done = run("--as", "2.15", "-c", PROGRAM + USE)
    assert done.stdout.splitlines() == ["2.15.0 2.15.0 2.15.0 2.15.0", "[]", "[]", "True 1 CPU", "True 2.15.0 2.15.0"], done.stderr


def test_without_it_the_version_is_1_15_and_the_names_lack():
    version, names = run("-c", PROGRAM).stdout.splitlines()
    assert version == "1.15.5 1.15.5 1.15.5 1.15.5" and names == str([*SAME, *sorted(OWN)])


def test_a_child_has_one_tfcompat():
    child = "import tfcompat, tensorflow; print(tensorflow is tfcompat, tensorflow.__version__)"
    done = run("-c", f"import subprocess, sys; subprocess.run([sys.executable, '-c', {child!r}])")
    assert done.stdout == "True 1.15.5\n", done.stderr


@pytest.mark.parametrize("arguments", [["--as", "2.16"], ["--as="], ["--as"]])
def test_other_versions_are_refused(arguments):
    done = run(*arguments, "-c", "print(1)") if arguments != ["--as"] else run("--as")
    assert done.returncode == 2 and "--as is 1.15 or 2.15, not" in done.stderr


def test_an_argument_of_the_function():
    code = (
        "import tfcompat, importlib.metadata\n"
        "try:\n    tfcompat.install_as_tensorflow('3.0')\nexcept ValueError as e:\n    print(e)\n"
        "tfcompat.install_as_tensorflow('2.15')\nimport tensorflow\nprint(tensorflow.__version__, importlib.metadata.version('tensorflow'))\n"
        "try:\n    tfcompat.install_as_tensorflow()\nexcept RuntimeError as e:\n    print(e)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    refused, version, late = done.stdout.splitlines()
    assert refused == "tfcompat answers as TensorFlow 1.15 or 2.15, not '3.0'." and version == "2.15.0 2.15.0"
    assert late.startswith("This process has answered as TensorFlow 2.15.0")
