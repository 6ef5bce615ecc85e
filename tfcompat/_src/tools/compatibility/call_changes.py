"""Changes of calls that need more than a table: each takes (parent, call, full name, last name, messages to add to).

A change returns the call, changed, or the expression in its place; None where it leaves the call unchanged.
"""

from __future__ import annotations

import ast
from typing import Any

from tfcompat._src.tools.compatibility import written_tree
from tfcompat._src.tools.compatibility.api_changes import ERROR, INFO, WARNING, Log, full_name_node, get_arg_value

Changed = ast.Call | None
Logs = list[Log]
_GLOBAL_STEP = "tf.compat.v1.train.get_or_create_global_step()"
_SUM = "tf.keras.losses.Reduction.SUM"


def say(logs: Logs, node: ast.AST, message: str, level: str = INFO) -> None:
    logs.append((level, *written_tree.first_line_and_column(node), message))


def _is_string(node: ast.expr) -> bool:
    return isinstance(node, ast.JoinedStr) or (isinstance(node, ast.Constant) and isinstance(node.value, (str, bytes)))


def _is(value: bool) -> Any:
    return lambda node: isinstance(node, ast.Constant) and node.value is value


PREDICATES = {"str": _is_string, "true": _is(True), "false": _is(False)}
"""What says that an argument may stay, by its name in the recorded tables."""


def keyword_of(node: ast.Call, name: str) -> ast.keyword | None:
    return next((keyword for keyword in node.keywords if keyword.arg == name), None)


def _add_keyword(node: ast.Call, name: str, text: str) -> None:
    node.keywords.append(ast.keyword(arg=name, value=written_tree.parse_expression(text)))


def wrap(parent: ast.AST, value: ast.expr, new: ast.expr) -> None:
    """Puts `new`, which holds `value`, in the place of `value`, with parentheses around `value` alone."""
    written_tree.replace(parent, value, new)
    written_tree.set_dress(value, "(", ")")


def rename_if_arg_found(
    parent: ast.AST, node: ast.Call, full_name: str, name: str, logs: Logs, *,
    arg_name: str, message: str = "", arg_ok_predicate: str | None = None, remove_if_ok: bool = False,
) -> Changed:  # fmt: skip
    """Calls the function in tf.compat.v1 if an argument is given that the new one lacks, unless the value may stay or go."""
    present, value = get_arg_value(node, arg_name)
    if not present or value is None:
        return None
    if arg_ok_predicate is not None and PREDICATES[arg_ok_predicate](value):
        if not remove_if_ok:
            return None
        node.keywords = [keyword for keyword in node.keywords if keyword.arg != arg_name]
        say(logs, node, f"Removed argument {arg_name} for function {full_name or name}")
        return node
    new_name = full_name.replace("tf.", "tf.compat.v1.", 1)
    node.func = full_name_node(new_name)
    ast.copy_location(node.func, node)
    say(logs, node, f"Renaming {full_name} to {new_name} because argument {arg_name} is present. {message}")
    return node


def rename_if_any_arg_found(
    parent: ast.AST, node: ast.Call, full_name: str, name: str, logs: Logs, *, arg_names: list[str], **options: Any
) -> Changed:
    """As rename_if_arg_found, for each of several arguments."""
    for arg_name in arg_names:
        rename_if_arg_found(parent, node, full_name, name, logs, arg_name=arg_name, **options)
    return node


def rename_if_arg_found_and_add_loss_reduction(
    parent: ast.AST, node: ast.Call, full_name: str, name: str, logs: Logs, *, arg_names: list[str], **options: object
) -> Changed:
    """As rename_if_any_arg_found, after a loss_reduction is made explicit that the new function would have another default for."""
    if keyword_of(node, "loss_reduction") is None:
        _add_keyword(node, "loss_reduction", _SUM)
        say(
            logs, node,
            f"{full_name or name}: Default value of loss_reduction has been changed to SUM_OVER_BATCH_SIZE; inserting old default value {_SUM}.\n",
        )  # fmt: skip
    return rename_if_any_arg_found(parent, node, full_name, name, logs, arg_names=arg_names, **options)


def add_argument(
    parent: ast.AST, node: ast.Call, full_name: str, name: str, logs: Logs, *, arg_name: str, arg_value_ast: str
) -> Changed:
    """Adds a keyword with a string."""
    node.keywords.append(ast.keyword(arg=arg_name, value=ast.Constant(value=arg_value_ast)))
    say(logs, node, f"Adding argument '{written_tree.write(node.keywords[-1])}' to call to {full_name or name}.")
    return node


def iterator(parent: ast.AST, node: ast.Call, full_name: str | None, name: str, logs: Logs) -> Changed:
    """Makes a dataset's method a function of tf.compat.v1.data."""
    if not isinstance(node.func, ast.Attribute) or (full_name or "").startswith(("tf.compat.v1.data", "tf.data")):
        return None
    line, column = written_tree.first_line_and_column(node)
    node.args = [node.func.value, *node.args]
    node.func.value = full_name_node("tf.compat.v1.data")
    ast.copy_location(node.func.value, node)
    message = f"Changing dataset.{name}() to tf.compat.v1.data.{name}(dataset). Please check this transformation.\n"
    logs.append((WARNING, line, column, message))
    return node


def _one_minus(value: ast.expr) -> ast.BinOp:
    return ast.BinOp(left=ast.Constant(value=1), op=ast.Sub(), right=value)


def dropout(parent: ast.AST, node: ast.Call, full_name: str, name: str, logs: Logs) -> Changed:
    """Gives the rate of what is dropped instead of the probability to keep."""
    keep = keyword_of(node, "keep_prob")
    if keep is not None:
        say(logs, node, "Changing keep_prob arg of tf.nn.dropout to rate\n")
        keep.arg = "rate"
        wrap(keep, keep.value, _one_minus(keep.value))
    elif len(node.args) > 1:
        wrap(node, node.args[1], _one_minus(node.args[1]))
        say(logs, node, "Changing keep_prob arg of tf.nn.dropout to rate, and recomputing value.\n")
    else:
        message = "tf.nn.dropout called without arguments, so automatic fix was disabled. tf.nn.dropout has changed the semantics of the second argument."
        say(logs, node, message, ERROR)
        return None
    return node


def cast(parent: ast.AST, node: ast.Call, full_name: str, name: str, logs: Logs) -> Changed:
    """Makes tf.to_TYPE a tf.cast; the new argument is written behind those of the line that the call begins in."""
    dtype = {"float": "float32", "double": "float64"}.get(name[3:], name[3:])
    if len(node.args) == 2:
        node.keywords.append(ast.keyword(arg="name", value=node.args.pop()))
    _add_late(node, "dtype", f"tf.{dtype}")
    _rename_last(node, "cast")
    say(logs, node, f"Changed {full_name} call to tf.cast(..., dtype=tf.{dtype}).")
    return node


def _add_late(node: ast.Call, name: str, dotted: str) -> None:
    value = full_name_node(dotted)
    value.lineno, value.col_offset = node.lineno, node.col_offset + 100
    node.keywords.append(ast.keyword(arg=name, value=value))


def _rename_last(node: ast.Call, name: str) -> None:
    if isinstance(node.func, ast.Attribute):
        node.func.attr = name
    elif isinstance(node.func, ast.Name):
        node.func.id = name


def softmax_cross_entropy_with_logits(parent: ast.AST, node: ast.Call, full_name: str, name: str, logs: Logs) -> Changed:
    """Keeps gradients from the labels, where they are given by keyword."""
    labels = keyword_of(node, "labels")
    if labels is None:
        return node
    old = labels.value
    stopped = isinstance(old, ast.Call) and ast.dump(old.func) == ast.dump(full_name_node("tf.stop_gradient"))
    if not stopped:
        written_tree.replace(labels, old, ast.Call(func=ast.Name(id="tf.stop_gradient", ctx=ast.Load()), args=[old], keywords=[]))
        say(
            logs, node,
            "Changing labels arg of tf.nn.softmax_cross_entropy_with_logits to tf.stop_gradient(labels). Please check this transformation.\n",
        )  # fmt: skip
    return node


def image_resize(parent: ast.AST, node: ast.Call, full_name: str, name: str, logs: Logs) -> Changed:
    """Makes tf.image.resize_METHOD a tf.image.resize, which cannot align corners."""
    method = name.removeprefix("resize_").upper()
    if len(node.args) == 4:
        node.keywords.append(ast.keyword(arg="preserve_aspect_ratio", value=node.args.pop()))
    if len(node.args) == 3:
        node.args.pop()
    node.keywords = [keyword for keyword in node.keywords if keyword.arg != "align_corners"]
    _add_late(node, "method", f"tf.image.ResizeMethod.{method}")
    _rename_last(node, "resize")
    say(logs, node, f"Changed {full_name} call to tf.image.resize(..., method=tf.image.ResizeMethod.{method}).")
    return node


def pool_seed(parent: ast.AST, node: ast.Call, full_name: str, name: str, logs: Logs) -> Changed:
    """Drops the second seed and `deterministic`, which a seed that is not zero says now."""
    dropped = [keyword for keyword in node.keywords if keyword.arg in ("seed2", "deterministic")]
    if not dropped:
        return None
    for keyword in dropped:
        say(logs, node, f"Removed argument {keyword.arg} for function {full_name or name}")
    node.keywords = [keyword for keyword in node.keywords if keyword not in dropped]
    if any(keyword.arg == "deterministic" and not PREDICATES["false"](keyword.value) for keyword in dropped):
        if keyword_of(node, "seed") is None:
            node.keywords.append(ast.keyword(arg="seed", value=ast.Constant(value=42)))
            say(logs, node, f"Adding seed=42 to call to {full_name or name} since determinism was requested")
        else:
            message = (
                f"The deterministic argument is deprecated for {full_name or name}, pass a non-zero seed for determinism. The deterministic argument "
                "is present, possibly not False, and the seed is already set. The converter cannot determine whether it is nonzero, please check."
            )
            say(logs, node, message, WARNING)
    return node


def _named_noise(value: ast.expr) -> ast.IfExp:
    return ast.IfExp(test=value, body=ast.Constant(value="uniform"), orelse=ast.Constant(value="gaussian"))


def extract_glimpse(parent: ast.AST, node: ast.Call, full_name: str, name: str, logs: Logs) -> Changed:
    """Names the noise that `uniform_noise` chose."""
    noise = keyword_of(node, "uniform_noise")
    message = "Changing uniform_noise arg of tf.image.extract_glimpse to noise, and recomputing value."
    if noise is not None:
        noise.arg = "noise"
        wrap(noise, noise.value, _named_noise(noise.value))
        say(logs, node, message + " Please check this transformation.\n")
    elif len(node.args) > 5:
        wrap(node, node.args[5], _named_noise(node.args[5]))
        say(logs, node, message + "\n")
    else:
        return None
    return node


def add_summary_step(parent: ast.AST, node: ast.Call, full_name: str, name: str, logs: Logs) -> Changed:
    """Gives a summary the step that it had by itself."""
    if keyword_of(node, "step") is None:
        _add_keyword(node, "step", _GLOBAL_STEP)
        message = f"Summary API writing function {full_name or name} now requires a 'step' argument; inserting default of {_GLOBAL_STEP}."
        say(logs, node, message, WARNING)
    return node


def add_summary_recording_cond(parent: ast.AST, node: ast.Call, full_name: str, name: str, logs: Logs, *, cond: str) -> Changed:
    """Says whether summaries are recorded by the argument of record_if."""
    node.args.append(written_tree.parse_expression(cond))
    say(logs, node, f"Adding `{cond}` argument to {full_name or name} in anticipation of it being renamed to tf.compat.v2.summary.record_if()")
    return node


def name_scope(parent: ast.AST, node: ast.Call, full_name: str, name: str, logs: Logs) -> Changed:
    """Keeps the default name alone, or calls tf.compat.v1.name_scope where a name is given, which may enter a scope again."""
    present, given = get_arg_value(node, "name", 0)
    has_default, default = get_arg_value(node, "default_name", 1)
    if present and given is not None and written_tree.write(given) != "None":
        message = (
            "`name` passed to `name_scope`. Because you may be re-entering an existing scope, it is not safe to convert automatically,  "
            "the v2 name_scope does not support re-entering scopes by name.\n"
        )
        say(logs, node, message)
        say(logs, node.func, f"Renamed {full_name!r} to 'tf.compat.v1.name_scope'")
        written_tree.replace(node, node.func, full_name_node("tf.compat.v1.name_scope"))
        return node
    if has_default and default is not None:
        say(logs, node, "Using default_name as name in call to name_scope.\n")
        node.args, node.keywords = [], [ast.keyword(arg="name", value=default)]
        return node
    say(logs, node, "name_scope call with neither name nor default_name cannot be converted properly.", ERROR)
    return None


def string_split_rtype(parent: ast.AST, node: ast.Call, full_name: str, name: str, logs: Logs) -> Changed:
    """Makes the ragged result sparse, unless the call asked for a ragged one."""
    kind = keyword_of(node, "result_type")
    wanted = kind.value.value if kind is not None and isinstance(kind.value, ast.Constant) else None
    if kind is not None:
        if wanted not in ("RaggedTensor", "SparseTensor"):
            new_name = full_name.replace("tf.", "tf.compat.v1.", 1)
            say(logs, node, f"Renamed {full_name!r} to {new_name!r}: {full_name} no longer takes the result_type parameter.")
            written_tree.replace(node, node.func, full_name_node(new_name))
            return node
        say(logs, node, f"Removed argument result_type={wanted!r} for function {full_name or name}")
        node.keywords.remove(kind)
    for keyword in node.keywords:
        keyword.arg = "input" if keyword.arg == "source" else keyword.arg
    if wanted == "RaggedTensor":
        return node
    if isinstance(parent, ast.Attribute) and parent.attr == "to_sparse":
        return None
    say(logs, node, "Adding call to RaggedTensor.to_sparse() to result of strings.split, since it now returns a RaggedTensor.")
    return ast.Call(func=ast.Attribute(value=node, attr="to_sparse", ctx=ast.Load()), args=[], keywords=[])
