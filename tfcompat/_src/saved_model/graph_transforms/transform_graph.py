"""What `tensorflow.tools.graph_transforms` holds: transforms of a GraphDef, one after the other."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from tfcompat._src.base import errors
from tfcompat._src.platform import logging
from tfcompat._src.proto import messages
from tfcompat._src.saved_model.graph_transforms import node_transforms, value_transforms  # noqa: F401  (the transforms)
from tfcompat._src.saved_model.graph_transforms.context import TRANSFORMS, Context, invalid, node_of

NOT_BUILT = frozenset((
    "backport_concatv2", "backport_tensor_array_v3", "flatten_atrous_conv", "freeze_requantization_ranges", "fuse_convolutions",
    "fuse_pad_and_conv", "fuse_remote_graph", "fuse_resize_and_conv", "fuse_resize_pad_and_conv", "hoist_factor", "insert_logging",
    "place_remote_graph_arguments", "quantize_nodes", "quantize_placeholders", "remove_ema", "sparsify_gather",
))  # fmt: skip
"""The other transforms of 1.15."""
_NAME = re.compile(r"\s*(\w*)")
_PARAMETER = re.compile(r",?\s*(\w+)=(?:\"((?:[^\"\\]|\\.)*)\"|([\w./-]+))[\"']?'?")


def TransformGraph(input_graph_def: object, inputs: list[str], outputs: list[str], transforms: list[str]) -> Any:
    """A GraphDef after transforms.

    Args:
      input_graph_def: the GraphDef; it stays as it is.
      inputs: names of the nodes that are fed.
      outputs: names of the nodes that are wanted.
      transforms: names of transforms, each with its parameters behind it in brackets: `fold_constants(ignore_errors=true)`.

    Raises:
      InvalidArgumentError: 1.15 has no such transform, or it cannot be used so.
      NotImplementedError: the transform is one of 1.15 that is not built.
    """
    result = messages.GraphDef()
    result.CopyFrom(input_graph_def)
    for name, parameters in list(_parsed(" ".join(transforms))):
        result = _applied(result, Context(name, list(inputs), list(outputs), parameters))
    return result


def _parsed(text: str) -> Iterator[tuple[str, dict[str, list[str]]]]:
    """The transforms that a text names, with their parameters."""
    while text.strip():
        found = _NAME.match(text)
        if not found or not found[1]:
            raise invalid(f"A transform must begin with its name, but {text.strip()!r} does not.")
        text, parameters = text[found.end() :], {}
        if text.startswith("("):
            text = text[1:]
            while text and not text.startswith(")"):
                parameter = _PARAMETER.match(text)
                if not parameter:
                    raise invalid(f"The transform {found[1]} must have parameters as name=value, but has {text!r}.")
                parameters.setdefault(parameter[1], []).append(parameter[2] if parameter[3] is None else parameter[3])
                text = text[parameter.end() :].lstrip()
            if not text:
                return  # as 1.15 does with a bracket that is not closed
            text = text[1:]
        yield found[1], parameters


def _applied(graph_def: messages.GraphDef, context: Context) -> Any:
    """The GraphDef after one transform; as it was where that fails and its errors are to be ignored."""
    if context.transform in NOT_BUILT:
        raise NotImplementedError(f"The transform {context.transform!r} is not built; there are {', '.join(sorted(TRANSFORMS))}.")
    if context.transform not in TRANSFORMS:
        raise invalid(f"There is no transform {context.transform!r}; there are {', '.join(sorted(TRANSFORMS))}.")
    ignores_errors = context.truth("ignore_errors", False)
    try:
        result = TRANSFORMS[context.transform](graph_def, context)
    except errors.OpError as error:
        if not ignores_errors:
            raise
        logging.error("%s is left out: %s", context.transform, error)
        return graph_def
    if isinstance(result, list):
        result = messages.GraphDef(node=result, library=graph_def.library)
    _check_inputs(result)
    return result


def _check_inputs(graph_def: messages.GraphDef) -> None:
    names = {node.name for node in graph_def.node}
    lost = [(node.name, name) for node in graph_def.node for name in node.input if node_of(name) not in names]
    if lost:
        raise errors.InternalError(None, None, f"After the transform nodes take from nodes that are not there (node, input): {lost[:5]}")
