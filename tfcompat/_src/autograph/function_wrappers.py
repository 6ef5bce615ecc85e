"""`tensorflow.python.autograph.core.function_wrappers`: what surrounds the body of a converted function."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Any

from tfcompat._src.autograph.control_deps import AutomaticControlDependencies
from tfcompat._src.autograph.options import ConversionOptions, Feature
from tfcompat._src.base.autograph_status import ControlStatusCtx, Status
from tfcompat._src.graph.scopes import name_scope


class FunctionScope:
    """The block of one call of a converted function.

    Args:
      function_name: names its name scope. scope_name: the variable of the function that holds this object.
      options: of the conversion; they say whether there is a name scope, and whether what acts in the block runs in order.

    Attributes:
      name: `scope_name`. options: as given. callopts: the options for the functions that the function calls.
    """

    def __init__(self, function_name: str | None, scope_name: str | None, options: ConversionOptions) -> None:
        self.name, self.options, self.callopts = scope_name, options, options.call_options()
        self.use_name_scope, self.use_auto_deps = options.uses(Feature.NAME_SCOPES), options.uses(Feature.AUTO_CONTROL_DEPS)
        self._function_name = function_name
        self._blocks = contextlib.ExitStack()

    def __enter__(self) -> FunctionScope:
        if self.options.user_requested:
            self._blocks.enter_context(ControlStatusCtx(Status.ENABLED, self.options))
        if self.use_name_scope:
            self._blocks.enter_context(name_scope(self._sanitize(self._function_name)))
        if self.use_auto_deps:
            self._dependencies = self._blocks.enter_context(AutomaticControlDependencies())
        return self

    def __exit__(self, *raised: Any) -> None:
        self._blocks.__exit__(*raised)

    @staticmethod
    def _sanitize(name: str | None) -> str | None:
        """The name of a function as a name scope may be called."""
        return f"fn{name}" if name and name.startswith("_") else name

    def mark_return_value(self, value: object) -> Any:
        """The result of the function, which waits for what acts in it where the options say so."""
        return self._dependencies.mark_as_return(value) if self.use_auto_deps else value


def with_function_scope(thunk: Callable[[FunctionScope], Any], scope_name: str, options: ConversionOptions) -> Any:
    """What a function of the scope gives, which is the body of a lambda."""
    with FunctionScope("lambda_", scope_name, options) as scope:
        return thunk(scope)
