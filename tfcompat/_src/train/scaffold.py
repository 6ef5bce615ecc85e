"""tf.train.Scaffold: the operations that a training session needs around the training itself."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tfcompat._src.base import dtypes
from tfcompat._src.base.export import export
from tfcompat._src.base.graph_collections import GraphKeys
from tfcompat._src.graph.operation import Operation
from tfcompat._src.graph.scopes import add_to_collection, get_collection, get_default_graph
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.nodes.convert import constant
from tfcompat._src.ops.array.join import concat
from tfcompat._src.ops.control.groups import group
from tfcompat._src.platform import logging
from tfcompat._src.summary.summary import merge_all
from tfcompat._src.train.checkpoint import CheckpointV1
from tfcompat._src.train.saver import Saver, _get_saver_or_default
from tfcompat._src.train.trackable_graph import ObjectGraphView, object_graph_saveable
from tfcompat._src.variables import collections, resources


@export("train.Scaffold")
class Scaffold:
    """What initializes a model, tells whether it is ready, saves it and summarizes it; `finalize` makes what is not given.

    Args:
      init_op: operation that initializes the model. init_feed_dict: feeds for it.
      init_fn: function of (scaffold, session) that is called after `init_op`.
      ready_op: string vector of the names of variables that have no value.
      ready_for_local_init_op: the same, before `local_init_op`.
      local_init_op: operation that initializes what is in no checkpoint.
      summary_op: the summaries.
      saver: a Saver, or a Checkpoint to save.
      copy_from_scaffold: a Scaffold that gives what is not given here.

    Raises:
      TypeError: `copy_from_scaffold` is no Scaffold.
    """

    _init_op: Any
    _init_feed_dict: dict | None
    _user_init_fn: Callable | None
    _ready_op: Any
    _ready_for_local_init_op: Any
    _local_init_op: Any
    _summary_op: Any
    _saver: Any

    def __init__(
        self, init_op: object = None, init_feed_dict: dict | None = None, init_fn: Callable | None = None,
        ready_op: object = None, ready_for_local_init_op: object = None, local_init_op: object = None, summary_op: object = None,
        saver: object = None, copy_from_scaffold: Scaffold | None = None,
    ) -> None:  # fmt: skip
        if copy_from_scaffold is not None and not isinstance(copy_from_scaffold, Scaffold):
            raise TypeError("copy_from_scaffold is not a Scaffold instance.")
        given = {
            "init_op": init_op, "init_feed_dict": init_feed_dict, "user_init_fn": init_fn, "ready_op": ready_op,
            "ready_for_local_init_op": ready_for_local_init_op, "local_init_op": local_init_op, "summary_op": summary_op,
            "saver": saver,
        }  # fmt: skip
        for name, value in given.items():
            setattr(self, "_" + name, getattr(copy_from_scaffold, "_" + name, None) if value is None else value)

    def finalize(self) -> Scaffold:
        """Makes what is not given, or takes it from the graph's collections; then the graph is final."""
        parts: tuple[tuple[str, str, Callable[[], Any]], ...] = (
            ("init_op", GraphKeys.INIT_OP, _default_init_op),
            ("ready_op", GraphKeys.READY_OP, _default_ready_op),
            ("ready_for_local_init_op", GraphKeys.READY_FOR_LOCAL_INIT_OP, _default_ready_for_local_init_op),
            ("local_init_op", GraphKeys.LOCAL_INIT_OP, Scaffold.default_local_init_op),
            ("summary_op", GraphKeys.SUMMARY_OP, merge_all),
        )
        for name, key, default in parts:
            if getattr(self, "_" + name) is None:
                setattr(self, "_" + name, Scaffold.get_or_default(name, key, default))
        if self._saver is None:
            self._saver = _get_saver_or_default()
        if isinstance(self._saver, CheckpointV1):
            self._saver = saver_of_objects(self._saver)
        else:
            self._saver.build()
        get_default_graph().finalize()
        logging.info("Graph was finalized.")
        return self

    @property
    def init_fn(self) -> Callable[[Any], Any] | None:
        """A function of the session that calls the given one, or None."""
        given = self._user_init_fn
        return (lambda sess: given(self, sess)) if given else None

    @property
    def init_op(self) -> Any:
        return self._init_op

    @property
    def ready_op(self) -> Any:
        return self._ready_op

    @property
    def ready_for_local_init_op(self) -> Any:
        return self._ready_for_local_init_op

    @property
    def local_init_op(self) -> Any:
        return self._local_init_op

    @property
    def summary_op(self) -> Any:
        return self._summary_op

    @property
    def saver(self) -> Any:
        return self._saver

    @property
    def init_feed_dict(self) -> dict | None:
        return self._init_feed_dict

    @staticmethod
    def get_or_default(arg_name: str, collection_key: str, default_constructor: Callable[[], Any]) -> Any:
        """The element of a collection of the graph, or what a function makes, which is put there unless it is None.

        Args:
          arg_name: the argument of Scaffold that it is for.
          collection_key: the collection. default_constructor: the function.

        Raises:
          RuntimeError: the collection holds several.
        """
        found = get_collection(collection_key)
        if len(found) > 1:
            raise RuntimeError(
                f'More than one item in the collection "{collection_key}". Please indicate which one to use by passing it to the '
                f"tf.Scaffold constructor as:  tf.Scaffold({arg_name}=item to use)"
            )
        if found:
            return found[0]
        made = default_constructor()
        if made is not None:
            add_to_collection(collection_key, made)
        return made

    @staticmethod
    def default_local_init_op() -> Operation:
        """An operation that initializes local variables, tables and local resources."""
        return group(
            collections.local_variables_initializer(), collections.tables_initializer(),
            resources.initialize_resources(resources.local_resources()),
        )  # fmt: skip


def _default_init_op() -> Operation:
    return group(
        collections.global_variables_initializer(), resources.initialize_resources(resources.shared_resources())
    )


def _default_ready_op() -> Tensor:
    return concat([collections.report_uninitialized_variables(), resources.report_uninitialized_resources()], 0)


def _default_ready_for_local_init_op() -> Tensor:
    return concat(
        [
            collections.report_uninitialized_variables(collections.global_variables()),
            resources.report_uninitialized_resources(resources.shared_resources()),
        ],
        0,
    )


def saver_of_objects(root: object) -> Saver:
    """A Saver of a Checkpoint, or another trackable object, with the objects it has now and their graph."""
    serialized = ObjectGraphView(root).serialize_object_graph()
    if serialized.feeds:
        raise NotImplementedError("A Scaffold cannot save a Checkpoint that holds Python state (PythonState objects).")
    graph = object_graph_saveable(constant(serialized.proto.SerializeToString(), dtype=dtypes.string))
    return Saver(var_list=[*serialized.saveables, graph], sharded=True)
