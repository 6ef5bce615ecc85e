"""What may be saved of an iteration: a pipeline whose functions give the same for the same elements, so that a restored one can repeat it."""

from __future__ import annotations

from collections.abc import Iterator

from tfcompat._src.base import dtypes, errors
from tfcompat._src.data.values import DatasetValue
from tfcompat._src.graph import op_spec, stateful
from tfcompat._src.graph.attr_values import FunctionRef
from tfcompat._src.graph.operation import Operation
from tfcompat._src.nodes.function_body import GraphFunction

_HARMLESS = ("Assert", "LegacyStatefulReader", "LookupTableFindV2", "LookupTableSize", "LookupTableSizeV2", "Print", "PrintV2", "Timestamp")
"""Op types that 1.15 calls stateful and lets stand in the functions of a pipeline that is saved."""

_NEVER_SAVED = ("GeneratorDataset", "NonSerializableDataset", "SetStatsAggregatorDataset")


def require_repeatable(dataset: DatasetValue) -> None:
    """Looks through the pipeline that ends with a dataset.

    Raises:
      errors.FailedPreconditionError: a function in it holds a stateful node. errors.UnimplementedError: a dataset in it is never saved.
    """
    pending = [dataset]
    while pending:
        value = pending.pop()
        _require_stateless_functions(value.op, set())
        if value.op.type in _NEVER_SAVED:
            raise errors.UnimplementedError(None, None, f"{value.op.type} {value.op.name!r} does not support checkpointing")
        pending += value.inputs


def _functions(op: Operation) -> Iterator[GraphFunction]:
    """The functions that a node names, where its graph has them."""
    for value in op.attrs.values():
        for reference in value if isinstance(value, (list, tuple)) else (value,):
            if isinstance(reference, FunctionRef) and (found := op._graph._get_function(reference.name)) is not None:
                yield found


def _require_stateless_functions(op: Operation, seen: set[str]) -> None:
    for function in _functions(op):
        if function.name in seen:
            continue
        seen.add(function.name)
        for inner in function.body.get_operations():
            spec = op_spec.find(inner.type)
            if spec is None or inner.type in _HARMLESS:
                continue
            if _makes_dataset(spec) or inner.type in ("If", "While"):
                _require_stateless_functions(inner, seen)
            elif stateful.is_stateful(spec):
                raise errors.FailedPreconditionError(None, None, f"{inner.type} is stateful.")


def _makes_dataset(spec: op_spec.OpSpec) -> bool:
    outputs = spec.signature.outputs
    return len(outputs) == 1 and outputs[0].dtype == dtypes.variant and spec.name.endswith(("Dataset", "DatasetV2"))
