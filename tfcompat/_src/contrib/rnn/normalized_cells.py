"""LSTM cells with layer normalization or weight normalization."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from tfcompat._src.base.export import export
from tfcompat._src.contrib.rnn.linear import (
    Sized,
    as_arguments,
    bias_variable,
    depth_of,
    lstm_sizes,
    normalized,
    total_depth,
)
from tfcompat._src.graph.scopes import control_dependencies
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.ops.array.join import concat, split
from tfcompat._src.ops.math.clip import clip_by_value
from tfcompat._src.ops.math.matmul import matmul
from tfcompat._src.ops.math.unary import sigmoid, tanh
from tfcompat._src.ops.nn.bias import bias_add
from tfcompat._src.ops.nn.dropout import dropout
from tfcompat._src.ops.nn.moments import l2_normalize
from tfcompat._src.platform import logging
from tfcompat._src.rnn.basic_cells import LSTMStateTuple
from tfcompat._src.rnn.cell import BIAS, KERNEL, RNNCell
from tfcompat._src.variables.scope import get_variable, get_variable_scope, variable_scope

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tfcompat._src.base.arrays import TensorLike


@export("contrib.rnn.LayerNormBasicLSTMCell")
class LayerNormBasicLSTMCell(RNNCell):
    """An LSTM with layer normalization (arXiv 1607.06450) and dropout of what is added to the memory (1603.05118).

    Args:
      num_units: size of memory and output.
      forget_bias: added to the forget gate's input.
      input_size: not used.
      activation: function.
      layer_norm: whether gates and memory are normalized. norm_gain, norm_shift: initial weights of that.
      dropout_keep_prob: number or scalar Tensor. dropout_prob_seed: int, or None.
      reuse: whether the variables must exist.
    """

    def __init__(
        self, num_units, forget_bias=1.0, input_size=None, activation=tanh, layer_norm=True, norm_gain=1.0,
        norm_shift=0.0, dropout_keep_prob=1.0, dropout_prob_seed=None, reuse=None,
    ) -> None:  # fmt: skip
        super().__init__(_reuse=reuse)
        if input_size is not None:
            logging.warn("%s: The input_size parameter is deprecated.", self)
        self._num_units, self._forget_bias, self._activation = num_units, forget_bias, activation
        self._keep_prob, self._seed = dropout_keep_prob, dropout_prob_seed
        self._layer_norm, self._norm_gain, self._norm_shift = layer_norm, norm_gain, norm_shift

    state_size = property(lambda self: LSTMStateTuple(self._num_units, self._num_units))
    output_size = property(lambda self: self._num_units)

    def _norm(self, x: Tensor, scope: str) -> Tensor:
        return normalized(x, scope, self._norm_gain, self._norm_shift, x.dtype) if self._layer_norm else x

    def _linear(self, args: Tensor) -> Tensor:
        size = 4 * self._num_units
        product = matmul(args, get_variable(KERNEL, [args.shape[-1], size], dtype=args.dtype))
        return product if self._layer_norm else bias_add(product, get_variable(BIAS, [size], dtype=args.dtype))

    def call(self, inputs: Tensor, state: Any) -> tuple[Tensor, LSTMStateTuple]:
        c, h = state
        i, j, f, o = split(value=self._linear(concat([inputs, h], 1)), num_or_size_splits=4, axis=1)
        i, j = self._norm(i, "input"), self._norm(j, "transform")
        f, o = self._norm(f, "forget"), self._norm(o, "output")
        g = self._activation(j)
        if not isinstance(self._keep_prob, float) or self._keep_prob < 1:
            g = dropout(g, self._keep_prob, seed=self._seed)
        new_c = self._norm(c * sigmoid(f + self._forget_bias) + sigmoid(i) * g, "state")
        new_h = self._activation(new_c) * sigmoid(o)
        return new_h, LSTMStateTuple(new_c, new_h)


class _ProjectedLSTMCell(Sized, RNNCell):
    """What LSTMs with peepholes, clipping and projection share; the arguments are those of LSTMCell."""

    _linear: Callable[..., Tensor]

    def __init__(
        self, num_units: int, use_peepholes: bool, cell_clip: float | None, initializer: Any, num_proj: int | None,
        proj_clip: float | None, forget_bias: float, activation: Any, reuse: bool | None,
    ) -> None:  # fmt: skip
        super().__init__(_reuse=reuse)
        self._num_units, self._use_peepholes, self._cell_clip = num_units, use_peepholes, cell_clip
        self._initializer, self._num_proj, self._proj_clip = initializer, num_proj, proj_clip
        self._forget_bias, self._activation = forget_bias, activation or tanh
        self._state_size, self._output_size = lstm_sizes(num_units, num_proj)

    def _peepholes(self, dtype: object) -> tuple[Any, Any, Any]:
        """The weights of the memory in the forget, input and output gate."""
        return tuple(get_variable(f"w_{gate}_diag", shape=[self._num_units], dtype=dtype) for gate in "fio")

    def _finished(self, c: Tensor, output: Tensor, w_output: object) -> tuple[Tensor, LSTMStateTuple]:
        """The output and the state of a step from the memory and the sum of the output gate."""
        if self._cell_clip is not None:
            c = clip_by_value(c, -self._cell_clip, self._cell_clip)
        gate = sigmoid(output + w_output * c) if self._use_peepholes else sigmoid(output)
        h = gate * self._activation(c)
        if self._num_proj is not None:
            with variable_scope("projection"):
                h = self._linear(h, self._num_proj, bias=False)
            if self._proj_clip is not None:
                h = clip_by_value(h, -self._proj_clip, self._proj_clip)
        return h, LSTMStateTuple(c, h)


class LayerNormLSTMCell(_ProjectedLSTMCell):
    """An LSTM with peepholes, clipping and projection as LSTMCell, and layer normalization.

    Args:
      num_units, use_peepholes, cell_clip, initializer, num_proj, proj_clip, forget_bias, activation, reuse: see
        LSTMCell.
      layer_norm: whether gates and memory are normalized. norm_gain, norm_shift: initial weights of that.
    """

    def __init__(
        self, num_units, use_peepholes=False, cell_clip=None, initializer=None, num_proj=None, proj_clip=None,
        forget_bias=1.0, activation=None, layer_norm=False, norm_gain=1.0, norm_shift=0.0, reuse=None,
    ) -> None:  # fmt: skip
        super().__init__(
            num_units, use_peepholes, cell_clip, initializer, num_proj, proj_clip, forget_bias, activation, reuse
        )
        self._layer_norm, self._norm_gain, self._norm_shift = layer_norm, norm_gain, norm_shift

    def _norm(self, x: Tensor, scope: str) -> Tensor:
        return normalized(x, scope, self._norm_gain, self._norm_shift) if self._layer_norm else x

    def _linear(self, args: Sequence[TensorLike], size: int, bias: bool) -> Tensor:
        args = as_arguments(args)
        with variable_scope(get_variable_scope()):
            weights = get_variable(KERNEL, [total_depth(args), size], dtype=args[0].dtype)
            product = matmul(args[0] if len(args) == 1 else concat(args, 1), weights)
            biases = bias_variable(size, args[0].dtype) if bias else None
        return product if self._layer_norm or not bias else bias_add(product, biases)

    def call(self, inputs: Tensor, state: Any) -> tuple[Tensor, LSTMStateTuple]:
        c, h = state
        w_o = None
        depth_of(inputs)
        with variable_scope(get_variable_scope(), initializer=self._initializer) as unit_scope:
            gates = self._linear([inputs, h], 4 * self._num_units, bias=True)
            i, j, f, o = split(value=gates, num_or_size_splits=4, axis=1)
            i, j = self._norm(i, "input"), self._norm(j, "transform")
            f, o = self._norm(f, "forget"), self._norm(o, "output")
            if self._use_peepholes:
                with variable_scope(unit_scope):
                    w_f, w_i, w_o = self._peepholes(inputs.dtype)
                forget = sigmoid(f + self._forget_bias + w_f * c)
                new_c = forget * c + sigmoid(i + w_i * c) * self._activation(j)
            else:
                new_c = sigmoid(f + self._forget_bias) * c + sigmoid(i) * self._activation(j)
            return self._finished(self._norm(new_c, "state"), o, w_o)


class WeightNormLSTMCell(_ProjectedLSTMCell):
    """An LSTM whose weights are normalized (Salimans and Kingma, arXiv 1602.07868).

    Args:
      norm: whether they are.
      num_units, use_peepholes, cell_clip, initializer, num_proj, proj_clip, forget_bias, activation, reuse: see
        LSTMCell.
    """

    def __init__(
        self, num_units, norm=True, use_peepholes=False, cell_clip=None, initializer=None, num_proj=None,
        proj_clip=None, forget_bias=1, activation=None, reuse=None,
    ) -> None:  # fmt: skip
        super().__init__(
            num_units, use_peepholes, cell_clip, initializer, num_proj, proj_clip, forget_bias, activation, reuse
        )
        self._scope, self._norm = "wn_lstm_cell", norm

    @staticmethod
    def _normalize(weight: Tensor, name: str) -> Tensor:
        gain = get_variable(name, [weight.shape.as_list()[1]], dtype=weight.dtype)
        return l2_normalize(weight, axis=0) * gain

    def _linear(self, args: Sequence[TensorLike], size: int, bias: bool) -> Tensor:
        args = as_arguments(args)
        dtype = args[0].dtype
        with variable_scope(get_variable_scope()):
            weights = get_variable(KERNEL, [total_depth(args), size], dtype=dtype)
            if self._norm:
                parts, start = [], 0
                with control_dependencies(None):
                    for number, x in enumerate(args):
                        end = start + x.shape.as_list()[1]
                        parts.append(self._normalize(weights[start:end, :], name=f"norm_{number}"))
                        start = end
                    weights = concat(parts, axis=0)
            product = matmul(args[0] if len(args) == 1 else concat(args, 1), weights)
            if not bias:
                return product
            return bias_add(product, bias_variable(size, dtype))

    def call(self, inputs: Tensor, state: Any) -> tuple[Tensor, LSTMStateTuple]:
        c, h = state
        w_o = None
        depth_of(inputs)
        with variable_scope(self._scope, initializer=self._initializer):
            gates = self._linear([inputs, h], 4 * self._num_units, bias=True)
            i, j, f, o = split(value=gates, num_or_size_splits=4, axis=1)
            if self._use_peepholes:
                w_f, w_i, w_o = self._peepholes(inputs.dtype)
                kept = c * sigmoid(f + self._forget_bias + w_f * c)
                new_c = kept + sigmoid(i + w_i * c) * self._activation(j)
            else:
                new_c = c * sigmoid(f + self._forget_bias) + sigmoid(i) * self._activation(j)
            return self._finished(new_c, o, w_o)
