"""tf.estimator.TrainSpec and tf.estimator.EvalSpec: what train_and_evaluate is given."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

from tfcompat._src.base.export import export
from tfcompat._src.estimator.exporter import Exporter
from tfcompat._src.train.session_run_hook import SessionRunContext, SessionRunHook, SessionRunValues


def _validate_input_fn(input_fn: object) -> None:
    if not callable(input_fn):
        raise TypeError(f"`input_fn` must be callable, given: {input_fn}")


def _validate_hooks(hooks: Iterable[Any] | None) -> tuple:
    hooks = tuple(hooks or ())
    for hook in hooks:
        if not isinstance(hook, SessionRunHook):
            raise TypeError(f"All hooks must be `SessionRunHook` instances, given: {hook}")
    return hooks


def _validate_exporters(exporters: Any) -> tuple[Exporter, ...]:
    """One or several Exporters, as a tuple."""
    if not exporters:
        return ()
    if isinstance(exporters, Exporter):
        return _validate_exporters([exporters])
    try:
        found = tuple(exporters)
    except TypeError:
        found = (None,)
    if not all(isinstance(exporter, Exporter) for exporter in found):
        raise TypeError(f"`exporters` must be an Exporter, an iterable of Exporter, or `None`, found {exporters}.")
    names = [exporter.name for exporter in found]
    for i, name in enumerate(names):
        if not name:
            raise ValueError(f"An Exporter cannot have a name that is `None` or empty. All exporter names: {names}")
        if not isinstance(name, str):
            raise ValueError(f"An Exporter must have a string name. Given: {type(name)}")
        if name in names[:i]:
            raise ValueError(
                f"`exporters` must have unique names. Such a name cannot be `None`. All exporter names: {names}"
            )
    return found


class _TrainFields(NamedTuple):
    input_fn: Callable
    max_steps: int | None = None
    hooks: tuple = ()


@export("estimator.TrainSpec", "compat.v2.estimator.TrainSpec")
class TrainSpec(_TrainFields):
    """What train_and_evaluate trains with.

    Args:
      input_fn: the input function, see `Estimator.train`.
      max_steps: the global step to stop at; by default training ends with the input.
      hooks: SessionRunHooks.

    Raises:
      TypeError: no function, or a hook of another type. ValueError: `max_steps` is not positive.
    """

    def __new__(cls, input_fn: Callable, max_steps: int | None = None, hooks: Any = None) -> TrainSpec:
        _validate_input_fn(input_fn)
        if max_steps is not None and max_steps <= 0:
            raise ValueError(f"Must specify max_steps > 0, given: {max_steps}")
        return super().__new__(cls, input_fn, max_steps, _validate_hooks(hooks))


class _EvalFields(NamedTuple):
    input_fn: Callable
    steps: int | None = 100
    name: str | None = None
    hooks: tuple = ()
    exporters: tuple = ()
    start_delay_secs: float = 120
    throttle_secs: float = 600


@export("estimator.EvalSpec", "compat.v2.estimator.EvalSpec")
class EvalSpec(_EvalFields):
    """What train_and_evaluate evaluates with.

    Args:
      input_fn: the input function, see `Estimator.train`.
      steps: how many batches; None for all of the input.
      name: names the folder of the summaries.
      hooks: SessionRunHooks.
      exporters: an Exporter, or several with different names.
      start_delay_secs: seconds that an evaluator of a cluster waits first.
      throttle_secs: seconds between evaluations.

    Raises:
      TypeError: a part of another type. ValueError: a number is out of range, or a name is taken.
    """

    def __new__(
        cls, input_fn: Callable, steps: int | None = 100, name: str | None = None, hooks: Any = None,
        exporters: object = None, start_delay_secs: float = 120, throttle_secs: float = 600,
    ) -> EvalSpec:  # fmt: skip
        _validate_input_fn(input_fn)
        if steps is not None and steps <= 0:
            raise ValueError(f"Must specify steps > 0, given: {steps}")
        if name is not None and not isinstance(name, str):
            raise TypeError(f"`name` must be string, given: {name}")
        hooks = _validate_hooks(hooks)
        exporters = _validate_exporters(exporters)
        for what, seconds in (("start_delay_secs", start_delay_secs), ("throttle_secs", throttle_secs)):
            if seconds < 0:
                raise ValueError(f"Must specify {what} >= 0, given: {seconds}")
        return super().__new__(cls, input_fn, steps, name, hooks, exporters, start_delay_secs, throttle_secs)


def _assert_eval_spec(eval_spec: object) -> None:
    if not isinstance(eval_spec, EvalSpec):
        raise TypeError(f"`eval_spec` must have type `tf.estimator.EvalSpec`. Got: {type(eval_spec)}")


class _StopAtSecsHook(SessionRunHook):
    """Stops after a number of seconds."""

    def __init__(self, stop_after_secs: float) -> None:
        self._stop_after_secs = stop_after_secs
        self._start_time: float | None = None

    def begin(self) -> None:
        self._start_time = time.time()

    def after_run(self, run_context: SessionRunContext, run_values: SessionRunValues) -> None:
        if time.time() - self._start_time >= self._stop_after_secs:
            run_context.request_stop()
