"""Control-flow contexts in the collections of a MetaGraphDef."""

from __future__ import annotations

from typing import Any

from tfcompat._src.base.graph_collections import GraphKeys
from tfcompat._src.base.registry import register_proto_function
from tfcompat._src.graph.scopes import get_default_graph
from tfcompat._src.nodes.meta_graph import prepend_name_scope, strip_name_scope
from tfcompat._src.ops.control.context import ControlFlowContext
from tfcompat._src.proto import messages

_NAME_FIELDS = (
    "context_name", "pred_name", "pivot_name", "pivot_for_pred_name", "pivot_for_body_name", "maximum_iterations_name",
)  # fmt: skip
_NAME_LISTS = ("loop_exit_names", "loop_enter_names")


class ImportedContext:
    """A context as a file described it: here the structure of the nodes says what is a branch and what a loop.

    Args:
      message: its CondContextDef or WhileContextDef.
    """

    def __init__(self, message: Any) -> None:
        self._message = message

    @property
    def name(self) -> str:
        return self._message.context_name

    def to_proto(self, export_scope: str | None = None) -> Any:
        """The message, with names below `export_scope`; None where the context is not below it."""
        return _to_proto(self, export_scope)


def _values_def(context: ControlFlowContext) -> Any:
    found = messages.ValuesDef(values=sorted(context._values))
    for name, tensor in context._external_values.items():
        found.external_values[name] = tensor.name
    return found


def _message(context: Any, nested: dict[int, list[Any]]) -> Any:
    """The message of a context and of those in it, with the names of the graph."""
    if isinstance(context, ImportedContext):
        found = type(context._message)()
        found.CopyFrom(context._message)
        return found
    common = {"context_name": context.name, "pivot_name": context.pivot.name, "values_def": _values_def(context)}
    if context.IsCondContext():
        found = messages.CondContextDef(pred_name=context.pred.name, branch=context.branch, **common)
    else:
        found = messages.WhileContextDef(
            parallel_iterations=context.parallel_iterations, back_prop=context.back_prop, swap_memory=context.swap_memory,
            pivot_for_pred_name=context._pivot_for_pred.name, pivot_for_body_name=context._pivot_for_body.name,
            loop_exit_names=[t.name for t in context.loop_exits], loop_enter_names=[t.name for t in context.loop_enters],
            **common,
        )  # fmt: skip
        if context.maximum_iterations is not None:
            found.maximum_iterations_name = context.maximum_iterations.name
    for inner in nested.get(id(context), ()):
        field = "cond_ctxt" if inner.IsCondContext() else "while_ctxt"
        getattr(found.nested_contexts.add(), field).CopyFrom(_message(inner, nested))
    return found


def _nested_contexts() -> dict[int, list[Any]]:
    """The contexts of the default graph's nodes, by the id of the context that each is in."""
    found: dict[int, list[Any]] = {}
    seen: set[int] = set()
    for op in get_default_graph()._nodes:
        context = op._control_flow_context
        while context is not None and id(context) not in seen:
            seen.add(id(context))
            if context._outer_context is not None:
                found.setdefault(id(context._outer_context), []).append(context)
            context = context._outer_context
    return found


def _rename(message: Any, rename: Any) -> None:
    """Changes all names in a message."""
    for field in _NAME_FIELDS:
        if field in message.DESCRIPTOR.fields_by_name and getattr(message, field):
            setattr(message, field, rename(getattr(message, field)))
    for field in _NAME_LISTS:
        if field in message.DESCRIPTOR.fields_by_name:
            getattr(message, field)[:] = [rename(name) for name in getattr(message, field)]
    values = message.values_def
    values.values[:] = [rename(name) for name in values.values]
    external = {rename(name): rename(tensor) for name, tensor in values.external_values.items()}
    values.external_values.clear()
    values.external_values.update(external)
    for inner in message.nested_contexts:
        _rename(getattr(inner, inner.WhichOneof("ctxt")), rename)


def _to_proto(context: Any, export_scope: str | None = None) -> Any:
    """The message of a context; None where it is not below `export_scope`."""
    if export_scope is not None and not context.name.startswith(export_scope):
        return None
    found = _message(context, _nested_contexts())
    _rename(found, lambda name: strip_name_scope(name, export_scope))
    return found


def _from_proto(message: Any, import_scope: str | None = None) -> ImportedContext:
    found = type(message)()
    found.CopyFrom(message)
    _rename(found, lambda name: prepend_name_scope(name, import_scope))
    return ImportedContext(found)


for _key, _type in (
    (GraphKeys.COND_CONTEXT, messages.CondContextDef),
    (GraphKeys.WHILE_CONTEXT, messages.WhileContextDef),
):
    register_proto_function(_key, proto_type=_type, to_proto=_to_proto, from_proto=_from_proto)
ControlFlowContext.to_proto = _to_proto
ControlFlowContext.from_proto = staticmethod(_from_proto)
