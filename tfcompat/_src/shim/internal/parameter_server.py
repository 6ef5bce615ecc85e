"""`tensorflow.contrib.eager.python.parameter_server`: eager variables on parameter servers, which tfcompat does not have."""

from __future__ import annotations

from typing import Any, NoReturn

_REASON = "eager operations run in this process only; train with parameter servers in sessions (tf.train.Server, tf.compat.v1.train.replica_device_setter)."


class SharedVariable:
    """Would be a variable that eager processes share by its name."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        """Refuses.

        Raises:
          NotImplementedError: always.
        """
        raise NotImplementedError(f"tfcompat has no SharedVariable: {_REASON}")


def parameter_server_scope(is_chief: bool, ps_job_name: str, num_ps_tasks: int) -> NoReturn:
    """Would place eager variables on parameter servers.

    Raises:
      NotImplementedError: always.
    """
    raise NotImplementedError(f"tfcompat has no parameter_server_scope({is_chief=}, {ps_job_name=}, {num_ps_tasks=}): {_REASON}")
