"""The checks of strategies and clusters that TensorFlow's tests are built on, run on the strategies of one process."""

import os
import threading

import pytest

import tfcompat as tf
from tfcompat._src.testing import multi_worker_test_base, single_loss_example, strategy_test_lib


class _Checks:
    test_session = None

    def check(self, name, strategy):
        with self.subTest(name), tf.Graph().as_default(), tf.Session(config=tf.ConfigProto(device_count={"CPU": 2})) as session:
            self.evaluate = session.run
            getattr(self, f"_test_{name}")(strategy)


class OneDevice(_Checks, strategy_test_lib.OneDeviceDistributionTestBase, strategy_test_lib.DistributionTestBase):
    def test_all(self):
        for make in (lambda: tf.distribute.OneDeviceStrategy("/cpu:0"), lambda: tf.distribute.MirroredStrategy(["/cpu:0"])):
            for name in ("run", "all_reduce_sum", "all_reduce_mean", "all_reduce_sum_gradients", "all_reduce_mean_gradient_tape", "replica_id",
                         "call_and_merge_exceptions", "global_step_update"):  # fmt: skip
                self.check(name, make())

    def test_a_loss(self):
        self._test_minimize_loss_graph(tf.distribute.OneDeviceStrategy("/cpu:0"))

    def test_rows_of_arrays(self):
        self._test_numpy_dataset(tf.distribute.OneDeviceStrategy("/cpu:0"))

    def test_checks_fail(self):
        with tf.Graph().as_default(), tf.Session() as session, self.assertRaises(AssertionError):
            self.evaluate = session.run
            strategy = tf.distribute.OneDeviceStrategy("/cpu:0")
            self._test_collective_comms(strategy, lambda pair: (pair[0] + 1, pair[1]), (4.0, [42.0]), (4.0, [42.0]))


class TwoDevices(_Checks, strategy_test_lib.TwoDeviceDistributionTestBase, strategy_test_lib.DistributionTestBase):
    def test_all(self):
        for name in ("run", "all_reduce_sum", "all_reduce_mean", "all_reduce_sum_gradients", "all_reduce_mean_gradients"):
            self.check(name, tf.distribute.MirroredStrategy(["/cpu:0", "/cpu:1"]))


class Clusters(multi_worker_test_base.MultiWorkerTestBase):
    test_session = None

    def test_clients_of_all_workers(self):
        found = []

        def client(task_type, task_id, num_gpus, more):
            with tf.Graph().as_default(), self.session(target="grpc://" + self._cluster_spec[task_type][task_id]) as session:
                with tf.device("/job:ps/task:0"):
                    found.append((task_id, num_gpus, more, session.run(tf.constant(task_id) * 10)))

        self._run_between_graph_clients(client, self._cluster_spec, 0, "more")
        assert sorted(found) == [(0, 0, "more", 0), (1, 0, "more", 10)]

    def test_what_a_client_raises(self):
        def client(*args):
            raise ValueError("client")

        with self.assertRaisesRegex(ValueError, "client"):
            self._run_between_graph_clients(client, self._cluster_spec, 0)


class Tasks(multi_worker_test_base.IndependentWorkerTestBase):
    test_session = None

    def test_each_thread_has_its_own_task(self):
        cluster = multi_worker_test_base.create_cluster_spec(has_chief=True, num_workers=2)
        assert sorted((job, len(tasks)) for job, tasks in cluster.items()) == [("chief", 1), ("worker", 2)]
        found, together = [], threading.Barrier(3)

        def task():
            together.wait()
            found.append((multi_worker_test_base.get_task_type(), multi_worker_test_base.get_task_index(), multi_worker_test_base.is_chief()))

        threads = self.run_multiple_tasks_in_threads(task, cluster)
        self.join_independent_workers(threads["chief"] + threads["worker"])
        assert sorted(found) == [("chief", 0, False), ("worker", 0, False), ("worker", 1, False)]
        assert "TF_CONFIG" not in os.environ


@pytest.mark.parametrize("iterations", [1, 3])
def test_a_step_moves_towards_one(iterations):
    with tf.Graph().as_default():
        tf.set_random_seed(3)
        strategy = tf.distribute.OneDeviceStrategy("/cpu:0")
        step, layer = single_loss_example.single_loss_example(lambda: tf.train.GradientDescentOptimizer(0.2), strategy, False, iterations)
        op = step()
        with tf.Session() as session:
            session.run(tf.global_variables_initializer())
            session.run(step.initialize())
            before = session.run(layer.kernel).item()
            session.run(op)
            assert session.run(layer.kernel).item() - 1 == pytest.approx((before - 1) * 0.6**iterations, abs=1e-6)  # float32 beside 1
