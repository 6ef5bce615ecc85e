"""tf.keras.Model: a network that is trained, evaluated and used for predictions."""

from __future__ import annotations

from typing import Any

import numpy as np

from tfcompat._src.framework import nest
from tfcompat._src.framework.distribution_context import strategy_in_use
from tfcompat._src.framework.export import export
from tfcompat._src.framework.tensor_shape import TensorShape
from tfcompat._src.framework.trackable import Trackable, no_automatic_dependency_tracking
from tfcompat._src.keras.backend.session import learning_phase, symbolic_learning_phase
from tfcompat._src.keras.backend.values import is_placeholder
from tfcompat._src.keras.engine import training_data, training_endpoint, training_loops
from tfcompat._src.keras.engine.base_layer_utils import full_argument_spec
from tfcompat._src.keras.engine.compiled_loss import CompiledLoss
from tfcompat._src.keras.engine.node import int_shape
from tfcompat._src.keras.engine.training_data import has_tensors
from tfcompat._src.keras.engine.training_endpoint import TrainingEndpoint
from tfcompat._src.keras.engine.training_loops import ArraySource, GeneratorSource, Validation, iterate
from tfcompat._src.keras.optimizers import identifiers as optimizers
from tfcompat._src.keras.utils.generic_utils import to_list
from tfcompat._src.keras.utils.mode_keys import ModeKeys
from tfcompat._src.platform import logging


@export("keras.models.Model", "keras.Model")
class Model(CompiledLoss):
    """A network with the means to train it.

    Args:
      inputs, outputs: nests of tensors between which the layers lie; or a subclass defines `call`.
      name: of the model.
      trainable: whether the weights are trained.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._distribution_strategy = None
        self._compile_time_distribution_strategy = None
        self._run_eagerly = None

    # ---- compile ----

    @no_automatic_dependency_tracking
    def compile(
        self, optimizer="rmsprop", loss=None, metrics=None, loss_weights=None, sample_weight_mode=None,
        weighted_metrics=None, target_tensors=None, distribute=None, **kwargs,
    ) -> None:  # fmt: skip
        """Says how the model is trained.

        Args:
          optimizer: an optimizer, its name or its configuration.
          loss: a function, object or name; a list or a dict by output names gives each output its own.
          metrics: list of names, functions or objects; a dict or a list of lists gives each output its own.
          loss_weights: list or dict of factors of the losses.
          sample_weight_mode: "temporal" for weights of time steps; None for weights of samples.
          weighted_metrics: as `metrics`, with the weights of samples.
          target_tensors: tensors to use as targets in place of what is fed.
          distribute: a distribution strategy: not supported.
          run_eagerly: only False or None.
          kwargs: passed on to `Session.run`.

        Raises:
          ValueError: a loss, metric or target does not fit the outputs, or there is nothing to optimize.
        """
        self._run_eagerly = kwargs.pop("run_eagerly", None)
        kwargs.pop("experimental_run_tf_function", None)
        if distribute is not None or strategy_in_use() is not None:
            raise NotImplementedError("tfcompat has no tf.keras.Model.compile with a tf.distribute.Strategy.")
        self._set_optimizer(optimizer)
        if isinstance(self.optimizer, Trackable):
            self._track_trackable(self.optimizer, name="optimizer", overwrite=True)
        self.loss, self.loss_weights, self.sample_weight_mode = loss or {}, loss_weights, sample_weight_mode
        self._compile_metrics, self._compile_weighted_metrics = metrics or [], weighted_metrics
        self._training_endpoints = []
        self._compiled_trainable_state = self._get_trainable_state()
        self._compile_metric_functions = []
        self._check_run_eagerly()
        if not self.built or not self.inputs or not self.outputs:
            return
        self._is_compiled = True
        self.loss_functions = training_endpoint.prepare_loss_functions(self.loss, self.output_names)
        targets = self._process_target_tensor_for_compile(target_tensors)
        for output, name, function, target in zip(self.outputs, self.output_names, self.loss_functions, targets):
            endpoint = TrainingEndpoint(output, name, function)
            endpoint.create_training_target(target)
            self._training_endpoints.append(endpoint)
        training_endpoint.prepare_loss_weights(self._training_endpoints, loss_weights)
        self._cache_output_metric_attributes(metrics, weighted_metrics)
        self._set_metric_attributes()
        self._handle_metrics()
        training_endpoint.prepare_sample_weight_modes(self._training_endpoints, sample_weight_mode)
        self._compile_weights_loss_and_weighted_metrics()
        self._function_kwargs = kwargs
        self.train_function = self.test_function = self.predict_function = None
        self._collected_trainable_weights = self._unique_trainable_weights

    def _set_optimizer(self, optimizer: Any) -> None:
        several = isinstance(optimizer, (list, tuple))
        self.optimizer = [optimizers.get(one) for one in optimizer] if several else optimizers.get(optimizer)

    @property
    def run_eagerly(self) -> bool:
        """Whether the model runs as Python, op by op: never.

        Raises:
          ValueError: it was asked for, or a layer is dynamic.
        """
        self._check_run_eagerly()
        return False

    @run_eagerly.setter
    def run_eagerly(self, value: bool | None) -> None:
        self._run_eagerly = value

    def _check_run_eagerly(self) -> None:
        if self._run_eagerly is True:
            raise ValueError("You can only set `run_eagerly=True` if eager execution is enabled.")
        if self.dynamic:
            raise ValueError(
                "Your model contains layers that can only be successfully run in eager execution (layers constructed "
                "with `dynamic=True`). You must enable eager execution with `tf.enable_eager_execution()`."
            )

    def _process_target_tensor_for_compile(self, targets: Any) -> list[Any]:
        if targets is None or (isinstance(targets, list) and not targets):
            return [None] * len(self.output_names)
        if isinstance(targets, list):
            if len(targets) != len(self.outputs):
                raise ValueError(
                    "When passing a list as `target_tensors`, it should have one entry per model output. "
                    f"The model has {len(self.outputs)} outputs, but you passed target_tensors={targets}"
                )
            return targets
        if isinstance(targets, dict):
            unknown = set(targets).difference(self.output_names)
            if unknown:
                raise ValueError(
                    f'Unknown entry in `target_tensors` dictionary: "{unknown}". '
                    f"Only expected the following keys: {self.output_names}"
                )
            return [targets.get(name) for name in self.output_names]
        if has_tensors(targets):
            return [targets]
        raise TypeError("Expected `target_tensors` to be a list or tuple or dict or a single tensor, but got:", targets)

    def _assert_compile_was_called(self) -> None:
        if not self.optimizer:
            raise RuntimeError(
                "You must compile your model before training/testing. Use `model.compile(optimizer, loss)`."
            )

    def _check_call_args(self, method_name: str) -> None:
        arguments = full_argument_spec(self.call)
        required = arguments.args[: len(arguments.args) - len(arguments.defaults or ())]
        extra = [name for name in required if name != "training"][2:]
        if extra:
            raise ValueError(
                f"Models passed to `{method_name}` can only have `training` and the first argument in `call` as "
                f"positional arguments, found: {extra}."
            )

    # ---- fit, evaluate, predict ----

    def fit(
        self, x=None, y=None, batch_size=None, epochs=1, verbose=1, callbacks=None, validation_split=0.0,
        validation_data=None, shuffle=True, class_weight=None, sample_weight=None, initial_epoch=0,
        steps_per_epoch=None, validation_steps=None, validation_freq=1, max_queue_size=10, workers=1,
        use_multiprocessing=False, **kwargs,
    ) -> Any:  # fmt: skip
        """Trains the model.

        Args:
          x: array of inputs, list or dict of them; a tensor; a generator or a Sequence.
          y: targets, in the same forms.
          batch_size: samples in a step, 32 by default.
          epochs: number of the last epoch.
          verbose: 0 silent, 1 a bar, 2 a line for each epoch.
          callbacks: list of Callbacks.
          validation_split: last part of the samples, taken for validation.
          validation_data: (x, y) or (x, y, sample weights), or a generator.
          shuffle: whether samples come in random order; "batch" shuffles whole batches.
          class_weight: dict from classes to weights.
          sample_weight: array of weights.
          initial_epoch: number of epochs done before.
          steps_per_epoch, validation_steps: batches of tensors and generators.
          validation_freq: every how many epochs, or in which, the validation comes.
          max_queue_size, workers, use_multiprocessing: of generators.

        Returns:
          a History.

        Raises:
          RuntimeError: the model is not compiled. ValueError, TypeError: data do not fit.
        """
        if "nb_epoch" in kwargs:
            logging.warning("The `nb_epoch` argument in `fit` has been renamed `epochs`.")
            epochs = kwargs.pop("nb_epoch")
        if kwargs:
            raise TypeError(f"Unrecognized keyword arguments: {kwargs}")
        self._assert_compile_was_called()
        self._check_call_args("fit")
        if training_loops.is_generator(x):
            self._validate_or_infer_batch_size(batch_size, steps_per_epoch, x)
            training_loops.check_generator_arguments(y, sample_weight, validation_split=validation_split)
            return self._fit_generator(
                x, steps_per_epoch, epochs, verbose, callbacks, validation_data, validation_steps, validation_freq,
                class_weight, max_queue_size, workers, use_multiprocessing, shuffle, initial_epoch,
            )  # fmt: skip
        batch_size = self._validate_or_infer_batch_size(batch_size, steps_per_epoch, x)
        x, y, weights = self._standardize_user_data(
            x, y, sample_weight=sample_weight, class_weight=class_weight, batch_size=batch_size, check_steps=True,
            steps_name="steps_per_epoch", steps=steps_per_epoch,
        )  # fmt: skip
        held_out: Any = None
        if validation_data:
            held_out = self._prepare_validation_data(validation_data, batch_size, validation_steps)
        elif validation_split and 0.0 < validation_split < 1.0:
            x, y, weights, *held_out = training_data.split_training_and_validation_data(x, y, weights, validation_split)
        elif validation_steps:
            raise ValueError("`validation_steps` should not be specified if `validation_data` is None.")
        source = ArraySource(
            self, ModeKeys.TRAIN, x, y, weights, batch_size, steps_per_epoch, shuffle, "steps_per_epoch"
        )
        validation = self._array_validation(held_out, batch_size, validation_steps, validation_freq)
        if verbose:
            training_loops.print_train_info(source.count, validation and validation.count)
        return iterate(
            self, source, ModeKeys.TRAIN, epochs, verbose, callbacks, validation, initial_epoch, batch_size,
            "steps_per_epoch",
        )  # fmt: skip

    def _array_validation(self, data: Any, batch_size: Any, steps: Any, frequency: Any) -> Validation | None:
        if data is None:
            return None
        x, y, weights = data
        first = nest.flatten(x)[0] if nest.flatten(x) else None

        def source() -> ArraySource:
            return ArraySource(self, ModeKeys.TEST, x, y, weights, batch_size, steps, True, "validation_steps")

        return Validation(source, frequency, 0, None if first is None else first.shape[0])

    def _prepare_validation_data(self, validation_data: Any, batch_size: Any, validation_steps: Any) -> tuple:
        x, y, weights = training_data.unpack_validation_data(validation_data)
        return self._standardize_user_data(
            x, y, sample_weight=weights, batch_size=batch_size, steps=validation_steps, steps_name="validation_steps"
        )

    def evaluate(
        self, x=None, y=None, batch_size=None, verbose=1, sample_weight=None, steps=None, callbacks=None,
        max_queue_size=10, workers=1, use_multiprocessing=False,
    ) -> Any:  # fmt: skip
        """The loss, or a list of the loss and the metrics, on data; arguments as in `fit`.

        Raises:
          RuntimeError: the model is not compiled. ValueError, TypeError: data do not fit.
        """
        self._assert_compile_was_called()
        self._check_call_args("evaluate")
        batch_size = self._validate_or_infer_batch_size(batch_size, steps, x)
        if training_loops.is_generator(x):
            training_loops.check_generator_arguments(y, sample_weight)
            source: Any = GeneratorSource(
                self, ModeKeys.TEST, x, steps, None, workers, use_multiprocessing, max_queue_size
            )
        else:
            x, y, weights = self._standardize_user_data(
                x, y, sample_weight=sample_weight, batch_size=batch_size, check_steps=True, steps_name="steps",
                steps=steps,
            )  # fmt: skip
            source = ArraySource(self, ModeKeys.TEST, x, y, weights, batch_size, steps)
        return iterate(self, source, ModeKeys.TEST, verbose=verbose, callbacks=callbacks, batch_size=batch_size)

    def predict(
        self, x, batch_size=None, verbose=0, steps=None, callbacks=None, max_queue_size=10, workers=1,
        use_multiprocessing=False,
    ) -> Any:  # fmt: skip
        """The outputs for inputs `x`, an array or a list of them; arguments as in `fit`.

        Raises:
          ValueError, TypeError: data do not fit.
        """
        self._check_call_args("predict")
        batch_size = self._validate_or_infer_batch_size(batch_size, steps, x)
        if training_loops.is_generator(x):
            source: Any = GeneratorSource(
                self, ModeKeys.PREDICT, x, steps, None, workers, use_multiprocessing, max_queue_size
            )
        else:
            x, _, _ = self._standardize_user_data(x, check_steps=True, steps_name="steps", steps=steps)
            source = ArraySource(self, ModeKeys.PREDICT, x, batch_size=batch_size, steps=steps)
        return iterate(self, source, ModeKeys.PREDICT, verbose=verbose, callbacks=callbacks, batch_size=batch_size)

    # ---- generators ----

    def fit_generator(
        self, generator, steps_per_epoch=None, epochs=1, verbose=1, callbacks=None, validation_data=None,
        validation_steps=None, validation_freq=1, class_weight=None, max_queue_size=10, workers=1,
        use_multiprocessing=False, shuffle=True, initial_epoch=0,
    ) -> Any:  # fmt: skip
        """Trains the model on the batches of a generator or Sequence; arguments as in `fit`.

        Raises:
          ValueError: the number of steps is not known, or batches do not fit.
        """
        self._check_call_args("fit_generator")
        return self._fit_generator(
            generator, steps_per_epoch, epochs, verbose, callbacks, validation_data, validation_steps, validation_freq,
            class_weight, max_queue_size, workers, use_multiprocessing, shuffle, initial_epoch,
        )  # fmt: skip

    def _fit_generator(
        self, generator: Any, steps: Any, epochs: int, verbose: int, callbacks: Any, validation_data: Any,
        validation_steps: Any, validation_freq: Any, class_weight: Any, max_queue_size: int, workers: int,
        use_multiprocessing: bool, shuffle: bool, initial_epoch: int,
    ) -> Any:  # fmt: skip
        queue = {"workers": workers, "use_multiprocessing": use_multiprocessing, "max_queue_size": max_queue_size}
        source = GeneratorSource(self, ModeKeys.TRAIN, generator, steps, class_weight, shuffle=shuffle, **queue)
        validation = None
        if training_loops.is_generator(validation_data):
            if not validation_steps and not hasattr(validation_data, "__len__"):
                raise ValueError("Please specify the `validation_steps` argument.")
            validation = Validation(
                lambda: GeneratorSource(self, ModeKeys.TEST, validation_data, validation_steps, **queue),
                validation_freq, verbose,
            )  # fmt: skip
        elif validation_data is not None:
            validation = Validation(
                lambda: training_loops.batches_of_arrays(self, validation_data, source.last_size),
                validation_freq, verbose,
            )  # fmt: skip
        return iterate(
            self, source, ModeKeys.TRAIN, epochs, verbose, callbacks, validation, initial_epoch,
            steps_name="steps_per_epoch",
        )  # fmt: skip

    def evaluate_generator(
        self, generator, steps=None, callbacks=None, max_queue_size=10, workers=1, use_multiprocessing=False, verbose=0
    ) -> Any:
        """The loss and the metrics on the batches of a generator or Sequence; arguments as in `fit`."""
        self._check_call_args("evaluate_generator")
        source = GeneratorSource(
            self, ModeKeys.TEST, generator, steps, None, workers, use_multiprocessing, max_queue_size
        )
        return iterate(self, source, ModeKeys.TEST, verbose=verbose, callbacks=callbacks)

    def predict_generator(
        self, generator, steps=None, callbacks=None, max_queue_size=10, workers=1, use_multiprocessing=False, verbose=0
    ) -> Any:
        """The outputs for the batches of a generator or Sequence; arguments as in `fit`."""
        source = GeneratorSource(
            self, ModeKeys.PREDICT, generator, steps, None, workers, use_multiprocessing, max_queue_size
        )
        return iterate(self, source, ModeKeys.PREDICT, verbose=verbose, callbacks=callbacks)

    # ---- single batches ----

    def train_on_batch(self, x, y=None, sample_weight=None, class_weight=None, reset_metrics=True) -> Any:
        """One step of training; the loss, or a list of the loss and the metrics.

        Args:
          x, y, sample_weight, class_weight: as in `fit`.
          reset_metrics: whether metrics are those of this batch only.
        """
        self._assert_compile_was_called()
        self._check_call_args("train_on_batch")
        x, y, weights = self._standardize_user_data(x, y, sample_weight=sample_weight, class_weight=class_weight)
        fed = training_data.ModelInputs(x).as_list() + (y or []) + (weights or [])
        if not isinstance(symbolic_learning_phase(), int):
            fed += [True]
        self._update_sample_weight_modes(sample_weights=weights)
        self._make_train_function()
        return self._results(self.train_function(fed), reset_metrics)

    def test_on_batch(self, x, y=None, sample_weight=None, reset_metrics=True) -> Any:
        """The loss, or a list of the loss and the metrics, of one batch; arguments as in `train_on_batch`."""
        self._assert_compile_was_called()
        self._check_call_args("test_on_batch")
        x, y, weights = self._standardize_user_data(x, y, sample_weight=sample_weight)
        fed = training_data.ModelInputs(x).as_list() + (y or []) + (weights or [])
        self._update_sample_weight_modes(sample_weights=weights)
        self._make_test_function()
        return self._results(self.test_function(fed), reset_metrics)

    def predict_on_batch(self, x) -> Any:
        """The outputs for one batch."""
        self._check_call_args("predict_on_batch")
        x, _, _ = self._standardize_user_data(x)
        self._make_predict_function()
        outputs = self.predict_function(training_data.ModelInputs(x).as_list())
        return outputs[0] if len(outputs) == 1 else outputs

    def _results(self, outputs: list[Any], reset_metrics: bool) -> Any:
        if reset_metrics:
            self.reset_metrics()
        return outputs[0] if len(outputs) == 1 else outputs

    # ---- data ----

    def _validate_or_infer_batch_size(self, batch_size: int | None, steps: int | None, x: Any) -> int | None:
        if training_loops.is_generator(x):
            if batch_size is not None:
                raise ValueError(
                    "The `batch_size` argument must not be specified for the given input type. "
                    f"Received input: {x}, batch_size: {batch_size}"
                )
            return None
        layers = super().layers
        static = training_data.get_static_batch_size(layers[0]) if layers else None
        if static is not None:
            if batch_size is not None and batch_size != static:
                raise ValueError(
                    f"The `batch_size` argument value {batch_size} is incompatible with the specified batch size of "
                    f"your Input Layer: {static}"
                )
            batch_size = static if steps is None else batch_size
        return 32 if batch_size is None and steps is None else batch_size

    def _standardize_user_data(
        self, x: Any, y: Any = None, sample_weight: Any = None, class_weight: Any = None, batch_size: int | None = None,
        check_steps: bool = False, steps_name: str = "steps", steps: int | None = None,
    ) -> tuple[Any, Any, Any]:  # fmt: skip
        """Inputs, targets and weights as lists in the order of the placeholders; the model is built where it is not."""
        if check_steps:
            training_data.check_steps_argument(x, steps, steps_name)
        given_inputs: list[Any] = []
        builds, is_dict = not self.inputs, isinstance(self.inputs, dict)
        if builds:
            given_inputs, is_dict = self._build_model_with_inputs(x)
        compiles = not self._is_compiled and bool(self.optimizer)
        if compiles:
            self._compile_from_inputs(given_inputs, y, x, y)
        if builds and compiles and has_tensors(given_inputs):
            return [], [], None
        shapes = self._feed_input_shapes if self._is_graph_network else None
        x = training_data.standardize_input_data(
            x, self._feed_input_names, shapes, check_batch_axis=False, exception_prefix="input"
        )
        x = [training_data.to_dense_or_sparse_tensor(a, b) for a, b in zip(x, self._feed_inputs)]
        y, weights = self._standardize_targets(x, y, sample_weight, class_weight)
        if self.stateful and batch_size and x[0].shape[0] % batch_size:
            raise ValueError(
                "In a stateful network, you should only pass inputs with a number of samples that can be divided by "
                f"the batch size. Found: {x[0].shape[0]} samples"
            )
        return dict(zip(self._feed_input_names, x)) if is_dict else x, y, weights

    def _standardize_targets(self, x: list[Any], y: Any, sample_weight: Any, class_weight: Any) -> tuple[list, Any]:
        if y is None:
            return [], None
        training_endpoint.prepare_sample_weight_modes(self._training_endpoints, self.sample_weight_mode)
        names, modes = self._feed_output_names, self._sample_weight_modes
        y = training_data.standardize_input_data(y, names, None, check_batch_axis=False, exception_prefix="target")
        weights = [
            training_data.standardize_weights(*row)
            for row in zip(
                y,
                training_data.standardize_sample_weights(sample_weight, names),
                training_data.standardize_class_weights(class_weight, names),
                modes,
            )
        ]
        training_data.check_array_lengths(x, y, weights)
        if self._is_graph_network:
            training_data.check_loss_and_target_compatibility(y, self._feed_loss_fns, self._feed_output_shapes)
        unweighted = all(mode is None for mode in modes) and all(w is None for w in weights)
        return y, None if unweighted else weights

    def _build_model_with_inputs(self, inputs: Any) -> tuple[list[Any], bool]:
        """Gives a model without inputs those of `inputs`; a list of them, and whether they are a dict."""
        training_data.validate_input_types(inputs, inputs)
        if isinstance(inputs, (list, tuple)):
            values = list(inputs)
        else:
            values = [inputs[k] for k in sorted(inputs)] if isinstance(inputs, dict) else [inputs]
        for value in values:
            if training_data.is_composite(value):
                raise ValueError(
                    "All SparseTensor and RaggedTensor inputs must be explicitly declared using a keras.Input() with "
                    f"sparse=True or ragged=True. We found an undeclared input {value}. For Sequential models, please "
                    "add a keras.Input() as your first Layer. For subclassed models, please call self._set_inputs() on "
                    "your input set, which you can create using keras.Input() for each input to your model."
                )
        self._set_inputs(training_data.cast_if_floating_dtype(inputs) if has_tensors(inputs) else inputs)
        return values, isinstance(inputs, dict)

    def _compile_from_inputs(self, all_inputs: list[Any], target: Any, orig_inputs: Any, orig_target: Any) -> None:
        """Compiles a model that had no outputs before."""
        if target is not None:
            if has_tensors(target):
                target = training_data.cast_if_floating_dtype_and_mismatch(target, self.outputs)
            training_data.validate_input_types(target, orig_target, allow_dict=False, field_name="target")
            all_inputs += list(target) if isinstance(target, (list, tuple)) else [target]
        kinds = {has_tensors(v) for v in all_inputs}
        if len(kinds) > 1:
            raise ValueError(
                "Do not pass inputs that mix Numpy arrays and TensorFlow tensors. "
                f"You passed: x={orig_inputs}; y={orig_target}"
            )
        tensors = None
        if target is not None:
            tensors = [v for v in to_list(list(target) if isinstance(target, tuple) else target) if has_tensors(v)]
        self.compile(
            optimizer=self.optimizer, loss=self.loss, metrics=self._compile_metrics,
            weighted_metrics=self._compile_weighted_metrics, loss_weights=self.loss_weights, target_tensors=tensors,
            sample_weight_mode=self.sample_weight_mode, run_eagerly=self._run_eagerly,
        )  # fmt: skip

    def _set_inputs(self, inputs: Any, outputs: Any = None, training: Any = None) -> None:
        """Gives a model without inputs placeholders like `inputs`, and the outputs of its call on them."""
        inputs = self._set_input_attrs(inputs)
        if outputs is None:
            arguments = {}
            if self._expects_training_arg:
                arguments["training"] = learning_phase() if training is None else training
            outputs = self(inputs, **arguments)
        self._set_output_attrs(outputs)

    @no_automatic_dependency_tracking
    def _set_input_attrs(self, inputs: Any) -> Any:
        if self.inputs:
            raise ValueError("Model inputs are already set.")
        if type(self).__name__ == "Sequential" and not self.built:
            self._build_input_shape = (None, *_sizes_of_sample(inputs))
        model_inputs = training_data.ModelInputs(inputs)
        inputs = model_inputs.get_symbolic_inputs()
        self.inputs = model_inputs.get_symbolic_inputs(return_single_as_list=True)
        self.input_names = model_inputs.get_input_names()
        fed = [(name, value) for name, value in model_inputs.as_dict() if is_placeholder(value)]
        self._feed_input_names = [name for name, _ in fed]
        self._feed_inputs = [value for _, value in fed]
        self._feed_input_shapes = [int_shape(value) for _, value in fed]
        return inputs

    @no_automatic_dependency_tracking
    def _set_output_attrs(self, outputs: Any) -> None:
        self.outputs = nest.flatten(outputs)
        self.output_names = training_data.generic_output_names(self.outputs)
        self.built = True

    @property
    def _object_identifier(self) -> str:
        return "_tf_keras_model"


def _sizes_of_sample(inputs: Any) -> tuple:
    if isinstance(inputs, dict):
        raise ValueError(
            "Passing a dictionary input to a Sequential Model which doesn't have FeatureLayer as the first layer is an "
            "error."
        )
    shape = inputs if isinstance(inputs, TensorShape) else getattr(inputs, "shape", np.shape(inputs))
    return tuple(shape.as_list() if isinstance(shape, TensorShape) else shape)[1:]
