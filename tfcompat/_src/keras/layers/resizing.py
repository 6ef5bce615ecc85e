"""Layers that repeat, pad or crop along the dimensions of space or time."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tfcompat._src.base.export import export
from tfcompat._src.base.tensor_shape import TensorShape
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.keras.backend import arrays
from tfcompat._src.keras.engine.base_layer import Layer
from tfcompat._src.keras.engine.input_spec import InputSpec
from tfcompat._src.keras.utils import conv_utils

_ORDINALS = ("1st", "2nd", "3rd")


def _pairs(value: Any, rank: int, name: str) -> tuple[tuple[int, int], ...]:
    """`value` as a pair of ints for each of `rank` dimensions; ValueError where it is none."""
    if isinstance(value, int):
        return ((value, value),) * rank
    if not hasattr(value, "__len__"):
        raise ValueError(
            f"`{name}` should be either an int, a tuple of {rank} ints, or a tuple of {rank} tuples of 2 ints. "
            f"Found: {value}"
        )
    if len(value) != rank:
        count = "two" if rank == 2 else rank
        raise ValueError(f"`{name}` should have {count} elements. Found: {value}")
    return tuple(
        conv_utils.normalize_tuple(pair, 2, f"{ordinal} entry of {name}") for ordinal, pair in zip(_ORDINALS, value)
    )


class _Spatial(Layer):
    """A layer that changes the sizes of `rank` dimensions."""

    rank = 1
    data_format = "channels_last"

    def __init__(self, data_format: str | None = "channels_last", **kwargs: Any) -> None:
        super().__init__(**kwargs)
        if self.rank > 1:
            self.data_format = conv_utils.normalize_data_format(data_format)
        self.input_spec = InputSpec(ndim=self.rank + 2)

    def _with_sizes(self, input_shape: object, change: Callable[[int, int], int]) -> TensorShape:
        """The shape with `change(size, i)` for the size of spatial dimension i."""
        sizes = TensorShape(input_shape).as_list()
        for i, axis in enumerate(conv_utils.spatial_axes(self.data_format, self.rank)):
            sizes[axis] = None if sizes[axis] is None else change(sizes[axis], i)
        return TensorShape(sizes)


# ---- repeating ----


@export("keras.layers.UpSampling1D")
class UpSampling1D(_Spatial):
    """Repeats each step of [batch, steps, channels] `size` times."""

    _config = ("size",)

    def __init__(self, size=2, **kwargs) -> None:
        super().__init__(**kwargs)
        self.size = int(size)

    def compute_output_shape(self, input_shape: Any) -> TensorShape:
        return self._with_sizes(input_shape, lambda size, i: size * self.size)

    def call(self, inputs: Any) -> Tensor:
        return arrays.repeat_elements(inputs, self.size, axis=1)


@export("keras.layers.UpSampling2D")
class UpSampling2D(_Spatial):
    """Images enlarged by ints.

    Args:
      size: an int or two ints.
      data_format: "channels_last" or "channels_first"; by default Keras' setting.
      interpolation: "nearest" or "bilinear".

    Raises:
      ValueError: an argument is none of these.
    """

    rank = 2
    _config = ("size", "data_format", "interpolation")

    def __init__(self, size=(2, 2), data_format=None, interpolation="nearest", **kwargs) -> None:
        super().__init__(data_format, **kwargs)
        self.size = conv_utils.normalize_tuple(size, 2, "size")
        if interpolation not in ("nearest", "bilinear"):
            raise ValueError('`interpolation` argument should be one of `"nearest"` or `"bilinear"`.')
        self.interpolation = interpolation

    def compute_output_shape(self, input_shape: Any) -> TensorShape:
        return self._with_sizes(input_shape, lambda size, i: size * self.size[i])

    def call(self, inputs: Any) -> Tensor:
        return arrays.resize_images(inputs, *self.size, self.data_format, interpolation=self.interpolation)


@export("keras.layers.UpSampling3D")
class UpSampling3D(_Spatial):
    """Volumes with their elements repeated; `size` is an int or three ints, `data_format` as in `UpSampling2D`."""

    rank = 3
    _config = ("size", "data_format")

    def __init__(self, size=(2, 2, 2), data_format=None, **kwargs) -> None:
        super().__init__(data_format, **kwargs)
        self.size = conv_utils.normalize_tuple(size, 3, "size")

    def compute_output_shape(self, input_shape: Any) -> TensorShape:
        return self._with_sizes(input_shape, lambda size, i: size * self.size[i])

    def call(self, inputs: Any) -> Tensor:
        return arrays.resize_volumes(inputs, *self.size, self.data_format)


# ---- padding ----


@export("keras.layers.ZeroPadding1D")
class ZeroPadding1D(_Spatial):
    """Zeros before and behind the steps of [batch, steps, channels]; `padding` is an int or two ints."""

    _config = ("padding",)

    def __init__(self, padding=1, **kwargs) -> None:
        super().__init__(**kwargs)
        self.padding = conv_utils.normalize_tuple(padding, 2, "padding")

    def compute_output_shape(self, input_shape: Any) -> TensorShape:
        return self._with_sizes(input_shape, lambda size, i: size + sum(self.padding))

    def call(self, inputs: Any) -> Tensor:
        return arrays.temporal_padding(inputs, padding=self.padding)


class _ZeroPadding(_Spatial):
    _config = ("padding", "data_format")

    def __init__(self, padding: Any, data_format: str | None, **kwargs: Any) -> None:
        super().__init__(data_format, **kwargs)
        self.padding = _pairs(padding, self.rank, "padding")

    def compute_output_shape(self, input_shape: Any) -> TensorShape:
        return self._with_sizes(input_shape, lambda size, i: size + sum(self.padding[i]))


@export("keras.layers.ZeroPadding2D")
class ZeroPadding2D(_ZeroPadding):
    """Zeros around images.

    Args:
      padding: an int, two ints, or two pairs of ints (top, bottom), (left, right).
      data_format: "channels_last" or "channels_first"; by default Keras' setting.

    Raises:
      ValueError: an argument is none of these.
    """

    rank = 2

    def __init__(self, padding=(1, 1), data_format=None, **kwargs) -> None:
        super().__init__(padding, data_format, **kwargs)

    def call(self, inputs: Any) -> Tensor:
        return arrays.spatial_2d_padding(inputs, padding=self.padding, data_format=self.data_format)


@export("keras.layers.ZeroPadding3D")
class ZeroPadding3D(_ZeroPadding):
    """Zeros around volumes; arguments as in `ZeroPadding2D`, for three dimensions."""

    rank = 3

    def __init__(self, padding=(1, 1, 1), data_format=None, **kwargs) -> None:
        super().__init__(padding, data_format, **kwargs)

    def call(self, inputs: Any) -> Tensor:
        return arrays.spatial_3d_padding(inputs, padding=self.padding, data_format=self.data_format)


# ---- cropping ----


class _Cropping(_Spatial):
    cropping: tuple[tuple[int, int], ...]

    def compute_output_shape(self, input_shape: Any) -> TensorShape:
        return self._with_sizes(input_shape, lambda size, i: size - sum(self._crops()[i]))

    def _crops(self) -> tuple[tuple[int, int], ...]:
        return self.cropping

    def call(self, inputs: Any) -> Tensor:
        kept = [slice(first, -last or None) for first, last in self._crops()]
        kept.insert(0 if self.data_format == "channels_first" else self.rank, slice(None))
        return inputs[(slice(None), *kept)]


@export("keras.layers.Cropping1D")
class Cropping1D(_Cropping):
    """[batch, steps, channels] without the first and last steps; `cropping` is an int or two ints."""

    _config = ("cropping",)

    def __init__(self, cropping=(1, 1), **kwargs) -> None:
        super().__init__(**kwargs)
        self.cropping = conv_utils.normalize_tuple(cropping, 2, "cropping")

    def _crops(self) -> tuple[tuple[int, int], ...]:
        return (self.cropping,)


@export("keras.layers.Cropping2D")
class Cropping2D(_Cropping):
    """Images without their borders.

    Args:
      cropping: an int, two ints, or two pairs of ints (top, bottom), (left, right).
      data_format: "channels_last" or "channels_first"; by default Keras' setting.

    Raises:
      ValueError: an argument is none of these.
    """

    rank = 2
    _config = ("cropping", "data_format")

    def __init__(self, cropping=((0, 0), (0, 0)), data_format=None, **kwargs) -> None:
        super().__init__(data_format, **kwargs)
        self.cropping = _pairs(cropping, 2, "cropping")


@export("keras.layers.Cropping3D")
class Cropping3D(_Cropping):
    """Volumes without their borders; arguments as in `Cropping2D`, for three dimensions."""

    rank = 3
    _config = ("cropping", "data_format")

    def __init__(self, cropping=((1, 1), (1, 1), (1, 1)), data_format=None, **kwargs) -> None:
        super().__init__(data_format, **kwargs)
        self.cropping = _pairs(cropping, 3, "cropping")
