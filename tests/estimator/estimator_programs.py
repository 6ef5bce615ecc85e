"""Programs with estimators: functions of the `tf` module and an empty folder that give plain values."""

import glob
import logging
import os
import re

import numpy as np

FEATURES = np.random.RandomState(0).rand(60, 5).astype(np.float32)
LABELS = (FEATURES.sum(1) * 1.1).astype(np.int32) % 3


class Lines(logging.Handler):
    """Keeps the lines of the log from INFO up, without times, addresses and folders."""

    def __init__(self, folder):
        logging.Handler.__init__(self, logging.INFO)
        self.lines, self.folder = [], folder

    def emit(self, record):
        text = record.getMessage().replace(self.folder, "FOLDER")
        kept = record.levelno == logging.INFO and not re.match(r"Using config|Reduce to|prediction_loop|\S+/sec:", text)
        if kept:
            text = re.sub(r"\d{4}-\d\d-\d\d[T-].*", "TIME", text)
            text = re.sub(r"temp-\S*/", "temp/", text)
            text = re.sub(r"-?\d+\.\d+(e-?\d+)?", "X", text)
            self.lines.append(re.sub(r"\d{10}", "TIME", text))


def dense(tf, x, units, seed, activation=None, name=None):
    return tf.layers.dense(x, units, activation, kernel_initializer=tf.glorot_uniform_initializer(seed=seed), name=name)


def model_fn(tf, with_seeds=False):
    """A small classifier; with seeds, initial values do not depend on how many nodes there are."""

    def layer(x, units, seed, activation=None):
        return dense(tf, x, units, seed, activation) if with_seeds else tf.layers.dense(x, units, activation)

    def classifier(features, labels, mode, params):
        logits = layer(layer(features["x"], params["units"], 1, tf.nn.relu), 3, 2)
        predictions = {"class": tf.argmax(logits, 1), "probabilities": tf.nn.softmax(logits)}
        if mode == tf.estimator.ModeKeys.PREDICT:
            return tf.estimator.EstimatorSpec(mode, predictions)
        loss = tf.losses.sparse_softmax_cross_entropy(labels, logits)
        metrics = {"accuracy": tf.metrics.accuracy(labels, predictions["class"])}
        metrics["auc"] = tf.metrics.auc(tf.equal(labels, 1), predictions["probabilities"][:, 1])
        if mode == tf.estimator.ModeKeys.EVAL:
            return tf.estimator.EstimatorSpec(mode, loss=loss, predictions=predictions, eval_metric_ops=metrics)
        train_op = tf.train.AdamOptimizer(0.01).minimize(loss, global_step=tf.train.get_global_step())
        return tf.estimator.EstimatorSpec(mode, loss=loss, train_op=train_op)

    return classifier


def dataset(tf, repeat=False, batch=10):
    data = tf.data.Dataset.from_tensor_slices(({"x": FEATURES}, LABELS))
    return (data.repeat() if repeat else data).batch(batch)


def serving(tf):
    def receiver():
        features = {"x": tf.placeholder(tf.float32, [None, 5], name="x")}
        return tf.estimator.export.ServingInputReceiver(features, features)

    return receiver


def plain(value):
    """Nested values as JSON has them."""
    if isinstance(value, dict):
        return {str(k): plain(v) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(v) for v in value]
    return value.tolist() if isinstance(value, (np.ndarray, np.generic)) else value


def events(tf, folder):
    """(tag, step, value) of the simple values in a folder's event files, but speeds."""
    found = []
    for path in sorted(glob.glob(os.path.join(folder, "events*"))):
        for event in tf.train.summary_iterator(path):
            for value in event.summary.value:
                if value.HasField("simple_value") and not value.tag.endswith("/sec"):
                    found.append([value.tag, event.step, value.simple_value])
    return found


def files(folder):
    """The files below a folder, without the times in their names."""
    found = []
    for root, _, names in os.walk(folder):
        for name in names:
            path = os.path.relpath(os.path.join(root, name), folder)
            found.append(re.sub(r"tfevents\..*", "tfevents", re.sub(r"\d{10}", "TIME", path)))
    return sorted(found)


def estimator(tf, folder, with_seeds=False, **settings):
    config = tf.estimator.RunConfig(tf_random_seed=7, log_step_count_steps=5, save_summary_steps=5, **settings)
    return tf.estimator.Estimator(model_fn(tf, with_seeds), folder, config, {"units": 4})


def train_evaluate_predict(tf, folder):
    est = estimator(tf, folder, save_checkpoints_steps=10)
    est.train(lambda: dataset(tf, repeat=True), steps=12)
    first = est.evaluate(lambda: dataset(tf))
    est.train(lambda: dataset(tf, repeat=True), max_steps=15)
    est.train(lambda: dataset(tf, repeat=True), max_steps=15)
    predictions = list(est.predict(lambda: dataset(tf), predict_keys=["probabilities"]))
    batches = list(est.predict(lambda: dataset(tf), yield_single_examples=False))
    return {
        "results": [first, est.evaluate(lambda: dataset(tf), steps=2, name="two")],
        "predictions": predictions[:3],
        "batches": [len(batches), batches[0]["class"]],
        "variables": est.get_variable_names(),
        "bias": est.get_variable_value("dense/bias"),
        "files": files(folder),
        "events": [events(tf, folder), events(tf, folder + "/eval"), events(tf, folder + "/eval_two")],
    }


def train_and_evaluate(tf, folder):
    est = tf.estimator.add_metrics(
        tf.estimator.Estimator(
            lambda features, labels, mode: model_fn(tf)(features, labels, mode, {"units": 4}), folder,
            tf.estimator.RunConfig(tf_random_seed=3, save_checkpoints_steps=8),
        ),
        lambda features: {"mean_x": tf.metrics.mean(features["x"])},
    )  # fmt: skip
    inputs = [
        tf.estimator.inputs.numpy_input_fn({"x": FEATURES}, LABELS, 7, num_epochs=epochs, shuffle=False) for epochs in (None, 1)
    ]
    exporters = [
        tf.estimator.FinalExporter("final", serving(tf), as_text=True),
        tf.estimator.LatestExporter("latest", serving(tf), exports_to_keep=1),
        tf.estimator.BestExporter("best", serving(tf)),
    ]
    spec = tf.estimator.EvalSpec(inputs[1], steps=None, exporters=exporters, throttle_secs=0)
    result, exported = tf.estimator.train_and_evaluate(est, tf.estimator.TrainSpec(inputs[0], max_steps=18), spec)
    with tf.Graph().as_default(), tf.Session() as session:
        loaded = tf.saved_model.load(session, ["serve"], exported[0].decode())
        signature = loaded.signature_def["serving_default"]
        fetch = signature.outputs["probabilities"].name
        served = session.run(fetch, {signature.inputs["x"].name: FEATURES[:2]})
    return {
        "result": result,
        "exported": len(exported),
        "signatures": {k: [sorted(v.inputs), sorted(v.outputs), v.method_name] for k, v in loaded.signature_def.items()},
        "served": served,
        "final": files(folder + "/export/final"),
        "events": events(tf, folder + "/eval"),
    }


def early_stopping(tf, folder):
    est = estimator(tf, folder)
    stop = {"run_every_secs": None, "run_every_steps": 1}
    hooks = [tf.estimator.experimental.stop_if_higher_hook(est, "loss", 0.1, **stop)]
    hooks.append(tf.estimator.experimental.stop_if_no_decrease_hook(est, "loss", 100, **stop))
    hooks.append(
        tf.estimator.experimental.InMemoryEvaluatorHook(est, lambda: dataset(tf), steps=2, name="memory", every_n_iter=4)
    )
    est.train(lambda: dataset(tf, repeat=True), steps=6, hooks=hooks)
    result = est.evaluate(lambda: dataset(tf))
    est.train(lambda: dataset(tf, repeat=True), steps=6, hooks=hooks[:2])
    return {"result": result, "step": est.get_variable_value("global_step"), "events": events(tf, folder + "/eval_memory")}


def exports(tf, folder):
    est = estimator(tf, folder)
    est.train(lambda: dataset(tf, repeat=True), steps=3)
    build = tf.estimator.experimental.build_raw_supervised_input_receiver_fn

    def labelled():
        return build({"x": tf.placeholder(tf.float32, [None, 5])}, tf.placeholder(tf.int32, [None]))()

    def parsing():
        return tf.estimator.export.build_parsing_serving_input_receiver_fn({"x": tf.FixedLenFeature([5], tf.float32)})()

    modes = tf.estimator.ModeKeys
    path = est.experimental_export_all_saved_models(
        folder + "/all", {modes.TRAIN: labelled, modes.EVAL: labelled, modes.PREDICT: parsing}
    )
    found = []
    for tag in ("train", "eval", "serve"):
        with tf.Graph().as_default(), tf.Session() as session:
            graph = tf.saved_model.load(session, [tag], path.decode())
        keys = {k: [sorted(v.inputs), sorted(v.outputs), v.method_name] for k, v in graph.signature_def.items()}
        found.append([sorted(graph.meta_info_def.tags), keys, sorted(graph.collection_def)])
    warm = tf.estimator.Estimator(
        model_fn(tf), folder + "/warm", tf.estimator.RunConfig(tf_random_seed=1), {"units": 4},
        tf.estimator.WarmStartSettings(folder, vars_to_warm_start="dense/.*"),
    )  # fmt: skip
    warm.train(lambda: dataset(tf, repeat=True), steps=1)
    return {"graphs": found, "warm": warm.get_variable_value("dense/kernel")}


def replicas(tf, folder):
    strategy = tf.distribute.MirroredStrategy(["/device:CPU:0", "/device:CPU:1"])
    session = tf.ConfigProto(device_count={"CPU": 2}, allow_soft_placement=True)
    est = estimator(
        tf, folder, with_seeds=True, train_distribute=strategy, eval_distribute=strategy, session_config=session
    )
    est.train(lambda: dataset(tf, repeat=True), steps=6)
    return {
        "result": est.evaluate(lambda: dataset(tf)), "variables": est.get_variable_names(), "events": events(tf, folder),
    }  # fmt: skip


def towers(tf, folder):
    def wrapped(features, labels, mode, params):
        logits = dense(tf, dense(tf, features["x"], params["units"], 1, tf.nn.relu, "dense"), 3, 2, name="logits")
        predictions = {"class": tf.argmax(logits, 1), "probabilities": tf.nn.softmax(logits)}
        outputs = {
            "serving_default": tf.estimator.export.PredictOutput(predictions),
            "regress": tf.estimator.export.RegressionOutput(logits[:, 0]),
            "classify": tf.estimator.export.ClassificationOutput(scores=logits),
        }
        if mode == tf.estimator.ModeKeys.PREDICT:
            return tf.estimator.EstimatorSpec(mode, predictions, export_outputs=outputs)
        loss = tf.losses.sparse_softmax_cross_entropy(labels, logits)
        metrics = {"accuracy": tf.metrics.accuracy(labels, predictions["class"])}
        if mode == tf.estimator.ModeKeys.EVAL:
            return tf.estimator.EstimatorSpec(mode, loss=loss, eval_metric_ops=metrics)
        optimizer = tf.contrib.estimator.TowerOptimizer(lambda: tf.train.AdamOptimizer(0.01))
        return tf.estimator.EstimatorSpec(mode, loss=loss, train_op=optimizer.minimize(loss, tf.train.get_global_step()))

    devices = ["/device:CPU:0", "/device:CPU:1"]
    found = {}
    for reduction in (tf.losses.Reduction.SUM_BY_NONZERO_WEIGHTS, tf.losses.Reduction.SUM):
        replicated = tf.contrib.estimator.replicate_model_fn(wrapped, reduction, devices)
        session = tf.ConfigProto(device_count={"CPU": 2}, allow_soft_placement=True)
        config = tf.estimator.RunConfig(folder + "/" + reduction, tf_random_seed=1, session_config=session)
        est = tf.estimator.Estimator(lambda features, labels, mode, params: replicated(features, labels, mode, params), config=config, params={"units": 4})
        est.train(lambda: dataset(tf, repeat=True), steps=6)
        found[reduction] = [
            est.evaluate(lambda: dataset(tf)), est.get_variable_value("dense/kernel"), est.get_variable_names(),
            [p["class"] for p in est.predict(lambda: dataset(tf))],
        ]  # fmt: skip
    with tf.Graph().as_default() as graph:
        tf.train.create_global_step()
        batch = tf.data.make_one_shot_iterator(tf.data.Dataset.from_tensors(({"x": FEATURES[:6]}, LABELS[:6]))).get_next()
        tf.contrib.estimator.replicate_model_fn(wrapped, devices=devices)(*batch, mode="train", params={"units": 2})
        placed = [[op.name, op.type, op.device] for op in graph.get_operations() if "gradients" not in op.name]
    return {"found": found, "nodes": placed}


def tpu_estimator(tf, folder):
    tpu = tf.contrib.tpu
    seen = []

    def tpu_model_fn(features, labels, mode, params):
        seen.append([mode, sorted(params.items())])
        logits = tf.layers.dense(features["x"], 3)
        if mode == tf.estimator.ModeKeys.PREDICT:
            return tpu.TPUEstimatorSpec(mode, {"probabilities": tf.nn.softmax(logits)})
        loss = tf.losses.sparse_softmax_cross_entropy(labels, logits)

        def metric_fn(labels, logits):
            return {"accuracy": tf.metrics.accuracy(labels, tf.argmax(logits, 1))}

        train_op = tf.train.GradientDescentOptimizer(0.1).minimize(loss, global_step=tf.train.get_global_step())
        return tpu.TPUEstimatorSpec(
            mode, loss=loss, train_op=train_op, eval_metrics=(metric_fn, [labels, logits]), scaffold_fn=tf.train.Scaffold
        )

    config = tpu.RunConfig(model_dir=folder, tf_random_seed=2, tpu_config=tpu.TPUConfig(iterations_per_loop=5, num_shards=8))
    est = tpu.TPUEstimator(
        tpu_model_fn, config=config, params={"rate": 1}, use_tpu=False, train_batch_size=10, eval_batch_size=6, predict_batch_size=4,
        export_to_tpu=False,
    )  # fmt: skip
    est.train(lambda params: dataset(tf, True, params["batch_size"]), max_steps=8)
    result = est.evaluate(lambda params: dataset(tf, False, params["batch_size"]), steps=3)
    predictions = list(est.predict(lambda params: dataset(tf, False, params["batch_size"])))
    est.export_saved_model(folder + "/export", serving(tf))
    return {"seen": seen, "result": result, "predictions": [len(predictions), predictions[0]]}


def keras_model(tf, folder):
    tf.set_random_seed(3)
    inputs = tf.keras.Input((5,), name="x")
    outputs = tf.keras.layers.Dense(3, activation="softmax", name="out")(tf.keras.layers.Dense(4, name="hidden")(inputs))
    model = tf.keras.Model(inputs, outputs)
    model.compile("adam", "sparse_categorical_crossentropy", metrics=["accuracy"])
    found = {}
    for form in ("saver", "checkpoint"):
        est = tf.keras.estimator.model_to_estimator(
            model, model_dir=folder + "/" + form, config=tf.estimator.RunConfig(tf_random_seed=5), checkpoint_format=form
        )
        est.train(lambda: dataset(tf, repeat=True), steps=4)
        found[form] = [est.evaluate(lambda: dataset(tf)), list(est.predict(lambda: dataset(tf)))[:2], est.get_variable_names()]
    return found


def input_queues(tf, folder):
    found = {}
    x = {"b": np.arange(5), "a": np.arange(10.0).reshape(5, 2)}
    for name, y, epochs in (("pairs", np.arange(5, 10), 2), ("dicts", {"t": np.arange(5), "s": np.arange(5)}, 1), ("none", None, 1)):
        with tf.Graph().as_default() as graph:
            batch = tf.estimator.inputs.numpy_input_fn(x, y, batch_size=3, num_epochs=epochs, shuffle=False)()
            nodes = [[op.name, op.type] for op in graph.get_operations()]
            with tf.train.MonitoredSession() as session:
                values = []
                while not session.should_stop():
                    values.append(session.run(batch))
        found[name] = [nodes, values]
    return found


PROGRAMS = {
    p.__name__: p
    for p in (
        train_evaluate_predict, train_and_evaluate, early_stopping, exports, replicas, towers, tpu_estimator, keras_model, input_queues,
    )
}  # fmt: skip


def outcome(tf, program, folder):
    """What a program gives, and the lines it logs."""
    logger = logging.getLogger("tensorflow")
    level, handler = logger.level, Lines(folder)
    logger.setLevel(logging.INFO)
    logger.addHandler(handler)
    try:
        with tf.Graph().as_default():
            found = plain(program(tf, folder))
    finally:
        logger.removeHandler(handler)
        logger.setLevel(level)
    return {"found": found, "lines": handler.lines}
