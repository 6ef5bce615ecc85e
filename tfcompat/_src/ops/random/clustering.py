"""Centers of clusters: nearest ones, and points to start from (k-means++ and k-MC2)."""

from __future__ import annotations

import math

import jax
import jax.numpy as jnp
import numpy as np

from tfcompat._src.base import checks, errors
from tfcompat._src.graph import shape_inference as si
from tfcompat._src.graph.op_spec import HOST, NotDifferentiable, op
from tfcompat._src.ops.random.words import Words

_CHOICE = NotDifferentiable("points are chosen", raises=True)


def _words(seed: np.ndarray) -> Words:
    """The generator of a seed, which may be 0."""
    return Words(np.array([seed], np.int64).view(np.uint32), np.zeros(4, np.uint32))


def _below(words: Words, limit: int) -> int:
    """A whole number in [0, limit) of 64 bits; the lowest ones are rejected so that all are equally likely."""
    rejected = 0 if limit & (limit - 1) == 0 else (2**64 - 1) % limit + 1
    while True:
        low = words.word()
        number = words.word() << 32 | low
        if number >= rejected:
            return number % limit


def _require(holds: bool, text: str) -> None:
    if not holds:
        raise errors.InvalidArgumentError(None, None, text)


@op(
    "NearestNeighbors",
    "(points: float32, centers: float32, k: int64) -> (nearest_center_indices: int64, nearest_center_distances: float32)",
    shape=si.unknown,
    gradient=_CHOICE,
    constants=("k",),
)
def _nearest_neighbors(points: jax.Array, centers: jax.Array, k: np.ndarray) -> tuple[jax.Array, jax.Array]:
    _require(points.ndim == 2, "Input points should be a matrix.")
    _require(centers.ndim == 2, "Input centers should be a matrix.")
    checks.scalar("k", k)
    _require(len(points) > 0, "Expected points.rows() > 0.")
    _require(
        points.shape[1] == centers.shape[1],
        f"Expected point_dimensions == center_dimensions: {points.shape[1]} vs {centers.shape[1]}.",
    )
    half = 0.5 * jnp.sum(centers * centers, axis=1) - jnp.matmul(points, centers.T, precision="highest")
    found, index = jax.lax.top_k(-half, min(int(k), len(centers)))
    distances = 2 * (0.5 * jnp.sum(points * points, axis=1, keepdims=True) - found)
    return index.astype(jnp.int64), distances


@op(
    "KmeansPlusPlusInitialization",
    "(points: float32, num_to_sample: int64, seed: int64, num_retries_per_sample: int64) -> (samples: float32)",
    shape=si.unknown,
    gradient=_CHOICE,
    side=HOST,
)
def _kmeans_plus_plus(points: np.ndarray, num_to_sample: np.ndarray, seed: np.ndarray, num_retries_per_sample: np.ndarray) -> np.ndarray:
    _require(points.ndim == 2, "Input points should be a matrix.")
    for label, number in (("num_to_sample", num_to_sample), ("seed", seed), ("num_retries_per_sample", num_retries_per_sample)):
        checks.scalar(label, number)
    wanted, retries, words = int(num_to_sample), int(num_retries_per_sample), _words(seed)
    _require(len(points) > 0, "Expected points.rows() > 0.")
    _require(wanted > 0, "Expected num_to_sample > 0.")
    _require(wanted <= len(points), f"Expected num_to_sample <= points.rows(). {wanted} vs {len(points)}.")
    if retries < 0:
        retries = 2 + int(math.log(wanted))
    half_norms = np.float32(0.5) * np.sum(points * points, axis=1, dtype=np.float32)
    nearest = np.full(len(points), np.inf, np.float32)
    chosen: list[int] = []
    for _ in range(wanted):
        cumulated = np.cumsum(nearest, dtype=np.float32)
        best = (np.inf, 0, nearest)
        for _ in range(1 + retries):
            index = _draw(words, cumulated, chosen)
            distances = np.minimum(nearest, half_norms - points @ points[index] + half_norms[index])
            potential = np.sum(distances, dtype=np.float32)
            if potential < best[0]:
                best = (potential, index, distances)
        _, index, nearest = best
        chosen.append(min(index, len(points) - 1))
    return points[chosen]


def _draw(words: Words, cumulated: np.ndarray, chosen: list[int]) -> int:
    """A point that is not chosen yet, more likely the farther it is from those that are."""
    if not chosen:
        return _below(words, len(cumulated))
    while True:
        index = int(np.searchsorted(cumulated, words.single() * cumulated[-1], side="right"))
        if index not in chosen:
            return index


@op(
    "KMC2ChainInitialization",
    "(distances: float32, seed: int64) -> (index: int64)",
    shape=si.scalar,
    gradient=_CHOICE,
    side=HOST,
)
def _kmc2_chain(distances: np.ndarray, seed: np.ndarray) -> np.ndarray:
    _require(distances.ndim == 1, "Input distances should be a vector.")
    _require(seed.ndim == 0, "Input seed should be a scalar.")
    _require(len(distances) > 0, "Expected distances_tensor.size() > 0.")
    words, index = _words(seed), 0
    for i in range(1, len(distances)):
        if distances[i] > words.single() * distances[index]:
            index = i
    return np.int64(index)
