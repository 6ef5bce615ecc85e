"""`tf.nn.seq2seq` before TensorFlow 1.0: the functions of contrib.legacy_seq2seq, made of the cells and the linear maps of that time.

They are the same in all but these, so each function is made anew with other global names.
"""

from __future__ import annotations

import types
from collections.abc import Callable
from typing import Any

from tfcompat._src.cli.tf0 import cells, recurrent
from tfcompat._src.contrib.legacy_seq2seq import decoders, loss, models
from tfcompat._src.ops.math.cast import cast
from tfcompat._src.ops.nn.softmax import sparse_softmax_cross_entropy_with_logits


class _Linear:
    """Stands for the class `Linear` of 1.15, which makes its weights before it is called."""

    def __init__(self, args: Any, output_size: Any, build_bias: bool) -> None:
        self._settings = int(output_size), build_bias

    def __call__(self, args: Any) -> Any:
        return cells.linear(args, *self._settings)


def _of_parts(parts: list[Any], size: Any, dtype: Any) -> Any:
    return cells.linear([cast(part, dtype) for part in parts], int(size), True)


def _step_loss(logits: Any, targets: Any, softmax_loss_function: Callable[..., Any] | None) -> Any:
    """The loss of a step; a function of the program gets logits and targets by position, as it did."""
    if softmax_loss_function is not None:
        return softmax_loss_function(logits, targets)
    return sparse_softmax_cross_entropy_with_logits(labels=targets, logits=logits)


_OTHER = {
    "Linear": _Linear, "_linear": _of_parts, "static_rnn": recurrent.rnn, "EmbeddingWrapper": cells.EmbeddingWrapper,
    "OutputProjectionWrapper": cells.OutputProjectionWrapper, "RNNCell": cells.RNNCell, "_step_loss": _step_loss,
}  # fmt: skip
"""Global names of the functions of 1.15 -> what they mean here."""


def _made() -> dict[str, Any]:
    names: dict[str, Any] = {}
    for module in (loss, decoders, models):
        space = {**vars(module), **{name: value for name, value in names.items() if name in vars(module)}}
        for name, value in vars(module).items():
            if name in _OTHER:
                space[name] = _OTHER[name]
            elif getattr(value, "__module__", None) == module.__name__:
                space[name] = names[name] = _with_names(value, space)
    return names


def _with_names(value: Any, space: dict[str, Any]) -> Any:
    """A function, or a class of functions, with other global names."""
    if isinstance(value, types.FunctionType):
        made = types.FunctionType(value.__code__, space, value.__name__, value.__defaults__, value.__closure__)
        made.__kwdefaults__, made.__doc__ = value.__kwdefaults__, value.__doc__
        return made
    return type(value.__name__, value.__bases__, {name: _with_names(each, space) if isinstance(each, types.FunctionType) else each for name, each in vars(value).items() if name != "__dict__"})


NAMES: dict[str, Any] = _made()
