"""What evaluating a trace takes, from shapes alone."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import NamedTuple, TypeAlias

from tfcompat._src.base.jax_compat import ClosedJaxpr, Jaxpr, JaxprEqn
from tfcompat._src.interpreter.table import Params, Shape, called

Work: TypeAlias = Callable[[Params, list[Shape], list[Shape]], float]
"""The work of an equation by its parameters and the shapes of its inputs and outputs."""
ROUNDS = 256
"""How often a loop of unknown length is taken to go round."""


class Cost(NamedTuple):
    """Work of one evaluation.

    `equations` are calls of functions of arrays, `elements` those that functions go through one by one (reads of inputs or writes of
    results, whichever are more), `products` the multiplications, each with an addition, of products of matrices, convolutions and factorizations.
    """

    equations: int = 0
    elements: int = 0
    products: int = 0

    def plus(self, other: Cost) -> Cost:
        """The work of one after the other."""
        return Cost(self.equations + other.equations, self.elements + other.elements, self.products + other.products)

    def times(self, count: int) -> Cost:
        """The work of `count` times."""
        return Cost(*(count * n for n in self))

    @property
    def nanoseconds(self) -> int:
        """About how long it takes on one core: the factors were measured once and are the same on every machine, so that choices that depend on it are too."""
        return round(self.equations * 4000 + self.elements * 0.4 + self.products * 0.04)

    def most(self, other: Cost) -> Cost:
        """Of each kind of work the greater amount."""
        return Cost(*map(max, self, other))


def cost(jaxpr: Jaxpr | ClosedJaxpr, rounds: int = ROUNDS) -> Cost:
    """The work of evaluating a trace.

    A branch counts as what takes most of each kind. What no result needs is not evaluated.

    Args:
      jaxpr: a jaxpr or a closed one.
      rounds: how often loops of unknown length go round.

    Returns:
      Its Cost.
    """
    inner = jaxpr.jaxpr if isinstance(jaxpr, ClosedJaxpr) else jaxpr
    return _of(inner, [True] * len(inner.outvars), rounds)


def _of(jaxpr: Jaxpr, wanted: Iterable[bool], rounds: int) -> Cost:
    needed = {id(v) for v, is_wanted in zip(jaxpr.outvars, wanted) if is_wanted}
    found = Cost()
    for equation in reversed(jaxpr.eqns):
        used = [id(v) in needed for v in equation.outvars]
        if any(used) or equation.effects:
            needed.update(map(id, equation.invars))
            found = found.plus(_of_equation(equation, used, rounds))
    return found


def _of_equation(equation: JaxprEqn, used: list[bool], rounds: int) -> Cost:
    name, p = equation.primitive.name, equation.params
    if name in _VIEWS:
        return Cost(1)
    body = called(equation)
    if body is not None:
        return _of(body.jaxpr, used, rounds)
    if name == "scan":
        return cost(p["jaxpr"], rounds).times(p["length"]).plus(Cost(1))
    if name == "while":
        return cost(p["cond_jaxpr"], rounds).plus(cost(p["body_jaxpr"], rounds)).times(rounds).plus(Cost(1))
    if name == "cond":
        found = Cost()
        for branch in p["branches"]:
            found = found.most(cost(branch, rounds))
        return found.plus(Cost(1))
    inputs, outputs = ([getattr(v.aval, "shape", ()) for v in of] for of in (equation.invars, equation.outvars))
    if name in _PRODUCTS:
        gone_through = max(sum(map(math.prod, inputs)), sum(map(math.prod, outputs)))
        return Cost(1, gone_through, int(_PRODUCTS[name](p, inputs, outputs)))
    if name in _ELEMENTS:
        return Cost(1, int(_ELEMENTS[name](p, inputs, outputs)))
    return Cost(1, max(map(math.prod, (*inputs, *outputs)), default=0))


_VIEWS = {
    "reshape", "squeeze", "expand_dims", "broadcast_in_dim", "transpose", "slice", "dynamic_slice", "split", "unstack", "rev", "iota", "stop_gradient",
    "optimization_barrier", "layout_constraint", "sharding_constraint",
}  # fmt: skip
"""Primitives that move nothing: what they give is a view, mostly."""


def _dot(p: Params, inputs: list[Shape], outputs: list[Shape]) -> int:
    (left, _), _ = p["dimension_numbers"]
    summed: int = math.prod(inputs[0][i] for i in left)
    return math.prod(outputs[0]) * summed


def _convolution(p: Params, inputs: list[Shape], outputs: list[Shape]) -> int:
    made = inputs[1][p["dimension_numbers"].rhs_spec[0]]
    return math.prod(outputs[0]) * (math.prod(inputs[1]) // made if made else 0)


def _of_matrices(each: Callable[[int, int], float]) -> Work:
    """`each` matrix's products by rows and columns, for a stack of matrices."""
    return lambda p, inputs, outputs: math.prod(inputs[0][:-2]) * each(*inputs[0][-2:])


def _triangular_solve(p: Params, inputs: list[Shape], outputs: list[Shape]) -> float:
    return math.prod(inputs[1]) * inputs[0][-1] / 2


def _by_householder(m: int, n: int) -> float:
    """Products that make a triangle of a matrix, by one reflection for each column of the shorter side."""
    m, n = max(m, n), min(m, n)
    return n * n * (m - n / 3)


_PRODUCTS: dict[str, Work] = {
    "dot_general": _dot, "conv_general_dilated": _convolution, "triangular_solve": _triangular_solve,
    "cholesky": _of_matrices(lambda n, _: n**3 / 6), "lu": _of_matrices(lambda m, n: _by_householder(m, n) / 2),
    "qr": _of_matrices(lambda m, n: 2 * _by_householder(m, n)), "eigh": _of_matrices(lambda n, _: 5 * n**3),
    "svd": _of_matrices(lambda m, n: 4 * m * n * min(m, n) + 8 * min(m, n) ** 3),
}  # fmt: skip


def _by_windows(p: Params, inputs: list[Shape], outputs: list[Shape]) -> int:
    return math.prod(outputs[0]) * math.prod(p["window_dimensions"])


def _to_windows(p: Params, inputs: list[Shape], outputs: list[Shape]) -> int:
    return math.prod(inputs[0]) * math.prod(p["window_dimensions"]) + math.prod(outputs[0])


def _logarithms(p: Params, inputs: list[Shape], outputs: list[Shape]) -> int:
    """Elements, as often as half of them are to be brought in order or transformed."""
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
