"""Generalizes traces of one function for several sizes to a function of the sizes, by polynomial interpolation.

Kernels compute shapes with NumPy integers, so that they cannot be traced with symbolic sizes, and a trace for each size takes long. Instead the
function is traced for some sizes. The traces must have the same equations on the same values; each integer in which they differ is replaced by
the multilinear polynomial of the sizes (no size squared) that passes through all traces. Any other difference is refused. The result takes
sizes that are numbers, or symbols of jax.export.
"""

from __future__ import annotations

import itertools
import math
import types
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, TypeAlias, TypeVar

import jax.numpy as jnp
import numpy as np
from jax import lax

from tfcompat._src.base.arrays import NDArray
from tfcompat._src.base.jax_compat import Atom, ClosedJaxpr, Jaxpr, JaxprEqn, Literal, Var, array_type, scan_counts
from tfcompat._src.interpreter.table import DType

Value: TypeAlias = Any
"""An array, or what JAX traces in its place; a parameter of an equation."""
Params: TypeAlias = dict[str, Value]
T = TypeVar("T")
Library: TypeAlias = types.ModuleType
"""NumPy, or JAX's."""
Sizes: TypeAlias = Sequence[Value]
"""A number or a symbol of `jax.export.symbolic_shape` for each size that differs between traces."""
Compute: TypeAlias = Callable[[Sizes, list[Value]], Sequence[Value]]
"""Evaluates an equation for given sizes and arguments."""
At: TypeAlias = Callable[[Sizes], Value]
"""A value as a function of the sizes."""
_OF_FUNCTIONS = ("closed_call", "core_call", "remat", "checkpoint", "custom_jvp_call", "custom_vjp_call")
"""Primitives whose bind takes a function, not the trace in their parameters: they are evaluated inline."""
_CALLS = ("jit", "pjit", *_OF_FUNCTIONS)


_TOPS = (1, 2, 4, -1, -2, -4)
"""Numerators c of numbers c / polynomial: 1 of means, 2 and 4 of derivatives of means of squares."""
_LARGEST = 2**53
"""Greater integers are not exact in float64."""


class Differing(NotImplementedError):
    """Traces differ in a way that no polynomial of their sizes explains."""


class Fit:
    """Interpolates multilinear polynomials of the sizes from their values at points.

    For n sizes there are 2**n coefficients. More points than that must be given: the further ones verify each polynomial.

    Raises:
      Differing: the points do not determine the coefficients.
    """

    def __init__(self, points: Sequence[tuple[int, ...]]) -> None:
        self.points = points
        # Each monomial is a subset of the sizes. One matrix of monomials at points serves all polynomials: it is inverted once.
        self._powers = list(itertools.product((False, True), repeat=len(points[0])))
        rows = [[_product(itertools.compress(point, powers)) for powers in self._powers] for point in points]
        self._chosen, self._inverse = _inverse_of_independent(rows)
        self._found: dict[tuple[int, ...], At | None] = {}

    def number(self, values: Sequence[int]) -> At | None:
        """Returns the polynomial with these values at the points, or None if none has integer coefficients."""
        key = tuple(values)
        if key not in self._found:
            self._found[key] = self._fitted(key)
        return self._found[key]

    def _fitted(self, values: tuple[int, ...]) -> At | None:
        # Coefficients that are no integers mean a rounding, such as size // 2, that the points happen not to contradict.
        coefficients = [sum(c * values[i] for c, i in zip(row, self._chosen, strict=True)) for row in self._inverse]
        if any(c.denominator != 1 for c in coefficients):
            return None
        # Terms of coefficient 0 are left out, so that a symbolic result stays as simple as possible for JAX's shape rules.
        terms = [(int(c), powers) for c, powers in zip(coefficients, self._powers, strict=True) if c]

        def at(sizes: Sizes) -> Value:
            return sum(c * _product(itertools.compress(sizes, powers)) for c, powers in terms)

        # Only the independent points determined the coefficients: the others must agree.
        return at if all(at(point) == value for point, value in zip(self.points, values, strict=True)) else None


def _inverse_of_independent(rows: list[list[int]]) -> tuple[list[int], list[list[Fraction]]]:
    """Returns the indices of the first linearly independent rows, as many as columns, and the inverse of the matrix that they form.

    Gauss-Jordan elimination with exact fractions; each row is extended by its row of the identity.
    """
    width, chosen, reduced = len(rows[0]), [], []  # type: ignore[var-annotated]  # lists that are filled below
    for i, row in enumerate(rows):
        # Eliminate the pivots so far. A row of which nothing remains depends on earlier ones and is skipped.
        left = [*map(Fraction, row), *(Fraction(j == len(chosen)) for j in range(width))]
        for pivot, other in reduced:
            left = [a - left[pivot] * b for a, b in zip(left, other, strict=True)]
        pivot = next((j for j in range(width) if left[j]), None)
        if pivot is None:
            continue
        # Normalize, and eliminate the new pivot from the earlier rows (the Jordan part).
        left = [a / left[pivot] for a in left]
        reduced = [(p, [a - other[pivot] * b for a, b in zip(other, left, strict=True)]) for p, other in reduced]
        reduced.append((pivot, left))
        chosen.append(i)
        if len(chosen) == width:
            return chosen, [row[width:] for _, row in sorted(reduced, key=lambda pair: pair[0])]
    raise Differing("the points do not tell one polynomial from others")


class MergedTrace:
    """A function of sizes and arguments, made of its traces at the points of a fit.

    Args:
      closed: the trace at each point. where: the function's name in errors.

    Raises:
      Differing: the traces cannot be merged; the message says what differs.
    """

    def __init__(self, fit: Fit, closed: Sequence[ClosedJaxpr], where: str) -> None:
        self._consts = [merged_array(fit, each, f"a constant of {where}") for each in _together((c.consts for c in closed), where)]
        self._body = _Body(fit, [c.jaxpr for c in closed], where)

    @property
    def is_fixed(self) -> bool:
        """Whether all traces are equal, so that the sizes do not matter."""
        return self._body.is_fixed and all(map(_is_constant, self._consts))

    def __call__(self, sizes: Sizes, arguments: Sequence[Value]) -> list[Value]:
        """Evaluates the function for arguments of these sizes, which may be traced; JAX checks the type of each equation again."""
        return self._body(sizes, [at(sizes) for at in self._consts], arguments)


class _Body:
    """The merged equations of traces, evaluated in order."""

    def __init__(self, fit: Fit, jaxprs: Sequence[Jaxpr], where: str) -> None:
        first = jaxprs[0]
        self._fit, self._where = fit, where
        self._given = [*first.constvars, *first.invars]
        if any([e.primitive for e in j.eqns] != [e.primitive for e in first.eqns] for j in jaxprs):
            raise Differing(f"{where} has other operations for other sizes")
        # Variables of different traces correspond if they have the same number, counted in the order of their definition.
        numbers: list[dict[Var, int]] = [{} for _ in jaxprs]
        given = _together(([*j.constvars, *j.invars] for j in jaxprs), where)
        for variables in given:
            self._enter(variables, numbers)
        self.is_fixed = all(map(_has_one_shape, given))
        # One equation of each trace at a time: operands, evaluation, results.
        self._equations: list[tuple[list[Var | At], Sequence[Var], Compute]] = []
        for equations in zip(*(j.eqns for j in jaxprs), strict=True):
            taken = [self._atom(atoms, numbers) for atoms in _together((e.invars for e in equations), where)]
            self._equations.append((taken, equations[0].outvars, self._computed(equations)))
            for variables in _together((e.outvars for e in equations), where):
                self._enter(variables, numbers)
                self.is_fixed = self.is_fixed and _has_one_shape(variables)
        self._results = [self._atom(atoms, numbers) for atoms in _together((j.outvars for j in jaxprs), where)]

    def __call__(self, sizes: Sizes, consts: Sequence[Value], arguments: Sequence[Value]) -> list[Value]:
        values = dict(zip(self._given, [*consts, *arguments], strict=True))

        def read(atom: Var | At) -> Value:
            return values[atom] if isinstance(atom, Var) else atom(sizes)

        for taken, outputs, compute in self._equations:
            values.update(zip(outputs, compute(sizes, list(map(read, taken))), strict=True))
        return list(map(read, self._results))

    @staticmethod
    def _enter(variables: Sequence[Var], numbers: list[dict[Var, int]]) -> None:
        """Numbers the next variable of each trace."""
        for variable, known in zip(variables, numbers, strict=True):
            known[variable] = len(known)

    def _atom(self, atoms: Sequence[Atom], numbers: list[dict[Var, int]]) -> Var | At:
        """Returns an operand: the variable of the first trace, or a constant as a function of the sizes.

        Raises:
          Differing: the traces use variables that do not correspond.
        """
        literals = [atom for atom in atoms if isinstance(atom, Literal)]
        variables = [atom for atom in atoms if isinstance(atom, Var)]
        # Literals in all traces are merged as a constant; a literal in some traces only has no counterpart.
        if not variables:
            at = merged_array(self._fit, [np.asarray(atom.val, array_type(atom).dtype) for atom in literals], f"a number of {self._where}")
            self.is_fixed = self.is_fixed and _is_constant(at)
            return at
        if literals or len({known[variable] for variable, known in zip(variables, numbers, strict=True)}) > 1:
            raise Differing(f"{self._where} uses other values for other sizes")
        return variables[0]

    def _computed(self, equations: Sequence[JaxprEqn]) -> Compute:
        """Returns the evaluation of an equation; one that is equal in all traces is bound unchanged, its inner traces included."""
        # Merging clears `is_fixed` if something depends on the sizes: set here, it tells that for this equation alone.
        before, self.is_fixed = self.is_fixed, True
        compute = self._merged(equations)
        is_same, self.is_fixed = self.is_fixed, self.is_fixed and before
        primitive = equations[0].primitive
        return _bound(primitive, equations[0].params) if is_same and primitive.name not in _OF_FUNCTIONS else compute

    def _merged(self, equations: Sequence[JaxprEqn]) -> Compute:
        """Merges one equation: calls are evaluated inline, control flow is built again, and of others the parameters are interpolated."""
        primitive, params = equations[0].primitive, [e.params for e in equations]
        if primitive.name in _CALLS:
            key = next(key for key in ("jaxpr", "call_jaxpr") if key in params[0])
            body = self._inner([p[key] for p in params], primitive.name)
            return lambda sizes, taken: body(sizes, taken)
        if primitive.name in _STRUCTURES:
            merge = _STRUCTURES[primitive.name]
            return merge(self, params)
        # Other primitives keep their constant parameters; the varying ones are computed for each set of sizes.
        fixed, varying = {}, {}
        for name, value in params[0].items():
            at = self.param([p[name] for p in params], primitive.name)
            if _is_constant(at):
                fixed[name] = value
            else:
                varying[name], self.is_fixed = at, False

        return _bound(primitive, fixed, varying)

    def _inner(self, jaxprs: Sequence[Value], where: str) -> MergedTrace:
        """Merges the inner traces of an equation, such as a loop body."""
        closed = [j if isinstance(j, ClosedJaxpr) else ClosedJaxpr(j, ()) for j in jaxprs]
        merged = MergedTrace(self._fit, closed, where)
        self.is_fixed = self.is_fixed and merged.is_fixed
        return merged

    def param(self, values: Sequence[Value], where: str) -> At:
        """Merges the values of one parameter of an equation: equal ones, integers, and tuples of these.

        Raises:
          Differing: they differ in something else.
        """
        first = values[0]
        # An inner trace that depends on sizes cannot be rebuilt as a parameter of an unknown primitive: it falls through to the error.
        if isinstance(first, Jaxpr | ClosedJaxpr):
            if self._inner(values, where).is_fixed:
                return _Constant(first)
        elif isinstance(first, tuple | list) and all(type(v) is type(first) and len(v) == len(first) for v in values):
            parts = [self.param(each, where) for each in zip(*values, strict=True)]
            if all(map(_is_constant, parts)):
                return _Constant(first)
            # A named tuple, as dimension numbers are, takes its fields as separate arguments.
            make = type(first) if not hasattr(first, "_fields") else lambda fields: type(first)(*fields)
            return lambda sizes: make([at(sizes) for at in parts])
        elif all(v is first or (np.array_equal(v, first) if isinstance(first, np.ndarray) else v == first) for v in values):
            return _Constant(first)
        elif isinstance(first, int) and not isinstance(first, bool) and (polynomial := self._fit.number(values)) is not None:
            return polynomial
        raise Differing(f"{where} differs between sizes in more than a polynomial of them")


def _bound(primitive: Value, params: Params, varying: Mapping[str, At] = types.MappingProxyType({})) -> Compute:
    """Returns the evaluation of a primitive with fixed parameters, and `varying` ones that depend on the sizes."""

    def compute(sizes: Sizes, taken: list[Value]) -> Sequence[Value]:
        results = primitive.bind(*taken, **params, **{name: at(sizes) for name, at in varying.items()})
        return results if primitive.multiple_results else [results]

    return compute


def _cond(body: _Body, params: Sequence[Params]) -> Compute:
    branches = [body._inner([p["branches"][i] for p in params], "a branch") for i in range(len(params[0]["branches"]))]

    def compute(sizes: Sizes, taken: list[Value]) -> Sequence[Value]:
        results: Sequence[Value] = lax.switch(taken[0], [lambda *a, b=b: b(sizes, a) for b in branches], *taken[1:])
        return results

    return compute


def _while(body: _Body, params: Sequence[Params]) -> Compute:
    of_cond, of_body = params[0]["cond_nconsts"], params[0]["body_nconsts"]
    condition = body._inner([p["cond_jaxpr"] for p in params], "the condition of a loop")
    iteration = body._inner([p["body_jaxpr"] for p in params], "the body of a loop")

    # Operands of `while`: constants of the condition, constants of the body, initial carry.
    def compute(sizes: Sizes, taken: list[Value]) -> Sequence[Value]:
        for_cond, for_body, start = taken[:of_cond], taken[of_cond : of_cond + of_body], taken[of_cond + of_body :]
        results: Sequence[Value] = lax.while_loop(
            lambda carry: condition(sizes, [*for_cond, *carry])[0], lambda carry: tuple(iteration(sizes, [*for_body, *carry])), tuple(start)
        )
        return results

    return compute


def _scan(body: _Body, params: Sequence[Params]) -> Compute:
    constants, carried = scan_counts(params[0])
    iteration = body._inner([p["jaxpr"] for p in params], "the body of a loop")
    length = body.param([p["length"] for p in params], "the length of a loop")
    body.is_fixed = body.is_fixed and _is_constant(length)

    # Operands of `scan`: constants, initial carry, arrays whose rows the iterations take.
    def compute(sizes: Sizes, taken: list[Value]) -> Sequence[Value]:
        fixed, start, sequences = taken[:constants], taken[constants : constants + carried], taken[constants + carried :]

        def iterate(carry: Value, element: Value) -> Value:
            results = iteration(sizes, [*fixed, *carry, *element])
            return tuple(results[:carried]), tuple(results[carried:])

        last, made = lax.scan(
            iterate, tuple(start), tuple(sequences), length=length(sizes), reverse=params[0]["reverse"], unroll=params[0]["unroll"]
        )
        return [*last, *made]

    return compute


_STRUCTURES = {"cond": _cond, "while": _while, "scan": _scan}


def _together(of_each: Iterable[Sequence[T]], where: str) -> list[tuple[T, ...]]:
    """Transposes sequences, one of each trace, to tuples of corresponding elements; raises Differing if their lengths differ."""
    sequences = list(of_each)
    if len({len(one) for one in sequences}) > 1:
        raise Differing(f"{where} takes or returns more values for other sizes")
    return list(zip(*sequences, strict=True))


class _Constant:
    """A value that is the same for all sizes."""

    def __init__(self, value: Value) -> None:
        self._value = value

    def __call__(self, sizes: Sizes) -> Value:
        return self._value


def _is_constant(at: object) -> bool:
    return isinstance(at, _Constant)


def merged_array(fit: Fit, values: Sequence[Value], where: str) -> At:
    """Merges the arrays of one constant.

    Four forms are known: equal arrays; equal shapes, merged element by element; one number everywhere; integers at even steps.

    Raises:
      Differing: the arrays have none of these forms.
    """
    arrays = [np.asarray(v) for v in values]
    first = arrays[0]
    if all(a.shape == first.shape and np.array_equal(a, first, equal_nan=first.dtype.kind in "fc") for a in arrays):
        return _Constant(values[0])
    if any(a.ndim != first.ndim for a in arrays):
        raise Differing(f"{where} has another rank for each size")
    shape = [_whole(fit, sizes, where) for sizes in zip(*(a.shape for a in arrays), strict=True)]
    # Equal shapes: each element is a number of its own.
    if all(a.shape == first.shape for a in arrays):
        parts = [_scalar(fit, each, first.dtype, where) for each in zip(*(a.ravel() for a in arrays), strict=True)]
        return lambda sizes: _library(sizes).stack([at(sizes) for at in parts]).reshape(first.shape)
    # One number everywhere, as zeros or the divisor of a mean.
    if all(a.size and (a == a.flat[0]).all() for a in arrays):
        filler = _scalar(fit, [a.flat[0] for a in arrays], first.dtype, where)
        return lambda sizes: _library(sizes).broadcast_to(filler(sizes), tuple(at(sizes) for at in shape))
    # Even steps, as indices of rows are.
    if first.dtype.kind in "iu" and all(a.size and _is_even(a) for a in arrays):
        start = _scalar(fit, [a.flat[0] for a in arrays], first.dtype, where)
        steps = [_scalar(fit, each, first.dtype, where) for each in zip(*map(_steps, arrays), strict=True)]
        return lambda sizes: _evenly(_library(sizes), start(sizes), [at(sizes) for at in steps], [at(sizes) for at in shape])
    raise Differing(f"{where} is a table of another size for each")


def _steps(array: NDArray) -> list[Value]:
    """Returns, for each axis, the second element along it minus the first; 0 for an axis of length 1."""
    origin = (0,) * array.ndim
    return [array[*origin[:i], 1, *origin[i + 1 :]] - array[origin] if n > 1 else array.dtype.type(0) for i, n in enumerate(array.shape)]


def _is_even(array: NDArray) -> bool:
    """Whether numbers grow by one step along each axis, as a reshaped range does."""
    return bool(np.array_equal(array, _evenly(np, array.flat[0], _steps(array), array.shape)))


def _evenly(library: Library, start: Value, steps: Sequence[Value], shape: Sequence[Value]) -> Value:
    """Returns the array with elements start + sum over axes of step * index."""
    array = start
    for axis, (step, size) in enumerate(zip(steps, shape, strict=True)):
        array = array + step * library.arange(size, dtype=start.dtype).reshape(-1, *[1] * (len(shape) - axis - 1))
    return array


def _whole(fit: Fit, values: Sequence[int], where: str) -> At:
    """Returns the polynomial with these integer values; raises Differing if there is none."""
    polynomial = fit.number(values)
    if polynomial is None:
        raise Differing(f"{where} differs between sizes in more than a polynomial of them")
    return polynomial


def _scalar(fit: Fit, values: Sequence[Value], dtype: DType, where: str) -> At:
    """Merges the values of one number of a constant: a polynomial p of the sizes, or c / p with c among `_TOPS`.

    Raises:
      Differing: the values are neither.
    """
    # A candidate counts only if it reproduces every value bit for bit in the array's dtype.
    if all(v == values[0] for v in values):
        return lambda sizes: _library(sizes).asarray(values[0], dtype)
    for top in (None, *_TOPS) if all(math.isfinite(v) and v for v in values) else ():
        # The integer that the polynomial must have at each point, if this numerator is right.
        whole = [round(float(v) if top is None else top / float(v)) for v in values]
        reproduced = [_over(top, w, np, dtype) for w in whole if 0 < abs(w) < _LARGEST]
        if reproduced == list(values) and (under := fit.number(whole)) is not None:
            return _Over(top, under, dtype)
    raise Differing(f"a number in {where} is no polynomial of sizes: {values[0]}")


@dataclass(frozen=True)
class _Over:
    """The number top / polynomial, or the polynomial itself if `top` is None."""

    top: int | None
    under: At
    dtype: DType

    def __call__(self, sizes: Sizes) -> Value:
        return _over(self.top, self.under(sizes), _library(sizes), self.dtype)


def _over(top: int | None, under: Value, library: Library, dtype: DType) -> Value:
    number = library.asarray(under)
    return (number if top is None else top / number).astype(dtype)


def _library(sizes: Sizes) -> Library:
    """Returns the library that computes constants: NumPy if all sizes are numbers, else jax.numpy."""
    return np if all(isinstance(size, int) for size in sizes) else jnp


def _has_one_shape(variables: Iterable[Var]) -> bool:
    return len({array_type(v).shape for v in variables if hasattr(v.aval, "shape")}) <= 1


def _product(factors: Iterable[Value]) -> Value:
    product: Value = 1
    for factor in factors:
        product = product * factor
    return product
