"""Layers that make one tensor of several."""

from __future__ import annotations

import functools
import operator
from typing import TYPE_CHECKING, Any

from tfcompat._src.base.export import export
from tfcompat._src.base.tensor_shape import TensorShape
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.keras.backend.arrays import batch_dot
from tfcompat._src.keras.backend.arrays import concatenate as concatenated
from tfcompat._src.keras.backend.math import reduce_all
from tfcompat._src.keras.backend.values import ndim
from tfcompat._src.keras.engine.base_layer import Layer
from tfcompat._src.ops.array.fill import ones_like
from tfcompat._src.ops.array.shape import expand_dims
from tfcompat._src.ops.math import binary
from tfcompat._src.ops.nn.moments import l2_normalize

if TYPE_CHECKING:
    from tfcompat._src.base.arrays import TensorLike
    from tfcompat._src.nodes.sparse_tensor import SparseTensor

Sizes = tuple


def _sizes_of(input_shape: Any) -> list[Sizes]:
    """The sizes of each of several inputs; ValueError for an unknown rank."""
    return [tuple(TensorShape(shape).as_list()) for shape in input_shape]


def _broadcast(first: Sizes, second: Sizes) -> Sizes:
    """The sizes of an elementwise result; ValueError where the sizes do not fit."""
    if len(first) < len(second):
        first, second = second, first
    ahead = len(first) - len(second)
    found = list(first[:ahead])
    for i, j in zip(first[ahead:], second):
        if None not in (i, j) and 1 not in (i, j) and i != j:
            raise ValueError(f"Operands could not be broadcast together with shapes {first} {second}")
        found.append(None if None in (i, j) else j if i == 1 else i)
    return tuple(found)


def _check_masks(inputs: Any, mask: Any) -> None:
    for name, value in (("mask", mask), ("inputs", inputs)):
        if not isinstance(value, list):
            raise ValueError(f"`{name}` should be a list.")
    if len(mask) != len(inputs):
        raise ValueError("The lists `inputs` and `mask` should have the same length.")


class _Merge(Layer):
    """A function of a list of tensors, which are broadcast to each other behind the batch."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.supports_masking = True

    def _merge_function(self, inputs: list[Any]) -> Any:
        raise NotImplementedError

    def build(self, input_shape: Any) -> None:
        if not isinstance(input_shape, list):
            raise ValueError("A merge layer should be called on a list of inputs.")
        if len(input_shape) < 2:
            raise ValueError(
                f"A merge layer should be called on a list of at least 2 inputs. Got {len(input_shape)} inputs."
            )
        shapes = _sizes_of(input_shape)
        if len({s[0] for s in shapes if s[0] is not None}) > 1:
            raise ValueError(f"Can not merge tensors with different batch sizes. Got tensors with shapes : {shapes}")
        functools.reduce(_broadcast, [s[1:] for s in shapes])
        self._reshape_required = len({len(s) for s in shapes}) != 1
        self.built = True

    def call(self, inputs: Any) -> Any:
        if not isinstance(inputs, list):
            raise ValueError("A merge layer should be called on a list of inputs.")
        if not self._reshape_required:
            return self._merge_function(inputs)
        rank = max(ndim(x) for x in inputs)
        return self._merge_function([_with_rank(x, rank) for x in inputs])

    def compute_output_shape(self, input_shape: Any) -> TensorShape:
        shapes = _sizes_of(input_shape)
        merged = functools.reduce(_broadcast, [s[1:] for s in shapes])
        batches = {s[0] for s in shapes if s[0] is not None}
        return TensorShape((batches.pop() if len(batches) == 1 else None, *merged))

    def compute_mask(self, inputs: Any, mask: Any = None) -> Tensor | None:
        if mask is None:
            return None
        _check_masks(inputs, mask)
        masks = [expand_dims(m, axis=0) for m in mask if m is not None]
        return reduce_all(concatenated(masks, axis=0), axis=0, keepdims=False) if masks else None


def _with_rank(x: TensorLike, rank: int) -> Any:
    for _ in range(rank - ndim(x)):
        x = expand_dims(x, axis=1)
    return x


@export("keras.layers.Add")
class Add(_Merge):
    """The sum of its inputs."""

    def _merge_function(self, inputs: list[Any]) -> Any:
        return functools.reduce(operator.add, inputs)


@export("keras.layers.Subtract")
class Subtract(_Merge):
    """The difference of two inputs; ValueError for another number."""

    def build(self, input_shape: Any) -> None:
        super().build(input_shape)
        if len(input_shape) != 2:
            raise ValueError("A `Subtract` layer should be called on exactly 2 inputs")

    def _merge_function(self, inputs: list[Any]) -> Any:
        if len(inputs) != 2:
            raise ValueError("A `Subtract` layer should be called on exactly 2 inputs")
        return inputs[0] - inputs[1]


@export("keras.layers.Multiply")
class Multiply(_Merge):
    """The product of its inputs, element by element."""

    def _merge_function(self, inputs: list[Any]) -> Any:
        return functools.reduce(operator.mul, inputs)


@export("keras.layers.Average")
class Average(_Merge):
    """The mean of its inputs."""

    def _merge_function(self, inputs: list[Any]) -> Any:
        return functools.reduce(operator.add, inputs) / len(inputs)


@export("keras.layers.Maximum")
class Maximum(_Merge):
    """The largest of its inputs, element by element."""

    def _merge_function(self, inputs: list[Any]) -> Any:
        return functools.reduce(binary.maximum, inputs)


@export("keras.layers.Minimum")
class Minimum(_Merge):
    """The smallest of its inputs, element by element."""

    def _merge_function(self, inputs: list[Any]) -> Any:
        return functools.reduce(binary.minimum, inputs)


@export("keras.layers.Concatenate")
class Concatenate(_Merge):
    """Its inputs one after the other along `axis`; ValueError where other sizes differ."""

    _config = ("axis",)

    def __init__(self, axis=-1, **kwargs) -> None:
        super().__init__(**kwargs)
        self.axis, self._reshape_required = axis, False

    def build(self, input_shape: Any) -> None:
        if not isinstance(input_shape, list) or len(input_shape) < 2:
            raise ValueError("A `Concatenate` layer should be called on a list of at least 2 inputs")
        self.built = True
        shapes = _sizes_of(input_shape)
        others = [list(shape) for shape in shapes]
        for shape in others:
            del shape[self.axis]
        if len(set(map(tuple, others))) > 1:
            raise ValueError(
                "A `Concatenate` layer requires inputs with matching shapes except for the concat axis. Got inputs "
                f"shapes: {shapes}"
            )

    def _merge_function(self, inputs: list[Any]) -> SparseTensor | Tensor:
        return concatenated(inputs, axis=self.axis)

    def compute_output_shape(self, input_shape: Any) -> TensorShape:
        if not isinstance(input_shape, list):
            raise ValueError("A `Concatenate` layer should be called on a list of inputs.")
        shapes = [TensorShape(shape).as_list() for shape in input_shape]
        lengths = [shape[self.axis] for shape in shapes]
        shapes[0][self.axis] = None if None in lengths else sum(lengths)
        return TensorShape(shapes[0])

    def compute_mask(self, inputs: Any, mask: Any = None) -> Tensor | None:
        if mask is None:
            return None
        _check_masks(inputs, mask)
        if all(m is None for m in mask):
            return None
        masks = []
        for x, m in zip(inputs, mask):
            if m is None:
                masks.append(ones_like(x, dtype="bool"))
            else:
                masks.append(expand_dims(m, axis=-1) if ndim(m) < ndim(x) else m)
        return reduce_all(concatenated(masks, axis=self.axis), axis=-1, keepdims=False)


@export("keras.layers.Dot")
class Dot(_Merge):
    """The product of two batches of tensors.

    Args:
      axes: int or two ints, the dimensions to sum over.
      normalize: whether to scale the inputs to length 1 along them first.

    Raises:
      TypeError, ValueError: `axes` is neither. ValueError: the sizes do not fit, or there are not two inputs.
    """

    _config = ("axes", "normalize")

    def __init__(self, axes, normalize=False, **kwargs) -> None:
        super().__init__(**kwargs)
        if not isinstance(axes, int):
            if not isinstance(axes, (list, tuple)):
                raise TypeError("Invalid type for `axes` - should be a list or an int.")
            if len(axes) != 2:
                raise ValueError("Invalid format for `axes` - should contain two elements.")
            if not all(isinstance(axis, int) for axis in axes):
                raise ValueError('Invalid format for `axes` - list elements should be "int".')
        self.axes, self.normalize, self._reshape_required = axes, normalize, False

    def _axes_for(self, *ranks: int) -> list[int]:
        axes = [self.axes] * 2 if isinstance(self.axes, int) else self.axes
        return [axis % rank if axis < 0 else axis for axis, rank in zip(axes, ranks)]

    def _two_shapes(self, input_shape: object) -> list[Sizes]:
        if not isinstance(input_shape, list) or len(input_shape) != 2:
            raise ValueError("A `Dot` layer should be called on a list of 2 inputs.")
        return _sizes_of(input_shape)

    def build(self, input_shape: Any) -> None:
        first, second = self._two_shapes(input_shape)
        self.built = True
        axes = self._axes_for(len(first), len(second))
        if first[axes[0]] != second[axes[1]]:
            raise ValueError(
                f"Dimension incompatibility {first[axes[0]]} != {second[axes[1]]}. Layer shapes: {first}, {second}"
            )

    def _merge_function(self, inputs: list[Any]) -> Tensor:
        if len(inputs) != 2:
            raise ValueError("A `Dot` layer should be called on exactly 2 inputs")
        axes = self._axes_for(*(ndim(x) for x in inputs))
        if self.normalize:
            inputs = [l2_normalize(x, axis=axis) for x, axis in zip(inputs, axes)]
        return batch_dot(*inputs, axes)

    def compute_output_shape(self, input_shape: Any) -> TensorShape:
        first, second = self._two_shapes(input_shape)
        axes = self._axes_for(len(first), len(second))
        rest = [size for i, size in enumerate(second) if i and i != axes[1]]
        sizes = [size for i, size in enumerate(first) if i != axes[0]] + rest
        return TensorShape(sizes if len(sizes) > 1 else [*sizes, 1])

    def compute_mask(self, inputs: Any, mask: Any = None) -> None:
        return None


@export("keras.layers.add")
def add(inputs, **kwargs):
    """The sum of a list of tensors; keywords go to the layer `Add`."""
    return Add(**kwargs)(inputs)


@export("keras.layers.subtract")
def subtract(inputs, **kwargs):
    """The difference of two tensors; keywords go to the layer `Subtract`."""
    return Subtract(**kwargs)(inputs)


@export("keras.layers.multiply")
def multiply(inputs, **kwargs):
    """The product of a list of tensors; keywords go to the layer `Multiply`."""
    return Multiply(**kwargs)(inputs)


@export("keras.layers.average")
def average(inputs, **kwargs):
    """The mean of a list of tensors; keywords go to the layer `Average`."""
    return Average(**kwargs)(inputs)


@export("keras.layers.maximum")
def maximum(inputs, **kwargs):
    """The largest of a list of tensors; keywords go to the layer `Maximum`."""
    return Maximum(**kwargs)(inputs)


@export("keras.layers.minimum")
def minimum(inputs, **kwargs):
    """The smallest of a list of tensors; keywords go to the layer `Minimum`."""
    return Minimum(**kwargs)(inputs)


@export("keras.layers.concatenate")
def concatenate(inputs, axis=-1, **kwargs):
    """A list of tensors one after the other; keywords go to the layer `Concatenate`."""
    return Concatenate(axis=axis, **kwargs)(inputs)


@export("keras.layers.dot")
def dot(inputs, axes, normalize=False, **kwargs):
    """The product of two batches of tensors; arguments as in the layer `Dot`."""
    return Dot(axes=axes, normalize=normalize, **kwargs)(inputs)
