"""`tensorflow.python.debug.lib.session_debug_testlib`: tests of debugged runs, whatever URLs their dumps are sent to.

A subclass says where the dumps of a test go; the test methods of the base classes run small graphs with watches and read the dumps.
"""

from __future__ import annotations

import glob
import os
import shutil
import threading
from typing import Any

import numpy as np

import tfcompat as tf
from tfcompat._src.debug.debug_graphs import is_copy_node
from tfcompat._src.debug.debug_utils import watch_graph, watch_graph_with_blacklists
from tfcompat._src.debug.dump_dir import DebugDumpDir
from tfcompat._src.debug.dump_files import (
    InconvertibleTensorProto,
    extract_core_metadata_from_event_proto,
    has_inf_or_nan,
    read_event,
)
from tfcompat._src.runtime.session.session import Session
from tfcompat._src.testing.devices import gpu_device_name
from tfcompat._src.testing.session_debug_runs import FLOAT, IDENTITY, SUMMARY, DebuggedRuns, numeric_summary
from tfcompat._src.testing.test_case import TestCase

_NO_NODE = r"None of the .* device\(s\) has a node named "
_RUNS_OF_A_THREAD = 100


class _ScalingCell(tf.nn.rnn_cell.RNNCell):
    """Multiplies inputs by a trained scalar and forwards its state."""

    def __init__(self, size: int, state_size: int) -> None:
        super().__init__()
        self._sizes = size, state_size
        self._scale = tf.Variable(1.0, name="scale")

    @property
    def output_size(self) -> int:
        return self._sizes[0]

    @property
    def state_size(self) -> int:
        return self._sizes[1]

    def __call__(self, inputs: object, state: object, scope: object = None) -> Any:
        return inputs * self._scale, state


class SessionDebugTestBase(DebuggedRuns):
    """Tests of one debugged run after another.

    A subclass defines `_debug_urls` and `_debug_dump_dir`; `_dump_root` is the folder in which dumps are read.
    """

    # Watches in partition graphs.

    def testCopyNodesHaveCorrectDebugOpsAndURLsAttributeValues(self) -> None:
        with Session() as sess:
            product = tf.multiply(tf.Variable(1.5, name="u"), tf.Variable(8.0, name="v"), name="w")
            sess.run(tf.global_variables_initializer())
            watches: dict[str, str | list[str]] = {"u": [f"{SUMMARY}(gated_grpc=True)", IDENTITY], "v": [SUMMARY]}
            fetched, metadata = self._run_with_watches(sess, product, watches)
        self.assertAllClose(12.0, fetched)
        copies = {node.name: node for graph in metadata.partition_graphs for node in graph.node if is_copy_node(node.name)}
        specs = {name: [spec.decode() for spec in copies[name].attr["debug_ops_spec"].list.s] for name in ("__copy_u_0", "__copy_v_0")}
        (url,) = self._debug_urls()
        self.assertEqual({"__copy_u_0": [f"{SUMMARY};{url};1", f"{IDENTITY};{url};0"], "__copy_v_0": [f"{SUMMARY};{url};0"]}, specs)

    # Values and files of dumps.

    def testConcurrentDumpingToPathsWithOverlappingParentDirsWorks(self) -> None:
        results = self._generate_dump_from_simple_addition_graph()
        self.assertTrue(results.dump.loaded_partition_graphs())
        self._assert_core_metadata(results.dump, [], [results.w])
        self.assertEqual(2, results.dump.size)
        self._assert_dumped(results.dump, results.u_name + "/read", [results.u_init_val])
        self._assert_dumped(results.dump, results.v_name + "/read", [results.v_init_val])

    def testDumpStringTensorsWorks(self) -> None:
        with self._session() as sess:
            joined = tf.add(tf.Variable(b"left", name="first"), tf.Variable(b"right", name="second"), name="joined")
            sess.run(tf.global_variables_initializer())
            fetched, metadata = self._run_with_watches(sess, joined, {"first/read": IDENTITY, "second/read": IDENTITY})
        self.assertEqual(b"leftright", fetched)
        self.assertLen(metadata.partition_graphs, 1)  # strings are on the CPU, a GPU or not
        dump = self._loaded(metadata)
        self.assertEqual(2, dump.size)
        for name, value in (("first", b"left"), ("second", b"right")):
            self.assertIn(name, dump.nodes())
            self.assertEqual([value], dump.get_tensors(name + "/read", 0, IDENTITY))
            self.assertGreaterEqual(dump.get_rel_timestamps(name + "/read", 0, IDENTITY)[0], 0)
            self.assertGreater(dump.get_dump_sizes_bytes(name + "/read", 0, IDENTITY)[0], 0)

    def testDumpUninitializedVariable(self) -> None:
        with Session() as sess:
            number, text = tf.Variable([[0.5, 2.0]], name="fresh/number"), tf.Variable(b"text", name="fresh/text")
            watches = {"fresh/number": IDENTITY, "fresh/text": IDENTITY}
            _, metadata = self._run_with_watches(sess, tf.global_variables_initializer(), watches)
            self.assertAllClose([[0.5, 2.0]], sess.run(number))
            self.assertEqual(b"text", sess.run(text))
        self.assertLen(metadata.partition_graphs, self._expected_partition_graph_count)
        dump = self._loaded(metadata)
        self.assertEqual(2, dump.size)
        for name in watches:  # the watch sees the variable before its initializer has run
            (value,) = dump.get_tensors(name, 0, IDENTITY)
            self.assertIsInstance(value, InconvertibleTensorProto)
            self.assertFalse(value.initialized)

    def testDebugQueueOpsDoesNotoErrorOut(self) -> None:
        with Session() as sess:
            queue = tf.FIFOQueue(3, "float", name="queue")
            _, dump = self._debug_run_and_get_dump(sess, queue.enqueue_many(([4.0, 5.0, 6.0],), name="fill"))
        self.assertTrue(dump.loaded_partition_graphs())
        (handle,) = dump.get_tensors("queue", 0, IDENTITY)
        self.assertIsInstance(handle, InconvertibleTensorProto)
        self.assertTrue(handle.initialized)
        self._assert_dumped(dump, "fill/component_0", [[4.0, 5.0, 6.0]])

    def testAllowsWatchingUnconnectedOutputTensor(self) -> None:
        with Session() as sess:
            x = tf.Variable([7, 7, 1, 1, 1], name="unread/x")
            distinct, positions = tf.unique(x, name="unread/unique")
            total = tf.add(distinct, [10, 20], name="unread/total")
            sess.run(x.initializer)
            self.assertEqual(["unread/total"], [op.name for op in distinct.consumers()])
            self.assertEmpty(positions.consumers())
            fetched, dump = self._debug_run_and_get_dump(sess, total)
        self.assertAllEqual([17, 21], fetched)
        for slot, value in enumerate([[7, 1], [0, 0, 1, 1, 1]]):
            (datum,) = dump.watch_key_to_data(f"unread/unique:{slot}:{IDENTITY}")
            self.assertEqual(("unread/unique", slot), (datum.node_name, datum.output_slot))
            self.assertAllEqual(value, datum.get_tensor())

    def testOutputSlotWithoutOutgoingEdgeCanBeWatched(self) -> None:
        with self._session() as sess:
            with tf.control_dependencies([tf.constant([[1.0, 2.0, 3.0]], name="only_awaited")]):
                awaiting = tf.no_op(name="awaiting")
            _, dump = self._debug_run_and_get_dump(sess, awaiting)
        (datum,) = dump.dumped_tensor_data
        self.assertEqual(("only_awaited", 0, IDENTITY), (datum.node_name, datum.output_slot, datum.debug_op))
        self.assertAllClose([[1.0, 2.0, 3.0]], datum.get_tensor())

    def testWatchingVariableUpdateOpsSeesUpdatedValues(self) -> None:
        with self._session() as sess:
            u, v = tf.Variable(6.0, name="fit/u"), tf.Variable(-4.0, name="fit/v")
            train_op = tf.train.GradientDescentOptimizer(0.5).minimize(u * v, name="fit/train")
            sess.run(tf.global_variables_initializer())
            _, dump = self._debug_run_and_get_dump(sess, train_op)
            updated = {"u": 6.0 + 0.5 * 4.0, "v": -4.0 - 0.5 * 6.0}
            self.assertAllClose(updated, sess.run({"u": u, "v": v}))
        for name, value in updated.items():
            (datum,) = dump.watch_key_to_data(f"fit/train/update_fit/{name}/ApplyGradientDescent:0:{IDENTITY}")
            self.assertAllClose(value, datum.get_tensor())

    def testSuccessiveDebuggingRunsIncreasesCounters(self) -> None:
        with Session() as sess:
            fed = tf.placeholder(tf.float32, name="successive/fed")
            turned, flat = tf.transpose(fed, name="successive/turned"), tf.squeeze(fed, name="successive/flat")
            runs = []
            for step, fetch in enumerate([turned, turned, flat], 1):
                shutil.rmtree(self._dump_root, ignore_errors=True)
                _, dump = self._debug_run_and_get_dump(sess, fetch, feed_dict={fed: np.array([[7.0, 8.0]])}, global_step=step)
                self._assert_core_metadata(dump, [fed], [fetch], global_step=step)
                runs.append((dump.core_metadata.session_run_index, dump.core_metadata.executor_step_index))
        first = runs[0][0]
        self.assertEqual([(first, 0), (first + 1, 1), (first + 2, 0)], runs)  # other fetches are another executor, whose steps begin at 0

    def testDebuggingDuringOpError(self) -> None:
        with Session() as sess:
            fed = tf.placeholder(tf.float32, name="fails/fed")
            turned = tf.transpose(fed, name="fails/turned")
            product = tf.matmul(tf.constant([[1.0, 2.0]], name="fails/left"), turned, name="fails/product")
            with self.assertRaises(tf.errors.OpError):
                self._debug_run_and_get_dump(sess, product, feed_dict={fed: np.array([[-3.0], [0.0]])})
        dump = DebugDumpDir(self._dump_root)
        self._assert_core_metadata(dump, [fed], [product])
        self.assertTrue(dump.loaded_partition_graphs())  # the run returned no graphs: they are read from the dump
        for name, value in (("fails/left", [[1.0, 2.0]]), ("fails/turned", [[-3.0, 0.0]])):
            (datum,) = dump.watch_key_to_data(f"{name}:0:{IDENTITY}")
            self.assertAllClose(value, datum.get_tensor())

    # Control flow and training.

    def testDebugWhileLoopGeneratesMultipleDumps(self) -> None:
        count = 6
        with self._session() as sess:
            total, step = tf.Variable(3.0, name="summed/total"), tf.Variable(0.5, name="summed/step")
            sess.run(tf.global_variables_initializer())

            def body(i: object) -> Any:
                with tf.control_dependencies([tf.assign_add(total, step)]):
                    return tf.add(i, 1)

            loop = tf.while_loop(lambda i: tf.less(i, count), body, [tf.constant(0)], parallel_iterations=4)
            watched = ("summed/total", "summed/step/read", "while/Identity", "while/Add/y")
            fetched, metadata = self._run_with_watches(sess, loop, dict.fromkeys(watched, IDENTITY))
            self.assertEqual(count, fetched)
            self.assertAllClose(3.0 + count * 0.5, sess.run(total))
        self.assertLen(metadata.partition_graphs, self._expected_partition_graph_count)
        for folder in ("summed", os.path.join("summed", "step")):
            (found,) = glob.glob(os.path.join(self._dump_root, "*", folder))
            self.assertTrue(os.path.isdir(found))
        dump = self._loaded(metadata)
        self.assertEqual(2 + 2 * count, dump.size)  # each variable once, the counter and its increment in every iteration
        self._assert_dumped(dump, "summed/total", [3.0])
        self._assert_dumped(dump, "summed/step/read", [0.5])
        self._assert_dumped(dump, "while/Identity", range(count))
        self._assert_dumped(dump, "while/Add/y", [1] * count)
        self.assertLen(set(dump.get_dump_sizes_bytes("while/Identity", 0, IDENTITY)), 1)
        (key,) = dump.debug_watch_keys("while/Identity")
        self.assertEqual(f"while/Identity:0:{IDENTITY}", key)
        self.assertLen(dump.watch_key_to_data(key), count)
        self.assertEmpty(dump.watch_key_to_data("no_such_node"))

    def testDebugWhileLoopWatchingWholeGraphWorks(self) -> None:
        with Session() as sess:
            loop = tf.while_loop(lambda i: tf.less(i, 20), lambda i: tf.add(i, 5), [tf.constant(8)])
            fetched, dump = self._debug_run_and_get_dump(sess, loop)
        self.assertEqual(23, fetched)
        self._assert_dumped(dump, "while/Enter", [8])
        self._assert_dumped(dump, "while/NextIteration", [13, 18, 23])

    def testDebugCondWatchingWholeGraphWorks(self) -> None:
        with Session() as sess:
            x, y = tf.Variable(1.0, name="x"), tf.Variable(2.5, name="y")
            larger = tf.cond(tf.greater(x, y), lambda: tf.add(x, 100.0), lambda: tf.add(y, 50.0))
            sess.run(tf.global_variables_initializer())
            fetched, dump = self._debug_run_and_get_dump(sess, larger)
        self.assertAllClose(52.5, fetched)
        self._assert_dumped(dump, "cond/Merge", [52.5])

    def testDebugTrainingDynamicRNNWorks(self) -> None:
        with Session() as sess:
            inputs = np.arange(24, dtype=np.float32).reshape(4, 2, 3) / 10  # time, batch, features
            fed, lengths = tf.placeholder(tf.float32, inputs.shape), np.array([1, 3])
            cell = _ScalingCell(3, 2)
            outputs, _ = tf.nn.dynamic_rnn(cell, fed, sequence_length=lengths, time_major=True, dtype=tf.float32)
            train_op = tf.train.GradientDescentOptimizer(0.1).minimize(tf.reduce_sum(outputs * outputs), name="train_op")
            sess.run(tf.global_variables_initializer())
            options, metadata = tf.RunOptions(output_partition_graphs=True), tf.RunMetadata()
            watch_graph_with_blacklists(
                options, sess.graph, node_name_regex_blacklist="(.*rnn/while/.*|.*TensorArray.*)", debug_urls=self._debug_urls()
            )
            sess.run(train_op, feed_dict={fed: inputs}, options=options, run_metadata=metadata)
            within = np.arange(4)[:, None] < lengths
            trained = 1 - 0.1 * 2 * np.sum((inputs * within[..., None]) ** 2)
            self.assertAllClose(trained, sess.run("scale:0"))
        dump = self._loaded(metadata)
        self.assertGreater(dump.size, 0)
        self.assertFalse([datum for datum in dump.dumped_tensor_data if "rnn/while/" in datum.node_name])

    # Search for bad values.

    def _dump_with_bad_values(self) -> DebugDumpDir:
        """A dump in which bad/x is infinite, and with it the NaN of bad/y and bad/z."""
        with Session() as sess:
            u, v = tf.Variable([6.0, 8.0], name="bad/u"), tf.Variable([6.0, 4.0], name="bad/v")
            w = tf.subtract(u, v, name="bad/w")
            x = tf.div(u, w, name="bad/x")
            y = tf.multiply(w, x, name="bad/y")
            z = tf.multiply(y, y, name="bad/z")
            sess.run(tf.global_variables_initializer())
            _, dump = self._debug_run_and_get_dump(sess, z, expected_partition_graph_count=self._expected_partition_graph_count)
        return dump

    def testFindNodesWithBadTensorValues(self) -> None:
        def is_bad(_: object, tensor: Any) -> bool:
            return not np.isfinite(tensor).all()

        dump = self._dump_with_bad_values()
        found = {datum.node_name for datum in dump.find(is_bad)}
        self.assertTrue({"bad/x", "bad/y", "bad/z"} <= found)
        self.assertNoCommonElements(found, ["bad/u", "bad/v", "bad/w"])
        self.assertLen(dump.find(is_bad, first_n=1), 1)

    def testFindInfOrNanWithOpNameExclusion(self) -> None:
        dump = self._dump_with_bad_values()
        found = {datum.node_name for datum in dump.find(has_inf_or_nan, exclude_node_names=".*/x$")}
        self.assertTrue({"bad/y", "bad/z"} <= found)
        self.assertNotIn("bad/x", found)
        self.assertLen(dump.find(has_inf_or_nan, first_n=1, exclude_node_names=".*/x$"), 1)

    # Structure of the graph.

    def testGetOpTypeWorks(self) -> None:
        results = self._generate_dump_from_simple_addition_graph()
        for name, node in ((results.u_name, results.u), (results.v_name, results.v), (results.w_name, results.w)):
            self.assertEqual(node.op.type, results.dump.node_op_type(name))
        with self.assertRaisesRegex(ValueError, _NO_NODE):
            results.dump.node_op_type("no_such_node")

    def testGraphStructureLookupGivesDevicesAndNodesInfo(self) -> None:
        u, _, _, dump = self._session_run_for_graph_structure_lookup()
        self.assertLen(dump.devices(), self._expected_num_devices)
        self.assertEqual(self._main_device, dump.node_device(u))
        with self.assertRaisesRegex(ValueError, "does not exist in partition graphs"):
            dump.node_device(u + "_no")
        self.assertEqual([True, True, False], [dump.node_exists(name) for name in (u, u + "/read", u + "/read/no")])

    def testGraphStructureLookupGivesNodesAndAttributes(self) -> None:
        u, _, _, dump = self._session_run_for_graph_structure_lookup()
        self.assertTrue({u, u + "/read"} <= set(dump.nodes(device_name=self._main_device)))
        attributes = dump.node_attributes(u)
        self.assertEqual(tf.float32, attributes["dtype"].type)
        self.assertEqual([2], [dim.size for dim in attributes["shape"].shape.dim])
        with self.assertRaisesRegex(ValueError, _NO_NODE):
            dump.node_attributes("no_such_node")

    def testGraphStructureLookupGivesDebugWatchKeys(self) -> None:
        *names, dump = self._session_run_for_graph_structure_lookup()
        for name in names:
            self.assertEqual([f"{name}:0:{IDENTITY}"], dump.debug_watch_keys(name))
            (datum,) = dump.watch_key_to_data(f"{name}:0:{IDENTITY}")
            self.assertEqual((name, 0, IDENTITY), (datum.node_name, datum.output_slot, datum.debug_op))
            self.assertGreaterEqual(datum.timestamp, 0)
        self.assertEmpty(dump.debug_watch_keys("no_such_node"))
        self.assertEmpty(dump.watch_key_to_data("no_such_node"))

    def testGraphStructureLookupGivesNodeInputsAndRecipients(self) -> None:
        u, v, w, dump = self._session_run_for_graph_structure_lookup()
        read = u + "/read"
        inputs, before = {u: [], read: [u], v: [read, read], w: [v, v]}, {u: [], read: [u], v: [u, read], w: [u, read, v]}
        for name, expected in inputs.items():
            self.assertEqual(expected, dump.node_inputs(name))
            self.assertCountEqual(before[name], dump.transitive_inputs(name))
            self.assertEmpty(dump.node_inputs(name, is_control=True))
            self.assertEmpty(dump.node_recipients(name, is_control=True))
            for giver in expected:
                self.assertEqual(expected.count(giver), dump.node_recipients(giver).count(name))
        for lookup in (dump.node_inputs, dump.node_recipients, dump.transitive_inputs):
            with self.assertRaisesRegex(ValueError, _NO_NODE):
                lookup(u + "_no")

    def testGraphStructureLookupWithoutPartitionGraphsDoesNotErrorOut(self) -> None:
        u, *_ = self._session_run_for_graph_structure_lookup()
        dump = DebugDumpDir(self._dump_root, validate=False)  # its graphs are those of the folder
        self.assertTrue(dump.loaded_partition_graphs())
        self.assertEqual([u], dump.node_inputs(u + "/read"))

    def testGraphPathFindingOnControlEdgesWorks(self) -> None:
        with self._session() as sess:
            one, two, three = (tf.Variable(float(i), name=f"value{i}") for i in range(1, 4))
            with tf.control_dependencies([tf.add(one, two, name="earlier")]):
                later = tf.subtract(three, three, name="later")
            sess.run(tf.global_variables_initializer())
            _, dump = self._debug_run_and_get_dump(sess, later)
        self.assertEqual(["value1", "value1/read", "earlier", "later"], dump.find_some_path("value1", "later"))
        self.assertIsNone(dump.find_some_path("value1", "later", include_control=False))

    def testGraphPathFindingReverseRefEdgeWorks(self) -> None:
        with self._session() as sess:
            total, step = tf.Variable(4.0, name="total"), tf.Variable(0.5, name="step")
            grown = tf.assign_add(total, step, name="grown")
            sess.run(tf.global_variables_initializer())
            _, dump = self._debug_run_and_get_dump(sess, grown)
        self.assertEqual(["step", "step/read", "grown", "total"], dump.find_some_path("step", "total", include_reversed_ref=True))
        self.assertIsNone(dump.find_some_path("step", "total"))

    def testLookUpNodePythonTracebackWorks(self) -> None:
        with Session() as sess:
            product = tf.multiply(tf.Variable(3.0, name="made/u"), tf.Variable(5.0, name="made/v"), name="made/here")
            sess.run(tf.global_variables_initializer())
            _, dump = self._debug_run_and_get_dump(sess, product)
        with self.assertRaisesRegex(LookupError, "Python graph is not available for traceback lookup"):
            dump.node_traceback("made/here")
        dump.set_python_graph(sess.graph)
        with self.assertRaisesRegex(KeyError, r"Cannot find node \"nowhere\" in Python graph"):
            dump.node_traceback("nowhere")
        for element in ("made/here", "made/here:0"):
            frames = dump.node_traceback(element)
            self.assertIsInstance(frames, tuple)
            self.assertTrue(frames and all(isinstance(frame, tuple) for frame in frames))

    # The order of dumps.

    def testCausalityCheckOnDumpsDetectsWrongTemporalOrder(self) -> None:
        _, earlier, later, dump = self._session_run_for_graph_structure_lookup()
        graphs = dump.partition_graphs()
        DebugDumpDir(self._dump_root)

        def moved(path: str, time: int) -> str:
            new = f"{path.rpartition('_')[0]}_{time}"
            os.rename(path, new)
            return new

        (first,), (second,) = (dump.get_tensor_file_paths(name, 0, IDENTITY) for name in (earlier, later))
        begin, end = (int(path.rpartition("_")[2]) for path in (first, second))
        first, second = moved(first, end), moved(second, begin - 1)
        with self.assertRaisesRegex(ValueError, "Causality violated"):
            DebugDumpDir(self._dump_root, partition_graphs=graphs)
        self.assertEqual(dump.size, DebugDumpDir(self._dump_root, partition_graphs=graphs, validate=False).size)
        moved(second, end)  # at one time both: no order that could be wrong
        self.assertEqual(dump.size, DebugDumpDir(self._dump_root, partition_graphs=graphs).size)

    def testWatchingOnlyOneOfTwoOutputSlotsDoesNotLeadToCausalityFailure(self) -> None:
        with self._session() as sess:
            x = tf.Variable([4, 9, 9], name="slots/x")
            sess.run(x.initializer)
            distinct, positions, _ = tf.unique_with_counts(x, name="slots/unique")
            doubled = tf.add(positions, positions, name="slots/doubled")
            fetches = [tf.add(distinct, distinct, name="slots/v"), tf.add(doubled, doubled, name="slots/y")]
            watched = ("slots/unique", "slots/doubled", "slots/y")
            _, metadata = self._run_with_watches(sess, fetches, dict.fromkeys(watched, IDENTITY))
        dump = self._loaded(metadata)
        for name, value in zip(watched, ([4, 9], [0, 2, 2], [0, 4, 4]), strict=True):
            self._assert_dumped(dump, name, [value])

    # Numeric summaries.

    def testDebugNumericSummaryOnInitializedTensorGivesCorrectResult(self) -> None:
        values = np.array([np.nan] * 2 + [0.0] * 3 + [-4.0, -1.5, 2.0, 8.0, 0.25] + [-np.inf] * 4 + [np.inf], np.float32)
        with self._session() as sess:
            total = tf.add(tf.Variable(values, name="summed/a"), tf.Variable(np.zeros_like(values), name="summed/b"), name="summed/c")
            sess.run(tf.global_variables_initializer())
            _, dump = self._debug_run_and_get_dump(sess, total, debug_ops=[SUMMARY])
        self.assertTrue(dump.loaded_partition_graphs())
        self._assert_dumped(dump, "summed/a/read", [numeric_summary(values)], debug_op=SUMMARY)

    def testDebugNumericSummaryOnUninitializedTensorGivesCorrectResult(self) -> None:
        with Session() as sess:
            fresh = tf.Variable([7.0], name="fresh/a")
            _, dump = self._debug_run_and_get_dump(sess, fresh.initializer, debug_ops=[SUMMARY])
        self.assertTrue(dump.loaded_partition_graphs())
        none_counted, of_no_values = [0.0] * 8, [np.inf, -np.inf, np.nan, np.nan]
        self.assertAllClose([none_counted + of_no_values + [FLOAT, 1.0, 1.0]], dump.get_tensors("fresh/a", 0, SUMMARY))

    def testDebugNumericSummaryFailureIsToleratedWhenOrdered(self) -> None:
        with Session() as sess:
            text = tf.add(tf.Variable("4", name="first"), tf.Variable("2", name="second"), name="text")
            number = tf.string_to_number(text, name="number")
            doubled = tf.add(number, number, name="doubled")
            sess.run(tf.global_variables_initializer())
            with self.assertRaises(tf.errors.FailedPreconditionError):  # strings have no numeric summary
                self._debug_run_and_get_dump(sess, doubled, debug_ops=[SUMMARY])
            fetched, dump = self._debug_run_and_get_dump(sess, doubled, debug_ops=[SUMMARY], tolerate_debug_op_creation_failures=True)
        self.assertAllClose(84.0, fetched)
        for name in ("number", "doubled"):
            self.assertIn(f"{name}:0:{SUMMARY}", dump.debug_watch_keys(name))

    def testDebugNumericSummaryInvalidAttributesStringAreCaught(self) -> None:
        with self._session() as sess:
            ratio = tf.divide(tf.Variable(3.0, name="a"), tf.Variable(0.0, name="b"), name="x")
            sess.run(tf.global_variables_initializer())
            for attributes, refused in (("foo=1.0", "1.*: foo"), ("foo=1.0; bar=false", "2.*:"), ("foo=1.0; mute_if_healthy=true", "1.*: foo")):
                count, _, names = refused.partition(".*")
                message = rf"{count} attribute key\(s\) were not valid for debug node __dbg_.:0_0_{SUMMARY}{names}"
                with self.assertRaisesRegex(tf.errors.FailedPreconditionError, message):
                    self._debug_run_and_get_dump(sess, ratio, debug_ops=[f"{SUMMARY}({attributes})"])

    def testDebugNumericSummaryMuteOnHealthyMutesOnlyHealthyTensorDumps(self) -> None:
        with self._session() as sess:
            ratio = tf.divide(tf.Variable(3.0, name="a"), tf.Variable(0.0, name="b"), name="x")
            product = tf.multiply(ratio, tf.Variable(0.0, name="c"), name="y")
            sess.run(tf.global_variables_initializer())
            # Dumps of givers are missing: the order of what is there cannot be validated.
            _, dump = self._debug_run_and_get_dump(sess, product, debug_ops=[f"{SUMMARY}(mute_if_healthy=true)"], validate=False)
            self.assertGreaterEqual(dump.size, 2)
            self.assertNoCommonElements([datum.node_name for datum in dump.dumped_tensor_data], ["a", "b", "c"])
            self._assert_dumped(dump, "x", [numeric_summary(np.inf)], debug_op=SUMMARY)
            self._assert_dumped(dump, "y", [numeric_summary(np.nan)], debug_op=SUMMARY)
            shutil.rmtree(self._dump_root)
            _, dump = self._debug_run_and_get_dump(sess, product, debug_ops=[f"{SUMMARY}()"])
        self.assertGreaterEqual(dump.size, 8)  # three variables, as they are and as they are read, and two results

    def testDebugNumericSummaryMuteOnHealthyAndCustomBoundsWork(self) -> None:
        with Session() as sess:
            a, b = tf.Variable([8.0, 9.0], name="a"), tf.Variable([8.0, 4.0], name="b")
            x = tf.add(a, b, name="x")
            ratio = tf.divide(x, b, name="y")
            sess.run(tf.global_variables_initializer())
            _, dump = self._debug_run_and_get_dump(sess, ratio, debug_ops=[f"{SUMMARY}(mute_if_healthy=true; upper_bound=10.0)"], validate=False)
        self.assertEqual(1, dump.size)  # of x alone: its entries are above the bound and count as infinite
        expected = numeric_summary([16.0, 13.0])
        expected[[6, 7]] = 0, 2
        self._assert_dumped(dump, "x", [expected], debug_op=SUMMARY)


class DebugConcurrentRunCallsTest(TestCase):
    """A test of debugged runs in several threads.

    A subclass sets `_num_concurrent_runs` and the list of folders `_dump_roots` and defines `_get_concurrent_debug_urls`.
    """

    _num_concurrent_runs: int
    _dump_roots: list[str]

    def _get_concurrent_debug_urls(self) -> list[str]:
        """The URL to which each thread sends its dumps."""
        raise NotImplementedError(f"{type(self).__name__} must define _get_concurrent_debug_urls: one URL for the dumps of each thread.")

    def testDebugConcurrentVariableUpdates(self) -> None:
        if gpu_device_name():
            self.skipTest("Runs of one GPU are not concurrent.")
        count = self._num_concurrent_runs
        with Session() as sess:
            total = tf.Variable(5.0, name="total")
            updates = [tf.assign_add(total, tf.constant(2.0), use_locking=True, name=f"update{i}") for i in range(count)]
            sess.run(total.initializer)

            def run_often(update: object, url: str) -> None:
                options = tf.RunOptions(output_partition_graphs=True)
                watch_graph(options, sess.graph, debug_urls=url)
                for _ in range(_RUNS_OF_A_THREAD):
                    sess.run(update, options=options)

            threads = [threading.Thread(target=run_often, args=given) for given in zip(updates, self._get_concurrent_debug_urls(), strict=True)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            self.assertAllClose(5.0 + 2.0 * count * _RUNS_OF_A_THREAD, sess.run(total))
        of_session: list[int] = []
        for folder in self._dump_roots:
            dump = DebugDumpDir(folder)
            self.assertTrue(dump.loaded_partition_graphs())
            self.assertLen(dump.get_tensors("total", 0, IDENTITY), _RUNS_OF_A_THREAD)
            events = sorted(map(read_event, glob.glob(os.path.join(folder, "_tfdbg_core*"))), key=lambda event: event.wall_time)
            runs = [extract_core_metadata_from_event_proto(event) for event in events]
            steps, indices = [run.executor_step_index for run in runs], [run.session_run_index for run in runs]
            self.assertEqual(list(range(steps[0], steps[0] + len(steps))), steps)
            self.assertEqual(sorted(set(indices)), indices)
            of_session += indices
        self.assertLen(set(of_session), len(of_session))
