"""tf.contrib.framework: making variables, and finding them by name."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable
from typing import Any

from tfcompat._src.base import dtypes
from tfcompat._src.base.device import DeviceSpecV1
from tfcompat._src.base.export import export
from tfcompat._src.base.graph_collections import GraphKeys
from tfcompat._src.contrib.framework.arg_scope import add_arg_scope
from tfcompat._src.graph.scopes import add_to_collection, control_dependencies, get_collection
from tfcompat._src.graph.scopes import device as device_scope
from tfcompat._src.ops.array.fill import zeros
from tfcompat._src.ops.control.cond import Assert
from tfcompat._src.ops.math.compare import logical_not
from tfcompat._src.variables import training_util
from tfcompat._src.variables.assign import assign, is_variable_initialized
from tfcompat._src.variables.policies import VariableAggregation, VariableSynchronization
from tfcompat._src.variables.scope import VariableScope, get_variable, get_variable_scope
from tfcompat._src.variables.variable import Variable

assert_global_step = export("contrib.framework.assert_global_step", "contrib.slim.assert_global_step")(
    training_util.assert_global_step
)
get_global_step = export("contrib.framework.get_global_step", "contrib.slim.get_global_step")(
    training_util.get_global_step
)
create_global_step = export("contrib.framework.create_global_step", "contrib.slim.create_global_step")(
    training_util.create_global_step
)
get_or_create_global_step = export(
    "contrib.framework.get_or_create_global_step", "contrib.slim.get_or_create_global_step"
)(training_util.get_or_create_global_step)


@export("contrib.framework.assert_or_get_global_step", "contrib.slim.assert_or_get_global_step")
def assert_or_get_global_step(graph: Any = None, global_step_tensor: object = None) -> Any:
    """The given global step, checked, or that of the graph."""
    if global_step_tensor is None:
        return get_global_step(graph)
    assert_global_step(global_step_tensor)
    return global_step_tensor


@export("contrib.framework.local_variable", "contrib.slim.local_variable")
def local_variable(initial_value, validate_shape=True, name=None, use_resource=None) -> Any:
    """A variable of the collection LOCAL_VARIABLES that is not trained; arguments as in tf.Variable."""
    return Variable(initial_value, trainable=False, collections=[GraphKeys.LOCAL_VARIABLES], name=name,
                    validate_shape=validate_shape, use_resource=use_resource)  # fmt: skip


@export("contrib.framework.global_variable", "contrib.slim.global_variable")
def global_variable(initial_value, validate_shape=True, name=None, use_resource=None) -> Any:
    """A variable of the collection GLOBAL_VARIABLES that is not trained; arguments as in tf.Variable."""
    return Variable(initial_value, trainable=False, collections=[GraphKeys.GLOBAL_VARIABLES], name=name,
                    validate_shape=validate_shape, use_resource=use_resource)  # fmt: skip


@export("contrib.framework.variable", "contrib.slim.variable")
@add_arg_scope
def variable(
    name, shape=None, dtype=None, initializer=None, regularizer=None, trainable=True, collections=None,
    caching_device=None, device=None, partitioner=None, custom_getter=None, use_resource=None,
    synchronization=VariableSynchronization.AUTO, aggregation=VariableAggregation.NONE,
) -> Any:  # fmt: skip
    """As tf.get_variable, on `device`, with `custom_getter` in place of it where one is given."""
    collections = [GraphKeys.GLOBAL_VARIABLES] if collections is None else list(dict.fromkeys(collections))
    getter = get_variable
    if custom_getter is not None:
        getter = functools.partial(custom_getter, reuse=get_variable_scope().reuse)
    with device_scope(device or ""):
        return getter(
            name, shape=shape, dtype=dtype, initializer=initializer, regularizer=regularizer, trainable=trainable,
            collections=collections, caching_device=caching_device, partitioner=partitioner, use_resource=use_resource,
            synchronization=synchronization, aggregation=aggregation,
        )  # fmt: skip


@export("contrib.framework.model_variable", "contrib.slim.model_variable")
@add_arg_scope
def model_variable(
    name, shape=None, dtype=dtypes.float32, initializer=None, regularizer=None, trainable=True, collections=None,
    caching_device=None, device=None, partitioner=None, custom_getter=None, use_resource=None,
    synchronization=VariableSynchronization.AUTO, aggregation=VariableAggregation.NONE,
) -> Any:  # fmt: skip
    """As `variable`, and joins the collection MODEL_VARIABLES."""
    return variable(
        name, shape=shape, dtype=dtype, initializer=initializer, regularizer=regularizer, trainable=trainable,
        collections=[*(collections or ()), GraphKeys.GLOBAL_VARIABLES, GraphKeys.MODEL_VARIABLES],
        caching_device=caching_device, device=device, partitioner=partitioner, custom_getter=custom_getter,
        use_resource=use_resource, synchronization=synchronization, aggregation=aggregation,
    )  # fmt: skip


@export("contrib.framework.zero_initializer", "contrib.slim.zero_initializer")
def zero_initializer(ref: Any, use_locking: bool = True, name: str = "zero_initializer") -> Any:
    """An operation that gives a variable zeros; in a run it raises InvalidArgumentError where the variable has a value.

    Args:
      ref: variable of a known shape.
      use_locking: as in 1.15 without effect.
      name: name of the operation.
    """
    is_new = Assert(logical_not(is_variable_initialized(ref)), [f"{name}: the variable has a value already."])
    with control_dependencies([is_new]):
        return assign(ref, zeros(ref.shape, ref.dtype.base_dtype), name=name)


def add_to_collection_once(collection: str, value: object) -> None:
    """Adds `value` where the collection does not hold it."""
    if not any(value is held for held in get_collection(collection)):
        add_to_collection(collection, value)


@export("contrib.framework.add_model_variable", "contrib.slim.add_model_variable")
def add_model_variable(var: object) -> None:
    """Adds a variable to the collection MODEL_VARIABLES."""
    add_to_collection_once(GraphKeys.MODEL_VARIABLES, var)


@export("contrib.framework.get_variables", "contrib.slim.get_variables")
def get_variables(
    scope: Any = None, suffix: str | None = None, collection: str = GraphKeys.GLOBAL_VARIABLES
) -> list[Any]:
    """The variables of a collection.

    Args:
      scope: a name or VariableScope that the names begin with.
      suffix: what the names end with.
      collection: the collection.
    """
    if isinstance(scope, VariableScope):
        scope = scope.name
    if suffix is not None:
        suffix = suffix if ":" in suffix else f"{suffix}:"
        scope = f"{scope or ''}.*{suffix}"
    return get_collection(collection, scope)


@export("contrib.framework.get_model_variables", "contrib.slim.get_model_variables")
def get_model_variables(scope: object = None, suffix: str | None = None) -> list[Any]:
    """The variables of the collection MODEL_VARIABLES; arguments as in `get_variables`."""
    return get_variables(scope, suffix, GraphKeys.MODEL_VARIABLES)


@export("contrib.framework.get_local_variables", "contrib.slim.get_local_variables")
def get_local_variables(scope: object = None, suffix: str | None = None) -> list[Any]:
    """The variables of the collection LOCAL_VARIABLES; arguments as in `get_variables`."""
    return get_variables(scope, suffix, GraphKeys.LOCAL_VARIABLES)


@export("contrib.framework.get_trainable_variables", "contrib.slim.get_trainable_variables")
def get_trainable_variables(scope: object = None, suffix: str | None = None) -> list[Any]:
    """The variables of the collection TRAINABLE_VARIABLES; arguments as in `get_variables`."""
    return get_variables(scope, suffix, GraphKeys.TRAINABLE_VARIABLES)


@export("contrib.framework.get_variables_to_restore", "contrib.slim.get_variables_to_restore")
def get_variables_to_restore(include: Any = None, exclude: Any = None) -> list[Any]:
    """The global variables of the scopes `include` (by default all) without those of the scopes `exclude`.

    Raises:
      TypeError: an argument is no list or tuple.
    """
    for name, scopes in (("include", include), ("exclude", exclude)):
        if scopes is not None and not isinstance(scopes, (list, tuple)):
            raise TypeError(f"{name} is provided but is not a list or a tuple.")
    included = get_variables() if include is None else [v for scope in include for v in get_variables(scope)]
    excluded = {id(v) for scope in exclude or () for v in get_variables(scope)}
    return [v for v in included if id(v) not in excluded]


@export("contrib.framework.get_variables_by_suffix", "contrib.slim.get_variables_by_suffix")
def get_variables_by_suffix(suffix: str, scope: object = None) -> list[Any]:
    """The global variables whose names end with `suffix`."""
    return get_variables(scope=scope, suffix=suffix)


@export("contrib.framework.get_variables_by_name", "contrib.slim.get_variables_by_name")
def get_variables_by_name(given_name: str, scope: object = None) -> list[Any]:
    """The global variables whose last part of the name is `given_name`."""
    return get_variables(scope=scope, suffix=f"/{given_name}:|^{given_name}:")


@export("contrib.framework.get_unique_variable", "contrib.slim.get_unique_variable")
def get_unique_variable(var_op_name: str) -> Any:
    """The global variable of that name; ValueError where there is none."""
    candidates = get_variables(scope=var_op_name)
    if not candidates:
        raise ValueError(f"Couldn't find variable {var_op_name}")
    for candidate in candidates:
        if candidate.op.name == var_op_name:
            return candidate
    raise ValueError(f"Variable {var_op_name} does not uniquely identify a variable")


@export("contrib.framework.get_variable_full_name", "contrib.slim.get_variable_full_name")
def get_variable_full_name(var: Any) -> str:
    """The name of a variable, or of the whole one that it is a part of."""
    return var._save_slice_info.full_name if var._save_slice_info else var.op.name


@export("contrib.framework.VariableDeviceChooser", "contrib.slim.VariableDeviceChooser")
class VariableDeviceChooser:
    """A function of operations, for `device=`, that puts one variable after the other on the tasks of a job.

    Args:
      num_tasks: number of tasks; 0: no job is named.
      job_name: name of the job.
      device_type, device_index, replica: of the devices.
    """

    def __init__(
        self, num_tasks: int = 0, job_name: str = "ps", device_type: str = "CPU", device_index: int = 0,
        replica: int | None = None,
    ) -> None:  # fmt: skip
        self._num_tasks, self._job_name, self._replica = num_tasks, job_name, replica
        self._device_type, self._device_index = device_type, device_index
        self._next_task = 0

    def __call__(self, op: object) -> str:
        """The device of the next variable, a str; `op` does not matter."""
        spec = DeviceSpecV1(replica=self._replica, device_type=self._device_type, device_index=self._device_index)
        if self._num_tasks > 0:
            spec.job, spec.task = self._job_name, self._next_task
            self._next_task = (self._next_task + 1) % self._num_tasks
        return spec.to_string()


@export("contrib.framework.filter_variables", "contrib.slim.filter_variables")
def filter_variables(
    var_list: Any, include_patterns: Any = None, exclude_patterns: object = None, reg_search: bool = True
) -> list[Any]:
    """The variables whose names match a pattern to include (by default all) and none to exclude.

    Args:
      var_list: variables.
      include_patterns, exclude_patterns: lists of regular expressions, or None.
      reg_search: whether a pattern may match anywhere; else it must from the start.
    """
    match: Callable = re.search if reg_search else re.match

    def matches(var: Any, patterns: Any) -> bool:
        return any(match(pattern, var.name) for pattern in patterns)

    included = [v for v in var_list if include_patterns is None or matches(v, include_patterns)]
    return [v for v in included if exclude_patterns is None or not matches(v, exclude_patterns)]
