"""Norms of vectors and matrices; the adjoint."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tfcompat._src.base.deprecation import deprecated_argument_lookup
from tfcompat._src.base.export import export
from tfcompat._src.graph.scopes import name_scope
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.nodes import raw
from tfcompat._src.nodes.convert import convert_to_tensor
from tfcompat._src.ops.array.shape import squeeze
from tfcompat._src.ops.math.binary import power
from tfcompat._src.ops.math.cast import cast
from tfcompat._src.ops.math.complex import conj
from tfcompat._src.ops.math.reduce import reduce_max, reduce_sum
from tfcompat._src.ops.math.unary import absolute

if TYPE_CHECKING:
    from tfcompat._src.base.arrays import TensorLike

_MATRIX_NORMS = ["euclidean", "fro", 1, 2, np.inf]
_VECTOR_NORMS = ["euclidean", 1, 2, np.inf]
_AXIS_ERROR = "'axis' must be None, an integer, or a tuple of 2 unique integers"


def _checked_axis(ord: Any, axis: object) -> tuple[int, ...] | None:
    """The dimensions of a norm: two for a matrix norm, one for a vector norm, None for all; ValueError for other arguments."""
    if isinstance(axis, (tuple, list)) and len(axis) == 2:
        first, second = axis
        if not isinstance(first, int) or not isinstance(second, int) or first == second:
            raise ValueError(_AXIS_ERROR)
        if ord not in _MATRIX_NORMS:
            raise ValueError(f"'ord' must be a supported matrix norm in {_MATRIX_NORMS}, got {ord}")
        return first, second
    if axis is not None and not isinstance(axis, int):
        raise ValueError(_AXIS_ERROR)
    if (not np.isreal(ord) or ord <= 0) and ord not in _VECTOR_NORMS:
        raise ValueError(f"'ord' must be a supported vector norm, got {ord}")
    return None if axis is None else (axis,)


def _kept_norm(x: Tensor, ord: Any, axis: tuple[int, ...] | None) -> Tensor:
    """The norm, its dimensions kept with size 1."""
    is_matrix = axis is not None and len(axis) == 2
    first = None if axis is None else axis[0]
    if ord in ("fro", "euclidean") or ord == 2:
        if is_matrix and ord == 2:
            raise NotImplementedError("tf.norm with ord=2 of matrices: use tf.svd(tensor, compute_uv=False)[..., 0].")
        return raw.Sqrt(reduce_sum(x * conj(x), axis, keepdims=True))
    size = absolute(x)
    if ord == 1:
        total = reduce_sum(size, first, keepdims=True)
        return reduce_max(total, axis[-1], keepdims=True) if is_matrix else total
    if ord == np.inf:
        total = reduce_sum(size, axis[1], keepdims=True) if is_matrix else size
        return reduce_max(total, first, keepdims=True)
    return power(reduce_sum(power(size, ord), axis, keepdims=True), 1.0 / ord)


@export("norm", "linalg.norm")
def norm(
    tensor: TensorLike, ord: object = "euclidean", axis: object = None, keepdims: bool | None = None, name: str | None = None,
    keep_dims: bool | None = None,
) -> Tensor:  # fmt: skip
    """The norm of vectors, matrices or a whole tensor.

    Args:
      tensor: floating or complex tensor.
      ord: "euclidean", "fro" (for matrices), a positive number, or inf.
      axis: the dimension of the vectors, a pair of them for matrices, or None for the whole tensor as one vector.
      keepdims: whether those dimensions stay with size 1 (`keep_dims` is its old name).
      name: name scope.

    Returns:
      a tensor of the dtype of `tensor`, real where `ord` is not euclidean.

    Raises:
      ValueError: `ord` or `axis` is no such value. NotImplementedError: `ord=2` of matrices.
    """
    keepdims = deprecated_argument_lookup("keepdims", keepdims, "keep_dims", keep_dims)
    axis = _checked_axis(ord, axis)
    with name_scope(name, "norm", [tensor]):
        found = _kept_norm(convert_to_tensor(tensor), ord, axis)
        return found if keepdims else squeeze(found, axis)


@export("linalg.normalize")
def normalize(tensor: TensorLike, ord: object = "euclidean", axis: object = None, name: str | None = None) -> tuple[Tensor, Tensor]:
    """(`tensor` over its norm, the norm with its dimensions kept); `ord`, `axis` and errors are those of `norm`."""
    with name_scope(name, "normalize", [tensor]):
        tensor = convert_to_tensor(tensor)
        size = cast(norm(tensor, ord, axis, keepdims=True), tensor.dtype)
        return tensor / size, size
