"""Variables by name where operations run at once."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

from tfcompat._src.base.export import export
from tfcompat._src.variables.scope import (
    VariableScope,
    get_variable_scope_store,
    get_variable_store,
    with_variable_store,
)
from tfcompat._src.variables.store import VariableStore


@export("contrib.eager.EagerVariableStore")
class EagerVariableStore:
    """A store in which tf.get_variable finds the variable that it made before, where operations run at once.

    Args:
      store: a VariableStore that keeps eager variables, or None for a new one.

    Raises:
      ValueError: `store` is a VariableStore that does not keep eager variables.
    """

    def __init__(self, store: VariableStore | None = None) -> None:
        if store is not None and not store.keeps_eager_variables:
            raise ValueError("Cannot construct EagerVariableStore from a VariableStore object that does not hold eager variables.")
        self._store = VariableStore() if store is None else store
        self._store.keeps_eager_variables = True

    def as_default(self) -> contextlib.AbstractContextManager[None]:
        """A block in which tf.get_variable uses this store."""
        return with_variable_store(self._store)

    def variables(self) -> list[Any]:
        """The variables, by name."""
        return sorted(self._store._vars.values(), key=lambda v: v.name)

    def trainable_variables(self) -> list[Any]:
        return [v for v in self.variables() if v.trainable]

    def non_trainable_variables(self) -> list[Any]:
        return [v for v in self.variables() if not v.trainable]

    def copy(self) -> EagerVariableStore:
        """A store of copies of the variables."""
        copied = EagerVariableStore()
        for name, variable in self._store._vars.items():
            copied._store._vars[name] = type(variable)(
                variable.read_value(), name=variable.name.partition(":")[0], trainable=variable.trainable, dtype=variable.dtype
            )
        return copied


class TemplateVariableStore:
    """The variables of a template where operations run at once; templates inside another one share its store."""

    def __init__(self) -> None:
        outer = get_variable_store()
        self._store = EagerVariableStore(outer if outer.keeps_eager_variables else None)
        self.scope: VariableScope | None = None

    @contextlib.contextmanager
    def as_default(self) -> Iterator[None]:
        """A block in which tf.get_variable uses this store; the scopes entered in it may be entered anew afterwards."""
        with self._store.as_default():
            yield
        if self.scope is not None:
            get_variable_scope_store().close_variable_subscopes(self.scope.name)

    def _in_scope(self, variables: list[Any]) -> list[Any]:
        return [v for v in variables if self.scope is not None and v.name.startswith(self.scope.name + "/")]

    def variables(self) -> list[Any]:
        """The variables in the template's scope, by name."""
        return self._in_scope(self._store.variables())

    def trainable_variables(self) -> list[Any]:
        return self._in_scope(self._store.trainable_variables())
