"""Which op types 1.15 calls stateful in their OpDefs: those with a resource among inputs or outputs, and those that act, but for two tables."""

from __future__ import annotations

from tfcompat._src.base import dtypes
from tfcompat._src.graph.op_spec import OpSpec

_STATED = frozenset((
    "Assert", "CheckNumerics", "CSVDataset", "CudnnRNNBackprop", "CudnnRNNBackpropV2", "CudnnRNNBackpropV3", "DeepCopy", "Empty",
    "FixedLengthRecordDataset", "FixedLengthRecordDatasetV2", "GeneratorDataset", "GroupByReducerDataset", "GuaranteeConst", "LMDBDataset",
    "MatchingFilesDataset", "NcclBroadcast", "NcclReduce", "RandomDataset", "RangeDataset", "SparseTensorSliceDataset", "SqlDataset",
    "TFRecordDataset", "TensorDataset", "TensorSliceDataset", "TextLineDataset",
))  # fmt: skip
"""Stateful, so that nothing shares or computes them ahead, though they act on nothing; so are their forms with "Experimental" before the name."""

_NOT_STATED = frozenset((
    "Abort", "Batch", "BatchFunction", "MatchingFiles", "ReadFile", "SdcaOptimizer", "SdcaOptimizerV2", "Unbatch", "UnbatchGrad",
))  # fmt: skip
"""They act, and 1.15 does not say so."""


def is_stateful(spec: OpSpec) -> bool:
    """Whether the OpDef of an op type says `is_stateful`."""
    name, inputs = spec.name.removeprefix("Experimental"), spec.signature.inputs
    if name in _STATED or any(arg.dtype == dtypes.resource for arg in (*inputs, *spec.signature.outputs)):
        return True
    names_state = any(arg.is_ref and arg.dtype == dtypes.string for arg in inputs)
    return spec.effects.is_stateful and name not in _NOT_STATED and not names_state
