"""Schedules against their closed formulas, in float64, and as functions of a variable step."""

import math

import numpy as np
import pytest

import tfcompat as tf

AT = (0, 1, 7, 10, 15, 23)
FORMULAS = {
    "exponential": (lambda s: tf.train.exponential_decay(0.5, s, 10, 0.9), lambda t: 0.5 * 0.9 ** (t / 10)),
    "staircase": (lambda s: tf.train.exponential_decay(0.5, s, 10, 0.9, True), lambda t: 0.5 * 0.9 ** (t // 10)),
    "natural": (lambda s: tf.train.natural_exp_decay(0.5, s, 10, 0.9), lambda t: 0.5 * math.exp(-0.9 * t / 10)),
    "inverse": (lambda s: tf.train.inverse_time_decay(0.5, s, 10, 0.9), lambda t: 0.5 / (1 + 0.9 * t / 10)),
    "polynomial": (
        lambda s: tf.train.polynomial_decay(0.5, s, 10, 0.1, 2.0),
        lambda t: 0.4 * (1 - min(t, 10) / 10) ** 2 + 0.1,
    ),
    "cosine": (
        lambda s: tf.train.cosine_decay(0.5, s, 10, 0.1),
        lambda t: 0.5 * (0.9 * (1 + math.cos(math.pi * min(t, 10) / 10)) / 2 + 0.1),
    ),
    "linear_cosine": (
        lambda s: tf.train.linear_cosine_decay(0.5, s, 10),
        lambda t: 0.5 * ((1 - min(t, 10) / 10) * (1 + math.cos(math.pi * min(t, 10) / 10)) / 2 + 0.001),
    ),
}


@pytest.mark.parametrize("name", sorted(FORMULAS))
def test_formula(name):
    make, formula = FORMULAS[name]
    with tf.Graph().as_default(), tf.Session() as session:
        step = tf.placeholder(tf.int64, [])
        rate = make(step)
        for t in AT:
            assert session.run(rate, {step: t}) == pytest.approx(formula(t), rel=1e-6)


def test_configuration_round_trip():
    schedule = tf.keras.optimizers.schedules.PolynomialDecay(0.5, 10, power=2.0)
    config = schedule.get_config()
    assert config == {
        "initial_learning_rate": 0.5, "decay_steps": 10, "end_learning_rate": 0.0001, "power": 2.0, "cycle": False, "name": None,
    }  # fmt: skip
    copy = tf.keras.optimizers.schedules.PolynomialDecay.from_config(config)
    with tf.Graph().as_default(), tf.Session() as session:
        np.testing.assert_array_equal(*session.run([schedule(3), copy(3)]))
