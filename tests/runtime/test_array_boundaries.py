"""User code gets arrays of its own, and what is kept of its arrays is a copy: each boundary of `array_boundaries.py`.

TensorFlow 1.15.5 sees the same, but for arrays at multiples of 64 bytes, which it keeps without a copy in many places.
"""

import array_boundaries as boundaries
import boundary_rows
import pytest

import tfcompat as tf
from tfcompat._src.eager.mode import eager_mode

COUNTED = ("one_buffer_of_a_generator", "eager_buffer_of_a_generator")
"""The rows in which a buffer has been filled with 1, 2 and 3."""


@pytest.fixture(autouse=True)
def as_tensorflow():
    tf.install_as_tensorflow()


@pytest.mark.parametrize("offset", [0, 16])
@pytest.mark.parametrize("name", [*boundaries.GIVEN, *boundaries.RECEIVED])
def test_nobody_shares_memory_with_user_code(name, offset, monkeypatch):
    monkeypatch.setattr(boundary_rows, "OFFSET", offset)
    table = boundaries.GIVEN if name in boundaries.GIVEN else boundaries.RECEIVED
    with eager_mode() if table[name][1] else tf.Graph().as_default():
        found = boundaries.observe(tf, table, name)
    assert set(found["seen"]) == ({1.0, 2.0, 3.0} if name in COUNTED else {1.0})
    assert all(found["writable"])
