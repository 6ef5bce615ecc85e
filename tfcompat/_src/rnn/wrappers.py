"""MultiRNNCell, and cells around a cell: dropout, residual connections, a device."""

from __future__ import annotations

import hashlib
import itertools
import numbers
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from tfcompat._src.base import nest
from tfcompat._src.base.export import export
from tfcompat._src.base.tensor_shape import TensorShape
from tfcompat._src.base.trackable import Trackable
from tfcompat._src.graph.constant_value import constant_value
from tfcompat._src.graph.scopes import device as device_scope
from tfcompat._src.graph.scopes import name_scope
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.keras.engine.base_layer import Layer
from tfcompat._src.nodes.convert import convert_to_tensor
from tfcompat._src.ops.array.join import concat
from tfcompat._src.ops.array.slice import slice_ as slice_of
from tfcompat._src.ops.flow.tensor_array import TensorArray
from tfcompat._src.ops.math.binary import div
from tfcompat._src.ops.math.unary import floor
from tfcompat._src.ops.nn.dropout import dropout
from tfcompat._src.ops.random.stateful import random_uniform
from tfcompat._src.platform import logging
from tfcompat._src.rnn.basic_cells import LSTMStateTuple
from tfcompat._src.rnn.cell import RNNCell, assert_like_rnncell
from tfcompat._src.rnn.function_config import function_config, function_from_config
from tfcompat._src.variables.scope import variable_scope

if TYPE_CHECKING:
    from typing import Self

    from tfcompat._src.base.arrays import TensorLike


@export("nn.rnn_cell.MultiRNNCell", "contrib.rnn.MultiRNNCell")
class MultiRNNCell(RNNCell):
    """Cells on top of each other: the outputs of one are the inputs of the next.

    Args:
      cells: list or tuple of cells.
      state_is_tuple: whether the state is the tuple of the cells' states, else they are joined in one Tensor.

    Raises:
      ValueError: no cells, or a joined state of cells whose states are tuples. TypeError: `cells` is no sequence.
    """

    def __init__(self, cells, state_is_tuple=True) -> None:
        super().__init__()
        if not cells:
            raise ValueError("Must specify at least one cell for MultiRNNCell.")
        if not nest.is_nested(cells):
            raise TypeError(f"cells must be a list or tuple, but saw: {cells}.")
        if len({id(cell) for cell in cells}) < len(cells):
            logging.log_first_n(
                logging.WARN,
                "At least two cells provided to MultiRNNCell are the same object and will share weights.",
                1,
            )
        self._cells, self._state_is_tuple = cells, state_is_tuple
        for i, cell in enumerate(cells):
            track_cell(self, cell, f"cell-{i}")
        if not state_is_tuple and any(nest.is_nested(cell.state_size) for cell in cells):
            raise ValueError(
                "Some cells return tuples of states, but the flag state_is_tuple is not set.  "
                f"State sizes are: {[cell.state_size for cell in cells]}"
            )

    @property
    def state_size(self) -> Any:
        sizes = tuple(cell.state_size for cell in self._cells)
        return sizes if self._state_is_tuple else sum(sizes)

    @property
    def output_size(self) -> Any:
        return self._cells[-1].output_size

    def zero_state(self, batch_size: object, dtype: Any) -> Any:
        with name_scope(type(self).__name__ + "ZeroState", values=[batch_size]):
            if self._state_is_tuple:
                return tuple(cell.zero_state(batch_size, dtype) for cell in self._cells)
            return super().zero_state(batch_size, dtype)

    def _of_layers(self, which: str) -> list[Any]:
        return [w for cell in self._cells if isinstance(cell, Layer) for w in getattr(cell, which)]

    @property
    def trainable_weights(self) -> list[Any]:
        return self._of_layers("trainable_weights") if self.trainable else []

    @property
    def non_trainable_weights(self) -> list[Any]:
        frozen = [] if self.trainable else self._of_layers("trainable_weights")
        return frozen + self._of_layers("non_trainable_weights")

    def call(self, inputs: Any, state: Any) -> tuple[Any, Any]:
        position, new_states = 0, []
        for number, cell in enumerate(self._cells):
            with variable_scope(f"cell_{number}"):
                if not self._state_is_tuple:
                    cell_state = slice_of(state, [0, position], [-1, cell.state_size])
                    position += cell.state_size
                elif nest.is_nested(state):
                    cell_state = state[number]
                else:
                    raise ValueError(
                        f"Expected state to be a tuple of length {len(self.state_size)}, but received: {state}"
                    )
                inputs, new_state = cell(inputs, cell_state)
                new_states.append(new_state)
        return inputs, tuple(new_states) if self._state_is_tuple else concat(new_states, 1)


def track_cell(owner: Trackable, cell: object, name: str) -> None:
    """Lets checkpoints of objects hold a cell of `owner` under a name, where the cell can be kept."""
    if isinstance(cell, Trackable):
        owner._track_trackable(cell, name)


class RNNCellWrapper(RNNCell):
    """A cell around `cell` that has its sizes; a subclass says in `_call_wrapped_cell` what it adds to a step."""

    def __init__(self, cell: Any, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        assert_like_rnncell("cell", cell)
        self.cell = cell
        track_cell(self, cell, "cell")

    state_size = property(lambda self: self.cell.state_size)
    output_size = property(lambda self: self.cell.output_size)

    @property
    def trainable_weights(self) -> list[Any]:
        inner = self.cell.trainable_weights if isinstance(self.cell, Layer) else []
        return [*super().trainable_weights, *inner] if self.trainable else []

    @property
    def non_trainable_weights(self) -> list[Any]:
        if not isinstance(self.cell, Layer):
            return super().non_trainable_weights
        inner = self.cell.non_trainable_weights
        return [*super().non_trainable_weights, *([] if self.trainable else self.cell.trainable_weights), *inner]

    def _call_wrapped_cell(self, inputs: Any, state: Any, cell_call_fn: Callable, **kwargs: Any) -> tuple[Any, Any]:
        raise NotImplementedError

    def __call__(self, inputs: Any, state: Any, scope: Any = None) -> tuple[Any, Any]:
        return self._call_wrapped_cell(inputs, state, cell_call_fn=self.cell.__call__, scope=scope)

    def zero_state(self, batch_size: Any, dtype: Any) -> Any:
        with name_scope(type(self).__name__ + "ZeroState", values=[batch_size]):
            return self.cell.zero_state(batch_size, dtype)

    def get_config(self) -> dict[str, Any]:
        cell = {"class_name": type(self.cell).__name__, "config": self.cell.get_config()}
        return {**super().get_config(), "cell": cell}

    @classmethod
    def from_config(cls, config: dict[str, Any], custom_objects: object = None) -> Self:
        """A wrapper from what `get_config` gave, with the cell itself for its configuration; else ValueError."""
        config = dict(config)
        cell = config.pop("cell")
        try:
            assert_like_rnncell("cell", cell)
        except TypeError:
            raise ValueError(
                "RNNCellWrapper cannot reconstruct the wrapped cell. Please overwrite the cell in the config with a "
                "RNNCell instance."
            ) from None
        return cls(cell, **config)


def _drops_of(state: object) -> Any:
    """Which parts of a state are dropped by default: all but memories of LSTM cells and TensorArrays."""
    if isinstance(state, LSTMStateTuple):
        return LSTMStateTuple(c=False, h=True)
    return not isinstance(state, TensorArray)


def _map_numbered(function: Callable, shallow: object, *structures: object) -> Any:
    """Applies `function(number, *parts)` to the parts of structures at the leaves of `shallow`."""
    count = itertools.count()
    return nest.map_structure_up_to(shallow, lambda *parts: function(next(count), *parts), *structures)


class DropoutWrapperBase:
    """Dropout of the inputs, outputs and state of a cell.

    Args:
      cell: an RNNCell.
      input_keep_prob, output_keep_prob, state_keep_prob: probability that an element is kept, number or scalar Tensor.
      variational_recurrent: whether all steps drop the same elements (Gal, Ghahramani: arXiv 1512.05287); `dtype`,
        and `input_size` where inputs are dropped, must be given then.
      input_size: nest of sizes of the inputs without the batch.
      dtype: element type of inputs, state and outputs.
      seed: int, or None.
      dropout_state_filter_visitor: function of a part of the state that gives a bool, or a bool for each child:
        whether it is dropped; by default the memory `c` of LSTM cells and TensorArrays are not.

    Raises:
      TypeError: `cell` is no cell or the filter not callable. ValueError: a probability outside [0, 1], or an argument
      that `variational_recurrent` needs is missing.
    """

    def __init__(
        self, cell, input_keep_prob=1.0, output_keep_prob=1.0, state_keep_prob=1.0, variational_recurrent=False,
        input_size=None, dtype=None, seed=None, dropout_state_filter_visitor=None, **kwargs,
    ) -> None:  # fmt: skip
        super().__init__(cell, dtype=dtype, **kwargs)
        if dropout_state_filter_visitor is not None and not callable(dropout_state_filter_visitor):
            raise TypeError("dropout_state_filter_visitor must be callable")
        self._dropout_state_filter = dropout_state_filter_visitor or _drops_of
        with name_scope("DropoutWrapperInit"):
            self._input_keep_prob = _probability(input_keep_prob, "input_keep_prob")
            self._state_keep_prob = _probability(state_keep_prob, "state_keep_prob")
            self._output_keep_prob = _probability(output_keep_prob, "output_keep_prob")
        self._variational_recurrent, self._input_size, self._seed = variational_recurrent, input_size, seed
        self._recurrent_input_noise = self._recurrent_state_noise = self._recurrent_output_noise = None
        if variational_recurrent:
            self._make_noise(dtype)

    def _make_noise(self, dtype: Any) -> None:
        """The uniform random numbers, made once, that all steps share."""
        if dtype is None:
            raise ValueError("When variational_recurrent=True, dtype must be provided")

        def noise(what: str, sizes: object) -> Any:
            def of_size(number: int, size: object) -> Tensor:
                shape = concat(([1], TensorShape(size).as_list()), 0)
                return random_uniform(shape, seed=self._gen_seed(what, number), dtype=dtype)

            return _map_numbered(of_size, sizes, sizes)

        if not isinstance(self._input_keep_prob, numbers.Real) or self._input_keep_prob < 1.0:
            if self._input_size is None:
                raise ValueError(
                    "When variational_recurrent=True and input_keep_prob < 1.0 or is unknown, input_size must be "
                    "provided"
                )
            self._recurrent_input_noise = noise("input", self._input_size)
        self._recurrent_state_noise = noise("state", self.cell.state_size)
        self._recurrent_output_noise = noise("output", self.cell.output_size)

    def _gen_seed(self, salt_prefix: str, index: int) -> int | None:
        if self._seed is None:
            return None
        digest = hashlib.md5(f"{self._seed}{salt_prefix}_{index}".encode(), usedforsecurity=False).hexdigest()
        return int(digest[:8], 16) & 0x7FFFFFFF

    wrapped_cell = property(lambda self: self.cell)

    def _dropout(self, values: object, what: str, noise: Any, keep_prob: Any, filtered: object = None) -> Any:
        """Drops elements of the parts of `values` for which `filtered` is not False."""

        def drop(number: int, chosen: object, value: Any, noise: Any = None) -> Any:
            if chosen is False:
                return value
            if noise is None:
                return dropout(value, rate=1.0 - keep_prob, seed=self._gen_seed(what, number))
            kept = floor(keep_prob + noise)
            found = div(value, keep_prob) * kept
            found.set_shape(value.shape)
            return found

        shallow = values if filtered is None else filtered
        structures = [values, noise] if self._variational_recurrent else [values]
        return _map_numbered(drop, shallow, shallow, *structures)

    def _call_wrapped_cell(self, inputs: object, state: object, cell_call_fn: Callable, **kwargs: Any) -> tuple[Any, Any]:
        if _drops(self._input_keep_prob):
            inputs = self._dropout(inputs, "input", self._recurrent_input_noise, self._input_keep_prob)
        output, new_state = cell_call_fn(inputs, state, **kwargs)
        if _drops(self._state_keep_prob):
            filtered = nest.get_traverse_shallow_structure(self._dropout_state_filter, new_state)
            new_state = self._dropout(
                new_state, "state", self._recurrent_state_noise, self._state_keep_prob, filtered
            )
        if _drops(self._output_keep_prob):
            output = self._dropout(output, "output", self._recurrent_output_noise, self._output_keep_prob)
        return output, new_state

    def get_config(self) -> dict[str, Any]:
        names = (
            "input_keep_prob", "output_keep_prob", "state_keep_prob", "variational_recurrent", "input_size", "seed",
        )  # fmt: skip
        config = {**super().get_config(), **{name: getattr(self, f"_{name}") for name in names}}
        if self._dropout_state_filter is not _drops_of:
            config.update(function_config(self._dropout_state_filter, "dropout_fn"))
        return config

    @classmethod
    def from_config(cls, config: dict[str, Any], custom_objects: Any = None) -> Any:
        if "dropout_fn" in config:
            config = dict(config)
            config["dropout_state_filter_visitor"] = function_from_config(config, "dropout_fn", custom_objects)
        return super().from_config(config, custom_objects)


def _probability(value: TensorLike, name: str) -> Tensor | float:
    """A probability as a float where it is known, else as a Tensor."""
    tensor = convert_to_tensor(value)
    known = constant_value(tensor)
    if known is None:
        return tensor
    if known < 0 or known > 1:
        raise ValueError(f"Parameter {name} must be between 0 and 1: {int(known)}")
    return float(known)


def _drops(keep_prob: object) -> bool:
    return not isinstance(keep_prob, float) or keep_prob < 1


def _add_inputs(inputs: object, outputs: object) -> Any:
    nest.assert_same_structure(inputs, outputs)
    nest.map_structure(lambda i, o: i.shape.assert_is_compatible_with(o.shape), inputs, outputs)
    return nest.map_structure(lambda i, o: i + o, inputs, outputs)


class ResidualWrapperBase:
    """A cell whose inputs are added to its outputs.

    Args:
      cell: an RNNCell.
      residual_fn: function of inputs and outputs that gives the new outputs; by default their sum.
    """

    def __init__(self, cell, residual_fn=None, **kwargs) -> None:
        super().__init__(cell, **kwargs)
        self._residual_fn = residual_fn

    def _call_wrapped_cell(self, inputs: object, state: object, cell_call_fn: Callable, **kwargs: Any) -> tuple[Any, Any]:
        outputs, new_state = cell_call_fn(inputs, state, **kwargs)
        return (self._residual_fn or _add_inputs)(inputs, outputs), new_state

    def get_config(self) -> dict[str, Any]:
        config = super().get_config()
        if self._residual_fn is not None:
            config.update(function_config(self._residual_fn, "residual_fn", "residule_fn_module"))
        return config

    @classmethod
    def from_config(cls, config: dict[str, Any], custom_objects: Any = None) -> Any:
        if "residual_fn" in config:
            config = dict(config)
            config["residual_fn"] = function_from_config(
                config, "residual_fn", custom_objects, "residule_fn_module"
            )
        return super().from_config(config, custom_objects)


class DeviceWrapperBase:
    """A cell whose operations are placed on a device.

    Args:
      cell: an RNNCell.
      device: device string or function, as for tf.device.
    """

    def __init__(self, cell, device, **kwargs) -> None:
        super().__init__(cell, **kwargs)
        self._device = device

    def zero_state(self, batch_size: object, dtype: Any) -> Any:
        with name_scope(type(self).__name__ + "ZeroState", values=[batch_size]), device_scope(self._device):
            return self.cell.zero_state(batch_size, dtype)

    def _call_wrapped_cell(self, inputs: object, state: object, cell_call_fn: Callable, **kwargs: Any) -> tuple[Any, Any]:
        with device_scope(self._device):
            return cell_call_fn(inputs, state, **kwargs)

    def get_config(self) -> dict[str, Any]:
        return {**super().get_config(), "device": self._device}


@export("nn.rnn_cell.DropoutWrapper", "contrib.rnn.DropoutWrapper")
class DropoutWrapper(DropoutWrapperBase, RNNCellWrapper):
    __doc__ = DropoutWrapperBase.__doc__


@export("nn.rnn_cell.ResidualWrapper", "contrib.rnn.ResidualWrapper")
class ResidualWrapper(ResidualWrapperBase, RNNCellWrapper):
    __doc__ = ResidualWrapperBase.__doc__


@export("nn.rnn_cell.DeviceWrapper", "contrib.rnn.DeviceWrapper")
class DeviceWrapper(DeviceWrapperBase, RNNCellWrapper):
    __doc__ = DeviceWrapperBase.__doc__
