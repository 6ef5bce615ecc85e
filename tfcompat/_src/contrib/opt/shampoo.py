"""Shampoo."""

from __future__ import annotations

from typing import Any

from tfcompat._src.base import dtypes
from tfcompat._src.base.export import export
from tfcompat._src.contrib.opt.matrix_functions import matrix_inverse_pth_root, matrix_square_root
from tfcompat._src.graph.scopes import colocate_with, name_scope
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.nodes.convert import convert_to_tensor
from tfcompat._src.nodes.indexed_slices import IndexedSlices
from tfcompat._src.ops.array.fill import zeros, zeros_like
from tfcompat._src.ops.array.gather import gather
from tfcompat._src.ops.array.reorder import transpose
from tfcompat._src.ops.array.scatter import scatter_nd
from tfcompat._src.ops.array.search import where
from tfcompat._src.ops.array.shape import expand_dims
from tfcompat._src.ops.array.shape import shape as shape_of
from tfcompat._src.ops.composed.eye import eye
from tfcompat._src.ops.control.cond import cond
from tfcompat._src.ops.linalg.decompose import svd
from tfcompat._src.ops.math.binary import floormod, maximum, power
from tfcompat._src.ops.math.cast import cast
from tfcompat._src.ops.math.compare import greater
from tfcompat._src.ops.math.contraction import tensordot
from tfcompat._src.ops.math.matmul import matmul
from tfcompat._src.ops.math.reduce import reduce_sum
from tfcompat._src.train.optimizer import Optimizer
from tfcompat._src.variables import assign


def _at(value: object, step: object) -> Any:
    """A hyperparameter, which may be a function of the step."""
    return value(step) if callable(value) else value


@export("contrib.opt.ShampooOptimizer")
class ShampooOptimizer(Optimizer):
    """Multiplies the gradient, along each of its dimensions, with a root of a matrix of its second moments (Gupta, Koren &
    Singer 2018).

    Args:
      global_step: the number of steps done, an integer scalar or variable.
      max_matrix_size: a dimension that is larger has a diagonal in place of a matrix.
      gbar_decay, gbar_weight: the average of the gradient becomes `decay * average + weight * gradient`; these, like
        the others without another remark, are numbers or functions of the step.
      mat_gbar_decay, mat_gbar_weight: likewise of the matrices.
      learning_rate: the rate.
      svd_interval, precond_update_interval: steps between new roots, and between updates of the matrices.
      epsilon: a number that is added to the diagonals.
      alpha: the sum of the exponents of all dimensions.
      use_iterative_root: takes roots by Newton's method in place of a singular value decomposition.
      use_locking: passed on to the update operations.
      name: name of the training operation and of the slots.
    """

    def __init__(
        self, global_step: Any = 0, max_matrix_size: int = 768, gbar_decay: Any = 0.0, gbar_weight: Any = 1.0,
        mat_gbar_decay: Any = 1.0, mat_gbar_weight: Any = 1.0, learning_rate: Any = 1.0, svd_interval: Any = 1,
        precond_update_interval: Any = 1, epsilon: float = 1e-4, alpha: Any = 0.5, use_iterative_root: bool = False,
        use_locking: bool = False, name: str = "Shampoo",
    ) -> None:  # fmt: skip
        super().__init__(use_locking, name)
        self._global_step = cast(global_step, dtypes.float32)
        self._max_matrix_size = max_matrix_size
        self._gbar_decay, self._gbar_weight = gbar_decay, gbar_weight
        self._mat_gbar_decay, self._mat_gbar_weight = mat_gbar_decay, mat_gbar_weight
        self._learning_rate, self._epsilon, self._alpha = learning_rate, epsilon, alpha
        self._svd_interval, self._precond_update_interval = svd_interval, precond_update_interval
        self._use_iterative_root = use_iterative_root

    def _create_slots(self, var_list: list[Any]) -> None:
        for v in var_list:
            with colocate_with(v):
                self._zeros_slot(v, "gbar", self._name)
                for i, size in enumerate(v.shape.as_list()):
                    self._create_matrix_slots(v, i, size)

    def _create_matrix_slots(self, var: object, dim: int, size: int) -> None:
        size_tensor = convert_to_tensor(size, name="shape_as_tensor")
        if size > self._max_matrix_size:
            start = zeros([size_tensor])
        else:
            start = zeros_like(eye(size_tensor))
            if self._svd_interval > 1:
                self._get_or_make_slot(var, eye(size_tensor), f"H_{dim}", self._name)
        self._get_or_make_slot(var, start, f"Gbar_{dim}", self._name)

    def _apply_dense(self, grad: Tensor, var: object) -> Any:
        return self._apply_gradient(grad, var)

    def _resource_apply_dense(self, grad: Tensor, handle: object) -> Any:
        return self._apply_dense(grad, handle)

    def _apply_sparse(self, grad: IndexedSlices, var: object) -> Any:
        return self._apply_rows(grad.values, grad.indices, var)

    def _resource_apply_sparse(self, grad: Tensor, handle: object, indices: Tensor) -> Any:
        return self._apply_rows(grad, indices, handle)

    def _apply_rows(self, rows: Tensor, indices: Tensor, var: Any) -> Any:
        if var.shape.as_list()[0] > self._max_matrix_size and self._gbar_decay == 0.0:
            return self._apply_gradient(rows, var, indices)
        positions = expand_dims(indices, axis=1)
        return self._apply_gradient(scatter_nd(positions, rows, shape_of(var, out_type=indices.dtype)), var)

    def _averaged(self, var: Any, decay: object, decay_now: Any, rest: Tensor) -> Tensor:
        """`decay * var + rest`, kept in `var` where the decay is not always 0."""
        if decay == 0.0:
            return rest
        if decay == 1.0:
            return assign.assign_add(var, rest)
        return var.assign_add((decay_now - 1) * var + rest)

    def _power(self, var: object, matrix: Tensor, size: int, exponent: Any, slot: str | None = None) -> Tensor:
        """A power of a matrix, kept in `slot` where that is given."""
        with name_scope("matrix_iterative_power"):
            if self._use_iterative_root:
                root = matrix_square_root(matrix, size, 100, self._epsilon)
                result = matrix_inverse_pth_root(root, size, 2 * exponent, 100, 1e-6, ridge_epsilon=0.0)
            elif size == 1:
                result = power(matrix + self._epsilon, exponent)
            else:
                damping = self._epsilon * eye(cast(size, dtypes.int32))
                diagonal, u, v = svd(matrix + damping, full_matrices=True)
                scaled = v * power(maximum(diagonal, self._epsilon), exponent)
                result = matmul(scaled, transpose(u))
            return result if slot is None else assign.assign(self.get_slot(var, slot), result)

    def _apply_gradient(self, grad: Tensor, var: Any, indices: Tensor | None = None) -> Any:
        step = self._global_step + 1
        decay, weight = _at(self._gbar_decay, step), _at(self._gbar_weight, step)
        if indices is None:
            result = self._averaged(self.get_slot(var, "gbar"), self._gbar_decay, decay, weight * grad)
        else:
            result = grad
        sizes = var.shape.as_list()
        settings = {
            "step": step,
            "decay": _at(self._mat_gbar_decay, step),
            "weight": _at(self._mat_gbar_weight, step),
            "exponent": -_at(self._alpha, step) / len(sizes),
            "root_interval": _at(self._svd_interval, step),
            "interval": _at(self._precond_update_interval, step),
        }
        for dim, size in enumerate(sizes):
            if size <= self._max_matrix_size:
                matrix = self._preconditioner(grad, var, dim, size, **settings)
                result = tensordot(result, matrix, axes=([0], [0]), name=f"precond_{dim}")
            else:
                scale = self._diagonal_preconditioner(grad, var, dim, size, indices, **settings)
                result = transpose(result, perm=[*range(1, len(sizes)), 0]) * scale
        rate = _at(self._learning_rate, step)
        if indices is None:
            return assign.assign_sub(var, rate * result)
        return assign.scatter_add(var, indices, -rate * result)

    def _preconditioner(
        self, grad: Tensor, var: Any, dim: int, size: int, step: Tensor, decay: Any, weight: Any, exponent: object,
        root_interval: object, interval: Any,
    ) -> Tensor:  # fmt: skip
        """The matrix that dimension `dim` of the gradient is multiplied with."""
        moments = self.get_slot(var, f"Gbar_{dim}")
        others = [i for i in range(grad.shape.ndims) if i != dim]

        def updated() -> Tensor:
            outer = tensordot(grad, grad, axes=(others, others), name=f"grad_outer_{dim}")
            return self._averaged(moments, self._mat_gbar_decay, decay, weight * interval * outer)

        matrix = cond(floormod(step, interval) < 1, updated, lambda: moments) / float(size)
        if self._svd_interval == 1:
            return self._power(var, matrix, size, exponent)
        slot = f"H_{dim}"
        return cond(
            floormod(step, root_interval) < 1,
            lambda: self._power(var, matrix, size, exponent, slot),
            lambda: self.get_slot(var, slot),
        )

    def _diagonal_preconditioner(
        self, grad: Tensor, var: object, dim: int, size: int, indices: Tensor | None, step: Tensor, decay: object,
        weight: object, exponent: object, root_interval: object, interval: object,
    ) -> Tensor:  # fmt: skip
        """The factors of dimension `dim`, where a matrix would be too large."""
        moments = self.get_slot(var, f"Gbar_{dim}")
        others = [i for i in range(grad.shape.ndims) if i != dim]
        squares = grad * grad
        if others:
            squares = reduce_sum(squares, axis=others) / (1.0 if indices is not None else float(size))
        if dim == 0 and indices is not None:
            if self._mat_gbar_decay != 1.0:
                raise AssertionError("mat_gbar_decay must be 1 for sparse gradients.")
            total = gather(assign.scatter_add(moments, indices, weight * squares), indices)
        else:
            total = self._averaged(moments, self._mat_gbar_decay, decay, weight * squares)
        return where(greater(total, 0), power(total, exponent), zeros_like(total))
