"""Heads and canned estimators against TensorFlow 1.15 (tests/oracle/record_canned.py)."""

import pathlib

import numpy as np
import pytest
from oracle import golden

import tfcompat as tf
from estimator import canned_programs as programs
from estimator import learn_programs

FOLDER = pathlib.Path(__file__).parent.parent / "golden" / "estimator"
HEADS = golden.read(FOLDER / "heads.json.gz")
CANNED = golden.read(FOLDER / "canned.json.gz")
LEARN = golden.read(FOLDER / "learn.json.gz")


def check(found, wanted, where, rtol):
    """The same nested values, floats up to `rtol`."""
    if isinstance(wanted, float):
        np.testing.assert_allclose(found, wanted, rtol=rtol, atol=1e-5, err_msg=where)
    elif isinstance(wanted, dict):
        assert sorted(found) == sorted(wanted), where
        for key in wanted:
            check(found[key], wanted[key], f"{where}.{key}", rtol)
    elif isinstance(wanted, list):
        assert len(found) == len(wanted), where
        for i, (a, b) in enumerate(zip(found, wanted, strict=True)):
            check(a, b, f"{where}[{i}]", rtol)
    else:
        assert found == wanted, where


@pytest.mark.parametrize("mode", programs.MODES)
@pytest.mark.parametrize("name", list(HEADS["v1"]))
@pytest.mark.parametrize("kind", ["v1", "v2"])
def test_head(kind, name, mode):
    case = getattr(programs, kind)(tf)[name]
    found, wanted = programs.head_outcome(tf, case, mode, kind == "v2"), HEADS[kind][name][mode]
    assert found["nodes"] == wanted["nodes"]
    check(found, wanted, name, 1e-5)


@pytest.mark.parametrize("name", list(CANNED))
def test_canned_estimator(name, tmp_path):
    found = programs.canned_outcome(tf, programs.canned(tf)[name], str(tmp_path))
    check(found, CANNED[name], name, 2e-4)


@pytest.mark.parametrize("name", learn_programs.PROGRAMS)
def test_contrib_learn(name, tmp_path):
    check(learn_programs.PROGRAMS[name](tf, str(tmp_path)), LEARN[name], name, 2e-4)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: tf.estimator.MultiClassHead(2), "n_classes must be > 2"),
        (lambda: tf.estimator.BinaryClassHead(thresholds=[1.5]), "thresholds not in"),
        (lambda: tf.estimator.RegressionHead(loss_reduction="none"), "Invalid loss_reduction"),
        (lambda: tf.estimator.RegressionHead(loss_fn=lambda labels: labels), "loss_fn must contain argument: logits"),
        (lambda: tf.estimator.MultiHead([]), "Must specify heads"),
        (lambda: tf.contrib.estimator.multi_label_head(3, label_vocabulary=["a"]), "Length of label_vocabulary"),
        (lambda: tf.estimator.DNNLinearCombinedClassifier(), "Either linear_feature_columns or dnn_feature_columns"),
        (lambda: tf.estimator.LinearClassifier([], n_classes=1), "n_classes must be > 2"),
    ],
)
def test_what_is_refused(make, message):
    with pytest.raises(ValueError, match=message):
        make()
