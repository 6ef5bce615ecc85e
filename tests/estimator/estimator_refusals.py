"""What estimators refuse: calls that raise, and settings that TF_CONFIG gives."""

import json
import os
import re

import numpy as np

CLUSTER = {"chief": ["a:1"], "worker": ["b:1", "c:1"], "ps": ["d:1"]}
MASTERS = {"master": ["a:1"], "worker": ["b:1", "c:1"], "ps": ["d:1"]}


def specs(tf):
    """Calls of tf.estimator that raise, by name."""
    est, mode = tf.estimator, tf.estimator.ModeKeys
    scalar, pair, none = (lambda: tf.constant(1.0)), (lambda: tf.constant([1.0, 2.0])), (lambda: tf.no_op())
    return {
        "train_without_op": lambda: est.EstimatorSpec(mode.TRAIN, loss=scalar()),
        "train_without_loss": lambda: est.EstimatorSpec(mode.TRAIN, train_op=none()),
        "eval_without_loss": lambda: est.EstimatorSpec(mode.EVAL),
        "predict_without_predictions": lambda: est.EstimatorSpec(mode.PREDICT),
        "loss_of_two": lambda: est.EstimatorSpec(mode.EVAL, loss=pair()),
        "loss_is_number": lambda: est.EstimatorSpec(mode.EVAL, loss=1.0),
        "op_is_number": lambda: est.EstimatorSpec(mode.TRAIN, loss=scalar(), train_op=1),
        "prediction_is_number": lambda: est.EstimatorSpec(mode.PREDICT, {"a": 1.0}),
        "metrics_are_list": lambda: est.EstimatorSpec(mode.EVAL, loss=scalar(), eval_metric_ops=[1]),
        "metric_is_tensor": lambda: est.EstimatorSpec(mode.EVAL, loss=scalar(), eval_metric_ops={"a": (1, 2, 3)}),
        "hook_is_number": lambda: est.EstimatorSpec(mode.EVAL, loss=scalar(), training_hooks=[1]),
        "scaffold_is_number": lambda: est.EstimatorSpec(mode.EVAL, loss=scalar(), scaffold=3),
        "outputs_without_default": lambda: est.EstimatorSpec(
            mode.PREDICT, scalar(), export_outputs={k: est.export.PredictOutput(scalar()) for k in "ab"}
        ),
        "mode_changes": lambda: est.EstimatorSpec(mode.EVAL, loss=scalar())._replace(mode=mode.TRAIN),
        "config_both_intervals": lambda: est.RunConfig(save_checkpoints_steps=1, save_checkpoints_secs=1),
        "config_empty_folder": lambda: est.RunConfig(model_dir=""),
        "config_negative": lambda: est.RunConfig(save_summary_steps=-1),
        "config_seed": lambda: est.RunConfig(tf_random_seed=1.5),
        "config_session": lambda: est.RunConfig(session_config={}),
        "config_device_fn": lambda: est.RunConfig(device_fn=lambda x: x),
        "config_protocol": lambda: est.RunConfig(protocol="http"),
        "config_log_steps": lambda: est.RunConfig(log_step_count_steps=0),
        "config_replace": lambda: est.RunConfig().replace(master="x"),
        "config_kind": lambda: est.Estimator(lambda features: None, config=3),
        "two_folders": lambda: est.Estimator(lambda features: None, "a", est.RunConfig(model_dir="b")),
        "model_fn_none": lambda: est.Estimator(None, "a"),
        "model_fn_without_features": lambda: est.Estimator(lambda labels: None, "a"),
        "model_fn_without_params": lambda: est.Estimator(lambda features: None, "a", params={"b": 1}),
        "model_fn_unknown": lambda: est.Estimator(lambda features, other: None, "a"),
        "warm_start_kind": lambda: est.Estimator(lambda features: None, "a", warm_start_from=3),
        "warm_start_empty": lambda: est.WarmStartSettings(""),
        "train_spec_fn": lambda: est.TrainSpec(1),
        "train_spec_steps": lambda: est.TrainSpec(lambda: 1, max_steps=0),
        "train_spec_hooks": lambda: est.TrainSpec(lambda: 1, hooks=[1]),
        "eval_spec_steps": lambda: est.EvalSpec(lambda: 1, steps=0),
        "eval_spec_name": lambda: est.EvalSpec(lambda: 1, name=1),
        "eval_spec_throttle": lambda: est.EvalSpec(lambda: 1, throttle_secs=-1),
        "eval_spec_exporters": lambda: est.EvalSpec(lambda: 1, exporters=[1]),
        "eval_spec_same_names": lambda: est.EvalSpec(lambda: 1, exporters=[est.FinalExporter("a", None)] * 2),
        "exporter_keeps_none": lambda: est.LatestExporter("a", None, exports_to_keep=0),
        "best_exporter_function": lambda: est.BestExporter("a", None, compare_fn=lambda a, b: True),
        "receiver_is_none": lambda: est.export.ServingInputReceiver(None, scalar()),
        "receiver_key": lambda: est.export.ServingInputReceiver({1.5: scalar()}, scalar()),
        "receiver_value": lambda: est.export.ServingInputReceiver({"a": 1}, scalar()),
        "receiver_alternatives": lambda: est.export.ServingInputReceiver(scalar(), scalar(), [1]),
        "supervised_overlap": lambda: est.experimental.build_raw_supervised_input_receiver_fn({"a": 1}, {"a": 1}),
        "numpy_shuffle": lambda: est.inputs.numpy_input_fn(np.ones(3)),
        "numpy_empty": lambda: est.inputs.numpy_input_fn({}, shuffle=False)(),
        "numpy_kind": lambda: est.inputs.numpy_input_fn([1], shuffle=False)(),
        "numpy_lengths": lambda: est.inputs.numpy_input_fn({"a": np.ones(3)}, np.ones(2), shuffle=False)(),
        "numpy_same_keys": lambda: est.inputs.numpy_input_fn({"a": np.ones(3)}, {"a": np.ones(3)}, shuffle=False)(),
        "early_stopping_kind": lambda: est.experimental.make_early_stopping_hook(1, lambda: True),
        "metric_fn_arguments": lambda: est.add_metrics(None, lambda other: {}),
        "tpu_iterations": lambda: est.tpu.TPUConfig("5x"),
        "tpu_shards": lambda: est.tpu.TPUConfig(num_shards=0),
        "tpu_cores": lambda: est.tpu.TPUConfig(num_cores_per_replica=3),
        "tpu_config": lambda: est.tpu.TPUEstimator(lambda features, params: None),
        "tpu_reserved": lambda: est.tpu.TPUEstimator(
            lambda features, params: None, config=est.tpu.RunConfig(), params={"batch_size": 1}
        ),
        "tpu_host_call": lambda: est.tpu.TPUEstimatorSpec(mode.EVAL, loss=scalar(), host_call=(lambda a: a, [1, 2])),
    }


SETTINGS = [
    {},
    {"model_dir": "there", "session_master": "m"},
    {"task": {"type": "ps"}},
    {"task": {"index": 1}},
    {"service": 3},
    {"model_dir": ""},
    {"cluster": CLUSTER},
    {"cluster": {"worker": ["a:1"]}, "task": {"type": "worker", "index": 0}},
    {"cluster": CLUSTER, "task": {"type": "worker"}},
    {"cluster": CLUSTER, "task": {"type": "worker", "index": 5}},
    {"cluster": CLUSTER, "task": {"type": "other", "index": 0}},
    {"cluster": CLUSTER, "task": {"type": "worker", "index": -1}},
    {"cluster": dict(CLUSTER, master=["e:1"]), "task": {"type": "master", "index": 0}},
    {"cluster": MASTERS, "task": {"type": "evaluator", "index": 0}},
    {"cluster": {"chief": ["a:1"]}, "task": {"type": "chief", "index": 0}},
    {"cluster": CLUSTER, "task": {"type": "chief", "index": 0}, "session_master": "grpc://x:9"},
] + [{"cluster": CLUSTER, "task": {"type": t, "index": 0}} for t in ("chief", "worker", "ps", "evaluator")]
SETTINGS += [{"cluster": MASTERS, "task": {"type": t, "index": 0}} for t in ("master", "worker", "ps")]
NAMES = (
    "model_dir", "task_type", "task_id", "global_id_in_cluster", "master", "evaluation_master", "is_chief", "num_ps_replicas",
    "num_worker_replicas", "service", "save_checkpoints_secs", "save_checkpoints_steps", "session_creation_timeout_secs",
)  # fmt: skip


def _error(error):
    text = re.sub(r"<.*?>|0x[0-9a-f]+", "OBJECT", str(error)).replace("dict_keys", "")
    return [type(error).__name__, re.split(r"[\[{(:]", text)[0].strip()[:70]]


def config(tf, settings):
    """The properties of a RunConfig under TF_CONFIG, or the error."""
    os.environ["TF_CONFIG"] = json.dumps(settings)
    try:
        made = tf.estimator.RunConfig()
    except (TypeError, ValueError) as error:
        return _error(error)
    finally:
        del os.environ["TF_CONFIG"]
    session = made.session_config
    return [getattr(made, name) for name in NAMES] + [list(session.device_filters) if session else None]


def outcomes(tf):
    """What each call raises (None where it does not), and each RunConfig."""
    raised = {}
    for name, call in specs(tf).items():
        with tf.Graph().as_default():
            try:
                call()
                raised[name] = None
            except (TypeError, ValueError, RuntimeError) as error:
                raised[name] = _error(error)
    return {"raised": raised, "configs": [config(tf, settings) for settings in SETTINGS]}
