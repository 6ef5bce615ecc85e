"""The runs of contrib.learn's estimators: training, evaluation, prediction, export."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from tfcompat._src.base.graph_collections import GraphKeys
from tfcompat._src.contrib.layers.feature_column_ops import infer_real_valued_columns
from tfcompat._src.contrib.learn.model_fn import ModelFnOps
from tfcompat._src.graph.scopes import add_to_collection, get_collection
from tfcompat._src.nodes.sparse_tensor import SparseTensorValue
from tfcompat._src.ops.control.groups import group
from tfcompat._src.platform import compat, file_io, logging
from tfcompat._src.runtime.session.session import Session
from tfcompat._src.saved_model.builder import SavedModelBuilder
from tfcompat._src.train.basic_session_run_hooks import FeedFnHook, LoggingTensorHook, NanTensorHook
from tfcompat._src.train.evaluation import _evaluate_once, _StopAfterNEvalsHook
from tfcompat._src.train.monitored_session import ChiefSessionCreator, MonitoredSession, MonitoredTrainingSession
from tfcompat._src.train.saver import Saver
from tfcompat._src.train.saving_hooks import CheckpointSaverHook
from tfcompat._src.train.scaffold import Scaffold
from tfcompat._src.variables import training_util
from tfcompat._src.variables.collections import all_saveable_objects, local_variables_initializer, tables_initializer
from tfcompat._src.variables.resources import initialize_resources, shared_resources

if TYPE_CHECKING:
    from tfcompat._src.graph.tensor import Tensor
    from tfcompat._src.proto import messages

__all__ = [
    "copy_assets", "evaluated", "feeding", "filtered", "infer_real_valued_columns", "joined", "prediction_session",
    "predictions_of", "read_global_step", "trained", "write_saved_model",
]  # fmt: skip


def read_global_step() -> Tensor | None:
    """The read of the global step at the start of a step."""
    return training_util._get_or_create_global_step_read()


def feeding(feed_fn: Callable | None) -> list[FeedFnHook]:
    """The hook that feeds what a function gives."""
    return [FeedFnHook(feed_fn)] if feed_fn else []


def trained(
    ops: ModelFnOps, global_step: object, hooks: list[Any], model_dir: str, config: Any, session_config: object
) -> Any:
    """Trains until a hook stops or the input ends; the last loss."""
    add_to_collection(GraphKeys.LOSSES, ops.loss)
    all_hooks = [
        *hooks, NanTensorHook(ops.loss), LoggingTensorHook({"loss": ops.loss, "step": global_step}, every_n_iter=100),
        *ops.training_hooks,
    ]  # fmt: skip
    scaffold = ops.scaffold or Scaffold()
    if not (scaffold.saver or get_collection(GraphKeys.SAVERS)):
        saver = Saver(
            sharded=True, max_to_keep=config.keep_checkpoint_max, defer_build=True, save_relative_paths=True,
            keep_checkpoint_every_n_hours=config.keep_checkpoint_every_n_hours,
        )  # fmt: skip
        add_to_collection(GraphKeys.SAVERS, saver)
    chief_hooks = list(ops.training_chief_hooks)
    saves = any(isinstance(hook, CheckpointSaverHook) for hook in all_hooks + chief_hooks)
    if (config.save_checkpoints_secs or config.save_checkpoints_steps) and not saves:
        hook = CheckpointSaverHook(
            model_dir, save_secs=config.save_checkpoints_secs, save_steps=config.save_checkpoints_steps, scaffold=scaffold
        )
        chief_hooks = [hook, *chief_hooks]
    loss = None
    with MonitoredTrainingSession(
        master=config.master, is_chief=config.is_chief, checkpoint_dir=model_dir, scaffold=scaffold, hooks=all_hooks,
        chief_only_hooks=chief_hooks, save_checkpoint_secs=0, save_summaries_steps=config.save_summary_steps,
        max_wait_secs=config.session_creation_timeout_secs, config=session_config,
    ) as session:  # fmt: skip
        while not session.should_stop():
            _, loss = session.run([ops.train_op, ops.loss])
    return loss


def _updates_and_values(metrics: dict[str, Any]) -> tuple[Any, dict[str, Any]]:
    updates, values = [], {}
    for name, metric in metrics.items():
        if isinstance(metric, (list, tuple)) and len(metric) == 2:
            values[name] = metric[0]
            updates.append(metric[1])
            continue
        if isinstance(metric, (list, tuple)):
            logging.warning(f"Ignoring metric {name}. It returned a list|tuple with len {len(metric)}, expected 2")
        values[name] = metric
    return group(*updates) if updates else None, values


def evaluated(
    ops: ModelFnOps, global_step: object, checkpoint_path: str, steps: int | None, feed_fn: Any, hooks: Any,
    log_progress: bool, config: Any, session_config: messages.ConfigProto,
) -> tuple[dict[str, Any], Any]:  # fmt: skip
    """The values of the metrics, and the global step."""
    update, values = _updates_and_values(ops.eval_metric_ops)
    hooks = [*(hooks or ()), *feeding(feed_fn)]
    if steps == 0:
        logging.warning(
            "evaluation steps are 0. If `input_fn` does not raise `OutOfRangeError`, the evaluation will never stop. "
            "Use steps=None if intended."
        )
    if steps:
        hooks.append(_StopAfterNEvalsHook(steps, log_progress=log_progress))
    step_key = "global_step"
    while step_key in values:
        step_key = "_" + step_key
    results = _evaluate_once(
        checkpoint_path=checkpoint_path, master=config.evaluation_master, scaffold=ops.scaffold, eval_ops=update,
        final_ops={**values, step_key: global_step}, hooks=hooks, config=session_config,
    )  # fmt: skip
    return results, results[step_key]


def filtered(predictions: Any, outputs: Any) -> Any:
    """The predictions with these keys; ValueError where there is none, or they are no dict."""
    if not outputs:
        return predictions
    if not isinstance(predictions, dict):
        raise ValueError("outputs argument is not valid in case of non-dict predictions.")
    found = {key: value for key, value in predictions.items() if key in outputs}
    if not found:
        raise ValueError(f"Expected to run at least one output from {predictions.keys()}, provided {outputs}.")
    return found


def prediction_session(checkpoint_path: str, scaffold: Any, config: Any) -> MonitoredSession:
    """A session with the variables of a checkpoint."""
    creator = ChiefSessionCreator(checkpoint_filename_with_path=checkpoint_path, scaffold=scaffold, config=config)
    return MonitoredSession(session_creator=creator)


def predictions_of(
    session: MonitoredSession, predictions: Any, feed_fn: Any, iterate_batches: bool, is_input_constant: Callable
) -> Iterator[Any]:
    """The predictions of each example, or batch."""
    with session:
        while not session.should_stop():
            batch = session.run(predictions, feed_fn() if feed_fn else None)
            if iterate_batches:
                yield batch
            elif not isinstance(predictions, dict):
                yield from batch
            else:
                first = next(iter(batch.values()))
                length = first.dense_shape[0] if isinstance(first, SparseTensorValue) else first.shape[0]
                for i in range(length):
                    yield {key: value[i] for key, value in batch.items()}
            if is_input_constant(feed_fn, session.graph):
                return


def joined(batches: list[Any]) -> Any:
    """Batches of predictions as one."""
    if not isinstance(batches[0], dict):
        return np.concatenate(batches, axis=0)
    return {key: np.concatenate([batch[key] for batch in batches], axis=0) for key in batches[0]}


def write_saved_model(
    folder: bytes, ops: ModelFnOps, checkpoint_path: str, signatures: dict[str, Any], tags: Any, as_text: bool,
    strip_default_attrs: bool,
) -> None:  # fmt: skip
    """Writes the default graph with the variables of a checkpoint."""
    init_op = group(local_variables_initializer(), initialize_resources(shared_resources()), tables_initializer())
    builder = SavedModelBuilder(folder)
    with Session("") as session:
        saver = ops.scaffold.saver if ops.scaffold is not None else None
        saver = saver or Saver(all_saveable_objects(), sharded=True)
        saver.restore(session, checkpoint_path)
        builder.add_meta_graph_and_variables(
            session, tags, signature_def_map=signatures, assets_collection=get_collection(GraphKeys.ASSET_FILEPATHS),
            main_op=init_op, strip_default_attrs=strip_default_attrs,
        )  # fmt: skip
    builder.save(as_text)


def copy_assets(folder: bytes, assets_extra: dict[str, Any] | None) -> None:
    """Copies files into assets.extra of a SavedModel."""
    for relative, source in (assets_extra or {}).items():
        path = os.path.join(compat.as_bytes(folder), b"assets.extra", compat.as_bytes(relative))
        file_io.makedirs(os.path.dirname(path))
        file_io.copy(source, path)
