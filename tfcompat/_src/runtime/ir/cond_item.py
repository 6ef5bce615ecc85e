"""Conditionals as items of a plan: the branches of all Switch nodes on one predicate, with the Merge nodes that join them."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tfcompat._src.graph.operation import Operation
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.ops.control.guards import Guard
from tfcompat._src.runtime.ir.item import Item


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class CondItem(Item):
    """The operations whose execution depends on a predicate.

    Attributes:
      predicate: the scalar bool. names: tensors with the predicate's value, known to be a constant inside a branch.
      shared: the Switch nodes on the predicate, whose outputs both branches use.
      branches: the items of each branch, by the value of the predicate. merges: the Merge nodes.
      guards: for each tensor, the (predicate, value) pairs under which it is alive.
    """

    predicate: Tensor
    names: Collection[Tensor]
    shared: Sequence[Item]
    branches: Mapping[bool, Sequence[Item]]
    merges: Sequence[Operation]
    guards: Mapping[Any, Guard]

    def on_side(self, on: bool) -> list[Item]:
        """The items of one branch, with the Switch nodes on the predicate first."""
        return [*self.shared, *self.branches[on]]

    def results(self, on: bool, values: Mapping[Tensor, Any]) -> dict[Tensor, Any]:
        """The conditional's results, from the values that the branch `on` computed."""
        outputs = {t: values[t] for t in self.outputs if t in values and self.is_alive(t, on)}
        # One input of a Merge is alive under each value of the predicate.
        for merge in self.merges:
            for index, tensor in enumerate(merge.takes):
                if self.is_alive(tensor, on) and tensor in values:
                    outputs.update({merge.outputs[0]: values[tensor], merge.outputs[1]: np.array(index, np.int32)})
        return outputs

    def joined(self, on: bool) -> list[Tensor]:
        """The tensors of one branch that live out, directly or through a Merge."""
        direct = [t for t in self.outputs if self.is_alive(t, on) and t.op not in self.merges]
        return direct + [t for m in self.merges for t in m.takes if self.is_alive(t, on)]

    def is_guarded(self, tensor: Tensor) -> bool:
        """Whether an output is dead unless its branch is taken."""
        return any(p is self.predicate for p, _ in self.guards[tensor])

    def is_alive(self, tensor: Tensor, on: bool) -> bool:
        """Whether a tensor inside is not dead because of this predicate when its value is `on`."""
        return (self.predicate, not on) not in self.guards[tensor]
