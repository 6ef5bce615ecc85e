"""Collections of a graph: lists of objects under keys such as "trainable_variables"."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Hashable, Iterable
from typing import Any

from tfcompat._src.base.export import export


@export("GraphKeys")
class GraphKeys:
    """The standard names of graph collections."""

    GLOBAL_VARIABLES = "variables"
    LOCAL_VARIABLES = "local_variables"
    METRIC_VARIABLES = "metric_variables"
    MODEL_VARIABLES = "model_variables"
    TRAINABLE_VARIABLES = "trainable_variables"
    SUMMARIES = "summaries"
    QUEUE_RUNNERS = "queue_runners"
    TABLE_INITIALIZERS = "table_initializer"
    ASSET_FILEPATHS = "asset_filepaths"
    MOVING_AVERAGE_VARIABLES = "moving_average_variables"
    REGULARIZATION_LOSSES = "regularization_losses"
    CONCATENATED_VARIABLES = "concatenated_variables"
    SAVERS = "savers"
    WEIGHTS = "weights"
    BIASES = "biases"
    ACTIVATIONS = "activations"
    UPDATE_OPS = "update_ops"
    LOSSES = "losses"
    SAVEABLE_OBJECTS = "saveable_objects"
    RESOURCES = "resources"
    LOCAL_RESOURCES = "local_resources"
    TRAINABLE_RESOURCE_VARIABLES = "trainable_resource_variables"
    INIT_OP = "init_op"
    LOCAL_INIT_OP = "local_init_op"
    READY_OP = "ready_op"
    READY_FOR_LOCAL_INIT_OP = "ready_for_local_init_op"
    SUMMARY_OP = "summary_op"
    GLOBAL_STEP = "global_step"
    EVAL_STEP = "eval_step"
    TRAIN_OP = "train_op"
    COND_CONTEXT = "cond_context"
    WHILE_CONTEXT = "while_context"
    VARIABLES = "variables"
    _SUMMARY_COLLECTION = "_SUMMARY_V2"
    _STREAMING_MODEL_PORTS = "streaming_model_ports"
    _VARIABLE_COLLECTIONS = [GLOBAL_VARIABLES, LOCAL_VARIABLES, METRIC_VARIABLES, MODEL_VARIABLES, TRAINABLE_VARIABLES,
                             MOVING_AVERAGE_VARIABLES, CONCATENATED_VARIABLES, TRAINABLE_RESOURCE_VARIABLES]  # fmt: skip


class Collections:
    """The collections of a graph; a base of Graph."""

    _check_not_finalized: Callable[[], None]

    def __init__(self) -> None:
        self._collections: dict[Hashable, list[Any]] = {}
        self._collections_lock = threading.RLock()

    @property
    def collections(self) -> list[Hashable]:
        """The keys of all collections."""
        return list(self._collections)

    def add_to_collection(self, name: Hashable, value: object) -> None:
        """Appends `value` to the collection `name`; raises RuntimeError if the graph is finalized."""
        self._check_not_finalized()
        with self._collections_lock:
            self._collections.setdefault(name, []).append(value)

    def add_to_collections(self, names: str | Iterable[Hashable], value: object) -> None:
        """Appends `value` to each collection of `names` (a string or an iterable of keys), once each."""
        for name in (names,) if isinstance(names, str) else dict.fromkeys(names):
            self.add_to_collection(name, value)

    def get_collection_ref(self, name: Hashable) -> list[Any]:
        """Returns the collection itself; changes to the list change the collection."""
        return self._collections.setdefault(name, [])

    def get_collection(self, name: Hashable, scope: str | None = None) -> list[Any]:
        """Returns a copy of the collection; with `scope`, a regular expression, only items whose `name` matches at the beginning."""
        items = self._collections.get(name, [])
        if scope is None:
            return list(items)
        pattern = re.compile(scope)
        return [item for item in items if hasattr(item, "name") and pattern.match(item.name)]

    def get_all_collection_keys(self) -> list[str]:
        """Returns the keys that are strings."""
        return [k for k in self._collections if isinstance(k, str)]

    def clear_collection(self, name: Hashable) -> None:
        self._check_not_finalized()
        self._collections.pop(name, None)
