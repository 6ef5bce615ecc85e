"""What distributions share: checks of parameters and values, shapes, seeds."""

from __future__ import annotations

import functools
import hashlib
import inspect
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from tfcompat._src.base import dtypes
from tfcompat._src.base.tensor_shape import TensorShape, dimension_at_index, dimension_value
from tfcompat._src.graph.constant_value import constant_value
from tfcompat._src.graph.scopes import control_dependencies, name_scope
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.nodes.convert import constant, convert_to_tensor
from tfcompat._src.ops.array.constant import identity
from tfcompat._src.ops.array.gather import one_hot
from tfcompat._src.ops.array.join import concat, stack
from tfcompat._src.ops.array.pad import pad as pad_op
from tfcompat._src.ops.array.reorder import matrix_transpose, transpose
from tfcompat._src.ops.array.search import where, where_v2
from tfcompat._src.ops.array.shape import broadcast_dynamic_shape, broadcast_static_shape, rank, shape
from tfcompat._src.ops.array.slice import slice_
from tfcompat._src.ops.composed import check_ops
from tfcompat._src.ops.composed.rank_checks import assert_rank_at_least
from tfcompat._src.ops.control.cond import cond
from tfcompat._src.ops.control.groups import no_op, with_dependencies
from tfcompat._src.ops.linalg.norm import norm
from tfcompat._src.ops.math.binary import floormod
from tfcompat._src.ops.math.cast import cast
from tfcompat._src.ops.math.compare import equal, less
from tfcompat._src.ops.math.reduce import reduce_all, reduce_sum
from tfcompat._src.ops.math.sequence import arange
from tfcompat._src.ops.math.special import lgamma
from tfcompat._src.ops.math.unary import log, log1p, sigmoid
from tfcompat._src.ops.nn.softmax import softmax

if TYPE_CHECKING:
    from tfcompat._src.base.arrays import TensorLike
    from tfcompat._src.base.dtypes import DType

_SAME_SIZE_INT = {dtypes.float16: dtypes.int16, dtypes.float32: dtypes.int32, dtypes.float64: dtypes.int64}
_UNSIGNED = frozenset((dtypes.bool, dtypes.uint8, dtypes.uint16))
_SIGNED = frozenset((
    dtypes.float16, dtypes.float32, dtypes.float64, dtypes.int8, dtypes.int16, dtypes.int32, dtypes.int64,
))  # fmt: skip


# ---- ranges of dtypes ----


def _known(dtype: DType) -> DType:
    if dtype.base_dtype not in _UNSIGNED | _SIGNED:
        raise TypeError(f"Unrecognized dtype: {dtype.name}")
    return dtype.base_dtype


def largest_integer(dtype: DType) -> int:
    """The largest integer up to which `dtype` holds every integer; TypeError for an unknown dtype."""
    dtype = _known(dtype)
    if dtype.is_floating:
        return int(2 ** (np.finfo(dtype.as_numpy_dtype).nmant + 1))
    return 1 if dtype == dtypes.bool else np.iinfo(dtype.as_numpy_dtype).max


def smallest_integer(dtype: Any) -> int:
    """0 or less the largest integer of `dtype`."""
    return 0 if _known(dtype) in _UNSIGNED else -largest_integer(dtype)


def is_integer_like(dtype: DType) -> bool:
    """Whether `dtype` is of integers or bool."""
    dtype = _known(dtype)
    return dtype.is_integer or dtype == dtypes.bool


# ---- checks that become part of a value ----


def assert_integer_form(
    x: TensorLike, data: object = None, summarize: int | None = None, message: str | None = None, int_dtype: object = None,
    name: str = "assert_integer_form",
) -> Any:  # fmt: skip
    """An operation that fails where the float `x` has a fractional part.

    Raises:
      TypeError: `x` has no integer dtype of its size and `int_dtype` is not given.
    """
    with name_scope(name, values=[x, data]):
        x = convert_to_tensor(x, name="x")
        if x.dtype.is_integer:
            return no_op()
        message = message or f"{x} has non-integer components"
        if int_dtype is None:
            if x.dtype.base_dtype not in _SAME_SIZE_INT:
                raise TypeError(f"Unrecognized type {x.dtype.name}")
            int_dtype = _SAME_SIZE_INT[x.dtype.base_dtype]
        rounded = cast(cast(x, int_dtype), x.dtype)
        return check_ops.assert_equal(x, rounded, data=data, summarize=summarize, message=message, name=name)


def assert_symmetric(matrix: Tensor) -> Tensor:
    """`matrix`, checked to equal its transpose."""
    return with_dependencies([check_ops.assert_equal(matrix, matrix_transpose(matrix))], matrix)


def embed_check_nonnegative_integer_form(x: TensorLike, name: str = "embed_check_nonnegative_integer_form") -> Tensor:
    """`x`, checked to hold integers that are not negative."""
    with name_scope(name, values=[x]):
        x = convert_to_tensor(x, name="x")
        checks = [check_ops.assert_non_negative(x, message=f"'{x}' must be non-negative.")]
        if not x.dtype.is_integer:
            checks.append(assert_integer_form(x, message=f"'{x}' cannot contain fractional components."))
        return with_dependencies(checks, x)


def embed_check_categorical_event_shape(
    categorical_param: TensorLike, name: str = "embed_check_categorical_event_shape"
) -> Tensor:
    """The parameter, checked to have at least 2 classes and no more than its dtype can count.

    Raises:
      TypeError: the dtype is no float. ValueError: the number of classes is known to be wrong.
    """
    with name_scope(name, values=[categorical_param]):
        x = convert_to_tensor(categorical_param, name="categorical_param")
        dtype = x.dtype.base_dtype
        if not dtype.is_floating:
            raise TypeError(f"Unable to validate size of unrecognized dtype ({dtype.name}).")
        limit = largest_integer(dtype)
        too_flat = "A categorical-distribution parameter must have at least 1 dimension."
        too_few = "A categorical-distribution parameter must have at least 2 events."
        if x.shape.ndims == 0:
            raise ValueError(too_flat)
        count = dimension_value(x.shape.with_rank_at_least(1)[-1])
        if count is not None:
            if count < 2:
                raise ValueError(too_few)
            if count > limit:
                raise ValueError(
                    f"Number of classes exceeds `dtype` precision, i.e., {dtype.name} implies shape ({count}) "
                    f"cannot exceed {limit}."
                )
            return x
        size = shape(x, name="x_shape")[-1]
        too_many = f"Number of classes exceeds `dtype` precision, i.e., {dtype.name} dtype cannot exceed {limit} shape."
        checks = [
            assert_rank_at_least(x, 1, message=too_flat),
            check_ops.assert_greater_equal(shape(x)[-1], 2, message=too_few),
            check_ops.assert_less_equal(size, limit, message=too_many),
        ]
        return with_dependencies(checks, x)


def embed_check_integer_casting_closed(
    x: object, target_dtype: Any, assert_nonnegative: bool = True, name: str = "embed_check_casting_closed"
) -> Tensor:
    """`x`, checked to keep its values in a cast to `target_dtype`; one of the two dtypes is of integers.

    Raises:
      TypeError: a dtype is neither float nor integer, or both are float.
    """
    with name_scope(name, values=[x]):
        x = convert_to_tensor(x, name="x")
        if not is_integer_like(x.dtype) and not x.dtype.is_floating:
            raise TypeError(f"{x.dtype.name}.dtype must be floating- or integer-type.")
        if not is_integer_like(target_dtype) and not target_dtype.is_floating:
            raise TypeError(f"target_dtype ({target_dtype.name}) must be floating- or integer-type.")
        if not is_integer_like(x.dtype) and not is_integer_like(target_dtype):
            raise TypeError(
                f"At least one of {x}.dtype ({x.dtype.name}) and target_dtype ({target_dtype.name}) must be integer-type."
            )
        checks = []
        if assert_nonnegative:
            checks.append(check_ops.assert_non_negative(x, message="Elements must be non-negative."))
        if x.dtype.is_floating:
            message = f"Elements must be {target_dtype.name}-equivalent."
            checks.append(assert_integer_form(x, int_dtype=target_dtype, message=message))
        else:
            checks += _range_checks(x, target_dtype, assert_nonnegative)
        return with_dependencies(checks, x) if checks else x


def _range_checks(x: Tensor, target_dtype: Any, nonnegative: bool) -> list:
    """The checks that integers `x` lie in the range of a dtype that has a smaller one."""
    checks, high, low = [], largest_integer(target_dtype), smallest_integer(target_dtype)
    if largest_integer(x.dtype) > high:
        checks.append(check_ops.assert_less_equal(x, high, message=f"Elements cannot exceed {high}."))
    if not nonnegative and smallest_integer(x.dtype) < low:
        checks.append(check_ops.assert_greater_equal(x, low, message=f"Elements cannot be smaller than {low}."))
    return checks


def get_logits_and_probs(
    logits: object = None, probs: object = None, multidimensional: bool = False, validate_args: bool = False,
    name: str = "get_logits_and_probs", dtype: Any = None,
) -> tuple[Tensor, Tensor]:  # fmt: skip
    """(logits, probs) from one of the two.

    Args:
      logits: log-odds, or log-probabilities up to a constant where `multidimensional`.
      probs: probabilities.
      multidimensional: whether the last dimension is of classes.
      validate_args: whether the values are checked in a run.
      name: name scope.
      dtype: of the result.

    Raises:
      ValueError: both or neither are given. TypeError: the dtype is no float.
    """
    with name_scope(name, values=[probs, logits]):
        if (probs is None) == (logits is None):
            raise ValueError("Must pass probs or logits, but not both.")
        if probs is None:
            logits = convert_to_tensor(logits, name="logits", dtype=dtype)
            if not logits.dtype.is_floating:
                raise TypeError("logits must having floating type.")
            if not multidimensional:
                return logits, sigmoid(logits, name="probs")
            if validate_args:
                logits = embed_check_categorical_event_shape(logits)
            return logits, softmax(logits, name="probs")
        probs = convert_to_tensor(probs, name="probs", dtype=dtype)
        if not probs.dtype.is_floating:
            raise TypeError("probs must having floating type.")
        if validate_args:
            probs = _checked_probs(probs, multidimensional)
        with name_scope("logits"):
            if multidimensional:
                return log(probs), probs
            return log(probs) - log1p(-1.0 * probs), probs


def _checked_probs(probs: Tensor, multidimensional: bool) -> Tensor:
    with name_scope("validate_probs"):
        one = constant(1.0, probs.dtype)
        checks = [check_ops.assert_non_negative(probs)]
        if multidimensional:
            probs = embed_check_categorical_event_shape(probs)
            checks.append(check_ops.assert_near(reduce_sum(probs, -1), one, message="probs does not sum to 1."))
        else:
            message = "probs has components greater than 1."
            checks.append(check_ops.assert_less_equal(probs, one, message=message))
        return with_dependencies(checks, probs)


# ---- values known while building ----


def maybe_get_static_value(x: object, dtype: Any = None) -> Any:
    """The value of `x` as NumPy where it is known, else None."""
    if x is None:
        return None
    value = constant_value(x) if isinstance(x, Tensor) else x
    return value if value is None or dtype is None else np.array(value, dtype)


def prefer_static_value(x: Tensor) -> Any:
    """The value of `x` as NumPy where it is known, else `x`."""
    value = constant_value(x)
    return x if value is None else value


def prefer_static_rank(x: TensorLike) -> Any:
    """The rank of `x` as a number where it is known, else a tensor."""
    return prefer_static_value(rank(x))


def prefer_static_shape(x: TensorLike) -> Any:
    """The shape of `x` as numbers where it is known, else a tensor."""
    return prefer_static_value(shape(x))


def dimension_size(x: Tensor, axis: int) -> Any:
    """The size of a dimension as a number where it is known, else a tensor."""
    size = dimension_value(x.shape.with_rank_at_least(abs(axis))[axis])
    return shape(x)[axis] if size is None else size


def prefer_static_broadcast_shape(shape1: object, shape2: object, name: str = "prefer_static_broadcast_shape") -> Any:
    """The shape that two shapes broadcast to: a TensorShape where both are known, else an int32 Tensor."""
    with name_scope(name, values=[shape1, shape2]):

        def tensor_of(value: TensorLike) -> Tensor:
            if isinstance(value, TensorShape):
                if not value.is_fully_defined():
                    raise ValueError("Cannot broadcast from partially defined `TensorShape`.")
                value = value.as_list()
            return convert_to_tensor(value, name="shape", dtype=dtypes.int32)

        def known_shape(value: object) -> TensorShape | None:
            if isinstance(value, TensorShape):
                return value
            known = constant_value(tensor_of(value))
            return None if known is None else TensorShape(known)

        known = known_shape(shape1), known_shape(shape2)
        if None not in known:
            return broadcast_static_shape(*known)
        return broadcast_dynamic_shape(tensor_of(shape1), tensor_of(shape2))


def same_dynamic_shape(a: TensorLike, b: TensorLike) -> Tensor:
    """A bool scalar: whether two tensors have one shape in a run."""
    a, b = convert_to_tensor(a, name="a"), convert_to_tensor(b, name="b")

    def all_sizes_equal() -> Tensor:
        first = concat([shape(a), shape(b)], 0)
        return reduce_all(equal(first, concat([shape(b), shape(a)], 0)))

    return cond(equal(rank(a), rank(b)), all_sizes_equal, lambda: constant(False))


def pick_vector(cond: TensorLike, true_vector: TensorLike, false_vector: TensorLike, name: str = "pick_vector") -> Any:  # noqa: A002
    """One of two vectors by a bool scalar, without computing shapes that are not picked.

    Raises:
      TypeError: `cond` is not bool, or the vectors differ in dtype.
    """
    with name_scope(name, values=(cond, true_vector, false_vector)):
        cond = convert_to_tensor(cond, name="cond")
        if cond.dtype != dtypes.bool:
            raise TypeError(f"{cond}.dtype={cond.dtype} which is not {dtypes.bool}")
        known = constant_value(cond)
        if known is not None:
            return true_vector if known else false_vector
        first = convert_to_tensor(true_vector, name="true_vector")
        second = convert_to_tensor(false_vector, name="false_vector")
        if first.dtype != second.dtype:
            raise TypeError(f"{first}.dtype={first.dtype} does not match {second}.dtype={second.dtype}")
        count = shape(first)[0]
        return slice_(concat([first, second], 0), [where_v2(cond, 0, count)], [where(cond, count, -1)])


# ---- numbers and arrays ----


def log_combinations(n: TensorLike, counts: TensorLike, name: str = "log_combinations") -> Tensor:
    """log of the multinomial coefficient n! / prod(counts!), the last dimension of `counts` being of classes."""
    with name_scope(name, values=[n, counts]):
        n, counts = convert_to_tensor(n, name="n"), convert_to_tensor(counts, name="counts")
        orders = lgamma(n + 1)
        return orders - reduce_sum(lgamma(counts + 1), axis=[-1])


def rotate_transpose(x: TensorLike, shift: TensorLike, name: str = "rotate_transpose") -> Tensor:
    """`x` with its dimensions moved `shift` places to the right, the last ones coming to the front."""
    with name_scope(name, values=[x, shift]):
        x, shift = convert_to_tensor(x, name="x"), convert_to_tensor(shift, name="shift")
        check_ops.assert_integer(shift)
        known, ndims = constant_value(shift), x.shape.ndims
        if ndims is not None and known is not None:
            if ndims < 2 or not abs(known) % ndims:
                return x
            return transpose(x, perm=np.roll(np.arange(ndims), np.sign(known) * (abs(known) % ndims)))
        ndims = rank(x)
        places = where_v2(less(shift, 0), floormod(-shift, ndims), ndims - floormod(shift, ndims))
        front = arange(0, places)
        return transpose(x, perm=concat([arange(places, ndims), front], 0))


def pad(
    x: TensorLike, axis: TensorLike, front: bool = False, back: bool = False, value: TensorLike = 0, count: TensorLike = 1, name: str | None = None
) -> Tensor:
    """`x` with `count` entries `value` before (`front`) or after (`back`) it along `axis`.

    Raises:
      ValueError: neither side is chosen. TypeError: `count` is no integer.
    """
    with name_scope(name, "pad", [x, value, count]):
        x = convert_to_tensor(x, name="x")
        value = convert_to_tensor(value, dtype=x.dtype, name="value")
        count = convert_to_tensor(count, name="count")
        if not count.dtype.is_integer:
            raise TypeError(f"`count.dtype` (`{count.dtype.name}`) must be `int`-like.")
        if not front and not back:
            raise ValueError("At least one of `front`, `back` must be `True`.")
        ndims = x.shape.ndims if x.shape.ndims is not None else rank(x, name="ndims")
        axis = convert_to_tensor(axis, name="axis")
        known, final = constant_value(axis), None
        if known is None:
            axis = where_v2(axis < 0, ndims + axis, axis)
        else:
            axis = ndims + known if known < 0 else known
            if known >= 0 or x.shape.ndims is not None:
                final = _padded_shape(x.shape, int(axis), constant_value(count), front + back)
        rows = one_hot(
            indices=stack([axis if front else -1, axis if back else -1]), depth=ndims, axis=0, on_value=count,
            dtype=dtypes.int32,
        )  # fmt: skip
        x = pad_op(x, paddings=rows, constant_values=value)
        if final is not None:
            x.set_shape(final)
        return x


def _padded_shape(sizes: TensorShape, axis: int, count: Any, sides: int) -> TensorShape:
    middle = None if count is None else dimension_at_index(sizes, axis) + int(count) * sides
    return sizes[:axis].concatenate(TensorShape([middle])).concatenate(sizes[axis + 1 :])


def process_quadrature_grid_and_probs(
    quadrature_grid_and_probs: Any, dtype: Any, validate_args: bool, name: str | None = None
) -> tuple[Tensor, Tensor]:
    """(grid, probabilities that sum to 1) of a quadrature; Gauss-Hermite of degree 8 by default.

    Raises:
      ValueError: the two differ in length.
    """
    with name_scope(name, "process_quadrature_grid_and_probs", [quadrature_grid_and_probs]):
        if quadrature_grid_and_probs is None:
            grid, probs = (each.astype(dtype.as_numpy_dtype) for each in np.polynomial.hermite.hermgauss(deg=8))
            probs /= np.linalg.norm(probs, ord=1, keepdims=True)
            return convert_to_tensor(grid, name="grid", dtype=dtype), convert_to_tensor(probs, name="probs", dtype=dtype)
        grid, probs = quadrature_grid_and_probs
        grid = convert_to_tensor(grid, name="grid", dtype=dtype)
        probs = convert_to_tensor(probs, name="unnormalized_probs", dtype=dtype)
        probs /= norm(probs, ord=1, axis=-1, keepdims=True, name="probs")
        sizes = [dimension_value(each.shape.with_rank_at_least(1)[-1]) for each in (probs, grid)]
        message = "`quadrature_grid_and_probs` must be a `tuple` of same-length zero-th-dimension `Tensor`s"
        if None not in sizes:
            if sizes[0] != sizes[1]:
                raise ValueError(f"{message} (saw lengths {sizes[0]}, {sizes[1]})")
        elif validate_args:
            check = check_ops.assert_equal(dimension_size(probs, axis=-1), dimension_size(grid, axis=-1), message=message)
            with control_dependencies([check]):
                grid, probs = identity(grid), identity(probs)
        return grid, probs


# ---- Python ----


def gen_new_seed(seed: object, salt: str) -> int | None:
    """Another seed, from a seed and a word; None from None."""
    if seed is None:
        return None
    return int(hashlib.md5((str(seed) + salt).encode("utf-8")).hexdigest()[:8], 16) & 0x7FFFFFFF


def parent_frame_arguments() -> dict[str, Any]:
    """The arguments of the calling function, those behind ** among them and those behind * not."""
    names, _, keywords, values = inspect.getargvalues(inspect.stack()[1][0])
    return {**{name: values[name] for name in names}, **values.get(keywords, {})}


class AppendDocstring:
    """A decorator that appends a note, and descriptions of keyword arguments, to a docstring.

    Raises:
      ValueError: a name contains white space, or a description several lines.
    """

    def __init__(self, additional_note: str = "", kwargs_dict: dict[str, str] | None = None) -> None:
        bullets = []
        for key, value in sorted((kwargs_dict or {}).items()):
            if any(letter.isspace() for letter in key):
                raise ValueError(f'Parameter name "{key}" contains whitespace.')
            if "\n" in value.lstrip():
                raise ValueError(f'Parameter description for "{key}" contains newlines.')
            bullets.append(f"*  `{key}`: {value.lstrip()}")
        listed = "\n\n##### `kwargs`:\n\n" + "\n".join(bullets) if bullets else ""
        self._additional_note = additional_note + listed

    def __call__(self, fn: Callable) -> Callable:
        @functools.wraps(fn)
        def documented(*args: Any, **kwargs: Any) -> Any:
            return fn(*args, **kwargs)

        documented.__doc__ = self._additional_note if fn.__doc__ is None else f"{fn.__doc__}\n{self._additional_note}"
        return documented
