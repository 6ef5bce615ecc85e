"""Programs that one `tfcompat run` has compiled serve the next."""

import os
import subprocess
import sys

PROGRAM = """
import tensorflow as tf
x = tf.constant([[1.0, 2.0]])
with tf.Session() as session:
    print(session.run(tf.reduce_sum(tf.exp(x) @ [[1.0], [2.0]])))
"""


def run(folder, cache):
    settings = {"TFCOMPAT_CACHE_DIR": cache, "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0", "JAX_PLATFORMS": "cpu"}
    settings["JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES"] = "0"
    script = folder / "program.py"
    script.write_text(PROGRAM)
    done = subprocess.run(
        [sys.executable, "-m", "tfcompat", "run", str(script)], capture_output=True, text=True, env={**os.environ, **settings}, check=True
    )
    return done.stdout


def entries(folder):
    return {file.name: file.stat().st_mtime_ns for file in folder.rglob("*-cache")}


def test_programs_are_kept_and_found(tmp_path):
    cache = tmp_path / "cache"
    first = run(tmp_path, str(cache))
    kept = entries(cache)
    assert kept
    assert run(tmp_path, str(cache)) == first
    assert entries(cache) == kept


def test_damaged_programs_are_compiled_again(tmp_path):
    cache = tmp_path / "cache"
    first = run(tmp_path, str(cache))
    for file in cache.rglob("*-cache"):
        file.write_bytes(file.read_bytes()[:100])
    assert run(tmp_path, str(cache)) == first


def test_an_empty_setting_keeps_nothing(tmp_path, monkeypatch):
    home = tmp_path / "home"
    home.mkdir()
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    assert run(tmp_path, "")
    assert not list(home.rglob("*-cache"))


def test_a_folder_that_cannot_be_written_is_no_error(tmp_path):
    taken = tmp_path / "file"
    taken.write_text("")
    assert run(tmp_path, str(taken / "below"))
