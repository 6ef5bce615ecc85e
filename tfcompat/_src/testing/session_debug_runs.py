"""Debugged runs of small graphs, and assertions about their dumps, for `session_debug_test_base`."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

import tfcompat as tf
from tfcompat._src.debug.debug_utils import add_debug_tensor_watch, watch_graph
from tfcompat._src.debug.dump_dir import DebugDumpDir
from tfcompat._src.proto import messages
from tfcompat._src.runtime.session.session import Session
from tfcompat._src.testing.devices import gpu_device_name
from tfcompat._src.testing.test_case import TestCase

IDENTITY, SUMMARY = "DebugIdentity", "DebugNumericSummary"
FLOAT = 1.0
"""How a numeric summary says that a tensor is of float32."""


def no_rewrite_session_config() -> messages.ConfigProto:
    """Settings of a session whose graph is not optimized before it runs."""
    config = messages.ConfigProto()
    options = config.graph_options.rewrite_options
    options.disable_model_pruning = True
    options.arithmetic_optimization = options.dependency_optimization = messages.RewriterConfig.OFF
    return config


def numeric_summary(value: object) -> np.ndarray:
    """What DebugNumericSummary says of an initialized float32 array: counts by kind, bounds and moments of finite entries, type, shape."""
    value = np.asarray(value, np.float64)
    finite = value[np.isfinite(value)]
    kinds = [np.isnan(value), np.isneginf(value), np.isfinite(value) & (value < 0), value == 0, np.isfinite(value) & (value > 0), np.isposinf(value)]
    moments = [finite.min(), finite.max(), finite.mean(), finite.var()] if finite.size else [np.inf, -np.inf, np.nan, np.nan]
    return np.array([1, value.size, *(kind.sum() for kind in kinds), *moments, FLOAT, value.ndim, *value.shape])


class SimpleAddResults(NamedTuple):
    """A debugged product of two variables and its dump."""

    u_init_val: np.ndarray
    v_init_val: np.ndarray
    u: Any
    v: Any
    w: Any
    u_name: str
    v_name: str
    w_name: str
    dump: DebugDumpDir


class DebuggedRuns(TestCase):
    """A test case with debugged runs; a subclass defines `_debug_urls` and `_debug_dump_dir`, and `_dump_root` is where dumps are read."""

    _dump_root: str

    @classmethod
    def setUpClass(cls) -> None:
        gpu = gpu_device_name()
        cls._expected_partition_graph_count = cls._expected_num_devices = 2 if gpu else 1
        cls._main_device = "/job:localhost/replica:0/task:0" + (gpu or "/device:CPU:0")

    def setUp(self) -> None:
        super().setUp()
        self._dump_root = tempfile.mkdtemp()

    def tearDown(self) -> None:
        tf.reset_default_graph()
        shutil.rmtree(self._dump_root, ignore_errors=True)
        super().tearDown()

    def _debug_urls(self, run_number: int | None = None) -> list[str]:
        """The URLs to which a run sends its dump."""
        raise NotImplementedError(f"{type(self).__name__} must define _debug_urls: the URLs to which debugged runs send their dumps.")

    def _debug_dump_dir(self, run_number: int | None = None) -> str:
        """The folder in which the dump of a run is found."""
        raise NotImplementedError(f"{type(self).__name__} must define _debug_dump_dir: the folder in which the dump of a run is found.")

    def _session(self) -> Session:
        return Session(config=no_rewrite_session_config())

    def _debug_run_and_get_dump(
        self,
        sess: Session,
        fetches: object,
        feed_dict: Mapping[Any, Any] | None = None,
        debug_ops: str | Sequence[str] = IDENTITY,
        tolerate_debug_op_creation_failures: bool = False,
        global_step: int = -1,
        validate: bool = True,
        expected_partition_graph_count: int | None = None,
    ) -> tuple[Any, DebugDumpDir]:
        """Runs fetches with watches on the whole graph.

        Args:
          sess, fetches, feed_dict: the run.
          debug_ops, tolerate_debug_op_creation_failures, global_step: as for `watch_graph`.
          validate: whether the dump is compared with the graph as it is read.
          expected_partition_graph_count: how many partition graphs the run must have, if given.

        Returns:
          What the run returns, and its dump.
        """
        options, metadata = tf.RunOptions(output_partition_graphs=True), tf.RunMetadata()
        watch_graph(
            options,
            sess.graph,
            debug_ops=debug_ops,
            debug_urls=self._debug_urls(),
            tolerate_debug_op_creation_failures=tolerate_debug_op_creation_failures,
            global_step=global_step,
        )
        fetched = sess.run(fetches, feed_dict=feed_dict, options=options, run_metadata=metadata)
        if expected_partition_graph_count is not None:
            self.assertLen(metadata.partition_graphs, expected_partition_graph_count)
        return fetched, DebugDumpDir(self._dump_root, partition_graphs=metadata.partition_graphs, validate=validate)

    def _run_with_watches(
        self, sess: Session, fetches: object, watches: Mapping[str, str | list[str]], urls: list[str] | None = None
    ) -> tuple[Any, messages.RunMetadata]:
        """Runs fetches with watches on the first outputs of nodes; `watches` has the debug ops of each."""
        options, metadata = tf.RunOptions(output_partition_graphs=True), tf.RunMetadata()
        for node, debug_ops in watches.items():
            add_debug_tensor_watch(options, node, 0, debug_ops, debug_urls=urls or self._debug_urls())
        return sess.run(fetches, options=options, run_metadata=metadata), metadata

    def _loaded(self, metadata: messages.RunMetadata, validate: bool = True) -> DebugDumpDir:
        return DebugDumpDir(self._dump_root, partition_graphs=metadata.partition_graphs, validate=validate)

    def _generate_dump_from_simple_addition_graph(self) -> SimpleAddResults:
        """Runs a product of two variables, which are watched where they are read, into the folder of dumps itself."""
        left, right = np.array([[1.0, -2.0], [0.5, 4.0]]), np.array([[3.0], [-0.25]])
        with self._session() as sess:
            u, v = tf.Variable(left, name="u"), tf.Variable(right, name="v")
            w = tf.matmul(u, v, name="w")
            sess.run(tf.global_variables_initializer())
            watches = {"u/read": IDENTITY, "v/read": IDENTITY}
            product, metadata = self._run_with_watches(sess, w, watches, [f"file://{self._dump_root}"])
        self.assertAllClose(left @ right, product)
        self.assertLen(metadata.partition_graphs, self._expected_partition_graph_count)
        return SimpleAddResults(left, right, u, v, w, "u", "v", "w", self._loaded(metadata))

    def _session_run_for_graph_structure_lookup(self) -> tuple[str, str, str, DebugDumpDir]:
        """Runs u -> v = u + u -> w = v + v; returns the names of the nodes and the dump."""
        with self._session() as sess:
            u = tf.Variable([1.5, -3.0], name="structure/u")
            v = tf.add(u, u, name="structure/v")
            w = tf.add(v, v, name="structure/w")
            sess.run(u.initializer)
            fetched, dump = self._debug_run_and_get_dump(sess, w, expected_partition_graph_count=self._expected_partition_graph_count)
        self.assertAllClose([6.0, -12.0], fetched)
        return "structure/u", "structure/v", "structure/w", dump

    def _assert_dumped(self, dump: DebugDumpDir, node: str, values: Any, slot: int = 0, debug_op: str = IDENTITY) -> None:
        """Asserts which values were dumped of an output, in this order, at times that do not decrease."""
        self.assertAllClose(values, dump.get_tensors(node, slot, debug_op))
        times = dump.get_rel_timestamps(node, slot, debug_op)
        self.assertLen(times, len(values))
        self.assertEqual(sorted(times), times)
        self.assertGreaterEqual(times[0], 0)
        self.assertTrue(all(size > 0 for size in dump.get_dump_sizes_bytes(node, slot, debug_op)))

    def _assert_core_metadata(self, dump: DebugDumpDir, inputs: Iterable[Any], outputs: Iterable[Any], global_step: int = -1) -> None:
        metadata = dump.core_metadata
        self.assertEqual(global_step, metadata.global_step)
        self.assertGreaterEqual(metadata.session_run_index, 0)
        self.assertGreaterEqual(metadata.executor_step_index, 0)
        self.assertEqual([each.name for each in inputs], metadata.input_names)
        self.assertEqual([each.name for each in outputs], metadata.output_names)
        self.assertEqual([], metadata.target_nodes)
