"""Gradient kernels at zeros, infinities and NaN, and extremes of arrays with NaN; the expected values are TensorFlow 1.15.5's."""

import numpy as np
import pytest

import tfcompat as tf

Y = [0.0, 1.0, 2.0, np.inf, -np.inf, np.nan]
DY = [0.0, 1.0, np.nan]
# For each op type the rows of Y, by the columns of DY.
OF_OUTPUT = {
    "SqrtGrad": [[0, np.inf, np.nan], [0, 0.5, np.nan], [0, 0.25, np.nan], [0, 0, np.nan], [0, 0, np.nan], [0, np.nan, np.nan]],
    "RsqrtGrad": [[0, 0, np.nan], [0, -0.5, np.nan], [0, -4, np.nan], [0, -np.inf, np.nan], [0, np.inf, np.nan], [0, np.nan, np.nan]],
    "ReciprocalGrad": [[0, 0, np.nan], [0, -1, np.nan], [0, -4, np.nan], [0, -np.inf, np.nan], [0, -np.inf, np.nan], [0, np.nan, np.nan]],
    "InvGrad": [[0, 0, np.nan], [0, -1, np.nan], [0, -4, np.nan], [0, -np.inf, np.nan], [0, -np.inf, np.nan], [0, np.nan, np.nan]],
}
OF_FEATURES = {
    "ReluGrad": [[0, 0, np.nan], [0, 1, np.nan], [0, 1, np.nan], [0, 1, np.nan], [0, 0, np.nan], [0, 0, np.nan]],
    "Relu6Grad": [[0, 0, np.nan], [0, 1, np.nan], [0, 1, np.nan], [0, 0, np.nan], [0, 0, np.nan], [0, 0, np.nan]],
}
ENGINES = ("compile", "interpret")


def _grid(dtype):
    return np.repeat(np.array(Y, dtype), len(DY)), np.tile(np.array(DY, dtype), len(Y))


def _computed(monkeypatch, engine, build, *arrays):
    monkeypatch.setattr("tfcompat._src.runtime.engines.choice.ENGINE", engine)
    with tf.Graph().as_default(), tf.Session() as session:
        fed = [tf.placeholder(a.dtype, a.shape) for a in arrays]
        return session.run(build(*fed), dict(zip(fed, arrays)))


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
@pytest.mark.parametrize("name", [*OF_OUTPUT, *OF_FEATURES])
def test_gradient_kernel(monkeypatch, name, dtype, engine):
    def build(y, dy):
        op = getattr(tf.raw_ops, name)
        return op(y=y, dy=dy) if name in OF_OUTPUT else op(gradients=dy, features=y)

    found = _computed(monkeypatch, engine, build, *_grid(dtype))
    np.testing.assert_array_equal(found.reshape(len(Y), len(DY)), {**OF_OUTPUT, **OF_FEATURES}[name])


@pytest.mark.parametrize("engine", ENGINES)
def test_square_root_behind_a_where_has_no_nan_gradient(monkeypatch, engine):
    def build(x):
        return tf.gradients(tf.where(x > 0, tf.sqrt(x), tf.zeros_like(x)), x)[0]

    assert _computed(monkeypatch, engine, build, np.array([0.0, 4.0], np.float32)).tolist() == [0.0, 0.25]


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("length", range(1, 41))
def test_extremes_pass_over_nan_at_any_place(monkeypatch, engine, length):
    rows = np.tile(np.arange(1, length + 1, dtype=np.float32), (length, 1))
    np.fill_diagonal(rows, np.nan)

    def build(x, column):
        return tf.reduce_max(x, 1), tf.reduce_min(x, 1), tf.reduce_max(column, 0), tf.reduce_min(column, 0)

    largest, least, of_columns, least_of_columns = _computed(monkeypatch, engine, build, rows, np.ascontiguousarray(rows.T))
    # One element alone is copied.
    want = np.full(length, length, np.float32), np.ones(length, np.float32)
    want[0][-1], want[1][0] = (length - 1, 2) if length > 1 else (np.nan, np.nan)
    for found, wanted in ((largest, want[0]), (of_columns, want[0]), (least, want[1]), (least_of_columns, want[1])):
        np.testing.assert_array_equal(found, wanted)


@pytest.mark.parametrize("engine", ENGINES)
def test_extremes_of_nan_alone(monkeypatch, engine):
    nothing = np.full([2, 5], np.nan, np.float32)
    largest, least = _computed(monkeypatch, engine, lambda x: (tf.reduce_max(x, 1), tf.reduce_min(x, 1)), nothing)
    assert largest.tolist() == [-np.inf] * 2
    assert least.tolist() == [np.inf] * 2
