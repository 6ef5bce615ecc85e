"""tf.Module: an object that knows the variables and modules among its attributes."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Iterator
from typing import Any

from tfcompat._src.base import nest
from tfcompat._src.base.export import export
from tfcompat._src.graph.scopes import get_default_graph, name_scope
from tfcompat._src.train.trackable_data_structures import AutoTrackable
from tfcompat._src.variables.variable import Variable

_WORD_START = re.compile(r"((?<=[a-z0-9])[A-Z]|(?!^)[A-Z](?=[a-z]))")


def camel_to_snake(value: str) -> str:
    """`MyModule` as `my_module`."""
    return _WORD_START.sub(r"_\1", value).lower()


@export("Module")
class Module(AutoTrackable):
    """Base of objects with variables: attributes, and lists, tuples and dicts of them, are searched.

    Args:
      name: a Python identifier; by default the name of the class in snake case.

    Raises:
      ValueError: `name` is no identifier.
    """

    _TF_MODULE_IGNORED_PROPERTIES = frozenset(
        ("_obj_reference_counts_dict", "_self_unconditional_checkpoint_dependencies",
         "_self_unconditional_dependency_names")
    )  # fmt: skip

    def __init__(self, name: str | None = None) -> None:
        name = camel_to_snake(type(self).__name__) if name is None else name
        if not (name.isascii() and name.isidentifier()):
            raise ValueError(f"{name!r} is not a valid module name. Module names must be valid Python identifiers (e.g. a "
                             "valid class name).")  # fmt: skip
        self._name = name
        with name_scope(name) as scope:
            self._scope_name = scope

    @property
    def name(self) -> str:
        """The name that was given."""
        return self._name

    @property
    def name_scope(self) -> Any:
        """The name scope of this module, for a `with` statement."""
        return get_default_graph().name_scope(self._scope_name)

    @property
    def variables(self) -> tuple:
        """The variables of this module and its submodules, by name of attribute."""
        return tuple(self._flatten(predicate=_is_variable))

    @property
    def trainable_variables(self) -> tuple:
        """Those of `variables` that are trainable."""
        return tuple(self._flatten(predicate=lambda leaf: _is_variable(leaf) and leaf.trainable))

    @property
    def submodules(self) -> tuple:
        """The modules among the attributes of this one, and theirs."""
        return tuple(self._flatten(predicate=lambda leaf: isinstance(leaf, Module)))

    def _flatten(
        self, recursive: bool = True, predicate: Callable | None = None,
        attribute_traversal_key: Callable | None = None, with_path: bool = False,
    ) -> Iterator:  # fmt: skip
        """The attributes, with lists and dicts taken apart, for which `predicate` holds; then those of submodules.

        With paths an object comes once for each way to it, else once.
        """
        return _leaves(self, recursive, predicate or (lambda _: True), attribute_traversal_key, with_path, (), {id(self)})

    @classmethod
    def with_name_scope(cls, method: Callable) -> Callable:
        """Decorates a method that runs in the name scope of its module."""

        @functools.wraps(method)
        def method_with_name_scope(self: Any, *args: Any, **kwargs: Any) -> Any:
            with self.name_scope:
                return method(self, *args, **kwargs)

        return method_with_name_scope


def _is_variable(obj: object) -> bool:
    """Whether an attribute is a variable."""
    return isinstance(obj, Variable)


def _leaves(
    module: Any, recursive: bool, predicate: Callable, key: Callable | None, with_path: bool, path: tuple, seen: set[int]
) -> Iterator:
    attributes, inner = vars(module), []
    for name in sorted(attributes, key=key):
        if name in module._TF_MODULE_IGNORED_PROPERTIES:
            continue
        for place, leaf in nest.flatten_with_tuple_paths(attributes[name]):
            if not with_path:
                if id(leaf) in seen:
                    continue
                seen.add(id(leaf))
            leaf_path = (*path, name, *place)
            if predicate(leaf):
                yield (leaf_path, leaf) if with_path else leaf
            if recursive and isinstance(leaf, Module):
                inner.append((leaf_path, leaf))
    for leaf_path, leaf in inner:
        yield from _leaves(leaf, recursive, predicate, key, with_path, leaf_path, seen)
