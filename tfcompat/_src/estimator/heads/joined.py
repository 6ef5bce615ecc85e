"""What heads of several heads have in common: logits for each, and what an exported model gives."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from tfcompat._src.estimator.heads.keys import DEFAULT_SERVING_KEY, PREDICT_SERVING_KEY
from tfcompat._src.graph.operation import Operation
from tfcompat._src.graph.scopes import name_scope
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.nodes.convert import convert_to_tensor
from tfcompat._src.ops.array.fill import ones_like, zeros_like
from tfcompat._src.ops.array.join import concat
from tfcompat._src.ops.array.shape import shape
from tfcompat._src.ops.array.slice import slice_
from tfcompat._src.ops.control.groups import no_op
from tfcompat._src.saved_model.model_utils.export_output import PredictOutput


def check_heads(heads: Any, head_weights: Any) -> None:
    """ValueError where there is no head, one has no name, or the weights are not one for each head."""
    if head_weights and len(head_weights) != len(heads):
        raise ValueError(
            f"heads and head_weights must have the same size. Given len(heads): {len(heads)}. "
            f"Given len(head_weights): {len(head_weights)}."
        )
    if not heads:
        raise ValueError(f"Must specify heads. Given: {heads}")
    for head in heads:
        if not head.name:
            raise ValueError(f"All given heads must have name specified. Given: {head}")


def no_training(loss: Tensor) -> Operation:
    """The training operation of one head: the heads are trained together."""
    return no_op()


def split_logits(logits: Any, heads: Iterable[Any]) -> dict[str, Tensor]:
    """The logits of each head by its name, from logits [..., sum of the heads' dimensions]."""
    with name_scope(None, "split_logits", values=[logits]):
        logits = convert_to_tensor(logits)
        sizes = [head.logits_dimension for head in heads]
        known = logits.shape.as_list()
        if known[-1] is not None and known[-1] != sum(sizes):
            raise ValueError(
                f"Could not split logits of shape {known!r} among the heads with individual logits dimensions: {sizes!r}. "
                f"The last dimension of the logits tensor should equal {known[-1]} but is {sum(sizes)}."
            )
        batch_shape = shape(logits)[:-1]
        start, everything, parts, begin = zeros_like(batch_shape), -1 * ones_like(batch_shape), {}, 0
        for head, size in zip(heads, sizes, strict=True):
            first = concat([start, [begin]], axis=0)
            parts[head.name] = slice_(logits, begin=first, size=concat([everything, [size]], axis=0))
            begin += size
        return parts


def merged_export_outputs(heads: Iterable[Any], specs: list[Any]) -> dict[str, Any]:
    """What the exported model gives, by signature: each head's outputs under its name, the first head's by default."""
    heads = list(heads)
    merged: dict[str, Any] = {DEFAULT_SERVING_KEY: _default_output(specs[0].export_outputs, heads[0].name)}
    predictions = {}
    for head, spec in zip(heads, specs, strict=True):
        for key, output in spec.export_outputs.items():
            merged[head.name if key == DEFAULT_SERVING_KEY else f"{head.name}/{key}"] = output
            if key == PREDICT_SERVING_KEY and isinstance(output, PredictOutput):
                predictions.update({f"{head.name}/{name}": tensor for name, tensor in output.outputs.items()})
    return {**merged, PREDICT_SERVING_KEY: PredictOutput(predictions)}


def _default_output(export_outputs: dict[str, Any], head_name: str) -> Any:
    if len(export_outputs) == 1:
        return next(iter(export_outputs.values()))
    if DEFAULT_SERVING_KEY not in export_outputs:
        raise ValueError(
            f"{head_name} did not specify default export_outputs. Given: {export_outputs} Suggested fix: Use one of the heads "
            f"in tf.estimator, or include key {DEFAULT_SERVING_KEY} in export_outputs."
        )
    return export_outputs[DEFAULT_SERVING_KEY]
