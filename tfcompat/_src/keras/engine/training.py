"""tf.keras.Model: a network that is trained, evaluated and used for predictions."""

from __future__ import annotations

import json
from typing import Any

from tfcompat._src.base import nest
from tfcompat._src.base.export import export
from tfcompat._src.base.trackable import Trackable, no_automatic_dependency_tracking
from tfcompat._src.graph.distribution_context import is_for_all_replicas, strategy_in_use
from tfcompat._src.graph.scopes import executing_eagerly, executing_eagerly_outside_functions
from tfcompat._src.keras.engine import (
    distributed,
    registry,
    training_data,
    training_datasets,
    training_endpoint,
    training_sources,
)
from tfcompat._src.keras.engine.base_layer_utils import full_argument_spec
from tfcompat._src.keras.engine.model_data import ModelData
from tfcompat._src.keras.engine.training_data import has_tensors
from tfcompat._src.keras.engine.training_endpoint import TrainingEndpoint
from tfcompat._src.keras.engine.training_loops import Validation, iterate, print_train_info
from tfcompat._src.keras.engine.training_sources import GeneratorSource, Source, array_source, dataset_source
from tfcompat._src.keras.optimizers import identifiers as optimizers
from tfcompat._src.keras.optimizers.loss_scale_optimizer import LossScaleOptimizer
from tfcompat._src.keras.optimizers.optimizer_v2 import OptimizerV2
from tfcompat._src.keras.utils.generic_utils import get_json_type
from tfcompat._src.keras.utils.sequences import is_generator_or_sequence
from tfcompat._src.platform import logging
from tfcompat._src.saved_model.model_utils.keras_mode_keys import ModeKeys


@export("keras.models.Model", "keras.Model")
class Model(ModelData):
    """A network with the means to train it.

    Args:
      inputs, outputs: nests of tensors between which the layers lie; or a subclass defines `call`.
      name: of the model.
      trainable: whether the weights are trained.
    """

    @no_automatic_dependency_tracking
    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._distribution_strategy = None
        self._compile_time_distribution_strategy = None
        self._run_eagerly = None
        self._eager_steps, self._distributed_functions = {}, {}

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
          distribute: a tf.distribute.Strategy, by default the one whose scope this is in.
          run_eagerly: whether it runs as Python, op by op.
          kwargs: passed on to `Session.run`.

        Raises:
          ValueError: a loss, metric or target does not fit the outputs, or there is nothing to optimize.
        """
        self._run_eagerly = kwargs.pop("run_eagerly", None)
        self._experimental_run_tf_function = kwargs.pop("experimental_run_tf_function", True)
        # Each replica of an Estimator's model function compiles a copy, which is an ordinary model: the Estimator distributes it.
        in_use = strategy_in_use() if is_for_all_replicas() else None
        self._take_strategy(distribute or in_use or self._distribution_strategy)
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
        eager = executing_eagerly() or self._distribution_strategy is not None
        for output, name, function, target in zip(self.outputs, self.output_names, self.loss_functions, targets):
            endpoint = TrainingEndpoint(output, name, function)
            endpoint.create_training_target(target, eager)
            self._training_endpoints.append(endpoint)
        training_endpoint.prepare_loss_weights(self._training_endpoints, loss_weights)
        self._cache_output_metric_attributes(metrics, weighted_metrics)
        self._set_metric_attributes()
        self._eager_steps, self._distributed_functions = {}, {}
        if not eager:
            self._handle_metrics()
        training_endpoint.prepare_sample_weight_modes(self._training_endpoints, sample_weight_mode)
        if not eager:
            self._compile_weights_loss_and_weighted_metrics()
        self._function_kwargs = kwargs
        self.train_function = self.test_function = self.predict_function = None
        if self._distribution_strategy is not None:
            distributed.check_optimizer(self.optimizer)
            if not executing_eagerly():
                distributed.begin_session(self)
        self._collected_trainable_weights = self._unique_trainable_weights

    def _take_strategy(self, strategy: Any) -> None:
        self._distribution_strategy = self._compile_time_distribution_strategy = strategy

    def _in_multi_worker_mode(self) -> bool:
        """Whether other tasks of a cluster train the model with this one."""
        return self._distribution_strategy is not None and self._distribution_strategy._in_multi_worker_mode()

    def _set_optimizer(self, optimizer: Any) -> None:
        several = isinstance(optimizer, (list, tuple))
        self.optimizer = [optimizers.get(one) for one in optimizer] if several else optimizers.get(optimizer)
        scale = self._dtype_policy.loss_scale
        if scale is None or isinstance(self.optimizer, LossScaleOptimizer):
            return
        if several:
            raise ValueError(
                f'When a dtype policy with a loss scale is used, you can only pass a single optimizer. Using policy '
                f"{self._dtype_policy} and got optimizers: {self.optimizer}"
            )
        if not isinstance(self.optimizer, OptimizerV2):
            raise ValueError(
                '"optimizer" must be an instance of tf.keras.optimizers.Optimizer when a dype policy with a loss scale '
                f" used, but got: {self.optimizer}. Using policy: {self._dtype_policy}"
            )
        self.optimizer = LossScaleOptimizer(self.optimizer, scale)

    @property
    def run_eagerly(self) -> bool:
        """Whether the model runs as Python, op by op.

        Raises:
          ValueError: it was asked for, or a layer is dynamic, where operations are added to a graph; or a layer is
            dynamic and it was asked not to.
        """
        self._check_run_eagerly()
        return executing_eagerly() and (self.dynamic or bool(self._run_eagerly))

    @run_eagerly.setter
    def run_eagerly(self, value: bool | None) -> None:
        self._run_eagerly = value

    def _check_run_eagerly(self) -> None:
        eager = executing_eagerly_outside_functions()
        if self._run_eagerly is True and not eager:
            raise ValueError("You can only set `run_eagerly=True` if eager execution is enabled.")
        if self.dynamic and not eager:
            raise ValueError(
                "Your model contains layers that can only be successfully run in eager execution (layers constructed "
                "with `dynamic=True`). You must enable eager execution with `tf.enable_eager_execution()`."
            )
        if self.dynamic and self._run_eagerly is False:
            raise ValueError(
                "Your model contains layers that can only be successfully run in eager execution (layers constructed "
                "with `dynamic=True`). You cannot set `run_eagerly=False`."
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

    def get_weights(self) -> list[Any]:
        """The values of the weights as arrays; under a strategy, what they are for all replicas."""
        if self._distribution_strategy is None:
            return super().get_weights()
        with self._distribution_strategy.scope():
            return super().get_weights()

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
        distributed.check_arguments(self, class_weight, validation_split, callbacks)
        if distributed.needs_task(self):
            return distributed.as_task(self, lambda: self.fit(
                x, y, batch_size, epochs, verbose, distributed.own_callbacks(callbacks), validation_split, validation_data, shuffle,
                class_weight, sample_weight, initial_epoch, steps_per_epoch, validation_steps, validation_freq,
            ))  # fmt: skip
        training_datasets.refuse_iterator(x)
        batch_size = self._validate_or_infer_batch_size(batch_size, steps_per_epoch, x)
        if is_generator_or_sequence(x):
            distributed.refuse(self, "fit of a generator")
            training_sources.check_generator_arguments(y, sample_weight, validation_split=validation_split)
            return self._fit_generator(
                x, steps_per_epoch, epochs, verbose, callbacks, validation_data, validation_steps, validation_freq,
                class_weight, max_queue_size, workers, use_multiprocessing, shuffle, initial_epoch,
            )  # fmt: skip
        held_out: Any = None
        source: Any = None
        if training_datasets.is_dataset(x):
            training_datasets.validate_dataset_input(x, y, sample_weight, validation_split)
            if shuffle:
                training_datasets.verify_dataset_shuffled(x)
        else:
            x, y, weights = self._standardize_user_data(
                x, y, sample_weight=sample_weight, class_weight=class_weight, batch_size=batch_size, check_steps=True,
                steps_name="steps_per_epoch", steps=steps_per_epoch,
            )  # fmt: skip
            if not validation_data and validation_split and 0.0 < validation_split < 1.0:
                x, y, weights, *held_out = training_data.split_training_and_validation_data(
                    x, y, weights, validation_split
                )
        if validation_steps and not validation_data and held_out is None:
            raise ValueError("`validation_steps` should not be specified if `validation_data` is None.")
        if training_datasets.is_dataset(x):
            source = dataset_source(
                self, ModeKeys.TRAIN, x, class_weight, steps=steps_per_epoch, epochs=epochs, steps_name="steps_per_epoch"
            )
        else:
            source = array_source(
                self, ModeKeys.TRAIN, x, y, weights, batch_size, steps_per_epoch, shuffle, "steps_per_epoch", epochs - initial_epoch
            )
            batch_size = source.batch_size
        validation = self._validation(validation_data, held_out, batch_size, validation_steps, validation_freq)
        if verbose:
            unit = "steps" if training_datasets.is_dataset(x) else "samples"
            print_train_info(source.count, validation and validation.count, unit)
        return iterate(
            self, source, ModeKeys.TRAIN, epochs, verbose, callbacks, validation, initial_epoch, batch_size,
            "steps_per_epoch",
        )  # fmt: skip

    def _validation(
        self, data: Any, held_out: Any, batch_size: Any, steps: Any, frequency: Any
    ) -> Validation | None:  # fmt: skip
        """What is evaluated after epochs: `data` of the user, or the arrays that were held out."""
        if training_datasets.is_dataset(data):
            flowing = dataset_source(
                self, ModeKeys.TEST, data, steps=steps, steps_name="validation_steps", restarts=True
            )
            return Validation(lambda: flowing, frequency, 0, flowing.count)
        if data:
            held_out = self._prepare_validation_data(data, batch_size, steps)
        if held_out is None:
            return None
        x, y, weights = held_out
        first = nest.flatten(x)[0] if nest.flatten(x) else None

        def source() -> Source:
            shuffles = self._distribution_strategy is None
            return array_source(self, ModeKeys.TEST, x, y, weights, batch_size, steps, shuffles, "validation_steps")

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
        if distributed.needs_task(self):
            return distributed.as_task(self, lambda: self.evaluate(
                x, y, batch_size, verbose, sample_weight, steps, distributed.own_callbacks(callbacks)
            ))  # fmt: skip
        queue = {"workers": workers, "use_multiprocessing": use_multiprocessing, "max_queue_size": max_queue_size}
        return self._iterate_once(ModeKeys.TEST, x, y, sample_weight, batch_size, steps, verbose, callbacks, queue)

    def predict(
        self, x, batch_size=None, verbose=0, steps=None, callbacks=None, max_queue_size=10, workers=1,
        use_multiprocessing=False,
    ) -> Any:  # fmt: skip
        """The outputs for inputs `x`, an array or a list of them; arguments as in `fit`.

        Raises:
          ValueError, TypeError: data do not fit.
        """
        self._check_call_args("predict")
        queue = {"workers": workers, "use_multiprocessing": use_multiprocessing, "max_queue_size": max_queue_size}
        return self._iterate_once(ModeKeys.PREDICT, x, None, None, batch_size, steps, verbose, callbacks, queue)

    def _iterate_once(
        self, mode: str, x: Any, y: Any, sample_weight: Any, batch_size: Any, steps: Any, verbose: int, callbacks: Any,
        queue: dict[str, Any],
    ) -> Any:  # fmt: skip
        """One test or prediction on data of any kind."""
        distributed.check_arguments(self)
        training_datasets.refuse_iterator(x)
        batch_size = self._validate_or_infer_batch_size(batch_size, steps, x)
        source: Any = None
        if is_generator_or_sequence(x):
            distributed.refuse(self, f"{mode} of a generator")
            training_sources.check_generator_arguments(y, sample_weight)
            source = GeneratorSource(self, mode, x, steps, None, **queue)
        elif training_datasets.is_dataset(x):
            training_datasets.validate_dataset_input(x, y, sample_weight)
            source = dataset_source(self, mode, x, steps=steps)
        else:
            x, y, weights = self._standardize_user_data(
                x, y, sample_weight=sample_weight, batch_size=batch_size, check_steps=True, steps_name="steps",
                steps=steps,
            )  # fmt: skip
            source = array_source(self, mode, x, y, weights, batch_size, steps)
            batch_size = source.batch_size
        return iterate(self, source, mode, verbose=verbose, callbacks=callbacks, batch_size=batch_size)

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
        distributed.refuse(self, "fit_generator")
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
        if is_generator_or_sequence(validation_data):
            if not validation_steps and not hasattr(validation_data, "__len__"):
                raise ValueError("Please specify the `validation_steps` argument.")
            validation = Validation(
                lambda: GeneratorSource(self, ModeKeys.TEST, validation_data, validation_steps, **queue),
                validation_freq, verbose,
            )  # fmt: skip
        elif validation_data is not None:
            validation = Validation(
                lambda: training_sources.batches_of_arrays(self, validation_data, source.last_size),
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
        distributed.refuse(self, "evaluate_generator")
        self._check_call_args("evaluate_generator")
        source = GeneratorSource(
            self, ModeKeys.TEST, generator, steps, None, workers, use_multiprocessing, max_queue_size
        )
        return iterate(self, source, ModeKeys.TEST, verbose=verbose, callbacks=callbacks)

    def predict_generator(
        self, generator, steps=None, callbacks=None, max_queue_size=10, workers=1, use_multiprocessing=False, verbose=0
    ) -> Any:
        """The outputs for the batches of a generator or Sequence; arguments as in `fit`."""
        distributed.refuse(self, "predict_generator")
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
        distributed.refuse(self, "train_on_batch")
        self._check_call_args("train_on_batch")
        x, y, weights = self._standardize_user_data(x, y, sample_weight=sample_weight, class_weight=class_weight)
        return self._on_batch(ModeKeys.TRAIN, x, y, weights, reset_metrics)

    def test_on_batch(self, x, y=None, sample_weight=None, reset_metrics=True) -> Any:
        """The loss, or a list of the loss and the metrics, of one batch; arguments as in `train_on_batch`."""
        self._assert_compile_was_called()
        distributed.refuse(self, "test_on_batch")
        self._check_call_args("test_on_batch")
        x, y, weights = self._standardize_user_data(x, y, sample_weight=sample_weight)
        return self._on_batch(ModeKeys.TEST, x, y, weights, reset_metrics)

    def _on_batch(self, mode: str, x: Any, y: Any, weights: Any, reset_metrics: bool) -> Any:
        run = self._batch_function(mode, x, y, weights)
        outputs = run(training_data.ModelInputs(x).as_list() + (y or []) + (weights or []))
        if reset_metrics:
            self.reset_metrics()
        return outputs[0] if len(outputs) == 1 else outputs

    def predict_on_batch(self, x) -> Any:
        """The outputs for one batch."""
        distributed.refuse(self, "predict_on_batch")
        self._check_call_args("predict_on_batch")
        x, _, _ = self._standardize_user_data(x)
        outputs = self._batch_function(ModeKeys.PREDICT, x, [], [])(training_data.ModelInputs(x).as_list())
        return outputs[0] if len(outputs) == 1 else outputs

    @property
    def _object_identifier(self) -> str:
        return "_tf_keras_model"

    @property
    def _tracking_metadata(self) -> str:
        """What a SavedModel says of the model, as JSON: that of every layer, its configuration and its training."""
        training = registry.get("model_metadata")(self, include_optimizer=True, require_config=False)
        return json.dumps({**json.loads(super()._tracking_metadata), **training}, default=get_json_type)
