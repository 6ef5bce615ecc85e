"""Checkpoints that a thread writes while training goes on."""

import pathlib
import subprocess
import sys

import pytest

import tfcompat as tf

HERE = pathlib.Path(__file__).parent


def test_what_1_15_5_prints():
    done = subprocess.run([sys.executable, "-m", "tfcompat", "run", HERE / "async_checkpoint_program.py"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout == (HERE / "async_checkpoint_expected.txt").read_text()


def test_an_error_in_the_thread_is_raised(tmp_path):
    class Listener(tf.train.CheckpointSaverListener):
        def after_save(self, session, global_step_value):
            raise KeyError("not written")

    with tf.Graph().as_default():
        train = tf.assign_add(tf.train.get_or_create_global_step(), 1)
        saver = tf.train.Saver()
        hook = tf.contrib.tpu.AsyncCheckpointSaverHook(str(tmp_path), save_steps=1, saver=saver, listeners=[Listener()])
        with pytest.raises(KeyError, match="not written"), tf.train.SingularMonitoredSession([hook]) as session:
            session.run(train)
