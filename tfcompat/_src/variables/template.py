"""tf.make_template: a function whose calls share the variables of the first."""

from __future__ import annotations

import contextlib
import functools
import threading
import traceback
from collections.abc import Callable
from typing import Any

from tfcompat._src.base.export import export
from tfcompat._src.base.graph_collections import GraphKeys
from tfcompat._src.base.trackable import Trackable
from tfcompat._src.graph.scopes import executing_eagerly, get_collection
from tfcompat._src.platform import logging
from tfcompat._src.variables.dependencies import capture_dependencies
from tfcompat._src.variables.eager_store import TemplateVariableStore
from tfcompat._src.variables.scope import VariableScope, get_variable_scope_store, pure_variable_scope, variable_scope


@export("make_template")
def make_template(
    name_: str, func_: Callable, create_scope_now_: bool = False, unique_name_: str | None = None,
    custom_getter_: Callable | None = None, **kwargs: object,
) -> Template:  # fmt: skip
    """A function that calls `func_` in a variable scope of its own, where calls after the first reuse the variables.

    Args:
      name_: of the scope, made unique when the template is first called.
      func_: the function; it gets its variables with tf.get_variable.
      create_scope_now_: makes the scope at once.
      unique_name_: the exact name of the scope, in place of `name_`.
      custom_getter_: see tf.variable_scope.
      **kwargs: arguments that each call of `func_` gets.

    Raises:
      ValueError: `name_` is None; later, a call after the first makes a variable.
    """
    if unique_name_ is not None and executing_eagerly():
        raise ValueError("unique_name_ cannot be used when eager execution is enabled.")
    if kwargs:
        func_ = functools.partial(func_, **kwargs)
    if unique_name_ is not None and executing_eagerly():
        raise ValueError("unique_name_ cannot be used when eager exeuction is enabled.")
    return Template(name_, func_, create_scope_now_, unique_name_, custom_getter_)


def _skip_common_stack_elements(stacktrace: list, base_case: list) -> list:
    """The frames of a stack after those that it shares with another; the last one where it shares all."""
    shared = next((i for i, pair in enumerate(zip(stacktrace, base_case)) if pair[0] != pair[1]), -1)
    return stacktrace[shared:]


class Template(Trackable):
    """What make_template returns; see there."""

    def __init__(
        self, name: str, func: Callable, create_scope_now: bool = False, unique_name: str | None = None,
        custom_getter: Callable | None = None,
    ) -> None:  # fmt: skip
        if name is None:
            raise ValueError("name cannot be None.")
        self._func, self._name, self._unique_name, self._custom_getter = func, name, unique_name, custom_getter
        self._stacktrace = traceback.format_stack()[:-2]
        self._lock = threading.RLock()
        self._called = False
        self._variable_scope: VariableScope | None = None
        self._template_store = TemplateVariableStore() if executing_eagerly() else None
        if create_scope_now:
            scope = unique_name or get_variable_scope_store().unique_name(name)
            with pure_variable_scope(scope, custom_getter=custom_getter) as made:
                self._own(made)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """What `func` gives, in the template's scope."""
        with self._lock, contextlib.nullcontext() if self._template_store is None else self._template_store.as_default():
            if self._variable_scope is not None:
                with variable_scope(self._variable_scope, reuse=self._called):
                    return self._call(args, kwargs)
            with variable_scope(self._unique_name, self._name, custom_getter=self._custom_getter) as scope:
                self._own(scope)
                return self._call(args, kwargs)

    def _own(self, scope: VariableScope) -> None:
        self._variable_scope = scope
        if self._template_store is not None:
            self._template_store.scope = scope

    def _call(self, args: Any, kwargs: Any) -> Any:
        before = {key: len(self._made(key)) for key in (GraphKeys.GLOBAL_VARIABLES, GraphKeys.TRAINABLE_VARIABLES)}
        try:
            with capture_dependencies(self):
                result = self._func(*args, **kwargs)
        except Exception as error:
            first = error.args[0] if error.args else ""
            where = "".join(_skip_common_stack_elements(self._stacktrace, traceback.format_stack()))
            error.args = (f"{first}\n\noriginally defined at:\n{where}", *error.args[1:])
            raise
        if self._called:
            self._check_no_new(before)
        self._called = True
        return result

    def _check_no_new(self, before: dict[str, int]) -> None:
        advice = (
            "created when calling a template after the first time, perhaps you used tf.Variable when you meant "
            "tf.get_variable"
        )
        new = self._made(GraphKeys.TRAINABLE_VARIABLES)[before[GraphKeys.TRAINABLE_VARIABLES] :]
        if new:
            raise ValueError(f"Trainable variable {advice}: {new}")
        new = self._made(GraphKeys.GLOBAL_VARIABLES)[before[GraphKeys.GLOBAL_VARIABLES] :]
        if new:
            logging.info("New variables %s: %s", advice, new)

    @property
    def name(self) -> str:
        return self._name

    @property
    def func(self) -> Callable:
        """The function that is called."""
        return self._func

    @property
    def variable_scope(self) -> VariableScope | None:
        """The scope of the variables, once there is one."""
        return self._variable_scope

    @property
    def variable_scope_name(self) -> str | None:
        """The prefix of the variables' names: the scope's name and a slash."""
        if self._variable_scope is None:
            return None
        name = self._variable_scope.name
        return name + "/" if name and not name.endswith("/") else name

    def _made(self, key: str, scope: str | None = None) -> list[Any]:
        """The variables of a collection of the graph, or those of the template where variables are in no graph."""
        if self._template_store is None:
            return get_collection(key, scope)
        if key == GraphKeys.LOCAL_VARIABLES:
            return []
        trainable = key == GraphKeys.TRAINABLE_VARIABLES
        return self._template_store.trainable_variables() if trainable else self._template_store.variables()

    def _variables_in(self, key: str) -> list[Any]:
        return self._made(key, self.variable_scope_name) if self._called else []

    @property
    def global_variables(self) -> list[Any]:
        return self._variables_in(GraphKeys.GLOBAL_VARIABLES)

    @property
    def local_variables(self) -> list[Any]:
        return self._variables_in(GraphKeys.LOCAL_VARIABLES)

    @property
    def variables(self) -> list[Any]:
        return self.global_variables + self.local_variables

    @property
    def trainable_variables(self) -> list[Any]:
        return self._variables_in(GraphKeys.TRAINABLE_VARIABLES)

    @property
    def non_trainable_variables(self) -> list[Any]:
        trainable = set(self.trainable_variables)
        return [v for v in self.variables if v not in trainable]

    weights = variables
    trainable_weights = trainable_variables
    non_trainable_weights = non_trainable_variables
