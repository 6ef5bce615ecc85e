"""The page at `/`, and what it shows: models, versions, signatures, and counts and times of requests."""

from __future__ import annotations

import json
import pathlib
import time
from collections.abc import Callable
from typing import Any

from tfcompat._src.base import dtypes
from tfcompat._src.proto import messages
from tfcompat._src.serving import metrics
from tfcompat._src.serving.manager import Manager
from tfcompat._src.serving.servable import type_name

HTML = pathlib.Path(__file__).with_suffix(".html")
_PREFIX = "tensorflow/serving/"


class Page:
    """The page of a server.

    Args:
      manager: of the models. totals: gives the metrics.
    """

    def __init__(self, manager: Manager, totals: Callable[[], metrics.Totals] = metrics.totals) -> None:
        self._manager, self._totals, self._began = manager, totals, time.monotonic()
        self._html = HTML.read_bytes()

    def html(self) -> bytes:
        """The page."""
        return self._html

    def status(self) -> bytes:
        """What the page shows, as JSON: it asks again and again, and draws how counts and times grow. Times are in microseconds."""
        now = time.monotonic()
        totals = self._totals()
        models = [self._model(name, totals) for name in self._manager.names()]
        return json.dumps({"now": now, "up": now - self._began, "bounds": metrics.BOUNDS, "models": models}).encode()

    def _model(self, name: str, totals: metrics.Totals) -> dict[str, Any]:
        versions, newest = self._manager.described(name)
        states = messages.serving.ModelVersionStatus.State
        latency = [0] * (len(metrics.BOUNDS) + 1)
        for (model, *_), (counts, _) in totals[metrics.REQUEST_LATENCY.name].items():
            if model == name:
                latency = [count + more for count, more in zip(latency, counts, strict=True)]
        return {
            "name": name,
            "versions": [
                {"version": each.version, "state": states.Name(each.state), "error": each.status.error_message} for each in versions
            ],
            "signatures": {key: _signature(signature) for key, signature in newest.items() if signature.method_name.startswith(_PREFIX)},
            "requests": {code: count for (model, code), count in totals[metrics.REQUEST_COUNT.name].items() if model == name},
            "latency": latency,
        }  # fmt: skip


def _signature(signature: Any) -> dict[str, Any]:
    described = {part: {key: _tensor(info) for key, info in getattr(signature, part).items()} for part in ("inputs", "outputs")}
    return {"method": signature.method_name.removeprefix(_PREFIX), **described}


def _tensor(info: Any) -> dict[str, Any]:
    shape = None if info.tensor_shape.unknown_rank else [dim.size for dim in info.tensor_shape.dim]
    return {"dtype": type_name(dtypes.as_dtype(info.dtype)), "shape": shape}
