"""What infinities and NaNs become: which ops make none of finite inputs, and which never lose one that goes in.

Who asks whether one of many tensors is infinite or NaN need not look at all of them then.
"""

from __future__ import annotations

from collections.abc import Mapping

from tfcompat._src.graph.operation import Operation

TAME = frozenset((
    "Abs", "BroadcastTo", "Ceil", "ConcatV2", "ExpandDims", "Fill", "Floor", "GatherV2", "Identity", "MaxPool", "Maximum", "Minimum", "Neg",
    "OnesLike", "Pack", "Pad", "RandomStandardNormal", "RandomUniform", "Relu", "Relu6", "ReluGrad", "Reshape", "Select", "Sigmoid", "Sign",
    "Slice", "Snapshot", "Softmax", "Split", "SplitV", "Squeeze", "StopGradient", "StridedSlice", "Tanh", "Tile", "Transpose",
    "TruncatedNormal", "Unpack", "ZerosLike",
))  # fmt: skip
"""Op types whose results are finite where all inputs are."""
_ALL = tuple(range(64))
SPREADS: Mapping[str, tuple[int, ...]] = {
    "Abs": (0,), "Add": (0, 1), "AddN": _ALL, "AddV2": (0, 1), "ApplyAdam": (0, 1, 9), "ApplyGradientDescent": (0, 1, 2),
    "ApplyMomentum": (0, 1, 2, 3, 4), "BatchMatMul": (0, 1), "BatchMatMulV2": (0, 1), "BiasAdd": (0, 1), "BiasAddGrad": (0,),
    "ConcatV2": _ALL, "Conv2DBackpropFilter": (2,), "ExpandDims": (0,), "Identity": (0,), "MatMul": (0, 1), "MaxPoolGrad": (2,), "Mean": (0,),
    "Mul": (0, 1), "Neg": (0,), "Pack": _ALL, "Pad": (0,), "Reshape": (0,), "Split": (1,), "SplitV": (0,), "Sqrt": (0,), "Square": (0,),
    "Squeeze": (0,), "Sub": (0, 1), "Sum": (0,), "Transpose": (0,), "Unpack": (0,),
}  # fmt: skip
"""The positions of inputs that make a result infinite or NaN wherever they are, unless the result has no elements."""


def is_tame(op: Operation) -> bool:
    """Whether the results of an operation are finite where all its inputs are."""
    return op.type in TAME


def spreading(op: Operation) -> tuple[int, ...]:
    """The positions of the inputs that make a result of an operation infinite or NaN wherever they are so."""
    if op.type == "Conv2D" and {*op.attrs["strides"], *op.attrs["dilations"]} == {1}:
        return (0,)
    if op.type == "Conv2DBackpropFilter" and "EXPLICIT" in str(op.attrs["padding"]):
        return ()
    return SPREADS.get(op.type, ())
