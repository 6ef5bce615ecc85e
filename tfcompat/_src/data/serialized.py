"""The graph that makes a dataset again: what DatasetToGraph gives.

Form: core/kernels/data/dataset_utils and serialization_utils. Inputs come before what takes them; a node is named after its type and its number
("MapDataset/_4"); values that are no datasets become constants; the node "dataset" returns the last.
"""

from __future__ import annotations

import re
from collections.abc import Collection

import numpy as np

from tfcompat._src.base import dtypes, errors
from tfcompat._src.data.values import DatasetValue
from tfcompat._src.graph.attr_values import FunctionRef
from tfcompat._src.graph.operation import Operation
from tfcompat._src.graph.tensor_proto import make_tensor_proto
from tfcompat._src.nodes.function_body import GraphFunction
from tfcompat._src.platform.versions import GRAPH_DEF_VERSION
from tfcompat._src.proto import messages

_MIN_CONSUMER = 12
_HARMLESS = re.compile(
    r"(?!Reduce).*Dataset(V2)?|Print(V2)?|Assert|Timestamp|(Mutable)?(Dense)?HashTable.*|Lookup.*|InitializeTable.*|TensorArray.*|If|While|"
    r"(Stateful)?PartitionedCall"
)  # fmt: skip
"""Stateful op types that functions of elements may have all the same; of calls, what they call is looked at."""


def graph_of(dataset: DatasetValue, allowed: Collection[bytes | str]) -> messages.GraphDef:
    """The graph of a dataset.

    Args:
      dataset: its value. allowed: stateful op types that may stand in it.

    Raises:
      UnimplementedError: a transformation has no graph. FailedPreconditionError: a function that it calls has state.
    """
    found = messages.GraphDef()
    found.versions.producer, found.versions.min_consumer = GRAPH_DEF_VERSION, _MIN_CONSUMER
    last = _add(found, dataset, frozenset(name.decode() if isinstance(name, bytes) else name for name in allowed))
    result = found.node.add(name="dataset", op="_Retval", input=[last])
    result.attr["T"].type = dtypes.variant.as_datatype_enum
    result.attr["index"].i = 0
    return found


def _add(graph: messages.GraphDef, dataset: DatasetValue, allowed: Collection[str]) -> str:
    """Adds the node of a dataset behind those that it takes; its name."""
    op: Operation = dataset.op
    if dataset.notes.get("has_no_graph"):
        raise errors.UnimplementedError(None, None, f"{op.type}Op::Dataset does not support serialization.")
    _add_functions(graph, op, allowed)
    parts = [part for each in dataset.arguments for part in (each if isinstance(each, tuple) else (each,))]
    inputs = [_add_part(graph, part, allowed) for part in parts]
    name = f"{op.type}/_{len(graph.node)}"
    node = graph.node.add(name=name, op=op.type, input=inputs)
    for key, value in op.node_def.attr.items():
        if not key.startswith("_"):
            node.attr[key].CopyFrom(value)
    return name


def _add_part(graph: messages.GraphDef, part: object, allowed: Collection[str]) -> str:
    held = part.item() if isinstance(part, np.ndarray) and part.dtype == object and not part.ndim else part
    if isinstance(held, DatasetValue):
        return _add(graph, held, allowed)
    if not isinstance(part, (np.ndarray, np.generic)):
        raise errors.UnimplementedError(None, None, f"A dataset whose functions capture a {type(part).__name__} cannot be serialized; capture tensors.")
    value = make_tensor_proto(part)
    name = f"Const/_{len(graph.node)}"
    node = graph.node.add(name=name, op="Const")
    node.attr["dtype"].type = value.dtype
    node.attr["value"].tensor.CopyFrom(value)
    return name


def _add_functions(graph: messages.GraphDef, op: Operation, allowed: Collection[str]) -> None:
    """Adds the functions that a node calls, and those that these call, once each; FailedPreconditionError where one has state."""
    known = {function.signature.name for function in graph.library.function}
    for function in _called(op):
        if function.name in known:
            continue
        graph.library.function.add().CopyFrom(function.definition)
        for inner in function.body.get_operations():
            _add_functions(graph, inner, allowed)
            if inner.op_def.is_stateful and inner.type not in allowed and not _HARMLESS.fullmatch(inner.type):
                raise errors.FailedPreconditionError(None, None, f"{inner.type} is stateful.")


def _called(op: Operation) -> list[GraphFunction]:
    values = [part for value in op.attrs.values() for part in (value if isinstance(value, (list, tuple)) else (value,))]
    found = [op.graph._get_function(part.name) for part in values if isinstance(part, FunctionRef)]
    return [function for function in found if function is not None]
