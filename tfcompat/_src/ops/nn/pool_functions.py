"""tf.nn.max_pool, avg_pool and their variants."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from tfcompat._src.base import dtypes
from tfcompat._src.base.deprecation import deprecated_argument_lookup
from tfcompat._src.base.export import export
from tfcompat._src.graph.scopes import name_scope
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.nodes import raw
from tfcompat._src.ops.array.shape import expand_dims, squeeze
from tfcompat._src.ops.nn.window_sizes import per_dimension

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tfcompat._src.base.arrays import TensorLike

_ARGUMENTS = """
    Args:
      {input}: floating Tensor [batch, {sizes}, channels] in `data_format` order.
      ksize, strides: size and steps of the window, an int or a list.
      padding: "SAME" or "VALID".
      data_format: {formats}.
      name: node name.{more}

    Returns:
      a Tensor of the same rank and dtype.

    Raises:
      ValueError: shapes or arguments that do not fit.
    """
_SIZES = {1: "width", 2: "height, width", 3: "depth, height, width"}
_FORMATS = {1: '"NWC" or "NCW"', 2: '"NHWC" or "NCHW"', 3: '"NDHWC" or "NCDHW"'}


def _documented(
    function: Callable, name: str, summary: str, count: int, input: str = "input", more: str = ""
) -> Callable:
    function.__name__ = function.__qualname__ = name
    function.__doc__ = (
        summary + "\n" + _ARGUMENTS.format(input=input, sizes=_SIZES[count], formats=_FORMATS[count], more=more)
    )
    return function


def _add(
    op_type: str, x: object, count: int, ksize: Any, strides: object, padding: str, data_format: str, name: str
) -> Tensor:
    ksize = per_dimension(ksize, count, data_format, "ksize")
    strides = per_dimension(strides, count, data_format, "strides")
    if op_type == "MaxPool" and any(n == 0 for n in ksize):
        raise ValueError("ksize cannot be zero.")
    return raw.function(op_type)(x, ksize=ksize, strides=strides, padding=padding, data_format=data_format, name=name)


def _pool_2d(name: str, op_type: str, summary: str) -> Callable:
    def function(value, ksize, strides, padding, data_format="NHWC", name=None, input=None):
        value = deprecated_argument_lookup("input", input, "value", value)
        with name_scope(name, op_type, [value]) as name:
            return _add(op_type, value, 2, ksize, strides, padding, data_format or "NHWC", name)

    return _documented(function, name, summary, 2, "value", "\n      input: alias of `value`.")


def _pool_1d(name: str, op_type: str, scope: str, summary: str) -> Callable:
    def function(input, ksize, strides, padding, data_format="NWC", name=None):
        with name_scope(name, scope, [input]) as name:
            nwc = data_format in (None, "NWC")
            data_format = "NHWC" if nwc else "NCHW"
            ksize = [1, *per_dimension(ksize, 1, data_format, "ksize")]
            strides = [1, *per_dimension(strides, 1, data_format, "strides")]
            axis = 1 if nwc else 2
            result = _add(op_type, expand_dims(input, axis), 2, ksize, strides, padding, data_format, name)
            return squeeze(result, axis)

    return _documented(function, name, summary, 1)


def _pool_3d(name: str, op_type: str, summary: str) -> Callable:
    def function(input, ksize, strides, padding, data_format="NDHWC", name=None):
        with name_scope(name, op_type, [input]) as name:
            return _add(op_type, input, 3, ksize, strides, padding, data_format or "NDHWC", name)

    return _documented(function, name, summary, 3)


def _pool_any(name: str, functions: dict[int, Callable | str], summary: str) -> Callable:
    def function(input, ksize, strides, padding, data_format=None, name=None):
        count = len(input.shape) - 2
        if not 1 <= count <= 3:
            raise ValueError(f"Input tensor must be of rank 3, 4 or 5 but was {count + 2}.")
        ksize = per_dimension(ksize, count, data_format, "ksize")
        strides = per_dimension(strides, count, data_format, "strides")
        apply = functions[count]
        if not isinstance(apply, str):
            return apply(input, ksize, strides, padding, data_format, name)
        return raw.function(apply)(
            input, ksize=ksize, strides=strides, padding=padding, data_format=data_format, name=name
        )

    function.__name__ = function.__qualname__ = name
    function.__doc__ = (
        f"{summary} The rank of `input`, 3 to 5, says over how many dimensions; arguments are those of `{name[:-3]}`."
    )
    return function


_MAX, _AVG = "The largest element of each window.", "The mean of each window; padding is not counted."

max_pool = export("nn.max_pool")(_pool_2d("max_pool", "MaxPool", _MAX))
avg_pool = export("nn.avg_pool", "nn.avg_pool2d")(_pool_2d("avg_pool", "AvgPool", _AVG))
max_pool1d = export("nn.max_pool1d")(_pool_1d("max_pool1d", "MaxPool", "MaxPool1d", _MAX))
avg_pool1d = export("nn.avg_pool1d")(_pool_1d("avg_pool1d", "AvgPool", "AvgPool1D", _AVG))
max_pool3d = export("nn.max_pool3d")(_pool_3d("max_pool3d", "MaxPool3D", _MAX))
avg_pool3d = export("nn.avg_pool3d")(_pool_3d("avg_pool3d", "AvgPool3D", _AVG))
max_pool_v2 = export("nn.max_pool_v2")(_pool_any("max_pool_v2", {1: max_pool1d, 2: "MaxPool", 3: "MaxPool3D"}, _MAX))
avg_pool_v2 = export("nn.avg_pool_v2")(_pool_any("avg_pool_v2", {1: avg_pool1d, 2: "AvgPool", 3: "AvgPool3D"}, _AVG))


@export("nn.max_pool2d")
def max_pool2d(
    input: object, ksize: object, strides: object, padding: str, data_format: str = "NHWC", name: str | None = None
) -> Tensor:
    """As `tf.nn.max_pool`."""
    with name_scope(name, "MaxPool2d", [input]) as name:
        return _add("MaxPool", input, 2, ksize, strides, padding, data_format or "NHWC", name)


@export("nn.max_pool_with_argmax")
def max_pool_with_argmax(
    input: TensorLike, ksize: Sequence[int], strides: Sequence[int], padding: str, data_format: str = "NHWC", Targmax: object = None,
    name: str | None = None, output_dtype: object = None, include_batch_in_index: bool = False,
) -> tuple[Tensor, Tensor]:  # fmt: skip
    """The largest element of each window and its place.

    Args:
      input: Tensor [batch, height, width, channels].
      ksize, strides: four ints each.
      padding: "SAME" or "VALID".
      data_format: "NHWC".
      Targmax, output_dtype: int32 or int64 (the default), of the places.
      name: node name.
      include_batch_in_index: whether places count from the first element of the batch or of each image.

    Returns:
      The elements, and their places ((b * height + y) * width + x) * channels + c.
    """
    if data_format != "NHWC":
        raise ValueError("Data formats other than 'NHWC' are not yet supported")
    targmax = deprecated_argument_lookup("output_dtype", output_dtype, "Targmax", Targmax)
    return raw.MaxPoolWithArgmax(
        input, ksize=ksize, strides=strides, padding=padding, Targmax=dtypes.int64 if targmax is None else targmax,
        include_batch_in_index=include_batch_in_index, name=name,
    )  # fmt: skip
