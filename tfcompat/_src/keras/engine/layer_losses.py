"""The part of a layer that keeps losses, updates and metrics."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from tfcompat._src.base import nest
from tfcompat._src.graph import distribution_context
from tfcompat._src.graph.operation import Operation
from tfcompat._src.graph.scopes import executing_eagerly_outside_functions, init_scope, name_scope
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.keras.backend.config import floatx
from tfcompat._src.keras.backend.session import is_symbolic_tensor
from tfcompat._src.keras.engine.base_layer_utils import (
    call_context,
    create_mean,
    create_mean_metric,
    is_in_eager_or_tf_function,
    is_in_tf_function,
    reachable,
    require_no_branch,
)
from tfcompat._src.nodes.convert import convert_to_tensor
from tfcompat._src.ops.array.shape import shape as shape_of
from tfcompat._src.ops.math.cast import cast
from tfcompat._src.train.trackable_layers import layers_below
from tfcompat._src.variables.partitioned import PartitionedVariable

if TYPE_CHECKING:
    from tfcompat._src.base.arrays import TensorLike

_NOT_AGGREGATED = (
    "We do not support adding an aggregated metric result tensor that is not the output of a "
    "`tf.keras.metrics.Metric` metric instance. Without having access to the metric instance we cannot reset the state "
    "of a metric after every epoch during training. You can create a `tf.keras.metrics.Metric` instance and pass the "
    "result here or pass an un-aggregated result with `aggregation` parameter set as `mean`. For example: "
    "`self.add_metric(tf.reduce_sum(inputs), name='mean_activation', aggregation='mean')`"
)


def _tagged(loss: TensorLike, unconditional: bool) -> Any:
    """A loss, or the result of the function that makes it, as a tensor that knows whether it depends on inputs."""
    loss = loss() if callable(loss) else loss
    if loss is None:
        return None
    loss = loss if isinstance(loss, Tensor) else convert_to_tensor(loss, dtype=floatx())
    loss._unconditional_loss = unconditional
    return loss


class LayerLosses:
    """Losses, updates and metrics of a layer and of the layers in it."""

    def add_loss(self, losses: Any, inputs: Any = None) -> None:
        """Keeps losses: tensors, or functions that make one each time they are asked for.

        Args:
          losses: one or a nest of them.
          inputs: what they depend on, or None.
        """
        for loss in nest.flatten(losses):
            if callable(loss):
                self._callable_losses.append(functools.partial(_tagged, loss, inputs is None))
            elif loss is not None:
                require_no_branch(loss, "add_loss")
                self._keep_loss(_tagged(loss, inputs is None))

    def _keep_loss(self, loss: Tensor) -> None:
        """Keeps a tensor: one of a graph for as long as the layer is, else until the next call."""
        in_call = call_context().in_call
        if is_symbolic_tensor(loss) and not is_in_tf_function():
            if self._is_graph_network and not in_call:
                self._graph_network_add_loss(loss)
            else:
                self._losses.append(loss)
        elif in_call:
            self._eager_losses.append(loss)
        else:
            raise ValueError(
                "Expected a symbolic Tensors or a callable for the loss value. Please wrap your loss computation in a "
                "zero argument `lambda`."
            )

    @property
    def losses(self) -> list[Tensor]:
        """The losses that were added, those of the weights, made anew, and those of the layers inside."""
        made = [make() for make in self._callable_losses]
        added = list(self._eager_losses or self._losses)
        return added + [loss for loss in made if loss is not None] + self._gather_children_attribute("losses")

    def _clear_losses(self) -> None:
        """Forgets the losses of the call before, where operations run when they are called."""
        self._eager_losses.clear()
        for layer in layers_below(self.__dict__.get("_layers", ())):
            layer._clear_losses()

    def _handle_weight_regularization(self, name: str, variable: object, regularizer: Callable) -> None:
        def loss_of(part: object) -> Any:
            with name_scope(f"{name}/Regularizer"):
                return regularizer(part)

        for part in variable if isinstance(variable, PartitionedVariable) else [variable]:
            self.add_loss(functools.partial(loss_of, part))

    def _handle_activity_regularization(self, inputs: object, outputs: object) -> None:
        if not self._activity_regularizer:
            return
        with name_scope("ActivityRegularizer"):
            for output in nest.flatten(outputs):
                loss = self._activity_regularizer(output)
                require_no_branch(loss, "activity_regularizer")
                self.add_loss(loss / cast(shape_of(output)[0], loss.dtype), inputs=inputs)

    def add_update(self, updates: object, inputs: object = None) -> None:
        """Keeps updates: operations, tensors, or functions that make them now; `inputs` is found out and not used.

        Under a strategy replicas make updates; where code runs for all of them together, there are none.
        """
        context = call_context()
        if distribution_context.is_for_all_replicas():
            return
        updates = updates if isinstance(updates, list) else [updates]
        if is_in_eager_or_tf_function():
            for update in () if context.frozen else updates:
                if callable(update):
                    update()
            return
        given = context.inputs if context.in_call else [node.input_tensors for node in self._inbound_nodes]
        if executing_eagerly_outside_functions() and context.in_call:
            updates = [update for update in updates if callable(update)]
        for update in updates:
            while callable(update):
                update = update()
            if not isinstance(update, Operation):
                update = update.op if hasattr(update, "op") else convert_to_tensor(update)
            require_no_branch(update, "add_update")
            update._unconditional_update = not reachable(given, [update])
            self._updates.append(update)

    @property
    def updates(self) -> list[Any]:
        """The updates; none where the layer is neither trainable nor stateful."""
        if not self.trainable and not self.stateful:
            return []
        return self._updates + self._gather_children_attribute("updates")

    def get_updates_for(self, inputs: object) -> list[Any]:
        """The updates that depend on `inputs`; for None, those that do not depend on the inputs of their call."""
        if inputs is None:
            return [u for u in self.updates if u._unconditional_update]
        return reachable(inputs, [u for u in self.updates if not u._unconditional_update])

    def get_losses_for(self, inputs: object) -> list[Any]:
        """The losses that depend on `inputs`; for None, those that depend on none."""
        if inputs is None:
            return [loss for loss in self.losses if loss._unconditional_loss]
        return reachable(inputs, [loss for loss in self.losses if not loss._unconditional_loss])

    @property
    def metrics(self) -> list[Any]:
        """The metrics of the layer and of the layers inside."""
        return self._metrics + self._gather_children_attribute("metrics")

    def add_metric(self, value: TensorLike, aggregation: str | None = None, name: str | None = None) -> None:
        """Adds a value that is followed while a model trains.

        Args:
          value: Tensor.
          aggregation: "mean", or None where `value` is the result of a metric object.
          name: of the metric; not needed for the result of a metric object.

        Raises:
          ValueError: another aggregation, no name, a value that is no tensor or already aggregated, or a name that
            several metrics have.
        """
        if aggregation is not None and aggregation != "mean":
            raise ValueError(
                "We currently support only `mean` sample-wise metric aggregation. You provided "
                f"aggregation=`{aggregation}`"
            )
        metric = getattr(value, "_metric_obj", None)
        if name is None and metric is None:
            raise ValueError(
                "Please provide a name for your metric like "
                "`self.add_metric(tf.reduce_sum(inputs), name='mean_activation', aggregation='mean')`"
            )
        if metric is not None:
            name = metric.name
        require_no_branch(value, "add_metric")
        in_call, is_symbolic = call_context().in_call, is_symbolic_tensor(value)
        if not in_call and not is_symbolic:
            raise ValueError(f"Expected a symbolic Tensor for the metric value, received: {value}")
        if in_call and (not is_symbolic or is_in_tf_function()):
            self._eager_add_metric(value, aggregation, name)
        elif in_call or not self._is_graph_network:
            self._symbolic_add_metric(value, aggregation, name)
        elif metric is not None:
            raise ValueError(
                "Using the result of calling a `Metric` object when calling `add_metric` on a Functional Model is not "
                "supported. Please pass the Tensor to monitor directly."
            )
        else:
            self._graph_network_add_metric(value, aggregation, name)

    def _get_existing_metric(self, name: str | None) -> Any:
        found = [m for m in self._metrics if m.name == name]
        if len(found) > 1:
            raise ValueError(
                "Please provide different names for the metrics you have added. "
                f'We found {len(found)} metrics with the name: "{name}"'
            )
        return found[0] if found else None

    def _eager_add_metric(self, value: object, aggregation: str | None, name: str | None) -> None:
        if aggregation is None:
            if not hasattr(value, "_metric_obj"):
                raise ValueError(_NOT_AGGREGATED)
            if self._get_existing_metric(name) is None:
                self._metrics.append(value._metric_obj)
            return
        known = self._get_existing_metric(name)
        if known is None:
            with init_scope():
                known = create_mean(name)
            self._metrics.append(known)
        known(value)

    def _symbolic_add_metric(self, value: Any, aggregation: str | None, name: str | None) -> None:
        known = self._get_existing_metric(name)
        if aggregation is None:
            if known is None and not hasattr(value, "_metric_obj"):
                raise ValueError(_NOT_AGGREGATED)
            if known is None:
                self._metrics.append(value._metric_obj)
        elif known is not None:
            known(value)
        else:
            self._metrics.append(create_mean_metric(value, name)[0])
