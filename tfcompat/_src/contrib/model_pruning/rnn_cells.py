"""tf.contrib.model_pruning: LSTM cells with a mask on the kernel of their gates."""

from __future__ import annotations

from typing import Any

from tfcompat._src.base.export import export
from tfcompat._src.contrib.model_pruning.core_layers import add_mask, add_threshold, masked
from tfcompat._src.rnn.basic_cells import BasicLSTMCell, LSTMCell


class _Masked:
    """Adds the mask to a cell; the kernel that it applies is the masked one."""

    def build(self, inputs_shape: Any) -> None:
        super().build(inputs_shape)  # type: ignore[misc]
        self.built = False
        self._mask = add_mask(self, self._kernel.shape)  # type: ignore[has-type]
        self._threshold = add_threshold(self)
        self._masked_kernel = masked(self._mask, self._threshold, self._kernel)  # type: ignore[has-type]
        self.built = True

    _applied_kernel = property(lambda self: self._masked_kernel)


@export("contrib.model_pruning.MaskedBasicLSTMCell")
class MaskedBasicLSTMCell(_Masked, BasicLSTMCell):
    """tf.nn.rnn_cell.BasicLSTMCell with a mask on its kernel; arguments as there."""

    def __init__(
        self, num_units, forget_bias=1.0, state_is_tuple=True, activation=None, reuse=None, name=None
    ) -> None:
        super().__init__(num_units, forget_bias, state_is_tuple, activation, reuse, name)


@export("contrib.model_pruning.MaskedLSTMCell")
class MaskedLSTMCell(_Masked, LSTMCell):
    """tf.nn.rnn_cell.LSTMCell with a mask on its kernel, not on its projection; arguments as there."""

    def __init__(
        self, num_units, use_peepholes=False, cell_clip=None, initializer=None, num_proj=None, proj_clip=None,
        num_unit_shards=None, num_proj_shards=None, forget_bias=1.0, state_is_tuple=True, activation=None, reuse=None,
    ) -> None:  # fmt: skip
        super().__init__(
            num_units, use_peepholes, cell_clip, initializer, num_proj, proj_clip, num_unit_shards, num_proj_shards,
            forget_bias, state_is_tuple, activation, reuse,
        )  # fmt: skip
