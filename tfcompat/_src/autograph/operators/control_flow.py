"""`tensorflow.python.autograph.operators.control_flow`: statements whose functions take and give the variables.

`get_state` and `set_state` read and write what a statement changes besides those, such as attributes, where it becomes part of a graph.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from tfcompat._src.autograph import control_flow
from tfcompat._src.autograph.control_flow import is_staged, loop_of_graph

if TYPE_CHECKING:
    from tfcompat._src.base.arrays import TensorLike

_ALL = sys.maxsize
"""How many variables are needed after a statement."""


class _Variables:
    """The variables of a statement as a state that its functions change."""

    def __init__(self, values: Any, get_state: Callable[[], tuple], set_state: Callable[[tuple], Any]) -> None:
        self.values = values
        self._get_state, self._set_state = get_state, set_state
        self._others = 0

    def get(self) -> tuple:
        """The variables, and behind them the rest of the state."""
        others = self._get_state()
        self._others = len(others)
        return (*self.values, *others)

    def set(self, state: tuple) -> None:
        """Gives all of the state values."""
        count = len(state) - self._others
        self.values = tuple(state[:count])
        self._set_state(tuple(state[count:]))

    def step(self, body: Callable) -> Callable[..., None]:
        """A function that changes the variables to what `body` gives."""

        def run(*item: Any) -> None:
            after = body(*item, *self.values)
            self.values = () if after is None else after

        return run


def _names(basic: tuple[str, ...] | None, composite: tuple[str, ...] | None) -> tuple[str, ...]:
    """The names of the whole state; none where nothing is to be checked."""
    return () if basic is None else (*basic, *(composite or ()))


def if_stmt(
    cond: TensorLike, body: Callable[[], Any], orelse: Callable[[], Any], get_state: Callable[[], tuple], set_state: Callable[[tuple], Any],
    basic_symbol_names: tuple[str, ...] | None = None, composite_symbol_names: tuple[str, ...] | None = None,
) -> Any:  # fmt: skip
    """What `body` gives if `cond`, else what `orelse` gives.

    Args:
      cond: the condition. body, orelse: functions without arguments that give one value, or a tuple of them.
      get_state, set_state: read and write the rest of the state.
      basic_symbol_names, composite_symbol_names: of the values, and of the rest of the state; with them the branches are compared.

    Raises:
      ValueError: a branch gives an undefined value. TypeError: a value is of other types in the two branches.
    """
    if not is_staged(cond):
        return body() if cond else orelse()
    variables = _Variables((), get_state, set_state)
    singles = []

    def branch(run: Callable[[], Any]) -> Callable[[], None]:
        def traced() -> None:
            found = run()
            singles.append(not isinstance(found, tuple))
            variables.values = (found,) if singles[-1] else found

        return traced

    names = _names(basic_symbol_names, composite_symbol_names)
    control_flow.if_stmt(cond, branch(body), branch(orelse), variables.get, variables.set, names, _ALL)
    return variables.values[0] if all(singles) else variables.values


def while_stmt(
    test: Callable[..., Any], body: Callable[..., tuple], get_state: Callable[[], tuple], set_state: Callable[[tuple], Any],
    init_vars: tuple, basic_symbol_names: tuple[str, ...] | None = None, composite_symbol_names: tuple[str, ...] | None = None,
    opts: dict[str, Any] | None = None,
) -> tuple:  # fmt: skip
    """The variables after `while test(*variables): variables = body(*variables)`.

    Args:
      test, body: functions of the variables. init_vars: their first values.
      get_state, set_state: read and write the rest of the state.
      basic_symbol_names, composite_symbol_names: of the variables, and of the rest of the state; with them iterations are compared.
      opts: arguments of tf.while_loop.

    Raises:
      ValueError: a variable is undefined, or gets another shape. TypeError: it gets another structure or dtype.
    """
    variables = _Variables(init_vars, get_state, set_state)
    names = _names(basic_symbol_names, composite_symbol_names)
    control_flow.while_stmt(
        lambda: test(*variables.values), variables.step(body), variables.get, variables.set, names, _ALL, options=opts
    )
    return variables.values


def for_stmt(
    iter_: Any, extra_test: Callable[..., Any] | None, body: Callable[..., Any], get_state: Callable[[], tuple],
    set_state: Callable[[tuple], Any], init_vars: tuple, basic_symbol_names: tuple[str, ...] | None = None,
    composite_symbol_names: tuple[str, ...] | None = None,
) -> Any:  # fmt: skip
    """The variables after `for item in iter_: variables = body(item, *variables)`.

    Args:
      iter_: what is iterated over; an object with `_autograph_for_loop` runs the loop itself.
      extra_test: a function of the variables that says before each iteration whether the loop goes on, or None.
      body: a function of the item and the variables. init_vars: their first values.
      get_state, set_state: read and write the rest of the state.
      basic_symbol_names, composite_symbol_names: of the variables, and of the rest of the state; with them iterations are compared.

    Raises:
      ValueError: a variable is undefined, or gets another shape. TypeError: it gets another structure or dtype.
    """
    variables = _Variables(init_vars, get_state, set_state)
    if loop_of_graph(iter_) is not None:
        names = _names(basic_symbol_names, composite_symbol_names)
        test = None if extra_test is None else lambda: extra_test(*variables.values)
        control_flow.for_stmt(iter_, test, variables.step(body), variables.get, variables.set, names, _ALL)
        return variables.values
    handler = getattr(iter_, "_autograph_for_loop", None)
    if handler is not None:
        control_flow.require_defined(init_vars)
        return handler(extra_test, body, init_vars)
    step = variables.step(body)
    for item in iter_:
        if extra_test is not None and not extra_test(*variables.values):
            break
        step(item)
    return variables.values
