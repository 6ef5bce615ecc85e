"""The variables of a graph by kind, their initializers, and which of them have no value yet."""

from __future__ import annotations

import os

from tfcompat._src.base.dtypes import string
from tfcompat._src.base.export import export
from tfcompat._src.base.graph_collections import GraphKeys
from tfcompat._src.graph.operation import Operation
from tfcompat._src.graph.scopes import colocate_with, device, get_collection, get_default_graph, name_scope
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.nodes.convert import constant
from tfcompat._src.ops.array.join import stack
from tfcompat._src.ops.array.shape import rank_internal
from tfcompat._src.ops.composed.masks import boolean_mask
from tfcompat._src.ops.control.groups import group, no_op
from tfcompat._src.ops.math.compare import logical_not
from tfcompat._src.variables.assign import is_variable_initialized


@export("global_variables")
def global_variables(scope: str | None = None) -> list:
    """The variables of GLOBAL_VARIABLES whose names match `scope`."""
    return get_collection(GraphKeys.GLOBAL_VARIABLES, scope)


@export("all_variables")
def all_variables() -> list:
    """Deprecated name of `global_variables`."""
    return global_variables()


@export("local_variables")
def local_variables(scope: str | None = None) -> list:
    """The variables of LOCAL_VARIABLES whose names match `scope`."""
    return get_collection(GraphKeys.LOCAL_VARIABLES, scope)


@export("model_variables")
def model_variables(scope: str | None = None) -> list:
    """The variables of MODEL_VARIABLES whose names match `scope`."""
    return get_collection(GraphKeys.MODEL_VARIABLES, scope)


@export("trainable_variables")
def trainable_variables(scope: str | None = None) -> list:
    """The variables of TRAINABLE_VARIABLES whose names match `scope`."""
    return get_collection(GraphKeys.TRAINABLE_VARIABLES, scope)


@export("moving_average_variables")
def moving_average_variables(scope: str | None = None) -> list:
    """The variables of MOVING_AVERAGE_VARIABLES whose names match `scope`."""
    return get_collection(GraphKeys.MOVING_AVERAGE_VARIABLES, scope)


def all_saveable_objects(scope: str | None = None) -> list:
    """What tf.train.Saver saves by default."""
    return get_collection(GraphKeys.GLOBAL_VARIABLES, scope) + get_collection(GraphKeys.SAVEABLE_OBJECTS, scope)


@export("variables_initializer", "initializers.variables")
def variables_initializer(var_list: list, name: str = "init") -> Operation:
    """An operation that runs the initializers of some variables.

    Args:
      var_list: the variables.
      name: node name.
    """
    return group(*[v.initializer for v in var_list], name=name) if var_list else no_op(name=name)


@export("initialize_variables")
def initialize_variables(var_list: list, name: str = "init") -> Operation:
    """Deprecated name of `variables_initializer`."""
    return variables_initializer(var_list, name=name)


@export("global_variables_initializer", "initializers.global_variables")
def global_variables_initializer() -> Operation:
    """An operation that initializes all global variables."""
    return variables_initializer(global_variables())


@export("initialize_all_variables")
def initialize_all_variables() -> Operation:
    """Deprecated name of `global_variables_initializer`."""
    return global_variables_initializer()


@export("local_variables_initializer", "initializers.local_variables")
def local_variables_initializer() -> Operation:
    """An operation that initializes all local variables."""
    return variables_initializer(local_variables())


@export("initialize_local_variables")
def initialize_local_variables() -> Operation:
    """Deprecated name of `local_variables_initializer`."""
    return local_variables_initializer()


def _all_variables_or_refs() -> list:
    """The global and local variables, or the references of a graph that has no collections."""
    found = global_variables() + local_variables()
    return found or [o.outputs[0] for o in get_default_graph().get_operations() if o.type in ("Variable", "VariableV2")]


@export("assert_variables_initialized")
def assert_variables_initialized(var_list: list | None = None) -> Tensor | None:
    """A tensor whose run raises FailedPreconditionError where one of the variables has no value; None for no
    variables."""
    var_list = _all_variables_or_refs() if var_list is None else var_list
    if not var_list:
        return None
    ranks = []
    for variable in var_list:
        with colocate_with(variable.op):
            ranks.append(rank_internal(variable, optimize=False))
    return ranks[0] if len(ranks) == 1 else stack(ranks)


@export("report_uninitialized_variables")
def report_uninitialized_variables(
    var_list: list | None = None, name: str = "report_uninitialized_variables"
) -> Tensor:
    """A string vector: the names of those variables that have no value when it runs.

    Args:
      var_list: variables; by default all global and local ones.
      name: name scope.
    """
    var_list = _all_variables_or_refs() if var_list is None else var_list
    with name_scope(name):
        return names_of_false([v.op.name for v in var_list], [is_variable_initialized(v) for v in var_list])


def names_of_false(names: list[str], tests: list[Tensor]) -> Tensor:
    """A string vector: those of `names` whose test, a scalar bool tensor, is false when it runs."""
    with device(os.environ.get("TF_DEVICE_FOR_UNINITIALIZED_VARIABLE_REPORTING", "/cpu:0")):
        if not names:
            return constant([], dtype=string)
        missing = logical_not(stack(tests))
        return boolean_mask(constant(names), missing)


@export("tables_initializer", "initializers.tables_initializer", "initialize_all_tables")
def tables_initializer(name: str = "init_all_tables") -> Operation:
    """An operation that initializes all tables of the default graph."""
    initializers = get_collection(GraphKeys.TABLE_INITIALIZERS)
    return group(*initializers, name=name) if initializers else no_op(name=name)
