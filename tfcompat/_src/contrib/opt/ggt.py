"""GGT: full-matrix adaptive steps from a window of gradients (Agarwal et al. 2018)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tfcompat._src.base import dtypes
from tfcompat._src.base.export import export
from tfcompat._src.contrib.optimizer_v2.optimizer_v2 import OptimizerV2, OptimizerV2State
from tfcompat._src.graph.operation import Operation
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.nodes.convert import convert_to_tensor
from tfcompat._src.ops.array.diagonal import diag
from tfcompat._src.ops.array.fill import zeros
from tfcompat._src.ops.array.reorder import transpose
from tfcompat._src.ops.array.shape import expand_dims, reshape
from tfcompat._src.ops.composed.eye import eye
from tfcompat._src.ops.control.cond import cond
from tfcompat._src.ops.control.groups import group
from tfcompat._src.ops.linalg.decompose import svd
from tfcompat._src.ops.math.binary import add, divide, floormod, minimum, power
from tfcompat._src.ops.math.cast import cast
from tfcompat._src.ops.math.matmul import matmul
from tfcompat._src.ops.math.reduce import reduce_min
from tfcompat._src.ops.math.sequence import arange
from tfcompat._src.ops.math.unary import sqrt
from tfcompat._src.variables import assign

if TYPE_CHECKING:
    from tfcompat._src.base.arrays import TensorLike


@export("contrib.opt.GGTOptimizer")
class GGTOptimizer(OptimizerV2):
    """Multiplies the gradient with the inverse root of the sum of outer products of the last gradients.

    Args:
      learning_rate: a number.
      beta1: decay of the average of the gradient.
      use_locking: passed on to the update operations.
      name: name of the training operation.
      window: how many gradients are kept.
      eps: the least singular value with which the part outside the window's span moves.
      svd_eps: added to the diagonal of the Gram matrix.
      sigma_eps: added to the singular values.
    """

    def __init__(
        self, learning_rate: object = 0.001, beta1: object = 0.9, use_locking: bool = False, name: str = "GGT",
        window: int = 10, eps: object = 1e-4, svd_eps: object = 1e-6, sigma_eps: object = 1e-2,
    ) -> None:  # fmt: skip
        super().__init__(use_locking, name)
        hyper = {
            "lr": learning_rate, "beta1": beta1, "window": window, "eps": eps, "svd_eps": svd_eps, "sigma_eps": sigma_eps,
        }  # fmt: skip
        for key, value in hyper.items():
            self._set_hyper(key, value)
        self.index_dict: dict[str, int] = {}
        self.shape_dict: dict[str, int] = {}
        self._variables: list[Any] = []

    def _create_vars(self, var_list: list[Any], state: OptimizerV2State) -> None:
        sizes = {v.name: int(np.prod(v.shape.as_list())) for v in var_list}
        self.shape_dict = dict(sorted(sizes.items()))
        total = 0
        for name, size in self.shape_dict.items():
            self.index_dict[name] = total
            total += size
        dtype = var_list[0].dtype.base_dtype
        state.create_non_slot(initial_value=cast(0.0, dtype=dtype), name="global_step")
        window = state.get_hyper("window")
        state.create_non_slot(initial_value=zeros([window, total], dtype=dtype), name="grad_buffer")
        state.create_non_slot(initial_value=zeros((total,), dtype=dtype), name="moment1")
        state.create_non_slot(initial_value=zeros((total,), dtype=dtype), name="flat_grad")

    def _get(self, name: str, state: OptimizerV2State | None) -> Any:
        return (state or OptimizerV2State(self, {}, None)).get_non_slot(name)

    def _get_global_step(self, state: OptimizerV2State | None = None) -> Any:
        """The variable that counts steps."""
        return self._get("global_step", state)

    def _get_moment1(self, state: OptimizerV2State | None = None) -> Any:
        """The variable of the average of the gradient."""
        return self._get("moment1", state)

    def _get_grad_buffer(self, state: OptimizerV2State | None = None) -> Any:
        """The variable of the window of gradients."""
        return self._get("grad_buffer", state)

    def _get_flat_grad(self, state: OptimizerV2State | None = None) -> Any:
        """The variable of the gradient of all variables as one vector."""
        return self._get("flat_grad", state)

    def _prepare(self, state: OptimizerV2State) -> None:
        self._variables = []

    def _apply_dense(self, grad: Tensor, var: Any, state: OptimizerV2State) -> Tensor:
        self._variables.append(var)
        start = self.index_dict[var.name]
        flat = reshape(grad, [-1])
        positions = arange(start, start + self.shape_dict[var.name])
        return assign.scatter_update(self._get_flat_grad(state), positions, flat)

    def _resource_apply_dense(self, grad: Tensor, handle: object, state: OptimizerV2State) -> Tensor:
        return self._apply_dense(grad, handle, state)

    def _finish(self, state: OptimizerV2State) -> Operation:
        dtype = self._variables[0].dtype.base_dtype
        step = assign.assign_add(self._get_global_step(state), 1.0)
        beta1 = state.get_hyper("beta1", dtype=dtype)
        average, flat_grad = self._get_moment1(state), self._get_flat_grad(state)
        average = average.assign(beta1 * average + (1.0 - beta1) * flat_grad)
        window = state.get_hyper("window")
        index = floormod(cast(step - 1.0, dtypes.int32), window)
        buffer = assign.scatter_update(self._get_grad_buffer(state), index, average)
        direction = self._direction(state, dtype, step, window, buffer, average, flat_grad)
        updates = []
        for var in self._variables:
            start = self.index_dict[var.name]
            part = reshape(direction[start : start + self.shape_dict[var.name]], var.shape)
            updates.append(assign.assign_sub(var, state.get_hyper("lr", dtype=dtype) * part))
        return group(updates)

    def _direction(
        self, state: OptimizerV2State, dtype: object, step: TensorLike, window: Tensor, buffer: Any, average: TensorLike, flat_grad: Any
    ) -> Tensor:
        """The step of all variables as one column."""
        eps, svd_eps, sigma_eps, _ = (state.get_hyper(k, dtype=dtype) for k in ("eps", "svd_eps", "sigma_eps", "lr"))
        filled = sqrt(minimum(convert_to_tensor(step), convert_to_tensor(cast(window, dtype=dtype))))
        column = expand_dims(average, -1)
        m = transpose(divide(buffer, filled))
        gram = matmul(m, m, transpose_a=True)
        damping = cast(eye(window), dtype=dtype) * svd_eps
        sigma, u, _ = svd(gram + damping)
        root = sqrt(sigma)
        least = reduce_min(root)
        weight = divide(cast(1.0, dtype=dtype), power(root + sigma_eps, 3))
        nothing = expand_dims(zeros(flat_grad.shape, dtype=dtype), -1)

        def projected(scale: Any) -> Tensor:
            inner = matmul(u, matmul(m, column, transpose_a=True), transpose_a=True)
            return matmul(m, matmul(u, matmul(diag(scale()), inner)))

        head = projected(lambda: weight)
        tail = column - projected(lambda: divide(cast(1.0, dtype=dtype), sigma))
        scaled = divide(tail, least)
        return cond(least > eps, lambda: add(head, scaled), lambda: add(nothing, head))
