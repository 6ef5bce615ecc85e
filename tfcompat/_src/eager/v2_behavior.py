"""tf.enable_v2_behavior: switches all defaults in which TensorFlow 2 differs."""

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
    """Enables TensorFlow 2's behavior: eager execution, resource variables, functional control flow, elementwise `==`, sizes as int.

    Raises:
      ValueError: the default graph has nodes already.
    """
    tf2.enable()
    enable_eager_execution()
    enable_v2_tensorshape()
    enable_resource_variables()
    enable_tensor_equality()
    enable_control_flow_v2()


@export("disable_v2_behavior")
def disable_v2_behavior() -> None:
    """Restores the defaults of 1.15."""
    tf2.disable()
    disable_eager_execution()
    disable_v2_tensorshape()
    disable_resource_variables()
    disable_tensor_equality()
    disable_control_flow_v2()
