"""Where a TPUEstimator runs a mode, and with which batch size."""

from __future__ import annotations

import contextlib
import copy
from collections.abc import Iterator
from typing import Any

from tfcompat._src.estimator.tpu.tpu_config import InputPipelineConfig
from tfcompat._src.platform import logging
from tfcompat._src.saved_model.model_utils.mode_keys import EstimatorModeKeys as ModeKeys


class _InternalTPUContext:
    """Where a mode runs: on the CPU, as tfcompat has no TPU system.

    Args:
      config: a RunConfig of tf.contrib.tpu.
      train_batch_size, eval_batch_size, predict_batch_size: global batch sizes.
      use_tpu, eval_on_tpu: whether TPUs are wanted, and whether for evaluations.
    """

    def __init__(
        self, config: Any, train_batch_size: int | None, eval_batch_size: int | None, predict_batch_size: int | None,
        use_tpu: bool, eval_on_tpu: bool = True,
    ) -> None:  # fmt: skip
        self._config = config
        self._batch_sizes = {
            ModeKeys.TRAIN: train_batch_size, ModeKeys.EVAL: eval_batch_size, ModeKeys.PREDICT: predict_batch_size,
        }  # fmt: skip
        self._use_tpu, self._eval_on_tpu = use_tpu, eval_on_tpu
        self._mode: str | None = None
        logging.info("_TPUContext: eval_on_tpu %s", eval_on_tpu)
        if not use_tpu and eval_on_tpu:
            logging.warning("eval_on_tpu ignored because use_tpu is False.")

    @contextlib.contextmanager
    def with_mode(self, mode: str) -> Iterator[_InternalTPUContext]:
        """A block with the context of one mode."""
        made = copy.copy(self)
        made._mode = mode
        yield made

    @property
    def mode(self) -> str:
        if self._mode is None:
            raise RuntimeError("`mode` needs to be set via contextmanager `with_mode`.")
        return self._mode

    @property
    def config(self) -> Any:
        return self._config

    def require_cpu(self, is_export_mode: bool = False) -> None:
        """Raises NotImplementedError where this mode is to run on a TPU."""
        if not self._use_tpu or is_export_mode:
            return
        if self.mode == ModeKeys.EVAL and not self._eval_on_tpu:
            logging.info("_is_running_on_cpu: eval_on_tpu disabled")
            return
        raise NotImplementedError(
            f"TPUEstimator: mode {self.mode!r} is to run on a TPU, and tfcompat has no TPU system. Pass use_tpu=False; "
            "for evaluations alone eval_on_tpu=False is enough."
        )

    def require_no_slices(self) -> None:
        """Raises ValueError where inputs of evaluations are to be cut in slices, which only TPUs do."""
        if (
            self.mode != ModeKeys.TRAIN
            and self._config.tpu_config.eval_training_input_configuration == InputPipelineConfig.SLICED
        ):
            raise ValueError(
                "Invalid TPUConfig `eval_training_input_configuration` value. SLICED mode only works on use_tpu = True."
            )

    @property
    def global_batch_size(self) -> int | None:
        """The batch size of the mode, None where none was given."""
        return self._batch_sizes.get(self.mode)


def _get_tpu_context(
    config: Any, train_batch_size: int | None, eval_batch_size: int | None, predict_batch_size: int | None,
    use_tpu: bool, eval_on_tpu: bool, embedding_config_spec: object,
) -> _InternalTPUContext:  # fmt: skip
    """The context of a TPUEstimator; arguments are the estimator's.

    Raises:
      ValueError: embeddings on one shard. NotImplementedError: embeddings on TPUs.
    """
    if config.tpu_config.num_shards == 1 and config.tpu_config.num_cores_per_replica is None:
        if embedding_config_spec is not None:
            raise ValueError("Setting TPUConfig.num_shards==1 is unsupported when embedding_config_spec is not None.")
        logging.warning(
            "Setting TPUConfig.num_shards==1 is an unsupported behavior. Please fix as soon as possible (leaving "
            "num_shards as None.)"
        )
    if embedding_config_spec is not None and use_tpu:
        raise NotImplementedError("TPUEstimator: tfcompat has no embeddings on TPUs (embedding_config_spec).")
    return _InternalTPUContext(config, train_batch_size, eval_batch_size, predict_batch_size, use_tpu, eval_on_tpu)
