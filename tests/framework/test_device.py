from types import SimpleNamespace

import pytest
from framework.golden_outcomes import found, recorded

import tfcompat as tf
from tfcompat._src.base import device
from tfcompat._src.base.device import DeviceSpecV1, DeviceSpecV2


@pytest.mark.parametrize("expression, expected", recorded("device"))
def test_recorded(expression, expected):
    assert found("device", expression) == expected


def test_v1_spec_changes_and_v2_does_not():
    spec = DeviceSpecV1(job="foo")
    spec.task = 3
    spec.device_type, spec.device_index = "gpu", "2"
    assert spec.to_string() == "/job:foo/task:3/device:GPU:2"
    spec.merge_from(DeviceSpecV1.from_string("/job:bar/cpu:1"))
    assert spec.to_string() == "/job:bar/task:3/device:CPU:1"
    with pytest.raises(AttributeError):
        DeviceSpecV2(job="foo").job = "bar"


def test_a_parsed_spec_does_not_change_the_cache():
    DeviceSpecV1.from_string("/job:cached").task = 9
    assert device.canonical_name("/job:cached") == "/job:cached"


@pytest.mark.parametrize(
    "base, override, merged",
    [
        ("/job:a", "/cpu:0", "/job:a/device:CPU:0"),
        ("/job:a/gpu:1", "/job:b", "/job:b/device:GPU:1"),
        ("/cpu:3", "/device:GPU:*", "/device:GPU:3"),
        ("", "", ""),
    ],
)
def test_merge(base, override, merged):
    assert device.merge(base, override) == merged
    assert device.merge_device(base)(SimpleNamespace(device=override)) == merged


def test_an_object_of_the_program_is_told_the_device_of_the_scopes():
    class Node:
        device = None

        def _set_device_from_string(self, device):
            self.device = device

    def device():
        node = Node()
        tf.get_default_graph()._apply_device_functions(node)
        return node.device

    with tf.Graph().as_default():
        assert device() is None
        with tf.device("/gpu:1"), tf.device("/job:worker"):
            assert device() == "/job:worker/device:GPU:1"
            with tf.device(None):
                assert device() is None
