"""The variables of a graph by name: what tf.get_variable finds or makes."""

from __future__ import annotations

import enum
import functools
import inspect
import traceback
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from tfcompat._src.base import dtypes
from tfcompat._src.base.export import export
from tfcompat._src.base.graph_collections import GraphKeys
from tfcompat._src.base.tensor_shape import TensorShape, as_shape
from tfcompat._src.graph.scopes import (
    add_to_collection,
    add_to_collections,
    colocate_with,
    executing_eagerly,
    init_scope,
    name_scope,
)
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.nodes import raw
from tfcompat._src.nodes.convert import convert_to_tensor
from tfcompat._src.variables import initializers, policies
from tfcompat._src.variables.partitioned import PartitionedVariable, PartitionInfo, call_partitioner, parts
from tfcompat._src.variables.resource_variable import ResourceVariable
from tfcompat._src.variables.variable import SaveSliceInfo, Variable

if TYPE_CHECKING:
    from tfcompat._src.base.arrays import TensorLike
    from tfcompat._src.base.dtypes import DTypeLike
    from tfcompat._src.base.tensor_shape import ShapeLike


class _ReuseMode(enum.Enum):
    """How tf.get_variable treats a name that is taken or free."""

    AUTO_REUSE = 1


AUTO_REUSE = export("AUTO_REUSE")(_ReuseMode.AUTO_REUSE)


class _Defaults:
    """What applies where neither an argument nor a scope says it."""

    use_resource = False


@export("enable_resource_variables")
def enable_resource_variables() -> None:
    """Makes tf.Variable and tf.get_variable make resource variables by default."""
    _Defaults.use_resource = True


@export("disable_resource_variables")
def disable_resource_variables() -> None:
    """Makes tf.Variable and tf.get_variable make reference variables by default, as 1.15 does."""
    _Defaults.use_resource = False


@export("resource_variables_enabled")
def resource_variables_enabled() -> bool:
    """Whether variables are resource variables by default."""
    return _Defaults.use_resource


class VariableStore:
    """Variables and partitioned variables by full name."""

    keeps_eager_variables = False
    """Whether a name stands for one variable where operations run at once; else each call makes one."""

    def __init__(self) -> None:
        self._vars: dict[str, Any] = {}
        self._partitioned_vars: dict[str, PartitionedVariable] = {}

    def get_variable(
        self, name, shape=None, dtype=dtypes.float32, initializer=None, regularizer=None, reuse=None, trainable=None,
        collections=None, caching_device=None, partitioner=None, validate_shape=True, use_resource=None,
        custom_getter=None,
        constraint=None, synchronization=policies.VariableSynchronization.AUTO,
        aggregation=policies.VariableAggregation.NONE,
    ) -> Any:  # fmt: skip
        """The variable called `name`, found or made; `reuse` says which of the two is allowed. See tf.get_variable."""
        if custom_getter is not None and not callable(custom_getter):
            raise ValueError(f"Passed a custom_getter which is not callable: {custom_getter}")
        dtype = getattr(dtype, "base_dtype", dtype)
        synchronization, aggregation, trainable = policies.validate(synchronization, aggregation, trainable, name)
        arguments = dict(
            shape=shape, dtype=dtype, initializer=initializer, regularizer=regularizer, reuse=reuse,
            trainable=trainable,
            collections=collections, caching_device=caching_device, partitioner=partitioner,
            validate_shape=validate_shape,
            use_resource=use_resource, synchronization=synchronization, aggregation=aggregation,
        )  # fmt: skip
        if custom_getter is None:
            return self._true_getter(name, constraint=constraint, **arguments)
        if _takes(custom_getter, "constraint"):
            arguments["constraint"] = constraint
        return custom_getter(getter=self._true_getter, name=name, **arguments)

    def _true_getter(
        self, name, shape=None, dtype=dtypes.float32, initializer=None, regularizer=None, reuse=None, trainable=None,
        collections=None, caching_device=None, partitioner=None, validate_shape=True, use_resource=None,
        constraint=None,
        synchronization=policies.VariableSynchronization.AUTO, aggregation=policies.VariableAggregation.NONE,
    ) -> Any:  # fmt: skip
        options = dict(
            trainable=trainable, collections=collections, caching_device=caching_device, validate_shape=validate_shape,
            use_resource=use_resource, constraint=constraint, synchronization=synchronization, aggregation=aggregation,
        )  # fmt: skip
        if executing_eagerly():
            reuse = self._eager_reuse(name, partitioner, reuse)
        is_scalar = isinstance(shape, (list, tuple)) and not shape
        if partitioner is not None and not is_scalar:
            if not callable(partitioner):
                raise ValueError(f"Partitioner must be callable, but received: {partitioner}")
            with name_scope(None):
                return self._get_partitioned_variable(
                    name, partitioner, shape, dtype, initializer, regularizer, reuse, **options
                )
        if reuse is True and partitioner is None and name in self._partitioned_vars:
            return self._get_partitioned_variable(name, None, shape, dtype, initializer, regularizer, reuse, **options)
        if f"{name}/part_0" in self._vars:
            raise ValueError(
                "No partitioner was provided, but a partitioned version of the variable was found: "
                f"{name}/part_0. Perhaps a variable of the same name was already created with partitioning?"
            )
        return self._get_single_variable(name, shape, dtype, initializer, regularizer, None, reuse, **options)

    def _eager_reuse(self, name: str, partitioner: object, reuse: object) -> Any:
        if partitioner is not None:
            raise ValueError("Partitioned variables are not yet supported when eager execution is enabled.")
        if not self.keeps_eager_variables:
            if reuse:
                raise RuntimeError(
                    "When eager execution is enabled variable reuse is only supported when an EagerVariableStore is active. See the "
                    "documentation on EagerVariableStore for example usage."
                )
            return None
        return AUTO_REUSE

    # ---- one variable ----

    def _get_single_variable(
        self, name: str, shape: object = None, dtype: object = dtypes.float32, initializer: Any = None,
        regularizer: Any = None,
        partition_info: PartitionInfo | None = None, reuse: object = None, use_resource: bool | None = None,
        **options: Any,
    ) -> Any:  # fmt: skip
        from_value = initializer is not None and not callable(initializer)
        if shape is not None and from_value:
            raise ValueError("If initializer is a constant, do not specify shape.")
        dtype, shape = dtypes.as_dtype(dtype), as_shape(shape)
        if name in self._vars:
            return self._found(name, shape, dtype, reuse)
        if reuse is True:
            raise ValueError(
                f"Variable {name} does not exist, or was not created with tf.get_variable(). "
                "Did you mean to set reuse=tf.AUTO_REUSE in VarScope?"
            )
        if initializer is None:
            initializer = default_initializer(name, dtype)
        value, dtype = (initializer, None) if from_value else _initial_value(initializer, shape, dtype, partition_info)
        made = Variable(
            initial_value=value, name=name, dtype=dtype,
            use_resource=_Defaults.use_resource if use_resource is None else use_resource, **options,
        )  # fmt: skip
        if self.keeps_eager_variables or not executing_eagerly():
            self._vars[name] = made
        if self.keeps_eager_variables and executing_eagerly():
            trainable = (GraphKeys.TRAINABLE_VARIABLES,) if made.trainable else ()
            add_to_collections({*(options.get("collections") or (GraphKeys.GLOBAL_VARIABLES,)), *trainable}, made)
        if regularizer:
            with colocate_with(made), name_scope(name + "/Regularizer/"), init_scope():
                loss = regularizer(made)
            if loss is not None:
                add_to_collection(GraphKeys.REGULARIZATION_LOSSES, loss)
        return made

    def _found(self, name: str, shape: TensorShape, dtype: dtypes.DType, reuse: object) -> Any:
        found = self._vars[name]
        if reuse is False:
            text = (
                f"Variable {name} already exists, disallowed. "
                "Did you mean to set reuse=True or reuse=tf.AUTO_REUSE in VarScope?"
            )
            if not isinstance(found, ResourceVariable):
                frames = [f for f in found.op.traceback[::-1] if "tfcompat/_src" not in f[0]][:5]
                text += " Originally defined at:\n\n" + "".join(traceback.format_list(frames))
            raise ValueError(text)
        if not shape.is_compatible_with(found.get_shape()):
            raise ValueError(
                f"Trying to share variable {name}, but specified shape {shape} and found shape {found.get_shape()}."
            )
        if not dtype.is_compatible_with(found.dtype):
            raise ValueError(
                f"Trying to share variable {name}, but specified dtype {dtype.name} and found dtype {found.dtype.name}."
            )
        return found

    # ---- partitioned ----

    def _get_partitioned_variable(
        self, name: str, partitioner: Callable | None, shape: ShapeLike = None, dtype: DTypeLike = dtypes.float32,
        initializer: TensorLike | None = None, regularizer: object = None, reuse: object = None, **options: Any,
    ) -> PartitionedVariable:  # fmt: skip
        if name in self._vars:
            raise ValueError(
                f"A partitioner was provided, but an unpartitioned version of the variable was found: {name}.  "
                "Perhaps a variable of the same name was already created without partitioning?"
            )
        shape, dtype = as_shape(shape), dtypes.as_dtype(dtype)
        if isinstance(initializer, Tensor):
            shape = shape.merge_with(initializer.get_shape())
        slicing = call_partitioner(partitioner, shape, dtype) if not reuse or partitioner else None
        if name in self._partitioned_vars:
            return self._found_partitioned(name, shape, dtype, slicing, reuse)
        if reuse is True:
            raise ValueError(
                f"PartitionedVariable {name} does not exist, or was not created with tf.get_variable(). "
                "Did you mean to set reuse=False or reuse=tf.AUTO_REUSE in VarScope?"
            )
        full_shape = shape.as_list()
        made = []
        for i, (offset, size) in enumerate(parts(full_shape, slicing)):
            part_name = f"{name}/part_{i}"
            with name_scope(part_name + "/PartitionedInitializer"):
                init, part_shape, part_dtype = _part_initializer(name, initializer, offset, size, dtype)
            with name_scope(None):
                variable = self._get_single_variable(
                    part_name,
                    part_shape,
                    part_dtype,
                    init,
                    regularizer,
                    PartitionInfo(full_shape, offset),
                    reuse,
                    **options,
                )
            variable._set_save_slice_info(SaveSliceInfo(name, full_shape, offset, size))
            made.append(variable)
        whole = self._partitioned_vars[name] = PartitionedVariable(name, shape, made[0].dtype.base_dtype, made, slicing)
        return whole

    def _found_partitioned(
        self, name: str, shape: TensorShape, dtype: dtypes.DType, slicing: object, reuse: object
    ) -> PartitionedVariable:
        if reuse is False:
            raise ValueError(
                f"Partitioned variable with name {name} already exists. Did you mean to set reuse=True or "
                "reuse=tf.AUTO_REUSE in VarScope?"
            )
        found = self._partitioned_vars[name]
        for what, wanted, is_same in (
            ("shape", shape, shape.is_compatible_with(found.get_shape())),
            ("dtype", dtype.name, dtype.is_compatible_with(found.dtype)),
            ("partitions", slicing, slicing is None or found._get_partitions() == slicing),
        ):
            if not is_same:
                have = {"shape": found.get_shape(), "dtype": found.dtype.name, "partitions": found._get_partitions()}[
                    what
                ]
                raise ValueError(
                    f"Trying to reuse partitioned variable {name}, but specified {what} {wanted} and found {what} "
                    f"{have}."
                )
        return found


def _initial_value(initializer: Any, shape: TensorShape, dtype: dtypes.DType, partition_info: Any) -> tuple[Any, Any]:
    """What tf.Variable takes as initial value and dtype for a callable initializer."""
    if inspect.isclass(initializer):
        initializer = initializer()
    if shape.is_fully_defined():
        return functools.partial(
            initializer, shape.as_list(), dtype=dtype, partition_info=partition_info
        ), dtype.base_dtype
    required = [p for p in inspect.signature(initializer).parameters.values() if p.default is p.empty]
    if required:
        raise ValueError(
            "The initializer passed is not valid. It should be a callable with no arguments and the shape should "
            "not be provided "
            "or an instance of `tf.keras.initializers.*' and `shape` should be fully defined."
        )
    return initializer, None


def _part_initializer(name: str, initializer: TensorLike, offset: list[int], size: list[int], dtype: dtypes.DType) -> tuple:
    """Initializer, shape and dtype of one part."""
    if initializer is None:
        return default_initializer(name, dtype), size, dtype
    if callable(initializer):
        return initializer, size, dtype
    whole = initializer if isinstance(initializer, Tensor) else convert_to_tensor(initializer, dtype=dtype)
    return raw.Slice(whole, offset, size), None, whole.dtype.base_dtype


def default_initializer(name: str, dtype: dtypes.DType) -> Any:
    """Glorot's uniform for floating types, zeros for integers, bool and string; ValueError for others."""
    if dtype.is_floating:
        return initializers.GlorotUniform()
    if dtype.is_integer or dtype.is_unsigned or dtype.is_bool or dtype == dtypes.string:
        return initializers.Zeros()
    raise ValueError(f"An initializer for variable {name} of {dtype.base_dtype} is required")


def _takes(function: Callable, name: str) -> bool:
    """Whether a callable takes a keyword argument."""
    parameters = inspect.signature(function).parameters
    return name in parameters or any(p.kind is p.VAR_KEYWORD for p in parameters.values())
