"""Variables by reference (VariableV2), 1.15's default."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any

from tfcompat._src.base import dtypes
from tfcompat._src.base.graph_collections import GraphKeys
from tfcompat._src.base.tensor_shape import TensorShape
from tfcompat._src.graph.scopes import colocate_with, device, get_default_graph, init_scope, name_scope
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


class RefVariable(Variable):
    """A variable whose handle is a mutable tensor; see tf.Variable for the arguments."""

    def __init__(
        self, initial_value=None, trainable=None, collections=None, validate_shape=True, caching_device=None, name=None,
        variable_def=None, dtype=None, expected_shape=None, import_scope=None, constraint=None, synchronization=None,
        aggregation=None, shape=None,
    ) -> None:  # fmt: skip
        if variable_def is not None:
            if initial_value is not None:
                raise ValueError("variable_def and initial_value are mutually exclusive.")
            self._init_from_proto(variable_def, import_scope)
            return
        collections = [GraphKeys.GLOBAL_VARIABLES] if collections is None else collections
        policies.check_arguments(initial_value, collections, constraint)
        self._synchronization, self._aggregation, self._trainable = policies.validate(
            synchronization, aggregation, trainable, name
        )
        if self._trainable and GraphKeys.TRAINABLE_VARIABLES not in collections:
            collections = [*collections, GraphKeys.TRAINABLE_VARIABLES]
        self._caching_device = caching_device
        self._constraint = constraint
        with init_scope():
            values = [] if callable(initial_value) else [initial_value]
            with name_scope(name, "Variable", values) as scope:
                self._make_nodes(scope, initial_value, validate_shape, dtype, shape)
            get_default_graph().add_to_collections(collections, self)

    def _make_nodes(self, scope: str, initial_value: object, validate_shape: bool, dtype: Any, shape: object) -> None:
        if callable(initial_value):
            with get_default_graph()._attr_scope(class_attribute(scope[:-1])):
                with name_scope("Initializer"), device(None):
                    self._initial_value = convert_to_tensor(initial_value(), name="initial_value", dtype=dtype)
                self._variable = self._variable_node(scope, validate_shape, shape)
        else:
            self._initial_value = convert_to_tensor(initial_value, name="initial_value", dtype=dtype)
            if self._initial_value.op._control_flow_context is not None:
                raise ValueError(
                    f"Initializer for variable {scope} is from inside a control-flow construct, such as a loop or "
                    "conditional. "
                    "When creating a variable inside a loop or conditional, use a lambda as the initializer."
                )
            self._variable = self._variable_node(scope, validate_shape, shape)
        if validate_shape and not self._initial_value.shape.is_fully_defined():
            raise ValueError(f"initial_value must have a shape specified: {self._initial_value}")
        value = guard_initial_value(scope, self._initial_value)
        self._initializer_op = assign.assign(self._variable, value, validate_shape=validate_shape).op
        with self._snapshot_place():
            self._snapshot = raw.Identity(self._variable, name="read")

    def _variable_node(self, scope: str, validate_shape: bool, shape: ShapeLike) -> Tensor:
        if shape is None:
            shape = self._initial_value.shape if validate_shape else TensorShape(None)
        return raw.VariableV2(shape=shape, dtype=self._initial_value.dtype.base_dtype, name=scope)

    def _snapshot_place(self) -> contextlib.AbstractContextManager:
        return colocate_with(self._variable.op) if self._caching_device is None else device(self._caching_device)

    def _init_from_proto(self, variable_def: Any, import_scope: str | None) -> None:
        def element(name: str) -> Any:
            return get_default_graph().as_graph_element(prepend_name_scope(name, import_scope))

        self._variable = element(variable_def.variable_name)
        self._initializer_op = element(variable_def.initializer_name)
        self._initial_value = element(variable_def.initial_value_name) if variable_def.initial_value_name else None
        self._snapshot = element(variable_def.snapshot_name)
        self._synchronization, self._aggregation, self._trainable = policies.validate(
            variable_def.synchronization, variable_def.aggregation, variable_def.trainable, variable_def.variable_name
        )
        self._constraint = None
        if variable_def.HasField("save_slice_info_def"):
            self._save_slice_info = SaveSliceInfo(
                save_slice_info_def=variable_def.save_slice_info_def, import_scope=import_scope
            )

    def _as_graph_element(self) -> Tensor:
        return self._variable

    _as_handle = _ref = _as_graph_element

    def _snapshot_tensor(self) -> Tensor:
        return self._snapshot

    def _is_initialized_test(self) -> Tensor:
        return assign.is_variable_initialized(self)

    def value(self) -> Tensor:
        return self._snapshot

    def read_value(self) -> Tensor:
        return raw.Identity(self._variable, name="read")

    def set_shape(self, shape: object) -> None:
        """Merges `shape` into the static shape; ValueError where the two are incompatible."""
        self._variable.set_shape(shape)
        self._snapshot.set_shape(shape)

    @property
    def op(self) -> Any:
        return self._variable.op

    @property
    def name(self) -> str:
        return self._variable.name

    @property
    def dtype(self) -> dtypes.DType:
        return self._variable.dtype

    @property
    def shape(self) -> TensorShape:
        return self._variable.shape

    def assign(self, value: TensorLike, use_locking: bool = False, name: str | None = None, read_value: bool = True) -> Any:
        """Replaces the value; the updated reference, or the operation where `read_value` is false."""
        return _result(assign.assign(self._variable, value, use_locking=use_locking, name=name), read_value)

    def assign_add(
        self, delta: TensorLike, use_locking: bool = False, name: str | None = None, read_value: bool = True
    ) -> Any:
        """Adds to the value; the updated reference, or the operation where `read_value` is false."""
        return _result(assign.assign_add(self._variable, delta, use_locking=use_locking, name=name), read_value)

    def assign_sub(
        self, delta: TensorLike, use_locking: bool = False, name: str | None = None, read_value: bool = True
    ) -> Any:
        """Subtracts from the value; the updated reference, or the operation where `read_value` is false."""
        return _result(assign.assign_sub(self._variable, delta, use_locking=use_locking, name=name), read_value)

    def count_up_to(self, limit: int) -> Tensor:
        """Adds 1; the value before. Running it at `limit` raises OutOfRangeError."""
        return assign.count_up_to(self._variable, limit=limit)

    def _scatter(self, kind: str, sparse_delta: IndexedSlices, use_locking: bool, name: str | None) -> Tensor:
        scatter = raw.function("Scatter" + kind)
        return scatter(self._variable, sparse_delta.indices, sparse_delta.values, use_locking=use_locking, name=name)

    def _scatter_nd(self, kind: str, indices: object, updates: object, name: str | None) -> Tensor:
        return raw.function("ScatterNd" + kind)(self._variable, indices, updates, use_locking=True, name=name)

    def batch_scatter_update(
        self, sparse_delta: IndexedSlices, use_locking: bool = False, name: str | None = None
    ) -> Any:
        """Replaces rows of the last index dimension, for each position of the dimensions before it."""
        return assign.batch_scatter_update(
            self, sparse_delta.indices, sparse_delta.values, use_locking=use_locking, name=name
        )

    def _strided_slice_assign(
        self, begin, end, strides, value, name, begin_mask, end_mask, ellipsis_mask, new_axis_mask, shrink_axis_mask
    ) -> Tensor:
        return raw.StridedSliceAssign(
            self._variable, begin, end, strides, value, name=name, begin_mask=begin_mask, end_mask=end_mask,
            ellipsis_mask=ellipsis_mask, new_axis_mask=new_axis_mask, shrink_axis_mask=shrink_axis_mask,
        )  # fmt: skip


def _result(updated: Tensor, read_value: bool) -> Any:
    return updated if read_value else updated.op


def _convert(variable: RefVariable, dtype: DType | None = None, name: str | None = None, as_ref: bool = False) -> Tensor:
    if dtype is not None and not dtype.is_compatible_with(variable.dtype):
        raise ValueError(
            f"Incompatible type conversion requested to type '{dtype.name}' for variable of type "
            f"'{variable.dtype.name}'"
        )
    return variable._variable if as_ref else variable._snapshot


register_tensor_conversion_function(RefVariable, _convert)
