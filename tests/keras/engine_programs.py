"""Keras programs that run alike on tfcompat and on TensorFlow 1.15: each returns what is compared, as JSON.

Only syntax that Python 3.7 knows: `tests/oracle/record_keras_engine.py` runs them there.
"""

import numpy as np


def _data(samples, features, classes):
    random = np.random.RandomState(7)
    return random.rand(samples, features), np.eye(classes)[random.randint(0, classes, samples)]


def _weights(model):
    return {v.name: np.asarray(w, np.float64).round(5).tolist() for v, w in zip(model.weights, model.get_weights())}


def _nodes(tf):
    """The nodes of the forward pass, the losses and the metrics."""
    return [[op.type, op.name] for op in tf.get_default_graph().get_operations() if not op.name.startswith("training/")]


def _history(history):
    return {key: [float(v) for v in values] for key, values in sorted(history.history.items())}


def _summary(model):
    lines = []
    model.summary(print_fn=lines.append)
    return lines


def sequential_fit(tf):
    keras = tf.keras
    model = keras.Sequential([
        keras.layers.Dense(8, activation="relu", input_shape=(4,)),
        keras.layers.Dropout(0.25),
        keras.layers.Dense(3, activation="softmax"),
    ])
    model.compile("sgd", "categorical_crossentropy", metrics=["acc"])
    x, y = _data(50, 4, 3)
    history = model.fit(x, y, epochs=3, batch_size=16, validation_split=0.2, verbose=0)
    return {
        "history": _history(history),
        "evaluate": [float(v) for v in model.evaluate(x, y, verbose=0)],
        "predict": model.predict(x[:3]).tolist(),
        "weights": _weights(model),
        "nodes": _nodes(tf),
        "summary": _summary(model),
        "config": model.to_json(sort_keys=True),
    }


def functional_two_outputs(tf):
    keras = tf.keras
    a, b = keras.Input((4,), name="a"), keras.Input((4,), name="b")
    shared = keras.layers.Dense(5, activation="tanh", kernel_regularizer=keras.regularizers.l2(0.01), name="shared")
    joined = keras.layers.concatenate([shared(a), shared(b)])
    scaled = keras.layers.BatchNormalization()(joined)
    outputs = [keras.layers.Dense(3, name="c")(scaled), keras.layers.Dense(1, activation="sigmoid", name="d")(scaled)]
    model = keras.Model([a, b], outputs)
    model.compile(
        "adam", {"c": "mse", "d": "binary_crossentropy"}, loss_weights=[0.5, 2.0],
        metrics={"d": ["accuracy"]}, weighted_metrics={"c": ["mae"]},
    )  # fmt: skip
    x, y = _data(40, 4, 3)
    weights = {"c": np.linspace(0.1, 1.0, 40), "d": np.ones(40)}
    history = model.fit(
        {"a": x, "b": x[::-1]}, {"c": y, "d": y[:, :1]}, sample_weight=weights, epochs=2, batch_size=12, verbose=0
    )
    return {
        "history": _history(history),
        "names": model.metrics_names,
        "evaluate": [float(v) for v in model.evaluate([x, x], [y, y[:, :1]], verbose=0)],
        "weights": _weights(model),
        "nodes": _nodes(tf),
        "summary": _summary(model),
        "config": model.to_json(sort_keys=True),
    }


def added_losses_and_operations(tf):
    keras = tf.keras
    inputs = keras.Input((3,))
    hidden = keras.layers.Dense(4, name="hidden")(inputs)
    outputs = keras.layers.Dense(2, name="out")(tf.nn.relu(hidden * 2.0))
    model = keras.Model(inputs, outputs)
    model.add_loss(tf.reduce_mean(tf.abs(hidden)))
    model.add_metric(tf.reduce_sum(hidden), name="total", aggregation="mean")
    model.compile("sgd", "mse")
    x, y = _data(12, 3, 2)
    batches = [model.train_on_batch(x, y) for _ in range(3)]
    return {
        "batches": [[float(v) for v in batch] for batch in batches],
        "names": model.metrics_names,
        "layers": [layer.name for layer in model.layers],
        "weights": _weights(model),
    }


def subclass_with_generator(tf):
    keras = tf.keras

    class Net(keras.Model):
        def __init__(self):
            super().__init__(name="net")
            self.blocks = [keras.layers.Dense(4, activation="relu"), keras.layers.Dense(3)]

        def call(self, inputs):
            for block in self.blocks:
                inputs = block(inputs)
            return inputs

    model = Net()
    model.compile("rmsprop", "mse", metrics=["mae"])
    x, y = _data(20, 4, 3)

    def batches():
        while True:
            for start in range(0, 20, 5):
                yield x[start : start + 5], y[start : start + 5]

    history = model.fit_generator(batches(), steps_per_epoch=4, epochs=2, verbose=0, workers=0)
    return {
        "history": _history(history),
        "weights": _weights(model),
        "predict": model.predict(x[:2]).tolist(),
        "summary": _summary(model),
    }


def class_weights_and_masks(tf):
    keras = tf.keras
    model = keras.Sequential([
        keras.layers.Masking(input_shape=(3, 2)),
        keras.layers.TimeDistributed(keras.layers.Dense(2)),
        keras.layers.Flatten(),
        keras.layers.Dense(2, activation="softmax"),
    ])
    model.compile("sgd", "sparse_categorical_crossentropy", metrics=["accuracy"])
    x = np.random.RandomState(3).rand(10, 3, 2)
    x[::2, 1] = 0.0
    y = np.arange(10) % 2
    history = model.fit(x, y, class_weight={0: 1.0, 1: 3.0}, epochs=2, batch_size=4, shuffle=False, verbose=0)
    return {"history": _history(history), "weights": _weights(model), "config": model.to_json(sort_keys=True)}


PROGRAMS = {
    f.__name__: f
    for f in (
        sequential_fit, functional_two_outputs, added_losses_and_operations, subclass_with_generator,
        class_weights_and_masks,
    )
}  # fmt: skip


def save_trained(tf, path):
    """Saves a trained model, and returns its predictions and the state of its optimizer."""
    tf.keras.backend.clear_session()
    tf.set_random_seed(1)
    keras = tf.keras
    model = keras.Sequential([
        keras.layers.Dense(3, activation="relu", input_shape=(2,)),
        keras.layers.BatchNormalization(),
        keras.layers.Dense(1),
    ])
    model.compile("adam", "mse", metrics=["mae"])
    x, y = _data(8, 2, 2)
    model.fit(x, y[:, :1], epochs=2, shuffle=False, verbose=0)
    model.save(path)
    return {
        "predict": model.predict(x).tolist(),
        "evaluate": [float(v) for v in model.evaluate(x, y[:, :1], verbose=0)],
        "optimizer": [np.asarray(w).tolist() for w in model.optimizer.get_weights()],
    }


def saved_data():
    """The inputs and targets of the saved model."""
    x, y = _data(8, 2, 2)
    return x, y[:, :1]


def run(tf, name):
    """What a program returns in a new graph with fixed seeds."""
    tf.keras.backend.clear_session()
    tf.set_random_seed(1)
    np.random.seed(2)
    return PROGRAMS[name](tf)
