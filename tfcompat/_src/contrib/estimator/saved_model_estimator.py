"""tf.contrib.estimator.SavedModelEstimator: an Estimator whose graphs are those of a SavedModel that an Estimator wrote."""

from __future__ import annotations

from typing import Any

from tfcompat._src.base import dtypes
from tfcompat._src.base.export import export
from tfcompat._src.base.tensor_shape import TensorShape
from tfcompat._src.estimator.estimator import EstimatorV2
from tfcompat._src.estimator.model_fn import EstimatorSpec
from tfcompat._src.estimator.receivers import wrap_and_check_input_tensors
from tfcompat._src.estimator.warm_start import WarmStartSettings, _get_saved_model_ckpt
from tfcompat._src.graph.scopes import get_collection, get_collection_ref, get_default_graph
from tfcompat._src.platform import logging
from tfcompat._src.saved_model import constants, signature_constants
from tfcompat._src.saved_model.loader import SavedModelLoader, get_init_op
from tfcompat._src.saved_model.model_utils.export_output import _SupervisedOutput
from tfcompat._src.saved_model.model_utils.export_utils import EXPORT_TAG_MAP
from tfcompat._src.saved_model.model_utils.mode_keys import EstimatorModeKeys as ModeKeys
from tfcompat._src.train.checkpoint_utils import list_variables
from tfcompat._src.train.scaffold import Scaffold
from tfcompat._src.variables import training_util

_METHODS = {
    ModeKeys.TRAIN: signature_constants.SUPERVISED_TRAIN_METHOD_NAME,
    ModeKeys.EVAL: signature_constants.SUPERVISED_EVAL_METHOD_NAME,
}
_OF_SAVED_MODELS = constants.ASSETS_KEY, constants.LEGACY_INIT_OP_KEY, constants.MAIN_OP_KEY, constants.TRAIN_OP_KEY
"""Collections that must be empty when a graph is exported again."""


@export("contrib.estimator.SavedModelEstimator")
class SavedModelEstimator(EstimatorV2):
    """An Estimator of a SavedModel; it does what the SavedModel has graphs for: training, evaluation, prediction.

    Args:
      saved_model_dir: folder of a SavedModel that `Estimator.export_saved_model` or `experimental_export_all_saved_models` wrote.
      model_dir: folder of new checkpoints; by default a temporary one.

    Raises:
      NotImplementedError: a subclass has a RunConfig with a distribution strategy.
    """

    def __init__(self, saved_model_dir: Any, model_dir: object = None) -> None:
        checkpoint = _get_saved_model_ckpt(saved_model_dir)
        warm_start = WarmStartSettings(checkpoint, [name for name, _ in list_variables(checkpoint)])
        super().__init__(model_fn=self._model_fn_from_saved_model, model_dir=model_dir, warm_start_from=warm_start)
        if self._train_distribution or self._eval_distribution:
            raise NotImplementedError("SavedModelEstimator runs without a distribution strategy; leave it out of the RunConfig.")
        self.saved_model_dir = saved_model_dir
        self.saved_model_loader = SavedModelLoader(saved_model_dir)
        self._available_modes = [mode for mode in (ModeKeys.TRAIN, ModeKeys.EVAL, ModeKeys.PREDICT) if self._has_mode(mode)]
        logging.info("The SavedModel has the modes %s", self._available_modes)

    def _has_mode(self, mode: str) -> bool:
        try:
            return self._get_signature_def_for_mode(mode) is not None
        except RuntimeError:
            logging.warning("%s mode not found in SavedModel.", mode)
            return False

    def _get_meta_graph_def_for_mode(self, mode: str) -> Any:
        return self.saved_model_loader.get_meta_graph_def_from_tags(EXPORT_TAG_MAP[mode])

    def _get_signature_def_for_mode(self, mode: str) -> Any:
        """The signature of a mode, None where it lacks; RuntimeError where there is no graph of the mode."""
        key = signature_constants.DEFAULT_SERVING_SIGNATURE_DEF_KEY if mode == ModeKeys.PREDICT else mode
        signatures = self._get_meta_graph_def_for_mode(mode).signature_def
        if key not in signatures:
            logging.warning("The graph of the mode %s has no signature %r.", mode, key)
            return None
        return signatures[key]

    def _create_and_assert_global_step(self, graph: Any) -> None:
        """The global step comes with the SavedModel's graph."""

    def _model_fn_from_saved_model(self, features: object, labels: object, mode: str) -> EstimatorSpec:
        """The SavedModel's graph of a mode, with features and labels in place of its placeholders."""
        if mode not in self._available_modes:
            raise RuntimeError(f"The SavedModel in {self.saved_model_dir} has no graph for the mode {mode!r}; it has {self._available_modes}.")
        graph = get_default_graph()
        if training_util.get_global_step(graph) is not None:
            raise RuntimeError("The graph has a global step before the SavedModel is loaded; the input function must not make one.")
        signature, meta_graph_def = self._get_signature_def_for_mode(mode), self._get_meta_graph_def_for_mode(mode)
        awaited = {name for node in meta_graph_def.graph_def.node for name in node.input if name.startswith("^")}
        names = {key: info.name for key, info in signature.outputs.items()}
        _, tensors = self.saved_model_loader.load_graph(
            graph, EXPORT_TAG_MAP[mode], input_map=_input_map(signature, awaited, features, labels), return_elements=list(names.values())
        )
        scaffold = Scaffold(local_init_op=get_init_op(meta_graph_def))
        training_util.assert_global_step(training_util.get_global_step(graph))
        loss, predictions, metrics = _parts(mode, dict(zip(names, tensors, strict=True)), signature.method_name)
        train_ops = get_collection(constants.TRAIN_OP_KEY)
        if len(train_ops) > 1:
            raise RuntimeError(f"The SavedModel's graph has several training operations: {[each.name for each in train_ops]}")
        for key in _OF_SAVED_MODELS:
            get_collection_ref(key).clear()
        return EstimatorSpec(
            mode, predictions=predictions, loss=loss, train_op=train_ops[0] if train_ops else None, eval_metric_ops=metrics, scaffold=scaffold
        )


def _input_map(signature: Any, awaited: set[str], features: Any, labels: Any) -> dict[str, Any]:
    """What takes the place of each placeholder, for nodes that read it and for those that wait for it (`awaited`: control inputs)."""
    given = {} if labels is None else wrap_and_check_input_tensors(labels, "label")
    given = {**given, **wrap_and_check_input_tensors(features, "feature")}
    found = {}
    for key, info in signature.inputs.items():
        if key not in given:
            raise ValueError(f"The input function gives no {key!r}; features and labels must have all of {sorted(signature.inputs)}.")
        _check_input(given[key], info, key)
        name = info.name.partition(":")[0]
        found |= dict.fromkeys({name, f"^{name}"} & {name, *awaited}, given[key])
    return found


def _check_input(tensor: Any, info: Any, name: str) -> None:
    dtype, shape = dtypes.as_dtype(info.dtype), TensorShape(info.tensor_shape)
    if tensor.dtype != dtype or not tensor.shape.is_compatible_with(shape):
        raise ValueError(f"The input {name!r} must be of {dtype.name} with the shape {shape}, but is of {tensor.dtype.name} with {tensor.shape}.")


def _parts(mode: str, outputs: dict[str, Any], method: str) -> tuple[Any, dict[str, Any], dict[str, Any] | None]:
    """Loss, predictions and metrics among the outputs of a graph."""
    if mode == ModeKeys.PREDICT:
        return None, outputs, None
    if method != _METHODS[mode]:
        raise RuntimeError(
            f"The signature of the mode {mode!r} must be of the method {_METHODS[mode]!r}, but is of {method!r}; export the SavedModel with "
            "Estimator.experimental_export_all_saved_models."
        )
    separator, metrics = _SupervisedOutput._SEPARATOR_CHAR, {}
    for key, value in outputs.items():
        name, _, part = key.rpartition(separator)
        update = f"{name}{separator}{_SupervisedOutput.METRIC_UPDATE_SUFFIX}"
        if _kind(key) == _SupervisedOutput.METRICS_NAME and part == _SupervisedOutput.METRIC_VALUE_SUFFIX and update in outputs:
            metrics[name] = value, outputs[update]
    predictions = {key: value for key, value in outputs.items() if _kind(key) == _SupervisedOutput.PREDICTIONS_NAME}
    return outputs[_SupervisedOutput.LOSS_NAME], predictions, metrics


def _kind(key: str) -> str:
    return key.partition(_SupervisedOutput._SEPARATOR_CHAR)[0]
