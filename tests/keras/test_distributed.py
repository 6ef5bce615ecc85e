"""Models compiled under strategies of two devices: the numbers are those of TensorFlow 1.15.5 with the same programs."""

import numpy as np
import pytest

import tfcompat as tf

K = tf.keras
RANDOM = np.random.RandomState(7)
X = RANDOM.randn(64, 5).astype(np.float32)
Y = X.dot(RANDOM.randn(5, 1)).astype(np.float32)


@pytest.fixture(autouse=True)
def own_session():
    K.backend.clear_session()
    K.backend.set_session(tf.Session(config=tf.ConfigProto(device_count={"CPU": 2})))
    yield
    K.backend.clear_session()


def mirrored():
    return tf.distribute.MirroredStrategy(["/cpu:0", "/cpu:1"])


def normal(seed):
    return K.initializers.RandomNormal(seed=seed)


def linear(strategy, optimizer="sgd", **settings):
    with strategy.scope():
        model = K.Sequential([K.layers.Dense(1, input_shape=(5,), kernel_initializer=normal(2))])
        model.compile(K.optimizers.SGD(0.1) if optimizer == "sgd" else optimizer, "mse", **settings)
    return model


def losses(history):
    return [float(loss) for loss in history.history["loss"]]


@pytest.mark.parametrize("of", ["arrays", "dataset"])
def test_a_model_with_batch_normalization_and_a_regularizer(of):
    with mirrored().scope():
        dense = K.layers.Dense
        model = K.Sequential([
            dense(8, activation="tanh", input_shape=(5,), kernel_initializer=normal(3), kernel_regularizer=K.regularizers.l2(0.01)),
            K.layers.BatchNormalization(), dense(1, kernel_initializer=normal(4)),
        ])  # fmt: skip
        model.compile(K.optimizers.SGD(0.05, momentum=0.9), "mse", metrics=["mae", K.metrics.RootMeanSquaredError()])
    if of == "arrays":
        history = model.fit(X, Y, batch_size=16, epochs=3, verbose=0, shuffle=False, validation_data=(X[:32], Y[:32])).history
        np.testing.assert_allclose(history["val_loss"], [0.95180, 1.49130, 0.43657], atol=2e-5)
    else:
        data = tf.data.Dataset.from_tensor_slices((X, Y))
        settings = {"steps_per_epoch": 4, "validation_steps": 4, "validation_data": data.batch(16)}
        history = model.fit(data.repeat().batch(16), epochs=3, verbose=0, **settings).history
        np.testing.assert_allclose(history["val_loss"], [0.99789, 1.41576, 0.34774], atol=2e-5)
    np.testing.assert_allclose(history["loss"], [1.60539, 1.27982, 1.19420], atol=2e-5)
    np.testing.assert_allclose(history["mean_absolute_error"], [0.95841, 0.86756, 0.82744], atol=2e-5)
    np.testing.assert_allclose(history["root_mean_squared_error"], [1.26605, 1.12453, 1.07198], atol=2e-5)
    found = [weights.ravel()[0] for weights in model.get_weights()]
    np.testing.assert_allclose(found, [-0.02915, 0.01332, 0.91620, 0.16726, -0.00221, 0.90442, 1.11708, -0.34306], atol=2e-5)
    np.testing.assert_allclose(model.evaluate(X, Y, batch_size=16, verbose=0), [0.347744, 0.356766, 0.531060], atol=2e-5)
    outputs = model.predict(X[:24], batch_size=8)
    assert outputs.shape == (24, 1)
    np.testing.assert_allclose(outputs.ravel()[[0, 1, 2, -2, -1]], [0.067706, 1.218903, -0.768266, -1.949325, 1.892105], atol=2e-5)


def test_two_inputs_and_outputs():
    random = np.random.RandomState(7)
    random.randn(64, 5), random.randn(5, 1)
    numbers, classes = random.randint(0, 10, (64, 3)), random.randint(0, 3, (64,))
    with mirrored().scope():
        a, i = K.Input((5,), name="a"), K.Input((3,), dtype="int32", name="i")
        rows = K.layers.Flatten()(K.layers.Embedding(10, 2, embeddings_initializer=normal(1))(i))
        hidden = K.layers.Dense(4, activation="relu", kernel_initializer=normal(2))(K.layers.concatenate([a, rows]))
        o = K.layers.Dense(1, kernel_initializer=normal(3), name="o")(hidden)
        c = K.layers.Dense(3, activation="softmax", kernel_initializer=normal(4), name="c")(hidden)
        model = K.Model([a, i], [o, c])
        model.compile(
            K.optimizers.Adam(0.01), {"o": "mse", "c": "sparse_categorical_crossentropy"}, metrics={"c": ["accuracy"]},
            loss_weights={"o": 1.0, "c": 0.5},
        )  # fmt: skip
    history = model.fit([X, numbers], [Y, classes], batch_size=16, epochs=2, verbose=0, shuffle=False).history
    wanted = {"loss": [3.3066, 3.2672], "o_loss": [2.7571, 2.7187], "c_loss": [1.0989, 1.0969], "c_acc": [0.3281, 0.3281]}
    for name, values in wanted.items():
        np.testing.assert_allclose(history[name], values, atol=1e-4)
    found = model.evaluate([X, numbers], [Y, classes], batch_size=32, verbose=0)
    np.testing.assert_allclose(found, [3.2328, 2.6850, 1.0955, 0.2969], atol=1e-4)
    assert [p.shape for p in model.predict([X, numbers])] == [(64, 1), (64, 3)]


STRATEGIES = {
    "mirrored": (mirrored, [1.6797, 0.3830]),
    "one device": (lambda: tf.distribute.OneDeviceStrategy("/cpu:0"), [1.6797, 0.3830]),
    "batches of replicas": (lambda: tf.contrib.distribute.MirroredStrategy(["/cpu:0", "/cpu:1"]), [2.2016, 1.1575]),
}


@pytest.mark.parametrize("name", STRATEGIES)
def test_epochs_follow_each_other_without_a_gap(name):
    """60 samples in batches of 16: the fourth batch has samples of two epochs."""
    strategy, wanted = STRATEGIES[name]
    history = linear(strategy()).fit(X[:60], Y[:60], batch_size=16, epochs=2, verbose=0, shuffle=False)
    np.testing.assert_allclose(losses(history), wanted, atol=1e-4)


def test_steps_say_how_large_batches_are():
    model = linear(mirrored())
    np.testing.assert_allclose(losses(model.fit(X, Y, steps_per_epoch=2, epochs=2, verbose=0, shuffle=False)), [2.3036, 0.9822], atol=1e-4)
    history = model.fit(X, Y, batch_size=8, steps_per_epoch=2, epochs=2, verbose=0, shuffle=False)
    np.testing.assert_allclose(losses(history), [0.4431, 0.2046], atol=1e-4)


def test_an_optimizer_of_tf_train():
    model = linear(mirrored(), tf.train.MomentumOptimizer(0.05, 0.9))
    np.testing.assert_allclose(losses(model.fit(X, Y, batch_size=16, epochs=2, verbose=0, shuffle=False)), [1.8131, 0.2611], atol=1e-4)


def test_samples_have_weights():
    history = linear(mirrored()).fit(X, Y, sample_weight=np.arange(64) / 32.0, batch_size=16, verbose=0, shuffle=False)
    np.testing.assert_allclose(losses(history), [1.8448], atol=1e-4)


def test_callbacks_and_files(tmp_path):
    model = linear(mirrored(), K.optimizers.SGD(0.1, momentum=0.9))
    callbacks = [
        K.callbacks.ModelCheckpoint(str(tmp_path / "m.h5")), K.callbacks.EarlyStopping(monitor="loss"),
        K.callbacks.LearningRateScheduler(lambda epoch: 0.1 / (epoch + 1)),
    ]  # fmt: skip
    history = model.fit(X, Y, batch_size=16, epochs=2, verbose=0, shuffle=False, callbacks=callbacks)
    np.testing.assert_allclose(losses(history), [1.3761, 1.3580], atol=1e-4)
    model.save_weights(str(tmp_path / "w"))
    model.set_weights([0 * w for w in model.get_weights()])
    assert model.evaluate(X, Y, verbose=0) == pytest.approx(2.7556, abs=1e-4)
    model.load_weights(str(tmp_path / "w"))
    assert model.evaluate(X, Y, verbose=0) == pytest.approx(2.1178, abs=1e-4)
    assert K.models.load_model(str(tmp_path / "m.h5")).evaluate(X, Y, verbose=0) == pytest.approx(2.1178, abs=1e-4)


def test_what_1_15_refuses():
    model = linear(mirrored())
    with pytest.raises(NotImplementedError, match="`class_weight` is currently not supported"):
        model.fit(X, Y, class_weight={0: 1.0}, verbose=0)
    with pytest.raises(ValueError, match="validation_split argument is not supported"):
        model.fit(X, Y, validation_split=0.5, verbose=0)
    with pytest.raises(NotImplementedError, match="`fit_generator` is not supported"):
        model.fit_generator(iter([(X, Y)]), steps_per_epoch=1)
    with pytest.raises(NotImplementedError, match="`train_on_batch` is not supported"):
        model.train_on_batch(X, Y)
    with pytest.raises(ValueError, match="The number of samples 20 is not divisible by batch size 16"):
        model.evaluate(X[:20], Y[:20], batch_size=16, verbose=0)
    with mirrored().scope():
        unbuilt = K.Sequential([K.layers.Dense(1)])
        unbuilt.compile("sgd", "mse")
    with pytest.raises(ValueError, match="`Sequential` model that is created without `input_shape`"):
        unbuilt.fit(X, Y, verbose=0)


def test_a_second_compile_under_the_same_strategy_keeps_the_session():
    strategy = tf.distribute.OneDeviceStrategy("/cpu:0")
    x, y = np.ones((8, 3), "f"), np.ones((8, 1), "f")
    with strategy.scope():
        model = tf.keras.Sequential([tf.keras.layers.Dense(1, input_shape=(3,), kernel_initializer="ones")])
        model.compile("sgd", "mse")
    model.fit(x, y, verbose=0)
    trained = model.get_weights()
    session = tf.keras.backend.get_session()
    with strategy.scope():
        model.compile("rmsprop", "mse")
    assert tf.keras.backend.get_session() is session
    np.testing.assert_array_equal(model.get_weights()[0], trained[0])
    assert not np.allclose(trained[0], 1)


def test_a_batch_that_is_not_named_has_at_most_all_samples():
    """The batch sizes and errors that 1.15.5 gives for 4 samples."""
    x, y = np.ones((4, 3), "f"), np.ones((4, 1), "f")
    with tf.distribute.OneDeviceStrategy("/cpu:0").scope():
        model = tf.keras.Sequential([tf.keras.layers.Dense(1, input_shape=(3,))])
        model.compile("sgd", "mse")
    assert model.predict(x).shape == (4, 1)
    assert model.fit(x, y, verbose=0, validation_data=(x, y)).params["batch_size"] == 4
    assert model.fit(x, y, verbose=0, steps_per_epoch=2).params["batch_size"] == 2
    assert model.fit(x, y, verbose=0, batch_size=20, steps_per_epoch=1).params["batch_size"] == 20
    with pytest.raises(ValueError, match="4 is less than samples required for specified batch_size 4 and steps 2"):
        model.fit(x, y, verbose=0, validation_data=(x, y), validation_steps=2)
