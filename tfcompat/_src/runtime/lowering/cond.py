"""Lowering of a conditional to one `lax.cond`.

Each branch is traced twice: first abstractly (`jax.eval_shape`) for the shapes, checks and variables that it leaves, then as a branch
of the `lax.cond`, whose results are the union of both branches' results. A tensor that only one branch makes is zeros in the other;
its consumers are dead then too, up to a Merge. A predicate that is known while tracing leaves only one branch.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from tfcompat._src.base import checks, errors
from tfcompat._src.base.findings import Finding, Kind
from tfcompat._src.graph.operation import Operation
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.ops.flow.array_value import DeviceArray
from tfcompat._src.runtime.ir.cond_item import CondItem
from tfcompat._src.runtime.ir.item import OpItem
from tfcompat._src.runtime.ir.routed_item import RoutedItem
from tfcompat._src.runtime.lowering.lower import Frame, Replan, collecting, lower, pass_switch, truth
from tfcompat._src.runtime.passes.structure import decided
from tfcompat._src.runtime.state.variable_state import required_variable_op, variable_key


def _must_choose(item: CondItem, why: str) -> Replan:
    """The exception for branches that cannot be in one program: the next plan lets the host choose the branch."""
    return Replan(Finding(Kind.HOST_CHOOSES, item.predicate), f"{item.name}: {why}")


@lower.register
def _lower_cond(item: CondItem, frame: Frame) -> None:
    _Lowering(item).trace(frame)


@lower.register
def _lower_routed(item: RoutedItem, frame: Frame) -> None:
    """Traces the nodes that are alive. Only the gradient of a loop that the host drives gets here, for whose iterations predicates are concrete."""
    found = decided(item, {p: np.array(bool(truth(p, frame.values[p]))) for p in item.predicates})
    frame.values.update(found.known)
    for inner in found.items:
        lower(inner, frame)


class _Lowering:
    """Traces one conditional."""

    def __init__(self, item: CondItem) -> None:
        self.item = item
        self._shared = [i.op for i in item.shared if isinstance(i, OpItem)]

    def trace(self, frame: Frame) -> None:
        """Traces the conditional into `frame`: as one `lax.cond`, or one branch where the predicate is known.

        Raises:
          Replan: the branches differ in the shape of a result, or one cannot be traced.
        """
        item = self.item
        # A predicate that is known while tracing needs no `lax.cond`.
        known = truth(item.predicate, frame.values[item.predicate])
        if not isinstance(known, jax.core.Tracer):
            self._trace_side(bool(known), frame)
            return
        written = list(dict.fromkeys(variable_key(v) for v in item.writes))
        run = {on: self._branch(on, frame, written) for on in (False, True)}
        # Both branches of a lax.cond return the same types. The abstract traces tell what each branch returns by itself.
        shapes: dict[bool, tuple[Any, ...]] = {on: self._shapes(run[on]) for on in (False, True)}
        outputs = [(t, s) for t, s in self._output_shapes(shapes) if not isinstance(frame.values.get(t), np.ndarray)]
        for key, off, on in zip(written, shapes[False][3], shapes[True][3]):
            if off.shape != on.shape:
                raise _must_choose(self.item, f"the branches assign different shapes to the variable {key}")
        # Checks leave the `lax.cond` as results too, so that each branch returns flags and values for those of both.
        all_checks = [c for on in (False, True) for c in shapes[on][1]]
        counts = {on: len(shapes[on][1]) for on in (False, True)}
        predicate = jnp.asarray(known)
        randoms = [op for op in item.operations if op.spec.effects.random]

        # Values and variables are captured; the operand of the cond is a dummy.
        def branch(on: bool) -> Callable[..., Any]:
            def call(_: object) -> tuple[Any, ...]:
                values, branch_checks, state, moved = run[on](shapes_only=False)
                results = [like(values[t], s) if t in values else zeros_of(s) for t, s in outputs]
                flags, shown = self._padded_checks(on, branch_checks, shapes, counts)
                return results, flags, shown, state, [jnp.asarray(moved.get(op, 0), np.int64) for op in randoms]

            return call

        # A random operation of the branch not taken does not advance its counter.
        results, flags, shown, state, moved = jax.lax.cond(predicate, branch(True), branch(False), 0)
        for op, steps in zip(randoms, moved):
            frame.reserves[op] = frame.reserves.get(op, 0) + steps
        frame.values.update(zip([t for t, _ in outputs], results))
        frame.state.update(zip(written, state))
        # The checks of both branches are checks of the run; those of the branch not taken hold.
        for check, ok, values in zip(all_checks, flags, shown):
            merged = check.without_traced_values().merge_values(list(values))
            checks.add(checks.Check(ok, check.text, merged, check.op, check.error))

    def _trace_side(self, on: bool, frame: Frame) -> None:
        """Traces one branch into `frame`; tensors of the other branch become zeros of their shapes."""
        # No branch frame: the branch becomes part of the surrounding program, with its checks and writes.
        for op in self._shared:
            pass_switch(op, on, frame)
        for inner in self.item.branches[on]:
            lower(inner, frame)
        for merge in self.item.merges:
            frame.values.update(self._merged(merge, on, frame))
        dead = [t for t in self.item.outputs if t not in frame.values]
        if dead:
            self._leave_dead(dead, not on, frame)

    def _leave_dead(self, dead: list[Tensor], off: bool, frame: Frame) -> None:
        """Sets tensors of the branch `off`, which is not taken, to zeros; those of unknown shape become dead in `frame`."""
        # Later conditionals on the same predicate may take these tensors on their dead side, and need values of some shape for the trace.
        try:
            for t in self.item.takes:
                if t in frame.dead:
                    raise frame.dead[t]
            shapes = self._shapes(self._branch(off, frame, []))[0]
        except Replan as why:
            frame.dead.update(dict.fromkeys(dead, why))
        else:
            frame.values.update({t: zeros_of(shapes[t]) for t in dead if t in shapes})

    def _shapes(self, branch: Callable[..., Any]) -> tuple[Any, ...]:
        """Traces a branch abstractly: (shapes of outputs, checks, values shown by these, new state).

        Raises:
          Replan: a kernel rejects the inputs, which it may never get when the program runs.
        """
        try:
            traced: tuple[Any, ...] = branch(shapes_only=True)
            return traced
        except (TypeError, ValueError, errors.OpError) as e:
            raise _must_choose(self.item, f"a branch cannot be traced: {e}") from e

    def _branch(self, on: bool, outer: Frame, written: list[str]) -> Callable[..., Any]:
        """A function that traces one branch in a frame of its own.

        The function returns (values of outputs, checks, new state, advances of random counters), or with `shapes_only` the tuple of
        `_shapes`.
        """

        def body() -> tuple[Any, ...]:
            frame = outer.branch()
            # Inside the branch the predicate is a constant, so that nested conditionals on it fold.
            frame.values.update(dict.fromkeys(self.item.names, np.bool_(on)))
            with collecting() as collected:
                for op in self._shared:
                    pass_switch(op, on, frame)
                for inner in self.item.branches[on]:
                    lower(inner, frame)
            values = {t: frame.values[t] for t in self.item.outputs if t in frame.values and self.item.is_alive(t, on)}
            for merge in self.item.merges:
                values.update(self._merged(merge, on, frame))
            return values, collected, [jnp.asarray(frame.state[k]) for k in written], frame.reserves

        def run(shapes_only: bool) -> tuple[Any, ...]:
            if not shapes_only:
                return body()
            # eval_shape takes pytrees only: checks and the tensors that name outputs get out by these lists.
            kept: list[checks.Check] = []

            def abstract() -> tuple[Any, ...]:
                values, collected, state, _ = body()
                kept.extend(collected)
                shown = [tuple(map(jnp.asarray, c.traced_values())) for c in collected]
                return {t: jax.tree.map(jnp.asarray, v) for t, v in values.items()}, shown, state

            # Tensors are no sortable dict keys, which pytrees need: their order is kept here, and a list is returned.
            tensors: list[Tensor] = []

            def listed() -> tuple[Any, ...]:
                values, shown, state = abstract()
                tensors.extend(values)
                return list(values.values()), shown, state

            shapes, shown, state = jax.eval_shape(listed)
            return dict(zip(tensors, shapes)), kept, shown, state

        return run

    def _merged(self, merge: Operation, on: bool, frame: Frame) -> dict[Tensor, Any]:
        """The outputs of a Merge if one branch is taken: the input that is alive in it, and its index."""
        # Guards decide which input is alive, not values: a dead tensor may have zeros. A ref has the value of its variable.
        for index, tensor in enumerate(merge.takes):
            if self.item.is_alive(tensor, on):
                value = frame.values.get(tensor)
                if value is None and tensor.dtype._is_ref_dtype:
                    value = frame.state[variable_key(required_variable_op(tensor))]
                return {merge.outputs[0]: value, merge.outputs[1]: np.int32(index)}
        raise RuntimeError(f"No input of the Merge {merge.name} is alive where {self.item.predicate.name} is {on}.")

    def _output_shapes(self, branches: dict[bool, tuple[Any, ...]]) -> list[tuple[Tensor, Any]]:
        """The results of the `lax.cond`: the union of the branches' outputs, each with the shape that both can return.

        Raises:
          Replan: the branches return different shapes for a tensor.
        """
        shapes: dict[Tensor, Any] = {}
        for on in (False, True):
            for t, s in branches[on][0].items():
                known = shapes.setdefault(t, s)
                # A flow that is a number on one side, or a TensorArray without elements, takes the form that the other side has.
                if isinstance(s, DeviceArray) != isinstance(known, DeviceArray):
                    shapes[t] = s if isinstance(s, DeviceArray) else known
                    continue
                if isinstance(s, DeviceArray) and known.buffer is None:
                    known = shapes[t] = s
                if known.shape != s.shape and not (isinstance(s, DeviceArray) and s.buffer is None):
                    raise _must_choose(self.item, f"the branches return different shapes for {t.name}")
        return list(shapes.items())

    @staticmethod
    def _padded_checks(
        on: bool, mine: list[checks.Check], branches: dict[bool, tuple[Any, ...]], counts: dict[bool, int]
    ) -> tuple[list[jax.Array], list[tuple[jax.Array, ...]]]:
        """(flags, shown values) of the checks of both branches, from those of the branch `on`: the others hold and show zeros."""
        flags, shown = [], []
        for side in (False, True):
            if side == on:
                flags += [jnp.asarray(c.ok) for c in mine]
                shown += [tuple(map(jnp.asarray, c.traced_values())) for c in mine]
            else:
                flags += [jnp.asarray(True)] * counts[side]
                shown += [tuple(jnp.zeros(s.shape, s.dtype) for s in values) for values in branches[side][2]]
        return flags, shown


def zeros_of(shapes: object) -> Any:
    """A pytree of zeros with the shapes and dtypes of a pytree of ShapeDtypeStructs or arrays."""
    return jax.tree.map(lambda s: jnp.zeros(s.shape, s.dtype), shapes)


def like(value: Any, shapes: Any) -> Any:
    """A branch's value as JAX arrays in the form of `shapes`: an empty TensorArray, or a flow that is a number, gets a buffer of zeros."""
    if isinstance(shapes, DeviceArray) and not isinstance(value, DeviceArray):
        return zeros_of(shapes)
    if isinstance(value, DeviceArray) and value.buffer is None and shapes.buffer is not None:
        value = value.with_element_shape(shapes.buffer.shape[1:])
    return jax.tree.map(jnp.asarray, value)
