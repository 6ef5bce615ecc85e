"""Which operations of a graph take the outputs of which."""

from __future__ import annotations

from collections import defaultdict

from tfcompat._src.contrib.quantize.common import SKIPPED_PREFIXES
from tfcompat._src.graph.graph import Graph
from tfcompat._src.graph.operation import Operation
from tfcompat._src.graph.tensor import Tensor


class InputToOps:
    """The consumers of each tensor of a graph as it is now; gradients and summaries do not count."""

    def __init__(self, graph: Graph) -> None:
        self.mapping: dict[Tensor, set[Operation]] = defaultdict(set)
        for op in graph.get_operations():
            if not op.name.startswith(SKIPPED_PREFIXES):
                for t in op.inputs:
                    self.mapping[t].add(op)

    def ConsumerOperations(self, producer_op: Operation) -> set[Operation]:
        """The operations that take an output of `producer_op`."""
        return {op for t in producer_op.outputs for op in self.mapping.get(t, ())}
