"""Whoever saves, and whenever it is stopped, a checkpoint is that of one save: processes, threads, kills, interrupts."""

import fcntl
import os
import pathlib
import signal
import subprocess
import sys
import threading
from concurrent import futures

import numpy as np
import pytest
from long_run import count

import tfcompat as tf
from tfcompat._src.checkpoint.bundle_writer import BundleWriter
from tfcompat._src.checkpoint.reader import CheckpointReader
from tfcompat._src.keras.saving import hdf5_format
from tfcompat._src.platform import temporary_files
from tfcompat._src.train import checkpoint_management

HERE = pathlib.Path(__file__).parent
ROOT = os.path.dirname(os.path.dirname(tf.__file__))
STOPS = count(1, 200)
SAVES = count(10, 200)


def program(name, *arguments, **options):
    command = [sys.executable, str(HERE / name), *map(str, arguments)]
    return subprocess.Popen(command, env=dict(os.environ, PYTHONPATH=ROOT), text=True, stdout=subprocess.PIPE, **options)


@pytest.mark.parametrize(
    ("kind", "how"),
    [*((k, h) for k in ("v2", "sharded", "v1") for h in ("kill", "interrupt")), ("changing", "kill"), ("state", "kill")],
)
def test_a_save_that_stops_at_any_file_operation_loses_nothing(tmp_path, kind, how):
    with program("save_and_die.py", tmp_path, kind, how, STOPS) as saver:
        found = saver.communicate()[0]
    assert saver.returncode == 0
    stopped, operations = map(int, found.split())
    assert stopped >= max(STOPS, operations)


def check_one_save(prefix):
    """The checkpoint is that of one save; its number."""
    reader = CheckpointReader(prefix)
    a, b = reader.get_tensor("a"), reader.get_tensor("b")
    np.testing.assert_array_equal(a, np.full(a.shape, b))
    return int(b)


@pytest.mark.parametrize("kind", ["whole", "sharded", "v1"])
def test_two_processes_save_to_one_prefix(tmp_path, kind):
    prefix = str(tmp_path / "model")
    savers = [program("save_together.py", prefix, kind, i, SAVES, stdin=subprocess.PIPE) for i in range(2)]
    assert [saver.stdout.readline() for saver in savers] == ["ready\n"] * 2
    for saver in savers:
        saver.stdin.write("\n")
        saver.stdin.flush()
    assert savers[0].stdout.readline() == "0\n"
    seen = {check_one_save(prefix)}
    while any(saver.poll() is None for saver in savers):
        seen.add(check_one_save(prefix))
    for saver in savers:
        saver.communicate()
    assert [saver.returncode for saver in savers] == [0, 0]
    assert check_one_save(prefix) in (SAVES - 1, 1000 + SAVES - 1)
    assert seen <= {*range(SAVES), *range(1000, 1000 + SAVES)}
    assert not [p for p in tmp_path.iterdir() if "temp" in p.name]


def save_numbers(prefix, first):
    with tf.Graph().as_default(), tf.Session() as session:
        value = tf.placeholder(tf.float32, [])
        a, b = tf.get_variable("a", [5000]), tf.get_variable("b", [])
        step = tf.group(a.assign(tf.fill([5000], value)), b.assign(value))
        saver = tf.train.Saver()
        for number in range(SAVES):
            session.run(step, {value: first + number})
            saver.save(session, prefix, write_meta_graph=False)


@pytest.mark.parametrize("names", [("model", "model"), ("model", "other")])
def test_two_threads_save(tmp_path, names):
    with futures.ThreadPoolExecutor(2) as threads:
        list(threads.map(save_numbers, [str(tmp_path / name) for name in names], [0, 1000]))
    assert {check_one_save(str(tmp_path / name)) for name in names} <= {SAVES - 1, 1000 + SAVES - 1}
    assert not [p for p in tmp_path.iterdir() if "temp" in p.name]


def test_two_threads_save_shards_with_one_saver(tmp_path):
    with tf.Graph().as_default(), tf.Session() as session:
        tf.get_variable("a", initializer=tf.fill([5000], 3.0))
        tf.get_variable("b", initializer=3.0)
        saver = tf.train.Saver(sharded=True)
        session.run(tf.global_variables_initializer())
        with futures.ThreadPoolExecutor(2) as threads:
            list(threads.map(lambda _: saver.save(session, str(tmp_path / "model"), write_meta_graph=False), range(SAVES)))
    assert check_one_save(str(tmp_path / "model")) == 3


def save_value(prefix, value):
    writer = BundleWriter(prefix)
    writer.add("a", np.full(4, value, np.float32), tf.float32)
    writer.add("b", np.float32(value), tf.float32)
    return writer


def test_a_save_leaves_the_files_of_living_ones_and_clears_those_of_dead_ones(tmp_path):
    dead = tmp_path / f"m.data-00000-of-00001{temporary_files.MARK}{temporary_files.new_number()}"
    foreign = tmp_path / f"m.data-00000-of-00001{temporary_files.MARK}12345"
    for path in (dead, foreign):
        path.write_bytes(b"part")
    living = save_value(str(tmp_path / "m"), 1)
    save_value(str(tmp_path / "m"), 2).finish()
    assert not dead.exists()
    assert foreign.exists()  # another machine's, whose locks may not be seen here
    living.finish()
    assert check_one_save(str(tmp_path / "m")) == 1
    os.utime(foreign, (1, 1))
    save_value(str(tmp_path / "m"), 3).finish()
    assert sorted(p.name for p in tmp_path.iterdir()) == ["m.data-00000-of-00001", "m.index"]


def test_a_fork_of_a_saver_keeps_its_files(tmp_path):
    writer = save_value(str(tmp_path / "m"), 1)
    (temporary,) = tmp_path.iterdir()
    begin, end = os.pipe()
    holder = subprocess.Popen([sys.executable, "-c", f"import os; os.read({begin}, 1)"], pass_fds=(begin, writer._data._file))
    try:
        writer._data.close()
        save_value(str(tmp_path / "m"), 2).finish()
        assert temporary.exists()
    finally:
        os.write(end, b".")
        holder.wait()
        os.close(begin)
        os.close(end)
    save_value(str(tmp_path / "m"), 3).finish()
    assert not temporary.exists()


def test_where_there_are_no_locks_nothing_is_cleared(tmp_path, monkeypatch):
    leftover = tmp_path / f"m.data-00000-of-00001{temporary_files.MARK}{temporary_files.new_number()}"
    leftover.write_bytes(b"part")

    def no_locks(file, how):
        raise OSError(95, "Operation not supported")

    monkeypatch.setattr(fcntl, "flock", no_locks)
    save_value(str(tmp_path / "m"), 1).finish()
    assert check_one_save(str(tmp_path / "m")) == 1
    assert leftover.exists()


def test_the_index_of_a_killed_save_is_not_put_over_a_later_one(tmp_path):
    """Another program, which does not know of the killed save, has saved since."""
    prefix = str(tmp_path / "m")
    save_value(prefix, 1).finish()
    stale = pathlib.Path(f"{prefix}.index{temporary_files.MARK}{temporary_files.new_number()}")
    stale.write_bytes(pathlib.Path(prefix + ".index").read_bytes())
    save_value(str(tmp_path / "n"), 2).finish()
    for kind in ("data-00000-of-00001", "index"):
        os.replace(tmp_path / f"n.{kind}", f"{prefix}.{kind}")
    assert check_one_save(prefix) == 2
    save_value(str(tmp_path / "n"), 3)
    assert check_one_save(prefix) == 2
    assert not stale.exists()


def test_a_handler_may_save_to_the_prefix_that_is_being_saved(tmp_path):
    prefix = str(tmp_path / "m")
    saves = []

    def handler(number, frame):
        writer = temporary_files.uninterrupted(save_value)(prefix, 2)
        temporary_files.uninterrupted(writer.finish)()
        saves.append(number)

    @temporary_files.uninterrupted
    def save():
        writer = save_value(prefix, 1)
        signal.pthread_kill(threading.main_thread().ident, signal.SIGUSR1)
        writer.finish()

    before = signal.signal(signal.SIGUSR1, handler)
    try:
        save()
    finally:
        signal.signal(signal.SIGUSR1, before)
    assert saves == [signal.SIGUSR1]
    assert check_one_save(prefix) in (1, 2)


def test_what_the_state_file_names_is_not_deleted(tmp_path, monkeypatch):
    with tf.Graph().as_default(), tf.Session() as session:
        tf.get_variable("v", initializer=1.0)
        session.run(tf.global_variables_initializer())
        saver = tf.train.Saver(max_to_keep=1)
        first = saver.save(session, str(tmp_path / "m"), global_step=1)

        record = checkpoint_management.update_checkpoint_state_internal

        def recorded(save_dir, *args, **kwargs):  # another process writes the state file at this time
            record(save_dir, *args, **kwargs)
            record(save_dir, first)

        monkeypatch.setattr(checkpoint_management, "update_checkpoint_state_internal", recorded)
        saver.save(session, str(tmp_path / "m"), global_step=2)
    assert tf.train.latest_checkpoint(str(tmp_path)) == first


def test_a_manager_forgets_a_checkpoint_before_it_deletes_it(tmp_path, monkeypatch):
    with tf.Graph().as_default(), tf.Session() as session:
        v = tf.get_variable("v", initializer=1.0)
        session.run(v.initializer)
        manager = tf.train.CheckpointManager(tf.train.Checkpoint(v=v), str(tmp_path), max_to_keep=1)
        delete = checkpoint_management._delete_bundle
        deleted = []

        def checked(prefix):
            state = tf.train.get_checkpoint_state(str(tmp_path))
            assert prefix not in (state.model_checkpoint_path, *state.all_model_checkpoint_paths)
            deleted.append(prefix)
            delete(prefix)

        monkeypatch.setattr(checkpoint_management, "_delete_bundle", checked)
        paths = [manager.save() for _ in range(3)]
    assert deleted == paths[:2]
    assert tf.train.latest_checkpoint(str(tmp_path)) == paths[2]


def test_an_interrupted_keras_file_keeps_the_old_weights(tmp_path, monkeypatch):
    pytest.importorskip("h5py")
    path = tmp_path / "w.h5"
    model = tf.keras.Sequential([tf.keras.layers.Dense(2, input_shape=(3,))])
    model.save_weights(str(path))
    before = path.read_bytes()

    def interrupted(group, layers):
        group.attrs["layer_names"] = []
        raise KeyboardInterrupt

    monkeypatch.setattr(hdf5_format, "save_weights_to_hdf5_group", interrupted)
    for save in (model.save_weights, model.save):
        with pytest.raises(KeyboardInterrupt):
            save(str(path))
        assert path.read_bytes() == before
        assert list(tmp_path.iterdir()) == [path]
