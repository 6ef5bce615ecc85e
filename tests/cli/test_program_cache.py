"""Programs that one `tfcompat run` has compiled serve the next."""

import hashlib
import os
import stat
import subprocess
import sys
import time

import pytest

from tfcompat._src.base import jax_compat
from tfcompat._src.cli import program_cache

PROGRAM = """
import tensorflow as tf
x = tf.constant([[1.0, 2.0]])
with tf.Session() as session:
    print(session.run(tf.reduce_sum(tf.exp(x) @ [[1.0], [2.0]])))
"""
COUNTED = """
import atexit, jax
compiled = []
jax.monitoring.register_event_duration_secs_listener(lambda event, *_, **__: compiled.append(event))
atexit.register(lambda: print("from disk:", compiled.count("/jax/compilation_cache/cache_retrieval_time_sec")))
"""
KEY = "jit_f-0123456789abcdef"


def settings(cache):
    kept = {k: v for k, v in os.environ.items() if not k.startswith("JAX_")}
    return {
        **kept, "TFCOMPAT_CACHE_DIR": cache, "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0",
        "JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES": "0", "JAX_PLATFORMS": "cpu", "TFCOMPAT_ENGINE": "compile",
    }  # fmt: skip


def start(folder, cache, **others):
    script = folder / "program.py"
    script.write_text(COUNTED + PROGRAM)
    return subprocess.Popen(
        [sys.executable, "-m", "tfcompat", "run", str(script)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=settings(cache) | others
    )


def finish(process):
    """(the printed result, how many programs came from disk, the error output)."""
    out, err = process.communicate()
    assert process.returncode == 0, err
    result, _, found = out.partition("\nfrom disk: ")
    return result, int(found), err


def run(folder, cache, **others):
    return finish(start(folder, cache, **others))


def entries(folder):
    return {file: file.read_bytes() for file in folder.rglob("*-cache")}


def test_programs_are_kept_and_found(tmp_path):
    cache = tmp_path / "cache"
    first, found, _ = run(tmp_path, str(cache))
    kept = entries(cache)
    assert kept and found == 0
    assert run(tmp_path, str(cache)) == (first, len(kept), "")
    assert entries(cache) == kept
    (folder,) = cache.iterdir()
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert {stat.S_IMODE(file.stat().st_mode) for file in kept} == {0o600}


def test_damaged_programs_are_compiled_and_written_again(tmp_path):
    cache = tmp_path / "cache"
    first, _, _ = run(tmp_path, str(cache))
    sizes = {file: len(data) for file, data in entries(cache).items()}
    for file, data in entries(cache).items():
        file.write_bytes(data[:100])
    assert run(tmp_path, str(cache)) == (first, 0, "")
    assert {file: len(data) for file, data in entries(cache).items()}.keys() == sizes.keys()
    assert run(tmp_path, str(cache)) == (first, len(sizes), "")


def test_two_processes_at_once(tmp_path):
    cache = tmp_path / "cache"
    processes = [start(tmp_path, str(cache)) for _ in range(2)]
    (first, _, err), (second, _, other_err) = map(finish, processes)
    assert first == second and err == other_err == ""
    assert run(tmp_path, str(cache)) == (first, len(entries(cache)), "")


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
    assert run(tmp_path, str(taken / "below"))[2] == ""


@pytest.mark.parametrize("what", ["folder", "file"])
def test_what_others_can_write_is_not_loaded(tmp_path, what):
    cache = tmp_path / "cache"
    first, _, _ = run(tmp_path, str(cache))
    (folder,) = cache.iterdir()
    for path in entries(cache) if what == "file" else [folder]:
        path.chmod(0o777)
    result, found, err = run(tmp_path, str(cache))
    assert (result, found) == (first, 0)
    if what == "folder":
        assert "are not kept" in err and f"{folder} can be written by other users" in err
    else:
        assert err == "" and {stat.S_IMODE(file.stat().st_mode) for file in entries(cache)} == {0o600}


@pytest.fixture
def store(tmp_path):
    folder = tmp_path / "0123456789abcdef"
    folder.mkdir(mode=0o700)
    return program_cache.ProgramStore(tmp_path, folder)


def entry(store, key=KEY):
    return store.folder / f"{key}-cache"


def test_what_is_put_is_found(store):
    assert store.get(KEY) is None
    store.put(KEY, b"program")
    assert store.get(KEY) == b"program"
    assert [file.name for file in store.folder.iterdir()] == [f"{KEY}-cache"]


@pytest.mark.parametrize("change", ["bit", "swapped", "cut", "empty", "another key", "longer"])
def test_a_changed_entry_is_not_loaded_and_is_written_again(store, change):
    store.put(KEY, b"program" * 10)
    data = entry(store).read_bytes()
    if change == "another key":
        entry(store).rename(entry(store, "other"))
        assert store.get("other") is None
        return
    entry(store).write_bytes({
        "bit": data[:-1] + bytes([data[-1] ^ 1]), "swapped": data[:-14] + data[-7:] + data[-14:-7][::-1], "cut": data[:-1], "empty": b"", "longer": data + b"\0",
    }[change])  # fmt: skip
    assert store.get(KEY) is None
    store.put(KEY, b"program")
    assert store.get(KEY) == b"program"


def test_a_link_is_not_loaded(store, tmp_path):
    store.put(KEY, b"program")
    entry(store).rename(tmp_path / "elsewhere")
    entry(store).symlink_to(tmp_path / "elsewhere")
    assert store.get(KEY) is None


def test_what_another_user_owns_is_not_loaded(store, monkeypatch):
    store.put(KEY, b"program")
    owner = os.geteuid()
    monkeypatch.setattr(os, "geteuid", lambda: owner + 1)
    assert store.get(KEY) is None


def test_the_folder_of_another_user_is_not_used(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("TFCOMPAT_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(jax_compat, "keep_programs", lambda *_: pytest.fail("it was used"))
    owner = os.geteuid()
    monkeypatch.setattr(os, "geteuid", lambda: owner + 1)
    program_cache.keep_programs()
    assert f"belongs to another user ({owner})" in capsys.readouterr().err


def test_a_link_for_a_folder_is_not_used(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("TFCOMPAT_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(jax_compat, "keep_programs", lambda *_: pytest.fail("it was used"))
    (tmp_path / "own").mkdir()
    (tmp_path / program_cache._machine()).symlink_to(tmp_path / "own")
    program_cache.keep_programs()
    assert "is not a folder" in capsys.readouterr().err


def age(file, seconds):
    os.utime(file, (time.time() - seconds,) * 2)


def test_the_least_recently_used_go_first(store, monkeypatch):
    for position, key in enumerate("abc"):
        store.put(key, b"x" * 1000)
        age(entry(store, key), 100 - position)
    assert store.get("a") is not None
    monkeypatch.setattr(program_cache, "LIMIT", 3500)
    store.put("d", b"x" * 1000)
    assert [key for key in "abcd" if entry(store, key).exists()] == ["a", "c", "d"]


def test_programs_of_other_versions_go(store, tmp_path, monkeypatch):
    other, foreign = tmp_path / "fedcba9876543210", tmp_path / "notes"
    for folder in (other, foreign):
        folder.mkdir()
        (folder / "jit_g-cache").write_bytes(b"x" * 1000)
        age(folder / "jit_g-cache", 40 * 24 * 3600)
    store.put(KEY, b"program")
    assert not other.exists() and foreign.exists() and store.get(KEY) == b"program"
    other.mkdir()
    (other / "jit_g-cache").write_bytes(b"x" * 1000)
    age(other / "jit_g-cache", 10)
    monkeypatch.setattr(program_cache, "LIMIT", 1000)
    store.put("second", b"program")
    assert not other.exists() and store.get(KEY) == store.get("second") == b"program"


def test_files_that_vanish_are_no_error(store, tmp_path, monkeypatch):
    store.put(KEY, b"program")
    listed = program_cache._entries(store.folder)
    scan = program_cache._entries
    monkeypatch.setattr(program_cache, "_entries", lambda folder: listed if str(getattr(folder, "path", folder)) == str(store.folder) else scan(folder))
    entry(store).unlink()
    assert list(program_cache._files(tmp_path)) == []
    monkeypatch.setattr(program_cache, "_files", lambda _: [(0.0, 7, str(entry(store)))])
    program_cache._drop_unused(tmp_path)
    assert store.get(KEY) is None


def test_a_folder_that_cannot_be_written_is_read(store, monkeypatch):
    def refuse(*_, **__):
        raise PermissionError(13, "Permission denied")

    store.put(KEY, b"program")
    for name in ("utime", "replace", "unlink", "rmdir"):
        monkeypatch.setattr(program_cache.os, name, refuse)
    monkeypatch.setattr(program_cache.tempfile, "mkstemp", refuse)
    store.put("other", b"program")
    assert store.get(KEY) == b"program" and store.get("other") is None


def test_a_write_that_fails_leaves_nothing(store, monkeypatch):
    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(program_cache.os, "replace", full)
    store.put(KEY, b"program")
    assert list(store.folder.iterdir()) == []


def test_the_digest_is_of_key_and_program(store):
    store.put(KEY, b"program")
    assert entry(store).read_bytes() == b"tfcompat program 1\n" + hashlib.sha256(KEY.encode() + b"\nprogram").digest() + b"program"
