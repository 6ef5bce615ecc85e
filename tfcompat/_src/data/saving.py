"""The check that an iterator can be saved: restoring repeats the iteration, so no function of the pipeline may be stateful."""

from __future__ import annotations

from collections.abc import Iterator

from tfcompat._src.base import dtypes, errors
from tfcompat._src.data.values import DatasetValue
from tfcompat._src.graph import op_spec, stateful
from tfcompat._src.graph.attr_values import FunctionRef
from tfcompat._src.graph.operation import Operation
from tfcompat._src.nodes.function_body import GraphFunction

_HARMLESS = ("Assert", "LegacyStatefulReader", "LookupTableFindV2", "LookupTableSize", "LookupTableSizeV2", "Print", "PrintV2", "Timestamp")
"""Stateful op types that TensorFlow 1.15 allows in the functions of a pipeline that is saved."""

_NEVER_SAVED = ("GeneratorDataset", "NonSerializableDataset", "SetStatsAggregatorDataset")
"""Datasets that TensorFlow 1.15 does not save."""


def require_repeatable(dataset: DatasetValue) -> None:
    """Checks all datasets of a pipeline, from its last one on.

    Raises:
      errors.FailedPreconditionError: a function contains a stateful node. errors.UnimplementedError: a dataset cannot be saved.
    """
    pending = [dataset]
    while pending:
        value = pending.pop()
        _require_stateless_functions(value.op, set())
        if value.op.type in _NEVER_SAVED:
            raise errors.UnimplementedError(None, None, f"{value.op.type} {value.op.name!r} does not support checkpointing")
        pending += value.inputs


def _functions(op: Operation) -> Iterator[GraphFunction]:
    """Yields the functions that the attributes of a node refer to."""
    for value in op.attrs.values():
        for reference in value if isinstance(value, (list, tuple)) else (value,):
            if isinstance(reference, FunctionRef) and (function := op._graph._get_function(reference.name)) is not None:
                yield function


def _require_stateless_functions(op: Operation, seen: set[str]) -> None:
    """Checks the functions of a node, and, inside them, those of datasets and of functional control flow."""
    for function in _functions(op):
        if function.name in seen:
            continue
        seen.add(function.name)
        for inner in function.body.get_operations():
            spec = op_spec.find(inner.type)
            if spec is None or inner.type in _HARMLESS:
                continue
            # Making a dataset is stateful in TensorFlow's registry, but only its functions matter here.
            if _makes_dataset(spec) or inner.type in ("If", "While"):
                _require_stateless_functions(inner, seen)
            elif stateful.is_stateful(spec):
                raise errors.FailedPreconditionError(None, None, f"{inner.type} is stateful.")


def _makes_dataset(spec: op_spec.OpSpec) -> bool:
    outputs = spec.signature.outputs
    return len(outputs) == 1 and outputs[0].dtype == dtypes.variant and spec.name.endswith(("Dataset", "DatasetV2"))
