"""Scopes of strategies, and what a program's own StrategyExtended may do: every value here is what TensorFlow 1.15.5 gives."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import tfcompat as tf
from tfcompat._src.distribute import device_util
from tfcompat._src.distribute.values import DistributedValues
from tfcompat._src.eager.mode import eager_mode

MIXED = "Mixing different tf.distribute.Strategy objects"
IN_REPLICA = "Method requires being in cross-replica context"


@pytest.fixture(autouse=True)
def graph() -> Iterator[None]:
    with tf.Graph().as_default():
        yield


class _Extended(tf.distribute.StrategyExtended):
    def __init__(self, strategy: Any, where: str | None) -> None:
        super().__init__(strategy)
        self._default_device = where

    def _create_variable(self, next_creator: Callable, *args: Any, **kwargs: Any) -> Any:
        return next_creator(*args, **kwargs)

    def _call_for_each_replica(self, fn: Callable, args: tuple, kwargs: dict) -> Any:
        with tf.distribute.ReplicaContext(self._container_strategy(), replica_id_in_sync_group=tf.constant(0)):
            return fn(*args, **kwargs)

    def _reduce_to(self, reduce_op: Any, value: Any, destinations: Any) -> Any:
        return reduce_op.value, value

    def _update(self, var: Any, fn: Callable, args: tuple, kwargs: dict, group: bool) -> Any:
        return fn(var, *args, **kwargs)

    def _update_non_slot(self, colocate_with: Any, fn: Callable, args: tuple, kwargs: dict, group: bool) -> Any:
        return fn(*args, **kwargs)


class _Strategy(tf.distribute.Strategy):
    def __init__(self, where: str | None = None) -> None:
        super().__init__(_Extended(self, where))


def test_a_scope_is_entered_again() -> None:
    strategy = _Strategy()
    scope = strategy.scope()
    with scope:
        with scope:
            assert tf.distribute.get_strategy() is strategy
        assert tf.distribute.get_strategy() is strategy
    assert not tf.distribute.has_strategy()
    with scope:
        assert tf.distribute.get_strategy() is strategy


def test_methods_outside_of_scopes_are_under_the_strategy() -> None:
    strategy = _Strategy()
    extended = strategy.extended
    assert extended.call_for_each_replica(tf.distribute.get_strategy) is strategy
    assert extended.update(None, lambda v, x: (v, x, tf.distribute.get_strategy()), (3,)) == (None, 3, strategy)
    assert extended.update_non_slot("/cpu:0", tf.distribute.in_cross_replica_context)
    assert extended.reduce_to("sum", 1.0, "/cpu:0") == ("SUM", 1.0)
    assert extended.batch_reduce_to("mean", [(1.0, "/cpu:0"), (2.0, "/cpu:0")]) == [("MEAN", 1.0), ("MEAN", 2.0)]


@pytest.mark.parametrize(
    "call",
    [
        lambda extended: extended.reduce_to("sum", 1.0, "/cpu:0"),
        lambda extended: extended.call_for_each_replica(lambda: 1),
        lambda extended: extended.update_non_slot("/cpu:0", lambda: 1),
        lambda extended: extended.experimental_make_numpy_dataset(np.zeros(2)),
    ],
)
def test_methods_under_another_strategy(call: Callable) -> None:
    strategy, other = _Strategy(), _Strategy()
    with other.scope(), pytest.raises(RuntimeError, match=MIXED):
        call(strategy.extended)
    with pytest.raises(RuntimeError, match=IN_REPLICA):
        strategy.extended.call_for_each_replica(lambda: call(strategy.extended))


@pytest.mark.parametrize(
    ("kind", "inner"),
    [
        ("Device", lambda: tf.device("/cpu:0")),
        ("Variable", lambda: tf.variable_scope("a")),
        ("Variable creator", lambda: tf.variable_creator_scope(lambda next_creator, **kwargs: next_creator(**kwargs))),
    ],
)
def test_a_scope_ends_before_one_inside(kind: str, inner: Callable[[], contextlib.AbstractContextManager]) -> None:
    with tf.Graph().as_default():
        tf.distribute.experimental_set_strategy(_Strategy("/device:CPU:0"))
        with inner(), pytest.raises(RuntimeError, match=f"{kind} scope nesting error"):
            tf.distribute.experimental_set_strategy(None)


def test_variables_in_the_scope_of_another_strategy() -> None:
    default = tf.distribute.get_strategy()
    with default.scope(), _Strategy().scope(), pytest.raises(RuntimeError, match=MIXED):
        tf.Variable(1.0)
    with pytest.raises(RuntimeError, match=IN_REPLICA):
        default.extended.call_for_each_replica(lambda: default.extended.call_for_each_replica(lambda: 1))


def test_rows_of_arrays_without_a_strategy() -> None:
    with tf.Session() as session:
        rows = tf.distribute.get_strategy().experimental_make_numpy_dataset(np.array([[1.0, 2.0], [3.0, 4.0]]), session=session)
        iterator = tf.data.make_initializable_iterator(rows)
        session.run(iterator.initializer)
        assert session.run(iterator.get_next()).tolist() == [1.0, 2.0]


def test_variables_of_branches_are_made_by_the_creators_around() -> None:
    names = []

    def creator(next_creator: Callable, **kwargs: Any) -> Any:
        names.append(kwargs["name"])
        return next_creator(**kwargs)

    tf.enable_control_flow_v2()
    try:
        with tf.variable_creator_scope(creator):
            tf.while_loop(lambda i: i < 3.0, lambda i: i + tf.get_variable("loop", initializer=2.0, use_resource=True), [0.0])
    finally:
        tf.disable_control_flow_v2()
    assert names == ["loop"]


@pytest.mark.parametrize("fused", [True, False])
def test_an_empty_batch_changes_no_statistic(fused: bool) -> None:
    with tf.Graph().as_default():
        strategy = tf.distribute.OneDeviceStrategy("/cpu:0")
        strategy.extended.experimental_enable_get_next_as_optional = True
        x = tf.placeholder(tf.float32, [None, 2, 2, 3])
        with strategy.scope():
            layer = tf.layers.BatchNormalization(axis=3, fused=fused)
            found = strategy.extended.call_for_each_replica(lambda: layer.apply(x, training=True))
        slopes = tf.gradients(tf.reduce_sum(found * found), [layer.gamma, layer.beta])
        with tf.Session() as session:
            session.run(tf.global_variables_initializer())
            *_, to_gamma, to_beta = session.run([found, *layer.updates, *slopes], {x: np.zeros((0, 2, 2, 3))})
            assert (to_gamma.tolist(), to_beta.tolist()) == ([0.0] * 3, [0.0] * 3)
            assert session.run(layer.moving_mean).tolist() == [0.0] * 3
            assert session.run(layer.moving_variance).tolist() == [1.0] * 3


def test_names_of_devices_where_operations_run_at_once() -> None:
    assert (device_util.current(), device_util.canonicalize("/CPU:0")) == ("", "/replica:0/task:0/device:CPU:0")
    with eager_mode():
        assert (device_util.current(), device_util.canonicalize("/CPU:0")) == ("", "/job:localhost/replica:0/task:0/device:CPU:0")
        with tf.device("/cpu:0"):
            assert device_util.current() == "/job:localhost/replica:0/task:0/device:CPU:0"
        assert device_util.canonicalize("", default="/job:worker") == "/job:worker/replica:0/task:0/device:CPU:0"


def test_a_tape_goes_back_through_a_reduction() -> None:
    def step(c: Any) -> Any:
        x = tf.constant(42.0)
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = tf.distribute.get_replica_context().all_reduce("mean", x) * c
        return tape.gradient(y, x)

    with eager_mode():
        strategy = tf.distribute.MirroredStrategy(["/cpu:0"])
        assert float(strategy.experimental_run_v2(step, args=(tf.constant(5.0),))) == 5.0


def test_variables_of_functions_are_on_the_devices_around_them() -> None:
    made = []

    def make() -> Any:
        with tf.device("/cpu:0"), tf.device("/job:localhost/cpu:0"), tf.init_scope():
            made.append(tf.constant(1.0).op.device)
        return tf.constant(0.0)

    with tf.Graph().as_default(), tf.device("/job:worker"):
        tf.function(make)()
    assert made == ["/job:localhost/device:CPU:0"]


def test_an_iterator_over_the_input_of_a_strategy() -> None:
    strategy = tf.distribute.OneDeviceStrategy("/cpu:0")
    rows = strategy.experimental_distribute_datasets_from_function(lambda context: tf.data.Dataset.range(2))
    iterator = tf.data.make_initializable_iterator(rows)
    element = iterator.get_next()
    with tf.Session() as session:
        session.run(iterator.initialize())
        assert [session.run(element), session.run(element)] == [0, 1]


def test_values_of_tensors_are_tensors() -> None:
    devices, one = ("/device:CPU:0", "/device:GPU:0"), tf.constant(1.0)
    assert tf.contrib.framework.is_tensor(DistributedValues(devices, (one, tf.constant(2.0))))
    assert not tf.contrib.framework.is_tensor(DistributedValues(devices, (one, 2.0)))
