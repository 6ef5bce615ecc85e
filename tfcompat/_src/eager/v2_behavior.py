"""tf.enable_v2_behavior: what TensorFlow 2 does otherwise, all at once."""

from __future__ import annotations

from tfcompat._src.base import tf2
from tfcompat._src.base.export import export
from tfcompat._src.base.tensor_shape import disable_v2_tensorshape, enable_v2_tensorshape
from tfcompat._src.eager.mode import disable_eager_execution, enable_eager_execution
from tfcompat._src.function.control_flow_v2 import disable_control_flow_v2, enable_control_flow_v2
from tfcompat._src.variables.store import disable_resource_variables, enable_resource_variables
from tfcompat._src.variables.tensor_equality import disable_tensor_equality, enable_tensor_equality


@export("enable_v2_behavior")
def enable_v2_behavior() -> None:
    """Eager execution, resource variables, control flow by functions, `==` of elements, sizes as int: from now on, as in TensorFlow 2.

    Raises:
      ValueError: a graph has been used already.
    """
    tf2.enable()
    enable_eager_execution()
    enable_v2_tensorshape()
    enable_resource_variables()
    enable_tensor_equality()
    enable_control_flow_v2()


@export("disable_v2_behavior")
def disable_v2_behavior() -> None:
    """Undoes what `enable_v2_behavior` does; nothing where that was not called."""
    tf2.disable()
    disable_eager_execution()
    disable_v2_tensorshape()
    disable_resource_variables()
    disable_tensor_equality()
    disable_control_flow_v2()
