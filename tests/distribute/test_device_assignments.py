"""Topologies and assignments of TPU cores, which are plain arithmetic, against those of TensorFlow 1.15.5."""

import json
from pathlib import Path

import pytest

import tfcompat as tf
from distribute import device_assignments

WANTED = json.loads((Path(__file__).resolve().parent.parent / "golden/distribute/device_assignments.json").read_text())
tpu = tf.contrib.tpu


def test_assignments():
    assert device_assignments.outcomes(tf) == WANTED


def test_names_of_devices():
    found = tpu.device_assignment(device_assignments.topology(tf, (4, 2, 2), 4).serialized(), (1, 1, 2), None, 8)
    assert (found.num_replicas, found.num_cores_per_replica, found.coordinates(2, 1)) == (8, 2, (1, 1, 1))
    assert (found.tpu_ordinal(2, 1), found.host_device(2), found.tpu_device(2, 1, "w")) == (
        3, "/task:1/device:CPU:0", "/job:w/task:1/device:TPU:3",
    )  # fmt: skip
    assert found.lookup_replicas(1, 0) == [2, 7]
    with pytest.raises(ValueError, match="Can not find any replica in task: 9"):
        found.lookup_replicas(9, 0)


@pytest.mark.parametrize(
    ("make", "text"),
    [
        (lambda t: tpu.Topology(mesh_shape=[1, 2], device_coordinates=[[[0, 0]]]), "sequence of 3 positive"),
        (lambda t: tpu.Topology(mesh_shape=[1, 2, 2], device_coordinates=[[0, 0]]), "must be a rank 3 int32 array"),
        (lambda t: tpu.device_assignment(3), "is not a Topology object"),
        (lambda t: tpu.device_assignment(t, [1, 1]), r"computation_shape must have shape \[3\]"),
        (lambda t: tpu.device_assignment(t, [1, 1, 0]), "computation_shape must be positive"),
        (lambda t: tpu.device_assignment(t, None, [1, 1]), r"computation_stride must have shape \[3\]"),
        (lambda t: tpu.device_assignment(t, [9, 1, 1]), "does not fit in TPU topology"),
        (lambda t: tpu.device_assignment(t, None, None, 99), "requested 99 replicas but only 8"),
        (lambda t: tpu.DeviceAssignment(t, [[0, 0, 0]]), "must be a rank 3 numpy array"),
        (lambda t: tpu.DeviceAssignment(3, [[[0, 0, 0]]]), "must be a Topology object"),
        (lambda t: tpu.DeviceAssignment(t, [[[0, 0]]]), "minor dimension of core_assignment"),
    ],
)
def test_what_does_not_fit(make, text):
    with pytest.raises(ValueError, match=text):
        make(device_assignments.topology(tf, (2, 2, 2), 8))
