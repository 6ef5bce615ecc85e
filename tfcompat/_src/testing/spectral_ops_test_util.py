"""`tensorflow.python.ops.spectral_ops_test_util`: the choice of kernels for Fourier transforms."""

from __future__ import annotations

import contextlib

from tfcompat._src.graph.scopes import get_default_graph


def fft_kernel_label_map() -> contextlib.AbstractContextManager[None]:
    """A scope in which Fourier transforms use the kernels under test: the default ones."""
    return get_default_graph()._kernel_label_map({})
