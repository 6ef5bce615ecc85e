"""Sessions around sessions: what all debugger sessions have in common.

A subclass says in `on_run_start` what becomes of a run (watched, profiled, or neither), and is told of its end in `on_run_end`.
"""

from __future__ import annotations

import abc
import contextlib
import re
import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from tfcompat._src.base import errors, nest
from tfcompat._src.base.default_stack import SESSIONS
from tfcompat._src.debug import debug_utils
from tfcompat._src.debug.debug_utils import Names
from tfcompat._src.platform import logging
from tfcompat._src.proto import messages
from tfcompat._src.runtime.session.session import BaseSession
from tfcompat._src.runtime.session.session_interface import SessionInterface
from tfcompat._src.train.monitored_session import MonitoredSession
from tfcompat._src.train.session_wrappers import StepContext


def _check_type(value: object, expected: type | tuple[type, ...]) -> None:
    if not isinstance(value, expected):
        raise TypeError(f"Expected type {expected}; got type {type(value)}")


class OnSessionInitRequest:
    """Tells a debugger session at its making what it is around: `session`, a tf.Session or MonitoredSession."""

    def __init__(self, sess: object) -> None:
        _check_type(sess, (BaseSession, MonitoredSession))
        self.session = sess


class OnSessionInitAction:
    """What a debugger session does at its making: PROCEED lets the program run it; REMOTE_INSTR_LOOP is not implemented."""

    PROCEED = "proceed"
    REMOTE_INSTR_LOOP = "remote_instr_loop"


class OnSessionInitResponse:
    """The answer to OnSessionInitRequest: `action`, an OnSessionInitAction."""

    def __init__(self, action: str) -> None:
        _check_type(action, str)
        self.action = action


class OnRunStartRequest:
    """Tells a debugger session of a run: its arguments, the number of the run (the first is 1), and whether it is one of a callable."""

    def __init__(
        self, fetches: object, feed_dict: object, run_options: object, run_metadata: messages.RunMetadata, run_call_count: int, is_callable_runner: bool = False
    ) -> None:  # fmt: skip
        self.fetches, self.feed_dict, self.run_options, self.run_metadata = fetches, feed_dict, run_options, run_metadata
        self.run_call_count, self.is_callable_runner = run_call_count, is_callable_runner


class OnRunStartAction:
    """What becomes of a run: it is watched, profiled, or neither."""

    DEBUG_RUN = "debug_run"
    PROFILE_RUN = "profile_run"
    NON_DEBUG_RUN = "non_debug_run"


class OnRunStartResponse:
    """The answer to OnRunStartRequest.

    Args:
      action: an OnRunStartAction. debug_urls: a list of the URLs that debug ops write to. The others are as for `watch_graph`.
    """

    def __init__(
        self, action: str, debug_urls: list[str], debug_ops: Names = "DebugIdentity", node_name_regex_whitelist: str | None = None,
        op_type_regex_whitelist: str | None = None, tensor_dtype_regex_whitelist: str | None = None,
        tolerate_debug_op_creation_failures: bool = False,
    ) -> None:  # fmt: skip
        _check_type(action, str)
        _check_type(debug_urls, list)
        self.action, self.debug_urls, self.debug_ops = action, debug_urls, debug_ops
        self.node_name_regex_whitelist = node_name_regex_whitelist
        self.op_type_regex_whitelist = op_type_regex_whitelist
        self.tensor_dtype_regex_whitelist = tensor_dtype_regex_whitelist
        self.tolerate_debug_op_creation_failures = tolerate_debug_op_creation_failures


class OnRunEndRequest:
    """Tells a debugger session of the end of a run.

    Args:
      performed_action: the OnRunStartAction. run_metadata: the RunMetadata of the run. client_graph_def: the GraphDef of the whole graph.
      tf_error: the OpError that ended the run, or None.
    """

    def __init__(self, performed_action: str, run_metadata: messages.RunMetadata | None = None, client_graph_def: Any = None, tf_error: Any = None) -> None:
        _check_type(performed_action, str)
        if run_metadata is not None:
            _check_type(run_metadata, messages.RunMetadata)
        self.performed_action, self.run_metadata = performed_action, run_metadata
        self.client_graph_def, self.tf_error = client_graph_def, tf_error


class OnRunEndResponse:
    """The answer to OnRunEndRequest."""


class WatchOptions:
    """What a `watch_fn` returns: which tensors of a run are watched, and by which debug ops. The arguments are as for `watch_graph`."""

    def __init__(
        self, debug_ops: Names | None = None, node_name_regex_whitelist: str | None = None, op_type_regex_whitelist: str | None = None,
        tensor_dtype_regex_whitelist: str | None = None, tolerate_debug_op_creation_failures: bool = False,
    ) -> None:  # fmt: skip
        self.debug_ops = debug_ops or ["DebugIdentity"]
        self.node_name_regex_whitelist = node_name_regex_whitelist
        self.op_type_regex_whitelist = op_type_regex_whitelist
        self.tensor_dtype_regex_whitelist = tensor_dtype_regex_whitelist
        self.tolerate_debug_op_creation_failures = tolerate_debug_op_creation_failures

    def __repr__(self) -> str:
        return f"WatchOptions({', '.join(f'{name}={value!r}' for name, value in vars(self).items())})"


class BaseDebugWrapperSession(SessionInterface, abc.ABC):
    """A session whose runs a debugger sees.

    Args:
      sess: the tf.Session or MonitoredSession that runs them.
      thread_name_filter: a regular expression; runs in threads whose names do not begin with a match are let through.
      pass_through_operrors: whether an OpError of a debugged run is raised; it is else the run's result.

    Raises:
      TypeError: `sess` is neither. NotImplementedError, ValueError: `on_session_init` gives no action that there is.
    """

    def __init__(self, sess: Any, thread_name_filter: str | None = None, pass_through_operrors: bool | None = False) -> None:
        _check_type(sess, (BaseSession, MonitoredSession))
        self._sess = sess
        self._thread_name_filter_pattern = re.compile(thread_name_filter) if thread_name_filter else None
        self._pass_through_operrors = pass_through_operrors
        self._run_call_count = 0
        self._watched: tuple[int, list[Any], messages.DebugOptions] | None = None
        self._graph_def: tuple[int, messages.GraphDef] | None = None
        self._entered: list[contextlib.AbstractContextManager[Any]] = []
        self._callables: dict[int, tuple[messages.CallableOptions, Callable[..., Any]]] = {}
        response = self.on_session_init(OnSessionInitRequest(sess))
        _check_type(response, OnSessionInitResponse)
        if response.action == OnSessionInitAction.REMOTE_INSTR_LOOP:
            raise NotImplementedError("OnSessionInitAction REMOTE_INSTR_LOOP has not been implemented.")
        if response.action != OnSessionInitAction.PROCEED:
            raise ValueError(f"Invalid OnSessionInitAction value: {response.action}")

    # ---- what a subclass says ----

    @abc.abstractmethod
    def on_session_init(self, request: OnSessionInitRequest) -> OnSessionInitResponse:
        """Called at the end of the making of the session."""

    @abc.abstractmethod
    def on_run_start(self, request: OnRunStartRequest) -> OnRunStartResponse:
        """Called before each run; says what becomes of it."""

    @abc.abstractmethod
    def on_run_end(self, request: OnRunEndRequest) -> OnRunEndResponse:
        """Called after each run."""

    def _is_disk_usage_reset_each_run(self) -> bool:
        """Whether every run may dump as much as TFDBG_DISK_BYTES_LIMIT says, as its dump is removed after it."""
        return False

    # ---- what is asked of the session inside ----

    @property
    def graph(self) -> Any:
        """The tf.Graph of the session."""
        return self._sess.graph

    @property
    def graph_def(self) -> Any:
        """The GraphDef of the session."""
        return self._sess.graph_def

    @property
    def sess_str(self) -> Any:
        """The target of the session."""
        return self._sess.sess_str

    @property
    def session(self) -> Any:
        """The session that runs."""
        return self._sess

    @property
    def run_call_count(self) -> int:
        """How many runs there were."""
        return self._run_call_count

    def increment_run_call_count(self) -> None:
        """Counts one more run."""
        self._run_call_count += 1

    def list_devices(self, *args: Any, **kwargs: Any) -> Any:
        """The devices of the session."""
        return self._sess.list_devices(*args, **kwargs)

    def reset(self, *args: Any, **kwargs: Any) -> Any:
        """Resets the session."""
        return self._sess.reset(*args, **kwargs)

    def close(self) -> None:
        """Closes the session."""
        self._sess.close()

    def should_stop(self) -> bool:
        """Whether a MonitoredSession should stop; ValueError where the session is no such."""
        if not hasattr(self._sess, "should_stop"):
            raise ValueError(
                f"The wrapped session {self._sess!r} does not have a method called 'should_stop'. Do you intend to wrap a tf.MonitoredSession instead?"
            )
        found: bool = self._sess.should_stop()
        return found

    def partial_run_setup(self, fetches: Any, feeds: Any = None) -> Any:
        """Raises NotImplementedError."""
        raise NotImplementedError("partial_run_setup is not implemented for debug-wrapper sessions.")

    def partial_run(self, handle: Any, fetches: Any, feed_dict: Any = None) -> Any:
        """Raises NotImplementedError."""
        raise NotImplementedError("partial_run is not implemented for debug-wrapper sessions.")

    def as_default(self) -> contextlib.AbstractContextManager[Any]:
        """A block in which this is the default session."""
        return SESSIONS.entered(self)

    def __enter__(self) -> Any:
        context = self.as_default()
        self._entered.append(context)
        return context.__enter__()

    def __exit__(self, *error: Any) -> None:
        self._entered.pop().__exit__(*error)

    # ---- runs ----

    def run(
        self, fetches: Any, feed_dict: Any = None, options: Any = None, run_metadata: Any = None, callable_runner: Callable[..., Any] | None = None,
        callable_runner_args: Sequence[Any] | None = None, callable_options: Any = None,
    ) -> Any:  # fmt: skip
        """Runs as the session, seen by the debugger.

        Args:
          fetches, feed_dict, options, run_metadata: as for `tf.Session.run`.
          callable_runner: what `make_callable` of the session gave, in place of fetches; `callable_options`: a CallableOptions message,
            likewise; `callable_runner_args` are the values that it is called with.

        Returns:
          what the session gives; an OpError, unless it is to be raised.

        Raises:
          ValueError: arguments exclude each other, or `on_run_start` gives no action that there is.
        """
        _check_arguments(fetches, feed_dict, callable_runner, callable_options)
        self.increment_run_call_count()
        run = self._runner(fetches, feed_dict, callable_runner, callable_runner_args or (), callable_options)
        is_empty = _is_empty(fetches)
        if is_empty:
            logging.info("Due to empty fetches, tfdbg Session wrapper is letting a Session.run pass through without any debugging actions.")
        if is_empty or self._is_disabled_thread():
            return run(options, run_metadata)
        request = OnRunStartRequest(fetches, feed_dict, options, run_metadata, self._run_call_count, is_callable_runner=bool(callable_runner))
        response = self.on_run_start(request)
        _check_type(response, OnRunStartResponse)
        if response.action == OnRunStartAction.NON_DEBUG_RUN:
            found, end = run(options, run_metadata), OnRunEndRequest(response.action)
        elif response.action in (OnRunStartAction.DEBUG_RUN, OnRunStartAction.PROFILE_RUN):
            options = self._options_of(options, callable_options)
            found, end = self._run_seen(response, run, options, run_metadata or messages.RunMetadata())
        else:
            raise ValueError(f"Invalid OnRunStartAction value: {response.action}")
        _check_type(self.on_run_end(end), OnRunEndResponse)
        return found

    def _run_seen(
        self, response: OnRunStartResponse, run: Callable[[Any, Any], Any], options: messages.RunOptions, metadata: messages.RunMetadata
    ) -> tuple[Any, OnRunEndRequest]:  # fmt: skip
        """A run that is watched or profiled: its result, and what `on_run_end` is told."""
        error = None
        if response.action == OnRunStartAction.PROFILE_RUN:
            self._decorate_run_options_for_profile(options)
            found = run(options, metadata)
        else:
            self._decorate_run_options_for_debug(
                options, response.debug_urls, response.debug_ops, response.node_name_regex_whitelist, response.op_type_regex_whitelist,
                response.tensor_dtype_regex_whitelist, response.tolerate_debug_op_creation_failures,
            )  # fmt: skip
            try:
                found = run(options, metadata)
            except errors.OpError as e:
                if self._pass_through_operrors:
                    raise
                found = error = e
        return found, OnRunEndRequest(response.action, metadata, self._client_graph_def(), error)

    @staticmethod
    def _options_of(options: object, callable_options: Any) -> messages.RunOptions:
        """The options that watches are put into: the caller's own, but for a copy of those in a CallableOptions."""
        if callable_options is None:
            return options or messages.RunOptions()
        copied = messages.RunOptions()
        copied.CopyFrom(callable_options.run_options)
        return copied

    def _runner(
        self, fetches: object, feed_dict: object, callable_runner: Callable[..., Any] | None, args: Sequence[Any], callable_options: object
    ) -> Callable[[Any, Any], Any]:  # fmt: skip
        """A function of options and metadata that runs in the session."""
        if callable_runner:
            return lambda options, metadata: callable_runner(*args, options=options, run_metadata=metadata)
        if callable_options is not None:
            return lambda options, metadata: self._call_with(callable_options, options)(*args, run_metadata=metadata)
        return lambda options, metadata: self._sess.run(fetches, feed_dict=feed_dict, options=options, run_metadata=metadata)

    def _call_with(self, callable_options: object, options: object) -> Callable[..., Any]:
        """The callable of a CallableOptions message, with other options if they are given."""
        wanted = messages.CallableOptions()
        wanted.CopyFrom(callable_options)
        if options is not None:
            wanted.run_options.CopyFrom(options)
        kept = self._callables.get(id(callable_options))
        if kept is None or kept[0] != wanted:
            kept = self._callables[id(callable_options)] = (wanted, self._sess._make_callable_from_options(wanted))
        return kept[1]

    def make_callable(self, fetches: object, feed_list: object = None, accept_options: bool = False) -> Callable[..., Any]:
        """A function of the values of `feed_list` that computes `fetches`, seen by the debugger."""
        runner = self._sess.make_callable(fetches, feed_list=feed_list, accept_options=True)

        def call(*values: Any, options: object = None, run_metadata: messages.RunMetadata | None = None) -> Any:
            return self.run(None, options=options, run_metadata=run_metadata, callable_runner=runner, callable_runner_args=values)

        return call

    def _make_callable_from_options(self, callable_options: object) -> Callable[..., Any]:
        def call(*values: Any, run_metadata: messages.RunMetadata | None = None) -> Any:
            return self.run(None, run_metadata=run_metadata, callable_options=callable_options, callable_runner_args=values)

        return call

    def run_step_fn(self, step_fn: Callable[[StepContext], Any]) -> Any:
        """Calls a function with a StepContext of the session, whose `run_with_hooks` the debugger sees."""
        return step_fn(StepContext(self._sess, self.run))

    def _is_disabled_thread(self) -> bool:
        pattern = self._thread_name_filter_pattern
        return pattern is not None and not pattern.match(threading.current_thread().name)

    def _decorate_run_options_for_debug(
        self, run_options: messages.RunOptions, debug_urls: Names, debug_ops: Names = "DebugIdentity",
        node_name_regex_whitelist: str | None = None, op_type_regex_whitelist: str | None = None,
        tensor_dtype_regex_whitelist: str | None = None, tolerate_debug_op_creation_failures: bool = False,
    ) -> None:  # fmt: skip
        """Has a run write its graphs and watched tensors; arguments are as for `watch_graph`."""
        run_options.output_partition_graphs = True
        graph = self._sess.graph
        wanted = [
            debug_ops, debug_urls, node_name_regex_whitelist, op_type_regex_whitelist, tensor_dtype_regex_whitelist,
            tolerate_debug_op_creation_failures,
        ]  # fmt: skip
        if self._watched is None or self._watched[:2] != (graph._changes, wanted):
            made = messages.RunOptions()
            debug_utils.watch_graph(made, graph, *wanted)
            self._watched = graph._changes, wanted, made.debug_options
        run_options.debug_options.MergeFrom(self._watched[2])
        run_options.debug_options.reset_disk_byte_usage = self._run_call_count == 1 or self._is_disk_usage_reset_each_run()

    def _client_graph_def(self) -> messages.GraphDef:
        """The GraphDef of the session's graph, made again where that has changed."""
        graph = self._sess.graph
        if self._graph_def is None or self._graph_def[0] != graph._changes:
            self._graph_def = graph._changes, graph.as_graph_def()
        return self._graph_def[1]

    def _decorate_run_options_for_profile(self, run_options: messages.RunOptions) -> None:
        """Has a run record the times of its nodes."""
        run_options.trace_level = messages.RunOptions.FULL_TRACE


def _check_arguments(fetches: object, feed_dict: object, callable_runner: object, callable_options: object) -> None:
    if callable_runner and callable_options:
        raise ValueError(
            "callable_runner and callable_options are mutually exclusive, but are both specified in this call to BaseDebugWrapperSession.run()."
        )
    for name, given in (("callable_runner", callable_runner), ("callable_options", callable_options)):
        if given and (fetches or feed_dict):
            raise ValueError(f"{name} and fetches/feed_dict are mutually exclusive, but are used simultaneously.")


def _is_empty(structure: Any) -> bool:
    """Whether nothing stands in nested lists, tuples and dicts."""
    if not nest.is_nested(structure):
        return False
    return all(map(_is_empty, structure.values() if isinstance(structure, Mapping) else structure))


class NonInteractiveDebugWrapperSession(BaseDebugWrapperSession):
    """A debugger session that watches all runs.

    Args:
      sess, thread_name_filter, pass_through_operrors: as for BaseDebugWrapperSession.
      watch_fn: a function of the fetches and feeds of a run that returns WatchOptions; None watches everything.

    Raises:
      TypeError: `watch_fn` cannot be called.
    """

    def __init__(
        self, sess: Any, watch_fn: Callable[[Any, Any], Any] | None = None, thread_name_filter: str | None = None,
        pass_through_operrors: bool | None = False,
    ) -> None:  # fmt: skip
        super().__init__(sess, thread_name_filter, pass_through_operrors)
        if watch_fn is not None and not callable(watch_fn):
            raise TypeError("watch_fn is not callable")
        self._watch_fn = watch_fn

    @abc.abstractmethod
    def prepare_run_debug_urls(self, fetches: Any, feed_dict: Any) -> Names:
        """Returns the URLs that the debug ops of a run write to."""

    def on_session_init(self, request: OnSessionInitRequest) -> OnSessionInitResponse:
        """Lets the program run the session."""
        return OnSessionInitResponse(OnSessionInitAction.PROCEED)

    def on_run_start(self, request: OnRunStartRequest) -> OnRunStartResponse:
        """Has the run watched as `watch_fn` says."""
        urls, watched = self._prepare_run_watch_config(request.fetches, request.feed_dict)
        return OnRunStartResponse(OnRunStartAction.DEBUG_RUN, [urls] if isinstance(urls, str) else list(urls), **vars(watched))

    def _prepare_run_watch_config(self, fetches: object, feed_dict: object) -> tuple[Names, WatchOptions]:
        """The URLs that a run's debug ops write to, and what is watched."""
        urls = self.prepare_run_debug_urls(fetches, feed_dict)
        watched = WatchOptions() if self._watch_fn is None else self._watch_fn(fetches, feed_dict)
        return urls, WatchOptions(*watched) if isinstance(watched, tuple) else watched

    def on_run_end(self, request: OnRunEndRequest) -> OnRunEndResponse:
        """Does nothing."""
        return OnRunEndResponse()
