"""Stage 7: a cluster becomes one jitted function of its inputs and state."""

from __future__ import annotations

import functools
import math
import operator
import weakref
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import NamedSharding

from tfcompat._src.base import checks, errors, jax_compat
from tfcompat._src.base.arrays import NDArray
from tfcompat._src.base.helper_threads import Work, is_interruptible
from tfcompat._src.base.recent import Recent
from tfcompat._src.graph.operation import Operation
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.ops.flow.array_value import FIRST_CAPACITY, GROWTH
from tfcompat._src.runtime import compile_notice, failure, loop_differentiated, lower_cond, lower_towers, reroll  # noqa: F401  (how items are lowered)
from tfcompat._src.runtime.interpreted import Interpreted, can_interpret, is_interpretable
from tfcompat._src.runtime.lower import STOPPING, Frame, Write, collecting, lower, run_device_op
from tfcompat._src.runtime.plan import Cluster, WrongGuess
from tfcompat._src.runtime.variable_state import variable_key

SMALL = 2**16
LONG = 1500
"""A program of as many equations, on arrays of at most `SMALL` elements in the mean, is compiled as a long one."""
LONG_RUN = 10**10
"""A run of as many floating-point operations is one that a signal's handler is to end."""
REPEATING = 400
"""In a program of as many equations, those that repeat are made loops."""

Arrays: TypeAlias = tuple[Any, ...]
"""Arrays that go into a program or come out of it: of JAX, of NumPy, or those of TensorArrays."""
Shapes = tuple[tuple[int, ...], ...]
"""Those of the arrays that come in: what tells the executables of one program apart."""


class Program:
    """A cluster compiled for one set of compile-time values; there is one executable per set of input shapes.

    What it compiles takes (inputs, large constants and perhaps a StopFlag's array, read variables, updated variables, random rows), and
    gives (outputs, or one number where there are none, to wait for; new values of the updated and overwritten variables, a vector of
    which checks hold or None, how far random operations in loops and branches have moved on). Outputs are flat: JAX makes them
    without Python code. The updated variables are donated. `capacity` is the room of growing TensorArrays. `long` are the input
    shapes for which a call may take seconds, `interpreted` those for which it has been interpreted often enough, `called` has the
    function that was called before for others, and `quick` those that JAX calls without Python code. `structures` are those of outputs,
    where they are no flat arrays. `differentiated` says how many times JAX may differentiate what is traced.
    """

    def __init__(
        self, cluster: Cluster, known: dict[Any, NDArray], statics: list[NDArray], capacity: int = FIRST_CAPACITY, differentiated: int = 0
    ) -> None:  # fmt: skip
        self._cluster = weakref.ref(cluster)  # which keeps this program
        self.known = {**known, **dict(zip(cluster.statics, statics))}
        self.checks: dict[Shapes, list[checks.Check]] = {}
        self.largest: dict[Shapes, Any] = {}
        self.reserves: dict[Shapes, dict[Operation, int]] = {}
        self.moving: dict[Shapes, list[Operation]] = {}
        self.traces = 0
        self.capacity = capacity
        self.differentiated = differentiated
        self.calls: Recent[Shapes, Callable[..., Any] | Interpreted] = Recent(dropped=self._detached(Program._forget))
        self.long: set[Shapes] = set()
        self.interpreted: set[Shapes] = set()
        self.called: dict[Shapes, Callable[..., Any]] = {}
        self.quick: dict[Shapes, Callable[..., Any]] = {}
        self._begun: dict[Shapes, Work] = {}
        self.structures: dict[Shapes, jax.tree_util.PyTreeDef] = {}
        self._shown: dict[tuple[Shapes, int], Callable[..., Any]] = {}

    @property
    def cluster(self) -> Cluster:
        """What is compiled. Whoever calls holds it."""
        cluster = self._cluster()
        if cluster is None:
            raise ReferenceError("the plan of this program is gone")
        return cluster

    def call_for(self, shapes: Shapes, arguments: tuple[Any, ...]) -> Callable[..., Any]:
        """The jitted function for arguments whose inputs have these shapes.

        Raises:
          errors.ResourceExhaustedError: it needs more memory than the device has, which is found out before anything is donated.
        """
        call = self.calls.get(shapes)
        if isinstance(call, Interpreted) and call.left <= 0:
            self.interpreted.add(shapes)
            call = None
        while call is None:
            self._compile(shapes, arguments)
            call = self.calls.get(shapes)
        return call

    def may_interpret(self, shapes: Shapes) -> bool:
        """Whether the interpreter may evaluate a call for these shapes, as it takes variables wherever they are."""
        return shapes not in self.quick and shapes not in self.interpreted and can_interpret(self.cluster.place)

    def engines(self) -> list[tuple[Shapes, str]]:
        """What evaluates the next call for each input shapes, and why."""
        return [(shapes, call.described() if isinstance(call, Interpreted) else "compiled") for shapes, call in self.calls.items()]

    def note_call(self, shapes: Shapes, call: Callable[..., Any]) -> None:
        """Notes that a function was called, so that JAX needs no Python code to call it again."""
        if shapes not in self.long:
            self.called[shapes] = call
            if self.calls.get(shapes) is call:
                self.quick[shapes] = call

    def _compile(self, shapes: Shapes, arguments: tuple[Any, ...]) -> None:
        """Compiles for these shapes, or waits where a run that a signal's handler has ended began with that."""
        if not is_interruptible():
            self._compile_here(shapes, arguments)
            return
        work = self._begun.get(shapes)
        if work is None:
            work = self._begun[shapes] = jax_compat.work_apart(functools.partial(self._compile_here, shapes, arguments))
        try:
            work.wait()
        finally:
            if work.is_over:
                self._begun.pop(shapes, None)

    def _compile_here(self, shapes: Shapes, arguments: tuple[Any, ...]) -> None:
        with compile_notice.timed(self.cluster):
            self.calls[shapes] = self._compiled(shapes, arguments)

    def _forget(self, shapes: Shapes) -> None:
        """Lets go of what belongs to a call that is no longer kept."""
        for notes in (self.checks, self.largest, self.reserves, self.moving, self.structures, self.called, self.quick):
            notes.pop(shapes, None)
        self.long.discard(shapes)
        self.interpreted.discard(shapes)
        self._shown = {key: call for key, call in self._shown.items() if key[0] != shapes}

    def failure(self, holds: NDArray, arguments: tuple[Any, ...]) -> Exception:
        """The error of the first check that does not hold.

        Its values are computed by a program of their own, for `arguments` of the call that failed, which has changed no variable.
        """
        shapes = input_shapes(arguments[0])
        first = int(np.argmin(holds))
        check = self.checks[shapes][first]
        if all(v is not None for v in check.values):
            return check.failure(check.values)
        call = self._shown.get((shapes, first))
        if call is None:
            shown = jax_compat.jit(self._detached(lambda self, *arguments: self.traced(*arguments)[1][first]), donate=(), small=True)
            call = self._shown[shapes, first] = shown
        return check.failure(check.merge_values(jax_compat.apart(lambda: [np.asarray(v) for v in call(*arguments)])))

    def _compiled(self, shapes: Shapes, arguments: tuple[Any, ...]) -> Callable[..., Any] | Interpreted:
        trace = self._detached(Program._trace)  # JAX traces once for all that is made of one object
        call: Callable[..., Any] = jax_compat.jit(trace, donate=(3,))
        if self.may_interpret(shapes) and is_interpretable(found := jax_compat.traced(call, arguments)):
            return Interpreted(found)
        long = repeated = False
        if jax_compat.compiles_to_cpu():
            equations, elements = jax_compat.program_size(call, arguments)
            long = equations >= LONG and elements <= equations * SMALL
            shorter = self._rerolled(equations, call, arguments)
            if shorter is not None:
                trace, repeated = shorter, elements <= equations * SMALL
                call, long = jax_compat.jit(trace, donate=(3,)), False
        if long or repeated:
            call = jax_compat.jit(trace, donate=(3,), long=long, repeated=repeated)
        needed, operations = jax_compat.cost(call, arguments)
        if operations > LONG_RUN:
            self.long.add(shapes)
        there = jax_compat.bytes_there(self.cluster.place)
        if needed > there and self.largest[shapes]:
            raise failure.out_of_memory(self.largest.pop(shapes), needed, there)
        return call

    def _rerolled(self, equations: int, call: Callable[..., Any], arguments: tuple[Any, ...]) -> Callable[..., Any] | None:
        """The program with loops for what repeats in it; None where it is short, lies on a mesh, or nothing repeats."""
        if equations < REPEATING or isinstance(self.cluster.place, NamedSharding):
            return None
        return reroll.rerolled(jax_compat.traced(call, arguments))

    def _detached(self, method: Callable[..., Any]) -> Callable[..., Any]:
        """A method as a function that does not keep this program: JAX's caches keep functions that they have traced."""
        program = weakref.ref(self)

        def trace(*arguments: object) -> Any:
            return method(program(), *arguments)

        return trace

    def _trace(self, *arguments: Any) -> tuple[Any, ...]:
        self.traces += 1
        return self.traced(*arguments)[0]

    def traced(self, inputs: Arrays, large: Arrays, read: Arrays, updated: Arrays, rng: jax.Array) -> tuple[tuple[Any, ...], list[tuple[Any, ...]]]:
        """What a call gives, and the values of each check."""
        cluster = self.cluster
        values = dict(self.known)
        values.update(zip(cluster.inputs, inputs))
        values.update(zip(cluster.large, large))
        state = {variable_key(v): a for v, a in zip((*cluster.reads, *cluster.updates), (*read, *updated))}
        before = dict(state)
        frame = Frame(values, state, {op: rng[i] for i, op in enumerate(cluster.randoms)}, differentiated_here=cluster.differentiated)
        frame.differentiated, frame.through_updates = self.differentiated, self.differentiated > 0
        GROWTH.capacity = self.capacity
        STOPPING.flag = next(iter(large[len(cluster.large) :]), None)
        with collecting() as found:
            try:
                for item in cluster.items:
                    lower(item, frame)
                for op, assumed in cluster.assumed:
                    run_device_op(op, frame)
                    holds = jnp.all(frame.values[op.outputs[0]] == assumed)
                    found.insert(0, checks.Check(holds, "another size", (), op, WrongGuess))
            except (TypeError, ValueError, errors.OpError) as e:
                if not found:
                    raise
                found.append(_end_of_trace(e))
        shapes = input_shapes(inputs)
        traced = {op: n for op, n in frame.reserves.items() if isinstance(n, jax.core.Tracer)}
        self.reserves[shapes] = {op: int(n) for op, n in frame.reserves.items() if op not in traced}
        self.moving[shapes] = list(traced)
        all_ok = conjunction([c.ok for c in found])
        keys = [key for key in cluster.written_keys if key in state]
        new_state = _committed(keys, frame, before, all_ok, len(found), isinstance(cluster.place, NamedSharding))
        outputs = tuple(jax.tree.map(jnp.asarray, frame.leave(t)) for t in cluster.outputs) or (jnp.zeros((), bool),)
        leaves, structure = jax.tree.flatten(outputs)
        is_flat = len(leaves) == len(outputs) and all(map(operator.is_, leaves, outputs))
        outputs = tuple(leaves)
        if not is_flat:
            self.structures[shapes] = structure
        if isinstance(cluster.place, NamedSharding):
            outputs, new_state = jax.lax.with_sharding_constraint((outputs, new_state), cluster.place)
        self.checks[shapes] = [c.without_traced_values() for c in found]
        self.largest[shapes] = max(((t, v.shape) for t, v in frame.values.items() if hasattr(v, "nbytes")), key=_bytes, default=())
        all_holds = jnp.stack([jnp.asarray(c.ok) for c in found]) if found else None
        return (outputs, tuple(new_state), all_holds, tuple(traced.values())), [c.traced_values() for c in found]


def _bytes(entry: tuple[Tensor, tuple[int, ...]]) -> int:
    tensor, sizes = entry
    return math.prod(sizes) * tensor.dtype.size


def _end_of_trace(error: Exception) -> checks.Check:
    """The check that is false where a kernel cannot be traced: a run shows `error`, unless a check before it is false too."""
    return checks.Check(jnp.asarray(False), "", (), None, lambda *node: error.with_traceback(None))


def _committed(keys: list[str], frame: Frame, before: dict[str, Any], all_ok: jax.Array | None, made: int, on_mesh: bool) -> list[Any]:
    """The new values of variables, or the old ones where one of the `made` checks of the run has failed.

    Writes of single operations are made again, all in one conditional, so that they need no copy of the old values.
    """
    values = {key: jnp.asarray(frame.state[key]) for key in keys}
    if all_ok is None:
        return list(values.values())
    postponed: dict[str, Write] = {}
    for key, new in values.items():
        old, write = before.get(key), frame.writes.get(key)
        if old is None or old.shape != new.shape or old.dtype != new.dtype:
            continue
        if write is None or write.value is not new or write.before is not old:
            values[key] = _chosen(all_ok, new, old)
        elif not write.is_guarded or write.checks != made:
            postponed[key] = write
    if jax_compat.compiles_to_cpu() and not on_mesh:
        made_again = jax.lax.cond(all_ok, lambda: _again(postponed), lambda: [w.before for w in postponed.values()])
        return list({**values, **dict(zip(postponed, made_again))}.values())
    plain = {key: _chosen(all_ok, w.value, w.before) for key, w in postponed.items() if not w.is_guarded}
    guarded = {key: w for key, w in postponed.items() if w.is_guarded}
    with checks.gated(all_ok):
        made_again = _again(guarded)
    return list({**values, **plain, **dict(zip(guarded, made_again))}.values())


def _chosen(ok: jax.Array, new: jax.Array, old: jax.Array) -> jax.Array:
    return jax.lax.select(jnp.broadcast_to(ok, new.shape), new, old)


def _again(writes: dict[str, Write]) -> list[Any]:
    """What writes leave, from kernels that run again, each once."""
    results: dict[Callable[..., Any], list[Any]] = {}
    with collecting():
        for write in writes.values():
            if write.kernel not in results:
                results[write.kernel] = write.kernel()
    return [jnp.asarray(results[w.kernel][w.position]) for w in writes.values()]


def input_shapes(inputs: Sequence[Any]) -> Shapes:
    """What tells the executables of one program apart."""
    return tuple([a.shape for a in inputs])


def conjunction(flags: list[Any]) -> jax.Array | None:
    """One scalar bool that says whether all are true; None for none."""
    found = None
    for ok in flags:
        found = ok if found is None else jnp.logical_and(found, ok)
    return found
