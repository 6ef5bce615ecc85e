"""The sequences of a beam search, read backwards through the parents of each step."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import jax.numpy as jnp
import numpy as np
from jax import lax

from tfcompat._src.base import checks
from tfcompat._src.base.export import export
from tfcompat._src.graph import shape_inference as si
from tfcompat._src.graph.op_spec import NotDifferentiable, op
from tfcompat._src.graph.tensor import Tensor, shape_text
from tfcompat._src.nodes import raw
from tfcompat._src.ops.array.shape import invalid

if TYPE_CHECKING:
    from tfcompat._src.base.arrays import TensorLike
    from tfcompat._src.graph.shape_inference import InferenceContext


def _tree_shape(c: InferenceContext) -> list:
    steps, parents = si.with_rank(c.inputs[0], 3), si.with_rank(c.inputs[1], 3)
    lengths, _ = si.with_rank(c.inputs[2], 1), si.with_rank(c.inputs[3], 0)
    time, batch, width = si.merge(steps, parents)
    return [(time, si.merge_size(batch, lengths[0]), width)]


def _check_shapes(step_ids: Any, parent_ids: Any, lengths: Any, end_token: Any) -> None:
    steps, parents = shape_text(step_ids.shape), shape_text(parent_ids.shape)
    if step_ids.ndim != 3:
        raise invalid(f"step_ids must be a 3-tensor, saw shape: {steps}")
    if lengths.ndim != 1:
        raise invalid(f"max_sequence_lengths must be a vector, saw shape: {shape_text(lengths.shape)}")
    if end_token.ndim:
        raise invalid(f"end_token must be a scalar, saw shape: {shape_text(end_token.shape)}")
    if step_ids.shape != parent_ids.shape:
        raise invalid(f"step_ids.shape must match parent_ids.shape.  but shapes are: {steps} and {parents}")
    if step_ids.shape[1] != lengths.shape[0]:
        raise invalid(
            "batch size dimensions step_ids.shape[1] and max_sequence_lengths.shape[0] must match.  "
            f"but shapes are: {steps} and {shape_text(lengths.shape)}"
        )


@op(
    "GatherTree",
    "(step_ids: T, parent_ids: T, max_sequence_lengths: int32, end_token: T, *, T: {int32}) -> (beams: T)",
    shape=_tree_shape, gradient=NotDifferentiable("ids are discrete", raises=True),
)  # fmt: skip
def _gather_tree(step_ids, parent_ids, lengths, end_token):
    _check_shapes(step_ids, parent_ids, lengths, end_token)
    time, batch, width = step_ids.shape
    if 0 in step_ids.shape:
        return jnp.zeros(step_ids.shape, np.int32)
    last = jnp.minimum(lengths, time) - 1

    def back(parents: Any, level: tuple) -> tuple:
        steps, before, t = level
        own = lax.broadcasted_iota(np.int32, (batch, width), 1)
        taken = jnp.where((t < last)[:, None], parents, own)
        ids = jnp.take_along_axis(steps, taken, axis=1, mode="clip")
        following = jnp.where((t <= last)[:, None], jnp.take_along_axis(before, taken, axis=1, mode="clip"), own)
        return following, (jnp.where((t <= last)[:, None], ids, end_token), taken)

    start = jnp.zeros((batch, width), np.int32)
    _, (beams, taken) = lax.scan(back, start, (step_ids, parent_ids, jnp.arange(time, dtype=np.int32)), reverse=True)
    wrong = (taken < 0) | (taken >= width)
    place = checks.first(wrong.reshape(-1))
    level, b, beam = jnp.unravel_index(place, step_ids.shape)
    text = "Saw invalid parent id {} at (batch, time, beam) == ({}, {}, {})"
    checks.require(~wrong.any(), text, taken.reshape(-1)[place], b, level, beam)
    ended = lax.cumsum((beams == end_token).astype(np.int32), axis=0)
    return jnp.where(ended > 0, end_token, beams)


@export("contrib.seq2seq.gather_tree")
def gather_tree(step_ids: TensorLike, parent_ids: TensorLike, max_sequence_lengths: TensorLike, end_token: TensorLike, name: str | None = None) -> Tensor:
    """The full sequences of a beam search.

    Args:
      step_ids: int32 [time, batch, beams], the id that each beam chose in each step.
      parent_ids: int32 [time, batch, beams], the beam of the step before that it goes on from.
      max_sequence_lengths: int32 [batch].
      end_token: int32 scalar, which fills each sequence after its first occurrence.
      name: node name.

    Returns:
      int32 [time, batch, beams].

    Raises:
      InvalidArgumentError: a parent id is not one of a beam, or shapes do not fit.
    """
    return raw.GatherTree(step_ids, parent_ids, max_sequence_lengths, end_token, name=name)
