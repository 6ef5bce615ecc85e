"""tf.profiler.ProfileOptionBuilder: what a profile counts, shows and writes."""

from __future__ import annotations

import copy
from typing import Any

from tfcompat._src.base.export import export
from tfcompat._src.profiler.op_log import TRAINABLE_VARIABLES


def _options(**changes: object) -> dict[str, Any]:
    return {
        "max_depth": 10000,
        "min_bytes": 0,
        "min_micros": 0,
        "min_params": 0,
        "min_float_ops": 0,
        "min_occurrence": 0,
        "order_by": "name",
        "account_type_regexes": [".*"],
        "start_name_regexes": [".*"],
        "trim_name_regexes": [],
        "show_name_regexes": [".*"],
        "hide_name_regexes": [],
        "account_displayed_op_only": True,
        "select": ["micros"],
        "step": -1,
        "output": "stdout",
        **changes,
    }


@export("profiler.ProfileOptionBuilder")
class ProfileOptionBuilder:
    """Makes the options of a profile; each `with_` method changes one and gives the builder.

    Args:
      options: options to begin with.
    """

    def __init__(self, options: dict[str, Any] | None = None) -> None:
        started = _options(max_depth=100, account_displayed_op_only=False) if options is None else options
        self._options = copy.deepcopy(started)

    @staticmethod
    def trainable_variables_parameter() -> dict[str, Any]:
        """Options that count the parameters of trainable variables."""
        return _options(account_type_regexes=[TRAINABLE_VARIABLES], select=["params"])

    @staticmethod
    def float_operation() -> dict[str, Any]:
        """Options that count floating-point operations."""
        return _options(min_float_ops=1, order_by="float_ops", select=["float_ops"])

    @staticmethod
    def time_and_memory(
        min_micros: int = 1, min_bytes: int = 1, min_accelerator_micros: int = 0, min_cpu_micros: int = 0,
        min_peak_bytes: int = 0, min_residual_bytes: int = 0, min_output_bytes: int = 0,
    ) -> dict[str, Any]:  # fmt: skip
        """Options that show times and memory of nodes with at least these microseconds and bytes."""
        return _options(
            min_micros=min_micros, min_bytes=min_bytes, min_accelerator_micros=min_accelerator_micros,
            min_cpu_micros=min_cpu_micros, min_peak_bytes=min_peak_bytes, min_residual_bytes=min_residual_bytes,
            min_output_bytes=min_output_bytes, order_by="micros", select=["micros", "bytes"],
        )  # fmt: skip

    def build(self) -> dict[str, Any]:
        """The options."""
        return copy.deepcopy(self._options)

    def _with(self, **changes: Any) -> ProfileOptionBuilder:
        self._options.update(copy.copy(changes))
        return self

    def with_max_depth(self, max_depth: int) -> ProfileOptionBuilder:
        """Shows nodes to this depth."""
        return self._with(max_depth=max_depth)

    def with_min_memory(
        self, min_bytes: int = 0, min_peak_bytes: int = 0, min_residual_bytes: int = 0, min_output_bytes: int = 0
    ) -> ProfileOptionBuilder:
        """Shows nodes with at least these bytes."""
        return self._with(
            min_bytes=min_bytes, min_peak_bytes=min_peak_bytes, min_residual_bytes=min_residual_bytes,
            min_output_bytes=min_output_bytes,
        )  # fmt: skip

    def with_min_execution_time(
        self, min_micros: int = 0, min_accelerator_micros: int = 0, min_cpu_micros: int = 0
    ) -> ProfileOptionBuilder:
        """Shows nodes with at least these microseconds."""
        return self._with(
            min_micros=min_micros, min_accelerator_micros=min_accelerator_micros, min_cpu_micros=min_cpu_micros
        )

    def with_min_parameters(self, min_params: int) -> ProfileOptionBuilder:
        """Shows nodes with at least these parameters."""
        return self._with(min_params=min_params)

    def with_min_occurrence(self, min_occurrence: int) -> ProfileOptionBuilder:
        """Shows what occurs at least so often."""
        return self._with(min_occurrence=min_occurrence)

    def with_min_float_operations(self, min_float_ops: int) -> ProfileOptionBuilder:
        """Shows nodes with at least these floating-point operations."""
        return self._with(min_float_ops=min_float_ops)

    def with_accounted_types(self, account_type_regexes: list[str]) -> ProfileOptionBuilder:
        """Counts nodes with a type (op type, device, type of the op log) that matches one of these."""
        return self._with(account_type_regexes=copy.copy(account_type_regexes))

    def with_node_names(
        self,
        start_name_regexes: list[str] | None = None,
        show_name_regexes: list[str] | None = None,
        hide_name_regexes: list[str] | None = None,
        trim_name_regexes: list[str] | None = None,
    ) -> ProfileOptionBuilder:
        """Shows from, shows, hides, or leaves out what is below, nodes whose names match one of these."""
        given = {
            "start_name_regexes": start_name_regexes, "show_name_regexes": show_name_regexes,
            "hide_name_regexes": hide_name_regexes, "trim_name_regexes": trim_name_regexes,
        }  # fmt: skip
        return self._with(**{name: copy.copy(value) for name, value in given.items() if value is not None})

    def account_displayed_op_only(self, is_true: bool) -> ProfileOptionBuilder:
        """Whether totals count shown nodes only."""
        return self._with(account_displayed_op_only=is_true)

    def with_empty_output(self) -> ProfileOptionBuilder:
        """Writes no text."""
        return self._with(output="none")

    def with_stdout_output(self) -> ProfileOptionBuilder:
        """Prints the text."""
        return self._with(output="stdout")

    def with_file_output(self, outfile: str) -> ProfileOptionBuilder:
        """Writes the text into a file."""
        return self._with(output=f"file:outfile={outfile}")

    def with_timeline_output(self, timeline_file: str) -> ProfileOptionBuilder:
        """Writes a trace into files whose names begin so."""
        return self._with(output=f"timeline:outfile={timeline_file}")

    def with_pprof_output(self, pprof_file: str) -> ProfileOptionBuilder:
        """Writes a profile for pprof."""
        return self._with(output=f"pprof:outfile={pprof_file}")

    def order_by(self, attribute: str) -> ProfileOptionBuilder:
        """Sorts by name, depth, bytes, micros, params, float_ops or the like."""
        return self._with(order_by=attribute)

    def select(self, attributes: list[str]) -> ProfileOptionBuilder:
        """Shows these attributes."""
        return self._with(select=copy.copy(attributes))

    def with_step(self, step: int) -> ProfileOptionBuilder:
        """Uses one step that was added to a Profiler; -1 the mean of all."""
        return self._with(step=step)
