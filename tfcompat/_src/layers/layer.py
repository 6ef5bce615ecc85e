"""The base of every layer: it builds weights on its first call, and keeps losses and updates."""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import inspect
import re
import threading
import weakref
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np

from tfcompat._src.framework import dtypes, nest
from tfcompat._src.framework.convert import convert_to_tensor
from tfcompat._src.framework.default_stack import SESSIONS
from tfcompat._src.framework.operation import Operation
from tfcompat._src.framework.scopes import get_default_graph, init_scope, name_scope
from tfcompat._src.framework.tensor import Tensor
from tfcompat._src.framework.tensor_shape import TensorShape
from tfcompat._src.framework.tensor_spec import TensorSpec
from tfcompat._src.layers import identifiers
from tfcompat._src.layers.input_spec import InputSpec, assert_input_compatibility
from tfcompat._src.ops.array.shape import shape as shape_of
from tfcompat._src.ops.math.cast import cast
from tfcompat._src.variables.partitioned import PartitionedVariable
from tfcompat._src.variables.policies import VariableAggregation, VariableSynchronization
from tfcompat._src.variables.variable import Variable

_KEYWORDS = ("input_shape", "batch_input_shape", "batch_size", "activity_regularizer", "autocast")
_name_counts: weakref.WeakKeyDictionary[Any, dict[str, int]] = weakref.WeakKeyDictionary()


@dataclasses.dataclass
class _Call:
    """A call of a layer that is under way."""

    inputs: Any
    training: Any


class _Calls(threading.local):
    """The calls under way in this thread, outermost first."""

    def __init__(self) -> None:
        self.stack: list[_Call] = []


_calls = _Calls()


@contextlib.contextmanager
def _entered(call: _Call) -> Iterator[None]:
    _calls.stack.append(call)
    try:
        yield
    finally:
        _calls.stack.pop()


@dataclasses.dataclass
class _Kept:
    """A loss or an update of a layer, and the inputs of the call that added it (None: it depends on no inputs)."""

    value: Any
    inputs: Any = None


def to_snake_case(name: str) -> str:
    """`BatchNormalization` as `batch_normalization`."""
    name = re.sub(r"(.)([A-Z][a-z0-9]+)", r"\1_\2", name)
    name = re.sub(r"([a-z])([A-Z])", r"\1_\2", name).lower()
    return f"private{name}" if name.startswith("_") else name


def unique_object_name(name: str, zero_based: bool = False) -> str:
    """`name` with the number of its kind in the default graph: dense_1, dense_2; dense, dense_1 where `zero_based`."""
    counts = _name_counts.setdefault(get_default_graph(), {})
    counts[name] = counts.get(name, 0) + 1
    number = counts[name] - zero_based
    return f"{name}_{number}" if number else name


def reachable(inputs: Any, targets: Iterable[Any]) -> list[Any]:
    """Those of `targets`, tensors and operations, that are computed from `inputs`."""
    tensors = [x for x in nest.flatten(inputs) if x is not None]
    found = {id(x) for x in tensors}
    while tensors:
        for op in tensors.pop().consumers():
            if id(op) not in found:
                found.update(id(x) for x in (op, *op.outputs))
                tensors.extend(op.outputs)
    return [t for t in targets if id(t) in found]


def make_variable(
    name: str, shape: Any = None, dtype: Any = dtypes.float32, initializer: Any = None, trainable: bool | None = None,
    constraint: Any = None, use_resource: bool | None = None, collections: Any = None, partitioner: Any = None,
    synchronization: Any = VariableSynchronization.AUTO, aggregation: Any = VariableAggregation.NONE,
) -> Any:  # fmt: skip
    """A variable of its own, without the reuse of tf.get_variable; partitioners do not apply, as in 1.15."""
    with init_scope():
        if inspect.isclass(initializer):
            initializer = initializer()
        from_value = initializer is not None and not callable(initializer)
        value = initializer if from_value else functools.partial(initializer, shape, dtype=dtype)
    return Variable(
        initial_value=value, name=name, trainable=trainable, dtype=None if from_value else dtype.base_dtype,
        constraint=constraint, use_resource=True if use_resource is None else use_resource, collections=collections,
        synchronization=synchronization, aggregation=aggregation, shape=TensorShape(shape) or None,
    )  # fmt: skip


class Layer:
    """A function with weights.

    A subclass makes its weights in `build(input_shape)` with `add_weight`, and computes in `call(inputs)`.

    Args:
      trainable: whether the weights are trained.
      name: name of the layer.
      dtype: element type of the weights; by default that of the first input.
      dynamic: not built yet.
      activity_regularizer: function of each output that gives a loss.
      input_shape, batch_input_shape, batch_size: the shape of inputs, kept for a model that the layer begins.

    Raises:
      TypeError: another keyword is given.
    """

    _config: tuple[str, ...] = ()

    def __init__(
        self, trainable: bool = True, name: str | None = None, dtype: Any = None, dynamic: bool = False, **kwargs: Any
    ) -> None:
        for keyword in kwargs:
            if keyword not in _KEYWORDS:
                raise TypeError("Keyword argument not understood:", keyword)
        if dynamic or kwargs.get("autocast"):
            raise NotImplementedError("Layers with dynamic=True or autocast=True are not built yet.")
        self._trainable, self.stateful, self.built, self.supports_masking = trainable, False, False, False
        self.input_spec = None
        self._init_set_name(name)
        self._activity_regularizer = kwargs.get("activity_regularizer")
        self._dtype = None if dtype is None else dtypes.as_dtype(dtype).name
        self._trainable_weights: list[Any] = []
        self._non_trainable_weights: list[Any] = []
        self._losses: list[_Kept] = []
        self._updates: list[_Kept] = []
        self._inbound_nodes: list[Any] = []
        self._outbound_nodes: list[Any] = []
        self._init_call_fn_args()
        if "batch_input_shape" in kwargs:
            self._batch_input_shape = tuple(kwargs["batch_input_shape"])
        elif "input_shape" in kwargs:
            self._batch_input_shape = (kwargs.get("batch_size"), *kwargs["input_shape"])

    def _init_set_name(self, name: str | None) -> None:
        self._name = name or unique_object_name(to_snake_case(type(self).__name__), zero_based=True)

    def _init_call_fn_args(self) -> None:
        arguments = inspect.getfullargspec(self.call)
        self._call_fn_args = arguments.args[1:]
        self._expects_training_arg = "training" in self._call_fn_args or arguments.varkw is not None

    # ---- what a subclass defines ----

    def build(self, input_shape: Any) -> None:
        """Makes the weights for inputs of `input_shape`, a TensorShape or a nest of them."""
        self.built = True

    def call(self, inputs: Any, **kwargs: Any) -> Any:
        """The layer's outputs."""
        return inputs

    def compute_output_shape(self, input_shape: Any) -> Any:
        """The shape of the outputs for inputs of `input_shape`."""
        raise NotImplementedError

    def compute_output_signature(self, input_signature: Any) -> Any:
        """The TensorSpecs of the outputs for inputs with those of `input_signature`; TypeError for anything else."""
        for spec in nest.flatten(input_signature):
            if not isinstance(spec, TensorSpec):
                raise TypeError(
                    f"Only TensorSpec signature types are supported, but saw signature signature entry: {spec}."
                )
        shapes = self.compute_output_shape(nest.map_structure(lambda s: s.shape, input_signature))
        dtype = self._dtype or nest.flatten(input_signature)[0].dtype
        return nest.map_structure(lambda s: TensorSpec(shape=s, dtype=dtype), shapes)

    def compute_mask(self, inputs: Any, mask: Any = None) -> Any:
        """The mask of the outputs; TypeError where a mask is given and the layer does not support it."""
        if not self.supports_masking and any(m is not None for m in nest.flatten(mask)):
            raise TypeError(f"Layer {self.name} does not support masking, but was passed an input_mask: {mask}")
        return mask

    def get_config(self) -> dict[str, Any]:
        """The constructor's arguments, as values that JSON can hold.

        Raises:
          NotImplementedError: the constructor of a subclass takes more arguments and it does not define this method.
        """
        config = {"name": self.name, "trainable": self.trainable}
        if hasattr(self, "_batch_input_shape"):
            config["batch_input_shape"] = self._batch_input_shape
        config["dtype"] = self.dtype
        arguments = inspect.getfullargspec(self.__init__).args
        extra = [a for a in arguments if a not in config and a != "dynamic"]
        if len(extra) > 1 and type(self).get_config is Layer.get_config and not self._config:
            raise NotImplementedError("Layers with arguments in `__init__` must override `get_config`.")
        return {**config, **{n: identifiers.serialize(getattr(self, n)) for n in self._config}}

    @classmethod
    def from_config(cls, config: dict[str, Any]) -> Layer:
        """A layer from what `get_config` gave."""
        return cls(**config)

    # ---- weights ----

    def add_weight(
        self, name: str | None = None, shape: Any = None, dtype: Any = None, initializer: Any = None,
        regularizer: Any = None, trainable: bool | None = None, constraint: Any = None, partitioner: Any = None,
        use_resource: bool | None = None, synchronization: Any = VariableSynchronization.AUTO,
        aggregation: Any = VariableAggregation.NONE, **kwargs: Any,
    ) -> Any:  # fmt: skip
        """Makes a weight of the layer.

        Args:
          name, shape: of the variable; a scalar by default.
          dtype: element type; by default the layer's.
          initializer, regularizer, constraint: functions, or names of known ones.
          trainable: by default True unless `synchronization` is ON_READ.
          partitioner, use_resource, synchronization, aggregation: as in tf.get_variable.
          getter: function that makes the variable; `collections` that it joins.

        Raises:
          TypeError: another keyword. ValueError: `trainable` with ON_READ, or no initializer is known for the dtype.
        """
        for keyword in kwargs:
            if keyword not in ("getter", "collections", "experimental_autocast"):
                raise TypeError("Unknown keyword argument:", keyword)
        dtype = dtypes.as_dtype(dtype or self.dtype or dtypes.float32)
        self._dtype = self._dtype or dtype.base_dtype.name
        trainable = check_trainable(trainable, synchronization)
        variable = kwargs.get("getter", make_variable)(
            name=name, shape=() if shape is None else shape, dtype=dtype, trainable=trainable,
            initializer=self._initializer_for(initializer, name, dtype),
            constraint=identifiers.get_constraint(constraint), partitioner=partitioner, use_resource=use_resource,
            collections=kwargs.get("collections"), synchronization=synchronization, aggregation=aggregation,
        )  # fmt: skip
        regularizer = identifiers.get_regularizer(regularizer)
        if regularizer is not None:
            self._handle_weight_regularization(variable.name.partition(":")[0], variable, regularizer)
        (self._trainable_weights if trainable else self._non_trainable_weights).append(variable)
        return variable

    def add_variable(self, *args: Any, **kwargs: Any) -> Any:
        """The older name of `add_weight`."""
        return self.add_weight(*args, **kwargs)

    def _initializer_for(self, identifier: Any, name: str | None, dtype: dtypes.DType) -> Any:
        initializer = identifiers.get_initializer(identifier)
        if initializer is not None:
            return initializer
        if dtype.is_floating:
            return identifiers.get_initializer("glorot_uniform")
        if dtype.is_integer or dtype.is_unsigned or dtype.is_bool:
            return identifiers.get_initializer("zeros")
        raise ValueError(
            f"An initializer for variable {name} of type {dtype.base_dtype} is required for layer {self.name}"
        )

    def _handle_weight_regularization(self, name: str, variable: Any, regularizer: Callable) -> None:
        def loss_of(part: Any) -> Any:
            with name_scope(f"{name}/Regularizer"):
                return regularizer(part)

        for part in variable if isinstance(variable, PartitionedVariable) else [variable]:
            self.add_loss(functools.partial(loss_of, part))

    trainable_weights = property(lambda self: list(self._trainable_weights) if self.trainable else [])
    weights = property(lambda self: self.trainable_weights + self.non_trainable_weights)
    trainable_variables = property(lambda self: self.trainable_weights)
    non_trainable_variables = property(lambda self: self.non_trainable_weights)
    variables = property(lambda self: self.weights)

    @property
    def non_trainable_weights(self) -> list[Any]:
        """Weights that are not trained: all of them where the layer is not trainable."""
        return ([] if self.trainable else self._trainable_weights) + self._non_trainable_weights

    def count_params(self) -> int:
        """The number of elements of the weights; ValueError before they are made."""
        if not self.built:
            raise ValueError(
                f"You tried to call `count_params` on {self.name}, but the layer isn't built. "
                f"You can build it manually via: `{self.name}.build(batch_input_shape)`."
            )
        return int(sum(np.prod(w.shape.as_list(), dtype=np.int64) for w in self.weights))

    def get_weights(self) -> list[np.ndarray]:
        """The values of the weights in the default session."""
        return self._session().run(self.weights)

    def set_weights(self, weights: Any) -> None:
        """Sets the weights in the default session; ValueError where number or shapes of the arrays differ."""
        if len(weights) != len(self.weights):
            raise ValueError(
                f'You called `set_weights(weights)` on layer "{self.name}" with a  weight list of length '
                f"{len(weights)}, "
                f"but the layer was expecting {len(self.weights)} weights. Provided weights: {str(weights)[:50]}..."
            )
        for variable, value in zip(self.weights, weights):
            if not variable.shape.is_compatible_with(np.shape(value)):
                raise ValueError(
                    f"Layer weight shape {variable.shape} not compatible with provided weight shape {np.shape(value)}"
                )
        for variable, value in zip(self.weights, weights):
            variable.load(value, self._session())

    def _session(self) -> Any:
        if not SESSIONS.stack:
            raise NotImplementedError(
                "Weights are read and set in the default session: use `with session.as_default():`."
            )
        return SESSIONS.stack[-1]

    # ---- losses and updates ----

    def add_loss(self, losses: Any, inputs: Any = None) -> None:
        """Keeps losses: tensors, or functions that make one each time they are asked for.

        Args:
          losses: one or a nest of them.
          inputs: what they depend on, or None.
        """
        for loss in nest.flatten(losses):
            if loss is not None:
                self._losses.append(_Kept(loss if callable(loss) else convert_to_tensor(loss), inputs))

    def add_update(self, updates: Any, inputs: Any = None) -> None:
        """Keeps updates: operations, tensors, or functions that make them now; `inputs` is found out and not used."""
        given = _calls.stack[-1].inputs if _calls.stack else None
        for update in updates if isinstance(updates, (list, tuple)) else [updates]:
            while callable(update):
                update = update()
            if not isinstance(update, Operation):
                update = update.op if hasattr(update, "op") else convert_to_tensor(update)
            self._updates.append(_Kept(update, given))

    @property
    def updates(self) -> list[Any]:
        """The updates; none where the layer is not trainable."""
        return [u.value for u in self._updates] if self.trainable or self.stateful else []

    @property
    def losses(self) -> list[Tensor]:
        """The losses that were added, and those of the weights, made anew."""
        return [loss.value for loss in self._made_losses()]

    def _made_losses(self) -> list[_Kept]:
        made = [
            _Kept(k.value() if callable(k.value) else k.value, k.inputs)
            for k in sorted(self._losses, key=lambda k: callable(k.value))
        ]
        return [_Kept(convert_to_tensor(k.value), k.inputs) for k in made if k.value is not None]

    def get_updates_for(self, inputs: Any) -> list[Any]:
        """The updates that depend on `inputs`; for None, those that do not depend on the inputs of their call."""
        if inputs is not None:
            return reachable(inputs, self.updates)
        return [k.value for k in self._updates if k.value in self.updates and not reachable(k.inputs, [k.value])]

    def get_losses_for(self, inputs: Any) -> list[Any]:
        """The losses that depend on `inputs`; for None, those that depend on none."""
        made = self._made_losses()
        if inputs is None:
            return [k.value for k in made if k.inputs is None]
        return reachable(inputs, [k.value for k in made if k.inputs is not None])

    # ---- the call ----

    def __call__(self, inputs: Any, *args: Any, **kwargs: Any) -> Any:
        """Builds the layer where it is not built, and gives the outputs of `call`.

        Args:
          inputs: a tensor or a nest of them.
          training: passed on where `call` takes it; by default that of the layer which calls this one.
          args, kwargs: passed on to `call`.

        Raises:
          ValueError: the inputs do not fit, or `call` returns None.
        """
        inputs = nest.map_structure(
            lambda x: convert_to_tensor(x) if isinstance(x, (np.ndarray, float, int)) else x, inputs
        )
        training = self._training_value(args, kwargs)
        with _entered(_Call(inputs, training)):
            assert_input_compatibility(self.input_spec, inputs, self.name)
            with name_scope(self._name_scope()):
                self._maybe_build(inputs)
                outputs = self.call(inputs, *args, **kwargs)
                if outputs is None:
                    raise ValueError(
                        f"A layer's `call` method should return a Tensor or a list of Tensors, not None "
                        f"(layer: {self.name})."
                    )
                self._handle_activity_regularization(inputs, outputs)
        return outputs

    def apply(self, inputs: Any, *args: Any, **kwargs: Any) -> Any:
        """As a call of the layer."""
        return self(inputs, *args, **kwargs)

    def _training_value(self, args: tuple, kwargs: dict[str, Any]) -> Any:
        """What this call's `training` is; puts it into `kwargs` where `call` takes it and drops it where not."""
        given = dict(zip(self._call_fn_args[1:], args))
        if "training" in given:
            return given["training"]
        if "training" in kwargs:
            return kwargs["training"] if self._expects_training_arg else kwargs.pop("training")
        training = _calls.stack[-1].training if _calls.stack else None
        if self._expects_training_arg and training is not None:
            kwargs["training"] = cast(training, dtypes.bool) if isinstance(training, Tensor) else bool(training)
        return training

    def _name_scope(self) -> str:
        return self.name

    def _maybe_build(self, inputs: Any) -> None:
        if self.built:
            return
        flat = nest.flatten(inputs)
        if flat and self._dtype is None and hasattr(flat[0], "dtype"):
            self._dtype = flat[0].dtype.base_dtype.name
        self.build(nest.map_structure(lambda x: x.shape, inputs) if all(hasattr(x, "shape") for x in flat) else None)
        self.built = True

    def _handle_activity_regularization(self, inputs: Any, outputs: Any) -> None:
        if not self._activity_regularizer:
            return
        with name_scope("ActivityRegularizer"):
            for output in nest.flatten(outputs):
                loss = self._activity_regularizer(output)
                self.add_loss(loss / cast(shape_of(output)[0], loss.dtype), inputs=inputs)

    # ---- settings ----

    name = property(lambda self: self._name)
    dtype = property(lambda self: self._dtype)
    dynamic = property(lambda self: False)

    @property
    def trainable(self) -> bool:
        """Whether the weights are trained."""
        return self._trainable

    @trainable.setter
    def trainable(self, value: bool) -> None:
        self._trainable = value

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
    def input_spec(self, value: Any) -> None:
        for spec in nest.flatten(value):
            if spec is not None and not isinstance(spec, InputSpec):
                raise TypeError(f"Layer input_spec must be an instance of InputSpec. Got: {spec}")
        self._input_spec = value

    # ---- connections to other layers ----

    inbound_nodes = property(lambda self: self._inbound_nodes)
    outbound_nodes = property(lambda self: self._outbound_nodes)

    def _node_attribute(self, node_index: int, attribute: str, what: str) -> Any:
        if not self._inbound_nodes:
            raise RuntimeError(f"The layer has never been called and thus has no defined {what}.")
        if node_index >= len(self._inbound_nodes):
            raise ValueError(
                f"Asked to get {what} at node {node_index}, but the layer has only "
                f"{len(self._inbound_nodes)} inbound nodes."
            )
        values = getattr(self._inbound_nodes[node_index], attribute)
        return values[0] if isinstance(values, list) and len(values) == 1 else values

    def get_input_at(self, node_index: int) -> Any:
        """The inputs of one call, counted among calls on tensors of other layers."""
        return self._node_attribute(node_index, "input_tensors", "input")

    def get_output_at(self, node_index: int) -> Any:
        """The outputs of one call, counted as `get_input_at` counts."""
        return self._node_attribute(node_index, "output_tensors", "output")

    def get_input_shape_at(self, node_index: int) -> Any:
        """The input shapes of one call, counted as `get_input_at` counts."""
        return self._node_attribute(node_index, "input_shapes", "input shape")

    def get_output_shape_at(self, node_index: int) -> Any:
        """The output shapes of one call, counted as `get_input_at` counts."""
        return self._node_attribute(node_index, "output_shapes", "output shape")

    @property
    def input(self) -> Any:
        """The inputs of the first call on tensors of other layers; AttributeError without one."""
        if not self._inbound_nodes:
            raise AttributeError(f"Layer {self.name} is not connected, no input to return.")
        return self.get_input_at(0)

    @property
    def output(self) -> Any:
        """The outputs of the first call on tensors of other layers; AttributeError without one."""
        if not self._inbound_nodes:
            raise AttributeError(f"Layer {self.name} has no inbound nodes.")
        return self.get_output_at(0)

    input_shape = property(lambda self: self._only_shape("input"))
    output_shape = property(lambda self: self._only_shape("output"))

    def _only_shape(self, what: str) -> Any:
        if not self._inbound_nodes:
            raise AttributeError(f"The layer has never been called and thus has no defined {what} shape.")
        shapes = [getattr(node, f"{what}_shapes") for node in self._inbound_nodes]
        if len({str(s) for s in shapes}) > 1:
            raise AttributeError(
                f'The layer "{self.name} has multiple inbound nodes, with different {what} shapes. Hence the notion of '
                f'"{what} shape" is ill-defined for the layer. Use `get_{what}_shape_at(node_index)` instead.'
            )
        return shapes[0]


def check_trainable(trainable: bool | None, synchronization: Any) -> bool:
    """`trainable` with its default; ValueError where it is True for a variable that is synchronized on read."""
    if synchronization != VariableSynchronization.ON_READ:
        return True if trainable is None else trainable
    if trainable:
        raise ValueError(
            "Synchronization value can be set to VariableSynchronization.ON_READ only for non-trainable variables. "
            "You have specified trainable=True and synchronization=VariableSynchronization.ON_READ."
        )
    return False
