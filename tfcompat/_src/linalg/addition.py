"""Sums of linear operators, as few and as simple ones as can be."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, NamedTuple

from tfcompat._src.base.tensor_shape import dimension_value
from tfcompat._src.graph.scopes import name_scope
from tfcompat._src.linalg.diag import LinearOperatorDiag
from tfcompat._src.linalg.full_matrix import LinearOperatorFullMatrix
from tfcompat._src.linalg.identity import LinearOperatorIdentity, LinearOperatorScaledIdentity
from tfcompat._src.linalg.linear_operator import LinearOperator
from tfcompat._src.linalg.lower_triangular import LinearOperatorLowerTriangular
from tfcompat._src.ops.array.fill import ones
from tfcompat._src.ops.array.shape import broadcast_static_shape
from tfcompat._src.ops.composed.check_ops import assert_proper_iterable

if TYPE_CHECKING:
    from tfcompat._src.graph.tensor import Tensor

_IDENTITIES = (LinearOperatorIdentity, LinearOperatorScaledIdentity)
_DIAGONAL = (*_IDENTITIES, LinearOperatorDiag)
_TRIANGULAR = (*_DIAGONAL, LinearOperatorLowerTriangular)
_KNOWN = (*_TRIANGULAR, LinearOperatorFullMatrix)


class _Hints(NamedTuple):
    """What is known of a sum."""

    is_non_singular: bool | None = None
    is_positive_definite: bool | None = None
    is_self_adjoint: bool | None = None


def _hints_of_sum(a: LinearOperator, b: LinearOperator, given: _Hints | None) -> _Hints:
    """The hints of a + b where `given` leaves them open."""
    given = given or _Hints()
    self_adjoint, positive, non_singular = given.is_self_adjoint, given.is_positive_definite, given.is_non_singular
    if self_adjoint is None:
        self_adjoint = a.is_self_adjoint and b.is_self_adjoint
    if positive is None:
        positive = a.is_positive_definite and b.is_positive_definite
        non_singular = True if positive else non_singular
    return _Hints(is_non_singular=non_singular, is_positive_definite=positive, is_self_adjoint=self_adjoint)


def _multiplier(operator: LinearOperator) -> Any:
    if isinstance(operator, LinearOperatorScaledIdentity):
        return operator.multiplier
    return ones(operator.batch_shape_tensor(), dtype=operator.dtype)


def _dense_sum(a: LinearOperator, b: LinearOperator) -> Tensor:
    adding, other = (a, b) if isinstance(a, _DIAGONAL) else (b, a)
    return adding.add_to_tensor(other.to_dense())


def _scaled_identity(a: LinearOperator, b: LinearOperator, name: str, hints: dict) -> LinearOperator:
    first = _multiplier(a)
    return LinearOperatorScaledIdentity(
        num_rows=a.range_dimension_tensor(), multiplier=first + _multiplier(b), name=name, **hints
    )


def _diag(a: LinearOperator, b: LinearOperator, name: str, hints: dict) -> LinearOperator:
    return LinearOperatorDiag(diag=a.diag_part() + b.diag_part(), name=name, **hints)


def _tril(a: LinearOperator, b: LinearOperator, name: str, hints: dict) -> LinearOperator:
    return LinearOperatorLowerTriangular(tril=_dense_sum(a, b), name=name, **hints)


def _matrix(a: LinearOperator, b: LinearOperator, name: str, hints: dict) -> LinearOperator:
    return LinearOperatorFullMatrix(matrix=_dense_sum(a, b), name=name, **hints)


class _Adder:
    """Adds two operators whose classes are among `kinds`."""

    kinds: tuple[type, ...]
    _sum: Callable

    @property
    def name(self) -> str:
        return type(self).__name__

    def can_add(self, op1: LinearOperator, op2: LinearOperator) -> bool:
        for operator in (op1, op2):
            if not isinstance(operator, _KNOWN) and self.kinds is not _ANY:
                raise TypeError(f"Operator type unknown: {operator}")
        return isinstance(op1, self.kinds) and isinstance(op2, self.kinds)

    def add(
        self, op1: LinearOperator, op2: LinearOperator, operator_name: str | None, hints: _Hints | None = None
    ) -> LinearOperator:
        """The sum, as an operator."""
        found = _hints_of_sum(op1, op2, hints)
        if operator_name is None:
            operator_name = f"Add/{op1.name}__{op2.name}/"
        with name_scope(self.name.removeprefix("_"), values=[*op1.graph_parents, *op2.graph_parents]):
            return type(self)._sum(op1, op2, operator_name, found._asdict())


_ANY = (LinearOperator,)


class _AddAndReturnScaledIdentity(_Adder):
    kinds, _sum = _IDENTITIES, staticmethod(_scaled_identity)


class _AddAndReturnDiag(_Adder):
    kinds, _sum = _DIAGONAL, staticmethod(_diag)


class _AddAndReturnTriL(_Adder):
    kinds, _sum = _TRIANGULAR, staticmethod(_tril)


class _AddAndReturnMatrix(_Adder):
    kinds, _sum = _ANY, staticmethod(_matrix)


_DEFAULT_ADDITION_TIERS = [
    [_AddAndReturnScaledIdentity()], [_AddAndReturnDiag()], [_AddAndReturnTriL()], [_AddAndReturnMatrix()],
]  # fmt: skip


def _check_sizes(operators: list[LinearOperator]) -> None:
    """ValueError where shapes are known not to fit."""
    for attribute, what in (("domain_dimension", "domain"), ("range_dimension", "range")):
        sizes = [(operator.name, dimension_value(getattr(operator, attribute))) for operator in operators]
        known = [pair for pair in sizes if pair[1] is not None]
        if len({size for _, size in known}) > 1:
            raise ValueError(f"Operators must have the same {what} dimension. Found: {known}")
    functools.reduce(broadcast_static_shape, (operator.batch_shape for operator in operators))


def _pop_match(first: LinearOperator, others: list[LinearOperator], tier: list[_Adder]) -> tuple[Any, Any]:
    """The last of `others` that an adder of the tier can add to `first`, taken out, and that adder."""
    for i in reversed(range(len(others))):
        for adder in tier:
            if adder.can_add(first, others[i]):
                return others.pop(i), adder
    return None, None


def add_operators(
    operators: Iterable[LinearOperator], operator_name: str | None = None,
    addition_tiers: list[list[_Adder]] | None = None, name: str | None = None,
) -> list[LinearOperator]:  # fmt: skip
    """Operators whose sum is the sum of the given ones, fewer where some can be added.

    Args:
      operators: LinearOperators of fitting shapes.
      operator_name: the name of new operators.
      addition_tiers: lists of adders; the first that applies is used, cheap ones first by default.
      name: name scope.

    Raises:
      ValueError: there are none, or shapes do not fit. TypeError: one is no LinearOperator.
    """
    assert_proper_iterable(operators)
    remaining = list(reversed(list(operators)))
    if not remaining:
        raise ValueError(f"Argument 'operators' must contain at least one operator.  Found: {remaining}")
    if not all(isinstance(operator, LinearOperator) for operator in remaining):
        raise TypeError(f"Argument 'operators' must contain only LinearOperator instances.  Found: {remaining}")
    _check_sizes(remaining)
    parents = [parent for operator in remaining for parent in operator.graph_parents]
    with name_scope(name or "add_operators", values=parents):
        for tier in _DEFAULT_ADDITION_TIERS if addition_tiers is None else addition_tiers:
            waiting, remaining = remaining, []
            while waiting:
                first = waiting.pop()
                second, adder = _pop_match(first, waiting, tier)
                if adder is None:
                    remaining.append(first)
                else:
                    waiting.append(adder.add(first, second, operator_name))
        return remaining
