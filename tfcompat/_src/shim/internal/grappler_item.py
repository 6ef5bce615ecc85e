"""`tensorflow.python.grappler.item`: a MetaGraphDef with what its training operation needs, as Grappler's tools take it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from tfcompat._src.base import errors
from tfcompat._src.graph.graph import Graph
from tfcompat._src.graph.operation import Operation
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.nodes.graph_import import import_graph_def
from tfcompat._src.proto import messages

_FORWARDS = frozenset(("Identity", "StopGradient", "PreventGradient", "Snapshot"))
_VARIABLE_COLLECTIONS = ("variables", "local_variables", "model_variables", "trainable_variables")


class BuiltItem:
    """The graph of a MetaGraphDef, and the names of the operations that are run, that initialize, and that fill queues."""

    def __init__(self, metagraph: messages.MetaGraphDef, ignore_colocation: bool, ignore_user_placement: bool) -> None:
        collections = metagraph.collection_def
        if "train_op" not in collections:
            raise errors.InvalidArgumentError(None, None, "train_op not specified in the metagraph")
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
        self.fetches = _nodes(collections["train_op"].node_list.value)
        for signature in metagraph.signature_def.values():
            self.fetches += _nodes(info.name for info in signature.outputs.values() if info.name)
        self.fetches = list(dict.fromkeys(self.fetches))
        known = {op.name for op in self.graph.get_operations()}
        if not self.fetches or not known.issuperset(self.fetches):
            raise errors.InvalidArgumentError(None, None, "Invalid metagraph")
        variables = [messages.VariableDef.FromString(raw) for key in _VARIABLE_COLLECTIONS if key in collections for raw in collections[key].bytes_list.value]
        tables = collections["table_initializer"].node_list.value if "table_initializer" in collections else ()
        self.initializers = list(dict.fromkeys([*_nodes(v.initializer_name for v in variables if v.initializer_name), *_nodes(tables)]))
        runners = collections["queue_runners"].bytes_list.value if "queue_runners" in collections else ()
        self.enqueues = [name for raw in runners for name in _nodes(messages.QueueRunnerDef.FromString(raw).enqueue_op_name)]

    def operations(self, roots: Iterable[str]) -> list[Operation]:
        """The operations that some need, themselves included, in the order of the graph."""
        needed: set[Operation] = set()
        pending = [self.graph.get_operation_by_name(name) for name in roots]
        while pending:
            op = pending.pop()
            if op not in needed:
                needed.add(op)
                pending += [t.op for t in op.inputs] + list(op.control_inputs)
        return [op for op in self.graph.get_operations() if op in needed]


class Item:
    """A MetaGraphDef whose collection train_op says what is run."""

    def __init__(self, metagraph: messages.MetaGraphDef, ignore_colocation: bool = True, ignore_user_placement: bool = False) -> None:
        """Builds the graph of a MetaGraphDef.

        Args:
          metagraph: the message. The item follows later changes to it.
          ignore_colocation: whether colocation constraints are left out.
          ignore_user_placement: whether the devices of nodes are left out.

        Raises:
          errors.InvalidArgumentError: it has no collection train_op, or this one names no node of the graph.
        """
        self._metagraph = metagraph
        self._options = (ignore_colocation, ignore_user_placement)
        self._build()

    def _build(self) -> None:
        self._built_of = messages.MetaGraphDef()
        self._built_of.CopyFrom(self._metagraph)
        self._tf_item = BuiltItem(self._metagraph, *self._options)

    @property
    def metagraph(self) -> messages.MetaGraphDef:
        """The message that the item was made with."""
        return self._metagraph

    @property
    def tf_item(self) -> BuiltItem:
        """The graph with its fetches; built again when the MetaGraphDef has changed."""
        if self._built_of != self._metagraph:
            self._build()
        return self._tf_item

    def IdentifyImportantOps(self, sort_topologically: bool = False) -> list[str]:  # noqa: N802  # TensorFlow's name
        """The names of the nodes that the training operation and the queue runners need.

        Args:
          sort_topologically: whether inputs come before the nodes that take them. Else the order is that of the graph;
            1.15 has none then.
        """
        built = self.tf_item
        needed = built.operations(built.fetches + built.enqueues)
        return [op.name for op in (by_depth(needed) if sort_topologically else needed)]

    def GetOpProperties(self) -> dict[str, list[messages.OpInfo.TensorProperties]]:  # noqa: N802  # TensorFlow's name
        """Names of nodes to the dtype, the static shape and, where it is constant, the value of each output.

        The shape of a scalar is left out. An unknown size is -1; 1.15 gives such sizes numbers below -1, equal ones where it knows them
        to be equal, and takes the sizes of placeholders of known shape for unknown, while they are those of the placeholders here.
        """
        found = {op.name: [properties(t) for t in op.outputs] for op in self.tf_item.graph.get_operations()}
        for message in (message for outputs in found.values() for message in outputs):
            if not message.shape.dim and not message.shape.unknown_rank:
                message.ClearField("shape")
        return found

    def GetColocationGroups(self) -> list[tuple[str, ...]]:  # noqa: N802  # TensorFlow's name
        """The groups of nodes that must share a device: those that take a reference, with the node that gives it."""
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
    """Sorts operations so that inputs come first: those with no inputs, then those that these make ready, and so on."""
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
    """The dtype, static shape and constant value of a tensor as a message."""
    found = messages.OpInfo.TensorProperties(dtype=tensor.dtype.as_datatype_enum, shape=tensor.shape.as_proto())
    value = _constant(tensor)
    if value is not None:
        found.value.CopyFrom(value)
    return found


def _constant(tensor: Tensor) -> messages.TensorProto | None:
    """The value of a Const, forwarded or not, and of the shape, size or rank of a tensor of static shape."""
    op = tensor.op
    while op.type in _FORWARDS:
        op = op.inputs[0].op
    if op.type == "Const":
        return op.node_def.attr["value"].tensor
    if op.type not in ("Shape", "Size", "Rank"):
        return None
    shape = op.inputs[0].shape
    if shape.ndims is None or (op.type != "Rank" and not shape.is_fully_defined()):
        return None
    numbers = shape.as_list() if op.type == "Shape" else [shape.num_elements() if op.type == "Size" else shape.ndims]
    found = messages.TensorProto(dtype=tensor.dtype.as_datatype_enum, tensor_shape=tensor.shape.as_proto())
    (found.int_val if tensor.dtype.name == "int32" else found.int64_val).extend(numbers)
    return found


def _takes_reference(op: Operation, tensor: Tensor) -> bool:
    """Whether an operation takes a tensor as a reference, not by its value."""
    return any(t is tensor and dtype._is_ref_dtype for t, dtype in zip(op.inputs, op._input_types, strict=True))


def _nodes(names: Iterable[Any]) -> list[str]:
    """The nodes of tensor names."""
    return [name.removeprefix("^").split(":")[0] for name in names]
