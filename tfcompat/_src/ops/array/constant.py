"""Constants, placeholders, and ops that pass their input on."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import jax.numpy as jnp
import numpy as np
from jax import lax

from tfcompat._src.base import checks, dtypes, errors
from tfcompat._src.base.export import export
from tfcompat._src.base.tensor_shape import TensorShape
from tfcompat._src.graph import shape_inference as si
from tfcompat._src.graph.attr_values import UnreadableTensor
from tfcompat._src.graph.op_spec import HOST, Facts, NotDifferentiable, op
from tfcompat._src.graph.scopes import executing_eagerly
from tfcompat._src.graph.tensor import Tensor, shape_text
from tfcompat._src.nodes import raw

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tfcompat._src.base.arrays import TensorLike
    from tfcompat._src.base.dtypes import DTypeLike
    from tfcompat._src.base.tensor_shape import ShapeLike


@op(
    "Const", "(*, value: tensor, dtype: type) -> (output: dtype)",
    shape=lambda c: [c.attr("value").shape], gradient=NotDifferentiable("a constant has no inputs"), fold=True,
)  # fmt: skip
def _const(*, value):
    if isinstance(value, UnreadableTensor):
        raise errors.InvalidArgumentError(None, None, value.reason)
    return value


# ---- placeholders ----


def _placeholder(context, *, dtype, shape):
    wanted = dtypes.as_dtype(dtype).name
    text = f"dtype {dtypes.cpp_name(wanted)}"
    if shape.sizes:  # 1.15 does not tell a scalar's shape from an unknown one
        text += f" and shape {shape_text(shape.sizes)}"
    raise errors.InvalidArgumentError(
        context.op.node_def, context.op, f"You must feed a value for placeholder tensor '{context.op.name}' with {text}"
    )


LAST_WITHOUT_UNKNOWN_SHAPE = 21
"""The last GraphDef version in which the shape of a Placeholder could not be marked unknown: it was written as a scalar's."""


def _placeholder_shape(c):
    sizes = c.attr("shape").sizes
    is_old = c.op.graph._graph_def_versions.producer <= LAST_WITHOUT_UNKNOWN_SHAPE
    return [None if is_old and not sizes else sizes]


for _name, _default, _shape in (
    ("Placeholder", " = None", _placeholder_shape), ("PlaceholderV2", "", si.from_attr("shape")),
):  # fmt: skip
    op(
        _name, f"(*, dtype: type, shape: shape{_default}) -> (output: dtype)", shape=_shape,
        gradient=NotDifferentiable("a placeholder has no inputs", raises=True), kernel=_placeholder, side=HOST, context=True,
        facts=Facts(is_placeholder=True),
    )  # fmt: skip


def _default_shape(c):
    wanted = c.attr("shape").sizes
    si.merge(c.inputs[0], wanted)
    return [wanted]


def _pass(x):
    return x


def _pass_gradient(op, grad):
    return [grad]


op(
    "PlaceholderWithDefault", "(input: dtype, *, dtype: type, shape: shape) -> (output: dtype)", shape=_default_shape,
    exact=True, gradient=_pass_gradient, kernel=_pass,
)  # fmt: skip


@export("placeholder")
def placeholder(dtype: object, shape: ShapeLike = None, name: str | None = None) -> Tensor:
    """A tensor whose value must be fed to every `Session.run` that needs it.

    Args:
      dtype: element type.
      shape: what a fed value must fit; None takes any.
      name: node name.

    Returns:
      a Tensor; computing it unfed raises InvalidArgumentError.
    """
    if executing_eagerly():
        raise RuntimeError("tf.placeholder() is not compatible with eager execution.")
    return raw.Placeholder(dtype=dtype, shape=shape, name=name)


@export("placeholder_with_default")
def placeholder_with_default(input: TensorLike, shape: ShapeLike, name: str | None = None) -> Tensor:
    """A tensor that has the value of `input` where it is not fed.

    Args:
      input: the default value.
      shape: static shape of the result, which may be less known than that of `input`.
      name: node name.

    Raises:
      ValueError: `input` does not fit `shape`.
    """
    return raw.PlaceholderWithDefault(input, shape=shape, name=name)


# ---- identities ----


def _pass_shape(c):
    source = c.op.inputs[0]
    if source._handle_data is not None:
        c.set_handle(0, *source._handle_data)
    return [c.inputs[0]]


def define_identity(
    name: str,
    gradient: Any = _pass_gradient,
    fold: bool | None = True,
    text: str = "(input: T, *, T: type) -> (output: T)",
    **fields: Any,
) -> None:
    """Registers an op type that gives what it takes."""
    op(name, text, shape=_pass_shape, gradient=gradient, kernel=_pass, fold=fold, depth=2, **fields)


def _no_gradient_allowed(op, grad):
    raise LookupError(f"Gradient explicitly disabled. Reason: {op.get_attr('message')!r}.")


define_identity("Identity", exact=True, facts=Facts(hands_on="input", reads_through=True, scales_rows=True))
define_identity("Snapshot", NotDifferentiable("1.15 has no gradient of this one", raises=True))
define_identity("StopGradient", NotDifferentiable("StopGradient stops it"))
define_identity("PreventGradient", _no_gradient_allowed, text='(input: T, *, T: type, message: string = "") -> (output: T)')
define_identity("GuaranteeConst", NotDifferentiable("its value does not change", raises=True), fold=None)
define_identity(
    "DeepCopy",
    NotDifferentiable("DeepCopy copies a variable's buffer", raises=True),
    fold=None,
    text="(x: T, *, T: type) -> (y: T)",
)

op(
    "IdentityN", "(input: T, *, T: list(type) >= 1) -> (output: T)", shape=lambda c: list(c.inputs),
    exact=True, gradient=lambda op, *grads: list(grads), kernel=_pass, fold=True,
)  # fmt: skip

op("NoOp", "() -> ()", shape=si.no_outputs, gradient=NotDifferentiable("it has no outputs", raises=True), kernel=lambda: (),
   facts=Facts(does_nothing=True))  # fmt: skip


@export("identity")
def identity(input: TensorLike, name: str | None = None) -> Any:
    """A tensor with the value of `input`; a ragged tensor where that is one."""
    return raw.Identity(input, name=name)


@export("identity_n")
def identity_n(input: Sequence[TensorLike], name: str | None = None) -> list[Tensor]:
    """Tensors with the values of the list `input`, all computed before any of them is used."""
    return raw.IdentityN(input, name=name)


@export("stop_gradient")
def stop_gradient(input: TensorLike, name: str | None = None) -> Tensor:
    """The value of `input`, as a constant for `tf.gradients`."""
    return raw.StopGradient(input, name=name)


def prevent_gradient(input: TensorLike, message: str = "", name: str | None = None) -> Tensor:
    """The value of `input`; asking for its gradient raises LookupError with `message`."""
    return raw.PreventGradient(input, message=message, name=name)


@export("guarantee_const")
def guarantee_const(input: TensorLike, name: str | None = None) -> Tensor:
    """The value of `input`, with the promise that it is the same in every run."""
    return raw.GuaranteeConst(input, name=name)


# ---- checks ----


def _check_numerics_gradient(op, grad):
    message = "Not a number (NaN) or infinity (Inf) values detected in gradient."
    return [raw.CheckNumerics(grad, message=f"{message} {op.get_attr('message')}")]


@op(
    "CheckNumerics", "(tensor: T, *, T: {bfloat16, float16, float32, float64}, message: string) -> (output: T)", shape=si.unchanged,
    gradient=_check_numerics_gradient, facts=Facts(checks_numbers=True),
)  # fmt: skip
def _check_numerics(x, *, message):
    text = message.replace("{", "{{").replace("}", "}}") + " : Tensor had "
    has_nan, has_inf = jnp.any(jnp.isnan(x)), jnp.any(jnp.isinf(x))
    checks.require(~(has_nan & has_inf), text + "Inf and NaN values")
    checks.require(~has_nan, text + "NaN values")
    checks.require(~has_inf, text + "Inf values")
    return x


@export("check_numerics", "debugging.check_numerics")
def check_numerics(tensor: TensorLike, message: str, name: str | None = None) -> Tensor:
    """The value of `tensor`; a run where it holds a NaN or an infinity raises InvalidArgumentError with `message`."""
    return raw.CheckNumerics(tensor, message=message, name=name)


def _ensure_shape_gradient(op, grad):
    return [grad]


@op(
    "EnsureShape", "(input: T, *, shape: shape, T: type) -> (output: T)",
    shape=lambda c: [si.merge(c.attr("shape").sizes, c.inputs[0])], exact=True, gradient=_ensure_shape_gradient, fold=True,
)  # fmt: skip
def _ensure_shape(x, *, shape):
    if not shape.is_compatible_with(x.shape):
        raise errors.InvalidArgumentError(
            None,
            None,
            f"Shape of tensor {shape_text(tuple(x.shape))} is not compatible with expected shape "
            f"{shape_text(shape.sizes)}.",
        )
    return x


@export("ensure_shape")
def ensure_shape(x: TensorLike, shape: object, name: str | None = None) -> Tensor:
    """The value of `x`, with `shape` merged into its static shape; InvalidArgumentError in a run with another."""
    wanted = shape if isinstance(shape, TensorShape) else TensorShape(shape)
    return raw.EnsureShape(x, shape=wanted, name=name)


# ---- reading the same bits as another type ----

_BITCAST_TYPES = (
    "{bfloat16, float16, float32, float64, int64, int32, uint8, uint16, uint32, uint64, int8, int16, complex64, "
    "complex128, qint8, quint8, qint16, quint16, qint32}"
)


def _bitcast_shape(c):
    sizes, source, target = c.inputs[0], c.attr("T").size, c.attr("type").size
    if sizes is None or source == target:
        return [sizes]
    if source > target:
        return [sizes + (source // target,)]
    last = sizes[-1] if sizes else 1
    if last is not None and last != target // source or not sizes:
        raise ValueError(f"Cannot bitcast due to shape. {last} does not match {target // source}")
    return [sizes[:-1]]


def _numpy_bitcast(x, *, type):
    _check_bitcast(x, type)
    x = np.ascontiguousarray(x).reshape(np.shape(x))
    if x.dtype.itemsize == type.itemsize:
        return x.view(type)
    if x.dtype.itemsize > type.itemsize:
        return x[..., np.newaxis].view(type)
    return x.view(type)[..., 0]


def _check_bitcast(x: Any, type: np.dtype) -> None:
    ratio = type.itemsize // x.dtype.itemsize
    if ratio > 1 and (not x.ndim or x.shape[-1] != ratio):
        raise errors.InvalidArgumentError(None, None, f"Cannot bitcast from {x.shape[-1] if x.ndim else 1} to {ratio}")


@op(
    "Bitcast", f"(input: T, *, T: {_BITCAST_TYPES}, type: {_BITCAST_TYPES}) -> (output: type)", shape=_bitcast_shape,
    gradient=NotDifferentiable("it reads bits", raises=True), fold=_numpy_bitcast,
)  # fmt: skip
def _bitcast(x, *, type):
    _check_bitcast(x, type)
    return jnp.asarray(x).view(type) if x.dtype.itemsize == type.itemsize else _bitcast_resized(x, type)


def _bitcast_resized(x, type):
    if np.dtype(type).kind == "c" or x.dtype.kind == "c":
        raise NotImplementedError(f"tfcompat has no Bitcast from {x.dtype} to {type}.")
    return lax.bitcast_convert_type(x, type)


@export("bitcast")
def bitcast(input: TensorLike, type: DTypeLike, name: str | None = None) -> Tensor:
    """The bits of `input` read as `type`; a narrower type adds a last dimension, a wider one takes it away.

    Raises:
      ValueError: the last dimension does not hold one element of the wider type.
    """
    return raw.Bitcast(input, type=type, name=name)
