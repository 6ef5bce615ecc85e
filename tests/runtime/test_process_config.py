"""tf.config: values and errors are those of TensorFlow 1.15.5 on a machine without accelerators."""

import pytest

import tfcompat as tf
from tfcompat._src.runtime.session import config


@pytest.fixture(autouse=True)
def fresh_settings(monkeypatch):
    monkeypatch.setattr(config, "_CURRENT", [])


def test_devices():
    cpu = tf.config.experimental.list_physical_devices("CPU")
    assert cpu == [("/physical_device:CPU:0", "CPU")]
    assert tf.config.experimental.get_visible_devices("CPU") == cpu
    assert tf.config.experimental.list_logical_devices("CPU")[0] == ("/job:localhost/replica:0/task:0/device:CPU:0", "CPU")
    assert tf.config.experimental.get_virtual_device_configuration(cpu[0]) is None


def test_a_session_without_a_config_takes_the_settings():
    tf.config.set_soft_device_placement(True)
    tf.config.threading.set_inter_op_parallelism_threads(2)
    tf.config.optimizer.set_jit(True)
    tf.config.optimizer.set_experimental_options({"constant_folding": True})
    taken, given = tf.Session()._config, tf.Session(config=tf.ConfigProto())._config
    assert taken.allow_soft_placement and taken.inter_op_parallelism_threads == 2
    assert taken.graph_options.optimizer_options.global_jit_level == tf.OptimizerOptions.ON_1
    assert taken.graph_options.rewrite_options.constant_folding == 1
    assert given == tf.ConfigProto()


def test_settings_stand_still_after_use():
    config.session_config()
    tf.config.threading.set_intra_op_parallelism_threads(0)
    with pytest.raises(RuntimeError, match="Intra op parallelism cannot be modified after initialization."):
        tf.config.threading.set_intra_op_parallelism_threads(3)
    with pytest.raises(RuntimeError, match="Visible devices cannot be modified after being initialized"):
        tf.config.experimental.set_visible_devices([], "CPU")


def test_bad_settings():
    cpu = tf.config.experimental.list_physical_devices("CPU")[0]
    with pytest.raises(ValueError, match="Unrecognized device: 'GPU:0'"):
        tf.config.experimental.set_visible_devices("GPU:0")
    with pytest.raises(ValueError, match="Cannot set memory growth on non-GPU devices"):
        tf.config.experimental.set_memory_growth(cpu, True)
    with pytest.raises(ValueError, match="Not a valid device policy: 'x'"):
        tf.config.experimental.set_device_policy("x")


def test_log_device_placement(capsys):
    assert not tf.debugging.get_log_device_placement()
    tf.debugging.set_log_device_placement(True)
    assert tf.debugging.get_log_device_placement()
    with tf.Graph().as_default(), tf.Session() as session:
        session.run(tf.add(tf.constant(1.0, name="a"), 2.0, name="sum"))
    assert "sum: (Add): /job:localhost/replica:0/task:0/device:CPU:0\n" in capsys.readouterr().out
    tf.debugging.set_log_device_placement(False)
    assert not tf.Session()._config.log_device_placement
