"""Predicates for tensors and tensor-like objects, and the registry of tensor-like classes."""

from __future__ import annotations

from tfcompat._src.base.composite_tensor import CompositeTensor
from tfcompat._src.base.export import export
from tfcompat._src.graph.tensor import Tensor


@export("is_tensor", "contrib.framework.is_tensor")
def is_tensor(x: object) -> bool:
    """Returns whether `x` is a tensor or a variable; sparse and ragged tensors, indexed slices, and objects with a true `is_tensor_like` count."""
    return isinstance(x, CompositeTensor) or is_dense_tensor_like(x) or bool(getattr(x, "is_tensor_like", False))


_TENSOR_LIKE_TYPES: list[type] = []


def register_dense_tensor_like_type(tensor_type: type) -> None:
    """Makes `is_tensor` accept instances of a class.

    Raises:
      TypeError: the class lacks the property `name` or `dtype`.
    """
    for name in ("name", "dtype"):
        if not isinstance(getattr(tensor_type, name, None), property):
            raise TypeError(f"Type {tensor_type.__name__} does not define a `{name}` property")
    _TENSOR_LIKE_TYPES.append(tensor_type)


def is_dense_tensor_like(value: object) -> bool:
    """Returns whether `value` is a Tensor, a variable, or an instance of a registered tensor-like class."""
    if isinstance(value, Tensor) or (hasattr(value, "_as_graph_element") and hasattr(value, "dtype")):
        return True
    return isinstance(value, tuple(_TENSOR_LIKE_TYPES))
