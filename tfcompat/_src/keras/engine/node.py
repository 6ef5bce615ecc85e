"""A call of a layer on outputs of other layers: an edge bundle in the graph of layers."""

from __future__ import annotations

from typing import Any, NamedTuple

from tfcompat._src.base import nest
from tfcompat._src.graph.tensor import Tensor


class KerasHistory(NamedTuple):
    """Which layer made a tensor, in which of its calls, and as which of the outputs."""

    layer: Any
    node_index: int
    tensor_index: int


def int_shape(x: object) -> tuple | None:
    """The sizes of a tensor, None where unknown; None for a tensor of unknown rank."""
    shape = getattr(x, "shape", None)
    if isinstance(shape, tuple) or shape is None:
        return shape
    return None if shape.ndims is None else tuple(shape.as_list())


class Node:
    """A call of `outbound_layer`, noted with it and with the layers that its inputs come from.

    Args:
      outbound_layer: the layer that was called.
      inbound_layers, node_indices, tensor_indices: nests like `input_tensors`: where each comes from.
      input_tensors, output_tensors: what the call took and gave.
      arguments: dict of the other arguments of the call.

    Raises:
      ValueError: `outbound_layer` is a collection.
    """

    def __init__(
        self, outbound_layer: Any, inbound_layers: Any, node_indices: Any, tensor_indices: Any, input_tensors: Any,
        output_tensors: Any, arguments: dict[str, Any] | None = None,
    ) -> None:  # fmt: skip
        if isinstance(outbound_layer, (list, tuple, dict)):
            raise ValueError("`outbound_layer` should be a layer instance, not a list, tuple, or, dict.")
        self.outbound_layer, self.arguments = outbound_layer, arguments
        self.inbound_layers, self.node_indices, self.tensor_indices = inbound_layers, node_indices, tensor_indices
        self.input_tensors, self.output_tensors = input_tensors, output_tensors
        self.input_shapes = nest.map_structure(int_shape, input_tensors)
        self.output_shapes = nest.map_structure(int_shape, output_tensors)
        for layer in nest.flatten(inbound_layers):
            if layer is not None:
                layer.outbound_nodes.append(self)
        outbound_layer.inbound_nodes.append(self)

    def iterate_inbound(self, include_arguments: bool = False) -> list[tuple[Any, int, int, Any]]:
        """(layer, node index, tensor index, tensor) of each input; with arguments, of each tensor among them too."""
        inbound = list(
            zip(*map(nest.flatten, (self.inbound_layers, self.node_indices, self.tensor_indices, self.input_tensors)))
        )
        if include_arguments:
            inbound += [(*tensor._keras_history, tensor) for tensor in self._keras_arguments()]
        return inbound

    def _keras_arguments(self) -> list[Any]:
        return [x for x in nest.flatten(self.arguments) if hasattr(x, "_keras_history")]

    def _get_all_node_dependencies(self) -> list[Node]:
        """The calls that made what this one took."""
        calls = [layer._inbound_nodes[index] for layer, index, _, _ in self.iterate_inbound()]
        for tensor in self._keras_arguments():
            if isinstance(tensor, Tensor):
                calls.append(tensor._keras_history.layer._inbound_nodes[tensor._keras_history.node_index])
        return calls

    def get_config(self) -> dict[str, Any]:
        """Where the inputs come from, by names and indices."""
        return {
            "outbound_layer": self.outbound_layer.name,
            "inbound_layers": nest.map_structure(lambda layer: layer.name if layer else None, self.inbound_layers),
            "node_indices": self.node_indices,
            "tensor_indices": self.tensor_indices,
        }
