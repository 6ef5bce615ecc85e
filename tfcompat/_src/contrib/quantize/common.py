"""What the parts of tf.contrib.quantize share."""

from __future__ import annotations

import re
from collections.abc import Container

from tfcompat._src.base import dtypes
from tfcompat._src.base.graph_collections import GraphKeys
from tfcompat._src.graph.graph import Graph
from tfcompat._src.graph.operation import Operation
from tfcompat._src.graph.scopes import get_default_graph
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.ops.array.constant import identity
from tfcompat._src.variables.assign import assign_add
from tfcompat._src.variables.initializers import Zeros
from tfcompat._src.variables.policies import VariableAggregation
from tfcompat._src.variables.scope import get_variable

SKIPPED_PREFIXES = ("gradients/", "RMSProp/", "Adagrad/", "Const_", "HistogramSummary", "ScalarSummary")
_ENDS = ("Relu6", "Relu", "Identity")
_BATCH_NORM = re.compile(r"^(.*)BatchNorm/batchnorm")
_STEP = "fake_quantization_step"


def BatchNormGroups(graph: Graph) -> list[str]:
    """The prefixes of the batch normalizations of a graph that are not fused."""
    found = (_BATCH_NORM.search(op.name) for op in graph.get_operations())
    prefixes = dict.fromkeys(m.group(1) for m in found if m)
    return [p for p in prefixes if not p.startswith(SKIPPED_PREFIXES)]


def GetEndpointActivationOp(graph: Graph, prefix: str) -> Operation | None:
    """The activation with a prefix, or None."""
    names = (prefix + end for end in _ENDS)
    return next((graph._nodes_by_name[n] for n in names if n in graph._nodes_by_name), None)


def CreateOrGetQuantizationStep() -> Tensor:
    """How many runs of the default graph there were, with this one: an int64 scalar, which counts when it is run."""
    graph = get_default_graph()
    if f"{_STEP}/Identity" in graph._nodes_by_name:
        return graph.get_tensor_by_name(f"{_STEP}/Identity:0")
    with graph.name_scope(None):
        step = get_variable(
            _STEP, shape=[], dtype=dtypes.int64, initializer=Zeros(), trainable=False,
            collections=[GraphKeys.GLOBAL_VARIABLES], aggregation=VariableAggregation.ONLY_FIRST_REPLICA,
        )  # fmt: skip
        with graph.name_scope(step.op.name + "/"):
            return identity(assign_add(step, 1))


def DropStringPrefix(s: str, prefix: str) -> str:
    """The string without a prefix, where it has it."""
    return s.removeprefix(prefix)


def RerouteTensor(t0: Tensor, t1: Tensor, can_modify: Container[Operation] | None = None) -> int:
    """Gives what takes `t1` the tensor `t0`; how many inputs changed.

    Args:
      t0: the new tensor.
      t1: the old one.
      can_modify: the operations that may be changed; None: all.
    """
    uses = [(op, i) for op in t1.consumers() for i, t in enumerate(op.inputs) if t is t1]
    uses = [(op, i) for op, i in uses if can_modify is None or op in can_modify]
    for op, i in uses:
        op._update_input(i, t0)
    return len(uses)
