"""`tensorflow.python.keras.distribute.multi_worker_testing_utils`: a model of images and data for it, of which tests of several workers train."""

from __future__ import annotations

from typing import Any

import tfcompat as tf


def mnist_synthetic_dataset(batch_size: int, steps_per_epoch: int) -> tuple[Any, Any]:
    """Endless datasets of batches of 64 images of shape [28, 28, 1] with labels: of ones for training, random ones for evaluation.

    Arguments:
      batch_size, steps_per_epoch: how many images of ones there are is their product.
    """
    count = batch_size * steps_per_epoch
    ones = tf.ones([count, 28, 28, 1]), tf.ones([count, 1], tf.int32)
    some = tf.random.uniform([10000, 28, 28, 1]), tf.random.uniform([10000, 1], 0, 9, tf.int32)
    train, evaluation = (tf.data.Dataset.from_tensor_slices(each).repeat().batch(64, drop_remainder=True) for each in (ones, some))
    return train, evaluation


def get_mnist_model(input_shape: tuple[int, ...]) -> Any:
    """A compiled model of ten classes of images: a convolution, batch normalization and one dense layer.

    Arguments:
      input_shape: of an image, [height, width, channels].
    """
    layers, initial = tf.keras.layers, tf.keras.initializers.TruncatedNormal(seed=99)
    convolution = layers.Conv2D(32, (3, 3), activation="relu", input_shape=input_shape, kernel_initializer=initial)
    dense = layers.Dense(10, activation="softmax", kernel_initializer=initial)
    model = tf.keras.Sequential([convolution, layers.BatchNormalization(), layers.Flatten(), dense])
    model.compile(tf.keras.optimizers.SGD(learning_rate=0.001), "sparse_categorical_crossentropy", metrics=["accuracy"])
    return model
