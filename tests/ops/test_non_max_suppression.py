"""A box without area does not overlap itself: TensorFlow 1.15.5 picks it until `max_output_size` is reached."""

import numpy as np
import pytest

import tfcompat as tf
from tfcompat._src.base import checks
from tfcompat._src.nodes import raw

BOXES = np.array([[0, 0, 0, 0], [0, 0, 1, 1], [0, 0, 0, 0]], np.float32)
SCORES = np.array([0.9, 0.5, 0.1], np.float32)
OPS = {
    "NonMaxSuppression": lambda count: raw.NonMaxSuppression(BOXES, SCORES, count),
    "NonMaxSuppressionV2": lambda count: raw.NonMaxSuppressionV2(BOXES, SCORES, count, 0.5),
    "NonMaxSuppressionV3": lambda count: raw.NonMaxSuppressionV3(BOXES, SCORES, count, 0.5, 0.0),
    "NonMaxSuppressionV4": lambda count: raw.NonMaxSuppressionV4(BOXES, SCORES, count, 0.5, 0.0)[0],
    "NonMaxSuppressionV5": lambda count: raw.NonMaxSuppressionV5(BOXES, SCORES, count, 0.5, 0.0, 0.0)[0],
    "NonMaxSuppressionWithOverlaps": lambda count: raw.NonMaxSuppressionWithOverlaps(np.zeros((3, 3), np.float32), SCORES, count, 0.5, 0.0),
}


@pytest.mark.parametrize("name", OPS)
@pytest.mark.parametrize("count", [1, 7, 10**6])
def test_a_box_without_area_is_picked_again(name, count):
    with tf.Session() as session:
        assert np.array_equal(session.run(OPS[name](count)), np.zeros(count, np.int32))


def test_scores_of_what_is_picked_again():
    with tf.Session() as session:
        picked, scores, count = session.run(raw.NonMaxSuppressionV5(BOXES, SCORES, 7, 0.5, 0.0, 0.0))
    assert picked.tolist() == [0] * 7 and count == 7
    assert np.array_equal(scores, np.full(7, 0.9, np.float32))


@pytest.mark.parametrize("name", OPS)
def test_more_than_there_is_memory_is_refused(name, monkeypatch):
    monkeypatch.setattr(checks, "_machine_bytes", lambda: 2**30)
    with tf.Session() as session, pytest.raises(tf.errors.ResourceExhaustedError, match=r"OOM when allocating tensor with shape\[2147483647\]"):
        session.run(OPS[name](2**31 - 1))
