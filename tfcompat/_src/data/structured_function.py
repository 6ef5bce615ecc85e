"""The tracing of Python functions of dataset elements into functions of the graph."""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from tfcompat._src.autograph.api import in_context
from tfcompat._src.data import nest, structure
from tfcompat._src.function.defun import DefinedFunction, Defun
from tfcompat._src.function.tracing import Traced
from tfcompat._src.graph.attr_values import FunctionRef
from tfcompat._src.graph.scopes import get_default_graph
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.nodes import raw
from tfcompat._src.nodes.convert import convert_to_tensor
from tfcompat._src.nodes.function_body import GraphFunction
from tfcompat._src.nodes.tensor_spec import TensorSpec
from tfcompat._src.train.tracking import ResourceTracker, resource_tracker_scope
from tfcompat._src.variables.variable import creator_stack

if TYPE_CHECKING:
    from tfcompat._src.data.dataset import DatasetV2

_legacy_numbers = itertools.count()


class StructuredFunctionWrapper:
    """A traced function of the elements of a dataset.

    Args:
      func: the Python function; an element that is a tuple is unpacked into arguments, any other is one argument.
      transformation_name: for error messages and the name of the function. dataset: whose elements are the arguments.
      input_classes, input_shapes, input_types, input_structure: the type of the elements, if no dataset is given.
      use_legacy_function: whether to trace with Defun, with the options `defun_kwargs`.

    Attributes:
      output_structure: the structure of TypeSpecs of the result. function: the function of the graph.

    Raises:
      TypeError: `func` returns a value that cannot be part of an element.
    """

    def __init__(
        self, func: Callable[..., Any], transformation_name: str, dataset: DatasetV2 | None = None, input_classes: object = None, input_shapes: object = None,
        input_types: object = None, input_structure: object = None, add_to_graph: bool = True, use_legacy_function: bool = False,
        defun_kwargs: dict[Any, Any] | None = None,
    ) -> None:  # fmt: skip
        if input_structure is not None:
            self._input_structure = input_structure
        elif dataset is not None:
            self._input_structure = dataset.element_spec
        else:
            self._input_structure = structure.convert_legacy_structure(input_types, input_shapes, input_classes)
        self._func, self._transformation_name = in_context(func), transformation_name
        readable = transformation_name.replace("()", "").replace(".", "_")
        # The tracker notes the tables that the function makes: 1.15 warns of these.
        made = ResourceTracker()
        name = "_".join([readable, getattr(func, "__name__", type(func).__name__)])
        specs = structure.get_flat_tensor_specs(self._input_structure)
        with resource_tracker_scope(made):
            self._trace(specs, name, (defun_kwargs or {}) if use_legacy_function else None)
        get_default_graph()._get_function(self._function.name).of_elements = self
        self._warn(name, bool(made.resources))

    def _trace(self, specs: list[TensorSpec], name: str, legacy_options: dict[str, object] | None) -> None:
        """Traces the function, with Defun if `legacy_options` are given; sets `_function` and `_captured`."""
        # Defun gives the function a name that its caller chooses, and no static shapes; the other way names it as tf.function does.
        if legacy_options is not None:
            legacy: Any = Defun(*[spec.dtype for spec in specs], func_name=f"{name}_{next(_legacy_numbers)}", **legacy_options)(
                lambda *args: self._legacy_results(specs, args)
            )
            legacy.add_to_graph(get_default_graph())
            self._captured: list[Tensor] = legacy.captured_inputs
            self._function: DefinedFunction | GraphFunction = legacy
        else:
            kinds = [(spec.dtype, spec.shape.sizes) for spec in specs]
            names = [f"args_{i}" for i in range(len(specs))]
            traced = Traced(f"__inference_{name}", kinds, self._results, names, list(creator_stack(get_default_graph())))
            self._function = traced.add_to(get_default_graph())
            self._captured = list(traced.body.captures)

    def _warn(self, name: str, makes_resources: bool) -> None:
        """Warns of resources that the function makes, and of random operations whose seed is that of the outer graph."""
        if makes_resources:
            warnings.warn(
                f"Creating resources inside a function passed to {self._transformation_name} is not supported. Create each resource "
                "outside the function, and capture it inside the function to use it.", stacklevel=4,
            )  # fmt: skip
        seed = get_default_graph().seed
        if seed and self._body.seed == seed and self._body._seed_used:
            warnings.warn(
                f"Seed {seed} from outer graph might be getting used by function {name}, if the random op has not been provided any seed. "
                "Explicitly set the seed in the function if this is not the intended behavior.", stacklevel=4,
            )  # fmt: skip

    def _legacy_results(self, specs: list[Any], args: tuple[Any, ...]) -> list[Tensor]:
        for tensor, spec in zip(args, specs):
            tensor.set_shape(spec.shape)
        return [t if isinstance(t, Tensor) else convert_to_tensor(t) for t in self._flat(list(args))]

    def _results(self, inputs: list[Tensor]) -> list[Tensor]:
        return [raw.Identity(t) for t in self._flat(inputs)]

    def _flat(self, inputs: list[Tensor]) -> list[Tensor]:
        """Calls the function with the element of these flat tensors; returns the flat tensors of its result."""
        self._body = get_default_graph()
        arguments = structure.from_compatible_tensor_list(self._input_structure, inputs)
        result = self._func(*arguments) if type(arguments) is tuple else self._func(arguments)
        # A returned list is a tuple of components; lists inside it become tensors.
        if isinstance(result, list):
            result = tuple(result)
        # Whatever has no TypeSpec, and None, is refused with one message.
        try:
            if result is None:
                raise TypeError("None")
            result = structure.with_composites(result)
            self.output_structure = structure.type_spec_from_value(result)
        except (ValueError, TypeError) as error:
            raise TypeError(f"Unsupported return value from function passed to {self._transformation_name}: {result}.") from error
        return structure.to_tensor_list(self.output_structure, _as_tensors(result))

    @property
    def function(self) -> Any:
        return self._function

    @property
    def captured_inputs(self) -> list[Tensor]:
        """The tensors of the outer graph that the function captures."""
        return self._captured

    @property
    def reference(self) -> FunctionRef:
        """The function as the attribute of a node."""
        return FunctionRef(self._function.name)

    @property
    def output_types(self) -> Any:
        return structure.legacy(self.output_structure, "types")

    @property
    def output_shapes(self) -> Any:
        return structure.legacy(self.output_structure, "shapes")

    @property
    def output_classes(self) -> Any:
        return structure.legacy(self.output_structure, "classes")


def _as_tensors(result: object) -> Any:
    """Converts the Python numbers and arrays in a result to tensors."""
    specs = structure.type_spec_from_value(result)
    leaves = [
        convert_to_tensor(part) if spec.value_type is Tensor else part
        for spec, part in zip(nest.flatten(specs), nest.flatten(result))
    ]
    return nest.pack_sequence_as(result, leaves)
