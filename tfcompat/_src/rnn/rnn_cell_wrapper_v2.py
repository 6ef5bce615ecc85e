"""The wrappers of cells as Keras layers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tfcompat._src.base.export import export
from tfcompat._src.graph.scopes import name_scope
from tfcompat._src.keras.engine import registry
from tfcompat._src.keras.layers.rnn import class_and_config
from tfcompat._src.keras.layers.rnn_cells import AbstractRNNCell
from tfcompat._src.rnn import wrappers
from tfcompat._src.rnn.cell import assert_like_rnncell


class RNNCellWrapperV2(AbstractRNNCell):
    """A cell around `cell` that has its sizes; a subclass says in `_call_wrapped_cell` what it adds to a step."""

    def __init__(self, cell: Any, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        assert_like_rnncell("cell", cell)
        self.cell = cell

    wrapped_cell = property(lambda self: self.cell)
    state_size = property(lambda self: self.cell.state_size)
    output_size = property(lambda self: self.cell.output_size)

    def call(self, inputs: Any, state: Any, **kwargs: Any) -> tuple[Any, Any]:
        return self._call_wrapped_cell(inputs, state, cell_call_fn=self.cell.call, **kwargs)

    def _call_wrapped_cell(self, inputs: Any, state: Any, cell_call_fn: Callable, **kwargs: Any) -> tuple[Any, Any]:
        raise NotImplementedError

    def zero_state(self, batch_size: Any, dtype: Any) -> Any:
        """The zero state of the cell."""
        with name_scope(type(self).__name__ + "ZeroState", values=[batch_size]):
            return self.cell.zero_state(batch_size, dtype)

    def build(self, inputs_shape: Any) -> None:
        self.cell.build(inputs_shape)
        self.built = True

    def get_config(self) -> dict[str, Any]:
        return {**super().get_config(), "cell": class_and_config(self.cell)}

    @classmethod
    def from_config(cls, config: dict[str, Any], custom_objects: object = None) -> RNNCellWrapperV2:
        """A wrapper from what `get_config` gave."""
        config = dict(config)
        cell = registry.get("layers.deserialize")(config.pop("cell"), custom_objects=custom_objects)
        return cls(cell, **config)


@export("compat.v2.nn.RNNCellDropoutWrapper")
class DropoutWrapper(wrappers.DropoutWrapperBase, RNNCellWrapperV2):
    __doc__ = wrappers.DropoutWrapperBase.__doc__


@export("compat.v2.nn.RNNCellResidualWrapper")
class ResidualWrapper(wrappers.ResidualWrapperBase, RNNCellWrapperV2):
    __doc__ = wrappers.ResidualWrapperBase.__doc__


@export("compat.v2.nn.RNNCellDeviceWrapper")
class DeviceWrapper(wrappers.DeviceWrapperBase, RNNCellWrapperV2):
    __doc__ = wrappers.DeviceWrapperBase.__doc__
