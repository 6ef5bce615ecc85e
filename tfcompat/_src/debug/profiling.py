"""The times of nodes, one by one and by the source line that made them."""

from __future__ import annotations

import collections
import os
from typing import Any


class ProfileDatum:
    """The times of one execution of a node.

    Args:
      device_name: the device it ran on.
      node_exec_stats: the message NodeExecStats.
      file_path: the file whose line made the node, or "".
      line_number: that line, from 1.
      func_name: the function in which the line is.
      op_type: the type of the node.
    """

    def __init__(self, device_name: str, node_exec_stats: Any, file_path: str, line_number: int, func_name: str, op_type: str) -> None:
        self.device_name = device_name
        self.node_exec_stats = node_exec_stats
        self.file_path = file_path
        self.line_number = line_number
        self.func_name = func_name
        self.file_line_func = "%s:%d(%s)" % (os.path.basename(file_path), line_number, func_name) if file_path else ""
        self.op_type = op_type
        self.start_time = node_exec_stats.all_start_micros
        self.op_time = node_exec_stats.op_end_rel_micros - node_exec_stats.op_start_rel_micros

    @property
    def exec_time(self) -> int:
        """Microseconds of the operation with what comes before and after it."""
        return self.node_exec_stats.all_end_rel_micros  # type: ignore[no-any-return]


class AggregateProfile:
    """The sums of several executions, beginning with one."""

    def __init__(self, profile_datum: ProfileDatum) -> None:
        self.total_op_time = 0
        self.total_exec_time = 0
        self._node_to_exec_count: collections.Counter[str] = collections.Counter()
        self.add(profile_datum)

    def add(self, profile_datum: ProfileDatum) -> None:
        """Adds an execution."""
        self.total_op_time += profile_datum.op_time
        self.total_exec_time += profile_datum.exec_time
        self._node_to_exec_count["%s:%s" % (profile_datum.device_name, profile_datum.node_exec_stats.node_name)] += 1

    @property
    def node_count(self) -> int:
        """How many nodes there are, each counted once for a device."""
        return len(self._node_to_exec_count)

    @property
    def node_exec_count(self) -> int:
        """How many executions there are."""
        return self._node_to_exec_count.total()
