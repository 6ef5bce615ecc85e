"""Programs with tf.contrib.timeseries: functions of `tf`, of what imports the package's modules, and of an empty folder."""

import os

import numpy as np

TIMES = np.concatenate([np.arange(30), np.arange(33, 60)])
CHANGE = np.where(TIMES % 17 == 5, "yes", "no")[:, None]


def series(features):
    noise = np.random.RandomState(0).randn(len(TIMES), features)
    waves = [0.5 * TIMES + (3 + f) * np.sin(TIMES * 2 * np.pi / 10 + f) for f in range(features)]
    return (np.stack(waves, -1) + noise).astype(np.float32)


def changes(tf):
    column = tf.feature_column.categorical_column_with_vocabulary_list("change", ["no", "yes"])
    return [tf.feature_column.indicator_column(column)]


def windows(size):
    """An input function of the same windows in each step."""
    starts = range(0, 28 - size, 2)
    values = series(1)

    def input_fn(tf):
        features = {"times": np.stack([TIMES[s : s + size] for s in starts]), "values": np.stack([values[s : s + size] for s in starts])}
        features["change"] = np.stack([CHANGE[s : s + size] for s in starts])
        return tf.data.Dataset.from_tensors(features).repeat().make_one_shot_iterator().get_next(), None

    return input_fn


def fixed(tf, chosen):
    """A hook that sets the variables whose names have one of `chosen`, so that their values do not depend on how many nodes there are."""

    class Setting(tf.train.SessionRunHook):
        def begin(self):
            random = np.random.RandomState(1)
            found = [v for v in tf.global_variables() if any(part in v.name for part in chosen) and "Adam" not in v.name]
            values = [random.randn(*v.shape.as_list()) * 0.1 for v in sorted(found, key=lambda v: v.name)]
            self.operations = [
                tf.assign(v, value.astype(v.dtype.as_numpy_dtype))
                for v, value in zip(sorted(found, key=lambda v: v.name), values)
            ]

        def after_create_session(self, session, coord):
            session.run(self.operations)

    return [Setting()]


def noting(tf, found):
    """A hook that puts the operations of the training graph, in their order, into the list `found`."""

    class Noting(tf.train.SessionRunHook):
        def begin(self):
            found.extend(op.type + " " + op.name for op in tf.get_default_graph().get_operations())

    return Noting()


def results(tf, est, readers, steps, **exogenous):
    evaluation = est.evaluate(tf.contrib.timeseries.WholeDatasetInputFn(readers), steps=1)
    input_fn = tf.contrib.timeseries.predict_continuation_input_fn(evaluation, steps=steps, **exogenous)
    (prediction,) = est.predict(input_fn)
    names = [name for name in est.get_variable_names() if "cached_states" not in name]
    return {
        "evaluation": evaluation,
        "prediction": prediction,
        "variables": [[name, list(np.shape(est.get_variable_value(name)))] for name in names],
    }


def autoregression(tf, modules, folder, **settings):
    est = tf.contrib.timeseries.ARRegressor(
        periodicities=10, num_features=1, num_time_buckets=5, exogenous_feature_columns=changes(tf), model_dir=folder,
        config=tf.estimator.RunConfig(tf_random_seed=5), **settings
    )  # fmt: skip
    size = settings["input_window_size"] + settings["output_window_size"]
    nodes = []
    est.train(lambda: windows(size)(tf), steps=8, hooks=[noting(tf, nodes)])
    reader = tf.contrib.timeseries.NumpyReader({"times": TIMES, "values": series(1), "change": CHANGE})
    found = results(tf, est, reader, 7, exogenous_features={"change": [[["no"]] * 4 + [["yes"]] * 3]})
    return dict(found, nodes=nodes)


def ar(tf, modules, folder):
    return autoregression(tf, modules, folder, input_window_size=8, output_window_size=3)


def ar_without_input_window(tf, modules, folder):
    loss = tf.contrib.timeseries.ARModel.SQUARED_LOSS
    return autoregression(tf, modules, folder, input_window_size=0, output_window_size=4, loss=loss)


def ar_with_anomalies(tf, modules, folder):
    return autoregression(
        tf, modules, folder, input_window_size=3, output_window_size=5, hidden_layer_sizes=[4, 3], anomaly_prior_probability=0.1,
        anomaly_distribution="cauchy",
    )  # fmt: skip


def load(tf, folder):
    session = tf.Session(graph=tf.Graph())
    with session.graph.as_default():
        return session, tf.saved_model.loader.load(session, [tf.saved_model.tag_constants.SERVING], folder)


def signatures(meta_graph):
    return {
        name: [sorted((key, info.dtype, [d.size for d in info.tensor_shape.dim]) for key, info in part.items()) for part in (s.inputs, s.outputs)]
        for name, s in meta_graph.signature_def.items()
    }


def lstm_exported(tf, modules, folder):
    """An LSTM; its export takes serialized Examples and predicts at once."""
    est = modules("estimators").LSTMAutoRegressor(
        periodicities=10, input_window_size=6, output_window_size=3, num_features=1, num_units=4, model_dir=folder,
        config=tf.estimator.RunConfig(tf_random_seed=5), extra_feature_columns=[tf.feature_column.numeric_column("hot")],
    )  # fmt: skip

    def with_numbers():
        features, _ = windows(9)(tf)
        times = features["times"]
        return {"times": times, "values": features["values"], "hot": tf.cast(times % 3, tf.float32)[..., None]}, None

    nodes = []
    est.train(with_numbers, steps=10, hooks=[noting(tf, nodes)])
    receiver = est.build_one_shot_parsing_serving_input_receiver_fn(filtering_length=12, prediction_length=4)
    session, meta_graph = load(tf, est.export_saved_model(os.path.join(folder, "export"), receiver))
    example = tf.train.Example()
    example.features.feature["times"].int64_list.value.extend(range(16))
    example.features.feature["values"].float_list.value.extend(series(1)[:12, 0])
    example.features.feature["hot"].float_list.value.extend(t % 3 for t in range(16))
    signature = meta_graph.signature_def["serving_default"]
    fetched = {key: info.name for key, info in signature.outputs.items()}
    found = session.run(fetched, {signature.inputs["examples"].name: [example.SerializeToString()] * 2})
    return {"signatures": signatures(meta_graph), "found": found, "nodes": nodes}


def structural_ensemble(tf, modules, folder):
    """Two features, two cycles, gaps; the state space model is exported, filtered and predicted with."""
    est = tf.contrib.timeseries.StructuralEnsembleRegressor(
        periodicities=[7.3, 12], num_features=2, cycle_num_latent_values=[3, 5], moving_average_order=1, autoregressive_order=2,
        model_dir=folder,
    )  # fmt: skip
    reader = tf.contrib.timeseries.NumpyReader({"times": TIMES, "values": series(2)})
    est.train(tf.contrib.timeseries.WholeDatasetInputFn(reader), steps=4, hooks=fixed(tf, ["prior_state_mean"]))
    found = results(tf, est, reader, 6)
    session, meta_graph = load(tf, est.export_saved_model(os.path.join(folder, "export"), est.build_raw_serving_input_receiver_fn()))
    utils = tf.contrib.timeseries.saved_model_utils
    cold = utils.cold_start_filter(meta_graph, session, {"times": TIMES[:6], "values": series(2)[:6]})
    later = utils.filter_continuation(cold, meta_graph, session, {"times": [8, 9], "values": series(2)[8:10]})
    found["predictions"] = [
        utils.predict_continuation(later, meta_graph, session, steps=3),
        utils.predict_continuation(found["evaluation"], meta_graph, session, times=[61, 64]),
    ]
    found["states"], found["signatures"] = [cold, later], signatures(meta_graph)
    return found


def changes_and_anomalies(tf, modules, folder):
    """A feature that is known changes the state at some times, where a condition of one number for the batch holds; values may be anomalies."""
    est = tf.contrib.timeseries.StructuralEnsembleRegressor(
        periodicities=None, num_features=1, moving_average_order=1, exogenous_feature_columns=changes(tf), model_dir=folder,
        exogenous_update_condition=lambda times, features: tf.equal(tf.squeeze(features["change"], -1), "yes"),
        anomaly_prior_probability=0.05, optimizer=tf.train.GradientDescentOptimizer(0.01),
    )  # fmt: skip
    reader = tf.contrib.timeseries.NumpyReader({"times": TIMES, "values": series(1), "change": CHANGE})
    whole = tf.contrib.timeseries.WholeDatasetInputFn(reader)
    est.train(whole, steps=3, hooks=fixed(tf, ["fully_connected/weights", "prior_state_mean"]))
    return results(tf, est, reader, 4, exogenous_features={"change": [["no", "no", "yes", "no"]]})


def unrolled_level_trend(tf, modules, folder):
    """A learned start state, regressors that are observed, nodes for every time, chained states that are saved."""
    space = modules("state_space_models.state_space_model")
    model = modules("state_space_models.level_trend").AdderStateSpaceModel(
        use_level_noise=False,
        configuration=space.StateSpaceModelConfiguration(
            trainable_start_state=True, exogenous_feature_columns=changes(tf), exogenous_noise_decreases=True,
            static_unrolling_window_size_threshold=8, bayesian_prior_weighting=False, dtype=tf.float64,
        ),
    )  # fmt: skip
    est = modules("estimators").StateSpaceRegressor(
        model, modules("state_management").ChainingStateManager(state_saving_interval=3, checkpoint_state=True),
        tf.train.GradientDescentOptimizer(0.01), folder,
    )  # fmt: skip
    est.train(lambda: windows(3)(tf), steps=4, hooks=fixed(tf, ["fully_connected/weights"]))
    reader = tf.contrib.timeseries.NumpyReader({"times": TIMES, "values": series(1), "change": CHANGE})
    return results(tf, est, reader, 2, exogenous_features={"change": [[["no"], ["yes"]]]})


PROGRAMS = {
    f.__name__: f
    for f in (ar, ar_without_input_window, ar_with_anomalies, lstm_exported, structural_ensemble, changes_and_anomalies, unrolled_level_trend)
}


def outcome(tf, modules, program, folder):
    tf.logging.set_verbosity(tf.logging.ERROR)
    tf.reset_default_graph()
    return program(tf, modules, folder)
