"""RNNCell, the base of all cells: one step of a recurrent network, and its zero state."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tfcompat._src.base import dtypes, nest
from tfcompat._src.base.export import export
from tfcompat._src.base.tensor_shape import as_shape
from tfcompat._src.graph.constant_value import constant_value
from tfcompat._src.graph.scopes import name_scope
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.keras.utils.generic_utils import serialize_keras_object
from tfcompat._src.layers.scoped_layer import Layer
from tfcompat._src.nodes.convert import constant, convert_to_tensor
from tfcompat._src.ops.array.fill import zeros
from tfcompat._src.ops.array.join import concat
from tfcompat._src.ops.array.shape import expand_dims
from tfcompat._src.ops.array.shape import shape as shape_of
from tfcompat._src.variables.collections import trainable_variables
from tfcompat._src.variables.partitioned import PartitionedVariable
from tfcompat._src.variables.scope import get_variable_scope, variable_scope

if TYPE_CHECKING:
    from tfcompat._src.base.arrays import TensorLike
    from tfcompat._src.base.dtypes import DTypeLike
    from tfcompat._src.base.tensor_shape import ShapeLike

ASSERT_LIKE_RNNCELL_ERROR_REGEXP = "is not an RNNCell"
BIAS, KERNEL = "bias", "kernel"


def assert_like_rnncell(cell_name: str, cell: object) -> None:
    """Raises TypeError unless `cell`, the argument `cell_name`, can be called and has sizes and an initial state."""
    lacking = []
    if not hasattr(cell, "output_size"):
        lacking.append("'output_size' property is missing")
    if not hasattr(cell, "state_size"):
        lacking.append("'state_size' property is missing")
    if not (hasattr(cell, "zero_state") or hasattr(cell, "get_initial_state")):
        lacking.append("either 'zero_state' or 'get_initial_state' method is required")
    if not callable(cell):
        lacking.append("is not callable")
    if lacking:
        raise TypeError(f"The argument {cell_name!r} ({cell}) is not an RNNCell: {', '.join(lacking)}.")


def _size_vector(size: TensorLike, what: str) -> tuple[Tensor | None, Any]:
    """Sizes (int, TensorShape, list or Tensor) as a vector, None where some are unknown, and what is known of them."""
    if isinstance(size, Tensor):
        known = constant_value(size)
        if size.shape.ndims == 0:
            return expand_dims(size, 0), known
        if size.shape.ndims != 1:
            raise ValueError(f"{what} tensor must be either a scalar or vector, but saw tensor: {size}")
        return size, known
    shape = as_shape(size)
    if not shape.is_fully_defined():
        return None, shape
    return constant(shape.as_list(), dtype=dtypes.int32), shape


def concat_sizes(prefix: object, suffix: object, static: bool = False) -> Any:
    """The shape that begins with `prefix` (batch, or time and batch) and ends with `suffix`.

    Args:
      prefix, suffix: int, TensorShape, list, or a Tensor [] or [n] of an integer type.
      static: whether the result is a list with None for unknown sizes (None for unknown rank) instead of a Tensor.

    Raises:
      ValueError: a Tensor is asked for and a size is unknown, or a Tensor given has more than one dimension.
    """
    first, known_first = _size_vector(prefix, "prefix")
    last, known_last = _size_vector(suffix, "suffix")
    if static:
        shape = as_shape(known_first).concatenate(as_shape(known_last))
        return shape.as_list() if shape.ndims is not None else None
    if first is None or last is None:
        raise ValueError(f"Provided a prefix or suffix of None: {prefix} and {suffix}")
    return concat((first, last), 0)


def zero_state_tensors(state_size: object, batch_size: object, dtype: DTypeLike) -> Any:
    """Zeros of shape [batch, ...size] for each size of the nest `state_size`."""

    def of_size(size: object) -> Tensor:
        state = zeros(concat_sizes(batch_size, size), dtype=dtype)
        state.set_shape(concat_sizes(batch_size, size, static=True))
        return state

    return nest.map_structure(of_size, state_size)


def check_supported_dtype(dtype: DTypeLike) -> None:
    """Raises ValueError for a dtype that is neither floating nor complex; None passes."""
    if dtype is None:
        return
    dtype = dtypes.as_dtype(dtype)
    if not (dtype.is_floating or dtype.is_complex):
        raise ValueError(f"RNN cell only supports floating point inputs, but saw dtype: {dtype}")


def check_input_dtypes(inputs: object) -> None:
    """Raises ValueError where a tensor of a nest is neither floating nor complex."""
    for tensor in nest.flatten(inputs):
        check_supported_dtype(tensor.dtype)


def known_depth(inputs_shape: ShapeLike) -> int:
    """The last size of the inputs' shape; ValueError where it is unknown."""
    sizes = as_shape(inputs_shape).as_list()
    if sizes[-1] is None:
        raise ValueError(f"Expected inputs.shape[-1] to be known, saw shape: {tuple(sizes)}")
    return sizes[-1]


@export("nn.rnn_cell.RNNCell", "contrib.rnn.RNNCell")
class RNNCell(Layer):
    """One step of a recurrent network: `outputs, new_state = cell(inputs, state)`.

    A subclass defines `state_size`, `output_size` and `call(inputs, state)`, which may make variables with
    tf.get_variable.

    Args:
      trainable: whether the weights are trained.
      name: name of the cell and of its variable scope; by default made of the class name.
      dtype: element type of the weights; by default that of the first input.
    """

    def __init__(self, trainable=True, name=None, dtype=None, **kwargs) -> None:
        super().__init__(trainable=trainable, name=name, dtype=dtype, **kwargs)
        self._is_tf_rnn_cell = True

    def __call__(self, inputs: Any, state: Any, scope: Any = None) -> Any:
        """One step.

        Args:
          inputs: Tensor [batch, depth], or a nest of tensors that the cell takes.
          state: tensors [batch, size] in the structure of `state_size`.
          scope: variable scope of this call; by default the class name.

        Returns:
          the outputs, of `output_size`, and the new state, in the structure of `state`.
        """
        if scope is not None:
            with variable_scope(scope, custom_getter=self._rnn_get_variable) as scope:
                return super().__call__(inputs, state, scope=scope)
        if getattr(self, "rnncell_scope", None) is None:
            self.rnncell_scope = variable_scope(get_variable_scope(), custom_getter=self._rnn_get_variable)
        with self.rnncell_scope:
            return super().__call__(inputs, state)

    def _rnn_get_variable(self, getter: Any, *args: Any, **kwargs: Any) -> Any:
        variable = getter(*args, **kwargs)
        part = next(iter(variable)) if isinstance(variable, PartitionedVariable) else variable
        trained = any(part is v for v in trainable_variables())
        kept = self._trainable_weights if trained else self._non_trainable_weights
        if all(variable is not v for v in kept):
            kept.append(variable)
        return variable

    @property
    def state_size(self) -> Any:
        """The sizes of the state without the batch: int, TensorShape, or a nest of them."""
        raise NotImplementedError("Abstract method")

    @property
    def output_size(self) -> Any:
        """The sizes of the outputs without the batch: int, TensorShape, or a nest of them."""
        raise NotImplementedError("Abstract method")

    def build(self, inputs_shape: Any) -> None:
        pass

    def get_config(self) -> dict[str, Any]:
        return super().get_config()

    def get_initial_state(self, inputs: Any = None, batch_size: Any = None, dtype: Any = None) -> Any:
        """The zero state, for the batch and dtype of `inputs` or for those given.

        Args:
          inputs: Tensor [batch, ...], or None.
          batch_size: int or scalar Tensor. dtype: element type.

        Raises:
          ValueError: batch size and dtype are not known, or differ from those of `inputs`.
        """
        if inputs is not None:
            inputs = convert_to_tensor(inputs, name="inputs")
            given = constant_value(batch_size) if isinstance(batch_size, Tensor) else batch_size
            size = inputs.shape.dims[0].value
            if batch_size is not None and size != given:
                raise ValueError(
                    "batch size from input tensor is different from the input param. "
                    f"Input tensor batch: {size}, batch_size: {batch_size}"
                )
            if dtype is not None and inputs.dtype != dtype:
                raise ValueError(
                    "dtype from input tensor is different from the input param. "
                    f"Input tensor dtype: {inputs.dtype}, dtype: {dtype}"
                )
            batch_size, dtype = size or shape_of(inputs)[0], inputs.dtype
        if batch_size is None or dtype is None:
            raise ValueError(
                "batch_size and dtype cannot be None while constructing initial state: "
                f"batch_size={batch_size}, dtype={dtype}"
            )
        return self.zero_state(batch_size, dtype)

    def zero_state(self, batch_size: Any, dtype: Any) -> Any:
        """Zeros [batch, size] in the structure of `state_size`.

        Args:
          batch_size: int or scalar Tensor. dtype: element type.
        """
        with name_scope(type(self).__name__ + "ZeroState", values=[batch_size]):
            return zero_state_tensors(self.state_size, batch_size, dtype)


@export("contrib.rnn.LayerRNNCell")
class LayerRNNCell(RNNCell):
    """A cell that makes its weights in `build`, as layers do; `call` makes none.

    Args:
      trainable, name, dtype: see RNNCell.
    """

    _arguments: tuple[str, ...] = ()

    def __call__(self, inputs: object, state: object, scope: object = None, *args: Any, **kwargs: Any) -> Any:
        return Layer.__call__(self, inputs, state, *args, scope=scope, **kwargs)

    def get_config(self) -> dict[str, Any]:
        own = {name: getattr(self, f"_{name}") for name in self._arguments}
        return {
            **super().get_config(),
            **{name: serialize_keras_object(value) if callable(value) else value for name, value in own.items()},
        }
