"""The best among candidate solutions of a constrained problem."""

from __future__ import annotations

import importlib

import numpy as np

from tfcompat._src.base.export import export


def _require_shapes(objective_vector: np.ndarray, constraints_matrix: np.ndarray) -> tuple[int, int]:
    constraints, candidates = np.shape(constraints_matrix)
    if np.shape(objective_vector) != (candidates,):
        raise ValueError(
            "objective_vector must have shape (n,), and constraints_matrix (m, n), where n is the number of candidates, "
            "and m is the number of constraints"
        )
    return constraints, candidates


def _best_within(
    objective_vector: np.ndarray, constraints_matrix: np.ndarray, maximum_violation: float = 0.0
) -> np.ndarray | None:
    """The best distribution with no constraint above `maximum_violation`, or None where there is none."""
    constraints, candidates = _require_shapes(objective_vector, constraints_matrix)
    result = importlib.import_module("scipy.optimize").linprog(
        objective_vector,
        A_ub=constraints_matrix,
        b_ub=np.full(constraints, maximum_violation),
        A_eq=np.ones((1, candidates)),
        b_eq=np.ones(1),
        bounds=(0, None),
    )
    return result.x if result.success else None


@export("contrib.constrained_optimization.find_best_candidate_distribution")
def find_best_candidate_distribution(
    objective_vector: np.ndarray, constraints_matrix: np.ndarray, epsilon: float = 0.0
) -> np.ndarray:
    """The distribution over candidates with the least mean objective among those that violate the constraints least.

    Args:
      objective_vector: [n], the objective of each candidate.
      constraints_matrix: [m, n], what is to be at most 0.
      epsilon: precision of the least violation, found by bisection.

    Returns:
      [n], probabilities.

    Raises:
      ValueError: `epsilon` is negative or shapes do not fit.
    """
    if epsilon < 0.0:
        raise ValueError("epsilon must be nonnegative")
    best = _best_within(objective_vector, constraints_matrix)
    if best is not None:
        return best
    lower, upper = 0.0, np.min(np.amax(constraints_matrix, axis=0))
    best = _best_within(objective_vector, constraints_matrix, upper)
    while True:
        middle = 0.5 * (lower + upper)
        if middle - lower <= epsilon or upper - middle <= epsilon:
            return best
        found = _best_within(objective_vector, constraints_matrix, middle)
        if found is None:
            lower = middle
        else:
            best, upper = found, middle


@export("contrib.constrained_optimization.find_best_candidate_index")
def find_best_candidate_index(
    objective_vector: np.ndarray, constraints_matrix: np.ndarray, rank_objectives: bool = False
) -> int:
    """The candidate whose worst rank among all constraints is best; of several the one with the least objective.

    Args:
      objective_vector: [n], the objective of each candidate.
      constraints_matrix: [m, n], what is to be at most 0.
      rank_objectives: whether the rank by the objective counts as well.

    Raises:
      ValueError: shapes do not fit.
    """
    _, candidates = _require_shapes(objective_vector, constraints_matrix)
    rank = importlib.import_module("scipy.stats").rankdata
    ranks = [np.zeros(candidates, dtype=np.int64)]
    if rank_objectives:
        ranks.append(rank(objective_vector, method="min"))
    ranks += [rank(np.maximum(0.0, row), method="min") for row in constraints_matrix]
    worst = np.max(ranks, axis=0)
    return min(range(candidates), key=lambda i: (worst[i], objective_vector[i], -i))
