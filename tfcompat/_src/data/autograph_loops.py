"""`for` statements, `enumerate` and `zip` over datasets and iterators, in code that AutoGraph has converted.

A loop over a dataset is a reduction whose state is the loop's variables; a loop over an iterator is a while loop.
"""

from __future__ import annotations

from typing import Any

from tfcompat._src.autograph.builtins import enumerate_, zip_items
from tfcompat._src.autograph.control_flow import Loop, loop_over
from tfcompat._src.data.dataset import DatasetV2
from tfcompat._src.data.iterator import EagerIterator, get_next_as_optional
from tfcompat._src.data.scans import scanned, taken_while
from tfcompat._src.nodes.convert import constant
from tfcompat._src.ops.control.cond import cond


@loop_over.register
def _over_dataset(dataset: DatasetV2, loop: Loop) -> None:
    """Converts a loop over a dataset to Dataset.reduce; with `break` or `return`, to a scan that ends where the loop does."""
    # A reduction needs a state, even if the loop changes no variables.
    has_variables = bool(loop.variables)
    start = loop.variables if has_variables else (constant(0),)

    def step(state: tuple[Any, ...], item: object) -> tuple[Any, ...]:
        results = loop.step(*(state if has_variables else ()), item=(item,), checks_shapes=False)
        return results if has_variables else state

    def step_or_stop(state: tuple[Any, ...], item: object) -> tuple[Any, ...]:
        goes_on = loop.goes_on(*state)
        results = cond(goes_on, lambda: step(state, item), lambda: state, strict=True)
        return results, (results, goes_on)

    # The scan returns the state after each element, and whether the loop was still running; the last such state is the result.
    if loop.stops_early:
        states = taken_while(scanned(dataset, start, step_or_stop), lambda _, goes_on: goes_on)
        last = states.reduce(start, lambda _, state_and_flag: state_and_flag[0])
    else:
        last = dataset.reduce(start, step)
    loop.finish(last if has_variables else ())


@loop_over.register
def _over_iterator(iterator: EagerIterator, loop: Loop) -> None:
    """Converts a loop over an iterator to a while loop that takes elements as optionals, and ends with the first empty one."""

    # A conditional needs an output, even if the loop changes no variables.
    def step(_: object, *variables: object) -> tuple[Any, ...]:
        following = get_next_as_optional(iterator)
        has_next = following.has_value()
        unused = () if variables else (constant(0),)
        results = cond(
            has_next, lambda: (*loop.step(*variables, item=(following.get_value(),)), *unused), lambda: (*variables, *unused), strict=True
        )
        return (has_next, *results[: len(variables)])

    loop.run(loop.and_goes_on, step, constant(True))


@enumerate_.register
def _enumerate_dataset(dataset: DatasetV2, start: object = 0) -> Any:
    return dataset.enumerate(start)


@zip_items.register
def _zip_datasets(first: DatasetV2, *others: object) -> Any:
    return type(first).zip((first, *others)) if all(isinstance(each, DatasetV2) for each in others) else zip(first, *others)
