"""A Keras model under a strategy of two devices, and without one, where operations run at once; prints logs, histories and predictions."""

import numpy as np
import tensorflow as tf

tf.compat.v1.enable_v2_behavior()
config = tf.config.experimental
two = [config.VirtualDeviceConfiguration(), config.VirtualDeviceConfiguration()]
config.set_virtual_device_configuration(config.list_physical_devices("CPU")[0], two)
features = np.arange(30, dtype=np.float32).reshape(10, 3) / 30
labels = features.sum(1, keepdims=True)


class Logs(tf.keras.callbacks.Callback):
    def on_train_batch_end(self, batch, logs=None):
        print(batch, {key: float("%.4f" % value) for key, value in sorted(logs.items())})


def shown(history):
    print({key: ["%.4f" % value for value in values] for key, values in sorted(history.history.items())})


for distributes in (True, False):
    strategy = tf.distribute.MirroredStrategy(["/cpu:0", "/cpu:1"]) if distributes else tf.distribute.get_strategy()
    with strategy.scope():
        model = tf.keras.Sequential([tf.keras.layers.Dense(1, input_shape=(3,), kernel_initializer="ones")])
        model.compile(tf.keras.optimizers.Adam(0.1), "mse", metrics=["mae", tf.keras.metrics.MeanSquaredError(name="mine")])
    dataset = tf.data.Dataset.from_tensor_slices((features, 2 * labels)).batch(4)
    shown(model.fit(dataset, epochs=2, verbose=0, callbacks=[Logs()], validation_data=dataset))
    shown(model.fit(dataset.repeat(), epochs=2, verbose=0, steps_per_epoch=2))
    shown(model.fit(features, labels, batch_size=4, epochs=2, verbose=0, shuffle=False, sample_weight=np.linspace(0, 1, 10)))
    print(["%.4f" % value for value in model.evaluate(dataset, verbose=0)], ["%.4f" % value for value in model.evaluate(features, labels, verbose=0)])
    print(["%.4f" % value for value in model.predict(dataset).ravel()[-3:]], model.predict(features, batch_size=3).shape)
    print(["%.4f" % value for value in model.get_weights()[0].ravel()])
