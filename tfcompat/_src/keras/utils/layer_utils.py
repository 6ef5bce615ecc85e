"""What can be said of the layers of a model: its inputs, its size, and a table of it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from tfcompat._src.base import nest
from tfcompat._src.base.export import export
from tfcompat._src.keras.backend.values import batch_set_value, get_value
from tfcompat._src.keras.utils.conv_utils import convert_kernel


@export("keras.utils.get_source_inputs")
def get_source_inputs(tensor: object, layer: Any = None, node_index: int | None = None) -> Any:
    """The model inputs that a tensor comes from.

    Args:
      tensor: an output of a layer; another tensor is returned itself.
      layer, node_index: where it comes from, if not from what the tensor says.
    """
    if not hasattr(tensor, "_keras_history"):
        return tensor
    if layer is None or node_index:
        layer, node_index, _ = tensor._keras_history
    if not layer._inbound_nodes:
        return [tensor]
    node = layer._inbound_nodes[node_index or 0]
    if not node.inbound_layers:
        return nest.flatten(node.input_tensors)
    found: dict[int, Any] = {}
    for inbound, index, _, source in node.iterate_inbound():
        found.update((id(x), x) for x in get_source_inputs(source, inbound, index) if id(x) not in found)
    return list(found.values())


def count_params(weights: Iterable[Any]) -> int:
    """The number of elements of weights, each counted once."""
    return int(sum(np.prod(w.shape.as_list(), dtype=np.int64) for w in {id(w): w for w in weights}.values()))


def _is_chain(model: Any) -> bool:
    """Whether each layer takes the output of the one before."""
    if type(model).__name__ == "Sequential" or not model._is_graph_network:
        return True
    nodes: set[int] = set()
    for calls in model._nodes_by_depth.values():
        if len(calls) > 1 or len(nest.flatten(calls[0].inbound_layers)) > 1:
            return False
        nodes.update(map(id, calls))
    return all(sum(id(node) in nodes for node in layer._inbound_nodes) <= 1 for layer in model.layers)


def _row(fields: list[Any], positions: list[int]) -> str:
    line = ""
    for i, (field, position) in enumerate(zip(fields, positions)):
        line = (line[:-1] + " " if i else "") + str(field)
        line = line[:position].ljust(position)
    return line


def _output_shape(layer: Any) -> Any:
    try:
        return layer.output_shape
    except AttributeError:
        return "multiple"
    except RuntimeError:
        return "?"


def _connections(layer: Any, nodes: set[int]) -> list[str]:
    return [
        f"{source.name}[{index}][{tensor_index}]"
        for node in layer._inbound_nodes
        if id(node) in nodes
        for source, index, tensor_index, _ in node.iterate_inbound()
    ]


def print_summary(model: Any, line_length: int | None = None, positions: Any = None, print_fn: Any = None) -> None:
    """Prints a table of the layers of a model.

    Args:
      model: a built model.
      line_length, positions: of the table and its columns (as parts of it, or absolute).
      print_fn: called with each line in place of `print`.
    """
    print_fn = print_fn or print
    chain = _is_chain(model)
    line_length = line_length or (65 if chain else 98)
    positions = positions or ([0.45, 0.85, 1.0] if chain else [0.33, 0.55, 0.67, 1.0])
    if positions[-1] <= 1:
        positions = [int(line_length * p) for p in positions]
    titles = ["Layer (type)", "Output Shape", "Param #", *([] if chain else ["Connected to"])]
    print_fn(f'Model: "{model.name}"')
    print_fn("_" * line_length)
    print_fn(_row(titles, positions))
    print_fn("=" * line_length)
    nodes = set() if chain else {id(node) for calls in model._nodes_by_depth.values() for node in calls}
    layers = model.layers
    for i, layer in enumerate(layers):
        sources = [] if chain else _connections(layer, nodes) or [""]
        fields = [f"{layer.name} ({type(layer).__name__})", _output_shape(layer), layer.count_params()]
        print_fn(_row([*fields, *sources[:1]], positions))
        for source in sources[1:]:
            print_fn(_row(["", "", "", source], positions))
        print_fn(("=" if i == len(layers) - 1 else "_") * line_length)
    _print_counts(model, line_length, print_fn)


def _print_counts(model: Any, line_length: int, print_fn: Any) -> None:
    model._check_trainable_weights_consistency()
    trainable = count_params(getattr(model, "_collected_trainable_weights", model._unique_trainable_weights))
    fixed = count_params(model.non_trainable_weights)
    print_fn(f"Total params: {trainable + fixed:,}")
    print_fn(f"Trainable params: {trainable:,}")
    print_fn(f"Non-trainable params: {fixed:,}")
    print_fn("_" * line_length)


def convert_dense_weights_data_format(
    dense: Any, previous_feature_map_shape: tuple[int, int, int], target_data_format: str = "channels_first"
) -> None:
    """Reorders the kernel of a Dense layer after Flatten for another place of the channels.

    Args:
      dense: the layer, with kernel and bias.
      previous_feature_map_shape: of one sample before Flatten, in the format that the kernel is for after the change.
      target_data_format: "channels_first" or "channels_last".
    """
    if target_data_format not in ("channels_last", "channels_first"):
        raise AssertionError(f"unknown data format {target_data_format!r}")
    kernel, bias = dense.get_weights()
    a, b, c = previous_feature_map_shape
    if target_data_format == "channels_first":
        moved = kernel.reshape(b, c, a, -1).transpose(2, 0, 1, 3)
    else:
        moved = kernel.reshape(c, a, b, -1).transpose(1, 2, 0, 3)
    dense.set_weights([moved.reshape(kernel.shape), bias])


@export("keras.utils.convert_all_kernels_in_model")
def convert_all_kernels_in_model(model: Any) -> None:
    """Turns the kernels of convolutions around, between cross-correlation and convolution."""
    kinds = ("Conv1D", "Conv2D", "Conv3D", "Conv2DTranspose")
    kernels = [layer.kernel for layer in model.layers if type(layer).__name__ in kinds]
    batch_set_value([(kernel, convert_kernel(get_value(kernel))) for kernel in kernels])
