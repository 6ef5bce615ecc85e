"""Debug ops as nodes of a program; values recorded from 1.15.5."""

import numpy as np

import tfcompat as tf
from tfcompat._src.debug.dump_dir import DebugDumpDir

DEVICE = "/job:localhost/replica:0/task:0/device:CPU:0"


def test_they_write_what_they_give(tmp_path):
    x = tf.constant([1.0, np.nan, -2.0, 0.0, 50.0])
    to = {"device_name": DEVICE, "debug_urls": [f"file://{tmp_path}"]}
    make = tf.raw_ops
    summary = make.DebugNumericSummary(input=x, tensor_name="a/c:0", lower_bound=-1.0, upper_bound=20.0, mute_if_healthy=True, **to)
    healthy = make.DebugNumericSummary(input=tf.constant([1.0]), tensor_name="a/healthy:0", mute_if_healthy=True, **to)
    nodes = [make.DebugIdentity(input=x, tensor_name="a/b:0", **to), make.DebugNanCount(input=x, tensor_name="a/b:1", **to), summary, healthy]
    expected = [
        [1.0, np.nan, -2.0, 0.0, 50.0], [1],
        [1.0, 5.0, 1.0, 1.0, 0.0, 1.0, 1.0, 1.0, -2.0, 50.0, 12.25, 476.1875, 1.0, 1.0, 5.0],
        [1.0, 1.0, 0.0, 0.0, 0.0, 0.0, 1.0, 0.0, 1.0, 1.0, 1.0, 0.0, 1.0, 1.0, 1.0],
    ]  # fmt: skip
    with tf.Session() as sess:
        for found, value in zip(sess.run(nodes), expected, strict=True):
            np.testing.assert_array_equal(found, value)
    written = dict(sorted((datum.watch_key, datum.get_tensor()) for datum in DebugDumpDir(str(tmp_path)).dumped_tensor_data))
    assert set(written) == {"a/b:0:DebugIdentity", "a/b:1:DebugNanCount", "a/c:0:DebugNumericSummary"}, "a healthy one is mute"
    for found, value in zip(written.values(), expected[:3], strict=True):
        np.testing.assert_array_equal(found, value)
