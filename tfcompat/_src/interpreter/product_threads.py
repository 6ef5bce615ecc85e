"""How many threads the library of matrix products (BLAS) uses."""

from __future__ import annotations

import functools
import threading

from threadpoolctl import LibController, ThreadpoolController


@functools.cache
def _libraries() -> list[LibController]:
    """NumPy's library and SciPy's, which may be two."""
    found: list[LibController] = ThreadpoolController().select(user_api="blas").lib_controllers
    return found


class OneThread:
    """A block in which products are made by the thread that asks for them.

    The library's own threads wait for one another by spinning: where other processes, or a limit of the container's, leave them fewer cores
    than there are, a product takes a hundred times as long. The setting is the process's, so blocks of several threads share it:
    the first sets it and the last sets it back.
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
