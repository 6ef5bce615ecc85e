"""The `is_stateful` flag of OpDefs, as in 1.15.

An op type is stateful if an input or output is a resource or if it has stateful effects; two tables hold the exceptions of 1.15.
"""

from __future__ import annotations

from tfcompat._src.base import dtypes
from tfcompat._src.graph.op_spec import OpSpec

_STATED = frozenset((
    "Assert", "CheckNumerics", "CSVDataset", "CudnnRNNBackprop", "CudnnRNNBackpropV2", "CudnnRNNBackpropV3", "DeepCopy", "Empty",
    "FixedLengthRecordDataset", "FixedLengthRecordDatasetV2", "GeneratorDataset", "GroupByReducerDataset", "GuaranteeConst", "LMDBDataset",
    "MatchingFilesDataset", "NcclBroadcast", "NcclReduce", "RandomDataset", "RangeDataset", "SparseTensorSliceDataset", "SqlDataset",
    "TFRecordDataset", "TensorDataset", "TensorSliceDataset", "TextLineDataset",
))  # fmt: skip
"""Op types without stateful effects that 1.15 declares stateful, to keep them from being merged or folded; also with an "Experimental" prefix."""

_NOT_STATED = frozenset((
    "Abort", "Batch", "BatchFunction", "MatchingFiles", "ReadFile", "SdcaOptimizer", "SdcaOptimizerV2", "Unbatch", "UnbatchGrad",
))  # fmt: skip
"""Op types with stateful effects that 1.15 does not declare stateful."""


def is_stateful(spec: OpSpec) -> bool:
    """Returns the `is_stateful` flag of an op type's OpDef."""
    name, inputs = spec.name.removeprefix("Experimental"), spec.signature.inputs
    if name in _STATED or any(arg.dtype == dtypes.resource for arg in (*inputs, *spec.signature.outputs)):
        return True
    # An input Ref(string) is a resource of the time before resource dtypes (queues, readers); their ops are not declared stateful.
    names_state = any(arg.is_ref and arg.dtype == dtypes.string for arg in inputs)
    return spec.effects.is_stateful and name not in _NOT_STATED and not names_state
