"""tf.contrib.tpu.AsyncCheckpointSaverHook: checkpoints that a thread writes while training goes on."""

from __future__ import annotations

import concurrent.futures
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from tfcompat._src.base.export import export
from tfcompat._src.platform import logging
from tfcompat._src.train.saving_hooks import CheckpointSaverHook, CheckpointSaverListener

if TYPE_CHECKING:
    from tfcompat._src.base.session_like import SessionLike

_PATIENCE_S = 0.1
"""How long a checkpoint waits for the one before; 1.15's number."""


@export("contrib.tpu.AsyncCheckpointSaverHook")
class AsyncCheckpointSaverHook(CheckpointSaverHook):
    """Saves checkpoints when CheckpointSaverHook does, in a thread. Where the checkpoint before is still being written, it leaves one out.

    Args:
      checkpoint_dir, save_secs, save_steps, saver, checkpoint_basename, scaffold: as of CheckpointSaverHook.
      listeners: CheckpointSaverListeners, which the thread calls; they cannot stop the training.

    Raises:
      ValueError: not exactly one interval, or both `saver` and `scaffold`, are given.
    """

    def __init__(
        self, checkpoint_dir: str, save_secs: float | None = None, save_steps: int | None = None, saver: Any = None,
        checkpoint_basename: str = "model.ckpt", scaffold: Any = None, listeners: Iterable[CheckpointSaverListener] | None = None,
    ) -> None:  # fmt: skip
        super().__init__(checkpoint_dir, save_secs, save_steps, saver, checkpoint_basename, scaffold, listeners)
        self._thread = concurrent.futures.ThreadPoolExecutor(1, "checkpoint")
        self._saving: concurrent.futures.Future | None = None
        self._last_saved_step: int | None = None

    def _save(self, session: SessionLike, step: int) -> bool:
        """Starts to save a checkpoint; raises what the save before has raised. Returns False, as nothing asks for a stop."""
        if self._saving is not None:
            if concurrent.futures.wait([self._saving], _PATIENCE_S).not_done:
                logging.info("Saver thread still in progress, skipping checkpoint.")
                return False
            self._saving.result()
        self._last_saved_step = step
        self._saving = self._thread.submit(self._save_now, session, step)
        return False

    def _save_now(self, session: SessionLike, step: int) -> None:
        with session.graph.as_default():
            super()._save(session, step)

    def end(self, session: SessionLike) -> None:
        """Waits for the checkpoint that is being written, and saves the last step unless that was it."""
        if self._saving is not None:
            self._saving.result()
        self._thread.shutdown()
        last_step = session.run(self._global_step_tensor)
        if last_step != self._last_saved_step:
            self._save_now(session, last_step)
        for listener in self._listeners:
            listener.end(session, last_step)
