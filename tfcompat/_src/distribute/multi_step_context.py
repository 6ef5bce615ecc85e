"""What steps that run in one loop under a strategy give."""

from __future__ import annotations

from typing import Any

from tfcompat._src.graph import distribution_context


def _mode() -> distribution_context.Mode:
    mode = distribution_context.current()
    if mode is None:
        raise RuntimeError("The outputs of steps are set under a strategy: in the function of `experimental_run_steps_on_iterator`.")
    return mode


class MultiStepContext:
    """What the function of `experimental_run_steps_on_iterator` gives beside the operation of its step."""

    def __init__(self) -> None:
        self._last_step_outputs: dict[str, Any] = {}
        self._last_step_outputs_reduce_ops: dict[str, Any] = {}
        self._non_tensor_outputs: dict[str, Any] = {}

    @property
    def last_step_outputs(self) -> dict[str, Any]:
        """What the last step gave, by name: a tensor where it was reduced, else a value of each replica."""
        return self._last_step_outputs

    def _set_last_step_outputs(self, outputs: object) -> None:
        if not isinstance(outputs, dict):
            raise ValueError("Need a dictionary to set last_step_outputs.")
        self._last_step_outputs = outputs

    def set_last_step_output(self, name: str, output: object, reduce_op: object = None) -> None:
        """Gives a tensor of each step.

        Args:
          name: of the output.
          output: a tensor, or a value of each replica.
          reduce_op: how the values of replicas become one; None, outside of replicas only: they stay as they are.

        Raises:
          AssertionError: a replica gives no `reduce_op`.
        """
        mode = _mode()
        if mode.replica_context is None:
            self._keep(mode.strategy, output, name, reduce_op)
            return
        if reduce_op is None:
            raise AssertionError("A replica that sets an output says by `reduce_op` how the values of replicas become one.")
        mode.replica_context.merge_call(self._keep, args=(output, name, reduce_op))

    def _keep(self, strategy: Any, output: Any, name: str, reduce_op: Any) -> None:
        self._last_step_outputs_reduce_ops[name] = reduce_op
        self._last_step_outputs[name] = output if reduce_op is None else strategy.reduce(reduce_op, output, axis=None)

    @property
    def non_tensor_outputs(self) -> dict[str, Any]:
        """Values that are no tensors, by name: of the last time the step was built."""
        return self._non_tensor_outputs

    def set_non_tensor_output(self, name: str, output: object) -> None:
        """Gives a value that is no tensor; a tuple of those of all replicas, where replicas give it."""
        mode = _mode()
        if mode.replica_context is None:
            self._non_tensor_outputs[name] = output
        else:
            mode.replica_context.merge_call(self._keep_values, args=(output, name))

    def _keep_values(self, strategy: Any, output: Any, name: str) -> None:
        self._non_tensor_outputs[name] = strategy.experimental_local_results(output)
