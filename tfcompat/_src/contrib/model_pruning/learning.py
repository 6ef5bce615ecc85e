"""tf.contrib.model_pruning.train: slim's training loop, with an update of the masks after each step."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from tfcompat._src.base.export import export
from tfcompat._src.base.session_like import SessionLike
from tfcompat._src.contrib.slim import learning
from tfcompat._src.graph.graph import Graph

if TYPE_CHECKING:
    from tfcompat._src.proto import messages

_USE_DEFAULT = learning._USE_DEFAULT


@export("contrib.model_pruning.train")
def train(
    train_op: object, logdir: str | None, mask_update_op: object, train_step_fn: Callable = learning.train_step,
    train_step_kwargs: object = _USE_DEFAULT, log_every_n_steps: int = 1, graph: Graph | None = None, master: str = "",
    is_chief: bool = True, global_step: object = None, number_of_steps: int | None = None, init_op: object = _USE_DEFAULT,
    init_feed_dict: dict | None = None, local_init_op: object = _USE_DEFAULT, init_fn: Callable | None = None,
    ready_op: object = _USE_DEFAULT, summary_op: object = _USE_DEFAULT, save_summaries_secs: float = 600,
    summary_writer: object = _USE_DEFAULT, startup_delay_steps: int = 0, saver: object = None,
    save_interval_secs: float = 600, sync_optimizer: object = None, session_config: messages.ConfigProto | None = None,
    trace_every_n_steps: int | None = None,
) -> Any:  # fmt: skip
    """Trains as `tf.contrib.slim.learning.train`, whose other arguments, results and errors are the same.

    Args:
      mask_update_op: what updates the masks, run after each step.
    """

    def step(session: SessionLike, train_op: object, global_step: object, train_step_kwargs: object) -> tuple[Any, bool]:
        result = train_step_fn(session, train_op, global_step, train_step_kwargs)
        session.run(mask_update_op)
        return result

    return learning.train(
        train_op, logdir, step, train_step_kwargs, log_every_n_steps, graph, master, is_chief, global_step,
        number_of_steps, init_op, init_feed_dict, local_init_op, init_fn, ready_op, summary_op, save_summaries_secs,
        summary_writer, startup_delay_steps, saver, save_interval_secs, sync_optimizer, session_config,
        trace_every_n_steps=trace_every_n_steps,
    )  # fmt: skip
