"""Serialization of a dataset as a GraphDef that makes it again (DatasetToGraph).

The form is that of TensorFlow 1.15 (core/kernels/data/serialization_utils): nodes are in topological order and named after their type and
number ("MapDataset/_4"); values that are not datasets are constants; a _Retval node "dataset" returns the last dataset.
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
"""Stateful op types that functions of elements may contain nevertheless. For calls, the called functions are checked."""


def graph_of(dataset: DatasetValue, allowed: Collection[bytes | str]) -> messages.GraphDef:
    """Returns the graph of a dataset.

    Args:
      dataset: its value. allowed: further stateful op types that its functions may contain.

    Raises:
      UnimplementedError: a dataset or captured value cannot be serialized. FailedPreconditionError: a function is stateful.
    """
    graph = messages.GraphDef()
    graph.versions.producer, graph.versions.min_consumer = GRAPH_DEF_VERSION, _MIN_CONSUMER
    last = _add(graph, dataset, frozenset(name.decode() if isinstance(name, bytes) else name for name in allowed))
    result = graph.node.add(name="dataset", op="_Retval", input=[last])
    result.attr["T"].type = dtypes.variant.as_datatype_enum
    result.attr["index"].i = 0
    return graph


def _add(graph: messages.GraphDef, dataset: DatasetValue, allowed: Collection[str]) -> str:
    """Adds the nodes of a dataset's inputs, then its own; returns the name of that."""
    op: Operation = dataset.op
    if dataset.notes.get("has_no_graph"):
        raise errors.UnimplementedError(None, None, f"{op.type}Op::Dataset does not support serialization.")
    _add_functions(graph, op, allowed)
    # Inputs first: a node's number is the count of the nodes before it. Attributes that begin with "_" are hints of the original graph.
    parts = [part for each in dataset.arguments for part in (each if isinstance(each, tuple) else (each,))]
    inputs = [_add_part(graph, part, allowed) for part in parts]
    name = f"{op.type}/_{len(graph.node)}"
    node = graph.node.add(name=name, op=op.type, input=inputs)
    for key, value in op.node_def.attr.items():
        if not key.startswith("_"):
            node.attr[key].CopyFrom(value)
    return name


def _add_part(graph: messages.GraphDef, part: object, allowed: Collection[str]) -> str:
    """Adds the node of one argument, a dataset or a constant; returns its name."""
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
    """Adds the functions that a node calls, directly or not, to the library; FailedPreconditionError if one is stateful."""
    # A function is added before its callees, which ends recursion.
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
    """Returns the functions that the attributes of a node refer to."""
    values = [part for value in op.attrs.values() for part in (value if isinstance(value, (list, tuple)) else (value,))]
    functions = [op.graph._get_function(part.name) for part in values if isinstance(part, FunctionRef)]
    return [function for function in functions if function is not None]
