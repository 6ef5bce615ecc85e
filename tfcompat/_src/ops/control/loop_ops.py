"""The ops that make a loop: Enter, Exit, NextIteration and LoopCond."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tfcompat._src.base import nest
from tfcompat._src.base.composite_tensor import CompositeTensor
from tfcompat._src.graph import shape_inference as si
from tfcompat._src.graph.op_spec import NotDifferentiable, op
from tfcompat._src.graph.scopes import get_default_graph
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.nodes import raw
from tfcompat._src.nodes.convert import to_tensor

if TYPE_CHECKING:
    from tfcompat._src.base.arrays import TensorLike

ENTER = frozenset(("Enter", "RefEnter"))
EXIT = frozenset(("Exit", "RefExit"))
NEXT_ITERATION = frozenset(("NextIteration", "RefNextIteration"))


def _routed(*values: Any, **attrs: Any) -> Any:
    raise NotImplementedError("the Exit of no loop, or a ref in a loop that nothing leaves")


def _passed(data: object, **attrs: object) -> Any:
    """Where there is no loop, a value goes on as it is."""
    return data


def _enter_shape(c: Any) -> list:
    if c.handle(0) is not None:
        c.set_handle(0, *c.handle(0))
    return [c.inputs[0] if c.attr("is_constant") else None]


def _pass_shape(c: Any) -> list:
    if c.handle(0) is not None:
        c.set_handle(0, *c.handle(0))
    return [c.inputs[0]]


def _backward_loop() -> Any:
    """The backward loop that is being built, or None."""
    context = get_default_graph()._control_flow_context
    return context.grad_state if context is not None and context.back_prop else None


def _enter_gradient(node: object, grad: object) -> list:
    """Leaves the backward loop, with the sum over all iterations for an invariant; inside one iteration a value is itself."""
    loop = _backward_loop()
    if loop is None:
        return [grad]
    return [loop.leave(node, grad)]


def _exit_gradient(node: Any, grad: object) -> list:
    """Enters the backward loop."""
    context = get_default_graph()._control_flow_context
    if context is None:
        return [grad]
    if not context.back_prop:
        return [None]
    if node._control_flow_context.grad_state is not None:
        raise TypeError("Second-order gradient for while loops not supported.")
    return [context.grad_state.enter(node, grad)]


def _pass_gradient(node: object, grad: object) -> list:
    return [grad]


for _prefix, _type in (("", "T"), ("Ref", "Ref(T)")):
    op(
        f"{_prefix}Enter",
        f"(data: {_type}, *, T: type, frame_name: string, is_constant: bool = False, parallel_iterations: int = 10) -> (output: {_type})",
        shape=_enter_shape, gradient=_enter_gradient, kernel=_routed if _prefix else _passed,
    )  # fmt: skip
    op(f"{_prefix}Exit", f"(data: {_type}, *, T: type) -> (output: {_type})", shape=_pass_shape, gradient=_exit_gradient, kernel=_routed)
    op(
        f"{_prefix}NextIteration", f"(data: {_type}, *, T: type) -> (output: {_type})", shape=_pass_shape,
        gradient=_pass_gradient, kernel=_routed if _prefix else _passed,
    )  # fmt: skip
op("LoopCond", "(input: bool) -> (output: bool)", shape=lambda c: [si.with_rank(c.inputs[0], 0)], gradient=NotDifferentiable("it is a bool"), kernel=_passed)


def enter(
    data: Any, frame_name: str, is_constant: bool, parallel_iterations: int, use_input_shape: bool = True, name: str | None = None
) -> Tensor:  # fmt: skip
    """`data` made known to the loop `frame_name`; a constant of it, or the first value of a loop variable."""
    make = raw.RefEnter if data.dtype._is_ref_dtype else raw.Enter
    result = make(data, frame_name=frame_name, is_constant=is_constant, parallel_iterations=parallel_iterations, name=name)
    if use_input_shape:
        result.set_shape(data.shape)
    return result


def exit(data: TensorLike, name: str | None = None) -> Any:
    """The value of a loop variable after the loop."""
    if isinstance(data, CompositeTensor):
        return nest.map_structure(exit, data, expand_composites=True)
    data = to_tensor(data, as_ref=True)
    return (raw.RefExit if data.dtype._is_ref_dtype else raw.Exit)(data, name=name)


def next_iteration(data: TensorLike, name: str | None = None) -> Any:
    """The value of a loop variable for the next iteration."""
    if isinstance(data, CompositeTensor):
        return nest.map_structure(next_iteration, data, expand_composites=True)
    data = to_tensor(data, as_ref=True)
    return (raw.RefNextIteration if data.dtype._is_ref_dtype else raw.NextIteration)(data, name=name)


def identity(data: TensorLike) -> Any:
    """`data` as it is, also of a ref."""
    if isinstance(data, CompositeTensor):
        return nest.map_structure(identity, data, expand_composites=True)
    data = to_tensor(data, as_ref=True)
    return (raw.RefIdentity if data.dtype._is_ref_dtype else raw.Identity)(data)
