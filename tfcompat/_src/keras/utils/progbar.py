"""A progress bar on the standard output."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterable
from typing import Any

import numpy as np

from tfcompat._src.base.export import export


@export("keras.utils.Progbar")
class Progbar:
    """Shows how many steps are done, how long they take, and the averages of metrics.

    Args:
      target: the number of steps, None where it is not known.
      width: characters of the bar.
      verbose: 0 shows nothing, 1 a bar, 2 one line at the end.
      interval: seconds between two updates of the bar.
      stateful_metrics: names of metrics that are shown as they are instead of averaged.
      unit_name: what a step is called.
    """

    def __init__(
        self, target: int | None, width: int = 30, verbose: int = 1, interval: float = 0.05,
        stateful_metrics: Iterable[str] | None = None, unit_name: str = "step",
    ) -> None:  # fmt: skip
        self.target, self.width, self.verbose = target, width, verbose
        self.interval, self.unit_name = interval, unit_name
        self.stateful_metrics = set(stateful_metrics or ())
        is_terminal = hasattr(sys.stdout, "isatty") and sys.stdout.isatty()
        known_displays = "ipykernel" in sys.modules or "posix" in sys.modules or "PYCHARM_HOSTED" in os.environ
        self._dynamic_display = is_terminal or known_displays
        self._total_width, self._seen_so_far = 0, 0
        self._values: dict[str, list[Any]] = {}
        self._start, self._last_update = time.time(), 0.0

    def add(self, n: int, values: Iterable[tuple[str, Any]] | None = None) -> None:
        """`update` by `n` more steps."""
        self.update(self._seen_so_far + n, values)

    def update(self, current: int, values: Iterable[tuple[str, Any]] | None = None) -> None:
        """Shows that `current` steps are done.

        Args:
          current: the number of steps.
          values: (name of a metric, its value for the steps since the last update).
        """
        steps = current - self._seen_so_far
        for name, value in values or ():
            total = self._values.setdefault(name, [0, 0])
            if name in self.stateful_metrics:
                total[:] = value, 1
            else:
                total[0] += value * steps
                total[1] += steps
        self._seen_so_far = current
        now = time.time()
        done = self.target is not None and current >= self.target
        if self.verbose == 1:
            if now - self._last_update < self.interval and self.target is not None and not done:
                return
            self._show_bar(current, now - self._start, done)
        elif self.verbose == 2 and done:
            sys.stdout.write(f"{self._count(current)} - {now - self._start:.0f}s{self._averages()}\n")
            sys.stdout.flush()
        self._last_update = now

    def _show_bar(self, current: int, seconds: float, done: bool) -> None:
        before = self._total_width
        sys.stdout.write("\b" * before + "\r" if self._dynamic_display else "\n")
        bar = f"{current:7d}/Unknown" if self.target is None else f"{self._count(current)} [{self._bar(current)}]"
        info = self._timing(current, seconds) + self._averages()
        self._total_width = len(bar) + len(info)
        sys.stdout.write(bar + info + " " * max(before - self._total_width, 0) + ("\n" if done else ""))
        sys.stdout.flush()

    def _count(self, current: int) -> str:
        return f"{current:{int(np.log10(self.target)) + 1}d}/{self.target}"

    def _bar(self, current: int) -> str:
        filled = int(self.width * (current / self.target))
        tip = ">" if current < self.target else "="
        return ("=" * (filled - 1) + tip if filled > 0 else "") + "." * (self.width - filled)

    def _timing(self, current: int, seconds: float) -> str:
        unit = seconds / current if current else 0
        if self.target is not None and current < self.target:
            left = unit * (self.target - current)
            if left > 3600:
                return f" - ETA: {left // 3600:.0f}:{left % 3600 // 60:02.0f}:{left % 60:02.0f}"
            return f" - ETA: {left // 60:.0f}:{int(left % 60):02d}" if left > 60 else f" - ETA: {int(left)}s"
        text = f" - {seconds:.0f}s"
        if unit >= 1 or unit == 0:
            return f"{text} {unit:.0f}s/{self.unit_name}"
        return f"{text} {unit * 1e3:.0f}ms/{self.unit_name}" if unit >= 1e-3 else f"{text} {unit * 1e6:.0f}us/{self.unit_name}"

    def _averages(self) -> str:
        shown = ""
        for name, (total, count) in self._values.items():
            average = np.mean(total / max(1, count))
            shown += f" - {name}: {average:.4f}" if abs(average) > 1e-3 else f" - {name}: {average:.4e}"
        return shown
