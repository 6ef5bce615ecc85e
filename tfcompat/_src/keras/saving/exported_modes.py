"""SavedModels of Keras models as Estimators write them: a graph each for training, evaluation and prediction, and one checkpoint of objects."""

from __future__ import annotations

import os
from typing import Any

from tfcompat._src.base import nest
from tfcompat._src.base.export import export
from tfcompat._src.base.graph_collections import GraphKeys
from tfcompat._src.graph.graph import Graph
from tfcompat._src.graph.scopes import add_to_collection, get_collection
from tfcompat._src.keras.backend.session import learning_phase_scope
from tfcompat._src.keras.backend.values import placeholder
from tfcompat._src.keras.engine.sequential import Sequential
from tfcompat._src.keras.metrics.metric import Metric
from tfcompat._src.keras.models import clone_and_build_model
from tfcompat._src.keras.optimizers.legacy import TFOptimizer
from tfcompat._src.keras.optimizers.optimizer_v2 import OptimizerV2
from tfcompat._src.keras.saving import saving_utils
from tfcompat._src.keras.saving.model_config import model_from_json
from tfcompat._src.platform import file_io, logging
from tfcompat._src.runtime.session.session import Session
from tfcompat._src.saved_model import constants, files
from tfcompat._src.saved_model.builder import _SavedModelBuilder
from tfcompat._src.saved_model.model_utils import export_utils
from tfcompat._src.saved_model.model_utils.keras_mode_keys import ModeKeys
from tfcompat._src.saved_model.save import save
from tfcompat._src.train.saver import Saver
from tfcompat._src.train.trackable_graph import ObjectGraphView
from tfcompat._src.variables.collections import local_variables_initializer


@export("keras.experimental.export_saved_model", "contrib.saved_model.save_keras_model")
def export_saved_model(
    model: Any, saved_model_path: str, custom_objects: dict[str, Any] | None = None, as_text: bool = False, input_signature: Any = None,
    serving_only: bool = False,
) -> None:  # fmt: skip
    """Writes a model as a SavedModel with a graph for each of training, evaluation and prediction; only the last if it is not compiled.

    Args:
      saved_model_path: a folder that does not exist or is empty.
      custom_objects: classes and functions of the model by name.
      as_text: whether the graphs are written as text.
      input_signature: TensorSpecs of the inputs, in place of the model's own.
      serving_only: whether only the call of the model is written, as `tf.saved_model.save` does; any model that knows its inputs then.

    Raises:
      AssertionError: the folder is not empty. NotImplementedError: a subclass without `serving_only`.
      ValueError: a Sequential without weights, or the inputs are not known.
    """
    if serving_only:
        save(model, saved_model_path, signatures=saving_utils.trace_model_call(model, input_signature))
    else:
        _require_cloneable(model)
        _Export(model, saved_model_path, custom_objects, input_signature).write(as_text)
    try:
        text = model.to_json()
    except NotImplementedError:
        logging.warning("Skipped saving model JSON, subclassed model does not have get_config() defined.")
        return
    file_io.write_string_to_file(os.path.join(files.get_or_create_assets_dir(saved_model_path), constants.SAVED_MODEL_FILENAME_JSON), text)


@export("keras.experimental.load_from_saved_model", "contrib.saved_model.load_keras_model")
def load_from_saved_model(saved_model_path: str, custom_objects: dict[str, Any] | None = None) -> Any:
    """The model that `export_saved_model` has written to a folder, not compiled.

    Args:
      custom_objects: classes and functions of the model by name.

    Raises:
      errors.NotFoundError: the folder has no configuration of a model.
    """
    text = file_io.read_file_to_string(os.path.join(files.get_assets_dir(saved_model_path), constants.SAVED_MODEL_FILENAME_JSON))
    model = model_from_json(text, custom_objects=custom_objects)
    model.load_weights(files.get_variables_path(saved_model_path))
    return model


def _require_cloneable(model: Any) -> None:
    if model._is_graph_network:
        return
    if not isinstance(model, Sequential):
        raise NotImplementedError("Subclassed models can only be exported for serving. Please set argument serving_only=True.")
    if not model.built:
        raise ValueError(
            "Weights for sequential model have not yet been created. Weights are created when the Model is first called on inputs or "
            "`build()` is called with an `input_shape`, or the first layer in the model has `input_shape` during construction."
        )


class _Export:
    """Writes the graphs of a model, each from a copy in a graph of its own, which reads the checkpoint of the ones before."""

    def __init__(self, model: Any, path: str, custom_objects: dict[str, Any] | None, input_signature: Any) -> None:
        self._model, self._custom_objects, self._signature = model, custom_objects, input_signature
        self._builder = _SavedModelBuilder(path)
        files.get_or_create_variables_dir(path)
        self._checkpoint = files.get_variables_path(path)
        model.save_weights(self._checkpoint, save_format="tf", overwrite=True)

    def write(self, as_text: bool) -> None:
        if isinstance(self._model.optimizer, (TFOptimizer, OptimizerV2)):
            self._add(ModeKeys.TRAIN)
            self._add(ModeKeys.TEST)
        elif self._model.optimizer:
            logging.warning(
                "Model was compiled with an optimizer, but the optimizer is not from `tf.train` (e.g. `tf.train.AdagradOptimizer`). Only the "
                "serving graph was exported. The train and evaluate graphs were not added to the SavedModel."
            )
        self._add(ModeKeys.PREDICT)
        self._builder.save(as_text)

    def _add(self, mode: str) -> None:
        with Graph().as_default(), learning_phase_scope(int(mode == ModeKeys.TRAIN)):
            clone, train_op = self._clone(mode)
            with Session().as_default():
                variables = ObjectGraphView(clone).serialize_object_graph()[0]
                status = clone.load_weights(self._checkpoint)
                if self._builder._has_saved_variables:
                    status.assert_existing_objects_matched()
                else:  # the copy that trains has the optimizer's variables too
                    clone.save_weights(self._checkpoint, save_format="tf", overwrite=True)
                    self._builder._has_saved_variables = True
                self._builder.add_meta_graph(
                    export_utils.EXPORT_TAG_MAP[mode], signature_def_map=_signatures(clone, mode), saver=Saver(variables, allow_empty=True),
                    init_op=local_variables_initializer(), train_op=train_op,
                )  # fmt: skip

    def _clone(self, mode: str) -> tuple[Any, Any]:
        """A copy with the function of a mode, and the operation that trains it."""
        specs = self._signature
        inputs = None if specs is None else nest.map_structure(lambda s: placeholder(shape=s.shape, dtype=s.dtype, name=s.name), specs)
        is_compiled = mode != ModeKeys.PREDICT
        clone = clone_and_build_model(self._model, input_tensors=inputs, custom_objects=self._custom_objects, compile_clone=is_compiled)
        if is_compiled:
            add_to_collection(GraphKeys.GLOBAL_STEP, clone.optimizer.iterations)
        train_op = None
        if mode == ModeKeys.TRAIN:
            clone._make_train_function()
            train_op = clone.train_function.updates_op
        elif mode == ModeKeys.TEST:
            clone._make_test_function()
        else:
            clone._make_predict_function()
        for update in clone.state_updates:
            add_to_collection(GraphKeys.UPDATE_OPS, update)
        return clone, train_op


def _signatures(model: Any, mode: str) -> dict[str, Any]:
    """The SignatureDefs of a copy by name."""
    inputs = dict(zip(model.input_names, model.inputs))
    if model.optimizer:
        inputs.update((x.name.split(":")[0], x) for x in model._targets if x is not None)
    metrics = saving_utils.extract_model_metrics(model)
    for key, metric in (metrics or {}).items():
        if isinstance(metric, Metric):
            _make_local(metric.variables)
            metrics[key] = (metric.result(), metric.updates[0])
    outputs = export_utils.export_outputs_for_mode(
        mode, predictions=dict(zip(model.output_names, model.outputs)), loss=model.total_loss if model.optimizer else None, metrics=metrics
    )
    return export_utils.build_all_signature_defs(inputs, export_outputs=outputs, serving_only=mode == ModeKeys.PREDICT)


def _make_local(variables: list[Any]) -> None:
    """Has the loader initialize variables of metrics."""
    local = set(map(id, get_collection(GraphKeys.LOCAL_VARIABLES)))
    for variable in variables:
        if id(variable) not in local:
            add_to_collection(GraphKeys.LOCAL_VARIABLES, variable)
