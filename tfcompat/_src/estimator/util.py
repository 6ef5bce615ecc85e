"""What input functions give, and the arguments that functions of the user take."""

from __future__ import annotations

import functools
import inspect
import time
from collections.abc import Callable
from typing import Any

from tfcompat._src.base.session_like import SessionLike
from tfcompat._src.data.dataset import DatasetV2
from tfcompat._src.data.dataset_v1 import make_initializable_iterator
from tfcompat._src.platform import logging
from tfcompat._src.train.session_run_hook import SessionRunHook


def fn_args(fn: Callable) -> tuple[str, ...]:
    """The names of the arguments that a function, method, partial or callable object leaves to its caller."""
    if isinstance(fn, functools.partial):
        return tuple(name for name in fn_args(fn.func)[len(fn.args) :] if name not in fn.keywords)
    if not inspect.isroutine(fn) and not inspect.isclass(fn):
        fn = fn.__call__
    names = inspect.getfullargspec(fn).args
    return tuple(names[1:] if inspect.ismethod(fn) or inspect.isclass(fn) else names)


def call_with_known(fn: Callable, **known: object) -> Any:
    """`fn` with those of the arguments in `known` that it takes."""
    names = fn_args(fn)
    return fn(**{name: value for name, value in known.items() if name in names})


def parse_input_fn_result(result: object) -> tuple[Any, Any, list[SessionRunHook]]:
    """Features, labels (None where there are none) and hooks of what an input function gave.

    Args:
      result: features, a pair of features and labels, or a tf.data.Dataset of these.

    Raises:
      ValueError: a tuple that is no pair.
    """
    hooks: list[SessionRunHook] = []
    if isinstance(result, DatasetV2):
        iterator = make_initializable_iterator(result)
        hooks.append(_DatasetInitializerHook(iterator))
        result = iterator.get_next()
    return (*parse_iterator_result(result), hooks)


def parse_iterator_result(result: object) -> tuple[Any, Any]:
    """Features and labels (None where there are none) of an element; ValueError for a tuple that is no pair."""
    if not isinstance(result, (list, tuple)):
        return result, None
    if len(result) != 2:
        raise ValueError("input_fn should return (features, labels) as a len 2 tuple.")
    return result[0], result[1]


class _DatasetInitializerHook(SessionRunHook):
    """Starts an iterator in each new session."""

    def __init__(self, iterator: Any) -> None:
        self._iterator = iterator

    def begin(self) -> None:
        self._initializer = self._iterator.initializer

    def after_create_session(self, session: SessionLike, coord: object) -> None:
        session.run(self._initializer)


class DistributedIteratorInitializerHook(_DatasetInitializerHook):
    """Starts the iterator of a strategy in each new session."""

    def begin(self) -> None:
        self._initializer = self._iterator.initialize()


class MultiHostDatasetInitializerHook(SessionRunHook):
    """Runs a list of initializers in each new session."""

    def __init__(self, dataset_initializers: list) -> None:
        self._initializers = dataset_initializers

    def after_create_session(self, session: SessionLike, coord: object) -> None:
        start = time.time()
        session.run(self._initializers)
        logging.info("Initialized dataset iterators in %d seconds", time.time() - start)
