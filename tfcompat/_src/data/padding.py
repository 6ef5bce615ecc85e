"""The arguments of padded_batch: target shapes and padding values, checked and converted to tensors."""

from __future__ import annotations

from typing import Any

from tfcompat._src.base import dtypes
from tfcompat._src.base.tensor_shape import TensorShape
from tfcompat._src.data import nest
from tfcompat._src.graph.constant_value import constant_value_as_shape
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.nodes.convert import convert_to_tensor


def partial_shape_to_tensor(shape_like: object) -> Tensor:
    """Converts a shape to an int64 vector, with -1 for unknown dimensions; ValueError or TypeError if it is not a shape.

    Args:
      shape_like: a TensorShape, a list of dimensions, or an int64 vector tensor.
    """
    # What is not a static shape must be a tensor.
    try:
        sizes = TensorShape(shape_like)
        return convert_to_tensor([-1 if n is None else n for n in sizes.as_list()], dtypes.int64)
    except (TypeError, ValueError):
        vector = convert_to_tensor(shape_like, preferred_dtype=dtypes.int64)
    if vector.shape.ndims is not None and vector.shape.ndims != 1:
        raise ValueError(f"Padded shape {shape_like} must be a 1-D tensor of tf.int64 values, but its shape was {vector.shape}.")
    if vector.dtype != dtypes.int64:
        raise TypeError(f"Padded shape {shape_like} must be a 1-D tensor of tf.int64 values, but its element type was {vector.dtype.name}.")
    return vector


def padded_shape_to_tensor(padded_shape: object, component_shape: TensorShape) -> Tensor:
    """Is `partial_shape_to_tensor`, with ValueError if a component of shape `component_shape` cannot be padded to the shape."""
    vector = partial_shape_to_tensor(padded_shape)
    wanted = constant_value_as_shape(vector)
    if component_shape.ndims is None or wanted.ndims is None:
        return vector
    # Elements are only ever enlarged. Unknown sizes on either side are checked in a run.
    fits = wanted.ndims == component_shape.ndims and all(
        a is None or b is None or a >= b for a, b in zip(wanted.as_list(), component_shape.as_list())
    )
    if not fits:
        raise ValueError(
            f"The padded shape {_as_text(wanted)} is not compatible with the corresponding input component shape {_as_text(component_shape)}."
        )
    return vector


def _as_text(shape: TensorShape) -> str:
    sizes = ["?" if n is None else str(n) for n in shape.as_list()]
    return f"({sizes[0]},)" if len(sizes) == 1 else f"({', '.join(sizes)})"


def padding_value_to_tensor(value: object, output_type: dtypes.DType) -> Tensor:
    """Converts a padding value to a scalar tensor; ValueError if it is not a scalar, TypeError if its dtype is not `output_type`."""
    scalar = convert_to_tensor(value, name="padding_value")
    if not scalar.shape.is_compatible_with(TensorShape([])):
        raise ValueError("Padding value should be a scalar, but is not: %s" % value)
    if scalar.dtype != output_type:
        raise TypeError(f"Padding value tensor ({value}) does not match output type: {output_type!r}")
    return scalar


def default_padding(types: object) -> Any:
    """Returns the default padding of each component: 0, "" or False; TypeError for variants."""

    def zero(kind: dtypes.DType) -> Any:
        base = kind.base_dtype
        if base == dtypes.string:
            return ""
        if base == dtypes.variant:
            raise TypeError("Unable to create padding for field of type 'variant'")
        return base.as_numpy_dtype(0)

    return nest.map_structure(zero, types)


def padding_values_or_default(values: object, types: object) -> Any:
    """Returns the padding values `values`, with defaults in place of None."""
    if values is None:
        return default_padding(types)
    defaults = default_padding(types)
    nest.assert_same_structure(values, defaults)
    chosen = [d if v is None else v for v, d in zip(nest.flatten(values), nest.flatten(defaults))]
    return nest.pack_sequence_as(values, chosen)
