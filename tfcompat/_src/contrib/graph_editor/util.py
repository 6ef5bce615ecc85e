"""tf.contrib.graph_editor.util: lists of nodes and tensors, control outputs, placeholders, and trees of any of these."""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from tfcompat._src.base.export import export
from tfcompat._src.base.graph_collections import GraphKeys
from tfcompat._src.graph import op_selector
from tfcompat._src.graph.graph import Graph
from tfcompat._src.graph.op_selector import is_iterable
from tfcompat._src.graph.operation import Operation
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.ops.array.constant import placeholder

if TYPE_CHECKING:
    from tfcompat._src.base.dtypes import DTypeLike
    from tfcompat._src.base.tensor_shape import ShapeLike

DEFAULT_PREFIX = "geph"


@export("contrib.graph_editor.util.concatenate_unique")
def concatenate_unique(la: list, lb: Iterable[Hashable]) -> list:
    """Appends to the list `la` those elements of `lb` that are not in it, and returns it."""
    known = set(la)
    la.extend(e for e in dict.fromkeys(lb) if e not in known)
    return la


@export("contrib.graph_editor.util.ListView")
class ListView:
    """A list that cannot be changed; TypeError where `list_` is none."""

    def __init__(self, list_: list) -> None:
        if not isinstance(list_, list):
            raise TypeError(f"Expected a list, got: {type(list_)}.")
        self._list = list_

    def __iter__(self) -> Any:
        return iter(self._list)

    def __len__(self) -> int:
        return len(self._list)

    def __bool__(self) -> bool:
        return bool(self._list)

    def __getitem__(self, i: Any) -> Any:
        return self._list[i]

    def __add__(self, other: Iterable) -> list:
        return [*self._list, *other]


@export("contrib.graph_editor.util.flatten_tree")
def flatten_tree(tree: object, leaves: list | None = None) -> list:
    """The leaves of nested iterables (the values of dicts), appended to `leaves`."""
    leaves = [] if leaves is None else leaves
    if not is_iterable(tree):
        leaves.append(tree)
        return leaves
    for child in tree.values() if isinstance(tree, Mapping) else tree:
        flatten_tree(child, leaves)
    return leaves


@export("contrib.graph_editor.util.transform_tree")
def transform_tree(tree: object, fn: Callable, iterable_type: Callable = tuple) -> Any:
    """Nested iterables of the same types with `fn` of each leaf; `iterable_type` stands for iterables that are no sequence."""
    if not is_iterable(tree):
        return fn(tree)
    if isinstance(tree, dict):
        return type(tree)((k, transform_tree(child, fn)) for k, child in tree.items())
    children = [transform_tree(child, fn) for child in tree]
    if hasattr(tree, "_asdict"):
        return type(tree)(*children)
    return type(tree)(children) if isinstance(tree, Sequence) else iterable_type(children)


@export("contrib.graph_editor.make_list_of_op", "contrib.graph_editor.util.make_list_of_op")
def make_list_of_op(
    ops: object, check_graph: bool = True, allow_graph: bool = True, ignore_ts: bool = False
) -> list[Operation]:
    """The operations of a graph, of an iterable, or a single one, as a list.

    Args:
      ops: what to list.
      check_graph: checks that all belong to one graph.
      allow_graph: `ops` may be a graph.
      ignore_ts: leaves tensors out, which are an error otherwise.

    Raises:
      TypeError: an element of another type, or a graph that is not allowed. ValueError: several graphs.
    """
    return op_selector.make_list_of_op(ops, check_graph, allow_graph, ignore_ts)


@export("contrib.graph_editor.ControlOutputs", "contrib.graph_editor.util.ControlOutputs")
class ControlOutputs:
    """The operations that wait for each operation of a graph; TypeError where `graph` is none."""

    def __init__(self, graph: Graph) -> None:
        if not isinstance(graph, Graph):
            raise TypeError(f"Expected a tf.Graph, got: {type(graph)}")
        self._graph = graph
        self._control_outputs: dict[Operation, list[Operation]] = {}
        self._state: tuple | None = None
        self.update()

    def update(self) -> ControlOutputs:
        """Reads the graph again if it has changed, and returns this."""
        state = (self._graph.version, self._graph._changes)
        if state != self._state:
            self._state = state
            self._control_outputs.clear()
            for op in self._graph.get_operations():
                for source in op.control_inputs:
                    self._control_outputs.setdefault(source, []).append(op)
        return self

    def get_all(self) -> dict[Operation, list[Operation]]:
        """The operations that wait, by what they wait for."""
        return self._control_outputs

    def get(self, op: Operation) -> Sequence[Operation]:
        """The operations that wait for `op`."""
        return self._control_outputs.get(op, ())

    @property
    def graph(self) -> Graph:
        return self._graph


@export("contrib.graph_editor.util.scope_finalize")
def scope_finalize(scope: str) -> str:
    """The scope with a "/" at its end; nothing for the root."""
    return scope + "/" if scope and not scope.endswith("/") else scope


@export("contrib.graph_editor.util.scope_dirname")
def scope_dirname(scope: str) -> str:
    """What stands up to the last "/", with it."""
    return scope[: scope.rfind("/") + 1]


@export("contrib.graph_editor.util.scope_basename")
def scope_basename(scope: str) -> str:
    """What stands behind the last "/"."""
    return scope[scope.rfind("/") + 1 :]


@export("contrib.graph_editor.placeholder_name", "contrib.graph_editor.util.placeholder_name")
def placeholder_name(t: Tensor | None = None, scope: str | None = None, prefix: str = DEFAULT_PREFIX) -> str:
    """The name of a placeholder that the graph editor makes: `geph__OP_INDEX`.

    Args:
      t: the tensor that it stands for, or None.
      scope: the scope of the placeholder; None: that of `t`, "": the root.
      prefix: how the name begins.

    Raises:
      TypeError: `t` is no tensor.
    """
    scope = None if scope is None else scope_finalize(scope)
    if t is None:
        return (scope or "") + prefix
    if not isinstance(t, Tensor):
        raise TypeError(f"Expected a tf.Tensor, got: {type(t)}")
    base = scope_basename(t.op.name)
    name = base if base.startswith(f"{prefix}__") else f"{prefix}__{base}_{t.value_index}"
    return (scope_dirname(t.op.name) if scope is None else scope) + name


@export("contrib.graph_editor.make_placeholder_from_tensor", "contrib.graph_editor.util.make_placeholder_from_tensor")
def make_placeholder_from_tensor(t: Tensor, scope: str | None = None, prefix: str = DEFAULT_PREFIX) -> Tensor:
    """A placeholder with dtype and shape of `t`, in the default graph; its name: see `placeholder_name`."""
    return placeholder(t.dtype, t.get_shape(), placeholder_name(t, scope=scope, prefix=prefix))


@export(
    "contrib.graph_editor.make_placeholder_from_dtype_and_shape", "contrib.graph_editor.ph",
    "contrib.graph_editor.util.make_placeholder_from_dtype_and_shape",
)  # fmt: skip
def make_placeholder_from_dtype_and_shape(
    dtype: DTypeLike, shape: ShapeLike = None, scope: str | None = None, prefix: str = DEFAULT_PREFIX
) -> Tensor:
    """A placeholder of a dtype and shape, in the default graph; its name: see `placeholder_name`."""
    return placeholder(dtype, shape, placeholder_name(scope=scope, prefix=prefix))


@export("contrib.graph_editor.util.get_predefined_collection_names")
def get_predefined_collection_names() -> list[Any]:
    """The values of all names of tf.GraphKeys."""
    return [getattr(GraphKeys, key) for key in dir(GraphKeys) if not re.match(r"^__\w+__$", key)]


@export("contrib.graph_editor.util.find_corresponding_elem")
def find_corresponding_elem(target: Any, dst_graph: Graph, dst_scope: str = "", src_scope: str = "") -> Any:
    """The tensor or operation of another graph with the name of `target`.

    Args:
      target: a tensor or operation.
      dst_graph: the graph to look in.
      dst_scope: the scope there.
      src_scope: the scope of `target` that `dst_scope` stands for.

    Raises:
      ValueError: `target` is not in `src_scope`. TypeError: it is no tensor and no operation. KeyError: there is none.
    """
    source = scope_finalize(src_scope)
    if not target.name.startswith(source):
        raise ValueError(f"{target.name} does not start with {source}")
    name = scope_finalize(dst_scope) + target.name[len(source) :]
    if isinstance(target, Tensor):
        return dst_graph.get_tensor_by_name(name)
    if isinstance(target, Operation):
        return dst_graph.get_operation_by_name(name)
    raise TypeError(f"Expected tf.Tensor or tf.Operation, got: {type(target)}")


@export("contrib.graph_editor.util.find_corresponding")
def find_corresponding(targets: object, dst_graph: Graph, dst_scope: str = "", src_scope: str = "") -> Any:
    """`find_corresponding_elem` of each leaf of nested tensors and operations."""
    return transform_tree(targets, lambda leaf: find_corresponding_elem(leaf, dst_graph, dst_scope, src_scope))
