"""Lowering of a loop to one `lax.while_loop`.

The carry holds the loop variables, the session's variables that the loop writes, random counters, and for each check inside
whether it has held, with the values of its first failure. The body is traced once to a jaxpr; where it needs another carry than
the values that enter (element shapes of TensorArrays, checks), the carry is extended and the body traced again.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import jax
import jax.numpy as jnp
import numpy as np

from tfcompat._src.base import checks, errors
from tfcompat._src.base.arrays import Array
from tfcompat._src.base.findings import Finding, Kind
from tfcompat._src.graph.operation import Operation
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.ops.control.loop_topology import Variable
from tfcompat._src.ops.flow.array_origin import written_at
from tfcompat._src.ops.flow.array_value import COUNTERS, ArrayHandle, DeviceArray
from tfcompat._src.runtime.ir.item import OpItem
from tfcompat._src.runtime.ir.loop_item import CANCELLED, SHORT, LoopItem, behind_identity
from tfcompat._src.runtime.lowering.bounded_loop import bounded_scan, bounded_while
from tfcompat._src.runtime.lowering.cond import zeros_of
from tfcompat._src.runtime.lowering.lower import STOPPING, Frame, Replan, collecting, lower, primal, read, truth
from tfcompat._src.runtime.state.variable_state import required_variable_op, variable_key

Carried: TypeAlias = jax.Array | DeviceArray | ArrayHandle
Shown: TypeAlias = tuple[jax.Array, ...]
"""The values that the error message of one check shows."""


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Carry:
    """The carry of the `while_loop`.

    Attributes:
      variables: the loop variables. state: the values of the variables (of the session) that the loop writes.
      rows: the key and counter of each random operation, uint32[6]. moved: how far each counter has advanced, int64 scalars.
      counts: the greatest trip count so far of each inner loop. total: the number of iterations so far. Both int32.
      holds: for each check, whether it has held so far; None until the checks are known.
      shown: for each check, the values of its first failure; None until the checks are known.
      goes_on: the condition for the next iteration; None where `cond_fun` of the `while_loop` computes it.
      shared: tensors of the condition that the body uses; None as `goes_on`.
    """

    variables: list[Carried]
    state: list[jax.Array]
    rows: list[jax.Array]
    moved: list[jax.Array]
    counts: list[jax.Array]
    total: jax.Array
    holds: list[jax.Array] | None = None
    shown: list[Shown] | None = None
    goes_on: jax.Array | None = None
    shared: list[jax.Array] | None = None


class LoopLowering:
    """Traces one loop into one frame. `run` does everything; the trace of a gradient reuses the parts."""

    flag: jax.Array | None = None
    """The array of the StopFlag that each iteration polls, or None."""

    def __init__(self, item: LoopItem, frame: Frame) -> None:
        self.item, self.program, self.frame = item, item.program, frame
        # Everything below is known before the trace of an iteration: what the carry consists of, and the values of invariants.
        program = self.program
        self.randoms = program.randoms
        self.written = list(dict.fromkeys(variable_key(v) for v in program.writes))
        self.outer = {**program.known, **self._constants()}
        self.spans = [self._span(v) for v in program.variables]
        self.changing_reads = {t: variable_key(v) for t, v in program.changing_reads().items()}
        self.inner_counts = inner_loops(item) if frame.counts is not None or program.records else []
        self.checks: list[checks.Check] = []

    def _constants(self) -> dict[Tensor, Any]:
        """The values of loop-invariant tensors, by their names inside the loop."""
        values = {op.outputs[0]: value for op in self.program.constants if (value := self._entering(op)) is not None}
        values.update({t: values[op.outputs[0]] for t, op in self.program.aliases.items() if op.outputs[0] in values})
        # A known value folds; but a tracer that entered is a primal that the loop is differentiated with respect to, and stays.
        return {**values, **{t: v for t, v in self.program.known.items() if t in values and not isinstance(values[t], jax.core.Tracer)}}

    def _entering(self, enter: Operation) -> object:
        """The value that an Enter node passes in: the primal set for this node by a gradient, else the value of its source."""
        values = self.frame.values
        return values[enter.outputs[0]] if enter.outputs[0] in values else values.get(enter.takes[0])

    def _span(self, variable: Variable) -> range | None:
        """The values that a counter can take in the body; None where it is no counter, or its start or a trip bound is unknown."""
        start, step = self.frame.values.get(variable.enter.takes[0]), self.program.step(variable)
        limit = self.program.bound(self.frame.values.get)[0]
        if step is None or not limit or not isinstance(start, (np.ndarray, np.generic)) or start.ndim:
            return None
        first = int(start.item())
        return range(first, first + limit * step, step)

    def _written_in_turn(self, variable: Variable, entering: object) -> range | None:
        """The indices that iterations write to a TensorArray loop variable, where each iteration writes one element at a counter; else None.

        Such a TensorArray needs no array of flags that say which elements have been written: the trip count tells.
        """
        write = written_at(behind_identity(variable.following))
        if write is None or not isinstance(entering, DeviceArray) or not entering.is_unwritten or entering.meta.source:
            return None
        # The array that is written must be the loop variable itself, and the index a counter of this loop.
        index, before = map(behind_identity, write)
        if before not in self.program.names_inside(variable):
            return None
        return next((s for v, s in zip(self.program.variables, self.spans) if s is not None and index in self.program.names_inside(v)), None)

    # ---- one iteration ----

    def _inside(self, carry: Carry) -> Frame:
        """The frame in which one iteration is traced: invariants, and what the carry holds."""
        program, frame = self.program, self.frame
        values = dict(self.outer)
        for v, value in zip(program.variables, carry.variables):
            values.update(dict.fromkeys(program.names_inside(v), value))
        values.update(zip(program.shared, carry.shared or ()))
        state = {**frame.state, **dict(zip(self.written, carry.state))}
        values.update({t: state[key] for t, key in self.changing_reads.items()})
        rng = {**frame.rng, **dict(zip(self.randoms, carry.rows))}
        counts: dict[LoopItem, jax.Array] | None = {} if self.inner_counts else None
        return Frame(
            values, state, rng, {}, frame.differentiated, frame.lengths, counts, through_updates=frame.through_updates,
            changing=frame.changing.union(self.changing_reads.values()),
        )  # fmt: skip

    def _condition(self, carry: Carry) -> tuple[Frame, Any]:
        """Traces the condition: its frame, and the scalar predicate."""
        inner = self._inside(carry)
        for item in self.program.condition_items:
            lower(item, inner)
        predicate = self.program.predicate
        return inner, truth(predicate, inner.values[predicate])

    def _body(self, carry: Carry) -> Carry:
        """Traces one iteration: the carry after it. If the carry has `goes_on`, that is the condition of the following iteration."""
        program = self.program
        # A counter is a tracer here. Its span tells reads and writes of TensorArrays that the index is in range, so they need no checks.
        COUNTERS.spans.update((id(value), (value, span)) for value, span in zip(carry.variables, self.spans) if span is not None)
        with collecting() as found:
            inner = self._inside(carry)
            # The body uses tensors of the condition, and the carry does not have them: `cond_fun` returns a bool only. So the body
            # computes them too.
            if program.shared and carry.shared is None:
                for item in program.condition_items:
                    lower(item, inner)
            for item in program.body_items:
                lower(item, inner)
            # Random counters advance in the body first; a carried condition draws after it.
            after = self._after(carry, inner, [read(v.following, inner) for v in program.variables])
            if carry.goes_on is not None:
                after = self._with_condition(after)
        # Checks inside the loop become flags of the carry: a tracer of the body must not escape from it.
        self.checks = list(found)
        holds, shown = self._merged_checks(found, carry.holds, carry.shown)
        return replace(after, holds=holds, shown=shown)

    def _after(self, carry: Carry, inner: Frame, variables: Sequence[object]) -> Carry:
        """The carry with one more iteration counted, from the frame in which that was traced."""
        rows = [_advanced(inner.rng[op], inner.reserves.get(op)) for op in self.randoms]
        moved = [m + _as_count(inner.reserves.get(op)) for op, m in zip(self.randoms, carry.moved)]
        made = inner.counts or {}
        counts = [jnp.maximum(c, made.get(u, 0)) for u, c in zip(self.inner_counts, carry.counts)]
        return Carry(
            [_as_carried(v) for v in variables], [jnp.asarray(inner.state[k]) for k in self.written], rows, moved, counts, carry.total + np.int32(1)
        )

    @staticmethod
    def _merged_checks(found: list[checks.Check], holds: list[jax.Array] | None, shown: list[Shown] | None) -> tuple[list[jax.Array], list[Shown]]:
        """(holds, shown) after an iteration with the checks `found`, from those before it."""
        ok = [jnp.asarray(c.ok) for c in found]
        values = [tuple(map(jnp.asarray, c.traced_values())) for c in found]
        if holds is None or shown is None:
            return ok, values
        # The error message shows the values of the first failure, not those of later iterations.
        kept = [
            jax.tree.map(lambda new, old, f=f: jax.lax.select(jnp.broadcast_to(f, new.shape), new, old), v, s)
            for f, v, s in zip(holds, values, shown)
        ]
        return [jnp.logical_and(f, o) for f, o in zip(holds, ok)], kept

    # ---- the whole loop ----

    def _start(self) -> Carry:
        """The carry before the first iteration."""
        program, frame = self.program, self.frame
        # A growing TensorArray that nothing was written to needs no more room than there can be iterations.
        limit = program.bound(frame.values.get)[0]
        entering = [self._entering(v.enter) for v in program.variables]
        entering = [v.with_room_for(limit) if isinstance(v, DeviceArray) else v for v in entering]
        self.turns = [self._written_in_turn(v, value) for v, value in zip(program.variables, entering)]
        entering = [value.in_turn() if span is not None and isinstance(value, DeviceArray) else value for value, span in zip(entering, self.turns)]
        return Carry(
            variables=[_as_carried(v) for v in entering],
            state=[jnp.asarray(frame.state[k]) for k in self.written],
            rows=[jnp.asarray(frame.rng[op]) for op in self.randoms],
            moved=[jnp.zeros((), np.int64) for _ in self.randoms],
            counts=[jnp.zeros((), np.int32) for _ in self.inner_counts],
            total=jnp.zeros((), np.int32),
        )

    def run(self) -> None:
        """Traces the loop; its results go to `frame.values`, written variables to `frame.state`.

        Raises:
          Replan: the loop cannot be compiled with these shapes, so the host must drive it.
        """
        if self.program.condition is None:
            self._run_once()
            return
        carry = self._start()
        # Known to have no iterations: the results are the values that enter.
        if self.program.bound(self.frame.values.get) == (0, True):
            self._finish(carry)
            return
        # `cond_fun` of a while_loop returns a bool only. A condition with effects, or with counts to keep, is computed at the end of the
        # body instead (and once before the loop), and its result carried.
        pure = not (self.randoms or self.written or self.inner_counts) or not self.program.condition_items or self._is_cond_pure()
        if not pure:
            carry = self._with_condition(carry)
        outer = dict(COUNTERS.spans)
        try:
            body, carry = self._traced_body(carry)
        except (TypeError, ValueError, errors.OpError) as e:
            if self.frame.differentiated:
                raise
            # A kernel rejects the shapes. The host decides whether the body runs at all; if it does, the kernel's error is the user's.
            why = f"its body cannot be traced with the shapes that enter: {e}"
            raise Replan(Finding(Kind.HOST_DRIVES, self.program.condition), f"{self.program.name}: {why}") from e
        finally:
            COUNTERS.spans = outer
        self._finish(self._loop(body, carry))

    def _run_once(self) -> None:
        """Traces a control flow frame without LoopCond, whose operations run once."""
        inner = self._inside(self._start())
        for item in self.program.body_items:
            lower(item, inner)
        self.frame.state.update(inner.state)
        self.frame.reserves.update(inner.reserves)
        left = {e.outputs[0]: e.takes[0] for e in self.program.exits}
        self.frame.values.update({
            out: inner.state[variable_key(required_variable_op(t))] if t.dtype._is_ref_dtype and t not in inner.values else inner.values[t]
            for out, t in left.items()
        })  # fmt: skip

    def _is_cond_pure(self) -> bool:
        """Whether the condition is single operations without random numbers or writes."""
        effects = [i.effects for i in self.program.condition_items]
        plain = all(isinstance(i, OpItem) for i in self.program.condition_items)
        return plain and not any(e.random or e.writes for e in effects)

    def _with_condition(self, carry: Carry) -> Carry:
        """Traces the condition for the next iteration: the carry with its result and its side effects."""
        inner, goes_on = self._condition(carry)
        after = self._after(carry, inner, carry.variables)
        shared = [jnp.asarray(inner.values[t]) for t in self.program.shared]
        return replace(after, goes_on=jnp.asarray(goes_on), shared=shared, total=carry.total)

    def _traced_body(self, carry: Carry) -> tuple[Callable[..., Any], Carry]:
        """Traces the body.

        Returns:
          the body as a function of a carry whose structure, shapes and dtypes it keeps; and the initial carry with that structure.

        Raises:
          Replan: a loop variable changes its shape.
        """
        # A fixed point: the first trace tells the checks and the element shapes of TensorArrays, which the carry gets before the next.
        # After 4 traces, what still differs is reported as a change of shape.
        for _ in range(4):
            closed, out = jax.make_jaxpr(self._body, return_shape=True)(carry)
            if carry.holds is None and out.holds:
                zeros = [jax.tree.map(lambda s: jnp.zeros(s.shape, s.dtype), v) for v in out.shown]
                carry = replace(carry, holds=[jnp.asarray(True) for _ in out.holds], shown=zeros)
                continue
            changed = self._with_arrays_shaped(carry, out)
            if changed is None:
                break
            carry = changed
        self._require_same_shapes(carry, out)
        structure = jax.tree.structure(carry)

        def body(c: Carry) -> Carry:
            flat = jax.core.eval_jaxpr(closed.jaxpr, closed.consts, *jax.tree.leaves(c))
            after: Carry = jax.tree.unflatten(structure, flat)
            return after

        return body, carry

    @staticmethod
    def _with_arrays_shaped(carry: Carry, out: Carry) -> Carry | None:
        """The initial carry with buffers for TensorArrays whose element shape only the trace of the body has told; None if it told none."""
        variables, changed = [], False
        for before, after in zip(carry.variables, out.variables):
            # In a graph that TensorFlow differentiated, the gradient of a flow enters as the scalar 0, and the body makes it a TensorArray.
            if isinstance(after, DeviceArray) and not isinstance(before, DeviceArray):
                before, changed = zeros_of(after), True
            elif isinstance(before, DeviceArray) and isinstance(after, DeviceArray) and before.buffer is None and after.buffer is not None:
                before, changed = before.with_element_shape(after.buffer.shape[1:]), True
            variables.append(before)
        return replace(carry, variables=variables) if changed else None

    def _require_same_shapes(self, carry: Carry, out: Carry) -> None:
        """Raises Replan where a loop variable comes out of the body with another shape, dtype or structure."""
        for v, before, after in zip(self.program.variables, carry.variables, out.variables):
            shapes = [[(x.shape, x.dtype) for x in jax.tree.leaves(side)] for side in (before, after)]
            if shapes[0] != shapes[1]:
                tensor = v.merge.outputs[0]
                raise Replan(Finding(Kind.HOST_DRIVES, self.program.condition), f"{tensor.name} changes its shape in {self.program.name}")

    def _loop(self, body: Callable[..., Any], carry: Carry) -> Carry:
        """Calls the while loop: `lax.while_loop`, or where it is differentiated one with a bound; the final carry."""
        # Without a derivative the bound only decides whether to poll the stop flag; a derivative needs it for the size of its stacks. The
        # bound is known from the counter, or from the trip count of the first run (`frame.lengths`).
        limit, exact = self.program.bound(self.frame.values.get)
        if not self.frame.differentiated:
            self.flag = None if limit is not None and limit <= SHORT else STOPPING.flag
            return jax.lax.while_loop(self._test, body, carry)
        if limit is None:
            limit, exact = self.frame.lengths.get(self.item), False
        if limit is None:
            raise NotImplementedError(
                f"The gradient of {self.program.name} needs a bound of the number of its iterations when it is compiled, and none is known. "
                "Give tf.while_loop maximum_iterations, or compare a counter with a constant in its condition."
            )
        # A second derivative needs a loop that is differentiable twice.
        bounded = bounded_while if self.frame.differentiated == 1 else bounded_scan
        final: Carry = bounded(None if exact else self._test, body, carry, limit)
        return final

    def _test(self, carry: Carry) -> jax.Array:
        """`cond_fun`: the condition holds, no check has failed, and nobody has asked to stop."""
        goes_on, found = carry.goes_on, []
        if goes_on is None:
            with collecting() as found:
                _, goes_on = self._condition(carry)
        going_on = [] if self.flag is None else [_not_stopped(self.flag, carry.total)]
        for ok in (*(carry.holds or ()), *[check.ok for check in found], *going_on):
            goes_on = jnp.logical_and(goes_on, ok)
        return jnp.asarray(goes_on)

    def _finish(self, final: Carry) -> None:
        """Files the final carry in the frame: Exit nodes, variables, random counters, checks and trip counts."""
        program, frame = self.program, self.frame
        values = {
            v.enter: value.after_turns(span, final.total) if span is not None and isinstance(value, DeviceArray) else value
            for v, value, span in zip(program.variables, final.variables, self.turns)
        }
        for exit in program.exits:
            source = program.entering(exit)
            value: object = values.get(source)
            if value is None:
                value = self._entering(source)
            # A ref that enters has no value of its own; a derivative needs the value of its variable.
            if value is None and frame.differentiated and source.takes[0].dtype._is_ref_dtype:
                value = primal(source.takes[0], frame)
            if value is not None:
                frame.values[exit.outputs[0]] = value
        frame.state.update(zip(self.written, final.state))
        for op, moved in zip(self.randoms, final.moved):
            frame.reserves[op] = frame.reserves.get(op, 0) + moved
        for check, ok, shown in zip(self.checks, final.holds or (), final.shown or ()):
            merged = check.without_traced_values().merge_values(list(shown))
            checks.add(checks.Check(ok, check.text, merged, check.op, check.error))
        # The flag is read again after the loop: a stop fails a check, so that the call changes no variable.
        if self.flag is not None:
            ok = _not_stopped(self.flag, final.total)
            checks.add(checks.Check(ok, CANCELLED, (), program.condition, errors.CancelledError))
        if frame.counts is not None:
            frame.counts[self.item] = jnp.maximum(frame.counts.get(self.item, 0), final.total)
            for inner, count in zip(self.inner_counts, final.counts):
                frame.counts[inner] = jnp.maximum(frame.counts.get(inner, 0), count)
        # For gradients in other programs: trip counts, rounded up, and the counters before the loop.
        for record in program.records:
            frame.values[record.steps] = _padded(jnp.stack([final.total, *final.counts]))
            rows = [jnp.asarray(frame.rng[op]) for op in self.randoms]
            frame.values[record.counters] = jnp.stack(rows) if rows else jnp.zeros((0, 6), np.uint32)


def _not_stopped(flag: jax.Array, total: jax.Array) -> jax.Array:
    """Whether the host has not set the StopFlag, whose memory it writes while the loop runs.

    The read must not be hoisted out of the loop as loop-invariant code, so its index depends on the iteration (and is always 0).
    """
    element = jax.lax.shift_right_logical(total, np.int32(31))
    is_as_at_first: jax.Array = jax.lax.dynamic_index_in_dim(flag, element, keepdims=False) == 0
    return is_as_at_first


def inner_loops(item: LoopItem) -> list[LoopItem]:
    """All loops inside a loop, in preorder."""
    return [loop for child in item.program.inner for loop in (child, *inner_loops(child))]


def _as_carried(value: object) -> Carried:
    """A value as JAX arrays without weak types, which a carry must not have: the body would return strong ones."""
    carried: Carried = jax.tree.map(lambda x: jnp.asarray(x, x.dtype), value)
    return carried


def _as_count(reserve: object) -> jax.Array:
    return jnp.asarray(0 if reserve is None else reserve, np.int64)


def _advanced(row: Array, reserve: Array | int | None) -> jax.Array:
    """A row of random state with its 128-bit Philox counter advanced by `reserve`.

    Args:
      row: uint32[6]: two words of key, four words of counter, the lowest first. reserve: the 64-bit amount; None for 0.
    """
    row = jnp.asarray(row)
    if reserve is None:
        return row
    # Addition with carry in words of 32 bits, as XLA has no 128-bit integers.
    amount = jnp.asarray(reserve, np.uint64)
    low, high = (amount & np.uint64(0xFFFFFFFF)).astype(np.uint32), (amount >> np.uint64(32)).astype(np.uint32)
    add: list[jax.Array | np.uint32] = [low, high, np.uint32(0), np.uint32(0)]
    words: list[jax.Array] = []
    carry: jax.Array | np.uint32 = np.uint32(0)
    for i in range(4):
        total = row[2 + i] + add[i]
        over = (total < add[i]).astype(np.uint32)
        words.append(total + carry)
        carry = over | (words[-1] < carry).astype(np.uint32)
    return jnp.stack([row[0], row[1], *words])


def _padded(counts: jax.Array) -> jax.Array:
    """Rounds counts up to powers of two, so that gradients for many trip counts share one compiled program."""
    # Bit twiddling: copy the highest set bit of n - 1 to all lower bits, then add 1 (Warren, Hacker's Delight, 2nd ed., 3-2).
    wanted = jnp.maximum(counts, 1) - 1
    for shift in (1, 2, 4, 8, 16):
        wanted = wanted | (wanted >> shift)
    return (wanted + 1).astype(np.int32)
