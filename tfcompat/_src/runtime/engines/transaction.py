"""One atomic call of a program on the variables and random states of a session: all of its effects are stored, or none.

A Python signal handler may raise, or run the session again, between any two bytecodes. Every change of the session's state is therefore one
call into C, or is done by a helper thread, in which no handler runs.
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable, Sequence
from typing import Any

import jax

from tfcompat._src.base import errors, jax_compat
from tfcompat._src.base.arrays import as_array
from tfcompat._src.base.helper_threads import Work, is_interruptible
from tfcompat._src.graph.operation import Operation
from tfcompat._src.ops.flow.array_value import ArrayOverflow
from tfcompat._src.runtime.debugging.not_finite import NotFinite
from tfcompat._src.runtime.engines.program import Program
from tfcompat._src.runtime.engines.spoiled import is_spoiled
from tfcompat._src.runtime.ir.plan import Cluster, WrongGuess
from tfcompat._src.runtime.lowering.cluster_trace import Arguments, Arrays, Shapes
from tfcompat._src.runtime.state.run_context import RunContext
from tfcompat._src.runtime.state.variable_state import is_in_host_memory, put_all

_UNDONE = (ArrayOverflow, WrongGuess, NotFinite, errors.CancelledError)
"""Errors after which random operations do not advance: the call is repeated, or counts as not made."""


def _apart_from(state: Arrays, outputs: Sequence[Any]) -> Sequence[Any]:
    """Returns the outputs, with copies of those that are a variable's array, which a later call donates."""
    owned = set(map(id, state))
    if owned.isdisjoint(map(id, outputs)):
        return outputs
    return [jax_compat.to_numpy(o) if id(o) in owned else o for o in outputs]


def depends_on(op: Operation, source: object) -> bool:
    """Whether an operation runs after `source` because of data or control edges."""
    pending, seen = [op], set()
    while pending:
        each = pending.pop()
        if each is source:
            return True
        if each not in seen:
            seen.add(each)
            pending += [*(t.op for t in each.takes), *each.waits_for]
    return False


class ProgramCall:
    """A call with the current variables. The caller holds their lock until `leave`.

    The order is `make`, `prepare`, `leave`. If a signal handler interrupts it after arrays were donated, the call stays in
    `VariableState.unfiled`, and the next user of the variables completes it with `file_left`.
    """

    __slots__ = (
        "_program", "_cluster", "_executable", "_maker", "_state", "_random_state", "_shapes", "_results", "_prepared", "_work", "_may_begin",
        "_is_placed", "_is_apart", "_may_be_overtaken", "arguments",
    )  # fmt: skip

    def __init__(
        self, program: Program, cluster: Cluster, inputs: Arrays, shapes: Shapes, large: Arrays, context: RunContext, is_apart: bool
    ) -> None:  # fmt: skip
        self._program, self._cluster, self._is_apart = program, cluster, is_apart
        self._executable = program.executables.get(shapes)
        self._state = context.variable_state
        self._random_state = randoms = context.random_state
        rng = randoms.rows(cluster.randoms) if cluster.randoms else ()
        self.arguments: Arguments = (inputs, large, (), (), rng)
        # An executable may take NumPy arrays; for one that is not prepared yet, the device decides.
        takes_kept = is_in_host_memory(cluster.place) if self._executable is None else self._executable.takes_kept
        self._take_variables(is_placed=not takes_kept)
        self._shapes = shapes
        self._results: list[tuple[Any, ...]] = []
        self._prepared: list[tuple[Any, ...]] = []
        self._may_be_overtaken = False
        self._work: Work | None = None  # the call, if a helper thread makes it

    def _take_variables(self, is_placed: bool) -> None:
        """Sets the variables among the arguments: arrays on the cluster's device if `is_placed`, else the stored values."""
        cluster, state, place = self._cluster, self._state, self._cluster.place
        variables = state.on_device if is_placed else state.as_kept
        read = variables(cluster.reads, cluster.read_keys, place) if cluster.reads else ()
        updated = variables(cluster.updates, cluster.update_keys, place) if cluster.updates else ()
        inputs, large, _, _, rng = self.arguments
        self.arguments = (inputs, large, read, updated, rng)
        self._is_placed = is_placed

    def make(self) -> bool:
        """Makes the call. Returns False if it was not made, because a signal handler changed variables meanwhile or the engine gave up.

        Raises:
          RuntimeError, ValueError, errors.ResourceExhaustedError: errors of the call itself.
        """
        # No executable yet, or one that cannot take these arguments (used up, or other shapes of variables): prepare one.
        executable = self._executable
        if executable is None or executable.is_used_up or not executable.fits(self.arguments):
            executable = self._program.executable_for(self._cluster, self._shapes, self.arguments)
        self._maker = executable
        try:
            if not executable.takes_kept and not self._is_placed:
                self._take_variables(is_placed=True)
            executable.make(self)
        except (RuntimeError, ValueError, errors.ResourceExhaustedError):
            # JAX raises for deleted arguments; if a handler's run donated them, the caller tries again with the new values.
            if not self._were_arguments_replaced():
                raise
        return bool(self._results)

    # ---- ways to call a function, for executables: see engines/engine.py ----

    @property
    def updates_variables(self) -> bool:
        """Whether the call updates variables, whose buffers it is given."""
        return bool(self.arguments[3])

    def at_once(self, function: Callable[..., Any]) -> bool:
        """Calls a compiled function and keeps its results in one call into C; returns False if that is not possible."""
        return not self._is_apart and jax_compat.call_at_once(function, self.arguments, self._results)

    def here(self, function: Callable[..., Any]) -> None:
        """Calls a function in this thread, in which a signal handler may interrupt it.

        A handler's run then replaces `_results` (see `file_left`), so that the results go to a list that nobody reads.
        """
        self._may_be_overtaken = True
        results = self._results
        if self._are_arguments_kept():
            results.append(function(*self.arguments))

    def apart(self, function: Callable[..., Any], prepare: Callable[[Arguments], object] | None = None) -> None:
        """Calls a function in a helper thread if signal handlers can interrupt this one; `prepare` gets the arguments before."""
        # `list.pop` is atomic: either the helper thread begins the call, or `leave` and `file_left` cancel it.
        if is_interruptible():
            self._may_begin = [True]
            self._work = jax_compat.work_apart(functools.partial(self._prepare_and_call, function, prepare))
            self._work.wait()
        else:
            self._results.append(function(*self.arguments))

    def _prepare_and_call(self, function: Callable[..., Any], prepare: Callable[[Arguments], object] | None) -> None:
        if prepare is not None:
            prepare(self.arguments)
        if self._take_begin() and (self._is_placed or self._are_arguments_kept()):
            self._results.append(function(*self.arguments))
            jax.block_until_ready(self._results)

    def _take_begin(self) -> bool:
        """Takes the right to begin the call; returns True to one thread only."""
        try:
            return self._may_begin.pop()
        except IndexError:
            return False

    def _are_arguments_kept(self) -> bool:
        """Whether the variables still have the values that the call was given."""
        keys = (*self._cluster.read_keys, *self._cluster.update_keys)
        return all(map(operator.is_, map(self._state.held.get, keys), (*self.arguments[2], *self.arguments[3])))

    def _were_arguments_replaced(self) -> bool:
        """Whether a run of a signal handler has donated arguments of this call. Variables whose arrays this call itself lost are removed."""
        held = self._state.held
        keys = (*self._cluster.read_keys, *self._cluster.update_keys)
        arrays = zip(keys, (*self.arguments[2], *self.arguments[3]))
        # A lost array that is no longer the variable's was donated by another run; one that still is, by this call, which failed.
        lost = [(key, a) for key, a in arrays if jax_compat.is_deleted(a) or is_spoiled(a)]
        replaced = [key for key, a in lost if held.get(key) is not a]
        for key in {key for key, _ in lost} - set(replaced):
            del held[key]
        return bool(replaced)

    def prepare(self) -> tuple[Sequence[Any], Exception | None]:
        """Prepares the new state for `leave`. Returns the outputs, and the error of the first check that failed or None."""
        cluster, tracing = self._cluster, self._maker.tracing
        notes = tracing.notes_of(self.arguments)
        inputs, large, read, updated, rng = self.arguments
        outputs, new_state, holds, moved = self._results[0]
        error, kept, entries = None, new_state, []
        try:
            failed = holds is not None and not (holds := as_array(holds)).all()
            if new_state or read:
                outputs = _apart_from((*read, *new_state), outputs)
            # After a failed check only the updated variables are stored: they are results too, with their old values, as their buffers
            # were donated.
            if failed:
                kept = new_state[: len(updated)]
                error = tracing.failure(holds, (inputs, large, read, kept, rng))
        except RuntimeError:
            # Reading a donated array raises.
            if not self._prepared:  # else a run of a signal's handler has filed the results, and has donated arrays among them
                raise
        if kept:
            entries = self._state.entries(cluster.written_keys, kept)
        # Random operations advance even if a check failed, as TensorFlow's kernels have drawn by then, but for those that would have run after
        # the failed operation. The error keeps the old positions.
        if cluster.randoms and not isinstance(error, _UNDONE):
            if isinstance(error, errors.OpError):
                error.drew_from = {op.name: moved for op, moved in self._random_state.positions().items()}
            steps = [*notes.reserves.items(), *zip(notes.moving, moved)]
            if error is not None:
                steps = [(op, advance) for op, advance in steps if not depends_on(op, getattr(error, "op", None))]
            entries.append(self._random_state.advanced(steps))
        self._prepared.append((iter(entries), notes.outputs(outputs), error))
        return self._prepared[0][1:]

    def leave(self) -> None:
        """Stores the new state. If a signal handler raised before it was ready, the call stays unfiled, for the next user of the variables."""
        if self._prepared:
            put_all(self._prepared[0][0])
        elif self._results or self._work is not None and not self._take_begin():
            return
        unfiled = self._state.unfiled
        if self in unfiled:
            unfiled.remove(self)

    def file_left(self) -> None:
        """Completes an interrupted call: waits for its results and stores them. A call that has not begun is cancelled."""
        # The helper thread has begun: wait for it. Otherwise the call is cancelled by taking its right to begin; a call in the interrupted
        # thread itself cannot be cancelled, and gets a list of results of its own.
        if self._work is not None and not self._take_begin():
            self._work.join()
        elif self._work is None and not self._results:
            if self._may_be_overtaken:
                self._results = []
            return
        try:
            if self._results and not self._prepared:
                self.prepare()
        except jax.errors.JaxRuntimeError:  # raised in the interrupted run as well, if that got so far
            self._results.clear()
        if self._prepared:
            put_all(self._prepared[0][0])
        elif not self._results:
            self._were_arguments_replaced()
        self._state.unfiled.remove(self)
