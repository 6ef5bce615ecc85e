"""Changes of calls of tf.contrib.layers' initializers and regularizers, and of tf.uniform_unit_scaling_initializer, into calls of Keras'."""

from __future__ import annotations

import ast

from tfcompat._src.tools.compatibility import written_tree
from tfcompat._src.tools.compatibility.api_changes import Log, full_name_node
from tfcompat._src.tools.compatibility.call_changes import Changed, keyword_of, say, wrap

_CONVERTING = " to a tf.compat.v1.keras.initializers.VarianceScaling and converting arguments.\n"


def _call_instead(node: ast.Call, module: str, name: str) -> ast.Call:
    """Makes the call, which is of a module's attribute, one of another module's."""
    if isinstance(node.func, ast.Attribute):
        node.func.value = ast.copy_location(full_name_node(module), node.func.value)
        node.func.attr = name
    return node


def _variance_scaling(node: ast.Call) -> ast.Call:
    return _call_instead(node, "tf.compat.v1.keras.initializers", "VarianceScaling")


def _argument(name: str, text: str) -> ast.keyword:
    return ast.keyword(arg=name, value=written_tree.parse_expression(text))


def _distribution(value: ast.expr) -> ast.expr:
    """The name of the distribution that the truth of `value` chose."""
    text = written_tree.parse_expression
    new = ast.IfExp(test=value, body=text('"uniform"'), orelse=text('"truncated_normal"'))
    written_tree.set_dress(value, "", "")
    written_tree.set_dress(new, "(", ")")
    return new


def add_uniform_scaling_initializer(parent: ast.AST, node: ast.Call, full_name: str, name: str, logs: list[Log]) -> Changed:
    """tf.uniform_unit_scaling_initializer(factor) is VarianceScaling(scale=factor, distribution="uniform")."""
    factor = keyword_of(node, "factor")
    if factor is not None:
        factor.arg = "scale"
    node.keywords.append(_argument("distribution", '"uniform"'))
    return _variance_scaling(node)


def contrib_layers_xavier_initializer(parent: ast.AST, node: ast.Call, full_name: str, name: str, logs: list[Log]) -> Changed:
    """xavier_initializer(uniform, seed, dtype) is VarianceScaling with scale 1 and mode "fan_avg"."""
    uniform = keyword_of(node, "uniform")
    added = [_argument("scale", "1.0"), _argument("mode", '"fan_avg"')]
    if uniform is not None:
        uniform.arg = "distribution"
        uniform.value = _distribution(uniform.value)
    if node.args:
        added.append(ast.keyword(arg="distribution", value=_distribution(node.args[0])))
    elif uniform is None:
        added.append(_argument("distribution", '"uniform"'))
    added += [ast.keyword(arg=arg, value=value) for arg, value in zip(("seed", "dtype"), node.args[1:])]
    node.args, node.keywords = [], [*added, *node.keywords]
    say(logs, node, "Changing tf.contrib.layers xavier initializer" + _CONVERTING)
    return _variance_scaling(node)


def contrib_layers_variance_scaling_initializer(parent: ast.AST, node: ast.Call, full_name: str, name: str, logs: list[Log]) -> Changed:
    """variance_scaling_initializer(factor, mode, uniform, seed, dtype) is VarianceScaling(scale, mode in small letters, distribution)."""
    factor, mode, uniform = (keyword_of(node, arg) for arg in ("factor", "mode", "uniform"))
    if factor is not None:
        factor.arg = "scale"
    if mode is not None:
        _make_small(mode, mode.value)
    if uniform is not None:
        uniform.arg = "distribution"
        uniform.value = _distribution(uniform.value)
    if len(node.args) > 1:
        _make_small(node, node.args[1])
    if len(node.args) > 2:
        node.args[2] = ast.copy_location(_distribution(node.args[2]), node.args[2])
    if factor is None and not node.args:
        node.keywords.insert(0, _argument("scale", "2.0"))
    say(logs, node, "Changing tf.contrib.layers.variance_scaling_initializer" + _CONVERTING)
    return _variance_scaling(node)


def _make_small(parent: ast.AST, value: ast.expr) -> None:
    written_tree.set_dress(value, "", "")
    wrap(parent, value, ast.Call(func=ast.Attribute(value=value, attr="lower", ctx=ast.Load()), args=[], keywords=[]))


def contrib_layers_l1_regularizer(parent: ast.AST, node: ast.Call, full_name: str, name: str, logs: list[Log]) -> Changed:
    """l1_regularizer(scale, scope) is tf.keras.regularizers.l1(l)."""
    scale = keyword_of(node, "scale")
    if scale is not None:
        say(logs, node, "Renaming scale arg of regularizer\n")
        scale.arg = "l"
    _drop_scope(node, "l1", logs)
    return _call_instead(node, "tf.keras.regularizers", "l1")


def contrib_layers_l2_regularizer(parent: ast.AST, node: ast.Call, full_name: str, name: str, logs: list[Log]) -> Changed:
    """l2_regularizer(scale, scope) is tf.keras.regularizers.l2(half of scale)."""
    scale = keyword_of(node, "scale")
    if scale is not None:
        scale.arg = "l"
        wrap(scale, scale.value, _half(scale.value))
    if node.args:
        wrap(node, node.args[0], _half(node.args[0]))
    _drop_scope(node, "l2", logs)
    say(logs, node, "Multiplying scale arg of tf.contrib.layers.l2_regularizer by half to what tf.keras.regularizers.l2 expects.\n")
    return _call_instead(node, "tf.keras.regularizers", "l2")


def _half(value: ast.expr) -> ast.BinOp:
    return ast.BinOp(left=ast.Constant(value=0.5), op=ast.Mult(), right=value)


def _drop_scope(node: ast.Call, name: str, logs: list[Log]) -> None:
    scope = keyword_of(node, "scope")
    message = f"Dropping scope arg from tf.contrib.layers.{name}_regularizer, because it is unsupported in tf.keras.regularizers.{name}\n"
    if scope is not None:
        say(logs, node, message)
        node.keywords.remove(scope)
    if len(node.args) > 1:
        say(logs, node, message)
        del node.args[1:]
