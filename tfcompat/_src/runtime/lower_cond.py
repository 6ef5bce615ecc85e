"""Lowering of branches: a conditional becomes one `lax.cond`."""

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
from tfcompat._src.runtime.cond_item import CondItem
from tfcompat._src.runtime.item import OpItem
from tfcompat._src.runtime.lower import Frame, Replan, collecting, lower, truth
from tfcompat._src.runtime.variable_state import required_variable_op, variable_key


def _must_choose(item: CondItem, why: str) -> Replan:
    """What says that the branches cannot be in one program, so that the host must choose the one that runs."""
    return Replan(Finding(Kind.HOST_CHOOSES, item.predicate), f"{item.name}: {why}")


@lower.register
def _lower_cond(item: CondItem, frame: Frame) -> None:
    _Lowering(item).trace(frame)


class _Lowering:
    """A conditional that is being traced."""

    def __init__(self, item: CondItem) -> None:
        self.item = item
        self._shared = [i.op for i in item.shared if isinstance(i, OpItem)]

    def trace(self, frame: Frame) -> None:
        """Traces the conditional into `frame`: as one `lax.cond`, or one branch where the predicate is known."""
        item = self.item
        known = truth(item.predicate, frame.values[item.predicate])
        if not isinstance(known, jax.core.Tracer):
            self._trace_side(bool(known), frame)
            return
        written = list(dict.fromkeys(variable_key(v) for v in item.writes))
        run = {on: self._branch(on, frame, written) for on in (False, True)}
        found: dict[bool, tuple[Any, ...]] = {on: self._shapes(run[on]) for on in (False, True)}
        outputs = [(t, s) for t, s in self._output_shapes(found) if not isinstance(frame.values.get(t), np.ndarray)]
        for key, off, on in zip(written, found[False][3], found[True][3]):
            if off.shape != on.shape:
                raise _must_choose(self.item, f"the branches leave different shapes in {key}")
        all_checks = [c for on in (False, True) for c in found[on][1]]
        counts = {on: len(found[on][1]) for on in (False, True)}
        predicate = jnp.asarray(known)
        randoms = [op for op in item.operations if op.spec.effects.random]

        def branch(on: bool) -> Callable[..., Any]:
            def call(_: object) -> tuple[Any, ...]:
                values, branch_checks, state, moved = run[on](shapes_only=False)
                results = [like(values[t], s) if t in values else zeros_of(s) for t, s in outputs]
                flags, shown = self._padded_checks(on, branch_checks, found, counts)
                return results, flags, shown, state, [jnp.asarray(moved.get(op, 0), np.int64) for op in randoms]

            return call

        results, flags, shown, state, moved = jax.lax.cond(predicate, branch(True), branch(False), 0)
        for op, steps in zip(randoms, moved):
            frame.reserves[op] = frame.reserves.get(op, 0) + steps
        frame.values.update(zip([t for t, _ in outputs], results))
        frame.state.update(zip(written, state))
        for check, ok, values in zip(all_checks, flags, shown):
            merged = check.without_traced_values().merge_values(list(values))
            checks.add(checks.Check(ok, check.text, merged, check.op, check.error))

    def _trace_side(self, on: bool, frame: Frame) -> None:
        """Traces one branch; what the other would give to units of the same predicate is zeros of its shapes."""
        for op in self._shared:
            _pass_switch(op, on, frame)
        for inner in self.item.branches[on]:
            lower(inner, frame)
        for merge in self.item.merges:
            frame.values.update(self._merged(merge, on, frame))
        dead = [t for t in self.item.outputs if t not in frame.values]
        if dead:
            self._leave_dead(dead, not on, frame)

    def _leave_dead(self, dead: list[Tensor], off: bool, frame: Frame) -> None:
        """Gives what only the branch `off` makes zeros of its shapes, or where these cannot be known notes why."""
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
        """What a branch gives, as shapes. Inputs of a branch that is not taken can be such that it cannot be computed."""
        try:
            found: tuple[Any, ...] = branch(shapes_only=True)
            return found
        except (TypeError, ValueError, errors.OpError) as e:
            raise _must_choose(self.item, f"a branch cannot be computed: {e}") from e

    def _branch(self, on: bool, outer: Frame, written: list[str]) -> Callable[..., Any]:
        """A function that traces one branch: (values of outputs, checks, new state)."""

        def body() -> tuple[Any, ...]:
            frame = outer.branch()
            frame.values.update(dict.fromkeys(self.item.names, np.bool_(on)))
            with collecting() as found:
                for op in self._shared:
                    _pass_switch(op, on, frame)
                for inner in self.item.branches[on]:
                    lower(inner, frame)
            values = {t: frame.values[t] for t in self.item.outputs if t in frame.values and self.item.is_alive(t, on)}
            for merge in self.item.merges:
                values.update(self._merged(merge, on, frame))
            return values, found, [jnp.asarray(frame.state[k]) for k in written], frame.reserves

        def run(shapes_only: bool) -> tuple[Any, ...]:
            if not shapes_only:
                return body()
            kept: list[checks.Check] = []

            def abstract() -> tuple[Any, ...]:
                values, found, state, _ = body()
                kept.extend(found)
                shown = [tuple(map(jnp.asarray, c.traced_values())) for c in found]
                return {t: jax.tree.map(jnp.asarray, v) for t, v in values.items()}, shown, state

            tensors: list[Tensor] = []

            def listed() -> tuple[Any, ...]:
                values, shown, state = abstract()
                tensors.extend(values)
                return list(values.values()), shown, state

            shapes, shown, state = jax.eval_shape(listed)
            return dict(zip(tensors, shapes)), kept, shown, state

        return run

    def _merged(self, merge: Operation, on: bool, frame: Frame) -> dict[Tensor, Any]:
        """The outputs of a Merge in one branch: the input that is alive there, and its index."""
        for index, tensor in enumerate(merge.takes):
            if self.item.is_alive(tensor, on):
                value = frame.values.get(tensor)
                if value is None and tensor.dtype._is_ref_dtype:
                    value = frame.state[variable_key(required_variable_op(tensor))]
                return {merge.outputs[0]: value, merge.outputs[1]: np.int32(index)}
        raise RuntimeError(f"no input of {merge.name} is alive where {self.item.predicate.name} is {on}")

    def _output_shapes(self, found: dict[bool, tuple[Any, ...]]) -> list[tuple[Tensor, Any]]:
        shapes: dict[Tensor, Any] = {}
        for on in (False, True):
            for t, s in found[on][0].items():
                known = shapes.setdefault(t, s)
                if isinstance(s, DeviceArray) != isinstance(known, DeviceArray):
                    shapes[t] = s if isinstance(s, DeviceArray) else known
                    continue
                if isinstance(s, DeviceArray) and known.buffer is None:
                    known = shapes[t] = s
                if known.shape != s.shape and not (isinstance(s, DeviceArray) and s.buffer is None):
                    raise _must_choose(self.item, f"the branches give different shapes for {t.name}")
        return list(shapes.items())

    @staticmethod
    def _padded_checks(on: bool, mine: list[checks.Check], found: dict[bool, tuple[Any, ...]], counts: dict[bool, int]) -> tuple[list[jax.Array], list[tuple[jax.Array, ...]]]:
        """The checks of both branches: those of the branch not taken hold."""
        flags, shown = [], []
        for side in (False, True):
            if side == on:
                flags += [jnp.asarray(c.ok) for c in mine]
                shown += [tuple(map(jnp.asarray, c.traced_values())) for c in mine]
            else:
                flags += [jnp.asarray(True)] * counts[side]
                shown += [tuple(jnp.zeros(s.shape, s.dtype) for s in values) for values in found[side][2]]
        return flags, shown


def _pass_switch(op: Operation, on: bool, frame: Frame) -> None:
    """A Switch inside the branch of its own predicate: its input is the output on that side."""
    if op.takes[0] in frame.values:
        frame.values[op.outputs[int(on)]] = frame.values[op.takes[0]]


def zeros_of(shapes: object) -> Any:
    """Zeros where `shapes` says shapes and dtypes."""
    return jax.tree.map(lambda s: jnp.zeros(s.shape, s.dtype), shapes)


def like(value: Any, shapes: Any) -> Any:
    """A value of a branch as arrays; a TensorArray without elements, or the number that stands for it, gets the elements that the other
    branch has.
    """
    if isinstance(shapes, DeviceArray) and not isinstance(value, DeviceArray):
        return zeros_of(shapes)
    if isinstance(value, DeviceArray) and value.buffer is None and shapes.buffer is not None:
        value = value.with_element_shape(shapes.buffer.shape[1:])
    return jax.tree.map(jnp.asarray, value)
