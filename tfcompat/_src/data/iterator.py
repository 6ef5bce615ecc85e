"""tf.data.Iterator, the eager iterator, and tf.data.experimental.Optional.

`Iterator` adds nodes to a graph; `EagerIterator` is what `iter(dataset)` returns. Both refer to a `iterator_resources.IteratorValue`.
"""

from __future__ import annotations

import dis
import sys
import warnings
import weakref
from types import FrameType
from typing import TYPE_CHECKING, Any, TypedDict

from tfcompat._src.base import autograph_status, dtypes, errors
from tfcompat._src.base.export import export
from tfcompat._src.base.tensor_shape import TensorShape
from tfcompat._src.base.trackable import Trackable
from tfcompat._src.data import calls_at_run, iterator_resources, nest, structure  # noqa: F401  (the ops)
from tfcompat._src.graph.eager_tensor import EagerTensor
from tfcompat._src.graph.operation import Operation
from tfcompat._src.graph.scopes import colocate_with, executing_eagerly, get_default_graph
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.nodes import raw
from tfcompat._src.nodes.convert import convert_to_tensor
from tfcompat._src.nodes.tensor_spec import TensorSpec
from tfcompat._src.nodes.type_spec import TypeSpec, register_type_spec_from_value_converter
from tfcompat._src.train.saveable_object import SaveableObject, SaveSpec

if TYPE_CHECKING:
    from tfcompat._src.data.dataset import DatasetV2

GET_NEXT_CALL_WARNING_THRESHOLD = 32
GET_NEXT_CALL_WARNING_MESSAGE = (
    "An unusually high number of `Iterator.get_next()` calls was detected. This often indicates that `Iterator.get_next()` is being "
    "called inside a training loop, which will cause gradual slowdown and eventual resource exhaustion."
)
GLOBAL_ITERATORS = "iterators"


class ElementAttrs(TypedDict):
    """The attributes of a node that returns elements, one entry per tensor."""

    output_types: list[dtypes.DType]
    output_shapes: list[TensorShape]


def flat_attrs(element_spec: object) -> ElementAttrs:
    """Returns the attributes of a node that returns elements of the type `element_spec`."""
    return {
        "output_types": structure.get_flat_tensor_types(element_spec), "output_shapes": structure.get_flat_tensor_shapes(element_spec)
    }  # fmt: skip


class SaveableIterator(SaveableObject):
    """Saves the state of an iterator in checkpoints.

    Args:
      handle: of the iterator. name: of the saveable. entry: the key of the state in the checkpoint.
    """

    def __init__(self, handle: Tensor, name: str, entry: str) -> None:
        super().__init__(handle, [SaveSpec(raw.SerializeIterator(handle), "", entry)], name)

    def restore(self, restored_tensors: list[Any], restored_shapes: object) -> Any:
        with colocate_with(self.op):
            return raw.DeserializeIterator(self.op, restored_tensors[0])


class _OfType(Trackable):
    """Base of iterators: the types of their elements, and their state in a tf.train.Checkpoint."""

    _iterator_resource: Tensor
    _element_spec: Any

    @property
    def output_classes(self) -> Any:
        return structure.legacy(self._element_spec, "classes")

    @property
    def output_shapes(self) -> Any:
        return structure.legacy(self._element_spec, "shapes")

    @property
    def output_types(self) -> Any:
        return structure.legacy(self._element_spec, "types")

    @property
    def element_spec(self) -> Any:
        """The structure of TypeSpecs of the elements."""
        return self._element_spec

    def _gather_saveables_for_checkpoint(self) -> dict[str, Any]:
        return {"ITERATOR": lambda name: SaveableIterator(self._iterator_resource, name, name + "_STATE")}


@export("data.Iterator")
class Iterator(_OfType):
    """An iterator over a dataset in a graph.

    Args:
      iterator_resource: the handle, a resource tensor.
      initializer: the operation that starts an iteration, or None.
      output_types, output_shapes, output_classes: structures of the dtypes, shapes and classes of an element.
    """

    def __init__(self, iterator_resource: Tensor, initializer: Operation | None, output_types: object, output_shapes: object, output_classes: object) -> None:
        self._iterator_resource, self._initializer = iterator_resource, initializer
        if iterator_resource is None:
            raise ValueError("Variant or resource tensor is needed")
        self._element_spec = structure.convert_legacy_structure(output_types, output_shapes, output_classes)
        self._string_handle: Tensor = raw.IteratorToStringHandle(iterator_resource)
        self._get_next_call_count = 0
        get_default_graph().add_to_collection(GLOBAL_ITERATORS, iterator_resource)

    @staticmethod
    def from_structure(output_types: object, output_shapes: object = None, shared_name: str | None = None, output_classes: object = None) -> Iterator:
        """Makes an iterator that any dataset of these types can initialize, by `make_initializer`.

        Args:
          output_types: structure of dtypes. output_shapes: structure of shapes; unknown by default.
          shared_name: name under which the sessions of a server share the iterator.
          output_classes: structure of classes; tf.Tensor by default.
        """
        spec = _given_spec(output_types, output_shapes, output_classes)
        handle = raw.IteratorV2(container="", shared_name=shared_name or "", **flat_attrs(spec))
        return Iterator(handle, None, *legacy_of(spec))

    @staticmethod
    def from_string_handle(string_handle: object, output_types: object, output_shapes: object = None, output_classes: object = None) -> Iterator:
        """Makes an iterator that refers to another one by its string handle, which a feed can choose in each run.

        Args:
          string_handle: string scalar, a value of `Iterator.string_handle`. Other arguments: as for `from_structure`.
        """
        spec = _given_spec(output_types, output_shapes, output_classes)
        handle = raw.IteratorFromStringHandleV2(convert_to_tensor(string_handle, dtypes.string), **flat_attrs(spec))
        return Iterator(handle, None, *legacy_of(spec))

    @property
    def initializer(self) -> Operation:
        """The operation that starts an iteration; ValueError if the iterator has none."""
        if self._initializer is None:
            raise ValueError("Iterator does not have an initializer.")
        return self._initializer

    def make_initializer(self, dataset: DatasetV2, name: str | None = None) -> Operation:
        """Returns an operation that starts an iteration over `dataset`.

        Raises:
          TypeError: the classes, dtypes or shapes of its elements are not those of the iterator.
        """
        self._check_types(dataset)
        with colocate_with(self._iterator_resource):
            made: Operation = raw.MakeIterator(dataset._variant_tensor, self._iterator_resource, name=name or "make_initializer")
        return made

    def _check_types(self, dataset: DatasetV2) -> None:
        """Raises TypeError or ValueError unless the elements of a dataset have the iterator's structure, classes, dtypes and shapes."""
        # The structures are compared first, so that the leaves correspond.
        given = dataset.element_spec
        nest.assert_same_structure(self.output_types, structure.legacy(given, "types"))
        nest.assert_same_structure(self.output_shapes, structure.legacy(given, "shapes"))
        pairs = zip(nest.flatten(self._element_spec), nest.flatten(given))
        for mine, theirs in pairs:
            if mine._to_legacy_output_classes() != theirs._to_legacy_output_classes():
                raise TypeError(
                    f"Expected output classes {self.output_classes!r} but got dataset with output class {structure.legacy(given, 'classes')!r}."
                )
            if mine._to_legacy_output_types() != theirs._to_legacy_output_types():
                raise TypeError(
                    f"Expected output types {self.output_types!r} but got dataset with output types {structure.legacy(given, 'types')!r}."
                )
            if not mine._to_legacy_output_shapes().is_compatible_with(theirs._to_legacy_output_shapes()):
                raise TypeError(
                    f"Expected output shapes compatible with {self.output_shapes!r} but got dataset with output shapes "
                    f"{structure.legacy(given, 'shapes')!r}."
                )

    def get_next(self, name: str | None = None) -> Any:
        """Returns the tensors of the next element, in the structure of the dataset's elements.

        A run that evaluates them takes one element; at the end of the dataset it raises OutOfRangeError.

        Args:
          name: of the node.
        """
        # Each call adds a node: a program that calls this in its training loop grows the graph in each step.
        self._get_next_call_count += 1
        if self._get_next_call_count > GET_NEXT_CALL_WARNING_THRESHOLD:
            warnings.warn(GET_NEXT_CALL_WARNING_MESSAGE, stacklevel=2)
        return get_next_of(self._iterator_resource, self._element_spec, name)

    def string_handle(self, name: str | None = None) -> Tensor:
        """Returns the string scalar that identifies the iterator for `from_string_handle`."""
        if name is None:
            return self._string_handle
        named: Tensor = raw.IteratorToStringHandle(self._iterator_resource, name=name)
        return named


def _is_in_for_statement(frame: FrameType) -> bool:
    """Whether a frame is advancing a `for` statement, judged by its current bytecode instruction."""
    return dis.opname[frame.f_code.co_code[frame.f_lasti]] == "FOR_ITER"


class EagerIterator(_OfType):
    """An iterator over a dataset in eager code or in a tf.function; elements come by `next(iterator)` or `get_next()`.

    Args:
      dataset: a tf.data.Dataset.
    """

    def __init__(self, dataset: DatasetV2) -> None:
        # In eager code, the resource ends with this object; in a function of the graph, with the session.
        dataset = dataset._apply_options()
        self._element_spec = dataset.element_spec
        self._kinds = structure.get_flat_tensor_types(self._element_spec)
        self._iterator_resource = raw.AnonymousIterator(**flat_attrs(self._element_spec))
        raw.MakeIterator(dataset._variant_tensor, self._iterator_resource)
        if isinstance(self._iterator_resource, EagerTensor):
            weakref.finalize(self, self._iterator_resource._value.cancel)

    def __iter__(self) -> EagerIterator:
        return self

    def __next__(self) -> Any:
        # While a function is traced, elements are symbolic and never end, so that a plain `for` would not either.
        if not executing_eagerly() and _is_in_for_statement(sys._getframe(1)):
            raise errors.OperatorNotAllowedInGraphError(f"iterating over a dataset, which would never end, is {autograph_status.advice()}")
        try:
            return self.get_next()
        except errors.OutOfRangeError:
            raise StopIteration from None

    next = __next__

    def get_next(self, name: str | None = None) -> Any:
        """Returns the next element; OutOfRangeError at the end."""
        # Eager code takes the element from the iterator itself, without a node.
        handle, graph = self._iterator_resource, get_default_graph()
        # In a function that captures the iterator, the element is a node of the function's graph.
        if not graph.executes or not isinstance(handle, EagerTensor):
            return get_next_of(handle, self._element_spec, name)
        values = zip(handle._value.take(), self._kinds)
        tensors = [EagerTensor.of(value, kind, graph, handle.device) for value, kind in values]
        return structure.from_compatible_tensor_list(self._element_spec, tensors)

    _next_internal = get_next


IteratorV2 = EagerIterator


def _given_spec(output_types: object, output_shapes: object, output_classes: object) -> Any:
    """Returns the element type for structures given by a caller; the default shapes are unknown, the default class is tf.Tensor."""
    output_types = nest.map_structure(dtypes.as_dtype, output_types)
    if output_shapes is None:
        output_shapes = nest.map_structure(lambda _: TensorShape(None), output_types)
    else:
        output_shapes = nest.map_structure_up_to(output_types, TensorShape, output_shapes)
    if output_classes is None:
        output_classes = nest.map_structure(lambda _: Tensor, output_types)
    nest.assert_same_structure(output_types, output_shapes)
    return structure.convert_legacy_structure(output_types, output_shapes, output_classes)


def get_next_of(handle: Tensor, element_spec: object, name: str | None = None) -> Any:
    """Adds a node that takes the next element of the iterator behind a handle; returns the element's tensors."""
    tensors = raw.IteratorGetNext(handle, name=name, **flat_attrs(element_spec))
    return structure.from_tensor_list(element_spec, list(tensors) if isinstance(tensors, (list, tuple)) else [tensors])


def legacy_of(element_spec: object) -> tuple[Any, Any, Any]:
    """Returns the structures of dtypes, shapes and classes of an element type."""
    return tuple(structure.legacy(element_spec, what) for what in ("types", "shapes", "classes"))


# ---- optional values ----


@export("data.experimental.Optional", "contrib.data.Optional")
class Optional:
    """A structure of tensors that may be absent; made by `from_value` and `none_from_structure`."""

    def __init__(self, variant_tensor: Tensor, value_structure: object) -> None:
        self._variant_tensor, self._value_structure = variant_tensor, value_structure

    @staticmethod
    def from_value(value: object) -> Optional:
        """Makes an optional that holds `value`, a structure of tensors."""
        graph = get_default_graph()
        with graph.name_scope("optional"), graph.name_scope("value"):
            value = structure.with_composites(value)
            spec = structure.type_spec_from_value(value)
            tensors = structure.to_tensor_list(spec, nest.map_structure(_with_tensors, value))
        return Optional(raw.OptionalFromValue(tensors), spec)

    @staticmethod
    def none_from_structure(value_structure: object) -> Optional:
        """Makes an optional without a value; `value_structure` is the structure of TypeSpecs that a value would have."""
        return Optional(raw.OptionalNone(), value_structure)

    def has_value(self, name: str | None = None) -> Tensor:
        """Returns a bool scalar: whether the optional holds a value."""
        has: Tensor = raw.OptionalHasValue(self._variant_tensor, name=name)
        return has

    def get_value(self, name: str | None = None) -> Any:
        """Returns the tensors of the value; a run raises InvalidArgumentError if the optional holds none."""
        with get_default_graph().name_scope(name or "OptionalGetValue") as inner:
            tensors = raw.OptionalGetValue(self._variant_tensor, name=inner, **flat_attrs(self._value_structure))
        return structure.from_tensor_list(self._value_structure, list(tensors) if isinstance(tensors, (list, tuple)) else [tensors])

    @property
    def value_structure(self) -> Any:
        return self._value_structure

    _element_spec = value_structure

    @property
    def _type_spec(self) -> OptionalSpec:
        return OptionalSpec(self._value_structure)


def _with_tensors(value: object) -> Any:
    return value if hasattr(value, "_type_spec") else convert_to_tensor(value)


_OptionalImpl = Optional


@export("OptionalSpec", "data.experimental.OptionalStructure")
class OptionalSpec(TypeSpec):
    """The TypeSpec of an Optional.

    Args:
      value_structure: structure of the TypeSpecs of its value.
    """

    def __init__(self, value_structure: object) -> None:
        self._value_structure = value_structure

    @property
    def value_type(self) -> type:
        return Optional

    @property
    def _component_specs(self) -> TensorSpec:
        return TensorSpec((), dtypes.variant)

    def _serialize(self) -> tuple[Any, ...]:
        return (self._value_structure,)

    def _to_components(self, value: Optional) -> Tensor:
        return value._variant_tensor

    def _from_components(self, components: Tensor) -> Optional:
        return Optional(components, self._value_structure)

    def _to_legacy_output_types(self) -> OptionalSpec:
        return self

    def _to_legacy_output_shapes(self) -> OptionalSpec:
        return self

    def _to_legacy_output_classes(self) -> OptionalSpec:
        return self

    @staticmethod
    def from_value(value: Optional) -> OptionalSpec:
        """Returns the TypeSpec of an optional."""
        return OptionalSpec(value.value_structure)


register_type_spec_from_value_converter(Optional, OptionalSpec.from_value, allow_subclass=True)


@export("data.experimental.get_next_as_optional", "contrib.data.get_next_as_optional")
def get_next_as_optional(iterator: Iterator | EagerIterator) -> Optional:
    """Returns the next element of an iterator as an Optional; at the end, it has no value."""
    optional = raw.IteratorGetNextAsOptional(iterator._iterator_resource, **flat_attrs(iterator.element_spec))
    return Optional(optional, iterator.element_spec)
