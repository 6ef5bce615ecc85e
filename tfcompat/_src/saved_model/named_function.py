"""Functions of SavedModels that are called by the names of their inputs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tfcompat._src.function.def_function import ConcreteFunction
from tfcompat._src.nodes.tensor_spec import TensorSpec


class NamedFunction(ConcreteFunction):
    """A concrete function of named inputs; a single one may be given in order.

    Args:
      name: of the function.
      compute: function of the inputs by name.
      inputs: TensorSpecs by name.
    """

    def __init__(self, name: str, compute: Callable, inputs: dict[str, TensorSpec]) -> None:
        super().__init__(name, compute, (), inputs, [])
        self._arg_keywords = list(inputs)
        self._num_positional_args = 1 if len(inputs) == 1 else 0

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Adds a call to the default graph.

        Raises:
          TypeError: the inputs are not those of the function, or too many come in order.
        """
        if len(args) > self._num_positional_args:
            raise TypeError(
                f"Signatures with {len(self._arg_keywords)} inputs take {self._num_positional_args} positional arguments, "
                f"got {len(args)}: give {self._arg_keywords} by name"
            )
        given = {**dict(zip(self._arg_keywords, args)), **kwargs}
        if given.keys() != set(self._arg_keywords):
            raise TypeError(f"{self.name} takes the arguments {self._arg_keywords}, got {sorted(given)}")
        return super().__call__(**given)
