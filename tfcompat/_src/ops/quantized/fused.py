"""Fused quantized op types: 1.15 has kernels for them only where it is built with Intel's MKL, so a run refuses them.

They are here so that graphs which hold them can be read, shown and written.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tfcompat._src.base import errors
from tfcompat._src.graph.op_spec import HOST, NotDifferentiable, op

_CONV = 'strides: list(int), padding: {"SAME", "VALID"}, dilations: list(int) = [1, 1, 1, 1]'
_FILTER_RANGES = "min_input: float32, max_input: float32, min_filter: float32, max_filter: float32"
_MATRIX = (
    "transpose_a: bool = False, transpose_b: bool = False, "
    'input_quant_mode: {"MIN_FIRST", "SCALED"} = "MIN_FIRST") -> (out: Toutput, min_out: float32, max_out: float32)'
)
_FROZEN = "min_freezed_output: float32, max_freezed_output: float32"
_SUMMAND = "summand: Tsummand, min_summand: float32, max_summand: float32"


def _without_kernel(name: str) -> Callable:
    def refuse(*inputs: Any) -> None:
        raise errors.InvalidArgumentError(
            None, None, f"No OpKernel was registered to support Op '{name}': it needs a build of TensorFlow with MKL"
        )

    return refuse


def _add(name: str, text: str) -> None:
    op(name, text, shape=lambda c: [None, (), ()][-len(c.op.outputs) :], kernel=_without_kernel(name), side=HOST, depth=2,
       gradient=NotDifferentiable("1.15 has no gradient of quantized values", raises=True))  # fmt: skip


def _conv(
    name: str, bias: str = "", frozen: bool = False, summand: str = "", out_type: str = "qint32", padded: bool = True
) -> None:
    """A row: a convolution with what is fused to it."""
    inputs = ["input: Tinput", "filter: Tfilter", *([f"bias: {bias}"] if bias else []), _FILTER_RANGES]
    inputs += [_FROZEN] if frozen else []
    inputs += [summand] if summand else []
    attrs = ["Tinput: QUANTIZED", "Tfilter: QUANTIZED", *(["Tbias: {float32, qint32}"] if bias == "Tbias" else [])]
    attrs += ["Tsummand: QUANTIZED"] if summand == _SUMMAND else []
    attrs += [f"out_type: QUANTIZED = {out_type}", _CONV, *(["padding_list: list(int) = []"] if padded else [])]
    _add(name, f"({', '.join(inputs)}, *, {', '.join(attrs)}) -> (output: out_type, min_output: float32, max_output: float32)")


_conv("QuantizedConv2DPerChannel", padded=False)
_conv("QuantizedConv2DAndRelu")
_conv("QuantizedConv2DAndRequantize", frozen=True, out_type="qint8")
_conv("QuantizedConv2DAndReluAndRequantize", frozen=True, out_type="quint8")
_conv("QuantizedConv2DWithBias", "float32")
_conv("QuantizedConv2DWithBiasAndRelu", "float32")
_conv("QuantizedConv2DWithBiasAndRequantize", "Tbias", frozen=True, out_type="qint8")
_conv("QuantizedConv2DWithBiasAndReluAndRequantize", "Tbias", frozen=True, out_type="quint8")
_conv("QuantizedConv2DWithBiasSumAndRelu", "float32", summand="summand: float32")
_conv("QuantizedConv2DWithBiasSumAndReluAndRequantize", "Tbias", frozen=True, summand=_SUMMAND, out_type="quint8")
_conv("QuantizedConv2DWithBiasSignedSumAndReluAndRequantize", "Tbias", frozen=True, summand=_SUMMAND, out_type="quint8")
_conv("QuantizedDepthwiseConv2D", padded=False)
_conv("QuantizedDepthwiseConv2DWithBias", "float32", padded=False)
_conv("QuantizedDepthwiseConv2DWithBiasAndRelu", "float32", padded=False)
_conv("QuantizedDepthwiseConv2DWithBiasAndReluAndRequantize", "Tbias", frozen=True, out_type="quint8", padded=False)


def _matmul(name: str, bias: str, frozen: bool = False, out_type: str = "qint32") -> None:
    """A row: a product of matrices with what is fused to it."""
    ranges = "min_a: float32, max_a: float32, min_b: float32, max_b: float32" + (f", {_FROZEN}" if frozen else "")
    kinds = "T1: QUANTIZED, T2: QUANTIZED" + (", Tbias: {float32, qint32}" if bias == "Tbias" else "")
    _add(name, f"(a: T1, b: T2, bias: {bias}, {ranges}, *, {kinds}, Toutput: QUANTIZED = {out_type}, {_MATRIX}")


_matmul("QuantizedMatMulWithBias", "Tbias")
_matmul("QuantizedMatMulWithBiasAndRelu", "float32")
_matmul("QuantizedMatMulWithBiasAndReluAndRequantize", "Tbias", frozen=True, out_type="quint8")
_add(
    "RequantizationRangePerChannel",
    "(input: T, input_min: float32, input_max: float32, *, T: QUANTIZED = qint32, clip_value_max: float) -> "
    "(output_min: float32, output_max: float32)",
)
_add(
    "RequantizePerChannel",
    "(input: T, input_min: float32, input_max: float32, requested_output_min: float32, requested_output_max: float32, *, "
    "T: QUANTIZED = qint32, out_type: QUANTIZED = quint8) -> (output: out_type, output_min: float32, output_max: float32)",
)
