"""tf.contrib.learn.models: regressions and recurrent networks with their losses."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from tfcompat._src.base import dtypes
from tfcompat._src.base.export import export
from tfcompat._src.contrib.learn import ops
from tfcompat._src.contrib.rnn.wrappers import AttentionCellWrapper
from tfcompat._src.graph.scopes import get_default_graph
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.ops.array.join import concat
from tfcompat._src.rnn.basic_cells import BasicLSTMCell, BasicRNNCell, GRUCell
from tfcompat._src.rnn.cell import RNNCell
from tfcompat._src.rnn.static import reverse_seq, static_rnn
from tfcompat._src.rnn.wrappers import MultiRNNCell
from tfcompat._src.summary.summary import histogram
from tfcompat._src.variables.initializers import RandomNormal
from tfcompat._src.variables.scope import get_variable, get_variable_scope, variable_scope

if TYPE_CHECKING:
    from tfcompat._src.base.arrays import TensorLike

CELLS = {"rnn": BasicRNNCell, "gru": GRUCell, "lstm": functools.partial(BasicLSTMCell, state_is_tuple=False)}


def _linear_variables(x: Tensor, y: Tensor, outputs: object, mean: float | None, stddev: float) -> tuple[Any, Any]:
    """The weights and biases of a scope, with summaries of them and of its tensors."""
    scope, dtype = get_variable_scope().name, x.dtype.base_dtype
    histogram(f"{scope}.x", x)
    histogram(f"{scope}.y", y)
    found = []
    for name, shape in (("weights", [x.shape[1], outputs]), ("bias", [outputs])):
        initializer = None if mean is None else RandomNormal(mean, stddev, dtype=dtype)
        found.append(get_variable(name, shape, initializer=initializer, dtype=dtype))
    histogram(f"{scope}.weights", found[0])
    histogram(f"{scope}.bias", found[1])
    return found[0], found[1]


@export("contrib.learn.models.linear_regression")
def linear_regression(
    x: Tensor, y: Tensor, init_mean: float | None = None, init_stddev: float = 1.0
) -> tuple[Tensor, Tensor]:
    """The predictions and the mean squared error of a linear function.

    Args:
      x: float Tensor [batch, features].
      y: float Tensor [batch] or [batch, outputs].
      init_mean, init_stddev: of the normal initial values; without a mean they are the variable scope's.
    """
    with variable_scope("linear_regression"):
        outputs = 1 if len(y.shape) == 1 else y.shape[1]
        return ops.mean_squared_error_regressor(x, y, *_linear_variables(x, y, outputs, init_mean, init_stddev))


@export("contrib.learn.models.linear_regression_zero_init")
def linear_regression_zero_init(x: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
    """`linear_regression` of weights and biases that start at zero."""
    return linear_regression(x, y, init_mean=0.0, init_stddev=0.0)


@export("contrib.learn.models.logistic_regression")
def logistic_regression(
    x: Tensor, y: Tensor, class_weight: object = None, init_mean: float | None = None, init_stddev: float = 1.0
) -> tuple[Tensor, Tensor]:
    """The probabilities of classes and the cross entropy of a linear function's logits.

    Args:
      x: float Tensor [batch, features].
      y: float Tensor [batch, classes], one-hot.
      class_weight: float Tensor [classes], by default the graph's "class_weight:0" where it has one.
      init_mean, init_stddev: of the normal initial values; without a mean they are the variable scope's.
    """
    with variable_scope("logistic_regression"):
        weights, bias = _linear_variables(x, y, y.shape[-1], init_mean, init_stddev)
        names = {op.name for op in get_default_graph().get_operations()}
        if class_weight is None and "class_weight" in names:
            class_weight = get_default_graph().get_tensor_by_name("class_weight:0")
        return ops.softmax_classifier(x, y, weights, bias, class_weight=class_weight)


@export("contrib.learn.models.logistic_regression_zero_init")
def logistic_regression_zero_init(x: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
    """`logistic_regression` of weights and biases that start at zero."""
    return logistic_regression(x, y, init_mean=0.0, init_stddev=0.0)


@export("contrib.learn.models.bidirectional_rnn")
def bidirectional_rnn(
    cell_fw: RNNCell, cell_bw: RNNCell, inputs: list[Tensor], initial_state_fw: object = None, initial_state_bw: object = None,
    dtype: object = None, sequence_length: TensorLike | None = None, scope: str | None = None,
) -> tuple[list[Tensor], Tensor]:  # fmt: skip
    """Two unrolled networks, one in the reverse order of steps, with outputs and states concatenated.

    Args:
      cell_fw, cell_bw: RNNCells with one Tensor as state.
      inputs: Tensors [batch, depth].
      initial_state_fw, initial_state_bw: their first states, by default zeros of `dtype`.
      dtype: of the first states.
      sequence_length: integer Tensor [batch].
      scope: start of the names of the variable scopes, "BiRNN" by default.

    Raises:
      TypeError: a cell is no RNNCell, or the inputs are no list. ValueError: there are none.
    """
    for name, cell in (("cell_fw", cell_fw), ("cell_bw", cell_bw)):
        if not isinstance(cell, RNNCell):
            raise TypeError(f"{name} must be an instance of RNNCell")
    if not isinstance(inputs, list):
        raise TypeError("inputs must be a list")
    if not inputs:
        raise ValueError("inputs must not be empty")
    name = scope or "BiRNN"
    with variable_scope(f"{name}_FW"):
        forward, state_fw = static_rnn(cell_fw, inputs, initial_state_fw, dtype, sequence_length)
    with variable_scope(f"{name}_BW"):
        reversed_inputs = reverse_seq(inputs, sequence_length)
        backward, state_bw = static_rnn(cell_bw, reversed_inputs, initial_state_bw, dtype, sequence_length)
    outputs = [concat([fw, bw], 1) for fw, bw in zip(forward, reverse_seq(backward, sequence_length))]
    return outputs, concat([state_fw, state_bw], 1)


@export("contrib.learn.models.get_rnn_model")
def get_rnn_model(
    rnn_size: int, cell_type: str, num_layers: int, input_op_fn: Callable, bidirectional: bool,
    target_predictor_fn: Callable, sequence_length: object, initial_state: object, attn_length: int | None,
    attn_size: int | None, attn_vec_size: int | None,
) -> Callable:  # fmt: skip
    """A function of x and y that gives `target_predictor_fn(last state of a recurrent network, y)`.

    Args:
      rnn_size, num_layers: units of a cell, and number of cells.
      cell_type: "rnn", "gru" or "lstm".
      input_op_fn: function of x that gives the list of inputs.
      bidirectional: whether a second network goes backwards.
      target_predictor_fn: function of the state [batch, ...] and y.
      sequence_length, initial_state: as of `tf.nn.static_rnn`.
      attn_length, attn_size, attn_vec_size: as of `tf.contrib.rnn.AttentionCellWrapper`; without a length there is none.

    Raises (when it is called):
      ValueError: another cell type.
    """

    def cell() -> RNNCell:
        found = CELLS[cell_type](rnn_size)
        if attn_length is None:
            return found
        return AttentionCellWrapper(
            found, attn_length=attn_length, attn_size=attn_size, attn_vec_size=attn_vec_size, state_is_tuple=False
        )

    def layers() -> RNNCell:
        return MultiRNNCell([cell() for _ in range(num_layers)], state_is_tuple=False)

    def rnn_estimator(x: Any, y: object) -> Any:
        x = input_op_fn(x)
        if cell_type not in CELLS:
            raise ValueError(f"cell_type {cell_type} is not supported. ")
        if bidirectional:
            _, encoding = bidirectional_rnn(
                layers(), layers(), x, dtype=dtypes.float32, sequence_length=sequence_length,
                initial_state_fw=initial_state, initial_state_bw=initial_state,
            )  # fmt: skip
        else:
            _, encoding = static_rnn(
                layers(), x, dtype=dtypes.float32, sequence_length=sequence_length, initial_state=initial_state
            )
        return target_predictor_fn(encoding, y)

    return rnn_estimator
