"""`tensorflow.python.autograph.pyct.parser`: syntax trees of functions and of text."""

from __future__ import annotations

import ast
import inspect
import textwrap
from collections.abc import Iterable
from typing import Any, NoReturn

from tfcompat._src.autograph.pyct import inspect_utils

STANDARD_PREAMBLE = "from __future__ import division\nfrom __future__ import print_function\n"
STANDARD_PREAMBLE_LEN = 2


def parse_entity(entity: object, future_features: Iterable[str]) -> tuple[Any, str]:
    """The syntax tree of a function, method or class, and the source that it was made of.

    Args:
      entity: the object.
      future_features: names of features that are imported from `__future__` before the source.

    Raises:
      ValueError: its source is not there, or is no statement of its own.
    """
    try:
        original = inspect_utils.getimmediatesource(entity)
    except OSError as error:
        raise ValueError(
            f"Unable to locate the source code of {entity}. Note that functions defined in certain environments, like the interactive "
            "Python shell do not expose their source code. If that is the case, you should to define them in a .py source file. If you "
            f"are certain the code is graph-compatible, wrap the call using @tf.autograph.do_not_convert. Original error: {error}"
        ) from error

    def fail(comment: str) -> NoReturn:
        raise ValueError(f"Failed to parse source code of {entity}, which Python reported as:\n{original}\n{comment}")

    imports = [f"from __future__ import {name}" for name in future_features]
    source = "\n".join([*imports, textwrap.dedent(original)])
    try:
        return parse_str(source, len(imports)), source
    except IndentationError:
        fail("This may be caused by multiline strings or comments not indented at the same level as the code.")
    except SyntaxError:
        if not (inspect.isfunction(entity) and entity.__name__ == "<lambda>"):
            raise
    for shorter in _shortened(source):
        try:
            return parse_str(shorter, len(imports)), shorter
        except SyntaxError:
            continue
    fail("If this is a lambda function, the error may be avoided by creating the lambda in a standalone statement.")


def _shortened(source: str) -> Iterable[str]:
    """The lines around a lambda without more and more of what follows it."""
    end = source.rfind("lambda")
    for length in range(len(source) - 1, end, -1):
        if source[length] in ",)]}:;\n":
            yield source[:length]


def parse_str(src: str, preamble_len: int = 0, single_node: bool = True) -> Any:
    """The syntax tree of text.

    Args:
      src: the text.
      preamble_len: how many statements at its start are left out.
      single_node: whether it must be one statement, which is given; else all are, as a list.

    Raises:
      ValueError: it is not one statement.
    """
    nodes = ast.parse(src).body[preamble_len:]
    if not single_node:
        return nodes
    if len(nodes) != 1:
        raise ValueError(f"expected exactly one node node, found {nodes}")
    return nodes[0]


def parse_expression(src: str) -> Any:
    """The syntax tree of an expression; ValueError where the text is something else."""
    node = parse_str(STANDARD_PREAMBLE + src.strip(), STANDARD_PREAMBLE_LEN)
    if not isinstance(node, ast.Expr):
        raise ValueError(f"expected a single expression, found instead {node}")
    return node.value
