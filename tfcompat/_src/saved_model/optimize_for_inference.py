"""What `tensorflow.python.tools.optimize_for_inference` and its library hold: a frozen graph with less to compute.

`tfcompat run -m tensorflow.python.tools.optimize_for_inference --help` says the options of the program.
"""

from __future__ import annotations

import argparse
import collections
import sys
from typing import Any

import numpy as np

from tfcompat._src.base import dtypes
from tfcompat._src.graph import graph_util
from tfcompat._src.graph.tensor_proto import make_ndarray, make_tensor_proto
from tfcompat._src.nodes.meta_graph import write_message
from tfcompat._src.platform import file_io, logging
from tfcompat._src.proto import messages
from tfcompat._src.saved_model import files
from tfcompat._src.saved_model.freeze_graph import flag
from tfcompat._src.saved_model.strip_unused import strip_unused

INPUT_ORDER = {
    "BatchNormWithGlobalNormalization": ["conv_op", "mean_op", "var_op", "beta_op", "gamma_op"],
    "FusedBatchNorm": ["conv_op", "gamma_op", "beta_op", "mean_op", "var_op"],
}
EPSILON_ATTR = {"BatchNormWithGlobalNormalization": "variance_epsilon", "FusedBatchNorm": "epsilon"}
_CONVOLUTIONS = ("Conv2D", "DepthwiseConv2dNative")


def optimize_for_inference(
    input_graph_def: object, input_node_names: list[str], output_node_names: list[str], placeholder_type_enum: int | list[int],
    toco_compatible: bool = False,
) -> Any:  # fmt: skip
    """A GraphDef without what only training needs, with normalization and resizing inside the convolutions beside them.

    Args:
      input_graph_def: a frozen GraphDef.
      input_node_names: names of the nodes to feed, which become placeholders. output_node_names: names of the results.
      placeholder_type_enum: DataType number of the placeholders, or one for each.
      toco_compatible: leave resizing and padding as they are.

    Raises:
      ValueError: the GraphDef has two nodes of one name, or an input that does not exist.
    """
    ensure_graph_is_valid(input_graph_def)
    found = strip_unused(input_graph_def, input_node_names, output_node_names, placeholder_type_enum)
    found = graph_util.remove_training_nodes(found, output_node_names)
    found = fold_batch_norms(found)
    if not toco_compatible:
        found = fuse_resize_and_conv(found, output_node_names)
    ensure_graph_is_valid(found)
    return found


def ensure_graph_is_valid(graph_def: messages.GraphDef) -> None:
    """Raises ValueError where two nodes have one name or an input does not exist."""
    nodes = _by_name(graph_def)
    for node in graph_def.node:
        for source in node.input:
            if node_name_from_input(source) not in nodes:
                raise ValueError(f"Input for {node.name} not found: {source}")


def node_name_from_input(node_name: str) -> str:
    """The name of the node behind a node's input."""
    name, _, index = node_name.removeprefix("^").rpartition(":")
    return name if index.isdigit() and name else node_name.removeprefix("^")


def node_from_map(node_map: dict[str, Any], name: str) -> Any:
    """The node behind a node's input; ValueError where there is none."""
    found = node_map.get(node_name_from_input(name))
    if found is None:
        raise ValueError(f"No node named '{name}' found in map.")
    return found


def values_from_const(node_def: messages.NodeDef) -> np.ndarray:
    """The value of a Const node; ValueError where it is another."""
    if node_def.op != "Const":
        raise ValueError(f"Node named '{node_def.name}' should be a Const op for values_from_const.")
    return make_ndarray(node_def.attr["value"].tensor)


def scale_after_normalization(node: Any) -> bool:
    """Whether a normalization multiplies by gamma."""
    return node.op != "BatchNormWithGlobalNormalization" or node.attr["scale_after_normalization"].b


def _by_name(graph_def: messages.GraphDef) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for node in graph_def.node:
        if node.name in found:
            raise ValueError(f"Duplicate node names detected for {node.name}")
        found[node.name] = node
    return found


def _const(name: str, value: np.ndarray, dtype: dtypes.DType) -> Any:
    attrs = {
        "dtype": messages.AttrValue(type=dtype.as_datatype_enum),
        "value": messages.AttrValue(tensor=make_tensor_proto(value, dtype, value.shape)),
    }
    return messages.NodeDef(name=name, op="Const", attr=attrs)


# ---- batch normalization ----


def fold_batch_norms(input_graph_def: Any) -> Any:
    """A GraphDef whose normalizations are in the weights of the convolutions before them, and in a BiasAdd.

    Those of type BatchNormWithGlobalNormalization and FusedBatchNorm are folded, where all they take is constant.

    Raises:
      ValueError: the GraphDef has two nodes of one name.
    """
    nodes = _by_name(input_graph_def)
    replaced: set[str] = set()
    new = []
    for node in input_graph_def.node:
        if node.op in INPUT_ORDER:
            parts = _parts(node, nodes)
            if parts is not None:
                replaced.update((node.name, *(part.name for part in parts.values())))
                new.extend(_folded(node, parts))
    kept = [node for node in input_graph_def.node if node.name not in replaced]
    return messages.GraphDef(node=[*kept, *new])


def _parts(node: Any, nodes: dict[str, Any]) -> dict[str, Any] | None:
    """What a normalization takes, and the weights of its convolution; None, with a warning, where it cannot be folded."""
    parts = {part: node_from_map(nodes, node.input[i]) for i, part in enumerate(INPUT_ORDER[node.op])}
    convolution = parts["conv_op"]
    if convolution.op not in _CONVOLUTIONS:
        logging.warning("Didn't find expected Conv2D or DepthwiseConv2dNative input to '%s'", node.name)
        return None
    parts["weights_op"] = node_from_map(nodes, convolution.input[1])
    for part, found in parts.items():
        if part != "conv_op" and found.op != "Const":
            logging.warning(
                "Didn't find expected %s Constant input to '%s', found %s instead. Maybe because freeze_graph wasn't run first?",
                part.removesuffix("_op"), node.name, found.op,
            )  # fmt: skip
            return None
    channels = _channels(convolution, values_from_const(parts["weights_op"]))
    for part in ("mean_op", "var_op", "beta_op", "gamma_op"):
        shape = values_from_const(parts[part]).shape
        if shape != (channels,):
            logging.warning(
                "Incorrect shape for %s, found %s, expected %s, for node %s", part.removesuffix("_op"), shape, (channels,), node.name
            )
            return None
    return parts


def _channels(convolution: Any, weights: np.ndarray) -> int:
    return weights.shape[3] if convolution.op == "Conv2D" else weights.shape[2] * weights.shape[3]


def _folded(node: Any, parts: dict[str, Any]) -> list[Any]:
    convolution = parts["conv_op"]
    value = {part: values_from_const(found) for part, found in parts.items() if part != "conv_op"}
    variance = value["var_op"]
    scale = 1.0 / np.sqrt((variance + variance.dtype.type(node.attr[EPSILON_ATTR[node.op]].f)).astype(np.float64))
    if scale_after_normalization(node):
        scale = scale * value["gamma_op"]
    offset = value["beta_op"] - value["mean_op"] * scale
    weights = value["weights_op"]
    per_weight = scale if convolution.op == "Conv2D" else scale.reshape(weights.shape[2:])
    dtype = dtypes.as_dtype(parts["weights_op"].attr["dtype"].type)
    bias = _const(convolution.name + "_bn_offset", offset, dtypes.as_dtype(parts["mean_op"].attr["dtype"].type))
    added = messages.NodeDef(name=node.name, op="BiasAdd", input=[convolution.name, bias.name])
    for key in ("T", "data_format"):
        added.attr[key].CopyFrom(convolution.attr[key])
    return [_const(parts["weights_op"].name, weights * per_weight, dtype), convolution, bias, added]


# ---- resizing and padding ----


def fuse_resize_and_conv(input_graph_def: Any, output_node_names: list[str]) -> Any:
    """A GraphDef with one node in place of a ResizeBilinear, a MirrorPad, or both, and the Conv2D after them.

    Args:
      input_graph_def: the GraphDef. output_node_names: names of nodes that are kept.

    Raises:
      ValueError: the GraphDef has two nodes of one name.
    """
    nodes = _by_name(input_graph_def)
    uses = collections.Counter(node_name_from_input(s) for node in input_graph_def.node for s in node.input)
    uses.update(output_node_names)
    new = []
    for node in input_graph_def.node:
        if node.op != "Conv2D":
            continue
        before = node_from_map(nodes, node.input[0])
        pad = before if before.op == "MirrorPad" else None
        resize = node_from_map(nodes, pad.input[0]) if pad else before
        resize = resize if resize.op == "ResizeBilinear" else None
        if pad is None and resize is None:
            continue
        uses[node.name] = 0
        uses.subtract(fused.name for fused in (pad, resize) if fused)
        new.extend(_fused(node, pad, resize))
    kept = [node for node in input_graph_def.node if uses[node.name] >= 1]
    return messages.GraphDef(node=[*kept, *new])


def _fused(convolution: Any, pad: Any, resize: Any) -> list[Any]:
    found = messages.NodeDef(name=convolution.name, op="FusedResizeAndPadConv2D" if resize else "FusedPadConv2D")
    made = []
    if pad:
        paddings, mode = pad.input[1], pad.attr["mode"]
    else:
        made.append(_const(convolution.name + "_dummy_paddings", np.zeros((4, 2), np.int32), dtypes.int32))
        paddings, mode = made[0].name, messages.AttrValue(s=b"REFLECT")
    found.input.extend([*(resize.input[:2] if resize else pad.input[:1]), paddings, convolution.input[1]])
    if resize:
        found.attr["resize_align_corners"].CopyFrom(resize.attr["align_corners"])
    found.attr["mode"].CopyFrom(mode)
    for key in ("T", "strides", "padding"):
        found.attr[key].CopyFrom(convolution.attr[key])
    return [*made, found]


# ---- the program ----


def main() -> int:
    """Optimizes the graph that the command line names; the exit status."""
    parser = argparse.ArgumentParser(prog="optimize_for_inference")
    parser.add_argument("--input", default="", help="file of a GraphDef")
    parser.add_argument("--output", default="", help="file to write")
    parser.add_argument("--input_names", default="", help="names of the inputs, separated by commas")
    parser.add_argument("--output_names", default="", help="names of the outputs, separated by commas")
    flag(parser, "--frozen_graph", True, "the files are binary; else text")
    parser.add_argument(
        "--placeholder_type_enum", default=str(dtypes.float32.as_datatype_enum), help="a DataType number, or one for each input"
    )
    flag(parser, "--toco_compatible", False, "leave resizing and padding as they are")
    options = parser.parse_known_args()[0]
    if not file_io.exists(options.input):
        print(f"Input graph file '{options.input}' does not exist!")
        return -1
    types = [int(value) for value in options.placeholder_type_enum.split(",")]
    found = optimize_for_inference(
        files.read_message(options.input, messages.GraphDef, options.frozen_graph),
        options.input_names.split(","), options.output_names.split(","), types if len(types) > 1 else types[0],
        options.toco_compatible,
    )  # fmt: skip
    write_message(found, options.output, as_text=not options.frozen_graph)
    return 0


if __name__ == "__main__":
    sys.exit(main())
