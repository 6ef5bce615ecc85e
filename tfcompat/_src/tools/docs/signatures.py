"""Writes the arguments of functions as documents show them."""

from __future__ import annotations

import ast
import functools
import inspect
import re
import textwrap
from collections.abc import Callable, Mapping

from tfcompat._src.platform import logging

_DOTTED = re.compile(r"[a-zA-Z_]\w*(\.[a-zA-Z_]\w*)+")
_PUBLIC_NAMES = {
    "ops.GraphKeys": "tf.GraphKeys",
    "_ops.GraphKeys": "tf.GraphKeys",
    "init_ops.zeros_initializer": "tf.zeros_initializer",
    "init_ops.ones_initializer": "tf.ones_initializer",
    "saver_pb2.SaverDef": "tf.train.SaverDef",
}


def _full_arg_spec(func: object) -> inspect.FullArgSpec:
    """The arguments of a function, or of the one that it decorates; a decorator of TensorFlow's may say others."""
    while True:
        stated = getattr(getattr(func, "_tf_decorator", None), "decorator_argspec", None)
        if stated is not None:
            return stated
        inner = getattr(func, "__wrapped__", None)
        if inner is None:
            return inspect.getfullargspec(func)
        func = inner


def get_arg_spec(func: object) -> inspect.FullArgSpec:
    """The arguments of a function, or of those of a `functools.partial` that are not given."""
    if not isinstance(func, functools.partial):
        return _full_arg_spec(func)
    spec = _full_arg_spec(func.func)
    without = len(spec.args) - len(spec.defaults or ())
    defaults = dict(zip(spec.args[without:], spec.defaults or ()))
    left = [name for name in spec.args[len(func.args) :] if name not in func.keywords]
    return inspect.FullArgSpec(
        args=left, varargs=spec.varargs, varkw=spec.varkw, defaults=tuple(defaults[name] for name in left if name in defaults),
        kwonlyargs=[], kwonlydefaults=None, annotations={},
    )  # fmt: skip


def generate_signature(func: Callable, reverse_index: Mapping[int, str]) -> list[str]:
    """The arguments of a function as Python text, without `self`; `reverse_index` names default values by their ids."""
    spec = get_arg_spec(func)
    defaults = spec.defaults or ()
    without = len(spec.args) - len(defaults)
    given = spec.args[1 if "self" in spec.args[:1] else 0 : without]
    if defaults:
        texts = [_default_text(value, node, reverse_index) for value, node in zip(defaults, _default_nodes(func, len(defaults)))]
        given += [f"{name}={text}" for name, text in zip(spec.args[without:], texts)]
    stars = [("*", spec.varargs), ("**", spec.varkw)]
    return given + [star + name for star, name in stars if name]


def _default_nodes(func: Callable, count: int) -> list[ast.expr | None]:
    """The syntax trees of default values; None for each where there is no source."""
    try:
        source = inspect.getsource(inspect.unwrap(func))
    except OSError:
        return [None] * count
    return list(ast.parse(textwrap.dedent(source)).body[0].args.defaults)  # type: ignore[attr-defined]


def _default_text(value: object, node: ast.expr | None, reverse_index: Mapping[int, str]) -> str:
    if id(value) in reverse_index:
        return reverse_index[id(value)]
    if node is None:
        return repr(value)
    text = ast.unparse(node).replace("\t", "\\t").replace("\n", "\\n").replace('"""', "'")
    name = _DOTTED.match(text) if text != repr(value) else None
    if name is None:
        return text
    for internal, public in _PUBLIC_NAMES.items():
        if name.group(0).startswith(internal):
            return public + text[len(internal) :]
    logging.warning("WARNING: Using default arg, failed lookup: %s, repr: %r", text, value)
    return text
