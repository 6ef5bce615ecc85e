"""tf.profiler: counts of a graph and of its runs, by name scope or op type."""

from __future__ import annotations

from typing import Any

from tfcompat._src.base import errors
from tfcompat._src.base.export import export
from tfcompat._src.graph.graph import Graph
from tfcompat._src.graph.scopes import get_default_graph
from tfcompat._src.platform import file_io
from tfcompat._src.profiler import nodes, views
from tfcompat._src.profiler.advice import ALL_ADVICE, Profiled, advice
from tfcompat._src.profiler.op_log import merge_default_with_oplog
from tfcompat._src.profiler.option_builder import ProfileOptionBuilder
from tfcompat._src.profiler.profile_proto import profile_message

_VIEWS = {"scope": views.scope_view, "op": views.op_view}
_NOT_BUILT = ("graph", "code")
_DEFAULTS = {"max_depth": 10, "order_by": "name", "step": -1, "account_displayed_op_only": False, "output": "stdout"}
_PATTERNS = ("account_type_regexes", "start_name_regexes", "trim_name_regexes", "show_name_regexes", "hide_name_regexes", "select")
_MINIMUMS = ("min_params", "min_float_ops", "min_occurrence")
_RULE = "=" * 22


def _complete(options: dict[str, Any]) -> dict[str, Any]:
    return {**_DEFAULTS, **{p: [] for p in _PATTERNS}, **dict.fromkeys(_MINIMUMS, 0), **options}


def _write(text: str, output: str) -> None:
    """Writes a profile where the option `output` says."""
    kind, _, detail = output.partition(":")
    if kind == "stdout":
        print(f"\n{_RULE}Model Analysis Report{_RULE}\n{text}\n{_RULE}End of Report{_RULE}", flush=True)
    elif kind == "file":
        file_io.write_string_to_file(detail.removeprefix("outfile="), text)
    elif kind != "none":
        raise NotImplementedError(f"tfcompat does not write a profile as {kind} (tf.profiler option output={output!r})")


def _profile(found: dict[str, nodes.ProfiledNode], cmd: str, options: dict[str, Any]) -> Any:
    if cmd in _NOT_BUILT:
        raise NotImplementedError(f"tfcompat does not have the view cmd={cmd!r} of tf.profiler: use 'scope' or 'op'")
    if cmd not in _VIEWS:
        raise errors.InvalidArgumentError(None, None, f"unknown cmd: {cmd}\n")
    options = _complete(options)
    message, text = _VIEWS[cmd](found, options)
    _write(views.heading(cmd, options) + text, options["output"])
    return message


@export("profiler.profile")
def profile(graph: Graph | None = None, run_meta: object = None, op_log: object = None, cmd: str = "scope", options: Any = 0) -> Any:
    """Counts parameters, floating-point operations, times and bytes of a graph.

    Args:
      graph: by default the default graph.
      run_meta: a RunMetadata of a run with a trace, for times and bytes.
      op_log: an OpLogProto with types and flops of nodes.
      cmd: "scope" (by name scope) or "op" (by op type); "graph" and "code" raise NotImplementedError.
      options: as of ProfileOptionBuilder; by default the parameters of trainable variables.

    Returns:
      a GraphNodeProto ("scope") or MultiGraphNodeProto ("op"); text goes where `options["output"]` says.

    Raises:
      InvalidArgumentError: another `cmd`.
    """
    graph = graph or get_default_graph()
    options = ProfileOptionBuilder.trainable_variables_parameter() if options == 0 else options
    op_log = merge_default_with_oplog(graph, op_log, run_meta, add_trace=cmd == "code")
    found = nodes.of_graph(graph.as_graph_def(add_shapes=True), op_log)
    if run_meta is not None:
        nodes.add_step(found, 0, run_meta)
    return _profile(found, cmd, options)


@export("profiler.advise")
def advise(graph: Graph | None = None, run_meta: object = None, options: Any = 0) -> Any:
    """Looks for what makes a graph slow, prints and returns it.

    Args:
      graph: by default the default graph.
      run_meta: a RunMetadata of a run with a trace, for what needs times.
      options: {name of a checker: {}}; by default all of ALL_ADVICE. JobChecker reports nothing, as in 1.15's public builds.

    Returns:
      an AdviceProto with the reports of each checker. Lines of code are those of the program, not those within tfcompat.
    """
    graph = graph or get_default_graph()
    steps = [] if run_meta is None else [(0, run_meta)]
    return advice(_looked_at(graph, None, steps), ALL_ADVICE if options == 0 else options)


def _looked_at(graph: Graph, op_log: object, steps: list[tuple[int, Any]]) -> Profiled:
    """A graph and its steps as checkers and ProfileProtos need them: with the frames that made its nodes."""
    log = merge_default_with_oplog(graph, op_log, steps[-1][1] if steps else None, add_trace=True)
    graph_def = graph.as_graph_def(add_shapes=True)
    found = nodes.of_graph(graph_def, log)
    for step, run_meta in steps:
        nodes.add_step(found, step, run_meta)
    return Profiled(graph_def, found, log, steps)


@export("profiler.Profiler", "contrib.tfprof.model_analyzer.Profiler")
class Profiler:
    """A profile of several steps of a graph.

    Args:
      graph: by default the default graph.
      op_log: an OpLogProto with types and flops of nodes.
    """

    def __init__(self, graph: Graph | None = None, op_log: object = None) -> None:
        self._graph = graph or get_default_graph()
        self._op_log = op_log
        self._steps: list[tuple[int, Any]] = []

    def add_step(self, step: int, run_meta: Any) -> None:
        """Adds the RunMetadata of a run; those of one `step` count together."""
        self._steps.append((step, type(run_meta).FromString(run_meta.SerializeToString())))

    def add_step_of(self, graph: Graph, step: int, run_meta: object) -> None:
        """`add_step` for a run of another graph, which is the profiled one from now on."""
        self._graph = graph
        self.add_step(step, run_meta)

    def coverage(self) -> float:
        """The share of the known nodes that added runs recorded; a node that only a run names is known from that run on."""
        known = {op.name for op in self._graph.get_operations()}
        covered: set[str] = set()
        for _, run_meta in self._steps:
            recorded = {n.node_name.partition(":")[0] for d in run_meta.step_stats.dev_stats for n in d.node_stats}
            covered |= recorded & known
            known |= recorded
        return len(covered) / max(len(known), 1)

    def _profile(self, cmd: str, options: dict[str, Any]) -> Any:
        last = self._steps[-1][1] if self._steps else None
        op_log = merge_default_with_oplog(self._graph, self._op_log, last, add_trace=False)
        found = nodes.of_graph(self._graph.as_graph_def(add_shapes=True), op_log)
        for step, run_meta in self._steps:
            nodes.add_step(found, step, run_meta)
        return _profile(found, cmd, options)

    def profile_name_scope(self, options: dict[str, Any]) -> Any:
        """The GraphNodeProto of the nodes by name scope."""
        return self._profile("scope", options)

    def profile_operations(self, options: dict[str, Any]) -> Any:
        """The MultiGraphNodeProto of the nodes by op type."""
        return self._profile("op", options)

    def profile_graph(self, options: dict[str, Any]) -> Any:
        """The nodes by what they depend on; NotImplementedError."""
        return self._profile("graph", options)

    def profile_python(self, options: dict[str, Any]) -> Any:
        """The nodes by the code that made them; NotImplementedError."""
        return self._profile("code", options)

    def advise(self, options: Any) -> Any:
        """Prints and returns, as an AdviceProto, what makes the graph slow; `options` as of `tf.profiler.advise`."""
        return advice(_looked_at(self._graph, self._op_log, self._steps), options)

    def serialize_to_string(self) -> bytes:
        """The profile as a ProfileProto, which the programs of tfprof read."""
        looked_at = _looked_at(self._graph, self._op_log, self._steps)
        written: bytes = profile_message(looked_at.graph_def, looked_at.op_log, self._steps).SerializeToString()
        return written
