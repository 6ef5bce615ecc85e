"""`tensorflow.python.autograph.converters`: the passes of TensorFlow's AutoGraph, which tfcompat's conversion is not made of."""

from __future__ import annotations

from typing import Any, NoReturn


def transform(node: Any, ctx: Any, default_to_null_return: bool = True) -> NoReturn:  # noqa: ARG001  # TensorFlow's signature
    """Would apply one pass to the syntax tree of a function.

    Raises:
      NotImplementedError: always.
    """
    raise NotImplementedError(
        "tfcompat has no tensorflow.python.autograph.converters.*.transform: its conversion has other steps and no pass can run alone; "
        "convert functions with tf.autograph.to_graph or tf.function."
    )
