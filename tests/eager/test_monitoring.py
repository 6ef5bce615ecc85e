"""Metrics of the process, as 1.15.5 gives them."""

import sys

import pytest

import tfcompat as tf
from tfcompat._src.eager import monitoring


def test_counters():
    counter = monitoring.Counter("test/counter", "a counter", "label")
    counter.get_cell("a").increase_by(2)
    counter.get_cell("a").increase_by(3)
    assert (counter.get_cell("a").value(), counter.get_cell("b").value()) == (5, 0)
    with pytest.raises(ValueError, match="The Counter expects taking 1 labels"):
        counter.get_cell()


@pytest.mark.parametrize("kind, empty, value", [(monitoring.IntGauge, 0, 3), (monitoring.StringGauge, "", "x"), (monitoring.BoolGauge, False, True)])
def test_gauges(kind, empty, value):
    cell = kind("test/gauge", "a gauge").get_cell()
    assert cell.value() == empty
    cell.set(value)
    assert cell.value() == value
    with pytest.raises(TypeError):
        cell.set([])


def test_histograms():
    sampler = monitoring.Sampler("test/sampler", monitoring.ExponentialBuckets(1.0, 2.0, 3), "a histogram")
    for sample in (0.5, 1.0, 1.5, 2.0, 4.0, 9.0):
        sampler.get_cell().add(sample)
    found = sampler.get_cell().value()
    assert (found.num, found.sum, found.sum_squares, found.min, found.max) == (6, 18, 104.5, 0.5, 9)
    assert list(found.bucket_limit) == [1, 2, 4, sys.float_info.max]
    assert list(found.bucket) == [1, 2, 1, 2]


def test_names_are_taken_while_a_metric_is_in_use():
    first = monitoring.Counter("test/name", "a counter")
    with pytest.raises(tf.errors.AlreadyExistsError):
        monitoring.Counter("test/name", "another")
    del first
    monitoring.Counter("test/name", "another")
