"""tf.contrib.compiler.xla.estimator_model_fn; weights, metrics and texts of TensorFlow 1.15.5."""

import numpy as np
import pytest

import tfcompat as tf

xla = tf.contrib.compiler.xla
ModeKeys = tf.estimator.ModeKeys
Spec = tf.contrib.tpu.TPUEstimatorSpec
WEIGHTS, METRICS = [0.9449, 0.72941], [0.73683, 0.79669]
"""After 5 steps."""


def _metric_fn(labels, predictions):
    return {"mae": tf.metrics.mean_absolute_error(labels, predictions)}


def _model_fn(metrics=("labels", "predictions"), kind=Spec, **more):
    def model_fn(features, labels, mode, params):
        w = tf.get_variable("w", [2, 1], initializer=tf.zeros_initializer(), use_resource=True)
        y = tf.matmul(features, w)
        loss = tf.reduce_mean(tf.square(y - labels))
        step = tf.train.get_global_step()
        op = tf.train.GradientDescentOptimizer(0.01).minimize(loss, step) if mode == ModeKeys.TRAIN else None
        if kind is not Spec:
            return kind(mode, loss=loss, train_op=op, eval_metric_ops={"a": tf.metrics.mean(y)})
        known = {"labels": labels, "predictions": y, "z": y}
        tensors = {name: known[name] for name in metrics} if isinstance(metrics, tuple) else [labels, y]
        return Spec(mode, loss=loss, train_op=op, eval_metrics=(_metric_fn, tensors), **more)

    return model_fn


def _input():
    x = np.array([[1, 2], [3, 4], [5, 1]], np.float32)
    return tf.data.Dataset.from_tensor_slices((x, x.sum(1, keepdims=True))).repeat().batch(3, drop_remainder=True)


@pytest.fixture(autouse=True)
def _resources():
    """1.15's compiled computations take resource variables only; the global step is one then."""
    tf.enable_resource_variables()
    yield
    tf.disable_resource_variables()


def _estimator(model_fn, folder, decorator=xla.estimator_model_fn):
    return tf.estimator.Estimator(decorator(model_fn), str(folder), params={})


@pytest.mark.parametrize("metrics", [("labels", "predictions"), ["in order"]])
@pytest.mark.parametrize("decorator", [xla.estimator_model_fn, xla.estimator_model_fn()])
def test_training_and_evaluation(tmp_path, metrics, decorator):
    estimator = _estimator(_model_fn(metrics), tmp_path, decorator)
    estimator.train(_input, steps=5)
    np.testing.assert_allclose(estimator.get_variable_value("w").ravel(), WEIGHTS, atol=1e-5)
    found = estimator.evaluate(_input, steps=2)
    assert found["global_step"] == 5
    np.testing.assert_allclose([found["loss"], found["mae"]], METRICS, atol=1e-5)


@pytest.mark.parametrize(
    ("settings", "text"),
    [
        ({"metrics": ("labels",)}, r"Arguments \['predictions'\] are needed by metric_fn"),
        ({"metrics": ("labels", "predictions", "z")}, r"Arguments \['z'\] are provided by evaluation tensors"),
        ({"kind": tf.estimator.EstimatorSpec}, "EstimatorSpec.eval_metric_ops is not supported with XLA compilation"),
        ({"scaffold_fn": lambda: None}, "TPUEstimatorSpec.scaffold_fn returns None, which is not allowed"),
    ],
)
def test_refuses(tmp_path, settings, text):
    estimator = _estimator(_model_fn(**settings), tmp_path)
    with pytest.raises(ValueError, match=text):
        estimator.train(_input, steps=1)
        estimator.evaluate(_input, steps=1)


def test_refuses_prediction_and_labels(tmp_path):
    estimator = _estimator(_model_fn(), tmp_path / "a")
    estimator.train(_input, steps=1)
    with pytest.raises(NotImplementedError, match="infer is not implemented, only TRAIN and EVAL are supported"):
        next(estimator.predict(_input))
    with pytest.raises(ValueError, match="model_fn does not take labels, but input_fn returns labels"):
        _estimator(lambda features, mode: None, tmp_path / "b").train(_input, steps=1)
