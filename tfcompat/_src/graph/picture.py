"""Draws a graph as one HTML page that needs no network: scopes that open, colours of devices, shapes on edges."""

from __future__ import annotations

import html
import json
import pathlib
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from tfcompat._src.proto import messages

if TYPE_CHECKING:
    from tfcompat._src.graph.operation import Operation

_FOLDER = pathlib.Path(__file__).parent
Node = list[object]
"""[name, op type, [[position of the source, shape as text]...], [positions of control inputs], position of the device]."""


def graph_html(operations: Iterable[Operation], opened: Sequence[str] = ()) -> str:
    """Returns an HTML fragment, an inline frame, that draws operations of a graph.

    Args:
      operations: those of a `tf.Graph`; inputs that are not among them are left out.
      opened: names of scopes that are open at first.
    """
    there = list(operations)
    position = {op: i for i, op in enumerate(there)}
    devices: dict[str, int] = {}
    nodes: list[Node] = [
        [
            op.name, op.type, [[position[t.op], _shape(None if t.shape.dims is None else t.shape.as_list(), t.shape.dims is None)] for t in op.inputs if t.op in position],
            [position[c] for c in op.control_inputs if c in position], devices.setdefault(op.device, len(devices)),
        ]
        for op in there
    ]  # fmt: skip
    return _frame(nodes, list(devices), opened)


def graph_def_html(graph_def: messages.GraphDef, opened: Sequence[str] = ()) -> str:
    """Returns what `graph_html` does, for the nodes of a `GraphDef`; shapes are those that `as_graph_def(add_shapes=True)` writes."""
    position = {node.name: i for i, node in enumerate(graph_def.node)}
    devices: dict[str, int] = {}
    nodes: list[Node] = []
    for node in graph_def.node:
        data, controls = [], []
        for text in node.input:
            name, _, output = text.lstrip("^").partition(":")
            if name not in position:
                continue
            if text.startswith("^"):
                controls.append(position[name])
            else:
                data.append([position[name], _written_shape(graph_def.node[position[name]], int(output or 0))])
        nodes.append([node.name, node.op, data, controls, devices.setdefault(node.device, len(devices))])
    return _frame(nodes, list(devices), opened)


def _written_shape(node: messages.NodeDef, output: int) -> str:
    if "_output_shapes" not in node.attr or output >= len(node.attr["_output_shapes"].list.shape):
        return ""
    shape = node.attr["_output_shapes"].list.shape[output]
    return _shape([d.size for d in shape.dim], shape.unknown_rank)


def _shape(sizes: Sequence[int | None] | None, is_unknown: bool) -> str:
    """A shape as the picture writes it: "?×784", "scalar", or "" where the rank is unknown."""
    if is_unknown:
        return ""
    return "×".join("?" if n is None or n < 0 else str(n) for n in sizes or ()) or "scalar"


def _frame(nodes: list[Node], devices: list[str], opened: Sequence[str]) -> str:
    data = json.dumps({"nodes": nodes, "devices": devices}, separators=(",", ":"), ensure_ascii=False).replace("<", "\\u003c")
    names = json.dumps(list(opened)).replace("<", "\\u003c")
    style, script = ((_FOLDER / f"picture.{kind}").read_text("utf-8") for kind in ("css", "js"))
    page = (
        f'<!doctype html><meta charset="utf-8"><style>{style}</style><div id="bar"><span id="count"></span>'
        '<input id="find" placeholder="find an operation"><button id="fit">fit</button><span id="key"></span></div>'
        f'<svg id="canvas"></svg><div id="facts"></div><script>const DATA = {data}, OPEN = {names};\n{script}</script>'
    )
    return (
        '<iframe title="graph" sandbox="allow-scripts" style="width:100%;height:600px;border:1px solid #ccc" '
        f'srcdoc="{html.escape(page)}"></iframe>'
    )
