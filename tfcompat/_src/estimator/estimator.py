"""tf.estimator.Estimator: trains, evaluates, predicts and exports a model that a function builds."""

from __future__ import annotations

import copy
import os
import tempfile
from collections.abc import Callable, Iterator
from typing import Any

from tfcompat._src.base import errors, nest
from tfcompat._src.base.export import export
from tfcompat._src.base.graph_collections import GraphKeys
from tfcompat._src.checkpoint.reader import NewCheckpointReader
from tfcompat._src.estimator import run_config, util
from tfcompat._src.estimator.evaluation_steps import EvaluationSteps, _check_hooks_type
from tfcompat._src.estimator.model_fn import EstimatorSpec, verify_model_fn_args
from tfcompat._src.estimator.run_config import RunConfig, TaskType
from tfcompat._src.estimator.saved_model_export import SavedModelExport
from tfcompat._src.estimator.training_steps import TrainingSteps
from tfcompat._src.estimator.warm_start import _get_default_warm_start_settings
from tfcompat._src.graph.graph import Graph
from tfcompat._src.graph.scopes import device, get_default_graph
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.ops.random.seeds import set_random_seed
from tfcompat._src.platform import logging
from tfcompat._src.saved_model.model_utils.mode_keys import EstimatorModeKeys as ModeKeys
from tfcompat._src.train import device_setter
from tfcompat._src.train.basic_session_run_hooks import StopAtStepHook
from tfcompat._src.train.checkpoint_management import latest_checkpoint
from tfcompat._src.train.checkpoint_utils import list_variables, load_variable
from tfcompat._src.train.monitored_session import ChiefSessionCreator, MonitoredSession
from tfcompat._src.train.saving_hooks import CheckpointSaverListener
from tfcompat._src.variables import training_util

_ALLOWED_OVERRIDES = frozenset(("model_fn", "_create_and_assert_global_step", "_export_all_saved_models"))


@export("estimator.Estimator")
class Estimator(TrainingSteps, EvaluationSteps, SavedModelExport):
    """A model that a function builds, with its checkpoints and summaries in a folder.

    Args:
      model_fn: function that gives an EstimatorSpec of `features` and any of `labels`, `mode`, `params`, `config`.
      model_dir: the folder; by default that of `config`, or a temporary one.
      config: a RunConfig.
      params: what `model_fn` and input functions get as `params`; a copy is kept.
      warm_start_from: path of a checkpoint or SavedModel, or WarmStartSettings.

    Raises:
      ValueError: `model_fn` takes other arguments, two folders are given, or a subclass overrides a member.
    """

    def __init__(
        self, model_fn: Callable, model_dir: Any = None, config: RunConfig | None = None, params: Any = None,
        warm_start_from: Any = None,
    ) -> None:  # fmt: skip
        # By the class, since libraries replace it there by a static method of one argument.
        type(self)._assert_members_are_not_overridden(self)
        self._config = maybe_overwrite_model_dir_and_session_config(config, model_dir)
        self._train_distribution, self._eval_distribution = self._config.train_distribute, self._config.eval_distribute
        self._model_dir, self._session_config = self._config.model_dir, self._config.session_config
        logging.info("Using config: %s", str(vars(self._config)))
        self._device_fn = self._config.device_fn or _get_replica_device_setter(self._config)
        if model_fn is None:
            raise ValueError("model_fn must be provided to Estimator.")
        verify_model_fn_args(model_fn, params)
        self._model_fn = model_fn
        self._params = copy.deepcopy(params or {})
        self._warm_start_settings = _get_default_warm_start_settings(warm_start_from)

    @property
    def model_dir(self) -> str:
        return self._model_dir

    @property
    def config(self) -> RunConfig:
        """A copy of the RunConfig."""
        return copy.deepcopy(self._config)

    @property
    def params(self) -> Any:
        """A copy of the parameters."""
        return copy.deepcopy(self._params)

    @property
    def model_fn(self) -> Callable:
        """A function of (features, labels, mode, config) that builds the model."""

        def public_model_fn(features: object, labels: object, mode: str, config: RunConfig) -> EstimatorSpec:
            return self._call_model_fn(features, labels, mode, config)

        return public_model_fn

    # ---- checkpoints ----

    def get_variable_value(self, name: str) -> Any:
        """The value of a variable in the latest checkpoint; ValueError where there is no checkpoint."""
        _check_checkpoint_available(self.model_dir)
        return load_variable(self.model_dir, name)

    def get_variable_names(self) -> list[str]:
        """The names of all variables of the latest checkpoint; ValueError where there is no checkpoint."""
        _check_checkpoint_available(self.model_dir)
        return [name for name, _ in list_variables(self.model_dir)]

    def latest_checkpoint(self) -> str | None:
        """The path of the latest checkpoint, None where there is none."""
        return latest_checkpoint(self.model_dir)

    def eval_dir(self, name: str | None = None) -> str:
        """The folder of the summaries of evaluations called `name`."""
        return os.path.join(self._model_dir, f"eval_{name}" if name else "eval")

    # ---- what an Estimator does ----

    def train(
        self, input_fn: Callable, hooks: Any = None, steps: int | None = None, max_steps: int | None = None,
        saving_listeners: Any = None,
    ) -> Estimator:  # fmt: skip
        """Trains from the latest checkpoint on.

        Args:
          input_fn: function of any of `mode`, `params`, `config` that gives features, or a pair of features and labels,
            or a tf.data.Dataset of these.
          hooks: SessionRunHooks.
          steps: how many steps; by default until the input ends.
          max_steps: the global step to stop at; nothing happens where the latest checkpoint has reached it.
          saving_listeners: CheckpointSaverListeners.

        Returns:
          the Estimator.

        Raises:
          ValueError: both `steps` and `max_steps`, or one that is not positive.
          TypeError: a hook or listener of another type.
        """
        if self.config.task_type in (TaskType.EVALUATOR, TaskType.PS):
            raise ValueError(
                "Train has been called wrong configuration. Please use tf.estimator.train_and_evaluate which calls "
                f"proper API according to given configuration. Current configuration: {self.config}."
            )
        if steps is not None and max_steps is not None:
            raise ValueError("Can not provide both steps and max_steps.")
        for name, value in (("steps", steps), ("max_steps", max_steps)):
            if value is not None and value <= 0:
                raise ValueError(f"Must specify {name} > 0, given: {value}")
        if max_steps is not None and max_steps <= _load_global_step_from_checkpoint_dir(self._model_dir):
            logging.info("Skipping training since max_steps has already saved.")
            return self
        hooks = [*_check_hooks_type(hooks), *self._convert_train_steps_to_hooks(steps, max_steps)]
        loss = self._train_model(input_fn, hooks, _check_listeners_type(saving_listeners))
        logging.info("Loss for final step: %s.", loss)
        return self

    def _convert_train_steps_to_hooks(self, steps: int | None, max_steps: int | None) -> list:
        return [] if steps is None and max_steps is None else [StopAtStepHook(steps, max_steps)]

    def evaluate(
        self, input_fn: Callable, steps: int | None = None, hooks: Any = None, checkpoint_path: str | None = None,
        name: str | None = None,
    ) -> dict[str, Any]:  # fmt: skip
        """Evaluates a checkpoint.

        Args:
          input_fn: as for `train`.
          steps: how many batches; by default until the input ends.
          hooks: SessionRunHooks.
          checkpoint_path: the checkpoint, by default the latest; with none, variables have their initial values.
          name: names the folder of the summaries.

        Returns:
          dict of the metrics by name, with "loss" and "global_step".

        Raises:
          ValueError: `steps` is not positive, or a metric has a name that is taken. TypeError: a hook of another type.
        """
        return self._actual_eval(input_fn, self._eval_distribution, steps, hooks, checkpoint_path, name)

    def predict(
        self, input_fn: Callable, predict_keys: Any = None, hooks: Any = None, checkpoint_path: str | None = None,
        yield_single_examples: bool = True,
    ) -> Iterator[Any]:  # fmt: skip
        """Yields the predictions for the examples that an input function gives.

        Args:
          input_fn: as for `train`; labels are left out.
          predict_keys: the keys of the predictions to compute, by default all.
          hooks: SessionRunHooks.
          checkpoint_path: the checkpoint, by default the latest; with none, variables have their initial values.
          yield_single_examples: whether batches are taken apart.

        Raises:
          ValueError: unknown keys, or predictions of different lengths. TypeError: a hook of another type.
        """
        hooks = _check_hooks_type(hooks)
        checkpoint_path = checkpoint_path or latest_checkpoint(self._model_dir)
        if not checkpoint_path:
            logging.info(
                f"Could not find trained model in model_dir: {self._model_dir}, running initialization to predict."
            )
        with Graph().as_default() as graph:
            set_random_seed(self._config.tf_random_seed)
            self._create_and_assert_global_step(graph)
            features, input_hooks = self._get_features_from_input_fn(input_fn, ModeKeys.PREDICT)
            spec = self._call_model_fn(features, None, ModeKeys.PREDICT, self.config)
            self._maybe_warm_start(checkpoint_path)
            predictions = self._extract_keys(spec.predictions, predict_keys)
            creator = ChiefSessionCreator(
                checkpoint_filename_with_path=checkpoint_path, master=self._config.master, scaffold=spec.scaffold,
                config=self._session_config,
            )  # fmt: skip
            all_hooks = [*input_hooks, *hooks, *(spec.prediction_hooks or ())]
            with MonitoredSession(session_creator=creator, hooks=all_hooks) as session:
                while not session.should_stop():
                    batch = session.run(predictions)
                    if not yield_single_examples:
                        yield batch
                    elif isinstance(predictions, dict):
                        for i in range(self._extract_batch_length(batch)):
                            yield {key: value[i] for key, value in batch.items()}
                    else:
                        yield from batch

    def export_saved_model(
        self, export_dir_base: object, serving_input_receiver_fn: Callable, assets_extra: dict[str, str] | None = None,
        as_text: bool = False, checkpoint_path: str | None = None, experimental_mode: str = ModeKeys.PREDICT,
    ) -> bytes:  # fmt: skip
        """Writes a checkpoint and the model's graph as a SavedModel.

        Args:
          export_dir_base: the folder in which a folder called by the time is made.
          serving_input_receiver_fn: function that gives a ServingInputReceiver.
          assets_extra: paths of files to copy, by their path below "assets.extra".
          as_text: write the text form.
          checkpoint_path: the checkpoint, by default the latest.
          experimental_mode: what the graph is for, one of ModeKeys.

        Returns:
          the path of the folder.

        Raises:
          ValueError: no function or no checkpoint, or the checkpoint lacks a variable.
        """
        receiver_fns = _receiver_fns(experimental_mode, serving_input_receiver_fn)
        return self._export_all_saved_models(export_dir_base, receiver_fns, assets_extra, as_text, checkpoint_path)

    def experimental_export_all_saved_models(
        self, export_dir_base: object, input_receiver_fn_map: dict[str, Callable],
        assets_extra: dict[str, str] | None = None, as_text: bool = False, checkpoint_path: str | None = None,
    ) -> bytes:  # fmt: skip
        """`export_saved_model` with a graph for each mode of a dict of functions by ModeKeys."""
        return self._export_all_saved_models(
            export_dir_base, input_receiver_fn_map, assets_extra, as_text, checkpoint_path
        )

    def export_savedmodel(
        self, export_dir_base: Any, serving_input_receiver_fn: Callable, assets_extra: dict[str, str] | None = None,
        as_text: bool = False, checkpoint_path: str | None = None, strip_default_attrs: bool = False,
    ) -> bytes:  # fmt: skip
        """Deprecated: `export_saved_model`, which always leaves out attributes with default values."""
        receiver_fns = _receiver_fns(ModeKeys.PREDICT, serving_input_receiver_fn)
        return self._export_all_saved_models(
            export_dir_base, receiver_fns, assets_extra, as_text, checkpoint_path, strip_default_attrs
        )

    # ---- steps that subclasses of the framework change ----

    def _assert_members_are_not_overridden(self) -> None:
        _assert_members_are_not_overridden(Estimator, self)

    def _create_global_step(self, graph: Graph) -> Any:
        return training_util.create_global_step(graph)

    def _create_and_assert_global_step(self, graph: Graph) -> Any:
        """The global step that `_create_global_step` makes, checked to be that of the default graph."""
        step = self._create_global_step(graph)
        if step is not training_util.get_global_step() or not step.dtype.is_integer:
            raise AssertionError(
                f"_create_global_step made {step}, which is not the integer global step of the default graph."
            )
        return step

    def _call_input_fn(self, input_fn: Callable, mode: str, input_context: Any = None) -> Any:
        """What an input function gives, on the CPU."""
        known = {"mode": mode, "params": self.params, "config": self.config}
        if input_context is not None and "input_context" in util.fn_args(input_fn):
            logging.info("The `input_fn` accepts an `input_context` which will be given by DistributionStrategy")
            known["input_context"] = input_context
        with device("/cpu:0"):
            return util.call_with_known(input_fn, **known)

    def _call_model_fn(self, features: object, labels: object, mode: str, config: RunConfig) -> EstimatorSpec:
        """The EstimatorSpec of the model; ValueError where the function gives another thing."""
        known = {"features": features, "mode": mode, "params": self.params, "config": config}
        if "labels" in util.fn_args(self._model_fn):
            known["labels"] = labels
        elif labels is not None:
            raise ValueError("model_fn does not take labels, but input_fn returns labels.")
        logging.info("Calling model_fn.")
        spec = util.call_with_known(self._model_fn, **known)
        logging.info("Done calling model_fn.")
        if not isinstance(spec, EstimatorSpec):
            raise ValueError("model_fn should return an EstimatorSpec.")
        return spec

    def _get_features_from_input_fn(self, input_fn: Callable, mode: str) -> tuple[Any, list]:
        features, _, hooks = util.parse_input_fn_result(self._call_input_fn(input_fn, mode))
        self._validate_features_in_predict_input(features)
        return features, hooks

    def _validate_features_in_predict_input(self, result: Any) -> None:
        if not _has_dataset_or_queue_runner(result):
            logging.warning(
                "Input graph does not use tf.data.Dataset or contain a QueueRunner. That means predict yields "
                "forever. This is probably a mistake."
            )

    def _get_features_and_labels_from_input_fn(self, input_fn: Callable, mode: str) -> tuple[Any, Any, list]:
        return util.parse_input_fn_result(self._call_input_fn(input_fn, mode))

    def _get_iterator_from_input_fn(self, input_fn: Callable, mode: str, distribution: Any = None) -> tuple[Any, list]:
        """The iterator over an input, and the hooks that start it."""
        if distribution is None:
            iterator = self._call_input_fn(input_fn, mode).make_initializable_iterator()
            return iterator, [util._DatasetInitializerHook(iterator)]
        iterator = distribution.make_input_fn_iterator(lambda context: self._call_input_fn(input_fn, mode, context))
        return iterator, [util.DistributedIteratorInitializerHook(iterator)]

    def _extract_batch_length(self, preds_evaluated: dict[str, Any]) -> int:
        length = None
        for key, value in preds_evaluated.items():
            length = length or value.shape[0]
            if value.shape[0] != length:
                raise ValueError(
                    f"Batch length of predictions should be same. {key} has different batch length than others."
                )
        return length

    def _extract_keys(self, predictions: Any, predict_keys: Any) -> Any:
        if not predict_keys:
            return predictions
        if not isinstance(predictions, dict):
            raise ValueError("predict_keys argument is not valid in case of non-dict predictions.")
        found = {key: value for key, value in predictions.items() if key in predict_keys}
        if not found:
            raise ValueError(f"Expected to run at least one output from {predictions.keys()}, provided {predict_keys}.")
        return found


@export("compat.v2.estimator.Estimator")
class EstimatorV2(Estimator):
    """The Estimator of the second API, without `export_savedmodel`; arguments are those of Estimator."""

    @property
    def export_savedmodel(self) -> Any:  # type: ignore[override]
        raise AttributeError(
            "`Estimator.export_savedmodel` has been deprecated. Please use `export_saved_model` instead."
        )

    def _assert_members_are_not_overridden(self) -> None:
        _assert_members_are_not_overridden(EstimatorV2, self)


def _assert_members_are_not_overridden(cls: type, obj: object) -> None:
    """Raises ValueError where the class of `obj` overrides a member of `cls`."""
    kind = type(obj)
    if kind.__name__ == "TPUEstimator":
        return
    members = {name for name in dir(cls) if not name.startswith("__")}
    common = (members & set(vars(kind))) - _ALLOWED_OVERRIDES
    overridden = [name for name in common if getattr(cls, name) != getattr(kind, name)]
    if overridden:
        raise ValueError(
            f"Subclasses of Estimator cannot override members of Estimator. {kind} does override {overridden}"
        )


def maybe_overwrite_model_dir_and_session_config(config: object, model_dir: Any) -> RunConfig:
    """A RunConfig with a folder and the ConfigProto of sessions.

    Args:
      config: a RunConfig, or None.
      model_dir: the folder; by default that of `config`, or a temporary one.

    Raises:
      ValueError: `config` is of another type, or has another folder.
    """
    if config is None:
        config = RunConfig()
        logging.info("Using default config.")
    if not isinstance(config, RunConfig):
        raise ValueError(f"config must be an instance of `RunConfig`, but provided {config}.")
    if config.session_config is None:
        config = RunConfig.replace(config, session_config=run_config.get_default_session_config())
    model_dir = None if model_dir is None else os.fspath(model_dir)
    if model_dir is not None and config.model_dir is not None and config.model_dir != model_dir:
        raise ValueError(
            "`model_dir` are set both in constructor and `RunConfig`, but with different values. In constructor: "
            f"'{model_dir}', in `RunConfig`: '{config.model_dir}' "
        )
    if model_dir:
        return RunConfig.replace(config, model_dir=model_dir)
    if config.model_dir is None:
        model_dir = tempfile.mkdtemp()
        logging.warning("Using temporary folder as model directory: %s", model_dir)
        return RunConfig.replace(config, model_dir=model_dir)
    return config


def _check_checkpoint_available(model_dir: str) -> None:
    if not latest_checkpoint(model_dir):
        raise ValueError(f"Could not find trained model in model_dir: {model_dir}.")


def _check_listeners_type(saving_listeners: Any) -> list[CheckpointSaverListener]:
    listeners = list(saving_listeners or ())
    for listener in listeners:
        if not isinstance(listener, CheckpointSaverListener):
            raise TypeError(f"saving_listeners must be a list of CheckpointSaverListener, given: {listener}")
    return listeners


def _get_replica_device_setter(config: RunConfig) -> Callable | None:
    """Where the operations of a model are, in a cluster with parameter servers; None elsewhere."""
    if config.num_ps_replicas <= 0:
        return None
    worker = f"/job:{config.task_type}/task:{config.task_id}" if config.task_type else "/job:worker"
    return device_setter.replica_device_setter(
        ps_tasks=config.num_ps_replicas, worker_device=worker, merge_devices=True,
        ps_ops=list(device_setter.STANDARD_PS_OPS), cluster=config.cluster_spec,
    )  # fmt: skip


def _load_global_step_from_checkpoint_dir(checkpoint_dir: str) -> int:
    """The global step of the latest checkpoint, 0 where there is none."""
    path = latest_checkpoint(checkpoint_dir)
    if not path:
        return 0
    try:
        return NewCheckpointReader(path).get_tensor(GraphKeys.GLOBAL_STEP)
    except (errors.OpError, ValueError):
        return 0


def _receiver_fns(mode: str, receiver_fn: Callable | None) -> dict[str, Callable]:
    if not receiver_fn:
        raise ValueError("An input_receiver_fn must be defined.")
    return {mode: receiver_fn}


def _has_dataset_or_queue_runner(features: object) -> bool:
    """Whether an input ends by itself: it comes from an iterator, or the graph has queue runners."""
    tensors = [value for value in nest.flatten(features) if isinstance(value, Tensor)]
    if any(tensor.op.type == "IteratorGetNext" for tensor in tensors):
        return True
    return bool(get_default_graph().get_collection(GraphKeys.QUEUE_RUNNERS))
