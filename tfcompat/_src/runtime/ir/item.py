"""Items: the nodes of a plan. An item is one operation, or several that run as one (a conditional, a loop, towers).

Items are immutable. A stage that computes something about an item keeps it in its own data.
"""

from __future__ import annotations

from collections.abc import Container, Iterable
from dataclasses import dataclass

from tfcompat._src.graph.op_spec import NO_FACTS, PURE, Effects, Facts, OpSpec
from tfcompat._src.graph.operation import Operation
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.runtime.state.variable_state import accesses, is_ref_read, possible_variables


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class Item:
    """A node of a plan.

    Attributes:
      name, type: as `explain` shows them.
      order: its position in the order of creation of nodes.
      takes: its input tensors. outputs: its output tensors.
      waits_for: the operations that it has control edges from.
      operations: all operations inside, in order. stands_for: the operations of the graph that it replaces.
      reads, writes: the handle operations of the variables that it reads and writes.
      constants: the positions of the inputs that must be NumPy values when it is compiled.
      effects: other side effects. facts: what the planner knows of the op type.
      counted_positions: the positions of inputs that may be padded with entries that the kernel skips.
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
    """An item of one operation `op`, whose op type is described by `spec`.

    Attributes:
      fed: the outputs that the run was given values for. Those stay, although the operation runs for its other outputs or a control edge.
    """

    op: Operation
    spec: OpSpec
    fed: tuple[Tensor, ...]

    def __init__(self, op: Operation, fed: Container[Tensor] = ()) -> None:
        reads, writes = accesses(op, fed)
        spec = op.spec
        given = tuple([t for t in op.outputs if t in fed]) if fed else ()
        # The fields of a frozen dataclass cannot be assigned; one update of its __dict__ is fast, and a plan has thousands of items.
        self.__dict__.update(
            op=op, spec=spec, name=op._name, type=op.type, order=op.order, takes=op.takes, fed=given,
            outputs=op.outputs,
            waits_for=op.waits_for, operations=(op,), stands_for=(op,), reads=reads, writes=writes,
            constants=op.constant_positions(), effects=spec.effects, facts=spec.facts, counted_positions=spec.counted_positions,
        )  # fmt: skip


class MergeItem(OpItem):
    """A Merge of which only one input can be alive. The others are no inputs of the item.

    Attributes:
      index: the position of that input among those of the Merge.
    """

    index: int

    def __init__(self, op: Operation, index: int, fed: Container[Tensor] = ()) -> None:
        super().__init__(op, fed)
        taken = op.takes[index]
        reads = possible_variables(taken) if taken.dtype._is_ref_dtype and taken not in fed else []
        self.__dict__.update(index=index, takes=(taken,), reads=tuple(reads))


Node = Operation | Item
"""A node while items are being made: an operation, or the item that replaces some."""


def as_items(nodes: Iterable[Node], fed: Container[Tensor]) -> tuple[Item, ...]:
    """Replaces the operations among nodes by items. An operation that takes a ref in `fed` reads no variable for it."""
    return tuple([OpItem(node, fed) if isinstance(node, Operation) else node for node in nodes])


def operations_of(nodes: Iterable[Node]) -> list[Operation]:
    """All operations of nodes in order, including those inside items."""
    return [op for node in nodes for op in ((node,) if isinstance(node, Operation) else node.operations)]


def accesses_of(nodes: Iterable[Node], fed: Container[Tensor]) -> tuple[list[Operation], list[Operation]]:
    """(handle operations of the variables that nodes read, of those that they write); `fed` as for `as_items`."""
    # In order and with repetitions; callers deduplicate where it matters.
    reads: list[Operation] = []
    writes: list[Operation] = []
    for node in nodes:
        r, w = accesses(node, fed) if isinstance(node, Operation) else (node.reads, node.writes)
        reads += r
        writes += w
    return reads, writes


def constants_of(node: Node) -> frozenset[int]:
    """The positions of a node's inputs that must be NumPy values when it is compiled."""
    return node.constant_positions() if isinstance(node, Operation) else node.constants


def is_ref_read_item(item: Item) -> bool:
    """Whether an item is a read of a ref, whose output aliases the variable's buffer."""
    return isinstance(item, OpItem) and is_ref_read(item.op)


def names_alone(item: Item) -> bool:
    """Whether an item only creates the handle of a resource and depends on nothing, so that it can run first."""
    return item.facts.names_resource and not (item.takes or item.waits_for)
