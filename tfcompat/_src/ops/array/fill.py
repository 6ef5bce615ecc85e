"""Tensors of one value: fill, zeros, ones."""

from __future__ import annotations

import functools
import operator
from typing import TYPE_CHECKING, Any

import jax.numpy as jnp
import numpy as np

from tfcompat._src.base import checks, dtypes
from tfcompat._src.base.export import export
from tfcompat._src.base.tensor_shape import TensorShape
from tfcompat._src.graph import shape_inference as si
from tfcompat._src.graph.op_spec import NotDifferentiable, op
from tfcompat._src.graph.scopes import name_scope
from tfcompat._src.graph.tensor import Tensor, shape_text
from tfcompat._src.nodes import raw
from tfcompat._src.nodes.convert import constant, convert_to_tensor
from tfcompat._src.ops.array.shape import invalid, shape_internal
from tfcompat._src.ops.flow import list_value
from tfcompat._src.ops.flow.array_value import DeviceArray
from tfcompat._src.ops.math.sequence import all_dimensions

if TYPE_CHECKING:
    from tfcompat._src.base.arrays import TensorLike
    from tfcompat._src.base.dtypes import DTypeLike

_SMALL = 1000


def _fill_shape(c):
    si.with_rank(c.inputs[0], 1), si.with_rank(c.inputs[1], 0)
    dims = c.value(0)
    if dims is not None and (dims < 0).any():
        raise ValueError("Fill dimensions must be >= 0")
    return [c.shape_value(0)]


def _fill_gradient(op, grad):
    return [None, raw.Sum(grad, all_dimensions(grad))]


def _filled(xp: Any, dims: np.ndarray, value: Any) -> Any:
    if dims.ndim != 1:
        raise invalid(f"dims must be a vector, got shape {shape_text(dims.shape)}")
    sizes = tuple(int(d) for d in dims)
    for size in sizes:
        if size < 0:
            raise invalid(f"Dimension {size} must be >= 0")
    checks.scalar("value", value)
    checks.require_room(sizes, value.dtype)
    return xp.broadcast_to(value, sizes)


op(
    "Fill", "(dims: index_type, value: T, *, T: type, index_type: INDEX = int32) -> (output: T)", shape=_fill_shape,
    gradient=_fill_gradient, constants=("dims",), kernel=functools.partial(_filled, jnp),
    fold=functools.partial(_filled, np),
)  # fmt: skip


@export("fill")
def fill(dims: TensorLike, value: TensorLike, name: str | None = None) -> Tensor:
    """A tensor of one shape in which every element is the same.

    Args:
      dims: list or vector of int32 or int64, the shape.
      value: scalar, the element; it gives the dtype.
      name: node name.

    Raises:
      ValueError: `value` is no scalar. InvalidArgumentError: when it runs, a size is negative.
    """
    return raw.Fill(dims, value, name=name)


@op("ZerosLike", "(x: T, *, T: type) -> (y: T)", shape=si.unchanged_with_handle, gradient=NotDifferentiable("it is constant"),
    fold=list_value.zeros_like)  # fmt: skip
def _zeros_like(x):
    if isinstance(x, DeviceArray):
        return x.zeros()
    return jnp.zeros(x.shape, x.dtype)


@op(
    "OnesLike",
    "(x: T, *, T: {bfloat16, float16, float32, float64, int8, uint8, int16, uint16, int32, int64, complex64, "
    "complex128, "
    "bool}) -> (y: T)",
    shape=si.unchanged, gradient=NotDifferentiable("it is constant"), fold=np.ones_like,
)  # fmt: skip
def _ones_like(x):
    return jnp.ones(x.shape, x.dtype)


def _has_few_elements(shape: object) -> bool:
    """Whether `shape` is a list of sizes whose product is small.

    A tensor among the sizes makes the nodes of the comparison and counts as unknown, as in 1.15.
    """
    if isinstance(shape, TensorShape):
        count = shape.num_elements()
        return count is not None and count < _SMALL
    if isinstance(shape, np.ndarray):
        return bool(np.prod(shape) < _SMALL)
    if not isinstance(shape, (list, tuple)):
        return False
    less = functools.reduce(operator.mul, shape) < _SMALL if shape else True
    return not isinstance(less, Tensor) and bool(less)


def _constant_fill(value: object, shape: TensorLike, dtype: dtypes.DType, name: str) -> Tensor:
    """A Const where the number of elements is known and small, else a Fill."""
    if not isinstance(shape, Tensor):
        try:
            if _has_few_elements(shape):
                return constant(value, shape=shape, dtype=dtype, name=name)
        except (NotImplementedError, TypeError):
            pass
        except ValueError:
            shape = convert_to_tensor(shape, dtype=dtypes.int32)
    if not isinstance(shape, Tensor):
        try:
            shape = convert_to_tensor(TensorShape(shape))
        except (TypeError, ValueError):
            shape = convert_to_tensor(shape, dtype=dtypes.int32)
    if not shape._sizes:
        shape = raw.Reshape(shape, [-1])
    return raw.Fill(shape, constant(value, dtype=dtype), name=name)


@export("zeros")
def zeros(shape: TensorLike, dtype: object = dtypes.float32, name: str | None = None) -> Tensor:
    """A tensor of zeros (False, empty strings).

    Args:
      shape: list, TensorShape or vector of sizes.
      dtype: element type.
      name: node name.
    """
    wanted = dtypes.as_dtype(dtype).base_dtype
    value = {dtypes.bool: False, dtypes.string: ""}.get(wanted, 0)
    with name_scope(name, "zeros", [shape]) as scope:
        return _constant_fill(value, shape, wanted, scope)


@export("ones")
def ones(shape: TensorLike, dtype: object = dtypes.float32, name: str | None = None) -> Tensor:
    """A tensor of ones (True).

    Args:
      shape: list, TensorShape or vector of sizes.
      dtype: element type.
      name: node name.
    """
    wanted = dtypes.as_dtype(dtype).base_dtype
    with name_scope(name, "ones", [shape]) as scope:
        return _constant_fill(True if wanted == dtypes.bool else 1, shape, wanted, scope)


@export("zeros_like")
def zeros_like(tensor: TensorLike, dtype: DTypeLike | None = None, name: str | None = None, optimize: bool = True) -> Tensor:
    """Zeros in the shape of `tensor`.

    Args:
      tensor: any tensor.
      dtype: element type; by default that of `tensor`.
      name: node name.
      optimize: whether a known shape makes a constant.
    """
    wanted = None if dtype is None else dtypes.as_dtype(dtype)
    with name_scope(name, "zeros_like", [tensor]) as scope:
        tensor = convert_to_tensor(tensor, name="tensor")
        if optimize and tensor.shape.is_fully_defined() and tensor.dtype != dtypes.variant:
            return zeros(tensor.shape, dtype=wanted or tensor.dtype, name=scope)
        if wanted is not None and wanted != tensor.dtype and wanted != dtypes.variant:
            return zeros(shape_internal(tensor, optimize=optimize), dtype=wanted, name=scope)
        return raw.ZerosLike(tensor, name=scope)


@export("ones_like")
def ones_like(tensor: object, dtype: Any = None, name: str | None = None, optimize: bool = True) -> Tensor:
    """Ones in the shape of `tensor`.

    Args:
      tensor: any tensor.
      dtype: element type, by default that of `tensor`.
      name: node name.
      optimize: whether the shape becomes a constant where it is known.
    """
    with name_scope(name, "ones_like", [tensor]) as scope:
        tensor = convert_to_tensor(tensor, name="tensor")
        sizes = shape_internal(tensor, optimize=optimize)
        result = ones(sizes, dtype=tensor.dtype if dtype is None else dtype, name=scope)
        result.set_shape(tensor.shape)
        return result
