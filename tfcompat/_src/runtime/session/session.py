"""tf.Session: runs parts of a graph.

`BaseSession.run` shows the pipeline: prepare (resolve fetches and feeds, cached), plan (cached), execute, rebuild the fetch structure. The
stages are in the other modules of this folder.
"""

from __future__ import annotations

import contextlib
import copy
import warnings
from collections.abc import Callable, Collection, Hashable, Mapping, Sequence
from typing import Any

import numpy as np

from tfcompat._src.base import errors, jax_compat, mixed_precision_state, nan_search, process_settings, run_limits
from tfcompat._src.base.arrays import Array, NDArray
from tfcompat._src.base.default_stack import SESSIONS
from tfcompat._src.base.export import export
from tfcompat._src.base.recent import Recent
from tfcompat._src.base.session_like import SessionLike
from tfcompat._src.graph.graph import Graph
from tfcompat._src.graph.operation import Operation
from tfcompat._src.graph.scopes import get_default_graph
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.proto import messages
from tfcompat._src.runtime.debugging import cache_checks, failed_check
from tfcompat._src.runtime.debugging.debug_watches import is_watching
from tfcompat._src.runtime.debugging.debugged_run import DebuggedRun
from tfcompat._src.runtime.devices import devices, local_servers
from tfcompat._src.runtime.devices.placer import Placer
from tfcompat._src.runtime.host.fetched_value import fetched_value
from tfcompat._src.runtime.ir.plan import Plan, WrongGuess
from tfcompat._src.runtime.lowering.cluster_trace import input_shapes
from tfcompat._src.runtime.passes import pipeline as planner
from tfcompat._src.runtime.passes.plan_guards import Facts, GuardedCache
from tfcompat._src.runtime.passes.prune import prune
from tfcompat._src.runtime.session import run_metadata as trace
from tfcompat._src.runtime.session.config import session_config
from tfcompat._src.runtime.session.execute import execute
from tfcompat._src.runtime.session.fetches import (
    AnyShape,
    Fetches,
    convert_feed,
    convert_feeds,
    fed_tensors,
    is_plain_key,
    structure_key,
)
from tfcompat._src.runtime.session.partial_run import PartialRun
from tfcompat._src.runtime.session.partition_graphs import by_device, nodes_of
from tfcompat._src.runtime.session.run_metadata import Recorder
from tfcompat._src.runtime.session.session_interface import SessionInterface
from tfcompat._src.runtime.state.random_state import RandomState
from tfcompat._src.runtime.state.run_context import RunContext, SessionLife
from tfcompat._src.runtime.state.variable_state import VariableState

PREPARED_RUNS = 1024
"""For how many combinations of fetches and feeds a session keeps plans."""


class PreparedRun:
    """A resolved fetch structure and the plans made for it, cached for runs with the same fetches and feeds.

    What else a plan depends on are its guards: fed scalars that decide a branch (`training=True`), whether a variable has a value, ...
    """

    def __init__(self, fetches: Fetches, feeds: list[Tensor], graph_changes: int) -> None:
        self.fetches, self.feeds, self.graph_changes = fetches, feeds, graph_changes
        self.plans: GuardedCache[Plan] = GuardedCache()
        self.debugged: DebuggedRun | None = None


def _run_key(fetches: object, feed_dict: dict[Any, Any]) -> tuple[Any, ...] | None:
    """Returns the cache key of a prepared run, or None if a part of it cannot be hashed or the feeds are no mapping."""
    if not isinstance(feed_dict, (dict, Mapping)):
        return None
    try:
        key = (structure_key(fetches), *feed_dict)
        hash(key)
    except TypeError:
        return None
    return key


class BaseSession(SessionInterface):
    """A graph, the values of its variables, and the cached plans of its runs.

    Raises:
      TypeError: `graph`, `config` or `target` has a wrong type.
    """

    def __init__(self, target: str = "", graph: Graph | None = None, config: messages.ConfigProto | None = None) -> None:
        if graph is not None and not isinstance(graph, Graph):
            raise TypeError(f"graph must be a tf.Graph, but got {type(graph)}")
        process_settings.apply()
        if config is not None and not isinstance(config, messages.ConfigProto):
            raise TypeError(f"config must be a tf.ConfigProto, but got {type(config)}")
        if not isinstance(target, (str, bytes)):
            raise TypeError(f"target must be a string, but got {target!r}")
        self._graph = get_default_graph() if graph is None else graph
        self._target = target
        # Other processes run the steps (`_remote`), or this process does, perhaps with the variables of one of its servers (`_server`).
        self._remote = self._remote_session(config)
        self._server = server = None if self._remote else self._find_server()
        # Precedence of configs: the argument, the server's, the default of the process. Mixed precision rewrites the graph options.
        if config is None:
            config = server.config if server else session_config()
        self._config = config = mixed_precision_state.configured(config)
        self._prepared: Recent[Hashable, PreparedRun] = Recent(PREPARED_RUNS)
        self._servers = self._servers_of(config)
        self.context = self._make_context()
        self._resets_of_server = server.resets if server else 0

    def _make_context(self) -> RunContext:
        """Returns the state that all runs of the session share."""
        config, server, servers = self._config, self._server, self._servers
        session_devices = local_servers.devices_of(servers, config)
        placer = Placer(session_devices, config)
        # Sessions on one server share variables by default. As in TensorFlow 1.15, isolate_session_state and a ClusterDef in the config
        # (cluster propagation) give a session variables of its own.
        shared_in_cluster = config.experimental.share_session_state_in_clusterspec_propagation
        isolated = config.isolate_session_state or (config.cluster_def.job and not shared_in_cluster)
        shares_state = server is not None and not isolated
        variables = local_servers.shared_variables(self._graph, placer, servers) if shares_state else VariableState()
        by_task = {task: member.resources for task, member in servers.items()} if shares_state else {}
        life = SessionLife()
        return RunContext(
            life, config, server, variables, RandomState(), session_devices, placer, planner.Planner(placer), {}, life, by_task, shares_state
        )

    # ---- properties ----

    @property
    def graph(self) -> Graph:
        return self._graph

    @property
    def graph_def(self) -> messages.GraphDef:
        return self._graph.as_graph_def(add_shapes=self._config.graph_options.infer_shapes)

    @property
    def sess_str(self) -> str | bytes:
        return self._target

    @property
    def session(self) -> BaseSession:
        return self

    def list_devices(self) -> list[devices.DeviceAttributes]:
        """Returns the devices of the session.

        Raises:
          RuntimeError: the session is closed.
        """
        self._check_open()
        return self._remote.list_devices() if self._remote else devices.describe(self.context.devices)

    # ---- running ----

    def run(self, fetches: object, feed_dict: dict[Any, Any] | None = None, options: messages.RunOptions | None = None, run_metadata: messages.RunMetadata | None = None) -> Any:
        """Runs the operations that `fetches` need, and returns their values.

        Args:
          fetches: a Tensor, Operation, name, variable, or nested lists, tuples and dicts of them.
          feed_dict: values that replace tensors in this run, by Tensor or name.
          options: a RunOptions message. run_metadata: a RunMetadata message that is filled in.

        Returns:
          NumPy values in the structure of `fetches`; None for an Operation.

        Raises:
          RuntimeError: the session is closed or the graph empty. TypeError, ValueError: fetches or feeds are not of this graph.
          errors.OpError: an operation failed. Steps of the plan before the failing one keep their effects; the failing one changes no variable.
          errors.UnimplementedError: the options ask for the debugger, and other processes run the steps.
        """
        self._check_open()
        try:
            return self._run(fetches, feed_dict, options, run_metadata)
        except errors.OpError as e:
            e.name_node()
            raise

    def _run(self, fetches: object, feed_dict: dict[Any, Any] | None, options: messages.RunOptions | None, run_metadata: messages.RunMetadata | None) -> Any:
        """Runs as `run` does; errors do not name their node in the text."""
        watched = options is not None and is_watching(options)
        if self._remote:
            if watched:
                raise errors.UnimplementedError(
                    None, None, f"tfcompat's debugger cannot watch runs in other processes, and those of the target {self._target!r} are. "
                    "Run without debug_options, or in a session whose target is in this process."
                )  # fmt: skip
            return self._remote.run(fetches, feed_dict, options, run_metadata)
        # A run is cancelled at its time limit; one that shares a server's state also when the session is closed.
        milliseconds = options.timeout_in_ms if options is not None else 0
        closed = self._stops_waiting if self.context.shares_state else None
        milliseconds = milliseconds or self._config.operation_timeout_in_ms
        # The debugger runs the graph in another form and records every watched tensor.
        if watched and options is not None:
            with jax_compat.x64(), run_limits.within(milliseconds, closed), trace.recording(options, run_metadata) as recorder:
                prepared, feeds = self._prepare(fetches, feed_dict)
                debugged = self._debugged(prepared)
                values = debugged.run(feeds, options.debug_options, run_metadata)
            if run_metadata is not None and recorder is not None:
                trace.fill(run_metadata, recorder, debugged.constants, self.context.placer.device_of, self.context.devices[0].name)
            return prepared.fetches.rebuild(values)
        # The common case, without the cost of limits and traces.
        if run_metadata is None and closed is None and not milliseconds:
            with jax_compat.x64():
                prepared, feeds = self._prepare(fetches, feed_dict)
                values = self._computed(prepared, feeds)[1]
            return prepared.fetches.rebuild(values)
        limited = run_limits.within(milliseconds, closed)
        with jax_compat.x64(), limited, trace.recording(options, run_metadata) as recorder:
            prepared, feeds = self._prepare(fetches, feed_dict)
            plan, values = self._computed(prepared, feeds)
        if run_metadata is not None:
            self._describe(run_metadata, options, prepared, plan, recorder)
        return prepared.fetches.rebuild(values)

    def _describe(
        self, run_metadata: messages.RunMetadata, options: messages.RunOptions | None, prepared: PreparedRun, plan: Plan, recorder: Recorder | None
    ) -> None:
        """Fills in the RunMetadata of a run: pruned graphs by device if asked for, and the times of the steps."""
        run_metadata.Clear()
        if options is not None and options.output_partition_graphs:
            wanted = prepared.fetches
            ops = prune(wanted.tensors, wanted.targets, prepared.feeds)
            nodes = nodes_of(ops, prepared.feeds, wanted.tensors, self.context.placer.device_of)
            run_metadata.partition_graphs.extend(by_device(node for node, _ in nodes).values())
        if recorder is not None:
            trace.fill(run_metadata, recorder, plan.leaves(), self.context.placer.device_of, self.context.devices[0].name)

    def _computed(self, prepared: PreparedRun, feeds: Sequence[object]) -> tuple[Plan, list[object]]:
        """Calls `compute`, and explains a failed check of numbers; under `tfcompat run --debug-nans` it searches for the first bad tensor.

        Raises:
          errors.InvalidArgumentError: a check failed; the message names the operation that made the number, if it was found.
        """
        if nan_search.Switch.is_on:
            return self._debugged(prepared).search(feeds)
        try:
            return self.compute(prepared, feeds, self.context)
        except errors.InvalidArgumentError as e:
            explained = failed_check.explained(e, self, self._plan_for(prepared, feeds, self.context), feeds)
            if explained is None:
                raise
            raise explained from None

    def _debugged(self, prepared: PreparedRun) -> DebuggedRun:
        """Returns the debugged form of a prepared run, made at first use."""
        if prepared.debugged is None:
            wanted = prepared.fetches
            prepared.debugged = DebuggedRun(self, wanted.tensors, wanted.targets, prepared.feeds)
        return prepared.debugged

    def compute(
        self, prepared: PreparedRun, feeds: Sequence[object], context: RunContext, result: Callable[..., object] = fetched_value, lent: bool = True
    ) -> tuple[Plan, list[object]]:  # fmt: skip
        """Plans a prepared run unless that is cached, executes it, and returns the plan with `result` of each fetched value.

        Args:
          feeds: in the order of prepared.feeds. result: converts a fetched value for the caller.
          lent: whether feeds are arrays of the user, who may change them after the run.

        Raises:
          errors.OpError: an operation failed. errors.CancelledError: another thread closed the session.
        """
        # A plan may guess sizes of TensorArrays. A wrong guess is detected before anything changes; the run then starts again without it.
        while True:
            usual = self._plan_for(prepared, feeds, context)
            plan = self._guessing(prepared, usual, feeds, context) if usual.seen else usual
            try:
                return plan, execute(plan, feeds, context, result, lent)
            except WrongGuess:
                # The sizes of these feed shapes are not constant: forget them, so that the next runs do not guess.
                usual.seen.pop(input_shapes(feeds), None)
            except (errors.FailedPreconditionError, errors.NotFoundError) as e:
                if self.context.life.is_over:  # by another thread, which has taken the variables away
                    raise errors.CancelledError(None, None, "Session has been closed.") from e
                raise

    def _prepare(self, fetches: object, feed_dict: dict[Any, Any] | None) -> tuple[PreparedRun, list[Array]]:
        """Returns the prepared run, cached if possible, and the converted feeds.

        Raises:
          RuntimeError: the graph is empty. TypeError, ValueError: fetches or feeds are not of this graph.
        """
        graph, prepared, given = self._graph, None, feed_dict or {}
        # The short path: same fetches and feeds, unchanged graph. Then only the fed values are converted.
        key = _run_key(fetches, given)
        if key is not None:
            prepared = self._prepared.get(key)
        if prepared is not None and prepared.graph_changes == graph._changes:
            return prepared, list(map(convert_feed, prepared.feeds, given.values(), given))
        if not graph._nodes:
            raise RuntimeError("The Session graph is empty.  Add operations to the graph before calling run().")
        feeds = convert_feeds(graph, given)
        # Keys such as SparseTensor stand for several tensors: their runs are cached by these.
        if not all(map(is_plain_key, given)):
            key = _run_key(fetches, feeds)
            prepared = self._prepared.get(key) if key is not None else None
        # Two keys may name one tensor (by name and as a Tensor): then values do not correspond to keys, and nothing is cached.
        elif len(feeds) < len(given):
            key = None
        if prepared is None or prepared.graph_changes != graph._changes:
            prepared = PreparedRun(Fetches(graph, fetches), list(feeds), graph._changes)
            if key is not None:
                self._prepared[key] = prepared
        return prepared, list(feeds.values())

    def _plan_for(self, prepared: PreparedRun, feeds: Sequence[object], context: RunContext) -> Plan:
        """Returns the plan of a prepared run for these feeds, from the cache if one's guards hold."""
        plan = prepared.plans.find(prepared.feeds, feeds, context.variable_state.values)
        if plan is not None and not cache_checks.Switch.is_on:
            return plan
        wanted = prepared.fetches
        new = self._plan(wanted.tensors, wanted.targets, prepared.feeds, feeds, context)
        if plan is None:
            return prepared.plans.add(new)
        cache_checks.same_plan(plan, new)
        return plan

    def _guessing(self, prepared: PreparedRun, plan: Plan, feeds: Sequence[object], context: RunContext) -> Plan:
        """Returns a plan that assumes the TensorArray lengths of the last runs with these feed shapes, if it is one compiled call; else `plan`."""
        seen = plan.guess(input_shapes(feeds))
        if seen is None:
            return plan
        guesses = plan.guesses.of(seen)
        guessing = guesses.find(prepared.feeds, feeds, context.variable_state.values)
        if guessing is None:
            assumed = {t: np.array(size, np.int32) for t, size in zip(plan.sizes, seen)}
            wanted = prepared.fetches
            guessing = guesses.add(self._plan(wanted.tensors, wanted.targets, prepared.feeds, feeds, context, assumed))
        # A plan of several steps gains nothing.
        return guessing if len(guessing.steps) == len(guessing.clusters) == 1 else plan

    def _plan(
        self, fetched: list[Tensor], targets: list[Operation], fed: list[Tensor], feeds: Sequence[object], context: RunContext,
        assumed: dict[Tensor, NDArray] | None = None, ran: Collection[Operation] = (),
    ) -> Plan:  # fmt: skip
        """Makes a plan. `assumed` are guessed sizes that the run checks; `ran` are operations that an earlier partial run has done."""
        facts = Facts(dict(zip(fed, feeds)), context.variable_state.values)
        return context.planner.plan(self._graph, planner.Request(fetched, targets, fed, facts, assumed, ran=ran))

    def explain(self, fetches: object, feed_dict: dict[Any, Any] | None = None) -> str:
        """Returns the plan of a run as text: compiled clusters, host steps, devices, variables read and written.

        `feed_dict` is as for `run`; tensors that it lacks count as not fed.

        Raises:
          NotImplementedError: other processes run the steps of this session.
        """
        text = self.plan(fetches, feed_dict).describe(self.context.placer)
        prepared, _ = self._prepare(fetches, feed_dict)
        return f"{text}\nplans of these fetches and feeds: {len(prepared.plans)}; the {prepared.plans.bound} that were used last are kept"

    def plan(self, fetches: object, feed_dict: dict[Any, Any] | None = None) -> Plan:
        """Returns the plan of a run, for tests and tools; runs nothing.

        Raises:
          NotImplementedError: other processes run the steps of this session.
        """
        self._check_open()
        if self._remote:
            raise NotImplementedError(
                f"tfcompat cannot show the plans of other processes, which run the steps of the target {self._target!r}. "
                "Ask a session without a target on the same graph."
            )
        with jax_compat.x64():
            prepared, feeds = self._prepare(fetches, feed_dict)
            plan = self._plan_for(prepared, feeds, self.context)
            return self._guessing(prepared, plan, feeds, self.context) if plan.seen else plan

    def make_callable(self, fetches: object, feed_list: Sequence[object] | None = None, accept_options: bool = False) -> Callable[..., Any]:
        """Returns a function of the values of `feed_list`, in order, that runs `fetches`.

        Args:
          accept_options: whether the function takes the keywords `options` and `run_metadata`.

        Raises:
          TypeError: `feed_list` is no list or tuple. ValueError: a fetch or feed is not of this graph.
        """
        if not isinstance(feed_list, (list, tuple, type(None))):
            raise TypeError("`feed_list` must be a list or tuple.")
        fed = list(feed_list or ())
        # For their errors, which belong here and not to the first call.
        Fetches(self._graph, fetches)
        fed_tensors(self._graph, fed)

        def call(*values: object, **options: messages.RunOptions | messages.RunMetadata | None) -> Any:
            if len(values) != len(fed):
                raise ValueError(f"Expected {len(fed)} feed values, got {len(values)}")
            if options and not accept_options:
                raise TypeError(f"unexpected arguments {sorted(options)}; pass accept_options=True to make_callable")
            return self.run(fetches, dict(zip(fed, values)), **options)

        return call

    def _make_callable_from_options(self, callable_options: messages.CallableOptions) -> Callable[..., Any]:
        """Returns the function that a CallableOptions message describes: of the fed values, in order, to the list of fetched ones.

        The name of an operation among feeds and fetches means its first output.
        """
        fetches, feeds = ([n if ":" in n else n + ":0" for n in names] for names in (callable_options.fetch, callable_options.feed))
        targets = list(callable_options.target)
        run = self.make_callable([*fetches, *targets], feeds, accept_options=True)

        def call(*values: object, run_metadata: messages.RunMetadata | None = None) -> list[object]:
            values_of_all: list[object] = run(*map(AnyShape, values), options=callable_options.run_options, run_metadata=run_metadata)
            return values_of_all[: len(fetches)]

        return call

    def partial_run_setup(self, fetches: object, feeds: Sequence[object] | None = None) -> Any:
        """Prepares a computation that several `partial_run` calls run in parts; returns the handle for them.

        Raises:
          errors.InvalidArgumentError: `fetches` is empty.
        """
        self._check_open()
        if self._remote:
            return self._remote.partial_run_setup(fetches, feeds)
        # Only the structure is kept here: each part is planned when it is asked for, without the operations that have run.
        wanted = Fetches(self._graph, fetches)
        if not wanted.tensors and not wanted.targets:
            raise errors.InvalidArgumentError(None, None, "Must specify at least one target to fetch or execute.")
        fed = fed_tensors(self._graph, feeds or ())
        return PartialRun(wanted.tensors, wanted.targets, fed)

    def partial_run(self, handle: PartialRun, fetches: object, feed_dict: dict[Any, Any] | None = None) -> Any:
        """Continues a computation with more feeds and fetches; operations that have run are not run again.

        Raises:
          errors.InvalidArgumentError: a tensor was not named at setup, or was fetched or fed before, or `handle` is none of `partial_run_setup`.
        """
        self._check_open()
        if self._remote:
            return self._remote.partial_run(handle, fetches, feed_dict)
        if not isinstance(handle, PartialRun):
            raise errors.InvalidArgumentError(None, None, "Must run 'setup' before performing partial runs!")
        wanted = Fetches(self._graph, fetches)
        feeds = convert_feeds(self._graph, feed_dict or {})
        try:
            with jax_compat.x64():
                values = handle.go_on(wanted.tensors, wanted.targets, feeds, self._compute_part)
                return wanted.rebuild([fetched_value(t, values, self.context) for t in wanted.tensors])
        except errors.OpError as e:
            e.name_node()
            raise

    def _compute_part(
        self, fetched: list[Tensor], targets: list[Operation], feeds: dict[Tensor, object], ran: Collection[Operation]
    ) -> list[object]:
        """Computes tensors for the next parts: unconverted values, and for refs the value of the variable."""

        # Values stay on their device between the parts; only a fetch converts them.
        def kept(tensor: Tensor, values: dict[Tensor, object], context: RunContext) -> object:
            return values[tensor] if tensor in values else fetched_value(tensor, values, context)

        given = list(feeds.values())
        return execute(self._plan(fetched, targets, list(feeds), given, self.context, ran=ran), given, self.context, kept)

    # ---- servers ----

    def _remote_session(self, config: messages.ConfigProto | None) -> local_servers.RemoteSession | None:
        """Returns the session of a cluster if other processes run the steps, else None."""
        return local_servers.remote_session(self._target, self._graph, config)

    def _find_server(self) -> local_servers.LocalServer | None:
        """Returns the server of this process that the target names, or None."""
        return local_servers.find(self._target)

    def _servers_of(self, config: messages.ConfigProto) -> dict[str, local_servers.LocalServer]:
        """Returns the servers whose devices the session has, by task name."""
        return local_servers.servers_of(self._server, config)

    def _stops_waiting(self) -> bool:
        """Whether blocking operations of this session's runs must return, because the session was closed."""
        return self.context.life.is_over

    def _check_open(self) -> None:
        """Raises RuntimeError if the session is closed, AbortedError if its server was reset."""
        if self.context.life.is_over:
            raise RuntimeError("Attempted to use a closed Session.")
        if self._server and self._server.resets != self._resets_of_server:
            raise errors.AbortedError(None, None, "The server of this Session was reset: make a new Session.")

    def close(self) -> None:
        """Frees variables and resources, and cancels runs of other threads; a later run raises RuntimeError."""
        context = self.context
        if not context.life.is_over:
            # First wake the threads that wait in this session's runs, then free what they use.
            run_limits.stop(context.life)
            context.life.end()
            self._prepared.clear()
            context.loop_plans.clear()
            context.large_constants.clear()
            if not context.shares_state:
                context.variable_state.clear()
            if context.resources_life is context.life:
                context.resources.clear()
            if self._remote:
                self._remote.close()

    def as_default(self) -> contextlib.AbstractContextManager[SessionLike]:
        """Makes this the default session inside of its `with` block; leaving the block does not close the session."""
        return SESSIONS.entered(self)


@export("Session")
class Session(BaseSession):
    """Runs operations of a graph; as a context manager, makes itself and its graph the default and closes itself at the end.

    Args:
      target: "", or the target of a tf.train.Server of this process or another: "grpc://HOST:PORT".
      graph: the tf.Graph; by default the default graph.
      config: a ConfigProto.
    """

    def __init__(self, target: str = "", graph: Graph | None = None, config: messages.ConfigProto | None = None) -> None:
        super().__init__(target, graph, config)
        self._contexts: list[tuple[Any, ...]] = []

    def __enter__(self) -> Session:
        if self._contexts:
            raise RuntimeError(
                "Session context managers are not re-entrant. Use `Session.as_default()` if you want to enter a session "
                "multiple times."
            )
        # Both contexts are kept in one list entry, so that __exit__ leaves them in reverse order.
        graph_context, session_context = self.graph.as_default(), self.as_default()
        graph_context.__enter__()
        session_context.__enter__()
        self._contexts.append((graph_context, session_context))
        return self

    def __exit__(self, exc_type: object, exc_value: object, exc_tb: object) -> None:
        graph_context, session_context = self._contexts.pop()
        session_context.__exit__(exc_type, exc_value, exc_tb)
        graph_context.__exit__(exc_type, exc_value, exc_tb)
        self.close()

    @staticmethod
    def reset(target: str, containers: Sequence[str] | None = None, config: messages.ConfigProto | None = None) -> None:
        """Deletes the variables and resources in containers (by default in that of each job) of a server and its cluster, and aborts its sessions.

        Raises:
          errors.InvalidArgumentError: `target` is "": a session without a server has no state beside its own.
          errors.NotFoundError: there is no server with this target.
        """
        local_servers.reset(target, containers, config)


@export("InteractiveSession")
class InteractiveSession(BaseSession):
    """A Session that becomes the default when it is created, for interactive use.

    Args:
      target, graph, config: as for `tf.Session`.
    """

    _active_session_count = 0

    def __init__(self, target: str = "", graph: Graph | None = None, config: messages.ConfigProto | None = None) -> None:
        config = session_config() if config is None else copy.deepcopy(config)
        # As in TensorFlow 1.15: the graph grows between runs, and a device error in nodes that nobody runs yet must not stop the others.
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
        """Closes the session and removes it, and its graph, from the default stacks."""
        if self.context.life.is_over:
            return
        super().close()
        InteractiveSession._active_session_count -= 1
        self._session_context.__exit__(None, None, None)
        if self._graph_context is not None:
            self._graph_context.__exit__(None, None, None)


@export("get_default_session")
def get_default_session() -> SessionLike | None:
    """Returns the innermost default session of this thread, or None."""
    return SESSIONS.top()
