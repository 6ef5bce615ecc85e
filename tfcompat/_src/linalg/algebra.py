"""Which function takes the adjoint, inverse, Cholesky factor, product or quotient of which classes of linear operators."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

from tfcompat._src.graph.scopes import name_scope

_ADJOINTS: dict[tuple, Callable] = {}
_CHOLESKY_DECOMPS: dict[tuple, Callable] = {}
_MATMUL: dict[tuple, Callable] = {}
_SOLVE: dict[tuple, Callable] = {}
_INVERSES: dict[tuple, Callable] = {}


class _Register:
    """Decorates the function for arguments of some classes and their subclasses.

    Raises:
      TypeError: what is decorated is not callable. ValueError: these classes have a function already.
    """

    _registry: dict[tuple, Callable]
    _what: str

    def __init__(self, *classes: type) -> None:
        self._key = classes

    def __call__(self, function: Callable) -> Callable:
        if not callable(function):
            raise TypeError(f"{self._what} function must be callable, received: {function}")
        if self._key in self._registry:
            names = ", ".join(cls.__name__ for cls in self._key)
            raise ValueError(f"{self._what}({names}) has already been registered to: {self._registry[self._key]}")
        self._registry[self._key] = function
        return function


class RegisterAdjoint(_Register):
    """Decorates `function(operator)`, which gives the adjoint of an operator of one class."""

    _registry, _what = _ADJOINTS, "Adjoint"

    def __init__(self, lin_op_cls_a: type) -> None:
        super().__init__(lin_op_cls_a)


class RegisterCholesky(_Register):
    """Decorates `function(operator)`, which gives the Cholesky factor of an operator of one class."""

    _registry, _what = _CHOLESKY_DECOMPS, "Cholesky"

    def __init__(self, lin_op_cls_a: type) -> None:
        super().__init__(lin_op_cls_a)


class RegisterInverse(_Register):
    """Decorates `function(operator)`, which gives the inverse of an operator of one class."""

    _registry, _what = _INVERSES, "Inverse"

    def __init__(self, lin_op_cls_a: type) -> None:
        super().__init__(lin_op_cls_a)


class RegisterMatmul(_Register):
    """Decorates `function(a, b)`, which gives the product a @ b of operators of two classes."""

    _registry, _what = _MATMUL, "Matmul"

    def __init__(self, lin_op_cls_a: type, lin_op_cls_b: type) -> None:
        super().__init__(lin_op_cls_a, lin_op_cls_b)


class RegisterSolve(_Register):
    """Decorates `function(a, b)`, which gives inverse(a) @ b of operators of two classes."""

    _registry, _what = _SOLVE, "Solve"

    def __init__(self, lin_op_cls_a: type, lin_op_cls_b: type) -> None:
        super().__init__(lin_op_cls_a, lin_op_cls_b)


def _registered_function(classes: list[type], registry: dict[tuple, Callable]) -> Callable | None:
    """The function registered for the nearest base classes: the sum of steps up is smallest."""
    ranked = itertools.product(*(enumerate(cls.__mro__) for cls in classes))
    found = [(sum(step for step, _ in pairs), tuple(cls for _, cls in pairs)) for pairs in ranked]
    known = [(distance, key) for distance, key in found if key in registry]
    return registry[min(known, key=lambda item: item[0])[1]] if known else None


def _registered_adjoint(type_a: type) -> Callable | None:
    return _registered_function([type_a], _ADJOINTS)


def _registered_cholesky(type_a: type) -> Callable | None:
    return _registered_function([type_a], _CHOLESKY_DECOMPS)


def _registered_inverse(type_a: type) -> Callable | None:
    return _registered_function([type_a], _INVERSES)


def _registered_matmul(type_a: type, type_b: type) -> Callable | None:
    return _registered_function([type_a, type_b], _MATMUL)


def _registered_solve(type_a: type, type_b: type) -> Callable | None:
    return _registered_function([type_a, type_b], _SOLVE)


def _called(function: Callable | None, missing: str, name: str | None, default_name: str, *operators: object) -> Any:
    if function is None:
        raise ValueError(f"No {missing.format(*(type(operator) for operator in operators))}")
    with name_scope(name, default_name):
        return function(*operators)


def adjoint(lin_op_a: object, name: str | None = None) -> Any:
    """The adjoint of an operator, as an operator; ValueError where none is registered."""
    return _called(_registered_adjoint(type(lin_op_a)), "adjoint registered for {}", name, "Adjoint", lin_op_a)


def cholesky(lin_op_a: object, name: str | None = None) -> Any:
    """The lower Cholesky factor of an operator, as an operator; ValueError where none is registered."""
    missing = "cholesky decomposition registered for {}"
    return _called(_registered_cholesky(type(lin_op_a)), missing, name, "Cholesky", lin_op_a)


def inverse(lin_op_a: object, name: str | None = None) -> Any:
    """The inverse of an operator, as an operator; ValueError where none is registered."""
    return _called(_registered_inverse(type(lin_op_a)), "inverse registered for {}", name, "Inverse", lin_op_a)


def matmul(lin_op_a: object, lin_op_b: object, name: str | None = None) -> Any:
    """The product of two operators, as an operator; ValueError where none is registered."""
    function = _registered_matmul(type(lin_op_a), type(lin_op_b))
    return _called(function, "matmul registered for {}.matmul({})", name, "Matmul", lin_op_a, lin_op_b)


def solve(lin_op_a: object, lin_op_b: object, name: str | None = None) -> Any:
    """The inverse of the first operator times the second, as an operator; ValueError where none is registered."""
    function = _registered_solve(type(lin_op_a), type(lin_op_b))
    return _called(function, "solve registered for {}.solve({})", name, "Solve", lin_op_a, lin_op_b)
