"""`raw.Reshape(x, shape)`: one function per op type, looked up in the registry when it is called.

Arguments are the inputs, then the attributes that inputs do not determine (required ones first), by position or keyword, then `name`.
"""

from __future__ import annotations

import functools
from collections.abc import Container
from typing import Any

from tfcompat._src.graph import op_spec
from tfcompat._src.graph.signature import REQUIRED, Signature
from tfcompat._src.nodes.apply_op import apply_op


class RawOp:
    """Adds a node of one op type to the graph; see the module docstring."""

    def __init__(self, op_type: str) -> None:
        self.__name__ = self.__qualname__ = op_type

    @functools.cached_property
    def spec(self) -> op_spec.OpSpec:
        return op_spec.get(self.__name__)

    @functools.cached_property
    def parameters(self) -> tuple[str, ...]:
        signature = self.spec.signature
        return tuple(a.name for a in signature.inputs) + signature.explicit

    def __call__(self, *args: object, name: str | None = None, **kwargs: object) -> Any:
        spec = self.spec
        count = len(spec.signature.inputs)
        # Further positional arguments are attributes.
        if len(args) > count:
            kwargs.update(zip(self.parameters[count:], args[count:]))
            if len(args) > len(self.parameters):
                raise TypeError(f"{spec.name}() takes {len(self.parameters)} positional arguments but {len(args)} were given")
        values = list(args[:count])
        for arg in spec.signature.inputs[len(values) :]:
            if arg.name not in kwargs:
                raise TypeError(f"{spec.name}() missing required argument: {arg.name!r}")
            values.append(kwargs.pop(arg.name))
        for key in kwargs:
            if key not in spec.signature.attrs:
                raise TypeError(f"{spec.name}() got an unexpected keyword argument {key!r}")
        return apply_op(spec, values, kwargs, name)

    def __repr__(self) -> str:
        return f"<op function {self.__name__}>"


@functools.cache
def function(op_type: str) -> RawOp:
    """Returns the function that adds a node of type `op_type`."""
    return RawOp(op_type)


def __getattr__(op_type: str) -> RawOp:
    if op_type.startswith("_") or not op_type[0].isupper():
        raise AttributeError(f"{op_type!r} is not an op type: names of op types begin with a capital letter.")
    return function(op_type)


def missing_arguments(signature: Signature, given: Container[str]) -> list[str]:
    """Returns the required inputs and attributes that are not among `given`."""
    needed = [a.name for a in signature.inputs]
    needed += [n for n in signature.explicit if signature.attrs[n].default is REQUIRED]
    return [n for n in needed if n not in given]
