"""`tensorflow.python.keras.mixed_precision.experimental.test_util`: identities that look at or spoil their gradients."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from tfcompat._src.gradients.custom_gradient import custom_gradient
from tfcompat._src.graph.scopes import control_dependencies
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.nodes.convert import constant, convert_to_tensor
from tfcompat._src.ops.array.constant import identity
from tfcompat._src.ops.array.fill import fill
from tfcompat._src.ops.array.shape import shape
from tfcompat._src.ops.composed.check_ops import assert_equal
from tfcompat._src.ops.control.cond import cond

if TYPE_CHECKING:
    from tfcompat._src.base.arrays import TensorLike


def create_identity_with_grad_check_fn(expected_gradient: TensorLike, expected_dtype: object = None) -> Callable:
    """An identity whose gradient must have a value and a dtype."""

    @custom_gradient
    def checked(x: TensorLike) -> tuple[Tensor, Callable]:
        def grad(dx: Tensor) -> Tensor:
            if expected_dtype and dx.dtype != expected_dtype:
                raise AssertionError(f"dx.dtype should be {expected_dtype} but is: {dx.dtype}")
            wanted = convert_to_tensor(expected_gradient, dtype=dx.dtype, name="expected_gradient")
            with control_dependencies([assert_equal(dx, wanted)]):
                return identity(dx)

        return identity(x), grad

    return checked


def create_identity_with_nan_gradients_fn(have_nan_gradients: TensorLike) -> Callable:
    """An identity whose gradient is not a number where the boolean scalar `have_nan_gradients` is true."""

    @custom_gradient
    def spoiled(x: TensorLike) -> tuple[Tensor, Callable]:
        def grad(dx: Tensor) -> Tensor:
            with control_dependencies([dx]):
                not_a_number = constant(float("nan"), dtype=dx.dtype)
            return cond(have_nan_gradients, lambda: fill(shape(dx), not_a_number), lambda: dx)

        return identity(x), grad

    return spoiled
