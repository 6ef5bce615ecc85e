"""The forward-backward algorithm of connectionist temporal classification, compiled for the device."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from tfcompat._src.base import jax_compat

if TYPE_CHECKING:
    from tfcompat._src.base.arrays import Array

_NEVER = -np.inf


def loss_and_gradient(
    logits: np.ndarray, labels: list[list[int]], lengths: np.ndarray, merge_repeated: bool
) -> tuple[np.ndarray, np.ndarray]:
    """Minus the log probability of each label sequence, and its gradient with respect to the logits.

    Labels are padded to a power of two, so that batches with other labels need no new program.

    Args:
      logits: floating [time, batch, classes]; the last class is the blank.
      labels: for each sequence its labels.
      lengths: int32 [batch], the number of frames of each sequence; loss and gradient are zero where it is 0.
      merge_repeated: whether a label that is seen in successive frames counts once.
    """
    blank = logits.shape[2] - 1
    longest = max(len(sequence) for sequence in labels)
    padded = np.full((len(labels), 1 << max(longest - 1, 0).bit_length()), blank, np.int32)
    for row, sequence in zip(padded, labels):
        row[: len(sequence)] = sequence
    counts = np.array([len(sequence) for sequence in labels], np.int32)
    with jax_compat.x64():
        loss, gradient = _compiled(merge_repeated)(logits, padded, counts, lengths)
        return np.asarray(loss), np.asarray(gradient)


@functools.cache
def _compiled(merge_repeated: bool) -> Any:
    return jax_compat.jit(functools.partial(_loss_and_gradient, merge_repeated), donate=())


def _loss_and_gradient(merge_repeated: bool, logits: Any, labels: Any, counts: Any, lengths: Any) -> tuple:
    blank = logits.shape[2] - 1
    batch, most = labels.shape
    states = jnp.full((batch, 2 * most + 1), np.int32(blank)).at[:, 1::2].set(labels)
    exists = jnp.arange(2 * most + 1, dtype=np.int32) <= 2 * counts[:, None]
    is_blank = jnp.arange(2 * most + 1, dtype=np.int32) % 2 == 0
    stays = jnp.zeros(states.shape, bool) | is_blank | merge_repeated
    differs = jnp.ones(states.shape, bool)
    if merge_repeated:
        differs = differs.at[:, 2:].set(states[:, 2:] != states[:, :-2])
    skips = differs & ~is_blank & (jnp.arange(2 * most + 1, dtype=np.int32) > 1)

    probabilities = jax.nn.softmax(logits, axis=2)
    observed = jnp.log(jnp.take_along_axis(probabilities, states[None], axis=2))
    observed = jnp.where(exists, observed, _NEVER)
    running = jnp.arange(logits.shape[0], dtype=np.int32)[:, None] < lengths
    forward = _forward(observed, stays, skips)
    backward = _backward(observed, stays, skips, exists, counts, lengths)

    joint = forward + backward
    likelihood = _log_sum(joint[0])
    posterior = jnp.exp(joint - jnp.where(likelihood == _NEVER, 0, likelihood)[None, :, None])
    by_label = jnp.einsum("tbu,buc->tbc", posterior[:, :, 1::2], jax.nn.one_hot(labels, blank + 1, dtype=logits.dtype))
    expected = by_label.at[:, :, blank].add(posterior[:, :, 0::2].sum(2))
    gradient = jnp.where(running[:, :, None], probabilities - expected, 0)
    return jnp.where(lengths > 0, -likelihood, 0), gradient.astype(logits.dtype)


def _log_sum(x: Any) -> Any:
    """log(sum(exp(x))) along the last axis."""
    top = jnp.max(x, axis=-1)
    base = jnp.where(top == _NEVER, 0, top)
    return jnp.log(jnp.exp(x - base[..., None]).sum(-1)) + base


def _shifted(x: Any, by: int) -> Array:
    """`x` moved along its states; positive `by` brings state s to s + by."""
    pad = jnp.full((x.shape[0], abs(by)), _NEVER, x.dtype)
    return jnp.concatenate([pad, x[:, :-by]] if by > 0 else [x[:, -by:], pad], axis=1)


def _forward(observed: Any, stays: Any, skips: Any) -> Array:
    """log p(frames up to t, state at t), [time, batch, states]."""
    start = jnp.where(jnp.arange(observed.shape[2]) < 2, observed[0], _NEVER)

    def step(before: Any, seen: object) -> tuple:
        ways = [
            jnp.where(stays, before, _NEVER), _shifted(before, 1), jnp.where(skips, _shifted(before, 2), _NEVER)
        ]  # fmt: skip
        now = seen + _log_sum(jnp.stack(ways, axis=-1))
        return now, now

    return jnp.concatenate([start[None], lax.scan(step, start, observed[1:])[1]])


def _backward(observed: Any, stays: Any, skips: Any, exists: Any, counts: Any, lengths: object) -> Array:
    """log p(frames after t | state at t), [time, batch, states]."""
    time, _, size = observed.shape
    is_end = exists & (jnp.arange(size, dtype=np.int32) >= 2 * counts[:, None] - 1)
    end = jnp.where(is_end, 0, _NEVER).astype(observed.dtype)

    def step(after: object, inputs: tuple) -> tuple:
        seen, t = inputs
        ahead = after + seen
        ways = [
            jnp.where(stays, ahead, _NEVER), _shifted(ahead, -1), _shifted(jnp.where(skips, ahead, _NEVER), -2)
        ]  # fmt: skip
        now = jnp.where((t + 1 < lengths)[:, None], _log_sum(jnp.stack(ways, axis=-1)), end)
        return now, now

    before_last = jnp.arange(time - 1, dtype=np.int32)
    return jnp.concatenate([lax.scan(step, end, (observed[1:], before_last), reverse=True)[1], end[None]])
