"""scikit-image: measures that 0.18 moved from `measure` to `metrics`."""

from __future__ import annotations

import importlib
from typing import Any

from tfcompat._src.cli.legacy.keywords import Tables, taking


def _measure(measure: object) -> dict[Any, dict[str, Any]]:
    metrics = importlib.import_module("skimage.metrics")
    similarity = metrics.structural_similarity

    def compare_ssim(X: object, Y: object, multichannel: bool = False, **options: Any) -> Any:  # noqa: N803 (its names)
        if multichannel:
            options["channel_axis"] = -1
        return similarity(X, Y, **options)

    return {measure: dict(
        compare_ssim=compare_ssim, compare_mse=metrics.mean_squared_error, compare_nrmse=taking(metrics.normalized_root_mse, renamed=dict(norm_type="normalization")),
        compare_psnr=metrics.peak_signal_noise_ratio,
    )}  # fmt: skip


ADDED: Tables = {"skimage.measure": _measure}
REPLACED: Tables = {}
MOVED: dict[str, str] = {}
