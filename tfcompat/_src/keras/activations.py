"""tf.keras.activations: functions of a layer's output, and what names them."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from tfcompat._src.base.export import export
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.keras.backend import nn
from tfcompat._src.keras.backend.values import ndim
from tfcompat._src.keras.utils.generic_utils import deserialize_keras_object, serialize_keras_object
from tfcompat._src.ops.math import unary
from tfcompat._src.ops.math.reduce import reduce_max, reduce_sum
from tfcompat._src.ops.nn import activation
from tfcompat._src.ops.nn import softmax as nn_softmax

if TYPE_CHECKING:
    from tfcompat._src.base.arrays import TensorLike

_SELU_ALPHA = 1.6732632423543772848170429916717
_SELU_SCALE = 1.0507009873554804934193349852946
_V2_NAMES = {"softmax_v2": "softmax"}


@export("keras.activations.softmax")
def softmax(x: object, axis: int = -1) -> Tensor:
    """Exponentials of `x` that add up to 1 along `axis`; ValueError where `x` has less than two dimensions."""
    rank = ndim(x)
    if rank == 2:
        return nn_softmax.softmax(x)
    if rank < 2:
        raise ValueError(f"Cannot apply softmax to a tensor that is 1D. Received input: {x}")
    exponentials = unary.exp(x - reduce_max(x, axis=axis, keepdims=True))
    return exponentials / reduce_sum(exponentials, axis=axis, keepdims=True)


@export("keras.activations.elu")
def elu(x: object, alpha: float = 1.0) -> Tensor:
    """`x` where it is positive, and `alpha * (exp(x) - 1)` elsewhere (Clevert et al. 2016)."""
    return nn.elu(x, alpha)


@export("keras.activations.selu")
def selu(x: object) -> Tensor:
    """A scaled `elu` that keeps mean 0 and variance 1 (Klambauer et al. 2017)."""
    return _SELU_SCALE * nn.elu(x, _SELU_ALPHA)


@export("keras.activations.softplus")
def softplus(x: object) -> Tensor:
    """`log(exp(x) + 1)`."""
    return activation.softplus(x)


@export("keras.activations.softsign")
def softsign(x: object) -> Tensor:
    """`x / (|x| + 1)`."""
    return activation.softsign(x)


@export("keras.activations.relu")
def relu(x: TensorLike, alpha: float = 0.0, max_value: float | None = None, threshold: float = 0) -> Tensor:
    """`x` from `threshold` to `max_value`, which limits it; `alpha * (x - threshold)` below."""
    return nn.relu(x, alpha=alpha, max_value=max_value, threshold=threshold)


@export("keras.activations.tanh")
def tanh(x: object) -> Tensor:
    """Hyperbolic tangent."""
    return unary.tanh(x)


@export("keras.activations.sigmoid")
def sigmoid(x: object) -> Tensor:
    """`1 / (1 + exp(-x))`."""
    return unary.sigmoid(x)


@export("keras.activations.exponential")
def exponential(x: object) -> Tensor:
    """`exp(x)`."""
    return unary.exp(x)


@export("keras.activations.hard_sigmoid")
def hard_sigmoid(x: object) -> Tensor:
    """`0.2 * x + 0.5`, limited to [0, 1]."""
    return nn.hard_sigmoid(x)


@export("keras.activations.linear")
def linear(x: object) -> Any:
    """`x` itself."""
    return x


@export("keras.activations.serialize")
def serialize(activation: object) -> Any:
    """The name of an activation, or the configuration of an object."""
    name = getattr(activation, "__name__", None)
    return _V2_NAMES.get(name) or serialize_keras_object(activation)


@export("keras.activations.deserialize")
def deserialize(name: object, custom_objects: dict[str, Any] | None = None) -> Callable:
    """The activation that `serialize` gave `name` for; ValueError where it is unknown."""
    return deserialize_keras_object(
        name, module_objects=globals(), custom_objects=custom_objects, printable_module_name="activation function"
    )


@export("keras.activations.get")
def get(identifier: object) -> Callable:
    """The activation of a name or configuration, a function itself, or `linear` for None.

    Raises:
      ValueError: the name is unknown.
      TypeError: it is none of these.
    """
    if identifier is None:
        return linear
    if isinstance(identifier, str):
        return deserialize(identifier)
    if callable(identifier):
        return identifier
    if isinstance(identifier, dict):
        return deserialize_keras_object(identifier, printable_module_name="activation")
    raise TypeError(f"Could not interpret activation function identifier: {identifier!r}")
