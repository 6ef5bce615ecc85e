"""Modules that TensorFlow's tests and examples import for themselves."""

import numpy as np
import pytest

import tfcompat as tf
from tfcompat._src.eager.mode import eager_mode
from tfcompat._src.proto import messages
from tfcompat._src.testing import (
    memory_test_util,
    mnist_util,
    model_combinations,
    saved_model_test_base,
    stats_dataset_test_base,
)


def test_tiny_images():
    np.random.seed(0)
    (x, y), (x_test, y_test) = mnist_util.load_reshaped_data(fake_tiny_data=True)
    assert [a.shape for a in (x, y, x_test, y_test)] == [(16, 28, 28, 1), (16, 10), (128, 28, 28, 1), (128, 10)]
    np.random.seed(0)
    np.testing.assert_array_equal(x[..., 0], np.random.randint(0, 256, (16, 28, 28), np.uint8).astype("f") / 255)
    assert y.sum() == 16 and set(np.unique(y)) == {0, 1}


class _Stats(stats_dataset_test_base.StatsDatasetTestBase):
    __test__ = False

    def runTest(self):  # noqa: N802
        """No test."""


def test_statistics_of_a_summary():
    histogram = messages.HistogramProto(min=1, max=5, num=3, sum=9)
    value = messages.Summary.Value
    summary = messages.Summary(value=[value(tag="A/_1::time", histo=histogram), value(tag="B", simple_value=2)]).SerializeToString()
    case = _Stats()
    case.assertStatisticsContains(summary, case.regexForNodeName("A", "time"))
    case.assertStatisticsHasCount(summary, "A", 3)
    case.assertStatisticsHasCount(summary, "A", 2, greater_than=True)
    case.assertStatisticsHasSum(summary, "A", 9)
    case.assertStatisticsHasRange(summary, "A", 1, 5)
    case.assertStatisticsHasScalarValue(summary, "B", 2)
    for check, *given in [
        (case.assertStatisticsContains, "C"), (case.assertStatisticsHasCount, "A", 4), (case.assertStatisticsHasSum, "A", 8),
        (case.assertStatisticsHasRange, "A", 2, 5), (case.assertStatisticsHasRange, "A", 1, 4), (case.assertStatisticsHasScalarValue, "B", 3),
    ]:  # fmt: skip
        with pytest.raises(AssertionError):
            check(summary, *given)


def test_memory_that_grows(monkeypatch):
    class Profiler:
        used = iter([[100.0], [200.0], [100.0], [105.0]])

        @classmethod
        def memory_usage(cls, pid):
            return next(cls.used)

    monkeypatch.setitem(__import__("sys").modules, "memory_profiler", Profiler)
    calls = []
    with pytest.raises(AssertionError, match="Increase is too high"):
        memory_test_util.assert_no_leak(lambda: calls.append(1), num_iters=3)
    memory_test_util.assert_no_leak(lambda: calls.append(1), num_iters=3)
    assert len(calls) == 8


class _Saved(saved_model_test_base.TestSavedModelBase):
    __test__ = False
    changes = False

    def _save_model(self, model, saved_dir):
        if self.changes:
            model.set_weights([w + 1 for w in model.get_weights()])
        tf.keras.experimental.export_saved_model(model, saved_dir, serving_only=True)

    def _load_and_run_model(self, distribution, saved_dir, predict_dataset, output_name, experimental_run_tf_function):
        return saved_model_test_base.load_and_run_with_saved_model_api(distribution, saved_dir, predict_dataset, output_name)

    def runTest(self):  # noqa: N802
        """No test."""


@pytest.mark.parametrize("changes", [False, True])
def test_a_model_saved_under_a_strategy(changes):
    with eager_mode():
        case = _Saved()
        case.setUp()
        case.changes = changes
        strategy = tf.distribute.OneDeviceStrategy("/cpu:0")
        model = model_combinations.simple_sequential_model
        if not changes:
            case.run_test_save_strategy_restore_strategy(model, strategy, strategy, False, True)
            return
        with pytest.raises(AssertionError, match="Not equal to tolerance"):
            case.run_test_save_strategy_restore_strategy(model, strategy, strategy, False, True)
