"""tf.contrib.training: an operation that trains, and the loop around it."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from tfcompat._src.base.export import export
from tfcompat._src.base.graph_collections import GraphKeys
from tfcompat._src.graph.scopes import control_dependencies, get_collection, get_collection_ref, name_scope
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.nodes.convert import convert_to_tensor
from tfcompat._src.nodes.indexed_slices import IndexedSlices
from tfcompat._src.ops.array.constant import check_numerics as checked_numerics
from tfcompat._src.ops.control.groups import no_op, with_dependencies
from tfcompat._src.ops.math.clip import clip_by_norm, global_norm
from tfcompat._src.platform import logging
from tfcompat._src.summary import summary
from tfcompat._src.train.monitored_session import MonitoredTrainingSession
from tfcompat._src.train.optimizer import Optimizer
from tfcompat._src.variables import training_util
from tfcompat._src.variables.collections import trainable_variables

if TYPE_CHECKING:
    from tfcompat._src.proto import messages

_USE_GLOBAL_STEP = 0
GradsAndVars = list[tuple[Any, Any]]


def _map_values(gradient: Any, function: Callable[[Tensor], Tensor]) -> IndexedSlices | Tensor:
    """A gradient with `function` of its values."""
    if isinstance(gradient, IndexedSlices):
        return IndexedSlices(function(gradient.values), gradient.indices, gradient.dense_shape)
    return function(gradient)


@export("contrib.training.add_gradients_summaries")
def add_gradients_summaries(grads_and_vars: GradsAndVars) -> list[Tensor]:
    """The histogram and the norm of each gradient as summaries "VARIABLE_gradient" and "VARIABLE_gradient_norm"."""
    return gradient_summaries(grads_and_vars, "_")


def gradient_summaries(grads_and_vars: GradsAndVars, separator: str) -> list[Tensor]:
    """See `add_gradients_summaries`; `separator` stands between the variable's name and "gradient"."""
    found = []
    for gradient, variable in grads_and_vars:
        name = variable.op.name
        if gradient is None:
            logging.info("Var %s has no gradient", name)
            continue
        values = gradient.values if isinstance(gradient, IndexedSlices) else gradient
        found.append(summary.histogram(f"{name}{separator}gradient", values))
        found.append(summary.scalar(f"{name}{separator}gradient_norm", global_norm([values])))
    return found


@export("contrib.training.clip_gradient_norms", "contrib.slim.learning.clip_gradient_norms")
def clip_gradient_norms(gradients_to_variables: GradsAndVars, max_norm: float) -> GradsAndVars:
    """Gradients with their variables, each gradient scaled to a norm of at most `max_norm`."""

    def clipped(gradient: object) -> Any:
        return None if gradient is None else _map_values(gradient, lambda values: clip_by_norm(values, max_norm))

    return [(clipped(gradient), variable) for gradient, variable in gradients_to_variables]


@export("contrib.training.clip_gradient_norms_fn")
def clip_gradient_norms_fn(max_norm: float) -> Callable[[GradsAndVars], GradsAndVars]:
    """`clip_gradient_norms` as a function of the gradients alone, for `create_train_op`."""
    return lambda gradients_to_variables: clip_gradient_norms(gradients_to_variables, max_norm)


@export("contrib.training.multiply_gradients", "contrib.slim.learning.multiply_gradients")
def multiply_gradients(grads_and_vars: GradsAndVars, gradient_multipliers: dict[Any, Any]) -> GradsAndVars:
    """Gradients with their variables, some gradients multiplied.

    Args:
      grads_and_vars: list of (gradient, variable).
      gradient_multipliers: dict of factors, numbers or tensors, by variable or name of its operation.

    Raises:
      ValueError: the arguments are no list and no dict, the dict is empty, or it has a variable without a gradient.
    """
    if not isinstance(grads_and_vars, list):
        raise ValueError("`grads_and_vars` must be a list.")
    if not gradient_multipliers:
        raise ValueError("`gradient_multipliers` is empty.")
    if not isinstance(gradient_multipliers, dict):
        raise ValueError("`gradient_multipliers` must be a dict.")
    found = []
    for gradient, variable in grads_and_vars:
        key = variable if variable in gradient_multipliers else variable.op.name
        if key in gradient_multipliers:
            if gradient is None:
                raise ValueError("Requested multiple of `None` gradient.")
            factor = convert_to_tensor(gradient_multipliers[key], dtype=gradient.dtype)
            gradient = _map_values(gradient, lambda values, factor=factor: values * factor)
        found.append((gradient, variable))
    return found


@export("contrib.training.create_train_op")
def create_train_op(
    total_loss: Tensor, optimizer: Optimizer, global_step: object = _USE_GLOBAL_STEP, update_ops: object = None,
    variables_to_train: list | None = None, transform_grads_fn: Callable[[GradsAndVars], GradsAndVars] | None = None,
    summarize_gradients: bool = False, gate_gradients: int = Optimizer.GATE_OP, aggregation_method: object = None,
    colocate_gradients_with_ops: bool = False, check_numerics: bool = True,
) -> Tensor:  # fmt: skip
    """A tensor that makes a step of training and gives the loss.

    Args:
      total_loss: the loss.
      optimizer: an Optimizer.
      global_step: what counts the steps; by default the global step, None for nothing.
      update_ops: operations to run before the loss, by default those of the collection UPDATE_OPS.
      variables_to_train: by default all trainable variables.
      transform_grads_fn: function of the list of (gradient, variable) that gives the one to apply.
      summarize_gradients: add summaries of the gradients.
      gate_gradients, aggregation_method, colocate_gradients_with_ops: see `Optimizer.compute_gradients`.
      check_numerics: raise InvalidArgumentError where the loss is not finite.

    Raises:
      AssertionError: there is nothing to train, or what is not trainable.
    """
    if global_step is _USE_GLOBAL_STEP:
        global_step = training_util.get_or_create_global_step()
    total_loss = _after_updates(total_loss, update_ops)
    trainable = trainable_variables()
    if variables_to_train is None:
        variables_to_train = trainable
    if not variables_to_train:
        raise AssertionError("there are no variables to train")
    if not all(v.trainable or v in trainable for v in variables_to_train):
        raise AssertionError("a variable of `variables_to_train` is not trainable")
    gradients = optimizer.compute_gradients(
        total_loss, variables_to_train, gate_gradients=gate_gradients, aggregation_method=aggregation_method,
        colocate_gradients_with_ops=colocate_gradients_with_ops,
    )  # fmt: skip
    if transform_grads_fn:
        gradients = transform_grads_fn(gradients)
    if summarize_gradients:
        with name_scope("summarize_grads"):
            add_gradients_summaries(gradients)
    updates = optimizer.apply_gradients(gradients, global_step=global_step)
    with name_scope("train_op"):
        if check_numerics:
            total_loss = checked_numerics(total_loss, "LossTensor is inf or nan")
        train_op = with_dependencies([updates], total_loss)
    train_ops = get_collection_ref(GraphKeys.TRAIN_OP)
    if train_op not in train_ops:
        train_ops.append(train_op)
    return train_op


def _after_updates(total_loss: Tensor, update_ops: Any) -> Tensor:
    """The loss, given after the updates of a layer's statistics; see `create_train_op`."""
    collected = set(get_collection(GraphKeys.UPDATE_OPS))
    updates = collected if update_ops is None else set(update_ops)
    if not collected <= updates:
        logging.warning("update_ops in create_train_op does not contain all the update_ops in GraphKeys.UPDATE_OPS")
    if not updates:
        return total_loss
    with control_dependencies(sorted(updates, key=lambda update: update.name)):
        barrier = no_op(name="update_barrier")
    return with_dependencies([barrier], total_loss)


@export("contrib.training.train")
def train(
    train_op: object, logdir: str | None, master: str = "", is_chief: bool = True, scaffold: Any = None, hooks: Any = None,
    chief_only_hooks: Any = None, save_checkpoint_secs: float | None = 600, save_summaries_steps: int | None = 100,
    config: object = None, max_wait_secs: float = 7200, run_metadata: messages.RunMetadata | None = None,
) -> Any:  # fmt: skip
    """Runs a training operation in a MonitoredTrainingSession until it stops.

    Args:
      train_op: the operation; see `create_train_op`.
      logdir: folder of checkpoints and summaries.
      master, is_chief, scaffold, hooks, chief_only_hooks, save_checkpoint_secs, save_summaries_steps, config,
        max_wait_secs: as for `tf.train.MonitoredTrainingSession`.
      run_metadata: a RunMetadata that each run fills in.

    Returns:
      what the last run gave, None where there was none.

    Raises:
      ValueError: a chief has no folder for what it is to save.
    """
    if logdir is None and is_chief:
        if save_summaries_steps:
            raise ValueError("logdir cannot be None when save_summaries_steps is not None")
        if save_checkpoint_secs:
            raise ValueError("logdir cannot be None when save_checkpoint_secs is not None")
    loss = None
    with MonitoredTrainingSession(
        master=master, is_chief=is_chief, checkpoint_dir=logdir, scaffold=scaffold, hooks=hooks,
        chief_only_hooks=chief_only_hooks, save_checkpoint_secs=save_checkpoint_secs,
        save_summaries_steps=save_summaries_steps, config=config, max_wait_secs=max_wait_secs,
    ) as session:  # fmt: skip
        while not session.should_stop():
            loss = session.run(train_op, run_metadata=run_metadata)
    return loss
