"""Model -> graph: placeholders for inputs and variables, a node or several for each operator."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tfcompat._src.base import dtypes
from tfcompat._src.base.tensor_shape import TensorShape
from tfcompat._src.graph.graph import Graph
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.lite import custom_options, detection, kernels
from tfcompat._src.lite import model as lite
from tfcompat._src.nodes import raw
from tfcompat._src.nodes.convert import convert_to_tensor
from tfcompat._src.nodes.graph_import import import_graph_def
from tfcompat._src.ops.control.cond import cond
from tfcompat._src.ops.control.while_loop import while_loop
from tfcompat._src.proto import messages

if TYPE_CHECKING:
    from tfcompat._src.base.arrays import TensorLike
    from tfcompat._src.base.dtypes import DType

_INTEGERS = {"INT8": (-128, 127), "UINT8": (0, 255), "INT16": (-32768, 32767), "INT32": (-(2**31), 2**31 - 1)}
_MOVES = frozenset((
    "RESHAPE", "SQUEEZE", "EXPAND_DIMS", "TRANSPOSE", "SLICE", "STRIDED_SLICE", "GATHER", "PACK", "UNPACK", "SPLIT", "SPLIT_V", "TILE",
    "SPACE_TO_BATCH_ND", "BATCH_TO_SPACE_ND", "SPACE_TO_DEPTH", "DEPTH_TO_SPACE", "REVERSE_V2", "IF", "WHILE",
))  # fmt: skip
"""Operators that move integers as they are."""


class GraphOf:
    """The main subgraph of a model as a graph.

    Attributes:
      inputs: placeholders of inputs and variables. tensors: the tensor of the graph for each tensor of the model.
      variables: new values of the variables.
    """

    def __init__(self, model: lite.Model, shapes: dict[lite.Tensor, tuple[int, ...]]) -> None:
        self.model = model
        self.inputs: dict[lite.Tensor, Tensor] = {}
        self.variables: dict[lite.Tensor, Tensor] = {}
        self.graph = Graph()
        main = model.subgraphs[0]
        with self.graph.as_default():
            for tensor in [*main.inputs, *(t for t in main.tensors if t.is_variable)]:
                shape = TensorShape(shapes.get(tensor, tensor.shape))
                self.inputs[tensor] = raw.Placeholder(dtype=_dtype(tensor), shape=shape)
            self.tensors = self._run(main, dict(self.inputs))

    def _run(self, subgraph: lite.Subgraph, tensors: dict[lite.Tensor, Tensor]) -> dict[lite.Tensor, Tensor]:
        for operator in subgraph.operators:
            values = [None if t is None else self._value(tensors, t) for t in operator.inputs]
            for tensor, value in zip(operator.outputs, self._results(operator, values)):
                tensors[tensor] = value
        return tensors

    def _value(self, tensors: dict[lite.Tensor, Tensor], tensor: lite.Tensor) -> Tensor:
        if tensor not in tensors:
            if tensor.data is None:
                raise ValueError(f"Input tensor '{tensor.name}' lacks data: no operator before makes it.")
            tensors[tensor] = kernels.constant(tensor)
        return tensors[tensor]

    def _results(self, operator: lite.Operator, values: list[Any]) -> list[Tensor]:
        if operator.builtin == "IF":
            return self._if(operator, values)
        if operator.builtin == "WHILE":
            return self._while(operator, values)
        if operator.builtin in kernels.STATEFUL:
            return kernels.STATEFUL[operator.builtin](values, operator, self.variables)
        if custom_options.is_flex(operator.custom_code):
            return _by_tensorflow(operator, values)
        if operator.custom_code == "TFLite_Detection_PostProcess":
            given = [dequantized(v, t) for v, t in zip(values, operator.inputs) if t is not None]
            return detection.post_process(given, operator.custom_options)
        if operator.builtin not in kernels.KERNELS:
            name = operator.custom_code or operator.builtin
            raise RuntimeError(f"Encountered unresolved custom op: {name}." if operator.custom_code else f"No kernel for the operator {name}.")
        moves = operator.builtin in _MOVES
        if not moves:
            values = [v if t is None else dequantized(v, t) for v, t in zip(values, operator.inputs)]
        results = kernels.KERNELS[operator.builtin](values, operator)
        found = list(results) if isinstance(results, (list, tuple)) else [results]
        return found if moves else [quantized(v, t) for v, t in zip(found, operator.outputs)]

    def _called(self, index: int, values: list[Any]) -> list[Tensor]:
        """The outputs of another subgraph."""
        subgraph = self.model.subgraphs[index]
        tensors = self._run(subgraph, dict(zip(subgraph.inputs, values)))
        return [self._value(tensors, t) for t in subgraph.outputs]

    def _if(self, operator: lite.Operator, values: list[Any]) -> list[Tensor]:
        branches = [operator.options["then_subgraph_index"], operator.options["else_subgraph_index"]]
        then, other = ((lambda index=index: [raw.Identity(v) for v in self._called(index, values[1:])]) for index in branches)
        found = cond(raw.Reshape(values[0], np.zeros(0, np.int32)), then, other)
        return found if isinstance(found, list) else [found]

    def _while(self, operator: lite.Operator, values: list[Any]) -> list[Tensor]:
        condition, body = operator.options["cond_subgraph_index"], operator.options["body_subgraph_index"]
        found = while_loop(
            lambda *v: raw.Reshape(self._called(condition, list(v))[0], np.zeros(0, np.int32)),
            lambda *v: [raw.Identity(t) for t in self._called(body, list(v))],
            values,
        )
        return list(found) if isinstance(found, (list, tuple)) else [found]


def _by_tensorflow(operator: lite.Operator, values: list[Any]) -> list[Tensor]:
    """The outputs of the node that a Flex operator has in its options."""
    node = custom_options.read_node(operator.custom_options)
    taken = [f"input_{i}" for i in range(len(values))]
    node.input[:] = taken
    node.device = ""
    node.attr.pop("_class", None)  # what it was placed beside is not here
    results = [f"{node.name}:{i}" for i in range(len(operator.outputs))]
    return import_graph_def(messages.GraphDef(node=[node]), dict(zip(taken, values)), results, name="flex")


def _dtype(tensor: lite.Tensor) -> DType:
    return dtypes.string if tensor.dtype == "STRING" else dtypes.as_dtype(lite.NUMPY_TYPES[tensor.dtype])


def _is_quantized(tensor: lite.Tensor) -> bool:
    return tensor.quantization is not None and len(tensor.quantization.scale) > 0 and tensor.dtype in _INTEGERS


def _along(parameters: np.ndarray, tensor: lite.Tensor) -> Any:
    """Scales or zero points shaped so that they broadcast along their dimension."""
    if len(parameters) == 1:
        return parameters.reshape(())
    shape = [1] * len(tensor.shape)
    shape[tensor.quantization.dimension if tensor.quantization else 0] = -1
    return parameters.reshape(shape)


def dequantized(value: TensorLike, tensor: lite.Tensor) -> Any:
    """scale * (integer - zero point), float32; other values as they are."""
    if not _is_quantized(tensor) or tensor.quantization is None:
        return value
    numbers = raw.Cast(value, DstT=dtypes.float32)
    zero = _along(tensor.quantization.zero_point.astype(np.float32), tensor)
    return raw.Mul(raw.Sub(numbers, zero) if np.any(zero) else numbers, _along(tensor.quantization.scale, tensor))


def quantized(value: TensorLike, tensor: lite.Tensor) -> Tensor:
    """The nearest integer of a tensor with a scale, cut off at the ends of its type; other values as they are."""
    value = convert_to_tensor(value)
    if not _is_quantized(tensor) or tensor.quantization is None:
        return value
    scaled = raw.RealDiv(value, _along(tensor.quantization.scale, tensor))
    numbers = raw.AddV2(raw.Floor(raw.AddV2(scaled, 0.5)), _along(tensor.quantization.zero_point.astype(np.float32), tensor))
    low, high = (np.float32(bound) for bound in _INTEGERS[tensor.dtype])
    return raw.Cast(raw.Minimum(raw.Maximum(numbers, low), high), DstT=_dtype(tensor))
