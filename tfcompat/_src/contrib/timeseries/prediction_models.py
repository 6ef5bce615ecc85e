"""Keras models that predict the output window of an ARModel from its input window."""

from __future__ import annotations

from collections.abc import Sequence

from tfcompat._src.base.tensor_shape import dimension_value
from tfcompat._src.contrib.rnn.block_cells import LSTMBlockFusedCell
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.keras.engine.sequential import Sequential
from tfcompat._src.keras.engine.training import Model
from tfcompat._src.keras.layers.core import Dense, Flatten
from tfcompat._src.ops.array.join import concat
from tfcompat._src.ops.array.reorder import transpose
from tfcompat._src.ops.array.shape import reshape
from tfcompat._src.ops.math.unary import exp
from tfcompat._src.ops.nn.activation import relu


class FlatPredictionModel(Model):
    """Dense layers on the flattened windows.

    Args:
      num_features: features of the series.
      input_window_size: times that are looked at; may be 0.
      output_window_size: times that are predicted.
      hidden_layer_sizes: units of the hidden layers; none by default, which makes the model linear.
    """

    def __init__(
        self, num_features: int, input_window_size: int, output_window_size: int, hidden_layer_sizes: Sequence[int] | None = None
    ) -> None:
        super().__init__()
        self._input_flatten = Flatten()
        self._output_flatten = Flatten()
        self._hidden_layers = None
        if hidden_layer_sizes:
            self._hidden_layers = Sequential([Dense(units, activation=relu) for units in hidden_layer_sizes])
        self._mean_transform = Dense(num_features * output_window_size, name="predicted_mean")
        self._covariance_transform = Dense(num_features * output_window_size, name="log_sigma_square")
        self._prediction_shape = [-1, output_window_size, num_features]

    def call(self, input_window_features: Tensor, output_window_features: Tensor) -> dict[str, Tensor]:
        """The prediction.

        Args:
          input_window_features: [batch, input_window_size, input features].
          output_window_features: [batch, output_window_size, output features]; there may be no output features.

        Returns:
          dict of "mean" and "covariance" (of each feature alone), [batch, output_window_size, num_features].
        """
        activation = self._flattened(input_window_features, output_window_features)
        if self._hidden_layers:
            activation = self._hidden_layers(activation)
        return {
            "mean": reshape(self._mean_transform(activation), self._prediction_shape),
            "covariance": reshape(exp(self._covariance_transform(activation)), self._prediction_shape),
        }

    def _flattened(self, inputs: Tensor, outputs: Tensor) -> Tensor:
        """Both windows [batch, size]; an empty one is left out, as its size would be unknown to the layers after it."""
        if dimension_value(inputs.shape[1]) == 0:
            return self._output_flatten(outputs)
        if dimension_value(outputs.shape[2]) == 0:
            return self._input_flatten(inputs)
        return concat([self._input_flatten(inputs), self._output_flatten(outputs)], 1)


class LSTMPredictionModel(Model):
    """An LSTM over the input window whose state one over the output window goes on from.

    Args:
      num_features: features of the series.
      input_window_size, output_window_size: times of the windows, which the model does not need to know.
      num_units: units of each LSTM.
    """

    def __init__(self, num_features: int, input_window_size: int, output_window_size: int, num_units: int = 128) -> None:
        super().__init__()
        self._encoder = LSTMBlockFusedCell(num_units=num_units, name="encoder")
        self._decoder = LSTMBlockFusedCell(num_units=num_units, name="decoder")
        self._mean_transform = Dense(num_features, name="mean_transform")
        self._covariance_transform = Dense(num_features, name="covariance_transform")

    def call(self, input_window_features: Tensor, output_window_features: Tensor) -> dict[str, Tensor]:
        """The prediction: dict of "mean" and "covariance", [batch, output window, num_features], from windows [batch, window, ...]."""
        inputs, outputs = (transpose(window, [1, 0, 2]) for window in (input_window_features, output_window_features))
        _, state = self._encoder(inputs, dtype=self.dtype)
        decoded, _ = self._decoder(outputs, initial_state=state, dtype=self.dtype)
        decoded = transpose(decoded, [1, 0, 2])
        return {"mean": self._mean_transform(decoded), "covariance": exp(self._covariance_transform(decoded))}
