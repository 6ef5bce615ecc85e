"""tf.contrib.learn.io.generator_input_fn: inputs from a Python generator."""

from __future__ import annotations

import sys
from collections.abc import Callable, Container
from types import FunctionType, GeneratorType
from typing import Any

from tfcompat._src.base.export import export
from tfcompat._src.estimator.inputs.feeding_functions import _enqueue_data

this_module = export("contrib.learn.io.generator_io")(sys.modules[__name__])


def _checked_targets(target_key: object, keys: list[str]) -> list[str] | None:
    if target_key is None:
        return None
    targets = [target_key] if isinstance(target_key, str) else target_key
    if not isinstance(targets, Container):
        raise TypeError(f"target_key must be str or Container of str; got {type(target_key).__name__}")
    for item in targets:
        if not isinstance(item, str):
            raise TypeError(f"target_key must be str or Container of str; got {type(item).__name__}")
        if not isinstance(target_key, str) and item not in keys:
            raise KeyError(f"target_key not in yielded dict. Expected {keys} keys; got {item}")
    return list(targets)


@export("contrib.learn.io.generator_input_fn")
def generator_input_fn(
    x: Callable, target_key: object = None, batch_size: int = 128, num_epochs: int | None = 1, shuffle: bool = True,
    queue_capacity: int = 1000, num_threads: int = 1, pad_value: object = None,
) -> Callable:  # fmt: skip
    """An input function that reads a generator of dicts of arrays through a queue.

    Args:
      x: function that gives the generator.
      target_key: key of the labels, or keys.
      batch_size: examples in a batch.
      num_epochs: how often the generator is read; None for ever.
      shuffle: whether the queue shuffles.
      queue_capacity: size of the queue.
      num_threads: threads that fill it.
      pad_value: what fills up examples of different sizes, a number or a dict.

    Raises:
      TypeError: `x` gives no generator of dicts. KeyError: a target is in no example.
    """
    if not isinstance(x, FunctionType):
        raise TypeError(f"x must be generator function; got {type(x).__name__}")
    generator = x()
    if not isinstance(generator, GeneratorType):
        raise TypeError(f"x() must be generator; got {type(generator).__name__}")
    data = next(generator)
    if not isinstance(data, dict):
        raise TypeError(f"x() must yield dict; got {type(data).__name__}")
    input_keys = sorted(next(x()))
    targets = _checked_targets(target_key, input_keys)

    def _generator_input_fn() -> Any:
        queue = _enqueue_data(
            x, queue_capacity, shuffle=shuffle, num_threads=num_threads, enqueue_size=batch_size, num_epochs=num_epochs,
            pad_value=pad_value,
        )  # fmt: skip
        values = queue.dequeue_many(batch_size) if num_epochs is None else queue.dequeue_up_to(batch_size)
        features = dict(zip(input_keys, values if isinstance(values, list) else [values], strict=True))
        if targets is None:
            return features
        if len(targets) > 1:
            return features, {key: features.pop(key) for key in targets}
        return features, features.pop(targets[0])

    return _generator_input_fn
