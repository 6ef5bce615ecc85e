"""Checks for NaN and infinity made of CheckNumerics."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tfcompat._src.base import dtypes
from tfcompat._src.base.deprecation import deprecated_argument_lookup
from tfcompat._src.base.export import export
from tfcompat._src.graph.operation import Operation
from tfcompat._src.graph.scopes import (
    colocate_with,
    control_dependencies,
    executing_eagerly,
    get_default_graph,
    name_scope,
)
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.nodes.convert import convert_to_tensor
from tfcompat._src.ops.array.constant import check_numerics
from tfcompat._src.ops.control.groups import group, with_dependencies

if TYPE_CHECKING:
    from tfcompat._src.base.arrays import TensorLike


@export("debugging.assert_all_finite", "verify_tensor_all_finite")
def verify_tensor_all_finite(
    t: object = None, msg: str | None = None, name: str | None = None, x: TensorLike | None = None, message: str | None = None
) -> Tensor:
    """The value of a tensor, given only where all of it is finite.

    Args:
      t: floating tensor (`x` is its other name).
      msg: text of the error (`message` is its other name).
      name: name scope.

    Raises:
      InvalidArgumentError: a run finds a NaN or an infinity.
    """
    x = deprecated_argument_lookup("x", x, "t", t)
    message = deprecated_argument_lookup("message", message, "msg", msg)
    with name_scope(name, "VerifyFinite", [x]):
        x = convert_to_tensor(x, name="x")
        with colocate_with(x):
            return with_dependencies([check_numerics(x, message=message)], x)


@export("add_check_numerics_ops")
def add_check_numerics_ops() -> Operation:
    """An operation that checks every float16, float32 and float64 tensor of the default graph, in order of creation.

    Raises:
      RuntimeError: eager execution is on. ValueError: the graph has a cond or a while loop. InvalidArgumentError: a run finds a NaN or an infinity.
    """
    if executing_eagerly():
        raise RuntimeError(
            "add_check_numerics_ops() is not compatible with eager execution. To check for Inf's and NaN's under eager "
            "execution, call tfe.seterr(inf_or_nan='raise') once before executing the checked operations."
        )
    checks: list[Tensor] = []
    for op in get_default_graph().get_operations():
        for output in op.outputs:
            if output.dtype not in (dtypes.float16, dtypes.float32, dtypes.float64):
                continue
            if op._get_control_flow_context() is not None:
                raise ValueError(
                    "`tf.add_check_numerics_ops() is not compatible with TensorFlow control flow operations such as "
                    "`tf.cond()` or `tf.while_loop()`."
                )
            with control_dependencies(checks):
                checks = [check_numerics(output, message=f"{op.name}:{output.value_index}")]
    return group(*checks)
