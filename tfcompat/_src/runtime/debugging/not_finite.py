"""Checks of compiled clusters for infinities and NaNs, on as few tensors as decide whether any watched tensor has one.

A tensor needs no check if its operation maps finite inputs to finite outputs (tame), or if an operation after it spreads every non-finite
element to its own result (spreading; `ops/control/finiteness.py`). The others are checked inside of the compiled call. A call whose check fails
changes nothing.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

import jax
import jax.numpy as jnp
import numpy as np

from tfcompat._src.base import checks, errors
from tfcompat._src.base.node_like import NodeLike
from tfcompat._src.graph.operation import Operation
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.ops.control.finiteness import is_tame, spreading
from tfcompat._src.ops.control.guards import MERGE, SWITCH
from tfcompat._src.ops.control.loop_ops import ENTER, EXIT, NEXT_ITERATION
from tfcompat._src.proto import messages
from tfcompat._src.runtime.ir.cond_item import CondItem
from tfcompat._src.runtime.ir.item import Item, OpItem
from tfcompat._src.runtime.ir.loop_item import LoopItem
from tfcompat._src.runtime.state.variable_state import required_variable_op, variable_key, variable_op

if TYPE_CHECKING:
    from tfcompat._src.runtime.ir.plan import Cluster

_HANDS_ON = frozenset((*SWITCH, *MERGE, *ENTER, *EXIT, *NEXT_ITERATION, "Identity", "RefIdentity"))
"""Op types that forward an input: in branches and loops no kernel runs for them, so that their outputs are not checked."""


class NotFinite(errors.OpError):
    """A checked tensor has an infinity or a NaN; the call has changed nothing."""

    def __init__(self, node_def: messages.NodeDef | None, op: NodeLike | None, message: str) -> None:
        super().__init__(node_def, op, message, errors.ABORTED)


def is_number(tensor: Tensor) -> bool:
    """Whether a tensor can be infinite or NaN."""
    kind = tensor.dtype.base_dtype
    return kind.is_floating or kind.is_complex


def with_sources(tensors: Iterable[Tensor]) -> set[Tensor]:
    """Returns tensors that may be non-finite, together with the tensors that some of them forward."""
    closure: set[Tensor] = set()
    pending = [t for t in tensors if is_number(t)]
    while pending:
        tensor = pending.pop()
        if tensor not in closure:
            closure.add(tensor)
            pending += [t for t in tensor.op.takes if is_number(t)] if tensor.op.type in _HANDS_ON else []
    return closure


def looked_at(cluster: Cluster, watched: Collection[Tensor], infinite: Collection[Tensor]) -> set[Tensor]:
    """Returns the tensors that the compiled call of a cluster must check.

    Args:
      watched: the tensors of which none may be infinite or NaN. infinite: tensors that are so before the run.
    """
    checked: set[Tensor] = set()
    # A region runs or not as a whole: what one region spreads does not decide about another. Inputs belong to the outermost one.
    given = entering(cluster)
    for region in _regions(cluster.items):
        checked |= _looked_at(region, given, watched, infinite)
        given = []
    return checked


def entering(cluster: Cluster) -> list[Tensor]:
    """Returns the tensors that enter a cluster: its inputs and the handles of the variables that it reads."""
    return [*cluster.inputs, *(v.outputs[0] for v in (*cluster.reads, *cluster.updates))]


def _regions(items: Sequence[Item]) -> Iterator[Sequence[Item]]:
    """Yields the control-flow regions of items: they themselves, and each branch, loop condition and loop body. A region runs as a whole."""
    yield items
    for item in items:
        inner: list[Sequence[Item]] = []
        if isinstance(item, CondItem):
            inner = [item.on_side(False), item.on_side(True)]
        elif isinstance(item, LoopItem):
            inner = [item.program.condition_items, item.program.body_items]
        for part in inner:
            yield from _regions(part)


def _looked_at(region: Sequence[Item], given: Sequence[Tensor], watched: Collection[Tensor], infinite: Collection[Tensor]) -> set[Tensor]:
    """Returns the watched tensors of one region that neither tameness nor spreading decides; `given` are those that enter it."""
    # Forward: an output of a tame operation is finite if all of its inputs are watched, and thus checked themselves.
    tame: set[Tensor] = set()
    spread: set[Tensor] = set()
    for item in region:
        if isinstance(item, OpItem) and is_tame(item.op):
            if all(t in watched and t not in infinite for t in item.takes if is_number(t)):
                tame.update(item.outputs)
    # Backward: an input that is spread to a checked output, or to one that is spread further, shows there.
    for item in reversed(region):
        if isinstance(item, OpItem) and any(t in watched and (t not in tame or t in spread) for t in item.outputs):
            spread.update(t for i, t in enumerate(item.takes) if i in spreading(item.op))
    made = [t for item in region for t in item.outputs]
    return {t for t in (*given, *made) if t in watched and t not in tame and t not in spread}


class _Watching(threading.local):
    """The tensors that the trace of this thread checks."""

    tensors: Collection[Tensor] = ()


_WATCHING = _Watching()


@contextlib.contextmanager
def watching(tensors: Collection[Tensor]) -> Iterator[None]:
    """Makes traces inside of its `with` block check `tensors`."""
    outer, _WATCHING.tensors = _WATCHING.tensors, tensors
    try:
        yield
    finally:
        _WATCHING.tensors = outer


def look_at(tensors: Iterable[Tensor], values: Mapping[Tensor, object], state: Mapping[str, object]) -> None:
    """Adds checks of those `tensors` that this trace checks; for a ref the current value of its variable is checked."""
    watching = _WATCHING.tensors
    if not watching:
        return
    for tensor in tensors:
        if tensor in watching:
            _look_at(tensor, values, state)


def look_behind(op: Operation, values: Mapping[Tensor, object], state: Mapping[str, object]) -> None:
    """`look_at` for the outputs of an operation. If an output has no elements, nothing can spread to it: then inputs are checked too."""
    if not _WATCHING.tensors:
        return
    look_at(op.outputs, values, state)
    if any(getattr(values.get(t), "size", 1) == 0 for t in op.outputs):
        for i in spreading(op):
            if i < len(op.takes) and is_number(op.takes[i]):
                _look_at(op.takes[i], values, state)


def _look_at(tensor: Tensor, values: Mapping[Tensor, object], state: Mapping[str, object]) -> None:
    # A ref has no value of its own. NumPy values are checked while tracing, traced ones in the call.
    value = values.get(tensor)
    if value is None and tensor.dtype._is_ref_dtype and variable_op(tensor) is not None:
        value = state.get(variable_key(required_variable_op(tensor)))
    if isinstance(value, (np.ndarray, np.generic, jax.Array)) and value.dtype != object and checks.COLLECTOR.checks is not None:
        ok = jnp.asarray(bool(np.isfinite(value).all())) if isinstance(value, (np.ndarray, np.generic)) else jnp.isfinite(value).all()
        checks.add(checks.Check(ok, "not finite", (), tensor.op, NotFinite))
