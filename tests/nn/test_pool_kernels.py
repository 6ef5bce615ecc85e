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


ALONE = {
    "whole": ((7, 7), (7, 7), (1, 1)), "text": ((6, 1), (6, 1), (1, 1)), "rows": ((5, 4), (5, 1), (1, 1)), "part": ((5, 6), (4, 6), (3, 2)),
    "padded": ((3, 3), (5, 5), (4, 4)), "beyond": ((4, 4), (4, 4), (9, 9)), "large": ((9, 9), (9, 9), (1, 1)), "both": ((5, 4), (5, 2), (1, 2)),
}  # fmt: skip


@pytest.mark.parametrize("name", ALONE)
def test_gradients_of_windows_that_share_no_elements(name):
    (height, width), size, stride = ALONE[name]
    padding = "SAME" if name in ("padded", "beyond") else "VALID"
    attributes = {"ksize": [1, *size, 1], "strides": [1, *stride, 1], "padding": padding, "data_format": "NHWC"}
    x = np.random.RandomState(1).randint(-3, 4, (2, height, width, 3)).astype(np.float32)
    out = pool_kernels.max_pool(x, **attributes).shape
    grad = np.random.RandomState(2).randint(-4, 5, out).astype(np.float32)
    before = [max((o - 1) * s + k - n, 0) // 2 if padding == "SAME" else 0 for o, s, k, n in zip(out[1:3], stride, size, x.shape[1:3])]
    largest, shares = np.zeros_like(x), np.zeros_like(x)
    for b, i, j, c in np.ndindex(*out):
        rows = slice(max(i * stride[0] - before[0], 0), i * stride[0] - before[0] + size[0])
        columns = slice(max(j * stride[1] - before[1], 0), j * stride[1] - before[1] + size[1])
        held = x[b, rows, columns, c]
        row, column = np.unravel_index(held.argmax(), held.shape)
        largest[b, rows, columns, c][row, column] += grad[b, i, j, c]
        shares[b, rows, columns, c] += grad[b, i, j, c] / held.size
    np.testing.assert_array_equal(pool_kernels.max_pool_grad(x, grad, **attributes), largest)
    np.testing.assert_allclose(pool_kernels.avg_pool_grad(x.shape, grad, **attributes), shares, rtol=1e-6)
