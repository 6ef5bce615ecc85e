"""Reductions over segments of large data: runs of equal and of very different lengths."""

import numpy as np
import pytest

import tfcompat as tf

ROWS, COLUMNS = 3000, 64
RANDOM = np.random.RandomState(0)
IDS = {
    "short": np.sort(RANDOM.randint(0, 900, ROWS)),
    "one long": np.sort(np.where(RANDOM.rand(ROWS) < 0.7, 40, RANDOM.randint(0, 300, ROWS))),
    "one": np.full(ROWS, 2),
    "all different": np.arange(ROWS),
}
REDUCTIONS = {
    "segment_sum": (np.add, 0), "segment_max": (np.maximum, 0), "segment_min": (np.minimum, 0), "segment_prod": (np.multiply, 1),
}  # fmt: skip


def wanted(function, gap, data, ids):
    rows = [function.reduce(data[ids == i], axis=0) if (ids == i).any() else np.full(COLUMNS, gap) for i in range(ids[-1] + 1)]
    return np.array(rows, data.dtype)


@pytest.mark.parametrize("ids", IDS)
@pytest.mark.parametrize("name", REDUCTIONS)
def test_reduction(name, ids):
    data = RANDOM.choice([-1.0, 1.0], (ROWS, COLUMNS)) if name == "segment_prod" else RANDOM.randint(-99, 99, (ROWS, COLUMNS))
    data = data.astype(np.float32)
    with tf.Graph().as_default(), tf.Session() as sess:
        found = sess.run(getattr(tf, name)(data, IDS[ids]))
    np.testing.assert_array_equal(found, wanted(*REDUCTIONS[name], data, IDS[ids]))


def test_mean_of_gathered_rows():
    table = RANDOM.randint(-99, 99, (50, COLUMNS)).astype(np.float64)
    places, ids = RANDOM.randint(0, 50, ROWS), IDS["one long"]
    with tf.Graph().as_default(), tf.Session() as sess:
        found = sess.run(tf.sparse_segment_mean(table, places, ids.astype(np.int32)))
    counts = np.maximum(np.bincount(ids), 1)[:, None]
    np.testing.assert_allclose(found, wanted(np.add, 0, table[places], ids) / counts, rtol=1e-15)
