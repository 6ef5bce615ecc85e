"""Routed items: nodes that Switch and Merge route in a way that is no conditional, such as a Merge of one value out of many.

Nothing tells before the run which of these nodes are alive. The host decides: it makes and keeps a plan for each combination of values that the
predicates have had, in which only nodes that are alive run.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from tfcompat._src.base.arrays import NDArray
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.runtime.ir.item import Item, Node, accesses_of, operations_of


class Dead:
    """The value in a run of a wanted tensor that has none."""


DEAD = Dead()


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class RoutedItem(Item):
    """Nodes whose liveness depends on the values of predicates. An output may be dead; then nothing else in the plan takes it.

    Attributes:
      nodes: sources first. predicates: the inputs that decide which nodes are alive.
      known: the tensors with a value before the run. fed: the tensors that the run was given. dead: the sources of nodes that have no value.
    """

    nodes: Sequence[Node]
    predicates: tuple[Tensor, ...]
    known: Mapping[Tensor, NDArray]
    fed: Collection[Tensor]
    dead: Collection[object]


def routed_item(
    nodes: Sequence[Node], predicates: Collection[Tensor], wanted: Sequence[Tensor], known: Mapping[Tensor, NDArray], fed: Collection[Tensor],
    dead: Collection[object],
) -> RoutedItem:  # fmt: skip
    """Makes the item of `nodes`, of which only `wanted` tensors are used elsewhere. `predicates` may be made inside: those are decided later."""
    inside = {t for node in nodes for t in node.outputs}
    operations = tuple(operations_of(nodes))
    reads, writes = accesses_of(nodes, fed)
    entering = tuple(dict.fromkeys(p for p in predicates if p not in inside))
    return RoutedItem(
        name=f"routed by {', '.join(p.name for p in entering)}", type="routed", order=max(node.order for node in nodes),
        takes=tuple(dict.fromkeys([*entering, *(t for node in nodes for t in node.takes if t not in inside and t not in dead)])),
        outputs=tuple(t for t in dict.fromkeys(wanted) if t in inside),
        waits_for=tuple(dict.fromkeys(c for node in nodes for c in node.waits_for if c not in operations and c not in dead)),
        operations=operations, stands_for=frozenset(operations), reads=(*reads, *writes), writes=tuple(writes),
        nodes=tuple(nodes), predicates=entering, known=known, fed=fed, dead=dead,
    )  # fmt: skip
