"""Limits the BLAS libraries to the calling thread."""

from __future__ import annotations

import functools
import threading

from threadpoolctl import LibController, ThreadpoolController


@functools.cache
def _libraries() -> list[LibController]:
    """Returns the BLAS libraries of NumPy and of SciPy, which may be different ones."""
    controllers: list[LibController] = ThreadpoolController().select(user_api="blas").lib_controllers
    return controllers


class OneThread:
    """A block in which BLAS uses only the calling thread.

    BLAS threads wait for one another by spinning: where other processes or a container's limit leave them fewer cores than they count on, a
    product takes a hundred times as long. The setting belongs to the process, so concurrent blocks share it: the first one sets it, the last one
    restores it.
    """

    _lock = threading.Lock()
    _inside = 0
    _before: tuple[int, ...] = ()

    __slots__ = ()

    def __enter__(self) -> None:
        with self._lock:
            if not OneThread._inside:
                OneThread._before = tuple(library.num_threads for library in _libraries())
                for library in _libraries():
                    library.set_num_threads(1)
            OneThread._inside += 1

    def __exit__(self, *raised: object) -> None:
        with self._lock:
            OneThread._inside -= 1
            if not OneThread._inside:
                for library, count in zip(_libraries(), OneThread._before, strict=True):
                    library.set_num_threads(count)
