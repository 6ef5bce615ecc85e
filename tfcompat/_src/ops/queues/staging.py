"""Staging areas: values that one run puts aside and a later one takes, so that getting and using them overlap."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable
from typing import Any

from tfcompat._src.base.export import export
from tfcompat._src.base.tensor_shape import TensorShape
from tfcompat._src.graph import shape_inference as si
from tfcompat._src.graph.op_spec import HOST, WAITING, op
from tfcompat._src.graph.operation import Operation
from tfcompat._src.graph.scopes import get_default_graph, name_scope
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.nodes import raw
from tfcompat._src.nodes.convert import convert_to_tensor
from tfcompat._src.ops.array.constant import identity
from tfcompat._src.ops.control.groups import no_op
from tfcompat._src.ops.queues.queue import component_values
from tfcompat._src.ops.queues.queue_ops import NO_GRADIENT
from tfcompat._src.ops.queues.resource import as_declared, shared_resource
from tfcompat._src.ops.queues.staging_state import StagingBuffer, StagingMap
from tfcompat._src.ops.queues.state import kept

# ---- ops ----

_add = functools.partial(op, side=HOST, gradient=NO_GRADIENT, effects=WAITING, context=True)
_LIMITS = "*, capacity: int >= 0 = 0, memory_limit: int >= 0 = 0, "
_NAMES = ', container: string = "", shared_name: string = "")'


def _buffer(context: Any) -> StagingBuffer:
    attrs = context.op.attrs
    return shared_resource(context, "staging", lambda: StagingBuffer(attrs["capacity"], attrs["memory_limit"]), by_node_name=True)


def _map(context: Any, ordered: bool) -> StagingMap:
    attrs = context.op.attrs
    return shared_resource(
        context, "ordered staging map" if ordered else "staging map",
        lambda: StagingMap(attrs["capacity"], attrs["memory_limit"], len(attrs["dtypes"]), ordered), by_node_name=True,
    )  # fmt: skip


def _done(_: None) -> tuple:
    return ()


def _put(context, values):
    return _done(_buffer(context).put(tuple(map(kept, values))))


_add("Stage", f"(values: dtypes, {_LIMITS}dtypes: list(type) >= 1{_NAMES} -> ()", shape=si.no_outputs, kernel=_put)
_add("Unstage", f"({_LIMITS}dtypes: list(type) >= 1{_NAMES} -> (values: dtypes)", shape=si.unknown,
     kernel=lambda context: as_declared(context.op, _buffer(context).get()))  # fmt: skip
_add("StagePeek", f"(index: int32, {_LIMITS}dtypes: list(type) >= 1{_NAMES} -> (values: dtypes)", shape=si.unknown,
     kernel=lambda context, index: as_declared(context.op, _buffer(context).peek(int(index))))  # fmt: skip
_add("StageSize", f"({_LIMITS}dtypes: list(type){_NAMES} -> (size: int32)", shape=si.scalar,
     kernel=lambda context: len(_buffer(context).tuples))  # fmt: skip
_add("StageClear", f"({_LIMITS}dtypes: list(type){_NAMES} -> ()", shape=si.no_outputs,
     kernel=lambda context: _done(_buffer(context).clear()))  # fmt: skip


def _add_map_ops(prefix: str, ordered: bool) -> None:
    def of_map(function: Callable) -> Callable:
        return lambda context, *inputs: function(_map(context, ordered), *inputs)

    def by_key(function: Callable) -> Callable:
        return lambda context, key, indices: as_declared(
            context.op, function(_map(context, ordered), int(key), indices.reshape(-1).tolist())
        )

    def by_no_key(context: Any, indices: Any) -> tuple:
        key, values = _map(context, ordered).pop_any(indices.reshape(-1).tolist())
        return key, as_declared(context.op, values, 1)

    values = f"{_LIMITS}dtypes: list(type) >= 1{_NAMES} -> (values: dtypes)"
    about = f"({_LIMITS}dtypes: list(type){_NAMES} -> "
    _add(
        prefix + "MapStage",
        f"(key: int64, indices: int32, values: fake_dtypes, {_LIMITS}dtypes: list(type), fake_dtypes: list(type) >= 1{_NAMES} -> ()",
        shape=si.no_outputs,
        kernel=of_map(lambda m, key, i, values: _done(m.put_components(int(key), i.reshape(-1).tolist(), tuple(map(kept, values))))),
    )
    _add(prefix + "MapPeek", f"(key: int64, indices: int32, {values}", shape=si.unknown,
         kernel=by_key(StagingMap.peek_components))  # fmt: skip
    _add(prefix + "MapUnstage", f"(key: int64, indices: int32, {values}", shape=si.unknown,
         kernel=by_key(StagingMap.pop_components))  # fmt: skip
    _add(prefix + "MapUnstageNoKey", f"(indices: int32, {values.replace('(values', '(key: int64, values')}", shape=si.unknown,
         kernel=by_no_key)  # fmt: skip
    _add(prefix + "MapSize", about + "(size: int32)", shape=si.scalar, kernel=of_map(lambda m: len(m.tuples)))
    _add(prefix + "MapIncompleteSize", about + "(size: int32)", shape=si.scalar, kernel=of_map(lambda m: len(m.incomplete)))
    _add(prefix + "MapClear", about + "()", shape=si.no_outputs, kernel=of_map(lambda m: _done(m.clear())))


_add_map_ops("", ordered=False)
_add_map_ops("Ordered", ordered=True)


# ---- classes ----


class BaseStagingArea:
    """What both staging areas have.

    Args:
      dtypes: one DType per component. shapes: one shape per component, or None.
      names: one name per component, or None; with names, values are dicts.
      shared_name: name under which several graphs' nodes share the area; a new one by default.
      capacity: largest number of elements; 0 for no limit. memory_limit: largest number of bytes; 0 for no limit.

    Attributes: `name`, `dtypes`, `shapes`, `names`, `capacity`, `memory_limit`.
    """

    def __init__(
        self, dtypes: list, shapes: list | None = None, names: list | None = None, shared_name: str | None = None,
        capacity: int = 0, memory_limit: int = 0,
    ) -> None:  # fmt: skip
        if shared_name is not None and not isinstance(shared_name, str):
            raise ValueError("shared_name must be a string")
        self._name = get_default_graph().unique_name(type(self).__name__) if shared_name is None else shared_name
        for label, given in (("shapes", shapes), ("names", names)):
            if given is not None and len(given) != len(dtypes):
                raise ValueError(f"StagingArea {label} must be the same length as dtypes")
        self._dtypes = dtypes
        self._shapes = [TensorShape(s) for s in shapes] if shapes is not None else [TensorShape(None) for _ in dtypes]
        self._names = names
        self._capacity, self._memory_limit = capacity, memory_limit
        with name_scope(f"{self._name}_root"):
            self._coloc_op = no_op()

    @property
    def name(self) -> str:
        return self._name

    @property
    def dtypes(self) -> list:
        return self._dtypes

    @property
    def shapes(self) -> list[TensorShape]:
        return self._shapes

    @property
    def names(self) -> list | None:
        return self._names

    @property
    def capacity(self) -> int:
        return self._capacity

    @property
    def memory_limit(self) -> int:
        return self._memory_limit

    def _components(self, vals: Any, indices: list[int] | None) -> tuple[list[Tensor], list[int]]:
        """The given components as tensors, and their numbers."""
        if isinstance(vals, dict):
            if not self._names:
                raise ValueError("Staging areas must have names to enqueue a dictionary")
            if not set(vals) <= set(self._names):
                raise ValueError(
                    "Keys in dictionary to put do not match names of staging area. "
                    f"Dictionary: ({sorted(vals)}), Queue: ({sorted(self._names)})"
                )
            indices = [i for i, name in enumerate(self._names) if name in vals]
            vals = [vals[self._names[i]] for i in indices]
        else:
            if self._names:
                raise ValueError("You must enqueue a dictionary in a staging area with names")
            if indices is None:
                raise ValueError("Indices must be supplied when inserting a list of tensors")
            if len(indices) != len(vals):
                raise ValueError(f"Number of indices '{len(indices)}' doesn't match number of values '{len(vals)}'")
        if len(vals) > len(self._dtypes):
            raise ValueError(f"Unexpected number of inputs '{len(vals)}' vs '{len(self._dtypes)}'")
        return [self._component(value, i) for value, i in zip(vals, indices)], indices

    def _component(self, value: Any, index: int) -> Tensor:
        dtype = self._dtypes[index]
        if value.dtype != dtype:
            raise ValueError(f"Datatypes do not match. '{value.dtype}' != '{dtype}'")
        value.shape.assert_is_compatible_with(self._shapes[index])
        return convert_to_tensor(value, dtype=dtype, name=f"component_{index}")

    def _moved(self, tensors: Any) -> list[Tensor]:
        """The tensors on the present device, where the area is on another one."""
        tensors = list(tensors) if isinstance(tensors, (tuple, list)) else [tensors]
        return [identity(t) for t in tensors] if no_op().device != self._coloc_op.device else tensors

    def _structured(self, tensors: object, indices: list[int]) -> Any:
        tensors = self._moved(tensors)
        for tensor, i in zip(tensors, indices):
            tensor.set_shape(self._shapes[i])
        return {self._names[i]: t for t, i in zip(tensors, indices)} if self._names else tensors

    def _call(self, make: Callable, *inputs: Any, suffix: str, name: str | None, dtypes: list | None = None, here: bool = True) -> Any:
        """A node of this area, on its device where `here` is true."""
        attrs = {"dtypes": self._dtypes if dtypes is None else dtypes}
        if make is raw.Stage:
            del attrs["dtypes"]
        with get_default_graph().colocate_with(self._coloc_op) if here else contextlib.nullcontext():
            return make(
                *inputs, shared_name=self._name, name=name or f"{self._name}_{suffix}", capacity=self._capacity,
                memory_limit=self._memory_limit, **attrs,
            )  # fmt: skip


@export("contrib.staging.StagingArea")
class StagingArea(BaseStagingArea):
    """A first-in first-out area: `put` in one run, `get` in a later one."""

    def put(self, values: object, name: str | None = None) -> Operation:
        """Adds an element: a tensor, or a list or (with names) dict of them; a run waits while there is no room.

        Raises:
          ValueError: the number or dtype of the components, or their names, are not those of the area.
        """
        with name_scope(name, f"{self._name}_put", component_values(values)) as scope:
            if not isinstance(values, (list, tuple, dict)):
                values = [values]
            tensors, _ = self._components(values, list(range(len(values))))
            return self._call(raw.Stage, tensors, suffix="put", name=scope)

    def get(self, name: str | None = None) -> Any:
        """Takes the oldest element: a list or (with names) dict of tensors; a run waits for it."""
        return self._structured(self._call(raw.Unstage, suffix="get", name=name), list(range(len(self._dtypes))))

    def peek(self, index: object, name: str | None = None) -> Any:
        """The element at a place (int32 scalar), which stays; a run waits until there is one."""
        return self._structured(self._call(raw.StagePeek, index, suffix="peek", name=name), list(range(len(self._dtypes))))

    def size(self, name: str | None = None) -> Tensor:
        """The number of elements, an int32 scalar."""
        return self._call(raw.StageSize, suffix="size", name=name, here=False)

    def clear(self, name: str | None = None) -> Operation:
        """Removes all elements."""
        return self._call(raw.StageClear, suffix="clear", name=name, here=False)


class MapStagingArea(BaseStagingArea):
    """An area whose elements have keys, and whose components may be put in and taken one by one.

    Args: as of StagingArea, and `ordered`: whether `get` without a key takes the lowest key.
    """

    def __init__(
        self, dtypes: list, shapes: list | None = None, names: list | None = None, shared_name: str | None = None,
        ordered: bool = False, capacity: int = 0, memory_limit: int = 0,
    ) -> None:  # fmt: skip
        super().__init__(dtypes, shapes, names, shared_name, capacity, memory_limit)
        self._prefix = "OrderedMap" if ordered else "Map"

    def _make(self, what: str) -> Callable:
        return raw.function(self._prefix + what)

    def put(self, key: object, vals: object, indices: list[int] | None = None, name: str | None = None) -> Operation:
        """Adds components of the element with a key (int64 scalar); a run waits while there is no room.

        Args:
          key: int64 scalar.
          vals: list of tensors, whose numbers are `indices`, or (with names) dict.
          indices: rising numbers of components.
          name: node name.
        """
        with name_scope(name, f"{self._name}_put", component_values(vals)) as scope:
            tensors, indices = self._components(vals, indices)
            return self._call(self._make("Stage"), key, indices, tensors, suffix="put", name=scope)

    def _chosen(self, indices: object) -> tuple[list[int], list]:
        """The numbers of the wanted components, all by default, and their types."""
        if indices is None:
            indices = list(range(len(self._dtypes)))
        if not isinstance(indices, (tuple, list)):
            raise TypeError(f"Invalid indices type '{type(indices)}'")
        if not indices:
            raise ValueError("Empty indices")
        if all(isinstance(i, str) for i in indices):
            if self._names is None:
                raise ValueError(f"String indices provided '{indices}', but this Staging Area was not created with names.")
            missing = [i for i in indices if i not in self._names]
            if missing:
                raise ValueError(f"Named index '{missing[0]}' not in Staging Area names '{self._names}'")
            indices = [self._names.index(i) for i in indices]
        elif not all(isinstance(i, int) for i in indices):
            raise TypeError(f"Mixed types in indices '{indices}'. May only be str or int")
        return list(indices), [self._dtypes[i] for i in indices]

    def peek(self, key: object, indices: object = None, name: str | None = None) -> Any:
        """Components (numbers or names; all by default) of the element with a key, which stays; a run waits for it."""
        indices, dtypes = self._chosen(indices)
        found = self._call(self._make("Peek"), key, indices, suffix="pop", name=name, dtypes=dtypes)
        return self._structured(found, indices)

    def get(self, key: object = None, indices: object = None, name: str | None = None) -> tuple:
        """Takes components (numbers or names; all by default) of the element with a key, or of any; a run waits for it.

        Returns:
          (key, list or dict of tensors).
        """
        indices, dtypes = self._chosen(indices)
        if key is not None:
            found = self._call(self._make("Unstage"), key, indices, suffix="get", name=name, dtypes=dtypes)
            return key, self._structured(found, indices)
        key, found = self._call(self._make("UnstageNoKey"), indices, suffix="get_nokey", name=name, dtypes=dtypes)
        key = self._moved(key)[0]
        return key, self._structured(found, indices)

    def size(self, name: str | None = None) -> Tensor:
        """The number of complete elements, an int32 scalar."""
        return self._call(self._make("Size"), suffix="size", name=name, here=False)

    def incomplete_size(self, name: str | None = None) -> Tensor:
        """The number of incomplete elements, an int32 scalar."""
        return self._call(self._make("IncompleteSize"), suffix="incomplete_size", name=name, here=False)

    def clear(self, name: str | None = None) -> Operation:
        """Removes all elements."""
        return self._call(self._make("Clear"), suffix="clear", name=name, here=False)
