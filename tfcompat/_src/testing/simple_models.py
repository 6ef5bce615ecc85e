"""`tensorflow.python.distribute.model_collection`: models of one layer with data, that tests of strategies train and save."""

from __future__ import annotations

from typing import Any

import numpy as np

import tfcompat as tf

_BATCH_SIZE = 10
_OUTPUT = "output_layer"


class ModelAndInput:
    """A model with data to train it and to predict."""

    def get_model(self, **kwargs: Any) -> tuple[Any, str]:
        """The model, and the name of its output."""
        raise NotImplementedError("A subclass makes the model.")

    def get_data(self) -> tuple[Any, Any, Any]:
        """Inputs, targets, and inputs to predict."""
        raise NotImplementedError("A subclass makes the data.")

    def get_batch_size(self) -> int:
        """Samples in a batch."""
        raise NotImplementedError("A subclass states a batch size.")


class _Simple(ModelAndInput):
    """1,000 random samples of three numbers, with targets of five."""

    def get_data(self) -> tuple[Any, Any, Any]:
        x_train, y_train, x_predict = (tf.constant(np.random.rand(1000, size), tf.float32) for size in (3, 5, 3))
        return x_train, y_train, x_predict

    def get_batch_size(self) -> int:
        return _BATCH_SIZE


def _compiled(model: Any, experimental_run_tf_function: bool, **settings: Any) -> Any:
    optimizer = tf.keras.optimizers.SGD(learning_rate=0.001)
    model.compile(loss="mse", metrics=["mae"], optimizer=optimizer, experimental_run_tf_function=experimental_run_tf_function, **settings)
    return model


class SimpleFunctionalModel(_Simple):
    """A layer between an input and an output."""

    def get_model(self, **kwargs: Any) -> tuple[Any, str]:
        x = tf.keras.layers.Input(shape=(3,), dtype=tf.float32)
        y = tf.keras.layers.Dense(5, dtype=tf.float32, name=_OUTPUT)(x)
        return _compiled(tf.keras.Model(inputs=x, outputs=y), kwargs["experimental_run_tf_function"]), _OUTPUT


class SimpleSequentialModel(_Simple):
    """A Sequential of one layer."""

    def get_model(self, **kwargs: Any) -> tuple[Any, str]:
        model = tf.keras.Sequential([tf.keras.layers.Dense(5, dtype=tf.float32, name=_OUTPUT, input_dim=3)])
        return _compiled(model, kwargs["experimental_run_tf_function"]), _OUTPUT


class _SubclassModel(tf.keras.Model):
    def __init__(self) -> None:
        super().__init__()
        self._dense_layer = tf.keras.layers.Dense(5, dtype=tf.float32, name=_OUTPUT)

    def call(self, inputs: Any) -> Any:
        return self._dense_layer(inputs)


class SimpleSubclassModel(_Simple):
    """A subclass of Model with one layer."""

    def get_model(self, **kwargs: Any) -> tuple[Any, str]:
        return _compiled(_SubclassModel(), kwargs["experimental_run_tf_function"], cloning=False), _OUTPUT


class Multiplication(tf.Module):
    """Multiplies by a variable."""

    def __init__(self) -> None:
        super().__init__()
        self.v = tf.Variable(3.0)

    @tf.function
    def __call__(self, x: object) -> Any:
        return self.v * x


class SimpleTFModuleModel(_Simple):
    """A tf.Module that multiplies by a variable."""

    def get_model(self, **kwargs: Any) -> tuple[Any, str]:
        return Multiplication(), "foo"
