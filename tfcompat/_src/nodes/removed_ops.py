"""Op types that 1.15 refuses to make: the GraphDef version that removed each, and 1.15's advice what to use instead."""

from __future__ import annotations

from tfcompat._src.platform.versions import GRAPH_DEF_VERSION

_TABLE = {
    2: {"AdjustContrast": "Use AdjustContrastv2 instead"},
    3: {"TileGrad": "TileGrad has been replaced with reduce_sum"},
    7: {"TopK": "Use TopKV2 instead"},
    8: {"RandomCrop": "Random crop is now pure Python"},
    9: dict.fromkeys(
        ("BatchNormWithGlobalNormalization", "BatchNormWithGlobalNormalizationGrad"), "Use tf.nn.batch_normalization()"
    ),
    10: {
        "Conv3DBackpropFilter": "Use Conv3DBackpropFilterV2",
        "Conv3DBackpropInput": "Use Conv3DBackpropInputV2",
    },
    11: dict.fromkeys(("BatchSelfAdjointEig", "SelfAdjointEig"), "Use SelfAdjointEigV2 instead."),
    13: {
        **{
            f"Batch{name}": f"Use {name} instead."
            for name in (
                "Cholesky", "CholeskyGrad", "MatrixDeterminant", "MatrixInverse", "MatrixSolve", "MatrixSolveLs",
                "MatrixTriangularSolve", "SelfAdjointEigV2", "Svd",
            )
        },
    },
    14: {f"Batch{name}": f"Use {name}" for name in ("MatrixBandPart", "MatrixDiag", "MatrixDiagPart", "MatrixSetDiag")},
    15: {
        **{f"Batch{name}": f"Use {name}" for name in ("FFT", "FFT2D", "FFT3D", "IFFT", "IFFT2D", "IFFT3D")},
        "AudioSummary": "Use AudioSummaryV2.",
    },
    16: {
        "TensorArray": "Use TensorArrayV3",
        "TensorArrayClose": "Use TensorArrayCloseV3",
        "TensorArrayConcat": "Use TensorArrayGradV3",
        "TensorArrayGather": "Use TensorArrayGatherV3",
        "TensorArrayGrad": "Use TensorArrayGradV3",
        "TensorArrayPack": "Use TensorArrayGatherV3 with RangeOp",
        "TensorArrayRead": "Use TensorArrayReadV3",
        "TensorArraySize": "Use TensorArraySizeV3",
        "TensorArraySplit": "Use TensorArraySplitV3",
        "TensorArrayWrite": "Use TensorArrayWriteV3",
    },
    19: {"TensorArrayScatter": "Use TensorArrayGradV3"},
    20: {"TensorArrayUnpack": "Use TensorArrayScatterV3 with RangeOp"},
    22: {"QuantizeAndDequantize": "Replaced by QuantizeAndDequantizeV2"},
    23: {"PlaceholderV2": "Placeholder now behaves the same as PlaceholderV2."},
    25: {"RandomPoisson": "Replaced by RandomPoissonV2"},
    26: {
        **{f"{name}Reader": f"Use {name}ReaderV2" for name in ("FixedLengthRecord", "Identity", "TFRecord", "TextLine")},
        **{
            f"TensorArray{name}V2": f"Use TensorArray{name}V3"
            for name in ("", "Close", "Gather", "Grad", "Read", "Scatter", "Size", "Split", "Write")
        },
    },
    27: {"MatrixExponential": "Use Python implementation tf.linalg.matrix_exponential instead."},
    29: {"StatefulStandardNormal": "Use StatefulStandardNormalV2 instead"},
}  # fmt: skip
SINCE = {name: version for version, names in _TABLE.items() for name in names}


def error(op_type: str) -> NotImplementedError:
    """Returns the error for making a node of a removed op type."""
    version = SINCE[op_type]
    return NotImplementedError(
        f"Op {op_type} is not available in GraphDef version {GRAPH_DEF_VERSION}. It has been removed in version {version}. "
        f"{_TABLE[version][op_type]}."
    )
