"""`tensorflow.python.framework.c_api_util`: statuses, and the definitions of ops by name, which tf2onnx reads."""

from __future__ import annotations

from tfcompat._src.base import errors
from tfcompat._src.graph import attr_values, op_spec
from tfcompat._src.proto import messages


class ScopedTFStatus:
    """A status that lasts as long as this object."""

    def __init__(self) -> None:
        self.status = errors.Status()


class ApiDefMap:
    """The op types that there are; `put_api_def` and `get_api_def`, which document them, are not there."""

    def op_names(self) -> list[str]:
        """The names of all op types."""
        return op_spec.registered_names()

    def get_op_def(self, op_name: str) -> messages.OpDef:
        """The OpDef message of an op type; ValueError where there is none of that name."""
        spec = op_spec.find(op_name)
        if spec is None:
            raise ValueError(f"No entry found for {op_name}.")
        return attr_values.op_def(spec)
