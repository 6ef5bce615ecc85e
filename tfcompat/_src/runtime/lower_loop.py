"""Stage 6 for loops: a loop becomes one `lax.while_loop`, with a derivative where its gradient is wanted."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from tfcompat._src.framework import checks, errors
from tfcompat._src.framework.operation import Operation
from tfcompat._src.framework.tensor import Tensor
from tfcompat._src.ops.control.loop_topology import Variable
from tfcompat._src.ops.flow.array_value import COUNTERS, ArrayHandle, DeviceArray
from tfcompat._src.runtime.differentiable_loop import bounded_scan, bounded_while
from tfcompat._src.runtime.loop_unit import CANCELLED, CHANGES_SHAPE, SHORT, LoopGradientItem, LoopItem, behind_identity
from tfcompat._src.runtime.lower import STOPPING, Frame, Replan, collecting, truth
from tfcompat._src.runtime.lower_control import run_item, zeros_of
from tfcompat._src.runtime.variable_state import variable_key, variable_op


class ShapeChange(Replan):
    """A loop variable changes its shape in the body, so the loop must be driven from the host."""

    def __init__(self, unit: LoopUnit, tensor: Tensor) -> None:
        super().__init__(f"{tensor.name} changes its shape in {unit.name}")
        self._condition = unit.condition

    def adapt(self, session: Any) -> bool:
        """Lets plans made from now on run the loop from the host."""
        is_new = self._condition not in CHANGES_SHAPE
        CHANGES_SHAPE.add(self._condition)
        return is_new


class LoopGradientUnit(LoopGradientItem):
    """The gradient of a loop that can be traced."""

    def trace(self, frame: Frame) -> None:
        """Traces the gradient, with the loop again where that stands in another program."""
        op, unit = self.op, self.unit
        pullback = frame.pullbacks.get(unit)
        if pullback is None:
            pullback = _repeated(op, unit, frame)
        found = pullback(dict(zip(op.input_named("exits"), (frame.values[t] for t in op.input_named("grads")))))
        for tensor, output in zip(_wanted(op), op._outputs):
            frame.values[output] = _as_gradient(found[tensor], frame.values.get(tensor))


    def run_backwards(self, values: dict[Any, Any]) -> None:
        """Runs the gradient of a loop that was driven from the host, iteration by iteration, on the values it noted."""
        op, unit = self.op, self.unit
        if unit.tape not in values:
            raise NotImplementedError(f"the gradient of {unit.name}, which was run in a branch of its own")
        hidden = next((o for o in unit.operations() if o.spec.effects.external), None)
        if hidden is not None:
            raise NotImplementedError(f"the gradient of {unit.name} through {hidden.name} (op type {hidden.type}), which runs on the host")
        variables = [v for v in unit.variables if v.following._dtype.is_floating or v.following._dtype.is_complex]
        captured = [t for t in _wanted(op) if t in values and any(e._inputs[0] is t for e in unit.constants)]
        given = dict(zip((t.op for t in op.input_named("exits")), (_cotangent(values[t]) for t in op.input_named("grads"))))
        by_enter = {unit.entering(e): given[e] for e in unit.exits if e in given}
        flows = [by_enter.get(v.enter) for v in variables]
        sums: list[Any] = [0] * len(captured)
        for noted in reversed(values[unit.tape]):
            flows, found = self._one_back(variables, captured, noted, flows)
            sums = [s if g is None else s + g for s, g in zip(sums, found)]
        total = {t: g for t, g in zip(captured, sums) if not isinstance(g, int)}
        for v, flow in zip(variables, flows):
            if flow is not None:
                source = v.enter._inputs[0]
                total[source] = total[source] + flow if source in total else flow
        for enter in unit.constants:
            if enter in by_enter:
                source = enter._inputs[0]
                total[source] = total[source] + by_enter[enter] if source in total else by_enter[enter]
        for tensor, output in zip(_wanted(op), op._outputs):
            grad = total.get(tensor)
            values[output] = _as_gradient(jnp.zeros_like(_leaf(values[tensor])) if grad is None else grad, values[tensor])

    def _one_back(self, variables: list[Any], captured: list[Tensor], entry: tuple[dict, dict], flows: list[Any]) -> tuple[list, list]:
        """The gradients before one iteration, of its variables and of what the loop captured, from those after it.

        `entry` has the values that the iteration started with, and the rows of its random operations.
        """
        unit, (noted, rows) = self.unit, entry
        inside = [[e._outputs[0] for e in unit.constants if e._inputs[0] is t] for t in captured]
        names = [unit.names_inside(v) for v in variables] + [n + [a for a, e in unit.aliases.items() if e._outputs[0] in n] for n in inside]

        def run(primals: list) -> list:
            frame = Frame({**unit.known, **numbers}, {}, rows, differentiated=1)
            for group, value, before in zip(names, primals, given):
                frame.values.update(dict.fromkeys(group, _refilled(before, value)))
            with collecting():
                for item in (*(unit.cond_items if unit.shared else ()), *unit.body_items):
                    run_item(item, frame)
            return [_leaf(frame.values[v.following]) for v in variables]

        numbers = {t: np.asarray(v) if isinstance(v, jax.Array) else v for t, v in noted.items()}
        given = [next(noted[n] for n in group if n in noted) for group in names]
        after, pull = jax.vjp(run, list(map(_leaf, given)))
        (found,) = pull([jnp.zeros(a.shape, a.dtype) if g is None else jnp.conj(_with_room(g, a)) for a, g in zip(after, flows)])
        found = [jnp.conj(g) for g in found]
        return found[: len(variables)], found[len(variables) :]


class LoopSecondDerivative(LoopGradientItem):
    """The gradient of the gradient of a loop."""

    def trace(self, frame: Frame) -> None:
        """Traces the loop again, and two derivatives of it."""
        op, unit = self.op, self.unit
        wanted, captured = _wanted(op), op.input_named("captured")
        varied = [captured[i] for i in op._attrs["varied"]]
        grads = [frame.values[t] for t in op.input_named("grads")]
        outer = [_cotangent(frame.values[t]) for t in op.input_named("grads2")]

        def first(leaves: list, cotangents: list) -> list:
            inner = Frame(dict(frame.values), dict(frame.state), frame.rng, differentiated=1)
            for tensor, value in zip(varied, leaves):
                _substitute(tensor, value, inner)
            given = {t: _refilled(g, c) for t, g, c in zip(op.input_named("exits"), grads, cotangents)}
            found = _repeated(op, unit, inner)(given)
            return [_leaf(found[t]) for t in wanted]

        primals = [_primal(t, frame) for t in varied]
        with collecting():
            results, pull = jax.vjp(first, primals, [jnp.asarray(_cotangent(g)) for g in grads])
        found = pull([jnp.conj(jnp.asarray(g, r.dtype)) for g, r in zip(outer, results)])
        for output, value, source in zip(op._outputs, [*found[0], *found[1]], [*[frame.values.get(t) for t in varied], *grads]):
            frame.values[output] = _as_gradient(jnp.conj(value), source)

    def run_backwards(self, values: dict[Any, Any]) -> None:
        raise NotImplementedError(f"the second derivative of {self.unit.name}, which is driven from the host")


class LoopUnit(LoopItem):
    """A loop that can be traced."""

    gradient_types = {"LoopGradient": LoopGradientUnit, "LoopGradientGradient": LoopSecondDerivative}

    def trace(self, frame: Frame) -> None:
        """Traces the loop into `frame`; where its gradient follows in the same program, with what that needs."""
        if self.has_pullback:
            wanted = list(dict.fromkeys(t for g in self.gradients if isinstance(g, LoopGradientUnit) for t in _wanted(g.op)))
            frame.pullbacks[self] = _Pullback(self, wanted, frame)
        else:
            _Lowering(self, frame).run()


class _Lowering:
    """One loop being traced in one frame."""

    flag: Any = None
    """The array of a StopFlag that it looks at."""

    def __init__(self, unit: LoopUnit, frame: Frame) -> None:
        self.unit, self.frame = unit, frame
        self.randoms = [op for op in unit.operations() if op.spec.effects.random]
        self.written = list(dict.fromkeys(variable_key(v) for v in unit.accesses()[1]))
        self.outer = {**unit.known, **self._constants()}
        self.spans = [self._span(v) for v in unit.variables]
        self.changing_reads = {t: variable_key(v) for t, v in unit.changing_reads().items()}
        self.inner_counts = [u for u in _descendants(unit)] if frame.counts is not None or unit.records else []
        self.checks: list[checks.Check] = []

    def _constants(self) -> dict[Tensor, Any]:
        values = self.frame.values
        found = {op._outputs[0]: values[op._inputs[0]] for op in self.unit.constants if op._inputs[0] in values}
        found.update({t: found[op._outputs[0]] for t, op in self.unit.aliases.items() if op._outputs[0] in found})
        return {**found, **{t: v for t, v in self.unit.known.items() if t in found and not isinstance(found[t], jax.core.Tracer)}}

    def _span(self, variable: Variable) -> range | None:
        """The numbers that a counter can be in the body, where its start and a bound of the number of iterations are known."""
        start, step = self.frame.values.get(variable.enter._inputs[0]), self.unit.step(variable)
        limit = self.unit.bound(self.frame.values.get)[0]
        if step is None or not limit or not isinstance(start, (np.ndarray, np.generic)) or start.ndim:
            return None
        return range(int(start), int(start) + limit * step, step)

    def _written_in_turn(self, variable: Variable, entering: Any) -> range | None:
        """Where the iterations write in a TensorArray that is a loop variable, when each writes one element at a counter."""
        write = behind_identity(variable.following).op
        if write.type != "TensorArrayWriteV3" or not isinstance(entering, DeviceArray) or not entering.is_unwritten or entering.meta.source:
            return None
        if behind_identity(write._inputs[3]) not in self.unit.names_inside(variable):
            return None
        index = behind_identity(write._inputs[1])
        return next((s for v, s in zip(self.unit.variables, self.spans) if s is not None and index in self.unit.names_inside(v)), None)

    # ---- one iteration ----

    def _inside(self, carry: dict) -> Frame:
        """The frame of one iteration."""
        unit, frame = self.unit, self.frame
        values = dict(self.outer)
        for v, value in zip(unit.variables, carry["variables"]):
            values.update(dict.fromkeys(unit.names_inside(v), value))
        values.update(zip(unit.shared, carry.get("shared", ())))
        state = {**frame.state, **dict(zip(self.written, carry["state"]))}
        values.update({t: state[key] for t, key in self.changing_reads.items()})
        rng = {**frame.rng, **dict(zip(self.randoms, carry["rows"]))}
        counts = {} if self.inner_counts else None
        return Frame(values, state, rng, {}, frame.differentiated, frame.lengths, counts)

    def _condition(self, carry: dict) -> Any:
        inner = self._inside(carry)
        for item in self.unit.cond_items:
            run_item(item, inner)
        predicate = self.unit.condition._inputs[0]
        return inner, truth(predicate, inner.values[predicate])

    def _body(self, carry: dict) -> dict:
        """The state after one more iteration; `carry["pred"]`, where it is there, is computed for the next one."""
        unit = self.unit
        COUNTERS.spans.update((id(value), (value, span)) for value, span in zip(carry["variables"], self.spans) if span is not None)
        with collecting() as found:
            inner = self._inside(carry)
            if unit.shared and "shared" not in carry:
                for item in unit.cond_items:
                    run_item(item, inner)
            for item in unit.body_items:
                run_item(item, inner)
            after = self._after(carry, inner, [inner.values[v.following] for v in unit.variables])
            if "pred" in carry:
                inner, after["pred"] = self._condition(after)
                after = {**self._after(after, inner, after["variables"]), "pred": jnp.asarray(after["pred"]), "total": after["total"]}
                if unit.shared:
                    after["shared"] = [jnp.asarray(inner.values[t]) for t in unit.shared]
        self.checks = list(found)
        flags, shown = carry["checks"] if "checks" in carry else (None, None)
        after["checks"] = self._merged_checks(found, flags, shown)
        return after

    def _after(self, carry: dict, inner: Frame, variables: list[Any]) -> dict:
        rows = [_advanced(inner.rng[op], inner.reserves.get(op)) for op in self.randoms]
        moved = [m + _as_count(inner.reserves.get(op)) for op, m in zip(self.randoms, carry["moved"])]
        counts = [jnp.maximum(c, inner.counts.get(u, 0)) for u, c in zip(self.inner_counts, carry["counts"])]
        return {
            "variables": [_as_carried(v) for v in variables], "state": [jnp.asarray(inner.state[k]) for k in self.written],
            "rows": rows, "moved": moved, "counts": counts, "total": carry["total"] + np.int32(1),
        }  # fmt: skip

    @staticmethod
    def _merged_checks(found: list[checks.Check], flags: Any, shown: Any) -> tuple:
        """For each check whether it has held so far, and the values of its first failure."""
        ok = [jnp.asarray(c.ok) for c in found]
        values = [tuple(map(jnp.asarray, c.traced_values())) for c in found]
        if flags is None:
            return ok, values
        kept = [jax.tree.map(lambda new, old, f=f: jax.lax.select(jnp.broadcast_to(f, new.shape), new, old), v, s) for f, v, s in zip(flags, values, shown)]
        return [jnp.logical_and(f, o) for f, o in zip(flags, ok)], kept

    # ---- the whole loop ----

    def _start(self) -> dict:
        unit, frame = self.unit, self.frame
        limit = unit.bound(frame.values.get)[0]
        entering = [frame.values[v.enter._inputs[0]] for v in unit.variables]
        entering = [v.with_room_for(limit) if isinstance(v, DeviceArray) else v for v in entering]
        self.turns = [self._written_in_turn(v, value) for v, value in zip(unit.variables, entering)]
        entering = [value if span is None else value.in_turn() for value, span in zip(entering, self.turns)]
        return {
            "variables": [_as_carried(v) for v in entering],
            "state": [jnp.asarray(frame.state[k]) for k in self.written],
            "rows": [jnp.asarray(frame.rng[op]) for op in self.randoms],
            "moved": [jnp.zeros((), np.int64) for _ in self.randoms],
            "counts": [jnp.zeros((), np.int32) for _ in self.inner_counts],
            "total": jnp.zeros((), np.int32),
        }  # fmt: skip

    def run(self) -> None:
        """Traces the loop and files what comes out of it."""
        if self.unit.condition is None:
            self._run_once()
            return
        carry = self._start()
        if self.unit.bound(self.frame.values.get) == (0, True):
            self._finish(carry)
            return
        pure = not (self.randoms or self.written or self.inner_counts) or not self.unit.cond_items or self._is_cond_pure()
        if not pure:
            carry = self._with_first_condition(carry)
        outer = dict(COUNTERS.spans)
        try:
            body, carry = self._traced_body(carry)
        finally:
            COUNTERS.spans = outer
        self._finish(self._loop(body, carry))

    def _run_once(self) -> None:
        """Runs a frame without condition: its values go in, through its operations, and out."""
        inner = self._inside(self._start())
        for item in self.unit.body_items:
            run_item(item, inner)
        self.frame.state.update(inner.state)
        self.frame.reserves.update(inner.reserves)
        left = {e._outputs[0]: e._inputs[0] for e in self.unit.exits}
        self.frame.values.update({
            out: inner.state[variable_key(variable_op(t))] if t._dtype._is_ref_dtype and t not in inner.values else inner.values[t]
            for out, t in left.items()
        })  # fmt: skip

    def _is_cond_pure(self) -> bool:
        effects = [i.spec.effects for i in self.unit.cond_items]
        plain = all(isinstance(i, Operation) for i in self.unit.cond_items)
        return plain and not any(e.random or e.writes for e in effects)

    def _with_first_condition(self, carry: dict) -> dict:
        inner, pred = self._condition(carry)
        after = self._after(carry, inner, carry["variables"])
        return {**after, "pred": jnp.asarray(pred), "shared": [jnp.asarray(inner.values[t]) for t in self.unit.shared], "total": carry["total"]}

    def _traced_body(self, carry: dict) -> tuple[Callable, dict]:
        """The body as a function of a carry whose structure and shapes it keeps, traced once; and that carry."""
        for _ in range(4):
            closed, out = jax.make_jaxpr(self._body, return_shape=True)(carry)
            if "checks" not in carry and out["checks"][0]:
                ok, shown = out["checks"]
                zeros = [jax.tree.map(lambda s: jnp.zeros(s.shape, s.dtype), v) for v in shown]
                carry = {**carry, "checks": ([jnp.asarray(True) for _ in ok], zeros)}
                continue
            changed = self._with_arrays_shaped(carry, out)
            if changed is None:
                break
            carry = changed
        if not out["checks"][0]:
            out.pop("checks")
        self._require_same_shapes(carry, out)
        structure = jax.tree.structure(carry)

        def body(c: dict) -> dict:
            flat = jax.core.eval_jaxpr(closed.jaxpr, closed.consts, *jax.tree.leaves(c))
            return jax.tree.unflatten(structure, flat)

        return body, carry

    @staticmethod
    def _with_arrays_shaped(carry: dict, out: dict) -> dict | None:
        """The carry with buffers for the TensorArrays whose element shape the body has shown, and arrays where it has shown that a number
        stands for one; None where there are none of either.
        """
        variables, changed = [], False
        for before, after in zip(carry["variables"], out["variables"]):
            if isinstance(after, DeviceArray) and not isinstance(before, DeviceArray):
                before, changed = zeros_of(after), True
            elif isinstance(before, DeviceArray) and isinstance(after, DeviceArray) and before.buffer is None and after.buffer is not None:
                before, changed = before.with_element_shape(after.buffer.shape[1:]), True
            variables.append(before)
        return {**carry, "variables": variables} if changed else None

    def _require_same_shapes(self, carry: dict, out: dict) -> None:
        for v, before, after in zip(self.unit.variables, carry["variables"], out["variables"]):
            shapes = [[(x.shape, x.dtype) for x in jax.tree.leaves(side)] for side in (before, after)]
            if shapes[0] != shapes[1]:
                raise ShapeChange(self.unit, v.merge._outputs[0])

    def _loop(self, body: Callable, carry: dict) -> dict:
        limit, exact = self.unit.bound(self.frame.values.get)
        if not self.frame.differentiated:
            self.flag = None if limit is not None and limit <= SHORT else STOPPING.flag
            STOPPING.is_used |= self.flag is not None
            return jax.lax.while_loop(self._test, body, carry)
        if limit is None:
            limit, exact = self.frame.lengths.get(self.unit), False
        if limit is None:
            raise NotImplementedError(f"the gradient of {self.unit.name}: how often it runs is not known before it runs")
        bounded = bounded_while if self.frame.differentiated == 1 else bounded_scan
        return bounded(None if exact else self._test, body, carry, limit)

    def _test(self, carry: dict) -> Any:
        """Whether the loop goes on: its condition holds, and no check in it has failed."""
        flags = carry["checks"][0] if "checks" in carry else []
        if "pred" in carry:
            pred, found = carry["pred"], []
        else:
            with collecting() as found:
                _, pred = self._condition(carry)
        going_on = [] if self.flag is None else [_not_stopped(self.flag, carry["total"])]
        for ok in (*flags, *[check.ok for check in found], *going_on):
            pred = jnp.logical_and(pred, ok)
        return jnp.asarray(pred)

    def _finish(self, final: dict) -> None:
        unit, frame = self.unit, self.frame
        values = {
            v.enter: value if span is None else value.after_turns(span, final["total"])
            for v, value, span in zip(unit.variables, final["variables"], self.turns)
        }
        for exit in unit.exits:
            source = unit.entering(exit)
            value = values.get(source)
            if value is None and source._inputs[0] in frame.values:
                value = frame.values[source._inputs[0]]
            elif value is None and frame.differentiated and source._inputs[0]._dtype._is_ref_dtype:
                value = _primal(source._inputs[0], frame)
            if value is not None:
                frame.values[exit._outputs[0]] = value
        frame.state.update(zip(self.written, final["state"]))
        for op, moved in zip(self.randoms, final["moved"]):
            frame.reserves[op] = frame.reserves.get(op, 0) + moved
        for check, ok, shown in zip(self.checks, *final.get("checks", ((), ()))):
            merged = check.without_traced_values().merge_values(list(shown))
            checks.COLLECTOR.checks.append(checks.Check(ok, check.text, merged, check.op, check.error))
        if self.flag is not None:
            ok = _not_stopped(self.flag, final["total"])
            checks.COLLECTOR.checks.append(checks.Check(ok, CANCELLED, (), unit.condition, errors.CancelledError))
        if frame.counts is not None:
            frame.counts[unit] = jnp.maximum(frame.counts.get(unit, 0), final["total"])
            for inner, count in zip(self.inner_counts, final["counts"]):
                frame.counts[inner] = jnp.maximum(frame.counts.get(inner, 0), count)
        for record in unit.records:
            frame.values[record._outputs[0]] = _padded(jnp.stack([final["total"], *final["counts"]]))
            rows = [jnp.asarray(frame.rng[op]) for op in self.randoms]
            frame.values[record._outputs[1]] = jnp.stack(rows) if rows else jnp.zeros((0, 6), np.uint32)


def _not_stopped(flag: Any, total: Any) -> Any:
    """Whether the memory of a StopFlag is as at first. The compiler is to read it anew: which element, depends on the iteration."""
    element = jax.lax.shift_right_logical(total, np.int32(31))
    return jax.lax.dynamic_index_in_dim(flag, element, keepdims=False) == 0


class _Pullback:
    """A traced loop with the function that takes gradients of what comes out to gradients of what went in."""

    def __init__(self, unit: LoopUnit, wanted: list[Tensor], frame: Frame) -> None:
        self.wanted = wanted
        primals = [_primal(t, frame) for t in wanted]
        results: dict[str, Any] = {}

        def run(leaves: list) -> tuple:
            times = frame.differentiated + 1
            inner = Frame(dict(frame.values), dict(frame.state), frame.rng, dict(frame.reserves), times, frame.lengths, frame.counts)
            for tensor, value in zip(wanted, leaves):
                _substitute(tensor, value, inner)
            before = set(inner.values)
            with collecting() as found:
                _Lowering(unit, inner).run()
            made = {t: v for t, v in inner.values.items() if t not in before}
            results["checks"] = found
            results["tensors"] = list(made)
            state = {k: v for k, v in inner.state.items() if v is not frame.state.get(k)}
            shown = [(jnp.asarray(c.ok), tuple(map(jnp.asarray, c.traced_values()))) for c in found]
            reserves = {op: v for op, v in inner.reserves.items() if v is not frame.reserves.get(op)}
            results["moved"] = list(reserves)
            outputs = [made[e._outputs[0]] for e in unit.exits if e._outputs[0] in made]
            return [_inexact(v) for v in outputs], (list(made.values()), state, shown, list(reserves.values()))

        outputs, self._pull, (values, state, shown, moved) = jax.vjp(run, primals, has_aux=True)
        frame.values.update(zip(results["tensors"], values))
        frame.state.update(state)
        frame.reserves.update(zip(results["moved"], moved))
        for check, (ok, given) in zip(results["checks"], shown):
            merged = check.without_traced_values().merge_values(list(given))
            checks.COLLECTOR.checks.append(checks.Check(ok, check.text, merged, check.op, check.error))
        self._exits = [e._outputs[0] for e in unit.exits if e._outputs[0] in frame.values]
        self._outputs = outputs

    def __call__(self, grads: dict[Tensor, Any]) -> dict[Tensor, Any]:
        """Gradients of the wanted tensors from gradients of the exits."""
        cotangents = []
        for tensor, leaves in zip(self._exits, self._outputs):
            grad = _cotangent(grads.get(tensor))
            cotangents.append([jnp.zeros(x.shape, x.dtype) if grad is None else jnp.conj(_with_room(jnp.asarray(grad, x.dtype), x)) for x in leaves])
        (found,) = self._pull(cotangents)
        return {t: jax.tree.map(jnp.conj, g) for t, g in zip(self.wanted, found)}


def _repeated(op: Operation, unit: LoopUnit, frame: Frame) -> _Pullback:
    values = {t: v for t, v in frame.values.items() if t not in unit._outputs}
    inner = Frame(values, dict(frame.state), dict(frame.rng), {}, frame.differentiated)
    steps = frame.values.get(op.input_named("steps"))
    if unit.must_count and isinstance(steps, np.ndarray):
        inner.lengths = dict(zip([unit, *_descendants(unit)], steps.tolist()))
    randoms = [o for o in unit.operations() if o.spec.effects.random]
    if randoms:
        rows = frame.values[op.input_named("counters")]
        inner.rng.update({o: rows[i] for i, o in enumerate(randoms)})
    with collecting():
        return _Pullback(unit, _wanted(op), inner)


def _wanted(op: Operation) -> list[Tensor]:
    captured = op.input_named("captured")
    return [captured[i] for i in op._attrs["wanted"]]


def _descendants(unit: LoopUnit) -> list[LoopUnit]:
    return [u for child in unit.loops for u in (child, *_descendants(child))]


def _primal(tensor: Tensor, frame: Frame) -> Any:
    """The differentiable part of a tensor's value: the buffer of a TensorArray, the value of a variable."""
    if tensor not in frame.values:
        return jnp.asarray(frame.state[variable_key(variable_op(tensor))])
    return _leaf(frame.values[tensor])


def _leaf(value: Any) -> Any:
    """The array in a value."""
    if isinstance(value, DeviceArray):
        return jnp.zeros(0, value.meta.dtype) if value.buffer is None else jnp.asarray(value.buffer)
    return jnp.asarray(value)


def _refilled(value: Any, leaf: Any) -> Any:
    """A value with another array in it."""
    if isinstance(value, DeviceArray):
        return value if value.buffer is None else DeviceArray(value.meta, leaf, value.written, value.length)
    return leaf


def _cotangent(grad: Any) -> Any:
    """The array in a gradient, or None where a flow carries none."""
    if isinstance(grad, DeviceArray):
        return grad.buffer if grad.meta.source else None
    return grad


def _with_room(grad: Any, like: Any) -> Any:
    """A gradient with zeros for the elements that a growing TensorArray has room for beyond those that it came for."""
    missing = like.shape[0] - grad.shape[0] if like.ndim else 0
    return jnp.pad(jnp.asarray(grad), [(0, missing)] + [(0, 0)] * (like.ndim - 1)) if missing > 0 else jnp.asarray(grad)


def _as_gradient(grad: Any, source: Any) -> Any:
    """A gradient in the form of what it is the gradient of: that of a TensorArray is an array of gradients."""
    if not isinstance(source, DeviceArray) or source.buffer is None:
        return grad
    zero = source.gradient("gradients")
    return DeviceArray(zero.meta, grad, None, zero.length)


def _substitute(tensor: Tensor, primal: Any, frame: Frame) -> None:
    if tensor not in frame.values:
        frame.state[variable_key(variable_op(tensor))] = primal
        return
    frame.values[tensor] = _refilled(frame.values[tensor], primal)


def _inexact(value: Any) -> list[Any]:
    if isinstance(value, ArrayHandle):
        return []
    if isinstance(value, DeviceArray):
        value = value.buffer
    return [value] if value is not None and jnp.issubdtype(value.dtype, jnp.inexact) else []


def _as_carried(value: Any) -> Any:
    """A value as arrays without weak types."""
    return jax.tree.map(lambda x: jnp.asarray(x, x.dtype), value)


def _as_count(reserve: Any) -> Any:
    return jnp.asarray(0 if reserve is None else reserve, np.int64)


def _advanced(row: Any, reserve: Any) -> Any:
    """A random row whose 128-bit counter has moved on by `reserve`."""
    row = jnp.asarray(row)
    if reserve is None:
        return row
    amount = jnp.asarray(reserve, np.uint64)
    add = [(amount & np.uint64(0xFFFFFFFF)).astype(np.uint32), (amount >> np.uint64(32)).astype(np.uint32), np.uint32(0), np.uint32(0)]
    words, carry = [], np.uint32(0)
    for i in range(4):
        total = row[2 + i] + add[i]
        over = (total < add[i]).astype(np.uint32)
        words.append(total + carry)
        carry = over | (words[-1] < carry).astype(np.uint32)
    return jnp.stack([row[0], row[1], *words])


def _padded(counts: Any) -> Any:
    """Each count rounded up to a power of two, so that few different programs are compiled."""
    wanted = jnp.maximum(counts, 1) - 1
    for shift in (1, 2, 4, 8, 16):
        wanted = wanted | (wanted >> shift)
    return (wanted + 1).astype(np.int32)
