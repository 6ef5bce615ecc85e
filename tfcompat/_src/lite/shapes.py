"""Sizes of tensors that the graph leaves open and the conversion knows: of loop variables, and of elements of TensorArrays."""

from __future__ import annotations

import numpy as np

from tfcompat._src.base.arrays import NDArray
from tfcompat._src.graph import shape_inference
from tfcompat._src.graph.operation import Operation
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.ops.control.guards import MERGE
from tfcompat._src.ops.control.loop_ops import ENTER
from tfcompat._src.ops.flow.array_origin import array_op

_ROUNDS = 3
"""Elements that one loop writes are read behind it, in another round."""
_SPARES = frozenset(("Placeholder", "Const"))


def refine(ops: list[Operation], values: dict[Tensor, NDArray]) -> None:
    """Sets static shapes of the outputs of `ops`, sources first: a loop variable has the shape that enters, an element that of what is written.

    Args:
      values: known values, whose shapes are known, too.
    """
    for tensor, value in values.items():
        tensor._sizes = np.shape(value)
    for _ in range(_ROUNDS):
        elements = _element_sizes(ops)
        for op in ops:
            if all(t._sizes is not None and None not in t._sizes for t in op.outputs) or op.type in _SPARES:
                continue
            if op.type in ENTER or (op.type in MERGE and op.takes[0].op.type in ENTER):
                op.outputs[0]._sizes = op.takes[0]._sizes
            elif op.type == "TensorArrayReadV3":
                op.outputs[0]._sizes = elements.get(array_op(op.takes[0]), op.outputs[0]._sizes)
            elif op.type == "TensorArrayGatherV3":
                inner, indices = elements.get(array_op(op.takes[0])), op.takes[1]._sizes
                op.outputs[0]._sizes = (*indices, *inner) if inner is not None and indices is not None else op.outputs[0]._sizes
            elif not op.type.startswith("TensorArray"):
                shape_inference.infer(op)


def _element_sizes(ops: list[Operation]) -> dict[Operation | None, tuple[int | None, ...]]:
    """Sizes of the elements of TensorArrays, as far as what is written to them has known ones."""
    found: dict[Operation | None, tuple[int | None, ...]] = {}
    for op in ops:
        if op.type in ("TensorArrayWriteV3", "TensorArrayScatterV3"):
            sizes = op.takes[2]._sizes
            sizes = sizes[1:] if sizes and op.type == "TensorArrayScatterV3" else sizes
            if sizes is not None and None not in sizes:
                found[array_op(op.takes[0])] = sizes
    return found


def array_sizes(ops: list[Operation], values: dict[Tensor, NDArray]) -> dict[Tensor, NDArray]:
    """How many elements TensorArrays have that are made with a known size."""
    arrays = {op.outputs[0]: array_op(op.takes[0]) for op in ops if op.type == "TensorArraySizeV3"}
    return {t: np.asarray(values[a.takes[0]], np.int32) for t, a in arrays.items() if a is not None and a.takes[0] in values}
