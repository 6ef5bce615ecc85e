"""Activation functions and the op types of their gradients."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
from jax import lax

from tfcompat._src.base import checks, dtypes
from tfcompat._src.base.export import export
from tfcompat._src.base.gradient_registry import RegisterGradient
from tfcompat._src.graph.op_spec import NotDifferentiable, op
from tfcompat._src.graph.scopes import control_dependencies, name_scope
from tfcompat._src.graph.shape_inference import merged_inputs, unchanged
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.nodes import raw
from tfcompat._src.nodes.convert import to_tensor
from tfcompat._src.ops.array.fill import zeros, zeros_like
from tfcompat._src.ops.array.join import concat
from tfcompat._src.ops.array.shape import shape
from tfcompat._src.ops.math.cast import cast
from tfcompat._src.ops.math.unary import sigmoid

if TYPE_CHECKING:
    from tfcompat._src.base.arrays import TensorLike
    from tfcompat._src.graph.operation import Operation

_SELU_SCALE = 1.0507009873554804934193349852946
_SELU_SCALE_ALPHA = 1.7580993408473768599402175208123


def _activation(
    name: str, kernel: Callable, gradient: Callable, types: str = "FLOAT", attrs: str = "", default: str = "", **fields: object
) -> None:
    text = f"(features: T, *, {attrs}T: {types}{default}) -> (activations: T)"
    op(name, text, shape=unchanged, kernel=kernel, gradient=gradient, depth=2, **fields)


def _activation_grad(
    name: str, kernel: Callable, gradient: Any, types: str = "FLOAT", attrs: str = "", default: str = "",
    second: str = "features", near: Callable | None = None,
) -> None:  # fmt: skip
    text = f"(gradients: T, {second}: T, *, {attrs}T: {types}{default}) -> (backprops: T)"

    @functools.wraps(kernel)
    def checked(gradients: object, x: object, **options: Any) -> Any:
        checks.same_shape(gradients, x)
        return kernel(gradients, x, **options)

    op(name, text, shape=merged_inputs, kernel=checked, gradient=gradient, depth=2, near=near)


def _where(condition, x, other):
    """`x` where the condition holds, else the number or array `other`."""
    return lax.select(condition, x, other if np.ndim(other) else lax.full_like(x, other))


def _positive(x):
    return lax.gt(x, x.dtype.type(0))


def _negative(x):
    return lax.lt(x, x.dtype.type(0))


# ---- kernels ----


def _relu(x):
    return lax.max(x, x.dtype.type(0))


def _multiplied_where(active, gradients):
    """`gradients` times 1 or 0, as 1.15 computes them: NaN stays NaN. XLA makes a select of a product with a converted bool, which hides it."""
    return lax.select(active, gradients, lax.mul(gradients, gradients.dtype.type(0)))


def _relu_grad(gradients, features):
    return _multiplied_where(_positive(features), gradients)


def _near_relu_grad(gradients, features):
    checks.same_shape(gradients, features)
    return np.where(features > 0, gradients, gradients * gradients.dtype.type(0))


def _relu6(x):
    return lax.clamp(x.dtype.type(0), x, x.dtype.type(6))


def _relu6_grad(gradients, features):
    inside = lax.bitwise_and(_positive(features), lax.lt(features, features.dtype.type(6)))
    return _multiplied_where(inside, gradients)


def _scaled(x, alpha: float):
    """`x` times the attribute, which has the precision of float32."""
    return lax.mul(x, np.float32(alpha).astype(x.dtype))


def _leaky_relu(x, *, alpha):
    return (lax.max if alpha <= 1 else lax.min)(x, _scaled(x, alpha))


def _leaky_relu_grad(gradients, features, *, alpha):
    return _where(_positive(features), gradients, _scaled(gradients, alpha))


def _exp_minus_one(x):
    """As 1.15 computes it: 0 where exp(x) rounds to 1."""
    return lax.sub(lax.exp(x), x.dtype.type(1))


def _elu(x):
    return _where(_negative(x), _exp_minus_one(x), x)


def _elu_grad(gradients, outputs):
    return _where(_negative(outputs), lax.mul(gradients, lax.add(outputs, outputs.dtype.type(1))), gradients)


def _selu(x):
    scaled = lax.mul(x, x.dtype.type(_SELU_SCALE))
    return _where(_negative(x), lax.mul(_exp_minus_one(x), x.dtype.type(_SELU_SCALE_ALPHA)), scaled)


def _selu_grad(gradients, outputs):
    below = lax.mul(gradients, lax.add(outputs, outputs.dtype.type(_SELU_SCALE_ALPHA)))
    return _where(_negative(outputs), below, lax.mul(gradients, outputs.dtype.type(_SELU_SCALE)))


def _softplus(x):
    """log(1 + exp(x)) = max(x, 0) + log(1 + exp(-|x|))."""
    return lax.add(lax.max(x, x.dtype.type(0)), lax.log1p(lax.exp(lax.neg(lax.abs(x)))))


def _softplus_grad(gradients, features):
    return lax.mul(gradients, lax.logistic(features))


def _softsign(x):
    return lax.div(x, lax.add(lax.abs(x), x.dtype.type(1)))


def _softsign_grad(gradients, features):
    root = lax.add(lax.abs(features), features.dtype.type(1))
    return lax.div(gradients, lax.mul(root, root))


# ---- gradients ----


def _by_output(grad_op: str) -> Callable:
    return lambda op, g: [raw.function(grad_op)(g, op.outputs[0])]


def _by_input(grad_op: str) -> Callable:
    return lambda op, g: [raw.function(grad_op)(g, op.inputs[0])]


def _piecewise_linear(op: Operation, g: Tensor) -> list:
    """The second derivative of a function made of straight lines: linear in `gradients`, constant in the other input."""
    x = op.inputs[1]
    attrs = {"alpha": op.get_attr("alpha")} if op.type == "LeakyReluGrad" else {}
    return [raw.function(op.type)(g, x, **attrs), zeros(shape(x), dtype=x.dtype)]


def _exponential_below_zero(op: Any, g: Any) -> list:
    """The second derivative of elu and selu, from their outputs."""
    gradients, outputs = op.inputs
    to_gradients = raw.function(op.type)(g, outputs)
    return [to_gradients, raw.Select(outputs < 0, g * gradients, zeros_like(outputs))]


def _leaky_relu_gradient(op: Operation, g: Tensor) -> list:
    return [raw.LeakyReluGrad(g, op.inputs[0], alpha=op.get_attr("alpha"))]


def _softplus_grad_grad(op: Operation, g: Tensor) -> list:
    dy, x = op.inputs
    with control_dependencies([g]):
        return [raw.SoftplusGrad(g, x), g * dy / (raw.Exp(-x) + 2.0 + raw.Exp(x))]


_RELU = "{float32, float64, int32, uint8, int16, int8, int64, bfloat16, uint16, float16, uint32, uint64, qint8}"
_ALPHA = "alpha: float = 0.2, "
_NO_SECOND = NotDifferentiable("1.15 has no second derivative of softsign", raises=True)

_activation("Relu", _relu, _by_output("ReluGrad"), _RELU, near=lambda x: np.maximum(x, x.dtype.type(0)))
_activation("Relu6", _relu6, _by_output("Relu6Grad"), "REAL")
_activation("LeakyRelu", _leaky_relu, _leaky_relu_gradient, attrs=_ALPHA, default=" = float32")
_activation("Elu", _elu, _by_output("EluGrad"))
_activation("Selu", _selu, _by_output("SeluGrad"))
_activation("Softplus", _softplus, lambda op, g: [g * sigmoid(op.inputs[0])])
_activation("Softsign", _softsign, _by_input("SoftsignGrad"))
_activation_grad("ReluGrad", _relu_grad, _piecewise_linear, "REAL", near=_near_relu_grad)
_activation_grad("Relu6Grad", _relu6_grad, _piecewise_linear, "REAL")
_activation_grad("LeakyReluGrad", _leaky_relu_grad, _piecewise_linear, attrs=_ALPHA, default=" = float32")
_activation_grad("EluGrad", _elu_grad, _exponential_below_zero, second="outputs")
_activation_grad("SeluGrad", _selu_grad, _exponential_below_zero, second="outputs")
_activation_grad("SoftplusGrad", _softplus_grad, _softplus_grad_grad)
_activation_grad("SoftsignGrad", _softsign_grad, _NO_SECOND)


# ---- public functions ----


def _function(name: str, op_type: str, doc: str) -> Callable:
    """The public function `name(features, name=None)` that adds one node of `op_type`."""
    apply = raw.function(op_type)

    def function(features, name=None):
        return apply(features, name=name)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"{doc}, element by element; a Tensor of the shape of `features`."
    return function


relu = export("nn.relu")(_function("relu", "Relu", "max(features, 0)"))
elu = export("nn.elu")(_function("elu", "Elu", "exp(features) - 1 below 0, else `features`"))
selu = export("nn.selu")(
    _function(
        "selu", "Selu", "scale * features above 0, scale * alpha * (exp(features) - 1) below (Klambauer et al., 2017)"
    )
)
softplus = export("math.softplus", "nn.softplus")(_function("softplus", "Softplus", "log(1 + exp(features))"))
softsign = export("math.softsign", "nn.softsign")(_function("softsign", "Softsign", "features / (1 + |features|)"))


@export("nn.relu6")
def relu6(features: TensorLike, name: str | None = None) -> Tensor:
    """min(max(features, 0), 6), element by element; a Tensor of the shape of `features`."""
    with name_scope(name, "Relu6", [features]) as name:
        return raw.Relu6(to_tensor(features, name="features"), name=name)


@export("nn.crelu")
def crelu(features: TensorLike, name: str | None = None, axis: int = -1) -> Tensor:
    """relu of `features` and of -`features`, joined along `axis` (Shang et al., 2016)."""
    with name_scope(name, "CRelu", [features]) as name:
        features = to_tensor(features, name="features")
        return raw.Relu(concat([features, raw.Neg(features)], axis, name=name))


@export("nn.leaky_relu")
def leaky_relu(features: TensorLike, alpha: float = 0.2, name: str | None = None) -> Tensor:
    """`features` above 0, alpha * features below; integers are computed as float32.

    Raises:
      TypeError: `alpha` is not a number.
    """
    with name_scope(name, "LeakyRelu", [features, alpha]) as name:
        features = to_tensor(features, name="features")
        if features.dtype.is_integer:
            features = cast(features, dtypes.float32)
        return raw.LeakyRelu(features, alpha=alpha.item() if isinstance(alpha, np.ndarray) else alpha, name=name)


_SWISH = "CustomGradient-0"


@RegisterGradient(_SWISH)
def _swish_gradient(op: Operation, g: Tensor, _: object) -> list:
    features = op.inputs[1]
    with control_dependencies([g]):
        slope = raw.Sigmoid(features)
    return [None, g * (slope * (1.0 + features * (1.0 - slope)))]


@export("nn.swish")
def swish(features: TensorLike) -> Tensor:
    """features * sigmoid(features), element by element; the gradient computes the sigmoid again to save memory."""
    features = to_tensor(features, name="features")
    product = features * sigmoid(features)
    raw.Identity(product)
    with features.graph.gradient_override_map({"IdentityN": _SWISH}):
        return raw.IdentityN([product, features])[0]
