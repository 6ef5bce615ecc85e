"""`tensorflow.python.framework.c_api_util`: the definitions of ops, by name. tf2onnx reads them."""

from __future__ import annotations

from tfcompat._src.graph import attr_values, op_spec
from tfcompat._src.proto import messages


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
