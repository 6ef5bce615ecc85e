"""tf.contrib.learn.Estimator: trains, evaluates and exports the model of a function."""

from __future__ import annotations

import abc
import copy
import os
import tempfile
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

from tfcompat._src.base.export import export
from tfcompat._src.base.graph_collections import GraphKeys
from tfcompat._src.contrib.learn import estimator_runs, saved_model_export_utils
from tfcompat._src.contrib.learn.data_feeder import setup_train_data_feeder
from tfcompat._src.contrib.learn.export import _export_estimator
from tfcompat._src.contrib.learn.interfaces import Evaluable, Trainable
from tfcompat._src.contrib.learn.keys import COLLECTION_DEF_KEY_FOR_INPUT_FEATURE_KEYS, MetricKey
from tfcompat._src.contrib.learn.metric_spec import MetricSpec
from tfcompat._src.contrib.learn.model_fn import ModeKeys, ModelFnOps
from tfcompat._src.contrib.learn.monitors import replace_monitors_with_hooks
from tfcompat._src.contrib.learn.run_config import RunConfig
from tfcompat._src.contrib.learn.sklearn import BaseSklearnEstimator, NotFittedError
from tfcompat._src.contrib.learn.tensor_signature import (
    create_example_parser_from_signatures,
    create_placeholders_from_signatures,
    create_signatures,
    tensors_compatible,
)  # fmt: skip
from tfcompat._src.estimator.estimator import _get_replica_device_setter
from tfcompat._src.estimator.evaluation_results import _write_dict_to_summary
from tfcompat._src.estimator.util import fn_args
from tfcompat._src.graph.graph import Graph
from tfcompat._src.graph.scopes import add_to_collection
from tfcompat._src.graph.tensor_like import is_dense_tensor_like
from tfcompat._src.metrics.mean import mean
from tfcompat._src.ops.random.seeds import set_random_seed
from tfcompat._src.platform import file_io, logging
from tfcompat._src.proto.messages import ConfigProto
from tfcompat._src.saved_model import tag_constants
from tfcompat._src.train.basic_session_run_hooks import StopAtStepHook
from tfcompat._src.train.checkpoint_management import latest_checkpoint
from tfcompat._src.train.checkpoint_utils import list_variables, load_variable
from tfcompat._src.variables.training_util import create_global_step

if TYPE_CHECKING:
    from typing import Self

    from tfcompat._src.base.arrays import TensorLike


def check_input_arguments(x: object, y: object, input_fn: object, feed_fn: object, batch_size: object) -> None:
    """ValueError where not exactly one of `x` and `input_fn` is given, or what belongs to the other."""
    if input_fn is not None:
        if x is not None or y is not None:
            raise ValueError("Can not provide both input_fn and x or y.")
        if batch_size is not None:
            raise ValueError("Can not provide both input_fn and batch_size.")
        return
    if x is None:
        raise ValueError("Either x or input_fn must be provided.")
    if is_dense_tensor_like(x) or (y is not None and is_dense_tensor_like(y)):
        raise ValueError("Inputs cannot be tensors. Please provide input_fn.")
    if feed_fn is not None:
        raise ValueError("Can not provide both feed_fn and x or y.")


def _get_input_fn(
    x: Any, y: Any, input_fn: Any, feed_fn: Any, batch_size: Any, shuffle: bool = False, epochs: int | None = 1
) -> tuple[Callable, Callable | None]:
    """An input function and what feeds it, from arrays or an input function."""
    check_input_arguments(x, y, input_fn, feed_fn, batch_size)
    if input_fn is not None:
        return input_fn, feed_fn
    feeder = setup_train_data_feeder(x, y, n_classes=None, batch_size=batch_size, shuffle=shuffle, epochs=epochs)
    return feeder.input_builder, feeder.get_feed_dict_fn()


@export("contrib.learn.infer_real_valued_columns_from_input_fn")
def infer_real_valued_columns_from_input_fn(input_fn: Callable) -> list[Any]:
    """A column for each feature, with the feature's size and type."""
    with Graph().as_default():
        features, _ = input_fn()
        return estimator_runs.infer_real_valued_columns(features)


@export("contrib.learn.infer_real_valued_columns_from_input")
def infer_real_valued_columns_from_input(x: object) -> list[Any]:
    """A column for each feature of an array or dict of arrays."""
    input_fn, _ = _get_input_fn(x=x, y=None, input_fn=None, feed_fn=None, batch_size=None)
    return infer_real_valued_columns_from_input_fn(input_fn)


def make_metrics_ops(metrics: Any, features: Any, labels: Any, predictions: Any) -> dict[str, Any]:
    """The (value, update operation) of metrics: MetricSpecs, or functions of predictions and labels by name or (name, key)."""
    only_label = next(iter(labels.values())) if isinstance(labels, dict) and len(labels) == 1 else labels
    found = {}
    for name, metric in sorted((metrics or {}).items(), key=lambda item: str(item[0])):
        if isinstance(metric, MetricSpec):
            found[name] = metric.create_metric_ops(features, labels, predictions)
            continue
        logging.warning("Please specify metrics using MetricSpec. Using bare functions or (key, fn) tuples is deprecated.")
        if not isinstance(name, tuple):
            if isinstance(predictions, dict):
                raise ValueError(
                    "Metrics passed provide only name, no prediction, but predictions are dict. "
                    f"Metrics: {metrics}, Labels: {only_label}."
                )
            found[name] = metric(predictions, only_label)
            continue
        if len(name) != 2:
            raise ValueError(f"Invalid metric for {name}. It returned a tuple with len {len(name)}, expected 2.")
        if not isinstance(predictions, dict):
            raise ValueError(
                "Metrics passed provide (name, prediction), but predictions are not dict. "
                f"Metrics: {metrics}, Predictions: {predictions}."
            )
        label = labels[name[1]] if isinstance(labels, dict) and name[1] in labels else only_label
        found[name[0]] = metric(predictions[name[1]], label)
    return found


class GraphRewriteSpec(NamedTuple):
    """Tags of a graph in a SavedModel, and the transformations that make it."""

    tags: Any
    transforms: Any


_SERVING_ONLY = (GraphRewriteSpec((tag_constants.SERVING,), ()),)


@export("contrib.learn.BaseEstimator")
class BaseEstimator(BaseSklearnEstimator, Evaluable, Trainable):
    """What estimators of contrib.learn have in common; subclasses give the operations of a mode.

    Args:
      model_dir: folder of the model; by default one in the folder for temporary files.
      config: a RunConfig.

    Raises:
      ValueError: `config` has another folder.
    """

    _Config = RunConfig

    def __init__(self, model_dir: str | None = None, config: Any = None) -> None:
        if config is None:
            config = BaseEstimator._Config()
            logging.info("Using default config.")
        self._session_config = config.session_config or ConfigProto(allow_soft_placement=True)
        if model_dir is not None and config.model_dir not in (None, model_dir):
            raise ValueError(
                "model_dir are set both in constructor and RunConfig, but with different values. "
                f"In constructor: '{model_dir}', in RunConfig: '{config.model_dir}' "
            )
        self._model_dir = model_dir or config.model_dir
        if self._model_dir is None:
            self._model_dir = tempfile.mkdtemp()
            logging.warning("Using temporary folder as model directory: %s", self._model_dir)
        self._config = config.replace(model_dir=self._model_dir) if config.model_dir is None else config
        logging.info("Using config: %s", str(vars(self._config)))
        self._device_fn = _get_replica_device_setter(self._config)
        self._features_info = self._labels_info = self._graph = None

    @property
    def config(self) -> Any:
        """A copy of the RunConfig."""
        return copy.deepcopy(self._config)

    @property
    def model_fn(self) -> Callable:
        """The model function, of `features`, `labels`, `mode` and `config`."""

        def public_model_fn(features: object, labels: object, mode: str, config: object) -> ModelFnOps:
            return self._call_model_fn(features, labels, mode, config=config)

        return public_model_fn

    @property
    def model_dir(self) -> str:
        return self._model_dir

    def fit(
        self, x: object = None, y: object = None, input_fn: Any = None, steps: int | None = None, batch_size: int | None = None,
        monitors: Any = None, max_steps: int | None = None,
    ) -> Self:  # fmt: skip
        """Trains the model; arguments as Trainable.fit.

        Raises:
          ValueError: both of `steps` and `max_steps` are given, or not exactly one of `x` and `input_fn`.
        """
        if steps is not None and max_steps is not None:
            raise ValueError("Can not provide both steps and max_steps.")
        check_input_arguments(x, y, input_fn, None, batch_size)
        if x is not None:
            SKCompat(self).fit(x, y, batch_size, steps, max_steps, monitors)
            return self
        if max_steps is not None and latest_checkpoint(self._model_dir):
            if max_steps <= load_variable(self._model_dir, GraphKeys.GLOBAL_STEP):
                logging.info("Skipping training since max_steps has already saved.")
                return self
        hooks = replace_monitors_with_hooks(monitors, self)
        if steps is not None or max_steps is not None:
            hooks.append(StopAtStepHook(steps, max_steps))
        loss = self._train_model(input_fn=input_fn, hooks=hooks)
        logging.info("Loss for final step: %s.", loss)
        return self

    def partial_fit(
        self, x: object = None, y: object = None, input_fn: object = None, steps: int = 1, batch_size: int | None = None,
        monitors: object = None,
    ) -> Self:  # fmt: skip
        """Trains the model further; arguments as fit."""
        logging.warning(
            "The current implementation of partial_fit is not optimized for use in a loop. Consider using fit() instead."
        )
        return self.fit(x=x, y=y, input_fn=input_fn, steps=steps, batch_size=batch_size, monitors=monitors)

    def evaluate(
        self, x: Any = None, y: Any = None, input_fn: Any = None, feed_fn: Any = None, batch_size: int | None = None,
        steps: int | None = None, metrics: Any = None, name: str | None = None, checkpoint_path: str | None = None,
        hooks: Any = None, log_progress: bool = True,
    ) -> Any:  # fmt: skip
        """The metrics of the model, with the global step; arguments as Evaluable.evaluate.

        Raises:
          ValueError: inputs or metrics of another kind. NotFittedError: there is no checkpoint.
        """
        check_input_arguments(x, y, input_fn, feed_fn, batch_size)
        if x is not None:
            return SKCompat(self).score(x, y, batch_size, steps, metrics, name)
        if metrics is not None and not isinstance(metrics, dict):
            raise ValueError(f"Metrics argument should be None or dict. Got {metrics}.")
        results, global_step = self._evaluate_model(
            input_fn=input_fn, feed_fn=feed_fn, steps=steps, metrics=metrics, name=name,
            checkpoint_path=checkpoint_path, hooks=hooks, log_progress=log_progress,
        )  # fmt: skip
        return results if results is None else {**results, "global_step": global_step}

    def predict(
        self, x: Any = None, input_fn: Any = None, batch_size: int | None = None, outputs: Any = None,
        as_iterable: bool = True, iterate_batches: bool = False,
    ) -> Any:  # fmt: skip
        """The predictions of the model.

        Args:
          x: features as an array or iterator.
          input_fn: function that gives features, instead.
          batch_size: examples in a batch of `x`.
          outputs: keys of the predictions that are wanted.
          as_iterable: whether an iterator of examples is given, or one batch.
          iterate_batches: whether the iterator gives batches.

        Raises:
          ValueError: inputs or outputs of another kind. NotFittedError: there is no checkpoint.
        """
        check_input_arguments(x, None, input_fn, None, batch_size)
        if x is not None and not as_iterable:
            return SKCompat(self).predict(x, batch_size)
        input_fn, feed_fn = _get_input_fn(x, None, input_fn, None, batch_size)
        return self._infer_model(
            input_fn=input_fn, feed_fn=feed_fn, outputs=outputs, as_iterable=as_iterable, iterate_batches=iterate_batches
        )

    def get_variable_value(self, name: str) -> Any:
        """The value of a variable in the latest checkpoint."""
        return load_variable(self.model_dir, name)

    def get_variable_names(self) -> list[str]:
        """The names of the variables in the latest checkpoint."""
        return [name for name, _ in list_variables(self.model_dir)]

    def export(
        self, export_dir: str, input_fn: Any = None, input_feature_key: str | None = None,
        use_deprecated_input_fn: bool = True, signature_fn: Any = None, prediction_key: str | None = None,
        default_batch_size: int | None = 1, exports_to_keep: int | None = None, checkpoint_path: str | None = None,
    ) -> Any:  # fmt: skip
        """Exports the model in the format of the time before SavedModels.

        Args:
          export_dir: folder of all versions.
          input_fn: function of the estimator and a string Tensor of serialized Examples that gives features; without
            `use_deprecated_input_fn` a function without arguments that gives (features, labels).
          input_feature_key: key of the serialized Examples in features, without `use_deprecated_input_fn`.
          use_deprecated_input_fn: see `input_fn`.
          signature_fn: function of examples, features and predictions that gives (Signature message, dict of them).
          prediction_key: key of the prediction that `signature_fn` gets; by default all.
          default_batch_size: size of the batch that is served, None: any.
          exports_to_keep: how many of the latest versions are kept; by default all.
          checkpoint_path: checkpoint; by default the latest.

        Returns:
          the folder of the version, bytes.

        Raises:
          ValueError: `input_fn` is missing, or gives neither features nor examples. RuntimeError: the folder is there.
        """
        return _export_estimator(
            self, export_dir, signature_fn=signature_fn, prediction_key=prediction_key, input_fn=input_fn,
            input_feature_key=input_feature_key, use_deprecated_input_fn=use_deprecated_input_fn,
            default_batch_size=default_batch_size, exports_to_keep=exports_to_keep, checkpoint_path=checkpoint_path,
        )  # fmt: skip

    def _call_model_fn(
        self, features: Any, labels: Any, mode: str, metrics: Any = None, config: Any = None
    ) -> ModelFnOps:
        raise NotImplementedError("_call_model_fn not implemented in BaseEstimator")

    @abc.abstractmethod
    def _get_train_ops(self, features: Any, labels: Any) -> ModelFnOps:
        """The model for training."""

    @abc.abstractmethod
    def _get_predict_ops(self, features: Any) -> ModelFnOps:
        """The model for prediction."""

    def _get_eval_ops(self, features: Any, labels: Any, metrics: Any) -> ModelFnOps:
        raise NotImplementedError("_get_eval_ops not implemented in BaseEstimator")

    def _get_feature_ops_from_example(self, examples_batch: TensorLike) -> Any:
        if self._features_info is None:
            raise ValueError("Features information missing, was fit() ever called?")
        return create_example_parser_from_signatures(self._features_info, examples_batch)

    def _check_inputs(self, features: object, labels: object) -> None:
        """Remembers what inputs are like; ValueError where they are not as before."""
        if self._features_info is None:
            self._features_info = create_signatures(features)
        elif not tensors_compatible(features, self._features_info):
            raise ValueError(
                f"Features are incompatible with given information. Given features: {features}, "
                f"required signatures: {self._features_info}."
            )
        if labels is None:
            return
        if self._labels_info is None:
            self._labels_info = create_signatures(labels)
        elif not tensors_compatible(labels, self._labels_info):
            raise ValueError(
                f"Labels are incompatible with given information. Given labels: {labels}, "
                f"required signatures: {self._labels_info}."
            )

    def _checkpoint(self) -> str:
        path = latest_checkpoint(self._model_dir)
        if not path:
            raise NotFittedError(f"Couldn't find trained model at {self._model_dir}.")
        return path

    def _evaluate_model(
        self, input_fn: Callable, steps: int | None, feed_fn: object = None, metrics: object = None, name: str | None = "",
        checkpoint_path: str | None = None, hooks: object = None, log_progress: bool = True,
    ) -> tuple[Any, Any]:  # fmt: skip
        if getattr(self._config, "execution_mode", "all") not in ("all", "evaluate", "eval_evalset"):
            return None, None
        checkpoint_path = checkpoint_path or self._checkpoint()
        with Graph().as_default() as graph:
            set_random_seed(self._config.tf_random_seed)
            global_step = create_global_step(graph)
            features, labels = input_fn()
            self._check_inputs(features, labels)
            ops = self._get_eval_ops(features, labels, metrics)
            results, step = estimator_runs.evaluated(
                ops, global_step, checkpoint_path, steps, feed_fn, hooks, log_progress, self._config, self._session_config
            )
            _write_dict_to_summary(os.path.join(self._model_dir, f"eval_{name}" if name else "eval"), results, step)
        return results, step

    def _infer_model(
        self, input_fn: Callable, feed_fn: Any = None, outputs: object = None, as_iterable: bool = True,
        iterate_batches: bool = False,
    ) -> Any:  # fmt: skip
        checkpoint_path = self._checkpoint()
        with Graph().as_default() as graph:
            set_random_seed(self._config.tf_random_seed)
            create_global_step(graph)
            result = input_fn()
            ops = self._get_predict_ops(result[0] if isinstance(result, (list, tuple)) else result)
            predictions = estimator_runs.filtered(ops.predictions, outputs)
            session = estimator_runs.prediction_session(checkpoint_path, ops.scaffold, self._session_config)
            if as_iterable:
                return self._predict_generator(session, predictions, feed_fn, iterate_batches)
            with session:
                return None if session.should_stop() else session.run(predictions, feed_fn() if feed_fn else None)

    def _predict_generator(
        self, mon_sess: Any, predictions: Any, feed_fn: Any, iterate_batches: bool
    ) -> Iterator[Any]:
        return estimator_runs.predictions_of(mon_sess, predictions, feed_fn, iterate_batches, self._is_input_constant)

    def _is_input_constant(self, feed_fn: object, graph: Graph) -> bool:
        """Whether each run gives the same batch."""
        return not graph.get_collection(GraphKeys.QUEUE_RUNNERS) and feed_fn is None

    def _train_model(self, input_fn: Callable, hooks: list[Any]) -> Any:
        self._graph = Graph()
        with self._graph.as_default() as graph, graph.device(self._device_fn):
            set_random_seed(self._config.tf_random_seed)
            global_step = create_global_step(graph)
            features, labels = input_fn()
            self._check_inputs(features, labels)
            estimator_runs.read_global_step()
            ops = self._get_train_ops(features, labels)
            return estimator_runs.trained(ops, global_step, hooks, self._model_dir, self._config, self._session_config)


@export("contrib.learn.Estimator")
class Estimator(BaseEstimator):
    """Trains, evaluates and exports the model of a function.

    Args:
      model_fn: function of features, labels and any of `mode`, `params`, `config`, `model_dir`, that gives a ModelFnOps or
        (predictions, loss, training operation).
      model_dir: folder of the model.
      config: a RunConfig.
      params: passed on to `model_fn`.
      feature_engineering_fn: function of features and labels that gives both, before `model_fn`.

    Raises:
      ValueError: there are `params` and `model_fn` does not take them.
    """

    def __init__(self, model_fn=None, model_dir=None, config=None, params=None, feature_engineering_fn=None) -> None:
        super().__init__(model_dir=model_dir, config=config)
        names = fn_args(model_fn) if model_fn is not None else ("params",)
        if params is not None and "params" not in names:
            raise ValueError(
                f"Estimator's model_fn ({model_fn}) does not have a params argument, "
                f"but params ({params}) were passed to the Estimator's constructor."
            )
        if model_fn is not None and params is None and "params" in names:
            logging.warning(
                "Estimator's model_fn (%s) includes params argument, but params are not passed to Estimator.", model_fn
            )
        self._model_fn, self.params = model_fn, params
        self._feature_engineering_fn = feature_engineering_fn or (lambda features, labels: (features, labels))

    def _call_model_fn(
        self, features: object, labels: object, mode: str, metrics: object = None, config: object = None
    ) -> ModelFnOps:
        features, labels = self._feature_engineering_fn(features, labels)
        known = {
            "mode": mode, "params": self.params, "config": config or self.config, "model_dir": self.model_dir,
        }  # fmt: skip
        names = fn_args(self._model_fn)
        ops = self._model_fn(features, labels, **{key: value for key, value in known.items() if key in names})
        if not isinstance(ops, ModelFnOps):
            if len(ops) != 3:
                raise ValueError("Unrecognized value returned by model_fn, please return ModelFnOps.")
            ops = ModelFnOps(mode=mode, predictions=ops[0], loss=ops[1], train_op=ops[2])
        if metrics:
            ops.eval_metric_ops.update(make_metrics_ops(metrics, features, labels, ops.predictions))
        return ops

    def _get_train_ops(self, features: object, labels: object) -> ModelFnOps:
        return self._call_model_fn(features, labels, ModeKeys.TRAIN)

    def _get_eval_ops(self, features: object, labels: object, metrics: object) -> ModelFnOps:
        ops = self._call_model_fn(features, labels, ModeKeys.EVAL, metrics)
        if MetricKey.LOSS not in ops.eval_metric_ops:
            ops.eval_metric_ops[MetricKey.LOSS] = mean(ops.loss)
        return ops

    def _get_predict_ops(self, features: object) -> ModelFnOps:
        labels = create_placeholders_from_signatures(self._labels_info)
        return self._call_model_fn(features, labels, ModeKeys.INFER)

    def export_savedmodel(
        self, export_dir_base, serving_input_fn, default_output_alternative_key=None, assets_extra=None, as_text=False,
        checkpoint_path=None, graph_rewrite_specs=_SERVING_ONLY,
        strip_default_attrs=False,
    ) -> bytes:  # fmt: skip
        """Exports a SavedModel.

        Args:
          export_dir_base: folder in which the export's folder is made.
          serving_input_fn: function that gives an InputFnOps.
          default_output_alternative_key: which output is the default signature.
          assets_extra: dict of files to copy, source by path in assets.extra.
          as_text: whether the model is written as text.
          checkpoint_path: checkpoint; by default the latest.
          graph_rewrite_specs: tags of the graph; transformed graphs are not done here.
          strip_default_attrs: whether attributes with default values are left out.

        Returns:
          the export's folder.

        Raises:
          ValueError: there is no input function. NotFittedError: there is no checkpoint. NotImplementedError: graphs are to
            be transformed.
        """
        if serving_input_fn is None:
            raise ValueError("serving_input_fn must be defined.")
        if not graph_rewrite_specs or graph_rewrite_specs[0].transforms:
            raise ValueError("The first element of graph_rewrite_specs must specify no transforms.")
        if graph_rewrite_specs[1:]:
            raise NotImplementedError("export_savedmodel: graph_rewrite_specs with transforms")
        checkpoint_path = checkpoint_path or self._checkpoint()
        export_dir = saved_model_export_utils.get_timestamped_export_dir(export_dir_base)
        temporary = saved_model_export_utils.get_temp_export_dir(export_dir)
        with Graph().as_default() as graph:
            create_global_step(graph)
            input_ops = serving_input_fn()
            inputs, features = saved_model_export_utils.get_input_alternatives(input_ops)
            for key in input_ops.features:
                add_to_collection(COLLECTION_DEF_KEY_FOR_INPUT_FEATURE_KEYS, key)
            ops = self._call_model_fn(features, None, ModeKeys.INFER)
            outputs, default = saved_model_export_utils.get_output_alternatives(ops, default_output_alternative_key)
            signatures = saved_model_export_utils.build_all_signature_defs(inputs, outputs, default)
            estimator_runs.write_saved_model(
                temporary, ops, checkpoint_path, signatures, graph_rewrite_specs[0].tags, as_text, strip_default_attrs
            )
        estimator_runs.copy_assets(temporary, assets_extra)
        file_io.rename(temporary, export_dir)
        return export_dir


@export("contrib.learn.SKCompat")
class SKCompat(BaseSklearnEstimator):
    """An estimator with the interface of scikit-learn: `fit`, `score` and `predict` take arrays.

    Args:
      estimator: the estimator.
    """

    def __init__(self, estimator: BaseEstimator) -> None:
        self._estimator = estimator

    def fit(self, x, y, batch_size=128, steps=None, max_steps=None, monitors=None) -> SKCompat:
        """Trains on shuffled arrays; arguments as Trainable.fit."""
        input_fn, feed_fn = _get_input_fn(x, y, None, None, batch_size=batch_size, shuffle=True, epochs=None)
        all_monitors = [*estimator_runs.feeding(feed_fn), *(monitors or ())]
        self._estimator.fit(input_fn=input_fn, steps=steps, max_steps=max_steps, monitors=all_monitors)
        return self

    def score(self, x, y, batch_size=128, steps=None, metrics=None, name=None) -> Any:
        """The metrics on arrays; arguments as Evaluable.evaluate."""
        input_fn, feed_fn = _get_input_fn(x, y, None, None, batch_size=batch_size, shuffle=False, epochs=1)
        if metrics is not None and not isinstance(metrics, dict):
            raise ValueError(f"Metrics argument should be None or dict. Got {metrics}.")
        results, global_step = self._estimator._evaluate_model(
            input_fn=input_fn, feed_fn=feed_fn, steps=steps, metrics=metrics, name=name
        )
        return results if results is None else {**results, "global_step": global_step}

    def predict(self, x, batch_size=128, outputs=None) -> Any:
        """The predictions for an array, [examples, ...] or a dict of them."""
        input_fn, feed_fn = _get_input_fn(x, None, None, None, batch_size=batch_size, shuffle=False, epochs=1)
        batches = self._estimator._infer_model(
            input_fn=input_fn, feed_fn=feed_fn, outputs=outputs, as_iterable=True, iterate_batches=True
        )
        return estimator_runs.joined(list(batches))
