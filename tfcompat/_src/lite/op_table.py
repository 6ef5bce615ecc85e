"""Table of op types of TensorFlow whose operator in TensorFlow Lite takes the same inputs: what TOCO of 1.15 imports.

Ops that change their inputs, order or weights have rules of their own in `rules_array` and `rules_nn`.
"""

from __future__ import annotations

import dataclasses


@dataclasses.dataclass(frozen=True)
class Row:
    """How one op type becomes one operator.

    Attributes:
      builtin: the operator. inputs: the positions of inputs that it takes, None for all.
      options: fields of its options by attributes of the node. fixed: fields with values of their own.
      requires: attributes that must have this value, because the operator cannot do otherwise.
    """

    builtin: str
    inputs: tuple[int, ...] | None = None
    options: tuple[tuple[str, str], ...] = ()
    fixed: tuple[tuple[str, float], ...] = ()
    requires: tuple[tuple[str, object], ...] = ()


def _same(*pairs: tuple[str, str]) -> dict[str, Row]:
    return {op_type: Row(builtin) for op_type, builtin in pairs}


FORWARDS = frozenset((
    "Identity", "Snapshot", "StopGradient", "CheckNumerics", "PreventGradient", "PlaceholderWithDefault", "IdentityN",
    "ReadVariableOp", "EnsureShape", "LegacyFedInput",
))  # fmt: skip
"""Ops that give what they take: their outputs are other names of their inputs."""

DROPPED = frozenset(("Assert", "NoOp", "Print", "PrintV2"))
"""Ops that run for their effect, which a model has none of."""

_KEEP = (("keep_dims", "keep_dims"),)
_MASKS = tuple((mask, mask) for mask in ("begin_mask", "end_mask", "ellipsis_mask", "new_axis_mask", "shrink_axis_mask"))

TABLE: dict[str, Row] = {
    **_same(
        ("Abs", "ABS"), ("Ceil", "CEIL"), ("Cos", "COS"), ("Elu", "ELU"), ("Exp", "EXP"), ("Floor", "FLOOR"), ("Log", "LOG"),
        ("LogSoftmax", "LOG_SOFTMAX"), ("LogicalNot", "LOGICAL_NOT"), ("Neg", "NEG"), ("Relu", "RELU"), ("Relu6", "RELU6"),
        ("Round", "ROUND"), ("Rsqrt", "RSQRT"), ("Sigmoid", "LOGISTIC"), ("Sin", "SIN"), ("Sqrt", "SQRT"), ("Square", "SQUARE"),
        ("Tanh", "TANH"), ("ZerosLike", "ZEROS_LIKE"), ("Rank", "RANK"), ("Where", "WHERE"), ("MatrixDiag", "MATRIX_DIAG"),
    ),
    **_same(
        ("Add", "ADD"), ("AddV2", "ADD"), ("BiasAdd", "ADD"), ("Sub", "SUB"), ("Mul", "MUL"), ("Div", "DIV"), ("RealDiv", "DIV"),
        ("Maximum", "MAXIMUM"), ("Minimum", "MINIMUM"), ("Pow", "POW"), ("FloorDiv", "FLOOR_DIV"), ("FloorMod", "FLOOR_MOD"),
        ("SquaredDifference", "SQUARED_DIFFERENCE"), ("Equal", "EQUAL"), ("NotEqual", "NOT_EQUAL"), ("Less", "LESS"),
        ("LessEqual", "LESS_EQUAL"), ("Greater", "GREATER"), ("GreaterEqual", "GREATER_EQUAL"), ("LogicalAnd", "LOGICAL_AND"),
        ("LogicalOr", "LOGICAL_OR"), ("MatrixSetDiag", "MATRIX_SET_DIAG"), ("Select", "SELECT"), ("SelectV2", "SELECT"),
    ),
    **_same(
        ("Fill", "FILL"), ("GatherNd", "GATHER_ND"), ("Pad", "PAD"), ("PadV2", "PADV2"), ("Range", "RANGE"), ("Slice", "SLICE"),
        ("ReverseV2", "REVERSE_V2"), ("SpaceToBatchND", "SPACE_TO_BATCH_ND"), ("BatchToSpaceND", "BATCH_TO_SPACE_ND"),
        ("Tile", "TILE"), ("TopKV2", "TOPK_V2"), ("Transpose", "TRANSPOSE"),
    ),
    "Softmax": Row("SOFTMAX", fixed=(("beta", 1.0),)),
    "LeakyRelu": Row("LEAKY_RELU", options=(("alpha", "alpha"),)),
    "LRN": Row("LOCAL_RESPONSE_NORMALIZATION", options=(("radius", "depth_radius"), ("bias", "bias"), ("alpha", "alpha"), ("beta", "beta"))),
    "Mean": Row("MEAN", options=_KEEP), "Sum": Row("SUM", options=_KEEP), "Prod": Row("REDUCE_PROD", options=_KEEP),
    "Max": Row("REDUCE_MAX", options=_KEEP), "Min": Row("REDUCE_MIN", options=_KEEP), "Any": Row("REDUCE_ANY", options=_KEEP),
    "DepthToSpace": Row("DEPTH_TO_SPACE", options=(("block_size", "block_size"),), requires=(("data_format", b"NHWC"),)),
    "SpaceToDepth": Row("SPACE_TO_DEPTH", options=(("block_size", "block_size"),), requires=(("data_format", b"NHWC"),)),
    "Gather": Row("GATHER"),
    "OneHot": Row("ONE_HOT", options=(("axis", "axis"),)),
    "ResizeBilinear": Row("RESIZE_BILINEAR", options=(("align_corners", "align_corners"),), requires=(("half_pixel_centers", False),)),
    "ReverseSequence": Row("REVERSE_SEQUENCE", options=(("seq_dim", "seq_dim"), ("batch_dim", "batch_dim"))),
    "SparseToDense": Row("SPARSE_TO_DENSE", options=(("validate_indices", "validate_indices"),)),
    "Split": Row("SPLIT", options=(("num_splits", "num_split"),)),
    "SplitV": Row("SPLIT_V", options=(("num_splits", "num_split"),)),
    "StridedSlice": Row("STRIDED_SLICE", options=_MASKS),
}  # fmt: skip

FUSES_ACTIVATION = frozenset((
    "ADD", "AVERAGE_POOL_2D", "CONV_2D", "DEPTHWISE_CONV_2D", "DIV", "FULLY_CONNECTED", "L2_POOL_2D", "MAX_POOL_2D", "MUL", "SUB",
))  # fmt: skip
"""Operators that can apply an activation to their result. TOCO also fuses into SQUARED_DIFFERENCE, which then drops it."""

VERSIONS = {"SPLIT": 3}
"""Versions that TOCO of 1.15 writes for operators on real numbers where they are not 1."""
