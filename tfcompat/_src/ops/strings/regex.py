"""Regular expressions on each string of a tensor: RegexReplace, RegexFullMatch and their forms with a fixed pattern."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING

import numpy as np

from tfcompat._src.base import errors
from tfcompat._src.base.export import export
from tfcompat._src.graph import shape_inference as si
from tfcompat._src.graph.op_spec import HOST, NotDifferentiable, op
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.nodes import raw
from tfcompat._src.ops.strings import re2

if TYPE_CHECKING:
    from tfcompat._src.base.arrays import TensorLike

_add = functools.partial(op, gradient=NotDifferentiable("strings are not differentiable"), side=HOST, depth=2)


def _compiled(pattern: bytes) -> re2.Pattern:
    try:
        return re2.compiled(pattern)
    except re2.InvalidPattern as e:
        raise errors.InvalidArgumentError(
            None, None, f"Invalid pattern: {pattern.decode('utf-8', 'replace')}, error: {e}"
        ) from None


def _scalar(value: np.ndarray, name: str) -> bytes:
    if np.ndim(value):
        raise errors.InvalidArgumentError(None, None, f"{name} must be scalar, but received {list(value.shape)}")
    return value.item()


def _replaced(x: np.ndarray, pattern: bytes, rewrite: bytes, replace_global: bool) -> np.ndarray:
    compiled, count = _compiled(pattern), 0 if replace_global else 1
    found = np.empty(x.size, object)
    found[:] = [re2.replace(compiled, text, rewrite, count) for text in x.reshape(-1)]
    return found.reshape(x.shape)


def _matches(x: np.ndarray, pattern: bytes) -> np.ndarray:
    compiled = _compiled(pattern)
    return np.array([compiled.fullmatch(t) is not None for t in x.reshape(-1)], bool).reshape(x.shape)


def _pattern_shape(c):
    for sizes in c.inputs[1:]:
        si.with_rank(sizes, 0)
    return [c.inputs[0]]


_add(
    "RegexReplace", "(input: string, pattern: string, rewrite: string, *, replace_global: bool = True) -> (output: string)",
    shape=_pattern_shape,
    kernel=lambda x, pattern, rewrite, *, replace_global: _replaced(
        x, _scalar(pattern, "Pattern"), _scalar(rewrite, "Rewrite"), replace_global
    ),
)  # fmt: skip
_add(
    "StaticRegexReplace",
    "(input: string, *, pattern: string, rewrite: string, replace_global: bool = True) -> (output: string)",
    shape=si.unchanged,
    kernel=lambda x, *, pattern, rewrite, replace_global: _replaced(
        x, pattern.encode("latin-1"), rewrite.encode("latin-1"), replace_global
    ),
)  # fmt: skip
_add("RegexFullMatch", "(input: string, pattern: string) -> (output: bool)", shape=_pattern_shape,
     kernel=lambda x, pattern: _matches(x, _scalar(pattern, "Pattern")))  # fmt: skip
_add("StaticRegexFullMatch", "(input: string, *, pattern: string) -> (output: bool)", shape=si.unchanged,
     kernel=lambda x, *, pattern: _matches(x, pattern.encode("latin-1")))  # fmt: skip


@export("regex_replace", "strings.regex_replace")
def regex_replace(
    input: TensorLike, pattern: TensorLike, rewrite: TensorLike, replace_global: bool = True, name: str | None = None
) -> Tensor:
    """Each string with matches of `pattern` replaced.

    Args:
      input: string tensor.
      pattern: regular expression of RE2, a string or scalar tensor.
      rewrite: what takes their place; \\0 to \\9 stand for groups.
      replace_global: whether all matches are replaced, else the first.
      name: node name.

    Raises:
      InvalidArgumentError: in a run with an invalid pattern.
    """
    if isinstance(pattern, (str, bytes)) and isinstance(rewrite, (str, bytes)):
        return raw.StaticRegexReplace(input, pattern=pattern, rewrite=rewrite, replace_global=replace_global, name=name)
    return raw.RegexReplace(input, pattern, rewrite, replace_global=replace_global, name=name)


@export("strings.regex_full_match")
def regex_full_match(input: TensorLike, pattern: TensorLike, name: str | None = None) -> Tensor:
    """Whether the regular expression `pattern` matches the whole of each string; InvalidArgumentError for a bad pattern."""
    if isinstance(pattern, (str, bytes)):
        return raw.StaticRegexFullMatch(input, pattern=pattern, name=name)
    return raw.RegexFullMatch(input, pattern, name=name)
