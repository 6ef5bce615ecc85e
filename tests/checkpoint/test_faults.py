"""Checkpoints survive: a killed writer, a full disk, any damaged byte."""

import os
import random
import resource
import signal
import subprocess
import sys
import time

import numpy as np
import pytest
from long_run import count

import tfcompat as tf
from tfcompat._src.base import errors
from tfcompat._src.checkpoint.reader import CheckpointReader
from tfcompat._src.train.saver_builder import BaseSaverBuilder

WRITER = os.path.join(os.path.dirname(__file__), "save_forever.py")
ROOT = os.path.dirname(os.path.dirname(tf.__file__))
KILLS = count(6, 200)

DAMAGE = (errors.DataLossError, errors.NotFoundError, errors.InternalError, errors.OutOfRangeError)
"""What 1.15 says of damage: also that the first block of a file of version 1 is not there, and that a data file ends early."""


def last_number(log):
    return int(log.decode().split()[-1]) if log.split() else 0


def check(prefix, finished):
    """The checkpoint is whole, and not older than the last save that returned."""
    reader = CheckpointReader(prefix)
    a, b = reader.get_tensor("a"), reader.get_tensor("b")
    assert b >= finished
    np.testing.assert_array_equal(a, np.full(200_000, b))


@pytest.mark.parametrize("numbered", ["numbered", "same"])
def test_a_killed_writer_loses_nothing(tmp_path, numbered):
    generator = random.Random(7)
    prefix = str(tmp_path / "model")
    environment = dict(os.environ, PYTHONPATH=ROOT)
    for _ in range(KILLS // 2):
        with subprocess.Popen(
            [sys.executable, WRITER, prefix, numbered], stdout=subprocess.PIPE, env=environment
        ) as writer:
            first = writer.stdout.readline()
            deadline = time.perf_counter() + generator.uniform(0, 0.2)
            while time.perf_counter() < deadline:
                pass
            writer.send_signal(signal.SIGKILL)
            finished = last_number(first + writer.stdout.read())
        check(tf.train.latest_checkpoint(str(tmp_path)), finished)


def save_two(folder, version):
    """A small checkpoint of version 1 or 2, and the values in it."""
    values = {"a": np.arange(6, dtype=np.float32).reshape(2, 3), "name": np.array([b"x", b"yz"], object)}
    with tf.Graph().as_default(), tf.Session() as session:
        for name, value in values.items():
            tf.get_variable(name, initializer=tf.constant(value))
        session.run(tf.global_variables_initializer())
        prefix = tf.train.Saver(write_version=version).save(session, str(folder / "small"), write_meta_graph=False)
    return prefix, values


@pytest.mark.parametrize("version", [1, 2])
def test_every_damaged_byte_is_found_or_harmless(tmp_path, version):
    prefix, values = save_two(tmp_path, version)
    found = 0
    for path in sorted(p for p in tmp_path.iterdir() if p.name != "checkpoint"):
        whole = path.read_bytes()
        for place in range(len(whole)):
            path.write_bytes(whole[:place] + bytes((whole[place] ^ 0x5A,)) + whole[place + 1 :])
            try:
                reader = CheckpointReader(prefix)
                got = {name: reader.get_tensor(name) for name in values}
            except DAMAGE:
                found += 1
                continue
            for name, value in values.items():
                np.testing.assert_array_equal(got[name], value)
        path.write_bytes(whole)
    assert found > 0.7 * len(whole)


@pytest.mark.parametrize("builder", [None, BaseSaverBuilder])
def test_a_damaged_tensor_is_named_before_any_variable_changes(tmp_path, builder):
    with tf.Graph().as_default(), tf.Session() as session:
        a, b = (
            tf.get_variable("a", initializer=tf.constant([1.0])),
            tf.get_variable("b", initializer=tf.constant([2.0])),
        )
        session.run(tf.global_variables_initializer())
        saver = tf.train.Saver(builder=builder and builder())
        prefix = saver.save(session, str(tmp_path / "m"), write_meta_graph=False)
        data = tmp_path / "m.data-00000-of-00001"
        data.write_bytes(data.read_bytes()[:-1] + b"\x00")
        session.run([a.assign([5.0]), b.assign([6.0])])
        with pytest.raises(tf.errors.DataLossError, match="Tensor b "):
            saver.restore(session, prefix)
        assert session.run([a, b]) == [[5.0], [6.0]]


@pytest.mark.parametrize("version", [1, 2])
def test_a_full_disk_keeps_the_old_checkpoint(tmp_path, version):
    with tf.Graph().as_default(), tf.Session() as session:
        v = tf.get_variable("v", initializer=tf.ones([100_000]))
        session.run(tf.global_variables_initializer())
        saver = tf.train.Saver(write_version=version)
        prefix = saver.save(session, str(tmp_path / "m"), write_meta_graph=False)
        session.run(v.assign(tf.zeros([100_000])))
        before = resource.getrlimit(resource.RLIMIT_FSIZE)
        handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, before[1]))
        try:
            with pytest.raises(tf.errors.OpError):
                saver.save(session, str(tmp_path / "m"), write_meta_graph=False)
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, before)
            signal.signal(signal.SIGXFSZ, handler)
        np.testing.assert_array_equal(tf.train.load_variable(prefix, "v"), np.ones(100_000))
        assert not [p for p in tmp_path.iterdir() if "tempstate" in p.name]
