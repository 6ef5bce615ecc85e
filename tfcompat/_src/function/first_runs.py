"""The functions that run for the first time while operations run at once: where 1.15 instantiates a function, and may collect its graphs."""

from __future__ import annotations

from tfcompat._src.nodes.function_body import GraphFunction


class FirstRuns:
    """The functions that ran for the first time while `is_on`, in that order."""

    def __init__(self) -> None:
        self.is_on = False
        self._functions: list[GraphFunction] = []

    def switch(self, is_on: bool) -> None:
        """Collects, or does not, from now on; what was collected is forgotten."""
        self.is_on, self._functions = is_on, []

    def ran(self, function: GraphFunction) -> None:
        """Takes a function that runs; of its runs only the first counts."""
        if self.is_on and not function.has_run:
            self._functions.append(function)
        function.has_run = True

    def taken(self) -> list[GraphFunction]:
        """The functions since the last call."""
        found, self._functions = self._functions, []
        return found


FIRST_RUNS = FirstRuns()
