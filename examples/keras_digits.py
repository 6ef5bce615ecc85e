"""tf.keras on handwritten digits: layers, callbacks, an h5 file, and a model that goes on where it was saved.

EarlyStopping, ReduceLROnPlateau, ModelCheckpoint and CSVLogger watch the training; the best model is loaded again with its
optimizer, and its weights move to a model of two outputs by layer names.

    tfcompat run examples/keras_digits.py
"""

import os
import tempfile

import h5py
import numpy as np
import tensorflow as tf

DATA = os.path.join(os.path.dirname(os.path.abspath(__file__)), "data")
flags = tf.app.flags
flags.DEFINE_integer("epochs", 8, "at most this many passes over the training images")
flags.DEFINE_integer("filters", 16, "filters of each convolution")
FLAGS = flags.FLAGS
keras = tf.keras


def read_digits():
    """Images [n, 8, 8, 1] between 0 and 1 and one-hot labels [n, 10], training and test parts."""
    with np.load(os.path.join(DATA, "digits.npz")) as data:
        images, labels = data["images"].astype(np.float32)[..., None] / 16.0, data["labels"]
    labels = keras.utils.to_categorical(labels, 10)
    return (images[:1500], labels[:1500]), (images[1500:], labels[1500:])


def network(filters):
    """A small convolutional network, compiled."""
    model = keras.Sequential([
        keras.layers.Conv2D(filters, 3, padding="same", activation="relu", input_shape=(8, 8, 1), name="conv1"),
        keras.layers.BatchNormalization(momentum=0.9, name="norm"),
        keras.layers.Conv2D(filters, 3, activation="relu", name="conv2"),
        keras.layers.MaxPooling2D(),
        keras.layers.Flatten(),
        keras.layers.Dropout(0.3, seed=7),
        keras.layers.Dense(10, activation="softmax", name="digit"),
    ])  # fmt: skip
    model.compile(keras.optimizers.SGD(0.1, momentum=0.5), "categorical_crossentropy", metrics=["accuracy"])
    return model


class Show(keras.callbacks.Callback):
    """Prints a line at the end of each epoch."""

    def on_epoch_end(self, epoch, logs=None):
        rate = keras.backend.get_value(self.model.optimizer.lr)
        print("epoch %2d  loss %.4f  val_loss %.4f  val_acc %.3f  rate %.4f" % (
            epoch + 1, logs["loss"], logs["val_loss"], logs["val_acc"], rate))  # fmt: skip


def transfer(path):
    """A functional model of two outputs that takes the convolutions from the file and learns even and odd anew."""
    images = keras.Input((8, 8, 1))
    x = keras.layers.Conv2D(FLAGS.filters, 3, padding="same", activation="relu", name="conv1")(images)
    x = keras.layers.BatchNormalization(momentum=0.9, name="norm")(x)
    x = keras.layers.Conv2D(FLAGS.filters, 3, activation="relu", name="conv2")(x)
    x = keras.layers.Flatten()(keras.layers.MaxPooling2D()(x))
    digit = keras.layers.Dense(10, activation="softmax", name="digit")(x)
    odd = keras.layers.Dense(1, activation="sigmoid", name="odd")(x)
    model = keras.Model(images, [digit, odd])
    model.load_weights(path, by_name=True)
    for layer in model.layers:
        layer.trainable = layer.name == "odd"
    model.compile("sgd", {"digit": "categorical_crossentropy", "odd": "binary_crossentropy"}, loss_weights=[0.0, 1.0])
    return model


def main(_):
    """Trains, saves, loads, goes on."""
    tf.set_random_seed(7)
    np.random.seed(7)
    folder = tempfile.mkdtemp()
    best, history_file = os.path.join(folder, "best.h5"), os.path.join(folder, "history.csv")
    (images, labels), test = read_digits()
    model = network(FLAGS.filters)
    model.summary()
    callbacks = [
        keras.callbacks.ModelCheckpoint(best, monitor="val_loss", save_best_only=True),
        keras.callbacks.ReduceLROnPlateau(monitor="val_loss", factor=0.3, patience=1, min_lr=0.0002),
        keras.callbacks.EarlyStopping(monitor="val_loss", patience=2),
        keras.callbacks.CSVLogger(history_file),
        Show(),
    ]
    model.fit(images, labels, 50, FLAGS.epochs, verbose=0, callbacks=callbacks, validation_data=test)
    with open(history_file) as f:
        print("history.csv:", f.readline().strip(), "and", len(f.readlines()), "epochs")

    restored = keras.models.load_model(best)
    loss, accuracy = restored.evaluate(*test, verbose=0)
    print("the best model: loss %.4f  accuracy %.3f" % (loss, accuracy))
    restored.fit(images, labels, 50, 1, verbose=0, callbacks=[Show()], validation_data=test)
    with h5py.File(best, "r") as f:
        print("in the file:", ", ".join(sorted(f["model_weights"])), "and", ", ".join(sorted(f["optimizer_weights"])))

    two = transfer(best)
    odd = np.argmax(labels, 1) % 2
    history = two.fit(images, [labels, odd], 50, 3, verbose=0)
    print("odd or even:", " ".join("%.4f" % value for value in history.history["odd_loss"]))
    digits, odds = two.predict(test[0][:6])
    for digit, probability in zip(digits, odds):
        print("%d, odd with %.3f" % (digit.argmax(), probability[0]))


if __name__ == "__main__":
    tf.app.run()
