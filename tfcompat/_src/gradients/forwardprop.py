"""`tensorflow.python.eager.forwardprop`: forward-mode differentiation (Jacobian-vector products).

The Jacobian-vector product of an operation is computed from its gradient rule: the vector-Jacobian product is linear in the cotangents of the
outputs, so that differentiating it with respect to them transposes it (J. Townsend, "A new trick for calculating Jacobian vector products", 2017).
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterable, Sequence

from tfcompat._src.base import dtypes, nest, recorders
from tfcompat._src.base.default_stack import get_eager_graph
from tfcompat._src.gradients.gradients import UnconnectedGradients, gradients, recorded_gradients
from tfcompat._src.gradients.tape import GradientTape
from tfcompat._src.graph import attr_values, op_spec
from tfcompat._src.graph.eager_tensor import EagerOperation, EagerTensor
from tfcompat._src.graph.graph import Graph
from tfcompat._src.graph.operation import Operation
from tfcompat._src.graph.scopes import get_default_graph
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.nodes import raw
from tfcompat._src.nodes.convert import convert_to_tensor
from tfcompat._src.platform import logging

Tangents = list[Tensor | None]


def _floating(tensors: Sequence[Tensor]) -> list[Tensor]:
    return [t for t in tensors if t.dtype.is_floating]


def _transposed(op: Operation, tangents: Sequence[Tensor]) -> Tangents:
    """Returns the tangents of the outputs of an eager operation, given the tangents of its inputs."""
    # The outputs refer to `op` again, in case their own operation was not recorded and is forgotten.
    for index, output in enumerate(op.outputs):
        if isinstance(output, EagerTensor):
            output.recorded_as(op, index)
    by_input: dict[Tensor, Tensor] = {}
    for tensor, tangent in zip(op.inputs, tangents):
        if tensor.dtype.is_floating:
            by_input[tensor] = tangent
    inputs, outputs = list(by_input), _floating(op.outputs)
    # Pullback of dummy cotangents, recorded; then the gradient of the pullback with respect to these cotangents. Their values do not
    # matter, as the pullback is linear in them.
    with GradientTape(watch_accessed_variables=False) as tape:
        weights = [raw.OnesLike(y) for y in outputs]
        tape.watch(weights)
        pulled_back = recorded_gradients(outputs, inputs, weights, {op}, {*inputs, *outputs}, UnconnectedGradients.ZERO)
        grads = [convert_to_tensor(grad) for grad in pulled_back]
    by_output = dict(zip(outputs, tape.gradient(grads, weights, output_gradients=list(by_input.values()))))
    return [by_output.get(y) for y in op.outputs]


def forward_gradient(
    op_name: str, attr_tuple: Sequence[object], inputs: Sequence[Tensor], outputs: Sequence[Tensor], tangents: Sequence[Tensor]
) -> Tangents:
    """Computes the Jacobian-vector product of one eager operation that has run.

    Args:
      op_name: its type. attr_tuple: alternating names and values of attributes; type attributes that follow from the inputs may be missing.
      inputs, outputs: its tensors, list arguments flattened. tangents: one tensor for each input, of its shape.

    Returns:
      the list of the outputs' tangents, None for outputs that are not floating-point or depend on no floating-point input.

    Raises:
      NotImplementedError: operations are added to a graph.
    """
    if not get_default_graph().executes:
        raise NotImplementedError(f"A derivative of one {op_name} needs its values: in graphs and functions, use ForwardGradientAccumulator.")
    spec = op_spec.get(op_name)
    # TensorFlow's tapes leave out type attributes: each is the dtype of the argument's first tensor.
    attrs = dict(zip(map(str, attr_tuple[::2]), attr_tuple[1::2]))
    position = 0
    for arg in attr_values.op_def(spec).input_arg:
        if arg.type_attr:
            attrs.setdefault(arg.type_attr, inputs[position].dtype)
        number, kinds = attrs.get(arg.number_attr), attrs.get(arg.type_list_attr)
        position += number if isinstance(number, int) else len(kinds) if isinstance(kinds, (list, tuple)) else 1
    graph = get_eager_graph()
    op = EagerOperation(graph, spec, inputs, attrs, graph.next_number())
    op.outputs = list(outputs)
    return _transposed(op, tangents)


REGISTERED: list[Callable[..., Sequence[Tensor | None]]] = [forward_gradient]
"""One element: the function that accumulators call for an operation, with the arguments of `forward_gradient`. TensorFlow's API replaces it."""


class ForwardGradientAccumulator:
    """Computes Jacobian-vector products of the operations that run, or are added to a graph, inside of its `with` block.

    Accumulators nest: an outer one differentiates the products of an inner one, not the reverse. An accumulator is entered only once.
    """

    def __init__(self) -> None:
        self._tangents: weakref.WeakKeyDictionary[Tensor, Tensor] = weakref.WeakKeyDictionary()
        self._outer: list[ForwardGradientAccumulator] = []
        self._tape: GradientTape | None = None
        self._recording = self._has_begun = False

    def __enter__(self) -> ForwardGradientAccumulator:
        if self._recording:
            raise ValueError("Accumulator is already recording.")
        if self._has_begun:
            raise NotImplementedError("Accumulator reuse isn't implemented yet.")
        self._recording = self._has_begun = True
        self._outer = [each for each in recorders.ACTIVE.recorders if isinstance(each, ForwardGradientAccumulator)]
        recorders.ACTIVE.recorders.append(self)
        # In a graph nothing is pushed forward: a tape notes the nodes, and `jvp` adds the product when it is asked for.
        if not get_default_graph().executes:
            self._tape = GradientTape(persistent=True, watch_accessed_variables=False)
            self._tape._begin()
        return self

    def __exit__(self, *error: object) -> None:
        self._recording = False
        recorders.ACTIVE.recorders[:] = [each for each in recorders.ACTIVE.recorders if each is not self]
        if self._tape is not None:
            self._tape._end()

    def watch(self, tensor: object, tangents: object) -> None:
        """Sets the tangents of a tensor or nest, the direction of differentiation; repeated calls for one tensor add up.

        Args:
          tensor: a floating-point tensor or a nest of them. tangents: a nest like it of values with the shapes of the tensors.

        Raises:
          ValueError: the accumulator was not entered, or the nests differ in structure. NotImplementedError: a variable was passed.
        """
        if not self._has_begun:
            raise ValueError("Called watch() of an accumulator that was not entered: call it inside of the accumulator's `with` block.")
        nest.assert_same_structure(tensor, tangents)
        for x, tangent in zip(nest.flatten(tensor), nest.flatten(tangents)):
            if not x.dtype.is_floating:
                logging.log_first_n(logging.WARN, "The dtype of the watched tensor must be floating (e.g. tf.float32), got %r", 5, x.dtype)
            if hasattr(x, "handle"):
                raise NotImplementedError("Currently only Tensors may be watched.")
            given = convert_to_tensor(tangent, dtype=x.dtype)
            self._tangents[x] = raw.AddV2(self._tangents[x], given) if x in self._tangents else given
            if self._tape is not None:
                self._tape.watch(x)

    def jvp(self, target: object) -> object:
        """Returns the Jacobian-vector product of `target` for the tangents of the watched tensors.

        Args:
          target: a tensor or a nest of them.

        Returns:
          a nest like `target` of tensors; None for a target that depends on no watched tensor.

        Raises:
          ValueError: the accumulator was not entered.
        """
        if not self._has_begun:
            raise ValueError("Called jvp() without first tracing anything.")
        return nest.map_structure(self._product, target)

    def _product(self, tensor: object) -> Tensor | None:
        tangent = self._tangents.get(tensor) if isinstance(tensor, Tensor) else None
        if tangent is None and self._tape is not None and isinstance(tensor, Tensor):
            tangent = self._product_of_nodes(self._tape, tensor, tensor.graph)
        return tangent

    def _product_of_nodes(self, tape: GradientTape, target: Tensor, graph: Graph) -> Tensor | None:
        """Adds the nodes of a product to a graph, in the recording of the outer accumulators; None where `target` has no tangent."""
        begin = graph._last_id
        among, tracked = tape._recorded(graph)
        if target not in tracked or not target.dtype.is_floating:
            return None
        weight = raw.OnesLike(target)
        watched = list(self._tangents)
        # The same transposition as in `_transposed`, of the whole recorded subgraph at once.
        grads = recorded_gradients([target], watched, [weight], among, tracked, UnconnectedGradients.ZERO)
        (found,) = gradients([convert_to_tensor(grad) for grad in grads], [weight], list(self._tangents.values()))
        for each in self._outer:
            if each._tape is not None:
                each._tape._intervals.append([begin, graph._last_id])
        product: Tensor | None = found
        return product

    # ---- eager operations (the protocol of base/recorders.py) ----

    def follows(self, tensors: Iterable[Tensor]) -> int:
        """Returns how many derivatives an operation on these tensors needs: 1 if one of them has a tangent, else 0."""
        return int(any(t.dtype != dtypes.resource and t in self._tangents for t in tensors))

    def record(self, op: Operation) -> bool:
        """Computes the tangents of an operation's outputs at once; returns False, as it records no operation."""
        if not self.follows(op.inputs) or not _floating(op.outputs):
            return False
        others = recorders.ACTIVE.recorders
        with recorders.only(*others[: others.index(self)]):  # only outer tapes and accumulators see the operations of this derivative
            tangents = [self._tangents[t] if t in self._tangents else raw.ZerosLike(t) if t.dtype.is_floating else t for t in op.inputs]
            if op._gradient_function is not None:
                found: Sequence[Tensor | None] = _transposed(op, tangents)
            else:
                attrs = [part for item in op.attrs.items() for part in item]
                found = REGISTERED[0](op.type, tuple(attrs), list(op.inputs), list(op.outputs), tangents)
        self._tangents.update((y, tangent) for y, tangent in zip(op.outputs, found) if tangent is not None)
        return False
