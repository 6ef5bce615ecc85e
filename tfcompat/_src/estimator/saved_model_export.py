"""How an Estimator writes SavedModels."""

from __future__ import annotations

import os
from typing import Any

from tfcompat._src.base import errors
from tfcompat._src.base.graph_collections import GraphKeys
from tfcompat._src.graph.graph import Graph
from tfcompat._src.graph.scopes import get_collection
from tfcompat._src.ops.random.seeds import set_random_seed
from tfcompat._src.platform import compat, file_io
from tfcompat._src.runtime.session.session import Session
from tfcompat._src.saved_model.builder import SavedModelBuilder
from tfcompat._src.saved_model.model_utils import export_utils
from tfcompat._src.saved_model.model_utils.mode_keys import EstimatorModeKeys as ModeKeys
from tfcompat._src.train.checkpoint_management import latest_checkpoint
from tfcompat._src.train.saver import Saver
from tfcompat._src.train.scaffold import Scaffold


class SavedModelExport:
    """The part of an Estimator that exports."""

    _config: Any
    _model_dir: str
    _session_config: Any
    _warm_start_settings: Any

    def _export_all_saved_models(
        self, export_dir_base: Any, input_receiver_fn_map: dict[str, Any], assets_extra: dict[str, str] | None = None,
        as_text: bool = False, checkpoint_path: str | None = None, strip_default_attrs: bool = True,
    ) -> bytes:  # fmt: skip
        """Writes one SavedModel with a graph for each mode; gives its folder."""
        checkpoint_path = checkpoint_path or self._checkpoint_to_export()
        export_dir = export_utils.get_timestamped_export_dir(export_dir_base)
        temp_dir = export_utils.get_temp_export_dir(export_dir)
        builder = SavedModelBuilder(temp_dir)
        modes = [mode for mode in (ModeKeys.TRAIN, ModeKeys.EVAL, ModeKeys.PREDICT) if input_receiver_fn_map.get(mode)]
        for mode in modes:
            self._add_meta_graph_for_mode(
                builder, input_receiver_fn_map, checkpoint_path, save_variables=mode == modes[0], mode=mode,
                strip_default_attrs=strip_default_attrs,
            )  # fmt: skip
        if not modes:
            raise ValueError(f"No valid modes for exporting found. Got {input_receiver_fn_map.keys()}.")
        builder.save(as_text)
        for name, source in (assets_extra or {}).items():
            target = os.path.join(temp_dir, b"assets.extra", compat.as_bytes(name))
            file_io.makedirs(os.path.dirname(target))
            file_io.copy(source, target)
        file_io.rename(temp_dir, export_dir)
        return export_dir

    def _checkpoint_to_export(self) -> str:
        path = latest_checkpoint(self._model_dir)
        if path:
            return path
        if not self._warm_start_settings:
            raise ValueError(f"Couldn't find trained model at {self._model_dir}.")
        path = self._warm_start_settings.ckpt_to_initialize_from
        return latest_checkpoint(path) if file_io.isdir(path) else path

    def _add_meta_graph_for_mode(
        self, builder: SavedModelBuilder, input_receiver_fn_map: dict[str, Any], checkpoint_path: str,
        save_variables: bool = True, mode: str = ModeKeys.PREDICT, export_tags: Any = None,
        check_variables: bool = True, strip_default_attrs: bool = True,
    ) -> None:  # fmt: skip
        """Builds the model for one mode and adds it to a SavedModel.

        Raises:
          ValueError: the checkpoint lacks a variable.
        """
        if save_variables and not check_variables:
            raise ValueError("If `save_variables` is `True, `check_variables`must not be `False`.")
        with Graph().as_default() as graph:
            self._create_and_assert_global_step(graph)
            set_random_seed(self._config.tf_random_seed)
            receiver = input_receiver_fn_map[mode]()
            labels = getattr(receiver, "labels", None)
            spec = self._call_model_fn(features=receiver.features, labels=labels, mode=mode, config=self.config)
            outputs = export_utils.export_outputs_for_mode(
                mode=spec.mode, serving_export_outputs=spec.export_outputs, predictions=spec.predictions,
                loss=spec.loss, metrics=spec.eval_metric_ops,
            )  # fmt: skip
            signatures = export_utils.build_all_signature_defs(
                receiver.receiver_tensors, outputs, getattr(receiver, "receiver_tensors_alternatives", None),
                serving_only=mode == ModeKeys.PREDICT,
            )  # fmt: skip
            with Session(config=self._session_config) as session:
                local_init_op = spec.scaffold.local_init_op
                if local_init_op is None:
                    local_init_op = Scaffold.default_local_init_op()
                saver = spec.scaffold.saver or Saver(sharded=True)
                if check_variables:
                    _restore(saver, session, checkpoint_path, mode)
                builder._add_train_op(spec.train_op)
                arguments = dict(
                    tags=export_utils.EXPORT_TAG_MAP[mode] if export_tags is None else export_tags,
                    signature_def_map=signatures, assets_collection=get_collection(GraphKeys.ASSET_FILEPATHS),
                    main_op=local_init_op, saver=saver, strip_default_attrs=strip_default_attrs,
                )  # fmt: skip
                if save_variables:
                    builder.add_meta_graph_and_variables(session, **arguments)
                else:
                    builder.add_meta_graph(**arguments)


def _restore(saver: Saver, session: Session, checkpoint_path: str, mode: str) -> None:
    try:
        saver.restore(session, checkpoint_path)
    except errors.NotFoundError as error:
        raise ValueError(
            "Could not load all requested variables from checkpoint. Please make sure your model_fn does not expect "
            f"variables that were not saved in the checkpoint.\n\nEncountered error with mode `{mode}` while restoring "
            f"checkpoint from: `{checkpoint_path}`. Full Traceback:\n\n{error}"
        ) from error
