"""tf.train.SessionManager: sessions whose variables are restored or initialized."""

from __future__ import annotations

import math
import time
from typing import Any

import numpy as np

from tfcompat._src.base import errors
from tfcompat._src.base.export import export
from tfcompat._src.graph.graph import Graph
from tfcompat._src.graph.scopes import get_default_graph
from tfcompat._src.platform import logging
from tfcompat._src.runtime.session.session import Session
from tfcompat._src.train.checkpoint_management import get_checkpoint_state


@export("train.SessionManager")
class SessionManager:
    """Makes sessions from a checkpoint, or by initializing.

    Args:
      local_init_op: operation that initializes what is in no checkpoint.
      ready_op: string vector of the names of variables that have no value; the model is ready when it is empty.
      ready_for_local_init_op: the same, before `local_init_op`.
      graph: by default the default graph.
      recovery_wait_secs: seconds between looks whether the model is ready.
      local_init_run_options: RunOptions for `local_init_op`.

    Raises:
      ValueError: `ready_for_local_init_op` without `local_init_op`.
    """

    def __init__(
        self, local_init_op: object = None, ready_op: Any = None, ready_for_local_init_op: Any = None,
        graph: Graph | None = None, recovery_wait_secs: float = 30, local_init_run_options: object = None,
    ) -> None:  # fmt: skip
        if ready_for_local_init_op is not None and local_init_op is None:
            raise ValueError(
                "If you pass a ready_for_local_init_op you must also pass a local_init_op , ready_for_local_init_op "
                f"[{ready_for_local_init_op}]"
            )
        self._local_init_op = local_init_op
        self._ready_op = ready_op
        self._ready_for_local_init_op = ready_for_local_init_op
        self._graph = get_default_graph() if graph is None else graph
        self._recovery_wait_secs = recovery_wait_secs
        self._local_init_run_options = local_init_run_options

    def prepare_session(
        self, master: str, init_op: object = None, saver: object = None, checkpoint_dir: str | None = None,
        checkpoint_filename_with_path: str | None = None, wait_for_checkpoint: bool = False, max_wait_secs: float = 7200,
        config: object = None, init_feed_dict: dict | None = None, init_fn: Any = None,
    ) -> Session:  # fmt: skip
        """A session that is ready: restored where there is a checkpoint, else initialized.

        Args:
          master: target of the session.
          init_op: operation that initializes the model. init_feed_dict: feeds for it.
          saver: a Saver that restores.
          checkpoint_dir: folder whose latest checkpoint is restored. checkpoint_filename_with_path: a checkpoint itself.
          wait_for_checkpoint: wait until there is a checkpoint, at most `max_wait_secs` seconds.
          config: a ConfigProto.
          init_fn: function of the session that is called after `init_op`.

        Raises:
          RuntimeError: nothing initializes the model, or it is not ready afterwards.
          ValueError: both a folder and a checkpoint are given.
        """
        sess, restored = self._restore_checkpoint(
            master, saver, checkpoint_dir, checkpoint_filename_with_path, wait_for_checkpoint, max_wait_secs, config
        )
        if not restored:
            if init_op is None and not init_fn and self._local_init_op is None:
                raise RuntimeError("Model is not initialized and no init_op or init_fn or local_init_op was given")
            if init_op is not None:
                sess.run(init_op, feed_dict=init_feed_dict)
            if init_fn:
                init_fn(sess)
        given = f"Init op: {_name_of(init_op)}, init fn: {init_fn}"
        missing = self._try_run_local_init_op(sess)
        if missing is not None:
            raise RuntimeError(f"Init operations did not make model ready for local_init.  {given}, error: {missing}")
        missing = self._model_not_ready(sess)
        if missing is not None:
            raise RuntimeError(
                f"Init operations did not make model ready.  {given}, local_init_op: {self._local_init_op}, error: {missing}"
            )
        return sess

    def recover_session(
        self, master: str, saver: object = None, checkpoint_dir: str | None = None,
        checkpoint_filename_with_path: str | None = None, wait_for_checkpoint: bool = False, max_wait_secs: float = 7200,
        config: object = None,
    ) -> tuple[Session, bool]:  # fmt: skip
        """A session, and whether it was restored and is ready; arguments as for `prepare_session`."""
        sess, restored = self._restore_checkpoint(
            master, saver, checkpoint_dir, checkpoint_filename_with_path, wait_for_checkpoint, max_wait_secs, config
        )
        not_ready_for_local_init = self._try_run_local_init_op(sess)
        if not restored:
            return sess, False
        source = checkpoint_dir or checkpoint_filename_with_path
        if not_ready_for_local_init is not None:
            logging.info(
                "Restoring model from %s did not make model ready for local init: %s", source, not_ready_for_local_init
            )
            return sess, False
        missing = self._model_not_ready(sess)
        if missing is not None:
            logging.info("Restoring model from %s did not make model ready: %s", source, missing)
            return sess, False
        logging.info("Restored model from %s", source)
        return sess, True

    def wait_for_session(self, master: str, config: object = None, max_wait_secs: float | None = math.inf) -> Session:
        """A session that is ready because another program initialized the model.

        Args:
          master: target of the session.
          config: a ConfigProto.
          max_wait_secs: seconds to wait at most; None for no limit.

        Raises:
          errors.DeadlineExceededError: the model did not become ready in time.
        """
        limit = math.inf if max_wait_secs is None else max_wait_secs
        deadline = time.time() + limit
        while True:
            sess = Session(master, graph=self._graph, config=config)
            missing = None
            not_ready_for_local_init = self._try_run_local_init_op(sess)
            if not_ready_for_local_init is None:
                missing = self._model_not_ready(sess)
                if missing is None:
                    return sess
            sess.close()
            if deadline - time.time() < self._recovery_wait_secs:
                raise errors.DeadlineExceededError(None, None, f"Session was not ready after waiting {limit:.0f} secs.")
            logging.info(
                "Waiting for model to be ready.  Ready_for_local_init_op:  %s, ready: %s",
                not_ready_for_local_init,
                missing,
            )
            time.sleep(self._recovery_wait_secs)

    def _restore_checkpoint(
        self, master: str, saver: Any, checkpoint_dir: str | None, checkpoint_filename_with_path: str | None,
        wait_for_checkpoint: bool, max_wait_secs: float, config: Any,
    ) -> tuple[Session, bool]:  # fmt: skip
        """A new session, and whether a checkpoint was restored."""
        sess = Session(master, graph=self._graph, config=config)
        if checkpoint_dir and checkpoint_filename_with_path:
            raise ValueError("Can not provide both checkpoint_dir and checkpoint_filename_with_path.")
        if saver and checkpoint_filename_with_path:
            saver.restore(sess, checkpoint_filename_with_path)
            return sess, True
        if not saver or not checkpoint_dir:
            return sess, False
        state = self._checkpoint_state(checkpoint_dir, max_wait_secs if wait_for_checkpoint else 0)
        if state is None:
            return sess, False
        saver.restore(sess, state.model_checkpoint_path)
        saver.recover_last_checkpoints(state.all_model_checkpoint_paths)
        return sess, True

    def _checkpoint_state(self, checkpoint_dir: str, max_wait_secs: float) -> Any:
        """The CheckpointState of a folder that has a checkpoint, None where there is none after so many seconds."""
        waited = 0.0
        while True:
            state = get_checkpoint_state(checkpoint_dir)
            if state and state.model_checkpoint_path:
                return state
            if waited >= max_wait_secs:
                return None
            logging.info("Waiting for checkpoint to be available.")
            time.sleep(self._recovery_wait_secs)
            waited += self._recovery_wait_secs

    def _model_not_ready(self, sess: Session) -> str | None:
        """Why the model is not ready, or None where it is."""
        return _reason(self._ready_op, sess, "Model not ready")

    def _try_run_local_init_op(self, sess: Session) -> str | None:
        """Runs `local_init_op` where the model is ready for that; else why it is not."""
        if self._local_init_op is None:
            return None
        reason = _reason(self._ready_for_local_init_op, sess, "Model not ready for local init")
        if reason is None:
            logging.info("Running local_init_op.")
            sess.run(self._local_init_op, options=self._local_init_run_options)
            logging.info("Done running local_init_op.")
        return reason


def _reason(op: object, sess: Session, text: str) -> str | None:
    """What `op` says is missing, None where nothing is: it gives the names of variables, or fails for want of them."""
    if op is None:
        return None
    try:
        value = sess.run(op)
    except errors.FailedPreconditionError as e:
        if "uninitialized" not in str(e):
            logging.warning("%s : error [%s]", text, e)
            raise
        return str(e)
    if value is None or value.dtype == np.int32 or value.size == 0:
        return None
    return "Variables not initialized: " + ", ".join(name.decode("utf-8") for name in value)


def _name_of(element: object) -> str:
    return "None" if element is None else getattr(element, "name", f"<no name for {type(element)}>")
