"""Pooling kernels against TensorFlow 1.15's values: ties, NaN, minus infinity, padding."""

from pathlib import Path

import jax
import numpy as np
import pytest
from nn import kernel_cases

from tfcompat._src.ops.nn import pool_kernels

GOLDEN = np.load(Path(__file__).parent.parent / "golden" / "nn" / "kernels.npz")
CASES = [case for case in kernel_cases.CASES if hasattr(pool_kernels, case[2])]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case[0])
def test_value(case):
    name, op, kernel, _, attributes = case
    arguments = kernel_cases.arguments(case)
    if op == "MaxPoolGrad":
        arguments.pop("orig_output")
    with jax.enable_x64(True):
        results = getattr(pool_kernels, kernel)(*arguments.values(), **attributes)
    results = results if isinstance(results, tuple) else (results,)
    assert f"{name}/{len(results)}" not in GOLDEN
    for index, result in enumerate(results):
        expected = GOLDEN[f"{name}/{index}"]
        assert result.shape == expected.shape
        np.testing.assert_allclose(result, expected, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("kernel", ["max_pool", "avg_pool"])
def test_window_over_batch_raises(kernel):
    with pytest.raises(ValueError, match="batch"):
        getattr(pool_kernels, kernel)(np.zeros((2, 3, 3, 1), np.float32), ksize=[2, 1, 1, 1], strides=[1, 1, 1, 1],
                                      padding="SAME", data_format="NHWC")


def test_large_window_equals_whole_maximum():
    x = np.random.RandomState(0).standard_normal((2, 9, 9, 3)).astype(np.float32)
    attributes = {"ksize": [1, 9, 9, 1], "strides": [1, 1, 1, 1], "padding": "VALID", "data_format": "NHWC"}
    y = pool_kernels.max_pool(x, **attributes)
    np.testing.assert_array_equal(y[:, 0, 0], x.max((1, 2)))
    gradient = pool_kernels.max_pool_grad(x, np.ones((2, 1, 1, 3), np.float32), **attributes)
    np.testing.assert_array_equal(gradient, x == x.max((1, 2), keepdims=True))
    np.testing.assert_allclose(pool_kernels.avg_pool(x, **attributes)[:, 0, 0], x.mean((1, 2)), rtol=1e-5, atol=1e-6)
