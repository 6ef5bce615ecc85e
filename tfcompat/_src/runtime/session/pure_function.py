"""A run as a pure function of arrays that JAX can trace: feeds, variables and random states are its arguments, and new states its results.

The run is planned as a single compiled cluster. Items that only the host can run, and numbers that depend on data and that a kernel needs at
compile time, make it impossible; the error lists them and the feeds that would replace them.
"""

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
from tfcompat._src.ops.random.philox import portable
from tfcompat._src.runtime.ir.item import Item, OpItem
from tfcompat._src.runtime.ir.loop_item import LoopGradientItem, loops_of
from tfcompat._src.runtime.ir.plan import Cluster
from tfcompat._src.runtime.lowering.cluster_trace import trace_cluster
from tfcompat._src.runtime.lowering.lower import Replan
from tfcompat._src.runtime.passes.pipeline import Planner, Request
from tfcompat._src.runtime.passes.placement import Placement
from tfcompat._src.runtime.passes.placement_rules import RULES
from tfcompat._src.runtime.passes.plan_guards import Facts
from tfcompat._src.runtime.state.variable_state import required_variable_op, variable_key, variable_op

Values = Mapping[str, jax.Array]
"""Arrays of variables by their key."""


class Results(NamedTuple):
    """The results of a call.

    `variables` are their new values by key, `randoms` the new rows of random operations; `checks` describe the assertions of the trace, and
    `all_hold` is a boolean scalar.
    """

    fetched: list[jax.Array]
    variables: dict[str, jax.Array]
    randoms: dict[Operation, jax.Array]
    checks: list[checks.Check]
    all_hold: jax.Array


@dataclass(frozen=True)
class PureRun:
    """A run without a session, a function that is called while JAX traces.

    Attributes:
      fetched, feeds: the tensors that it returns and takes. known: tensors with a value before the run. cluster: all operations.
      variables: the handle operations of the variables that it reads or writes. required: those that must be initialized before.
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
          feeds: arrays of the dtypes of `feeds`, in order. variables: the values of variables by key.
          large: the large constants. randoms: uint32[6] for each random operation, as RandomState.row.
          capacity: most elements of a growing TensorArray.
          is_differentiable: whether JAX may differentiate the trace; operations then have their gradients of TensorFlow.

        Raises:
          NotImplementedError: for these shapes a loop or conditional must be driven by the host, or the trace cannot be differentiable.
          errors.OpError: a kernel rejects the arguments.
        """
        # The arguments of a compiled call: inputs, large constants, variables read and updated, random rows.
        cluster, given = self.cluster, dict(zip(self.feeds, feeds))
        inputs = tuple([given[t] for t in cluster.inputs])
        read, updated = (tuple([variables[variable_key(v)] for v in used]) for used in (cluster.reads, cluster.updates))
        rows = jnp.stack([randoms[op] for op in cluster.randoms]) if cluster.randoms else jnp.zeros((0, 6), jnp.uint32)
        arguments = (inputs, tuple([large[t] for t in cluster.large]), read, updated, rows)
        # The caller may shard the function over devices: random numbers are computed in the form that XLA can partition.
        try:
            with portable():
                result = trace_cluster(cluster, self.known, arguments, capacity, int(is_differentiable))
        except Replan as change:
            raise NotImplementedError(f"For inputs of these shapes this run has no JAX function: {change}.") from None
        # State after the run: variables that were written, and counters advanced by a fixed or computed number of draws.
        notes = result.notes
        moves = {**notes.reserves, **dict(zip(notes.moving, result.moved))}
        new = {**variables, **dict(zip(cluster.written_keys, result.state))}
        values = {**self.known, **given, **dict(zip(cluster.outputs, notes.outputs(result.outputs)))}
        fetched = [_fetched(t, values, new) for t in self.fetched]
        made_checks = list(notes.checks)
        if made_checks and made_checks[-1].op is None:  # a kernel could not be traced, after checks that may fail before it runs
            raise made_checks[-1].failure(())
        all_hold = jnp.asarray(True) if result.holds is None else jnp.all(result.holds)
        return Results(fetched, new, {op: advanced(row, moves.get(op, 0)) for op, row in randoms.items()}, made_checks, all_hold)

    @property
    def has_loop_gradients(self) -> bool:
        """Whether the run contains gradients of loops."""
        return any(isinstance(item, LoopGradientItem) for item in self.cluster.items)

    @property
    def randoms(self) -> list[Operation]:
        """The random operations, in order."""
        return self.cluster.randoms


def _fetched(tensor: Tensor, values: Mapping[Tensor, jax.Array | NDArray | DeviceArray], variables: Values) -> jax.Array:
    """Returns the value of a fetched tensor: for a ref the variable's value at the end, for the flow of a TensorArray 0."""
    value = values.get(tensor)
    if value is None:
        return variables[variable_key(required_variable_op(tensor))]
    return jnp.zeros((), jnp.float32) if isinstance(value, DeviceArray) else jnp.asarray(value)


def advanced(row: jax.Array, steps: jax.Array | int) -> jax.Array:
    """Returns the row of a random operation, uint32[6] of key (2) and counter (4, least significant word first), after `steps` draws."""
    # 128-bit addition in 32-bit words with carry.
    rest, words = jnp.asarray(steps).astype(jnp.uint64), []
    for word in row[2:]:
        total = word.astype(jnp.uint64) + (rest & 0xFFFFFFFF)
        words.append(total.astype(jnp.uint32))
        rest = (rest >> 32) + (total >> 32)
    return jnp.stack([row[0], row[1], *words])


class _InOneCluster(Placement):
    """A placement of all items in one cluster without a device.

    Attributes:
      refused: the items that only the host can run, with the name of the rule that says so.
      numbers: the tensors that kernels need as compile-time constants and that depend on data.
    """

    def _devices(self, placer: object) -> dict[Item, object]:
        return {}

    def _apply_rules(self) -> None:
        self.refused: dict[Item, str] = {}
        self.numbers: dict[Tensor, None] = {}
        # Rules that are choices of speed do not apply: an item is refused only if the host must run it. Handles need no run at all.
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
        """Returns one sentence for each item or number that prevents a pure function, with what to feed instead; [] if there are none."""
        refusals = [self._why_refused(item, why) for item, why in self.refused.items() if self._is_at_the_edge(item)]
        return refusals + [self._why_number(tensor) for tensor in self.numbers if self.producer.get(tensor) not in self.refused]

    def _is_at_the_edge(self, item: Item) -> bool:
        """Whether a refused item has an output that could be fed, or no user at all; the items before such an edge need no sentence."""
        return not item.outputs or bool(self._wanted(item)) or not any(self.uses(t) for t in item.outputs)

    def _wanted(self, item: Item) -> list[str]:
        """Returns the names of a refused item's outputs that can be fed in its place: numeric ones that fetches or compiled items use."""
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
        # The user may fix the number, and must then feed it, so that the compiled code sees it.
        return (
            f"{user.name} (op type {user.type}) is compiled for the value of {tensor.name}, which depends on data: feed it, and give its "
            f"value, or that of the feeds it depends on, in `fixed`."
        )


def _is_handle_only(item: Item) -> bool:
    """Whether an item forwards handles of variables, and nothing else."""
    return bool(item.outputs) and all(t.dtype.name == "resource" and variable_op(t) is not None for t in item.outputs)


def pure_run(
    planner: Planner, graph: Graph, fetched: Sequence[Tensor], targets: Sequence[Operation], feeds: Sequence[Tensor],
    fixed: Mapping[Tensor, NDArray], variables: Collection[str],
) -> PureRun:  # fmt: skip
    """Returns a run as a pure function.

    Args:
      planner: of the session. fetched: the tensors to return. targets: the operations to run. feeds: the tensors to pass.
      fixed: tensors that have the same value in every call. variables: the keys of the variables that have a value.

    Raises:
      NotImplementedError: the host takes part in the run, or shapes depend on data; the message names the operations.
    """
    request = Request(fetched, targets, [*feeds, *fixed], Facts(fixed, variables), given=fixed)
    work, structured = planner.work(graph, request)
    for tensor in (*structured.guarded, *structured.dead):
        raise NotImplementedError(f"{tensor.name} has a value in one branch of a conditional only: fetch the result of the conditional.")
    # Placement collects all obstacles first, so that the error lists them together.
    placement = _InOneCluster(work, planner.placer)
    if reasons := placement.reasons():
        raise NotImplementedError("This run cannot be a pure function of arrays:\n  " + "\n  ".join(reasons))
    plan = planner.placed(placement)
    cluster = plan.clusters[0] if plan.clusters else Cluster([])
    # An overwritten variable is a result only, but belongs to the state that callers keep.
    used = {variable_key(v): v for v in (*plan.required, *cluster.reads, *cluster.updates, *cluster.overwrites)}
    return PureRun(list(fetched), list(feeds), plan.known, cluster, plan.required, list(used.values()))
