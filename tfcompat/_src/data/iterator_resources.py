"""The op types of iterators and of optional values.

An iterator is a resource of the session, or of the process for eager programs; it holds the current iteration of a dataset.
"""

from __future__ import annotations

import json
import secrets
import threading
from typing import TYPE_CHECKING, Any

import numpy as np
from google.protobuf.message import DecodeError

from tfcompat._src.base import dtypes, errors, jax_compat
from tfcompat._src.base.arrays import NDArray
from tfcompat._src.base.host_context import HostContext
from tfcompat._src.data.functions import HostFunction
from tfcompat._src.data.saving import require_repeatable
from tfcompat._src.data.values import (
    NO_GRADIENT,
    OUTPUTS,
    DatasetValue,
    Element,
    Next,
    Scope,
    begun,
    dataset_of,
    deleted,
    text,
)
from tfcompat._src.eager.program import EagerSession
from tfcompat._src.eager.state import EagerState
from tfcompat._src.eager.variables import DIRECT
from tfcompat._src.graph import shape_inference as si
from tfcompat._src.graph.graph import Graph
from tfcompat._src.graph.op_spec import EXTERNAL, HOST, NAMES_RESOURCE, op
from tfcompat._src.graph.tensor import shape_text
from tfcompat._src.graph.variant import EncodedVariant
from tfcompat._src.nodes import raw
from tfcompat._src.ops.flow.list_value import variant, zeros_like
from tfcompat._src.ops.queues.queue_ops import MAKES_HANDLE
from tfcompat._src.ops.queues.resource import SharedResource, invalid, shared_resource
from tfcompat._src.proto import messages
from tfcompat._src.runtime.state.run_context import RunContext, context_of

if TYPE_CHECKING:
    from tfcompat._src.graph.operation import Operation

_STATE = "tensorflow::Iterator"
_TYPE = "N10tensorflow4data16IteratorResourceE"


class IteratorValue(SharedResource):
    """The resource behind an iterator handle; it can be initialized again, with another dataset of the same types.

    Args:
      kinds, shapes: dtypes and TensorShapes of the components of an element. device: the full name of the iterator's device.

    Attributes:
      handle: its string handle, a serialized ResourceHandleProto, which names the device. registry: where the handle is registered. dataset: of the current iteration, or None.
    """

    def __init__(self, kinds: list[dtypes.DType], shapes: list[Any], device: str) -> None:
        # `_asked` counts the elements taken, including those that raised an error and the end.
        super().__init__()
        self.kinds, self.shapes = kinds, shapes
        # The name is random, so that a handle of another process names no iterator of this one.
        resource = messages.ResourceHandleProto(
            device=device, container="localhost", name=f"iterator_{secrets.token_hex(8)}", maybe_type_name=_TYPE
        )
        self.handle = resource.SerializeToString()
        self.registry: dict[bytes, IteratorValue] = {}
        self._scope: Scope | None = None
        self._next: Next | None = None
        self._running = threading.RLock()
        self._is_over = False
        self._asked = 0
        self.dataset: DatasetValue | None = None

    def begin(self, dataset: DatasetValue, context: RunContext, seed: int | None = None) -> None:
        """Starts an iteration over a dataset, and ends the current one.

        Args:
          seed: of another iteration's random choices, to repeat them; by default new ones are made.
        """
        # The new iteration starts before the current one ends, so that an error leaves the iterator unchanged.
        scope = Scope(context, seed)
        following = begun(dataset, scope)
        # `_running` is held, so that a thread that takes an element now completes it in the old iteration.
        with self._running:
            old, self._scope, self._next, self._is_over = self._scope, scope, following, False
            self.dataset, self._asked = dataset, 0
        if old is not None:
            old.end()

    def state(self) -> EncodedVariant:
        """Returns the position of the iteration for a checkpoint: the number of elements taken, and the seed of its random choices.

        TensorFlow 1.15 saves the buffers of each dataset instead; here `go_to` repeats the iteration, so that the pipeline must be repeatable.

        Raises:
          errors.FailedPreconditionError: the iterator is not initialized, or a function of the pipeline is stateful.
          errors.UnimplementedError: the pipeline holds a dataset that cannot be saved.
        """
        with self._running:
            if self._scope is None or self.dataset is None:
                raise errors.FailedPreconditionError(None, None, "SerializeIterator failed because the iterator has not been initialized.")
            require_repeatable(self.dataset)
            state = {"asked": self._asked, "is_over": self._is_over, "seed": self._scope.seed}
        return EncodedVariant(_STATE, json.dumps(state).encode())

    def go_to(self, state: EncodedVariant, context: RunContext) -> None:
        """Restores a saved position: iterates over the current dataset again with the saved seed, and skips the elements taken then.

        Raises:
          errors.InvalidArgumentError: `state` is not the state of an iterator.
          errors.FailedPreconditionError: the iterator is not initialized.
        """
        if not isinstance(state, EncodedVariant) or state.type_name != _STATE:
            raise invalid("DeserializeIterator needs the state of an iterator, as SerializeIterator returns it. The tensor holds something else.")
        if self.dataset is None:
            raise errors.FailedPreconditionError(
                None, None, "Restore() failed because the iterator has not been initialized. Ensure that you have run the initializer "
                "operation for this iterator before restoring it."
            )  # fmt: skip
        saved = json.loads(state.metadata)
        self.begin(self.dataset, context, saved["seed"])
        # An element that raised an error counts as taken, as it did when the state was saved.
        for _ in range(saved["asked"]):
            try:
                self._take()
            except errors.OpError:
                continue
        self._is_over = saved["is_over"]

    def take(self) -> Element:
        """Returns the next element.

        Raises:
          errors.FailedPreconditionError: the iterator is not initialized. errors.OutOfRangeError: the dataset has no more elements.
          errors.InvalidArgumentError: the element's dtypes or shapes are not those of the iterator.
        """
        if self._next is None:
            raise errors.FailedPreconditionError(
                None, None, "GetNext() failed because the iterator has not been initialized. Ensure that you have run the initializer "
                "operation for this iterator before getting the next element."
            )  # fmt: skip
        element = self._take()
        self._check(element)
        return element

    def _take(self) -> Element:
        # One thread at a time: the functions of datasets keep state in closures, without locks of their own.
        with self._running:
            if self._is_over:
                raise end_of_sequence()
            self._asked += 1
            try:
                return self._next()  # type: ignore[misc]  # it is asked for only once begun
            except StopIteration:
                self._is_over = True
                if (scope := self._scope) is not None:  # cancelled meanwhile
                    scope.end()
                raise end_of_sequence() from None

    def _check(self, element: Element) -> None:
        """Raises InvalidArgumentError unless an element has the dtypes and shapes of the iterator."""
        if len(element) != len(self.kinds):
            raise invalid(f"Number of components does not match: expected {len(self.kinds)} types but got {len(element)}.")
        for position, (value, kind, shape) in enumerate(zip(element, self.kinds, self.shapes)):
            if kind.is_numpy_compatible and kind != dtypes.variant and value.dtype != kind.as_numpy_dtype:
                raise invalid(f"Data type mismatch at component {position}: expected {kind.name} but got {value.dtype}.")
            sizes = shape.sizes
            if sizes is not None and value.shape != sizes and not shape.is_compatible_with(value.shape):
                raise invalid(
                    f"Incompatible shapes at component {position}: expected {shape_text(sizes)} but got {shape_text(value.shape)}."
                )

    def cancel(self) -> None:
        """Ends the iteration, when the session is closed or the iterator is destroyed."""
        super().cancel()
        self.registry.pop(self.handle, None)
        # Without `_running`: a thread that waits for an element holds it, and is woken by the end of the scope.
        scope, self._scope = self._scope, None
        if scope is not None:
            scope.end()


def end_of_sequence() -> errors.OutOfRangeError:
    """Returns the error of an iterator without further elements."""
    return errors.OutOfRangeError(None, None, "End of sequence")


_HANDLES = "iterators by handle"
_NAMES = 'shared_name: string, container: string, '


def _named(context: HostContext, iterator: IteratorValue) -> IteratorValue:
    """Registers the iterator under its string handle; returns it."""
    iterator.registry = context.resources.setdefault(_HANDLES, {})
    iterator.registry[iterator.handle] = iterator
    return iterator


def _new(context: HostContext) -> IteratorValue:
    """Returns a new iterator, with the types and on the device that a node declares."""
    attrs = context.op.attrs
    return IteratorValue(attrs["output_types"], attrs["output_shapes"], context_of(context).host_device_of(context.op))


def _made(context: HostContext) -> IteratorValue:
    return shared_resource(context, "iterator", lambda: _named(context, _new(context)))


def _one_shot(context: HostContext) -> IteratorValue:
    if context.op.attrs["shared_name"]:
        raise invalid("OneShotIteratorOp does not currently support the 'shared_name' attr.")

    # The first run of the node makes the dataset by its factory function and starts the iteration; later runs return the same iterator.
    def make() -> IteratorValue:
        iterator, run = _new(context), context_of(context)
        factory = HostFunction(context, "dataset_factory", (), 0)
        iterator.begin(dataset_of(factory.bound(Scope(run))()[0]), run)
        return _named(context, iterator)

    return shared_resource(context, "iterator", make)


for _name in ("Iterator", "IteratorV2"):
    op(_name, f"(*, {_NAMES}{OUTPUTS}) -> (handle: resource)", shape=si.scalar, gradient=NO_GRADIENT, kernel=_made, side=HOST,
       effects=MAKES_HANDLE, context=True, facts=NAMES_RESOURCE)  # fmt: skip


def _unnamed(context: HostContext) -> IteratorValue:
    return _named(context, _new(context))


def _with_deleter(context: HostContext) -> tuple[IteratorValue, NDArray]:
    """Returns a new iterator and its deleter, the variant that DeleteIterator takes beside the handle."""
    made = _unnamed(context)
    return made, variant(made)


op("AnonymousIterator", f"(*, {OUTPUTS}) -> (handle: resource)", shape=si.scalar, gradient=NO_GRADIENT, kernel=_unnamed, side=HOST,
   effects=MAKES_HANDLE, context=True)  # fmt: skip
op("AnonymousIteratorV2", f"(*, {OUTPUTS}) -> (handle: resource, deleter: variant)", shape=lambda c: [(), ()], gradient=NO_GRADIENT,
   kernel=_with_deleter, side=HOST, effects=MAKES_HANDLE, context=True)  # fmt: skip
op("DeleteIterator", "(handle: resource, deleter: variant) -> ()", shape=si.no_outputs, gradient=NO_GRADIENT, kernel=deleted, side=HOST,
   effects=EXTERNAL)  # fmt: skip
op(
    "OneShotIterator", f'(*, dataset_factory: func, {OUTPUTS}, container: string = "", shared_name: string = "") -> (handle: resource)',
    shape=si.scalar, gradient=NO_GRADIENT, kernel=_one_shot, side=HOST, effects=MAKES_HANDLE, context=True,
    facts=NAMES_RESOURCE,
)  # fmt: skip


@op("MakeIterator", "(dataset: variant, iterator: resource) -> ()", shape=si.no_outputs, gradient=NO_GRADIENT, side=HOST, effects=EXTERNAL, context=True)
def _make_iterator(context: HostContext, dataset: NDArray, iterator: IteratorValue) -> tuple[()]:
    iterator.begin(dataset_of(dataset), context_of(context))
    return ()


@op("SerializeIterator", "(resource_handle: resource) -> (serialized: variant)", shape=si.scalar, gradient=NO_GRADIENT, side=HOST, effects=EXTERNAL)
def _serialize(iterator: IteratorValue) -> NDArray:
    return variant(iterator.state())


@op("DeserializeIterator", "(resource_handle: resource, serialized: variant) -> ()", shape=si.no_outputs, gradient=NO_GRADIENT, side=HOST,
    effects=EXTERNAL, context=True)  # fmt: skip
def _deserialize(context: HostContext, iterator: IteratorValue, serialized: NDArray) -> tuple[()]:
    iterator.go_to(serialized.reshape(-1)[0], context_of(context))
    return ()


def _component_shapes_of_scalar(c: si.InferenceContext) -> list[si.Sizes]:
    si.with_rank(c.inputs[0], 0)
    return component_shapes(c)


def component_shapes(c: si.InferenceContext) -> list[si.Sizes]:
    """Shape function of ops that return an element: the attribute `output_shapes`."""
    return [shape.sizes for shape in c.attr("output_shapes")]


for _name in ("IteratorGetNext", "IteratorGetNextSync"):
    op(_name, f"(iterator: resource, *, {OUTPUTS}) -> (components: output_types)", shape=component_shapes, gradient=NO_GRADIENT,
       kernel=lambda iterator: iterator.take(), side=HOST, effects=EXTERNAL)  # fmt: skip


@op("IteratorToStringHandle", "(resource_handle: resource) -> (string_handle: string)", shape=si.scalar, gradient=NO_GRADIENT, side=HOST, effects=EXTERNAL)
def _string_handle(iterator: IteratorValue) -> NDArray:
    return text(iterator.handle)


def _from_string_handle(context: HostContext, string_handle: NDArray) -> IteratorValue:
    """Returns the iterator with a string handle, after comparing the device and the types of the node with those of the iterator."""
    if string_handle.ndim:
        raise invalid("string_handle must be a scalar.")
    try:
        resource = messages.ResourceHandleProto.FromString(string_handle.item())
    except DecodeError:
        raise invalid("Could not parse string_handle as a valid ResourceHandle") from None
    # The types of another device's iterator cannot be compared: in a cluster, it may be in another process.
    device = context_of(context).host_device_of(context.op)
    if device != resource.device:
        raise invalid(f'Attempted create an iterator on device "{device}" from handle defined on device "{resource.device}"')
    iterator: IteratorValue | None = context.resources.get(_HANDLES, {}).get(string_handle.item())
    if iterator is None:
        raise errors.NotFoundError(None, None, f"Resource {resource.container}/{resource.name}/{resource.maybe_type_name} does not exist.")
    wanted = context.op.attrs["output_types"]
    # An empty list of types means that the node accepts any iterator.
    if wanted and list(wanted) != list(iterator.kinds):
        raise invalid(
            f"Data type mismatch: the iterator's elements have the types {[k.name for k in iterator.kinds]}, but output_types is "
            f"{[k.name for k in wanted]}."
        )
    for position, (shape, other) in enumerate(zip(context.op.attrs["output_shapes"], iterator.shapes)):
        if not shape.is_compatible_with(other):
            raise invalid(f"Incompatible shapes at component {position}: expected {shape} but got {other}.")
    return iterator


for _name in ("IteratorFromStringHandle", "IteratorFromStringHandleV2"):
    op(_name, "(string_handle: string, *, output_types: list(type) >= 0 = [], output_shapes: list(shape) >= 0 = []) -> (resource_handle: resource)",
       shape=si.scalar, gradient=NO_GRADIENT, kernel=_from_string_handle, side=HOST, effects=MAKES_HANDLE, context=True)  # fmt: skip


for _name in ("IteratorGetDevice", "ExperimentalIteratorGetDevice"):
    op(_name, "(resource: resource) -> (device: string)", shape=si.scalar, gradient=NO_GRADIENT, side=HOST, effects=EXTERNAL, context=True,
       kernel=lambda context, resource: text(context.run.devices[0].name.encode()))  # fmt: skip


# ---- optional values ----


class OptionalValue:
    """The value behind an optional's variant: its components, or None."""

    def __init__(self, components: Element | None) -> None:
        self.components = components

    def zeros_like(self) -> OptionalValue:
        """Returns an optional with zeros for the components; gradients start from it."""
        return OptionalValue(None if self.components is None else tuple(map(zeros_like, self.components)))

    def __add__(self, other: OptionalValue) -> OptionalValue:
        """Adds the components; InvalidArgumentError if only one of the optionals has a value."""
        if (self.components is None) != (other.components is None):
            raise invalid("Cannot add optionals because one has a value and the other doesn't.")
        if self.components is None or other.components is None:
            return self
        return OptionalValue(tuple(np.asarray(a + b) if a.dtype != object else variant(a.item() + b.item()) for a, b in zip(self.components, other.components)))


def _optional_next(iterator: IteratorValue) -> NDArray:
    try:
        return variant(OptionalValue(iterator.take()))
    except errors.OutOfRangeError:
        return variant(OptionalValue(None))


def _value_of(context: HostContext, optional: NDArray) -> Element:
    components: Element | None = optional.item().components
    if components is None:
        raise invalid("The given optional does not have a value.")
    for position, (value, shape) in enumerate(zip(components, context.op.attrs["output_shapes"])):
        if not shape.is_compatible_with(value.shape):
            raise invalid(f"Incompatible shapes at component {position}: expected {shape} but got {shape_text(value.shape)}.")
    return components


op("IteratorGetNextAsOptional", f"(iterator: resource, *, {OUTPUTS}) -> (optional: variant)", shape=si.scalar, gradient=NO_GRADIENT,
   kernel=_optional_next, side=HOST, effects=EXTERNAL)  # fmt: skip
def _components_gradient(op: Operation, grad: object) -> list[Any]:
    components = op.inputs
    grads = raw.OptionalGetValue(grad, output_types=[t.dtype for t in components], output_shapes=[t.shape for t in components])
    return list(grads) if isinstance(grads, (list, tuple)) else [grads]


op("OptionalFromValue", "(components: Toutput_types, *, Toutput_types: list(type) >= 1) -> (optional: variant)", shape=si.scalar,
   gradient=_components_gradient, kernel=lambda components: variant(OptionalValue(tuple(map(np.asarray, components)))), side=HOST)  # fmt: skip
op("OptionalNone", "() -> (optional: variant)", shape=si.scalar, gradient=NO_GRADIENT, kernel=lambda: variant(OptionalValue(None)), side=HOST)
op("OptionalHasValue", "(optional: variant) -> (has_value: bool)", shape=si.scalar, gradient=NO_GRADIENT, side=HOST,
   kernel=lambda optional: np.bool_(optional.item().components is not None))  # fmt: skip
op("OptionalGetValue", f"(optional: variant, *, {OUTPUTS}) -> (components: output_types)", shape=_component_shapes_of_scalar,
   gradient=lambda op, *grads: [raw.OptionalFromValue(list(grads))], kernel=_value_of, side=HOST, context=True)  # fmt: skip


# ---- eager execution ----
# These op types bypass the usual eager programs: an iterator outlives the call that makes it, so its functions need a context that does too.


def _eager_context(state: EagerState) -> RunContext:
    """Returns the run context of all eager iterations of the process."""
    resources = state.resources
    if _SESSION not in resources:
        resources.setdefault(_SESSION, EagerSession(state, Graph()))
    context: RunContext = resources[_SESSION].context
    return context


def _anonymous(state: EagerState, op: Operation) -> list[Any]:
    return [_unnamed(HostContext(_eager_context(state), op))]


def _anonymous_with_deleter(state: EagerState, op: Operation) -> list[object]:
    return list(_with_deleter(HostContext(_eager_context(state), op)))


def _begin(state: EagerState, op: Any) -> list[Any]:
    dataset, iterator = op.inputs[0]._value, op.inputs[1]._value
    with jax_compat.x64():
        iterator.begin(dataset_of(dataset), _eager_context(state))
    return []


_SESSION = "session of iterations"
DIRECT.update({"AnonymousIterator": _anonymous, "AnonymousIteratorV2": _anonymous_with_deleter, "MakeIterator": _begin})
