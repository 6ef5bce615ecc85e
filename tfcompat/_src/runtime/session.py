"""tf.Session: runs parts of a graph. `BaseSession.run` is the whole pipeline; the other files of this folder are its stages."""

from __future__ import annotations

import copy
import warnings
from collections.abc import Callable
from typing import Any

import jax
import numpy as np

import tfcompat._src.function.control_flow_v2  # noqa: F401  (or run them)
import tfcompat._src.function.def_function  # noqa: F401  (nodes of graphs from files may call functions)
import tfcompat._src.function.symbolic_gradient  # noqa: F401  (nodes of graphs from files may be gradients of functions)
from tfcompat._src.framework import errors, jax_compat, mixed_precision_state, run_limits
from tfcompat._src.framework.default_stack import SESSIONS
from tfcompat._src.framework.export import export
from tfcompat._src.framework.graph import Graph
from tfcompat._src.framework.operation import Operation
from tfcompat._src.framework.scopes import get_default_graph
from tfcompat._src.framework.tensor import Tensor
from tfcompat._src.proto import messages
from tfcompat._src.runtime import devices, local_servers, structure, trace
from tfcompat._src.runtime.array_order import require_order
from tfcompat._src.runtime.compile import input_shapes
from tfcompat._src.runtime.config import session_config
from tfcompat._src.runtime.execute import execute, fetched_value
from tfcompat._src.runtime.fetch import Fetches, convert_feed, expand_feeds, fed_parts, structure_key
from tfcompat._src.runtime.fold import fold
from tfcompat._src.runtime.partial_run import PartialRun
from tfcompat._src.runtime.partition import Partitioner
from tfcompat._src.runtime.place import Placer
from tfcompat._src.runtime.plan import Plan, WrongGuess
from tfcompat._src.runtime.prune import prune
from tfcompat._src.runtime.random_state import RandomState
from tfcompat._src.runtime.towers import with_towers
from tfcompat._src.runtime.variable_state import VariableState, check_fed_refs, variable_key, variable_op


class PreparedRun:
    """A fetch structure with its plans, kept for the next run of the same fetches and feeds.

    Fed scalars that decide a branch (`training=True`), and whether variables have values where the graph asks for that, are part
    of the plan: there is one for each of their values; so is whether the run has a time limit, which loops must then heed.
    """

    def __init__(self, fetches: Fetches, feeds: list[Tensor], graph_changes: int) -> None:
        self.fetches, self.feeds, self.graph_changes = fetches, feeds, graph_changes
        ops = prune(fetches.tensors, fetches.targets, feeds)
        deciding = set(structure.predicate_feeds(ops, set(feeds)))
        self.deciding = [i for i, t in enumerate(feeds) if t in deciding]
        self.asked = structure.asked_status(ops, set(feeds))
        self.plans: dict[tuple, Plan] = {}

    def plan_key(self, feeds: list[Any], variables: dict[str, Any]) -> tuple:
        limited = run_limits.seconds_left() is not None
        if not (self.deciding or self.asked or limited):
            return ()
        return (limited, *[feeds[i].tobytes() for i in self.deciding], *[key in variables for _, key in self.asked])


def _run_key(fetches: Any, feed_dict: dict) -> tuple | None:
    """What tells runs apart for which other things are prepared; None where something in it cannot be hashed."""
    try:
        key = (structure_key(fetches), *feed_dict)
        hash(key)
    except TypeError:
        return None
    return key


class BaseSession:
    """A graph, the values of its variables, and the plans of what was run."""

    def __init__(self, target: str = "", graph: Graph | None = None, config: Any = None) -> None:
        if graph is not None and not isinstance(graph, Graph):
            raise TypeError(f"graph must be a tf.Graph, but got {type(graph)}")
        if config is not None and not isinstance(config, messages.ConfigProto):
            raise TypeError(f"config must be a tf.ConfigProto, but got {type(config)}")
        if not isinstance(target, (str, bytes)):
            raise TypeError(f"target must be a string, but got {target!r}")
        self._server = server = local_servers.find(target)
        self._graph = get_default_graph() if graph is None else graph
        self._target = target
        if config is None:
            config = server.config if server else session_config()
        self._config = config = mixed_precision_state.configured(config)
        self._closed = False
        self._prepared: dict[Any, PreparedRun] = {}
        self.loop_plans: dict[tuple, Plan] = {}
        self._large: dict[tuple[Tensor, Any], jax.Array] = {}
        self._servers = local_servers.servers_of(server, config)
        self.devices = local_servers.devices_of(self._servers, config)
        self.placer = Placer(self.devices, self._config)
        shared_in_cluster = config.experimental.share_session_state_in_clusterspec_propagation
        isolated = config.isolate_session_state or (config.cluster_def.job and not shared_in_cluster)
        self.shares_state = server is not None and not isolated
        self.variable_state = self._shared_variables() if self.shares_state else VariableState()
        self._resets_of_server = server.resets if server else 0
        self.random_state = RandomState()
        self.resources: dict[str, Any] = {}
        self._close_hooks: list[Callable[[], None]] = []

    # ---- properties ----

    @property
    def graph(self) -> Graph:
        return self._graph

    @property
    def graph_def(self) -> Any:
        return self._graph.as_graph_def(add_shapes=self._config.graph_options.infer_shapes)

    @property
    def sess_str(self) -> str | bytes:
        return self._target

    @property
    def session(self) -> BaseSession:
        return self

    def list_devices(self) -> list[Any]:
        """The devices there are; RuntimeError where the session is closed."""
        self._check_open()
        return devices.describe(self.devices)

    # ---- running ----

    def run(self, fetches: Any, feed_dict: dict | None = None, options: Any = None, run_metadata: Any = None) -> Any:
        """Computes `fetches`.

        Args:
          fetches: a Tensor, Operation, name, variable, or nested lists, tuples and dicts of them.
          feed_dict: values for tensors, by Tensor or name.
          options: a RunOptions message. run_metadata: a RunMetadata message that is filled in.

        Returns:
          NumPy values in the structure of `fetches`; None for an Operation.

        Raises:
          RuntimeError: the session is closed or the graph empty. TypeError, ValueError: fetches or feeds are not of this graph.
          errors.OpError: what went wrong while running; variables are then as before the step of the plan that failed.
        """
        self._check_open()
        milliseconds = options.timeout_in_ms if options is not None else 0
        closed = (lambda: self._closed) if self.shares_state else None
        limited = run_limits.within(milliseconds or self._config.operation_timeout_in_ms, closed)
        with jax_compat.x64(), limited, trace.recording(options, run_metadata) as recorder:
            prepared, feeds = self._prepare(fetches, feed_dict)
            plan, values = self.compute(prepared, feeds)
        if run_metadata is not None:
            devices.fill_metadata(run_metadata, options, plan, self.placer.device_of)
            if recorder is not None:
                trace.fill(run_metadata, recorder, plan, self.placer.device_of, self.devices[0].name)
        return prepared.fetches.rebuild(values)

    def compute(self, prepared: PreparedRun, feeds: list[Any], result: Callable = fetched_value) -> tuple[Plan, list[Any]]:
        """Plans a prepared run where that was not done before, and executes it: the plan and what `result` makes of the fetched values."""
        while True:
            plan = self._plan_for(prepared, feeds)
            try:
                return plan, execute(plan, feeds, self, result)
            except WrongGuess:
                prepared.plans[prepared.plan_key(feeds, self.variable_state.values)].seen[input_shapes(feeds)].clear()
            except errors.FailedPreconditionError as e:
                if self._closed:  # by another thread, which has taken the variables away
                    raise errors.CancelledError(None, None, "Session has been closed.") from e
                raise

    def _prepare(self, fetches: Any, feed_dict: dict | None) -> tuple[PreparedRun, list[Any]]:
        """The prepared run and the converted feeds; made anew where they are not kept."""
        graph, prepared, given = self._graph, None, feed_dict or {}
        key = _run_key(fetches, given)
        if key is not None:
            prepared = self._prepared.get(key)
        if prepared is not None and prepared.graph_changes == graph._changes:
            return prepared, list(map(convert_feed, prepared.feeds, given.values()))
        if not graph._nodes:
            raise RuntimeError("The Session graph is empty.  Add operations to the graph before calling run().")
        feed_values = expand_feeds(graph, given)
        if not all(isinstance(part, (Tensor, str)) for part in given):
            return self._prepare(fetches, feed_values)
        feeds = list(map(convert_feed, feed_values, feed_values.values()))
        prepared = PreparedRun(Fetches(graph, fetches), list(feed_values), graph._changes)
        if key is not None and len(feed_values) == len(given):
            self._prepared[key] = prepared
        return prepared, feeds

    def _plan_for(self, prepared: PreparedRun, feeds: list[Any]) -> Plan:
        """The plan of a prepared run for feeds like these."""
        plan_key = prepared.plan_key(feeds, self.variable_state.values)
        plan = prepared.plans.get(plan_key)
        if plan is None or plan.is_stale:
            wanted = prepared.fetches
            plan = prepared.plans[plan_key] = self._plan(wanted.tensors, wanted.targets, prepared.feeds, feeds, is_first=plan is None)
        plan.take_run()
        return self._guessing(prepared, plan, feeds) if plan.seen else plan

    def _guessing(self, prepared: PreparedRun, plan: Plan, feeds: list[Any]) -> Plan:
        """The plan that takes growing arrays to be as long as in the last runs with feeds of these shapes, where that saves steps."""
        seen = plan.guess(input_shapes(feeds))
        if seen is None:
            return plan
        key = (prepared.plan_key(feeds, self.variable_state.values), seen)
        found = prepared.plans.get(key)
        if found is None or found.is_stale:
            assumed = {t: np.array(size, np.int32) for t, size in zip(plan.sizes, seen)}
            wanted = prepared.fetches
            found = self._plan(wanted.tensors, wanted.targets, prepared.feeds, feeds, assumed)
            found = prepared.plans[key] = found if len(found.steps) == len(found.clusters) == 1 else plan
        return found

    def _plan(
        self, fetched: list[Tensor], targets: list[Operation], fed: list[Tensor], feeds: list[Any],
        assumed: dict[Tensor, np.ndarray] | None = None, is_first: bool = False,
    ) -> Plan:  # fmt: skip
        ops = prune(fetched, targets, fed)
        check_fed_refs(ops, fed)
        self.placer.place(self._graph, ops)
        variables = self.variable_state.values
        status = {t: np.bool_(key in variables) for t, key in structure.asked_status(ops, set(fed))}
        known = fold(ops, set(fed), {**status, **(assumed or {})})
        items, known, guarded = structure.structure(ops, fetched, dict(zip(fed, feeds)), known)
        require_order(items, known)
        items = with_towers(items, fetched, fed, known, self.placer)
        plan = Partitioner(items, [*fetched, *structure.predicates_of(guarded)], fed, known, self.placer, assumed, is_first=is_first).plan()
        plan.guarded = guarded
        return plan

    def explain(self, fetches: Any, feed_dict: dict | None = None) -> str:
        """The plan of a run as text: compiled clusters, host steps, devices, variables read and written.

        `feed_dict` is as for `run`; tensors that it lacks count as not fed.
        """
        self._check_open()
        with jax_compat.x64():
            return self._plan_for(*self._prepare(fetches, feed_dict)).describe()

    def plan(self, fetches: Any, feed_dict: dict | None = None) -> Plan:
        """The plan of a run, for tests and tools."""
        self._check_open()
        with jax_compat.x64():
            return self._plan_for(*self._prepare(fetches, feed_dict))

    def make_callable(self, fetches: Any, feed_list: list | None = None, accept_options: bool = False) -> Callable:
        """A function of the values of `feed_list`, in order, that computes `fetches` with little overhead."""
        feed_list = list(feed_list or ())
        if not isinstance(feed_list, list):
            raise TypeError("`feed_list` must be a list or None.")
        Fetches(self._graph, fetches)
        expand_feeds(self._graph, {t: 0 for t in feed_list})

        def call(*values: Any, **options: Any) -> Any:
            if len(values) != len(feed_list):
                raise ValueError(f"Expected {len(feed_list)} feed values, got {len(values)}")
            if options and not accept_options:
                raise TypeError(f"unexpected arguments {sorted(options)}; pass accept_options=True to make_callable")
            return self.run(fetches, dict(zip(feed_list, values)), **options)

        return call

    def _make_callable_from_options(self, callable_options: Any) -> Callable:
        """A function as a CallableOptions message says: of the fed values, in order, to the list of fetched ones."""
        fetches, feeds, targets = (list(getattr(callable_options, f)) for f in ("fetch", "feed", "target"))
        run = self.make_callable([*fetches, *targets], feeds, accept_options=True)

        def call(*values: Any, run_metadata: Any = None) -> list[Any]:
            return run(*values, options=callable_options.run_options, run_metadata=run_metadata)[: len(fetches)]

        return call

    def partial_run_setup(self, fetches: Any, feeds: list | None = None) -> PartialRun:
        """Prepares a computation that is run in several `partial_run` calls; gives a handle for them.

        Raises:
          errors.InvalidArgumentError: nothing is to be fetched.
        """
        self._check_open()
        wanted = Fetches(self._graph, fetches)
        if not wanted.tensors and not wanted.targets:
            raise errors.InvalidArgumentError(None, None, "Must specify at least one target to fetch or execute.")
        fed = list(expand_feeds(self._graph, {part: 0 for key in feeds or () for part in fed_parts(key)}))
        return PartialRun(wanted.tensors, wanted.targets, fed)

    def partial_run(self, handle: PartialRun, fetches: Any, feed_dict: dict | None = None) -> Any:
        """Goes on with a computation: more feeds, more fetches; what ran before is not run again.

        Raises:
          errors.InvalidArgumentError: a tensor was not named at setup, or was fetched or fed before.
        """
        self._check_open()
        if not isinstance(handle, PartialRun):
            raise errors.InvalidArgumentError(None, None, "Must run 'setup' before performing partial runs!")
        wanted = Fetches(self._graph, fetches)
        feeds = {t: convert_feed(t, v) for t, v in expand_feeds(self._graph, feed_dict or {}).items()}
        with jax_compat.x64():
            values = handle.go_on(wanted, feeds, self, self._plan)
        return wanted.rebuild(values)

    # ---- state, for the stages and host kernels ----

    def is_initialized(self, handle: Tensor) -> bool:
        """Whether the variable behind a ref or resource tensor has a value."""
        return variable_key(variable_op(handle)) in self.variable_state.values

    def destroy_variable(self, handle: Tensor) -> None:
        """Forgets the value of the variable behind a ref or resource tensor."""
        with self.variable_state.lock:
            self.variable_state.values.pop(variable_key(variable_op(handle)), None)

    def large_constant(self, tensor: Tensor, value: Any, place: Any) -> jax.Array:
        """A constant as an array on a device or mesh, put there once."""
        found = self._large.get((tensor, place))
        if found is None:
            found = self._large[tensor, place] = jax.device_put(value, place)
        return found

    def _shared_variables(self) -> VariableState:
        if len(self._servers) == 1:
            return self._server.variable_state
        return local_servers.ClusterState(self._graph, self._task_of, self._servers)

    def _task_of(self, op: Operation) -> str:
        """The task that an operation is placed on."""
        return self.placer.device_of(op).name.partition("/device:")[0]

    def resources_of(self, op: Operation) -> dict[str, Any]:
        """The resources by name where an operation is: those of the server of its task, where that shares them, else the session's."""
        if not self.shares_state:
            return self.resources
        return (self._server if len(self._servers) == 1 else self._servers[self._task_of(op)]).resources

    def on_close(self, hook: Callable[[], None]) -> None:
        """Calls `hook` when the session is closed: queues and readers let go of waiting threads."""
        self._close_hooks.append(hook)
        if self._closed:
            hook()

    def _check_open(self) -> None:
        if self._closed:
            raise RuntimeError("Attempted to use a closed Session.")
        if self._server and self._server.resets != self._resets_of_server:
            raise errors.AbortedError(None, None, "The server of this Session was reset: make a new Session.")

    def close(self) -> None:
        """Frees variables and resources; running afterwards raises RuntimeError."""
        if not self._closed:
            self._closed = True
            run_limits.stop(self)
            for hook in self._close_hooks:
                hook()
            self._prepared.clear()
            self.loop_plans.clear()
            self._large.clear()
            if not self.shares_state:
                self.variable_state.clear()
            self.resources.clear()

    def as_default(self) -> Any:
        """Makes this the default session inside the block; leaving it does not close the session."""
        return SESSIONS.entered(self)


@export("Session")
class Session(BaseSession):
    """Runs operations of a graph; as a context manager also makes itself and its graph the default.

    Args:
      target: "", or the target of a tf.train.Server of this process; remote targets raise NotImplementedError.
      graph: the tf.Graph; by default the default graph.
      config: a ConfigProto.
    """

    def __init__(self, target: str = "", graph: Graph | None = None, config: Any = None) -> None:
        super().__init__(target, graph, config)
        self._contexts: list[tuple] = []

    def __enter__(self) -> Session:
        if self._contexts:
            raise RuntimeError(
                "Session context managers are not re-entrant. Use `Session.as_default()` if you want to enter a session "
                "multiple times."
            )
        graph_context, session_context = self.graph.as_default(), self.as_default()
        graph_context.__enter__()
        session_context.__enter__()
        self._contexts.append((graph_context, session_context))
        return self

    def __exit__(self, exc_type: Any, exc_value: Any, exc_tb: Any) -> None:
        graph_context, session_context = self._contexts.pop()
        session_context.__exit__(exc_type, exc_value, exc_tb)
        graph_context.__exit__(exc_type, exc_value, exc_tb)
        self.close()

    @staticmethod
    def reset(target: str, containers: list | None = None, config: Any = None) -> None:
        """Forgets the variables of a server of this process, or only those of some containers; its sessions are aborted.

        Raises:
          errors.InvalidArgumentError: `target` is "": the state of a session without a server ends with it.
          errors.NotFoundError: it is no target. NotImplementedError: it is another process.
        """
        server = local_servers.find(target)
        if server is None:
            raise errors.InvalidArgumentError(None, None, "Session.reset needs a target: the state of a local session ends with it.")
        server.reset(containers)


@export("InteractiveSession")
class InteractiveSession(BaseSession):
    """A Session that makes itself the default when it is made, for interactive use."""

    _active_session_count = 0

    def __init__(self, target: str = "", graph: Graph | None = None, config: Any = None) -> None:
        config = session_config() if config is None else copy.deepcopy(config)
        if isinstance(config, messages.ConfigProto):
            config.graph_options.place_pruned_graph = True
        super().__init__(target, graph, config)
        self._explicit_graph = graph
        self._graph_context = graph.as_default() if graph is not None else None
        if self._graph_context is not None:
            self._graph_context.__enter__()
        self._session_context = self.as_default()
        self._session_context.__enter__()
        if InteractiveSession._active_session_count > 0:
            warnings.warn(
                "An interactive session is already active. This can cause out-of-memory errors in some cases. You must "
                "explicitly call `InteractiveSession.close()` to release resources held by the other session(s).",
                stacklevel=2,
            )
        InteractiveSession._active_session_count += 1

    def close(self) -> None:
        """Closes the session and takes it from the default stack."""
        if self._closed:
            return
        super().close()
        InteractiveSession._active_session_count -= 1
        self._session_context.__exit__(None, None, None)
        if self._graph_context is not None:
            self._graph_context.__exit__(None, None, None)


@export("get_default_session")
def get_default_session() -> BaseSession | None:
    """The innermost session made the default in this thread, or None."""
    return SESSIONS.top()
