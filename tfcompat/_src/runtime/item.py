"""What the stages of a run pass on: items, each an operation or several that run as one (a conditional, a loop, towers).

An item is made once from the graph and never changes; what a stage finds out about it, the stage keeps.
"""

from __future__ import annotations

from collections.abc import Container, Iterable
from dataclasses import dataclass

from tfcompat._src.graph.op_spec import NO_FACTS, PURE, Effects, Facts, OpSpec
from tfcompat._src.graph.operation import Operation
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.runtime.variable_state import accesses, is_ref_read


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class Item:
    """Something that a plan places and runs.

    Attributes:
      name, type: as `explain` shows them.
      order: its place in the order in which nodes were made.
      takes: the tensors that it takes. outputs: those that it gives.
      waits_for: the operations that it waits for.
      operations: all operations inside, in order. stands_for: the operations of the graph in whose place it is.
      reads, writes: the handle operations of the variables that it reads and writes.
      constants: the positions of the inputs that must be NumPy values when it is compiled.
      effects: what it does beside that. facts: what the planner knows of an operation's type.
      counted_positions: inputs of which it takes more entries than there are.
    """

    name: str
    type: str
    order: tuple[int, ...]
    takes: tuple[Tensor, ...]
    outputs: tuple[Tensor, ...]
    waits_for: tuple[Operation, ...]
    operations: tuple[Operation, ...]
    stands_for: frozenset[Operation]
    reads: tuple[Operation, ...] = ()
    writes: tuple[Operation, ...] = ()
    constants: frozenset[int] = frozenset()
    effects: Effects = PURE
    facts: Facts = NO_FACTS
    counted_positions: tuple[int, ...] = ()

    def __repr__(self) -> str:
        return f"<{self.type} {self.name!r}>"


class OpItem(Item):
    """One operation. `op` is the node, `spec` the record of its type."""

    op: Operation
    spec: OpSpec

    def __init__(self, op: Operation, fed: Container[Tensor] = ()) -> None:
        reads, writes = accesses(op, fed)
        spec = op.spec
        self.__dict__.update(
            op=op, spec=spec, name=op._name, type=op.type, order=op.order, takes=op.takes, outputs=op.outputs,
            waits_for=op.waits_for, operations=(op,), stands_for=(op,), reads=reads, writes=writes,
            constants=op.constant_positions(), effects=spec.effects, facts=spec.facts, counted_positions=spec.counted_positions,
        )  # fmt: skip


Node = Operation | Item
"""What stands in a graph while its items are being made: an operation, or the item that has taken the place of some."""


def as_items(nodes: Iterable[Node], fed: Container[Tensor]) -> tuple[Item, ...]:
    """Items in place of the operations among some nodes. A ref that is `fed` is a value, and no variable is read."""
    return tuple([OpItem(node, fed) if isinstance(node, Operation) else node for node in nodes])


def operations_of(nodes: Iterable[Node]) -> list[Operation]:
    """The operations of nodes, also of items inside items, in order."""
    return [op for node in nodes for op in ((node,) if isinstance(node, Operation) else node.operations)]


def accesses_of(nodes: Iterable[Node], fed: Container[Tensor]) -> tuple[list[Operation], list[Operation]]:
    """The variables that nodes read and write."""
    reads: list[Operation] = []
    writes: list[Operation] = []
    for node in nodes:
        r, w = accesses(node, fed) if isinstance(node, Operation) else (node.reads, node.writes)
        reads += r
        writes += w
    return reads, writes


def constants_of(node: Node) -> frozenset[int]:
    """The positions of the inputs that a node needs as NumPy values when it is compiled."""
    return node.constant_positions() if isinstance(node, Operation) else node.constants


def is_ref_read_item(item: Item) -> bool:
    """Whether an item reads a ref: its output is an alias of the variable."""
    return isinstance(item, OpItem) and is_ref_read(item.op)


def names_alone(item: Item) -> bool:
    """Whether an item does nothing but name a resource, and can do so before all others."""
    return item.facts.names_resource and not (item.takes or item.waits_for)
