"""Programs run wherever they lie, and for users without a home or a place to keep compiled programs."""

import os
import subprocess
import sys

import pytest

PROGRAM = b"""
import os
import tensorflow as tf

os.chdir(os.path.dirname(os.path.abspath(__file__)))
x = tf.placeholder(tf.float32, [None, 2])
layer = tf.keras.layers.Dense(1, kernel_initializer="ones")
w = tf.get_variable("w", [2], initializer=tf.ones_initializer())
with tf.Session() as session:
    y = tf.reduce_sum(layer(x) * tf.exp(w - 1.0))
    session.run(tf.global_variables_initializer())
    print(session.run(y, {x: [[1.0, 2.0]]}))
    path = tf.train.Saver().save(session, "./model")
    tf.train.Saver().restore(session, path)
    with tf.summary.FileWriter("logs", session.graph) as writer:
        writer.add_summary(session.run(tf.summary.scalar("w", w[0])), 1)
    try:
        session.run(tf.check_numerics(tf.exp(x), "too large"), {x: [[1e9, 0.0]]})
    except tf.errors.InvalidArgumentError:
        print("checked")
"""
WITHOUT_PASSWD = """
import pwd, runpy, sys

def unknown(uid):
    raise KeyError(f"getpwuid(): uid not found: {uid}")

pwd.getpwuid = unknown
sys.argv[:] = ["tfcompat", "run", *sys.argv[1:]]
runpy.run_module("tfcompat", run_name="__main__", alter_sys=True)
"""


def run(folder, python=("-m", "tfcompat", "run"), without=(), **settings):
    """What the program prints, run from a file in the folder (bytes)."""
    path = os.path.join(os.fsencode(folder), b"program.py")
    with open(path, "wb") as file:
        file.write(PROGRAM)
    env = {k: v for k, v in os.environ.items() if k not in without and not k.startswith("JAX_")}
    done = subprocess.run([sys.executable, *python, path], capture_output=True, env={**env, "JAX_PLATFORMS": "cpu", **settings})
    assert done.returncode == 0, done.stderr.decode(errors="replace")
    return done.stdout.decode(), done.stderr.decode(errors="replace")


@pytest.mark.parametrize("name", [b"caf\xe9", b"\xff\xfe", "\u6f22\u5b57".encode(), b"a b"], ids=["latin1", "no-encoding", "utf8", "space"])
def test_a_folder_of_any_name(tmp_path, name):
    folder = os.path.join(os.fsencode(tmp_path), name)
    try:
        os.mkdir(folder)
    except OSError:
        pytest.skip("this file system has no such names")
    assert run(folder)[0] == "6.0\nchecked\n"
    assert {b"checkpoint", b"logs"} < set(os.listdir(folder))


def test_a_cache_folder_of_any_name(tmp_path):
    cache = os.path.join(os.fsencode(tmp_path), b"caf\xe9")
    settings = {"TFCOMPAT_CACHE_DIR": os.fsdecode(cache), "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0", "TFCOMPAT_ENGINE": "compile"}
    assert run(tmp_path, **settings) == run(tmp_path, **settings) == ("6.0\nchecked\n", "")
    (versions,) = os.listdir(cache)
    assert os.listdir(os.path.join(cache, versions))


def test_a_user_without_home_and_name(tmp_path):
    without = ("HOME", "XDG_CACHE_HOME", "TFCOMPAT_CACHE_DIR", "KERAS_HOME", "USER", "LOGNAME", "LNAME", "USERNAME")
    assert run(tmp_path, ("-c", WITHOUT_PASSWD), without) == ("6.0\nchecked\n", "")
    assert "~" not in os.listdir(tmp_path)


@pytest.mark.parametrize("mode", [0o500, 0o000], ids=["read-only", "closed"])
def test_a_home_that_cannot_be_written(tmp_path, mode):
    home = tmp_path / "home"
    home.mkdir()
    home.chmod(mode)
    if os.access(home, os.W_OK):
        home.rmdir()
        home = "/proc/self/no-home"  # nothing can be made there, even by root
    assert run(tmp_path, without=("XDG_CACHE_HOME", "TFCOMPAT_CACHE_DIR"), HOME=str(home)) == ("6.0\nchecked\n", "")
