"""The work of traces, by closed formulas of their shapes."""

import jax
import jax.numpy as jnp
import pytest
from jax import lax

from tfcompat._src.base import jax_compat
from tfcompat._src.interpreter.cost import ROUNDS, Cost, cost


def of(function, *shapes):
    """The cost of a function of float32 arrays."""
    with jax_compat.x64():
        return cost(jax.make_jaxpr(function)(*(jax.ShapeDtypeStruct(s, jnp.float32) for s in shapes)))


def test_functions_of_elements():
    assert of(lambda x, y: lax.tanh(x + y), (6, 7), (6, 7)) == Cost(2, 2 * 42, 0)
    assert of(lambda x: x.sum(), (6, 7)) == Cost(1, 42, 0)
    assert of(lambda x: x.reshape(7, 6).T[:3], (6, 7)) == Cost(3, 0, 0)
    assert of(lambda x: x, (6, 7)) == Cost()


def test_slow_functions_of_elements():
    """Weights as measured: an exponential is as 4 sums, a quotient of integers as 13, a sum into rows as 5 for each element of the table and the updates."""
    assert of(lax.exp, (6, 7)) == Cost(1, 4 * 42, 0)
    with jax_compat.x64():
        whole = cost(jax.make_jaxpr(lax.div)(*(jax.ShapeDtypeStruct((6, 7), jnp.int32),) * 2))
    assert (whole, of(lax.div, (6, 7), (6, 7))) == (Cost(1, 13 * 42, 0), Cost(1, 42, 0))
    rows = jnp.array([[1], [1]])
    numbers = lax.ScatterDimensionNumbers((1,), (0,), (0,))
    assert of(lambda x, u: lax.scatter_add(x, rows, u, numbers), (6, 7), (2, 7)).elements >= 5 * (42 + 14)


def test_products():
    b, m, k, n = 3, 5, 7, 11
    assert of(lambda x, y: jnp.einsum("bmk,bkn->bmn", x, y), (b, m, k), (b, k, n)).products == b * m * k * n
    assert of(lambda x, y: x @ y, (m, k), (k,)) == Cost(1, m * k + k, m * k)
    assert of(lambda x, y: x @ y, (m, 0), (0, n)).products == 0


@pytest.mark.parametrize("groups", [1, 4])
def test_convolutions(groups):
    batch, size, features, filters, taps = 2, 9, 4, 8, 3

    def convolution(x, w):
        numbers = ("NHWC", "HWIO", "NHWC")
        return lax.conv_general_dilated(x, w, (2, 2), "VALID", dimension_numbers=numbers, feature_group_count=groups)

    found = of(convolution, (batch, size, size, features), (taps, taps, features // groups, filters))
    places = ((size - taps) // 2 + 1) ** 2
    assert found.products == batch * places * filters * taps**2 * features // groups


def test_windows():
    pooled = of(lambda x: lax.reduce_window(x, -jnp.inf, lax.max, (1, 2, 2, 1), (1, 2, 2, 1), "VALID"), (3, 8, 8, 5))
    assert pooled.elements == 3 * 4 * 4 * 5 * 4


def test_sorts_and_transforms():
    assert of(lambda x: lax.sort(x), (5, 64)).elements == 13 * 5 * 64 * 6
    assert of(lambda x: jnp.fft.rfft2(x), (2, 8, 16)).elements == 2 * 8 * 16 * 7


def test_factorizations():
    n = 12
    assert of(lambda x: lax.linalg.cholesky(x, symmetrize_input=False), (3, n, n)).products == 3 * n**3 / 6
    assert of(lambda x: lax.linalg.lu(x)[0], (n, n)).products == n**3 / 3
    solved = of(lambda a, b: lax.linalg.triangular_solve(a, b, left_side=True), (n, n), (n, 5))
    assert solved.products == n * n * 5 / 2


def test_loops():
    m, length = 6, 9
    product = lambda c, x: (c @ x, None)
    scanned = of(lambda c, xs: lax.scan(product, c, xs)[0], (m, m), (length, m, m))
    assert scanned.products == length * m**3
    assert scanned.equations == 1 + length
    unknown = of(lambda x: lax.while_loop(lambda x: x[0, 0] < 1, lambda x: x @ x, x), (m, m))
    assert unknown.products == ROUNDS * m**3


def test_a_branch_counts_as_the_greater():
    m, n = 6, 8
    found = of(lambda p, x: lax.cond(p > 0, lambda x: x @ x.T, lambda x: jnp.tanh(x)[:, :m] * 2, x), (), (m, n))
    compare, branch = Cost(2, 2), Cost(1)  # the comparison and the index made of it
    assert found.products == m * n * m
    assert found.elements == compare.elements + max(2 * m * n, m * n + m * m)
    assert found.equations == compare.equations + branch.equations + 3


def test_what_nothing_needs_is_free():
    def function(x):
        jnp.exp(x @ x)
        return jax.jit(lambda x: (x + 1, x @ x))(x)[0], x

    assert of(function, (6, 6)) == Cost(1, 36, 0)
