"""Device maps: every value here is what TensorFlow 1.15.5 gives."""

import subprocess
import sys
from collections.abc import Callable

import pytest

import tfcompat as tf
from tfcompat._src.distribute.device_map import ReplicaDeviceMap, SingleDeviceMap, WorkerDeviceMap
from tfcompat._src.distribute.shared_variable_creator import _canonicalize_variable_name, make_fn
from tfcompat._src.distribute.values import DistributedDelegate, PerReplica, select_device, select_replica

CPU, GPU = "/replica:0/task:0/device:CPU:0", "/replica:0/task:0/device:GPU:0"
WORKERS = ("/job:w/replica:0/task:0/device:CPU:0", "/job:w/replica:0/task:1/device:CPU:0")


def test_replicas() -> None:
    devices = ReplicaDeviceMap(("/cpu:0", "/gpu:0"))
    assert devices.all_devices == devices.logical_to_actual_devices(0) == (CPU, GPU)
    assert list(devices.devices_by_replica) == [(CPU,), (GPU,)]
    assert (devices.num_logical_devices, devices.num_replicas_in_graph) == (1, 2)
    assert (devices.replica_for_device(GPU), devices.replica_for_device("/gpu:1")) == (1, None)
    assert devices.select_for_device("ab", GPU) == "b"
    assert devices.is_device_in_replica("/gpu:0", 1)
    assert str(devices) == f"[{CPU}, {GPU}]"
    assert repr(devices) == f"ReplicaDeviceMap(['{CPU}', '{GPU}'])"
    with pytest.raises(AssertionError):
        devices.logical_to_actual_devices(1)
    with pytest.raises(AssertionError):
        devices.select_for_device("abc", GPU)
    with pytest.raises(ValueError, match="Duplicate devices"):
        ReplicaDeviceMap(("/cpu:0", "/device:CPU:0"))


@pytest.mark.parametrize("devices, all_devices", [(SingleDeviceMap("/cpu:0"), (CPU,)), (WorkerDeviceMap(WORKERS, 2), WORKERS)])
def test_components_without_replicas(devices: SingleDeviceMap | WorkerDeviceMap, all_devices: tuple[str, ...]) -> None:
    assert devices.all_devices == all_devices
    assert devices.select_for_device("ab"[: devices.num_replicas_in_graph], devices.all_devices[0]) == "a"
    name = type(devices).__name__
    quoted = f"`{name}`" if name == "WorkerDeviceMap" else name
    uses = {
        lambda: devices.devices_by_replica: f"{quoted} is not" if name == "WorkerDeviceMap" else f"{name} not",
        lambda: devices.replica_for_device(CPU): f"{quoted} not",
        lambda: devices.is_device_in_replica(CPU, 0): f"{name} not",
    }
    for use, words in uses.items():
        with pytest.raises(ValueError) as raised:
            use()
        assert str(raised.value) == f"{words} indexed by replicas"


def test_workers() -> None:
    devices = WorkerDeviceMap(("/job:w/task:0", "/job:w/task:1"), 2)
    assert devices.all_devices == WORKERS
    assert repr(devices) == f"WorkerDeviceMap({WORKERS!r}, num_replicas_per_worker=2)"


def test_values_on_a_map() -> None:
    devices = ReplicaDeviceMap(("/cpu:0", "/gpu:0"))
    value = PerReplica(devices, (1, 2))
    assert (value.get("/gpu:0"), value.get(), value.devices, value.logical_device) == (2, 1, (CPU, GPU), 0)
    assert value.device_map is devices
    assert repr(value) == f"PerReplica:{{\n  0 {CPU}: 1,\n  1 {GPU}: 2\n}}"
    assert select_replica(1, [value, 3]) == select_device("/gpu:0", [value, 3]) == [2, 3]


def test_replicas_find_variables_by_name_without_numbers() -> None:
    store: dict[str, list] = {}
    made = [make_fn(store, 0)(lambda name: object(), name=name) for name in ("a", "scope_1/b_2")]
    assert [make_fn(store, 1)(None, name=name) for name in ("a", "scope/b_7")] == made
    assert [_canonicalize_variable_name(n) for n in (None, "foo_1:0", "foo1", "foo_a")] == ["Variable", "foo_1:0", "foo1", "foo_a"]
    with pytest.raises(RuntimeError, match="mismatching name"):
        make_fn(store, 1)(None, name="c")


def test_a_creator_outside_the_scope_may_put_all_components_on_one_device() -> None:
    def on_cpu(next_creator: Callable, *args: object, **kwargs: object) -> tf.Variable:
        with tf.device("/cpu:0"):
            return next_creator(*args, **kwargs)

    strategy = tf.distribute.MirroredStrategy(["/cpu:0", "/gpu:0"])
    with tf.Graph().as_default(), tf.variable_creator_scope(on_cpu), strategy.scope():
        v = tf.Variable(1.0, name="v")
        assert v.devices == (CPU, GPU)
        assert [c.device for c in v.values] == [CPU, CPU]
        assert (v.get("/gpu:0").name, v.get("/cpu:0").name) == ("v/replica_1:0", "v:0")


def test_values_of_replicas_are_made_of_tensors():
    with tf.Graph().as_default():
        value = PerReplica(ReplicaDeviceMap(["/cpu:0", "/cpu:1"]), [tf.constant(1.0), tf.constant([2.0, 3.0])])
        spec = value._type_spec
        assert spec == PerReplica(ReplicaDeviceMap(["/cpu:0", "/cpu:1"]), [tf.constant(4.0), tf.constant([5.0, 6.0])])._type_spec
        assert spec != PerReplica(ReplicaDeviceMap(["/cpu:1", "/cpu:0"]), value.values)._type_spec
        assert [s.shape.as_list() for s in spec._component_specs] == [[], [2]]
        moved = tf.nest.map_structure(lambda t: t + 10, value, expand_composites=True)
        assert isinstance(moved, PerReplica)
        chosen = tf.cond(tf.placeholder_with_default(False, []), lambda: value, lambda: moved)
        with tf.Session() as session:
            assert [v.tolist() for v in session.run(chosen.values)] == [11.0, [12.0, 13.0]]
        assert value.is_tensor_like and value._is_graph_tensor


def test_a_delegate_has_the_operators_of_its_value():
    device_map = ReplicaDeviceMap(["/cpu:0", "/cpu:1"])
    with tf.device("/cpu:0"):
        seven = DistributedDelegate(device_map, (7, 8))
        assert (seven + 1, 13 - seven, seven * seven, 10.5 / seven, seven // 2, 16 % seven) == (8, 6, 49, 1.5, 3, 2)
        assert (11 & seven, 16 | seven, 11 ^ seven, pow(seven, 3, 10), pow(2, seven), -seven, ~seven, abs(seven)) == (3, 23, 12, 3, 128, -7, ~7, 7)
        assert seven < 12 <= 12 and 12 > seven and not seven >= 12
        assert seven.bit_length() == 3
        with pytest.raises(TypeError):
            seven[2]
        with pytest.raises(AttributeError):
            seven.unknown


def test_a_function_is_traced_once_for_values_of_replicas_of_one_type():
    program = """
import tensorflow as tf
tf.enable_eager_execution()
strategy = tf.distribute.MirroredStrategy(["/cpu:0"])
from tensorflow.python.distribute import values
traced = []
@tf.function
def doubled(x):
    traced.append(x)
    return tf.nest.map_structure(lambda t: 2 * t, x, expand_composites=True)
for i in range(3):
    value = values.PerReplica(values.ReplicaDeviceMap(["/cpu:0", "/cpu:1"]), (tf.constant(i), tf.constant([i, i])))
    found = doubled(value)
print(len(traced), type(found).__name__, [v.numpy().tolist() for v in found.values])
"""
    done = subprocess.run([sys.executable, "-m", "tfcompat", "run", "-c", program], capture_output=True, text=True)
    assert done.stdout == "1 PerReplica [4, [4, 4]]\n", done.stderr
