"""tf.contrib.tpu.TPUEstimator, on the CPU (`use_tpu=False`)."""

from __future__ import annotations

import contextlib
import copy
import enum
import math
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from tfcompat._src.base import dtypes
from tfcompat._src.base.export import export
from tfcompat._src.base.graph_collections import GraphKeys
from tfcompat._src.estimator.estimator import Estimator
from tfcompat._src.estimator.model_fn import EstimatorSpec, _TPUEstimatorSpec, verify_model_fn_args
from tfcompat._src.estimator.tpu import tpu_config, tpu_context, util
from tfcompat._src.estimator.tpu.host_call import ExamplesPerSecondHook
from tfcompat._src.estimator.util import call_with_known, fn_args
from tfcompat._src.graph.graph import Graph
from tfcompat._src.graph.scopes import device, get_default_graph
from tfcompat._src.platform import logging
from tfcompat._src.saved_model.model_utils.mode_keys import EstimatorModeKeys as ModeKeys
from tfcompat._src.variables.initializers import Zeros
from tfcompat._src.variables.scope import get_variable
from tfcompat._src.variables.training_util import get_global_step

_BATCH_SIZE_KEY = "batch_size"
_CTX_KEY = "context"
_USE_TPU_KEY = "use_tpu"
_RESERVED_PARAMS_KEYS = [_BATCH_SIZE_KEY, _CTX_KEY]


class ExportSavedModelApiVersion(enum.Enum):
    """Which way graphs for TPUs are exported."""

    V1 = 1
    V2 = 2


class BatchConfig(NamedTuple):
    """How a served graph for TPUs collects requests into batches."""

    num_batch_threads: int
    max_batch_size: int
    batch_timeout_micros: int
    allowed_batch_sizes: list[int]
    max_enqueued_batches: int = 10


@export("estimator.tpu.TPUEstimator", "contrib.tpu.TPUEstimator")
class TPUEstimator(Estimator):
    """An Estimator whose model and input functions get the batch size as `params["batch_size"]`.

    Args:
      model_fn: function of `features`, `params` and any of `labels`, `mode`, `config` that gives a TPUEstimatorSpec or
        EstimatorSpec.
      model_dir: the folder of the model, by default that of `config`.
      config: a RunConfig of tf.contrib.tpu.
      params: what `model_fn` and input functions get as `params`, with the batch size and, for `model_fn`, "use_tpu".
      use_tpu: whether to run on TPUs, which tfcompat does not.
      train_batch_size, eval_batch_size, predict_batch_size: global batch sizes.
      batch_axis: dimensions along which TPUs split inputs.
      eval_on_tpu: whether evaluations run on TPUs, too.
      export_to_tpu, export_to_cpu: for what SavedModels have graphs; one for TPUs is left out with a warning.
      warm_start_from: as for Estimator.
      embedding_config_spec: an EmbeddingConfigSpec; on the CPU its columns are columns like others.
      export_saved_model_api_version: which way graphs for TPUs are exported.

    Raises:
      ValueError: no RunConfig of tf.contrib.tpu, a reserved key in `params`, a batch size that is not positive.
      TypeError: a batch size that is no int. NotImplementedError: `embedding_config_spec` with `use_tpu`; with `use_tpu`
        alone, when it runs.
    """

    def __init__(
        self, model_fn: Callable | None = None, model_dir: object = None, config: object = None, params: Any = None,
        use_tpu: bool = True, train_batch_size: int | None = None, eval_batch_size: int | None = None,
        predict_batch_size: int | None = None, batch_axis: object = None, eval_on_tpu: bool = True,
        export_to_tpu: bool = True, export_to_cpu: bool = True, warm_start_from: object = None,
        embedding_config_spec: object = None,
        export_saved_model_api_version: ExportSavedModelApiVersion = ExportSavedModelApiVersion.V1,
    ) -> None:  # fmt: skip
        if not isinstance(config, tpu_config.RunConfig):
            raise ValueError("`config` must be provided with type `tpu_config.RunConfig`")
        if params is not None and any(key in params for key in _RESERVED_PARAMS_KEYS):
            raise ValueError(f"{_RESERVED_PARAMS_KEYS} are reserved keys but existed in params {params}.")
        if use_tpu:
            _check_tpu_arguments(config, train_batch_size, eval_batch_size, predict_batch_size)
        if batch_axis is not None and use_tpu:
            raise NotImplementedError("TPUEstimator: tfcompat trains on no TPU system, and splits no inputs for one (batch_axis): give use_tpu=False.")
        if not isinstance(export_saved_model_api_version, ExportSavedModelApiVersion):
            raise ValueError(
                "export_saved_model_api_version should be of type ExportSavedModelApiVersion; got "
                f"{export_saved_model_api_version}."
            )
        verify_model_fn_args(model_fn, params)
        self._log_every_n_steps, self._log_every_n_secs = _log_interval(config)
        super().__init__(
            self._augment_model_fn(model_fn), model_dir=model_dir, config=config.replace(log_step_count_steps=None),
            params=params or {}, warm_start_from=warm_start_from,
        )  # fmt: skip
        self._ctx = tpu_context._get_tpu_context(
            self._config,
            train_batch_size,
            eval_batch_size,
            predict_batch_size,
            use_tpu,
            eval_on_tpu,
            embedding_config_spec,
        )
        self._export_to_cpu, self._export_to_tpu = export_to_cpu, export_to_tpu
        self._is_input_fn_invoked: bool | None = None

    def _add_meta_graph_for_mode(  # type: ignore[override]
        self, builder: Any, input_receiver_fn_map: dict[str, Any], checkpoint_path: str, save_variables: bool = True,
        mode: str = ModeKeys.PREDICT, **kwargs: Any,
    ) -> None:  # fmt: skip
        if not self._export_to_cpu:
            raise NotImplementedError("TPUEstimator: tfcompat exports no graphs for TPUs; pass export_to_cpu=True.")
        super()._add_meta_graph_for_mode(
            builder, input_receiver_fn_map, checkpoint_path, save_variables, mode, **kwargs
        )
        if self._export_to_tpu:
            logging.warning("tfcompat exports no graphs for TPUs: the SavedModel has the graph for CPUs only.")

    def _create_global_step(self, graph: Graph) -> Any:
        return _create_global_step(graph)

    def _convert_train_steps_to_hooks(self, steps: int | None, max_steps: int | None) -> list:
        with self._ctx.with_mode(ModeKeys.TRAIN) as ctx:
            ctx.require_cpu()
        return super()._convert_train_steps_to_hooks(steps, max_steps)

    def _convert_eval_steps_to_hooks(self, steps: int | None) -> list:
        with self._ctx.with_mode(ModeKeys.EVAL) as ctx:
            ctx.require_cpu()
        return super()._convert_eval_steps_to_hooks(steps)

    def _call_input_fn(self, input_fn: Callable, mode: str, input_context: object = None) -> Any:
        if "params" not in fn_args(input_fn):
            raise ValueError(
                f"input_fn ({input_fn}) does not include params argument, required by TPUEstimator to pass batch size "
                "as "
                'params["batch_size"]'
            )
        self._is_input_fn_invoked = True
        params = self.params
        with self._ctx.with_mode(mode) as ctx:
            ctx.require_cpu()
            ctx.require_no_slices()
            if ctx.global_batch_size is not None:
                _add_item_to_params(params, _BATCH_SIZE_KEY, ctx.global_batch_size)
            with device("/device:CPU:0"):
                return call_with_known(input_fn, params=params, config=self.config, mode=mode)

    def _validate_features_in_predict_input(self, result: Any) -> None:
        """Any input will do."""

    def train(self, *args: Any, **kwargs: Any) -> TPUEstimator:
        """See Estimator.train."""
        with _reported("training_loop"):
            return super().train(*args, **kwargs)

    def evaluate(self, *args: Any, **kwargs: Any) -> dict[str, Any]:
        """See Estimator.evaluate."""
        with _reported("evaluation_loop"):
            return super().evaluate(*args, **kwargs)

    def predict(self, *args: Any, **kwargs: Any) -> Iterator[Any]:
        """See Estimator.predict."""
        with _reported("prediction_loop"):
            yield from super().predict(*args, **kwargs)

    def _augment_model_fn(self, model_fn: Callable) -> Callable:
        """The model function of the Estimator, which calls that of the user with the batch size."""

        def _model_fn(features: object, labels: object, mode: str, config: object, params: object) -> EstimatorSpec:
            is_export_mode = not self._is_input_fn_invoked
            self._is_input_fn_invoked = None
            with self._ctx.with_mode(mode) as ctx:
                ctx.require_cpu(is_export_mode)
                logging.info("Running %s on CPU", mode)
                params = copy.deepcopy(params)
                if not is_export_mode and ctx.global_batch_size is not None:
                    _add_item_to_params(params, _BATCH_SIZE_KEY, ctx.global_batch_size)
                _add_item_to_params(params, _USE_TPU_KEY, False)
                spec = _call_user_model_fn(model_fn, features, labels, mode, copy.deepcopy(config), params)
                if isinstance(spec, _TPUEstimatorSpec):
                    spec = spec.as_estimator_spec()
                hook = self._examples_hook(ctx.global_batch_size)
                return spec._replace(training_hooks=(*spec.training_hooks, hook)) if hook else spec

        return _model_fn

    def _examples_hook(self, batch_size: Any) -> ExamplesPerSecondHook | None:
        if self._log_every_n_steps is None and self._log_every_n_secs is None:
            return None
        return ExamplesPerSecondHook(
            batch_size, output_dir=self.model_dir if self._config.save_summary_steps else None,
            every_n_steps=self._log_every_n_steps, every_n_secs=self._log_every_n_secs,
        )  # fmt: skip


def _check_tpu_arguments(config: Any, train_batch_size: object, eval_batch_size: object, predict_batch_size: object) -> None:
    if train_batch_size is None:
        raise ValueError("`train_batch_size` cannot be `None`")
    util.check_positive_integer(train_batch_size, "train_batch_size")
    is_per_shard = config.tpu_config.per_host_input_for_training == tpu_config.InputPipelineConfig.PER_SHARD_V1
    if is_per_shard and config.tpu_config.num_cores_per_replica:
        raise ValueError(
            "Model parallelism only supports per host input for training. Please adjust "
            "TPURunconfig.per_host_input_for_training."
        )
    for size, name in ((eval_batch_size, "eval_batch_size"), (predict_batch_size, "predict_batch_size")):
        if size is not None:
            util.check_positive_integer(size, name)


def _log_interval(config: Any) -> tuple[int | None, int | None]:
    """Steps or seconds between lines of the speed."""
    per_loop = util.parse_iterations_per_loop(config.tpu_config.iterations_per_loop)
    if per_loop.unit == "seconds":
        return None, per_loop.value
    steps = config.log_step_count_steps
    return None if steps is None else math.ceil(steps / per_loop.value), None


def _call_user_model_fn(model_fn: Callable, features: object, labels: object, mode: str, config: object, params: object) -> Any:
    names = fn_args(model_fn)
    if "labels" not in names and labels is not None:
        raise ValueError("model_fn does not take labels, but input_fn returns labels.")
    if "params" not in names:
        raise ValueError(
            f"model_fn ({model_fn}) does not include params argument, required by TPUEstimator to pass batch size as "
            "params['batch_size']"
        )
    return call_with_known(model_fn, features=features, labels=labels, mode=mode, config=config, params=params)


@contextlib.contextmanager
def _reported(source: str) -> Iterator[None]:
    """A block whose end, and error, is logged."""
    try:
        yield
    except Exception as error:
        logging.error("Error recorded from %s: %s", source, error)
        logging.info("%s marked as finished", source)
        logging.warning("Reraising captured error")
        raise
    logging.info("%s marked as finished", source)


def _create_global_step(graph: Graph | None) -> Any:
    """The global step as a resource variable; ValueError where there is one."""
    graph = graph or get_default_graph()
    if get_global_step(graph) is not None:
        raise ValueError('"global_step" already exists.')
    with graph.as_default(), graph.name_scope(None):
        return get_variable(
            GraphKeys.GLOBAL_STEP, shape=[], dtype=dtypes.int64, initializer=Zeros(), trainable=False,
            use_resource=True, collections=[GraphKeys.GLOBAL_VARIABLES, GraphKeys.GLOBAL_STEP],
        )  # fmt: skip


def _add_item_to_params(params: Any, key: str, value: Any) -> None:
    """Sets a parameter, in a dict or HParams."""
    if not hasattr(params, "set_hparam"):
        params[key] = value
    elif key in params:
        params.set_hparam(key, value)
    else:
        params.add_hparam(key, value)


@export("contrib.tpu.export_estimator_savedmodel")
def export_estimator_savedmodel(
    estimator: Estimator, export_dir_base: object, serving_input_receiver_fn: Callable,
    assets_extra: dict[str, str] | None = None, as_text: bool = False, checkpoint_path: str | None = None,
) -> bytes:  # fmt: skip
    """Exports the model of an Estimator as a TPUEstimator does; arguments are those of
    `Estimator.export_saved_model`.
    """
    made = TPUEstimator(
        estimator._model_fn,
        config=tpu_config.RunConfig(model_dir=estimator.model_dir),
        params=estimator.params,
        use_tpu=False,
    )
    return made.export_saved_model(export_dir_base, serving_input_receiver_fn, assets_extra, as_text, checkpoint_path)
