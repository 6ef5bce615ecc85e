"""The call of a layer as tf.functions, which a SavedModel keeps beside the objects."""

from __future__ import annotations

import contextlib
import inspect
from collections.abc import Callable, Iterator
from typing import Any

from tfcompat._src.autograph.api import in_context
from tfcompat._src.base import nest
from tfcompat._src.base.tensor_shape import TensorShape
from tfcompat._src.function.def_function import ConcreteFunction, Function, as_spec
from tfcompat._src.graph.scopes import init_scope
from tfcompat._src.keras.backend.config import floatx
from tfcompat._src.keras.backend.session import learning_phase, learning_phase_scope
from tfcompat._src.keras.engine.base_layer_utils import call_context, is_subclassed
from tfcompat._src.keras.engine.input_spec import to_tensor_shape
from tfcompat._src.keras.engine.network import Network
from tfcompat._src.keras.saving.saving_utils import losses_set_aside, model_input_signature, with_all_below
from tfcompat._src.keras.utils.smart_cond import smart_cond
from tfcompat._src.nodes.tensor_spec import TensorSpec

_POSITIONAL = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)


# ---- the argument `training` ----


def _given_training(signature: inspect.Signature, args: tuple, kwargs: dict[str, Any]) -> Any:
    names = [p.name for p in signature.parameters.values() if p.kind in _POSITIONAL]
    return {**dict(zip(names, args)), **kwargs}.get("training")


def _with_training(signature: inspect.Signature, value: bool, args: tuple, kwargs: dict[str, Any]) -> tuple[tuple, dict[str, Any]]:
    """The arguments with `training` in its place."""
    names = [p.name for p in signature.parameters.values() if p.kind in _POSITIONAL]
    if "training" in names[: len(args)]:
        place = names.index("training")
        return (*args[:place], value, *args[place + 1 :]), kwargs
    return args, {**kwargs, "training": value}


def _saved_signature(layer: Any) -> inspect.Signature:
    """The arguments of a layer's call; where the layer takes `training`, it is False by default instead of None."""
    signature = inspect.signature(layer.call)
    if not layer._expects_training_arg:
        return signature
    parameters = dict(signature.parameters)
    known = parameters.get("training")
    if known is None:
        new = inspect.Parameter("training", inspect.Parameter.KEYWORD_ONLY, default=False)
        return signature.replace(parameters=sorted([*parameters.values(), new], key=lambda p: p.kind))
    if known.default is None:
        parameters["training"] = known.replace(default=False)
    return signature.replace(parameters=list(parameters.values()))


def _signature_with_training(signature: inspect.Signature) -> inspect.Signature:
    new = inspect.Parameter("training", inspect.Parameter.POSITIONAL_OR_KEYWORD, default=False)
    return signature.replace(parameters=sorted([*signature.parameters.values(), new], key=lambda p: p.kind))


def call_through(layer: Any, function: Function, default: bool | None = None) -> Callable:
    """A function for a layer's `call` that calls a tf.function and keeps the losses which that returns.

    Args:
      layer: keeps the losses.
      function: gives (outputs, losses); it has a trace for each of `training=True` and `training=False` if it takes that.
      default: `training` where nobody says it; None for the learning phase.
    """
    signature = inspect.signature(function)
    takes_training = layer._expects_training_arg or "training" in signature.parameters

    def call(inputs: Any, *args: Any, **kwargs: Any) -> Any:
        if not takes_training:
            outputs, losses = function(inputs, *args, **kwargs)
        else:
            training = _given_training(signature, (inputs, *args), kwargs)
            training = call_context().training if training is None else training
            if training is None:
                training = learning_phase() if default is None else default

            def run(value: bool) -> Any:
                given, named = _with_training(signature, value, (inputs, *args), kwargs)
                return function(*given, **named)

            outputs, losses = smart_cond(training, lambda: run(True), lambda: run(False))
        layer.add_loss(losses, inputs)
        return outputs

    call.__signature__ = signature  # type: ignore[attr-defined]
    return call


@contextlib.contextmanager
def calls_through(functions: dict[Any, Function]) -> Iterator[None]:
    """Layers call these tf.functions instead of their own `call` inside the block."""
    before = {layer: vars(layer).get("call") for layer in functions}
    for layer, function in functions.items():
        object.__setattr__(layer, "call", call_through(layer, function, default=False))
    try:
        yield
    finally:
        for layer, call in before.items():
            if call is None:
                del vars(layer)["call"]
            else:
                object.__setattr__(layer, "call", call)


# ---- traces ----


class LayerCallCollection:
    """Functions around the call of one layer, all of which are traced for the same arguments.

    Where the layer, or one inside it, takes `training`, each is traced with True and with False, and takes it too.

    Args:
      layer: the layer.
    """

    def __init__(self, layer: Any) -> None:
        self.layer = layer
        self.tracing = False
        self._uses_training = any(each._expects_training_arg for each in with_all_below(layer))
        self._functions: dict[str, LayerCall] = {}
        self._specs = _input_specs(layer)
        spec = inspect.getfullargspec(getattr(layer.call, "python_function", layer.call))
        self._has_keywords = bool(self._uses_training or spec.defaults or spec.kwonlyargs or spec.varkw)

    @property
    def fn_input_signature(self) -> list[Any] | None:
        """The input signature of the functions; None where they take more than inputs or inputs of several ranks."""
        return None if self._has_keywords else self._specs

    def add_function(self, call_fn: Callable, name: str) -> LayerCall:
        """Adds a function with the arguments of the layer's call, and traces it where those are known.

        Args:
          call_fn: the Python function. name: of its traces.
        """
        made = self._functions[name] = LayerCall(self, self._in_call(call_fn), name, self.fn_input_signature)
        if self._specs is not None and self._has_keywords:
            self.add_trace(tuple(self._specs), {})
        return made

    def add_trace(self, args: tuple, kwargs: dict[str, Any]) -> None:
        """Traces all functions for these arguments."""
        if self.tracing:
            return
        self.tracing = True
        try:
            for function in self._functions.values():
                if not self._uses_training:
                    function.get_concrete_function(*args, **kwargs)
                    continue
                for value in (True, False):
                    given, named = _with_training(inspect.signature(function), value, args, kwargs)
                    with learning_phase_scope(int(value)):
                        function.get_concrete_function(*given, **named)
        finally:
            self.tracing = False

    def _in_call(self, call_fn: Callable) -> Callable:
        """`call_fn` as a call of the layer, whose losses stay what they were; the layers inside take `training` from that call."""
        layer, signature = self.layer, inspect.signature(call_fn)
        adds_training = self._uses_training and not layer._expects_training_arg
        if adds_training:
            signature = _signature_with_training(signature)

        def call(*args: Any, **kwargs: Any) -> Any:
            training = _given_training(signature, args, kwargs)
            if adds_training:
                bound = signature.bind(*args, **kwargs)
                bound.arguments.pop("training", None)
                args, kwargs = bound.args, bound.kwargs
            with losses_set_aside(layer), call_context().enter(layer, args[0] if args else None, False, training):
                return call_fn(*args, **kwargs)

        call.__signature__ = signature  # type: ignore[attr-defined]
        return call


class LayerCall(Function):
    """A function of a LayerCallCollection: a new trace of it is one of all of them.

    It is traced outside of the functions that call it, so that all of them share its traces.

    Args:
      call_collection: the collection. python_function, name, input_signature: as of every Function.
    """

    def __init__(self, call_collection: LayerCallCollection, python_function: Callable, name: str, input_signature: Any) -> None:
        self.call_collection = call_collection
        super().__init__(python_function, name, input_signature, autograph=False)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Adds a call to the default graph."""
        self.call_collection.add_trace(args, kwargs)
        return super().__call__(*args, **kwargs)

    def get_concrete_function(self, *args: Any, **kwargs: Any) -> ConcreteFunction:
        """The traced function for arguments of this kind."""
        self.call_collection.add_trace(args, kwargs)
        return super().get_concrete_function(*args, **kwargs)

    def _concrete(self, args: tuple, kwargs: dict) -> ConcreteFunction:
        args, kwargs = nest.map_structure(as_spec, (args, kwargs))
        with init_scope():
            return super()._concrete(args, kwargs)


def _input_specs(layer: Any) -> list[Any] | None:
    """The TensorSpecs of a layer's inputs in a list, where all ranks are known."""
    if isinstance(layer.call, Function) and layer.call.input_signature is not None:
        return list(layer.call.input_signature)
    if isinstance(layer, Network):
        return model_input_signature(layer)
    if layer.input_spec is None or any(to_tensor_shape(spec).ndims is None for spec in nest.flatten(layer.input_spec)):
        return None
    dtype = layer.dtype or floatx()
    return [nest.map_structure(lambda spec: TensorSpec(to_tensor_shape(spec), spec.dtype or dtype), layer.input_spec)]


# ---- the functions of one layer ----


def call_functions(layer: Any) -> dict[str, Function | None]:
    """The tf.functions of a layer's call by the names that they have in a SavedModel.

    Those are the outputs, the outputs with the losses that depend on the inputs, the same with that of the activity
    regularizer, and this loss of an output. Layers inside are called as they are, or as `calls_through` says.
    """
    collection = LayerCallCollection(layer)
    signature = _saved_signature(layer)
    inner = in_context(layer.call) if is_subclassed(layer) else layer.call

    def named(function: Callable) -> Callable:
        function.__signature__ = signature  # type: ignore[attr-defined]
        return function

    def with_losses(inputs: Any, *args: Any, **kwargs: Any) -> Any:
        return inner(inputs, *args, **kwargs), layer.get_losses_for(inputs)

    losing = collection.add_function(named(with_losses), f"{layer.name}_layer_call_and_return_conditional_losses")

    def only_outputs(inputs: Any, *args: Any, **kwargs: Any) -> Any:
        return losing(inputs, *args, **kwargs)[0]

    found: dict[str, Function | None] = {
        "call_and_return_conditional_losses": losing,
        "__call__": collection.add_function(named(only_outputs), f"{layer.name}_layer_call_fn"),
        "activity_regularizer_fn": None,
        "call_and_return_all_conditional_losses": losing,
    }
    if layer.activity_regularizer is not None:
        regularizer = found["activity_regularizer_fn"] = _activity_regularizer(layer)

        def all_losses(inputs: Any, *args: Any, **kwargs: Any) -> Any:
            outputs, losses = losing(inputs, *args, **kwargs)
            return outputs, [*losses, regularizer(outputs)]

        name = f"{layer.name}_layer_call_and_return_all_conditional_losses"
        found["call_and_return_all_conditional_losses"] = collection.add_function(named(all_losses), name)
    if collection.fn_input_signature is not None:
        collection.add_trace((), {})
    return found


def _activity_regularizer(layer: Any) -> Function:
    regularizer = layer.activity_regularizer
    if isinstance(regularizer, Function):
        return regularizer
    spec = TensorSpec(TensorShape(None), layer.dtype or floatx())
    return Function(lambda x: regularizer(x), f"{layer.name}_activity_regularizer", [spec], autograph=False)
