"""Convolution kernels against TensorFlow 1.15's values, and their lowerings against each other."""

from pathlib import Path

import jax
import numpy as np
import pytest
from nn import kernel_cases

from tfcompat._src.ops.nn import conv_kernels

GOLDEN = np.load(Path(__file__).parent.parent / "golden" / "nn" / "kernels.npz")
CASES = [case for case in kernel_cases.CASES if hasattr(conv_kernels, case[2])]


@pytest.mark.parametrize("platform", ["cpu", "gpu"])
@pytest.mark.parametrize("case", CASES, ids=lambda case: case[0])
def test_value(case, platform):
    name, _, kernel, _, attributes = case
    arguments = kernel_cases.arguments(case)
    result = getattr(conv_kernels, kernel)(*arguments.values(), platform=platform, **attributes)
    expected = GOLDEN[name + "/0"]
    assert result.dtype == expected.dtype and result.shape == expected.shape
    np.testing.assert_allclose(result, expected, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("case", [c for c in CASES if c[1].startswith("Conv2D")], ids=lambda case: case[0])
def test_float64_lowering(case):
    name, _, kernel, _, attributes = case
    with jax.enable_x64(True):
        arguments = [a if isinstance(a, list) else a.astype(np.float64) for a in kernel_cases.arguments(case).values()]
        arguments = [a if isinstance(a, list) else jax.numpy.asarray(a) for a in arguments]
        result = getattr(conv_kernels, kernel)(*arguments, platform="cpu", **attributes)
    assert result.dtype == np.float64
    np.testing.assert_allclose(result, GOLDEN[name + "/0"], rtol=1e-5, atol=1e-5)


def test_channels_first_equals_channels_last():
    case = next(c for c in CASES if c[0] == "strided")
    x, filters = kernel_cases.arguments(case).values()
    y = conv_kernels.conv(x.transpose(0, 3, 1, 2), filters, strides=[1, 1, 2, 3], padding="SAME", data_format="NCHW")
    np.testing.assert_allclose(y.transpose(0, 2, 3, 1), GOLDEN["strided/0"], rtol=1e-5, atol=1e-5)


def test_window_above_input_raises():
    x, filters = np.zeros((1, 2, 2, 1), np.float32), np.zeros((3, 3, 1, 1), np.float32)
    with pytest.raises(ValueError, match="does not fit"):
        conv_kernels.conv(x, filters, strides=[1, 1, 1, 1], padding="VALID", data_format="NHWC")


@pytest.mark.parametrize("attribute", [{"padding": "FULL"}, {"data_format": "CHWN"}])
def test_unknown_attribute_raises(attribute):
    attributes = dict({"padding": "SAME", "data_format": "NHWC"}, **attribute)
    with pytest.raises(ValueError, match=next(iter(attribute))):
        conv_kernels.conv(np.zeros((1, 3, 3, 1), np.float32), np.zeros((3, 3, 1, 1), np.float32),
                          strides=[1, 1, 1, 1], **attributes)
