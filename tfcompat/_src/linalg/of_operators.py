"""What linear operators made of one operator or of several have in common."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from tfcompat._src.graph.operation import Operation
from tfcompat._src.graph.scopes import name_scope
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.linalg import hints, util
from tfcompat._src.linalg.algebra import RegisterAdjoint, RegisterCholesky, RegisterInverse
from tfcompat._src.linalg.linear_operator import LinearOperator
from tfcompat._src.ops.array.fill import zeros
from tfcompat._src.ops.array.shape import shape

_WORDS = {
    "is_square": "square", "is_non_singular": "non-singular", "is_self_adjoint": "self-adjoint",
    "is_positive_definite": "positive-definite",
}  # fmt: skip


class OfOperator(LinearOperator):
    """An operator that has a property if and only if another operator has it.

    Args:
      operator: a LinearOperator.
      relation: what it is of that operator, in a message.
      name: name scope.
      given: is_non_singular, is_self_adjoint, is_positive_definite and is_square, as the caller gives them.

    Raises:
      ValueError: a hint contradicts that of the operator.
    """

    def __init__(self, operator: Any, relation: str, name: str, **given: bool | None) -> None:
        self._operator = operator

        def combined(attribute: str) -> bool | None:
            what = _WORDS[attribute]
            message = f"An operator is {what} if and only if its {relation} is {what}."
            return util.use_operator_or_provided_hint_unless_contradicting(operator, attribute, given[attribute], message)

        with name_scope(name, values=operator.graph_parents):
            super().__init__(
                dtype=operator.dtype, graph_parents=operator.graph_parents, name=name,
                **{attribute: combined(attribute) for attribute in _WORDS},
            )  # fmt: skip

    @property
    def operator(self) -> Any:
        """The operator that this is made of."""
        return self._operator

    def _assert_non_singular(self) -> Operation:
        return self.operator.assert_non_singular()

    def _assert_positive_definite(self) -> Operation:
        return self.operator.assert_positive_definite()

    def _assert_self_adjoint(self) -> Operation:
        return self.operator.assert_self_adjoint()


class OfOperators(LinearOperator):
    """An operator made of several of one dtype, with the hints in `implied` where all of them have these.

    Args:
      operators: LinearOperators.
      expected: what they have to be, in a message.
      joint: what joins their names to the name scope where `name` is None.
      relation: what it is of the operators, in a message.
      implied: the hints that follow where all operators have them, with their words in a message.
      name: name scope.
      given: is_non_singular, is_self_adjoint, is_positive_definite and is_square, as the caller gives them.

    Raises:
      ValueError: there are no operators, or a hint contradicts theirs. TypeError: their dtypes differ.
    """

    def __init__(
        self, operators: Iterable[Any], expected: str, joint: str, relation: str, implied: dict[str, str],
        name: str | None, **given: bool | None,
    ) -> None:  # fmt: skip
        operators, graph_parents = util.checked_operators(operators, expected)
        self._operators = operators
        for attribute, what in implied.items():
            message = f"The {relation} of {what} operators is always {what}."
            given[attribute] = util.implied_by_all(operators, attribute, given[attribute], message)
        name = joint.join(operator.name for operator in operators) if name is None else name
        with name_scope(name, values=graph_parents):
            super().__init__(dtype=operators[0].dtype, graph_parents=graph_parents, name=name, **given)

    @property
    def operators(self) -> list[Any]:
        """The operators that this is made of, in order."""
        return self._operators


def broadcast_batch_shape_tensor(operators: Sequence[Any]) -> Tensor:
    """The common batch shape of operators as a vector."""
    found = zeros(shape=operators[0].batch_shape_tensor())
    for operator in operators[1:]:
        found += zeros(shape=operator.batch_shape_tensor())
    return shape(found)


def register_by_operator(product: type[OfOperators]) -> None:
    """Registers that the adjoint, the inverse and the Cholesky factor of a product are the products of those of its operators."""

    def adjoint(operator: OfOperators) -> LinearOperator:
        return product([each.adjoint() for each in operator.operators], **hints.of(operator), is_square=True)

    def inverse(operator: OfOperators) -> LinearOperator:
        return product([each.inverse() for each in operator.operators], **hints.of(operator), is_square=True)

    def cholesky(operator: OfOperators) -> LinearOperator:
        factors = [each.cholesky() for each in operator.operators]
        is_self_adjoint = None if all(each.is_self_adjoint for each in factors) else False
        return product(factors, is_non_singular=True, is_self_adjoint=is_self_adjoint, is_square=True)

    RegisterAdjoint(product)(adjoint)
    RegisterInverse(product)(inverse)
    RegisterCholesky(product)(cholesky)
