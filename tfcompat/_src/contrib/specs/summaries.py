"""Descriptions of the graphs of networks: their operations as a line, as a tree, and how many parameters each layer has."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from tfcompat._src.base import dtypes
from tfcompat._src.base.export import export
from tfcompat._src.contrib.specs.specs import create_net
from tfcompat._src.graph.operation import Operation
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.ops.array.constant import placeholder

if TYPE_CHECKING:
    from tfcompat._src.base.dtypes import DTypeLike
    from tfcompat._src.base.tensor_shape import ShapeLike

SHORT_NAMES = {
    "BiasAdd": "biasadd", "Const": "_", "Conv2D": "conv", "MatMul": "dot", "Placeholder": "_", "Sigmoid": "sig", "Variable": "var",
}  # fmt: skip
SHORT_NAMES_SRC = [word for pair in SHORT_NAMES.items() for word in pair]


def _parts(x: Any, shape: Any) -> tuple[Operation, Any]:
    """The operation of a tensor or operation and the sizes of the tensor; `shape` for an operation."""
    return (x.op, x.shape.as_list()) if isinstance(x, Tensor) else (x, shape)


def _is_unrolled(op: Operation) -> bool:
    """Whether the inputs of an operation are too many to describe: unrolled steps of an LSTM."""
    return "/HorizontalLstm/" in op.name


@export("contrib.specs.tf_structure")
def tf_structure(x: object, include_shapes: bool = False, finished: set[Operation] | None = None) -> str:
    """The types of the operations behind a tensor or operation, inputs first; an operation that came before is `<>`.

    Args:
      x: Tensor or Operation.
      include_shapes: whether the sizes of each tensor stand before its operation.
      finished: operations that came before; those found are added.

    Returns:
      Words, each with a space before it.
    """
    finished = set() if finished is None else finished
    op, shape = _parts(x, [])
    if op in finished:
        return " <>"
    finished.add(op)
    inputs = () if _is_unrolled(op) else op.inputs
    words = "".join(tf_structure(each, include_shapes, finished) for each in inputs)
    words += f" {shape}" if include_shapes else ""
    return words if op.type == "Identity" else f"{words} {SHORT_NAMES.get(op.type, op.type.lower())}"


@export("contrib.specs.tf_print")
def tf_print(x: object, depth: int = 0, finished: set[Operation] | None = None, printer: Callable[[str], Any] = print) -> None:
    """Prints the operations behind a tensor or operation as a tree; one that came before stands in `<>`, without its inputs.

    Args:
      x: Tensor or Operation.
      depth: how deep the first line is indented.
      finished: operations that came before; those found are added.
      printer: function that takes each line.
    """
    finished = set() if finished is None else finished
    op, shape = _parts(x, "")
    op = op.inputs[0].op if op.type == "Identity" else op
    indent = "  " * depth
    if op in finished:
        printer(f"{indent}<{op.name}> {op.type} {shape}")
        return
    finished.add(op)
    printer(f"{indent}{op.name} {op.type} {shape}")
    for each in () if _is_unrolled(op) else op.inputs:
        tf_print(each, depth + 1, finished, printer=printer)


@export("contrib.specs.tf_num_params")
def tf_num_params(x: Any) -> int:
    """How many elements the variables behind a tensor or operation have; one that is reached twice counts twice."""
    op = x.op if isinstance(x, Tensor) else x
    if op.type in ("Variable", "VariableV2"):
        return op.outputs[0].shape.num_elements()
    return sum(tf_num_params(each) for each in op.inputs)


@export("contrib.specs.tf_left_split")
def tf_left_split(op: Operation) -> tuple[Tensor | None, list[Tensor]]:
    """The first input of an operation, None if it has none, and the others."""
    data = list(op.inputs)[1 if op.type == "Concat" else 0 :]
    return (data[0], data[1:]) if data else (None, [])


@export("contrib.specs.tf_parameter_iter")
def tf_parameter_iter(x: object) -> Iterator[tuple[str, int, Any]]:
    """For each operation on the way over first inputs: its name, the parameters behind its other inputs, the sizes of its tensor."""
    while x is not None:
        op, shape = _parts(x, "")
        x, others = tf_left_split(op)
        yield op.name, sum(tf_num_params(each) for each in others), shape


def _by_scope(rows: Iterator[tuple[str, int, Any]]) -> Iterator[tuple[str, int, Any]]:
    """Rows whose names begin with the same scope as one row, with the shape of the first."""
    for scope, found in itertools.groupby(rows, lambda row: row[0].partition("/")[0]):
        same = list(found)
        yield scope, sum(total for _, total, _ in same), same[0][2]


@export("contrib.specs.tf_parameter_summary")
def tf_parameter_summary(x: object, printer: Callable[[str], Any] = print, combine: bool = True) -> None:
    """Prints a line for each layer, the first one first: its parameters, its name and its shape.

    Args:
      x: Tensor or Operation.
      printer: function that takes each line.
      combine: whether operations of one scope are one line.
    """
    rows = tf_parameter_iter(x)
    for name, total, shape in reversed(list(_by_scope(rows) if combine else rows)):
        printer(f"{total:10d} {name:<20s} {shape}")


def _outputs(spec: str, inputs: object, input_shape: ShapeLike, input_type: DTypeLike) -> Any:
    return create_net(spec, placeholder(input_type, input_shape) if inputs is None else inputs)


@export("contrib.specs.tf_spec_structure")
def tf_spec_structure(spec: str, inputs: object = None, input_shape: ShapeLike = None, input_type: DTypeLike = dtypes.float32) -> str:
    """The types of the operations of a specified network, as `tf_structure` gives them.

    Args:
      spec: the specification, see `create_net`.
      inputs: its input; None for a placeholder.
      input_shape, input_type: shape and dtype of the placeholder.
    """
    return tf_structure(_outputs(spec, inputs, input_shape, input_type)).strip()


@export("contrib.specs.tf_spec_summary")
def tf_spec_summary(spec: str, inputs: object = None, input_shape: ShapeLike = None, input_type: DTypeLike = dtypes.float32) -> None:
    """Prints the layers of a specified network, as `tf_parameter_summary` does; the arguments are those of `tf_spec_structure`."""
    tf_parameter_summary(_outputs(spec, inputs, input_shape, input_type))


@export("contrib.specs.tf_spec_print")
def tf_spec_print(spec: str, inputs: object = None, input_shape: ShapeLike = None, input_type: DTypeLike = dtypes.float32) -> None:
    """Prints the operations of a specified network, as `tf_print` does; the arguments are those of `tf_spec_structure`."""
    tf_print(_outputs(spec, inputs, input_shape, input_type))
