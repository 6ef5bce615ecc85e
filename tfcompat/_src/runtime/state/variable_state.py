"""The variables of a Session: their values by key, and the analysis that finds the variable behind a ref or resource tensor.

The session owns the arrays, so that compiled calls can donate them. A signal handler may raise, or run the session again, in the middle of a
call: `VariableState` describes the protocol that keeps the values consistent then.
"""

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
"""A device, or a sharding over a mesh of devices; None for the default device."""
NONE_CHOSEN: Mapping[Tensor, Operation] = {}


def is_in_host_memory(place: Place) -> bool:
    """Whether arrays at this place share the memory of NumPy arrays: the default device is a CPU. Other devices need a transfer before a call."""
    return place is None and jax_compat.compiles_to_cpu()


def variable_key(op: Operation) -> str:
    """Returns the key of the variable that `op` creates: "container/shared_name", with the node's name in place of an empty shared name."""
    shared = op.attrs.get("shared_name") or b""
    container = op.attrs.get("container") or b""
    return f"{container.decode()}/{shared.decode() or op._name}"


def possible_variables(tensor: Tensor) -> list[Operation]:
    """Returns the ops of the variables that a ref or resource tensor may refer to: several if a conditional or an index selects one at run time."""
    source: Tensor | None = tensor
    while source is not None and not source.op.spec.facts.names_variable:
        op = source.op
        # A Merge of a loop (one that an Enter feeds) forwards its initial value; any other selects among its inputs.
        among = op.takes[1:] if op.type == SELECT else op.takes if op.type in MERGE and op.takes[0].op.type not in ENTER else ()
        # A selection: the variables behind each alternative.
        if among:
            return list(dict.fromkeys(variable for t in among for variable in possible_variables(t)))
        # An update of a ref variable returns the ref.
        is_update = op.spec.effects.writes and op.takes and op.takes[0].dtype._is_ref_dtype
        source = op.takes[0] if is_update else handed_on(source)
    return [] if source is None else [source.op]


def variable_op(tensor: Tensor) -> Operation | None:
    """Returns the op of the variable that a ref or resource tensor refers to, or None if there are none or several."""
    variables = possible_variables(tensor)
    return variables[0] if len(variables) == 1 else None


def is_chosen(tensor: Tensor) -> bool:
    """Whether a run selects the variable of a tensor among several. The tensor's value in a run is then the op of that variable."""
    return (tensor.dtype._is_ref_dtype or tensor.dtype.name == "resource") and len(possible_variables(tensor)) > 1


def variable_in(tensor: Tensor, values: Mapping[Tensor, object]) -> Operation | None:
    """Returns the op of the variable that a tensor refers to in a run with these values, or None."""
    value = values.get(tensor)
    return value if isinstance(value, Operation) else variable_op(tensor)


def required_variable_op(tensor: Tensor) -> Operation:
    """Returns `variable_op(tensor)`.

    Raises:
      ValueError: the tensor does not refer to exactly one variable.
    """
    variable = variable_op(tensor)
    if variable is None:
        raise ValueError(
            f"{tensor.name} ({tensor.op.type}) must be the handle or ref of one variable, but is that of "
            f"{len(possible_variables(tensor)) or 'none'}."
        )
    return variable


def is_identity(op: Operation) -> bool:
    """Whether an operation forwards its input without reading a resource variable."""
    return op.spec.facts.reads_through and not op.spec.effects.reads


def is_ref_read(op: Operation) -> bool:
    """Whether an operation reads a ref: its output is an alias of the variable."""
    return is_identity(op) and op.takes[0].dtype._is_ref_dtype


def shared_read(tensor: Tensor) -> Operation | None:
    """Returns the read of a ref variable whose buffer a tensor shares, or None. A read enters branches and loops without a copy."""
    producer = tensor.op
    while producer.type in ("Switch", "Enter"):
        producer = producer.takes[0].op
    return producer if is_ref_read(producer) else None


def has_entered(tensor: Tensor) -> bool:
    """Whether a tensor is what a loop was entered with, perhaps in a branch inside."""
    producer = tensor.op
    while producer.type == "Switch":
        producer = producer.takes[0].op
    return producer.type == "Enter"


class UnfiledCall(Protocol):
    """A compiled call that has donated variables and whose results are not stored yet. They are stored exactly once."""

    def file_left(self) -> None:
        """Stores the results, waiting for them if necessary, unless the call was not made or its own thread stores them."""


class VariableState:
    """The values of variables by key. The session owns these arrays: nothing else may hold them, so that they can be donated.

    A thread that reads an array or passes it to a compiled call holds `lock`, as another thread's call may donate it. A signal handler may
    raise in the thread that holds the lock, or run operations there. Therefore a compiled call is in `unfiled` from before it is made until its
    results are stored, and whoever asks for values first stores the results of calls that an exception interrupted.
    """

    def __init__(self) -> None:
        self.lock = threading.RLock()
        self.unfiled: list[UnfiledCall] = []
        self.held: MutableMapping[str, Array] = {}
        """The values without the results of `unfiled`."""

    @property
    def values(self) -> MutableMapping[str, Array]:
        """The current values, after interrupted calls are completed."""
        if self.unfiled:
            self._file_left()
        return self.held

    def _file_left(self) -> None:
        """Completes interrupted calls, unless another thread holds the lock, which then completes them itself."""
        # The main thread, in which signal handlers run, takes the reentrant lock. Another one only tries: who holds the lock completes the calls.
        if threading.current_thread() is threading.main_thread():
            with self.lock:
                self.file_left()
        elif self.lock.acquire(blocking=False):  # no handler runs in this thread before `try`
            try:
                self.file_left()
            finally:
                self.lock.release()

    def file_left(self) -> None:
        """Completes interrupted calls; the caller holds the lock."""
        for call in list(self.unfiled):
            call.file_left()

    def entries(self, keys: list[str], values: Iterable[Any]) -> list[tuple[dict[Any, Any], dict[Any, Any]]]:
        """Returns pairs of a dict that holds variables and the new items for it."""
        return [(self.held, dict(zip(keys, values)))]  # type: ignore[list-item]  # a local session's mapping is a dict

    def store(self, keys: list[str], values: Iterable[Any]) -> None:
        """Stores values of variables atomically: all of them or, if a signal handler raises, none. The caller holds the lock."""
        put_all(self.entries(keys, values))

    def on_device(self, ops: list[Operation], keys: list[str], place: Place = None) -> tuple[jax.Array, ...]:
        """Returns the values of variables as arrays on a device or mesh (None: the default device), and keeps them there.

        Raises:
          errors.FailedPreconditionError: a variable is not initialized.
        """
        values = tuple(map(self.held.get, keys))
        # The usual case, one check in C for all: nothing to transfer, nothing missing.
        if place is None and jax_compat.are_arrays(values):
            return values  # type: ignore[return-value]  # they are, as `are_arrays` says
        return tuple(map(self._placed, values, ops, keys, itertools.repeat(place)))

    def as_kept(self, ops: list[Operation], keys: list[str], place: Place = None) -> tuple[Array, ...]:
        """Returns the values of variables on whatever device they are, for calls that do not donate them.

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
            # A signal handler's run may have assigned the variable during the transfer.
            if self.held[key] is value:
                self.held[key] = owned
            return owned
        return value

    def view(self, op: Operation, key: str) -> NDArray:
        """Returns the value as a NumPy array for host work of this run, without a copy if possible.

        The array may share the device's memory; JAX does not reuse a donated buffer while something refers to it.

        Raises:
          errors.FailedPreconditionError: the variable is not initialized.
        """
        return self._as_numpy(op, key, np.asarray)

    def read(self, op: Operation, key: str) -> NDArray:
        """Returns the value as a NumPy array of its own.

        Raises:
          errors.FailedPreconditionError: the variable is not initialized.
        """
        return self._as_numpy(op, key, lambda value: value if isinstance(value, np.ndarray) else jax_compat.to_numpy(value))

    def _as_numpy(self, op: Operation, key: str, convert: Callable[[Any], NDArray]) -> NDArray:
        with self.lock:
            # Tried again if a signal handler's run donates the array between the look-up and the conversion.
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
        """Removes the variables whose new value a failing device never delivered; they count as uninitialized."""
        with self.lock:
            for key in [k for k, v in self.values.items() if jax_compat.is_lost(v)]:
                del self.held[key]

    def clear(self) -> None:
        self.unfiled.clear()
        self.held.clear()


def put_all(entries: Iterable[tuple[dict[Any, Any], dict[Any, Any]]]) -> None:
    """Updates dicts with new items. This is one call into C, during which no signal handler runs."""
    any(itertools.starmap(dict.update, entries))


def uninitialized(op: Operation, user: Operation | None = None) -> errors.OpError:
    """Returns the error, in TensorFlow's words, for the use of a variable without a value.

    Args:
      op: creates the variable or its handle. user: the operation that would read it, if known. As in TensorFlow, one that updates a resource
        variable or gathers from it raises NotFoundError; one that returns its value raises FailedPreconditionError.
    """
    at = op if user is None else user
    # TF1 ref variables have one message; resource variables are looked up by container and name, and the C++ type is part of the text.
    if op.outputs[0].dtype.name != "resource":
        return errors.FailedPreconditionError(at.node_def, at, f"Attempting to use uninitialized value {op.name}")
    name = (op.attrs.get("shared_name") or b"").decode() or op.name
    container = (op.attrs.get("container") or b"localhost").decode()
    missing = f"Resource {container}/{name}/N10tensorflow3VarE does not exist."
    if user is not None and not user.spec.facts.reads_through:
        return errors.NotFoundError(user.node_def, user, missing)
    text = f"Error while reading resource variable {name} from Container: {container}. This could mean that the variable was uninitialized."
    return errors.FailedPreconditionError(at.node_def, at, f"{text} Not found: {missing}")


def accesses(
    item: Operation, fed: Container[Tensor] = (), chosen: Mapping[Tensor, Operation] = NONE_CHOSEN
) -> tuple[list[Operation], list[Operation]]:  # fmt: skip
    """Returns the handle ops of the variables that an operation reads, and of those that it writes.

    Args:
      fed: a fed ref is a plain value, whose use reads no variable.
      chosen: the variables that a run has selected, by tensor. Without it, all variables that a tensor may refer to are returned.
    """
    spec = item.spec
    reads, writes = [], []
    effects = spec.effects
    for name in effects.reads:
        reads.extend(_handles(item, name, chosen))
    for name in effects.writes:
        writes.extend(_handles(item, name, chosen))
    # A ref passed to an argument that is no ref is read implicitly.
    inputs = spec.signature.inputs
    flat_refs = [a.is_ref for a in inputs] if not any(a.is_list for a in inputs) else None
    for i, tensor in enumerate(item.takes):
        if tensor.dtype._is_ref_dtype and not (flat_refs and flat_refs[i]) and tensor not in fed:
            reads.extend(_variables(tensor, chosen))
    return reads, writes


def check_fed_refs(ops: Iterable[Operation], feeds: Sequence[Tensor]) -> None:
    """Raises InvalidArgumentError, in TensorFlow's words, if an operation would change a variable whose ref is fed."""
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
    tensors = item.input_named(name)
    return [op for t in (tensors if isinstance(tensors, list) else [tensors]) for op in _variables(t, chosen)]


def _variables(tensor: Tensor, chosen: Mapping[Tensor, Operation]) -> list[Operation]:
    return [chosen[tensor]] if tensor in chosen else possible_variables(tensor)
