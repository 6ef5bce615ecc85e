"""A conditional as one item of a plan: both branches of a predicate, with the Merge operations that join them."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tfcompat._src.graph.operation import Operation
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.ops.control.guards import Guard
from tfcompat._src.runtime.item import Item


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class CondItem(Item):
    """The operations that run under the values of a predicate.

    Attributes:
      predicate: the scalar that decides. names: the tensors that are this predicate inside.
      shared: the Switch operations on the predicate itself, which stand before both branches.
      branches: the items of each side. merges: the operations that join them.
      guards: under which values of which predicates tensors inside have a value.
    """

    predicate: Tensor
    names: Collection[Tensor]
    shared: Sequence[Item]
    branches: Mapping[bool, Sequence[Item]]
    merges: Sequence[Operation]
    guards: Mapping[Any, Guard]

    def on_side(self, on: bool) -> list[Item]:
        """The items of one branch, after the Switches on the predicate itself."""
        return [*self.shared, *self.branches[on]]

    def results(self, on: bool, values: Mapping[Tensor, Any]) -> dict[Tensor, Any]:
        """What goes out where one branch has run and left `values`."""
        found = {t: values[t] for t in self.outputs if t in values and self.is_alive(t, on)}
        for merge in self.merges:
            for index, tensor in enumerate(merge.takes):
                if self.is_alive(tensor, on) and tensor in values:
                    found.update({merge.outputs[0]: values[tensor], merge.outputs[1]: np.array(index, np.int32)})
        return found

    def joined(self, on: bool) -> list[Tensor]:
        """The tensors of one branch that go out, by themselves or through a Merge."""
        found = [t for t in self.outputs if self.is_alive(t, on) and t.op not in self.merges]
        return found + [t for m in self.merges for t in m.takes if self.is_alive(t, on)]

    def is_guarded(self, tensor: Tensor) -> bool:
        """Whether a tensor that goes out has a value only where its branch was taken."""
        return any(p is self.predicate for p, _ in self.guards[tensor])

    def is_alive(self, tensor: Tensor, on: bool) -> bool:
        """Whether a tensor inside has a value where the predicate is `on`."""
        return (self.predicate, not on) not in self.guards[tensor]
