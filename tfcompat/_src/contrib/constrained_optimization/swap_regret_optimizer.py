"""A stochastic matrix as the state of the constraints' player; its stationary distribution weighs objective and constraints."""

from __future__ import annotations

import abc
import math
from typing import TYPE_CHECKING, Any

from tfcompat._src.base import dtypes
from tfcompat._src.base.export import export
from tfcompat._src.contrib.constrained_optimization.constrained_optimizer import RegretOptimizer
from tfcompat._src.contrib.constrained_optimization.projection import project
from tfcompat._src.graph.scopes import colocate_with
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.nodes.convert import constant
from tfcompat._src.ops.array.fill import ones, ones_like, zeros
from tfcompat._src.ops.array.join import concat
from tfcompat._src.ops.array.shape import expand_dims
from tfcompat._src.ops.control.while_loop import while_loop
from tfcompat._src.ops.linalg.norm import norm
from tfcompat._src.ops.math.binary import maximum
from tfcompat._src.ops.math.cast import cast
from tfcompat._src.ops.math.compare import logical_and
from tfcompat._src.ops.math.contraction import tensordot
from tfcompat._src.ops.math.matmul import matmul
from tfcompat._src.ops.math.reduce import reduce_max, reduce_sum
from tfcompat._src.ops.math.unary import absolute, exp, log
from tfcompat._src.train.optimizer import Optimizer
from tfcompat._src.variables import assign

if TYPE_CHECKING:
    from tfcompat._src.base.arrays import TensorLike


def _maximal_eigenvector_power_method(matrix: Any, epsilon: float = 1e-6, maximum_iterations: int = 100) -> Tensor:
    """The eigenvector of the largest eigenvalue, of length 1, by power iteration."""
    if not matrix.dtype.is_floating:
        raise ValueError("multipliers must have a floating-point dtype")
    if epsilon <= 0.0:
        raise ValueError("epsilon must be strictly positive")
    if maximum_iterations <= 0:
        raise ValueError("maximum_iterations must be strictly positive")

    def unfinished(i: Tensor, vector: Tensor, old_vector: Tensor) -> Tensor:
        enough = i < maximum_iterations
        return logical_and(enough, norm(vector - old_vector) > epsilon)

    def step(i: Tensor, vector: Tensor, old_vector: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        i += 1
        new = matmul(matrix, expand_dims(vector, 1))[:, 0]
        return i, new / norm(new), vector

    i = constant(0)
    vector = ones_like(matrix[:, 0])
    vector /= norm(vector)
    return while_loop(unfinished, step, loop_vars=step(i, vector, vector), name="power_method")[1]


def _project_stochastic_matrix_wrt_euclidean_norm(matrix: Any) -> Tensor:
    """The nearest matrix whose columns are distributions."""
    if not matrix.dtype.is_floating:
        raise ValueError("multipliers must have a floating-point dtype")
    shape = matrix.shape
    if shape.ndims is None:
        raise ValueError("matrix must have known shape")
    if shape.ndims != 2:
        raise ValueError(f"matrix must be two dimensional (instead is {shape.ndims}-dimensional)")
    rows, columns = shape.as_list()
    if rows != columns:
        raise ValueError(f"matrix must be square (instead has shape ({rows},{columns}))")
    if rows is None:
        raise ValueError("matrix must have fully-known shape")

    def scale(values: Tensor, mask: Tensor) -> Tensor:
        lacking = 1.0 - reduce_sum(values, axis=0, keepdims=True)
        return lacking / maximum(1.0, reduce_sum(mask, axis=0, keepdims=True))

    return project(matrix, rows, scale)


def _project_log_stochastic_matrix_wrt_kl_divergence(log_matrix: object) -> Tensor:
    """The logarithm of the matrix with each column divided by its sum."""
    log_matrix = log_matrix - reduce_max(log_matrix, axis=0, keepdims=True)
    return log_matrix - log(reduce_sum(exp(log_matrix), axis=0, keepdims=True))


class _SwapRegretOptimizer(RegretOptimizer):
    _state_name = "swap_regret_optimizer_state"

    @abc.abstractmethod
    def _stochastic_matrix(self, state: Any) -> Any:
        """The matrix that a state stands for."""

    def _distribution(self, state: object) -> Tensor:
        """The stationary distribution of the matrix."""
        distribution = absolute(_maximal_eigenvector_power_method(self._stochastic_matrix(state)))
        return distribution / reduce_sum(distribution)

    def _loss_and_gradient(
        self, objective: Tensor, constraints: Tensor, proxies: Tensor, state: object
    ) -> tuple[Tensor, Tensor]:
        zero_and_constraints = concat((zeros((1,), dtype=constraints.dtype), constraints), axis=0)
        losses = concat((expand_dims(objective, 0), proxies), axis=0)
        distribution = self._distribution(state)
        loss = tensordot(cast(distribution, losses.dtype), losses, 1)
        column = expand_dims(cast(zero_and_constraints, distribution.dtype), 1)
        return loss, matmul(column, expand_dims(distribution, 0))


@export("contrib.constrained_optimization.AdditiveSwapRegretOptimizer")
class AdditiveSwapRegretOptimizer(_SwapRegretOptimizer):
    """The matrix is updated by its gradient and projected in the Euclidean norm.

    Args:
      optimizer: of the model's variables.
      constraint_optimizer: of the matrix; by default `optimizer`.
    """

    def __init__(self, optimizer: Optimizer, constraint_optimizer: Optimizer | None = None) -> None:
        super().__init__(optimizer=optimizer, constraint_optimizer=constraint_optimizer)

    def _initial_state(self, num_constraints: int) -> Tensor:
        size = num_constraints + 1
        return concat((ones((1, size)), zeros((size - 1, size))), axis=0)

    def _stochastic_matrix(self, state: object) -> Any:
        return state

    def _projection_op(self, state: TensorLike, name: str | None = None) -> Any:
        with colocate_with(state):
            return assign.assign(state, _project_stochastic_matrix_wrt_euclidean_norm(state), name=name)


@export("contrib.constrained_optimization.MultiplicativeSwapRegretOptimizer")
class MultiplicativeSwapRegretOptimizer(_SwapRegretOptimizer):
    """The logarithm of the matrix is updated by its gradient, and its columns are normalized.

    Args:
      optimizer: of the model's variables.
      constraint_optimizer: of the logarithms; by default `optimizer`.
      minimum_multiplier_radius: the least element of the matrix, times its size; between 0 and 1.
      initial_multiplier_radius: likewise of the first matrix, without its first row; by default the minimum.

    Raises:
      ValueError: a radius is out of its range.
    """

    def __init__(
        self, optimizer: Optimizer, constraint_optimizer: Optimizer | None = None,
        minimum_multiplier_radius: float = 1e-3, initial_multiplier_radius: float | None = None,
    ) -> None:  # fmt: skip
        super().__init__(optimizer=optimizer, constraint_optimizer=constraint_optimizer)
        if minimum_multiplier_radius <= 0.0 or minimum_multiplier_radius >= 1.0:
            raise ValueError("minimum_multiplier_radius must be in the range (0,1)")
        if initial_multiplier_radius is None:
            initial_multiplier_radius = minimum_multiplier_radius
        elif initial_multiplier_radius < minimum_multiplier_radius:
            raise ValueError("initial_multiplier_radius must be in the range [minimum_multiplier_radius,1]")
        self._minimum_multiplier_radius = minimum_multiplier_radius
        self._initial_multiplier_radius = initial_multiplier_radius

    def _initial_state(self, num_constraints: int) -> Tensor:
        size, radius = num_constraints + 1, self._initial_multiplier_radius
        first, other = math.log(1.0 - radius * (size - 1) / size), math.log(radius / size)
        rows = (
            constant(first, dtype=dtypes.float32, shape=(1, size)),
            constant(other, dtype=dtypes.float32, shape=(size - 1, size)),
        )
        return concat(rows, axis=0)

    def _stochastic_matrix(self, state: object) -> Tensor:
        return exp(state)

    def _projection_op(self, state: Any, name: str | None = None) -> Any:
        with colocate_with(state):
            size = state.shape.as_list()[0]
            least = log(self._minimum_multiplier_radius / cast(size, dtypes.float32, name="ToFloat"))
            projected = _project_log_stochastic_matrix_wrt_kl_divergence(state)
            return assign.assign(state, maximum(projected, least), name=name)
