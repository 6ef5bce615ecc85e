"""Values of the functions below the estimators of tf.contrib.timeseries: functions of `tf` and of what imports its modules."""

import os

import numpy as np

RANDOM = np.random.RandomState(3)
A, B, C = RANDOM.randn(4, 3, 3), RANDOM.randn(3, 3) * 0.5, RANDOM.randn(2, 3, 3)
VECTORS = RANDOM.randn(2, 3)
COVARIANCES = np.matmul(C, np.transpose(C, [0, 2, 1])) + np.eye(3)


def functions(tf, modules):
    """Tensors of math_utils by name."""
    m = modules("math_utils")
    ints = np.array([0, 1, 2, 7])
    return {
        "normal": m.normal_log_prob(VECTORS[0], tf.constant(0.7, tf.float64), VECTORS[1]),
        "cauchy": m.cauchy_log_prob(VECTORS[0], tf.constant(0.7, tf.float64), VECTORS[1]),
        "mvn": m.mvn_tril_log_prob(*map(tf.constant, (VECTORS, np.linalg.cholesky(COVARIANCES), VECTORS[::-1].copy()))),
        "clipped": m.clip_covariance(tf.constant(COVARIANCES), 1.5, 4.0),
        "blocks": m.block_diagonal([A[:2, :2], C, A[2:, :, :1]], dtype=tf.float64),
        "powers": m.matrix_to_powers(B, ints),
        "batch_powers": m.batch_matrix_pow(A, ints),
        "power_sums": m.power_sums_tensor(5, B, COVARIANCES[0]),
        "one_power_sum": m.power_sums_tensor(1, B, COVARIANCES[0]),
        "batch_times_matrix": m.batch_times_matrix(A[:, :2], B),
        "batch_times_matrix_adj": m.batch_times_matrix(A[:, :, :2], B, adj_x=True, adj_y=True),
        "matrix_times_batch": m.matrix_times_batch(B, A[:, :, :2]),
        "matrix_times_batch_adj": m.matrix_times_batch(B, A[:, :2], adj_x=True, adj_y=True),
        "toeplitz": m.make_toeplitz_matrix(A),
        "positive_definite": m.sign_magnitude_positive_definite(tf.constant(C), VECTORS[0, :2], VECTORS[1, :2]),
        "prior": m.log_noninformative_covariance_prior(tf.constant(COVARIANCES[0])),
        "entropy": m.entropy_matched_cauchy_scale(tf.constant(COVARIANCES)),
        "replicated": m.replicate_state((tf.constant(VECTORS), tf.constant(3)), 2),
    }


def kalman_steps(tf, modules):
    """A step of the filter, with either form of the covariance, and with noise of one or of each observation."""
    found = []
    model, noise = tf.constant(A[:2, :2]), COVARIANCES[:, :2, :2]
    for simplified, noises in ((False, noise[0]), (False, noise), (True, noise[0])):
        filter_ = modules("state_space_models.kalman_filter").KalmanFilter(tf.float64, simplified)
        mean = filter_.predict_state_mean(tf.constant(VECTORS), tf.constant(C))
        variance = filter_.predict_state_var(tf.constant(COVARIANCES), tf.constant(C), tf.constant(COVARIANCES))
        observed = filter_.observed_from_state(mean, variance, model, noises)
        found += [mean, variance, observed, filter_.do_filter(mean, variance, observed[0], observed[1], VECTORS[:, :2], model, noises)]
    return found


def transitions(tf, modules):
    """Transitions of models over several steps, and the noise of them."""
    space = modules("state_space_models.state_space_model")
    one = space.StateSpaceModelConfiguration(dtype=tf.float64)
    two = one._replace(num_features=2)
    periodic = modules("state_space_models.periodic")
    models = {
        "cycle": periodic.CycleStateSpaceModel(5, one),
        "slow": periodic.ResolutionCycleModel(5, 11.7, configuration=one),
        "whole": periodic.ResolutionCycleModel(5, 12, configuration=one),
        "same": periodic.ResolutionCycleModel(5, 5, configuration=one),
        "fast": periodic.ResolutionCycleModel(7, 2.5, configuration=one),
        "adder": modules("state_space_models.level_trend").AdderStateSpaceModel(configuration=one),
        "trend": modules("state_space_models.level_trend").AdderStateSpaceModel(False, one),
        "varma": modules("state_space_models.varma").VARMA(2, 1, two),
        "average": modules("state_space_models.varma").VARMA(1, 2, two),
    }
    found = {}
    steps = tf.constant([0, 1, 3, 12, 26], tf.int64)
    for name, model in models.items():
        with tf.variable_scope(name) as scope:
            model._variable_scope = scope
            model.initialize_graph()
        found[name] = [
            model.get_state_transition(), model.get_noise_transform(), model.get_broadcasted_observation_model(steps),
            model.transition_to_powers(steps), model.transition_power_noise_accumulator(steps), model.get_prior_covariance(),
        ]  # fmt: skip
    found["scaled"] = models["cycle"].transition_power_noise_accumulator(steps, [1.0, 0.5, 2.0, 0.25, 3.0])
    return found


def anomalies(tf, modules):
    processor = modules("state_space_models.filtering_postprocessor")
    outputs = {"mean": tf.constant(VECTORS), "covariance": tf.constant(COVARIANCES), "log_likelihood": tf.constant([-2.0, -9.0], tf.float64)}
    before, after = (tf.constant(VECTORS), tf.constant([3, 3])), (tf.constant(VECTORS[::-1].copy()), tf.constant([3, 3]))
    return processor.StateInterpolatingAnomalyDetector(responsibility_scaling=0.5).process_filtering_step(
        tf.constant([3, 3]), tf.constant(VECTORS + 1.0), before, after, outputs
    )


TABLES = {f.__name__: f for f in (functions, kalman_steps, transitions, anomalies)}


def values(tf, modules, table):
    """The table's values."""
    with tf.Graph().as_default(), tf.Session() as session:
        found = table(tf, modules)
        session.run(tf.global_variables_initializer())
        as_tensors = tf.contrib.framework.nest.map_structure(tf.convert_to_tensor, _plain(found))
        return session.run(as_tensors)


def _plain(found):
    if isinstance(found, dict):
        return {key: _plain(value) for key, value in found.items()}
    if isinstance(found, (tuple, list)) and not all(isinstance(v, (float, list)) for v in found):
        return [_plain(v) for v in found]
    return np.asarray(found) if isinstance(found, list) else found


CSV = "".join("%d,%g,%g,%s\n" % (t * 2, t * 0.5, -t, "ab"[t % 2]) for t in range(23))


def batches(tf, folder):
    """What input functions give: whole series, and random windows with a seed.

    A queue that shuffles is full whenever an element is taken if it has room for one more than has to stay; then the order is fixed.
    Elsewhere it hangs on threads, and the rows of very many batches are all that can come.
    """
    ts = tf.contrib.timeseries
    path = os.path.join(folder, "series.csv")
    with open(path, "w") as file:
        file.write("a header\n" + CSV)
    reader = ts.CSVReader(
        [path], column_names=("times", "values", "values", "letter"), column_dtypes=(tf.int64, tf.float32, tf.float32, tf.string),
        skip_header_lines=1, read_num_records_hint=6,
    )  # fmt: skip
    arrays = ts.NumpyReader({"times": np.arange(23) * 2, "values": np.arange(23) * 0.5}, read_num_records_hint=6)
    full = dict(batch_size=1, queue_capacity_multiplier=8, shuffle_min_after_dequeue_multiplier=7, num_threads=1, shuffle_seed=4)
    inputs = {
        "csv": (lambda: ts.RandomWindowInputFn(reader, window_size=4, **full), 12),
        "arrays": (lambda: ts.RandomWindowInputFn(arrays, window_size=5, jitter=False, **full), 12),
        # Whether names of files are left for a second reading hangs on threads.
        "whole_csv": (lambda: ts.WholeDatasetInputFn(reader), 1),
        "whole_arrays": (lambda: ts.WholeDatasetInputFn(arrays), 3),
    }
    found = {name: _read(tf, make, count) for name, (make, count) in inputs.items()}
    several = {
        "rows_of_windows": lambda: ts.RandomWindowInputFn(reader, window_size=4, batch_size=3, num_threads=1),
        "rows_of_overlapping": lambda: ts.RandomWindowInputFn(arrays, 3, 4, discard_out_of_order=False, jitter=False, num_threads=1),
    }
    for name, make in several.items():
        shapes, given = _read(tf, make, 500)
        rows = {repr([(key, batch[key][row].tolist()) for key in sorted(batch)]) for batch in given for row in range(len(batch["times"]))}
        found[name] = [shapes, sorted(rows)]
    return found


def _read(tf, make, count):
    """The static shapes of features and `count` batches of them."""
    with tf.Graph().as_default():
        tf.set_random_seed(2)
        features, _ = make()()
        shapes, found = {key: value.shape.as_list() for key, value in features.items()}, []
        with tf.train.MonitoredSession() as session:
            found = [session.run(features) for _ in range(count)]
    # Not returned from within: the session takes an end of the input for its own, and nothing would come back.
    assert len(found) == count
    return [shapes, found]


def refusals(tf, modules, folder):
    """Which error each wrong call raises."""
    ts, path = tf.contrib.timeseries, os.path.join(folder, "empty.csv")
    open(path, "w").close()
    times, values = np.arange(6), np.arange(6.0)
    utils = modules("model_utils")
    before = {"times": np.arange(3)[None]}
    ensembles = modules("state_space_models.state_space_model")
    configuration = ensembles.StateSpaceModelConfiguration()

    def read(reader, make=ts.WholeDatasetInputFn, **settings):
        with tf.Graph().as_default():
            features, _ = make(reader, **settings)()
            with tf.train.MonitoredSession() as session:
                try:
                    session.run(features)
                except tf.errors.OutOfRangeError as e:  # which the session would take for an end of its own
                    raise EOFError(str(e))

    def train(features, size=3):
        est = ts.ARRegressor(periodicities=3, input_window_size=2, output_window_size=1, num_features=1)
        est.train(lambda: ({k: tf.constant(v) for k, v in features.items()}, None), steps=1)

    calls = {
        "no values": lambda: ts.NumpyReader({"times": times}),
        "shapes": lambda: ts.NumpyReader({"times": times, "values": values[:3]}),
        "batch": lambda: ts.NumpyReader({"times": np.stack([times] * 2), "values": np.ones([2, 6, 1])}),
        "rank of times": lambda: ts.NumpyReader({"times": np.ones([1, 1, 1], int), "values": np.ones([1, 1, 1])}),
        "rank of values": lambda: ts.NumpyReader({"times": times, "values": np.ones([6, 1, 1])}),
        "short": lambda: ts.RandomWindowInputFn(ts.NumpyReader({"times": times, "values": values}), 7, 2),
        "no times column": lambda: ts.CSVReader(path, column_names=("values",)),
        "two times columns": lambda: ts.CSVReader(path, column_names=("times", "times", "values")),
        "dtypes of columns": lambda: ts.CSVReader(path, column_dtypes=(tf.int64,)),
        "no file": lambda: read(ts.CSVReader(path + ".none")),
        "empty file": lambda: read(ts.CSVReader(path)),
        "empty windows": lambda: read(ts.CSVReader(path), ts.RandomWindowInputFn, window_size=2, batch_size=1),
        "never in order": lambda: read(
            ts.NumpyReader({"times": times[::-1].copy(), "values": values}), ts.RandomWindowInputFn, window_size=4, batch_size=1,
            discard_consecutive_batches_limit=3, jitter=False,
        ),
        "steps and times": lambda: utils.canonicalize_times_or_steps_from_output([5], 2, before),
        "no steps or times": lambda: utils.canonicalize_times_or_steps_from_output(None, None, before),
        "early": lambda: utils.canonicalize_times_or_steps_from_output([2, 3], None, before),
        "batches": lambda: utils.canonicalize_times_or_steps_from_output([[5], [6]], None, before),
        "labels": lambda: ts.ARRegressor(3, 2, 1, 1).train(lambda: ({"times": tf.zeros([1, 3], tf.int64)}, tf.zeros([1]))),
        "missing feature": lambda: train({"times": np.arange(3)[None]}),
        "features": lambda: train({"times": np.arange(3)[None], "values": np.ones([1, 3, 2])}),
        "window": lambda: train({"times": np.arange(4)[None], "values": np.ones([1, 4, 1])}),
        "rank": lambda: train({"times": np.arange(3)[None], "values": np.ones([1, 3, 1]), "more": np.ones([1])}),
        "lengths": lambda: train({"times": np.arange(3)[None], "values": np.ones([1, 3, 1]), "more": np.ones([1, 2])}),
        "distribution alone": lambda: ts.ARRegressor(3, 2, 1, 1, anomaly_distribution="cauchy"),
        "loss of anomalies": lambda: ts.ARRegressor(3, 2, 1, 1, anomaly_prior_probability=0.1, loss="squared_loss"),
        "even latent values": lambda: ts.StructuralEnsembleRegressor(5, 1, cycle_num_latent_values=4),
        "numbers of latent values": lambda: ts.StructuralEnsembleRegressor([5, 6, 7], 1, cycle_num_latent_values=[3, 5]),
        "no state space model": lambda: modules("estimators").StateSpaceRegressor(ts.ARModel(3, 2, 1, 1)),
        "members": lambda: ensembles.StateSpaceCorrelatedFeaturesEnsemble([], configuration),
        "not initialized": lambda: ts.ARModel(3, 2, 1, 1).define_loss({"times": times}, "train"),
    }
    found = {}
    for name, call in calls.items():
        with tf.Graph().as_default():
            try:
                call()
                found[name] = None
            except Exception as e:  # noqa: BLE001
                found[name] = type(e).__name__
    return found
