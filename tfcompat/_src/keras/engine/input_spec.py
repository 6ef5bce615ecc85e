"""What a layer wants of its inputs."""

from __future__ import annotations

from typing import Any

from tfcompat._src.base import dtypes, nest
from tfcompat._src.base.export import export
from tfcompat._src.base.tensor_shape import TensorShape


@export("layers.InputSpec", "keras.layers.InputSpec")
class InputSpec:
    """The dtype, shape, rank and sizes of dimensions that an input of a layer must have.

    Args:
      dtype: DType or its name.
      shape: list of int or None; gives the rank too.
      ndim, max_ndim, min_ndim: rank and its limits.
      axes: dict from an axis to its size, or None for any size.

    Raises:
      TypeError: the keys of `axes` are no integers. ValueError: an axis lies beyond the rank.
    """

    def __init__(self, dtype=None, shape=None, ndim=None, max_ndim=None, min_ndim=None, axes=None) -> None:
        self.dtype = None if dtype is None else dtypes.as_dtype(dtype).name
        self.shape = shape
        self.ndim = ndim if shape is None else len(shape)
        self.max_ndim, self.min_ndim = max_ndim, min_ndim
        try:
            self.axes = {int(axis): size for axis, size in (axes or {}).items()}
        except (ValueError, TypeError, AttributeError):
            raise TypeError("The keys in axes must be integers.") from None
        if self.axes and (self.ndim is not None or self.max_ndim is not None):
            last = (self.ndim or self.max_ndim) - 1
            if max(self.axes) > last:
                raise ValueError(f"Axis {max(self.axes)} is greater than the maximum allowed value: {last}")

    def __repr__(self) -> str:
        return f"InputSpec({', '.join(f'{key}={value}' for key, value in self.get_config().items() if value)})"

    def get_config(self) -> dict[str, Any]:
        """The constructor's arguments."""
        return {n: getattr(self, n) for n in ("dtype", "shape", "ndim", "max_ndim", "min_ndim", "axes")}

    @classmethod
    def from_config(cls, config: dict[str, Any]) -> InputSpec:
        """An InputSpec from what `get_config` gave."""
        return cls(**config)


def to_tensor_shape(spec: InputSpec) -> TensorShape:
    """The shape that a spec asks for."""
    if spec.shape is not None or spec.ndim is None:
        return TensorShape(spec.shape)
    sizes = [None] * spec.ndim
    for axis, size in spec.axes.items():
        sizes[axis] = size
    return TensorShape(sizes)


def assert_input_compatibility(input_spec: object, inputs: object, layer_name: str) -> None:
    """Raises ValueError where `inputs` are not what `input_spec`, an InputSpec or a nest of them, says."""
    if not input_spec:
        return
    inputs, specs = nest.flatten(inputs), nest.flatten(input_spec)
    if len(inputs) != len(specs):
        raise ValueError(
            f"Layer {layer_name} expects {len(specs)} inputs, but it received {len(inputs)} input tensors. "
            f"Inputs received: {inputs}"
        )
    for i, (x, spec) in enumerate(zip(inputs, specs)):
        if spec is not None:
            _check_rank(x, spec, f"Input {i} of layer {layer_name} is incompatible with the layer: ")
            _check_sizes(x, spec, i, layer_name)


def _check_rank(x: Any, spec: InputSpec, prefix: str) -> None:
    ndim = x.shape.ndims
    if ndim is None:
        if (spec.ndim, spec.min_ndim, spec.max_ndim) != (None, None, None):
            raise ValueError(f"{prefix}its rank is undefined, but the layer requires a defined rank.")
        return
    full = f". Full shape received: {x.shape.as_list()}"
    if spec.ndim is not None and ndim != spec.ndim:
        raise ValueError(f"{prefix}expected ndim={spec.ndim}, found ndim={ndim}{full}")
    if spec.max_ndim is not None and ndim > spec.max_ndim:
        raise ValueError(f"{prefix}expected max_ndim={spec.max_ndim}, found ndim={ndim}")
    if spec.min_ndim is not None and ndim < spec.min_ndim:
        raise ValueError(f"{prefix}: expected min_ndim={spec.min_ndim}, found ndim={ndim}{full}")


def _check_sizes(x: Any, spec: InputSpec, index: int, layer_name: str) -> None:
    prefix = f"Input {index} of layer {layer_name} is incompatible with the layer: "
    if spec.dtype is not None and x.dtype != spec.dtype:
        raise ValueError(f"{prefix}expected dtype={spec.dtype}, found dtype={x.dtype}")
    if x.shape.ndims is None:
        return
    shape = x.shape.as_list()
    for axis, wanted in spec.axes.items():
        wanted = getattr(wanted, "value", wanted)
        if wanted is not None and shape[axis] not in (wanted, None):
            raise ValueError(
                f"{prefix}expected axis {axis} of input shape to have value {wanted} but received input with "
                f"shape {shape}"
            )
    if spec.shape is not None and any(None not in (w, s) and w != s for w, s in zip(spec.shape, shape)):
        raise ValueError(
            f"Input {index} is incompatible with layer {layer_name}: expected shape={spec.shape}, found shape={shape}"
        )
