"""tf.contrib.layers: summaries of tensors and collections."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Iterable
from typing import Any

from tfcompat._src.base import dtypes
from tfcompat._src.base.export import export
from tfcompat._src.base.graph_collections import GraphKeys
from tfcompat._src.graph.scopes import get_collection
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.ops.math.cast import cast, to_float
from tfcompat._src.ops.math.compare import greater, less
from tfcompat._src.ops.math.reduce import reduce_mean
from tfcompat._src.summary import summary


@export("contrib.layers.summarize_activation", "contrib.slim.summarize_activation")
def summarize_activation(op: Tensor) -> Tensor:
    """A histogram of an activation, and for ReLUs and softplus scalars: how much is off, and beyond 6 for Relu6.

    Args:
      op: the activation's output.

    Returns:
      the histogram summary.
    """
    kind, name, inputs = op.op.type, op.op.name, op.op.inputs
    if kind in ("Relu", "Softplus", "Relu6"):
        off = less(inputs[0], cast(0.0, inputs[0].dtype))
        summary.scalar(f"{name}/zeros", reduce_mean(to_float(off)))
    if kind == "Relu6":
        full = greater(inputs[0], cast(6.0, inputs[0].dtype))
        summary.scalar(f"{name}/sixes", reduce_mean(to_float(full)))
    return summary.histogram(f"{name}/activation", op)


@export("contrib.layers.summarize_tensor", "contrib.slim.summarize_tensor")
def summarize_tensor(tensor: Any, tag: str | None = None) -> Tensor | None:
    """A scalar or histogram summary, named "NAME_summary" by default; None for strings and bools."""
    if tensor.dtype.is_compatible_with(dtypes.string) or tensor.dtype.base_dtype == dtypes.bool:
        return None
    make = summary.scalar if tensor.get_shape().ndims == 0 else summary.histogram
    return make(tag or f"{tensor.op.name}_summary", tensor)


@export("contrib.layers.summarize_tensors", "contrib.slim.summarize_tensors")
def summarize_tensors(tensors: Iterable[Any], summarizer: Callable = summarize_tensor) -> list:
    """The summaries of tensors, by a function."""
    return [summarizer(tensor) for tensor in tensors]


@export("contrib.layers.summarize_collection", "contrib.slim.summarize_collection")
def summarize_collection(
    collection: str, name_filter: str | None = None, summarizer: Callable = summarize_tensor
) -> list:
    """The summaries of the tensors in a collection whose names match a pattern from the start."""
    found = get_collection(collection)
    return summarize_tensors(
        [each for each in found if name_filter is None or re.match(name_filter, each.op.name)], summarizer
    )


summarize_variables = export("contrib.slim.summarize_variables")(
    functools.partial(summarize_collection, GraphKeys.GLOBAL_VARIABLES)
)
summarize_weights = export("contrib.slim.summarize_weights")(
    functools.partial(summarize_collection, GraphKeys.WEIGHTS)
)
summarize_biases = export("contrib.slim.summarize_biases")(functools.partial(summarize_collection, GraphKeys.BIASES))


@export("contrib.layers.summarize_activations", "contrib.slim.summarize_activations")
def summarize_activations(name_filter: str | None = None, summarizer: Callable = summarize_activation) -> list:
    """The summaries of the collection of activations."""
    return summarize_collection(GraphKeys.ACTIVATIONS, name_filter, summarizer)
