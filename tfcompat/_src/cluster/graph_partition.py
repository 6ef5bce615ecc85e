"""Graph partition: splits the graph of a step into one graph per task, with _Send and _Recv nodes on the edges that cross tasks.

Constants, and the nodes that select a branch (Switch of a predicate by itself, with its Identity pivots), are copied to every task that uses
them. A tensor that exists only in one branch of a conditional is sent and received in that branch: the predicate is sent first, so the receiver
knows whether the tensor will come, and no dead tensors are sent (TensorFlow 1.15 sends them).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass, field
from typing import Any

from tfcompat._src.base import dtypes, errors
from tfcompat._src.base.tensor_shape import TensorShape
from tfcompat._src.cluster import carried_derivatives
from tfcompat._src.cluster.part_order import STAGE, kind_order
from tfcompat._src.cluster.placement import Conditions, loops, needed, tasks_of
from tfcompat._src.cluster.rendezvous import Key
from tfcompat._src.cluster.stages import Node
from tfcompat._src.cluster.stages import stages as stages_of
from tfcompat._src.graph import attr_values
from tfcompat._src.graph.graph import Graph
from tfcompat._src.graph.loop_derivative import LoopDerivative
from tfcompat._src.graph.operation import Operation
from tfcompat._src.graph.ordering import BACK_EDGE
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.ops.control.guards import SWITCH
from tfcompat._src.proto import messages


@dataclass
class TaskPart:
    """The part of one task.

    Attributes:
      derivatives: of the step's loops, on this task or on others. nodes: NodeDef messages by name. stages: of the nodes, see stages.py.
      feeds, fetches: the rendezvous keys of the tensors that the client feeds and fetches here.
    """

    derivatives: list[LoopDerivative]
    nodes: dict[str, Any] = field(default_factory=dict)
    stages: dict[str, int] = field(default_factory=dict)
    feeds: dict[Tensor, str] = field(default_factory=dict)
    fetches: dict[Tensor, str] = field(default_factory=dict)

    def graph_def(self, graph: Graph) -> Any:
        """Returns the part as a GraphDef message, with the functions of `graph`; nodes are in an order in which they can run."""
        found = messages.GraphDef(versions=graph.graph_def_versions)
        found.node.extend(sorted(self.nodes.values(), key=lambda node: (self.stages[node.name], kind_order(node.op))))
        for function in graph._functions.values():
            found.library.function.add().CopyFrom(function.definition)
        carried_derivatives.write(found, self.derivatives)
        return found


class GraphPartition:
    """Prunes a graph to what a step needs, and partitions it by task.

    Args:
      feeds, fetches, targets: of the step.
      device_of: returns the name of an operation's device.
      incarnations: of the first CPU of each task; tensors are sent between CPUs.
      derivatives: the graph's LoopDerivatives. ran: operations that have run already; control edges from them are dropped.

    Attributes: `parts` by task.

    Raises:
      errors.InvalidArgumentError: a resource is used on another task. NotImplementedError: a loop uses state of several tasks.
    """

    def __init__(
        self, feeds: list[Tensor], fetches: list[Tensor], targets: list[Operation], device_of: Callable[[Operation], str],
        incarnations: dict[str, int], derivatives: Iterable[LoopDerivative] = (), ran: Collection[Operation] = (),
    ) -> None:  # fmt: skip
        # Pruning: what fetches and targets need, and no more.
        self._fed, self._ran = set(feeds), ran
        self._device_of, self._incarnations = device_of, incarnations
        ops = needed(fetches, targets, self._fed, ran)
        present = set(ops)
        self._derivatives = carried_derivatives.served(derivatives, present, feeds)
        # A derivative replaces a backward loop only if its end points are in the graph, even those that the step does not use.
        kept = {op for op in carried_derivatives.ends(self._derivatives) if op not in present}
        if kept:
            ops = needed(fetches, [*targets, *kept], self._fed, ran)
        self._task = tasks_of(ops, device_of)
        self._conditions = Conditions(ops, self._fed)
        # Names of new nodes are numbered; `_local` is the cache of `_once`; the next two describe the sends for the stages.
        self._count = 0
        self._local: dict[tuple[Any, str], str] = {}
        self._sent_by: dict[Node, Node] = {}
        self._bytes: dict[Node, int | None] = {}
        self.parts: dict[str, TaskPart] = {}
        # Copied nodes are added on demand, by the nodes that use them, except for targets and fetches.
        for op in ops:
            if not self._is_copied(op):
                self._add(op, self._task[op])
        for op in kept:
            self._part(self._task[op]).nodes[op.name].attr[carried_derivatives.KEPT].b = True
        for op in targets:
            self._add(op, self._task[op])
        for t in dict.fromkeys(fetches):
            if t not in self._fed:
                self._add_fetch(t)
        self._set_stages(loops(ops))

    # ---- nodes ----

    def _is_copied(self, op: Operation) -> bool:
        """Whether an operation is repeated on each task that uses it: a constant, or a node that selects a branch."""
        # Switch(p, p) and its Identity pivots only carry control edges of a branch. They need nothing but the predicate.
        if op.type == "Identity":
            return op.inputs[0].op in self._task and op.inputs[0].op.type in SWITCH and self._is_copied(op.inputs[0].op)
        return op.type == "Const" or op.type == "Switch" and self._predicate(op.inputs[0]) is self._predicate(op.inputs[1])

    def _predicate(self, tensor: Tensor) -> Tensor:
        """Follows copies of a predicate to their source; a fed tensor is a source."""
        return tensor if tensor in self._fed else self._conditions.predicate(tensor)

    def _add(self, op: Operation, task: str) -> None:
        """Adds an operation to a task's part, with its inputs as seen from that task."""
        if op.name in self._part(task).nodes:
            return
        node = messages.NodeDef()
        node.CopyFrom(op.node_def)
        # A copy may be on another task than the operation's device.
        device = self._device_of(op)
        node.device = device if device.startswith(f"{task}/") else _cpu(task)
        inputs = [t._as_node_def_input() if t.op.type in BACK_EDGE else self._source(t, task) for t in op.inputs]
        inputs += [f"^{name}" for name in dict.fromkeys(self._control_source(c, task) for c in op.control_inputs if c not in self._ran)]
        del node.input[:]
        node.input.extend(inputs)
        self._put(task, node)

    def _part(self, task: str) -> TaskPart:
        return self.parts.setdefault(task, TaskPart(self._derivatives))

    def _put(self, task: str, node: Any) -> None:
        self._part(task).nodes[node.name] = node

    def _set_stages(self, looped: list[list[Operation]]) -> None:
        """Assigns a stage to each node. A loop is one node of the stage graph, as it starts only when all its inputs are there."""
        # Maps each node of a loop to the loop's first node.
        whole = {(self._task[op], op.name): (self._task[op], members[0].name) for members in looped for op in members}
        sources: dict[Node, set[Node]] = {}
        for task, part in self.parts.items():
            for name, node in part.nodes.items():
                unit = whole.get((task, name), (task, name))
                sources.setdefault(unit, set()).update({whole.get(source, source) for source in self._needs(task, node)} - {unit})
        # Nodes with external effects, such as an enqueue, are not delayed: other tasks may wait for them without an edge.
        acts = [whole.get(key, key) for op, task in self._task.items() if op.spec.effects.external for key in [(task, op.name)]]
        stages = stages_of(sources, self._sent_by, self._bytes.get, acts)
        for task, part in self.parts.items():
            part.stages = {name: stages[whole.get((task, name), (task, name))] for name in part.nodes}
        # The worker cuts its part by these attributes.
        for task, name in (*self._sent_by, *self._sent_by.values()):
            self.parts[task].nodes[name].attr[STAGE].i = self.parts[task].stages[name]

    def _needs(self, task: str, node: Any) -> list[Node]:
        """Returns the sources of a node: of its data and control inputs, and the _Send of a _Recv."""
        sender = self._sent_by.get((task, node.name))
        return [(task, _node_name(text)) for text in node.input] + ([] if sender is None else [sender])

    def _name(self, wish: str) -> str:
        """Returns a new node name."""
        name = f"{wish}_S{self._count}"
        self._count += 1
        return name

    # ---- edges ----

    def _source(self, tensor: Tensor, task: str) -> str:
        """Returns the NodeDef input that is this tensor on a task; adds a feed, a transfer or a copy if needed."""
        if tensor in self._fed:
            return self._once(tensor, task, self._feed)
        # All copies of a predicate cross as one tensor.
        if tensor.dtype == dtypes.bool and self._task[tensor.op] != task and not self._is_copied(tensor.op):
            tensor = self._predicate(tensor)
            if tensor in self._fed:
                return self._once(tensor, task, self._feed)
        # On this task already, copied to it, or received from another one.
        if self._is_copied(tensor.op):
            self._add(tensor.op, task)
        elif self._task[tensor.op] != task:
            return self._once(tensor, task, self._transfer)
        return tensor._as_node_def_input()

    def _control_source(self, op: Operation, task: str) -> str:
        """Returns the name of a node on a task that runs after an operation."""
        if self._is_copied(op):
            self._add(op, task)
        elif self._task[op] != task:
            return self._once(op, task, self._transfer_control)
        return op.name

    def _once(self, element: Any, task: str, make: Callable[[Any, str], str]) -> str:
        """Caches `make(element, task)`: several users on a task share one transfer."""
        if (element, task) not in self._local:
            self._local[element, task] = make(element, task)
        return self._local[element, task]

    def _transfer(self, tensor: Tensor, task: str) -> str:
        """Sends a tensor to a task; returns the name of the _Recv."""
        if tensor.dtype.base_dtype == dtypes.resource:
            raise errors.InvalidArgumentError(
                tensor.op.node_def, tensor.op, f"The resource {tensor.name} is on {self._task[tensor.op]} and cannot be used on {task}: "
                "place the operations that use it on its task."
            )  # fmt: skip
        return self._cross(tensor._as_node_def_input(), tensor.op.name, self._task[tensor.op], task, tensor.dtype.base_dtype,
                           tensor.shape, self._conditions.of(tensor))  # fmt: skip

    def _transfer_control(self, op: Operation, task: str) -> str:
        """Makes a task wait for an operation of another; returns the name of the _Recv."""
        source = self._task[op]
        # As in TensorFlow: a control edge crosses as an empty constant that waits for the operation.
        node = messages.NodeDef(name=self._name(op.name), op="Const", device=_cpu(source), input=[f"^{op.name}"])
        node.attr["dtype"].type = dtypes.float32.as_datatype_enum
        node.attr["value"].tensor.dtype = dtypes.float32.as_datatype_enum
        node.attr["value"].tensor.tensor_shape.dim.add(size=0)
        self._put(source, node)
        return self._cross(node.name, op.name, source, task, dtypes.float32, TensorShape([0]), self._conditions.of(op))

    def _cross(
        self, source: str, wish: str, sender: str, receiver: str, dtype: dtypes.DType, shape: TensorShape,
        guard: list[tuple[Tensor, bool]],
    ) -> str:  # fmt: skip
        """Adds a _Send of `source` to the part of `sender` and a _Recv to that of `receiver`; returns the name of the _Recv.

        Args:
          wish: the stem of the new names. guard: the conditions under which the tensor exists. The _Recv waits for their pivots.
        """
        # All transfers are between CPUs; the number in the key keeps several transfers of one tensor apart.
        send = messages.NodeDef(name=self._name(wish), op="_Send", device=_cpu(sender), input=[source])
        receive = messages.NodeDef(name=self._name(wish), op="_Recv", device=_cpu(receiver))
        receive.input.extend(dict.fromkeys(f"^{self._pivot(predicate, value, receiver)}" for predicate, value in guard))
        key = Key(_cpu(sender), self._incarnations[sender], _cpu(receiver), f"edge_{self._count}_{wish}")
        _fill(send, key, "T", dtype, False)
        _fill(receive, key, "tensor_type", dtype, False)
        # The receiver's shape inference knows nothing of the sender's graph.
        attr_values.fill(receive.attr["_output_shapes"], [shape])
        self._put(sender, send)
        self._put(receiver, receive)
        self._sent_by[receiver, receive.name] = sender, send.name
        self._bytes[sender, send.name] = _size(shape, dtype)
        return str(receive.name)

    def _pivot(self, predicate: Tensor, value: bool, task: str) -> str:
        """Returns the name of a node on a task that runs if a predicate has a value."""
        return self._once((predicate, value), task, self._make_pivot)

    def _make_pivot(self, condition: tuple[Tensor, bool], task: str) -> str:
        """Adds Switch(p, p) and an Identity of one of its outputs, as tf.cond does."""
        predicate, value = condition
        text = self._source(predicate, task)
        switch = messages.NodeDef(name=self._name(predicate.op.name), op="Switch", device=_cpu(task), input=[text, text])
        side = messages.NodeDef(name=self._name(predicate.op.name), op="Identity", device=_cpu(task))
        side.input.append(f"{switch.name}:1" if value else switch.name)
        for node in (switch, side):
            node.attr["T"].type = dtypes.bool.as_datatype_enum
            self._put(task, node)
        return str(side.name)

    # ---- the client ----

    def _feed(self, tensor: Tensor, task: str) -> str:
        """Adds the _Recv of a tensor that the client feeds; returns its name."""
        index = tensor.value_index
        key = Key(_cpu(task), self._incarnations[task], _cpu(task), f"_fed_{tensor.op.name}:{index}")
        node = clients_transfer(f"_recv_{tensor.op.name}_{index}", key, tensor.dtype)
        attr_values.fill(node.attr["_output_shapes"], [tensor.shape])
        self._put(task, node)
        self._part(task).feeds[tensor] = str(key)
        return str(node.name)

    def _add_fetch(self, tensor: Tensor) -> None:
        """Adds the _Send of a tensor that the client fetches."""
        task = self._task[tensor.op]
        self._add(tensor.op, task)
        index = tensor.value_index
        key = Key(_cpu(task), self._incarnations[task], _cpu(task), f"{tensor.op.name}:{index}")
        node = clients_transfer(f"_send_{tensor.op.name}_{index}", key, tensor.dtype, tensor._as_node_def_input())
        self._put(task, node)
        self._part(task).fetches[tensor] = str(key)


def _cpu(task: str) -> str:
    return f"{task}/device:CPU:0"


def _size(shape: TensorShape, dtype: dtypes.DType) -> int | None:
    """Returns the size of a tensor in bytes; None if the shape is not known, or elements have no fixed size."""
    count = shape.num_elements()
    return None if count is None or not dtype.is_numpy_compatible else count * dtype.size


def _node_name(text: str) -> str:
    """Returns the node of a NodeDef input."""
    return text.lstrip("^").partition(":")[0]


def clients_transfer(name: str, key: Key, dtype: dtypes.DType, sent: str | None = None) -> messages.NodeDef:
    """Returns the node by which RunGraph feeds a tensor of a part (_Recv), or fetches the tensor `sent` (_Send), under a key."""
    node = messages.NodeDef(name=name, op="_Recv" if sent is None else "_Send", device=key.recv_device, input=[] if sent is None else [sent])
    _fill(node, key, "tensor_type" if sent is None else "T", dtype.base_dtype, True)
    return node


def _fill(node: Any, key: Key, type_attr: str, dtype: dtypes.DType, is_clients: bool) -> None:
    """Sets the attributes of a _Send or _Recv; `is_clients` marks feeds and fetches."""
    node.attr[type_attr].type = dtype.as_datatype_enum
    node.attr["tensor_name"].s = key.name.encode()
    node.attr["send_device"].s = key.send_device.encode()
    node.attr["recv_device"].s = key.recv_device.encode()
    # An unsigned 64-bit number in a signed attribute.
    node.attr["send_device_incarnation"].i = key.incarnation - (1 << 64 if key.incarnation >> 63 else 0)
    node.attr["client_terminated"].b = is_clients
