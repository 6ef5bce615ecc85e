"""Saving, restoring and training where operations run when they are called; numbers are those of TensorFlow 1.15.5."""

import os
import re

import numpy as np
import pytest

import tfcompat as tf
from tfcompat._src.eager.mode import eager_mode


@pytest.fixture(autouse=True)
def eager():
    with eager_mode():
        yield


def test_a_checkpoint_restores_variables_and_slots_that_exist_and_those_made_later(tmp_path):
    variable, optimizer = tf.Variable(2.0), tf.train.AdamOptimizer(0.1)
    optimizer.minimize(lambda: variable * variable)
    path = tf.train.Checkpoint(v=variable, opt=optimizer).save(str(tmp_path / "c"))
    assert os.path.basename(path) == "c-1"
    assert [name for name, _ in tf.train.list_variables(path)] == [
        "_CHECKPOINTABLE_OBJECT_GRAPH", "opt/beta1_power/.ATTRIBUTES/VARIABLE_VALUE",
        "opt/beta2_power/.ATTRIBUTES/VARIABLE_VALUE", "save_counter/.ATTRIBUTES/VARIABLE_VALUE",
        "v/.ATTRIBUTES/VARIABLE_VALUE", "v/.OPTIMIZER_SLOT/opt/m/.ATTRIBUTES/VARIABLE_VALUE",
        "v/.OPTIMIZER_SLOT/opt/v/.ATTRIBUTES/VARIABLE_VALUE",
    ]  # fmt: skip
    new = tf.Variable(0.0)
    checkpoint = tf.train.Checkpoint(v=new, opt=tf.train.AdamOptimizer(0.1))
    status = checkpoint.restore(path)
    assert new.numpy() == np.float32(1.9)
    checkpoint.opt.minimize(lambda: new * new)
    status.assert_consumed()
    np.testing.assert_allclose(new.numpy(), 1.8001668, rtol=1e-6)


def test_a_saver_saves_at_once(tmp_path):
    variable = tf.Variable([2.0, 3.0], name="sv")
    saver = tf.train.Saver([variable])
    path = saver.save(None, str(tmp_path / "m"))
    variable.assign([0.0, 0.0])
    saver.restore(None, path)
    np.testing.assert_array_equal(variable.numpy(), [2.0, 3.0])
    assert sorted(p.name for p in tmp_path.iterdir()) == ["checkpoint", "m.data-00000-of-00001", "m.index"]


def test_a_saver_needs_its_variables():
    with pytest.raises(RuntimeError, match="`var_list` must specify"):
        tf.train.Saver()


@pytest.mark.parametrize(
    "optimizer, expected",
    [
        (lambda: tf.train.GradientDescentOptimizer(0.1), [0.512, 1.024]),
        (lambda: tf.train.MomentumOptimizer(0.1, 0.9), [0.062, 0.124]),
        (lambda: tf.train.AdamOptimizer(lambda: 0.1), [0.70159, 1.70062]),
        (lambda: tf.train.RMSPropOptimizer(0.1, centered=True), [0.55893, 1.36365]),
        (lambda: tf.train.FtrlOptimizer(0.1), [0.63789, 1.62374]),
        (lambda: tf.contrib.opt.AdaMaxOptimizer(0.1), [0.7155, 1.70765]),
    ],
)
def test_three_steps_of_an_optimizer(optimizer, expected):
    made, variable = optimizer(), tf.Variable([1.0, 2.0])
    step = tf.Variable(0, dtype=tf.int64)
    for _ in range(3):
        made.minimize(lambda: tf.reduce_sum(variable * variable), global_step=step)
    np.testing.assert_allclose(variable.numpy(), expected, atol=6e-6)
    assert step.numpy() == 3


def test_the_loss_must_be_a_function():
    with pytest.raises(RuntimeError, match="should be a function"):
        tf.train.GradientDescentOptimizer(0.1).minimize(tf.constant(1.0))


def test_a_decay_is_a_function_of_the_present_step():
    step = tf.Variable(0)
    rate = tf.train.exponential_decay(0.1, step, 10, 0.5)
    step.assign(30)
    np.testing.assert_allclose(rate().numpy(), 0.0125, rtol=1e-6)


def test_warnings_name_the_variable_of_a_slot(tmp_path, caplog):
    root = tf.train.Checkpoint(v=tf.Variable(2.0), w=tf.Variable(3.0), optimizer=tf.keras.optimizers.Adam(0.0))
    root.optimizer.minimize(root.v.read_value, [root.v])
    path = root.save(str(tmp_path / "of"))
    part = tf.train.Checkpoint(v=tf.Variable(0.0))
    part.restore(path)
    assert part.v.numpy() == 2
    del part
    found = re.findall("Unresolved object in checkpoint: (.*)", "\n".join(caplog.messages))
    assert found == [
        "(root).optimizer", "(root).w", *("(root).optimizer." + name for name in ("iter", "beta_1", "beta_2", "decay", "learning_rate")),
        "(root).optimizer's state 'm' for (root).v", "(root).optimizer's state 'v' for (root).v",
    ]


def test_restored_slots_are_no_variables_of_a_template(tmp_path):
    def made(name):
        template = tf.make_template(name, lambda: tf.get_variable("v", [], use_resource=True))
        return template, tf.train.Checkpoint(template=template, optimizer=tf.keras.optimizers.Adam(0.0))

    template, root = made("a")
    variable = template()
    root.optimizer.minimize(variable.read_value, [variable])
    path = root.save(str(tmp_path / "of"))
    template, root = made("b")
    root.restore(path)
    variable = template()
    root.optimizer.minimize(variable.read_value, [variable])
    assert [dependency.name for dependency in template._checkpoint_dependencies] == ["v"]
    assert root.optimizer.get_slot(variable, "m").numpy() == pytest.approx(0.19)
