"""tf.contrib.slim.model_analyzer: sizes of operations and variables."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from tfcompat._src.base.export import export
from tfcompat._src.graph.graph import Graph


def _title(text: str) -> None:
    print("---------", text, "---------", sep="\n")


@export("contrib.slim.model_analyzer.tensor_description")
def tensor_description(var: Any) -> str:
    """Dtype and shape of a tensor or variable, "(float32 2x3)"."""
    return f"({var.dtype.name} {'x'.join(str(size) for size in var.get_shape())})"


@export("contrib.slim.model_analyzer.analyze_ops")
def analyze_ops(graph: Graph, print_info: bool = False) -> int:
    """The number of elements that all operations of a graph give; where `print_info`, it prints them."""
    if print_info:
        _title("Operations: name -> (type shapes) [size]")
    total = 0
    for op in graph.get_operations():
        size = sum(output.get_shape().num_elements() or 0 for output in op.outputs)
        if print_info:
            shapes = ", ".join(tensor_description(output) for output in op.outputs if output.get_shape())
            print(op.name, "\t->", shapes, f"[{size}]")
        total += size
    return total


@export("contrib.slim.model_analyzer.analyze_vars")
def analyze_vars(variables: Iterable[Any], print_info: bool = False) -> tuple[int, int]:
    """The number of elements and of bytes of variables; where `print_info`, it prints them."""
    if print_info:
        _title("Variables: name (type shape) [size]")
    elements, size = 0, 0
    for variable in variables:
        count = variable.get_shape().num_elements() or 0
        elements, size = elements + count, size + count * variable.dtype.size
        if print_info:
            print(variable.name, tensor_description(variable), f"[{count}, bytes: {count * variable.dtype.size}]")
    if print_info:
        print(f"Total size of variables: {elements}", f"Total bytes of variables: {size}", sep="\n")
    return elements, size
