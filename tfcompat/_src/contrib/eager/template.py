"""tf.contrib.eager.make_template: a template whose function may be compiled."""

from __future__ import annotations

import functools
from collections.abc import Callable

from tfcompat._src.base.export import export
from tfcompat._src.function.def_function import defun
from tfcompat._src.graph.scopes import executing_eagerly
from tfcompat._src.variables.template import Template


@export("contrib.eager.make_template")
def make_template(
    name_: str, func_: Callable, create_scope_now_: bool = False, unique_name_: str | None = None,
    custom_getter_: Callable | None = None, create_graph_function_: bool = False, **kwargs: object,
) -> Template:  # fmt: skip
    """Returns a template, as tf.make_template does.

    Args:
      create_graph_function_: whether `func_` is traced to a graph function, as by tf.contrib.eager.defun.
      The other arguments are those of tf.make_template.

    Raises:
      ValueError: `name_` is None, or `unique_name_` is given in eager mode.
    """
    if unique_name_ is not None and executing_eagerly():
        raise ValueError("unique_name_ cannot be used when eager exeuction is enabled.")
    if kwargs:
        func_ = functools.partial(func_, **kwargs)
    if create_graph_function_:
        func_ = defun(func_)
    return Template(name_, func_, create_scope_now_, unique_name_, custom_getter_)
