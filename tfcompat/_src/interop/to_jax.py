"""tfcompat.to_jax: a run of a graph, inference or training step, as a pure function of JAX."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from tfcompat._src.base import jax_compat
from tfcompat._src.base.default_stack import SESSIONS
from tfcompat._src.base.export import export
from tfcompat._src.base.graph_collections import GraphKeys
from tfcompat._src.base.session_like import SessionLike
from tfcompat._src.graph.graph import Graph
from tfcompat._src.graph.operation import Operation
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.interop import symbolic_sizes
from tfcompat._src.ops.flow.array_value import FIRST_CAPACITY, ArrayOverflow
from tfcompat._src.runtime.session.fetches import Fetches, convert_feeds, fed_parts, fed_tensors
from tfcompat._src.runtime.session.pure_function import PureRun, pure_run
from tfcompat._src.runtime.session.session import BaseSession, Session
from tfcompat._src.runtime.state.variable_state import uninitialized, variable_key

Params = dict[str, dict[str, Any]]


class JaxFunction:
    """What `to_jax` makes: `fn(params, *feeds, rng=None)`; see there.

    Attributes:
      feeds: the names of the fed tensors, one for each argument. tensors: the fed tensors, those of SparseTensors apart. variables: the names of the variables. updated: of those that it changes.
      compiler_options: those that sessions compile with here, for jax.jit: the same bits, and on CPUs faster convolutions; None for JAX's own.
    """

    def __init__(self, run: PureRun, fetches: Fetches, feeds: Sequence[Any], params: Params, capacity: int, checks: bool) -> None:
        self._run, self._fetches, self._capacity, self._checks = run, fetches, capacity, checks
        self._parts = [len(fed_parts(feed)) for feed in feeds]
        self._names = {variable_key(v): v.name for v in run.variables}
        self._dtypes = {v.name: _dtype_of_variable(v) for v in run.variables}
        self._groups = {name: group for group in ("trainable", "other") for name in params[group]}
        self._obstacle = "it has gradients of loops" if run.has_loop_gradients else None
        self._traced = jax.jit(self._trace, inline=True)
        self.feeds, self.tensors = [getattr(feed, "name", str(feed)) for feed in feeds], run.feeds
        self.variables, self.compiler_options = list(self._dtypes), jax_compat.compiler_options()
        self.updated = {v.name for v in (*run.cluster.updates, *run.cluster.overwrites)}

    def __call__(self, params: Params, *feeds: Any, rng: object = None) -> Any:
        params, arrays = jax.tree.map(_settled, (params, self._fed(feeds)))
        outer = [jax.dtypes.canonicalize_dtype(t.dtype.base_dtype.as_numpy_dtype) for t in self._run.fetched]
        rows = {} if rng is None else self._rows(rng)
        with jax_compat.x64():
            params = self._checked(params)
            fetched, new, holds = self._traced(params, arrays, rows)
            fetched = [value.astype(dtype) for value, dtype in zip(fetched, outer)]
            new = {group: {k: v.astype(_dtype(params[group].get(k, v))) for k, v in part.items()} for group, part in new.items()}
            found = self._fetches.rebuild(fetched)
        return (found, new, holds) if self._checks else (found, new)

    def _rows(self, rng: Any) -> dict[str, Any]:
        """Where random operations start, from a key of JAX."""
        ops = self._run.randoms
        rows = jax.random.bits(rng, (len(ops), 6), jnp.uint32) if ops else ()
        return {op.name: row for op, row in zip(ops, rows)}

    def _fed(self, feeds: tuple[Any, ...]) -> list[Any]:
        if len(feeds) != len(self._parts):
            raise TypeError(f"The function takes params and {len(self._parts)} feeds ({', '.join(self.feeds)}), but got {len(feeds)} feeds.")
        return [part for feed, count in zip(feeds, self._parts) for part in ((feed,) if count == 1 else feed)]

    def _checked(self, params: Params) -> Params:
        """`params` with arrays of 64 bits where JAX's default has made them shorter; ValueError where one is missing."""
        for name, group in self._groups.items():
            if name not in params.get(group, ()):
                raise ValueError(f"params[{group!r}] lacks the variable {name}.")
        return {group: dict(params.get(group, {})) for group in ("trainable", "other", "constants", "random")}

    def _trace(self, params: Params, feeds: list[Any], rows: dict[str, Any]) -> tuple[list[Any], Params, jax.Array]:
        """The run in a form with derivatives where it has one."""
        if symbolic_sizes.is_symbolic(feeds):
            return _without_derivative(self._run_of_symbols, "sizes of its feeds are symbols")(params, feeds, rows)
        if self._obstacle is None:
            try:
                return self._run_of(params, feeds, rows, is_differentiable=True)
            except NotImplementedError as error:
                self._obstacle = str(error)
        return _without_derivative(self._run_of, self._obstacle)(params, feeds, rows)

    def _run_of_symbols(self, params: Params, feeds: list[Any], rows: dict[str, Any], is_differentiable: bool) -> Any:
        for tensor, value in zip(self._run.feeds, feeds):
            if tensor.shape.ndims is not None and any(known and not isinstance(size, int) for known, size in zip(tensor.shape.as_list(), value.shape)):
                raise ValueError(f"{tensor.name} has shape {tensor.shape}, but got {value.shape}: symbols must be where the graph has no size.")
        return symbolic_sizes.call(functools.partial(self._run_of, is_differentiable=is_differentiable), (params, feeds, rows))

    def _run_of(self, params: Params, feeds: list[Any], rows: dict[str, Any], is_differentiable: bool) -> tuple[list[Any], Params, jax.Array]:
        run = self._run
        given = [_as_fed(value, tensor) for value, tensor in zip(feeds, run.feeds)]
        held = {**params["trainable"], **params["other"]}
        variables = {key: _cast(held[name], self._dtypes[name], name) for key, name in self._names.items() if name in held}
        large = {t: jnp.asarray(params["constants"].get(t.op.name, run.known[t])) for t in run.cluster.large}
        starts = {op: (rows or params["random"])[op.name] for op in run.randoms}
        found = run(given, variables, large, starts, self._capacity, is_differentiable)
        if not self._checks and any(check.error is ArrayOverflow for check in found.checks):
            raise NotImplementedError(
                f"A TensorArray grows in this run, to {self._capacity} elements at most: call to_jax with checks=True, which tells "
                "whether that was enough, and with a greater `capacity` where it was not."
            )
        new: Params = {**params, "trainable": {}, "other": {}}
        for key, value in found.variables.items():
            name = self._names[key]
            new[self._groups.get(name, "other")][name] = value
        if not rows:
            new["random"] = {**params["random"], **{op.name: row for op, row in found.randoms.items()}}
        return found.fetched, new, found.all_hold


def _without_derivative(run: Callable[..., Any], obstacle: str) -> Any:
    """A run in a form that says what stands in the way when JAX differentiates it."""

    def refuse(*arguments: Any) -> Any:
        raise NotImplementedError(f"This function has no derivative: {obstacle}")

    found = jax.custom_jvp(functools.partial(run, is_differentiable=False))
    found.defjvp(refuse)
    return found


def _settled(value: object) -> Any:
    """A traced value in JAX's mode outside: vmap's may hold 64 bits in NumPy that count as 32. Compiled, it costs nothing."""
    return jnp.array(value, copy=True) if isinstance(value, jax.core.Tracer) else value


def _dtype(value: object) -> Any:
    return jnp.result_type(value)


def _dtype_of_variable(variable: Operation) -> np.dtype:
    return np.dtype(variable.attrs["dtype"].base_dtype.as_numpy_dtype)


def _cast(value: object, wanted: np.dtype, name: str) -> jax.Array:
    """An array in the dtype of the graph; TypeError where that would lose what it says."""
    array = jnp.asarray(value)
    kinds = [next(i for i, kind in enumerate((jnp.bool_, jnp.integer, jnp.floating, jnp.complexfloating)) if jnp.issubdtype(d, kind)) for d in (array.dtype, wanted)]
    if kinds[0] > kinds[1] or (kinds[0] == 0) != (kinds[1] == 0):
        raise TypeError(f"{name} is {wanted} in the graph, but got {array.dtype}.")
    return array.astype(wanted)


def _as_fed(value: object, tensor: Tensor) -> jax.Array:
    array = _cast(value, np.dtype(tensor.dtype.base_dtype.as_numpy_dtype), tensor.name)
    if not tensor.shape.is_compatible_with(array.shape):
        raise ValueError(f"{tensor.name} has shape {tensor.shape}, but got {array.shape}.")
    return array


@export("to_jax")
def to_jax(
    fetches: object, feeds: Sequence[Any], session: SessionLike | None = None, *, fixed: Mapping[Any, Any] | None = None, checks: bool = False,
    capacity: int = FIRST_CAPACITY,
) -> tuple[JaxFunction, Params]:  # fmt: skip
    """A run of the graph as a pure function of JAX, and the parameters it starts with.

    `fn(params, *feeds, rng=None)` gives `(fetched, new_params)`: the values of `fetches` in their structure (None for an operation), and
    `params` with what the run has left in variables and with random operations moved on. It changes no session. jax.jit, grad, vmap, scan
    and shard_map (with check_vma=False) take it; a training step (optimizer, moving averages, dropout) is converted as inference is.

    Args:
      fetches: as of Session.run. feeds: the tensors that are the function's arguments, in order; a SparseTensor takes a tuple of its parts.
      session: a tf.Session, whose variables are the start; by default the default session, or none where the run needs no variable.
      fixed: values of fed tensors that are the same in each call, by tensor, such as `{is_training: True}`: they decide branches, and
        may be sizes.
      checks: whether the function gives `(fetched, new_params, ok)`. `ok`, a bool, says whether all checks hold (tf.Assert, indices in
        range, ...). Where one does not, new_params has the variables of params, and the fetched values mean nothing.
      capacity: how many elements a TensorArray that grows can have.

    Returns:
      fn and params. params["trainable"] and params["other"] have the variables by the name they have in checkpoints, as NumPy arrays;
      params["constants"] the constants of more than 1024 elements (the weights of a frozen graph) by the name of their node; params["random"]
      where random operations stand, uint32[6] each. With `rng`, a key of JAX, they start from that instead, and do not move on. Variables that the
      run initializes are in new_params only. fn takes arrays of other dtypes of the same kind: it computes in the graph's, and gives new
      values in those that it got.

    Raises:
      NotImplementedError: the run needs the host (tf.py_func, strings, queues, datasets, placeholders that are not fed), or shapes that depend on data. The message names
        each operation, and the tensor to feed instead.
      errors.FailedPreconditionError: a variable has no value in the session.
      ValueError: a tensor is fed twice. TypeError: `session` is none.
    """
    session = _session_for(fetches, feeds, session)
    graph = session.graph
    wanted = Fetches(graph, fetches)
    keys = [part for feed in feeds for part in fed_parts(feed)]
    fed = fed_tensors(graph, keys)
    if len(fed) != len(keys):
        raise ValueError("A tensor is among `feeds` twice.")
    for tensor in (*wanted.tensors, *fed):
        if tensor.dtype.name in ("string", "variant", "resource") or tensor.dtype.is_quantized:
            raise NotImplementedError(f"{tensor.name} is of dtype {tensor.dtype.name}, which JAX has not: fetch and feed numbers.")
    constants = {t: np.asarray(v) for t, v in convert_feeds(graph, fixed or {}).items()}
    with jax_compat.x64():
        run = pure_run(session.context.planner, graph, wanted.tensors, wanted.targets, fed, constants, session.context.variable_state.values)
        params = _params(run, graph, session)
    return JaxFunction(run, wanted, feeds, params, capacity, checks), params


def _session_for(fetches: object, feeds: Sequence[Any], session: SessionLike | None) -> BaseSession:
    """The session whose variables and planner are used."""
    found = session if session is not None else SESSIONS.top()
    if found is None:
        tensors = [t for t in jax.tree.leaves([fetches, list(feeds)]) if isinstance(t, Tensor | Operation)]
        return Session(graph=tensors[0].graph if tensors else None)
    if hasattr(found, "raw_session"):
        found = found.raw_session()
    if not isinstance(found, BaseSession):
        raise TypeError(f"session must be a tf.Session, but got {found!r}.")
    if found._remote:
        raise NotImplementedError(f"Variables of other processes cannot be parameters: {found!r} is connected to {found._target!r}.")
    return found


def _params(run: PureRun, graph: Graph, session: BaseSession) -> Params:
    """The variables, large constants and random states that a run starts with."""
    trainable = {variable_key(v.op) for v in graph.get_collection(GraphKeys.TRAINABLE_VARIABLES)}
    params: Params = {"trainable": {}, "other": {}, "constants": {}, "random": {}}
    there = session.context.variable_state.values
    for variable in run.variables:
        key = variable_key(variable)
        if key in there:
            params["trainable" if key in trainable else "other"][variable.name] = np.array(session.context.variable_state.read(variable, key))
        elif variable in run.required:
            raise uninitialized(variable)
    params["constants"] = {t.op.name: np.asarray(run.known[t]) for t in run.cluster.large}
    params["random"] = {op.name: session.context.random_state.row(op) for op in run.randoms}
    return params
