"""A run as one pure function of arrays: what `Session.run` would compute, with the variables and random states as inputs and results."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import jax
import jax.numpy as jnp

from tfcompat._src.base import checks
from tfcompat._src.base.arrays import NDArray
from tfcompat._src.graph.graph import Graph
from tfcompat._src.graph.op_spec import HOST
from tfcompat._src.graph.operation import Operation
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.ops.flow.array_value import DeviceArray
from tfcompat._src.ops.random.philox import FORM
from tfcompat._src.runtime.cluster_trace import trace_cluster
from tfcompat._src.runtime.item import Item, OpItem
from tfcompat._src.runtime.loop_program import LoopGradientItem, loops_of
from tfcompat._src.runtime.lower import Replan
from tfcompat._src.runtime.placement import Placement
from tfcompat._src.runtime.placement_rules import RULES
from tfcompat._src.runtime.plan import Cluster
from tfcompat._src.runtime.planner import Planner, Request
from tfcompat._src.runtime.variable_state import required_variable_op, variable_key, variable_op

Values = Mapping[str, jax.Array]
"""Arrays of variables by their key."""


class Results(NamedTuple):
    """What a call gives: the fetched arrays, the new values of variables by key, the new random rows by operation, and the checks."""

    fetched: list[jax.Array]
    variables: dict[str, jax.Array]
    randoms: dict[Operation, jax.Array]
    checks: list[checks.Check]
    all_hold: jax.Array


@dataclass(frozen=True)
class PureRun:
    """A run without a session: call it while JAX traces.

    Attributes:
      fetched, feeds: the tensors that come out and in. known: tensors with a value before the run. cluster: all operations.
      variables: the handle operations of the variables that it reads or writes. required: those that must have a value before.
    """

    fetched: list[Tensor]
    feeds: list[Tensor]
    known: dict[Tensor, NDArray]
    cluster: Cluster
    required: list[Operation]
    variables: list[Operation] = field(default_factory=list)

    def __call__(
        self, feeds: Sequence[jax.Array], variables: Values, large: Mapping[Tensor, jax.Array], randoms: Mapping[Operation, jax.Array], capacity: int,
        is_differentiable: bool,
    ) -> Results:
        """Traces the run.

        Args:
          feeds: arrays of the dtypes of `feeds`, in order. variables: what variables hold, by key.
          large: the large constants. randoms: uint32[6] for each random operation, as RandomState.row.
          capacity: elements of a growing TensorArray at most.
          is_differentiable: whether JAX may differentiate it, with the derivatives that operations have in TensorFlow.

        Raises:
          NotImplementedError: for these shapes, a loop or conditional would have to be driven from the host, or it cannot be
            differentiable.
        """
        cluster, given = self.cluster, dict(zip(self.feeds, feeds))
        inputs = tuple([given[t] for t in cluster.inputs])
        read, updated = (tuple([variables[variable_key(v)] for v in used]) for used in (cluster.reads, cluster.updates))
        rows = jnp.stack([randoms[op] for op in cluster.randoms]) if cluster.randoms else jnp.zeros((0, 6), jnp.uint32)
        arguments = (inputs, tuple([large[t] for t in cluster.large]), read, updated, rows)
        before, FORM.is_portable = FORM.is_portable, True
        try:
            result = trace_cluster(cluster, self.known, arguments, capacity, int(is_differentiable))
        except Replan as change:
            raise NotImplementedError(f"For inputs of these shapes this run has no JAX function: {change}.") from None
        finally:
            FORM.is_portable = before
        notes = result.notes
        moves = {**notes.reserves, **dict(zip(notes.moving, result.moved))}
        new = {**variables, **dict(zip(cluster.written_keys, result.state))}
        values = {**self.known, **given, **dict(zip(cluster.outputs, notes.outputs(result.outputs)))}
        fetched = [_fetched(t, values, new) for t in self.fetched]
        found = list(notes.checks)
        if found and found[-1].op is None:  # a kernel that could not be traced, after checks that may fail
            raise found[-1].failure(())
        all_hold = jnp.asarray(True) if result.holds is None else jnp.all(result.holds)
        return Results(fetched, new, {op: advanced(row, moves.get(op, 0)) for op, row in randoms.items()}, found, all_hold)

    @property
    def has_loop_gradients(self) -> bool:
        """Whether loops and their gradients are in it."""
        return any(isinstance(item, LoopGradientItem) for item in self.cluster.items)

    @property
    def randoms(self) -> list[Operation]:
        """The random operations, in order."""
        return self.cluster.randoms


def _fetched(tensor: Tensor, values: Mapping[Tensor, jax.Array | NDArray | DeviceArray], variables: Values) -> jax.Array:
    """A fetched tensor; a ref shows what its variable holds at the end, a TensorArray's flow is 0."""
    value = values.get(tensor)
    if value is None:
        return variables[variable_key(required_variable_op(tensor))]
    return jnp.zeros((), jnp.float32) if isinstance(value, DeviceArray) else jnp.asarray(value)


def advanced(row: jax.Array, steps: jax.Array | int) -> jax.Array:
    """A random operation's row, uint32[6] of key (2) and counter (4, least word first), after `steps` draws."""
    rest, words = jnp.asarray(steps).astype(jnp.uint64), []
    for word in row[2:]:
        total = word.astype(jnp.uint64) + (rest & 0xFFFFFFFF)
        words.append(total.astype(jnp.uint32))
        rest = (rest >> 32) + (total >> 32)
    return jnp.stack([row[0], row[1], *words])


class _InOneCluster(Placement):
    """Everything compiled, on no device in particular. `refused` are items that only the host runs, by why; `numbers` are tensors that
    kernels need as NumPy values while these depend on data.
    """

    def _devices(self, placer: object) -> dict[Item, object]:
        return {}

    def _apply_rules(self) -> None:
        self.refused: dict[Item, str] = {}
        self.numbers: dict[Tensor, None] = {}
        for item in self.items:
            for loop in loops_of(item):
                self._must_count[loop] = loop.program.must_count(self.is_traced_static)
            rule = next(rule for rule in RULES if not rule.is_choice and rule.holds(self, item))
            self._put(item, rule)
            if rule.side == HOST and not item.facts.names_variable and not _is_handle_only(item):
                self.refused[item] = rule.name

    def _demand_static(self, tensor: Tensor) -> None:
        if not self.is_traced_static(tensor):
            self.numbers[tensor] = None

    def reasons(self) -> list[str]:
        """Why the run has no function, one sentence for each item or number in the way, and what to feed instead."""
        found = [self._why_refused(item, why) for item, why in self.refused.items() if self._is_at_the_edge(item)]
        return found + [self._why_number(tensor) for tensor in self.numbers if self.producer.get(tensor) not in self.refused]

    def _is_at_the_edge(self, item: Item) -> bool:
        """Whether a refused item has no outputs that are wanted, or gives something to an item that is not refused."""
        return not item.outputs or bool(self._wanted(item)) or not any(self.uses(t) for t in item.outputs)

    def _wanted(self, item: Item) -> list[str]:
        """The outputs of a refused item that could be fed in its place."""
        given = [t for t in item.outputs if t.dtype.name not in ("variant", "resource", "string") and not t.dtype._is_ref_dtype]
        return [t.name for t in given if t in self.fetched or any(u not in self.refused for u in self.uses(t))]

    def _why_refused(self, item: Item, why: str) -> str:
        inside = [op for op in item.operations if op.spec.effects.external or op.spec.side == HOST] if not isinstance(item, OpItem) else []
        of = f" with {', '.join(f'{op.name} ({op.type})' for op in inside[:3])}" if inside else ""
        wanted = self._wanted(item)
        instead = f"feed {', '.join(wanted)} instead" if wanted else "fetch nothing that needs it, or waits for it"
        return f"{item.name} (op type {item.type}){of} runs on the host [{why}]: {instead}."

    def _why_number(self, tensor: Tensor) -> str:
        user = next(i for i in self.uses(tensor) if i not in self.refused)
        if isinstance(user, LoopGradientItem):
            return f"The gradient of the loop {user.loop.name} must know how often it runs: give tf.while_loop maximum_iterations."
        return (
            f"{user.name} (op type {user.type}) is compiled for the value of {tensor.name}, which depends on data: feed it, and give its "
            f"value, or that of the feeds it depends on, in `fixed`."
        )


def _is_handle_only(item: Item) -> bool:
    """Whether an item hands on the handle of a variable, and no value."""
    return bool(item.outputs) and all(t.dtype.name == "resource" and variable_op(t) is not None for t in item.outputs)


def pure_run(
    planner: Planner, graph: Graph, fetched: Sequence[Tensor], targets: Sequence[Operation], feeds: Sequence[Tensor],
    fixed: Mapping[Tensor, NDArray], variables: Collection[str],
) -> PureRun:  # fmt: skip
    """A run as a function.

    Args:
      planner: of the session. fetched: what comes out. targets: the operations that run. feeds: what comes in.
      fixed: tensors that have the same value in each call. variables: the keys of variables that have a value.

    Raises:
      NotImplementedError: the host takes part in the run, or shapes depend on data; it names the operations.
    """
    request = Request(fetched, targets, [*feeds, *fixed], fixed, given=fixed)
    work, guarded = planner.work(graph, request, variables)
    for tensor in guarded:
        raise NotImplementedError(f"{tensor.name} has a value in one branch of a conditional only: fetch the result of the conditional.")
    placement = _InOneCluster(work, planner.placer)
    if reasons := placement.reasons():
        raise NotImplementedError("This run is no function of arrays:\n  " + "\n  ".join(reasons))
    plan = planner.placed(placement)
    cluster = plan.clusters[0] if plan.clusters else Cluster([])
    used = {variable_key(v): v for v in (*plan.required, *cluster.reads, *cluster.updates, *cluster.overwrites)}
    return PureRun(list(fetched), list(feeds), plan.known, cluster, plan.required, list(used.values()))
