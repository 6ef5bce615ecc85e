"""tf.contrib.checkpoint.capture_dependencies: variables become dependencies of the object whose scope they are made in."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

from tfcompat._src.base.export import export
from tfcompat._src.variables.variable import variable_creator_scope


@export("contrib.checkpoint.capture_dependencies")
@contextlib.contextmanager
def capture_dependencies(template: Any) -> Iterator[None]:
    """Variables made inside, below the variable scope of `template`, are its dependencies."""
    prefix = template.variable_scope.name

    def creator(next_creator: Any, name: str, initial_value: Any, trackable_parent: Any = None, **kwargs: Any) -> Any:
        if name is None or not name.startswith(prefix):
            return next_creator(
                name=name, initial_value=initial_value, trackable_parent=(template, prefix), **kwargs
            )
        if trackable_parent is not None:
            parent, parent_prefix = trackable_parent
            template._track_trackable(parent, name=parent_prefix[len(prefix) + 1 :], overwrite=True)
            return next_creator(
                name=name, initial_value=initial_value, trackable_parent=(template, prefix), **kwargs
            )

        def getter(initializer: Any, **inner: Any) -> Any:
            return next_creator(initial_value=initializer, **{**inner, "name": name})

        return template._add_variable_with_custom_getter(
            name=name[len(prefix) + 1 :], initializer=initial_value, getter=getter, overwrite=True,
            trackable_parent=(template, prefix), **kwargs,
        )  # fmt: skip

    with variable_creator_scope(creator):
        yield
