"""Floating-point operations of nodes, as `tf.profiler` counts them: one function for each op type, from static shapes."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

from tfcompat._src.base.op_stats import OpStats, RegisterStatistics
from tfcompat._src.graph.graph_util import tensor_shape_from_node_def_name


class _Node:
    """A NodeDef with the sizes of its tensors; ValueError where they are not known."""

    def __init__(self, graph: Any, node: Any) -> None:
        self._graph, self.attr, self._node = graph, node.attr, node

    def sizes(self, index: int | None = None) -> list[int]:
        """Of input `index`, or of the output."""
        name = self._node.name if index is None else self._node.input[index]
        shape = tensor_shape_from_node_def_name(self._graph, name)
        shape.assert_is_fully_defined()
        return shape.as_list()

    def count(self, index: int | None = None) -> int:
        """Elements of input `index`, or of the output."""
        return math.prod(self.sizes(index))

    @property
    def inputs(self) -> int:
        return len(self._node.input)

    def window(self) -> int:
        """Elements of a pooling window; ValueError unless channels are last."""
        self.check_format()
        return math.prod(self.attr["ksize"].list.i)

    def check_format(self) -> None:
        if self.attr["data_format"].s != b"NHWC":
            raise ValueError("Only NHWC format is supported in flops computations")


def _register(names: str, count: Callable[[_Node], float]) -> None:
    """Registers a function of a node, the number of its operations, for op types."""
    for name in names.split():
        RegisterStatistics(name, "flops")(lambda graph, node: OpStats("flops", count(_Node(graph, node))))


def _each_input(node: _Node, flops: int) -> int:
    return node.count(0) * flops


def _each_output(node: _Node, flops: int) -> int:
    return node.count() * flops


def _reduction(node: _Node, final: int) -> int:
    return node.count(0) + node.count() * (final - 1)


def _matmul(node: _Node) -> int:
    inner = node.sizes(0)[-2 if node.attr["transpose_a"].b else -1]
    return 2 * inner * node.count()


def _convolution(node: _Node, filter_dims: int) -> int:
    """Products and sums of a filter's first dimensions at each output."""
    node.count(0)
    return 2 * node.count() * math.prod(node.sizes(1)[:filter_dims])


def _convolution_gradient(node: _Node, image: int | None, kernel: int | None) -> float:
    node.check_format()
    strides = node.attr["strides"].list.i
    return 2 * node.count(image) * node.count(kernel) / (node.sizes(image)[-1] * strides[1] * strides[2])


_register("Reciprocal Square Log Neg AssignSub AssignAdd BiasAdd", functools.partial(_each_input, flops=1))
_register("Rsqrt", functools.partial(_each_input, flops=2))
_register("Softmax", functools.partial(_each_input, flops=5))
_register("L2Loss", lambda node: 3 * node.count(0) - 1)
_register(
    "Add Sub Mul RealDiv Maximum Minimum Pow GreaterEqual Greater LessEqual Less Equal NotEqual",
    functools.partial(_each_output, flops=1),
)
_register("SquaredDifference", functools.partial(_each_output, flops=2))
_register("RsqrtGrad", functools.partial(_each_output, flops=4))
_register("Mean", functools.partial(_reduction, final=1))
_register("Sum ArgMax ArgMin BiasAddGrad", functools.partial(_reduction, final=0))
_register("AvgPool MaxPool", lambda node: node.window() * node.count())
_register("AvgPoolGrad", lambda node: 2 * node.window() * node.count(1))
_register("MaxPoolGrad", lambda node: (node.window() + 1) * node.count(1))
_register("Conv2DBackpropInput", lambda node: _convolution_gradient(node, None, 1))
_register("Conv2DBackpropFilter", lambda node: _convolution_gradient(node, 0, None))
_register("AddN", lambda node: node.count(0) * (node.inputs - 1) if node.inputs else 0)
_register("MatMul BatchMatMul", _matmul)
_register("Conv2D", functools.partial(_convolution, filter_dims=3))
_register("Conv3D", functools.partial(_convolution, filter_dims=4))
_register("DepthwiseConv2dNative Dilation2D", functools.partial(_convolution, filter_dims=2))
