"""What calls of layers share: the call under way, new variables, and which tensors come from Keras inputs."""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import inspect
import threading
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any

from tfcompat._src.base import dtypes, nest, tf2
from tfcompat._src.base.tensor_shape import TensorShape
from tfcompat._src.graph.operation import Operation
from tfcompat._src.graph.scopes import (
    executing_eagerly,
    executing_eagerly_outside_functions,
    get_default_graph,
    init_scope,
)
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.keras.backend.config import floatx
from tfcompat._src.keras.backend.session import is_keras_graph
from tfcompat._src.keras.engine import registry
from tfcompat._src.ops.array.constant import identity, placeholder
from tfcompat._src.variables.policies import VariableAggregation, VariableSynchronization
from tfcompat._src.variables.variable import Variable

if TYPE_CHECKING:
    from tfcompat._src.base.arrays import TensorLike
    from tfcompat._src.base.dtypes import DType
    from tfcompat._src.base.tensor_shape import ShapeLike

V2_DTYPE_BEHAVIOR: bool | None = None


@dataclasses.dataclass
class CallContext(threading.local):
    """The innermost call of a layer that is under way in this thread."""

    layer: Any = None
    inputs: Any = None
    frozen: bool = False
    in_call: bool = False
    training: Any = None

    @property
    def in_keras_graph(self) -> bool:
        """Whether the call builds the graph that Keras has of its own."""
        return is_in_keras_graph()

    @contextlib.contextmanager
    def enter(self, layer: Any, inputs: Any, build_graph: bool, training: Any) -> Iterator[None]:
        """A block that is a call of `layer`; `frozen` says that it or a layer around it is not trained."""
        before = dict(self.__dict__)
        self.__dict__.update(
            layer=layer, inputs=inputs, frozen=self.frozen or not layer.trainable, in_call=True, training=training
        )
        try:
            yield
        finally:
            self.__dict__.update(before)


_call_context = CallContext()


def call_context() -> CallContext:
    """The call under way in this thread."""
    return _call_context


def is_in_keras_graph() -> bool:
    """Whether layers build the graph that Keras has of its own where operations run when they are called."""
    return is_keras_graph(get_default_graph())


def as_returned(outputs: object) -> Any:
    """The tensors of a nest under names of their own, "layer/Identity", with their masks."""

    def named(value: TensorLike) -> Any:
        if not isinstance(value, Tensor):
            return value
        found = identity(value)
        if getattr(value, "_keras_mask", None) is not None:
            found._keras_mask = value._keras_mask
        return found

    return nest.map_structure(named, outputs, expand_composites=True)


def is_in_eager_or_tf_function() -> bool:
    """Whether ops run when they are called, or trace a function of a program where they do."""
    return executing_eagerly() or is_in_tf_function()


def is_in_tf_function() -> bool:
    """Whether a function of a program is traced in which operations run when they are called."""
    return not executing_eagerly() and executing_eagerly_outside_functions() and not is_in_keras_graph()


def default(method: Callable) -> Callable:
    """Marks a method that subclasses are expected to replace."""
    method._is_default = True
    return method


def v2_dtype_behavior_enabled() -> bool:
    """Whether layers have dtype floatx by default and cast their inputs to it."""
    return tf2.enabled() if V2_DTYPE_BEHAVIOR is None else V2_DTYPE_BEHAVIOR


def enable_v2_dtype_behavior() -> None:
    """Layers made from now on have dtype floatx by default and cast their inputs to it."""
    global V2_DTYPE_BEHAVIOR
    V2_DTYPE_BEHAVIOR = True


def disable_v2_dtype_behavior() -> None:
    """Layers made from now on take the dtype of their first input."""
    global V2_DTYPE_BEHAVIOR
    V2_DTYPE_BEHAVIOR = False


def make_variable(
    name: str, shape: object = None, dtype: DType = dtypes.float32, initializer: object = None, trainable: bool | None = None,
    caching_device: object = None, validate_shape: bool = True, constraint: object = None, use_resource: bool | None = None,
    collections: object = None, synchronization: object = VariableSynchronization.AUTO,
    aggregation: object = VariableAggregation.NONE, partitioner: object = None,
) -> Any:  # fmt: skip
    """A variable of its own, without the reuse of tf.get_variable; partitioners do not apply, as in 1.15."""
    with init_scope():
        if inspect.isclass(initializer):
            initializer = initializer()
        from_value = initializer is not None and not callable(initializer)
        value = initializer if from_value else functools.partial(initializer, shape, dtype=dtype)
    return Variable(
        initial_value=value, name=name, trainable=trainable, caching_device=caching_device,
        dtype=None if from_value else dtype.base_dtype, validate_shape=validate_shape, constraint=constraint,
        use_resource=True if use_resource is None else use_resource, collections=collections,
        synchronization=synchronization, aggregation=aggregation, shape=TensorShape(shape) or None,
    )  # fmt: skip


def generate_placeholders_from_shape(shape: ShapeLike) -> Tensor:
    """A placeholder of floatx."""
    return placeholder(shape=shape, dtype=floatx())


def collect_previous_mask(input_tensors: object) -> Any:
    """The masks that tensors carry."""
    return nest.map_structure(lambda x: getattr(x, "_keras_mask", None), input_tensors)


def _found_from(inputs: object, targets: Iterable[Any] | None) -> dict[int, Any]:
    """id -> object for what is computed from `inputs`, until all `targets` are found."""
    waiting = [x for x in nest.flatten(inputs) if x is not None]
    found = {id(x): x for x in waiting}
    missing = None if targets is None else {id(t) for t in targets} - found.keys()
    while waiting and missing != set():
        x = waiting.pop()
        if isinstance(x, Operation):
            following = [*x.outputs, *x._control_outputs]
        elif isinstance(x, Variable):
            following = [x.op]
        else:
            following = x.consumers() if hasattr(x, "consumers") else []
        new = {id(y): y for y in following if id(y) not in found}
        found.update(new)
        missing = None if missing is None else missing - new.keys()
        waiting.extend(new.values())
    return found


def get_reachable_from_inputs(inputs: object, targets: Iterable[Any] | None = None) -> set[Any]:
    """The tensors and operations computed from `inputs`; the search ends when all `targets` are found."""
    return set(_found_from(inputs, targets).values())


def reachable(inputs: object, targets: Iterable[Any]) -> list[Any]:
    """Those of `targets`, tensors and operations, that are computed from `inputs`."""
    targets = list(targets)
    found = _found_from(inputs, targets)
    return [t for t in targets if id(t) in found]


def have_all_keras_metadata(tensors: object) -> bool:
    """Whether all tensors are outputs of layers."""
    return all(hasattr(x, "_keras_history") for x in nest.flatten(tensors))


def needs_keras_history(tensors: object, ignore_call_context: bool = False) -> bool:
    """Whether tensors come from a Keras input by operations that are in no layer yet."""
    if _call_context.in_call and not ignore_call_context:
        return False
    if all(getattr(x, "_keras_history", None) is not None for x in nest.flatten(tensors)):
        return False
    return uses_keras_history(tensors)


def uses_keras_history(tensors: object) -> bool:
    """Whether one of the tensors is computed from an output of a layer; that they are not is noted on them."""
    waiting, seen = list(nest.flatten(tensors)), set()
    while waiting:
        tensor = waiting.pop()
        if id(tensor) in seen or getattr(tensor, "_keras_history_checked", None) is not None:
            continue
        seen.add(id(tensor))
        if getattr(tensor, "_keras_history", None) is not None:
            return True
        waiting.extend(getattr(getattr(tensor, "op", None), "inputs", ()))
    mark_checked(tensors)
    return False


def mark_checked(tensors: object) -> None:
    """Notes on tensors that they do not come from layers."""
    for tensor in nest.flatten(tensors):
        if hasattr(tensor, "__dict__"):
            tensor._keras_history_checked = True


def require_no_branch(value: object, method: str) -> None:
    """Refuses what a layer keeps of its call where that is made in a branch or a loop of the graph.

    Raises:
      RuntimeError: `value` is made in one.
    """
    if not executing_eagerly_outside_functions() or not getattr(getattr(value, "graph", None), "is_branch", False):
        return
    if method == "activity_regularizer":
        what, calls = "a layer with `activity_regularizer`", "the layer with `activity_regularizer`"
    else:
        what, calls = f"the method `{method}`", method
    raise RuntimeError(
        f"You are using {what} in a control flow branch in your layer. This is currently not supported. Please move your call to {calls} "
        "out of the control flow branch. You can also resolve this by marking your layer as dynamic (eager-only) by passing "
        "`dynamic=True` to the layer constructor, which requires you to implement `compute_output_shape(input_shape)`."
    )


def full_argument_spec(function: Callable) -> inspect.FullArgSpec:
    """The arguments of a function or method, which tf.function may have decorated."""
    return inspect.getfullargspec(getattr(function, "python_function", function))


def is_subclassed(layer: object) -> bool:
    """Whether the class of a layer is not one of Keras's own."""
    return not any(part in type(layer).__module__ for part in ("keras.engine", "keras.layers"))


def create_mean_metric(value: object, name: str | None = None) -> tuple[Any, Any]:
    """A metrics.Mean, and its result with `value`."""
    metric = create_mean(name)
    return metric, metric(value)


def create_mean(name: str | None) -> Any:
    """A metrics.Mean."""
    return registry.get("Mean")(name=name)


def training_arg_passed_to_call(argspec: Any, args: tuple, kwargs: dict[str, Any]) -> bool:
    """Whether a call gives `training`, and not None."""
    return {**dict(zip(argspec.args[2:], args)), **kwargs}.get("training") is not None
