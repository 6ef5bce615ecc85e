"""tf.contrib.eager.enable_remote_eager_execution: eager execution; servers are refused."""

from __future__ import annotations

from typing import Any

from tfcompat._src.base.export import export
from tfcompat._src.eager.mode import enable_eager_execution


@export("contrib.eager.enable_remote_eager_execution")
def enable_remote_eager_execution(
    config: Any = None, device_policy: Any = None, execution_mode: Any = None, server_def: Any = None
) -> None:
    """Lets operations run when they are called; the first three arguments are those of tf.enable_eager_execution.

    Raises:
      NotImplementedError: `server_def` is given: tfcompat runs eager operations in this process only.
    """
    if server_def is not None:
        raise NotImplementedError(
            "tfcompat runs eager operations in this process only: call tf.contrib.eager.enable_remote_eager_execution without server_def."
        )
    enable_eager_execution(config, device_policy, execution_mode)
