"""The functions of `tensorflow.python.autograph.utils`: what converted code needs besides operators."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from tfcompat._src.base import dtypes
from tfcompat._src.gradients.py_function import py_function
from tfcompat._src.graph.eager_tensor import EagerTensor
from tfcompat._src.graph.scopes import control_dependencies
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.graph.tensor_like import is_tensor as is_one_tensor
from tfcompat._src.nodes import raw
from tfcompat._src.nodes.convert import convert_to_tensor
from tfcompat._src.nodes.sparse_tensor import SparseTensor
from tfcompat._src.ops.flow import list_functions
from tfcompat._src.ops.flow.tensor_array import TensorArray

if TYPE_CHECKING:
    from tfcompat._src.base.arrays import TensorLike

# ---- what values are ----


def is_tensor(*args: object) -> bool:
    """Whether any argument is a tensor."""
    return any(map(is_one_tensor, args))


def is_dense_tensor(t: object) -> bool:
    """Whether a value is a tensor, and no SparseTensor."""
    return is_one_tensor(t) and not isinstance(t, SparseTensor)


def is_tensor_array(t: object) -> bool:
    """Whether a value is a TensorArray."""
    return isinstance(t, TensorArray)


def is_tensor_list(t: Any) -> bool:
    """Whether a value is a TensorList: a variant that is a scalar, or of unknown shape."""
    return is_one_tensor(t) and t.dtype == dtypes.variant and not t.shape.ndims


def is_range_tensor(t: object) -> bool:
    """Whether a value is what `tf.range` adds to a graph."""
    return isinstance(t, Tensor) and not isinstance(t, EagerTensor) and t.op.type == "Range"


# ---- values ----


def capitalize_initial(s: str) -> str:
    """A string with its first character in upper case."""
    return s[:1].upper() + s[1:]


def alias_tensors(*args: object) -> Any:
    """The arguments, of which tensors become copies of themselves; one argument alone as it is, several as an iterator.

    Raises:
      ValueError: there are none.
    """
    if not args:
        raise ValueError("at least one argument required")
    found = (raw.Identity(each) if isinstance(each, Tensor) else each for each in args)
    return found if len(args) > 1 else next(found)


def get_range_len(start: Any, limit: Any, delta: Any) -> Tensor:
    """How many elements `tf.range(start, limit, delta)` has, as a tensor."""
    distance = convert_to_tensor(limit - start)
    whole = distance // delta
    rest = raw.Cast(raw.NotEqual(distance % delta, raw.ZerosLike(whole)), DstT=distance.dtype)
    return raw.Maximum(whole + rest, raw.ZerosLike(whole))


def control_dependency_on_returns(return_value: object) -> Any:
    """A block whose operations wait for what a function gave: one value, or a list or tuple of them, or None for nothing.

    Args:
      return_value: what it gave; a TensorArray stands for its flow.
    """
    if return_value is None:
        return contextlib.nullcontext()
    values = return_value if isinstance(return_value, (list, tuple)) else (return_value,)
    return control_dependencies([each.flow if isinstance(each, TensorArray) else each for each in values])


# ---- lists ----


def dynamic_list_append(target: Any, element: Any) -> Any:
    """The TensorArray, TensorList or other list with `element` at its end."""
    if isinstance(target, TensorArray):
        return target.write(target.size(), element)
    if isinstance(target, Tensor):
        return raw.TensorListPushBack(target, element)
    target.append(element)
    return target


class TensorList:
    """A TensorList with methods of Python's lists.

    Args:
      shape, dtype: of the elements.

    Attributes:
      list_: the tensor.
    """

    def __init__(self, shape: Any, dtype: Any) -> None:
        self.dtype, self.shape = dtype, shape
        self.clear()

    def append(self, value: TensorLike) -> None:
        """Adds an element."""
        self.list_ = raw.TensorListPushBack(self.list_, value)

    def pop(self) -> Tensor:
        """Removes the last element, and gives it."""
        self.list_, value = list_functions.tensor_list_pop_back(self.list_, self.dtype)
        return value

    def clear(self) -> None:
        """Removes all elements."""
        self.list_ = list_functions.empty_tensor_list(self.shape, self.dtype)

    def count(self) -> Any:
        """How many elements there are, as a tensor."""
        return raw.TensorListLength(self.list_)

    def __getitem__(self, key: object) -> Tensor:
        return list_functions.tensor_list_get_item(self.list_, key, self.dtype)

    def __setitem__(self, key: TensorLike, value: TensorLike) -> None:
        self.list_ = raw.TensorListSetItem(self.list_, key, value)


# ---- Python functions ----


class MatchDType(NamedTuple):
    """The dtype of the argument at `arg_number`."""

    arg_number: int


def _dtype_of(wanted: object, args: Sequence[Any]) -> Any:
    """A dtype where a MatchDType may stand for it.

    Raises:
      ValueError: the argument is no tensor.
    """
    if not isinstance(wanted, MatchDType):
        return wanted
    found = args[wanted.arg_number]
    if not is_one_tensor(found):
        raise ValueError(f"argument {wanted.arg_number} was used with MatchDType and must be a tf.Tensor, but was {type(found)} instead")
    return found.dtype


def wrap_py_func(
    f: Callable[..., Any], return_dtypes: object, args: Sequence[Any], kwargs: Mapping[str, Any] | None = None, use_dummy_return: bool = False
) -> Any:
    """Calls a Python function each time the operation runs; arguments that are tensors come to it as eager tensors.

    Args:
      f: the function.
      return_dtypes: the dtype of what it gives, or a list or tuple of them; a MatchDType means that of an argument.
      args, kwargs: its arguments.
      use_dummy_return: whether the result is 1 whatever it gives.

    Raises:
      ValueError: `use_dummy_return` with `return_dtypes`, or a MatchDType of what is no tensor.
    """
    if return_dtypes and use_dummy_return:
        raise ValueError("if use_dummy_return is True, return_dtypes must be empty")
    named = dict(kwargs or {})
    tensors = [each for each in (*args, *named.values()) if is_one_tensor(each)]

    def run(*values: Any) -> Any:
        given = iter(values)
        positional = [next(given) if is_one_tensor(each) else each for each in args]
        result = f(*positional, **{name: next(given) if is_one_tensor(each) else each for name, each in named.items()})
        return 1 if use_dummy_return else result

    many = isinstance(return_dtypes, (list, tuple)) and not isinstance(return_dtypes, MatchDType)
    wanted = [_dtype_of(each, args) for each in return_dtypes] if many else _dtype_of(return_dtypes, args)
    return py_function(run, tensors, dtypes.int32 if use_dummy_return else wanted)
