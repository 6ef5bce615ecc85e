"""Big files are written and read in blocks, several on their way at once; what is written goes past the page cache."""

from __future__ import annotations

import errno
import fcntl
import mmap
import os
from concurrent import futures
from typing import Any

import numpy as np

from tfcompat._src.platform import file_io

BLOCK = 4 << 20
READ_BLOCK = 16 << 20
READ_THREADS = 4
_BLOCKS = 4
_THREADS = 2


def _set_direct(file: int, direct: bool) -> None:
    """Says whether writes go past the page cache; systems and file systems without that write as always."""
    flag = getattr(os, "O_DIRECT", 0)
    flags = fcntl.fcntl(file, fcntl.F_GETFL)
    try:
        fcntl.fcntl(file, fcntl.F_SETFL, flags | flag if direct else flags & ~flag)
    except OSError as error:
        if error.errno != errno.EINVAL:
            raise


def _write_block(file: int, block: np.ndarray, offset: int) -> None:
    rest = memoryview(block)
    while rest:
        try:
            count = os.pwrite(file, rest, offset)
        except OSError as error:
            if error.errno != errno.EINVAL:
                raise
            _set_direct(file, False)  # the disk wants other blocks than these
            count = os.pwrite(file, rest, offset)
        rest, offset = rest[count:], offset + count


class BlockWriter:
    """Writes what it is given, one piece after another, to an open file.

    Args:
      file: the descriptor of an empty file, which stays open.

    Raises:
      OSError: in `write` and in `finish`.
    """

    def __init__(self, file: int) -> None:
        self.size = 0
        self._file = file
        self._threads: futures.ThreadPoolExecutor | None = None
        self._blocks: list[np.ndarray] = []
        self._written: list[futures.Future] = []

    def write(self, data: Any) -> None:
        """Appends bytes or a contiguous uint8 array."""
        rest = np.frombuffer(data, np.uint8)
        while rest.size:
            used = self.size % BLOCK
            piece = rest[: BLOCK - used]
            self._block(self.size // BLOCK)[used : used + piece.size] = piece
            self.size += piece.size
            if self.size % BLOCK == 0:
                self._start(self.size // BLOCK - 1)
            rest = rest[piece.size :]

    def _block(self, number: int) -> np.ndarray:
        """The memory of this block, free to be filled."""
        if number < _BLOCKS:
            if number == len(self._blocks):
                self._blocks.append(np.frombuffer(mmap.mmap(-1, BLOCK), np.uint8))
        elif len(self._written) > number - _BLOCKS:
            self._written[number - _BLOCKS].result()
        return self._blocks[number % _BLOCKS]

    def _start(self, number: int) -> None:
        """Has a full block written."""
        if self._threads is None:
            _set_direct(self._file, True)
            self._threads = futures.ThreadPoolExecutor(_THREADS, "checkpoint")
        self._written.append(
            self._threads.submit(_write_block, self._file, self._blocks[number % _BLOCKS], number * BLOCK)
        )

    def finish(self) -> None:
        """Writes the rest and waits until the disk has it all."""
        for written in self._written:
            written.result()
        rest = self.size % BLOCK
        if rest:
            _set_direct(self._file, False)
            _write_block(self._file, self._block(self.size // BLOCK)[:rest], self.size - rest)
        os.fsync(self._file)
        self.close()

    def close(self) -> None:
        """Ends writing."""
        if self._threads is not None:
            self._threads.shutdown(cancel_futures=True)


def open_to_read(path: str) -> int:
    """The descriptor of a file of which a read asks for just what it names: reads ahead are slow where files are big."""
    file = os.open(file_io.local(path), os.O_RDONLY)
    if hasattr(os, "posix_fadvise"):
        os.posix_fadvise(file, 0, 0, os.POSIX_FADV_RANDOM)
    return file


def _read_block(file: int, block: memoryview, offset: int) -> int:
    done = 0
    while done < len(block):
        count = os.preadv(file, [block[done:]], offset + done)
        if not count:
            break
        done += count
    return done


def read(file: int, target: np.ndarray, offset: int) -> int:
    """Fills a contiguous uint8 array with what stands in a file from `offset` on; returns how many bytes there were."""
    blocks = [memoryview(target)[at : at + READ_BLOCK] for at in range(0, target.size, READ_BLOCK)]
    starts = range(offset, offset + target.size, READ_BLOCK)
    if len(blocks) < 2:
        return sum(_read_block(file, block, start) for block, start in zip(blocks, starts))
    with futures.ThreadPoolExecutor(READ_THREADS, "checkpoint") as threads:
        return sum(threads.map(_read_block, [file] * len(blocks), blocks, starts))
