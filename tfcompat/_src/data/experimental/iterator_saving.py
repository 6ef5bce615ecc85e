"""tf.data.experimental: saving of iterators in checkpoints."""

from __future__ import annotations

from typing import Any

from tfcompat._src.base.export import export
from tfcompat._src.base.session_like import SessionLike
from tfcompat._src.data.iterator import GLOBAL_ITERATORS, Iterator, SaveableIterator
from tfcompat._src.graph.scopes import get_default_graph
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.train.checkpoint_management import latest_checkpoint
from tfcompat._src.train.saveable_object import SaveableObject
from tfcompat._src.train.saver import Saver
from tfcompat._src.train.saving_hooks import CheckpointSaverHook
from tfcompat._src.train.session_run_hook import SessionRunContext, SessionRunHook


@export("data.experimental.make_saveable_from_iterator", "contrib.data.make_saveable_from_iterator")
def make_saveable_from_iterator(iterator: Iterator) -> SaveableObject:
    """Returns an object that a Saver saves for an iterator: the number of elements taken, and the seed of its random choices.

    Restoring starts the iteration again and skips as many elements.
    """
    return _saveable(iterator._iterator_resource)


def _saveable(handle: Tensor) -> SaveableObject:
    return SaveableIterator(handle, handle.name, handle.name + "-state")


@export("data.experimental.CheckpointInputPipelineHook", "contrib.data.CheckpointInputPipelineHook")
class CheckpointInputPipelineHook(SessionRunHook):
    """Saves the state of all iterators in checkpoints "input.ckpt", as often as an Estimator saves its model, and restores it at the start.

    Args:
      estimator: an Estimator.
    """

    def __init__(self, estimator: Any) -> None:
        # Each worker has its own position in its input, so its own checkpoint.
        config = estimator._config
        prefix = "input"
        if config.num_worker_replicas > 1:
            prefix += f"_{config.task_type}_{config.task_id}"
        self._checkpoint_saver_hook = CheckpointSaverHook(
            estimator.model_dir, save_secs=config.save_checkpoints_secs, save_steps=config.save_checkpoints_steps,
            checkpoint_basename=prefix + ".ckpt",
        )  # fmt: skip
        self._latest_filename = "checkpoint_" + prefix
        self._first_run = True

    def begin(self) -> None:
        hook = self._checkpoint_saver_hook
        if hook._saver is None and hook._scaffold is None:
            handles = get_default_graph().get_collection(GLOBAL_ITERATORS)
            hook._saver = _StateFileSaver([_saveable(handle) for handle in handles], self._latest_filename)
        hook.begin()

    def before_run(self, run_context: SessionRunContext) -> Any:
        if self._first_run:
            self._restore_or_save(run_context.session)
            self._first_run = False
        return self._checkpoint_saver_hook.before_run(run_context)

    def _restore_or_save(self, session: SessionLike) -> None:
        """Restores the latest checkpoint, or saves a first one.

        This is done in the first run, not when the session is created: iterators are initialized only then.
        """
        hook = self._checkpoint_saver_hook
        latest = latest_checkpoint(hook._checkpoint_dir, latest_filename=self._latest_filename)
        if latest:
            hook._get_saver().restore(session, latest)
            return
        step = session.run(hook._global_step_tensor)
        hook._save(session, step)
        hook._timer.update_last_triggered_step(step)

    def after_run(self, run_context: Any, run_values: Any) -> None:
        self._checkpoint_saver_hook.after_run(run_context, run_values)

    def end(self, session: SessionLike) -> None:
        self._checkpoint_saver_hook.end(session)


class _StateFileSaver(Saver):
    """A Saver that keeps its list of checkpoints in a file of its own, apart from that of the model's checkpoints."""

    def __init__(self, var_list: object, latest_filename: str) -> None:
        super().__init__(var_list)
        self._latest_filename = latest_filename

    def save(self, sess: Any, save_path: str, global_step: Any = None, latest_filename: str | None = None, *args: Any, **kwargs: Any) -> Any:
        return super().save(sess, save_path, global_step, latest_filename or self._latest_filename, *args, **kwargs)
