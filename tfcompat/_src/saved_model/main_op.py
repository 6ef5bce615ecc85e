"""tf.saved_model.main_op: operations to run when a SavedModel is loaded."""

from __future__ import annotations

from tfcompat._src.base.export import export
from tfcompat._src.graph.operation import Operation
from tfcompat._src.graph.scopes import control_dependencies
from tfcompat._src.ops.control.groups import group
from tfcompat._src.variables.collections import (
    global_variables_initializer,
    local_variables_initializer,
    tables_initializer,
)


@export("saved_model.main_op.main_op")
def main_op() -> Operation:
    """An operation that initializes all global and local variables and tables of the default graph."""
    return group(global_variables_initializer(), local_variables_initializer(), tables_initializer())


@export("saved_model.main_op_with_restore", "saved_model.main_op.main_op_with_restore")
def main_op_with_restore(restore_op_name: object) -> Operation:
    """`main_op`, and then a restoring operation.

    Args:
      restore_op_name: the operation.
    """
    with control_dependencies([main_op()]):
        return group(restore_op_name)
