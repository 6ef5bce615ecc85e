"""What SciPy took out of `scipy.misc`."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

from tfcompat._src.cli.legacy import images


def _of(module: str, name: str) -> Callable[..., Any]:
    """A function of a module that is imported when it is called."""
    return lambda *args, **kw: getattr(importlib.import_module(module), name)(*args, **kw)


SCIPY_MISC = dict(
    imread=images.imread, imsave=images.imsave, imresize=images.imresize, imshow=images.imshow, fromimage=images.fromimage,
    imrotate=images.imrotate, toimage=images.toimage, bytescale=images.bytescale, imfilter=images.imfilter,
    logsumexp=_of("scipy.special", "logsumexp"), comb=_of("scipy.special", "comb"), factorial=_of("scipy.special", "factorial"),
    factorial2=_of("scipy.special", "factorial2"), factorialk=_of("scipy.special", "factorialk"),
    face=_of("scipy.datasets", "face"), ascent=_of("scipy.datasets", "ascent"),
)  # fmt: skip
