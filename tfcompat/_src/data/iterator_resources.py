"""The op types of iterators: resources of a session that hold the iteration of a dataset, and optional values."""

from __future__ import annotations

import itertools
import threading
from typing import Any

import numpy as np

from tfcompat._src.data.functions import HostFunction
from tfcompat._src.data.values import NO_GRADIENT, OUTPUTS, DatasetValue, Element, Next, Scope, dataset_of, text
from tfcompat._src.framework import dtypes, errors
from tfcompat._src.framework import shape_inference as si
from tfcompat._src.framework.op_spec import EXTERNAL, HOST, op
from tfcompat._src.framework.tensor import shape_text
from tfcompat._src.ops.flow.list_value import variant, zeros_like
from tfcompat._src.ops.queues.queue_ops import MAKES_HANDLE
from tfcompat._src.ops.queues.resource import SharedResource, invalid, shared_resource

_NUMBERS = itertools.count()


class IteratorValue(SharedResource):
    """An iteration that can be begun again with another dataset of the same types.

    Args:
      kinds, shapes: dtypes and TensorShapes of the components of an element.
    """

    def __init__(self, kinds: list[dtypes.DType], shapes: list[Any]) -> None:
        super().__init__()
        self.kinds, self.shapes = kinds, shapes
        self.handle = f"iterator_{next(_NUMBERS)}".encode()
        self._scope: Scope | None = None
        self._next: Next | None = None
        self._running = threading.RLock()
        self._is_over = False

    def begin(self, dataset: DatasetValue, session: Any) -> None:
        """Starts iterating over a dataset."""
        scope = Scope(session)
        following = dataset.start(scope)
        with self._running:
            old, self._scope, self._next, self._is_over = self._scope, scope, following, False
        if old is not None:
            old.end()

    def take(self) -> Element:
        """The next element.

        Raises:
          errors.FailedPreconditionError: nothing was begun. errors.OutOfRangeError: there is none. errors.InvalidArgumentError: it has
          other dtypes or shapes than the iterator.
        """
        following = self._next
        if following is None:
            raise errors.FailedPreconditionError(
                None, None, "GetNext() failed because the iterator has not been initialized. Ensure that you have run the initializer "
                "operation for this iterator before getting the next element."
            )  # fmt: skip
        with self._running:
            if self._is_over:
                raise _end()
            try:
                element = following()
            except StopIteration:
                self._is_over = True
                raise _end() from None
        self._check(element)
        return element

    def _check(self, element: Element) -> None:
        if len(element) != len(self.kinds):
            raise invalid(f"Number of components does not match: expected {len(self.kinds)} types but got {len(element)}.")
        for place, (value, kind, shape) in enumerate(zip(element, self.kinds, self.shapes)):
            if kind.is_numpy_compatible and kind != dtypes.variant and value.dtype != kind.as_numpy_dtype:
                raise invalid(f"Data type mismatch at component {place}: expected {kind.name} but got {value.dtype}.")
            sizes = shape.sizes
            if sizes is not None and value.shape != sizes and not shape.is_compatible_with(value.shape):
                raise invalid(
                    f"Incompatible shapes at component {place}: expected {shape_text(sizes)} but got {shape_text(value.shape)}."
                )

    def cancel(self) -> None:
        """Ends the iteration: the session is closed."""
        super().cancel()
        scope, self._scope = self._scope, None
        if scope is not None:
            scope.end()


def _end() -> errors.OutOfRangeError:
    return errors.OutOfRangeError(None, None, "End of sequence")


_HANDLES = "iterators by handle"
_NAMES = 'shared_name: string, container: string, '


def _named(context: Any, iterator: IteratorValue) -> IteratorValue:
    """Lets the iterator be found by its string handle."""
    context.resources.setdefault(_HANDLES, {})[iterator.handle] = iterator
    return iterator


def _made(context: Any) -> IteratorValue:
    attrs = context.op._attrs
    return shared_resource(context, "iterator", lambda: _named(context, IteratorValue(attrs["output_types"], attrs["output_shapes"])))


def _one_shot(context: Any) -> IteratorValue:
    attrs = context.op._attrs

    def make() -> IteratorValue:
        found = IteratorValue(attrs["output_types"], attrs["output_shapes"])
        session = getattr(context.session, "_session", context.session)
        factory = HostFunction(context, "dataset_factory", (), 0)
        found.begin(dataset_of(factory.bound(Scope(session))()[0]), session)
        return _named(context, found)

    return shared_resource(context, "iterator", make)


for _name in ("Iterator", "IteratorV2"):
    op(_name, f"(*, {_NAMES}{OUTPUTS}) -> (handle: resource)", shape=si.scalar, gradient=NO_GRADIENT, kernel=_made, place=HOST,
       effects=MAKES_HANDLE, context=True)  # fmt: skip
op("AnonymousIterator", f"(*, {OUTPUTS}) -> (handle: resource)", shape=si.scalar, gradient=NO_GRADIENT, place=HOST, effects=MAKES_HANDLE,
   context=True, kernel=lambda context: _named(context, IteratorValue(context.op._attrs["output_types"], context.op._attrs["output_shapes"])))  # fmt: skip
op(
    "OneShotIterator", f'(*, dataset_factory: func, {OUTPUTS}, container: string = "", shared_name: string = "") -> (handle: resource)',
    shape=si.scalar, gradient=NO_GRADIENT, kernel=_one_shot, place=HOST, effects=MAKES_HANDLE, context=True,
)  # fmt: skip


@op("MakeIterator", "(dataset: variant, iterator: resource) -> ()", shape=si.no_outputs, gradient=NO_GRADIENT, place=HOST, effects=EXTERNAL, context=True)
def _make_iterator(context, dataset, iterator):
    iterator.begin(dataset_of(dataset), getattr(context.session, "_session", context.session))
    return ()


def _component_shapes(c: si.InferenceContext) -> list:
    return [shape.sizes for shape in c.attr("output_shapes")]


for _name in ("IteratorGetNext", "IteratorGetNextSync"):
    op(_name, f"(iterator: resource, *, {OUTPUTS}) -> (components: output_types)", shape=_component_shapes, gradient=NO_GRADIENT,
       kernel=lambda iterator: iterator.take(), place=HOST, effects=EXTERNAL)  # fmt: skip


@op("IteratorToStringHandle", "(resource_handle: resource) -> (string_handle: string)", shape=si.scalar, gradient=NO_GRADIENT, place=HOST, effects=EXTERNAL)
def _string_handle(iterator):
    return text(iterator.handle)


def _from_string_handle(context, string_handle):
    if string_handle.ndim:
        raise invalid("string_handle must be a scalar.")
    found = context.resources.get(_HANDLES, {}).get(string_handle.item())
    if found is None:
        raise errors.NotFoundError(None, None, f"Resource {string_handle.item()!r} of type Iterator does not exist.")
    wanted = context.op._attrs["output_types"]
    if wanted and list(wanted) != list(found.kinds):
        raise invalid(f"Data type mismatch: the iterator gives {[k.name for k in found.kinds]}, not {[k.name for k in wanted]}.")
    for place, (shape, other) in enumerate(zip(context.op._attrs["output_shapes"], found.shapes)):
        if not shape.is_compatible_with(other):
            raise invalid(f"Incompatible shapes at component {place}: expected {shape} but got {other}.")
    return found


for _name in ("IteratorFromStringHandle", "IteratorFromStringHandleV2"):
    op(_name, "(string_handle: string, *, output_types: list(type) >= 0 = [], output_shapes: list(shape) >= 0 = []) -> (resource_handle: resource)",
       shape=si.scalar, gradient=NO_GRADIENT, kernel=_from_string_handle, place=HOST, effects=MAKES_HANDLE, context=True)  # fmt: skip


for _name in ("IteratorGetDevice", "ExperimentalIteratorGetDevice"):
    op(_name, "(resource: resource) -> (device: string)", shape=si.scalar, gradient=NO_GRADIENT, place=HOST, effects=EXTERNAL, context=True,
       kernel=lambda context, resource: text(context.session.devices[0].name.encode()))  # fmt: skip


# ---- optional values ----


class OptionalValue:
    """The components of a value, or None."""

    def __init__(self, components: Element | None) -> None:
        self.components = components

    def zeros_like(self) -> OptionalValue:
        """Zeros in place of the components."""
        return OptionalValue(None if self.components is None else tuple(map(zeros_like, self.components)))

    def __add__(self, other: OptionalValue) -> OptionalValue:
        """The sums of the components; InvalidArgumentError where only one has a value."""
        if (self.components is None) != (other.components is None):
            raise invalid("Cannot add optionals because one has a value and the other doesn't.")
        if self.components is None or other.components is None:
            return self
        return OptionalValue(tuple(np.asarray(a + b) if a.dtype != object else variant(a.item() + b.item()) for a, b in zip(self.components, other.components)))


def _optional_next(iterator):
    try:
        return variant(OptionalValue(iterator.take()))
    except errors.OutOfRangeError:
        return variant(OptionalValue(None))


def _value_of(context, optional):
    components = optional.item().components
    if components is None:
        raise invalid("The given optional does not have a value.")
    for place, (value, shape) in enumerate(zip(components, context.op._attrs["output_shapes"])):
        if not shape.is_compatible_with(value.shape):
            raise invalid(f"Incompatible shapes at component {place}: expected {shape} but got {shape_text(value.shape)}.")
    return components


op("IteratorGetNextAsOptional", f"(iterator: resource, *, {OUTPUTS}) -> (optional: variant)", shape=si.scalar, gradient=NO_GRADIENT,
   kernel=_optional_next, place=HOST, effects=EXTERNAL)  # fmt: skip
op("OptionalFromValue", "(components: Toutput_types, *, Toutput_types: list(type) >= 1) -> (optional: variant)", shape=si.scalar,
   gradient=NO_GRADIENT, kernel=lambda components: variant(OptionalValue(tuple(map(np.asarray, components)))), place=HOST)  # fmt: skip
op("OptionalNone", "() -> (optional: variant)", shape=si.scalar, gradient=NO_GRADIENT, kernel=lambda: variant(OptionalValue(None)), place=HOST)
op("OptionalHasValue", "(optional: variant) -> (has_value: bool)", shape=si.scalar, gradient=NO_GRADIENT, place=HOST,
   kernel=lambda optional: np.bool_(optional.item().components is not None))  # fmt: skip
op("OptionalGetValue", f"(optional: variant, *, {OUTPUTS}) -> (components: output_types)", shape=_component_shapes, gradient=NO_GRADIENT,
   kernel=_value_of, place=HOST, context=True)  # fmt: skip
