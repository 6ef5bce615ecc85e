"""Transforms that take, rename and order nodes, and change their attributes and devices."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tfcompat._src.base import dtypes, errors
from tfcompat._src.base.tensor_shape import TensorShape
from tfcompat._src.graph import attr_values, op_spec
from tfcompat._src.proto import messages
from tfcompat._src.saved_model.graph_transforms import matching
from tfcompat._src.saved_model.graph_transforms.context import (
    Context,
    copied,
    invalid,
    is_control,
    node_of,
    transform,
    with_slot,
)


def _changed(graph_def: messages.GraphDef, change: Callable[[Any], None]) -> list[Any]:
    """Copies of all nodes, each after `change`."""
    nodes = [copied(node) for node in graph_def.node]
    for node in nodes:
        change(node)
    return nodes


@transform("remove_device")
def _remove_device(graph_def: messages.GraphDef, context: Context) -> list[Any]:
    return _changed(graph_def, lambda node: node.ClearField("device"))


@transform("set_device")
def _set_device(graph_def: messages.GraphDef, context: Context) -> list[Any]:
    device, only_missing = context.one("device", ""), context.truth("if_default", False)

    def change(node: Any) -> None:
        node.device = node.device if only_missing and node.device else device

    return _changed(graph_def, change)


@transform("remove_control_dependencies")
def _remove_control_dependencies(graph_def: messages.GraphDef, context: Context) -> list[Any]:
    def change(node: Any) -> None:
        node.input[:] = [name for name in node.input if not is_control(name)]

    return _changed(graph_def, change)


@transform("remove_attribute")
def _remove_attribute(graph_def: messages.GraphDef, context: Context) -> list[Any]:
    attribute, kind = context.one("attribute_name"), context.one("op_name", "*")

    def change(node: Any) -> None:
        if kind in ("*", node.op):
            node.attr.pop(attribute, None)

    return _changed(graph_def, change)


@transform("rename_attribute")
def _rename_attribute(graph_def: messages.GraphDef, context: Context) -> list[Any]:
    old, new, kind = context.one("old_attribute_name"), context.one("new_attribute_name"), context.one("op_name", "*")

    def change(node: Any) -> None:
        if kind in ("*", node.op) and old in node.attr:
            value = messages.AttrValue()
            value.CopyFrom(node.attr.pop(old))
            if new not in node.attr:
                node.attr[new].CopyFrom(value)

    return _changed(graph_def, change)


@transform("rename_op")
def _rename_op(graph_def: messages.GraphDef, context: Context) -> list[Any]:
    old, new = context.one("old_op_name"), context.one("new_op_name")

    def change(node: Any) -> None:
        node.op = new if node.op == old else node.op

    return _changed(graph_def, change)


@transform("add_default_attributes")
def _add_default_attributes(graph_def: messages.GraphDef, context: Context) -> Any:
    result = copied(graph_def)
    for node in result.node:
        spec = op_spec.find(node.op)
        if spec is None:
            raise errors.NotFoundError(None, None, f"Node {node.name!r} is of the type {node.op!r}, which is not there.")
        for attr in attr_values.op_def(spec).attr:
            if attr.HasField("default_value") and attr.name not in node.attr:
                node.attr[attr.name].CopyFrom(attr.default_value)
    return result


@transform("sort_by_execution_order")
def _sort_by_execution_order(graph_def: messages.GraphDef, context: Context) -> list[Any]:
    return matching.in_order(graph_def.node)


_DIGITS = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"


def _short_name(number: int) -> str:
    rest, digit = divmod(number, len(_DIGITS))
    return (_short_name(rest) if rest else "") + _DIGITS[digit]


@transform("obfuscate_names")
def _obfuscate_names(graph_def: messages.GraphDef, context: Context) -> list[Any]:
    kept, names, number = {*context.inputs, *context.outputs}, {}, 0
    for node in graph_def.node:
        names[node.name] = node.name
        while node.name not in kept:
            names[node.name] = _short_name(number)
            number += 1
            if names[node.name] not in kept:
                break

    def change(node: Any) -> None:
        unknown = [name for name in node.input if node_of(name) not in names]
        if unknown:
            raise invalid(f"Node {node.name!r} takes the input {unknown[0]!r}, but the graph has no such node.")
        node.name = names[node.name]
        node.input[:] = ["^" * is_control(name) + names[node_of(name)] + "".join(name.partition(":")[1:]) for name in node.input]

    return _changed(graph_def, change)


# ---- fewer nodes ----


@transform("remove_nodes")
def _remove_nodes(graph_def: messages.GraphDef, context: Context) -> list[Any]:
    if not context.parameters.get("op"):
        raise invalid("remove_nodes takes the op types that go, as in remove_nodes(op=Identity).")
    nodes = list(graph_def.node)
    for kind in context.parameters["op"]:
        for count in range(1, context.integer("max_inputs", 1) + 1):
            nodes = _without(nodes, matching.Pattern((kind,), (matching.Pattern(),) * count), context.ends)
    return nodes


def _without(nodes: list[Any], pattern: matching.Pattern, kept: set[str]) -> list[Any]:
    """The nodes without those that fit the pattern; who took from one of them takes from its first input."""
    while True:
        stand_ins: dict[str, str] = {}

        def first_input(match: matching.Match, used: set[str], stand_ins: dict[str, str] = stand_ins) -> list[Any] | None:
            if match.node.name in kept:
                return None
            source = match.inputs[0].node
            stand_ins[match.node.name] = next(name for name in match.node.input if not is_control(name) and node_of(name) == source.name)
            return [source]

        nodes = matching.replaced(nodes, pattern, first_input, may_lose=True)
        if not stand_ins:
            return nodes

        def rename(name: str, stand_ins: dict[str, str] = stand_ins) -> str | None:
            other = stand_ins.get(node_of(name))
            if other is None or (not is_control(name) and with_slot(name) != f"{node_of(name)}:0"):
                return None
            return f"^{node_of(other)}" if is_control(name) else other

        nodes = matching.renamed_inputs(nodes, rename)


@transform("merge_duplicate_nodes")
def _merge_duplicate_nodes(graph_def: messages.GraphDef, context: Context) -> list[Any]:
    nodes, kept = list(graph_def.node), {*context.inputs, *context.outputs}
    while True:
        first: dict[Any, str] = {}
        merged: dict[str, str] = {}
        rest = []
        for node in nodes:
            original = node.name if _is_stateful(node) else first.setdefault(_contents(node, kept), node.name)
            if original == node.name:
                rest.append(node)
            else:
                merged[node.name] = original
        if not merged:
            return rest

        def rename(name: str, merged: dict[str, str] = merged) -> str | None:
            other = merged.get(node_of(name))
            return None if other is None else "^" * is_control(name) + other + "".join(name.partition(":")[1:])

        nodes = matching.renamed_inputs(rest, rename)


def _is_stateful(node: Any) -> bool:
    spec = op_spec.find(node.op)
    if spec is None:
        raise errors.NotFoundError(None, None, f"Node {node.name!r} is of the type {node.op!r}, which is not there.")
    return spec.effects.is_stateful


def _contents(node: Any, named: set[str]) -> Any:
    """All that says what a node does; its name only for nodes that are known by it."""
    attributes = tuple((key, node.attr[key].SerializeToString()) for key in sorted(node.attr))
    inputs = tuple(name if is_control(name) else with_slot(name) for name in node.input)
    return node.op, node.name if node.name in named else "", inputs, node.device, attributes


@transform("strip_unused_nodes")
def _strip_unused_nodes(graph_def: messages.GraphDef, context: Context) -> list[Any]:
    inputs = {node_of(name) for name in context.inputs}
    nodes = {node.name: node for node in graph_def.node}
    needed, todo = set(inputs), [node_of(name) for name in context.outputs]
    while todo:
        name = todo.pop()
        if name in needed:
            continue
        needed.add(name)
        if name not in nodes:
            raise invalid(f"The graph has no node {name!r}, which the outputs {context.outputs} need.")
        todo += [node_of(each) for each in nodes[name].input]
    return [_placeholder(node, context) if node.name in inputs else node for node in graph_def.node if node.name in needed]


def _placeholder(node: Any, context: Context) -> Any:
    """A placeholder in place of an input; its type and shape are parameters of the transform."""
    if node.op == "Placeholder":
        return node
    kind, shape = _parameter_for(node.name, "type", context) or "float", _parameter_for(node.name, "shape", context)
    attrs = {
        "dtype": messages.AttrValue(type=_data_type(kind)),
        "shape": messages.AttrValue(shape=TensorShape(_sizes(shape) if shape is not None else []).as_proto()),
    }
    return messages.NodeDef(name=node.name, op="Placeholder", attr=attrs)


def _parameter_for(node: str, what: str, context: Context) -> str | None:
    """The `what_for_name` of the node, or else the `what` of all."""
    names, values = context.parameters.get("name", []), context.parameters.get(f"{what}_for_name", [])
    if values and len(names) != len(values):
        raise invalid(f"strip_unused_nodes takes a {what}_for_name for each name; it got {len(values)} for the names {names}.")
    found = dict(zip(names, values, strict=False)).get(node)
    return context.one(what) if found is None and what in context.parameters else found


def _data_type(name: str) -> int:
    known = {"float": "float32", "double": "float64", "half": "float16"}
    try:
        return dtypes.as_dtype(known.get(name, name)).as_datatype_enum
    except TypeError:
        raise invalid(f"The type {name!r} of strip_unused_nodes is no dtype.") from None


def _sizes(text: str) -> list[int]:
    try:
        return [int(size) for size in text.split(",")]
    except ValueError:
        raise invalid(f"The shape {text!r} of strip_unused_nodes must be sizes with commas between them.") from None
