"""`tensorflow.python.autograph.converters.directives`: the arguments of a directive's call, and the pass, which raises here."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any

from tfcompat._src.autograph.directives import UNSPECIFIED
from tfcompat._src.shim.internal.autograph_converters import transform  # noqa: F401  (as every module of a pass has it)
from tfcompat._src.shim.internal.tf_inspect import getcallargs


def _map_args(call_node: Any, function: Callable[..., Any]) -> dict[str, Any]:
    """Maps the argument names of a directive to the syntax nodes that a call passes.

    Args:
      call_node: the syntax node of the call. function: the directive that it calls.

    Returns:
      Name -> node, without the arguments that the call leaves out.

    Raises:
      ValueError: the call leaves out an argument whose default is not UNSPECIFIED.
    """
    named = {keyword.arg: keyword.value for keyword in call_node.keywords}
    bound = getcallargs(function, *call_node.args, **named)
    given = {name: value for name, value in bound.items() if value is not UNSPECIFIED}
    # Values that are not nodes are defaults of the directive.
    defaults = {name: value for name, value in given.items() if not isinstance(value, ast.AST)}
    if defaults:
        raise ValueError(
            f"Unexpected keyword argument values, {defaults}, for function {function}: a directive's defaults must be UNSPECIFIED."
        )
    return given
