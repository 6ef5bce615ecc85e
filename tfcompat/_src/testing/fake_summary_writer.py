"""tf.contrib.testing: a FileWriter that keeps what it is given, and checks of summaries."""

from __future__ import annotations

import glob
import os
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np

from tfcompat._src.base.export import export
from tfcompat._src.io.events import summary_iterator
from tfcompat._src.proto.messages import Summary
from tfcompat._src.summary import writer
from tfcompat._src.testing.graphs import assert_meta_graph_protos_equal

if TYPE_CHECKING:
    from tfcompat._src.proto import messages

_SPEED_TAG = "global_step/sec"


@export("contrib.testing.FakeSummaryWriter")
class FakeSummaryWriter:
    """Stands in for FileWriter, also in FileWriterCache, between `install` and `uninstall`.

    Args:
      logdir: the folder, into which nothing is written. graph: a Graph.
    """

    _replaced_summary_writer: Any = None

    def __init__(self, logdir: str, graph: Any = None) -> None:
        self._logdir, self._graph = logdir, graph
        self._summaries: dict[int, list[Any]] = {}
        self._added_graphs: list[Any] = []
        self._added_meta_graphs: list[Any] = []
        self._added_session_logs: list[Any] = []
        self._added_run_metadata: dict[str, Any] = {}

    @classmethod
    def install(cls) -> None:
        """Puts this class in the place of FileWriter; ValueError where it is there."""
        if cls._replaced_summary_writer:
            raise ValueError("FakeSummaryWriter already installed.")
        cls._replaced_summary_writer = writer.FileWriter
        writer.FileWriter = FakeSummaryWriter  # type: ignore[assignment, misc]

    @classmethod
    def uninstall(cls) -> None:
        """Puts FileWriter back; ValueError where this class is not in its place."""
        if not cls._replaced_summary_writer:
            raise ValueError("FakeSummaryWriter not installed.")
        writer.FileWriter = cls._replaced_summary_writer  # type: ignore[misc]
        cls._replaced_summary_writer = None

    @property
    def summaries(self) -> dict[int, list[Any]]:
        """The Summary messages by step."""
        return self._summaries

    def assert_summaries(
        self, test_case: Any, expected_logdir: str | None = None, expected_graph: Any = None,
        expected_summaries: dict[int, dict[str, float]] | None = None, expected_added_graphs: list | None = None,
        expected_added_meta_graphs: list | None = None, expected_session_logs: list | None = None,
    ) -> None:  # fmt: skip
        """Checks, with the methods of `test_case`, what was written; None is not checked.

        `expected_summaries` has the simple values by tag by step.
        """
        if expected_logdir is not None:
            test_case.assertEqual(expected_logdir, self._logdir)
        if expected_graph is not None:
            test_case.assertIs(expected_graph, self._graph)
        for step, values in (expected_summaries or {}).items():
            test_case.assertIn(step, self._summaries)
            found = {v.tag: v.simple_value for s in self._summaries[step] for v in s.value if v.tag != _SPEED_TAG}
            test_case.assertEqual(values, found)
        if expected_added_graphs is not None:
            test_case.assertEqual(expected_added_graphs, self._added_graphs)
        if expected_added_meta_graphs is not None:
            test_case.assertEqual(len(expected_added_meta_graphs), len(self._added_meta_graphs))
            for expected, actual in zip(expected_added_meta_graphs, self._added_meta_graphs):
                assert_meta_graph_protos_equal(test_case, expected, actual)
        if expected_session_logs is not None:
            test_case.assertEqual(expected_session_logs, self._added_session_logs)

    def add_summary(self, summ: object, current_global_step: int) -> None:
        """Keeps a Summary, a message or serialized."""
        message = Summary.FromString(summ) if isinstance(summ, bytes) else summ
        self._summaries.setdefault(current_global_step, []).append(message)

    def add_graph(self, graph: object, global_step: int | None = None, graph_def: messages.GraphDef | None = None) -> None:
        """Keeps a graph; ValueError for a negative step or a `graph_def`."""
        _check_step(global_step)
        if graph_def is not None:
            raise ValueError(f"Unexpected graph_def {graph_def}.")
        self._added_graphs.append(graph)

    def add_meta_graph(self, meta_graph_def: messages.MetaGraphDef, global_step: int | None = None) -> None:
        """Keeps a MetaGraphDef; ValueError for a negative step."""
        _check_step(global_step)
        self._added_meta_graphs.append(meta_graph_def)

    def add_session_log(self, session_log: object, global_step: int | None = None) -> None:
        """Keeps a SessionLog."""
        self._added_session_logs.append(session_log)

    def add_run_metadata(self, run_metadata: messages.RunMetadata, tag: str, global_step: int | None = None) -> None:
        """Keeps a RunMetadata by tag; ValueError for a negative step."""
        _check_step(global_step)
        self._added_run_metadata[tag] = run_metadata

    def flush(self) -> None:
        """Nothing is waiting."""

    def reopen(self) -> None:
        """Nothing is closed."""

    def close(self) -> None:
        """Nothing is open."""


def _check_step(step: int | None) -> None:
    if step is not None and step < 0:
        raise ValueError(f"Invalid global_step {step}.")


@export("contrib.testing.assert_summary")
def assert_summary(expected_tags: Iterable[str], expected_simple_values: dict[str, float], summary_proto: Any) -> None:
    """Checks the tags of a Summary and, to two decimals, some of its values.

    Raises:
      AssertionError: a value differs. ValueError: the tags differ.
    """
    for value in summary_proto.value:
        if value.tag in expected_simple_values:
            np.testing.assert_almost_equal(
                value.simple_value, expected_simple_values[value.tag], decimal=2, err_msg=value.tag
            )
    wanted, found = set(expected_tags), {value.tag for value in summary_proto.value}
    if wanted != found:
        raise ValueError(f"Expected tags {wanted}, got {found}.")


@export("contrib.testing.to_summary_proto")
def to_summary_proto(summary_str: bytes) -> Any:
    """The Summary message of its serialized form."""
    return Summary.FromString(summary_str)


@export("contrib.testing.latest_event_file")
def latest_event_file(base_dir: str) -> str | None:
    """The last event file of a folder by name, None where there is none."""
    return max(glob.glob(os.path.join(base_dir, "events.*")), default=None)


@export("contrib.testing.latest_events")
def latest_events(base_dir: str) -> Iterable[Any]:
    """The events of the last event file of a folder."""
    path = latest_event_file(base_dir)
    return summary_iterator(path) if path else []


@export("contrib.testing.latest_summaries")
def latest_summaries(base_dir: str) -> list[Any]:
    """The events with summaries of the last event file of a folder."""
    return [event for event in latest_events(base_dir) if event.HasField("summary")]


@export("contrib.testing.simple_values_from_events")
def simple_values_from_events(events: Iterable[Any], tags: Iterable[str]) -> dict[str, float]:
    """The simple values of some tags at their last steps; ValueError where a value is not simple."""
    found: dict[str, tuple[int, float]] = {}
    for event in events:
        for value in event.summary.value:
            if value.tag not in tags:
                continue
            if not value.HasField("simple_value"):
                raise ValueError(f"Summary for {value.tag} is not a simple_value.")
            if value.tag not in found or event.step > found[value.tag][0]:
                found[value.tag] = event.step, value.simple_value
    return {tag: value for tag, (_, value) in found.items()}
