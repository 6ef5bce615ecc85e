"""`tensorflow.python.ops.ragged.ragged_dispatch`: the list of functions that accept ragged tensors, in Markdown for documentation."""

from __future__ import annotations

from tfcompat._src.base import dispatch
from tfcompat._src.shim.internal.tf_export import get_canonical_name_for_symbol, get_v1_names, get_v2_names
from tfcompat._src.shim.internal.tf_inspect import getfullargspec
from tfcompat._src.shim.resolve import public


def _signature(name: str, count: int) -> str:
    """Returns the signature of the function `tf.name` as a list item, with its first `count` arguments, which may be ragged, in bold."""
    function = public(name)
    spec = getfullargspec(function)
    arguments = [f"**{each}**" if i < count else each for i, each in enumerate(spec.args)]
    defaults = spec.defaults or ()
    for i, value in enumerate(defaults, len(arguments) - len(defaults)):
        arguments[i] += f"=`{value!r}`"
    arguments += ["*" + spec.varargs] if spec.varargs else []
    arguments += ["**" + spec.varkw] if spec.varkw else []
    return f"* `tf.{get_canonical_name_for_symbol(function)}`({', '.join(arguments)})"


def ragged_op_list(tf_version: int = 1) -> str:
    """Returns a list, in Markdown, of the functions of TensorFlow 1 or 2 that accept ragged tensors.

    Raises:
      ValueError: `tf_version` is neither 1 nor 2.
    """
    # By function: how many of its first arguments may be ragged. The text ends with "n", as 1.15's does.
    if tf_version not in (1, 2):
        raise ValueError("Expected version 1 or 2.")
    names_of = get_v1_names if tf_version == 1 else get_v2_names
    counts = {**dict.fromkeys(dispatch.UNARY | dispatch.UNARY_LIST | dispatch.STRUCTURAL, 1), **dict.fromkeys(dispatch.BINARY, 2)}
    counts.update(dict.fromkeys(("batch_gather", "dynamic_partition", "gather", "gather_nd"), 2), where=3)
    counts.update((name, 2) for name in counts if name.startswith("math.unsorted_segment_"))
    lines = sorted(_signature(name, count) for name, count in counts.items() if names_of(public(name)))
    title = "### Additional ops that support `RaggedTensor`\n\nArguments that accept `RaggedTensor`s are marked in **bold**."
    return f"\n\n{title}\n\n" + "\n".join(lines) + "n"
