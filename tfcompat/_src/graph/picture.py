"""Draws a graph as one self-contained HTML page: scopes that open, a colour per device, shapes on edges.

Python only collects nodes and edges as JSON; `picture.js` lays them out and draws them, so nothing is loaded from the network.
"""

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
      operations: operations of a `tf.Graph`; edges from other operations are omitted.
      opened: names of the scopes that are open at first.
    """
    nodes_drawn = list(operations)
    position = {op: i for i, op in enumerate(nodes_drawn)}
    devices: dict[str, int] = {}
    nodes: list[Node] = [
        [
            op.name, op.type, [[position[t.op], _shape(None if t.shape.dims is None else t.shape.as_list(), t.shape.dims is None)] for t in op.inputs if t.op in position],
            [position[c] for c in op.control_inputs if c in position], devices.setdefault(op.device, len(devices)),
        ]
        for op in nodes_drawn
    ]  # fmt: skip
    return _frame(nodes, list(devices), opened)


def graph_def_html(graph_def: messages.GraphDef, opened: Sequence[str] = ()) -> str:
    """Returns the HTML fragment of `graph_html` for a GraphDef; shapes come from the attribute `_output_shapes`, if nodes have it."""
    position = {node.name: i for i, node in enumerate(graph_def.node)}
    devices: dict[str, int] = {}
    nodes: list[Node] = []
    for node in graph_def.node:
        data, controls = [], []
        for text in node.input:
            # Inputs from nodes outside the GraphDef are omitted, as it may be a part of a graph.
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
    """Returns the label for the shape that `_output_shapes` states for an output, or "" if it states none."""
    if "_output_shapes" not in node.attr or output >= len(node.attr["_output_shapes"].list.shape):
        return ""
    shape = node.attr["_output_shapes"].list.shape[output]
    return _shape([d.size for d in shape.dim], shape.unknown_rank)


def _shape(sizes: Sequence[int | None] | None, is_unknown: bool) -> str:
    """Formats a shape for the picture: "?×784", "scalar", or "" if the rank is unknown."""
    if is_unknown:
        return ""
    return "×".join("?" if n is None or n < 0 else str(n) for n in sizes or ()) or "scalar"


def _frame(nodes: list[Node], devices: list[str], opened: Sequence[str]) -> str:
    """Returns the inline frame whose page holds the nodes as JSON."""
    # "<" is escaped so that no name of the program can close the script element; the sandbox keeps the page from its notebook.
    data = json.dumps({"nodes": nodes, "devices": devices}, separators=(",", ":"), ensure_ascii=False).replace("<", "\\u003c")
    names = json.dumps(list(opened)).replace("<", "\\u003c")
    style, script = ((_FOLDER / f"picture.{kind}").read_text("utf-8") for kind in ("css", "js"))
    # The page is the `srcdoc` of the frame, so its styles and names cannot clash with those of the notebook.
    page = (
        f'<!doctype html><meta charset="utf-8"><style>{style}</style><div id="bar"><span id="count"></span>'
        '<input id="find" placeholder="find an operation"><button id="fit">fit</button><span id="key"></span></div>'
        f'<svg id="canvas"></svg><div id="facts"></div><script>const DATA = {data}, OPEN = {names};\n{script}</script>'
    )
    return (
        '<iframe title="graph" sandbox="allow-scripts" style="width:100%;height:600px;border:1px solid #ccc" '
        f'srcdoc="{html.escape(page)}"></iframe>'
    )
