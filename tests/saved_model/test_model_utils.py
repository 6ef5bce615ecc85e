"""Outputs of exported models, types that come back from SavedModels, and log lines for TensorBoard."""

import pytest

import tfcompat as tf
from tfcompat._src.saved_model.model_utils import export_output, export_utils, mode_keys
from tfcompat._src.summary import tensorboard_logging
from tfcompat._src.train import revived_types


@pytest.fixture
def tensors():
    with tf.Graph().as_default():
        yield {
            "examples": tf.placeholder(tf.string, [None], name="examples"),
            "scores": tf.placeholder(tf.float32, [None, 2], name="scores"),
            "classes": tf.placeholder(tf.string, [None, 2], name="classes"),
            "value": tf.placeholder(tf.float32, [None], name="value"),
        }


def test_signatures_of_outputs(tensors):
    outputs = {
        "serving_default": export_output.ClassificationOutput(tensors["scores"], tensors["classes"]),
        "regression": export_output.RegressionOutput(tensors["value"]),
        "predict": export_output.PredictOutput({("a", "b"): tensors["value"]}),
    }
    found = export_utils.build_all_signature_defs(tensors["examples"], outputs, {"numbers": tensors["value"]})
    methods = {name: signature.method_name.rpartition("/")[2] for name, signature in found.items()}
    assert methods == {
        "serving_default": "classify", "regression": "regress", "predict": "predict", "numbers:predict": "predict",
    }  # fmt: skip
    assert set(found["serving_default"].outputs) == {"scores", "classes"}
    assert found["predict"].outputs["a/b"].name == "value:0"
    assert found["numbers:predict"].inputs["input"].name == "value:0"


def test_supervised_outputs_begin_with_what_they_are(tensors):
    value = tensors["value"]
    output = export_output.TrainOutput(value, {"predictions": value, "x": value}, {"auc": (value, tf.no_op())})
    signature = output.as_signature_def({"input": tensors["examples"]})
    assert signature.method_name == "tensorflow/supervised/training"
    assert {key: info.name for key, info in signature.outputs.items()} == {
        "loss": "value:0", "predictions": "value:0", "predictions/x": "value:0", "metrics/auc/value": "value:0",
        "metrics/auc/update_op": "metric_op_wrapper:0",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda t: export_output.ClassificationOutput(), "At least one of scores and classes must be set."),
        (lambda t: export_output.ClassificationOutput(scores=t["classes"]), "Classification scores must be a float32 Tensor"),
        (lambda t: export_output.ClassificationOutput(classes=t["scores"]), "Classification classes must be a string Tensor"),
        (lambda t: export_output.RegressionOutput(t["classes"]), "Regression output value must be a float32 Tensor"),
        (lambda t: export_output.PredictOutput({1: t["value"]}), "Prediction output key must be a string; got 1."),
        (lambda t: export_output.PredictOutput("value"), "Prediction output value must be a Tensor; got value."),
        (lambda t: export_output.EvalOutput(metrics=(t["value"], 3)), "update_op must be a Tensor or Operation; got 3."),
        (lambda t: export_utils.export_outputs_for_mode("other"), "Invalid mode key: other."),
        (lambda t: mode_keys.ModeKeyMap(test=1, eval=2), "Multiple keys/values found for test mode."),
    ],
)
def test_wrong_outputs(tensors, make, message):
    with pytest.raises(ValueError, match=message):
        make(tensors)


def test_a_revived_type_is_read_by_the_newest_version_that_may():
    class Thing:
        pass

    version = revived_types.VersionedTypeRegistration
    revived_types.register_revived_type(
        "thing",
        lambda obj: isinstance(obj, Thing),
        [
            version(lambda proto: "old", version=1, min_producer_version=1, min_consumer_version=1),
            version(lambda proto: "new", version=3, min_producer_version=2, min_consumer_version=2, bad_consumers=[2]),
        ],
    )
    written = revived_types.serialize(Thing())
    assert (written.identifier, written.version.producer, written.version.min_consumer) == ("thing", 3, 2)
    assert list(written.version.bad_consumers) == [2]
    assert revived_types.deserialize(written) == ("new", setattr)
    written.version.producer, written.version.min_consumer = 1, 1
    assert revived_types.deserialize(written) == ("old", setattr)
    written.version.min_consumer = 4
    assert revived_types.deserialize(written) is None
    assert revived_types.serialize(3) is None
    with pytest.raises(AssertionError, match="Duplicate registrations for type thing"):
        revived_types.register_revived_type("thing", bool, [version(str, 1, 1, 1)])


def test_log_lines_are_events_from_the_verbosity_on(tmp_path):
    with pytest.raises(RuntimeError, match="Must call set_summary_writer"):
        tensorboard_logging.info("no writer")
    with tf.summary.FileWriter(str(tmp_path)) as writer:
        tensorboard_logging.set_summary_writer(writer)
        tensorboard_logging.info("quiet")
        tensorboard_logging.error("%d errors", 3)
        with pytest.raises(ValueError, match="Level loud is not a valid tensorboard_logging level"):
            tensorboard_logging.set_verbosity("loud")
    tensorboard_logging._clear_summary_writer()
    events = [e for path in tmp_path.iterdir() for e in tf.train.summary_iterator(str(path))]
    assert [(e.log_message.level, e.log_message.message) for e in events if e.HasField("log_message")] == [(40, "3 errors")]
