"""`tensorflow.python.distribute.strategy_test_lib`: checks that hold for every strategy; tests of strategies call them with theirs."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import tfcompat as tf
from tfcompat._src.base import nest
from tfcompat._src.distribute.reduce_util import ReduceOp
from tfcompat._src.distribute.values import select_replica
from tfcompat._src.eager.mode import graph_mode
from tfcompat._src.gradients.backprop import implicit_grad
from tfcompat._src.summary import recording, summary_ops_v2, summary_writers
from tfcompat._src.train.optimizer import get_filtered_grad_fn


class _TestException(Exception):
    """What functions of these checks raise."""


def _raise_exception_fn(_: Any = None) -> None:
    raise _TestException


def _merge_raises_fn() -> None:
    tf.distribute.get_replica_context().merge_call(_raise_exception_fn)


def _merge_call_raises_fn() -> None:
    tf.distribute.get_replica_context().merge_call(lambda strategy: strategy.extended.call_for_each_replica(_raise_exception_fn))


def _merge_call_merge_raises_fn() -> None:
    tf.distribute.get_replica_context().merge_call(lambda strategy: strategy.extended.call_for_each_replica(_merge_raises_fn))


def _all_sum(value: object) -> Any:
    return tf.distribute.get_replica_context().all_reduce(ReduceOp.SUM, value)


def _all_mean(value: object) -> Any:
    return tf.distribute.get_replica_context().all_reduce(ReduceOp.MEAN, value)


def _events_from_logdir(test_case: tf.test.TestCase, logdir: str) -> list:
    """The events of the one file of a folder."""
    test_case.assertTrue(os.path.isdir(logdir))
    files = os.listdir(logdir)
    test_case.assertLen(files, 1)
    return list(tf.train.summary_iterator(os.path.join(logdir, files[0])))


class DistributionTestBase(tf.test.TestCase):
    """Checks of what every strategy can do."""

    def _moves_towards_one(self, strategy: Any, grad_fn: Callable, learning_rate: float) -> tuple[list, list]:
        """One step of descent, by hand, on every replica: the variable's values before it and after it."""

        def update(variable: Any, gradient: Any) -> Any:
            return variable.assign_sub(learning_rate * gradient)

        before, after = [], []
        for gradient, variable in strategy.extended.call_for_each_replica(grad_fn, args=(tf.constant([[1.0]]),)):
            fetched = strategy.extended.read_var(variable)
            before.append(fetched)
            with tf.control_dependencies([fetched]):
                total = strategy.extended.reduce_to(ReduceOp.SUM, gradient, destinations=variable)
                with tf.control_dependencies(strategy.extended.update(variable, update, args=(total,), group=False)):
                    after.append(strategy.extended.read_var(variable))
        return before, after

    def _loss(self) -> Callable[[Any], Any]:
        layer = tf.layers.Dense(1, use_bias=False)
        return lambda x: tf.square(tf.reshape(layer(x), []) - 1.0)

    def _test_minimize_loss_eager(self, d: Any) -> None:
        with d.scope():
            grad_fn = get_filtered_grad_fn(implicit_grad(self._loss()))
            steps = [self._moves_towards_one(d, grad_fn, 0.2) for _ in range(10)]
        (first,), (last,) = steps[0][0], steps[-1][1]
        self.assertLess(abs(last.numpy() - 1), abs(first.numpy() - 1))

    def _test_minimize_loss_graph(self, d: Any, soft_placement: bool = False, learning_rate: float = 0.2) -> None:
        config = tf.ConfigProto(allow_soft_placement=soft_placement)
        with graph_mode(), tf.Graph().as_default(), self.cached_session(config=config) as session, d.scope():
            ops = self._moves_towards_one(d, implicit_grad(self._loss()), learning_rate)
            session.run(tf.global_variables_initializer())
            steps = [session.run(ops) for _ in range(10)]
        (first,), (last,) = steps[0][0], steps[-1][1]
        self.assertLess(abs(last - 1), abs(first - 1))

    def _test_summary_for_replica_zero_only(self, d: Any) -> None:
        logdir = tempfile.mkdtemp(dir=self.get_temp_dir())
        with self.cached_session() as session, d.scope(), recording.always_record_summaries():
            step = tf.train.get_or_create_global_step()
            if not tf.executing_eagerly():
                session.run(step.initializer)
            recording.set_step(0)
            writer = summary_writers.create_file_writer(logdir)

            def write() -> Any:
                with writer.as_default():
                    return summary_ops_v2.write("a", tf.distribute.get_replica_context().replica_id_in_sync_group)

            written = d.unwrap(d.extended.call_for_each_replica(write))
            if not tf.executing_eagerly():
                for op in (writer.init(), written, writer.close()):
                    session.run(op)
            _, event = _events_from_logdir(self, logdir)
            (value,) = event.summary.value
            self.assertEqual((value.tag, value.simple_value), ("a", 0.0))

    def _test_replica_id(self, d: Any) -> None:
        found = []
        with d.scope():
            d.extended.call_for_each_replica(
                lambda: found.append(self.evaluate(tf.distribute.get_replica_context().replica_id_in_sync_group))
            )
            self.assertCountEqual(found, range(len(d.extended.worker_devices)))

    def _test_call_and_merge_exceptions(self, dist: Any) -> None:
        with dist.scope():
            for raises in (_raise_exception_fn, _merge_raises_fn, _merge_call_raises_fn, _merge_call_merge_raises_fn):
                with self.assertRaises(_TestException):
                    dist.extended.call_for_each_replica(raises)

    def _input_fn_to_test_input_context(
        self, dataset_or_callable_fn: Callable[[], Any], expected_num_replicas_in_sync: int, expected_num_input_pipelines: int,
        expected_input_pipeline_id: int | None
    ) -> Callable[[Any], Any]:  # fmt: skip
        """An input function that checks its context; pipelines are numbered as they are asked for where no number is expected."""
        calls = iter(range(expected_num_input_pipelines * 1000))

        def input_fn(input_context: Any) -> Any:
            expected = next(calls) if expected_input_pipeline_id is None else expected_input_pipeline_id
            self.assertEqual(input_context.num_replicas_in_sync, expected_num_replicas_in_sync)
            self.assertEqual(input_context.num_input_pipelines, expected_num_input_pipelines)
            self.assertEqual(input_context.input_pipeline_id, expected)
            return dataset_or_callable_fn()

        return input_fn

    def _test_input_fn_iterable(self, strategy: Any, input_fn: Callable, expected_values: Sequence, ignore_order: bool = False) -> None:
        check = self.assertCountEqual if ignore_order else self.assertEqual
        iterable = strategy.experimental_distribute_datasets_from_function(input_fn)
        if not tf.executing_eagerly():
            iterator = tf.data.make_initializable_iterator(iterable)
            self._test_input_fn_iterator(iterator, strategy.extended.worker_devices, expected_values, ignore_order=ignore_order)
            return
        for _ in range(2):
            iterator = iter(iterable)
            for expected in expected_values:
                check(expected, self.evaluate(list(strategy.experimental_local_results(next(iterator)))))
            with self.assertRaises(StopIteration):
                next(iterator)

    def _test_input_fn_iterator(
        self, iterator: Any, devices: Sequence[str], expected_values: Sequence, sess: Any = None, test_reinitialize: bool = True,
        ignore_order: bool = False
    ) -> None:  # fmt: skip
        """The elements of an iterator, by replica, are those expected, and the same once it begins anew."""
        check = self.assertCountEqual if ignore_order else self.assertEqual
        evaluate = sess.run if sess else self.evaluate

        def following() -> list:
            element = iterator.get_next()
            return evaluate([select_replica(replica, element) for replica in range(len(devices))])

        for turn in range(2 if test_reinitialize else 1):
            evaluate(iterator.initialize())
            for expected in expected_values:
                check(expected, following())
            if turn == 0:
                with self.assertRaises(tf.errors.OutOfRangeError):
                    following()

    def _test_global_step_update(self, strategy: Any) -> None:
        with strategy.scope():
            global_step = tf.get_variable(
                "global_step", [], tf.int64, tf.zeros_initializer(), trainable=False, aggregation=tf.VariableAggregation.ONLY_FIRST_REPLICA
            )
            self.evaluate(tf.global_variables_initializer())
            train_ops, value = strategy.extended.call_for_each_replica(lambda: (global_step.assign_add(1), global_step.read_value()))
            self.evaluate(strategy.group(train_ops))
            values = strategy.experimental_local_results(value)
            self.assertEqual((1,) * len(values), self.evaluate(values))

    def _test_numpy_dataset(self, strategy: Any) -> None:
        with strategy.scope(), self.cached_session() as session:
            x, y = np.arange(12).reshape(6, 2) ** 2, np.arange(6)[::-1]
            batch_size = len(x)
            if not strategy.extended._global_batch_size:
                batch_size //= strategy.num_replicas_in_sync
            dataset = strategy.extended.experimental_make_numpy_dataset((x, y), session=session)
            dataset = dataset.repeat(2).batch(batch_size, drop_remainder=strategy.extended.experimental_require_static_shapes)
            iterator = strategy.make_dataset_iterator(dataset)
            self.evaluate(iterator.initialize())

            def following() -> tuple:
                got = strategy.experimental_run(lambda element: element, iterator)
                return tuple(map(np.concatenate, self.evaluate(tuple(map(strategy.experimental_local_results, got)))))

            for _ in range(2):
                got_x, got_y = following()
                self.assertAllEqual(x, got_x)
                self.assertAllEqual(y, got_y)
            with self.assertRaises(tf.errors.OutOfRangeError):
                following()

    def _test_trainable_variable(self, strategy: Any) -> None:
        on_read = tf.VariableSynchronization.ON_READ
        for cls in (tf.compat.v1.Variable, tf.compat.v2.Variable):
            with strategy.scope():
                self.assertIs(cls(1.0).trainable, True)
                self.assertIs(cls(1.0, synchronization=on_read).trainable, False)
                for is_trainable in (True, False):
                    self.assertIs(cls(1.0, synchronization=on_read, trainable=is_trainable).trainable, is_trainable)


class _CollectiveChecks(tf.test.TestCase):
    """Checks of all-reduce that one device and two share; a subclass says what dataset gives each replica its input."""

    def _inputs(self, strategy: Any, inputs: Any) -> Any:
        iterator = strategy.make_input_fn_iterator(lambda _: self._dataset(inputs))
        self.evaluate(iterator.initialize())
        return iterator

    def _dataset(self, inputs: Any) -> Any:
        raise NotImplementedError("A subclass says what dataset holds the inputs of its replicas.")

    def _test_collective_comms(self, strategy: Any, comm_fn: Callable, inputs: Any, expected: Any) -> None:
        results = strategy.experimental_run(comm_fn, self._inputs(strategy, inputs))
        outputs = self.evaluate([strategy.experimental_local_results(result) for result in results])
        for output, value in zip(outputs, expected):
            self.assertAllEqual([value] * strategy.num_replicas_in_sync, output)

    def _run_step(self, strategy: Any, step: Callable, inputs: Any, expected_grads: Any) -> None:
        results = strategy.experimental_run(step, self._inputs(strategy, inputs))
        self.assertAllEqual(expected_grads, self.evaluate(strategy.experimental_local_results(results)))

    def _test_collective_comms_gradients(self, strategy: object, comm_fn: Callable, inputs: object, expected_grads: object) -> None:
        if tf.executing_eagerly():
            self.skipTest("`tf.gradients` is not supported with eager execution.")

        def step(factor: object) -> Any:
            x = tf.constant(42.0)
            return tf.gradients(comm_fn(x) * factor, [x])[0]

        self._run_step(strategy, step, inputs, expected_grads)

    def _test_collective_comms_gradient_tape(self, strategy: object, comm_fn: Callable, inputs: object, expected_grads: object) -> None:
        def step(factor: object) -> Any:
            x = tf.constant(42.0)
            with tf.GradientTape() as tape:
                tape.watch(x)
                y = comm_fn(x) * factor
            return tape.gradient(y, x)

        self._run_step(strategy, step, inputs, expected_grads)

    def _check_run(self, strategy: Any, first: Callable[[], Any], expected: Sequence[float]) -> None:
        """Three calls that hand results on, the second and third by structures: x; 2x and x²; 2x + 2x² + 2."""
        x = np.asarray(expected)
        one = strategy.experimental_run_v2(first)
        self.assertAllEqual(x, self.evaluate(strategy.unwrap(one)))
        two = strategy.experimental_run_v2(lambda x: {"a": x * 2, "b": x * x}, args=(one,))
        values = self.evaluate(nest.map_structure(strategy.unwrap, two))
        self.assertAllEqual(2 * x, values["a"])
        self.assertAllEqual(x * x, values["b"])
        three = strategy.experimental_run_v2(lambda b, a: a + 2 * b + 2, kwargs=two)
        self.assertAllEqual(2 * x + 2 * x * x + 2, self.evaluate(strategy.unwrap(three)))


class OneDeviceDistributionTestBase(_CollectiveChecks):
    """Checks of strategies with one device."""

    def _dataset(self, inputs: object) -> Any:
        return tf.data.Dataset.from_tensors(inputs)

    def _test_run(self, strategy: object) -> None:
        self._check_run(strategy, lambda: tf.constant(4.0), [4.0])

    def _test_all_reduce_sum(self, strategy: object) -> None:
        self._test_collective_comms(strategy, _all_sum, inputs=(4.0, [42.0, 43.0]), expected=(4.0, [42.0, 43.0]))

    def _test_all_reduce_sum_gradients(self, strategy: object) -> None:
        self._test_collective_comms_gradients(strategy, _all_sum, inputs=[4.0], expected_grads=[4.0])

    def _test_all_reduce_sum_gradient_tape(self, strategy: object) -> None:
        self._test_collective_comms_gradient_tape(strategy, _all_sum, inputs=[4.0], expected_grads=[4.0])

    def _test_all_reduce_mean(self, strategy: object) -> None:
        self._test_collective_comms(strategy, _all_mean, inputs=(2.0, [21.0, 22.0]), expected=(2.0, [21.0, 22.0]))

    def _test_all_reduce_mean_gradients(self, strategy: object) -> None:
        self._test_collective_comms_gradients(strategy, _all_mean, inputs=[5.0], expected_grads=[5.0])

    def _test_all_reduce_mean_gradient_tape(self, strategy: object) -> None:
        self._test_collective_comms_gradient_tape(strategy, _all_mean, inputs=[5.0], expected_grads=[5.0])

    def _run_on_second_worker(self, strategy: Any, run: Callable[[Callable, Any], Any], device: str | None) -> None:
        if tf.executing_eagerly():
            self.skipTest("cross-device tests are not supported with eager execution.")
        workers, _ = tf.test.create_local_cluster(2, 0)
        inputs = strategy.make_input_fn_iterator(lambda _: tf.data.Dataset.range(5))
        with tf.device(device):
            op = run(lambda x: x + 1, inputs)
        with tf.Session(workers[1].target) as session:
            session.run(inputs.initialize())
            session.run(op)

    def _test_device_and_input_device_are_colocated(self, strategy: Any) -> None:
        self._run_on_second_worker(strategy, strategy.experimental_run, None)

    def _test_device_and_input_device_are_colocated_with_function(self, strategy: Any) -> None:
        self._run_on_second_worker(strategy, tf.function(strategy.experimental_run), "/job:worker/replica:0/task:1/device:CPU:0")


class TwoDeviceDistributionTestBase(_CollectiveChecks):
    """Checks of strategies with two devices."""

    def _dataset(self, inputs: object) -> Any:
        return tf.data.Dataset.from_tensor_slices(inputs)

    def _test_run(self, strategy: object) -> None:
        self._check_run(strategy, lambda: tf.distribute.get_replica_context().replica_id_in_sync_group + 1, [1, 2])

    def _test_all_reduce_sum(self, strategy: object) -> None:
        self._test_collective_comms(strategy, _all_sum, inputs=([1.0, 3.0], [[39.0, 2.0], [3.0, 41.0]]), expected=(4.0, [42.0, 43.0]))

    def _test_all_reduce_sum_gradients(self, strategy: object) -> None:
        self._test_collective_comms_gradients(strategy, _all_sum, inputs=[1.0, 3.0], expected_grads=[4.0, 4.0])

    def _test_all_reduce_sum_gradient_tape(self, strategy: object) -> None:
        self._test_collective_comms_gradient_tape(strategy, _all_sum, inputs=[1.0, 3.0], expected_grads=[4.0, 4.0])

    def _test_all_reduce_mean(self, strategy: object) -> None:
        self._test_collective_comms(strategy, _all_mean, inputs=([1.0, 3.0], [[39.0, 2.0], [3.0, 41.0]]), expected=(2.0, [21.0, 21.5]))

    def _test_all_reduce_mean_gradients(self, strategy: object) -> None:
        self._test_collective_comms_gradients(strategy, _all_mean, inputs=[1.0, 3.0], expected_grads=[2.0, 2.0])

    def _test_all_reduce_mean_gradient_tape(self, strategy: object) -> None:
        self._test_collective_comms_gradient_tape(strategy, _all_mean, inputs=[1.0, 3.0], expected_grads=[2.0, 2.0])
