"""What is known of the product of two linear operators from what is known of them."""

from __future__ import annotations

from typing import Any


def combined_commuting_self_adjoint_hint(operator_a: Any, operator_b: Any) -> bool | None:
    """Whether the product of two commuting operators is self-adjoint."""
    hints = (operator_a.is_self_adjoint, operator_b.is_self_adjoint)
    if all(hints):
        return True
    return False if True in hints and False in hints else None


def is_square(operator_a: Any, operator_b: Any) -> bool | None:
    """Whether the product of two operators is square."""
    a, b = operator_a.is_square, operator_b.is_square
    if a and b:
        return True
    if a is False and b is False:
        rows, columns = operator_a.range_dimension, operator_b.domain_dimension
        if rows is not None and columns is not None:
            return rows == columns
    return False if a != b and a is not None else None


def combined_commuting_positive_definite_hint(operator_a: Any, operator_b: Any) -> bool | None:
    """True where both operators are self-adjoint and positive definite, so that their commuting product is."""
    hints = [
        hint for operator in (operator_a, operator_b) for hint in (operator.is_positive_definite, operator.is_self_adjoint)
    ]
    return True if all(hint is True for hint in hints) else None


def combined_non_singular_hint(operator_a: Any, operator_b: Any) -> bool | None:
    """Whether the product of two square operators is non-singular."""
    if operator_a.is_non_singular is False or operator_b.is_non_singular is False:
        return False
    return operator_a.is_non_singular and operator_b.is_non_singular


def of(operator: Any) -> dict[str, bool | None]:
    """The hints of an operator, as arguments for another of the same properties."""
    return {
        "is_non_singular": operator.is_non_singular,
        "is_self_adjoint": operator.is_self_adjoint,
        "is_positive_definite": operator.is_positive_definite,
    }


def of_commuting_product(operator_a: object, operator_b: object) -> dict[str, bool | None]:
    """The hints for the product of two square operators that commute."""
    return {
        "is_non_singular": combined_non_singular_hint(operator_a, operator_b),
        "is_self_adjoint": combined_commuting_self_adjoint_hint(operator_a, operator_b),
        "is_positive_definite": combined_commuting_positive_definite_hint(operator_a, operator_b),
        "is_square": True,
    }


def of_product(operator_a: object, operator_b: object) -> dict[str, bool | None]:
    """The hints for the product of any two operators."""
    square = is_square(operator_a, operator_b)
    if square is False:
        return dict.fromkeys(("is_non_singular", "is_self_adjoint", "is_positive_definite", "is_square"), False)
    non_singular = combined_non_singular_hint(operator_a, operator_b) if square else None
    return {"is_non_singular": non_singular, "is_square": square}
