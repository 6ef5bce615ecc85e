"""tf.xla.experimental.jit_scope: attributes that ask for compilation; here every program is compiled."""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Callable, Iterator
from typing import Any

from tfcompat._src.base.export import export
from tfcompat._src.graph.scopes import add_to_collection, get_collection, get_default_graph
from tfcompat._src.proto.messages import AttrValue

_SCOPES_KEY = ("__xla_scope",)


@dataclasses.dataclass
class _Scopes:
    """How many scopes a graph has had, and how many are open now."""

    count: int = 0
    depth: int = 0


@export("xla.experimental.jit_scope", "contrib.compiler.jit.experimental_jit_scope")
@contextlib.contextmanager
def experimental_jit_scope(
    compile_ops: bool | Callable = True, separate_compiled_gradients: bool = False
) -> Iterator[None]:
    """Writes into the nodes made inside that XLA should compile them.

    Args:
      compile_ops: bool, or function of a NodeDef that gives one.
      separate_compiled_gradients: whether their gradients are compiled on their own.
    """
    found = get_collection(_SCOPES_KEY)
    if not found:
        found = [_Scopes()]
        add_to_collection(_SCOPES_KEY, found[0])
    scopes = found[0]
    compiled: Any = AttrValue(b=compile_ops) if isinstance(compile_ops, bool) else lambda n: AttrValue(b=compile_ops(n))
    attrs: dict[str, Any] = {
        "_XlaCompile": compiled,
        "_XlaSeparateCompiledGradients": AttrValue(b=bool(separate_compiled_gradients)),
    }
    if not scopes.depth:
        attrs["_XlaScope"] = AttrValue(s=f"jit_scope_{scopes.count}".encode())
        scopes.count += 1
    scopes.depth += 1
    with get_default_graph()._attr_scope(attrs):
        yield
    scopes.depth -= 1
