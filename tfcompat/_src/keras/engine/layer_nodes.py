"""The part of a layer that knows its calls on outputs of other layers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tfcompat._src.base import nest
from tfcompat._src.graph.scopes import name_scope
from tfcompat._src.keras.engine.node import KerasHistory, Node
from tfcompat._src.ops.array.constant import identity

if TYPE_CHECKING:
    from tfcompat._src.base.arrays import TensorLike


def mask_of(values: object) -> Any:
    """The mask that a tensor carries, or a list of those of a list."""
    if isinstance(values, list):
        return [getattr(x, "_keras_mask", None) for x in values]
    return getattr(values, "_keras_mask", None)


class LayerNodes:
    """What a layer took and gave in its calls; a layer has `_inbound_nodes` and `_outbound_nodes`."""

    inbound_nodes = property(lambda self: self._inbound_nodes)
    outbound_nodes = property(lambda self: self._outbound_nodes)

    def _add_inbound_node(self, input_tensors: object, output_tensors: object, arguments: dict | None = None) -> None:
        """Notes a call."""
        histories = nest.map_structure(lambda t: _History(t._keras_history), input_tensors)
        layers, nodes, indices = (
            nest.map_structure(lambda h, name=name: getattr(h.value, name), histories)
            for name in ("layer", "node_index", "tensor_index")
        )
        Node(self, layers, nodes, indices, input_tensors, output_tensors, arguments)
        for i, tensor in enumerate(nest.flatten(output_tensors)):
            tensor._keras_history = KerasHistory(self, len(self._inbound_nodes) - 1, i)

    def _set_connectivity_metadata_(self, inputs: object, outputs: object, args: tuple, kwargs: dict[str, Any]) -> tuple:
        """Notes a call; outputs that are inputs are copied, so that they come from this layer."""
        given = {id(x) for x in nest.flatten(inputs)}

        def of_this_layer(output: TensorLike) -> Any:
            if id(output) not in given:
                return output
            with name_scope(self.name):
                return identity(output)

        outputs = nest.map_structure(of_this_layer, outputs)
        arguments = {**dict(zip(self._call_fn_args[1:], args)), **kwargs}
        self._add_inbound_node(inputs, outputs, arguments)
        return inputs, outputs

    def _get_node_attribute_at_index(self, node_index: int, attribute: str, what: str) -> Any:
        if not self._inbound_nodes:
            raise RuntimeError(f"The layer has never been called and thus has no defined {what}.")
        if node_index >= len(self._inbound_nodes):
            raise ValueError(
                f"Asked to get {what} at node {node_index}, but the layer has only "
                f"{len(self._inbound_nodes)} inbound nodes."
            )
        values = getattr(self._inbound_nodes[node_index], attribute)
        return values[0] if isinstance(values, list) and len(values) == 1 else values

    def get_input_at(self, node_index: int) -> Any:
        """The inputs of one call, counted among calls on tensors of other layers."""
        return self._get_node_attribute_at_index(node_index, "input_tensors", "input")

    def get_output_at(self, node_index: int) -> Any:
        """The outputs of one call, counted as `get_input_at` counts."""
        return self._get_node_attribute_at_index(node_index, "output_tensors", "output")

    def get_input_shape_at(self, node_index: int) -> Any:
        """The input shapes of one call, counted as `get_input_at` counts."""
        return self._get_node_attribute_at_index(node_index, "input_shapes", "input shape")

    def get_output_shape_at(self, node_index: int) -> Any:
        """The output shapes of one call, counted as `get_input_at` counts."""
        return self._get_node_attribute_at_index(node_index, "output_shapes", "output shape")

    def get_input_mask_at(self, node_index: int) -> Any:
        """The masks of the inputs of one call, counted as `get_input_at` counts."""
        return mask_of(self.get_input_at(node_index))

    def get_output_mask_at(self, node_index: int) -> Any:
        """The masks of the outputs of one call, counted as `get_input_at` counts."""
        return mask_of(self.get_output_at(node_index))

    @property
    def input(self) -> Any:
        """The inputs of the first call on tensors of other layers; AttributeError without one."""
        if not self._inbound_nodes:
            raise AttributeError(f"Layer {self.name} is not connected, no input to return.")
        return self.get_input_at(0)

    @property
    def output(self) -> Any:
        """The outputs of the first call on tensors of other layers; AttributeError without one."""
        if not self._inbound_nodes:
            raise AttributeError(f"Layer {self.name} has no inbound nodes.")
        return self.get_output_at(0)

    input_mask = property(lambda self: mask_of(self.input))
    output_mask = property(lambda self: mask_of(self.output))
    input_shape = property(lambda self: self._only_shape("input"))
    output_shape = property(lambda self: self._only_shape("output"))

    def _only_shape(self, what: str) -> Any:
        if not self._inbound_nodes:
            raise AttributeError(f"The layer has never been called and thus has no defined {what} shape.")
        shapes = [getattr(node, f"{what}_shapes") for node in self._inbound_nodes]
        if len({str(s) for s in shapes}) > 1:
            raise AttributeError(
                f'The layer "{self.name} has multiple inbound nodes, with different {what} shapes. Hence the notion of '
                f'"{what} shape" is ill-defined for the layer. Use `get_{what}_shape_at(node_index)` instead.'
            )
        return shapes[0]


class _History:
    """A history as a leaf of a nest: the tuple itself would be taken apart."""

    def __init__(self, value: KerasHistory) -> None:
        self.value = value
