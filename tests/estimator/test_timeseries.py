"""tf.contrib.timeseries against TensorFlow 1.15 (tests/oracle/record_timeseries.py)."""

import pathlib

import numpy as np
import pytest
from oracle import golden

import tfcompat as tf
from estimator import timeseries_programs as programs
from estimator import timeseries_values as tables
from tfcompat._src.runtime.engines import choice
from tfcompat._src.shim.modules import find

GOLDEN = golden.read(pathlib.Path(__file__).parent.parent / "golden" / "estimator" / "timeseries.json.gz")
SINGLE = {"ar", "ar_without_input_window", "ar_with_anomalies", "lstm_exported"}
"""Programs that compute in float32, where training multiplies the rounding."""


def modules(name):
    return find(f"tensorflow.contrib.timeseries.python.timeseries.{name}")


def check(found, wanted, where, rtol):
    """The same nested values with the same dtypes, floats up to rounding."""
    if isinstance(wanted, dict):
        assert sorted(found) == sorted(wanted), where
        for key in wanted:
            check(found[key], wanted[key], f"{where}.{key}", rtol)
    elif isinstance(wanted, list):
        assert len(found) == len(wanted), f"{where}: {found} and not {wanted}"
        for number, (a, b) in enumerate(zip(found, wanted, strict=True)):
            check(a, b, f"{where}[{number}]", rtol)
    elif isinstance(wanted, golden.Value):
        found = np.asarray(found)
        assert found.shape == wanted.array.shape, where
        if wanted.array.dtype.kind in "SO":
            assert found.tolist() == wanted.array.tolist(), where
            return
        assert found.dtype == wanted.array.dtype, where
        scale = np.abs(wanted.array).max(initial=0)
        np.testing.assert_allclose(found, wanted.array, rtol=rtol, atol=rtol * scale, err_msg=where)
    else:
        assert found == wanted, where


SLOW_TO_COMPILE = {"changes_and_anomalies", "unrolled_level_trend"}
"""Programs with gradients of filters, which take XLA ten seconds to compile, and half of that to interpret."""


@pytest.mark.parametrize("name", programs.PROGRAMS)
def test_program(name, tmp_path, monkeypatch):
    if name in SLOW_TO_COMPILE:
        monkeypatch.setattr(choice, "ENGINE", "interpret")
    found = programs.outcome(tf, modules, programs.PROGRAMS[name], str(tmp_path))
    check(found, GOLDEN[name], name, 1e-4 if name in SINGLE else 1e-7)


@pytest.mark.parametrize("name", tables.TABLES)
def test_values(name):
    check(tables.values(tf, modules, tables.TABLES[name]), GOLDEN[name], name, 1e-9)


def test_batches(tmp_path):
    check(tables.batches(tf, str(tmp_path)), GOLDEN["batches"], "batches", 1e-7)


def test_refusals(tmp_path):
    assert tables.refusals(tf, modules, str(tmp_path)) == GOLDEN["refusals"]


@pytest.mark.parametrize("period", (3.5, 5, 11.75, 12))
def test_steps_of_a_cycle_follow_each_other(period):
    """T^(a + b) = T^a T^b; a whole number of periods changes nothing."""
    space = modules("state_space_models.state_space_model")
    configuration = space.StateSpaceModelConfiguration(dtype=tf.float64)
    model = modules("state_space_models.periodic").ResolutionCycleModel(5, period, configuration=configuration)
    with tf.Session() as session:
        one, two, three, periods = session.run(model.transition_to_powers(tf.constant([1, 2, 3, int(period * 20)])))
    np.testing.assert_allclose(one @ two, three, atol=1e-12)
    np.testing.assert_allclose(one @ one, two, atol=1e-12)
    np.testing.assert_allclose(periods, np.eye(4), atol=1e-12)


def test_saved_series_of_examples(tmp_path):
    """A file of Examples is read as a whole, in order."""
    path = str(tmp_path / "series")
    with tf.python_io.TFRecordWriter(path) as writer:
        for time in range(5):
            example = tf.train.Example()
            example.features.feature["times"].int64_list.value.append(time)
            example.features.feature["values"].float_list.value.extend([time * 0.5, -time])
            writer.write(example.SerializeToString())
    columns = {"times": tf.FixedLenFeature([], tf.int64), "values": tf.FixedLenFeature([2], tf.float32)}
    with tf.Graph().as_default():
        reader = modules("input_pipeline").TFExampleReader([path], columns)
        features, _ = tf.contrib.timeseries.WholeDatasetInputFn(reader)()
        with tf.train.MonitoredSession() as session:
            found = session.run(features)
            np.testing.assert_array_equal(found["times"], [np.arange(5)])
            np.testing.assert_array_equal(found["values"], [[[t * 0.5, -t] for t in range(5)]])


def test_generated_series_have_the_variance_of_the_model():
    """A level without a trend at first: the variance of the first value is that of two noises, and the trend's comes to it later."""
    with tf.Graph().as_default(), tf.Session():
        space = modules("state_space_models.state_space_model")
        model = modules("state_space_models.level_trend").AdderStateSpaceModel(
            configuration=space.StateSpaceModelConfiguration(dtype=tf.float64)
        )
        model.initialize_graph()
        parameters = {
            model.state_transition_noise_covariance: np.diag([0.25, 0.09]),
            model.prior_state_mean: [2.0, 0.5],
            model._observation_noise_covariance: [[0.04]],
        }
        made = model.generate(4000, 3, parameters, seed=1)
    assert made["times"].shape == (4000, 3)
    variances = [0.25 + 0.04, 0.5 + 0.09 + 0.04, 0.75 + 0.09 * 5 + 0.04]
    np.testing.assert_allclose(made["values"].mean(0)[:, 0], [2.5, 3.0, 3.5], atol=0.08)
    np.testing.assert_allclose(made["values"].var(0)[:, 0], variances, rtol=0.1)
