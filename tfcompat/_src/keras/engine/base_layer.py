"""The base of every layer: it builds weights on its first call, and keeps losses and updates."""

from __future__ import annotations

import contextlib
import inspect
import json
from typing import Any

import numpy as np

from tfcompat._src.autograph.api import in_context
from tfcompat._src.base import dtypes, errors, nest
from tfcompat._src.base.export import export
from tfcompat._src.base.tensor_shape import TensorShape
from tfcompat._src.base.trackable import no_automatic_dependency_tracking
from tfcompat._src.graph.scopes import (
    executing_eagerly,
    executing_eagerly_outside_functions,
    get_default_graph,
    init_scope,
    name_scope,
)
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.keras.backend.session import (
    are_all_symbolic,
    get_graph,
    get_session,
    global_learning_phase_is_set,
    learning_phase,
    unique_object_name,
)
from tfcompat._src.keras.engine import base_layer_utils, registry
from tfcompat._src.keras.engine.input_spec import InputSpec, assert_input_compatibility
from tfcompat._src.keras.engine.layer_losses import LayerLosses
from tfcompat._src.keras.engine.layer_nodes import LayerNodes
from tfcompat._src.keras.engine.layer_weights import LayerWeights
from tfcompat._src.keras.mixed_precision import policy as policies
from tfcompat._src.keras.mixed_precision.autocast_variable import reading_as
from tfcompat._src.keras.utils.generic_utils import (
    get_json_type,
    is_all_none,
    serialize_keras_object,
    to_snake_case,
    validate_kwargs,
)
from tfcompat._src.nodes.convert import convert_to_tensor
from tfcompat._src.nodes.function_body import FuncGraph
from tfcompat._src.nodes.sparse_tensor import SparseTensor
from tfcompat._src.nodes.tensor_spec import TensorSpec
from tfcompat._src.ops.math.cast import cast
from tfcompat._src.ops.ragged.tensor import RaggedTensor
from tfcompat._src.platform import logging
from tfcompat._src.train.trackable_layers import layers_below
from tfcompat._src.train.trackable_restore import register_session_provider

register_session_provider(get_session)

_KEYWORDS = ("input_shape", "batch_input_shape", "batch_size", "weights", "activity_regularizer", "autocast")


def _setting(value: object) -> Any:
    """A layer's setting as a value that JSON can hold: a function by its name, an object by its class."""
    return serialize_keras_object(value) if hasattr(value, "get_config") or inspect.isfunction(value) else value


def _placeholders_of(shape: Any) -> Any:
    """Placeholders of floatx of a shape, or of each of several."""
    if isinstance(shape, TensorShape) or all(size is None or isinstance(size, int) for size in shape):
        return base_layer_utils.generate_placeholders_from_shape(shape)
    return [_placeholders_of(one) for one in shape]


@export("keras.layers.Layer")
class Layer(LayerNodes, LayerLosses, LayerWeights):
    """A function with weights.

    A subclass makes its weights in `build(input_shape)` with `add_weight`, and computes in `call(inputs)`.

    Args:
      trainable: whether the weights are trained.
      name: name of the layer.
      dtype: element type of the weights; by default that of the first input.
      dynamic: whether `call` is Python that must run eagerly.
      activity_regularizer: function of each output that gives a loss.
      input_shape, batch_input_shape, batch_size: the shape of inputs, kept for a model that the layer begins.
      weights: list of arrays, the first values of the weights.
      autocast: whether floating inputs are cast to `dtype`.

    Raises:
      TypeError: another keyword is given.
    """

    _config: tuple[str, ...] = ()

    @no_automatic_dependency_tracking
    def __init__(
        self, trainable: bool = True, name: str | None = None, dtype: Any = None, dynamic: bool = False, **kwargs: Any
    ) -> None:
        validate_kwargs(kwargs, _KEYWORDS)
        self._trainable, self.stateful, self.built, self.supports_masking = trainable, False, False, False
        self.input_spec = None
        self._init_set_name(name)
        self._init_state(dtype)
        self._activity_regularizer = kwargs.get("activity_regularizer")
        self._autocast = kwargs.get("autocast", base_layer_utils.v2_dtype_behavior_enabled())
        self._dynamic = dynamic
        self._initial_weights = kwargs.get("weights")
        self._init_call_fn_args()
        if "batch_input_shape" in kwargs:
            self._batch_input_shape = tuple(kwargs["batch_input_shape"])
        elif "input_shape" in kwargs:
            self._batch_input_shape = (kwargs.get("batch_size"), *kwargs["input_shape"])

    def _init_state(self, dtype: Any) -> None:
        for name in ("_trainable_weights", "_non_trainable_weights", "_layers"):
            self._maybe_create_attribute(name, [])
        self._updates, self._losses, self._callable_losses, self._metrics = [], [], [], []
        self._eager_losses = []
        self._inbound_nodes, self._outbound_nodes = [], []
        self._set_dtype_policy(dtype)

    def _set_dtype_policy(self, dtype: Any) -> None:
        self._dtype_defaulted_to_floatx = dtype is None and policies.policy_defaults_to_floatx()
        if dtype is None:
            self._dtype_policy = policies.global_policy()
        else:
            given = isinstance(dtype, policies.Policy)
            self._dtype_policy = dtype if given else policies.Policy(dtypes.as_dtype(dtype).name)

    @property
    def _dtype(self) -> str | None:
        return self._dtype_policy.variable_dtype

    @_dtype.setter
    def _dtype(self, value: Any) -> None:
        self._dtype_policy = policies.Policy("infer" if value is None else dtypes.as_dtype(value).name)

    def _init_set_name(self, name: str | None, zero_based: bool = True) -> None:
        self._name = name or unique_object_name(to_snake_case(type(self).__name__), zero_based=zero_based)

    def _init_call_fn_args(self) -> None:
        arguments = base_layer_utils.full_argument_spec(self.call)
        self._call_fn_args = arguments.args[1:] if arguments.args[:1] == ["self"] else arguments.args
        self._call_accepts_kwargs = arguments.varkw is not None
        self._expects_training_arg = "training" in self._call_fn_args or self._call_accepts_kwargs
        self._expects_mask_arg = "mask" in self._call_fn_args or self._call_accepts_kwargs

    # ---- what a subclass defines ----

    @base_layer_utils.default
    def build(self, input_shape: Any) -> None:
        """Makes the weights for inputs of `input_shape`, a TensorShape or a nest of them."""
        self.built = True

    def call(self, inputs: Any, **kwargs: Any) -> Any:
        """The layer's outputs."""
        return inputs

    def compute_output_shape(self, input_shape: Any) -> Any:
        """The shape of the outputs for inputs of `input_shape`.

        Raises:
          NotImplementedError: a subclass does not say it, and it cannot be found by a call where operations run at once.
        """
        if not executing_eagerly():
            raise NotImplementedError(f"{type(self).__name__} defines no compute_output_shape.")
        with FuncGraph(get_default_graph()).as_default():
            inputs = _placeholders_of(input_shape)
            try:
                outputs = self(inputs, training=False) if self._expects_training_arg else self(inputs)
            except TypeError as e:
                raise NotImplementedError(
                    "We could not automatically infer the static shape of the layer's output. Please implement the "
                    f"`compute_output_shape` method on your layer ({type(self).__name__})."
                ) from e
        return nest.map_structure(lambda t: t.shape, outputs)

    def compute_output_signature(self, input_signature: Any) -> Any:
        """The TensorSpecs of the outputs for inputs with those of `input_signature`; TypeError for anything else."""
        for spec in nest.flatten(input_signature):
            if not isinstance(spec, TensorSpec):
                raise TypeError(
                    f"Only TensorSpec signature types are supported, but saw signature signature entry: {spec}."
                )
        shapes = self.compute_output_shape(nest.map_structure(lambda s: s.shape, input_signature))
        dtype = self._compute_dtype or nest.flatten(input_signature)[0].dtype
        return nest.map_structure(lambda s: TensorSpec(shape=s, dtype=dtype), shapes)

    @base_layer_utils.default
    def compute_mask(self, inputs: Any, mask: Any = None) -> Any:
        """The mask of the outputs; TypeError where a mask is given and the layer does not support it."""
        if self.supports_masking:
            return mask
        if any(m is not None for m in nest.flatten(mask)):
            raise TypeError(f"Layer {self.name} does not support masking, but was passed an input_mask: {mask}")
        return None

    @base_layer_utils.default
    def get_config(self) -> dict[str, Any]:
        """The constructor's arguments, as values that JSON can hold.

        Raises:
          NotImplementedError: the constructor of a subclass takes more arguments and it does not define this method.
        """
        config = {"name": self.name, "trainable": self.trainable}
        if hasattr(self, "_batch_input_shape"):
            config["batch_input_shape"] = self._batch_input_shape
        config["dtype"] = self.dtype
        if self.dynamic:
            config["dynamic"] = True
        extra = [a for a in inspect.getfullargspec(self.__init__).args if a not in config and a != "dynamic"]
        if len(extra) > 1 and hasattr(self.get_config, "_is_default") and not self._config:
            raise NotImplementedError("Layers with arguments in `__init__` must override `get_config`.")
        return {**config, **{name: _setting(getattr(self, name)) for name in self._config}}

    @classmethod
    def from_config(cls, config: dict[str, Any]) -> Layer:
        """A layer from what `get_config` gave."""
        return cls(**config)

    # ---- the call ----

    def __call__(self, inputs: Any, *args: Any, **kwargs: Any) -> Any:
        """Builds the layer where it is not built, and gives the outputs of `call`.

        Args:
          inputs: a tensor or a nest of them.
          training: passed on where `call` takes it; by default that of the layer which calls this one.
          mask: passed on where `call` takes it; by default the mask that `inputs` carry.
          args, kwargs: passed on to `call`.

        Raises:
          ValueError: the inputs do not fit, or `call` returns None.
        """
        builds_graph = are_all_symbolic(inputs)
        inputs = nest.map_structure(
            lambda x: convert_to_tensor(x) if isinstance(x, (np.ndarray, float, int)) else x, inputs
        )
        context = base_layer_utils.call_context()
        input_masks = self._collect_input_masks(inputs, args, kwargs)
        passed = dict(kwargs)
        if self._expects_mask_arg and input_masks is not None and not self._call_arg_was_passed("mask", args, kwargs):
            passed["mask"] = input_masks
        if builds_graph and base_layer_utils.needs_keras_history(inputs):
            registry.get("create_keras_history")(inputs)
        if base_layer_utils.is_in_eager_or_tf_function() and not context.in_call:
            self._clear_losses()
        with contextlib.ExitStack() as scopes:
            scopes.enter_context((get_graph() if builds_graph else get_default_graph()).as_default())
            training = self._training_value(args, kwargs, passed)
            scopes.enter_context(context.enter(self, inputs, builds_graph, training))
            assert_input_compatibility(self.input_spec, inputs, self.name)
            scopes.enter_context(name_scope(self._name_scope()))
            self._maybe_build(inputs)
            casted = self._maybe_cast_inputs(inputs)
            with reading_as(self._compute_dtype):
                outputs = self._call_or_stand_in(casted, args, passed, builds_graph)
            if builds_graph and base_layer_utils.have_all_keras_metadata(inputs):
                self._note_history_of_arguments(args, kwargs)
                inputs, outputs = self._set_connectivity_metadata_(inputs, outputs, args, kwargs)
            self._handle_activity_regularization(inputs, outputs)
            self._set_mask_metadata(inputs, outputs, input_masks)
            if builds_graph and hasattr(self, "_set_inputs") and not self.inputs:
                self._set_inputs(inputs, outputs)
        return outputs

    def apply(self, inputs: Any, *args: Any, **kwargs: Any) -> Any:
        """As a call of the layer."""
        return self(inputs, *args, **kwargs)

    def _call_or_stand_in(self, inputs: Any, args: tuple, kwargs: dict[str, Any], builds_graph: bool) -> Any:
        """What `call` gives; for a dynamic layer in a graph, placeholders of the shapes of the outputs."""
        if self.dynamic and builds_graph:
            shapes = self.compute_output_shape(nest.map_structure(lambda x: x.shape, inputs))
            return nest.map_structure(lambda s: base_layer_utils.generate_placeholders_from_shape(s), shapes)
        converts = builds_graph and base_layer_utils.is_subclassed(self)
        try:
            outputs = (in_context(self.call) if converts else self.call)(inputs, *args, **kwargs)
        except errors.OperatorNotAllowedInGraphError as e:
            raise TypeError(
                "You are attempting to use Python control flow in a layer that was not declared to be dynamic. Pass "
                f'`dynamic=True` to the class constructor.\nEncountered error:\n"""\n{e}\n"""'
            ) from e
        if outputs is None:
            raise ValueError(
                "A layer's `call` method should return a Tensor or a list of Tensors, not None "
                f"(layer: {self.name})."
            )
        return base_layer_utils.as_returned(outputs) if base_layer_utils.is_in_keras_graph() else outputs

    def _training_value(self, args: tuple, kwargs: dict[str, Any], passed: dict[str, Any]) -> Any:
        """What this call's `training` is; puts it into `passed` where `call` takes it and drops it where not."""
        if self._call_arg_was_passed("training", args, kwargs):
            training = self._get_call_arg_value("training", args, kwargs)
            if not self._expects_training_arg:
                kwargs.pop("training")
                passed.pop("training")
            return training
        training = base_layer_utils.call_context().training
        if training is None and (global_learning_phase_is_set() or base_layer_utils.is_in_keras_graph()):
            training = learning_phase()
        if self._expects_training_arg and training is not None:
            passed["training"] = cast(training, dtypes.bool) if isinstance(training, Tensor) else bool(training)
        return training

    def _call_arg_was_passed(self, name: str, args: tuple, kwargs: dict[str, Any]) -> bool:
        return name in kwargs or name in self._call_fn_args[1 : 1 + len(args)]

    def _get_call_arg_value(self, name: str, args: tuple, kwargs: dict[str, Any]) -> Any:
        return kwargs[name] if name in kwargs else dict(zip(self._call_fn_args[1:], args))[name]

    def _note_history_of_arguments(self, args: tuple, kwargs: dict[str, Any]) -> None:
        for value in nest.flatten([list(args), kwargs]):
            if isinstance(value, Tensor) and base_layer_utils.needs_keras_history(value, ignore_call_context=True):
                registry.get("create_keras_history")(value)

    # ---- masks ----

    @property
    def _should_compute_mask(self) -> bool:
        return "mask" in self._call_fn_args or getattr(self, "compute_mask", None) is not None

    def _collect_input_masks(self, inputs: Any, args: tuple, kwargs: dict[str, Any]) -> Any:
        if self._call_arg_was_passed("mask", args, kwargs):
            return self._get_call_arg_value("mask", args, kwargs)
        if not self._should_compute_mask:
            return None
        masks = base_layer_utils.collect_previous_mask(inputs)
        return None if is_all_none(masks) else masks

    def _set_mask_metadata(self, inputs: Any, outputs: Any, previous_mask: Any) -> None:
        """Has the outputs carry their masks."""
        flat = nest.flatten(outputs)
        masks = [getattr(x, "_keras_mask", None) for x in flat]
        if not getattr(self, "_compute_output_and_mask_jointly", False) and any(m is None for m in masks):
            masks = [None] * len(flat)
            if self.supports_masking or not hasattr(self.compute_mask, "_is_default"):
                computed = self.compute_mask(inputs, previous_mask)
                masks = masks if computed is None else nest.flatten(computed)
        for output, mask in zip(flat, masks):
            if hasattr(output, "__dict__"):
                output._keras_mask = mask
            if isinstance(mask, Tensor):
                mask._keras_history_checked = True

    # ---- building ----

    def _name_scope(self) -> str:
        return self.name

    def _maybe_build(self, inputs: Any) -> None:
        if not self.built:
            assert_input_compatibility(self.input_spec, inputs, self.name)
            flat = nest.flatten(inputs)
            if flat and self._compute_dtype is None and hasattr(flat[0], "dtype"):
                given = dtypes.as_dtype(flat[0].dtype).base_dtype
                self._dtype_policy = policies.with_input_dtype(self._dtype_policy, given)
            if not hasattr(self.build, "_is_default"):
                known = all(hasattr(x, "shape") for x in flat)
                shapes = nest.map_structure(lambda x: x.shape, inputs) if known else None
                lifts = executing_eagerly_outside_functions() and not getattr(self, "_is_legacy_layer", False)
                with init_scope() if lifts else contextlib.nullcontext():
                    self.build(shapes)
            self.built = True
        if self._initial_weights is not None:
            self.set_weights(self._initial_weights)
            self._initial_weights = None

    @property
    def _compute_dtype(self) -> str | None:
        return self._dtype_policy.compute_dtype

    def _maybe_cast_inputs(self, inputs: Any) -> Any:
        dtype = self._compute_dtype
        if not (self._autocast and dtype and dtypes.as_dtype(dtype).is_floating):
            return inputs

        def casted(x: Any) -> Any:
            floating = isinstance(x, (Tensor, SparseTensor, RaggedTensor)) and x.dtype.is_floating
            if not floating or x.dtype.base_dtype.name == dtype:
                return x
            if self._dtype_defaulted_to_floatx:
                self._warn_about_input_casting(x.dtype.base_dtype.name)
            return cast(x, dtype)

        return nest.map_structure(casted, inputs)

    def _warn_about_input_casting(self, given: str) -> None:
        if "_already_warned_about_input_casting" in self.__dict__:
            return
        object.__setattr__(self, "_already_warned_about_input_casting", True)
        logging.warn(
            f"Layer {self.name} is casting an input tensor from dtype {given} to the layer's dtype of {self._dtype}, which "
            f"is new behavior in TensorFlow 2.  The layer has dtype {self._dtype} because it's dtype defaults to floatx."
            f"\n\nIf you intended to run this layer in {self._dtype}, you can safely ignore this warning. To change all "
            f"layers to have dtype {given} by default, call `tf.keras.backend.set_floatx('{given}')`. To change just this "
            f"layer, pass dtype='{given}' to the layer constructor. If you are the author of this layer, you can disable "
            "autocasting by passing autocast=False to the base Layer constructor."
        )

    # ---- settings ----

    name = property(lambda self: self._name)
    dtype = property(lambda self: self._dtype)
    dynamic = property(lambda self: self._dynamic)

    @property
    def trainable(self) -> bool:
        """Whether the weights are trained; setting it sets it for the layers inside too."""
        return self._trainable

    @trainable.setter
    def trainable(self, value: bool) -> None:
        self._trainable = value
        for layer in layers_below(self.__dict__.get("_layers", ())):
            layer.trainable = value

    @property
    def activity_regularizer(self) -> Any:
        """Function of each output that gives a loss, or None."""
        return self._activity_regularizer

    @activity_regularizer.setter
    def activity_regularizer(self, regularizer: Any) -> None:
        self._activity_regularizer = regularizer

    @property
    def input_spec(self) -> Any:
        """What the layer wants of its inputs: an InputSpec, a nest of them, or None."""
        return self._input_spec

    @input_spec.setter
    @no_automatic_dependency_tracking
    def input_spec(self, value: Any) -> None:
        for spec in nest.flatten(value):
            if spec is not None and not isinstance(spec, InputSpec):
                raise TypeError(f"Layer input_spec must be an instance of InputSpec. Got: {spec}")
        self._input_spec = value

    # ---- files ----

    @property
    def _object_identifier(self) -> str:
        return "_tf_keras_layer"

    def _list_extra_dependencies_for_serialization(self, serialization_cache: dict[object, object]) -> dict[str, object]:
        return registry.get("saved_attributes")(self, serialization_cache).public_objects

    def _list_functions_for_serialization(self, serialization_cache: dict[object, object]) -> dict[str, object]:
        return registry.get("saved_attributes")(self, serialization_cache).public_functions

    @property
    def _tracking_metadata(self) -> str:
        """What a SavedModel says of the layer, as JSON."""
        metadata = {
            "class_name": type(self).__name__,
            "name": self.name,
            "trainable": self.trainable,
            "expects_training_arg": self._expects_training_arg,
            "dtype": self.dtype,
            "batch_input_shape": getattr(self, "_batch_input_shape", None),
        }
        with contextlib.suppress(NotImplementedError):
            metadata["config"] = self.get_config()
        metadata["input_spec"] = nest.map_structure(serialize_keras_object, self.input_spec)
        regularizer = self.activity_regularizer
        metadata["activity_regularizer"] = (
            serialize_keras_object(regularizer) if hasattr(regularizer, "get_config") else None
        )
        return json.dumps(metadata, default=get_json_type)
