"""Inputs that end before the steps that were asked for: rows for `test_short_inputs.py`, recorded from TensorFlow 1.15.5.

    .venv-tf1/bin/python tests/oracle/record_short_inputs.py
"""

import io
import logging

import numpy as np

ROWS = {}


def batches(count, repeated=False):
    while True:
        for i in range(count):
            yield np.full((2, 3), i, np.float32), np.zeros((2, 1), np.float32)
        if not repeated:
            return


def features(count):
    return (x for x, _ in batches(count))


def dataset(tf, count):
    arrays = (np.ones((2 * count, 3), np.float32), np.zeros((2 * count, 1), np.float32))
    return tf.data.Dataset.from_tensor_slices(arrays).batch(2)


def row(name, run):
    ROWS[name] = run


for fit in ("fit", "fit_generator"):
    for count, epochs in ((2, 2), (3, 2), (1, 1), (0, 2), (2, 4), (4, 3)):
        row(
            "%s_%d_batches_%d_epochs" % (fit, count, epochs),
            lambda tf, m, fit=fit, count=count, epochs=epochs: getattr(m, fit)(batches(count), epochs=epochs, steps_per_epoch=2, verbose=0),
        )
    row(fit + "_without_steps", lambda tf, m, fit=fit: getattr(m, fit)(batches(2), epochs=2, verbose=0))
    for count in (0, 1, 2):
        row(
            "%s_with_%d_for_validation" % (fit, count),
            lambda tf, m, fit=fit, count=count: getattr(m, fit)(
                batches(4, True), epochs=2, steps_per_epoch=2, verbose=0, validation_data=batches(count), validation_steps=2
            ),
        )
for count in (0, 1, 2, 3):
    row("fit_dataset_of_%d" % count, lambda tf, m, n=count: m.fit(dataset(tf, max(n, 1)).take(n), epochs=2, steps_per_epoch=2, verbose=0))
for count in (0, 1):
    row("evaluate_%d" % count, lambda tf, m, n=count: m.evaluate(batches(n), steps=2, verbose=0))
    row("evaluate_generator_%d" % count, lambda tf, m, n=count: m.evaluate_generator(batches(n), steps=2, verbose=0))
    row("predict_%d" % count, lambda tf, m, n=count: m.predict(features(n), steps=2))
row("predict_generator_1", lambda tf, m: m.predict_generator(features(1), steps=2))
row("evaluate_dataset", lambda tf, m: m.evaluate(dataset(tf, 1), steps=2, verbose=0))
row("predict_dataset", lambda tf, m: m.predict(dataset(tf, 1).map(lambda x, y: x), steps=2))


def result(found):
    if hasattr(found, "history"):
        return [{key: np.round(values, 3).tolist() for key, values in sorted(found.history.items())}, found.epoch]
    return np.round(found, 3).tolist()


def outcome(tf, name):
    """What a row returns or raises, and the warnings about its data."""
    tf.keras.backend.clear_session()
    log, logger = io.StringIO(), logging.getLogger("tensorflow")
    handler = logging.StreamHandler(log)
    with tf.Graph().as_default():
        model = tf.keras.Sequential([tf.keras.layers.Dense(1, input_shape=(3,), kernel_initializer="ones")])
        model.compile("sgd", "mse", metrics=["mae"])
        logger.addHandler(handler)
        try:
            found = result(ROWS[name](tf, model))
        except Exception as e:  # noqa: BLE001  (each is recorded)
            found = [type(e).__name__, str(e).split("\n")[0]]
        finally:
            logger.removeHandler(handler)
    return [found, [line for line in log.getvalue().split("\n") if "ran out of data" in line]]
