"""The losses that a graph has collected."""

from __future__ import annotations

from typing import Any

from tfcompat._src.base.export import export
from tfcompat._src.base.graph_collections import GraphKeys
from tfcompat._src.graph.scopes import add_to_collection, executing_eagerly, get_collection
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.nodes.convert import constant
from tfcompat._src.ops.math.scan import add_n


@export("losses.add_loss")
def add_loss(loss: object, loss_collection: str | None = GraphKeys.LOSSES) -> None:
    """Adds `loss` to a collection; None adds it to none."""
    if loss_collection and not executing_eagerly():
        add_to_collection(loss_collection, loss)


@export("losses.get_losses")
def get_losses(scope: str | None = None, loss_collection: str = GraphKeys.LOSSES) -> list[Any]:
    """The losses of a collection whose names match `scope`."""
    return get_collection(loss_collection, scope)


@export("losses.get_regularization_losses")
def get_regularization_losses(scope: str | None = None) -> list[Any]:
    """The losses of regularizers whose names match `scope`."""
    return get_collection(GraphKeys.REGULARIZATION_LOSSES, scope)


@export("losses.get_regularization_loss")
def get_regularization_loss(scope: str | None = None, name: str = "total_regularization_loss") -> Tensor:
    """The sum of the losses of regularizers; 0.0 where there are none."""
    losses = get_regularization_losses(scope)
    return add_n(losses, name=name) if losses else constant(0.0)


@export("losses.get_total_loss")
def get_total_loss(
    add_regularization_losses: bool = True, name: str = "total_loss", scope: str | None = None
) -> Tensor:
    """The sum of the collected losses, with those of regularizers by default.

    Raises:
      ValueError: there are none.
    """
    losses = get_losses(scope=scope)
    if add_regularization_losses:
        losses += get_regularization_losses(scope=scope)
    return add_n(losses, name=name)
