"""What NumPy's functions took and gave before 1.24 and 2.0: for `tfcompat run` only."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

_GAVE_LISTS = ("atleast_1d", "atleast_2d", "atleast_3d", "broadcast_arrays", "gradient", "meshgrid")
_TOOK_UNEQUAL = (
    "amax", "amin", "append", "argmax", "argmin", "argsort", "array_split", "asarray_chkfinite", "asfortranarray",
    "ascontiguousarray", "atleast_1d", "copy", "delete", "empty_like", "expand_dims", "full_like", "insert", "max", "mean", "min", "ones_like",
    "prod", "ravel", "repeat", "reshape", "sort", "squeeze", "sum", "swapaxes", "take", "tile", "transpose", "unique", "where", "zeros_like",
)  # fmt: skip
"""Functions whose first argument may be a sequence of sequences of unequal length: an array of objects."""
_TOOK_GENERATORS = ("column_stack", "dstack", "hstack", "stack", "vstack")


_UNEQUAL = "inhomogeneous shape"
"""Part of the message of NumPy's error for sequences of unequal length."""


def _with_newshape(reshape: Callable[..., Any]) -> Callable[..., Any]:
    """`np.reshape` that takes its shape under the old keyword too."""

    @functools.wraps(reshape)
    def wrapped(a: object, *arguments: Any, **options: Any) -> Any:
        if "newshape" in options:
            options["shape"] = options.pop("newshape")
        return reshape(a, *arguments, **options)

    return wrapped


def _giving_lists(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function whose several arrays are a list, as programs append to it."""

    @functools.wraps(function)
    def wrapped(*arguments: Any, **options: Any) -> Any:
        found = function(*arguments, **options)
        return list(found) if isinstance(found, tuple) else found

    return wrapped


def _objects(value: object) -> Any:
    """A list of tensors of a graph, or a nest of such lists, as an array of objects; else the value."""
    if not isinstance(value, (list, tuple)):
        return value
    shape: list[int] = []
    flat: list[Any] = [value]
    while flat and all(isinstance(each, (list, tuple)) and len(each) == len(flat[0]) for each in flat):
        shape.append(len(flat[0]))
        flat = [inner for each in flat for inner in each]
    if not any(hasattr(each, "graph") and hasattr(each, "op") for each in flat):
        return value
    found = np.empty(len(flat), object)
    for place, each in enumerate(flat):
        found[place] = each
    return found.reshape(shape)


def _of_tensors(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function that takes lists of tensors of a graph as arrays of objects, whose operators then make nodes."""

    @functools.wraps(function)
    def wrapped(a: object, *arguments: Any, **options: Any) -> Any:
        try:
            return function(a, *arguments, **options)
        except NotImplementedError:
            objects = _objects(a)
            if objects is a:
                raise
            return function(objects, *arguments, **options)

    return wrapped


def _of_any_sequence(array: Callable[..., Any]) -> Callable[..., Any]:
    """`np.array` that makes an array of objects of sequences of unequal length, and copies where `copy=False` cannot be kept."""

    @functools.wraps(array)
    def wrapped(object: object, dtype: object = None, *arguments: Any, **options: Any) -> Any:
        if options.get("copy") is False:
            options["copy"] = None
        try:
            return array(object, dtype, *arguments, **options)
        except NotImplementedError:
            objects = _objects(object)
            if objects is object or dtype is not None:
                raise
            return objects
        except ValueError as e:
            if dtype is not None or _UNEQUAL not in str(e):
                raise
            return array(object, np.object_, *arguments, **options)

    return wrapped


def _of_unequal(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function of an array that takes a sequence of sequences of unequal length as an array of objects."""

    @functools.wraps(function)
    def wrapped(*arguments: Any, **options: Any) -> Any:
        try:
            return function(*arguments, **options)
        except ValueError as e:
            if _UNEQUAL not in str(e) or not arguments:
                raise
            return function(np.array(arguments[0], np.object_), *arguments[1:], **options)

    return wrapped


def _of_bytes(fromstring: Callable[..., Any]) -> Callable[..., Any]:
    """`np.fromstring` that reads the bytes of numbers too."""

    @functools.wraps(fromstring)
    def wrapped(string: Any, dtype: Any = float, count: int = -1, *, sep: str = "", like: object = None) -> Any:
        if sep:
            return fromstring(string, dtype, count, sep=sep)
        return np.frombuffer(string.encode() if isinstance(string, str) else string, dtype, count).copy()

    return wrapped


def _of_generators(stack: Callable[..., Any]) -> Callable[..., Any]:
    """A function of a sequence of arrays that takes a generator of them too."""

    @functools.wraps(stack)
    def wrapped(arrays: object, *arguments: Any, **options: Any) -> Any:
        return stack(list(arrays) if isinstance(arrays, Iterator) else arrays, *arguments, **options)

    return wrapped


def _normed(histogram: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(histogram)
    def wrapped(*arguments: Any, normed: object = None, **options: Any) -> Any:
        return histogram(*arguments, **(options if normed is None else {"density": normed, **options}))

    return wrapped


def restore() -> None:
    """Puts such functions in the place of NumPy's, where they differ."""
    np.fromstring = _of_bytes(np.fromstring)
    for name in ("sum", "prod"):
        setattr(np, name, _of_tensors(getattr(np, name)))
    for name in ("histogram", "histogram2d", "histogramdd"):
        setattr(np, name, _normed(getattr(np, name)))
    if "newshape" not in inspect.signature(np.reshape).parameters:
        np.reshape = _with_newshape(np.reshape)
    for name in _GAVE_LISTS:
        setattr(np, name, _giving_lists(getattr(np, name)))
    for name in _TOOK_GENERATORS:
        setattr(np, name, _of_generators(getattr(np, name)))
    # np.save and np.savez call np.asanyarray.
    for name in ("array", "asarray", "asanyarray"):
        setattr(np, name, _of_any_sequence(getattr(np, name)))
    for name in _TOOK_UNEQUAL:
        setattr(np, name, _of_unequal(getattr(np, name)))
    np.random.permutation = _of_unequal(np.random.permutation)
    inspect.unwrap(np.ndim).__globals__["asarray"] = np.asarray  # of np.ndim, np.shape and np.size
