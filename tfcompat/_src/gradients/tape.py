"""tf.GradientTape: derivatives through the operations that ran, or were added to a graph, while the tape recorded.

Eager operations report themselves to the tape when they run. In a graph the tape notes only the numbers of the first and last node of each
interval in which it recorded, and finds the operations that depend on watched tensors when a gradient is asked for.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from tfcompat._src.base import dtypes, nest, recorders
from tfcompat._src.base.export import export
from tfcompat._src.base.graph_collections import GraphKeys
from tfcompat._src.gradients.gradients import UnconnectedGradients, recorded_gradients
from tfcompat._src.gradients.visits import is_trainable, origin
from tfcompat._src.graph.graph import Graph
from tfcompat._src.graph.operation import Operation
from tfcompat._src.graph.scopes import get_default_graph, name_scope
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.nodes import raw
from tfcompat._src.nodes.function_body import FuncGraph
from tfcompat._src.ops.array.shape import shape
from tfcompat._src.platform import logging


def _handle_or_self(x: object) -> Any:
    """Returns the handle of a resource variable; any other object is returned unchanged."""
    handle = getattr(x, "handle", None)
    return handle if isinstance(handle, Tensor) and handle.dtype == dtypes.resource else x


def _entry(tensor: Tensor) -> tuple[Tensor, list[Operation]] | None:
    """Returns the variable handle outside of all loops that `tensor` forwards, and the Enter nodes between; None for other tensors."""
    entered = []
    while tensor.dtype == dtypes.resource and tensor.op.type == "Enter":
        entered.append(tensor.op)
        tensor = origin(tensor.op.inputs[0])
    return (tensor, entered) if entered else None


@export("GradientTape", "contrib.eager.GradientTape")
class GradientTape:
    """Records the operations on watched tensors inside of its `with` block, to differentiate through them.

    Args:
      persistent: whether `gradient` may be called more than once.
      watch_accessed_variables: whether trainable resource variables are watched without a call of `watch`.
    """

    def __init__(self, persistent: bool = False, watch_accessed_variables: bool = True) -> None:
        self._persistent, self._watches_variables = persistent, watch_accessed_variables
        self._recording = self._has_begun = self._is_eager = False
        self._forget()

    def _forget(self) -> None:
        """Drops everything recorded and watched."""
        # Graphs: [first, last] node numbers of each recording; last is -1 while it goes on. A watched tensor has the number of the last
        # node made before it was watched, as consumers older than that are not recorded.
        self._intervals: list[list[int]] = []
        self._watched: dict[Tensor, int] = {}
        # Eager execution: the operations that ran, and the tensors that carry gradients.
        self._ran: dict[Operation, None] = {}
        self._followed: set[Tensor] = set()

    def __enter__(self) -> GradientTape:
        self._begin()
        return self

    def __exit__(self, *error: object) -> None:
        if self._recording:
            self._end()

    def _begin(self) -> None:
        if self._recording:
            raise ValueError("Tape is already recording.")
        # A tape that is entered again continues its recording only if it is persistent.
        if not self._has_begun or not self._persistent:
            self._forget()
        self._has_begun, self._is_eager = True, get_default_graph().executes
        self._go_on()

    def _go_on(self) -> None:
        self._recording = True
        self._intervals.append([get_default_graph()._last_id, -1])
        if self._is_eager:
            recorders.ACTIVE.recorders.append(self)

    def _end(self) -> None:
        if not self._recording:
            raise ValueError("Tape is not recording.")
        self._recording = False
        self._intervals[-1][1] = get_default_graph()._last_id
        recorders.ACTIVE.recorders[:] = [r for r in recorders.ACTIVE.recorders if r is not self]

    # ---- recording of eager operations (the protocol of base/recorders.py) ----

    def record(self, op: Operation) -> bool:
        """Records an eager operation if an input carries gradients and an output can; returns whether it was recorded."""
        for tensor in op.inputs:
            self._follow_variable(tensor)
        if self._followed.isdisjoint(op.inputs):
            return False
        outputs = [t for t in op.outputs if is_trainable(t)]
        if not outputs:
            return False
        self._ran[op] = None
        self._followed.update(outputs)
        return True

    def follows(self, tensors: Iterable[Tensor]) -> int:
        """Returns how many derivatives through an operation on these tensors may be taken: 0, 1, or 2 for any number (persistent)."""
        for tensor in tensors:
            self._follow_variable(tensor)
        return 0 if self._followed.isdisjoint(tensors) else 2 if self._persistent else 1

    def _follow_variable(self, tensor: Any) -> None:
        """Watches the trainable variable whose handle `tensor` is, if the tape watches variables by itself."""
        if self._watches_variables and tensor.variable is not None and tensor not in self._followed:
            variable = tensor.variable()
            if variable is not None and variable.trainable:
                self._watched[tensor] = 0
                self._followed.add(tensor)

    def watch(self, tensor: object) -> None:
        """Records operations on a tensor or variable, or on those of a nest, from now on.

        Raises:
          ValueError: an element is neither a tensor nor a variable.
        """
        for x in nest.flatten(tensor):
            watched = _handle_or_self(x)
            watched = getattr(watched, "_variable", watched)
            if not isinstance(watched, Tensor):
                raise ValueError(f"Passed in object of type {type(x)}, not tf.Tensor")
            if not is_trainable(watched):
                logging.log_first_n(
                    logging.WARN, "The dtype of the watched tensor must be floating (e.g. tf.float32), got %r", 5, watched.dtype
                )
            self._watched.setdefault(watched, watched.graph._last_id)
            self._followed.add(watched)

    @contextlib.contextmanager
    def stop_recording(self) -> Iterator[None]:
        """Pauses recording inside of its `with` block.

        Raises:
          ValueError: the tape is not recording.
        """
        if not self._recording:
            raise ValueError("Tape is not recording.")
        self._end()
        try:
            yield
        finally:
            self._go_on()

    def reset(self) -> None:
        """Forgets everything that was recorded and watched; recording goes on."""
        recording = self._recording
        if recording:
            self._end()
        self._forget()
        if recording:
            self._go_on()

    def watched_variables(self) -> tuple[Any, ...]:
        """Returns the trainable resource variables that recorded operations read, and those that were watched."""
        if self._is_eager:
            # `variable` is a weak reference, None for tensors that are no handle.
            variables = [t.variable() for t in self._watched if t.variable is not None]
            return tuple(v for v in variables if v is not None)
        graph = get_default_graph()
        recorded, _ = self._recorded(graph)
        read = {origin(t) for op in recorded for t in op.inputs} | set(self._watched)
        return tuple(v for v in self._variables(graph) if _handle_or_self(v) in read)

    def _variables(self, graph: Graph) -> list[Any]:
        """Returns the trainable resource variables of a graph's collection, and eager ones that the graph has captured."""
        listed = [v for v in graph.get_collection_ref(GraphKeys.TRAINABLE_VARIABLES) if isinstance(_handle_or_self(v), Tensor)]
        handles = (origin(t) for t in graph.captures.values()) if isinstance(graph, FuncGraph) else ()
        captured = [t.variable() for t in handles if t.variable is not None]
        return listed + [v for v in captured if v is not None and v.trainable]

    def _recorded(self, graph: Graph) -> tuple[set[Operation], set[Tensor]]:
        """Returns the recorded operations, which depend on watched tensors, and all tensors that carry gradients."""
        if self._is_eager:
            return set(self._ran), self._followed
        # `tracked` maps a tensor to the node number from which on its consumers count: that of the call of watch, or 0.
        # Inputs are older than their consumers, so that one pass in the order of creation is enough.
        tracked = dict(self._watched)
        if self._watches_variables:
            tracked.update((_handle_or_self(v), 0) for v in self._variables(graph))
        recorded: set[Operation] = set()
        for op in graph.get_operations():
            if any(low < op._id <= (high if high >= 0 else op._id) for low, high in self._intervals):
                # A loop shares the Enter of a variable's handle between all reads: it may be older than the recording.
                for handle, entered in filter(None, map(_entry, op.inputs)):
                    if tracked.get(handle, op._id) < op._id:
                        recorded.update(entered)
                        tracked.update((t, 0) for each in entered for t in each.outputs)
                if any(tracked.get(origin(t), op._id) < op._id for t in op.inputs):
                    recorded.add(op)
                    tracked.update((t, 0) for t in op.outputs)
        return recorded, set(tracked)

    def gradient(
        self, target: object, sources: object, output_gradients: object = None,
        unconnected_gradients: UnconnectedGradients | str = UnconnectedGradients.NONE,
    ) -> Any:  # fmt: skip
        """Returns the derivatives of the sum of `target` with respect to `sources`, through the recorded operations.

        Args:
          target: tensor or resource variable, or nest of them.
          sources: tensor or variable, or nest of them.
          output_gradients: gradients of the targets; by default ones.
          unconnected_gradients: the result for a source on which no target depends: None or zeros.

        Returns:
          a nest like `sources` of tensors, IndexedSlices, or None.

        Raises:
          RuntimeError: the tape is not persistent and `gradient` was called before, or it never recorded.
        """
        self._use("gradient")
        targets, flat = nest.flatten(target), nest.flatten(sources)
        # TensorFlow 1.15 warns about dtypes without gradients, at most five times, and goes on.
        for kind, tensors in (("target", targets), ("source", [_handle_or_self(x) for x in flat])):
            for t in tensors:
                if isinstance(t, Tensor) and not is_trainable(t):
                    logging.log_first_n(
                        logging.WARN,
                        f"The dtype of the {kind} tensor must be floating (e.g. tf.float32) when calling GradientTape.gradient, got %r",
                        5, t.dtype,
                    )  # fmt: skip
        given = None if output_gradients is None else nest.flatten(output_gradients)
        grads = self._gradients(targets, flat, given, unconnected_gradients)
        if not self._persistent:
            self._close()
        return nest.pack_sequence_as(sources, grads)

    def _close(self) -> None:
        """Frees the recording of a tape that is not persistent; the watched tensors stay, for `watched_variables`."""
        self._intervals, self._ran, self._followed = [], {}, set()
        self._has_begun = False

    def _use(self, what: str) -> None:
        """Prepares the tape for a derivative: ends the recording of a tape that is not persistent. `what` names the method.

        Raises:
          RuntimeError: the tape has no recording (any more).
        """
        if not self._has_begun:
            raise RuntimeError("GradientTape.gradient can only be called once on non-persistent tapes.")
        if not self._recording:
            return
        if not self._persistent:
            self._end()
        else:
            logging.log_first_n(
                logging.WARN,
                f"Calling GradientTape.{what} on a persistent tape inside its context records the operations of the gradient too. "
                "Do so only for derivatives of higher order.", 1,
            )  # fmt: skip

    def _gradients(self, targets: list[Any], sources: list[Any], given: list[Any] | None, unconnected: UnconnectedGradients | str) -> list[Any]:
        """Computes the gradients of flat sources; `given` are the cotangents of the targets, or None for ones."""
        # A variable as a target is its value now. This tape records the read too, even when it records nothing else any more.
        with recorders.only(*{*recorders.ACTIVE.recorders, self}):
            reads = {y: y.value() for y in targets if _handle_or_self(y) is not y}
        among, tracked = self._recorded(get_default_graph())
        among.update(read.op for read in reads.values())
        # Targets without a gradient are left out together with their cotangents.
        targets = [reads.get(y, y) for y in targets]
        ys = [y for y in targets if isinstance(y, Tensor) and is_trainable(y)]
        grads = None if given is None else [g for y, g in zip(targets, given) if isinstance(y, Tensor) and is_trainable(y)]
        with name_scope("gradients"):
            return recorded_gradients(ys, sources, grads, among, tracked, UnconnectedGradients(unconnected))

    def jacobian(
        self, target: Tensor, sources: object, unconnected_gradients: UnconnectedGradients | str = UnconnectedGradients.NONE, parallel_iterations: object = None,
        experimental_use_pfor: bool = True,
    ) -> Any:  # fmt: skip
        """Returns the derivatives of every element of `target`: for each source of shape S, a tensor of shape target.shape + S.

        `parallel_iterations` and `experimental_use_pfor` have no effect: the backward pass is built once per element of `target`.

        Raises:
          NotImplementedError: the static shape of `target` is not fully known.
          RuntimeError: as for `gradient`.
        """
        self._use("jacobian")
        size = target.shape.num_elements()
        if size is None:
            raise NotImplementedError(
                f"GradientTape.jacobian needs a target with a fully known static shape, and {target.name} has {target.shape}. "
                "Set it with target.set_shape."
            )
        flat = nest.flatten(sources)
        jacobians = []
        for column in zip(*self._element_gradients(target, size, flat, unconnected_gradients)):
            jacobians.append(None if column[0] is None else _joined(column, target))
        if not self._persistent:
            self._close()
        return nest.pack_sequence_as(sources, jacobians)

    def _element_gradients(self, target: Tensor, size: int, sources: list[Any], unconnected: UnconnectedGradients | str) -> list[list[Any]]:
        """Returns one list of source gradients for each element of `target`, from one-hot cotangents."""
        flat = [0.0] * size
        rows = []
        for i in range(size):
            # Cast, as not every dtype converts from Python floats.
            chosen = raw.Cast(raw.Reshape([*flat[:i], 1.0, *flat[i + 1 :]], shape(target)), DstT=target.dtype)
            rows.append(self._gradients([target], sources, [chosen], unconnected))
        return rows

    def batch_jacobian(
        self, target: Tensor, source: Tensor, unconnected_gradients: UnconnectedGradients | str = UnconnectedGradients.NONE, parallel_iterations: int | None = None,
        experimental_use_pfor: bool = True,
    ) -> Tensor | None:  # fmt: skip
        """Returns the derivatives of target[i, ...] with respect to source[i, ...], of shape [b, *target.shape[1:], *source.shape[1:]].

        `parallel_iterations` and `experimental_use_pfor` have no effect: the backward pass is built once per element of a row.

        Raises:
          ValueError: the first dimensions of `target` and `source` differ.
          NotImplementedError: the static shape of a row of `target` is not known.
          RuntimeError: as for `gradient`.
        """
        if not target.shape.with_rank_at_least(1)[:1].is_compatible_with(source.shape.with_rank_at_least(1)[:1]):
            raise ValueError(f"Need first dimension of target shape ({target.shape}) and source shape ({source.shape}) to match.")
        self._use("batch_jacobian")
        size = target.shape[1:].num_elements()
        if size is None:
            raise NotImplementedError(
                f"GradientTape.batch_jacobian needs a target whose rows have a known static shape, and {target.name} has {target.shape}. "
                "Set it with target.set_shape."
            )
        rows = []
        # target[i] depends on source[i] only, so that one cotangent selects element i of every row at once.
        for i in range(size):
            row = raw.Reshape([float(i == k) for k in range(size)], [1, *target.shape.as_list()[1:]])
            chosen = raw.Cast(raw.Mul(row, raw.OnesLike(raw.Cast(target, DstT=dtypes.float32))), DstT=target.dtype)
            rows.append(self._gradients([target], [source], [chosen], unconnected_gradients)[0])
        if not self._persistent:
            self._close()
        if rows[0] is None:
            return None
        sizes = raw.ConcatV2([shape(target), raw.Slice(shape(source), [1], [-1])], 0)
        joined: Tensor = raw.Reshape(raw.Pack(rows, axis=1), sizes)
        return joined


def _joined(rows: Sequence[Tensor], target: Tensor) -> Tensor:
    """Stacks the gradients of the elements of `target` into one tensor of shape target.shape + source.shape."""
    joined: Tensor = raw.Reshape(raw.Pack(list(rows)), raw.ConcatV2([shape(target), shape(rows[0])], 0))
    return joined
