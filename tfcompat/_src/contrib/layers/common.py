"""What the layers of tf.contrib.layers have in common: model variables, collections, normalizer and activation."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tfcompat._src.contrib.framework.variables import add_to_collection_once, model_variable
from tfcompat._src.graph.scopes import get_default_graph
from tfcompat._src.variables.partitioned import PartitionedVariable

NAMES = {"bias": "biases", "kernel": "weights"}


def _model_variable_getter(
    getter, name, shape=None, dtype=None, initializer=None, regularizer=None, trainable=True, collections=None, caching_device=None,
    partitioner=None, rename=None, use_resource=None, synchronization=None, aggregation=None, **_,
) -> Any:  # fmt: skip
    """A custom getter that makes a model variable, the last part of its name renamed."""
    scope, slash, short = name.rpartition("/")
    return model_variable(
        scope + slash + (rename or {}).get(short, short), shape=shape, dtype=dtype, initializer=initializer,
        regularizer=regularizer, collections=collections, trainable=trainable, caching_device=caching_device,
        partitioner=partitioner, custom_getter=getter, use_resource=use_resource, synchronization=synchronization,
        aggregation=aggregation,
    )  # fmt: skip


def _build_variable_getter(rename: dict[str, str] | None = None) -> Callable:
    """Returns a custom getter that makes model variables, the last part of their names renamed."""

    def layer_variable_getter(getter: Callable, *args: Any, **kwargs: Any) -> Any:
        return _model_variable_getter(getter, *args, **{**kwargs, "rename": rename})

    return layer_variable_getter


def collections_for(variables_collections: object, name: str) -> Any:
    """The collections of the variable `name`: those of a dict, or the same for all."""
    return variables_collections.get(name) if isinstance(variables_collections, dict) else variables_collections


def _add_variable_to_collections(variable: object, collections_set: object, collections_name: str) -> None:
    """Adds a variable, or the parts of it, to its collections."""
    for collection in collections_for(collections_set, collections_name) or ():
        for part in variable if isinstance(variable, PartitionedVariable) else [variable]:
            add_to_collection_once(collection, part)


def collect(collections: Any, alias: str, outputs: Any) -> Any:
    """Adds `outputs` to collections under an alias, and returns them."""
    if collections:
        outputs.aliases = [*getattr(outputs, "aliases", ()), alias.removesuffix("/")]
        get_default_graph().add_to_collections(collections, outputs)
    return outputs


def finish(
    outputs: Any, normalizer_fn: Any, normalizer_params: Any, activation_fn: Any, collections: object, alias: str
) -> Any:
    """Normalizes, activates and collects outputs."""
    if normalizer_fn is not None:
        outputs = normalizer_fn(outputs, **(normalizer_params or {}))
    if activation_fn is not None:
        outputs = activation_fn(outputs)
    return collect(collections, alias, outputs)


def check_format(data_format: object, *known: str) -> str:
    """`data_format`, one of `known`, as "channels_first" or "channels_last"; ValueError for anything else."""
    if data_format not in known:
        raise ValueError(f"data_format has to be either {known[0]} or {known[1]}.")
    return channels(data_format)


def channels(data_format: str | None) -> str:
    """The format of a layer of tf.layers for an op's `data_format`."""
    return "channels_first" if data_format and data_format.startswith("NC") else "channels_last"
