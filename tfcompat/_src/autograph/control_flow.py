"""`if`, `while` and `for` of converted code: of TensorFlow where they depend on tensors, of Python elsewhere.

A statement comes as functions without arguments that change the variables of the user's function. `get_state` and `set_state` read and
write those: first the `count` ones that are needed after the statement (or in the next iteration), then the others. `names` names them.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from tfcompat._src.autograph.builtins import tensor_length
from tfcompat._src.autograph.operators.special_values import (
    Undefined,
    UndefinedReturnValue,
    is_undefined,
    is_undefined_return,
)
from tfcompat._src.autograph.python_loops import PythonLoopChecker
from tfcompat._src.base import nest
from tfcompat._src.base.composite_tensor import CompositeTensor
from tfcompat._src.graph.constant_value import constant_value
from tfcompat._src.graph.eager_tensor import EagerTensor
from tfcompat._src.graph.scopes import executing_eagerly, get_default_graph
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.graph.tensor_like import is_dense_tensor_like, is_tensor
from tfcompat._src.nodes import raw
from tfcompat._src.nodes.convert import constant, convert_to_tensor
from tfcompat._src.nodes.function_body import FuncGraph
from tfcompat._src.ops.control.cond import cond
from tfcompat._src.ops.control.control_flow_util import GraphOrParentsInXlaContext
from tfcompat._src.ops.control.while_loop import while_loop
from tfcompat._src.ops.flow.tensor_array import TensorArray

if TYPE_CHECKING:
    from tfcompat._src.base.arrays import TensorLike

RESULT = "ag__result"


NO_RESULT = UndefinedReturnValue()
"""What a function returns where no `return` was met."""


def value(read: Callable[[], Any], name: str) -> Any:
    """The value of a variable, Undefined where it has none."""
    try:
        return read()
    except NameError:
        return Undefined(name)


def is_staged(condition: object) -> bool:
    """Whether a condition is known only when a graph runs."""
    return is_dense_tensor_like(condition) and not isinstance(condition, (EagerTensor, CompositeTensor))


# ---- if ----


def if_stmt(
    test: TensorLike, body: Callable, orelse: Callable, get_state: Callable, set_state: Callable, names: tuple[str, ...], count: int
) -> None:
    """`if test: body() else: orelse()`.

    Raises:
      ValueError: a variable gets a value in one branch only. TypeError: it gets other types in the two branches.
    """
    if not is_staged(test):
        (body if test else orelse)()
        return
    before = get_state()
    found: list[tuple] = []

    def branch(run: Callable, label: str) -> Callable[[], Any]:
        def traced() -> Any:
            set_state(before)
            run()
            after = get_state()[:count]
            _require_defined(names, after, label)
            found.append(after)
            if len(found) == 2:
                _require_alike(names, *found)
            return after

        return traced

    after = cond(test, branch(body, "if"), branch(orelse, "else"), strict=True)
    set_state((*(after if count else ()), *before[count:]))


def _require_defined(names: tuple[str, ...], values: tuple, branch: str) -> None:
    undefined = tuple(each.symbol_name for each in values if is_undefined(each) and each.symbol_name != RESULT)
    if undefined:
        raise ValueError(
            f"The following symbols must also be initialized in the {branch} branch: {undefined}. Alternatively, you may initialize them "
            "before the if statement."
        )
    if any(map(is_undefined_return, values)):
        raise ValueError(
            f"A value must also be returned from the {branch} branch. If a value is returned from one branch of a conditional a value "
            "must be returned from all branches."
        )


def _kind(leaf: TensorLike) -> Any:
    """The dtype of what becomes a tensor, else None."""
    if isinstance(leaf, (bool, int, float, str)):
        leaf = convert_to_tensor(leaf)
    return leaf.dtype if is_tensor(leaf) and hasattr(leaf, "dtype") else None


def _require_alike(names: tuple[str, ...], one: tuple, other: tuple) -> None:
    for name, left, right in zip(names, one, other):
        try:
            nest.assert_same_structure(left, right, expand_composites=True)
        except (ValueError, TypeError) as error:
            raise TypeError(f'"{name}" does not have the same nested structure in the TRUE and FALSE branches.\n\n{error}') from error
        for a, b in zip(nest.flatten(left), nest.flatten(right)):
            kinds = _kind(a), _kind(b)
            if None not in kinds and kinds[0] != kinds[1]:
                raise TypeError(
                    f'"{name}" has dtype {kinds[0].name} in the TRUE branch, but dtype={kinds[1].name} in the FALSE branch. TensorFlow '
                    "control flow requires that they are the same."
                )


# ---- loops ----


def require_defined(variables: tuple) -> None:
    """Checks the variables of a loop.

    Raises:
      ValueError: one is undefined.
    """
    undefined = tuple(each.symbol_name for each in variables if is_undefined(each))
    if undefined:
        raise ValueError(f"TensorFlow requires that the following symbols must be defined before the loop: {undefined}")
    if any(map(is_undefined_return, variables)):
        raise ValueError("return statements are not supported within a TensorFlow loop.")


class Loop:
    """A loop as functions of its variables.

    Args:
      body: runs one iteration; of `for`, with the item. test: says whether the loop goes on, or None.
    """

    def __init__(
        self, test: Callable | None, body: Callable, get_state: Callable, set_state: Callable, names: tuple[str, ...], count: int
    ) -> None:
        before = get_state()
        self._test, self._body, self._get, self._set = test, body, get_state, set_state
        self._names, self._count, self._rest = names, count, before[count:]
        self.variables: tuple = before[:count]
        require_defined(self.variables)

    @property
    def stops_early(self) -> bool:
        return self._test is not None

    def goes_on(self, *variables: Any) -> Any:
        self._set((*variables, *self._rest))
        return self._test()

    def and_goes_on(self, more: TensorLike, *variables: Any) -> Any:
        """Whether there is one more item and the loop does not stop early."""
        return cond(more, lambda: self.goes_on(*variables), lambda: False) if self.stops_early else more

    def step(self, *variables: Any, item: tuple = (), checks_shapes: bool = True) -> tuple:
        """The variables after one iteration.

        Raises:
          TypeError: one has another structure or dtype. ValueError: one has another shape.
        """
        self._set((*variables, *self._rest))
        self._body(*item)
        after = self._get()[: self._count]
        _require_same_kind(self._names, variables, after, checks_shapes)
        return after

    def finish(self, variables: Any) -> None:
        """Gives the variables the values that they have after the loop."""
        self._set((*variables, *self._rest))

    def run(self, test: Callable, step: Callable, counter: object = None, **options: Any) -> None:
        """Builds a tf.while_loop of the variables, behind `counter` where one is given; `test` and `step` take all of them.

        Variables that do not become tensors raise as tf.while_loop says.
        """
        first = () if counter is None else (counter,)
        if self.variables or first:
            found = while_loop(test, step, (*first, *self.variables), return_same_structure=True, **options)
            self.finish(found[len(first) :])
        else:
            while_loop(lambda _: test(), lambda i: (step(), (i,))[1], (constant(0),), return_same_structure=True, **options)
            self.finish(())


def _require_same_kind(names: tuple[str, ...], before: tuple, after: tuple, checks_shapes: bool) -> None:
    for name, old, new in zip(names, before, after):
        try:
            nest.assert_same_structure(old, new, expand_composites=True)
        except (ValueError, TypeError) as error:
            raise TypeError(f'"{name}" does not have the same nested structure after one iteration.\n\n{error}') from error
        for a, b in zip(nest.flatten(old), nest.flatten(new)):
            kinds = _kind(a), _kind(b)
            if None in kinds:
                continue
            if kinds[0] != kinds[1]:
                raise TypeError(
                    f'"{name}" has dtype {kinds[0].name} before the loop, but dtype {kinds[1].name} after one iteration. TensorFlow '
                    "control flow requires it stays the same."
                )
            if checks_shapes and isinstance(a, Tensor) and isinstance(b, Tensor) and not _is_as_specific(b, a):
                raise ValueError(
                    f'"{name}" has shape {a.shape} before the loop, but shape {b.shape} after one iteration. TensorFlow control flow '
                    "requires it stays the same or be more specific."
                )


def _is_as_specific(tensor: Tensor, wanted: Tensor) -> bool:
    """Whether all that is known of one shape is known alike of the other."""
    if wanted.shape.ndims is None:
        return True
    same_rank = tensor.shape.ndims == wanted.shape.ndims
    return same_rank and all(w is None or w == t for w, t in zip(wanted.shape.as_list(), tensor.shape.as_list()))


def while_stmt(
    test: Callable, body: Callable, get_state: Callable, set_state: Callable, names: tuple[str, ...], count: int,
    options: dict[str, Any] | None = None,
) -> None:  # fmt: skip
    """`while test(): body()`; what the condition is like is seen in a graph that is thrown away.

    `options` are those of tf.while_loop.
    """
    if executing_eagerly():
        goes_on = test()
    else:
        with FuncGraph(get_default_graph()).as_default():
            goes_on = test()
    if is_staged(goes_on):
        loop = Loop(test, body, get_state, set_state, names, count)
        loop.run(loop.goes_on, loop.step, **(options or {}))
        return
    checker = PythonLoopChecker()
    while goes_on:
        with checker.iteration():
            body()
        goes_on = test()


def for_stmt(
    iterated: Any, test: Callable | None, body: Callable, get_state: Callable, set_state: Callable, names: tuple[str, ...], count: int
) -> None:
    """`for item in iterated: body(item)`, as long as `test` (where there is one) says so."""
    run = loop_of_graph(iterated)
    if run is not None:
        run(Loop(test, body, get_state, set_state, names, count))
        return
    for item in iterated:
        body(item)
        if test is not None and not test():
            break


def loop_of_graph(iterated: TensorLike) -> Callable[[Loop], None] | None:
    """What runs a loop over an object in the graph; None where Python does."""
    if is_staged(iterated):
        iterated = convert_to_tensor(iterated)
    run = loop_over.dispatch(type(iterated))
    return None if run is _NO_LOOP or executing_eagerly() else functools.partial(run, iterated)


@functools.singledispatch
def loop_over(iterated: Any, loop: Loop) -> None:
    """Runs a loop over an object of TensorFlow; registered by the types of these."""
    raise TypeError(f"no loop of the graph goes over {iterated!r}")


_NO_LOOP = loop_over.dispatch(object)


@loop_over.register
def _over_tensor(tensor: Tensor, loop: Loop) -> None:
    is_range = not isinstance(tensor, EagerTensor) and tensor.op.type == "Range"
    (_over_range if is_range else _over_rows)(loop, tensor)


def _over_rows(loop: Loop, tensor: Any) -> None:
    length = tensor_length(tensor)
    rows = TensorArray(tensor.dtype, size=length).unstack(tensor)
    options = {"maximum_iterations": length} if GraphOrParentsInXlaContext(get_default_graph()) else {}

    def step(i: Tensor, *variables: Any) -> tuple:
        return (i + 1, *loop.step(*variables, item=(rows.read(i),)))

    loop.run(lambda i, *variables: loop.and_goes_on(i < length, *variables), step, constant(0), **options)


def _over_range(loop: Loop, tensor: Tensor) -> None:
    """A loop over `tf.range` counts, without the tensor."""
    start, limit, delta = tensor.op.inputs
    known = constant_value(delta)

    def more(i: Tensor) -> Tensor:
        if known is not None:
            return i < limit if np.asarray(known).item() >= 0 else i > limit
        return raw.LogicalOr(raw.LogicalAnd(delta >= 0, i < limit), raw.LogicalAnd(delta < 0, i > limit))

    def step(i: Tensor, *variables: Any) -> tuple:
        return (i + delta, *loop.step(*variables, item=(i,)))

    options = {"maximum_iterations": raw.Size(tensor)} if GraphOrParentsInXlaContext(get_default_graph()) else {}
    loop.run(lambda i, *variables: loop.and_goes_on(more(i), *variables), step, start, **options)
