"""What the layers of a GraphDef do to the size of feature maps: windows, strides and paddings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from tfcompat._src.graph.tensor_proto import make_ndarray
from tfcompat._src.platform import logging

UNCHANGED = frozenset(
    ("Add", "AddV2", "BiasAdd", "Cast", "Ceil", "ConcatV2", "Const", "Floor", "FusedBatchNorm", "Identity", "Log", "Mul", "Pow",
     "RealDiv", "Relu", "Relu6", "Round", "Rsqrt", "Softplus", "Sub", "VariableV2", "LRN", "GreaterEqual")
)  # fmt: skip
"""Types of nodes that compute each place of a feature map by itself."""

_CONVOLUTIONS = ("Conv2D", "DepthwiseConv2dNative")
_POOLS = ("MaxPool", "MaxPoolV2", "AvgPool")


class Window(NamedTuple):
    """What a layer does along one axis: its window, stride, and padding before the first element and in all; None where unknown."""

    kernel: int | None
    stride: int | None
    padding: int | None
    total_padding: int | None


def _constant(nodes: Mapping[str, Any], node: Any, index: int, name: str) -> np.ndarray:
    """The value of the Const that is an input of a node, which has its usual name."""
    source = node.input[index]
    if not source.endswith("/" + name):
        raise ValueError(f"Input {index} of {node.name}, {source}, does not end with '/{name}'")
    if nodes[source].op != "Const":
        raise ValueError(f"Input {index} of {node.name}, {source}, is not Const: {nodes[source].op}")
    return make_ndarray(nodes[source].attr["value"].tensor)


def _strides(node: Any, nodes: Mapping[str, Any]) -> list[int]:
    found = _constant(nodes, node, 2, "strides") if node.op == "MaxPoolV2" else node.attr["strides"].list.i
    return [int(found[1]), int(found[2])]


def _convolution_kernel(node: Any, nodes: Mapping[str, Any]) -> list[int]:
    source = node.input[1]
    if not source.endswith("/read"):
        raise ValueError(f"The weights of {node.name}, {source}, do not end with '/read'")
    weights = nodes[source.removesuffix("/read")]
    if weights.op == "VariableV2":
        dims = weights.attr["shape"].shape.dim
    elif weights.op == "Const":
        dims = weights.attr["value"].tensor.tensor_shape.dim
    else:
        raise ValueError(f"Weight layer {weights.name} is not of type VariableV2 or Const: {weights.op}")
    if len(dims) != 4:
        raise ValueError(f"Weight layer {weights.name} does not have rank 4. Instead, it has: {len(dims)}")
    return [dims[0].size, dims[1].size]


def _pool_kernel(node: Any, nodes: Mapping[str, Any]) -> list[int]:
    found = _constant(nodes, node, 1, "ksize") if node.op == "MaxPoolV2" else node.attr["ksize"].list.i
    if found[0] != 1:
        raise ValueError("pool ksize for first dim is not 1")
    if found[3] != 1:
        raise ValueError("pool ksize for last dim is not 1")
    return [int(found[1]), int(found[2])]


def _slid(padding: bytes, kernel: int, stride: int, size: int | None) -> Window:
    """A window that slides over `size` elements; where that is unknown, so may be its padding."""
    if padding == b"VALID":
        return Window(kernel, stride, 0, 0)
    if padding != b"SAME":
        raise ValueError(f"Invalid padding operation {padding!r}")
    if size is not None:
        total = max(kernel - (size % stride or stride), 0)
    elif kernel == 1 or stride == 1:
        total = kernel - 1
    elif stride == 2 and kernel % 2 == 0:
        return Window(kernel, stride, (kernel - 1) // 2, None)
    else:
        logging.warning(
            "Padding depends on input size, which means that the effective padding may be different depending on the input image "
            "dimensionality. In this case, alignment check will be skipped. If you know the input resolution, please set it."
        )
        return Window(kernel, stride, None, None)
    return Window(kernel, stride, total // 2, total)


def _padded(node: object, nodes: Mapping[str, Any]) -> list[Window]:
    found = _constant(nodes, node, 1, "paddings").tolist()
    if any(found[0]):
        raise ValueError("padding is not zero for first tensor dim")
    if any(found[3]):
        raise ValueError("padding is not zero for last tensor dim")
    return [Window(1, 1, axis[0], sum(axis)) for axis in found[1:3]]


def windows(node: Any, nodes: Mapping[str, Any], sizes: Sequence[int | None] | None = None, force: bool = False) -> list[Window]:
    """What a node does to (height, width).

    Args:
      node: a NodeDef of a convolution, pooling, padding or elementwise op.
      nodes: NodeDefs by name.
      sizes: height and width of its input, where known.
      force: whether nodes of other types give Windows of None.

    Raises:
      ValueError: the type is another one, or the node is not written as `tf.nn` and `tf.contrib.slim` write it.
    """
    if node.op == "Pad":
        return _padded(node, nodes)
    if node.op in UNCHANGED:
        return [Window(1, 1, 0, 0)] * 2
    if node.op not in (*_CONVOLUTIONS, *_POOLS):
        if force:
            return [Window(None, None, None, None)] * 2
        raise ValueError(f"Unknown layer for operation '{node.name}': {node.op}")
    strides = _strides(node, nodes)
    kernel = (_convolution_kernel if node.op in _CONVOLUTIONS else _pool_kernel)(node, nodes)
    return [_slid(node.attr["padding"].s, *axis) for axis in zip(kernel, strides, sizes or (None, None))]


def get_layer_params(
    node: object, name_to_node: Mapping[str, Any], input_resolution: Sequence[int | None] | None = None, force: bool = False
) -> tuple[int | None, ...]:
    """`windows` as (kernel_size_x, kernel_size_y, stride_x, stride_y, padding_x, padding_y, total_padding_x, total_padding_y)."""
    y, x = windows(node, name_to_node, input_resolution, force)
    return tuple(value for pair in zip(x, y) for value in pair)
