"""tensorflow.contrib.layers.python.layers.utils: named outputs, static conditions, sizes as arguments."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from tfcompat._src.base.tensor_shape import TensorShape
from tfcompat._src.contrib.layers.common import collect, collections_for
from tfcompat._src.graph import constant_value as constants
from tfcompat._src.graph.scopes import get_collection, get_default_graph
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.ops.control.cond import cond
from tfcompat._src.variables.variable import Variable

if TYPE_CHECKING:
    from tfcompat._src.base.arrays import TensorLike

collect_named_outputs = collect
get_variable_collections = collections_for


class NamedOutputs(NamedTuple):
    """Outputs of a layer and their name."""

    name: str
    outputs: Any


def append_tensor_alias(tensor: Tensor, alias: str) -> Tensor:
    """Gives a tensor one more alias, without a trailing slash; returns the tensor."""
    tensor.aliases = [*getattr(tensor, "aliases", ()), alias.removesuffix("/")]
    return tensor


def get_tensor_aliases(tensor: Tensor) -> list[str]:
    """The aliases of a tensor, by default its name, without ":0"."""
    return getattr(tensor, "aliases", None) or [tensor.name.removesuffix(":0")]


def gather_tensors_aliases(tensors: Iterable[Tensor]) -> list[str]:
    """The aliases of all tensors."""
    return [alias for tensor in tensors for alias in get_tensor_aliases(tensor)]


def convert_collection_to_dict(collection: str, clear_collection: bool = False) -> OrderedDict[str, Tensor]:
    """The tensors of a collection by their aliases; the collection is emptied where `clear_collection`."""
    found = OrderedDict((alias, each) for each in get_collection(collection) for alias in get_tensor_aliases(each))
    if clear_collection:
        get_default_graph().clear_collection(collection)
    return found


def constant_value(value_or_tensor_or_var: object, dtype: object = None) -> Any:
    """A Python value as it is, the value of a Tensor where it is known, None for a variable.

    Raises:
      ValueError: the value is None, or a tensor or variable has another dtype.
    """
    value = value_or_tensor_or_var
    if value is None:
        raise ValueError("value_or_tensor_or_var cannot be None")
    if not isinstance(value, (Tensor, Variable)):
        return value
    if dtype and value.dtype != dtype:
        raise ValueError(f"It has the wrong type {value.dtype} instead of {dtype}")
    return None if isinstance(value, Variable) else constants.constant_value(value)


def static_cond(pred: object, fn1: Callable, fn2: Callable) -> Any:
    """What `fn1` gives where `pred` is true, else what `fn2` gives; TypeError where one is not callable."""
    for name, fn in (("fn1", fn1), ("fn2", fn2)):
        if not callable(fn):
            raise TypeError(f"{name} must be callable.")
    return fn1() if pred else fn2()


def smart_cond(pred: TensorLike, fn1: Callable, fn2: Callable, name: str | None = None) -> Any:
    """`static_cond` where the value of `pred` is known, else `tf.cond`."""
    known = constant_value(pred)
    return cond(pred, fn1, fn2, name=name) if known is None else static_cond(known, fn1, fn2)


def channel_dimension(shape: TensorShape, data_format: str, min_rank: int = 1) -> int:
    """The size of the channels in a shape; ValueError where it is unknown or the rank is below `min_rank`."""
    return _dimension(shape, 1 if data_format == "channels_first" else -1, min_rank)


def last_dimension(shape: TensorShape, min_rank: int = 1) -> int:
    """The last size of a shape; ValueError where it is unknown or the rank is below `min_rank`."""
    return _dimension(shape, -1, min_rank)


def _dimension(shape: TensorShape, axis: int, min_rank: int) -> int:
    if shape.ndims is None:
        raise ValueError("dims of shape must be known but is None")
    if shape.ndims < min_rank:
        raise ValueError(f"rank of shape must be at least {min_rank} not: {shape.ndims}")
    size = shape.as_list()[axis]
    if size is None:
        raise ValueError(f"dimension {axis} of shape must be known but is None: {shape}")
    return size


def two_element_tuple(int_or_tuple: int | Sequence[int] | TensorShape) -> tuple[int, int]:
    """An int twice, or a sequence of two as a tuple; ValueError for anything else."""
    if isinstance(int_or_tuple, (list, tuple)):
        if len(int_or_tuple) != 2:
            raise ValueError(f"Must be a list with 2 elements: {int_or_tuple}")
        return int(int_or_tuple[0]), int(int_or_tuple[1])
    if isinstance(int_or_tuple, int):
        return int_or_tuple, int_or_tuple
    if isinstance(int_or_tuple, TensorShape) and len(int_or_tuple) == 2:
        return int_or_tuple[0], int_or_tuple[1]
    raise ValueError("Must be an int, a list with 2 elements or a TensorShape of length 2")


def n_positive_integers(n: int, value: int | Sequence[int]) -> tuple[int, ...]:
    """`n` positive integers: one repeated, or a sequence of that many; ValueError for anything else."""
    if int(n) < 1 or int(n) != n:
        raise ValueError("n must be a positive integer")
    if isinstance(value, (list, tuple, TensorShape)):
        if len(value) != n:
            raise ValueError(f"Expected sequence of {n} positive integers, but received {value!r}")
        values = tuple(int(each) for each in value)
    else:
        values = (int(value),) * int(n)
    for each in values:
        if each < 1:
            raise ValueError(f"expected positive integer, but received {each}")
    return values
