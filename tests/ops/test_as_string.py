"""Numbers as text with long precisions and widths; expected lengths and digests are TensorFlow 1.15.5's."""

import hashlib
import tracemalloc

import numpy as np
import pytest

import tfcompat as tf

VALUES = [1.5, -2.25, 0.1, 5e-324, 1.7976931348623157e308, -0.0, float("inf"), float("nan")]
OPTIONS = {
    "precision": dict(precision=1500),
    "scientific": dict(precision=1500, scientific=True),
    "shortest": dict(precision=1500, shortest=True),
    "all digits": dict(precision=1500, shortest=True, fill="#"),
    "zeros": dict(precision=1500, fill="0", width=2000),
    "left": dict(precision=1500, fill="-", width=2000),
    "sign": dict(precision=1500, fill="+", width=2000, scientific=True),
    "space": dict(precision=1500, fill=" ", width=2000),
}
BY_1_15 = {
    "precision": ([1502, 1503, 1502, 1502, 1810, 1503, 3, 3], "e1fe6d595951b955d829ba606c20107c"),
    "scientific": ([1506, 1507, 1506, 1507, 1507, 1507, 3, 3], "29e483700141874ec94889103a6bc974"),
    "shortest": ([3, 5, 57, 757, 309, 2, 3, 3], "e1bf32bd5f5897265720ee29efc241c6"),
    "all digits": ([1501, 1502, 1502, 1506, 1501, 1502, 3, 3], "3abaccab6343dbb55724a52b2c730b75"),
    "zeros": ([2000, 2000, 2000, 2000, 2000, 2000, 2000, 2000], "c22abc68511e62256712d13f7518c81e"),
    "left": ([2000, 2000, 2000, 2000, 2000, 2000, 2000, 2000], "20b6ebefbcbf3936b869bcb75f3563b5"),
    "sign": ([2000, 2000, 2000, 2000, 2000, 2000, 2000, 2000], "0e65f03003631e9b2f7f5afe8099e9b7"),
    "space": ([2000, 2000, 2000, 2000, 2000, 2000, 2000, 2000], "d160d08dd112b52da492fd071b4fdd86"),
}


@pytest.mark.parametrize("options", OPTIONS)
def test_digits_are_those_of_1_15(options):
    with tf.Session() as session:
        found = session.run(tf.as_string(tf.constant(VALUES, tf.float64), **OPTIONS[options])).tolist()
    assert [len(text) for text in found] == BY_1_15[options][0]
    assert hashlib.md5(b"\n".join(found)).hexdigest() == BY_1_15[options][1]


@pytest.mark.parametrize(("options", "length"), [({}, 2**24 + 2), ({"shortest": True}, 3)])
def test_a_long_text_takes_its_own_memory_alone(options, length):
    x = tf.placeholder(tf.float32, [])
    text = tf.as_string(x, precision=2**24, **options)
    with tf.Session() as session:
        session.run(tf.as_string(x), {x: 1.5})
        tracemalloc.start()
        found = session.run(text, {x: np.float32(1.5)})
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
    assert len(found) == length
    assert peak < 1.1 * length + 2**21
