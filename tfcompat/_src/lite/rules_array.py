"""Lowering of ops that move, join and cut arrays, where TensorFlow Lite's operator differs from the op."""

from __future__ import annotations

import numpy as np

from tfcompat._src.base import dtypes
from tfcompat._src.graph.operation import Operation
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.lite import model as lite
from tfcompat._src.lite.errors import ConverterError
from tfcompat._src.lite.lowering import Lowering, is_static, rule, static_shape, tensor_type

_MIRROR_MODES = {b"REFLECT": 0, b"SYMMETRIC": 1}


def _type_number(dtype: object) -> int:
    return lite.TENSOR_TYPES.index(lite.TYPE_OF[np.dtype(dtypes.as_dtype(dtype).as_numpy_dtype)])


@rule("Reshape")
def _reshape(low: Lowering, op: Operation) -> None:
    output = low.tensor(op.outputs[0])
    if is_static(op.outputs[0]):
        shape = low.constant(_shape_name(low, op), np.asarray(output.shape, np.int32))
        low.emit("RESHAPE", [low.tensor(op.inputs[0]), shape], [output], new_shape=output.shape)
    else:
        low.emit("RESHAPE", [low.tensor(op.inputs[0]), low.tensor(op.inputs[1])], [output])


def _shape_name(low: Lowering, op: Operation) -> str:
    return op.inputs[1].op.name if op.inputs[1] in low.values else op.name + "/shape"


@rule("Squeeze", "ExpandDims")
def _to_reshape(low: Lowering, op: Operation) -> None:
    if is_static(op.outputs[0]):
        low.reshape(low.tensor(op.inputs[0]), low.tensor(op.outputs[0]))
    elif op.type == "ExpandDims":
        low.emit("EXPAND_DIMS", [low.tensor(t) for t in op.inputs], low.outputs(op))
    else:
        low.emit("SQUEEZE", [low.tensor(op.inputs[0])], low.outputs(op), squeeze_dims=op.get_attr("squeeze_dims"))


@rule("Transpose")
def _transpose(low: Lowering, op: Operation) -> None:
    """Transposes; a RESHAPE where only dimensions of size 1 move."""
    source, target = low.tensor(op.inputs[0]), low.tensor(op.outputs[0])
    permutation = low.values.get(op.inputs[1])
    if permutation is not None and is_static(op.inputs[0]) and is_static(op.outputs[0]):
        moved = [int(i) for i in permutation if source.shape[int(i)] != 1]
        if moved == sorted(moved):
            low.reshape(source, target)
            return
    low.emit("TRANSPOSE", [source, low.tensor(op.inputs[1])], [target])


@rule("Concat", "ConcatV2")
def _concat(low: Lowering, op: Operation) -> None:
    first = op.type == "Concat"
    axis = int(low.value(op.inputs[0 if first else -1], " (the axis)"))
    parts = list(op.inputs[1:] if first else op.inputs[:-1])
    rank = op.outputs[0].shape.ndims
    axis = axis + rank if axis < 0 and rank is not None else axis
    if len(parts) == 1:
        low.forward(parts[0], op.outputs[0])
        return
    low.emit("CONCATENATION", [low.tensor(t) for t in parts], low.outputs(op), axis=axis, fused_activation_function=0)


@rule("Pack")
def _pack(low: Lowering, op: Operation) -> None:
    rank = op.outputs[0].shape.ndims
    axis = op.get_attr("axis")
    axis = axis + rank if axis < 0 and rank is not None else axis
    if len(op.inputs) == 1 and is_static(op.outputs[0]):
        low.reshape(low.tensor(op.inputs[0]), low.tensor(op.outputs[0]))
        return
    low.emit("PACK", [low.tensor(t) for t in op.inputs], low.outputs(op), values_count=len(op.inputs), axis=axis)


@rule("Unpack")
def _unpack(low: Lowering, op: Operation) -> None:
    rank = op.inputs[0].shape.ndims
    axis = op.get_attr("axis")
    axis = axis + rank if axis < 0 and rank is not None else axis
    low.emit("UNPACK", [low.tensor(op.inputs[0])], low.outputs(op), num=op.get_attr("num"), axis=axis)


@rule("GatherV2", "ResourceGather")
def _gather(low: Lowering, op: Operation) -> None:
    axis = int(low.value(op.inputs[2], " (the axis)")) if op.type == "GatherV2" else 0
    if op.get_attr("batch_dims"):
        raise ConverterError(f"GatherV2 '{op.name}' has batch_dims = {op.get_attr('batch_dims')}: TensorFlow Lite needs 0.")
    rank = op.inputs[0].shape.ndims
    axis = axis + rank if axis < 0 and rank is not None else axis
    low.emit("GATHER", [low.tensor(op.inputs[0]), low.tensor(op.inputs[1])], low.outputs(op), axis=axis)


@rule("ArgMax", "ArgMin")
def _arg(low: Lowering, op: Operation) -> None:
    builtin = "ARG_MAX" if op.type == "ArgMax" else "ARG_MIN"
    low.emit(builtin, [low.tensor(t) for t in op.inputs], low.outputs(op), output_type=_type_number(op.outputs[0].dtype))


@rule("Cast")
def _cast(low: Lowering, op: Operation) -> None:
    source, target = low.tensor(op.inputs[0]), low.tensor(op.outputs[0])
    numbers = [lite.TENSOR_TYPES.index(t.dtype) for t in (source, target)]
    low.emit("CAST", [source], [target], in_data_type=numbers[0], out_data_type=numbers[1])


@rule("Shape")
def _shape(low: Lowering, op: Operation) -> None:
    low.emit("SHAPE", [low.tensor(op.inputs[0])], low.outputs(op), out_type=_type_number(op.outputs[0].dtype))


@rule("Unique")
def _unique(low: Lowering, op: Operation) -> None:
    low.emit("UNIQUE", [low.tensor(op.inputs[0])], low.outputs(op), idx_out_type=_type_number(op.outputs[1].dtype))


@rule("MirrorPad")
def _mirror_pad(low: Lowering, op: Operation) -> None:
    low.emit("MIRROR_PAD", [low.tensor(t) for t in op.inputs], low.outputs(op), mode=_MIRROR_MODES[op.get_attr("mode")])


@rule("AddN")
def _add_n(low: Lowering, op: Operation) -> None:
    inputs: list[lite.Tensor | None] = [low.tensor(t) for t in op.inputs]
    if len(inputs) == 1:
        low.forward(op.inputs[0], op.outputs[0])
    else:
        low.emit("ADD" if len(inputs) == 2 else "ADD_N", inputs, low.outputs(op))


@rule("Tile")
def _tile(low: Lowering, op: Operation) -> None:
    """Repeats; a CONCATENATION where along one dimension only."""
    multiples = low.values.get(op.inputs[1])
    repeated = [] if multiples is None else [i for i, m in enumerate(multiples) if m != 1]
    if multiples is not None and len(repeated) == 1:
        source = low.tensor(op.inputs[0])
        low.emit("CONCATENATION", [source] * int(multiples[repeated[0]]), low.outputs(op), axis=repeated[0])
    else:
        low.emit("TILE", [low.tensor(t) for t in op.inputs], low.outputs(op))


@rule("All")
def _all(low: Lowering, op: Operation) -> None:
    """Not any of the negated: 1.15 has no operator for it."""
    source, axes = (low.tensor(t) for t in op.inputs)
    negated = low.temporary(op.name + "/negated", source.shape, "BOOL")
    any_negated = low.temporary(op.name + "/any", static_shape(op.outputs[0]), "BOOL")
    low.emit("LOGICAL_NOT", [source], [negated])
    low.emit("REDUCE_ANY", [negated, axes], [any_negated], keep_dims=op.get_attr("keep_dims"))
    low.emit("LOGICAL_NOT", [any_negated], low.outputs(op))


@rule("MatrixDiagV2", "MatrixSetDiagV2")
def _matrix_diag_v2(low: Lowering, op: Operation) -> None:
    """The main diagonal of square matrices only, as TOCO."""
    position = 1 if op.type == "MatrixDiagV2" else 2
    if np.any(low.value(op.inputs[position], " (the diagonal)")):
        raise ConverterError(f"{op.type} '{op.name}': TensorFlow Lite has the main diagonal only.")
    builtin = "MATRIX_DIAG" if op.type == "MatrixDiagV2" else "MATRIX_SET_DIAG"
    low.emit(builtin, [low.tensor(t) for t in op.inputs[:position]], low.outputs(op))


@rule("FakeQuantWithMinMaxVars", "FakeQuantWithMinMaxArgs")
def _fake_quant(low: Lowering, op: Operation) -> None:
    if op.type == "FakeQuantWithMinMaxArgs":
        bounds = [op.get_attr("min"), op.get_attr("max")]
    else:
        bounds = [float(low.value(t, " (a bound)")) for t in op.inputs[1:]]
    low.emit("FAKE_QUANT", [low.tensor(op.inputs[0])], low.outputs(op), min=bounds[0], max=bounds[1],
             num_bits=op.get_attr("num_bits"), narrow_range=op.get_attr("narrow_range"))  # fmt: skip


def shape_of(tensor: Tensor) -> tuple[int, ...]:
    """The sizes of a tensor that must be known.

    Raises:
      ConverterError: they are not.
    """
    if not is_static(tensor):
        raise ConverterError(f"'{tensor.name}' has shape {tensor.shape}: all sizes must be known ({tensor_type(tensor)} of {tensor.op.type}).")
    return static_shape(tensor)
