"""gast: the kinds of nodes of 0.2, which TensorFlow 1.15 pinned, that 0.3 made Constant."""

from __future__ import annotations

from typing import Any

from tfcompat._src.cli.legacy.keywords import Tables


class _OfConstants(type):
    """A kind of node whose instances are constants with values of some types."""

    _values: tuple[type, ...]
    _constant: Any

    def __instancecheck__(cls, node: object) -> bool:
        return isinstance(node, cls._constant) and type(node.value) in cls._values

    def __call__(cls, value: object = ..., **fields: Any) -> Any:
        return cls._constant(value=next(iter(fields.values()), value), kind=None)


def _kind(name: str, constant: object, *values: type) -> Any:
    return _OfConstants(name, (), dict(_values=values, _constant=constant))


def _added(gast: Any) -> dict[Any, dict[str, Any]]:
    constant = gast.Constant
    return {gast: dict(
        Num=_kind("Num", constant, int, float, complex), Str=_kind("Str", constant, str), Bytes=_kind("Bytes", constant, bytes),
        NameConstant=_kind("NameConstant", constant, bool, type(None)), Ellipsis=_kind("Ellipsis", constant, type(...)),
        Index=lambda value=None: value, ExtSlice=lambda dims=(): gast.Tuple(elts=list(dims), ctx=gast.Load()),
    )}  # fmt: skip


ADDED: Tables = {"gast": _added, "gast.gast": _added}
REPLACED: Tables = {}
MOVED: dict[str, str] = {}
