"""Records which functions run for the first time in eager mode: there 1.15 instantiates a function and may collect its graphs."""

from __future__ import annotations

from tfcompat._src.nodes.function_body import GraphFunction


class FirstRuns:
    """The functions that ran for the first time while `is_on`, in order."""

    def __init__(self) -> None:
        self.is_on = False
        self._functions: list[GraphFunction] = []

    def switch(self, is_on: bool) -> None:
        """Turns collecting on or off, and discards what was collected."""
        self.is_on, self._functions = is_on, []

    def ran(self, function: GraphFunction) -> None:
        """Records a run of a function; only its first run counts."""
        if self.is_on and not function.has_run:
            self._functions.append(function)
        function.has_run = True

    def taken(self) -> list[GraphFunction]:
        """Returns the functions collected since the last call."""
        functions, self._functions = self._functions, []
        return functions


FIRST_RUNS = FirstRuns()
