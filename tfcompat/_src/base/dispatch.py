"""Dispatch: lets public functions accept values that are not tensors, such as ragged tensors, through code in other modules.

A function listed here runs first. If it raises TypeError or ValueError, its dispatchers are tried in turn, and the first that supports
the arguments computes the result. So calls with tensors cost only one more Python call.
"""

from __future__ import annotations

import functools
import inspect
import types
from collections.abc import Callable
from typing import Any, Protocol, TypeVar, cast

T = TypeVar("T")

# ---- public names of the functions with dispatch support ----

UNARY = frozenset(
    """abs acos acosh angle as_string asin asinh atan atanh bitwise.invert cast ceil clip_by_value conj cos cosh
    debugging.check_numerics decode_base64 digamma encode_base64 erf erfc exp expm1 floor identity imag is_finite is_inf
    is_nan lgamma log log1p log_sigmoid logical_not negative ones_like real reciprocal regex_replace rint round rsqrt
    saturate_cast sign sin sinh sqrt square string_strip string_to_hash_bucket string_to_hash_bucket_fast
    string_to_hash_bucket_strong string_to_number strings.length strings.regex_full_match strings.substr
    strings.unicode_script tan zeros_like io.decode_compressed""".split()
)
"""Elementwise functions of one value."""

UNARY_LIST = frozenset(("add_n", "string_join"))
"""Elementwise functions of a list of values."""

BINARY = frozenset(
    """add atan2 bitwise.bitwise_and bitwise.bitwise_or bitwise.bitwise_xor bitwise.left_shift bitwise.right_shift complex
    div div_no_nan divide equal floordiv floormod greater greater_equal less less_equal logical_and logical_or logical_xor
    maximum minimum multiply not_equal pow realdiv squared_difference subtract truediv truncatediv truncatemod""".split()
)
"""Elementwise functions of two values, with broadcasting."""

STRUCTURAL = frozenset(
    """batch_gather concat dynamic_partition expand_dims gather gather_nd math.unsorted_segment_max
    math.unsorted_segment_mean math.unsorted_segment_min math.unsorted_segment_prod math.unsorted_segment_sqrt_n
    math.unsorted_segment_sum one_hot rank reduce_all reduce_any reduce_join reduce_max reduce_mean reduce_min reduce_prod reduce_sum
    size squeeze stack tile where""".split()
)
"""Functions that gather, combine or reduce rows."""

SPARSE_UNARY = frozenset("abs erf math.bessel_i0e math.bessel_i1e negative sign sqrt square tanh".split())
"""Functions of one value that also take a SparseTensor: they map 0 to 0."""

MATRIX = frozenset(
    """cholesky linalg.adjoint linalg.det linalg.diag_part linalg.inv linalg.logdet linalg.matmul linalg.solve
    linalg.trace""".split()
)
"""Functions of a matrix that also take a LinearOperator."""

_NAMES = MATRIX | SPARSE_UNARY | UNARY | UNARY_LIST | BINARY | STRUCTURAL
_functions: dict[str, Callable[..., Any]] = {}
_watchers: list[Callable[[str, Callable[..., Any]], None]] = []


# ---- dispatchers ----


class OpDispatcher:
    """Handles calls that a function rejects; a subclass overrides `handle`."""

    NOT_SUPPORTED = object()

    def handle(self, args: tuple[Any, ...], kwargs: dict[Any, Any]) -> Any:
        """Returns the result of the call, or NOT_SUPPORTED."""
        return self.NOT_SUPPORTED

    def register(self, op: Callable[..., Any]) -> None:
        """Adds this dispatcher to a function with dispatch support; raises AssertionError for other functions."""
        if not hasattr(op, "_tf_dispatchers"):
            raise AssertionError("Dispatching not enabled for op %r" % (op,))
        op._tf_dispatchers.append(self)


class _Dispatched(Protocol):
    """A function with dispatch support."""

    _tf_dispatchers: list[OpDispatcher]

    def __call__(self, *args: object, **kwargs: object) -> Any: ...


def dispatch(op: _Dispatched, *args: object, **kwargs: object) -> Any:
    """Returns the result of the first dispatcher of `op` that supports the arguments, or OpDispatcher.NOT_SUPPORTED."""
    for dispatcher in op._tf_dispatchers:
        result = dispatcher.handle(args, kwargs)
        if result is not OpDispatcher.NOT_SUPPORTED:
            return result
    return OpDispatcher.NOT_SUPPORTED


def add_dispatch_list(target: Callable[..., Any]) -> _Dispatched:
    """Adds an empty list of dispatchers to `target` and returns it; raises AssertionError if it has one."""
    if hasattr(target, "_tf_dispatchers"):
        raise AssertionError(f"{target} already has a dispatch list")
    with_list = cast(_Dispatched, target)  # true after the next line
    with_list._tf_dispatchers = []
    return with_list


def add_dispatch_support(target: Callable[..., Any]) -> _Dispatched:
    """Returns a function that calls `target`, and its dispatchers if `target` raises TypeError or ValueError."""

    @functools.wraps(target)
    def call(*args: object, **kwargs: object) -> Any:
        try:
            return target(*args, **kwargs)
        # A function rejects unknown values in the conversion to tensors. An error in valid arguments finds no dispatcher and is raised again.
        except (TypeError, ValueError):
            result = dispatch(supporting, *args, **kwargs)
            if result is OpDispatcher.NOT_SUPPORTED:
                raise
            return result

    supporting = add_dispatch_list(call)
    return supporting


class TypeDispatcher(OpDispatcher):
    """Calls a function if an argument, or an entry of a list argument, is of given types."""

    def __init__(self, override_func: Callable[..., Any], kinds: tuple[type, ...]) -> None:
        self._override_func, self._kinds = override_func, kinds

    def _is_meant(self, value: object) -> bool:
        if isinstance(value, self._kinds):
            return True
        return isinstance(value, (list, tuple)) and any(isinstance(v, self._kinds) for v in value)

    def handle(self, args: tuple[Any, ...], kwargs: dict[Any, Any]) -> Any:
        if any(map(self._is_meant, (*args, *kwargs.values()))):
            return self._override_func(*args, **kwargs)
        return self.NOT_SUPPORTED


def dispatch_for_types(op: Callable[..., Any], *types: type) -> Callable[..., Any]:
    """Returns a decorator for the function that replaces `op` when an argument is of one of `types`.

    The decorator raises AssertionError if the parameters of the function and of `op` differ.
    """

    def register(function: Callable[..., Any]) -> Callable[..., Any]:
        # The arguments of a call are passed on unchanged, so both must have the same parameters.
        if list(inspect.signature(function).parameters) != list(inspect.signature(op).parameters):
            raise AssertionError("The decorated function's signature must exactly match the signature of the overridden op.")
        TypeDispatcher(function, types).register(op)
        return function

    return register


# ---- marking of public functions ----


def supported(value: T, names: tuple[str, ...]) -> T:
    """Returns `value`, with dispatch support if it is a function and one of its public names is listed above."""
    listed = _NAMES.intersection(names)
    if not listed or not isinstance(value, types.FunctionType):
        return value
    wrapped = add_dispatch_support(value)
    for name in sorted(listed):
        _functions[name] = wrapped
        for watcher in _watchers:
            watcher(name, wrapped)
    return cast(T, wrapped)  # it takes the arguments of `value`


def watch(watcher: Callable[[str, Callable[..., Any]], None]) -> None:
    """Calls `watcher(public name, function)` for each function with dispatch support, defined before or after this call."""
    _watchers.append(watcher)
    # Functions that are defined later are reported by `supported`.
    for name, function in list(_functions.items()):
        watcher(name, function)
