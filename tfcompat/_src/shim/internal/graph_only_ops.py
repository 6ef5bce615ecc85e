"""`tensorflow.python.eager.graph_only_ops`: functions that add nodes to a graph even in eager mode."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tfcompat._src.base.tensor_shape import TensorShape
from tfcompat._src.eager.mode import graph_mode
from tfcompat._src.graph.scopes import name_scope
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.nodes import raw
from tfcompat._src.nodes.convert import convert_to_tensor

if TYPE_CHECKING:
    from tfcompat._src.base.arrays import TensorLike
    from tfcompat._src.base.dtypes import DType


def graph_placeholder(dtype: DType, shape: object, name: str | None = None) -> Tensor:
    """Adds a placeholder to the default graph; `shape` is a TensorShape, or a list or tuple of sizes."""
    with name_scope(name, "placeholder") as scope:
        made: Tensor = raw.Placeholder(dtype=dtype.base_dtype, shape=TensorShape(shape), name=scope)
    return made


def graph_zeros_like(tensor: TensorLike) -> Tensor:
    """Adds a node to the graph of a tensor that computes zeros of its dtype and shape."""
    graph = convert_to_tensor(tensor).graph
    with graph_mode(), graph.as_default(), name_scope(None, "zeros_like", [tensor]) as scope:
        made: Tensor = raw.ZerosLike(convert_to_tensor(tensor, name="tensor"), name=scope)
    return made
