"""Adding an op by the name of its type, as generated TensorFlow code does."""

from __future__ import annotations

from typing import Any

from tfcompat._src.graph import op_spec
from tfcompat._src.nodes import raw


class OpDefLibrary:
    """All registered op types."""

    def apply_op(self, op_type_name: str, name: str | None = None, **keywords: object) -> Any:
        """Adds a node of type `op_type_name`.

        Args:
          op_type_name: the op type.
          name: of the node.
          **keywords: inputs and attributes by name.

        Returns:
          a Tensor, a list or named tuple of them, or the Operation if it has no outputs.

        Raises:
          RuntimeError: the op type is not registered. TypeError, ValueError: inputs or attributes do not fit it.
        """
        if op_spec.find(op_type_name) is None:
            raise RuntimeError(f"Unrecognized Op name {op_type_name}")
        return raw.function(op_type_name)(name=name, **keywords)
