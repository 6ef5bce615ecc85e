"""Stage 6 for branches: a conditional unit becomes one `lax.cond`."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Container, Iterable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from tfcompat._src.framework import checks, errors
from tfcompat._src.framework.op_spec import DEVICE, PURE
from tfcompat._src.framework.operation import Operation
from tfcompat._src.framework.signature import Signature
from tfcompat._src.framework.tensor import Tensor
from tfcompat._src.ops.flow.array_value import DeviceArray
from tfcompat._src.runtime.lower import Frame, Replan, collecting, run_device_op, truth
from tfcompat._src.runtime.variable_state import accesses, variable_key, variable_op


class UnitSpec:
    """What the partitioner asks of an op record, for a unit."""

    place, effects, numpy_kernel, shape_only_positions, counted_positions = DEVICE, PURE, None, frozenset(), ()
    signature = Signature((), (), {}, frozenset(), (), {})


CHOSEN_BY_HOST: weakref.WeakSet[Tensor] = weakref.WeakSet()
"""Predicates whose branches cannot be in one program."""


class HostMustChoose(Replan):
    """The branches of a conditional cannot be in one program, so the host must choose the one that runs."""

    def __init__(self, unit: CondUnit, why: str) -> None:
        super().__init__(f"{unit.name}: {why}")
        self._predicate = unit.predicate

    def adapt(self, session: Any) -> bool:
        """Lets plans made from now on run the conditional from the host."""
        is_new = self._predicate not in CHOSEN_BY_HOST
        CHOSEN_BY_HOST.add(self._predicate)
        return is_new


class CondUnit:
    """The operations of both branches of a predicate, with the Merge operations that join them."""

    type = "cond"
    spec = UnitSpec

    def __init__(self, predicate: Tensor) -> None:
        self.predicate = predicate
        self.name = f"cond on {predicate.name}"
        self._members: dict[bool, list[Operation]] = {False: [], True: []}
        self._shared: list[Operation] = []
        self.merges: list[Operation] = []
        self.plans: dict[bool, Any] = {}

    def add(self, op: Operation, guards: dict[Any, Any]) -> None:
        """Files an operation under its branch; Switches on the predicate itself stand before both."""
        if (self.predicate, True) in guards[op]:
            self._members[True].append(op)
        elif (self.predicate, False) in guards[op]:
            self._members[False].append(op)
        elif op.type in ("Merge", "RefMerge"):
            self.merges.append(op)
        else:
            self._shared.append(op)

    def finish(self, grouping: Any, base: Any) -> None:
        """Computes inputs and outputs, and groups nested units, when all members are there."""
        self.branches = {
            on: grouping.group(members, base | {(self.predicate, on)}) for on, members in self._members.items()
        }
        self._guards = grouping.guards
        members = self.operations()
        self._id = max(op._id for op in members)
        mine = set(members)
        predicate_of = grouping.predicate_of
        self._names = {self.predicate, *(op.inputs[1] for op in members if predicate_of.get(op) is self.predicate)}
        inside = {t for op in members for t in op._outputs}
        nested = [item.predicate for on in self.branches for item in self.branches[on] if isinstance(item, CondUnit)]
        used = [t for t in (*(t for op in members for t in op._inputs), *nested) if t not in inside]
        self._inputs = list(dict.fromkeys([self.predicate, *used]))
        self._outputs = [t for op in members for t in op._outputs if grouping.is_used_outside(t, mine)]
        self._control_inputs = list(dict.fromkeys(c for op in members for c in op._control_inputs if c not in mine))
        wanted = {op._inputs[p] for op in members for p in op.constant_positions()}
        self._constants = frozenset(i for i, t in enumerate(self._inputs) if t in wanted)

    def constant_positions(self) -> frozenset[int]:
        """The positions of the inputs that some kernel inside needs as NumPy values."""
        return self._constants

    def operations(self) -> list[Operation]:
        return [*self._shared, *self._members[False], *self._members[True], *self.merges]

    def accesses(self, fed: Container[Tensor] = ()) -> tuple[list[Operation], list[Operation]]:
        """The variables that either branch reads and writes; a written one is also read, since the other branch keeps it."""
        reads, writes = [], []
        for op in self.operations():
            r, w = accesses(op, fed)
            reads += r
            writes += w
        return reads + writes, writes

    # ---- tracing ----

    def on_side(self, on: bool) -> list[Any]:
        """The items of one branch, after the Switches on the predicate itself."""
        return [*self._shared, *self.branches[on]]

    def results(self, on: bool, values: dict[Tensor, Any]) -> dict[Tensor, Any]:
        """What the unit gives out where one branch has run and left `values`."""
        found = {t: values[t] for t in self._outputs if t in values and self.is_alive(t, on)}
        for merge in self.merges:
            for index, tensor in enumerate(merge.inputs):
                if self.is_alive(tensor, on) and tensor in values:
                    found.update({merge.outputs[0]: values[tensor], merge.outputs[1]: np.array(index, np.int32)})
        return found

    def joined(self, on: bool) -> list[Tensor]:
        """The tensors of one branch that go out, by themselves or through a Merge."""
        found = [t for t in self._outputs if self.is_alive(t, on) and t.op not in self.merges]
        return found + [t for m in self.merges for t in m.inputs if self.is_alive(t, on)]

    def is_guarded(self, tensor: Tensor) -> bool:
        """Whether a tensor that goes out has a value only where its branch was taken."""
        return any(p is self.predicate for p, _ in self._guards[tensor])

    def is_alive(self, tensor: Tensor, on: bool) -> bool:
        return (self.predicate, not on) not in self._guards[tensor]

    def trace(self, frame: Frame) -> None:
        """Traces the unit into `frame`: as one `lax.cond`, or one branch where the predicate is known."""
        known = truth(self.predicate, frame.values[self.predicate])
        if not isinstance(known, jax.core.Tracer):
            self._trace_side(bool(known), frame)
            return
        written = list(dict.fromkeys(variable_key(v) for v in self.accesses()[1]))
        run = {on: self._branch(on, frame, written) for on in (False, True)}
        found: dict[bool, tuple] = {on: self._shapes(run[on]) for on in (False, True)}
        outputs = [(t, s) for t, s in self._output_shapes(found) if not isinstance(frame.values.get(t), np.ndarray)]
        for key, off, on in zip(written, found[False][3], found[True][3]):
            if off.shape != on.shape:
                raise HostMustChoose(self, f"the branches leave different shapes in {key}")
        all_checks = [c for on in (False, True) for c in found[on][1]]
        counts = {on: len(found[on][1]) for on in (False, True)}
        predicate = jnp.asarray(known)
        randoms = [op for op in leaf_operations(self) if op.spec.effects.random]

        def branch(on: bool) -> Callable:
            def call(_: Any) -> tuple:
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
            checks.COLLECTOR.checks.append(checks.Check(ok, check.text, merged, check.op, check.error))

    def _trace_side(self, on: bool, frame: Frame) -> None:
        """Traces one branch; what the other would give to units of the same predicate is zeros of its shapes."""
        for op in self._shared:
            _pass_switch(op, on, frame)
        for item in self.branches[on]:
            run_item(item, frame)
        for merge in self.merges:
            frame.values.update(self._merged(merge, on, frame))
        dead = [t for t in self._outputs if t not in frame.values]
        if dead:
            shapes = self._shapes(self._branch(not on, frame, []))[0]
            frame.values.update({t: zeros_of(shapes[t]) for t in dead if t in shapes})

    def _shapes(self, branch: Callable) -> tuple:
        """What a branch gives, as shapes. Inputs of a branch that is not taken can be such that it cannot be computed."""
        try:
            return branch(shapes_only=True)
        except (TypeError, ValueError, errors.OpError) as e:
            raise HostMustChoose(self, f"a branch cannot be computed: {e}") from e

    def _branch(self, on: bool, outer: Frame, written: list[str]) -> Callable:
        """A function that traces one branch: (values of outputs, checks, new state)."""

        def body() -> tuple:
            frame = outer.branch()
            frame.values.update(dict.fromkeys(self._names, np.bool_(on)))
            with collecting() as found:
                for op in self._shared:
                    _pass_switch(op, on, frame)
                for item in self.branches[on]:
                    run_item(item, frame)
            values = {t: frame.values[t] for t in self._outputs if t in frame.values and self.is_alive(t, on)}
            for merge in self.merges:
                values.update(self._merged(merge, on, frame))
            return values, found, [jnp.asarray(frame.state[k]) for k in written], frame.reserves

        def run(shapes_only: bool) -> tuple:
            if not shapes_only:
                return body()
            kept: list[checks.Check] = []

            def abstract() -> tuple:
                values, found, state, _ = body()
                kept.extend(found)
                shown = [tuple(map(jnp.asarray, c.traced_values())) for c in found]
                return {t: jax.tree.map(jnp.asarray, v) for t, v in values.items()}, shown, state

            tensors: list[Tensor] = []

            def listed() -> tuple:
                values, shown, state = abstract()
                tensors.extend(values)
                return list(values.values()), shown, state

            shapes, shown, state = jax.eval_shape(listed)
            return dict(zip(tensors, shapes)), kept, shown, state

        return run

    def _merged(self, merge: Operation, on: bool, frame: Frame) -> dict[Tensor, Any]:
        """The outputs of a Merge in one branch: the input that is alive there, and its index."""
        for index, tensor in enumerate(merge.inputs):
            if self.is_alive(tensor, on):
                value = frame.values.get(tensor)
                if value is None and tensor._dtype._is_ref_dtype:
                    value = frame.state[variable_key(variable_op(tensor))]
                return {merge.outputs[0]: value, merge.outputs[1]: np.int32(index)}
        raise RuntimeError(f"no input of {merge.name} is alive where {self.predicate.name} is {on}")

    def _output_shapes(self, found: dict[bool, tuple]) -> list[tuple[Tensor, Any]]:
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
                    raise HostMustChoose(self, f"the branches give different shapes for {t.name}")
        return list(shapes.items())

    @staticmethod
    def _padded_checks(on: bool, mine: list[checks.Check], found: dict[bool, tuple], counts: dict[bool, int]) -> tuple[list, list]:
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


def run_item(item: Any, frame: Frame) -> None:
    """Traces one item: an operation, or a unit of them."""
    if isinstance(item, Operation):
        run_device_op(item, frame)
    else:
        item.trace(frame)


def _pass_switch(op: Operation, on: bool, frame: Frame) -> None:
    """A Switch inside the branch of its own predicate: its input is the output on that side."""
    if op.inputs[0] in frame.values:
        frame.values[op.outputs[int(on)]] = frame.values[op.inputs[0]]


def zeros_of(shapes: Any) -> Any:
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


def leaf_operations(item: Any) -> Iterable[Operation]:
    """The operations of an item, also of units inside units."""
    if isinstance(item, Operation):
        return (item,)
    return [leaf for inner in item.operations() for leaf in leaf_operations(inner)]
