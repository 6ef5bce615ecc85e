"""tf.contrib.rnn's NTMCell, a neural Turing machine: a cell that reads and writes a memory."""

from __future__ import annotations

import collections
import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from tfcompat._src.base import dtypes
from tfcompat._src.base.tensor_shape import TensorShape
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.ops.array.fill import ones, ones_like, zeros
from tfcompat._src.ops.array.join import concat, split, stack
from tfcompat._src.ops.array.reorder import reverse
from tfcompat._src.ops.array.shape import expand_dims, shape, squeeze
from tfcompat._src.ops.control.cond import cond
from tfcompat._src.ops.math.binary import power
from tfcompat._src.ops.math.clip import clip_by_value
from tfcompat._src.ops.math.compare import equal
from tfcompat._src.ops.math.matmul import matmul
from tfcompat._src.ops.math.reduce import reduce_sum
from tfcompat._src.ops.math.unary import exp, sigmoid, sqrt, square, tanh
from tfcompat._src.ops.nn.activation import softplus
from tfcompat._src.ops.nn.bias import bias_add
from tfcompat._src.ops.nn.softmax import softmax
from tfcompat._src.rnn.cell import LayerRNNCell, assert_like_rnncell
from tfcompat._src.variables.initializers import Constant, GlorotUniform, TruncatedNormal

if TYPE_CHECKING:
    from tfcompat._src.base.arrays import TensorLike

NTMControllerState = collections.namedtuple(
    "NTMControllerState", ("controller_state", "read_vector_list", "w_list", "M", "time")
)


def _linear_initializer(input_size: int) -> TruncatedNormal:
    return TruncatedNormal(stddev=1.0 / math.sqrt(input_size), dtype=dtypes.float32)


def _rows(x: Tensor) -> Any:
    return x.shape[0].value or shape(x)[0]


class NTMCell(LayerRNNCell):
    """A neural Turing machine; Graves et al., arXiv 1410.5401, with the start of Collier and Beel, arXiv 1807.08518.

    Args:
      controller: an RNNCell.
      memory_size: vectors in the memory.
      memory_vector_dim: elements of each.
      read_head_num, write_head_num: how many vectors are read and written in a step.
      shift_range: how far a head may move.
      output_dim: elements of the output; by default those of the input.
      clip_value: largest absolute value of parameters and outputs.
      dtype: of the variables.
      name: of the layer.
    """

    def __init__(
        self, controller, memory_size, memory_vector_dim, read_head_num, write_head_num, shift_range=1, output_dim=None,
        clip_value=20, dtype=dtypes.float32, name=None,
    ) -> None:  # fmt: skip
        super().__init__(dtype=dtype, name=name)
        assert_like_rnncell("NTM RNN controller cell", controller)
        self.controller, self.memory_size, self.memory_vector_dim = controller, memory_size, memory_vector_dim
        self.read_head_num, self.write_head_num, self.shift_range = read_head_num, write_head_num, shift_range
        self.output_dim, self.clip_value = output_dim, clip_value
        self.num_heads = read_head_num + write_head_num
        self.num_parameters_per_head = memory_vector_dim + 2 * shift_range + 4
        self.total_parameter_num = (
            self.num_parameters_per_head * self.num_heads + memory_vector_dim * 2 * write_head_num
        )

    @property
    def state_size(self) -> NTMControllerState:
        return NTMControllerState(
            controller_state=self.controller.state_size,
            read_vector_list=[self.memory_vector_dim] * self.read_head_num,
            w_list=[self.memory_size] * self.num_heads,
            M=TensorShape([self.memory_size * self.memory_vector_dim]),
            time=TensorShape([]),
        )

    @property
    def output_size(self) -> Any:
        return self.output_dim

    def zero_state(self, batch_size: object, dtype: object) -> NTMControllerState:
        """The state before the first step; the memory and the heads then start from variables."""
        return NTMControllerState(
            controller_state=self.controller.zero_state(batch_size, dtype),
            read_vector_list=[zeros([batch_size, self.memory_vector_dim]) for _ in range(self.read_head_num)],
            w_list=[zeros([batch_size, self.memory_size]) for _ in range(self.num_heads)],
            M=zeros([batch_size, self.memory_size, self.memory_vector_dim]),
            time=0,
        )

    def build(self, inputs_shape: Any) -> None:
        if self.output_dim is None:
            self.output_dim = TensorShape(inputs_shape)[1].value
            if self.output_dim is None:
                raise ValueError(f"Expected inputs.shape[-1] to be known, saw shape: {inputs_shape}")
        units = self.controller.output_size
        self._params_kernel, self._params_bias = self._map("parameters", units, self.total_parameter_num)
        read = self.memory_vector_dim * self.read_head_num
        self._output_kernel, self._output_bias = self._map("output", units + read, self.output_dim)
        self._init_read_vectors = [
            self.add_weight(f"initial_read_vector_{i}", shape=[1, self.memory_vector_dim], initializer=GlorotUniform())
            for i in range(self.read_head_num)
        ]
        self._init_address_weights = [
            self.add_weight(f"initial_address_weights_{i}", shape=[1, self.memory_size], initializer=GlorotUniform())
            for i in range(self.num_heads)
        ]
        self._M = self.add_weight(
            "memory", shape=[self.memory_size, self.memory_vector_dim], initializer=Constant(1e-6, dtype=self.dtype)
        )
        self.built = True

    def _map(self, name: str, inputs: int, outputs: int) -> tuple[Any, Any]:
        kernel = self.add_weight(f"{name}_kernel", shape=[inputs, outputs], initializer=_linear_initializer(inputs))
        bias = self.add_weight(f"{name}_bias", shape=[outputs], initializer=Constant(0.0, dtype=self.dtype))
        return kernel, bias

    def call(self, x: Tensor, prev_state: NTMControllerState) -> tuple[Tensor, NTMControllerState]:
        read_before = self._at_start(prev_state, self._init_read_vectors, tanh, prev_state.read_vector_list, x)
        hidden, controller_state = self.controller(concat([x, *read_before], axis=1), prev_state.controller_state)
        parameters = self._clipped(bias_add(matmul(hidden, self._params_kernel), self._params_bias))
        of_heads = self.num_parameters_per_head * self.num_heads
        heads = split(parameters[:, :of_heads], self.num_heads, axis=1)
        changes = split(parameters[:, of_heads:], 2 * self.write_head_num, axis=1)
        weights_before = self._at_start(prev_state, self._init_address_weights, softmax, prev_state.w_list, x)
        memory = cond(
            equal(prev_state.time, 0), lambda: self._expand(self._M, dim=0, N=_rows(x)), lambda: prev_state.M
        )
        weights = [self._weights_of(head, memory, before) for head, before in zip(heads, weights_before, strict=True)]
        read = [reduce_sum(expand_dims(w, axis=2) * memory, axis=1) for w in weights[: self.read_head_num]]
        for i, w in enumerate(weights[self.read_head_num :]):
            memory = self._written(memory, expand_dims(w, axis=2), *changes[2 * i : 2 * i + 2])
        output = self._clipped(bias_add(matmul(concat([hidden, *read], axis=1), self._output_kernel), self._output_bias))
        return output, NTMControllerState(controller_state, read, weights, memory, prev_state.time + 1)

    def _clipped(self, x: Tensor) -> Tensor:
        return clip_by_value(x, -self.clip_value, self.clip_value)

    def _at_start(
        self, state: NTMControllerState, variables: list[Any], activation: Callable, later: list[Tensor], x: Tensor
    ) -> list[Tensor]:
        """What heads had before: in the first step from variables, then from the state."""

        def first() -> list[Tensor]:
            starts = [activation(squeeze(matmul(ones([1, 1]), variable))) for variable in variables]
            return [self._expand(start, dim=0, N=_rows(x)) for start in starts]

        found = cond(equal(state.time, 0), first, lambda: later)
        return [found] if len(variables) == 1 else found

    def _expand(self, x: TensorLike, dim: int, N: int) -> Tensor:
        """`x`, N times along a new dimension."""
        return concat([expand_dims(x, dim) for _ in range(N)], axis=dim)

    def _written(self, memory: Tensor, w: Tensor, erase: Tensor, add: Tensor) -> Tensor:
        erased = matmul(w, expand_dims(sigmoid(erase), axis=1))
        return memory * (ones_like(memory) - erased) + matmul(w, expand_dims(tanh(add), axis=1))

    def _weights_of(self, head: Tensor, memory: Tensor, before: Tensor) -> Tensor:
        """The weights of the memory's vectors for a head with these parameters."""
        size = self.memory_vector_dim
        return self._addressing(
            tanh(head[:, 0:size]), softplus(head[:, size]), sigmoid(head[:, size + 1]),
            softmax(head[:, size + 2 : size + 2 + (self.shift_range * 2 + 1)]), softplus(head[:, -1]) + 1, memory, before,
        )  # fmt: skip

    def _addressing(
        self, k: Tensor, beta: Tensor, g: Tensor, s: Tensor, gamma: Tensor, prev_M: Tensor, prev_w: Tensor
    ) -> Tensor:
        """Weights by likeness to the key `k`, mixed with those before, shifted and sharpened."""
        k = expand_dims(k, axis=2)
        products = matmul(prev_M, k)
        norms = sqrt(reduce_sum(square(prev_M), axis=2, keepdims=True)) * sqrt(
            reduce_sum(square(k), axis=1, keepdims=True)
        )
        likeness = exp(expand_dims(beta, axis=1) * squeeze(products / (norms + 1e-8)))
        by_content = likeness / reduce_sum(likeness, axis=1, keepdims=True)
        g = expand_dims(g, axis=1)
        mixed = g * by_content + (1 - g) * prev_w
        shifted = reduce_sum(expand_dims(mixed, axis=1) * self._shifts(s), axis=2)
        sharpened = power(shifted, expand_dims(gamma, axis=1))
        return sharpened / reduce_sum(sharpened, axis=1, keepdims=True)

    def _shifts(self, s: Tensor) -> Tensor:
        """The matrices [batch, size, size] of circular shifts with the weights `s` [batch, 2 * shift_range + 1]."""
        between = zeros([_rows(s), self.memory_size - (self.shift_range * 2 + 1)])
        around = concat([s[:, : self.shift_range + 1], between, s[:, -self.shift_range :]], axis=1)
        twice = concat([reverse(around, axis=[1]), reverse(around, axis=[1])], axis=1)
        size = self.memory_size
        return stack([twice[:, size - i - 1 : size * 2 - i - 1] for i in range(size)], axis=1)
