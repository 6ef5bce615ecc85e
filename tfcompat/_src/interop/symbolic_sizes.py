"""Functions of arrays with symbolic sizes (`jax.export.symbolic_shape`), from functions that compute with numbers while they are traced.

Kernels fold shapes as NumPy numbers, which a symbol is not. So the function is traced for several sizes, and the traces, which have the
same equations, are merged: each integer in which they differ becomes the multilinear polynomial of the symbols that all traces agree
with (Lagrange interpolation on the corners of a grid, and further points that must agree). Anything else in which traces differ is refused.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from tfcompat._src.base.jax_compat import ClosedJaxpr, Jaxpr, Literal, scan_counts

if TYPE_CHECKING:
    from tfcompat._src.base.arrays import Array

_CORNERS, _CHECKED = (256, 257), (255, 258, 259, 260)
"""Sizes that are traced, beyond those that are special to kernels and to the unrolling of loops. They have all remainders of division by up to
5, so that a number that a stride makes (as of padding) is no polynomial of them.
"""
_CALLS = ("jit", "pjit", "closed_call", "core_call", "remat", "checkpoint", "custom_jvp_call", "custom_vjp_call")
_MOST_SYMBOLS = 3


def is_symbolic(arrays: Sequence[Any]) -> bool:
    """Whether any size of the arrays is a symbol."""
    return any(not isinstance(size, int) for array in arrays for size in array.shape)


def call(function: Callable[..., Any], arguments: object) -> Any:
    """`function(*arguments)` where sizes of arguments are symbols.

    Args:
      function: of arrays, traced for numbers only. arguments: a tuple of trees of arrays.

    Raises:
      NotImplementedError: the function computes something else for other sizes, or a size is an expression such as 2*b; it names what.
    """
    leaves, tree = jax.tree.flatten(arguments)
    symbols = list(dict.fromkeys(size for leaf in leaves for size in leaf.shape if not isinstance(size, int)))
    if not all(str(symbol).isidentifier() for symbol in symbols) or len(symbols) > _MOST_SYMBOLS:
        raise NotImplementedError(f"Symbolic sizes must be at most {_MOST_SYMBOLS} plain names, but got {', '.join(map(str, symbols))}.")
    points = [*itertools.product(_CORNERS, repeat=len(symbols)), *([size] * len(symbols) for size in _CHECKED)]
    points = [tuple(size + 60 * i for i, size in enumerate(point)) for point in points]  # no two symbols are equal
    made = []
    for point in points:
        numbers = dict(zip(symbols, point))
        shaped = [jax.ShapeDtypeStruct([numbers.get(size, size) for size in leaf.shape], leaf.dtype) for leaf in leaves]
        made.append(jax.make_jaxpr(function, return_shape=True)(*jax.tree.unflatten(tree, shaped)))
    try:
        outputs = _Merge(symbols, points).of_closed([jaxpr for jaxpr, _ in made], leaves, "the function")
    except jax.errors.InconclusiveDimensionOperation as error:
        raise NotImplementedError(f"With symbolic sizes this run has no JAX function: {error}") from None
    return jax.tree.unflatten(jax.tree.structure(made[0][1]), outputs)


class _Merge:
    """The merging of traces at the points that their symbols had."""

    def __init__(self, symbols: list[Any], points: list[tuple[int, ...]]) -> None:
        self.symbols, self.points = symbols, points

    def number(self, values: Sequence[int]) -> Any:
        """The polynomial with these values at the points, or None where there is none with integer coefficients."""
        if len(set(values)) == 1:
            return values[0]
        count = 2 ** len(self.symbols)
        corners = list(zip(self.points[:count], values))
        lows, highs = self.points[0], self.points[count - 1]
        monomials: dict[tuple[bool, ...], Fraction] = {}
        for point, value in corners:  # the Lagrange basis of a corner, expanded: one factor for each symbol
            factors = [((-high, 1), low - high) if p == low else ((-low, 1), high - low) for p, low, high in zip(point, lows, highs)]
            for powers in itertools.product((False, True), repeat=len(factors)):
                term = Fraction(value)
                for power, ((constant, slope), scale) in zip(powers, factors):
                    term *= Fraction(slope if power else constant, scale)
                monomials[powers] = monomials.get(powers, Fraction(0)) + term
        if any(c.denominator != 1 for c in monomials.values()):
            return None
        terms = [(int(c), powers) for powers, c in monomials.items() if c]
        *checked, found = [sum(c * _product(x for x, p in zip(at, powers) if p) for c, powers in terms) for at in (*self.points[count:], self.symbols)]
        return found if checked == list(values[count:]) else None

    def param(self, values: Sequence[Any], where: str) -> Any:
        """A parameter of an equation, from those in the traces."""
        first = values[0]
        if isinstance(first, Jaxpr | ClosedJaxpr):
            if all(str(v) == str(first) for v in values):
                return first
        elif isinstance(first, tuple | list) and all(len(v) == len(first) for v in values):
            merged = [self.param(each, where) for each in zip(*values)]
            return type(first)(*merged) if hasattr(first, "_fields") else type(first)(merged)
        elif isinstance(first, int) and not isinstance(first, bool) and (found := self.number(values)) is not None:
            return found
        elif all(v == first for v in values):
            return first
        raise NotImplementedError(f"With symbolic sizes this run has no JAX function: {where} differs between sizes in more than a polynomial of them.")

    def array(self, values: Sequence[Any], where: str) -> Any:
        """A constant: one number everywhere, an arithmetic sequence, or an array of the same shape in all traces."""
        arrays = [np.asarray(v) for v in values]
        first = arrays[0]
        if all(a.shape == first.shape and np.array_equal(a, first, equal_nan=first.dtype.kind in "fc") for a in arrays):
            return values[0]
        shape = self.param([a.shape for a in arrays], where)
        if all(a.shape == first.shape for a in arrays):
            return jnp.stack([self.scalar(each, first.dtype, where) for each in zip(*(a.ravel() for a in arrays))]).reshape(shape)
        if all((a == a.flat[0]).all() for a in arrays):
            return jnp.broadcast_to(self.scalar([a.flat[0] for a in arrays], first.dtype, where), shape)
        if first.ndim == 1 and first.dtype.kind in "iu" and all((np.diff(a) == a[1] - a[0]).all() for a in arrays):
            start, step = (self.scalar(each, first.dtype, where) for each in zip(*((a[0], a[1] - a[0]) for a in arrays)))
            return start + step * lax.iota(first.dtype, shape[0])
        raise NotImplementedError(f"With symbolic sizes this run has no JAX function: {where} is a table of another size for each.")

    def scalar(self, values: Sequence[Any], dtype: np.dtype, where: str) -> Array:
        """A number that is a polynomial of the symbols, or one over it, as a mean has."""
        if all(v == values[0] for v in values):
            return jnp.asarray(values[0], dtype)
        for turned in (False, True):
            whole = [round(float(1 / v if turned and v else v)) for v in values]
            again = [np.asarray(1 / w if turned and w else w).astype(dtype) for w in whole]
            if all(a == v for a, v in zip(again, values)) and (found := self.number(whole)) is not None:
                number = jnp.asarray(found).astype(dtype)
                return 1 / number if turned else number
        raise NotImplementedError(f"With symbolic sizes this run has no JAX function: a number in {where} is no polynomial of them: {values[0]}.")

    def of_closed(self, jaxprs: Sequence[ClosedJaxpr], arguments: Sequence[Any], where: str) -> list[Any]:
        """The results of traces with their constants."""
        consts = [self.array(each, f"a constant of {where}") for each in zip(*(j.consts for j in jaxprs))]
        return self.of([j.jaxpr for j in jaxprs], consts, arguments, where)

    def of(self, jaxprs: Sequence[Jaxpr], consts: Sequence[Any], arguments: Sequence[Any], where: str) -> list[Any]:
        """The results of traces, equation by equation, for given constants and arguments."""
        first, values = jaxprs[0], {}
        values.update(zip([*first.constvars, *first.invars], [*consts, *arguments]))

        def read(atoms: Sequence[Any]) -> Any:
            if isinstance(atoms[0], Literal):
                return self.array([atom.val for atom in atoms], f"a number of {where}")
            return values[atoms[0]]

        if any([e.primitive for e in j.eqns] != [e.primitive for e in first.eqns] for j in jaxprs):
            raise NotImplementedError(f"With symbolic sizes this run has no JAX function: {where} has other operations for other sizes.")
        for equations in zip(*(j.eqns for j in jaxprs)):
            taken = [read(atoms) for atoms in zip(*(e.invars for e in equations))]
            values.update(zip(equations[0].outvars, self.equation(equations, taken)))
        return [read(atoms) for atoms in zip(*(j.outvars for j in jaxprs))]

    def equation(self, equations: Sequence[Any], taken: list[Any]) -> Sequence[Any]:
        """The results of one equation, of which each trace has its own."""
        first, params = equations[0], [e.params for e in equations]
        name = first.primitive.name
        if name in _CALLS:
            key = next(key for key in ("jaxpr", "call_jaxpr") if key in params[0])
            return self.closed_or_open([p[key] for p in params], taken, name)
        if name == "cond":
            branches = [[p["branches"][i] for p in params] for i in range(len(params[0]["branches"]))]
            found: Sequence[Any] = lax.switch(taken[0], [lambda *a, b=b: self.of_closed(b, a, "a branch") for b in branches], *taken[1:])
            return found
        if name == "while":
            return self.while_loop(params, taken)
        if name == "scan":
            return self.scan(params, taken)
        merged = {key: self.param([p[key] for p in params], name) for key in params[0]}
        results = first.primitive.bind(*taken, **merged)
        return results if first.primitive.multiple_results else [results]

    def closed_or_open(self, jaxprs: Sequence[Any], taken: Sequence[Any], where: str) -> list[Any]:
        return self.of_closed(jaxprs, taken, where) if isinstance(jaxprs[0], ClosedJaxpr) else self.of(jaxprs, (), taken, where)

    def while_loop(self, params: Sequence[dict[str, Any]], taken: list[Any]) -> Sequence[Any]:
        of_cond, of_body = params[0]["cond_nconsts"], params[0]["body_nconsts"]
        conds, bodies = ([p[key] for p in params] for key in ("cond_jaxpr", "body_jaxpr"))
        for_cond, for_body, start = taken[:of_cond], taken[of_cond : of_cond + of_body], taken[of_cond + of_body :]
        found: Sequence[Any] = lax.while_loop(
            lambda carry: self.of_closed(conds, [*for_cond, *carry], "the condition of a loop")[0],
            lambda carry: tuple(self.of_closed(bodies, [*for_body, *carry], "the body of a loop")), tuple(start),
        )  # fmt: skip
        return found

    def scan(self, params: Sequence[dict[str, Any]], taken: list[Any]) -> Sequence[Any]:
        constants, carried = scan_counts(params[0])
        bodies = [p["jaxpr"] for p in params]
        fixed, start, sequences = taken[:constants], taken[constants : constants + carried], taken[constants + carried :]

        def body(carry: Any, element: Any) -> Any:
            found = self.of_closed(bodies, [*fixed, *carry, *element], "the body of a loop")
            return tuple(found[:carried]), tuple(found[carried:])

        length = self.param([p["length"] for p in params], "the length of a loop")
        last, made = lax.scan(body, tuple(start), tuple(sequences), length=length, reverse=params[0]["reverse"], unroll=params[0]["unroll"])
        return [*last, *made]


def _product(factors: Any) -> Any:
    product: Any = 1
    for factor in factors:
        product = product * factor
    return product
