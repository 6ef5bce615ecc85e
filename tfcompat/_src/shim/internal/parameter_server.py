"""`tensorflow.contrib.eager.python.parameter_server`: eager variables on parameter servers, which tfcompat does not support."""

from __future__ import annotations

from typing import Any, NoReturn

_REASON = "eager operations run in this process only; train with parameter servers in sessions (tf.train.Server, tf.compat.v1.train.replica_device_setter)."


class SharedVariable:
    """In 1.15, a variable that eager processes share by its name; not supported."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        """Raises an error.

        Raises:
          NotImplementedError: always.
        """
        raise NotImplementedError(f"tfcompat does not support SharedVariable: {_REASON}")


def parameter_server_scope(is_chief: bool, ps_job_name: str, num_ps_tasks: int) -> NoReturn:
    """In 1.15, places eager variables on parameter servers; not supported.

    Raises:
      NotImplementedError: always.
    """
    raise NotImplementedError(f"tfcompat does not support parameter_server_scope({is_chief=}, {ps_job_name=}, {num_ps_tasks=}): {_REASON}")
