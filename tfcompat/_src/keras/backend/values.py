"""Variables, placeholders and constants of tf.keras.backend, and their values."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from tfcompat._src.base import dtypes, nest
from tfcompat._src.base.composite_tensor import CompositeTensor
from tfcompat._src.base.export import export
from tfcompat._src.base.tensor_shape import TensorShape
from tfcompat._src.graph.eager_tensor import EagerTensor
from tfcompat._src.graph.scopes import (
    executing_eagerly,
    executing_eagerly_outside_functions,
    get_default_graph,
    init_scope,
)
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.graph.tensor_like import is_tensor
from tfcompat._src.keras.backend.config import floatx
from tfcompat._src.keras.backend.session import get_graph, get_session, track_variable
from tfcompat._src.nodes.convert import constant as make_constant
from tfcompat._src.nodes.sparse_tensor import SparseTensor
from tfcompat._src.ops.array import constant as array_constants
from tfcompat._src.ops.array import fill
from tfcompat._src.ops.array.shape import shape as shape_of
from tfcompat._src.ops.composed.eye import eye as make_eye
from tfcompat._src.ops.composed.sparse_placeholder import sparse_placeholder
from tfcompat._src.ops.ragged.factory import placeholder as ragged_placeholder
from tfcompat._src.ops.sparse.convert import sparse_tensor_to_dense
from tfcompat._src.variables.initializers import RandomNormal, RandomUniform
from tfcompat._src.variables.variable import Variable

if TYPE_CHECKING:
    from tfcompat._src.base.arrays import TensorLike
    from tfcompat._src.base.dtypes import DTypeLike
    from tfcompat._src.base.tensor_shape import ShapeLike


@export("keras.backend.is_sparse")
def is_sparse(tensor: object) -> bool:
    """Whether `tensor` is a SparseTensor."""
    return isinstance(tensor, SparseTensor)


@export("keras.backend.to_dense")
def to_dense(tensor: object) -> Any:
    """A SparseTensor as a dense tensor; anything else as it is."""
    return sparse_tensor_to_dense(tensor) if is_sparse(tensor) else tensor


@export("keras.backend.variable")
def variable(value: object, dtype: object = None, name: str | None = None, constraint: Callable | None = None) -> Any:
    """A variable that Keras initializes; a SparseTensor for a SciPy sparse matrix.

    Args:
      value: initial value: an array, a tensor, or a SciPy sparse matrix.
      dtype: element type, by default floatx.
      name: name of the variable.
      constraint: function that projects the variable after an optimizer's update.
    """
    if hasattr(value, "tocoo"):
        entries = value.tocoo()
        sparse = SparseTensor(
            np.stack([entries.row, entries.col], axis=1), values=entries.data, dense_shape=entries.shape
        )
        sparse._keras_shape = entries.shape
        return sparse
    made = Variable(value, dtype=dtypes.as_dtype(dtype or floatx()), name=name, constraint=constraint)
    if isinstance(value, np.ndarray):
        made._keras_shape = value.shape
    elif hasattr(value, "shape"):
        made._keras_shape = int_shape(value)
    track_variable(made)
    return made


@export("keras.backend.constant")
def constant(value: Any, dtype: Any = None, shape: Any = None, name: str | None = None) -> Tensor:
    """A constant tensor, of type floatx by default."""
    return make_constant(value, dtype=dtype or floatx(), shape=shape, name=name or "Const")


def is_keras_tensor(x: object) -> bool:
    """Whether `x` came out of a Keras layer or Input; ValueError where it is no tensor of a graph."""
    if not isinstance(x, (Tensor, Variable, SparseTensor)):
        raise ValueError(f"Unexpectedly found an instance of type `{type(x)}`. Expected a symbolic tensor instance.")
    return hasattr(x, "_keras_history")


@export("keras.backend.placeholder")
def placeholder(
    shape: Any = None, ndim: int | None = None, dtype: Any = None, sparse: bool = False, name: str | None = None,
    ragged: bool = False,
) -> Any:  # fmt: skip
    """A tensor that is fed.

    Args:
      shape: its shape, with None for unknown sizes.
      ndim: its rank, used where there is no shape.
      dtype: element type, floatx by default.
      sparse, ragged: whether it is a SparseTensor or a RaggedTensor (whose None sizes behind the first are ragged).
      name: node name.

    Raises:
      ValueError: both sparse and ragged.
    """
    if sparse and ragged:
        raise ValueError("Cannot set both sparse and ragged to True when creating a placeholder.")
    dtype = dtype or floatx()
    if not shape and ndim:
        shape = (None,) * ndim
    with get_graph().as_default():
        if sparse:
            return sparse_placeholder(dtype, shape=shape, name=name)
        if not ragged:
            return array_constants.placeholder(dtype, shape=shape, name=name)
        ragged_rank = next((i for i, size in enumerate(shape[1:]) if size is not None), len(shape) - 1)
        return ragged_placeholder(dtype, ragged_rank=ragged_rank, value_shape=shape[ragged_rank + 1 :], name=name)


def is_placeholder(x: object) -> bool:
    """Whether `x` is a placeholder, or has one among its components."""
    if isinstance(x, CompositeTensor):
        return any(is_placeholder(part) for part in nest.flatten(x, expand_composites=True))
    return isinstance(x, Tensor) and x.op.type == "Placeholder"


def freezable_variable(value: TensorLike, shape: ShapeLike = None, name: str | None = None) -> Tensor:
    """A placeholder with a default whose `update_value` changes what functions made later see."""
    made = array_constants.placeholder_with_default(value, shape=shape, name=name)
    made._initial_value = made._current_value = value
    made.update_value = lambda new: setattr(made, "_current_value", new)
    made.get_value = lambda: made._current_value
    return made


@export("keras.backend.shape")
def shape(x: TensorLike) -> Tensor:
    """The sizes of `x` as an int32 tensor."""
    return shape_of(x)


@export("keras.backend.int_shape")
def int_shape(x: Any) -> tuple | None:
    """The sizes of `x` known while the graph is built, None for unknown ones; None where the rank is unknown."""
    found = x.shape
    if isinstance(found, tuple):
        return found
    return None if found.ndims is None else tuple(found.as_list())


@export("keras.backend.ndim")
def ndim(x: Any) -> int | None:
    """The rank of `x`, or None."""
    return TensorShape(x.shape).ndims


@export("keras.backend.dtype")
def dtype(x: Any) -> str:
    """The name of the element type of `x`."""
    return x.dtype.base_dtype.name


@export("keras.backend.count_params")
def count_params(x: Any) -> int:
    """The number of elements of `x`."""
    return np.prod(x.shape.as_list())


@export("keras.backend.eval")
def evaluate(x: object) -> Any:
    """The value of a tensor or variable, dense."""
    return get_value(to_dense(x))


def _filled(make: Callable, shape: object, dtype: DTypeLike, name: str | None) -> Any:
    """A variable filled by `make`, or a tensor where its shape is not known."""
    with init_scope():
        dtype = dtype or floatx()
        value = make(shape=shape, dtype=dtypes.as_dtype(dtype), name=name)
        if all(value.shape.as_list()):
            return variable(value, dtype=dtype, name=name)
        track_variable(value)
        return value


@export("keras.backend.zeros")
def zeros(shape: Any, dtype: Any = None, name: str | None = None) -> Any:
    """A variable full of zeros; a tensor where a size is 0 or unknown."""
    return _filled(fill.zeros, shape, dtype, name)


@export("keras.backend.ones")
def ones(shape: Any, dtype: Any = None, name: str | None = None) -> Any:
    """A variable full of ones; a tensor where a size is 0 or unknown."""
    return _filled(fill.ones, shape, dtype, name)


@export("keras.backend.eye")
def eye(size: int, dtype: DTypeLike | None = None, name: str | None = None) -> Any:
    """A variable that is the identity matrix with `size` rows."""
    dtype = dtype or floatx()
    return variable(make_eye(size, dtype=dtypes.as_dtype(dtype)), dtype, name)


@export("keras.backend.zeros_like")
def zeros_like(x: TensorLike, dtype: DTypeLike | None = None, name: str | None = None) -> Tensor:
    """Zeros of the shape of `x`."""
    return fill.zeros_like(x, dtype=dtype, name=name)


@export("keras.backend.ones_like")
def ones_like(x: TensorLike, dtype: object = None, name: str | None = None) -> Tensor:
    """Ones of the shape of `x`."""
    return fill.ones_like(x, dtype=dtype, name=name)


def identity(x: TensorLike, name: str | None = None) -> Tensor:
    """A tensor with the value of `x`."""
    return array_constants.identity(x, name=name)


def _random_variable(
    initializer: Callable, a: float, b: float, shape: object, dtype: DTypeLike, name: str | None, seed: int | None
) -> Any:
    dtype = dtype or floatx()
    seed = np.random.randint(10**9) if seed is None else seed
    return variable(initializer(a, b, dtype=dtypes.as_dtype(dtype), seed=seed)(shape), dtype=dtype, name=name)


@export("keras.backend.random_uniform_variable")
def random_uniform_variable(
    shape: Any, low: float, high: float, dtype: Any = None, name: str | None = None, seed: int | None = None
) -> Any:
    """A variable drawn from [low, high); the seed is by default drawn from NumPy's global generator."""
    return _random_variable(RandomUniform, low, high, shape, dtype, name, seed)


@export("keras.backend.random_normal_variable")
def random_normal_variable(
    shape: Any, mean: float, scale: float, dtype: Any = None, name: str | None = None, seed: int | None = None
) -> Any:
    """A variable drawn from a normal distribution; the seed is by default drawn from NumPy's global generator."""
    return _random_variable(RandomNormal, mean, scale, shape, dtype, name, seed)


# ---- values ----


@export("keras.backend.get_value")
def get_value(x: Any) -> Any:
    """The value of a tensor or variable, of graphs in Keras' session; what is none comes back as it is."""
    if not is_tensor(x):
        return x
    if executing_eagerly() or isinstance(x, EagerTensor):
        return x.numpy()
    if not getattr(x, "_in_graph_mode", True):
        with init_scope():
            return x.numpy()
    return x.eval(session=get_session((x,)))


@export("keras.backend.batch_get_value")
def batch_get_value(tensors: list[Any]) -> list[Any]:
    """The values of several tensors, in one run; RuntimeError inside a function body."""
    if executing_eagerly():
        return [x.numpy() for x in tensors]
    if get_default_graph().building_function:
        raise RuntimeError("Cannot get value inside Tensorflow graph function.")
    return get_session(tensors).run(tensors) if tensors else []


def _assignment(x: Any, value: Any) -> tuple[Any, Tensor, np.ndarray]:
    """An operation that assigns to `x`, kept with it for values of the same rank; its placeholder; the value for it."""
    value = np.asarray(value, dtype=dtype(x))
    if not hasattr(x, "_assign_placeholder"):
        x._assign_placeholder = array_constants.placeholder(x.dtype.base_dtype, shape=[None] * value.ndim)
        x._assign_op = x.assign(x._assign_placeholder)
    return x._assign_op, x._assign_placeholder, value


@export("keras.backend.set_value")
def set_value(x: object, value: object) -> None:
    """Sets a variable in Keras' session to a NumPy value of its shape."""
    batch_set_value([(x, value)])


@export("keras.backend.batch_set_value")
def batch_set_value(tuples: list[tuple[Any, Any]]) -> None:
    """Sets several variables, given as pairs (variable, value), in one run."""
    if executing_eagerly_outside_functions():
        with init_scope():
            for x, value in tuples:
                x.assign(np.asarray(value, dtype=dtype(x)))
        return
    assignments = [_assignment(x, value) for x, value in tuples]
    if assignments:
        get_session().run([op for op, _, _ in assignments], feed_dict={fed: value for _, fed, value in assignments})


def cast_variables_to_tensor(tensors: object) -> Any:
    """The nest `tensors` with an identity of each variable in it."""
    return nest.map_structure(lambda x: identity(x) if isinstance(x, Variable) else x, tensors)
