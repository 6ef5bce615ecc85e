"""tf.data.Iterator: takes elements of a dataset in a graph."""

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
from tfcompat._src.data import iterator_resources, nest, structure  # noqa: F401  (the ops)
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
    """The attributes of a node that gives elements."""

    output_types: list[dtypes.DType]
    output_shapes: list[TensorShape]


def flat_attrs(element_spec: object) -> ElementAttrs:
    """The attributes of a node that gives elements of a type."""
    return {
        "output_types": structure.get_flat_tensor_types(element_spec), "output_shapes": structure.get_flat_tensor_shapes(element_spec)
    }  # fmt: skip


class SaveableIterator(SaveableObject):
    """The state of the iterator behind a handle in checkpoints.

    Args:
      name: of the object. entry: under which the state is saved.
    """

    def __init__(self, handle: Tensor, name: str, entry: str) -> None:
        super().__init__(handle, [SaveSpec(raw.SerializeIterator(handle), "", entry)], name)

    def restore(self, restored_tensors: list[Any], restored_shapes: object) -> Any:
        with colocate_with(self.op):
            return raw.DeserializeIterator(self.op, restored_tensors[0])


class _OfType(Trackable):
    """An iterator as part of a tf.train.Checkpoint, over elements of a type."""

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
    """The state of an iteration over a dataset.

    Args:
      iterator_resource: the handle, a resource tensor.
      initializer: the operation that begins the iteration, or None.
      output_types, output_shapes, output_classes: structures of dtypes, shapes and classes of elements.
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
        """An iterator without a dataset; `make_initializer` gives it one.

        Args:
          output_types: structure of dtypes. output_shapes: structure of shapes; by default unknown.
          shared_name: under which sessions of a server share it.
          output_classes: structure of classes; by default tf.Tensor.
        """
        spec = _given_spec(output_types, output_shapes, output_classes)
        handle = raw.IteratorV2(container="", shared_name=shared_name or "", **flat_attrs(spec))
        return Iterator(handle, None, *legacy_of(spec))

    @staticmethod
    def from_string_handle(string_handle: object, output_types: object, output_shapes: object = None, output_classes: object = None) -> Iterator:
        """An iterator that is the one whose `string_handle` (string scalar) is fed; other arguments as for `from_structure`."""
        spec = _given_spec(output_types, output_shapes, output_classes)
        handle = raw.IteratorFromStringHandleV2(convert_to_tensor(string_handle, dtypes.string), **flat_attrs(spec))
        return Iterator(handle, None, *legacy_of(spec))

    @property
    def initializer(self) -> Operation:
        """The operation that begins the iteration; ValueError where there is none."""
        if self._initializer is None:
            raise ValueError("Iterator does not have an initializer.")
        return self._initializer

    def make_initializer(self, dataset: DatasetV2, name: str | None = None) -> Operation:
        """An operation that begins to iterate over `dataset`.

        Raises:
          TypeError: its elements are of another type than the iterator's.
        """
        self._check_types(dataset)
        with colocate_with(self._iterator_resource):
            made: Operation = raw.MakeIterator(dataset._variant_tensor, self._iterator_resource, name=name or "make_initializer")
        return made

    def _check_types(self, dataset: DatasetV2) -> None:
        found = dataset.element_spec
        nest.assert_same_structure(self.output_types, structure.legacy(found, "types"))
        nest.assert_same_structure(self.output_shapes, structure.legacy(found, "shapes"))
        triples = zip(nest.flatten(self._element_spec), nest.flatten(found))
        for mine, theirs in triples:
            if mine._to_legacy_output_classes() != theirs._to_legacy_output_classes():
                raise TypeError(
                    f"Expected output classes {self.output_classes!r} but got dataset with output class {structure.legacy(found, 'classes')!r}."
                )
            if mine._to_legacy_output_types() != theirs._to_legacy_output_types():
                raise TypeError(
                    f"Expected output types {self.output_types!r} but got dataset with output types {structure.legacy(found, 'types')!r}."
                )
            if not mine._to_legacy_output_shapes().is_compatible_with(theirs._to_legacy_output_shapes()):
                raise TypeError(
                    f"Expected output shapes compatible with {self.output_shapes!r} but got dataset with output shapes "
                    f"{structure.legacy(found, 'shapes')!r}."
                )

    def get_next(self, name: str | None = None) -> Any:
        """The next element, in the structure of the dataset's elements; a run raises OutOfRangeError where there is none.

        Args:
          name: of the node.
        """
        self._get_next_call_count += 1
        if self._get_next_call_count > GET_NEXT_CALL_WARNING_THRESHOLD:
            warnings.warn(GET_NEXT_CALL_WARNING_MESSAGE, stacklevel=2)
        return get_next_of(self._iterator_resource, self._element_spec, name)

    def string_handle(self, name: str | None = None) -> Tensor:
        """What names the iterator for `from_string_handle`, a string scalar."""
        if name is None:
            return self._string_handle
        named: Tensor = raw.IteratorToStringHandle(self._iterator_resource, name=name)
        return named


def _is_in_for_statement(frame: FrameType) -> bool:
    """Whether a frame is at the step of a `for` statement."""
    return dis.opname[frame.f_code.co_code[frame.f_lasti]] == "FOR_ITER"


class EagerIterator(_OfType):
    """An iterator over a dataset where operations run at once, or in a function of the graph: `next(iterator)` or `get_next()`.

    Args:
      dataset: a tf.data.Dataset.
    """

    def __init__(self, dataset: DatasetV2) -> None:
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
        if not executing_eagerly() and _is_in_for_statement(sys._getframe(1)):
            raise errors.OperatorNotAllowedInGraphError(f"iterating over a dataset, which would never end, is {autograph_status.advice()}")
        try:
            return self.get_next()
        except errors.OutOfRangeError:
            raise StopIteration from None

    next = __next__

    def get_next(self, name: str | None = None) -> Any:
        """The next element; OutOfRangeError where there is none."""
        handle, graph = self._iterator_resource, get_default_graph()
        if not graph.executes or not isinstance(handle, EagerTensor):
            return get_next_of(handle, self._element_spec, name)
        values = zip(handle._value.take(), self._kinds)
        tensors = [EagerTensor.of(value, kind, graph, handle.device) for value, kind in values]
        return structure.from_compatible_tensor_list(self._element_spec, tensors)

    _next_internal = get_next


IteratorV2 = EagerIterator


def _given_spec(output_types: object, output_shapes: object, output_classes: object) -> Any:
    """The type of elements that callers say; shapes are unknown by default, classes tf.Tensor."""
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
    """The next element of the iterator behind a handle."""
    found = raw.IteratorGetNext(handle, name=name, **flat_attrs(element_spec))
    return structure.from_tensor_list(element_spec, list(found) if isinstance(found, (list, tuple)) else [found])


def legacy_of(element_spec: object) -> tuple[Any, Any, Any]:
    """The dtypes, shapes and classes of elements of a type."""
    return tuple(structure.legacy(element_spec, what) for what in ("types", "shapes", "classes"))


# ---- optional values ----


@export("data.experimental.Optional", "contrib.data.Optional")
class Optional:
    """A value that may be there or not: `has_value()`, `get_value()`; made by `from_value` and `none_from_structure`."""

    def __init__(self, variant_tensor: Tensor, value_structure: object) -> None:
        self._variant_tensor, self._value_structure = variant_tensor, value_structure

    @staticmethod
    def from_value(value: object) -> Optional:
        """An optional with a value, a structure of tensors."""
        graph = get_default_graph()
        with graph.name_scope("optional"), graph.name_scope("value"):
            value = structure.with_composites(value)
            spec = structure.type_spec_from_value(value)
            tensors = structure.to_tensor_list(spec, nest.map_structure(_with_tensors, value))
        return Optional(raw.OptionalFromValue(tensors), spec)

    @staticmethod
    def none_from_structure(value_structure: object) -> Optional:
        """An optional of this type without a value."""
        return Optional(raw.OptionalNone(), value_structure)

    def has_value(self, name: str | None = None) -> Tensor:
        """Whether there is a value, a bool scalar."""
        found: Tensor = raw.OptionalHasValue(self._variant_tensor, name=name)
        return found

    def get_value(self, name: str | None = None) -> Any:
        """The value; a run raises InvalidArgumentError where there is none."""
        with get_default_graph().name_scope(name or "OptionalGetValue") as inner:
            found = raw.OptionalGetValue(self._variant_tensor, name=inner, **flat_attrs(self._value_structure))
        return structure.from_tensor_list(self._value_structure, list(found) if isinstance(found, (list, tuple)) else [found])

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
    """The type of an Optional.

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
        """The type of an Optional."""
        return OptionalSpec(value.value_structure)


register_type_spec_from_value_converter(Optional, OptionalSpec.from_value, allow_subclass=True)


@export("data.experimental.get_next_as_optional", "contrib.data.get_next_as_optional")
def get_next_as_optional(iterator: Iterator | EagerIterator) -> Optional:
    """The next element of an iterator as an Optional, which has no value at the end."""
    found = raw.IteratorGetNextAsOptional(iterator._iterator_resource, **flat_attrs(iterator.element_spec))
    return Optional(found, iterator.element_spec)
