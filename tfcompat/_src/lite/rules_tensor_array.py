"""TensorArrays as tensors: the flow is the stacked elements, reading is a GATHER, writing chooses the new element by its index."""

from __future__ import annotations

import numpy as np

from tfcompat._src.base import dtypes
from tfcompat._src.graph.operation import Operation
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.lite import model as lite
from tfcompat._src.lite.errors import ConverterError
from tfcompat._src.lite.lowering import SHAPE_OF_FLOW, Lowering, is_static, rule, static_shape
from tfcompat._src.ops.flow.array_origin import array_of_flow, array_op


def stacked(low: Lowering, flow: Tensor) -> tuple[tuple[int, ...], str] | None:
    """Shape and type of the elements behind a flow, stacked; None for a tensor that is no flow.

    Raises:
      ConverterError: the number of elements or their shape is not known.
    """
    array = array_of_flow(flow)
    if array is None:
        return None
    dtype = lite.TYPE_OF[np.dtype(dtypes.as_dtype(array.get_attr("dtype")).as_numpy_dtype)]
    size = low.root().values.get(array.takes[0])
    if size is None:
        raise ConverterError(f"TensorArray '{array.name}' has a size that is known only when the model runs.")
    return (int(size), *_element_shape(array)), dtype


def _element_shape(array: Operation) -> tuple[int, ...]:
    given = array.attrs["element_shape"]
    if given.is_fully_defined():
        return tuple(given.as_list())
    for op in array.graph.get_operations():
        if op.type in ("TensorArrayWriteV3", "TensorArrayScatterV3") and array_op(op.takes[0]) is array and is_static(op.takes[2]):
            shape = static_shape(op.takes[2])
            return shape if op.type == "TensorArrayWriteV3" else shape[1:]
    raise ConverterError(f"The elements of TensorArray '{array.name}' have a shape that is known only when the model runs.")


@rule("TensorArrayV3")
def _array(low: Lowering, op: Operation) -> None:
    found = stacked(low, op.outputs[1])
    if found is None:
        raise ConverterError(f"TensorArray '{op.name}' has no flow.")
    low.tensors[op.outputs[1]] = low.constant(op.name, np.zeros(found[0], lite.NUMPY_TYPES[found[1]]))


def _is_all(low: Lowering, indices: Tensor, flow: Tensor) -> bool:
    value, array = low.values.get(indices), stacked(low, flow)
    return value is not None and array is not None and np.array_equal(value, np.arange(array[0][0]))


@rule("TensorArrayScatterV3")
def _scatter(low: Lowering, op: Operation) -> None:
    if not _is_all(low, op.takes[1], op.outputs[0]):
        raise ConverterError(f"TensorArrayScatterV3 '{op.name}' writes some elements of the array only, which is not supported.")
    low.forward(op.takes[2], op.outputs[0])


@rule("TensorArrayReadV3")
def _read(low: Lowering, op: Operation) -> None:
    low.emit("GATHER", [low.tensor(op.takes[2]), low.tensor(op.takes[1])], [low.tensor(op.outputs[0])], axis=0)


@rule("TensorArrayGatherV3")
def _gather(low: Lowering, op: Operation) -> None:
    if _is_all(low, op.takes[1], op.takes[2]):
        low.forward(op.takes[2], op.outputs[0])
    else:
        low.emit("GATHER", [low.tensor(op.takes[2]), low.tensor(op.takes[1])], [low.tensor(op.outputs[0])], axis=0)


@rule("TensorArraySizeV3")
def _size(low: Lowering, op: Operation) -> None:
    found = stacked(low, op.takes[1])
    if found is not None:
        low.values[op.outputs[0]] = np.int32(found[0][0])


@rule("TensorArrayWriteV3")
def _write(low: Lowering, op: Operation) -> None:
    """Where the index is, the new element; elsewhere the old ones: SELECT takes whole rows by a vector."""
    old, index, value, new = low.tensor(op.takes[3]), low.tensor(op.takes[1]), low.tensor(op.takes[2]), low.tensor(op.outputs[0])
    size = old.shape[0]
    chosen = low.temporary(op.name + "/chosen", (size,), "BOOL")
    low.emit("EQUAL", [low.constant(op.name + "/indices", np.arange(size, dtype=np.int32)), index], [chosen])
    rows = low.temporary(op.name + "/rows", old.shape, old.dtype)
    low.emit("ADD", [low.constant(op.name + "/zeros", np.zeros(old.shape, lite.NUMPY_TYPES[old.dtype])), value], [rows])
    low.emit("SELECT", [chosen, rows, old], [new])


SHAPE_OF_FLOW.append(stacked)
