"""Models as .dot text for Graphviz."""

from __future__ import annotations

import os

from tfcompat._src.lite import model as lite
from tfcompat._src.platform import file_io

_OPERATOR = 'shape=box, style=filled, fillcolor="#B0BEC5"'
_CONSTANT = 'shape=box, style="filled,rounded", fillcolor="#DBD3C9"'
_TENSOR = 'shape=octagon, style=filled, fillcolor="#E3F2FD"'


def _quoted(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def dot(model: lite.Model) -> str:
    """A digraph with a box for each operator and an octagon for each tensor."""
    lines = ["digraph Computegraph { tooltip = \"/\"", "  rankdir=TB;"]
    for number, subgraph in enumerate(model.subgraphs):
        for tensor in subgraph.used():
            style = _TENSOR if tensor.data is None else _CONSTANT
            label = f"{tensor.name}\\n{tensor.dtype.lower()} {list(tensor.shape)}"
            lines.append(f"  {_quoted(f'{number}/{tensor.name}')} [{style}, label={_quoted(label).replace(chr(92) * 2, chr(92))}];")
        for position, operator in enumerate(subgraph.operators):
            box = _quoted(f"{number}/op{position}")
            lines.append(f"  {box} [{_OPERATOR}, label={_quoted(operator.custom_code or operator.builtin)}];")
            lines += [f"  {_quoted(f'{number}/{t.name}')} -> {box};" for t in operator.inputs if t is not None]
            lines += [f"  {box} -> {_quoted(f'{number}/{t.name}')};" for t in operator.outputs]
    return "\n".join([*lines, "}", ""])


def dump(model: lite.Model, folder: str, steps: bool) -> None:
    """Writes the model as toco_AT_IMPORT.dot and toco_AFTER_TRANSFORMATIONS.dot.

    Args:
      folder: where to. steps: also one file for each operator that has run, as frames of a film.
    """
    file_io.makedirs(folder)
    for name in ("toco_AT_IMPORT.dot", "toco_AFTER_TRANSFORMATIONS.dot"):
        file_io.write_string_to_file(os.path.join(folder, name), dot(model))
    main = model.subgraphs[0]
    for count in range(len(main.operators) if steps else 0):
        part = lite.Model([lite.Subgraph(main.inputs, main.outputs, main.operators[: count + 1])])
        file_io.write_string_to_file(os.path.join(folder, f"toco_video_{count:05d}.dot"), dot(part))
