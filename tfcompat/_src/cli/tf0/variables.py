"""Variables before TensorFlow 1.0: what they start as without an initializer, slots of optimizers in scopes whose variables are reused, and
gradients that have the same row several times.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from tfcompat._src.graph.graph import Graph
from tfcompat._src.graph.scopes import get_default_graph
from tfcompat._src.train import slot_creator
from tfcompat._src.train.optimizer import Optimizer
from tfcompat._src.variables import store
from tfcompat._src.variables.initializers import UniformUnitScaling
from tfcompat._src.variables.ref_variable import RefVariable
from tfcompat._src.variables.scope import get_variable_scope


def default_initializer(name: str, dtype: Any) -> Any:
    """The initializer of a variable that names none: uniform, scaled by the size of the input; TypeError where `dtype` is not floating."""
    if not dtype.is_floating:
        raise TypeError(f"Variable {name} is of {dtype.base_dtype.name} and has no initializer: without one it is floating")
    return UniformUnitScaling(dtype=dtype.base_dtype)


def _in_new_scopes(make: Callable[..., Any]) -> Callable[..., Any]:
    """A function that makes a slot, also where the program reuses the variables of its scope."""

    @functools.wraps(make)
    def slot(*arguments: Any, **named: Any) -> Any:
        scope = get_variable_scope()
        reuse, scope._reuse = scope._reuse, None
        try:
            return make(*arguments, **named)
        finally:
            scope._reuse = reuse

    return slot


def _apply_sparse(self: Optimizer, grad: Any, var: Any, *state: Any) -> Any:
    """Applies a gradient of some rows as it is: equal rows count one by one, not as their sum."""
    return self._apply_sparse(grad, var, *state)


def _make_nodes(self: RefVariable, scope: str, initial_value: Any, *others: Any) -> None:
    """Makes the nodes of a variable; seeds of its initializer count its own node, which came first."""
    if callable(initial_value):
        initial_value = functools.partial(_after_node, initial_value)
    _of_1(self, scope, initial_value, *others)


_of_1 = RefVariable._make_nodes


def _after_node(make: Callable[[], Any]) -> Any:
    graph = get_default_graph()
    graph.next_operation_seed = lambda: Graph.next_operation_seed(graph) + 1
    try:
        return make()
    finally:
        vars(graph).pop("next_operation_seed", None)


def install() -> None:
    """Makes the variables of this process so."""
    store.default_initializer = default_initializer
    Optimizer._apply_sparse_duplicate_indices = _apply_sparse  # type: ignore[method-assign]
    RefVariable._make_nodes = _make_nodes  # type: ignore[method-assign]
    slot_creator._slot = _in_new_scopes(slot_creator._slot)
