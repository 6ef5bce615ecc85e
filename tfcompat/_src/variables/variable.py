"""tf.Variable: what every kind of variable has, and the choice of the kind when one is made."""

from __future__ import annotations

import contextlib
import functools
import threading
from collections.abc import Callable, Iterator
from typing import Any

import tfcompat._src.ops.math.operators  # noqa: F401  (gives Tensor the operators that variables take over)
from tfcompat._src.base.default_stack import SESSIONS
from tfcompat._src.base.export import export
from tfcompat._src.base.session_like import SessionLike
from tfcompat._src.base.tensor_shape import TensorShape
from tfcompat._src.base.trackable import VARIABLE_VALUE_KEY, Trackable
from tfcompat._src.graph.graph import Graph
from tfcompat._src.graph.scopes import get_default_graph, init_scope
from tfcompat._src.graph.tensor import Tensor, TensorReference
from tfcompat._src.nodes.indexed_slices import IndexedSlices
from tfcompat._src.ops.array.slicing import slice_variable
from tfcompat._src.ops.control.cond import cond
from tfcompat._src.proto import messages
from tfcompat._src.variables.policies import VariableAggregation, VariableSynchronization


class _Creators(threading.local):
    def __init__(self) -> None:
        self.stack: list[Callable] = []


def creator_stack(graph: Graph) -> list[Callable]:
    """The functions of `variable_creator_scope` that apply in `graph` and this thread, outermost first."""
    try:
        return graph._variable_creators.stack
    except AttributeError:
        graph._variable_creators = _Creators()
        return graph._variable_creators.stack


@export("variable_creator_scope")
@contextlib.contextmanager
def variable_creator_scope(variable_creator: Callable) -> Iterator[None]:
    """Variables made inside are made by `variable_creator(next_creator, **kwargs)`.

    Args:
      variable_creator: called with the next creator and the arguments of tf.Variable; returns a variable.

    Raises:
      RuntimeError: the block ends before another one that was opened inside it.
    """
    stack = creator_stack(get_default_graph())
    stack.append(variable_creator)
    try:
        yield
    finally:
        place = next(i for i in reversed(range(len(stack))) if stack[i] is variable_creator)
        is_innermost = place == len(stack) - 1
        del stack[place]
        if not is_innermost:
            raise RuntimeError("Exiting variable_creator_scope without proper nesting.")


class VariableMetaclass(type):
    """Calling tf.Variable asks the creators in scope, then `default_creator`, for a variable."""

    default_creator: Callable

    def __call__(cls, *args: Any, **kwargs: Any) -> Any:
        if cls is not Variable:
            return super().__call__(*args, **kwargs)
        return cls._make(*args, **kwargs)

    def _make(
        cls, initial_value=None, trainable=None, collections=None, validate_shape=True, caching_device=None, name=None,
        variable_def=None, dtype=None, expected_shape=None, import_scope=None, constraint=None, use_resource=None,
        synchronization=VariableSynchronization.AUTO, aggregation=VariableAggregation.NONE, shape=None,
    ) -> Any:  # fmt: skip
        creator = functools.partial(VariableMetaclass.default_creator, None)
        for outer in creator_stack(get_default_graph()):
            creator = functools.partial(outer, creator)
        return creator(
            initial_value=initial_value, trainable=trainable, collections=collections, validate_shape=validate_shape,
            caching_device=caching_device, name=name, variable_def=variable_def, dtype=dtype,
            expected_shape=expected_shape,
            import_scope=import_scope, constraint=constraint, use_resource=use_resource,
            synchronization=synchronization,
            aggregation=VariableAggregation.NONE if aggregation is None else aggregation, shape=shape,
        )  # fmt: skip


class SaveSliceInfo:
    """Which part of a partitioned variable this one is.

    Args:
      full_name: name of the whole variable.
      full_shape: its shape, a list of int.
      var_offset: where the part begins, per dimension.
      var_shape: shape of the part.
      save_slice_info_def: a SaveSliceInfoDef message to read the four from.
      import_scope: name scope to put before the name of the message.
    """

    def __init__(
        self,
        full_name=None,
        full_shape=None,
        var_offset=None,
        var_shape=None,
        save_slice_info_def=None,
        import_scope=None,
    ):
        if save_slice_info_def is not None:
            full_name = prepend_name_scope(save_slice_info_def.full_name, import_scope)
            full_shape = list(save_slice_info_def.full_shape)
            var_offset = list(save_slice_info_def.var_offset)
            var_shape = list(save_slice_info_def.var_shape)
        self.full_name, self.full_shape = full_name, full_shape
        self.var_offset, self.var_shape = var_offset, var_shape

    @property
    def spec(self) -> str:
        """The part as checkpoints write it: "10 6 0,5:0,6"."""
        sizes = "".join(f"{d} " for d in self.full_shape)
        return sizes + ":".join(f"{o},{s}" for o, s in zip(self.var_offset, self.var_shape))

    def to_proto(self, export_scope: str | None = None) -> Any:
        """A SaveSliceInfoDef, or None where the variable is outside `export_scope`."""
        if export_scope is not None and not self.full_name.startswith(export_scope):
            return None
        return messages.SaveSliceInfoDef(
            full_name=strip_name_scope(self.full_name, export_scope), full_shape=self.full_shape,
            var_offset=self.var_offset, var_shape=self.var_shape,
        )  # fmt: skip


def prepend_name_scope(name: str, import_scope: str | None) -> str:
    return f"{import_scope.rstrip('/')}/{name}" if import_scope else name


def strip_name_scope(name: str, export_scope: str | None) -> str:
    prefix = f"{export_scope.rstrip('/')}/" if export_scope else ""
    return name[len(prefix) :] if name.startswith(prefix) else name


@export("Variable")
class Variable(Trackable, metaclass=VariableMetaclass):
    """A value that a Session keeps from one run to the next.

    Args:
      initial_value: a Tensor, something that converts to one, or a function without arguments that returns one.
      trainable: whether optimizers change it by default; it then is in the collection TRAINABLE_VARIABLES.
      collections: graph collections to join; by default GLOBAL_VARIABLES.
      validate_shape: whether the initial value's shape must be known and is the variable's for good.
      caching_device: a device where reads are cached.
      name: node name, made unique; by default "Variable".
      variable_def: a VariableDef message of a variable whose nodes are in the graph already; excludes the others.
      dtype: element type; by default that of the initial value.
      expected_shape: not used by 1.15 either.
      import_scope: name scope to put before the names of `variable_def`.
      constraint: function that optimizers apply to the value after an update.
      use_resource: True for a ResourceVariable, False for a reference; by default as the variable scope says.
      synchronization: a VariableSynchronization.
      aggregation: a VariableAggregation.
      shape: the variable's shape, where it is more general than the initial value's.

    Raises:
      ValueError: there is no initial value, or its shape is not known and `validate_shape` is true.
    """

    SaveSliceInfo = SaveSliceInfo
    __array_priority__ = 100

    _save_slice_info: SaveSliceInfo | None = None
    _caching_device: Any = None
    _initial_value: Tensor | None
    _initializer_op: Any
    _synchronization: VariableSynchronization
    _aggregation: VariableAggregation
    _trainable: bool
    _constraint: Callable | None

    # ---- what the kinds differ in ----

    def value(self) -> Tensor:
        """The value, read once for all users where the variable is a reference or cached."""
        raise NotImplementedError

    def read_value(self) -> Tensor:
        """A new read of the value."""
        raise NotImplementedError

    @property
    def op(self) -> Any:
        """The operation that makes the variable."""
        raise NotImplementedError

    @property
    def dtype(self) -> Any:
        """The element type, a DType."""
        raise NotImplementedError

    def assign(self, value: Any, use_locking: bool = False, name: str | None = None, read_value: bool = True) -> Any:
        """Replaces the value; with `read_value` gives the new one, else the operation."""
        raise NotImplementedError

    def assign_add(self, delta: Any, use_locking: bool = False, name: str | None = None, read_value: bool = True) -> Any:
        """Adds `delta` to the value; with `read_value` gives the new one, else the operation."""
        raise NotImplementedError

    def assign_sub(self, delta: Any, use_locking: bool = False, name: str | None = None, read_value: bool = True) -> Any:
        """Subtracts `delta` from the value; with `read_value` gives the new one, else the operation."""
        raise NotImplementedError

    def count_up_to(self, limit: int) -> Tensor:
        """The value before it grows by one; a run raises OutOfRangeError where it is `limit`."""
        raise NotImplementedError

    @property
    def sparse_read(self) -> Callable[..., Tensor]:
        """`sparse_read(indices, name=None)`, the rows at `indices`, of variables that can be read in part; else AttributeError."""
        raise AttributeError("sparse_read")

    @property
    def gather_nd(self) -> Callable[..., Tensor]:
        """`gather_nd(indices, name=None)`, the parts at index vectors, of variables that can be read in part; else AttributeError."""
        raise AttributeError("gather_nd")

    def batch_scatter_update(self, sparse_delta: IndexedSlices, use_locking: bool = False, name: str | None = None) -> Any:
        """Replaces entries along the last dimension of the indices, for each batch of the leading ones."""
        raise NotImplementedError

    def set_shape(self, shape: Any) -> None:
        """Says what shape the value has."""
        raise NotImplementedError

    def _scatter(self, kind: str, sparse_delta: IndexedSlices, use_locking: bool, name: str | None) -> Any:
        raise NotImplementedError

    def _scatter_nd(self, kind: str, indices: Any, updates: Any, name: str | None) -> Any:
        raise NotImplementedError

    # ---- properties ----

    @property
    def trainable(self) -> bool:
        return self._trainable

    @property
    def synchronization(self) -> VariableSynchronization:
        return self._synchronization

    @property
    def aggregation(self) -> VariableAggregation:
        return self._aggregation

    @property
    def constraint(self) -> Callable | None:
        return self._constraint

    @property
    def initial_value(self) -> Tensor | None:
        """The tensor that the initializer assigns."""
        return self._initial_value

    @property
    def initializer(self) -> Any:
        """The operation that assigns the initial value."""
        return self._initializer_op

    @property
    def device(self) -> str:
        return self.op.device

    @property
    def graph(self) -> Graph:
        return self.op.graph

    @property
    def shape(self) -> TensorShape:
        raise NotImplementedError

    def get_shape(self) -> TensorShape:
        return self.shape

    @property
    def name(self) -> str:
        raise NotImplementedError

    @property
    def _shared_name(self) -> str:
        return self.name[: self.name.index(":")]

    _strategy: object = None

    @property
    def _distribute_strategy(self) -> object:
        """The tf.distribute.Strategy that made it, None outside of one."""
        return self._strategy

    def _set_save_slice_info(self, save_slice_info: SaveSliceInfo) -> None:
        self._save_slice_info = save_slice_info

    def _get_save_slice_info(self) -> SaveSliceInfo | None:
        return self._save_slice_info

    def experimental_ref(self) -> TensorReference:
        """A hashable reference to this variable."""
        return TensorReference(self)

    # ---- values ----

    def initialized_value(self) -> Tensor:
        """The value if the variable has one when this runs, else the initial value."""
        with init_scope():
            return cond(self._is_initialized_test(), self.read_value, lambda: self.initial_value)

    def _is_initialized_test(self) -> Tensor:
        raise NotImplementedError

    def eval(self, session: SessionLike | None = None) -> Any:
        """The value as a NumPy array, in `session` or the default session."""
        return self._as_graph_element().eval(session=session)

    def _as_graph_element(self) -> Tensor:
        raise NotImplementedError

    def load(self, value: Any, session: SessionLike | None = None) -> None:
        """Sets the value in `session` or the default session, without adding nodes; ValueError where there is no
        session."""
        session = session or SESSIONS.top()
        if session is None:
            raise ValueError("Either session argument should be provided or default session should be established")
        session.run(self.initializer, {self.initializer.inputs[1]: value})

    # ---- rows ----

    def scatter_sub(self, sparse_delta: IndexedSlices, use_locking: bool = False, name: str | None = None) -> Any:
        """Subtracts the rows of IndexedSlices; TypeError where they are none."""
        return self._scatter("Sub", _rows(sparse_delta), use_locking, name)

    def scatter_add(self, sparse_delta: IndexedSlices, use_locking: bool = False, name: str | None = None) -> Any:
        """Adds the rows of IndexedSlices; TypeError where they are none."""
        return self._scatter("Add", _rows(sparse_delta), use_locking, name)

    def scatter_max(self, sparse_delta: IndexedSlices, use_locking: bool = False, name: str | None = None) -> Any:
        """Takes the larger of old rows and the rows of IndexedSlices; TypeError where they are none."""
        return self._scatter("Max", _rows(sparse_delta), use_locking, name)

    def scatter_min(self, sparse_delta: IndexedSlices, use_locking: bool = False, name: str | None = None) -> Any:
        """Takes the smaller of old rows and the rows of IndexedSlices; TypeError where they are none."""
        return self._scatter("Min", _rows(sparse_delta), use_locking, name)

    def scatter_mul(self, sparse_delta: IndexedSlices, use_locking: bool = False, name: str | None = None) -> Any:
        """Multiplies rows by those of IndexedSlices; TypeError where they are none."""
        return self._scatter("Mul", _rows(sparse_delta), use_locking, name)

    def scatter_div(self, sparse_delta: IndexedSlices, use_locking: bool = False, name: str | None = None) -> Any:
        """Divides rows by those of IndexedSlices; TypeError where they are none."""
        return self._scatter("Div", _rows(sparse_delta), use_locking, name)

    def scatter_update(self, sparse_delta: IndexedSlices, use_locking: bool = False, name: str | None = None) -> Any:
        """Replaces rows by those of IndexedSlices; TypeError where they are none."""
        return self._scatter("Update", _rows(sparse_delta), use_locking, name)

    def scatter_nd_sub(self, indices: object, updates: object, name: str | None = None) -> Any:
        """Subtracts `updates` at the index vectors `indices`."""
        return self._scatter_nd("Sub", indices, updates, name)

    def scatter_nd_add(self, indices: object, updates: object, name: str | None = None) -> Any:
        """Adds `updates` at the index vectors `indices`."""
        return self._scatter_nd("Add", indices, updates, name)

    def scatter_nd_update(self, indices: object, updates: object, name: str | None = None) -> Any:
        """Writes `updates` at the index vectors `indices`."""
        return self._scatter_nd("Update", indices, updates, name)

    # ---- as a tensor ----

    @classmethod
    def _OverloadAllOperators(cls) -> None:
        for operator in Tensor.OVERLOADABLE_OPERATORS:
            cls._OverloadOperator(operator)
        cls.__getitem__ = slice_variable

    @classmethod
    def _OverloadOperator(cls, operator: str) -> None:
        if operator in ("__eq__", "__ne__"):
            return
        of_tensor = getattr(Tensor, operator)

        @functools.wraps(of_tensor)
        def of_variable(variable: Variable, *args: Any, **kwargs: Any) -> Any:
            return of_tensor(variable.value(), *args, **kwargs)

        setattr(cls, operator, of_variable)

    def __hash__(self) -> int:
        return id(self)

    def __eq__(self, other: object) -> bool:
        return self is other

    def __ne__(self, other: object) -> bool:
        return self is not other

    def __iter__(self) -> Any:
        raise TypeError("'Variable' object is not iterable.")

    def __repr__(self) -> str:
        return f"<tf.Variable '{self.name}' shape={self.shape} dtype={self.dtype.name}>"

    # ---- messages ----

    def _gather_saveables_for_checkpoint(self) -> dict[str, Any]:
        return {VARIABLE_VALUE_KEY: self}

    @staticmethod
    def from_proto(variable_def: Any, import_scope: str | None = None) -> Variable:
        """The variable that a VariableDef message describes; its nodes must be in the default graph."""
        return Variable(variable_def=variable_def, import_scope=import_scope, use_resource=variable_def.is_resource)

    def to_proto(self, export_scope: str | None = None) -> Any:
        """A VariableDef message, or None where the variable is outside `export_scope`."""
        name = self._as_handle().name
        if export_scope is not None and not name.startswith(export_scope):
            return None
        found = messages.VariableDef(
            variable_name=strip_name_scope(name, export_scope),
            initializer_name=strip_name_scope(self.initializer.name, export_scope),
            snapshot_name=strip_name_scope(self._snapshot_tensor().name, export_scope),
            trainable=self.trainable, synchronization=self.synchronization.value, aggregation=self.aggregation.value,
        )  # fmt: skip
        if self._initial_value is not None:
            found.initial_value_name = strip_name_scope(self._initial_value.name, export_scope)
        if self._save_slice_info is not None:
            found.save_slice_info_def.MergeFrom(self._save_slice_info.to_proto(export_scope))
        return found

    def _as_handle(self) -> Tensor:
        raise NotImplementedError

    def _snapshot_tensor(self) -> Tensor:
        raise NotImplementedError


def _rows(sparse_delta: object) -> IndexedSlices:
    if not isinstance(sparse_delta, IndexedSlices):
        raise TypeError(f"sparse_delta is not IndexedSlices: {sparse_delta}")
    return sparse_delta


def class_attribute(group: str) -> Any:
    """An attribute map that puts nodes in the colocation group of a node that is not made yet."""
    return {"_class": messages.AttrValue(list=messages.AttrValue.ListValue(s=[b"loc:@" + group.encode()]))}


Variable._OverloadAllOperators()
