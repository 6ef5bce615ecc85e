"""Sums of rows by place against a loop over the rows, and what sparse products make of them in sessions."""

import ml_dtypes
import numpy as np
import pytest

import tfcompat as tf
from tfcompat._src.base.row_sums import add_rows, weighted_sums

SIZES = [(0, 4, 5), (7, 3, 5), (900, 1, 40), (900, 16, 40), (900, 16, 30_000), (900, 0, 5), (900, 16, 0)]
DTYPES = [np.float32, np.float64, np.int32, np.int8, np.complex64, np.float16, ml_dtypes.bfloat16]


def _whole(random, dtype, *shape):
    return random.randint(-9, 9, shape).astype(dtype)  # every order gives the same sums


def _wide(dtype):
    return np.complex128 if dtype is np.complex64 else np.float64


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("entries, width, count", SIZES)
def test_rows_are_added_at_their_places(dtype, entries, width, count):
    random = np.random.RandomState(0)
    places, rows, total = random.randint(-2, count + 2, entries), _whole(random, dtype, entries, width), _whole(random, dtype, count, width)
    wide = _wide(dtype)
    wanted = total.astype(wide)
    for place, row in zip(places, rows.astype(wide)):
        if 0 <= place < count:
            wanted[place] += row
    add_rows(total, places, rows)
    np.testing.assert_array_equal(total.astype(wide), wanted.astype(dtype).astype(wide))


@pytest.mark.parametrize("rising", ["places", "chosen", None])
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("entries, width, count", SIZES)
def test_weighted_rows_are_added_at_their_places(dtype, entries, width, count, rising):
    random = np.random.RandomState(1)
    places, chosen, rows = random.randint(-2, count + 2, entries), random.randint(0, 30, entries), _whole(random, dtype, 30, width)
    if rising:
        {"places": places, "chosen": chosen}[rising].sort()
    weights = random.randint(-1, 2, entries).astype(dtype)
    wide = _wide(dtype)
    wanted = np.zeros((count, width), wide)
    for place, row, weight in zip(places, chosen, weights.astype(wide)):
        if 0 <= place < count:
            wanted[place] += weight * rows[row].astype(wide)
    found = weighted_sums(places, chosen, weights, rows, count)
    assert found.dtype == dtype
    np.testing.assert_array_equal(found.astype(wide), wanted.astype(dtype).astype(wide))


def test_infinite_complex_rows_stay_what_they_are():
    rows = np.full((40_000, 4), 1 + 1j, np.complex64)
    rows[5, 2] = complex(np.inf, 1)
    ids = np.sort(np.arange(40_000, dtype=np.int32) % 8)
    with tf.Graph().as_default(), tf.Session() as session:
        found = session.run([tf.math.segment_sum(rows, ids), tf.math.unsorted_segment_sum(rows, ids, 8)])
    for sums in found:
        assert sums[0, 2] == complex(np.inf, 5000)
        np.testing.assert_array_equal(np.delete(sums.reshape(-1), 2), np.full(31, 5000 + 5000j, np.complex64))


@pytest.mark.parametrize("engine", ["compile", "interpret"])
@pytest.mark.parametrize("adjoint_a", [False, True])
def test_sparse_products_of_unsorted_and_repeated_places(monkeypatch, engine, adjoint_a):
    monkeypatch.setenv("TFCOMPAT_ENGINE", engine)
    random = np.random.RandomState(2)
    indices, dense = random.randint(0, 50, (3000, 2)), _whole(random, np.float32, 50, 16)
    values = _whole(random, np.float32, 3000)
    wanted = np.zeros((50, 50), np.float32)
    np.add.at(wanted, tuple(indices.T), values)
    wanted = wanted.T if adjoint_a else wanted
    with tf.Graph().as_default(), tf.Session() as session:
        a, b = tf.sparse_placeholder(tf.float32), tf.placeholder(tf.float32, [50, 16])
        product = tf.sparse_tensor_dense_matmul(a, b, adjoint_a=adjoint_a)
        fetches = [product, *tf.gradients(product, [a.values, b])]
        for count in (3000, 2990, 1):  # lengths that are padded differently
            feeds = {a: (indices[:count], values[:count], (50, 50)), b: dense}
            partial = np.zeros((50, 50), np.float32)
            np.add.at(partial, tuple(indices[:count].T), values[:count])
            partial = partial.T if adjoint_a else partial
            found, to_values, to_b = session.run(fetches, feeds)
            np.testing.assert_array_equal(found, partial @ dense)
            np.testing.assert_array_equal(to_values, dense.sum(1)[indices[:count, 0 if adjoint_a else 1]])
            np.testing.assert_array_equal(to_b, np.repeat(partial.sum(0)[:, None], 16, 1))


@pytest.mark.parametrize("engine", ["compile", "interpret"])
@pytest.mark.parametrize("place, text", [
    ((0, 50), r"k \(50\) from index\[2999,1\] out of bounds \(>=50\)"),
    ((0, -1), r"k \(-1\) from index\[2999,1\] out of bounds \(>=50\)"),
    ((50, 0), r"m \(50\) from index\[2999,0\] out of bounds \(>=50\)"),
    ((-3, 0), r"m \(-3\) from index\[2999,0\] out of bounds \(>=50\)"),
])  # fmt: skip
def test_sparse_products_refuse_places_outside(monkeypatch, engine, place, text):
    monkeypatch.setenv("TFCOMPAT_ENGINE", engine)
    indices = np.zeros((3000, 2), np.int64)
    with tf.Graph().as_default(), tf.Session() as session:
        a, b = tf.sparse_placeholder(tf.float32), tf.placeholder(tf.float32, [50, 16])
        product = tf.sparse_tensor_dense_matmul(a, b)
        feeds = {a: (indices, np.ones(3000, np.float32), (50, 50)), b: np.ones((50, 16), np.float32)}
        assert session.run(product, feeds)[0, 0] == 3000
        indices[-1] = place
        with pytest.raises(tf.errors.InvalidArgumentError, match=text):
            session.run(product, feeds)


@pytest.mark.parametrize("engine", ["compile", "interpret"])
@pytest.mark.parametrize("order", [lambda indices: slice(None), lambda indices: np.argsort(indices[:, 1])], ids=["as given", "by columns"])
def test_sparse_products_with_numbers_that_are_not_finite(monkeypatch, engine, order):
    """1.15.5: a stored zero times an infinite number is NaN, what is not stored has no effect."""
    monkeypatch.setenv("TFCOMPAT_ENGINE", engine)
    indices, values = np.stack([np.arange(600) % 3, np.arange(600) % 2], 1), np.ones(600, np.float32)
    indices[-1], values[-1] = (1, 2), 0
    places = order(indices)
    indices, values = indices[places], values[places]
    dense = np.ones((4, 16), np.float32)
    dense[2], dense[3] = np.inf, np.nan
    with tf.Graph().as_default(), tf.Session() as session:
        parts = tf.placeholder(tf.int64, [None, 2]), tf.placeholder(tf.float32, [None])
        product = tf.sparse_tensor_dense_matmul(tf.SparseTensor(*parts, (4, 4)), dense)
        found = session.run(product, dict(zip(parts, (indices, values))))
        np.testing.assert_array_equal(found, np.repeat([[200], [np.nan], [199], [0]], 16, 1))
