"""Weights of files of other versions, backends and kinds of a layer, as a layer has them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tfcompat._src.keras.utils.conv_utils import convert_kernel

_CONVOLUTIONS = ("Conv1D", "Conv2D", "Conv3D", "Conv2DTranspose", "ConvLSTM2D")


def preprocess_weights_for_loading(
    layer: Any, weights: list[np.ndarray], original_keras_version: str | None = None,
    original_backend: str | None = None,
) -> list[np.ndarray]:  # fmt: skip
    """The weights of a file as a layer takes them.

    Args:
      layer: the layer.
      weights: those of the file.
      original_keras_version: "1" for files of Keras 1.
      original_backend: "theano" for kernels that are to be turned.

    Raises:
      ValueError: weights of a recurrent layer do not fit.
    """
    origin = (original_keras_version, original_backend)
    kind, weights = type(layer).__name__, list(weights)
    if kind == "Bidirectional":
        half = len(weights) // 2
        weights = preprocess_weights_for_loading(
            layer.forward_layer, weights[:half], *origin
        ) + preprocess_weights_for_loading(layer.backward_layer, weights[half:], *origin)
    elif kind == "TimeDistributed":
        weights = preprocess_weights_for_loading(layer.layer, weights, *origin)
    elif kind in ("Model", "Sequential"):
        weights = _of_nested_model(layer, weights, origin)
    if original_keras_version == "1":
        weights = _from_keras_1(layer, kind, weights)
    if kind in _CONVOLUTIONS:
        kernels = 2 if kind == "ConvLSTM2D" else 1
        if original_backend == "theano":
            weights[:kernels] = [convert_kernel(w) for w in weights[:kernels]]
        if tuple(layer.weights[0].shape.as_list()) != weights[0].shape:
            weights[:kernels] = [np.transpose(w, (3, 2, 0, 1)) for w in weights[:kernels]]
    return _convert_rnn_weights(layer, weights)


def _of_nested_model(model: Any, weights: list[np.ndarray], origin: tuple) -> list[np.ndarray]:
    trained, fixed = weights[: len(model.trainable_weights)], weights[len(model.trainable_weights) :]
    new_trained: list[np.ndarray] = []
    new_fixed: list[np.ndarray] = []
    for layer in model.layers:
        if not layer.weights:
            continue
        count, fixed_count = len(layer.trainable_weights), len(layer.non_trainable_weights)
        found = preprocess_weights_for_loading(layer, trained[:count] + fixed[:fixed_count], *origin)
        new_trained += found[:count]
        new_fixed += found[count:]
        trained, fixed = trained[count:], fixed[fixed_count:]
    return new_trained + new_fixed


def _joined_gates(weights: list[np.ndarray], order: tuple[int, ...]) -> list[np.ndarray]:
    """Kernel, recurrent kernel and bias of all gates from those of each, in Keras' order of gates."""
    return [np.concatenate([weights[3 * gate + i] for gate in order], axis=-1) for i in range(3)]


def _from_keras_1(layer: Any, kind: str, weights: list[np.ndarray]) -> list[np.ndarray]:
    if kind == "TimeDistributed":
        return preprocess_weights_for_loading(layer.layer, weights, "1")
    if kind == "Conv1D":
        length, shape = layer.kernel_size[0], weights[0].shape
        kernel = weights[0]
        if shape[:2] != (length, 1) or shape[3] != layer.filters:
            kernel = np.transpose(kernel, (2, 3, 1, 0))
        weights[0] = kernel[:, 0, :, :]
    channels_first = getattr(layer, "data_format", None) == "channels_first"
    if kind == "Conv2D" and channels_first:
        weights[0] = np.transpose(weights[0], (2, 3, 1, 0))
    if kind == "Conv2DTranspose":
        weights[0] = np.transpose(weights[0], (2, 3, 0, 1) if channels_first else (0, 1, 3, 2))
    if kind == "Conv3D" and channels_first:
        weights[0] = np.transpose(weights[0], (2, 3, 4, 1, 0))
    if kind == "GRU" and len(weights) == 9:
        return _joined_gates(weights, (0, 1, 2))
    if kind in ("LSTM", "ConvLSTM2D") and len(weights) == 12:
        weights = _joined_gates(weights, (0, 2, 1, 3))
        if kind == "ConvLSTM2D" and channels_first:
            weights[:2] = [np.transpose(w, (2, 3, 1, 0)) for w in weights[:2]]
    return weights


# ---- recurrent layers with and without cuDNN ----


def _each_gate(kernels: np.ndarray, function: Callable, gates: int) -> np.ndarray:
    return np.hstack([function(k) for k in np.hsplit(kernels, gates)])


def _kernels(weights: list[np.ndarray], gates: int, from_cudnn: bool) -> list[np.ndarray]:
    order = "F" if from_cudnn else "C"
    return [
        _each_gate(weights[0], lambda k: k.T.reshape(k.shape, order=order), gates),
        _each_gate(weights[1], lambda k: k.T, gates),
    ]


def _convert_rnn_weights(layer: Any, weights: list[np.ndarray]) -> list[np.ndarray]:
    """LSTM and GRU weights between the layers with cuDNN and those without; ValueError where that cannot be."""
    kind = type(layer).__name__
    if len(weights) == 3 and kind in ("LSTM", "CuDNNLSTM"):
        return _lstm_weights(kind, weights)
    if len(weights) == 3 and kind in ("GRU", "CuDNNGRU"):
        return _gru_weights(layer, kind, weights)
    return weights


def _lstm_weights(kind: str, weights: list[np.ndarray]) -> list[np.ndarray]:
    units, bias = weights[1].shape[0], weights[2]
    sources = {(8 * units,): "CuDNNLSTM", (4 * units,): "LSTM"}
    if bias.shape not in sources:
        raise ValueError(f"Invalid bias shape: {bias.shape}")
    if sources[bias.shape] == kind:
        return weights
    from_cudnn = kind == "LSTM"
    new_bias = np.sum(np.split(bias, 2, axis=0), axis=0) if from_cudnn else np.tile(0.5 * bias, 2)
    return [*_kernels(weights, 4, from_cudnn), new_bias]


def _gru_weights(layer: Any, kind: str, weights: list[np.ndarray]) -> list[np.ndarray]:
    units, bias = weights[1].shape[0], weights[2]
    sources = {
        (6 * units,): "CuDNNGRU",
        (2, 3 * units): "GRU(reset_after=True)",
        (3 * units,): "GRU(reset_after=False)",
    }
    if bias.shape not in sources:
        raise ValueError(f"Invalid bias shape: {bias.shape}")
    source = sources[bias.shape]
    target = kind if kind == "CuDNNGRU" else f"GRU(reset_after={bool(layer.reset_after)})"
    if source == target:
        return weights
    if "GRU(reset_after=False)" in (source, target):
        raise ValueError(f"{source} is not compatible with {target}")
    from_cudnn = source == "CuDNNGRU"
    return [*_kernels(weights, 3, from_cudnn), np.array(bias).reshape((2, -1) if from_cudnn else -1)]
