"""`tensorflow.python.autograph.converters`: the passes of TensorFlow's AutoGraph. tfcompat's conversion has other passes."""

from __future__ import annotations

from typing import Any, NoReturn


def transform(node: Any, ctx: Any, default_to_null_return: bool = True) -> NoReturn:  # noqa: ARG001  # TensorFlow's signature
    """In 1.15, applies one pass to the syntax tree of a function; not supported.

    Raises:
      NotImplementedError: always.
    """
    raise NotImplementedError(
        "tfcompat has no tensorflow.python.autograph.converters.*.transform, since its conversion has other passes, which cannot run alone. "
        "Convert functions with tf.autograph.to_graph or tf.function."
    )
