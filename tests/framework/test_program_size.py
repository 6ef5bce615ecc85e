"""How large a program is taken to be, which decides how it is compiled."""

import jax
import numpy as np
import pytest
from jax import lax

from tfcompat._src.base import jax_compat

X = np.zeros((300, 400), np.float32)


@pytest.mark.parametrize(
    "function",
    [
        lambda x: lax.reduce(x, np.float32(0), lambda a, b: lax.select(lax.gt(b, a), b, a), (0,)),
        lambda x: x.at[np.array([1])].add(1.0),
        lambda x: lax.cond(x[0, 0] > 0, lambda: x, lambda: -x),
    ],
    ids=["reduce", "scatter", "cond"],
)
def test_arrays_around_an_inner_program_count(function):
    assert jax_compat.program_size(jax.jit(function), (X,))[1] >= X.size


def test_a_loop_of_unknown_length_counts_256_rounds():
    loop = jax.jit(lambda x: lax.while_loop(lambda x: x[0] < 9, lambda x: x + 1, x))
    assert jax_compat.program_size(loop, (np.zeros(100, np.float32),))[1] >= 256 * 100
