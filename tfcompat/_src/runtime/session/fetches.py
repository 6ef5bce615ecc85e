"""The fetches and feeds of Session.run: fetch structures are flattened to graph elements and rebuilt, feeds become arrays.

A fetch is compiled once to a function from the list of fetched values to the user's structure (`Fetches.rebuild`).
"""

from __future__ import annotations

import collections
import operator
from collections.abc import Callable, Hashable, Iterable, Mapping, MutableMapping, Sequence
from typing import Any, cast

import jax
import numpy as np
import numpy.typing as npt

from tfcompat._src.base import dtypes, errors, nest
from tfcompat._src.base.arrays import Array, NDArray, TensorLike, as_array, new_array
from tfcompat._src.graph.graph import Graph
from tfcompat._src.graph.operation import Operation
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.nodes.indexed_slices import IndexedSlices, IndexedSlicesValue
from tfcompat._src.nodes.sparse_tensor import SparseTensor, SparseTensorValue
from tfcompat._src.ops.ragged.tensor import RaggedTensor
from tfcompat._src.ops.ragged.value import RaggedTensorValue
from tfcompat._src.ops.state.session_tensor import TensorHandle

Rebuild = Callable[[Sequence[object]], Any]

_PLAIN = (Tensor, Operation, str)
_conversions: list[tuple[type, Callable[..., Any], Callable[..., Any] | None, Callable[..., Any] | None]] = []


def register_session_run_conversion_functions(
    tensor_type: type, fetch_function: Callable[..., Any], feed_function: Callable[..., Any] | None = None,
    feed_function_for_partial_run: Callable[..., Any] | None = None,
) -> None:  # fmt: skip
    """Registers how Session.run fetches and feeds objects of a type.

    Args:
      tensor_type: the type; subclasses count. fetch_function: object -> (tensors, list of their values -> result).
      feed_function: (object, value) -> (tensor, value) pairs. feed_function_for_partial_run: object -> tensors.

    Raises:
      ValueError: the type, or a class that it derives from, is registered already.
    """
    for kind, *_ in _conversions:
        if issubclass(tensor_type, kind):
            raise ValueError(f"{tensor_type} has already been registered so ignore it.")
    _conversions.insert(0, (tensor_type, fetch_function, feed_function, feed_function_for_partial_run))


class Fetches:
    """A fetch structure, flattened.

    Attributes:
      tensors: the tensors to fetch, each once. targets: the operations to run.
      rebuild: values of `tensors`, in order -> the structure with values in place of tensors and None in place of operations.
    """

    def __init__(self, graph: Graph, fetches: object) -> None:
        self._graph = graph
        self._slots: dict[Tensor, int] = {}
        self.targets: list[Operation] = []
        self.rebuild = self._mapper(fetches)
        self.tensors = list(self._slots)

    def _mapper(self, fetch: Any) -> Rebuild:
        """The function that rebuilds a part of the structure; adds its tensors and operations to this object."""
        if fetch is None:
            raise TypeError(f"Fetch argument {fetch!r} has invalid type {type(fetch)}")
        if isinstance(fetch, (list, tuple)):
            return self._sequence(fetch)
        if isinstance(fetch, collections.abc.Mapping):
            return self._mapping(fetch)
        if hasattr(type(fetch), "__attrs_attrs__"):
            parts = [self._mapper(getattr(fetch, a.name)) for a in type(fetch).__attrs_attrs__]
            return lambda values: type(fetch)(*[p(values) for p in parts])
        # Composite tensors are fetched as values of numpy arrays; then types that the program has registered, the newest first.
        if isinstance(fetch, SparseTensor):
            return self._composite([fetch.indices, fetch.values, fetch.dense_shape], SparseTensorValue)
        if isinstance(fetch, RaggedTensor):
            return self._composite(_ragged_parts(fetch), lambda *v: fetch._type_spec._from_components(v))
        if isinstance(fetch, IndexedSlices):
            rows = [fetch.values, fetch.indices] + ([] if fetch.dense_shape is None else [fetch.dense_shape])
            return self._composite(rows, lambda values, indices, shape=None: IndexedSlicesValue(values, indices, shape))
        for kind, fetch_function, _, _ in _conversions:
            if isinstance(fetch, kind):
                tensors, contract = fetch_function(fetch)
                parts = [self._element(t) for t in tensors]
                return lambda values: contract([p(values) for p in parts])
        return self._element(fetch)

    def _mapping(self, fetch: Mapping[object, object]) -> Rebuild:
        """Rebuilds a mapping as its type, made without arguments: a defaultdict loses its factory, as in 1.15."""
        kind, parts = type(fetch), {key: self._mapper(value) for key, value in fetch.items()}

        def rebuild(values: Sequence[object]) -> object:
            made = cast(MutableMapping[object, object], kind())
            for key, part in parts.items():
                made[key] = part(values)
            return made

        return rebuild

    def _sequence(self, fetch: Any) -> Rebuild:
        """Rebuilds a namedtuple as its type, other tuples as tuples and lists as lists."""
        parts = [self._mapper(f) for f in fetch]
        if isinstance(fetch, tuple) and hasattr(fetch, "_fields"):
            return lambda values: type(fetch)(*[p(values) for p in parts])
        make = tuple if isinstance(fetch, tuple) else list
        return lambda values: make([p(values) for p in parts])

    def _composite(self, tensors: Sequence[object], make: Callable[..., object]) -> Rebuild:
        """Rebuilds an object from the values of its component tensors."""
        parts = [self._element(t) for t in tensors]
        return lambda values: make(*[p(values) for p in parts])

    def _element(self, fetch: object) -> Rebuild:
        """Rebuilds a leaf: a tensor, an operation, or a name of either. Errors are worded as in 1.15."""
        try:
            element = self._graph.as_graph_element(fetch, allow_tensor=True, allow_operation=True)
        except TypeError as e:
            raise TypeError(f"Fetch argument {fetch!r} has invalid type {type(fetch)}, must be a string or Tensor. ({e})") from None
        except ValueError as e:
            raise ValueError(f"Fetch argument {fetch!r} cannot be interpreted as a Tensor. ({e})") from None
        except KeyError as e:
            raise ValueError(f"Fetch argument {fetch!r} cannot be interpreted as a Tensor. ({e})") from None
        if not self._graph.is_fetchable(element):
            raise errors.InaccessibleTensorError(
                f"Operation {(element.op if isinstance(element, Tensor) else element).name!r} has been marked as not fetchable. Typically "
                "this happens when it is defined in another function or code block. Use return values,explicit Python locals or "
                "TensorFlow collections to access it."
            )
        if isinstance(element, Operation):
            self.targets.append(element)
            return lambda values: None
        # A tensor that occurs several times has one slot in the list of values.
        slot = self._slots.setdefault(element, len(self._slots))
        return _no_array if element.dtype == dtypes.variant else operator.itemgetter(slot)


class _FetchHandler:
    """A fetch structure as Session.run resolves it: tensors and operations to run, and results put back into the structure.

    Args:
      graph: the graph. fetches: the structure. feeds: values by tensor; a tensor that is fed is not fetched.
    """

    def __init__(self, graph: Graph, fetches: object, feeds: dict[Tensor, object]) -> None:
        self._found, self._feeds = Fetches(graph, fetches), feeds

    def fetches(self) -> list[Tensor]:
        """The tensors to compute, each once."""
        return [t for t in self._found.tensors if t not in self._feeds]

    def targets(self) -> list[Operation]:
        """The operations to run, each once."""
        return list(dict.fromkeys(self._found.targets))

    def build_results(self, session: object, tensor_values: list[object]) -> object:
        """The structure with values in place of tensors and None in place of operations.

        Args:
          session: unused; handles of values are made by the run.
          tensor_values: the values of `fetches()`.
        """
        computed = iter(tensor_values)
        return self._found.rebuild([self._feeds[t] if t in self._feeds else next(computed) for t in self._found.tensors])


def _no_array(values: Sequence[object]) -> None:
    """The rebuild function of a variant tensor: it runs, but has no NumPy value, so the error comes after the run, as in 1.15."""
    raise errors.InternalError(None, None, f"Tensorflow type {dtypes.variant.as_datatype_enum} not convertible to numpy dtype.")


def structure_key(fetch: object) -> Hashable:
    """A hashable key of a fetch structure; TypeError where an element cannot be hashed."""
    # On the path of every run: plain elements are tested by exact type, without a recursive call.
    if type(fetch) in _PLAIN:
        return fetch
    if isinstance(fetch, (list, tuple)):
        return (type(fetch), *[f if type(f) in _PLAIN else structure_key(f) for f in fetch])
    if isinstance(fetch, collections.abc.Mapping):
        return (type(fetch), tuple([(k, structure_key(v)) for k, v in fetch.items()]))
    return fetch


def fed_tensors(graph: Graph, keys: Iterable[object]) -> list[Tensor]:
    """Resolves feed keys to tensors, each once; composite keys stand for each of their parts.

    Raises:
      TypeError: a key is not a tensor of the graph. ValueError: the tensor may not be fed.
    """
    tensors: dict[Tensor, None] = {}
    for key in keys:
        for part in fed_parts(key):
            tensor = _fed_tensor(graph, part)
            _check_feedable(graph, tensor)
            tensors[tensor] = None
    return list(tensors)


def convert_feeds(graph: Graph, feed_dict: dict[Any, Any]) -> dict[Tensor, Array]:
    """Resolves the keys of a feed_dict to tensors and converts their values; composite keys feed each of their parts.

    Raises:
      TypeError: a key is not a tensor of the graph, or a value is a tensor. ValueError: the tensor may not be fed. As `convert_feed` raises.
    """
    feeds: dict[Tensor, Array] = {}
    # A nested key, as (a, b), feeds each element of a value of the same structure.
    for key, value in nest.flatten_dict_items(feed_dict).items():
        for part, part_value in _feed_parts(key, value):
            tensor = _fed_tensor(graph, part)
            feeds[tensor] = convert_feed(tensor, part_value, key)
            _check_feedable(graph, tensor)
    return feeds


def is_plain_key(key: object) -> bool:
    """Whether a key of a feed_dict stands for one tensor, so that its value needs no splitting."""
    return isinstance(key, (Tensor, str))


def _fed_tensor(graph: Graph, key: object) -> Tensor:
    """Resolves a part of a feed key; raises TypeError unless it is a tensor of the graph."""
    try:
        tensor: Tensor = graph.as_graph_element(key, allow_tensor=True, allow_operation=False)
    except (KeyError, TypeError, ValueError) as e:
        raise TypeError(f"Cannot interpret feed_dict key as Tensor: {e.args[0]}") from None
    return tensor


def _check_feedable(graph: Graph, tensor: Tensor) -> None:
    if not graph.is_feedable(tensor):
        raise ValueError(f"Tensor {tensor} may not be fed.")


def _ragged_parts(value: RaggedTensor | RaggedTensorValue) -> list[object]:
    """The innermost values and the splits of a RaggedTensor or RaggedTensorValue."""
    splits = value.nested_row_splits
    return [value.flat_values, *splits]


def fed_parts(key: object) -> Sequence[object]:
    """The tensors that a feed key stands for in Session.partial_run_setup: the components of a composite key, else the key itself."""
    if isinstance(key, SparseTensor):
        return [key.indices, key.values, key.dense_shape]
    if isinstance(key, RaggedTensor):
        return _ragged_parts(key)
    if isinstance(key, IndexedSlices):
        return [key.values, key.indices] + ([] if key.dense_shape is None else [key.dense_shape])
    for kind, _, _, parts_function in _conversions:
        if isinstance(key, kind) and parts_function is not None:
            return list(parts_function(key))
    return [key]


def _feed_parts(key: object, value: Any) -> list[tuple[object, object]]:
    """Splits a feed into (tensor, value) pairs, by the components of a composite key."""
    if isinstance(key, (SparseTensor, RaggedTensor, IndexedSlices)):
        return list(zip(fed_parts(key), _ragged_parts(value) if isinstance(key, RaggedTensor) else value))
    for kind, _, feed_function, _ in _conversions:
        if isinstance(key, kind) and feed_function is not None:
            return list(feed_function(key, value))
    return [(key, value)]


class AnyShape:
    """Wraps a value to feed whose shape may be incompatible with the tensor's static shape."""

    __slots__ = ("value",)

    def __init__(self, value: object) -> None:
        self.value = value


def convert_feed(tensor: Tensor, value: object, key: object = None) -> Array:
    """Converts a fed value to an array of the tensor's dtype, in the first run of a feed_dict as in every later one.

    Args:
      key: the feed's key in the feed_dict, which errors name; None for the tensor.

    Raises:
      TypeError, OverflowError: it has no value in that dtype. ValueError: that, or its shape is incompatible with the tensor's static shape.
      errors.InternalError: an element of a string tensor is no string.
    """
    may_differ = isinstance(value, AnyShape)
    if isinstance(value, AnyShape):
        value = value.value
    dtype = tensor.dtype
    wanted = dtype.as_numpy_dtype
    # Fast paths: an array of the right dtype is not copied, and a JAX array of that dtype stays on its device.
    array: Array
    if type(value) is np.ndarray and value.dtype == wanted and wanted is not object:
        array = value
    elif type(value) is wanted and wanted is not str:
        array = as_array(value)
    elif isinstance(value, jax.Array):
        array = value if value.dtype == wanted else as_array(value, wanted)
    else:
        array = _to_array(tensor, value, wanted, tensor if key is None else key)
    sizes = tensor._sizes
    if sizes is not None and sizes != array.shape and not may_differ and not _fits(array.shape, sizes):
        raise ValueError(
            f"Cannot feed value of shape {tuple(array.shape)!r} for Tensor {tensor.name!r}, which has shape {str(tensor.shape)!r}"
        )
    # Strings are kept as bytes in object arrays, as 1.15 returns them.
    return _as_bytes(cast(NDArray, array)) if wanted is object else array


def _fits(shape: tuple[int, ...], sizes: tuple[int | None, ...]) -> bool:
    return len(sizes) == len(shape) and all([s is None or s == n for s, n in zip(sizes, shape)])


_REAL, _MOST = frozenset((np.float32, np.float64)), 3e38
_HOLD_INT32 = frozenset((np.int32, np.int64, np.float64))


def _to_array(tensor: Tensor, value: TensorLike, wanted: npt.DTypeLike, key: object) -> NDArray:
    """Converts a Python or NumPy value to a NumPy array of dtype `wanted`."""
    # The usual Python numbers, which the dtype holds.
    if (type(value) is float and wanted in _REAL and -_MOST < value < _MOST) or (type(value) is int and wanted in _HOLD_INT32 and -(2**31) <= value < 2**31):
        return as_array(value, dtype=wanted)
    if isinstance(value, Tensor):
        raise TypeError(
            "The value of a feed cannot be a tf.Tensor object. Acceptable feed values include Python scalars, strings, lists, numpy ndarrays, "
            f"or TensorHandles. For reference, the tensor object was {value} which was passed to the feed with key {key}."
        )
    if isinstance(value, TensorHandle):
        return as_array(value.value_for(tensor), dtype=wanted)
    # 1.15 rejects a Python int that the dtype cannot hold, but casts lists and arrays of ints without a check.
    if isinstance(value, int):
        held = None if wanted is object else _cast(value, wanted)
        if held is None or not _equal(held, value):
            raise TypeError(
                f"Type of feed value {value} with type {type(value)} is not compatible with Tensor type {wanted}. "
                "Try explicitly setting the type of the feed tensor to a larger type (e.g. int64)."
            )
        return held
    return _cast(value, wanted)


def _cast(value: TensorLike, wanted: npt.DTypeLike) -> NDArray:
    """Converts a value as NumPy did before NumPy 2: Python ints of lists wrap around in an integer dtype, as far as 64 bits hold them.

    Raises:
      OverflowError: an int has more than 64 bits. ValueError: lists of unequal length, or tensors in a list.
    """
    # Text in an array is read as an int for bool, as NumPy did; since NumPy 2 every text but "" is True.
    if isinstance(value, np.ndarray) and value.dtype.kind in "US" and np.dtype(wanted) == np.bool_:
        return new_array([int(text) != 0 for text in value.astype(np.str_).ravel().tolist()], np.bool_).reshape(value.shape)
    try:
        with np.errstate(over="ignore", invalid="ignore"):  # NumPy 2 warns of a float beyond the dtype's range
            return as_array(value, dtype=wanted)
    except NotImplementedError as e:  # of a tf.Tensor that NumPy asks for an array
        raise ValueError("setting an array element with a sequence.") from e
    except OverflowError:
        if wanted is object or np.dtype(wanted).kind not in "iu":
            raise
    numbers = as_array(value, dtype=object)
    whole = [int(number) for number in numbers.flat]
    if not all(-(2**63) <= n < (2**64 if wanted is np.uint64 else 2**63) for n in whole):
        raise OverflowError("Python int too large to convert to C long")
    return new_array([n % 2**64 for n in whole], np.uint64).reshape(numbers.shape).astype(wanted)


def _equal(held: NDArray, value: int) -> bool:
    """Returns whether a scalar array holds an int, up to the rounding of float64."""
    return bool(held.item() == value or held.astype(np.complex128) == value)


def _as_bytes(array: NDArray) -> NDArray:
    """Encodes each str of an object array in UTF-8; raises InternalError where an element is no string."""
    encoded = np.empty(array.shape, object)
    for index, item in np.ndenumerate(array):
        if isinstance(item, bytes):
            encoded[index] = bytes(item)
        elif isinstance(item, str):
            encoded[index] = item.encode()
        else:
            raise errors.InternalError(None, None, f"Unsupported object type {type(item).__name__}")
    return encoded
