"""tf.contrib.learn.graph_actions: runs of a graph in a session of their own."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator
from typing import Any

from tfcompat._src.base.export import export
from tfcompat._src.base.graph_collections import GraphKeys
from tfcompat._src.contrib.framework.aliases import get_graph_from_inputs
from tfcompat._src.graph.graph import Graph
from tfcompat._src.platform import logging
from tfcompat._src.runtime.session.session import Session
from tfcompat._src.summary.writer import FileWriterCache
from tfcompat._src.train.coordinator import Coordinator
from tfcompat._src.train.queue_runner import start_queue_runners
from tfcompat._src.train.saver import Saver
from tfcompat._src.variables.collections import (
    global_variables_initializer,
    local_variables_initializer,
    tables_initializer,
)  # fmt: skip
from tfcompat._src.variables.resources import initialize_resources, local_resources, shared_resources

_STOP_GRACE_SECS = 120


@export("contrib.learn.graph_actions.clear_summary_writers")
def clear_summary_writers() -> None:
    """Forgets the FileWriters of all folders."""
    FileWriterCache.clear()


@export("contrib.learn.graph_actions.get_summary_writer")
def get_summary_writer(logdir: str) -> Any:
    """The FileWriter of a folder."""
    return FileWriterCache.get(logdir)


def _restore_from_checkpoint(session: Session, graph: Graph, checkpoint_path: str) -> None:
    logging.info("Loading model from checkpoint: %s.", checkpoint_path)
    saved = graph.get_collection(GraphKeys.GLOBAL_VARIABLES) + graph.get_collection(GraphKeys.SAVEABLE_OBJECTS)
    if saved:
        Saver(saved, sharded=True).restore(session, checkpoint_path)
    else:
        logging.info("No variables found in graph, not creating Saver() object.")


@export("contrib.learn.graph_actions.run_feeds_iter")
def run_feeds_iter(
    output_dict: dict[str, Any], feed_dicts: Iterable[Any], restore_checkpoint_path: str | None = None
) -> Iterator[dict[str, Any]]:
    """The values of tensors for each of several feeds.

    Args:
      output_dict: tensors by name.
      feed_dicts: what is fed in each run, None for nothing.
      restore_checkpoint_path: checkpoint; by default variables are initialized.

    Raises:
      ValueError: there are no tensors or no feeds.
    """
    if not output_dict:
        raise ValueError(f"output_dict is invalid: {output_dict}.")
    if not feed_dicts:
        raise ValueError(f"feed_dicts is invalid: {feed_dicts}.")
    with get_graph_from_inputs(output_dict.values()).as_default() as graph, Session("") as session:
        session.run(initialize_resources(shared_resources() + local_resources()))
        if restore_checkpoint_path:
            _restore_from_checkpoint(session, graph, restore_checkpoint_path)
        else:
            session.run(global_variables_initializer())
        session.run(local_variables_initializer())
        session.run(tables_initializer())
        coord, threads = Coordinator(), None
        try:
            threads = start_queue_runners(session, coord=coord)
            for feed_dict in feed_dicts:
                yield session.run(output_dict, feed_dict)
        finally:
            coord.request_stop()
            if threads:
                coord.join(threads, stop_grace_period_secs=_STOP_GRACE_SECS)


@export("contrib.learn.run_feeds", "contrib.learn.graph_actions.run_feeds")
def run_feeds(
    output_dict: dict[str, Any], feed_dicts: Iterable[Any], restore_checkpoint_path: str | None = None
) -> list[dict[str, Any]]:
    """run_feeds_iter as a list."""
    return list(run_feeds_iter(output_dict, feed_dicts, restore_checkpoint_path))


@export("contrib.learn.run_n", "contrib.learn.graph_actions.run_n")
def run_n(
    output_dict: dict[str, Any], feed_dict: object = None, restore_checkpoint_path: str | None = None, n: int = 1
) -> list[dict[str, Any]]:
    """The values of tensors in `n` runs with one feed; other arguments as run_feeds_iter."""
    return run_feeds(output_dict, itertools.repeat(feed_dict, n), restore_checkpoint_path)


@export("contrib.learn.infer", "contrib.learn.graph_actions.infer")
def infer(restore_checkpoint_path: str | None, output_dict: dict[str, Any], feed_dict: object = None) -> dict[str, Any]:
    """The values of tensors in one run; arguments as run_feeds_iter."""
    return run_feeds(output_dict, [feed_dict], restore_checkpoint_path)[0]


@export("contrib.learn.train", "contrib.learn.graph_actions.train")
def train(graph: Graph, output_dir: str, train_op: Any, loss_op: Any, *args: Any, **kwargs: Any) -> Any:
    """A training with a Supervisor, which is not done here."""
    raise NotImplementedError("contrib.learn.graph_actions.train: use tf.train.MonitoredTrainingSession")


@export("contrib.learn.evaluate", "contrib.learn.graph_actions.evaluate")
def evaluate(graph: Graph, output_dir: str, checkpoint_path: str, eval_dict: Any, *args: Any, **kwargs: Any) -> Any:
    """An evaluation of a graph, which is not done here."""
    raise NotImplementedError("contrib.learn.graph_actions.evaluate: use tf.contrib.training.evaluate_once")
