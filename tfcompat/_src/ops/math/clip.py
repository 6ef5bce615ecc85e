"""Clipping of values and of gradient norms."""

from __future__ import annotations

import collections.abc
from typing import TYPE_CHECKING, Any

from tfcompat._src.base import dtypes
from tfcompat._src.base.export import export
from tfcompat._src.graph.scopes import colocate_with, name_scope
from tfcompat._src.nodes import raw
from tfcompat._src.nodes.convert import constant, to_tensor
from tfcompat._src.ops.array.fill import ones_like
from tfcompat._src.ops.array.join import stack
from tfcompat._src.ops.array.shape import rank, size
from tfcompat._src.ops.math.cast import cast
from tfcompat._src.ops.math.reduce import reduce_sum
from tfcompat._src.ops.math.sequence import arange

if TYPE_CHECKING:
    from tfcompat._src.graph.tensor import Tensor


def _values(t: Any, name: str = "t") -> Tensor:
    """The values of IndexedSlices, or a Tensor."""
    return to_tensor(t.values if hasattr(t, "dense_shape") else t, name=name)


def _like(t: Any, values: Any) -> Any:
    """`values`, as IndexedSlices where `t` is such."""
    return type(t)(values=values, indices=t.indices, dense_shape=t.dense_shape) if hasattr(t, "dense_shape") else values


@export("clip_by_value")
def clip_by_value(t, clip_value_min, clip_value_max, name=None):
    """`t` with smaller elements raised to `clip_value_min` and larger ones lowered to `clip_value_max`.

    Args:
      t: a Tensor or IndexedSlices.
      clip_value_min, clip_value_max: limits that can be broadcast to `t`.
      name: node name.

    Returns:
      a Tensor or IndexedSlices like `t`.

    Raises:
      ValueError: broadcasting a limit would enlarge `t`.
    """
    with name_scope(name, "clip_by_value", [t, clip_value_min, clip_value_max]) as scope:
        values = _values(t)
        lowered = raw.Minimum(values, clip_value_max)
        values.shape.merge_with(lowered.shape)
        clipped = raw.Maximum(lowered, clip_value_min, name=scope)
        values.shape.merge_with(clipped.shape)
    return _like(t, clipped)


@export("clip_by_norm")
def clip_by_norm(t, clip_norm, axes=None, name=None):
    """`t` scaled down where its L2 norm over `axes` is above `clip_norm`.

    Args:
      t: a Tensor or IndexedSlices.
      clip_norm: positive scalar.
      axes: dimensions over which a norm is taken; by default all.
      name: node name.

    Returns:
      a Tensor or IndexedSlices like `t`.
    """
    with name_scope(name, "clip_by_norm", [t, clip_norm]) as scope:
        values = _values(t)
        total = reduce_sum(values * values, axes, keepdims=True)
        positive = total > 0
        safe = raw.Select(positive, total, ones_like(total))
        norm = raw.Select(positive, raw.Sqrt(safe), total)
        scaled = values * clip_norm
        values.shape.merge_with(scaled.shape)
        return _like(t, raw.Identity(scaled / raw.Maximum(norm, clip_norm), name=scope))


def _check_sequence(t_list: object) -> list:
    if not isinstance(t_list, collections.abc.Sequence) or isinstance(t_list, str):
        raise TypeError("t_list should be a sequence")
    return list(t_list)


@export("global_norm", "linalg.global_norm")
def global_norm(t_list, name=None):
    """The square root of the sum of the squares of all elements of all tensors.

    Args:
      t_list: sequence of Tensors, IndexedSlices and None, which is skipped.
      name: node name.

    Returns:
      a scalar Tensor.

    Raises:
      TypeError: `t_list` is not a sequence.
    """
    tensors = _check_sequence(t_list)
    with name_scope(name, "global_norm", tensors):
        values = [_values(t, f"t_{i}") for i, t in enumerate(tensors) if t is not None]
        halves = []
        for value in values:
            with colocate_with(value):
                halves.append(raw.L2Loss(value))
        total = reduce_sum(stack(halves))
        return raw.Sqrt(total * constant(2.0, total.dtype), name="global_norm")


@export("clip_by_global_norm")
def clip_by_global_norm(t_list, clip_norm, use_norm=None, name=None):
    """All tensors scaled by one factor, so that their common L2 norm is at most `clip_norm`.

    Args:
      t_list: sequence of Tensors, IndexedSlices and None.
      clip_norm: positive scalar.
      use_norm: the norm; by default `global_norm(t_list)`.
      name: node name.

    Returns:
      (list of clipped tensors, the norm). The tensors are NaN where the norm is not finite.

    Raises:
      TypeError: `t_list` is not a sequence.
    """
    tensors = _check_sequence(t_list)
    if use_norm is None:
        use_norm = global_norm(tensors, name)
    with name_scope(name, "clip_by_global_norm", tensors + [clip_norm]) as scope:
        inverse = 1.0 / use_norm
        ratio = raw.Minimum(inverse, constant(1.0, use_norm.dtype) / clip_norm)
        finite_scale = clip_norm * ratio
        scale = raw.Select(raw.IsFinite(use_norm), finite_scale, constant(float("nan"), use_norm.dtype))
        values = [None if t is None else _values(t, f"t_{i}") for i, t in enumerate(tensors)]
        clipped = []
        for i, (t, value) in enumerate(zip(tensors, values)):
            if value is None:
                clipped.append(None)
                continue
            with colocate_with(value):
                clipped.append(_like(t, raw.Identity(value * scale, name=f"{scope}_{i}")))
    return clipped, use_norm


@export("clip_by_average_norm")
def clip_by_average_norm(t, clip_norm, name=None):
    """`t` scaled down where its L2 norm divided by its number of elements is above `clip_norm`; a Tensor like `t`."""
    with name_scope(name, "clip_by_average_norm", [t, clip_norm]) as scope:
        t = to_tensor(t, name="t")
        count = cast(size(t), dtypes.float32)
        inverse = raw.Rsqrt(reduce_sum(t * t, arange(rank(t))))
        scaled = t * clip_norm
        return raw.Identity(scaled * raw.Minimum(inverse * count, constant(1.0) / clip_norm), name=scope)
