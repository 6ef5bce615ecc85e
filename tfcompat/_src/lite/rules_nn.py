"""Lowering of convolutions, products, pools and normalizations: weights change their layout, a bias is always there."""

from __future__ import annotations

import numpy as np

from tfcompat._src.base.arrays import NDArray
from tfcompat._src.graph.operation import Operation
from tfcompat._src.lite import model as lite
from tfcompat._src.lite.errors import ConverterError
from tfcompat._src.lite.lowering import Lowering, rule
from tfcompat._src.lite.rules_array import shape_of

_PADDINGS = {b"SAME": lite.SAME, b"VALID": lite.VALID}


def _padding(op: Operation) -> int:
    found = _PADDINGS.get(op.get_attr("padding"))
    if found is None:
        raise ConverterError(f"{op.type} '{op.name}' has padding {op.get_attr('padding').decode()}: TensorFlow Lite has SAME and VALID.")
    return found


def _window(op: Operation) -> dict[str, int]:
    """Padding, strides and dilations of an op on NHWC images."""
    if op.get_attr("data_format") != b"NHWC":
        raise ConverterError(f"{op.type} '{op.name}' has data_format {op.get_attr('data_format').decode()}: TensorFlow Lite has NHWC.")
    strides = op.get_attr("strides")
    return {"padding": _padding(op), "stride_h": strides[1], "stride_w": strides[2]}


def _dilations(op: Operation) -> dict[str, int]:
    dilations = op.get_attr("dilations")
    return {"dilation_h_factor": dilations[1], "dilation_w_factor": dilations[2]}


def _zero_bias(low: Lowering, name: str, size: int) -> lite.Tensor:
    return low.constant(name + "_bias", np.zeros(size, np.float32))


@rule("Conv2D")
def _conv(low: Lowering, op: Operation) -> None:
    height, width, depth, units = shape_of(op.inputs[1])
    options = {**_window(op), **_dilations(op)}
    weights = low.tensor(op.inputs[1])
    bias = _zero_bias(low, op.name, units)
    square = options["stride_h"] == options["stride_w"] and options["dilation_h_factor"] == options["dilation_w_factor"] == 1
    if depth == 1 and square and weights.data is not None:  # a depthwise convolution of one channel, as TOCO has it
        kernel = low.constant(weights.name + "/depthwise", weights.data.reshape(1, height, width, units))
        kernel.quantization = weights.quantization
        low.emit("DEPTHWISE_CONV_2D", [low.tensor(op.inputs[0]), kernel, bias], low.outputs(op), depth_multiplier=units, **options)
        return
    kernel = low.transpose(weights, [3, 0, 1, 2], weights.name + "_transposed")
    low.emit("CONV_2D", [low.tensor(op.inputs[0]), kernel, bias], low.outputs(op), **options)


@rule("DepthwiseConv2dNative")
def _depthwise(low: Lowering, op: Operation) -> None:
    height, width, depth, multiplier = shape_of(op.inputs[1])
    weights = low.tensor(op.inputs[1])
    shape = (1, height, width, depth * multiplier)
    if weights.data is not None:
        kernel = low.constant(weights.name + "_reshaped", weights.data.reshape(shape))
        kernel.quantization = weights.quantization
    else:
        kernel = low.temporary(weights.name + "_reshaped", shape, weights.dtype)
        low.reshape(weights, kernel)
    bias = _zero_bias(low, op.name, depth * multiplier)
    low.emit("DEPTHWISE_CONV_2D", [low.tensor(op.inputs[0]), kernel, bias], low.outputs(op), depth_multiplier=multiplier,
             **_window(op), **_dilations(op))  # fmt: skip


@rule("Conv2DBackpropInput")
def _transpose_conv(low: Lowering, op: Operation) -> None:
    if any(d != 1 for d in op.get_attr("dilations")):
        raise ConverterError(f"Conv2DBackpropInput '{op.name}' has dilations: TensorFlow Lite has none.")
    weights = low.tensor(op.inputs[1])
    kernel = low.transpose(weights, [2, 0, 1, 3], weights.name + "_transposed")
    sizes = low.constant(op.inputs[0].op.name, np.asarray(shape_of(op.outputs[0]), np.int32))
    low.emit("TRANSPOSE_CONV", [sizes, kernel, low.tensor(op.inputs[2])], low.outputs(op), **_window(op))


@rule("AvgPool", "MaxPool")
def _pool(low: Lowering, op: Operation) -> None:
    ksize, strides = op.get_attr("ksize"), op.get_attr("strides")
    if ksize[0] != 1 or ksize[3] != 1 or strides[0] != 1 or strides[3] != 1:
        raise ConverterError(f"{op.type} '{op.name}' pools batch or channels: TensorFlow Lite pools height and width.")
    builtin = "AVERAGE_POOL_2D" if op.type == "AvgPool" else "MAX_POOL_2D"
    low.emit(builtin, [low.tensor(op.inputs[0])], low.outputs(op), filter_height=ksize[1], filter_width=ksize[2], **_window(op))


@rule("ResizeNearestNeighbor")
def _resize_nearest(low: Lowering, op: Operation) -> None:
    """Resizing to a multiple of the size is the same with centers of pixels at their halves."""
    if op.get_attr("half_pixel_centers"):
        sizes, wanted = shape_of(op.inputs[0])[1:3], shape_of(op.outputs[0])[1:3]
        if any(w % s for s, w in zip(sizes, wanted)):
            raise ConverterError(f"ResizeNearestNeighbor '{op.name}' has half_pixel_centers, which TensorFlow Lite has for multiples only.")
    low.emit("RESIZE_NEAREST_NEIGHBOR", [low.tensor(t) for t in op.inputs], low.outputs(op), align_corners=op.get_attr("align_corners"))


@rule("MatMul")
def _matmul(low: Lowering, op: Operation) -> None:
    left, right = (low.tensor(t) for t in op.inputs)
    shape_of(op.inputs[1])
    if op.get_attr("transpose_a"):
        left = low.transpose(left, [1, 0], left.name + "/transpose")
    if not op.get_attr("transpose_b"):
        right = _transposed_right(low, right)
    low.emit("FULLY_CONNECTED", [left, right, _zero_bias(low, op.name, right.shape[0])], low.outputs(op))


def _transposed_right(low: Lowering, right: lite.Tensor) -> lite.Tensor:
    """[out, in] of [in, out]: a RESHAPE where a side is 1."""
    if right.data is None and 1 in right.shape:
        target = low.temporary(right.name + "/transpose", right.shape[::-1], right.dtype)
        low.reshape(right, target)
        return target
    return low.transpose(right, [1, 0], right.name + "/transpose")


@rule("BatchMatMul", "BatchMatMulV2")
def _batch_matmul(low: Lowering, op: Operation) -> None:
    """One FULLY_CONNECTED for each pair of matrices: 1.15 has no operator of batches."""
    shapes = [shape_of(t) for t in (*op.inputs, *op.outputs)]
    sides = [low.tensor(t) for t in op.inputs]
    for i, attribute in enumerate(("adj_x", "adj_y")):
        if op.get_attr(attribute):
            rank = len(shapes[i])
            permutation = [*range(rank - 2), rank - 1, rank - 2]
            sides[i] = low.transpose(sides[i], permutation, f"{op.name}/{attribute}")
    batch = shapes[2][:-2]
    if any(tuple(s.shape[:-2]) != batch for s in sides):
        raise ConverterError(f"{op.type} '{op.name}' broadcasts its batches, which TensorFlow Lite does not.")
    left, right = (_flat_batch(low, side, f"{op.name}/{name}") for side, name in zip(sides, ("slice_a", "slice_b")))
    results: list[lite.Tensor | None] = []
    for i in range(left.shape[0]):
        result = low.temporary(f"{op.name}_b{i}", shapes[2][-2:], sides[0].dtype)
        columns = _columns(low, _matrix(low, right, i, f"{result.name}/slice_b"), f"{result.name}/slice_b")
        rows = _matrix(low, left, i, f"{result.name}/slice_a")
        low.emit("FULLY_CONNECTED", [rows, columns, _zero_bias(low, result.name, columns.shape[0])], [result])
        results.append(result)
    output = low.tensor(op.outputs[0])
    if len(batch) == 1:
        low.emit("PACK", results, [output], values_count=len(results), axis=0)
        return
    packed = low.temporary(op.name + "/packed", (len(results), *shapes[2][-2:]), output.dtype)
    low.emit("PACK", results, [packed], values_count=len(results), axis=0)
    low.reshape(packed, output)


def _flat_batch(low: Lowering, side: lite.Tensor, name: str) -> lite.Tensor:
    """Matrices of several batch dimensions as those of one."""
    if len(side.shape) == 3:
        return side
    flat = low.temporary(name + "/flat", (int(np.prod(side.shape[:-2], dtype=int)), *side.shape[-2:]), side.dtype)
    low.reshape(side, flat)
    return flat


def _matrix(low: Lowering, side: lite.Tensor, i: int, name: str) -> lite.Tensor:
    """Matrix `i` of a batch, [1, rows, columns]."""
    if side.data is not None:
        return low.constant(name, side.data[i : i + 1])
    part = low.temporary(name + "/slice", (1, *side.shape[1:]), side.dtype)
    begin, size = (np.asarray(v, np.int32) for v in ([i, 0, 0], part.shape))
    low.emit("SLICE", [side, low.constant(name + "/slice/begin", begin), low.constant(name + "/slice/size", size)], [part])
    return part


def _columns(low: Lowering, matrix: lite.Tensor, name: str) -> lite.Tensor:
    """The transposed matrix [columns, rows] of [1, rows, columns]."""
    turned = low.transpose(matrix, [2, 1, 0], name + "/transpose")
    if turned.data is not None:
        return low.constant(name + "/reshape", turned.data[:, :, 0])
    target = low.temporary(name + "/reshape", turned.shape[:2], turned.dtype)
    low.reshape(turned, target)
    return target


@rule("FusedBatchNorm", "FusedBatchNormV2", "FusedBatchNormV3")
def _batch_norm(low: Lowering, op: Operation) -> None:
    if op.get_attr("is_training"):
        raise ConverterError(f"{op.type} '{op.name}' is in training mode: convert a graph made for inference (is_training=False).")
    if op.get_attr("data_format") != b"NHWC":
        raise ConverterError(f"{op.type} '{op.name}' has data_format {op.get_attr('data_format').decode()}: TensorFlow Lite has NHWC.")
    scale, offset, mean, variance = (low.value(t) for t in op.inputs[1:5])
    _scale_and_shift(low, op, scale / np.sqrt(variance + np.float32(op.get_attr("epsilon"))), offset, mean)


@rule("BatchNormWithGlobalNormalization")
def _global_batch_norm(low: Lowering, op: Operation) -> None:
    mean, variance, beta, gamma = (low.value(t) for t in op.inputs[1:5])
    multiplier = 1 / np.sqrt(variance + np.float32(op.get_attr("variance_epsilon")))
    _scale_and_shift(low, op, multiplier * gamma if op.get_attr("scale_after_normalization") else multiplier, beta, mean)


def _scale_and_shift(low: Lowering, op: Operation, multiplier: NDArray, offset: NDArray, mean: NDArray) -> None:
    source, target = low.tensor(op.inputs[0]), low.tensor(op.outputs[0])
    scaled = low.temporary(op.name + "_mul_0", target.shape, target.dtype)
    low.emit("MUL", [source, low.constant(scaled.name + "_param", multiplier.astype(np.float32))], [scaled])
    shift = low.constant(op.name + "_add_param", (offset - mean * multiplier).astype(np.float32))
    low.emit("ADD", [scaled, shift], [target])
