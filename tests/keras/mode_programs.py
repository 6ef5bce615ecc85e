"""Models on datasets, in graphs and where operations run when they are called; `run` gives what TensorFlow 1.15.5 gives too."""

import numpy as np

X = np.arange(30).reshape(10, 3).astype("float32") / 10
Y = np.ones((10, 2), "float32")
WEIGHTS = np.arange(10).astype("float32")


def _dense(tf, units, **settings):
    return tf.keras.layers.Dense(units, kernel_initializer="ones", **settings)


def _model(tf, kind):
    if kind == "functional":
        inputs = tf.keras.Input((3,))
        return tf.keras.Model(inputs, _dense(tf, 2)(inputs))
    if kind == "sequential":
        return tf.keras.Sequential([_dense(tf, 2)])

    class Subclass(tf.keras.Model):
        def __init__(self):
            super().__init__()
            self.dense = _dense(tf, 2)

        def call(self, inputs):
            return self.dense(inputs)

    return Subclass()


def _result(model, function):
    """What a call returns, or the class and the beginning of the message of what it raises."""
    try:
        found = function()
    except (ValueError, RuntimeError) as e:
        return [type(e).__name__, str(e).split(".")[0][:80]]
    if hasattr(found, "history"):
        found = {name: np.asarray(values, float).tolist() for name, values in sorted(found.history.items())}
    return found if isinstance(found, (dict, list)) and not hasattr(found, "dtype") else np.asarray(found, float).tolist()


def datasets(tf, kind):
    """fit, evaluate, predict and single batches on datasets of known, unknown and no length."""
    found = {}
    slices = tf.data.Dataset.from_tensor_slices
    sources = {
        "known": slices((X, Y)).batch(3),
        "weighted": slices((X, Y, WEIGHTS)).batch(4).filter(lambda *parts: True),
        "endless": slices((X, Y)).repeat().batch(5),
    }
    for name, data in sources.items():
        model = _model(tf, kind)
        model.compile("sgd", "mse", metrics=["mae"])
        calls = {
            "fit": lambda: model.fit(data, epochs=2, verbose=0),
            "steps": lambda: model.fit(data, epochs=2, steps_per_epoch=2, verbose=0),
            "validated": lambda: model.fit(
                data, epochs=2, steps_per_epoch=1, validation_data=data, validation_steps=2, verbose=0
            ),
            "too many": lambda: model.fit(data, epochs=2, steps_per_epoch=9, verbose=0),
            "batch_size": lambda: model.fit(data, batch_size=2),
            "targets": lambda: model.fit(data, Y),
            "evaluate": lambda: [float(v) for v in model.evaluate(data, verbose=0)],
            "some": lambda: [float(v) for v in model.evaluate(data, steps=2, verbose=0)],
            "predict": lambda: list(model.predict(data, steps=2).shape),
        }
        found[name] = {what: _result(model, call) for what, call in calls.items()}
    return found


def losses_and_metrics(tf, run_eagerly):
    """Two outputs with weights, regularizers, an added loss and an added metric."""
    inputs = tf.keras.Input((3,))
    first = _dense(tf, 2, kernel_regularizer="l2", activity_regularizer="l1")(inputs)
    second = _dense(tf, 1)(tf.nn.relu(first) * 2)
    model = tf.keras.Model(inputs, [first, second])
    model.add_loss(tf.reduce_mean(first))
    model.add_metric(tf.reduce_sum(second), name="sum", aggregation="mean")
    model.compile(
        tf.keras.optimizers.RMSprop(0.01), ["mse", "mae"], metrics=["mae"], loss_weights=[1, 2.0], run_eagerly=run_eagerly
    )
    history = model.fit(
        X, [Y, Y[:, :1]], epochs=2, verbose=0, shuffle=False, batch_size=5, sample_weight=[WEIGHTS, np.ones(10)]
    ).history
    evaluated = model.evaluate(X, [Y, Y[:, :1]], verbose=0)
    return {
        "history": [np.asarray(values, float).tolist() for _, values in sorted(history.items())],
        "evaluate": [float(v) for v in evaluated],
        "predict": [np.asarray(v, float).tolist() for v in model.predict(X)],
    }


def training_loop(tf):
    """A loop of one's own: a tape, an optimizer with slots, a metric and a layer with updates."""
    model = tf.keras.Sequential([_dense(tf, 2), tf.keras.layers.BatchNormalization()])
    optimizer, mean = tf.keras.optimizers.SGD(0.1, momentum=0.9), tf.keras.metrics.Mean()
    loss_of = tf.keras.losses.MeanSquaredError()
    losses = []
    for _ in range(3):
        with tf.GradientTape() as tape:
            loss = loss_of(Y, model(X, training=True))
        gradients = tape.gradient(loss, model.trainable_variables)
        optimizer.apply_gradients(zip(gradients, model.trainable_variables))
        mean(loss)
        losses.append(float(loss))
    return {
        "losses": losses,
        "mean": float(mean.result()),
        "iterations": int(optimizer.iterations),
        "weights": [w.numpy().astype(float).tolist() for w in model.weights],
        "slots": [w.name.split("/")[-1] for w in optimizer.weights],
    }


GRAPH = {f"datasets {kind}": (datasets, kind) for kind in ("functional", "sequential", "subclass")}
EAGER = {
    "losses in a function": (losses_and_metrics, False),
    "losses eagerly": (losses_and_metrics, True),
    "training loop": (training_loop,),
}


def run(tf, name):
    """What a program returns."""
    tf.keras.backend.clear_session()
    function, *arguments = {**GRAPH, **EAGER}[name]
    return function(tf, *arguments)
