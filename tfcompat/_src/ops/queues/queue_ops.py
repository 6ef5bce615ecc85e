"""The op types of queues. A handle is the Queue itself, passed from node to node."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from tfcompat._src.base import dtypes
from tfcompat._src.base.dtypes import DType
from tfcompat._src.base.host_context import HostContext
from tfcompat._src.graph import shape_inference as si
from tfcompat._src.graph.op_spec import EXTERNAL, HOST, NAMES_RESOURCE, WAITING, Effects, NotDifferentiable, op
from tfcompat._src.graph.tensor import shape_text
from tfcompat._src.ops.queues import state
from tfcompat._src.ops.queues.resource import invalid, shared_resource

if TYPE_CHECKING:
    from tfcompat._src.graph.operation import Operation

MAKES_HANDLE = Effects(external=True, creates=True)
NO_GRADIENT = NotDifferentiable("what a queue gives depends on what was put in before", raises=True)
_add = functools.partial(op, side=HOST, gradient=NO_GRADIENT)

_COMMON = 'capacity: int = -1, container: string = "", shared_name: string = ""'


# ---- making ----


def _queue_maker(queue_class: type[state.Queue]) -> Callable:
    def kernel(context: HostContext) -> state.Queue:
        node = context.op
        return shared_resource(context, "queue", lambda: _made(node, queue_class), lambda queue: _check_fits(node, queue_class, queue))

    return kernel


def _made(node: Any, queue_class: type[state.Queue]) -> state.Queue:
    """The queue that a node asks for."""
    shapes = [s.sizes for s in node.attrs["shapes"]]
    return queue_class(node.attrs["capacity"], list(node.attrs["component_types"]), shapes or None, *(node.attrs[a] for a in _EXTRA_ATTRS.get(queue_class, ())))


_EXTRA_ATTRS = {state.RandomShuffleQueue: ("min_after_dequeue", "seed", "seed2")}


def _check_fits(node: Any, queue_class: type[state.Queue], queue: state.Queue) -> None:
    """InvalidArgumentError where a node asks for another queue than the shared one that exists."""
    if type(queue) is not queue_class:
        raise invalid(f"Expected {queue.kind}, found {node.type}")
    wanted = _made(node, queue_class)
    for what, has, requested in (
        ("capacity", queue.capacity, wanted.capacity),
        ("component types", type_list_text(queue.component_types), type_list_text(wanted.component_types)),
        ("component shapes", _shape_list_text(queue.shapes), _shape_list_text(wanted.shapes)),
    ):
        if has != requested:
            verb = "was" if what == "capacity" else "were"
            raise invalid(f"Shared queue '{queue.name}' has {what} {has} but requested {what} {verb} {requested}")
    if isinstance(queue, state.RandomShuffleQueue):
        if queue.min_after_dequeue != wanted.min_after_dequeue:
            raise invalid(
                f"Shared queue '{queue.name}' has min_after_dequeue {queue.min_after_dequeue} but requested "
                f"min_after_dequeue was {wanted.min_after_dequeue}."
            )
        if any(wanted.seeds) and queue.seeds != wanted.seeds:
            raise invalid(f"Shared queue '{queue.name}' has random seeds {queue.seeds} but requested seeds are {wanted.seeds}.")


def type_list_text(kinds: list[DType]) -> str:
    return ", ".join(dtypes.cpp_name(k.name) for k in kinds)


def _shape_list_text(shapes: list[tuple] | None) -> str:
    return "[" + ", ".join(map(shape_text, shapes or ())) + "]"


for _name, _class, _types, _extra in (
    ("FIFOQueue", state.Queue, "component_types: list(type) >= 1, shapes: list(shape) >= 0 = []", ""),
    ("PaddingFIFOQueue", state.PaddingQueue, "component_types: list(type) >= 1, shapes: list(shape) >= 0 = []", ""),
    ("PriorityQueue", state.PriorityQueue, "component_types: list(type) >= 0 = [], shapes: list(shape) >= 0", ""),
    ("RandomShuffleQueue", state.RandomShuffleQueue, "component_types: list(type) >= 1, shapes: list(shape) >= 0 = []",
     "min_after_dequeue: int = 0, seed: int = 0, seed2: int = 0, "),
):  # fmt: skip
    _attrs = f"*, {_types}, " + _COMMON.replace("container", _extra + "container", 1)
    _add(_name, f"({_attrs}) -> (handle: Ref(string))", shape=lambda c: [(2,)], kernel=_queue_maker(_class),
         effects=MAKES_HANDLE, context=True, facts=NAMES_RESOURCE)  # fmt: skip
    _add(_name + "V2", f"({_attrs}) -> (handle: resource)", shape=si.scalar, kernel=_queue_maker(_class),
         effects=MAKES_HANDLE, context=True, facts=NAMES_RESOURCE)  # fmt: skip

_add("FakeQueue", "(resource: resource) -> (handle: Ref(string))", shape=lambda c: [(2,)], kernel=lambda queue: queue,
     effects=MAKES_HANDLE)  # fmt: skip


# ---- using ----


def _check_user(context: HostContext, queue: state.Queue, attr: str, enqueues: bool = False) -> None:
    """InvalidArgumentError where a node's component types are not those of its queue; looked at once per node."""
    node = context.op
    if node in queue.users:
        return
    if node.attrs["timeout_ms"] != -1:
        raise invalid("Timeout not supported yet.")
    if list(node.attrs[attr]) != list(queue.component_types):
        found, wanted = (_signature_text(node, kinds, enqueues) for kinds in (node.attrs[attr], queue.component_types))
        raise invalid(f"Signature mismatch, have: {found} expected: {wanted}")
    queue.users.add(node)


def _signature_text(node: Operation, kinds: list[DType], enqueues: bool) -> str:
    """The input and output types that a node has with these component types."""
    fixed = node.inputs[:1] if enqueues else node.inputs
    given = [t.dtype.name for t in fixed] + [type_list_text(kinds)] * enqueues
    return f"{', '.join(given)}->{'' if enqueues else type_list_text(kinds)}"


def _enqueue(context, queue, components):
    _check_user(context, queue, "Tcomponents", enqueues=True)
    queue.enqueue([state.element_of(components, queue)])
    return ()


def _enqueue_many(context, queue, components):
    _check_user(context, queue, "Tcomponents", enqueues=True)
    queue.enqueue(state.elements_of(components, queue))
    return ()


def _dequeue(context, queue):
    _check_user(context, queue, "component_types")
    return queue.dequeue(1)[0]


def _batch_taker(what: str, allow_fewer: bool) -> Callable:
    def kernel(context, queue, n):
        _check_user(context, queue, "component_types")
        if n < 0:
            raise invalid(f"{what} requested {int(n)} < 0 elements")
        state.check_batches(queue)
        return state.batch_of(queue.dequeue(int(n), allow_fewer), queue)

    return kernel


def _close(queue, *, cancel_pending_enqueues):
    queue.close(cancel_pending_enqueues)
    return ()


for _suffix, _handle in (("", "handle: Ref(string)"), ("V2", "handle: resource")):
    _both = functools.partial(_add, effects=EXTERNAL)
    _enqueues = f"({_handle}, components: Tcomponents, *, Tcomponents: list(type) >= 1, timeout_ms: int = -1) -> ()"
    _dequeues = "*, component_types: list(type) >= 1, timeout_ms: int = -1) -> (components: component_types)"
    _waits = functools.partial(_add, effects=WAITING, context=True)
    _waits("QueueEnqueue" + _suffix, _enqueues, shape=si.no_outputs, kernel=_enqueue)
    _waits("QueueEnqueueMany" + _suffix, _enqueues, shape=si.no_outputs, kernel=_enqueue_many)
    _waits("QueueDequeue" + _suffix, f"({_handle}, {_dequeues}", shape=si.unknown, kernel=_dequeue)
    _waits("QueueDequeueMany" + _suffix, f"({_handle}, n: int32, {_dequeues}", shape=si.unknown,
           kernel=_batch_taker("DequeueManyOp", False))  # fmt: skip
    _waits("QueueDequeueUpTo" + _suffix, f"({_handle}, n: int32, {_dequeues}", shape=si.unknown,
           kernel=_batch_taker("DequeueUpToOp", True))  # fmt: skip
    _both("QueueClose" + _suffix, f"({_handle}, *, cancel_pending_enqueues: bool = False) -> ()", shape=si.no_outputs,
          kernel=_close, effects=WAITING)  # fmt: skip
    _both("QueueIsClosed" + _suffix, f"({_handle}) -> (is_closed: bool)", shape=si.scalar, kernel=lambda queue: queue.closed)
    _both("QueueSize" + _suffix, f"({_handle}) -> (size: int32)", shape=si.unchanged if _suffix else si.scalar, kernel=lambda queue: len(queue.elements))
