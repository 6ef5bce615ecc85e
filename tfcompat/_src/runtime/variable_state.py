"""The variables of a Session: their values, and which node is which variable."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Callable, Container, Iterable, Mapping, MutableMapping, Sequence
from typing import Any, Protocol, TypeAlias

import jax
import numpy as np

from tfcompat._src.base import errors, jax_compat
from tfcompat._src.base.arrays import Array, NDArray
from tfcompat._src.base.dtypes import cpp_name
from tfcompat._src.graph.operation import Operation
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.ops.control.guards import MERGE, SELECT
from tfcompat._src.ops.control.loop_ops import ENTER
from tfcompat._src.ops.flow.array_origin import handed_on

Place: TypeAlias = "jax.Device | jax.sharding.Sharding | None"
"""A device, or a mesh as a sharding says; None for the default device."""
NONE_CHOSEN: Mapping[Tensor, Operation] = {}


def is_in_host_memory(place: Place) -> bool:
    """Whether arrays at this place are where NumPy's are: on the one CPU that there is. Elsewhere they are put there before a call."""
    return place is None and jax_compat.compiles_to_cpu()


def variable_key(op: Operation) -> str:
    """The name under which a Session keeps the variable that `op` makes: container and shared name, else the node's name."""
    shared = op.attrs.get("shared_name") or b""
    container = op.attrs.get("container") or b""
    return f"{container.decode()}/{shared.decode() or op._name}"


def possible_variables(tensor: Tensor) -> list[Operation]:
    """The ops of the variables that may stand behind a ref or resource tensor: several where a conditional or an index chooses one when it runs."""
    source: Tensor | None = tensor
    while source is not None and not source.op.spec.facts.names_variable:
        op = source.op
        among = op.takes[1:] if op.type == SELECT else op.takes if op.type in MERGE and op.takes[0].op.type not in ENTER else ()
        if among:
            return list(dict.fromkeys(variable for t in among for variable in possible_variables(t)))
        is_update = op.spec.effects.writes and op.takes and op.takes[0].dtype._is_ref_dtype
        source = op.takes[0] if is_update else handed_on(source)
    return [] if source is None else [source.op]


def variable_op(tensor: Tensor) -> Operation | None:
    """The op that makes the variable behind a ref or resource tensor, or None where it is not one variable."""
    found = possible_variables(tensor)
    return found[0] if len(found) == 1 else None


def is_chosen(tensor: Tensor) -> bool:
    """Whether a tensor stands for one of several variables, which a run chooses. Its value in a run is the op of that variable."""
    return (tensor.dtype._is_ref_dtype or tensor.dtype.name == "resource") and len(possible_variables(tensor)) > 1


def variable_in(tensor: Tensor, values: Mapping[Tensor, object]) -> Operation | None:
    """The op of the variable that a tensor stands for in a run with some values, or None."""
    value = values.get(tensor)
    return value if isinstance(value, Operation) else variable_op(tensor)


def required_variable_op(tensor: Tensor) -> Operation:
    """`variable_op` where a tensor stands for one variable; ValueError where it does not."""
    found = variable_op(tensor)
    if found is None:
        raise ValueError(f"{tensor.name} stands for no variable")
    return found


def is_identity(op: Operation) -> bool:
    """Whether an operation gives what it takes, and reads no variable."""
    return op.spec.facts.reads_through and not op.spec.effects.reads


def is_ref_read(op: Operation) -> bool:
    """Whether an operation reads a ref: its output is an alias of the variable."""
    return is_identity(op) and op.takes[0].dtype._is_ref_dtype


class UnfiledCall(Protocol):
    """A call that has taken over variables. Its results are the session's state when they are filed, which is done once."""

    def file_left(self) -> None:
        """Files what the call gave, or will give, if its own thread does not do that; nothing where it was not made."""


class VariableState:
    """Values by variable key. Arrays here are owned by the Session: nothing else may hold them, so they can be donated.

    Whoever reads an array or gives it to a compiled call holds `lock`: another thread's call may donate it. The handler of a signal
    may raise in the thread that holds it, or run operations there. So a compiled call stands in `unfiled` from before it is made
    until its results are filed, and who wants values files what was left there.
    """

    def __init__(self) -> None:
        self.lock = threading.RLock()
        self.unfiled: list[UnfiledCall] = []
        self.held: MutableMapping[str, Array] = {}
        """The values but for the results of `unfiled`."""

    @property
    def values(self) -> MutableMapping[str, Array]:
        if self.unfiled:
            self._file_left()
        return self.held

    def _file_left(self) -> None:
        """Files what was left, unless another thread makes a call now, which does it."""
        if threading.current_thread() is threading.main_thread():
            with self.lock:
                self.file_left()
        elif self.lock.acquire(blocking=False):  # no handler runs in this thread before `try`
            try:
                self.file_left()
            finally:
                self.lock.release()

    def file_left(self) -> None:
        """Files what was left; the lock is held."""
        for call in list(self.unfiled):
            call.file_left()

    def entries(self, keys: list[str], values: Iterable[Any]) -> list[tuple[dict[Any, Any], dict[Any, Any]]]:
        """The dicts where some variables are kept, and what is to be put in each."""
        return [(self.held, dict(zip(keys, values)))]  # type: ignore[list-item]  # a local session's mapping is a dict

    def store(self, keys: list[str], values: Iterable[Any]) -> None:
        """Puts values of variables in place, all of them or, where a signal's handler raises, none; the lock is held."""
        put_all(self.entries(keys, values))

    def on_device(self, ops: list[Operation], keys: list[str], place: Place = None) -> tuple[jax.Array, ...]:
        """The values of variables as arrays on a device or mesh (None: the default device), where they are kept from now on.

        Raises:
          errors.FailedPreconditionError: a variable is not initialized.
        """
        values = tuple(map(self.held.get, keys))
        if place is None and jax_compat.are_arrays(values):
            return values  # type: ignore[return-value]  # they are, as `are_arrays` says
        return tuple(map(self._placed, values, ops, keys, itertools.repeat(place)))

    def as_kept(self, ops: list[Operation], keys: list[str], place: Place = None) -> tuple[Array, ...]:
        """The values of variables, wherever they are, for what does not donate them.

        Raises:
          errors.FailedPreconditionError: a variable is not initialized.
        """
        values = tuple(map(self.held.get, keys))
        for op, value in zip(ops, values):
            if value is None:
                raise uninitialized(op)
        return values  # type: ignore[return-value]  # none is None

    def _placed(self, value: Array | None, op: Operation, key: str, place: Place) -> jax.Array:
        if value is None:
            raise uninitialized(op)
        if not isinstance(value, jax.Array) or place is not None and not jax_compat.is_at(value, place):
            owned = jax_compat.own_array(value, place)
            if self.held[key] is value:
                self.held[key] = owned
            return owned
        return value

    def view(self, op: Operation, key: str) -> NDArray:
        """The value as NumPy for host work of this run: where it can, it shares the device's memory, which JAX does not donate
        while something else refers to it.

        Raises:
          errors.FailedPreconditionError: the variable is not initialized.
        """
        return self._as_numpy(op, key, np.asarray)

    def read(self, op: Operation, key: str) -> NDArray:
        """The value as NumPy; FailedPreconditionError where the variable is not initialized."""
        return self._as_numpy(op, key, lambda value: value if isinstance(value, np.ndarray) else jax_compat.to_numpy(value))

    def _as_numpy(self, op: Operation, key: str, convert: Callable[[Any], NDArray]) -> NDArray:
        with self.lock:
            while True:
                value = self.values.get(key)
                if value is None:
                    raise uninitialized(op)
                try:
                    return convert(value)
                except RuntimeError:
                    if self.held.get(key) is value:  # else a run of a signal's handler has donated it, and there is a new one
                        raise

    def forget_lost(self) -> None:
        """Takes out the variables whose new value a failing device never delivered."""
        with self.lock:
            for key in [k for k, v in self.values.items() if jax_compat.is_lost(v)]:
                del self.held[key]

    def clear(self) -> None:
        self.unfiled.clear()
        self.held.clear()


def put_all(entries: Iterable[tuple[dict[Any, Any], dict[Any, Any]]]) -> None:
    """Puts all that is new into dicts; one call into C, in which no handler of a signal runs."""
    any(itertools.starmap(dict.update, entries))


def uninitialized(op: Operation, user: Operation | None = None) -> errors.OpError:
    """What using a variable without a value raises.

    Args:
      op: makes the variable or its handle. user: the operation that would read it, where it is known. As in TensorFlow, one that reads a resource
        variable only to change it, or to pick from it, finds no resource; one that hands its value on says that it may be uninitialized.
    """
    if op.outputs[0].dtype.name != "resource":
        return errors.FailedPreconditionError(op.node_def, op, f"Attempting to use uninitialized value {op.name}")
    name = (op.attrs.get("shared_name") or b"").decode() or op.name
    container = (op.attrs.get("container") or b"localhost").decode()
    missing = f"Resource {container}/{name}/N10tensorflow3VarE does not exist."
    if user is not None and not user.spec.facts.reads_through:
        return errors.NotFoundError(user.node_def, user, missing)
    text = f"Error while reading resource variable {name} from Container: {container}. This could mean that the variable was uninitialized."
    return errors.FailedPreconditionError(op.node_def, op, f"{text} Not found: {missing}")


def accesses(
    item: Operation, fed: Container[Tensor] = (), chosen: Mapping[Tensor, Operation] = NONE_CHOSEN
) -> tuple[list[Operation], list[Operation]]:  # fmt: skip
    """The variables, as their handle ops, that an operation reads and writes, in this order of use: reads, then writes.

    A ref that is fed is a value, and no variable is read. `chosen` are the variables that a run has chosen; of others that it chooses
    all count that it may choose.
    """
    spec = item.spec
    reads, writes = [], []
    effects = spec.effects
    for name in effects.reads:
        reads.extend(_handles(item, name, chosen))
    for name in effects.writes:
        writes.extend(_handles(item, name, chosen))
    inputs = spec.signature.inputs
    flat_refs = [a.is_ref for a in inputs] if not any(a.is_list for a in inputs) else None
    for i, tensor in enumerate(item.takes):
        if tensor.dtype._is_ref_dtype and not (flat_refs and flat_refs[i]) and tensor not in fed:
            reads.extend(_variables(tensor, chosen))
    return reads, writes


def check_fed_refs(ops: Iterable[Operation], feeds: Sequence[Tensor]) -> None:
    """Raises InvalidArgumentError where an operation would change a variable whose ref is fed."""
    fed = {t: position for position, t in enumerate(feeds) if t.dtype._is_ref_dtype}
    for op in ops if fed else ():
        for index, (arg, tensor) in enumerate(zip(op.spec.signature.inputs, op.takes, strict=False)):
            if arg.is_ref and tensor in fed:
                kind = cpp_name(tensor.dtype.base_dtype.name)
                raise errors.InvalidArgumentError(
                    None, None, f"Input {index} of node {op.name} was passed {kind} from _arg_{tensor.op.name}_0_{fed[tensor]}:0 "
                    f"incompatible with expected {kind}_ref."
                )  # fmt: skip


def _handles(item: Operation, name: str, chosen: Mapping[Tensor, Operation]) -> list[Operation]:
    found = item.input_named(name)
    return [op for t in (found if isinstance(found, list) else [found]) for op in _variables(t, chosen)]


def _variables(tensor: Tensor, chosen: Mapping[Tensor, Operation]) -> list[Operation]:
    return [chosen[tensor]] if tensor in chosen else possible_variables(tensor)
