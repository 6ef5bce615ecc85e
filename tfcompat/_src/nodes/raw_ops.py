"""tf.raw_ops: every op type as a function of keyword arguments alone."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any

from tfcompat._src.base.lacking import lacking
from tfcompat._src.graph import op_spec
from tfcompat._src.graph.signature import REQUIRED
from tfcompat._src.nodes import raw, removed_ops

_RENAMED = {
    **dict.fromkeys(("All", "Any", "EuclideanNorm", "Max", "Mean", "Min", "Prod", "Sum"), {"axis": "reduction_indices"}),
    **dict.fromkeys(("Split", "SplitV"), {"axis": "split_dim"}),
    "ExpandDims": {"axis": "dim"},
    "Select": {"x": "t", "y": "e"},
    "Squeeze": {"axis": "squeeze_dims"},
    "Where": {"condition": "input"},
}
"""Arguments whose name in tf.raw_ops differs from that in the OpDef."""


@functools.cache
def _removed(op_type: str) -> Callable[..., Any]:
    """Returns the function for an op type that 1.15 has removed: it raises NotImplementedError."""
    def call(**kwargs: object) -> Any:
        raise removed_ops.error(op_type)

    call.__name__ = call.__qualname__ = op_type
    return call


@functools.cache
def _keyword_only(op_type: str) -> Callable[..., Any]:
    """Returns the function for an op type that takes keyword arguments only."""
    function, renamed = raw.function(op_type), _RENAMED.get(op_type, {})
    # Names of the OpDef that are renamed are not accepted, as in 1.15.
    public = {inner: outer for outer, inner in renamed.items()}

    def call(*args: object, **kwargs: Any) -> Any:
        if args:
            keys = [*(public.get(p, p) for p in function.parameters), "name"]
            raise TypeError(
                f"{op_type} only takes keyword args (possible keys: {keys}). Please pass these args as kwargs instead."
            )
        for key in public.keys() & kwargs.keys():
            raise TypeError(f"{op_type}() got an unexpected keyword argument {key!r}")
        kwargs = {renamed.get(key, key): value for key, value in kwargs.items()}
        missing = raw.missing_arguments(function.spec.signature, kwargs)
        if missing:
            listed = ", ".join(repr(public.get(key, key)) for key in missing)
            raise TypeError(f"{op_type}() missing {len(missing)} required positional arguments: {listed}")
        return function(**kwargs)

    call.__name__ = call.__qualname__ = op_type
    call.__signature__ = _signature(function, public)  # type: ignore[attr-defined]  # what inspect reads
    return call


def _signature(function: raw.RawOp, public: dict[str, str]) -> inspect.Signature:
    """Returns the arguments of an op type in 1.15's order: inputs, attributes without a default, attributes with one, the node's name."""
    attrs = function.spec.signature.attrs
    defaults = [attrs[p].default if p in attrs else REQUIRED for p in function.parameters]
    kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
    listed = [
        inspect.Parameter(public.get(p, p), kind, default=_shown(d))
        for p, d in zip(function.parameters, defaults)
    ]
    return inspect.Signature([*listed, inspect.Parameter("name", kind, default=None)])


def _shown(default: object) -> Any:
    """Returns an attribute's default as `inspect` shows it."""
    if default is REQUIRED:
        return inspect.Parameter.empty
    return default.decode("latin-1") if isinstance(default, bytes) else default


def __getattr__(op_type: str) -> Callable[..., Any]:
    if op_type in removed_ops.SINCE:
        return _removed(op_type)
    if op_spec.find(op_type) is None:
        lacking("tfcompat.raw_ops", op_type)
    return _keyword_only(op_type)


def __dir__() -> list[str]:
    return sorted({*op_spec.registered_names(), *removed_ops.SINCE})
