"""The gradient of a loop as one operation: where tf.gradients goes through functions (V2 loops are calls of them), where a tape does, and
through loops without a context, which files hold. Elsewhere gradients of loops are TensorFlow's nodes (`backward_loop`).

`LoopGradient` and `LoopRecord` are tfcompat's own op types; a GraphDef that holds them cannot be run by TensorFlow.
`LoopRecord` tells what repeating a loop needs: bounds of the number of iterations (of the loop and of those inside it), and
the counters of its random operations. `LoopGradient` finds its loop through the Exit nodes that it takes. `LoopGradientGradient`
is its derivative: from gradients of its outputs to gradients of what it captured and of the gradients that it took.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tfcompat._src.graph.op_spec import NotDifferentiable, op
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.nodes import raw
from tfcompat._src.ops.control.loop_ops import ENTER
from tfcompat._src.ops.control.loop_topology import Loop

if TYPE_CHECKING:
    from tfcompat._src.graph.operation import Operation
    from tfcompat._src.graph.shape_inference import InferenceContext

_READS_ARRAY = ("TensorArrayReadV3", "TensorArrayGatherV3", "TensorArrayConcatV3", "TensorArraySizeV3")
_UNIT = NotDifferentiable("loops have first and second derivatives only", raises=True)


def _lowered(*values: Any, **attrs: Any) -> Any:
    raise NotImplementedError("the gradient of a loop is lowered by the runtime, not called")


def _gradient_shapes(c: InferenceContext, which: str = "wanted") -> list:
    captured = c.op.input_named("captured")
    found = []
    for index in c.attr(which):
        handle = captured[index]._handle_data
        found.append(handle[1] if captured[index].dtype.name == "resource" and handle is not None else captured[index]._sizes)
    return found


op(
    "LoopRecord", "(exits: T, *, T: list(type)) -> (steps: int32, counters: uint32)", shape=lambda c: [(None,), (None, 6)],
    gradient=_UNIT, kernel=_lowered,
)  # fmt: skip


def _second_derivative(node: Operation, *grads2: object) -> list:
    """The gradients of what was captured, and of the gradients that came in."""
    exits, captured, grads = (node.input_named(name) for name in ("exits", "captured", "grads"))
    steps, counters = node.input_named("steps"), node.input_named("counters")
    varied = [i for i, t in enumerate(captured) if _gradient_dtype(t) is not None]
    kinds = [*[_gradient_dtype(captured[i]) for i in varied], *[t.dtype.base_dtype for t in grads]]
    present = [raw.ZerosLike(t) if g is None else g for g, t in zip(grads2, node.outputs)]
    outputs = raw.LoopGradientGradient(
        exits, captured, steps, counters, grads, present, wanted=node.attrs["wanted"], varied=varied, Tout=kinds
    )
    of_captured: list[Any] = [None] * len(captured)
    for index, found in zip(varied, outputs):
        of_captured[index] = found
    return [*[None] * len(exits), *of_captured, None, None, *outputs[len(varied) :]]


op(
    "LoopGradient",
    "(exits: Texits, captured: Tcaptured, steps: int32, counters: uint32, grads: Tgrads, *, Texits: list(type), "
    "Tcaptured: list(type), Tgrads: list(type), wanted: list(int), Tout: list(type)) -> (output: Tout)",
    shape=_gradient_shapes, gradient=_second_derivative, kernel=_lowered,
)  # fmt: skip
op(
    "LoopGradientGradient",
    "(exits: Texits, captured: Tcaptured, steps: int32, counters: uint32, grads: Tgrads, grads2: Tgrads2, *, Texits: list(type), "
    "Tcaptured: list(type), Tgrads: list(type), Tgrads2: list(type), wanted: list(int), varied: list(int), Tout: list(type)) -> (output: Tout)",
    shape=lambda c: [*_gradient_shapes(c, "varied"), *[t._sizes for t in c.op.input_named("grads")]], gradient=_UNIT, kernel=_lowered,
)  # fmt: skip


class LoopNode:
    """A loop as the reverse walk sees it: one node from what enters to what leaves."""

    def __init__(self, loop: Loop) -> None:
        self.loop = loop
        self.inputs: list[Tensor] = list(dict.fromkeys(op.takes[0] for op in loop.enters))
        self.outputs: list[Tensor] = [op.outputs[0] for op in loop.exits]
        self.order = max(op.order for op in loop.all_members())
        self.takes, self.waits_for = self.inputs, ()
        self.type, self.name = "loop", loop.exits[0].name
        context = loop.exits[0]._control_flow_context
        made_for = context.GetWhileContext() if context is not None else None
        self.back_prop = made_for is None or made_for.back_prop
        self.goes_back = made_for is not None and made_for.grad_state is not None

    def gradients(self, grads: list[Any], reached: set[Tensor]) -> list[Any]:
        """The gradient of each input that is reached from an x; `grads` has one entry or None per output.

        Raises:
          NotImplementedError: an output with a gradient depends on a variable that the loop writes.
        """
        found: list[Any] = [None] * len(self.inputs)
        wanted = [i for i, t in enumerate(self.inputs) if t in reached and _gradient_dtype(t) is not None]
        given = [(t, g) for t, g in zip(self.outputs, grads) if g is not None and _gradient_dtype(t) is not None]
        if not self.back_prop or not wanted or not given:
            return found
        exits = [t for t, _ in given]
        self._require_steady_variables({t.op for t in exits})
        steps, counters = raw.LoopRecord(exits)
        outputs = raw.LoopGradient(
            exits, self.inputs, steps, counters, [g for _, g in given], wanted=wanted, Tout=[_gradient_dtype(self.inputs[i]) for i in wanted]
        )
        for position, output in zip(wanted, outputs):
            found[position] = output
        return found

    def _require_steady_variables(self, exits: set[Operation]) -> None:
        """Checks that what the exits give depends on no variable that the loop writes: the derivative would read its last value alone."""
        members = self.loop.all_members()
        written = {_source(node.input_named(name)) for node in members for name in node.spec.effects.writes}
        reads = [n for n in members if n.outputs and any(_source(n.input_named(name)) in written for name in n.spec.effects.reads)]
        users: dict[Operation, list[Operation]] = {}
        for node in members:
            for t in node.takes:
                if _gradient_dtype(t) is not None:
                    users.setdefault(t.op, []).append(node)
        pending, seen = list(reads), set(reads)
        while pending:
            fresh = [node for node in users.get(pending.pop(), ()) if node not in seen]
            seen.update(fresh)
            pending += fresh
        if not exits.isdisjoint(seen):
            raise NotImplementedError(
                f"tfcompat does not differentiate the loop of {self.name}: its results depend on a variable that it writes "
                f"({', '.join(node.name for node in reads)}). Carry the value as a variable of the loop, and assign it after the loop."
            )


def require_second_derivative(node: Any) -> None:
    """TypeError where a node on the way of gradients is a loop that tf.gradients made, or the gradient of one over a TensorArray."""
    if isinstance(node, LoopNode) and node.goes_back:
        raise TypeError("Second-order gradient for while loops not supported.")
    if node.type == "LoopGradient" and any(map(_carries_array, node.input_named("captured"))):
        raise TypeError(f"Second-order gradient for while loops not supported. {node.name} is that of a loop over a TensorArray.")


def _carries_array(tensor: Tensor) -> bool:
    """Whether a tensor is the handle or the flow of a TensorArray."""
    return tensor.op.type.startswith("TensorArray") and tensor.op.type not in _READS_ARRAY


def _gradient_dtype(tensor: Tensor) -> Any:
    """The dtype of a tensor's gradient, or None where nothing flows: that of the variable behind a handle."""
    dtype = tensor.dtype.base_dtype
    if dtype.name == "resource":
        dtype = tensor._handle_data[0].base_dtype if _is_variable(tensor) and tensor._handle_data is not None else None
    return dtype if dtype is not None and (dtype.is_floating or dtype.is_complex) else None


def _source(handle: Tensor) -> Operation:
    """The node outside of loops and branches that gives a handle."""
    source = handle.op
    while source.type in ENTER or source.type in ("Identity", "Switch"):
        source = source.takes[0].op
    return source


def _is_variable(tensor: Tensor) -> bool:
    return _source(tensor).type in ("VarHandleOp", "Placeholder")
