"""tf.contrib.factorization.WALSMatrixFactorization: training by sweeps, projections and losses."""

import functools
import os

import numpy as np

RTOL = 2e-3
"""Factors are solutions of linear equations in float32, sweep after sweep."""

MATRIX = np.array([[0.1, 0, 0.2, 0, 0.4, 0.5], [0, 1.1, 0, 1.3, 1.4, 0], [0, 0, 2.2, 0, 2.4, 2.5], [3.0, 3.1, 0, 3.3, 0, 0]], np.float32)
ROWS, COLUMNS = MATRIX.shape
START = np.random.RandomState(7).normal(size=(10, 2)).astype(np.float32)


def sparse(tf, matrix, rows):
    """Some rows of a matrix as a SparseTensor with their own numbers."""
    kept = np.zeros_like(matrix)
    kept[rows] = matrix[rows]
    places = np.argwhere(kept)
    return tf.SparseTensor(places.astype(np.int64), kept[tuple(places.T)], matrix.shape)


def inputs(tf, rows=slice(None), columns=slice(None), **more):
    kind = tf.contrib.factorization.WALSMatrixFactorization

    def input_fn():
        features = {kind.INPUT_ROWS: sparse(tf, MATRIX, rows), kind.INPUT_COLS: sparse(tf, MATRIX.T, columns)}
        features.update({name: tf.constant(value) for name, value in more.items()})
        return features, None

    return input_fn


def halves(tf):
    """The first and second half of rows and columns in turn."""
    kind = tf.contrib.factorization.WALSMatrixFactorization

    def input_fn():
        is_first = tf.equal(tf.get_variable("turn", [], tf.int32, tf.zeros_initializer(), trainable=False).assign_add(1) % 2, 1)

        def half(matrix):
            middle = len(matrix) // 2
            parts = [sparse(tf, matrix, slice(0, middle)), sparse(tf, matrix, slice(middle, None))]
            chosen = tf.cond(is_first, lambda: (parts[0].indices, parts[0].values), lambda: (parts[1].indices, parts[1].values))
            return tf.SparseTensor(chosen[0], tf.reshape(chosen[1], [-1]), tf.constant(matrix.shape, tf.int64))

        return {kind.INPUT_ROWS: half(MATRIX), kind.INPUT_COLS: half(MATRIX.T)}, None

    return input_fn


def model(tf, folder, **options):
    settings = {"row_init": START[:ROWS], "col_init": START[ROWS:], "regularization_coeff": 0.01, "unobserved_weight": 0.1}
    settings.update(options)
    config = tf.contrib.learn.RunConfig(tf_random_seed=1)
    return tf.contrib.factorization.WALSMatrixFactorization(ROWS, COLUMNS, 2, model_dir=folder, config=config, **settings)


def outcome(tf, made):
    kind = type(made)
    state = [made.get_variable_value(name) for name in (kind.LOSS, kind.RWSE, kind.COMPLETED_SWEEPS, "global_step", "is_row_sweep", "is_sweep_done")]
    factors = [np.concatenate(made.get_row_factors()), np.concatenate(made.get_col_factors())]
    product = factors[0].dot(factors[1].T)
    losses = [
        made.evaluate(input_fn=inputs(tf, **{kind.PROJECT_ROW: of_rows}), steps=1)["loss"] for of_rows in (True, False)
    ]  # fmt: skip
    rows = np.array(list(made.get_projections(inputs(tf, slice(1, 3), **{kind.PROJECT_ROW: True, kind.PROJECTION_WEIGHTS: np.float32([0.5, 0.2])}))))
    columns = np.array(list(made.get_projections(inputs(tf, columns=slice(2, 3), **{kind.PROJECT_ROW: False}))))
    names = sorted(name for name in made.get_variable_names() if "shard" not in name)
    return [*state, product, np.array(losses, np.float32), rows.dot(factors[1].T), columns.dot(factors[0].T), names]


def trained(options, steps, tf, folder):
    made = model(tf, folder, **options)
    made.fit(input_fn=inputs(tf), steps=steps)
    return outcome(tf, made)


def in_batches(tf, folder):
    made = model(tf, folder, max_sweeps=4)
    made.fit(input_fn=halves(tf))
    return outcome(tf, made)


def goes_on(tf, folder):
    for _ in range(2):
        made = model(tf, folder)
        made.fit(input_fn=inputs(tf), steps=3)
    return outcome(tf, made)


def with_labels(tf, folder):
    try:
        model(tf, folder).fit(input_fn=lambda: (inputs(tf)()[0], tf.zeros([4])), steps=1)
    except AssertionError:
        return "refused"


def several_workers(tf, folder):
    os.environ["TF_CONFIG"] = '{"cluster": {"worker": ["a:1", "b:2"], "ps": ["c:3"]}, "task": {"type": "worker", "index": 0}}'
    try:
        return model(tf, folder).config.num_worker_replicas
    finally:
        del os.environ["TF_CONFIG"]


PROGRAMS = {
    "plain": functools.partial(trained, {}, 6),
    "without_caches": functools.partial(trained, {"use_factors_weights_cache_for_training": False, "use_gramian_cache_for_training": False}, 5),
    "weights": functools.partial(trained, {"row_weights": [[0.5, 1.0, 0.25, 2.0]], "col_weights": 0.7, "regularization_coeff": None}, 4),
    "without_weights": functools.partial(trained, {"row_weights": None, "col_weights": None}, 4),
    "sweeps": functools.partial(trained, {"max_sweeps": 3}, 10),
    "shards": functools.partial(trained, {
        "num_row_shards": 2, "num_col_shards": 3, "row_init": [START[:2], START[2:4]], "col_init": [START[4:6], START[6:8], START[8:]]
    }, 4),
}  # fmt: skip
PROGRAMS.update({f.__name__: f for f in (in_batches, goes_on, with_labels, several_workers)})
