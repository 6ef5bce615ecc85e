"""The callbacks of Horovod for training with Keras; each goes before the class Callback of one Keras."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

from tfcompat._src.graph.scopes import device, executing_eagerly
from tfcompat._src.horovod import processes, reductions


class _Callback:
    """What Keras sets, and the backend of this Keras, a class attribute."""

    backend: Any
    model: Any
    params: dict[str, Any]


class BroadcastGlobalVariables(_Callback):
    """Gives all variables the values that they have in one process, after the first batch: optimizers have theirs by then.

    Args:
      root_rank: the process. device: where values are sent from.
    """

    def __init__(self, root_rank: int, device: str = "") -> None:
        super().__init__()
        self.root_rank, self.device = root_rank, device
        self.broadcast_done = False

    def on_batch_end(self, batch: int, logs: object = None) -> None:
        """Broadcasts, the first time."""
        if self.broadcast_done:
            return
        with device(self.device):
            if executing_eagerly() and hasattr(self.model, "variables"):
                for variables in (self.model.variables, self.model.optimizer.variables()):
                    reductions.broadcast_variables(variables, self.root_rank)
            else:
                self.backend.get_session().run(reductions.broadcast_global_variables(self.root_rank))
        self.broadcast_done = True


class MetricAverage(_Callback):
    """Has each metric of an epoch be its mean over all processes, for the callbacks that come after it.

    Args:
      device: where metrics are reduced.
    """

    def __init__(self, device: str = "") -> None:
        super().__init__()
        self.device = device
        self._variables: dict[str, tuple[Any, Any]] = {}

    def on_epoch_end(self, epoch: int, logs: dict[str, Any] | None = None) -> None:
        """Replaces the metrics in `logs`."""
        logs = logs if logs is not None else {}
        logs.update({name: self._mean(name, logs[name]) for name in sorted(logs)})

    def _mean(self, name: str, value: object) -> Any:
        if executing_eagerly():
            return reductions.allreduce(self.backend.constant(value, name=name), device_dense=self.device).numpy()
        if name not in self._variables:
            with self.backend.name_scope("MetricAverageCallback"):
                variable = self.backend.variable(value, name=name)
                self._variables[name] = variable, reductions.allreduce(variable, device_dense=self.device)
        variable, mean = self._variables[name]
        self.backend.set_value(variable, value)
        return self.backend.get_session().run(mean)


class LearningRateSchedule(_Callback):
    """Multiplies the first learning rate by a factor of the epoch.

    Args:
      multiplier: the factor, or a function of the epoch that gives it.
      start_epoch, end_epoch: from which epoch on, and before which one, or None for no end.
      staircase: whether it changes with epochs only, else with each batch.
      momentum_correction: whether momentum is scaled alike for the batch (Goyal et al. 2017, arXiv:1706.02677).
      steps_per_epoch: batches in an epoch, needed without `staircase` where Keras does not know them.
      initial_lr: the first learning rate, by default that of the optimizer.
    """

    def __init__(
        self, multiplier: float | Callable[[float], float], start_epoch: int = 0, end_epoch: int | None = None, staircase: bool = True,
        momentum_correction: bool = True, steps_per_epoch: int | None = None, initial_lr: float | None = None,
    ) -> None:  # fmt: skip
        super().__init__()
        self.start_epoch, self.end_epoch, self.momentum_correction = start_epoch, end_epoch, momentum_correction
        self.steps_per_epoch, self.initial_lr = steps_per_epoch, initial_lr
        self.staircase = staircase or not callable(multiplier)
        self.multiplier = multiplier if callable(multiplier) else lambda epoch: multiplier
        self.current_epoch = 0
        self._momentum: float | None = None
        if initial_lr is None:
            warnings.warn("Parameter `initial_lr` will be required in v0.21.0", DeprecationWarning, stacklevel=2)

    def on_train_begin(self, logs: object = None) -> None:
        """Notes the first learning rate.

        Raises:
          ValueError: the batches of an epoch are needed and not known.
        """
        if self.initial_lr is None:
            self.initial_lr = self.backend.get_value(self.model.optimizer.lr)
        if not self.staircase and not self.steps_per_epoch:
            self.steps_per_epoch = self._known_steps()

    def _known_steps(self) -> int:
        steps, samples, batch = (self.params.get(name) for name in ("steps", "samples", "batch_size"))
        if steps:
            return int(steps)
        if samples and batch:
            return int(samples) // int(batch)
        raise ValueError(f"The batches of an epoch are not known: please specify the steps_per_epoch parameter to the {type(self).__name__}().")

    def on_epoch_begin(self, epoch: int, logs: object = None) -> None:
        """Notes the epoch."""
        self.current_epoch = epoch

    def on_batch_begin(self, batch: int, logs: object = None) -> None:
        """Sets the learning rate."""
        if self.current_epoch < self.start_epoch or (self.end_epoch is not None and self.current_epoch >= self.end_epoch):
            return
        if not self.staircase:
            self._set(self.current_epoch + batch / (self.steps_per_epoch or 1))
        elif batch == 0:
            self._set(self.current_epoch)

    def _set(self, epoch: float) -> None:
        optimizer, backend = self.model.optimizer, self.backend
        old, new = backend.get_value(optimizer.lr), (self.initial_lr or 0.0) * self.multiplier(epoch)
        backend.set_value(optimizer.lr, new)
        if self.momentum_correction and hasattr(optimizer, "momentum"):
            self._momentum = backend.get_value(optimizer.momentum)
            backend.set_value(optimizer.momentum, self._momentum * new / old)

    def on_batch_end(self, batch: int, logs: object = None) -> None:
        """Sets the momentum back."""
        if self._momentum is not None:
            self.backend.set_value(self.model.optimizer.momentum, self._momentum)
            self._momentum = None

    def on_epoch_end(self, epoch: int, logs: dict[str, Any] | None = None) -> None:
        """Notes the learning rate in `logs`."""
        if logs is not None:
            logs["lr"] = self.backend.get_value(self.model.optimizer.lr)


class LearningRateWarmup(LearningRateSchedule):
    """Has the learning rate grow from its size-th part to itself (Goyal et al. 2017, arXiv:1706.02677).

    Args:
      warmup_epochs: how many epochs that takes. verbose: 1 says when it is done. Others: as of LearningRateSchedule.
    """

    def __init__(
        self, warmup_epochs: int = 5, momentum_correction: bool = True, steps_per_epoch: int | None = None, verbose: int = 0,
        initial_lr: float | None = None,
    ) -> None:  # fmt: skip
        def factor(epoch: float) -> float:
            epoch += 1.0 / (self.steps_per_epoch or 1)  # so that an epoch ends with a round number
            return (epoch * (processes.size() - 1) / warmup_epochs + 1) / processes.size()

        super().__init__(factor, 0, warmup_epochs, False, momentum_correction, steps_per_epoch, initial_lr)
        self.verbose = verbose

    def on_epoch_end(self, epoch: int, logs: dict[str, Any] | None = None) -> None:
        """Notes the learning rate, and says when it is grown."""
        super().on_epoch_end(epoch, logs)
        if self.verbose > 0 and self.end_epoch is not None and epoch == self.end_epoch - 1:
            rate = self.backend.get_value(self.model.optimizer.lr)
            print(f"\nEpoch {epoch + 1}: finished gradual learning rate warmup to {rate:g}.")
