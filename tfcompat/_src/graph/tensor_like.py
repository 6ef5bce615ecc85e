"""What counts as a tensor."""

from __future__ import annotations

from tfcompat._src.base.composite_tensor import CompositeTensor
from tfcompat._src.base.export import export
from tfcompat._src.graph.tensor import Tensor


@export("is_tensor", "contrib.framework.is_tensor")
def is_tensor(x: object) -> bool:
    """Whether `x` is a tensor or a variable; sparse tensors and indexed slices count."""
    return isinstance(x, CompositeTensor) or is_dense_tensor_like(x)


_TENSOR_LIKE_TYPES: list[type] = []


def register_dense_tensor_like_type(tensor_type: type) -> None:
    """Lets the objects of a class count as tensors.

    Raises:
      TypeError: the class has no properties `name` and `dtype`.
    """
    for name in ("name", "dtype"):
        if not isinstance(getattr(tensor_type, name, None), property):
            raise TypeError(f"Type {tensor_type.__name__} does not define a `{name}` property")
    _TENSOR_LIKE_TYPES.append(tensor_type)


def is_dense_tensor_like(value: object) -> bool:
    """Whether `value` is a Tensor, a variable, or of a class registered as such."""
    if isinstance(value, Tensor) or (hasattr(value, "_as_graph_element") and hasattr(value, "dtype")):
        return True
    return isinstance(value, tuple(_TENSOR_LIKE_TYPES))
