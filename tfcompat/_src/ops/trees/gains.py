"""What splitting a node of a boosted tree gains: Newton steps from sums of gradients and hessians, with L1 and L2 penalties."""

from __future__ import annotations

from typing import Any

import numpy as np

from tfcompat._src.base.on_demand import linalg
from tfcompat._src.ops.queues.resource import invalid

LEAST_GAIN = 1e-15
"""Gains that differ by less are equal."""
_LEAST_HESSIAN = np.float32(1e-15)
LOWEST = np.finfo(np.float32).min


def scalar_of(value: Any, name: str) -> np.float32:
    """A scalar input as float32; InvalidArgumentError where it is none."""
    if np.ndim(value):
        raise invalid(f"{name} must be a scalar, got a tensor of shape {list(np.shape(value))}")
    return np.float32(value)


def weights_and_gains(gradients: np.ndarray, hessians: np.ndarray, l1: np.float32, l2: np.float32) -> tuple[np.ndarray, np.ndarray]:
    """The weight of a leaf that minimizes `g w + (h + l2) w**2 / 2 + l1 |w|`, and twice what that takes off the loss.

    Args:
      gradients, hessians: sums for each leaf, float32 of one shape.
      l1, l2: float32 penalties.

    Returns:
      Weights and gains, float32 of that shape; zeros where there is no curvature.
    """
    slope = gradients
    if l1 > 0:
        slope = np.where(gradients > l1, gradients - l1, np.where(gradients < -l1, gradients + l1, np.float32(0)))
    curvature = hessians + l2
    is_flat = curvature <= _LEAST_HESSIAN
    if l1 > 0:
        is_flat |= np.abs(gradients) <= l1
    weights = np.where(is_flat, np.float32(0), -slope / np.where(is_flat, np.float32(1), curvature))
    return weights, np.where(is_flat, np.float32(0), -slope * weights)


def _solved(matrix: np.ndarray, gradient: np.ndarray) -> np.ndarray:
    """A solution of a linear system that may be singular: unknowns that its pivots do not reach are zero."""
    q, r, order = linalg.qr(matrix, pivoting=True)
    pivots = np.abs(np.diag(r))
    rank = int(np.sum(pivots > pivots.max(initial=0) * np.finfo(np.float32).eps * len(matrix)))
    found = np.zeros_like(gradient)
    found[order[:rank]] = linalg.solve_triangular(r[:rank, :rank], (q.T @ gradient)[:rank])
    return found


def _matrix_weights(gradients: np.ndarray, hessians: np.ndarray, l2: np.float32) -> np.ndarray:
    size = gradients.shape[-1]
    if hessians.shape[-1] == size:
        diagonal = hessians + l2
        if np.all(diagonal != 0):
            return -gradients / diagonal
        matrices = np.einsum("...i,ij->...ij", diagonal, np.eye(size, dtype=np.float32))
    else:
        matrices = hessians.reshape(*hessians.shape[:-1], size, size) + l2 * np.eye(size, dtype=np.float32)
    found = np.empty_like(gradients)
    for place in np.ndindex(gradients.shape[:-1]):
        found[place] = -_solved(matrices[place], gradients[place])
    return found


def vector_weights_and_gains(
    gradients: np.ndarray, hessians: np.ndarray, l1: np.float32, l2: np.float32
) -> tuple[np.ndarray, np.ndarray]:
    """The same for leaves with several logits.

    Args:
      gradients: float32 [..., logits].
      hessians: float32 [..., logits], the diagonals, or [..., logits**2], whole matrices.
      l1, l2: see weights_and_gains; `l1` counts for one logit only.

    Returns:
      Weights [..., logits] and gains [...], float32.
    """
    if gradients.shape[-1] == 1:
        weights, gains = weights_and_gains(gradients[..., 0], hessians[..., 0], l1, l2)
        return weights[..., None], gains
    weights = _matrix_weights(gradients, hessians, l2)
    return weights, np.sum(-gradients * weights, axis=-1, dtype=np.float32)


def first_best(gains: np.ndarray) -> np.ndarray:
    """The column of each row where a gain stands that no later one exceeds by LEAST_GAIN; -1 where none is above LOWEST."""
    best, at = np.full(len(gains), LOWEST, np.float32), np.full(len(gains), -1)
    for column in range(gains.shape[1]):
        is_better = gains[:, column] - best >= np.float32(LEAST_GAIN)
        best[is_better], at[is_better] = gains[is_better, column], column
    return at
