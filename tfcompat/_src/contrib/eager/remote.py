"""tf.contrib.eager.enable_remote_eager_execution: eager execution; servers are refused."""

from __future__ import annotations

from tfcompat._src.base.export import export
from tfcompat._src.eager.mode import enable_eager_execution


@export("contrib.eager.enable_remote_eager_execution")
def enable_remote_eager_execution(
    config: object = None, device_policy: object = None, execution_mode: object = None, server_def: object = None
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
