"""Operators of TensorFlow Lite as nodes of a graph: one function for each builtin, made of the ops that tfcompat has.

A kernel takes the values of its inputs (None for an absent one) and the operator, and gives one tensor or a list. Integers with a scale
come as real numbers and go back to integers behind it (`graph_of`), except in what only moves them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from tfcompat._src.base import dtypes
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.lite import model as lite
from tfcompat._src.nodes import raw
from tfcompat._src.nodes.convert import convert_to_tensor

if TYPE_CHECKING:
    from tfcompat._src.base.arrays import TensorLike

Values = Sequence[Any]
Kernel = Callable[[Values, lite.Operator], Any]
KERNELS: dict[str, Kernel] = {}


def kernel(*builtins: str) -> Callable[[Kernel], Kernel]:
    """Registers the kernel of some builtins."""

    def register(function: Kernel) -> Kernel:
        KERNELS.update(dict.fromkeys(builtins, function))
        return function

    return register


def _padding(operator: lite.Operator) -> str:
    return "VALID" if operator.options.get("padding") == lite.VALID else "SAME"


def _strides(operator: lite.Operator) -> list[int]:
    return [1, operator.options["stride_h"], operator.options["stride_w"], 1]


def activated(value: Tensor, operator: lite.Operator) -> Tensor:
    """Applies the activation that an operator has as an option."""
    name = lite.ACTIVATIONS[operator.options.get("fused_activation_function", 0)]
    if name == "NONE":
        return value
    if name not in ACTIVATION:
        raise ValueError(f"{operator.builtin} has the fused activation {name}, which is not supported.")
    return ACTIVATION[name](value)


def _relu1(x: TensorLike) -> Tensor:
    return raw.Minimum(raw.Maximum(x, -1.0), 1.0)


ACTIVATION: dict[str, Callable[[Any], Any]] = {"RELU": lambda x: raw.Relu(x), "RELU6": lambda x: raw.Relu6(x), "RELU_N1_TO_1": _relu1,
                                               "TANH": lambda x: raw.Tanh(x)}  # fmt: skip

UNARY = {
    "ABS": "Abs", "CEIL": "Ceil", "COS": "Cos", "ELU": "Elu", "EXP": "Exp", "FLOOR": "Floor", "LOG": "Log", "LOG_SOFTMAX": "LogSoftmax",
    "LOGICAL_NOT": "LogicalNot", "NEG": "Neg", "RELU": "Relu", "RELU6": "Relu6", "ROUND": "Round", "RSQRT": "Rsqrt", "LOGISTIC": "Sigmoid",
    "SIN": "Sin", "SQRT": "Sqrt", "SQUARE": "Square", "TANH": "Tanh", "ZEROS_LIKE": "ZerosLike", "RANK": "Rank", "WHERE": "Where",
    "MATRIX_DIAG": "MatrixDiag",
}  # fmt: skip
SAME_INPUTS = {
    "MAXIMUM": "Maximum", "MINIMUM": "Minimum", "POW": "Pow", "FLOOR_DIV": "FloorDiv", "FLOOR_MOD": "FloorMod", "EQUAL": "Equal",
    "NOT_EQUAL": "NotEqual", "LESS": "Less", "LESS_EQUAL": "LessEqual", "GREATER": "Greater", "GREATER_EQUAL": "GreaterEqual",
    "LOGICAL_AND": "LogicalAnd", "LOGICAL_OR": "LogicalOr", "MATRIX_SET_DIAG": "MatrixSetDiag", "FILL": "Fill", "GATHER_ND": "GatherNd",
    "PAD": "Pad", "PADV2": "PadV2", "RANGE": "Range", "SLICE": "Slice", "REVERSE_V2": "ReverseV2", "SPACE_TO_BATCH_ND": "SpaceToBatchND",
    "BATCH_TO_SPACE_ND": "BatchToSpaceND", "TILE": "Tile", "TRANSPOSE": "Transpose", "EXPAND_DIMS": "ExpandDims",
    "SQUARED_DIFFERENCE": "SquaredDifference", "TOPK_V2": "TopKV2", "SPARSE_TO_DENSE": "SparseToDense",
}  # fmt: skip
ARITHMETIC = {"ADD": "AddV2", "SUB": "Sub", "MUL": "Mul", "DIV": "RealDiv"}
REDUCTIONS = {"MEAN": "Mean", "SUM": "Sum", "REDUCE_PROD": "Prod", "REDUCE_MAX": "Max", "REDUCE_MIN": "Min", "REDUCE_ANY": "Any"}


def _named(op_type: str) -> Kernel:
    return lambda values, operator: raw.function(op_type)(*values)


def _with_activation(op_type: str) -> Kernel:
    return lambda values, operator: activated(raw.function(op_type)(*values), operator)


def _reduction(op_type: str) -> Kernel:
    return lambda values, operator: raw.function(op_type)(*values, keep_dims=bool(operator.options.get("keep_dims")))


KERNELS.update({builtin: _named(op_type) for builtin, op_type in {**UNARY, **SAME_INPUTS}.items()})
KERNELS.update({builtin: _with_activation(op_type) for builtin, op_type in ARITHMETIC.items()})
KERNELS.update({builtin: _reduction(op_type) for builtin, op_type in REDUCTIONS.items()})


@kernel("RELU_N1_TO_1")
def _relu_n1_to_1(values: Values, operator: lite.Operator) -> Tensor:
    return _relu1(values[0])


@kernel("QUANTIZE", "DEQUANTIZE")
def _convert(values: Values, operator: lite.Operator) -> Tensor:
    """Quantizing is done by the graph; what is left are FLOAT16 constants."""
    return raw.Cast(values[0], DstT=dtypes.float32)


@kernel("SOFTMAX")
def _softmax(values: Values, operator: lite.Operator) -> Tensor:
    beta = operator.options.get("beta", 1.0)
    return raw.Softmax(values[0] if beta == 1.0 else raw.Mul(values[0], np.float32(beta)))


@kernel("LEAKY_RELU")
def _leaky_relu(values: Values, operator: lite.Operator) -> Tensor:
    return raw.LeakyRelu(values[0], alpha=operator.options["alpha"])


@kernel("PRELU")
def _prelu(values: Values, operator: lite.Operator) -> Tensor:
    x, alpha = values
    return raw.AddV2(raw.Relu(x), raw.Mul(alpha, raw.Minimum(x, 0.0)))


@kernel("HARD_SWISH")
def _hard_swish(values: Values, operator: lite.Operator) -> Tensor:
    x = values[0]
    return raw.RealDiv(raw.Mul(x, raw.Relu6(raw.AddV2(x, 3.0))), 6.0)


@kernel("CONV_2D")
def _conv(values: Values, operator: lite.Operator) -> Tensor:
    x, weights, bias = _biased(values)
    options = operator.options
    dilations = [1, options.get("dilation_h_factor", 1), options.get("dilation_w_factor", 1), 1]
    result = raw.Conv2D(x, raw.Transpose(weights, [1, 2, 3, 0]), strides=_strides(operator), padding=_padding(operator), dilations=dilations)
    return activated(result if bias is None else raw.BiasAdd(result, bias), operator)


def _biased(values: Values) -> list[Any]:
    return [*values, None] if len(values) == 2 else list(values)


@kernel("DEPTHWISE_CONV_2D")
def _depthwise(values: Values, operator: lite.Operator) -> Tensor:
    x, weights, bias = _biased(values)
    options, shape = operator.options, weights.shape.as_list()
    multiplier = options["depth_multiplier"]
    kernel = raw.Reshape(weights, [shape[1], shape[2], shape[3] // multiplier, multiplier])
    dilations = [1, options.get("dilation_h_factor", 1), options.get("dilation_w_factor", 1), 1]
    result = raw.DepthwiseConv2dNative(x, kernel, strides=_strides(operator), padding=_padding(operator), dilations=dilations)
    return activated(result if bias is None else raw.BiasAdd(result, bias), operator)


@kernel("TRANSPOSE_CONV")
def _transpose_conv(values: Values, operator: lite.Operator) -> Tensor:
    shape, weights, x = values
    kernel = raw.Transpose(weights, [1, 2, 0, 3])
    return raw.Conv2DBackpropInput(shape, kernel, x, strides=_strides(operator), padding=_padding(operator))


@kernel("FULLY_CONNECTED")
def _fully_connected(values: Values, operator: lite.Operator) -> Tensor:
    x, weights, bias = _biased(values)
    units, size = weights.shape.as_list()
    result = raw.MatMul(raw.Reshape(x, [-1, size]), weights, transpose_b=True)
    result = result if bias is None else raw.BiasAdd(result, bias)
    if operator.options.get("keep_num_dims"):
        result = raw.Reshape(result, [*x.shape.as_list()[:-1], units])
    return activated(result, operator)


@kernel("AVERAGE_POOL_2D", "MAX_POOL_2D", "L2_POOL_2D")
def _pool(values: Values, operator: lite.Operator) -> Tensor:
    options = operator.options
    window = {"ksize": [1, options["filter_height"], options["filter_width"], 1], "strides": _strides(operator), "padding": _padding(operator)}
    if operator.builtin == "MAX_POOL_2D":
        return activated(raw.MaxPool(values[0], **window), operator)
    if operator.builtin == "AVERAGE_POOL_2D":
        return activated(raw.AvgPool(values[0], **window), operator)
    return activated(raw.Sqrt(raw.AvgPool(raw.Square(values[0]), **window)), operator)


@kernel("L2_NORMALIZATION")
def _l2_normalization(values: Values, operator: lite.Operator) -> Tensor:
    x = values[0]
    norm = raw.Sqrt(raw.Sum(raw.Square(x), [-1], keep_dims=True))
    return raw.RealDiv(x, raw.Maximum(norm, np.float32(1e-6)))


@kernel("LOCAL_RESPONSE_NORMALIZATION")
def _lrn(values: Values, operator: lite.Operator) -> Tensor:
    options = operator.options
    return raw.LRN(values[0], depth_radius=options["radius"], bias=options["bias"], alpha=options["alpha"], beta=options["beta"])


@kernel("RESHAPE")
def _reshape(values: Values, operator: lite.Operator) -> Tensor:
    shape = values[1] if len(values) > 1 else operator.options["new_shape"]
    return raw.Reshape(values[0], shape if len(values) == 1 or shape.shape.ndims == 1 else raw.Reshape(shape, [-1]))


@kernel("SQUEEZE")
def _squeeze(values: Values, operator: lite.Operator) -> Tensor:
    return raw.Squeeze(values[0], squeeze_dims=operator.options.get("squeeze_dims", []))


@kernel("CONCATENATION")
def _concatenation(values: Values, operator: lite.Operator) -> Tensor:
    return activated(raw.ConcatV2(list(values), operator.options.get("axis", 0)), operator)


@kernel("PACK")
def _pack(values: Values, operator: lite.Operator) -> Tensor:
    return raw.Pack(list(values), axis=operator.options.get("axis", 0))


@kernel("UNPACK")
def _unpack(values: Values, operator: lite.Operator) -> list[Tensor]:
    return raw.Unpack(values[0], num=operator.options["num"], axis=operator.options.get("axis", 0))


@kernel("ADD_N")
def _add_n(values: Values, operator: lite.Operator) -> Tensor:
    return raw.AddN(list(values))


@kernel("GATHER")
def _gather(values: Values, operator: lite.Operator) -> Tensor:
    return raw.GatherV2(values[0], values[1], operator.options.get("axis", 0))


@kernel("ARG_MAX", "ARG_MIN")
def _arg(values: Values, operator: lite.Operator) -> Tensor:
    output_type = dtypes.as_dtype(lite.NUMPY_TYPES[operator.outputs[0].dtype])
    return (raw.ArgMax if operator.builtin == "ARG_MAX" else raw.ArgMin)(*values, output_type=output_type)


@kernel("CAST")
def _cast(values: Values, operator: lite.Operator) -> Tensor:
    return raw.Cast(values[0], DstT=dtypes.as_dtype(lite.NUMPY_TYPES[operator.outputs[0].dtype]))


@kernel("SHAPE")
def _shape(values: Values, operator: lite.Operator) -> Tensor:
    return raw.Shape(values[0], out_type=dtypes.as_dtype(lite.NUMPY_TYPES[operator.outputs[0].dtype]))


@kernel("UNIQUE")
def _unique(values: Values, operator: lite.Operator) -> Any:
    return raw.Unique(values[0], out_idx=dtypes.as_dtype(lite.NUMPY_TYPES[operator.outputs[1].dtype]))


@kernel("SELECT")
def _select(values: Values, operator: lite.Operator) -> Tensor:
    return raw.SelectV2(*values) if values[0].shape.ndims != 1 else raw.Select(*values)


@kernel("DEPTH_TO_SPACE", "SPACE_TO_DEPTH")
def _depth_and_space(values: Values, operator: lite.Operator) -> Tensor:
    op = raw.DepthToSpace if operator.builtin == "DEPTH_TO_SPACE" else raw.SpaceToDepth
    return op(values[0], block_size=operator.options["block_size"])


@kernel("MIRROR_PAD")
def _mirror_pad(values: Values, operator: lite.Operator) -> Tensor:
    return raw.MirrorPad(*values, mode=("REFLECT", "SYMMETRIC")[operator.options["mode"]])


@kernel("ONE_HOT")
def _one_hot(values: Values, operator: lite.Operator) -> Tensor:
    return raw.OneHot(*values, axis=operator.options.get("axis", 0))


@kernel("RESIZE_BILINEAR", "RESIZE_NEAREST_NEIGHBOR")
def _resize(values: Values, operator: lite.Operator) -> Tensor:
    op = raw.ResizeBilinear if operator.builtin == "RESIZE_BILINEAR" else raw.ResizeNearestNeighbor
    return op(*values, align_corners=bool(operator.options.get("align_corners")))


@kernel("REVERSE_SEQUENCE")
def _reverse_sequence(values: Values, operator: lite.Operator) -> Tensor:
    return raw.ReverseSequence(*values, seq_dim=operator.options["seq_dim"], batch_dim=operator.options["batch_dim"])


@kernel("SPLIT")
def _split(values: Values, operator: lite.Operator) -> Any:
    return raw.Split(*values, num_split=operator.options["num_splits"])


@kernel("SPLIT_V")
def _split_v(values: Values, operator: lite.Operator) -> list[Tensor]:
    return raw.SplitV(*values, num_split=operator.options["num_splits"])


@kernel("STRIDED_SLICE")
def _strided_slice(values: Values, operator: lite.Operator) -> Tensor:
    return raw.StridedSlice(*values, **{name: value for name, value in operator.options.items() if name.endswith("_mask")})


@kernel("FAKE_QUANT")
def _fake_quant(values: Values, operator: lite.Operator) -> Tensor:
    options = operator.options
    return raw.FakeQuantWithMinMaxArgs(values[0], min=options["min"], max=options["max"], num_bits=options["num_bits"],
                                       narrow_range=bool(options.get("narrow_range")))  # fmt: skip


@kernel("EMBEDDING_LOOKUP")
def _embedding_lookup(values: Values, operator: lite.Operator) -> Tensor:
    return raw.GatherV2(values[1], values[0], 0)


def constant(tensor: lite.Tensor) -> Tensor:
    """A constant of the graph."""
    found: Tensor = convert_to_tensor(tensor.data, dtype=dtypes.as_dtype(lite.NUMPY_TYPES[tensor.dtype]))
    return found


Stateful = Callable[[list[Any], lite.Operator, dict[lite.Tensor, Tensor]], list[Tensor]]
STATEFUL: dict[str, Stateful] = {}
"""Kernels that also change variables: they file the new values by the tensor of the model."""


def stateful(*builtins: str) -> Callable[[Stateful], Stateful]:
    """Registers the kernel of builtins with variables."""

    def register(function: Stateful) -> Stateful:
        STATEFUL.update(dict.fromkeys(builtins, function))
        return function

    return register


@stateful("UNIDIRECTIONAL_SEQUENCE_LSTM")
def _sequence_lstm(values: list[Any], operator: lite.Operator, variables: dict[lite.Tensor, Tensor]) -> list[Tensor]:
    """The whole sequence: gates i, f, c, o; inputs x, W of the gates, R of the gates, peepholes of i, f, o, biases, 2 of a projection, h, c."""
    options = operator.options
    x, weights, recurrent, biases = values[0], values[1:5], values[5:9], values[12:16]
    if any(v is not None for v in values[20:]) or weights[0] is None:
        raise ValueError("UNIDIRECTIONAL_SEQUENCE_LSTM with normalization or coupled gates is not supported.")
    if options.get("cell_clip") or options.get("proj_clip"):
        raise ValueError("UNIDIRECTIONAL_SEQUENCE_LSTM with clipping is not supported.")
    peepholes, (projection, projection_bias) = [values[9], values[10], None, values[11]], values[16:18]
    hidden, cell = values[18], values[19]

    def gate(index: int, step: TensorLike, memory: TensorLike) -> Tensor:
        products = [raw.MatMul(step, weights[index], transpose_b=True), raw.MatMul(hidden, recurrent[index], transpose_b=True)]
        sums = raw.BiasAdd(raw.AddV2(*products), biases[index])
        return sums if peepholes[index] is None else raw.AddV2(sums, raw.Mul(peepholes[index], memory))

    outputs = []
    for step in _steps(x, operator):
        added = raw.Mul(raw.Sigmoid(gate(0, step, cell)), activated(gate(2, step, None), operator))
        new = raw.AddV2(raw.Mul(raw.Sigmoid(gate(1, step, cell)), cell), added)
        output = raw.Mul(raw.Sigmoid(gate(3, step, new)), activated(new, operator))
        if projection is not None:
            output = raw.MatMul(output, projection, transpose_b=True)
            output = output if projection_bias is None else raw.BiasAdd(output, projection_bias)
        hidden, cell = output, new
        outputs.append(hidden)
    _keep(operator.inputs[18:20], (hidden, cell), variables)
    return [raw.Pack(outputs, axis=_time_axis(operator))]


@stateful("UNIDIRECTIONAL_SEQUENCE_RNN")
def _sequence_rnn(values: list[Any], operator: lite.Operator, variables: dict[lite.Tensor, Tensor]) -> list[Tensor]:
    """The whole sequence: inputs x, W, R, bias, h."""
    x, weights, recurrent, bias, hidden = values
    outputs = []
    for step in _steps(x, operator):
        sums = raw.AddV2(raw.MatMul(step, weights, transpose_b=True), raw.MatMul(hidden, recurrent, transpose_b=True))
        hidden = activated(raw.BiasAdd(sums, bias), operator)
        outputs.append(hidden)
    _keep(operator.inputs[4:5], (hidden,), variables)
    return [raw.Pack(outputs, axis=_time_axis(operator))]


def _time_axis(operator: lite.Operator) -> int:
    return 0 if operator.options.get("time_major") else 1


def _steps(x: Tensor, operator: lite.Operator) -> list[Tensor]:
    axis = _time_axis(operator)
    found: list[Tensor] = raw.Unpack(x, num=x.shape.as_list()[axis], axis=axis)
    return found


def _keep(tensors: Sequence[lite.Tensor | None], values: Sequence[Tensor], variables: dict[lite.Tensor, Tensor]) -> None:
    """Gives variables of the model what they hold after the run."""
    variables.update({tensor: value for tensor, value in zip(tensors, values) if tensor is not None})
