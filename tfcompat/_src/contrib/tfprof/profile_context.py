"""tf.contrib.tfprof.ProfileContext: traces, profiles and dumps chosen runs of all sessions."""

from __future__ import annotations

import functools
import os
import random
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from tfcompat._src.base import errors
from tfcompat._src.base.export import export
from tfcompat._src.graph.graph import Graph
from tfcompat._src.graph.scopes import get_default_graph
from tfcompat._src.platform import file_io
from tfcompat._src.profiler.model_analyzer import Profiler
from tfcompat._src.proto import messages
from tfcompat._src.runtime.session.fetches import Fetches
from tfcompat._src.runtime.session.session import BaseSession

WARMUP_STEPS = 10
MAX_TRACED_STEPS = 100
_PROFILES: dict[str, Callable[[Profiler, Any], Any]] = {
    "graph": Profiler.profile_graph,
    "scope": Profiler.profile_name_scope,
    "op": Profiler.profile_operations,
    "code": Profiler.profile_python,
}


@export("contrib.tfprof.ProfileContext", "contrib.tfprof.model_analyzer.ProfileContext")
class ProfileContext:
    """Within `with`, every run of a session is a step; chosen steps are traced, profiled and written as files.

    Args:
      profile_dir: the folder of the files, `profile_<step>` with a ProfileProto each.
      trace_steps: the steps to trace, 100 at most; by default those after the tenth that fetch something new, and
        some more by chance while less than half of the graph was seen.
      dump_steps: the steps after which to write the profile; by default step 100.
      enabled: if false, nothing happens.
      debug: whether to say on stderr what happens, and to write each RunMetadata as text, `run_meta_<step>`.

    Raises:
      ValueError: no `profile_dir`, or more than 100 steps.
    """

    def __init__(self, profile_dir: str, trace_steps: Any = None, dump_steps: Any = None, enabled: bool = True, debug: bool = False) -> None:
        self._enabled = enabled
        if not enabled:
            return
        if not profile_dir:
            raise ValueError("Must have a directory for profile.\n")
        if trace_steps is not None and len(trace_steps) > MAX_TRACED_STEPS:
            raise ValueError("Only support tracing up to 100 steps.\n")
        self._folder, self._debug = os.fspath(profile_dir), debug
        self._is_automatic = trace_steps is None
        self._trace_steps = set(trace_steps or ())
        self._dump_steps = {MAX_TRACED_STEPS} if dump_steps is None else set(dump_steps)
        self._traces_next = self._dumps_next = False
        self._random, self._fetched = random.Random(111), set[str]()
        self._step = self._traced = 0
        self._automatic_profiles: list[tuple[str, Any, list[int]]] = []
        self._views: dict[str, dict[int, Any]] = {}
        self._profiler: Profiler | None = None
        self._lock = threading.Lock()

    @property
    def profiler(self) -> Profiler | None:
        """The Profiler that has the traced steps; None unless enabled."""
        return self._known_profiler() if self._enabled else None

    def add_auto_profiling(self, cmd: str, options: Any, profile_steps: Any) -> None:
        """Traces the steps `profile_steps` and profiles after each by `cmd` ("scope" or "op")."""
        if self._enabled:
            self._automatic_profiles.append((cmd, options, list(profile_steps)))
            self._trace_steps |= set(profile_steps)

    def get_profiles(self, cmd: str) -> dict[int, Any]:
        """The results of `add_auto_profiling` by step.

        Raises:
          ValueError: no step was profiled by `cmd`.
        """
        if cmd not in self._views:
            raise ValueError(f"No autoprofiler for command: {cmd}, was run")
        return self._views[cmd]

    def trace_next_step(self) -> None:
        """Traces the next step."""
        if self._enabled:
            self._traces_next = True

    def dump_next_step(self) -> None:
        """Writes the profile after the next step."""
        if self._enabled:
            self._dumps_next = True

    def __enter__(self) -> ProfileContext:
        if self._enabled:
            if getattr(BaseSession.run, "_profiled_by", None) is not None:
                raise errors.InternalError(None, None, "Already in context or context not cleaned.")
            self._run = BaseSession.run
            setattr(BaseSession, "run", _profiled_run(self, self._run))  # noqa: B010  (a method that is given back on leaving)
        return self

    def __exit__(self, *exception: object) -> None:
        if self._enabled:
            setattr(BaseSession, "run", self._run)  # noqa: B010
            self._profiler = None

    # ---- one step ----

    def run(self, session: BaseSession, run: Callable[..., Any], fetches: object, feed_dict: object, options: object, run_metadata: messages.RunMetadata) -> Any:
        """Runs a step by `run`, traced if chosen; a step beside another one is not looked at."""
        with self._next_step() as (step, is_alone):
            if not is_alone:
                return run(session, fetches, feed_dict, options, run_metadata)
            if self._is_traced(step, session.graph, fetches):
                value = self._traced_run(session, run, fetches, feed_dict, options, run_metadata, step)
            else:
                value = run(session, fetches, feed_dict, options, run_metadata)
            if step in self._dump_steps or self._dumps_next:
                self._say(f"dumping file at step: {step}")
                self._write(f"profile_{step}", self._known_profiler().serialize_to_string())
            for cmd, profile_options, steps in self._automatic_profiles:
                if step in steps:
                    self._say(f"profiling {cmd} step: {step}")
                    if cmd not in _PROFILES:
                        raise ValueError(f"Unknown cmd: {cmd}\n")
                    self._views.setdefault(cmd, {})[step] = _PROFILES[cmd](self._known_profiler(), profile_options)
            return value

    @contextmanager
    def _next_step(self) -> Iterator[tuple[int, bool]]:
        """The number of this step, and whether no other one is under way."""
        is_alone = self._lock.acquire(blocking=False)
        try:
            yield self._step, is_alone
            self._step += 1
            self._traces_next = self._dumps_next = False
        finally:
            if is_alone:
                self._lock.release()

    def _traced_run(
        self, session: BaseSession, run: Callable[..., Any], fetches: object, feed_dict: object, options: object, run_metadata: messages.RunMetadata, step: int
    ) -> Any:
        self._say(f"tracing step: {step}")
        metadata = messages.RunMetadata() if run_metadata is None else run_metadata
        traced = messages.RunOptions()
        if options is not None:
            traced.CopyFrom(options)
        traced.trace_level = messages.RunOptions.FULL_TRACE
        value = run(session, fetches, feed_dict, traced, metadata)
        if self._debug:
            self._write(f"run_meta_{step}", str(metadata).encode())
        self._known_profiler().add_step_of(session.graph, step, metadata)
        return value

    def _is_traced(self, step: int, graph: Graph, fetches: object) -> bool:
        if self._traced > MAX_TRACED_STEPS:
            return False
        is_chosen = step in self._trace_steps or self._traces_next
        if not is_chosen and self._is_automatic and step > WARMUP_STEPS:
            found = Fetches(graph, fetches)
            names = "-".join(sorted([t.name for t in found.tensors] + [op.name for op in found.targets]))
            self._say(f"trace fetches: {names}")
            is_chosen = names not in self._fetched or (
                self._known_profiler().coverage() < 0.5 and step < MAX_TRACED_STEPS and self._random.randint(0, 10) < 2
            )
            self._fetched.add(names)
        self._traced += is_chosen
        return is_chosen

    def _known_profiler(self) -> Profiler:
        if self._profiler is None:
            self._profiler = Profiler(get_default_graph())
        return self._profiler

    def _say(self, text: str) -> None:
        if self._debug:
            sys.stderr.write(f"debug: {text}\n")

    def _write(self, name: str, content: bytes) -> None:
        file_io.makedirs(self._folder)
        file_io.write_string_to_file(os.path.join(self._folder, name), content)


def _profiled_run(context: ProfileContext, run: Callable[..., Any]) -> Callable[..., Any]:
    """A session's `run` whose calls are steps of a ProfileContext."""

    @functools.wraps(run)
    def profiled(session: BaseSession, fetches: object, feed_dict: object = None, options: object = None, run_metadata: messages.RunMetadata | None = None) -> Any:
        return context.run(session, run, fetches, feed_dict, options, run_metadata)

    setattr(profiled, "_profiled_by", context)  # noqa: B010  (a function's attribute)
    return profiled
