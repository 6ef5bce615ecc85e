"""Variables by resource handle (VarHandleOp): reads are operations, in their place among the writes."""

from __future__ import annotations

import contextlib
import itertools
import weakref
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from tfcompat._src.base import dtypes
from tfcompat._src.base.export import export
from tfcompat._src.base.graph_collections import GraphKeys
from tfcompat._src.base.session_like import SessionLike
from tfcompat._src.base.tensor_shape import TensorShape, as_shape
from tfcompat._src.graph.operation import Operation
from tfcompat._src.graph.scopes import (
    colocate_with,
    control_dependencies,
    device,
    executing_eagerly,
    get_default_graph,
    init_scope,
    name_scope,
)
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.nodes import raw
from tfcompat._src.nodes.convert import convert_to_tensor, register_tensor_conversion_function
from tfcompat._src.nodes.indexed_slices import IndexedSlices
from tfcompat._src.variables import assign, policies
from tfcompat._src.variables.guard import guard_initial_value
from tfcompat._src.variables.variable import SaveSliceInfo, Variable, class_attribute, prepend_name_scope

if TYPE_CHECKING:
    from tfcompat._src.base.arrays import TensorLike
    from tfcompat._src.base.dtypes import DType
    from tfcompat._src.base.tensor_shape import ShapeLike

_EAGER_NUMBERS = itertools.count()
eager_creation_observers: list[Callable[[ResourceVariable], None]] = []
"""Called with each variable that is made eagerly, once it has its initial value."""


class BaseResourceVariable(Variable):
    """What a resource variable and its value after an assignment share."""

    _handle: Tensor
    _handle_name: str
    _graph_element: Tensor
    _shape: TensorShape
    _dtype: dtypes.DType
    _cached_value: Tensor | None = None
    _initial_value: Tensor | None = None
    _initializer_op: Operation | None = None

    @property
    def handle(self) -> Tensor:
        """The resource tensor."""
        return self._handle

    @property
    def op(self) -> Operation:
        return self._handle.op

    @property
    def create(self) -> Operation | None:
        """The operation that initializes the variable."""
        return self._initializer_op

    @property
    def name(self) -> str:
        return self._handle_name

    @property
    def dtype(self) -> dtypes.DType:
        return self._dtype

    @property
    def shape(self) -> TensorShape:
        return self._shape

    _in_graph_mode = True
    _unique_name: str

    @property
    def _unique_id(self) -> str:
        return self._shared_name if self._in_graph_mode else self._unique_name

    @property
    def _shared_name(self) -> str:
        return self._handle_name[: self._handle_name.index(":")]

    @property
    def graph(self) -> Any:
        return self._handle.graph

    @property
    def device(self) -> str:
        return self._handle.device

    @property
    def initial_value(self) -> Tensor | None:
        """The tensor that the initializer assigns; RuntimeError in eager mode, where there is none."""
        if not self._in_graph_mode:
            raise RuntimeError("initial_value not supported in EAGER mode.")
        return self._initial_value

    def _shape_as_list(self) -> list | None:
        return None if self._shape.sizes is None else list(self._shape.sizes)

    def _shape_tuple(self) -> tuple | None:
        return self._shape.sizes

    def set_shape(self, shape: Any) -> None:
        raise NotImplementedError("ResourceVariable does not implement set_shape()")

    def __int__(self) -> int:
        return int(self.numpy())

    def numpy(self) -> Any:
        """The value as NumPy; NotImplementedError where operations do not run at once."""
        if not executing_eagerly():
            raise NotImplementedError("numpy() is only available when eager execution is enabled.")
        return self.read_value().numpy()

    def eval(self, session: SessionLike | None = None) -> None:
        """The value as NumPy, in `session` or the default session; RuntimeError in eager mode."""
        if executing_eagerly():
            raise RuntimeError("Trying to eval in EAGER mode")
        return super().eval(session)

    def load(self, value: object, session: SessionLike | None = None) -> None:
        """Sets the value: in `session` or the default session, or at once in eager mode."""
        if executing_eagerly():
            self.assign(value)
        else:
            super().load(value, session)

    def __reduce__(self) -> Any:
        """A copy with the value of now; NotImplementedError where operations do not run at once."""
        if not executing_eagerly():
            raise NotImplementedError("a variable of a graph cannot be pickled: its value is in the sessions")
        return ResourceVariable, (self.numpy(), self._trainable, None, True, None, self._shared_name, self._dtype)

    def _as_graph_element(self) -> Tensor | None:
        return self._graph_element if self._in_graph_mode else None

    def _as_handle(self) -> Tensor:
        return self._handle

    def _snapshot_tensor(self) -> Tensor:
        return self._graph_element if self._cached_value is None else self._cached_value

    def _is_initialized_test(self) -> Tensor:
        return self.is_initialized()

    def is_initialized(self, name: str | None = None) -> Tensor:
        """A bool scalar: whether the variable has a value."""
        return raw.VarIsInitializedOp(self._handle, name=name)

    # ---- reads ----

    def _read_variable_op(self) -> Tensor:
        return raw.ReadVariableOp(self._handle, self._dtype)

    def value(self) -> Tensor:
        if self._cached_value is not None:
            return self._cached_value
        with colocate_with(None, ignore_existing=True), device(self._handle.device):
            return self._read_variable_op()

    def read_value(self) -> Tensor:
        with name_scope("Read"), device(self._handle.device):
            value = self._read_variable_op()
        return raw.Identity(value)

    def sparse_read(self, indices: Any, name: str | None = None) -> Tensor:
        """The rows `indices`."""
        with name_scope("Gather" if name is None else name) as scope:
            value = raw.ResourceGather(self._handle, indices, dtype=self._dtype, name=scope)
        return raw.Identity(value)

    def gather_nd(self, indices: TensorLike, name: str | None = None) -> Tensor:
        """The slices at the index vectors `indices[..., :]`."""
        with name_scope("GatherNd" if name is None else name) as scope:
            value = raw.ResourceGatherNd(self._handle, indices, dtype=self._dtype, name=scope)
        return raw.Identity(value)

    def _building_graph(self) -> contextlib.AbstractContextManager:
        """Where nodes on the handle go: the variable's graph, or the function that is being made."""
        is_inside = get_default_graph().building_function or not self._in_graph_mode
        return contextlib.nullcontext() if is_inside else self._handle.graph.as_default()

    # ---- writes ----

    def _assign_dependencies(self) -> contextlib.AbstractContextManager:
        """An update waits for the cached read, so that the two are ordered."""
        return contextlib.nullcontext() if self._cached_value is None else control_dependencies([self._cached_value])

    def _lazy_read(self, op: Operation) -> UnreadVariable:
        return UnreadVariable(self, op)

    def assign(
        self, value: Any, use_locking: bool | None = None, name: str | None = None, read_value: bool = True
    ) -> Any:
        """Replaces the value.

        Args:
          value: of the variable's dtype and shape.
          use_locking: no effect on resource variables.
          name: node name.
          read_value: whether to return the variable as it is afterwards, or the operation.

        Raises:
          ValueError: the shapes cannot be equal.
        """
        with self._building_graph():
            tensor = convert_to_tensor(value, dtype=self._dtype)
            self._shape.assert_is_compatible_with(tensor.shape)
            op = raw.AssignVariableOp(self._handle, tensor, name=name)
            return self._lazy_read(op) if read_value else op

    def assign_add(
        self, delta: Any, use_locking: bool | None = None, name: str | None = None, read_value: bool = True
    ) -> Any:
        """Adds to the value; the variable afterwards, or the operation where `read_value` is false."""
        return self._update(raw.AssignAddVariableOp, delta, name, read_value)

    def assign_sub(
        self, delta: Any, use_locking: bool | None = None, name: str | None = None, read_value: bool = True
    ) -> Any:
        """Subtracts from the value; the variable afterwards, or the operation where `read_value` is false."""
        return self._update(raw.AssignSubVariableOp, delta, name, read_value)

    def _update(self, make: Any, delta: object, name: str | None, read_value: bool) -> Any:
        with self._building_graph(), self._assign_dependencies():
            op = make(self._handle, convert_to_tensor(delta, dtype=self._dtype), name=name)
        return self._lazy_read(op) if read_value else op

    def count_up_to(self, limit: int) -> Tensor:
        """Adds 1; the value before. Running it at `limit` raises OutOfRangeError."""
        return raw.ResourceCountUpTo(self._handle, limit=limit, T=self._dtype)

    def _scatter(self, kind: str, sparse_delta: IndexedSlices, use_locking: bool, name: str | None) -> UnreadVariable:
        values = convert_to_tensor(sparse_delta.values, self._dtype)
        return self._lazy_read(
            raw.function("ResourceScatter" + kind)(self._handle, sparse_delta.indices, values, name=name)
        )

    def _scatter_nd(self, kind: str, indices: object, updates: TensorLike, name: str | None) -> UnreadVariable:
        values = convert_to_tensor(updates, self._dtype)
        return self._lazy_read(raw.function("ResourceScatterNd" + kind)(self._handle, indices, values, name=name))

    def batch_scatter_update(
        self, sparse_delta: IndexedSlices, use_locking: bool = False, name: str | None = None
    ) -> Any:
        """Replaces rows of the last index dimension, for each position of the dimensions before it."""
        if not isinstance(sparse_delta, IndexedSlices):
            raise TypeError(f"sparse_delta is not IndexedSlices: {sparse_delta}")
        updated = assign.batch_scatter_update(
            self, sparse_delta.indices, sparse_delta.values, use_locking=use_locking, name=name
        )
        return self._lazy_read(updated.op)

    def _strided_slice_assign(
        self, begin, end, strides, value, name, begin_mask, end_mask, ellipsis_mask, new_axis_mask, shrink_axis_mask
    ) -> UnreadVariable:
        with self._building_graph(), self._assign_dependencies():
            op = raw.ResourceStridedSliceAssign(
                self._handle, begin, end, strides, convert_to_tensor(value, dtype=self._dtype), name=name,
                begin_mask=begin_mask,
                end_mask=end_mask, ellipsis_mask=ellipsis_mask, new_axis_mask=new_axis_mask,
                shrink_axis_mask=shrink_axis_mask,
            )  # fmt: skip
            return self._lazy_read(op)

    # ---- Python ----

    def __bool__(self) -> bool:
        return bool(self.read_value())

    def __copy__(self) -> BaseResourceVariable:
        return self

    def __deepcopy__(self, memo: dict) -> Any:
        if not executing_eagerly():
            raise NotImplementedError("__deepcopy__() is only available when eager execution is enabled.")
        copied = ResourceVariable(
            self.read_value(), trainable=self._trainable, constraint=self._constraint, dtype=self._dtype,
            name=f"{self._shared_name}_copy", synchronization=self._synchronization, aggregation=self._aggregation,
        )  # fmt: skip
        memo[self._unique_id] = copied
        return copied

    def __repr__(self) -> str:
        if not executing_eagerly() or self._in_graph_mode:
            return super().__repr__()
        return f"<tf.Variable '{self.name}' shape={self.shape} dtype={self._dtype.name}, numpy={self.read_value()._text(True)}>"

    def to_proto(self, export_scope: str | None = None) -> Any:
        found = super().to_proto(export_scope)
        if found is not None:
            found.is_resource = True
        return found


def _refuse(symbol: str, advice: str) -> Any:
    def refuse(self: BaseResourceVariable, other: Any) -> Any:
        raise RuntimeError(f"Variable {symbol} value not supported. Use {advice}")

    return refuse


_UPDATE_ADVICE = (
    "variable.assign_{0}(value) to modify the variable value and variable = variable {1} value to get a new "
    "Tensor object."
)
_ADVICE = "`var.assign(var {0} value)` to modify the variable or `var = var {0} value` to get a new Tensor object."
for _name, _symbol, _advice in (
    ("iadd", "+=", _UPDATE_ADVICE.format("add", "+")), ("isub", "-=", _UPDATE_ADVICE.format("sub", "-")),
    ("imul", "*=", _ADVICE.format("*")), ("itruediv", "/=", _ADVICE.format("/")), ("ipow", "**=", _ADVICE.format("**")),
):  # fmt: skip
    setattr(BaseResourceVariable, f"__{_name}__", _refuse(_symbol, _advice))


@export("contrib.eager.Variable")
class ResourceVariable(BaseResourceVariable):
    """A variable behind a resource handle; see tf.Variable for the arguments."""

    def __init__(
        self, initial_value=None, trainable=None, collections=None, validate_shape=True, caching_device=None, name=None,
        dtype=None, variable_def=None, import_scope=None, constraint=None, distribute_strategy=None,
        synchronization=None, aggregation=None, shape=None,
    ) -> None:  # fmt: skip
        if distribute_strategy is not None:
            raise NotImplementedError("tfcompat has no ResourceVariable with the argument distribute_strategy: make it in the strategy's scope.")
        if variable_def is not None:
            if initial_value is not None:
                raise ValueError("variable_def and initial_value are mutually exclusive.")
            self._init_from_proto(variable_def, import_scope)
            return
        if isinstance(initial_value, Tensor) and initial_value.graph.building_function:
            raise ValueError(
                "Tensor-typed variable initializers must either be wrapped in an init_scope or callable (e.g., `tf.Variable(lambda : "
                "tf.truncated_normal([10, 40]))`) when building functions. Please file a feature request if this restriction "
                "inconveniences you."
            )
        self._synchronization, self._aggregation, self._trainable = policies.validate(
            synchronization, aggregation, trainable, name
        )
        collections = [GraphKeys.GLOBAL_VARIABLES] if collections is None else collections
        policies.check_arguments(initial_value, collections, constraint)
        if self._trainable and GraphKeys.TRAINABLE_VARIABLES not in collections:
            collections = [*collections, GraphKeys.TRAINABLE_VARIABLES]
        self._constraint = constraint
        self._caching_device = caching_device
        with init_scope():
            self._in_graph_mode = not executing_eagerly()
            values = [] if callable(initial_value) or not self._in_graph_mode else [initial_value]
            with name_scope(name, "Variable", values) as scope:
                if self._in_graph_mode:
                    self._make_nodes(scope, initial_value, dtype, shape)
                    get_default_graph().add_to_collections(collections, self)
                else:
                    self._make_value(scope, initial_value, dtype, shape)
                    for observe in eager_creation_observers:
                        observe(self)
                    if GraphKeys.GLOBAL_STEP in collections:
                        get_default_graph().add_to_collection(GraphKeys.GLOBAL_STEP, self)

    def _make_value(self, scope: str, initial_value: Any, dtype: Any, shape: ShapeLike) -> None:
        """Makes the variable with its value, where operations run at once."""
        name = scope[:-1]
        with name_scope("Initializer"), device(None):
            value = initial_value() if callable(initial_value) else initial_value
            initial = convert_to_tensor(value, name="initial_value", dtype=dtype)
        self._shape = _declared_shape(initial, shape)
        self._dtype = initial.dtype.base_dtype
        self._handle_name = f"{name}:0"
        self._unique_name = f"{name}_{next(_EAGER_NUMBERS)}"
        self._handle = raw.VarHandleOp(shape=self._shape, dtype=self._dtype, shared_name=self._unique_name)
        self._handle._handle_data = (self._dtype, self._shape.sizes)
        self._handle.variable = weakref.ref(self)
        raw.AssignVariableOp(self._handle, initial)

    def _make_nodes(self, scope: str, initial_value: Any, dtype: Any, shape: ShapeLike) -> None:
        handle_name = scope[:-1]
        with get_default_graph()._attr_scope(class_attribute(handle_name)):
            with name_scope("Initializer"), device(None):
                value = initial_value() if callable(initial_value) else initial_value
                initial = self._initial_value = convert_to_tensor(value, name="initial_value", dtype=dtype)
            self._shape = _declared_shape(initial, shape)
            self._dtype = initial.dtype.base_dtype
            handle = self._handle = raw.VarHandleOp(
                shape=self._shape, dtype=self._dtype, shared_name=handle_name, name=scope
            )
            self._handle_name = handle.name
        if initial.op._control_flow_context is not None:
            raise ValueError(
                f"Initializer for variable {scope} is from inside a control-flow construct, such as a loop or "
                "conditional. "
                "When creating a variable inside a loop or conditional, use a lambda as the initializer."
            )
        with name_scope("IsInitialized"):
            self._is_initialized_op = raw.VarIsInitializedOp(handle)
        with name_scope("Assign") as assign_scope, colocate_with(None, ignore_existing=True), device(handle.device):
            self._initializer_op = raw.AssignVariableOp(handle, guard_initial_value(scope, initial), name=assign_scope)
        with name_scope("Read"):
            with device(handle.device):
                self._graph_element = self._read_variable_op()
            if self._caching_device is not None:
                with colocate_with(None, ignore_existing=True), device(self._caching_device):
                    self._cached_value = raw.Identity(self._graph_element)

    def _init_from_proto(self, variable_def: Any, import_scope: str | None) -> None:
        if not variable_def.is_resource:
            raise ValueError("Trying to restore Variable as ResourceVariable.")

        def element(name: str) -> Any:
            return get_default_graph().as_graph_element(prepend_name_scope(name, import_scope))

        self._handle = element(variable_def.variable_name)
        self._shape = self._handle.op.attrs["shape"]
        self._dtype = self._handle.op.attrs["dtype"]
        self._handle_name = self._handle.name
        self._initializer_op = element(variable_def.initializer_name)
        self._initial_value = element(variable_def.initial_value_name) if variable_def.initial_value_name else None
        self._synchronization, self._aggregation, self._trainable = policies.validate(
            variable_def.synchronization, variable_def.aggregation, variable_def.trainable, variable_def.variable_name
        )
        self._constraint = None
        handle_name = variable_def.variable_name.partition(":")[0]
        snapshot = element(variable_def.snapshot_name or handle_name + "/Read/ReadVariableOp:0")
        if snapshot.op.type != "ReadVariableOp":
            self._cached_value = snapshot
        while snapshot.op.type != "ReadVariableOp":
            snapshot = snapshot.op.inputs[0]
        self._graph_element = snapshot
        if variable_def.HasField("save_slice_info_def"):
            self._save_slice_info = SaveSliceInfo(
                save_slice_info_def=variable_def.save_slice_info_def, import_scope=import_scope
            )

    @staticmethod
    def from_proto(variable_def: object, import_scope: str | None = None) -> ResourceVariable:
        return ResourceVariable(variable_def=variable_def, import_scope=import_scope)


def _declared_shape(initial: Tensor, shape: ShapeLike) -> TensorShape:
    """The shape of a variable; ValueError where its initial value is of another one than `shape`."""
    if shape is not None and not initial.shape.is_compatible_with(shape):
        raise ValueError(
            f"The initial value's shape ({initial.shape}) is not compatible with the explicitly supplied "
            f"`shape` argument ({shape})."
        )
    return initial.shape if shape is None else as_shape(shape)


class UnreadVariable(BaseResourceVariable):
    """A resource variable as it is after `parent_op`; reads wait for that operation."""

    def __init__(self, variable: BaseResourceVariable, parent_op: Operation) -> None:
        self._handle, self._shape, self._dtype = variable._handle, variable._shape, variable.dtype
        self._in_graph_mode = variable._in_graph_mode
        self._handle_name = self._handle.name + ":0" if self._in_graph_mode else "UnreadVariable"
        self._parent_op = parent_op
        self._constraint = None
        self._synchronization, self._aggregation, self._trainable = policies.validate(None, None, None, None)
        is_read = self._in_graph_mode and not get_default_graph().building_function
        self._graph_element = self._read_variable_op() if is_read else None

    @property
    def name(self) -> str:
        return self._parent_op.name if self._in_graph_mode else self._handle_name

    @property
    def _shared_name(self) -> str:
        return self._handle.op.name

    @property
    def op(self) -> Operation:
        return self._parent_op

    def _read_variable_op(self) -> Tensor:
        with control_dependencies([self._parent_op]):
            return raw.ReadVariableOp(self._handle, self._dtype)

    def value(self) -> Tensor:
        return self._read_variable_op()

    def read_value(self) -> Tensor:
        return self._read_variable_op()


def _convert(
    variable: BaseResourceVariable, dtype: DType | None = None, name: str | None = None, as_ref: bool = False
) -> Tensor:
    if dtype is not None and not dtype.is_compatible_with(variable.dtype):
        raise ValueError(
            f"Incompatible type conversion requested to type {dtype.name!r} for variable of type "
            f"{variable.dtype.name!r}"
        )
    return variable.read_value().op.inputs[0] if as_ref else variable.value()


register_tensor_conversion_function(BaseResourceVariable, _convert)


def is_resource_variable(var: object) -> bool:
    """Whether `var` is a variable behind a resource handle."""
    return isinstance(var, BaseResourceVariable) or hasattr(var, "_should_act_as_resource_variable")
