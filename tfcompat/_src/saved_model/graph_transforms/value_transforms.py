"""Transforms that compute: constants in place of what never changes, and other numbers in place of weights."""

from __future__ import annotations

from typing import Any

import numpy as np

from tfcompat._src.base import dtypes, errors
from tfcompat._src.graph import op_spec
from tfcompat._src.graph.graph import Graph
from tfcompat._src.graph.tensor_proto import make_ndarray, make_tensor_proto
from tfcompat._src.nodes.graph_import import import_graph_def
from tfcompat._src.proto import messages
from tfcompat._src.runtime.session.session import Session
from tfcompat._src.saved_model import optimize_for_inference
from tfcompat._src.saved_model.graph_transforms.context import (
    Context,
    copied,
    invalid,
    is_control,
    node_of,
    transform,
    with_slot,
)
from tfcompat._src.saved_model.graph_transforms.matching import Match, Pattern, in_order, replaced

_CONSTANT = Pattern(("Const",))
_SHAPES = ("Shape", "Rank", "Size")
_MAX_BYTES = 10 * 1024 * 1024


def _const(name: str, value: object, dtype: dtypes.DType = dtypes.float32) -> Any:
    value = np.asarray(value)
    attrs = {
        "dtype": messages.AttrValue(type=dtype.as_datatype_enum),
        "value": messages.AttrValue(tensor=make_tensor_proto(value, dtype, value.shape)),
    }
    return messages.NodeDef(name=name, op="Const", attr=attrs)


def _value(node: Any) -> np.ndarray:
    return make_ndarray(node.attr["value"].tensor)


# ---- constants ----


@transform("fold_constants")
def _fold_constants(graph_def: messages.GraphDef, context: Context) -> list[Any]:
    inputs, result = {node_of(name) for name in context.inputs}, copied(graph_def)
    with Graph().as_default() as graph:
        import_graph_def(_without_shapes(copied(result), ()) if context.truth("clear_output_shapes", True) else result, name="")
    _without_shapes(result, inputs)
    for name in context.outputs:
        if node_of(name) not in {node.name for node in result.node}:
            raise errors.NotFoundError(None, None, f"The graph has no node {name!r}, which is an output of fold_constants.")
        if not graph.get_operation_by_name(node_of(name)).outputs:
            raise invalid(f"The output {name!r} of fold_constants is a node without a value; leave fold_constants out.")
    needed = _needed({node.name: node for node in result.node}, context)
    order = [node for node in in_order(result.node) if node.name in needed and node.name not in inputs]
    constants = _constants(order, graph, context)
    values = _computed([node for node in order if node.name in constants], _folded(order, constants), graph, result.library)
    most = context.integer("max_constant_size_in_bytes", _MAX_BYTES)
    return _with_constants(result, graph, {name: value for name, value in values.items() if value.nbytes <= most}, constants, context)


def _without_shapes(graph_def: messages.GraphDef, kept: Any) -> Any:
    """The GraphDef without what its nodes say of the shapes of their outputs, but for those in `kept`."""
    for node in graph_def.node:
        if node.name not in kept:
            node.attr.pop("_output_shapes", None)
    return graph_def


def _computed(nodes: list[Any], names: list[str], graph: Graph, library: object) -> dict[str, np.ndarray]:
    """The values of tensors of constant nodes, which run without the others that they wait for."""
    alone = []
    for node in nodes:
        if _has_known_shape(node, graph):
            shape = np.array(graph.get_operation_by_name(node.name).inputs[0].shape.as_list(), np.int64)
            found = {"Shape": shape, "Rank": np.array(shape.size), "Size": shape.prod()}[node.op]
            made = _const(node.name, found, graph.get_tensor_by_name(f"{node.name}:0").dtype)
        else:
            made = copied(node)
            made.input[:] = [name for name in node.input if not is_control(name)]
        alone.append(made)
    with Graph().as_default() as other, Session(graph=other) as session:
        import_graph_def(messages.GraphDef(node=alone, library=library), name="")
        return session.run({name: other.get_tensor_by_name(name) for name in names})


def _has_known_shape(node: Any, graph: Any) -> bool:
    """Whether a node asks for the shape of a tensor that has always the same one."""
    return node.op in _SHAPES and graph.get_operation_by_name(node.name).inputs[0].shape.is_fully_defined()


def _needed(nodes: dict[str, Any], context: Context) -> set[str]:
    """The names of the nodes that the outputs need, and of the inputs."""
    inputs = {node_of(name) for name in context.inputs}
    unknown = [name for name in (*context.inputs, *context.outputs) if node_of(name) not in nodes]
    if unknown:
        raise invalid(f"The graph has no node {node_of(unknown[0])!r}, which is an input or output of the transforms.")
    found, todo = set(inputs), [node_of(name) for name in context.outputs]
    while todo:
        name = todo.pop()
        if name not in found:
            found.add(name)
            todo += [node_of(each) for each in nodes[name].input]
    return found


def _constants(order: list[Any], graph: Any, context: Context) -> dict[str, frozenset[str]]:
    """The nodes before the outputs whose values never change, with the control inputs that they have, or those before them."""
    found: dict[str, frozenset[str]] = {}
    left_out = {*context.parameters.get("exclude_node", ()), *(node_of(name) for name in context.outputs)}
    left_out_types = {*context.parameters.get("exclude_op", ())}
    for node in order:
        data = [node_of(name) for name in node.input if not is_control(name)]
        spec = op_spec.find(node.op)
        if node.name in left_out or node.op in left_out_types or spec is None or spec.effects.is_stateful or spec.facts.is_placeholder:
            continue
        if _has_known_shape(node, graph):
            data = []
        elif node.op != "Const" and (not data or not all(name in found for name in data)):
            continue
        controls = frozenset(name for name in node.input if is_control(name))
        found[node.name] = controls.union(*(found[name] for name in data))
    return found


def _folded(order: list[Any], constants: dict[str, frozenset[str]]) -> list[str]:
    """The tensors of constant nodes, other than Const, that other nodes take."""
    kinds = {node.name: node.op for node in order}
    taken = {with_slot(name) for node in order if node.name not in constants for name in node.input if not is_control(name)}
    return [name for name in sorted(taken) if node_of(name) in constants and kinds[node_of(name)] != "Const"]


def _with_constants(graph_def: messages.GraphDef, graph: Graph, values: dict[str, Any], constants: dict[str, frozenset[str]], context: Context) -> list[Any]:
    """The nodes that are needed, with constants in place of tensors; the inputs as placeholders stand last."""
    names = {name: f"{node_of(name)}/_{number}__cf__{number}" for number, name in enumerate(values)}
    for node in graph_def.node:
        if node.name not in constants:
            node.input[:] = [name if is_control(name) else names.get(with_slot(name), name) for name in node.input]
    for name, value in values.items():
        made = _const(names[name], value, graph.get_tensor_by_name(name).dtype)
        made.input.extend(sorted(constants[node_of(name)]))
        graph_def.node.append(made)
    nodes = {node.name: node for node in graph_def.node}
    needed, inputs = _needed(nodes, context), {node_of(name) for name in context.inputs}
    kept = [node for node in graph_def.node if node.name in needed and node.name not in inputs]
    return kept + [_as_placeholder(nodes[name]) for name in sorted(inputs)]


def _as_placeholder(node: Any) -> Any:
    if node.op == "PlaceholderWithDefault":
        node.op = "Placeholder"
        node.ClearField("input")
    if node.op != "Placeholder":
        raise invalid(f"The input {node.name!r} of fold_constants must be a Placeholder or PlaceholderWithDefault, but is a {node.op}.")
    return node


# ---- normalization ----


@transform("fold_batch_norms")
def _fold_batch_norms(graph_def: messages.GraphDef, context: Context) -> list[Any]:
    product = Pattern(("Conv2D", "MatMul", "DepthwiseConv2dNative"), (Pattern(), _CONSTANT))
    return replaced(graph_def.node, Pattern(("Mul",), (product, _CONSTANT)), _with_factors_in_weights)


def _with_factors_in_weights(match: Match, used: set[str]) -> list[Any] | None:
    """A product with weights that have the factors of its results in them."""
    product, factors = match.inputs
    source, weights = (each.node for each in product.inputs)
    if used & {product.node.name, weights.name, factors.node.name}:
        return None
    values, scale = _value(weights), _value(factors.node)
    columns = values.shape[-1] * (values.shape[-2] if product.node.op == "DepthwiseConv2dNative" else 1)
    if scale.shape != (columns,):
        raise invalid(f"{match.node.name!r} multiplies {columns} channels by factors of the shape {scale.shape}; fold_batch_norms wants ({columns},).")
    scaled = (values.reshape(-1, columns) * scale).reshape(values.shape)
    made = copied(product.node)
    made.name = match.node.name
    return [_const(weights.name, scaled), source, made]


@transform("fold_old_batch_norms")
def _fold_old_batch_norms(graph_def: messages.GraphDef, context: Context) -> list[Any]:
    return list(optimize_for_inference.fold_batch_norms(graph_def).node)


# ---- weights of fewer bits ----


def _range(values: np.ndarray, least: float, most: float) -> tuple[np.float32, np.float32]:
    """The least and the greatest of some numbers, and of two more."""
    return np.float32(min(values.min(initial=least), least)), np.float32(max(values.max(initial=most), most))


@transform("round_weights")
def _round_weights(graph_def: messages.GraphDef, context: Context) -> list[Any]:
    steps = context.integer("num_steps", 256)

    def rounded(match: Match, used: set[str]) -> list[Any]:
        if match.node.attr["dtype"].type != dtypes.float32.as_datatype_enum or (values := _value(match.node)).size < 16:
            return [match.node]
        tiny = np.finfo(np.float32).tiny
        low, high = _range(values, np.inf, tiny)
        if low == high:
            low, high = (low, low + np.float32(1)) if abs(low) < 1e-6 else (low, 2 * low) if low > 0 else (2 * high, high)
        width = (high - low) / np.float32(steps)
        return [_const(match.node.name, low + width * (np.floor((values - low) / width) + np.float32(0.5)))]

    return replaced(graph_def.node, _CONSTANT, rounded)


@transform("quantize_weights")
def _quantize_weights(graph_def: messages.GraphDef, context: Context) -> list[Any]:
    least = context.integer("minimum_size", 1024)

    def quantized(match: Match, used: set[str]) -> list[Any]:
        node = match.node
        if node.attr["dtype"].type != dtypes.float32.as_datatype_enum or (values := _value(node)).size < least:
            return [node]
        low, high = _range(values, 0.0, 0.0)
        high = high + np.float32(low == high)
        steps = _quint8(values, low, high)
        parts = [(f"{node.name}_quantized_const", steps, dtypes.quint8), (f"{node.name}_quantized_min", low, dtypes.float32)]
        parts.append((f"{node.name}_quantized_max", high, dtypes.float32))
        attrs = {"T": messages.AttrValue(type=dtypes.quint8.as_datatype_enum), "mode": messages.AttrValue(s=b"MIN_FIRST")}
        back = messages.NodeDef(name=node.name, op="Dequantize", input=[name for name, _, _ in parts], attr=attrs)
        return [*(_const(*part) for part in parts), back]

    return replaced(graph_def.node, _CONSTANT, quantized)


def _quint8(values: np.ndarray, low: np.float32, high: np.float32) -> np.ndarray:
    """The steps, of 256 between two numbers, that are nearest to some numbers between them."""
    scale = 255.0 / (float(high) - float(low))
    offset = np.round(float(low) * scale)
    return np.clip(np.round(values.astype(np.float64) * scale) - offset, 0, 255).astype(np.uint8)
