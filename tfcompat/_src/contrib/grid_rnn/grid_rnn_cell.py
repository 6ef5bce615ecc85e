"""tf.contrib.grid_rnn: recurrent cells along several dimensions (Kalchbrenner et al. 2015, arXiv:1507.01526)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from tfcompat._src.base.export import export
from tfcompat._src.contrib.layers.core import fully_connected
from tfcompat._src.contrib.layers.initializers import xavier_initializer
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.ops.array.fill import zeros
from tfcompat._src.ops.array.join import concat, split
from tfcompat._src.ops.array.slice import slice_
from tfcompat._src.ops.math.matmul import matmul
from tfcompat._src.ops.nn.activation import relu
from tfcompat._src.platform import logging
from tfcompat._src.rnn.basic_cells import BasicLSTMCell, BasicRNNCell, GRUCell, LSTMCell
from tfcompat._src.rnn.cell import RNNCell
from tfcompat._src.variables.scope import get_variable, get_variable_scope, variable_scope

if TYPE_CHECKING:
    from tfcompat._src.base.dtypes import DTypeLike

Dims = int | Sequence[int] | None


def _checked(dims: Dims, num_dims: int) -> list[int]:
    """Dimensions as a sorted list; ValueError where one is not there."""
    listed = [] if dims is None else sorted(set(dims if isinstance(dims, (list, tuple)) else [dims]))
    if any(not 0 <= dim < num_dims for dim in listed):
        raise ValueError(f"Invalid dims: {listed}. Must be in [0, {num_dims})")
    return listed


@export("contrib.grid_rnn.GridRNNCell")
class GridRNNCell(RNNCell):
    """A recurrent cell for each dimension of a grid, each given the states of all dimensions.

    Args:
      num_units: number of units of each cell.
      num_dims: number of dimensions.
      input_dims, output_dims: dimensions that take the inputs and give the outputs.
      priority_dims: dimensions computed last, of the others' new states.
      non_recurrent_dims: dimensions with a dense layer in place of a cell.
      tied: whether all dimensions share weights.
      cell_fn: function from a number of units to a cell, by default LSTMCell.
      non_recurrent_fn: activation of the dense layers, by default ReLU.
      state_is_tuple, output_is_tuple: whether states and outputs are tuples of a tensor for each dimension.

    Raises:
      ValueError: a dimension is not there. TypeError: `cell_fn` gives no cell.
    """

    def __init__(
        self, num_units: int, num_dims: int = 1, input_dims: Dims = None, output_dims: Dims = None,
        priority_dims: Dims = None, non_recurrent_dims: Dims = None, tied: bool = False,
        cell_fn: Callable[[int], RNNCell] | None = None, non_recurrent_fn: Callable | None = None,
        state_is_tuple: bool = True, output_is_tuple: bool = True,
    ) -> None:  # fmt: skip
        for name, given in (("state", state_is_tuple), ("output", output_is_tuple)):
            if not given:
                logging.warning(
                    "%s: Using a concatenated %s is slower and will soon be deprecated.  Use %s_is_tuple=True.",
                    self, name, name,
                )  # fmt: skip
        if num_dims < 1:
            raise ValueError(f"dims must be >= 1: {num_dims}")
        self._num_units, self._num_dims, self._tied = num_units, num_dims, tied
        self._inputs, self._outputs = _checked(input_dims, num_dims), _checked(output_dims, num_dims)
        self._priority, self._dense = _checked(priority_dims, num_dims), _checked(non_recurrent_dims, num_dims)
        self._recurrents = [dim for dim in range(num_dims) if dim not in self._dense]
        self._dense_fn = non_recurrent_fn or relu
        self._state_is_tuple, self._output_is_tuple = state_is_tuple, output_is_tuple
        make = cell_fn or (lambda units: LSTMCell(num_units=units, state_is_tuple=state_is_tuple))
        self._cells = [make(num_units)] * num_dims if tied else [make(num_units) for _ in range(num_dims)]
        cell = self._cells[0]
        if not isinstance(cell, RNNCell):
            raise TypeError(f"cell_fn must return an RNNCell instance, saw: {type(cell)}")
        self._cell_state_size = sum(cell.state_size) if isinstance(cell.state_size, tuple) else cell.state_size
        sizes = (cell.output_size,) * len(self._outputs)
        self._output_size = sizes if output_is_tuple else sum(sizes)
        states = (cell.state_size,) * len(self._recurrents)
        self._state_size = states if state_is_tuple else self._cell_state_size * len(states)

    @property
    def output_size(self) -> Any:
        return self._output_size

    @property
    def state_size(self) -> Any:
        return self._state_size

    def __call__(self, inputs: Tensor, state: object, scope: object = None) -> tuple[Any, Any]:
        """One step.

        Args:
          inputs: Tensor [batch, features].
          state: the states of the recurrent dimensions, a tuple or concatenated.
          scope: variable scope, the class name by default.

        Returns:
          the outputs and the new states.
        """
        memories, hidden = self._split_state(state)
        outputs: list[Any] = [None] * self._num_dims
        states: list[Any] = [None] * self._num_dims
        with variable_scope(scope or type(self).__name__):
            self._project(inputs, memories, hidden)
            others = [dim for dim in range(self._num_dims) if dim not in self._priority]
            for dims, first in ((others, True), (self._priority, False)):
                if dims:
                    self._compute(dims, first, memories, hidden, outputs, states)
            found = [outputs[dim] for dim in self._outputs]
            kept = [states[dim] for dim in self._recurrents]
            output = tuple(found) if self._output_is_tuple else _joined(found, inputs.dtype)
            if self._state_is_tuple:
                return output, tuple(kept)
            return output, _joined([part for each in kept for part in each], inputs.dtype)

    def _split_state(self, state: Any) -> tuple[list[Any], list[Any]]:
        """The memory and the hidden state of each dimension; None where there is none."""
        memories: list[Any] = [None] * self._num_dims
        hidden: list[Any] = [None] * self._num_dims
        rest = self._cell_state_size - self._num_units
        if self._state_is_tuple and len(self._recurrents) != len(state):
            raise ValueError(f"Expected state as a tuple of {len(self._recurrents)} element")
        for i, dim in enumerate(self._recurrents):
            if self._state_is_tuple:
                memories[dim], hidden[dim] = state[i] if rest > 0 else (None, state[i])
                continue
            start = i * self._cell_state_size
            first = slice_(state, [0, start], [-1, self._num_units])
            if rest > 0:
                memories[dim], hidden[dim] = first, slice_(state, [0, start + self._num_units], [-1, rest])
            else:
                hidden[dim] = first
        return memories, hidden

    def _project(self, inputs: Any, memories: list[Any], hidden: list[Any]) -> None:
        """Puts projections of the inputs in the place of the states of the input dimensions."""
        if inputs is None or not self._inputs or not inputs.shape.with_rank(2).as_list()[1]:
            return
        parts = split(value=inputs, num_or_size_splits=len(self._inputs), axis=1)
        shape = [parts[0].shape.with_rank(2).as_list()[1], self._num_units]
        for part, dim in zip(parts, self._inputs, strict=True):
            hidden[dim] = matmul(part, get_variable(f"project_m_{dim}", shape, dtype=inputs.dtype))
            if self._cell_state_size > self._num_units:
                memories[dim] = matmul(part, get_variable(f"project_c_{dim}", shape, dtype=inputs.dtype))

    def _compute(
        self, dims: list[int], first: bool, memories: list[Any], hidden: list[Any], outputs: list[Any],
        states: list[Any],
    ) -> None:  # fmt: skip
        """Computes the new outputs and states of dimensions."""
        newest = [old if new is None else new for new, old in zip(outputs, hidden, strict=True)]
        if self._num_dims > 1:
            given = concat(newest[:-1], 1)
        else:
            given = zeros([hidden[0].get_shape().as_list()[0], 0], hidden[0].dtype)
        for dim in dims:
            kind = "non_recurrent" if dim in self._dense else "recurrent"
            dense_inputs = concat([given, newest[-1]], 1) if dim in self._dense and self._num_dims > 1 else newest[-1]
            with variable_scope(kind if self._tied else f"{kind}/cell_{dim}") as scope:
                if self._tied and not (first and dim == dims[0]):
                    scope.reuse_variables()
                if dim in self._dense:
                    outputs[dim] = fully_connected(
                        dense_inputs, num_outputs=self._num_units, activation_fn=self._dense_fn,
                        weights_initializer=get_variable_scope().initializer or xavier_initializer,
                        weights_regularizer=get_variable_scope().regularizer,
                    )  # fmt: skip
                else:
                    state = newest[-1] if memories[dim] is None else (memories[dim], newest[-1])
                    outputs[dim], states[dim] = self._cells[dim](given, state)


def _joined(tensors: list[Tensor], dtype: DTypeLike) -> Tensor:
    return concat(tensors, 1) if tensors else zeros([0, 0], dtype)


class _GridCell(GridRNNCell):
    """A grid of so many dimensions whose first takes the inputs, gives the outputs and comes last."""

    def __init__(self, num_units: int, num_dims: int, tied: bool, non_recurrent_fn: Any, cell_fn: Any, **tuples: bool):
        super().__init__(
            num_units=num_units, num_dims=num_dims, input_dims=0, output_dims=0, priority_dims=0, tied=tied,
            non_recurrent_dims=None if non_recurrent_fn is None else 0, cell_fn=cell_fn,
            non_recurrent_fn=non_recurrent_fn, **tuples,
        )  # fmt: skip


@export("contrib.grid_rnn.Grid1BasicRNNCell")
class Grid1BasicRNNCell(_GridCell):
    """A grid of one dimension with BasicRNNCell; arguments as of GridRNNCell."""

    def __init__(self, num_units: int, state_is_tuple: bool = True, output_is_tuple: bool = True) -> None:
        super().__init__(
            num_units, 1, False, None, BasicRNNCell, state_is_tuple=state_is_tuple, output_is_tuple=output_is_tuple
        )


@export("contrib.grid_rnn.Grid2BasicRNNCell")
class Grid2BasicRNNCell(_GridCell):
    """A grid of two dimensions with BasicRNNCell; arguments as of GridRNNCell."""

    def __init__(
        self, num_units: int, tied: bool = False, non_recurrent_fn: Callable | None = None,
        state_is_tuple: bool = True, output_is_tuple: bool = True,
    ) -> None:  # fmt: skip
        super().__init__(
            num_units, 2, tied, non_recurrent_fn, BasicRNNCell, state_is_tuple=state_is_tuple,
            output_is_tuple=output_is_tuple,
        )  # fmt: skip


@export("contrib.grid_rnn.Grid1BasicLSTMCell")
class Grid1BasicLSTMCell(_GridCell):
    """A grid of one dimension with BasicLSTMCell; arguments as of GridRNNCell and BasicLSTMCell."""

    def __init__(
        self, num_units: int, forget_bias: float = 1, state_is_tuple: bool = True, output_is_tuple: bool = True
    ) -> None:
        super().__init__(
            num_units, 1, False, None, lambda n: BasicLSTMCell(num_units=n, forget_bias=forget_bias),
            state_is_tuple=state_is_tuple, output_is_tuple=output_is_tuple,
        )  # fmt: skip


@export("contrib.grid_rnn.Grid2BasicLSTMCell")
class Grid2BasicLSTMCell(_GridCell):
    """A grid of two dimensions with BasicLSTMCell; arguments as of GridRNNCell and BasicLSTMCell."""

    def __init__(
        self, num_units: int, tied: bool = False, non_recurrent_fn: Callable | None = None, forget_bias: float = 1,
        state_is_tuple: bool = True, output_is_tuple: bool = True,
    ) -> None:  # fmt: skip
        super().__init__(
            num_units, 2, tied, non_recurrent_fn, lambda n: BasicLSTMCell(num_units=n, forget_bias=forget_bias),
            state_is_tuple=state_is_tuple, output_is_tuple=output_is_tuple,
        )  # fmt: skip


@export("contrib.grid_rnn.Grid1LSTMCell")
class Grid1LSTMCell(_GridCell):
    """A grid of one dimension with LSTMCell; arguments as of GridRNNCell and LSTMCell."""

    def __init__(
        self, num_units: int, use_peepholes: bool = False, forget_bias: float = 1.0, state_is_tuple: bool = True,
        output_is_tuple: bool = True,
    ) -> None:  # fmt: skip
        super().__init__(
            num_units, 1, False, None,
            lambda n: LSTMCell(num_units=n, forget_bias=forget_bias, use_peepholes=use_peepholes),
            state_is_tuple=state_is_tuple, output_is_tuple=output_is_tuple,
        )  # fmt: skip


@export("contrib.grid_rnn.Grid2LSTMCell")
class Grid2LSTMCell(_GridCell):
    """A grid of two dimensions with LSTMCell; arguments as of GridRNNCell and LSTMCell."""

    def __init__(
        self, num_units: int, tied: bool = False, non_recurrent_fn: Callable | None = None,
        use_peepholes: bool = False, forget_bias: float = 1.0, state_is_tuple: bool = True,
        output_is_tuple: bool = True,
    ) -> None:  # fmt: skip
        super().__init__(
            num_units, 2, tied, non_recurrent_fn,
            lambda n: LSTMCell(num_units=n, forget_bias=forget_bias, use_peepholes=use_peepholes),
            state_is_tuple=state_is_tuple, output_is_tuple=output_is_tuple,
        )  # fmt: skip


@export("contrib.grid_rnn.Grid3LSTMCell")
class Grid3LSTMCell(_GridCell):
    """A grid of three dimensions with LSTMCell; arguments as of GridRNNCell and LSTMCell."""

    def __init__(
        self, num_units: int, tied: bool = False, non_recurrent_fn: Callable | None = None,
        use_peepholes: bool = False, forget_bias: float = 1.0, state_is_tuple: bool = True,
        output_is_tuple: bool = True,
    ) -> None:  # fmt: skip
        super().__init__(
            num_units, 3, tied, non_recurrent_fn,
            lambda n: LSTMCell(num_units=n, forget_bias=forget_bias, use_peepholes=use_peepholes),
            state_is_tuple=state_is_tuple, output_is_tuple=output_is_tuple,
        )  # fmt: skip


@export("contrib.grid_rnn.Grid2GRUCell")
class Grid2GRUCell(_GridCell):
    """A grid of two dimensions with GRUCell; arguments as of GridRNNCell."""

    def __init__(
        self, num_units: int, tied: bool = False, non_recurrent_fn: Callable | None = None,
        state_is_tuple: bool = True, output_is_tuple: bool = True,
    ) -> None:  # fmt: skip
        super().__init__(
            num_units, 2, tied, non_recurrent_fn, GRUCell, state_is_tuple=state_is_tuple,
            output_is_tuple=output_is_tuple,
        )  # fmt: skip
