"""`tensorflow.python.grappler.item`: Grappler's unit of work, a MetaGraphDef with its fetches, initializers and queue runners."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from tfcompat._src.base import errors
from tfcompat._src.graph.graph import Graph
from tfcompat._src.graph.operation import Operation
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.nodes.graph_import import import_graph_def
from tfcompat._src.proto import messages

# Op types whose output is their input.
_FORWARDS = frozenset(("Identity", "StopGradient", "PreventGradient", "Snapshot"))
_VARIABLE_COLLECTIONS = ("variables", "local_variables", "model_variables", "trainable_variables")


class BuiltItem:
    """The graph built from a MetaGraphDef, with the names of its fetched operations, initializers and enqueue operations.

    Raises:
      errors.InvalidArgumentError: the MetaGraphDef has no collection train_op, or a fetch is not in the graph.
    """

    def __init__(self, metagraph: messages.MetaGraphDef, ignore_colocation: bool, ignore_user_placement: bool) -> None:
        collections = metagraph.collection_def
        if "train_op" not in collections:
            raise errors.InvalidArgumentError(None, None, "train_op not specified in the metagraph")
        # Recorded shapes are removed, as they may be out of date. They are inferred again.
        graph_def = messages.GraphDef()
        graph_def.CopyFrom(metagraph.graph_def)
        for node in graph_def.node:
            node.attr.pop("_output_shapes", None)
            if ignore_user_placement:
                node.device = ""
            if ignore_colocation:
                node.attr.pop("_class", None)
        self.graph = Graph()
        with self.graph.as_default():
            import_graph_def(graph_def, name="")
        # Fetches: the training operation, and the outputs of all signatures.
        self.fetches = _nodes(collections["train_op"].node_list.value)
        for signature in metagraph.signature_def.values():
            self.fetches += _nodes(info.name for info in signature.outputs.values() if info.name)
        self.fetches = list(dict.fromkeys(self.fetches))
        known = {op.name for op in self.graph.get_operations()}
        if not self.fetches or not known.issuperset(self.fetches):
            raise errors.InvalidArgumentError(None, None, "Invalid metagraph")
        # Initializers: of variables and tables. A variable can be in several collections.
        variables = [messages.VariableDef.FromString(raw) for key in _VARIABLE_COLLECTIONS if key in collections for raw in collections[key].bytes_list.value]
        tables = collections["table_initializer"].node_list.value if "table_initializer" in collections else ()
        self.initializers = list(dict.fromkeys([*_nodes(v.initializer_name for v in variables if v.initializer_name), *_nodes(tables)]))
        runners = collections["queue_runners"].bytes_list.value if "queue_runners" in collections else ()
        self.enqueues = [name for raw in runners for name in _nodes(messages.QueueRunnerDef.FromString(raw).enqueue_op_name)]

    def operations(self, roots: Iterable[str]) -> list[Operation]:
        """Returns the operations that `roots` depend on, including themselves, in the order of the graph."""
        # Along data and control edges.
        needed: set[Operation] = set()
        pending = [self.graph.get_operation_by_name(name) for name in roots]
        while pending:
            op = pending.pop()
            if op not in needed:
                needed.add(op)
                pending += [t.op for t in op.inputs] + list(op.control_inputs)
        return [op for op in self.graph.get_operations() if op in needed]


class Item:
    """A MetaGraphDef whose collection train_op names the operations to run."""

    def __init__(self, metagraph: messages.MetaGraphDef, ignore_colocation: bool = True, ignore_user_placement: bool = False) -> None:
        """Builds the graph of a MetaGraphDef.

        Args:
          metagraph: the message. The item follows later changes to it.
          ignore_colocation: whether colocation constraints are removed.
          ignore_user_placement: whether the devices of nodes are removed.

        Raises:
          errors.InvalidArgumentError: it has no collection train_op, or a fetch is not in the graph.
        """
        self._metagraph = metagraph
        self._options = (ignore_colocation, ignore_user_placement)
        self._build()

    def _build(self) -> None:
        """Builds the graph, and keeps a copy of the message to detect later changes."""
        self._built_of = messages.MetaGraphDef()
        self._built_of.CopyFrom(self._metagraph)
        self._tf_item = BuiltItem(self._metagraph, *self._options)

    @property
    def metagraph(self) -> messages.MetaGraphDef:
        """The message that the item was made with."""
        return self._metagraph

    @property
    def tf_item(self) -> BuiltItem:
        """The graph with its fetches; rebuilt if the MetaGraphDef has changed since."""
        if self._built_of != self._metagraph:
            self._build()
        return self._tf_item

    def IdentifyImportantOps(self, sort_topologically: bool = False) -> list[str]:  # noqa: N802  # TensorFlow's name
        """Returns the names of the nodes that the fetches and the queue runners depend on.

        Args:
          sort_topologically: whether to sort them topologically. Otherwise they have the order of the graph; 1.15 leaves it open.
        """
        built = self.tf_item
        needed = built.operations(built.fetches + built.enqueues)
        return [op.name for op in (by_depth(needed) if sort_topologically else needed)]

    def GetOpProperties(self) -> dict[str, list[messages.OpInfo.TensorProperties]]:  # noqa: N802  # TensorFlow's name
        """Returns, by node name, the dtype, static shape and constant value (if it has one) of each output.

        The shape of a scalar is left out. Two differences from 1.15: an unknown size is -1 here, and a number below -1 there, equal for sizes that
        are known to be equal; and the sizes of placeholders are their static ones here, and unknown there.
        """
        found = {op.name: [properties(t) for t in op.outputs] for op in self.tf_item.graph.get_operations()}
        for message in (message for outputs in found.values() for message in outputs):
            if not message.shape.dim and not message.shape.unknown_rank:
                message.ClearField("shape")
        return found

    def GetColocationGroups(self) -> list[tuple[str, ...]]:  # noqa: N802  # TensorFlow's name
        """Returns the groups of nodes that must be on one device: nodes that take a reference, with the node that produces it."""
        # Union of sets: all members of a group share one list.
        groups: dict[str, list[str]] = {}
        for op in self.tf_item.graph.get_operations():
            for tensor in op.inputs:
                if tensor.dtype._is_ref_dtype and _takes_reference(op, tensor):
                    mine, other = groups.setdefault(op.name, [op.name]), groups.setdefault(tensor.op.name, [tensor.op.name])
                    if mine is not other:
                        other += mine
                        groups.update((name, other) for name in mine)
        return [tuple(group) for group in {id(group): group for group in groups.values()}.values()]


def by_depth(operations: list[Operation]) -> list[Operation]:
    """Sorts operations topologically, breadth first: those without inputs, then those that these make ready, and so on.

    Raises:
      errors.InvalidArgumentError: the graph has a cycle.
    """
    # Kahn's algorithm; the result is also the queue.
    waiting = {op: {*(t.op for t in op.inputs), *op.control_inputs} for op in operations}
    takers: dict[Operation, list[Operation]] = {op: [] for op in operations}
    for op in operations:
        for source in waiting[op]:
            takers[source].append(op)
    found = [op for op in operations if not waiting[op]]
    for op in found:
        for taker in takers[op]:
            waiting[taker].discard(op)
            if not waiting[taker]:
                found.append(taker)
    if len(found) < len(operations):
        raise errors.InvalidArgumentError(None, None, "The graph couldn't be sorted in topological order.")
    return found


def properties(tensor: Tensor) -> messages.OpInfo.TensorProperties:
    """Returns the dtype, static shape and constant value (if known) of a tensor as a message."""
    found = messages.OpInfo.TensorProperties(dtype=tensor.dtype.as_datatype_enum, shape=tensor.shape.as_proto())
    value = _constant(tensor)
    if value is not None:
        found.value.CopyFrom(value)
    return found


def _constant(tensor: Tensor) -> messages.TensorProto | None:
    """Returns the value of a tensor that is a Const, or the shape, size or rank of a tensor with static shape; else None."""
    # No further constant folding: 1.15 reports values of these op types only.
    op = tensor.op
    while op.type in _FORWARDS:
        op = op.inputs[0].op
    if op.type == "Const":
        return op.node_def.attr["value"].tensor
    if op.type not in ("Shape", "Size", "Rank"):
        return None
    # A rank needs no sizes.
    shape = op.inputs[0].shape
    if shape.ndims is None or (op.type != "Rank" and not shape.is_fully_defined()):
        return None
    numbers = shape.as_list() if op.type == "Shape" else [shape.num_elements() if op.type == "Size" else shape.ndims]
    found = messages.TensorProto(dtype=tensor.dtype.as_datatype_enum, tensor_shape=tensor.shape.as_proto())
    (found.int_val if tensor.dtype.name == "int32" else found.int64_val).extend(numbers)
    return found


def _takes_reference(op: Operation, tensor: Tensor) -> bool:
    """Whether an operation takes a tensor as a reference, rather than its value."""
    return any(t is tensor and dtype._is_ref_dtype for t, dtype in zip(op.inputs, op._input_types, strict=True))


def _nodes(names: Iterable[Any]) -> list[str]:
    """Returns the node names of tensor names ("a:0") and control inputs ("^a")."""
    return [name.removeprefix("^").split(":")[0] for name in names]
