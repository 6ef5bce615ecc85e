"""One call of a compiled program on the variables and random numbers of a session, which happens wholly or not at all."""

from __future__ import annotations

import contextlib
import functools
import operator
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import jax

from tfcompat._src.base import errors, jax_compat
from tfcompat._src.base.arrays import as_array
from tfcompat._src.base.helper_threads import Work, is_interruptible
from tfcompat._src.interpreter.limit import OverLimit
from tfcompat._src.ops.flow.array_value import ArrayOverflow
from tfcompat._src.runtime.compile import Arrays, Program, Shapes
from tfcompat._src.runtime.interpreted import Interpreted, is_spoiled
from tfcompat._src.runtime.plan import Cluster, WrongGuess
from tfcompat._src.runtime.run_context import RunContext
from tfcompat._src.runtime.variable_state import Array, put_all

Arguments: TypeAlias = tuple[Arrays, Arrays, tuple[Array, ...], tuple[Array, ...], Array | tuple[()]]
"""Inputs, large inputs, variables that are read and that are updated, rows of random state."""
_UNDONE = (ArrayOverflow, WrongGuess, errors.CancelledError)
"""Errors after which random operations are where they were before the call."""


def _apart_from(state: Arrays, outputs: Sequence[Any]) -> Sequence[Any]:
    """Outputs, with copies of those that are arrays of variables."""
    owned = set(map(id, state))
    if owned.isdisjoint(map(id, outputs)):
        return outputs
    return [jax_compat.to_numpy(o) if id(o) in owned else o for o in outputs]


class CompiledCall:
    """A call with the variables as they are, whose lock is held until `leave`.

    From the donation of arrays on, each step is one call into C or is done in a helper thread, so that a signal's handler may raise, or
    run operations itself, between any two of them: what is left then is filed by whoever uses the variables next.
    """

    __slots__ = (
        "_program", "_cluster", "_state", "_random_state", "_arguments", "_shapes", "_results", "_prepared", "_work", "_may_begin",
        "_is_placed", "_is_apart", "_may_be_overtaken",
    )  # fmt: skip

    def __init__(
        self, program: Program, cluster: Cluster, inputs: Arrays, shapes: Shapes, large: Arrays, session: RunContext, is_apart: bool
    ) -> None:  # fmt: skip
        self._program, self._cluster, self._is_apart = program, cluster, is_apart
        self._state = session.variable_state
        self._random_state = randoms = session.random_state
        rng = randoms.rows(cluster.randoms) if cluster.randoms else ()
        self._arguments: Arguments = (inputs, large, (), (), rng)
        self._take_variables(is_placed=not program.may_interpret(shapes))
        self._shapes = shapes
        self._results: list[tuple[Any, ...]] = []
        self._prepared: list[tuple[Any, ...]] = []
        self._may_be_overtaken = False
        self._work: Work | None = None  # the call in a helper thread, where it is made there

    def _take_variables(self, is_placed: bool) -> None:
        """Makes the values of variables arguments: as they are kept, or as arrays where the cluster runs."""
        cluster, state, place = self._cluster, self._state, self._cluster.place
        variables = state.on_device if is_placed else state.as_kept
        read = variables(cluster.reads, cluster.read_keys, place) if cluster.reads else ()
        updated = variables(cluster.updates, cluster.update_keys, place) if cluster.updates else ()
        inputs, large, _, _, rng = self._arguments
        self._arguments = (inputs, large, read, updated, rng)
        self._is_placed = is_placed

    def make(self) -> bool:
        """Makes the call; false where it was not made: a signal's handler has changed variables meanwhile, or the engine has given up."""
        call = self._program.quick.get(self._shapes) or self._program.call_for(self._shapes, self._arguments)
        try:
            if isinstance(call, Interpreted):
                self._interpret(call)
            else:
                self._run_compiled(call)
        except (RuntimeError, ValueError, errors.ResourceExhaustedError):
            if not self._were_arguments_replaced():
                raise
        return bool(self._results)

    def _run_compiled(self, call: Callable[..., Any]) -> None:
        shapes, program = self._shapes, self._program
        if not self._is_placed:
            self._take_variables(is_placed=True)
        was_called = program.quick.get(shapes) is call or program.called.get(shapes) is call
        if not (was_called and not self._is_apart and jax_compat.call_at_once(call, self._arguments, self._results)):
            self._make_apart(call)
            program.note_call(shapes, call)

    def _interpret(self, call: Interpreted) -> None:
        """Has the interpreter make the call, which gives up before anything was changed.

        Where it changes no array in place, a signal's handler may end it, or change variables meanwhile: then another list has taken
        the place of `_results`, as `file_left` says.
        """
        with contextlib.suppress(OverLimit):
            if call.writes_in_place and self._arguments[3]:
                self._make_apart(call)
            else:
                self._may_be_overtaken = True
                results = self._results
                if self._are_arguments_kept():
                    results.append(call(*self._arguments))

    def _are_arguments_kept(self) -> bool:
        """Whether the arguments are still the values of the variables."""
        keys = (*self._cluster.read_keys, *self._cluster.update_keys)
        return all(map(operator.is_, map(self._state.held.get, keys), (*self._arguments[2], *self._arguments[3])))

    def _make_apart(self, call: Any) -> None:
        """Makes a call for which JAX runs Python code, or that may take long: in the main thread, so that a signal's handler can end
        the waiting, but not the call."""
        if is_interruptible():
            self._may_begin = [True]
            self._work = jax_compat.work_apart(functools.partial(self._compile_and_call, call))
            self._work.wait()
        else:
            self._results.append(call(*self._arguments))

    def _compile_and_call(self, call: Any) -> None:
        if self._is_placed:
            call.lower(*self._arguments).compile()
        if self._take_begin() and (self._is_placed or self._are_arguments_kept()):
            self._results.append(call(*self._arguments))
            jax.block_until_ready(self._results)

    def _take_begin(self) -> bool:
        """Takes the right to begin the call, which one thread gets."""
        try:
            return self._may_begin.pop()
        except IndexError:
            return False

    def _were_arguments_replaced(self) -> bool:
        """Whether a run of a signal's handler has donated what this call was to be given; what the call itself has lost is forgotten."""
        held = self._state.held
        keys = (*self._cluster.read_keys, *self._cluster.update_keys)
        arrays = zip(keys, (*self._arguments[2], *self._arguments[3]))
        lost = [(key, a) for key, a in arrays if jax_compat.is_deleted(a) or is_spoiled(a)]
        replaced = [key for key, a in lost if held.get(key) is not a]
        for key in {key for key, _ in lost} - set(replaced):
            del held[key]
        return bool(replaced)

    def prepare(self) -> tuple[Sequence[Any], Exception | None]:
        """Makes ready what `leave` files, once: what the call gives, and the error of its first check that does not hold."""
        cluster, program, shapes = self._cluster, self._program, self._shapes
        inputs, large, read, updated, rng = self._arguments
        outputs, new_state, holds, moved = self._results[0]
        error, kept, entries = None, new_state, []
        try:
            failed = holds is not None and not (holds := as_array(holds)).all()
            if new_state or read:
                outputs = _apart_from((*read, *new_state), outputs)
            if failed:
                kept = new_state[: len(updated)]
                error = program.failure(holds, (inputs, large, read, kept, rng))
        except RuntimeError:
            if not self._prepared:  # else a run of a signal's handler has filed the results, and has donated arrays among them
                raise
        if kept:
            entries = self._state.entries(cluster.written_keys, kept)
        if cluster.randoms and not isinstance(error, _UNDONE):
            steps = (*program.reserves[shapes].items(), *zip(program.moving[shapes], moved))
            entries.append(self._random_state.advanced(steps))
        if shapes in program.structures:
            outputs = jax.tree.unflatten(program.structures[shapes], outputs)
        self._prepared.append((iter(entries), outputs, error))
        return self._prepared[0][1:]

    def leave(self) -> None:
        """Files the new state; where a signal's handler has raised before it was there, whoever uses the variables next does."""
        if self._prepared:
            put_all(self._prepared[0][0])
        elif self._results or self._work is not None and not self._take_begin():
            return
        unfiled = self._state.unfiled
        if self in unfiled:
            unfiled.remove(self)

    def file_left(self) -> None:
        """Files what the call left, when it is there; a call that has not begun is taken back."""
        if self._work is not None and not self._take_begin():
            self._work.join()
        elif self._work is None and not self._results:
            if self._may_be_overtaken:
                self._results = []
            return
        try:
            if self._results and not self._prepared:
                self.prepare()
        except jax.errors.JaxRuntimeError:  # which the run has raised, unless it was left before
            self._results.clear()
        if self._prepared:
            put_all(self._prepared[0][0])
        elif not self._results:
            self._were_arguments_replaced()
        self._state.unfiled.remove(self)
