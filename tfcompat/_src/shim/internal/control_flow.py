"""Internal names of `tensorflow.python.ops.control_flow_ops`: ops that forward values, for tensors, refs and composite tensors."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tfcompat._src.base import nest
from tfcompat._src.base.composite_tensor import CompositeTensor
from tfcompat._src.nodes import raw
from tfcompat._src.nodes.convert import to_tensor

if TYPE_CHECKING:
    from tfcompat._src.base.arrays import TensorLike


def _Identity(data: TensorLike, name: str | None = None) -> Any:
    """Returns the Identity of a tensor, the RefIdentity of a ref, or a composite tensor of the Identities of its components."""
    if isinstance(data, CompositeTensor):
        return nest.map_structure(_Identity, data, expand_composites=True)
    data = to_tensor(data, as_ref=True)
    return (raw.RefIdentity if data.dtype._is_ref_dtype else raw.Identity)(data, name=name)


def _Enter(
    data: TensorLike, frame_name: str, is_constant: bool = False, parallel_iterations: int = 10, use_ref: bool = True,
    use_input_shape: bool = True, name: str | None = None,
) -> Any:  # fmt: skip
    """Adds an Enter node for the loop `frame_name`: a RefEnter for a ref if `use_ref`, one for each component of a composite tensor.

    Args:
      is_constant: whether the value is a loop invariant. use_input_shape: whether the result has the static shape of `data`.
    """
    if isinstance(data, CompositeTensor):
        return nest.map_structure(
            lambda t: _Enter(t, frame_name, is_constant, parallel_iterations, use_ref, use_input_shape), data, expand_composites=True
        )
    data = to_tensor(data, as_ref=True)
    make = raw.RefEnter if use_ref and data.dtype._is_ref_dtype else raw.Enter
    result = make(data, frame_name=frame_name, is_constant=is_constant, parallel_iterations=parallel_iterations, name=name)
    if use_input_shape:
        result.set_shape(data.shape)
    return result
