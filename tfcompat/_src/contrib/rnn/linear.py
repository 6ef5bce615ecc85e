"""What the cells of contrib share: a linear map with weights of its scope, sizes, normalization and sharded weights."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tfcompat._src.base import dtypes, nest
from tfcompat._src.base.graph_collections import GraphKeys
from tfcompat._src.contrib.layers.normalization import layer_norm
from tfcompat._src.graph.scopes import add_to_collection, get_collection
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.nodes.convert import constant
from tfcompat._src.ops.array.join import concat
from tfcompat._src.ops.math.matmul import matmul
from tfcompat._src.ops.nn.bias import bias_add
from tfcompat._src.rnn.basic_cells import LSTMStateTuple
from tfcompat._src.rnn.cell import BIAS, KERNEL
from tfcompat._src.variables.initializers import Constant
from tfcompat._src.variables.scope import get_variable, get_variable_scope, variable_scope

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tfcompat._src.base.arrays import TensorLike


class Sized:
    """A cell that keeps its sizes."""

    state_size = property(lambda self: self._state_size)
    output_size = property(lambda self: self._output_size)


def lstm_sizes(num_units: int, num_proj: int | None) -> tuple[LSTMStateTuple, int]:
    """State size and output size of an LSTM cell whose output may be projected."""
    return LSTMStateTuple(num_units, num_proj or num_units), num_proj or num_units


def depth_of(inputs: Tensor) -> int:
    """The known depth of inputs [batch, depth]; ValueError where it is unknown."""
    depth = inputs.shape.with_rank(2).as_list()[1]
    if depth is None:
        raise ValueError("Could not infer input size from inputs.get_shape()[-1]")
    return depth


def as_arguments(args: Any) -> list[Tensor]:
    """Tensors [batch, depth] of known depth as a list; ValueError for anything else."""
    if args is None or (nest.is_nested(args) and not args):
        raise ValueError("`args` must be specified")
    args = list(args) if nest.is_nested(args) else [args]
    for x in args:
        if x.shape.ndims != 2:
            raise ValueError(f"linear is expecting 2D arguments: {[a.shape for a in args]}")
        if x.shape.as_list()[1] is None:
            raise ValueError(f"linear expects shape[1] to be provided for shape {x.shape}, but saw {x.shape[1]}")
    return args


def total_depth(args: list[Tensor]) -> int:
    return sum(x.shape.as_list()[1] for x in args)


def bias_variable(size: int, dtype: object, initializer: object = None) -> Any:
    """The variable `bias` of the open scope, never partitioned."""
    with variable_scope(get_variable_scope()) as scope:
        scope.set_partitioner(None)
        return get_variable(
            BIAS, [size], dtype=dtype, initializer=Constant(0.0, dtype=dtype) if initializer is None else initializer
        )


class Linear:
    """`concat(args) @ kernel + bias` with weights made once, in the scope that is open then.

    Args:
      args: Tensor [batch, depth] or a list of them, whose depths the kernel is for.
      output_size: size of the result.
      build_bias: whether there is a bias.
      bias_initializer, kernel_initializer: of the weights; zeros and the scope's by default.

    Raises:
      ValueError: an argument is no matrix of known depth.
    """

    def __init__(
        self, args: object, output_size: int, build_bias: bool, bias_initializer: object = None,
        kernel_initializer: object = None,
    ) -> None:  # fmt: skip
        self._is_sequence = nest.is_nested(args)
        args = as_arguments(args)
        dtype = args[0].dtype
        self._biases = None
        with variable_scope(get_variable_scope()):
            self._weights = get_variable(
                KERNEL, [total_depth(args), output_size], dtype=dtype, initializer=kernel_initializer
            )
            if build_bias:
                self._biases = bias_variable(output_size, dtype, bias_initializer)

    def __call__(self, args: Any) -> Tensor:
        args = args if self._is_sequence else [args]
        joined = args[0] if len(args) == 1 else concat(args, constant(1, dtype=dtypes.int32))
        product = matmul(joined, self._weights)
        return product if self._biases is None else bias_add(product, self._biases)


def linear(
    args: Sequence[TensorLike], output_size: int, bias: bool, bias_initializer: object = None, kernel_initializer: object = None
) -> Tensor:
    """`concat(args) @ kernel + bias` with weights of the open scope; see `Linear`."""
    args = as_arguments(args)
    dtype = args[0].dtype
    with variable_scope(get_variable_scope()):
        weights = get_variable(KERNEL, [total_depth(args), output_size], dtype=dtype, initializer=kernel_initializer)
        product = matmul(args[0] if len(args) == 1 else concat(args, 1), weights)
        biases = bias_variable(output_size, dtype, bias_initializer) if bias else None
    return bias_add(product, biases) if bias else product


def normalized(x: Tensor, scope: str, gain: float, shift: float, dtype: object = None) -> Tensor:
    """`x` with layer normalization whose weights begin at `gain` and `shift`."""
    shape = x.shape[-1:]
    gamma, beta = Constant(gain), Constant(shift)
    with variable_scope(scope):
        get_variable("gamma", shape=shape, initializer=gamma, dtype=dtype)
        get_variable("beta", shape=shape, initializer=beta, dtype=dtype)
    return layer_norm(x, reuse=True, scope=scope)


def sharded_variable(name: str, shape: list[int], dtype: object, num_shards: int) -> Any:
    """A variable of `shape`, or the concatenation of `num_shards` variables of about as many rows.

    Raises:
      ValueError: there are more shards than rows.
    """
    if num_shards > shape[0]:
        raise ValueError(f"Too many shards: shape={shape}, num_shards={num_shards}")
    rows, more = divmod(shape[0], num_shards)
    shards = [
        get_variable(f"{name}_{i}", [rows + (i < more), *shape[1:]], dtype=dtype) for i in range(num_shards)
    ]
    if len(shards) == 1:
        return shards[0]
    full_name = f"{get_variable_scope().name}/{name}/concat:0"
    for value in get_collection(GraphKeys.CONCATENATED_VARIABLES):
        if value.name == full_name:
            return value
    joined = concat(shards, 0, name=f"{name}/concat")
    add_to_collection(GraphKeys.CONCATENATED_VARIABLES, joined)
    return joined
