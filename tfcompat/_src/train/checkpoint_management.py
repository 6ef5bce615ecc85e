"""The `checkpoint` state file and the files of checkpoints: which is the latest, which exist, which are deleted."""

from __future__ import annotations

import os
import re
import time
from typing import Any

from google.protobuf import text_format

from tfcompat._src.base import errors
from tfcompat._src.base.default_stack import SESSIONS
from tfcompat._src.base.export import export
from tfcompat._src.checkpoint.bundle_files import begun_saves, index_name
from tfcompat._src.checkpoint.commit import settle
from tfcompat._src.graph.scopes import executing_eagerly
from tfcompat._src.platform import compat, file_io, logging, temporary_files
from tfcompat._src.proto import messages, pool
from tfcompat._src.variables import training_util
from tfcompat._src.variables.variable import variable_creator_scope

V1, V2 = 1, 2


def _state_filename(save_dir: object, latest_filename: str | None) -> str:
    return os.path.join(compat.path_to_str(save_dir), latest_filename or "checkpoint")


# ---- the state file ----


@export("train.generate_checkpoint_state_proto")
def generate_checkpoint_state_proto(
    save_dir: str, model_checkpoint_path: str, all_model_checkpoint_paths: list[str] | None = None,
    all_model_checkpoint_timestamps: list[float] | None = None, last_preserved_timestamp: float | None = None,
) -> Any:  # fmt: skip
    """A CheckpointState message; paths are relative to `save_dir` where that is relative.

    Args:
      save_dir: folder of the checkpoints.
      model_checkpoint_path: the latest.
      all_model_checkpoint_paths: all, oldest first; the latest is added where it is not the last.
      all_model_checkpoint_timestamps: their times, in seconds since the epoch.
      last_preserved_timestamp: time of the last checkpoint that is kept for good.

    Raises:
      ValueError: there are more or fewer timestamps than paths.
    """
    paths = [] if all_model_checkpoint_paths is None else all_model_checkpoint_paths
    if not paths or paths[-1] != model_checkpoint_path:
        logging.info("%s is not in all_model_checkpoint_paths. Manually adding it.", model_checkpoint_path)
        paths.append(model_checkpoint_path)
    times = all_model_checkpoint_timestamps
    if times and len(times) != len(paths):
        raise ValueError(
            f"Checkpoint timestamps, if provided, must match checkpoint paths (got paths {paths} and timestamps {times})"
        )
    if not os.path.isabs(save_dir):
        model_checkpoint_path, *paths = [_relative(p, save_dir) for p in (model_checkpoint_path, *paths)]
    return messages.CheckpointState(
        model_checkpoint_path=model_checkpoint_path, all_model_checkpoint_paths=paths,
        all_model_checkpoint_timestamps=times, last_preserved_timestamp=last_preserved_timestamp,
    )  # fmt: skip


def _relative(path: str, save_dir: str) -> str:
    return path if os.path.isabs(path) else os.path.relpath(path, save_dir or ".")


@export("train.update_checkpoint_state")
def update_checkpoint_state(
    save_dir: str, model_checkpoint_path: str, all_model_checkpoint_paths: list[str] | None = None,
    latest_filename: str | None = None, all_model_checkpoint_timestamps: list[float] | None = None,
    last_preserved_timestamp: float | None = None,
) -> None:  # fmt: skip
    """Writes the state file of a folder; see `generate_checkpoint_state_proto`.

    Raises:
      RuntimeError: the checkpoint would have the name of the state file.
    """
    update_checkpoint_state_internal(
        save_dir, model_checkpoint_path, all_model_checkpoint_paths, latest_filename, False, all_model_checkpoint_timestamps,
        last_preserved_timestamp,
    )  # fmt: skip


def update_checkpoint_state_internal(
    save_dir: str, model_checkpoint_path: str, all_model_checkpoint_paths: Any = None, latest_filename: str | None = None,
    save_relative_paths: bool = False, all_model_checkpoint_timestamps: Any = None, last_preserved_timestamp: float | None = None,
) -> None:  # fmt: skip
    """`update_checkpoint_state`, with paths relative to the folder where `save_relative_paths` is true."""
    save_dir = compat.path_to_str(save_dir)
    paths = list(all_model_checkpoint_paths or ())
    if save_relative_paths:
        model_checkpoint_path, *paths = [
            os.path.relpath(p, save_dir) if os.path.isabs(p) else p for p in (model_checkpoint_path, *paths)
        ]
    state = generate_checkpoint_state_proto(
        save_dir, model_checkpoint_path, paths, all_model_checkpoint_timestamps, last_preserved_timestamp
    )
    filename = _state_filename(save_dir, latest_filename)
    if filename == state.model_checkpoint_path:
        raise RuntimeError(
            f"Save path '{model_checkpoint_path}' conflicts with path used for checkpoint state.  Please use a different save path."
        )
    file_io.atomic_write_string_to_file(filename, text_format.MessageToString(state, descriptor_pool=pool.POOL))


@export("train.get_checkpoint_state")
def get_checkpoint_state(checkpoint_dir: Any, latest_filename: str | None = None) -> Any:
    """The CheckpointState of a folder, with paths that can be opened.

    Args:
      checkpoint_dir: the folder.
      latest_filename: name of the state file, "checkpoint" by default.

    Returns:
      the message, or None where there is none or it cannot be read.

    Raises:
      ValueError: it names no checkpoint.
    """
    checkpoint_dir = compat.path_to_str(checkpoint_dir)
    filename = _state_filename(checkpoint_dir, latest_filename)
    state = messages.CheckpointState()
    try:
        if not file_io.exists(filename):
            return None
        text_format.Merge(file_io.read_file_to_string(filename), state, descriptor_pool=pool.POOL)
    except (errors.OpError, text_format.ParseError) as e:
        logging.warning("%s: %s", type(e).__name__, e)
        logging.warning("%s: Checkpoint ignored", filename)
        return None
    if not state.model_checkpoint_path:
        raise ValueError(f"Invalid checkpoint state loaded from {checkpoint_dir}")
    state.model_checkpoint_path = os.path.join(checkpoint_dir, state.model_checkpoint_path)
    state.all_model_checkpoint_paths[:] = [os.path.join(checkpoint_dir, p) for p in state.all_model_checkpoint_paths]
    return state


# ---- files ----


@export("train.latest_checkpoint")
def latest_checkpoint(checkpoint_dir: object, latest_filename: str | None = None) -> str | None:
    """The prefix of the latest checkpoint of a folder.

    Args:
      checkpoint_dir: the folder.
      latest_filename: name of the state file, "checkpoint" by default.

    Returns:
      a path for `Saver.restore`, or None where the state file or the checkpoint's files are missing.
    """
    state = get_checkpoint_state(checkpoint_dir, latest_filename)
    if state is None:
        return None
    if checkpoint_exists_internal(state.model_checkpoint_path):
        return state.model_checkpoint_path
    logging.error("Couldn't match files for checkpoint %s", state.model_checkpoint_path)
    return None


def _checkpoint_files(prefix: str) -> list[str]:
    """The files that show that a checkpoint exists: its index, or those of version 1."""
    index = index_name(file_io.local(prefix))
    begun = [temporary_files.temporary_name(index, number) for number in begun_saves(file_io.local(prefix))]
    return file_io.glob(index_name(prefix)) or begun or file_io.glob(prefix)


def checkpoint_exists_internal(checkpoint_prefix: str) -> bool:
    """Whether there is a checkpoint of either version with this prefix or pattern."""
    return bool(_checkpoint_files(checkpoint_prefix))


@export("train.checkpoint_exists")
def checkpoint_exists(checkpoint_prefix: str) -> bool:
    """Whether there is a checkpoint of either version with this prefix or pattern."""
    return checkpoint_exists_internal(checkpoint_prefix)


@export("train.get_checkpoint_mtimes")
def get_checkpoint_mtimes(checkpoint_prefixes: list[str]) -> list[float]:
    """When each of the checkpoints that exist was written, in seconds since the epoch."""
    found = [_checkpoint_files(prefix) for prefix in checkpoint_prefixes]
    return [file_io.stat(files[0]).mtime_nsec / 1e9 for files in found if files]


@export("train.remove_checkpoint")
def remove_checkpoint(
    checkpoint_prefix: str, checkpoint_format_version: int = V2, meta_graph_suffix: str = "meta"
) -> None:
    """Deletes the files of a checkpoint, and its graph.

    Args:
      checkpoint_prefix: its prefix, or the path or pattern of files of version 1.
      checkpoint_format_version: SaverDef.V1 or SaverDef.V2.
      meta_graph_suffix: how the name of the graph's file ends.
    """
    _delete_matching(meta_graph_filename(checkpoint_prefix, meta_graph_suffix))
    if checkpoint_format_version == V2:
        _delete_bundle(checkpoint_prefix)
    else:
        _delete_matching(checkpoint_prefix)


def _delete_bundle(prefix: str) -> None:
    settle(file_io.local(prefix))
    _delete_matching(index_name(prefix))
    _delete_matching(prefix + ".data-?????-of-?????")


def _delete_matching(pattern: str) -> None:
    for path in file_io.glob(pattern):
        file_io.remove(path)


def meta_graph_filename(checkpoint_filename: str, meta_graph_suffix: str = "meta") -> str:
    """The name of the graph's file beside a checkpoint: without shard numbers, with the suffix."""
    return re.sub(r"-[\d\?]+-of-\d+$", "", checkpoint_filename) + "." + meta_graph_suffix


def is_named_by_state(checkpoint_prefix: str, save_dir: object, latest_filename: str | None = None) -> bool:
    """Whether the state file of a folder names a checkpoint, as that of another who saves there may."""
    state = get_checkpoint_state(save_dir, latest_filename)
    if state is None:
        return False
    named = (state.model_checkpoint_path, *state.all_model_checkpoint_paths)
    return os.path.abspath(checkpoint_prefix) in map(os.path.abspath, named)


# ---- CheckpointManager ----


@export("train.CheckpointManager", "contrib.checkpoint.CheckpointManager")
class CheckpointManager:
    """Saves a tf.train.Checkpoint again and again, and deletes old ones.

    Args:
      checkpoint: the tf.train.Checkpoint.
      directory: where to save.
      max_to_keep: how many to keep; None for all.
      keep_checkpoint_every_n_hours: beyond these, one for each so many hours is kept for good.
      checkpoint_name: what the names of the files begin with.

    Raises:
      ValueError: `max_to_keep` is not positive.
    """

    def __init__(
        self, checkpoint: Any, directory: object, max_to_keep: int | None, keep_checkpoint_every_n_hours: float | None = None,
        checkpoint_name: str = "ckpt",
    ) -> None:  # fmt: skip
        if max_to_keep is not None and max_to_keep <= 0:
            raise ValueError(f"Expected a positive integer or `None` for `max_to_max_to_keep`, got {max_to_keep}.")
        self._checkpoint = checkpoint
        self._save_counter_assign: Any = None
        self._max_to_keep = max_to_keep
        self._keep_checkpoint_every_n_hours = keep_checkpoint_every_n_hours
        self._directory = compat.path_to_str(directory)
        self._checkpoint_prefix = os.path.join(self._directory, checkpoint_name)
        self._maybe_delete: dict[str, float] = {}
        self._latest_checkpoint: str | None = None
        self._recover(time.time())

    def _recover(self, now: float) -> None:
        """Takes over what the state file of the folder says."""
        state = get_checkpoint_state(self._directory)
        self._last_preserved_timestamp = now - 1.0
        if state is None:
            return
        self._latest_checkpoint = state.model_checkpoint_path
        self._last_preserved_timestamp = state.last_preserved_timestamp
        if now < self._last_preserved_timestamp:
            ahead = self._last_preserved_timestamp - now
            logging.warning(
                "time.time() returned a value %f seconds behind the last preserved checkpoint timestamp.", ahead
            )
            self._last_preserved_timestamp = now
        paths = list(state.all_model_checkpoint_paths)
        times = list(state.all_model_checkpoint_timestamps) or [self._last_preserved_timestamp] * len(paths)
        for path, written in zip(paths, times):
            if min(written, now) > self._last_preserved_timestamp:
                self._maybe_delete[path] = min(written, now)

    @property
    def latest_checkpoint(self) -> str | None:
        """The prefix of the latest checkpoint."""
        return self._latest_checkpoint

    @property
    def checkpoints(self) -> list[str]:
        """The prefixes of those that may be deleted in time, oldest first."""
        return list(self._maybe_delete)

    @property
    def _prefix(self) -> str:
        return self._checkpoint_prefix

    def _take_outdated(self) -> list[str]:
        """The checkpoints that are to be deleted, which are forgotten here."""
        every = self._keep_checkpoint_every_n_hours
        found = []
        while self._max_to_keep and len(self._maybe_delete) > self._max_to_keep:
            path = next(iter(self._maybe_delete))
            written = self._maybe_delete.pop(path)
            if every and written - every * 3600.0 >= self._last_preserved_timestamp:
                self._last_preserved_timestamp = written
            else:
                found.append(path)
        return found

    def _record_state(self) -> None:
        update_checkpoint_state_internal(
            self._directory, model_checkpoint_path=self._latest_checkpoint or "",
            all_model_checkpoint_paths=list(self._maybe_delete),
            all_model_checkpoint_timestamps=list(self._maybe_delete.values()),
            last_preserved_timestamp=self._last_preserved_timestamp, save_relative_paths=True,
        )  # fmt: skip

    def save(self, checkpoint_number: Any = None) -> str:
        """Saves in the default session, as `directory/checkpoint_name-NUMBER`.

        Args:
          checkpoint_number: an int or an integer variable; by default the number of saves.

        Returns:
          the prefix of the checkpoint.
        """
        counter = self._next_number()
        number = counter if checkpoint_number is None else checkpoint_number
        if not isinstance(number, compat.integral_types):
            number = training_util.global_step(SESSIONS.top(), number)
        path = self._checkpoint.write(f"{self._prefix}-{number}")
        self._maybe_delete.pop(path, None)
        self._maybe_delete[path] = time.time()
        self._latest_checkpoint = path
        outdated = self._take_outdated()
        self._record_state()
        for old in outdated:
            if not is_named_by_state(old, self._directory):
                _delete_bundle(old)
        return path

    def _next_number(self) -> Any:
        """The save counter, which counts every save, after 1 was added to it."""
        if executing_eagerly():
            self._checkpoint.save_counter.assign_add(1)
            return self._checkpoint.save_counter
        session = SESSIONS.top()

        def initialized(next_creator: Any, **kwargs: Any) -> Any:
            made = next_creator(**kwargs)
            session.run(made.initializer)
            return made

        with variable_creator_scope(initialized):
            counter = self._checkpoint.save_counter
        if self._save_counter_assign is None:
            self._save_counter_assign = counter.assign_add(1, read_value=False)
        session.run(self._save_counter_assign)
        return counter
