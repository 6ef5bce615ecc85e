"""tf.raw_ops: every op type as a function of keyword arguments alone."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from tfcompat._src.framework import op_spec, raw


@functools.cache
def _keyword_only(op_type: str) -> Callable:
    function = raw.function(op_type)

    def call(*args: Any, **kwargs: Any) -> Any:
        if args:
            keys = [*function.parameters, "name"]
            raise TypeError(
                f"{op_type} only takes keyword args (possible keys: {keys}). Please pass these args as kwargs instead."
            )
        missing = raw.missing_arguments(function.spec.signature, kwargs)
        if missing:
            listed = ", ".join(map(repr, missing))
            raise TypeError(f"{op_type}() missing {len(missing)} required positional arguments: {listed}")
        return function(**kwargs)

    call.__name__ = call.__qualname__ = op_type
    return call


def __getattr__(op_type: str) -> Callable:
    if op_spec.find(op_type) is None:
        raise AttributeError(f"tfcompat has no tf.raw_ops.{op_type}: TensorFlow 1.15 does not have it or it is not built yet.")
    return _keyword_only(op_type)


def __dir__() -> list[str]:
    return op_spec.registered_names()
