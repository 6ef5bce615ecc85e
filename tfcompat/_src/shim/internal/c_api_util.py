"""`tensorflow.python.framework.c_api_util`: a status object, and the OpDefs by name, which tf2onnx reads."""

from __future__ import annotations

from tfcompat._src.base import errors
from tfcompat._src.graph import attr_values, op_spec
from tfcompat._src.proto import messages


class ScopedTFStatus:
    """A holder of a status, as `tf.errors` of 1.15 passes to the C API."""

    def __init__(self) -> None:
        self.status = errors.Status()


class ApiDefMap:
    """The OpDefs of all op types. The methods `put_api_def` and `get_api_def`, for documentation, are not supported."""

    def op_names(self) -> list[str]:
        """Returns the names of all op types."""
        return op_spec.registered_names()

    def get_op_def(self, op_name: str) -> messages.OpDef:
        """Returns the OpDef of an op type.

        Raises:
          ValueError: tfcompat has no op type of this name.
        """
        spec = op_spec.find(op_name)
        if spec is None:
            raise ValueError(f"No entry found for {op_name}.")
        return attr_values.op_def(spec)
