"""tf.reduce_* and the functions made of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from tfcompat._src.base import dtypes
from tfcompat._src.base.deprecation import deprecated_argument_lookup
from tfcompat._src.base.export import export
from tfcompat._src.graph.scopes import name_scope
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.nodes import raw
from tfcompat._src.nodes.convert import to_tensor
from tfcompat._src.ops.array.fill import zeros, zeros_like
from tfcompat._src.ops.array.shape import shape
from tfcompat._src.ops.math.cast import cast
from tfcompat._src.ops.math.sequence import all_dimensions

if TYPE_CHECKING:
    from tfcompat._src.base.arrays import TensorLike


def _dimensions(x: TensorLike, axis: object) -> Any:
    """The dimensions to reduce: `axis`, or all of `x`."""
    return all_dimensions(x) if axis is None else axis


def reduce_to(op_type: str, x: TensorLike, axis: object, keepdims: bool | None, name: str | None) -> Tensor:
    """Adds the reduction `op_type` of `x` over `axis`, all dimensions where it is None."""
    found = raw.function(op_type)(x, _dimensions(x, axis), bool(keepdims), name=name)
    if axis is None and not keepdims and found._sizes is None:
        found.set_shape(())
    return found


def _function(name: str, op_type: str, doc: str) -> Callable:
    """The public function `reduce_*` that adds one node of `op_type`."""

    def function(input_tensor, axis=None, keepdims=None, name=None, reduction_indices=None, keep_dims=None):
        axis = deprecated_argument_lookup("axis", axis, "reduction_indices", reduction_indices)
        keepdims = deprecated_argument_lookup("keepdims", keepdims, "keep_dims", keep_dims)
        return reduce_to(op_type, input_tensor, axis, keepdims, name)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"""{doc} over dimensions.

    Args:
      input_tensor: a Tensor.
      axis: dimension or list of dimensions to reduce; all where it is None.
      keepdims: whether reduced dimensions stay with size 1.
      name: node name.
      reduction_indices, keep_dims: old names of `axis` and `keepdims`.

    Returns:
      a Tensor of the dtype of `input_tensor`.

    Raises:
      ValueError: `axis` is outside the rank, or an old and a new name are both given.
    """
    return function


reduce_sum = export("reduce_sum", "math.reduce_sum")(_function("reduce_sum", "Sum", "The sum"))
reduce_mean = export("reduce_mean", "math.reduce_mean")(
    _function("reduce_mean", "Mean", "The mean, truncated for integers,")
)
reduce_prod = export("reduce_prod", "math.reduce_prod")(_function("reduce_prod", "Prod", "The product"))
reduce_max = export("reduce_max", "math.reduce_max")(_function("reduce_max", "Max", "The largest element"))
reduce_min = export("reduce_min", "math.reduce_min")(_function("reduce_min", "Min", "The smallest element"))
reduce_all = export("reduce_all", "math.reduce_all")(_function("reduce_all", "All", "Whether all elements are true"))
reduce_any = export("reduce_any", "math.reduce_any")(_function("reduce_any", "Any", "Whether any element is true"))


@export("math.reduce_euclidean_norm")
def reduce_euclidean_norm(input_tensor, axis=None, keepdims=False, name=None):
    """The square root of the sum of squares over dimensions; arguments are those of `reduce_sum`."""
    return reduce_to("EuclideanNorm", input_tensor, axis, keepdims, name)


@export("math.reduce_variance")
def reduce_variance(input_tensor, axis=None, keepdims=False, name=None):
    """The mean of squared deviations from the mean over dimensions; arguments are those of `reduce_sum`."""
    with name_scope(name or "reduce_variance"):
        mean = reduce_to("Mean", input_tensor, axis, True, None)
        return reduce_to("Mean", raw.Square(input_tensor - mean), axis, keepdims, None)


@export("math.reduce_std")
def reduce_std(input_tensor, axis=None, keepdims=False, name=None):
    """The square root of `reduce_variance`."""
    with name_scope(name or "reduce_std"):
        return raw.Sqrt(reduce_variance(input_tensor, axis=axis, keepdims=keepdims))


@export("reduce_logsumexp", "math.reduce_logsumexp")
def reduce_logsumexp(input_tensor, axis=None, keepdims=None, name=None, reduction_indices=None, keep_dims=None):
    """log(sum(exp(x))) over dimensions, without overflow; arguments are those of `reduce_sum`."""
    axis = deprecated_argument_lookup("axis", axis, "reduction_indices", reduction_indices)
    keepdims = deprecated_argument_lookup("keepdims", keepdims, "keep_dims", keep_dims)
    x = to_tensor(input_tensor)
    with name_scope(name, "ReduceLogSumExp", [x]):
        largest = reduce_to("Max", x, axis, True, None)
        offset = raw.StopGradient(raw.Select(raw.IsFinite(largest), largest, zeros_like(largest)))
        total = raw.Log(reduce_to("Sum", raw.Exp(raw.Sub(x, offset)), axis, keepdims, None))
        if not keepdims:
            offset = raw.Reshape(offset, shape(total))
        found = raw.Add(total, offset)
        if axis is None and not keepdims and found._sizes is None:
            found.set_shape(())
        return found


@export("count_nonzero", "math.count_nonzero")
def count_nonzero(
    input_tensor=None,
    axis=None,
    keepdims=None,
    dtype=dtypes.int64,
    name=None,
    reduction_indices=None,
    keep_dims=None,
    input=None,
):
    """The number of elements other than 0 (or the empty string) over dimensions; a Tensor of `dtype`."""
    keepdims = deprecated_argument_lookup("keepdims", keepdims, "keep_dims", keep_dims)
    input_tensor = deprecated_argument_lookup("input", input, "input_tensor", input_tensor)
    axis = deprecated_argument_lookup("axis", axis, "reduction_indices", reduction_indices)
    with name_scope(name, "count_nonzero", [input_tensor]):
        x = to_tensor(input_tensor, name="input")
        differs = cast(raw.NotEqual(x, zeros([], x.dtype)), dtypes.int64)
        return cast(reduce_to("Sum", differs, axis, keepdims, None), dtype)


def _extreme_index(op_type: str, input: object, axis: object, dimension: object, output_type: object, name: str | None) -> Tensor:
    axis = deprecated_argument_lookup("axis", axis, "dimension", dimension)
    return raw.function(op_type)(input, 0 if axis is None else axis, output_type=output_type, name=name)


@export("argmax", "math.argmax")
def argmax(input, axis=None, name=None, dimension=None, output_type=dtypes.int64):
    """The index of the largest element along a dimension, the first of equals.

    Args:
      input: a numeric Tensor.
      axis: the dimension, 0 by default.
      name: node name.
      dimension: old name of `axis`.
      output_type: int32 or int64.

    Returns:
      a Tensor of `output_type` in the shape of `input` without the dimension.

    Raises:
      ValueError: `axis` and `dimension` are both given. InvalidArgumentError: when it runs, the dimension does not exist.
    """
    return _extreme_index("ArgMax", input, axis, dimension, output_type, name)


@export("argmin", "math.argmin")
def argmin(input, axis=None, name=None, dimension=None, output_type=dtypes.int64):
    """The index of the smallest element along `axis` (0 by default), the first of equals; of `output_type`."""
    return _extreme_index("ArgMin", input, axis, dimension, output_type, name)


@export("arg_max")
def arg_max(input, dimension, output_type=dtypes.int64, name=None):
    """`argmax` with its old argument order."""
    return raw.ArgMax(input, dimension, output_type=output_type, name=name)


@export("arg_min")
def arg_min(input, dimension, output_type=dtypes.int64, name=None):
    """`argmin` with its old argument order."""
    return raw.ArgMin(input, dimension, output_type=output_type, name=name)
