"""What lower layers have slots for and never import themselves: op types that graphs from files may have, and what is loaded when it is
first asked for."""

from __future__ import annotations

from tfcompat._src.function import control_flow_v2, def_function, symbolic_gradient  # noqa: F401  (functions, loops and branches of them, their gradients)
from tfcompat._src.gradients import recognized_loops
from tfcompat._src.graph import loop_derivative, op_spec
from tfcompat._src.runtime.devices import local_servers

op_spec.LATE_FAMILIES += ["tfcompat._src.contrib.every_op", "tfcompat._src.data.every_op"]
loop_derivative.RECOGNIZERS.append(recognized_loops.recognize)
local_servers.PROTOCOL.append("tfcompat._src.cluster")
