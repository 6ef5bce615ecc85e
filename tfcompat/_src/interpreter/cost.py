"""Estimates the work of evaluating a trace from its shapes alone, without running it."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import NamedTuple, TypeAlias

from tfcompat._src.base.jax_compat import ClosedJaxpr, Jaxpr, JaxprEqn, array_type
from tfcompat._src.interpreter.table import Params, Shape, called

Work: TypeAlias = Callable[[Params, list[Shape], list[Shape]], float]
"""Work of an equation, from its parameters and the shapes of its inputs and outputs."""
ROUNDS = 256
"""Number of iterations assumed for a loop of unknown length."""


class Cost(NamedTuple):
    """Work of one evaluation.

    `equations` counts calls of NumPy functions, `elements` those that the functions read or write, whichever is more, and `products` the
    multiply-adds of matrix products, convolutions and factorizations.
    """

    equations: int = 0
    elements: int = 0
    products: int = 0

    def plus(self, other: Cost) -> Cost:
        """Returns the work of both, one after the other."""
        return Cost(self.equations + other.equations, self.elements + other.elements, self.products + other.products)

    def times(self, count: int) -> Cost:
        """Returns the work of `count` repetitions."""
        return Cost(*(count * n for n in self))

    @property
    def nanoseconds(self) -> int:
        """Estimated time on one core: 4 us per equation, 0.4 ns per element, 0.04 ns per multiply-add.

        The factors were measured once and are the same on every machine, so that decisions made by them are reproducible.
        """
        return round(self.equations * 4000 + self.elements * 0.4 + self.products * 0.04)

    def most(self, other: Cost) -> Cost:
        """Returns, for each kind of work, the larger amount."""
        return Cost(*map(max, self, other))


def cost(jaxpr: Jaxpr | ClosedJaxpr, rounds: int = ROUNDS) -> Cost:
    """Estimates the work of evaluating a trace.

    Equations that no result depends on are not evaluated and cost nothing. A conditional costs, for each kind of work, as much as its
    costliest branch.

    Args:
      jaxpr: a jaxpr or a closed one.
      rounds: number of iterations assumed for loops of unknown length.

    Returns:
      a Cost.
    """
    inner = jaxpr.jaxpr if isinstance(jaxpr, ClosedJaxpr) else jaxpr
    return _of(inner, [True] * len(inner.outvars), rounds)


def _of(jaxpr: Jaxpr, wanted: Iterable[bool], rounds: int) -> Cost:
    """Returns the work of the equations that the `wanted` results, or effects, depend on."""
    # The walk goes backwards and skips what the evaluator removes as dead code.
    needed = {id(v) for v, is_wanted in zip(jaxpr.outvars, wanted) if is_wanted}
    total = Cost()
    for equation in reversed(jaxpr.eqns):
        used = [id(v) in needed for v in equation.outvars]
        if any(used) or equation.effects:
            needed.update(map(id, equation.invars))
            total = total.plus(_of_equation(equation, used, rounds))
    return total


def _of_equation(equation: JaxprEqn, used: list[bool], rounds: int) -> Cost:
    name, p = equation.primitive.name, equation.params
    if name in _VIEWS:
        return Cost(1)
    body = called(equation)
    if body is not None:
        # A call is inlined: results of it that the caller does not use cost nothing.
        return _of(body.jaxpr, used, rounds)
    # Loops: the work of an iteration times their number; conditionals: the maximum over branches.
    if name == "scan":
        return cost(p["jaxpr"], rounds).times(p["length"]).plus(Cost(1))
    if name == "while":
        return cost(p["cond_jaxpr"], rounds).plus(cost(p["body_jaxpr"], rounds)).times(rounds).plus(Cost(1))
    if name == "cond":
        costliest = Cost()
        for branch in p["branches"]:
            costliest = costliest.most(cost(branch, rounds))
        return costliest.plus(Cost(1))
    # All other primitives: a formula where there is one, else the larger of elements read by one input and elements written.
    inputs, outputs = ([getattr(v.aval, "shape", ()) for v in of] for of in (equation.invars, equation.outvars))
    if name in _PRODUCTS:
        elements = max(sum(map(math.prod, inputs)), sum(map(math.prod, outputs)))
        return Cost(1, elements, int(_PRODUCTS[name](p, inputs, outputs)))
    weight = _WEIGHTS.get(name, 1)
    if name in ("div", "rem") and array_type(equation.invars[0]).dtype.kind in "iu":
        weight = _OF_INTEGER_DIVISION
    if name in _ELEMENTS:
        return Cost(1, weight * int(_ELEMENTS[name](p, inputs, outputs)))
    return Cost(1, weight * max(map(math.prod, (*inputs, *outputs)), default=0))


_VIEWS = {
    "reshape", "squeeze", "expand_dims", "broadcast_in_dim", "transpose", "slice", "dynamic_slice", "split", "unstack", "rev", "iota", "stop_gradient",
    "optimization_barrier", "layout_constraint", "sharding_constraint",
}  # fmt: skip
"""Primitives that usually return a view, and therefore move no elements."""


def _dot(p: Params, inputs: list[Shape], outputs: list[Shape]) -> int:
    (left, _), _ = p["dimension_numbers"]
    summed: int = math.prod(inputs[0][i] for i in left)
    return math.prod(outputs[0]) * summed


def _convolution(p: Params, inputs: list[Shape], outputs: list[Shape]) -> int:
    # Each output element sums over a kernel's window and its input features: the kernel's elements per output feature.
    made = inputs[1][p["dimension_numbers"].rhs_spec[0]]
    return math.prod(outputs[0]) * (math.prod(inputs[1]) // made if made else 0)


def _of_matrices(each: Callable[[int, int], float]) -> Work:
    """Returns the work of a stack of matrices, where `each` gives that of one matrix from its rows and columns."""
    return lambda p, inputs, outputs: math.prod(inputs[0][:-2]) * each(*inputs[0][-2:])


def _triangular_solve(p: Params, inputs: list[Shape], outputs: list[Shape]) -> float:
    """Substitution: half a multiply-add per element of the triangle's row and right-hand side."""
    return math.prod(inputs[1]) * inputs[0][-1] / 2


def _by_householder(m: int, n: int) -> float:
    """Multiply-adds of a QR factorization by Householder reflections (Golub and Van Loan, section 5.2): one per column of the shorter side."""
    m, n = max(m, n), min(m, n)
    return n * n * (m - n / 3)


# Leading terms of LAPACK's operation counts, in multiply-adds; eigh and svd include their iterations.
_PRODUCTS: dict[str, Work] = {
    "dot_general": _dot, "conv_general_dilated": _convolution, "triangular_solve": _triangular_solve,
    "cholesky": _of_matrices(lambda n, _: n**3 / 6), "lu": _of_matrices(lambda m, n: _by_householder(m, n) / 2),
    "qr": _of_matrices(lambda m, n: 2 * _by_householder(m, n)), "eigh": _of_matrices(lambda n, _: 5 * n**3),
    "svd": _of_matrices(lambda m, n: 4 * m * n * min(m, n) + 8 * min(m, n) ** 3),
}  # fmt: skip


def _by_windows(p: Params, inputs: list[Shape], outputs: list[Shape]) -> int:
    """Reduction of windows: each output reads a whole window."""
    return math.prod(outputs[0]) * math.prod(p["window_dimensions"])


def _to_windows(p: Params, inputs: list[Shape], outputs: list[Shape]) -> int:
    """Scatter of windows: each source element looks through a whole window, then every output is written."""
    return math.prod(inputs[0]) * math.prod(p["window_dimensions"]) + math.prod(outputs[0])


def _logarithms(p: Params, inputs: list[Shape], outputs: list[Shape]) -> int:
    """Work of sorting and of Fourier transforms: n log2(n) elements."""
    length = math.prod(inputs[0][-len(p["fft_lengths"]) :]) if "fft_lengths" in p else inputs[0][p.get("dimension", -1)] if inputs[0] else 1
    return sum(map(math.prod, inputs)) * max(1, math.ceil(math.log2(max(length, 1))))


def _scatter(p: Params, inputs: list[Shape], outputs: list[Shape]) -> int:
    return math.prod(outputs[0]) + math.prod(inputs[2])


_ELEMENTS: dict[str, Work] = {
    **dict.fromkeys(("reduce_window_sum", "reduce_window_max", "reduce_window_min", "reduce_window"), _by_windows),
    **dict.fromkeys(("sort", "top_k", "fft"), _logarithms),
    **dict.fromkeys(("scatter", *(f"scatter{dash}{kind}" for dash in "-_" for kind in ("add", "sub", "mul", "min", "max"))), _scatter),
    "select_and_scatter_add": _to_windows,
    "gather": lambda p, inputs, outputs: math.prod(outputs[0]),
    "dynamic_update_slice": lambda p, inputs, outputs: math.prod(inputs[0]) + math.prod(inputs[1]),
}

_WEIGHTS = {
    "exp": 4, "logistic": 4, "sign": 5, "cumsum": 9, "cumprod": 9, "cummax": 9, "cummin": 9, "round": 11, "erf": 11, "erfc": 11, "digamma": 31,
    "lgamma": 41, "erf_inv": 45, "rem": 46, "shift_left": 9, "shift_right_logical": 9, "shift_right_arithmetic": 9, "sort": 13, "top_k": 15,
    **dict.fromkeys((f"scatter{dash}{kind}" for dash in "-_" for kind in ("add", "sub", "mul", "min", "max")), 5),
}  # fmt: skip
"""How many times as long as 0.4 ns each element of a slow primitive takes; measured for 500,000 float32 and, for shifts, int32 elements.

Elements of the other primitives take 0.3 to 2 times as long. A scatter that combines takes 3 to 9 times as long, depending on how often rows repeat.
"""
_OF_INTEGER_DIVISION = 13
"""The same for the quotient and the remainder of integers, which take 17 and 10 times as long: both ends are checked."""
