"""The client of a session at a master: sends the graph as it grows, and the feeds and fetches of each run."""

from __future__ import annotations

import threading
from typing import Any

from tfcompat._src.base import errors
from tfcompat._src.cluster import carried_derivatives, wire
from tfcompat._src.cluster.masters import RemoteMaster, StraightMaster
from tfcompat._src.graph.graph import Graph
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.runtime.devices import devices
from tfcompat._src.runtime.passes.derivatives import noted_in
from tfcompat._src.runtime.session.fetches import (
    Fetches,
    convert_feed,
    convert_feeds,
    fed_tensors,
    is_plain_key,
    structure_key,
)


def master_of(address: str, server: Any) -> RemoteMaster | StraightMaster:
    """Returns the master at an address: called directly if `server` is the server there, in this process; over gRPC if it is None."""
    return RemoteMaster(address) if server is None else StraightMaster(server.services.master)


class _Wanted:
    """A prepared run: its fetches and feeds resolved in the graph.

    Attributes:
      changes: the graph's change count at that time. is_plain: whether each key of the feed_dict is one tensor, so that later runs with the
        same keys need no new resolution.
    """

    def __init__(self, graph: Graph, fetches: Any, feed_dict: dict[Any, Any], feeds: list[Tensor]) -> None:
        self.fetches = Fetches(graph, fetches)
        self.changes = graph._changes
        self.feeds = feeds
        self.is_plain = len(feeds) == len(feed_dict) and all(map(is_plain_key, feed_dict))


class RemoteSession:
    """A session at a master; its first run creates it there.

    Args:
      master: its master. graph: its tf.Graph. config: its ConfigProto, or None.
    """

    def __init__(self, master: RemoteMaster | StraightMaster, graph: Graph, config: Any) -> None:
        self._master, self._graph, self._config = master, graph, config
        self._lock = threading.Lock()
        self._steps: Any = None
        self._sent = 0
        self._wanted: dict[Any, _Wanted] = {}

    # ---- the methods of BaseSession, with its arguments ----

    def run(self, fetches: Any, feed_dict: dict[Any, Any] | None, options: Any, run_metadata: Any) -> Any:
        """Runs a step; returns the values of `fetches` in their structure."""
        wanted, feeds = self._prepare(fetches, feed_dict or {})
        steps = self._current()
        try:
            values, metadata = steps.run(feeds, wanted.tensors, wanted.targets, options, self._timeout(options))
        except errors.OpError as e:
            raise self._in_graph(e) from None
        if run_metadata is not None:
            run_metadata.Clear()
            if metadata is not None:
                run_metadata.CopyFrom(metadata)
        return wanted.rebuild([_as_fetched(v) for v in values])

    def partial_run_setup(self, fetches: Any, feeds: list[Any] | None) -> str:
        """Prepares a partial run; returns its handle."""
        wanted = Fetches(self._graph, fetches)
        if not wanted.tensors and not wanted.targets:
            raise errors.InvalidArgumentError(None, None, "Must specify at least one target to fetch or execute.")
        # Only the keys matter; a composite feed, such as a SparseTensor, is expanded to its parts.
        fed = fed_tensors(self._graph, feeds or ())
        try:
            handle: str = self._current().set_up(fed, wanted.tensors, wanted.targets)
            return handle
        except errors.OpError as e:
            raise self._in_graph(e) from None

    def partial_run(self, handle: str, fetches: Any, feed_dict: dict[Any, Any] | None) -> Any:
        """Continues a partial run; returns the values of `fetches` in their structure."""
        if not isinstance(handle, str) or not handle:
            raise errors.InvalidArgumentError(None, None, "Must run PartialRunSetup before performing partial runs")
        wanted, feeds = self._prepare(fetches, feed_dict or {})
        try:
            values, _ = self._current().run(feeds, wanted.tensors, wanted.targets, None, self._timeout(None), handle)
        except errors.OpError as e:
            raise self._in_graph(e) from None
        return wanted.rebuild([_as_fetched(v) for v in values])

    def list_devices(self) -> list[Any]:
        """Returns the devices of all tasks of the session, or of the cluster before the first run."""
        with self._lock:
            found = self._master.devices(self._timeout(None)) if self._steps is None else self._steps.devices()
        return [devices.DeviceAttributes(d.name, d.device_type, d.memory_limit, d.incarnation) for d in found]

    def close(self) -> None:
        """Closes the session at the master."""
        with self._lock:
            if self._steps is not None:
                self._steps.close()

    # ---- steps ----

    def _prepare(self, fetches: Any, feed_dict: dict[Any, Any]) -> tuple[Fetches, dict[Tensor, Any]]:
        """Resolves the fetches and feeds of a run, with a cache; returns the fetches, and the fed values as arrays."""
        try:
            key = (structure_key(fetches), *feed_dict)
            wanted = self._wanted.get(key)
        except TypeError:
            key, wanted = (), None  # not hashable: resolved on each run
        if wanted is not None and wanted.changes == self._graph._changes and wanted.is_plain:
            return wanted.fetches, dict(zip(wanted.feeds, map(convert_feed, wanted.feeds, feed_dict.values(), feed_dict)))
        if not self._graph._nodes:
            raise RuntimeError("The Session graph is empty.  Add operations to the graph before calling run().")
        feeds = convert_feeds(self._graph, feed_dict)
        wanted = _Wanted(self._graph, fetches, feed_dict, list(feeds))
        if key:
            self._wanted[key] = wanted
        return wanted.fetches, feeds

    def _current(self) -> Any:
        """Returns the session at the master; creates it, or sends the nodes that were added since the last run."""
        # The lock keeps two runs from sending the same nodes.
        with self._lock:
            try:
                if self._steps is None:
                    graph_def, version = self._nodes(None)
                    self._steps = self._master.create(graph_def, self._config, self._timeout(None))
                elif self._graph.version > self._sent:
                    graph_def, version = self._nodes(self._sent)
                    self._steps.extend(graph_def)
                else:
                    return self._steps
            except errors.OpError as e:
                raise self._in_graph(e) from None
            self._sent = version
            return self._steps

    def _nodes(self, from_version: int | None) -> tuple[Any, int]:
        """Returns the nodes that were added after a version (None: all nodes) as a GraphDef message with loop derivatives, and the new version."""
        # No other thread may add a node in between: it would be sent with these and, as a newer one, again in the next run.
        with self._graph._lock:
            found, version = self._graph.as_graph_def(from_version), self._graph.version
            carried_derivatives.write(found, noted_in(self._graph, self._graph.get_operations()))
        return found, version

    def _timeout(self, options: Any) -> float | None:
        """Returns the timeout of a call in seconds, from RunOptions, else from the session's config; None without a limit."""
        milliseconds = options.timeout_in_ms if options is not None else 0
        if self._config is not None:
            milliseconds = milliseconds or self._config.operation_timeout_in_ms
        return milliseconds / 1000 if milliseconds > 0 else None

    def _in_graph(self, error: errors.OpError) -> errors.OpError:
        """Returns a master's error with `op` set to the graph's node that the text names, and the text saying where that was made."""
        return wire.error_of(error.error_code or errors.UNKNOWN, error.message, self._graph)


def _as_fetched(value: Any) -> Any:
    """Returns a fetched value as tf.Session does: a writable array, or a NumPy scalar for a shape of ()."""
    if not hasattr(value, "ndim"):
        return value
    return value if value.ndim and value.flags.writeable else value.copy() if value.ndim else value[()]
