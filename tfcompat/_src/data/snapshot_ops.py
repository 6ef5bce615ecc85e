"""SnapshotDataset: writes the elements of a pipeline to files in the first iteration, and reads them from there in later ones.

The files have TensorFlow 1.15's layout: PATH/HASH/snapshot.metadata names the current run and says whether it is complete;
PATH/HASH/RUN/00000000.snapshot and so on hold its elements. A record is its length (uint64, little-endian) and a message of
data/experimental/snapshot.proto. HASH identifies the input pipeline. TensorFlow computes another hash for the same pipeline, so its
snapshots are not found here, and are written again.
"""

from __future__ import annotations

import gzip
import hashlib
import itertools
import os
import re
import secrets
import struct
import time
from collections.abc import Iterator
from typing import BinaryIO, NamedTuple, TypeAlias, cast

import numpy as np
from google.protobuf.message import Message

from tfcompat._src.base import errors
from tfcompat._src.base.arrays import NDArray
from tfcompat._src.base.host_context import HostContext
from tfcompat._src.data.values import OUTPUTS, DatasetValue, Element, Next, Scope, dataset_of, dataset_op
from tfcompat._src.graph import tensor_proto
from tfcompat._src.graph.graph import Graph
from tfcompat._src.ops.queues.resource import invalid
from tfcompat._src.platform import file_io, temporary_files
from tfcompat._src.proto import messages

_LENGTH = struct.Struct("<Q")
_SHARD_BYTES, _LEAST_SHARD_BYTES = 10 << 30, 1 << 20
"""The default (10 GiB) and the smallest (1 MiB) size of a file."""
_EXPIRY_SECONDS = 86400
"""By default, a run that is not complete after a day counts as abandoned."""
Metadata: TypeAlias = "messages.data.experimental.SnapshotMetadataRecord"


class _Settings(NamedTuple):
    """The attributes of a node that have an effect. The numbers of threads have none: elements are read and written in order."""

    compression: str
    reader_prefix: str
    writer_prefix: str
    shard_bytes: int
    expiry_seconds: int


def _settings(context: HostContext) -> _Settings:
    """Returns the settings of a node, where -1 means the default; InvalidArgumentError if one is out of range."""
    attrs = context.op.attrs
    shard, expiry = attrs["shard_size_bytes"], attrs["pending_snapshot_expiry_seconds"]
    settings = _Settings(
        attrs["compression"].decode(), attrs["reader_path_prefix"].decode(), attrs["writer_path_prefix"].decode(),
        _SHARD_BYTES if shard == -1 else shard, _EXPIRY_SECONDS if expiry == -1 else expiry,
    )  # fmt: skip
    if settings.compression not in ("", "GZIP"):
        raise invalid("compression must be either '' or 'GZIP'.")
    if settings.shard_bytes < _LEAST_SHARD_BYTES:
        raise invalid("shard_size_bytes must be at least 1 MiB.")
    if settings.expiry_seconds < 1:
        raise invalid("pending_snapshot_expiry_seconds must be at least 1 second.")
    return settings


# ---- the hash of a pipeline ----


def _fingerprint(dataset: DatasetValue) -> str:
    """Returns the hash of a pipeline, 16 hexadecimal digits of SHA-256, so that a changed pipeline does not read an old snapshot.

    It covers op types, attributes, functions and values, but no names of nodes: building the same pipeline twice gives the same hash.
    """
    # Each part is preceded by its length, so that different parts never hash as the same bytes.
    digest = hashlib.sha256()
    for part in _facts(dataset):
        digest.update(_LENGTH.pack(len(part)) + part)
    return digest.hexdigest()[:16]


def _facts(dataset: DatasetValue) -> Iterator[bytes]:
    """Yields what identifies a dataset: op type, attributes, functions, and the same of its inputs."""
    node = dataset.op
    yield node.type.encode()
    for name, value in sorted(node.node_def.attr.items()):
        functions = [value.func] if value.WhichOneof("value") == "func" else value.list.func
        yield name.encode()
        if not functions:
            yield value.SerializeToString(deterministic=True)
        for each in functions:
            yield from _facts_of_function(node._graph, each.name, set())
    for argument in dataset.arguments:
        for part in argument if isinstance(argument, tuple) else (argument,):
            yield from _facts_of_value(part)


def _facts_of_value(value: object) -> Iterator[bytes]:
    """Yields the dtype, shape and contents of a captured value; a resource is identified by its type alone."""
    if not isinstance(value, np.ndarray):
        yield type(value).__name__.encode()
        return
    yield f"{value.dtype}{value.shape}".encode()
    if value.dtype != object:
        yield value.tobytes()
        return
    for part in value.reshape(-1).tolist():
        if isinstance(part, DatasetValue):
            yield from _facts(part)
        else:
            yield part if isinstance(part, bytes) else type(part).__name__.encode()


def _facts_of_function(graph: Graph, name: str, seen: set[str]) -> Iterator[bytes]:
    """Yields the definition of a function and of those that it calls, without the unique numbers at the ends of function names."""
    function = graph._get_function(name)
    # A recursive function is covered once. Names have a number that depends on what else was traced before.
    if function is None or name in seen:
        return
    seen.add(name)
    definition = function.definition
    definition.signature.name = ""
    text: bytes = definition.SerializeToString(deterministic=True)
    for inner in sorted(function.held):
        text = text.replace(inner.encode(), re.sub(r"\d+$", "", inner).encode())
    yield text
    for inner in sorted(function.held):
        yield from _facts_of_function(function.body, inner, seen)


# ---- files ----


def _framed(message: Message) -> bytes:
    """Returns a message as a record: its length and its bytes."""
    data: bytes = message.SerializeToString()
    return _LENGTH.pack(len(data)) + data


def _records(file: BinaryIO, path: str) -> Iterator[bytes]:
    """Yields the messages in a file; DataLossError if it ends inside a record."""
    # A file may end only between two records; one that ends inside a record was not completely written.
    while head := file.read(_LENGTH.size):
        if len(head) == _LENGTH.size:
            (length,) = _LENGTH.unpack(head)
            data = file.read(length)
            if len(data) == length:
                yield data
                continue
        raise errors.DataLossError(None, None, f"The snapshot file {path} is truncated: it ends inside a record. Delete it to write a new one.")


def _opened(path: str, mode: str, compression: str) -> BinaryIO:
    if not compression:
        return file_io.opened(path, mode)
    with file_io.tensorflow_errors(path):
        return cast(BinaryIO, gzip.open(file_io.local(path), mode))


def _metadata_path(folder: str) -> str:
    return os.path.join(folder, "snapshot.metadata")


def _read_metadata(folder: str) -> Metadata | None:
    """Returns the metadata of the run that is complete or in progress, or None."""
    path = _metadata_path(folder)
    if not file_io.exists(path):
        return None
    with file_io.opened(path) as file:
        return messages.data.experimental.SnapshotMetadataRecord.FromString(next(_records(file, path)))


def _write_metadata(folder: str, record: Metadata) -> None:
    path = _metadata_path(folder)
    with file_io.tensorflow_errors(path):
        temporary_files.write_whole(file_io.local(path), _framed(record))


class _Writer:
    """Writes elements to the files of a new run; `finish` marks the run as complete."""

    def __init__(self, folder: str, settings: _Settings, fingerprint: str) -> None:
        self._folder, self._settings = folder, settings
        self._record = messages.data.experimental.SnapshotMetadataRecord(
            creation_timestamp=time.time_ns() // 1000, graph_hash=fingerprint, run_id=f"{secrets.randbits(64):04x}", finalized=False
        )
        self._run = settings.writer_prefix + os.path.join(folder, self._record.run_id)
        file_io.makedirs(self._run)
        file_io.makedirs(folder)
        # From here on, other iterations see a pending run and do not write a snapshot of their own.
        _write_metadata(folder, self._record)
        self._numbers = itertools.count()
        self._file = self._next_file()

    def _next_file(self) -> BinaryIO:
        self._bytes = 0
        path = os.path.join(self._run, f"{next(self._numbers):08d}.snapshot")
        return _opened(path, "wb", self._settings.compression)

    def add(self, element: Element) -> None:
        # Sizes are those of the arrays in memory, before serialization and compression; a string counts 8 bytes.
        size = sum(value.nbytes for value in element)
        if self._bytes + size > self._settings.shard_bytes:
            self._file.close()
            self._file = self._next_file()
        self._bytes += size
        record = messages.data.experimental.SnapshotRecord(tensor=map(tensor_proto.content_proto, element))
        self._file.write(_framed(record))

    def finish(self) -> None:
        self._file.close()
        # If this run took longer than the expiry time, another one may have replaced it meanwhile.
        current = _read_metadata(self._folder)
        if current is not None and current.run_id == self._record.run_id:
            self._record.finalized = True
            _write_metadata(self._folder, self._record)

    def abandon(self) -> None:
        self._file.close()


# ---- the dataset ----


@dataset_op(
    "SnapshotDataset", "input_dataset: variant, path: string",
    f'{OUTPUTS}, compression: string = "", reader_path_prefix: string = "", writer_path_prefix: string = "", '
    "shard_size_bytes: int = 10737418240, pending_snapshot_expiry_seconds: int = 86400, num_reader_threads: int = 1, "
    "reader_buffer_size: int = 1, num_writer_threads: int = 1, writer_buffer_size: int = 1",
)  # fmt: skip
def _snapshot(context: HostContext, input_dataset: NDArray, path: NDArray) -> DatasetValue:
    source, settings = dataset_of(input_dataset), _settings(context)
    fingerprint = _fingerprint(source)
    folder = os.path.join(path.item().decode(), fingerprint)

    # Whether to read or to write is decided when the first element is asked for, not when the iteration starts.
    def start(scope: Scope) -> Next:
        following: Next | None = None

        def element() -> Element:
            nonlocal following
            if following is None:
                following = _begin(source, folder, settings, fingerprint, scope)
            return following()

        return element

    return DatasetValue(start, source.size)


def _begin(source: DatasetValue, folder: str, settings: _Settings, fingerprint: str, scope: Scope) -> Next:
    """Starts reading a complete snapshot; without one, starts the dataset, and writes its elements unless another run is doing so."""
    record = _read_metadata(folder)
    if record is not None and record.finalized:
        elements = _read(os.path.join(folder, record.run_id), settings)
        return lambda: next(elements)
    # The timestamp is in microseconds.
    if record is not None and record.creation_timestamp >= time.time_ns() // 1000 - settings.expiry_seconds * 1000000:
        return source.start(scope)
    return _writing(source.start(scope), _Writer(folder, settings, fingerprint), scope)


def _read(run: str, settings: _Settings) -> Iterator[Element]:
    # Files are numbered with 8 digits, so that their names sort in the order of the elements.
    paths = [os.path.join(run, name) for name in file_io.listdir(run)] if file_io.isdir(run) else []
    if not paths:
        raise invalid(f"Could not find any files in dir: {run}")
    for path in paths:
        path = settings.reader_prefix + path
        with _opened(path, "rb", settings.compression) as file:
            for data in _records(file, path):
                record = messages.data.experimental.SnapshotRecord.FromString(data)
                yield tuple(tensor_proto.make_ndarray(each) for each in record.tensor)


def _writing(following: Next, writer: _Writer, scope: Scope) -> Next:
    """Returns the elements of `following` and writes each to the snapshot.

    It reads one element ahead: the snapshot is complete when the last element is returned, even if the end is never asked for.
    """
    scope.on_end(writer.abandon)
    ahead: Element | None = None
    is_begun = is_over = False

    def advance() -> None:
        nonlocal ahead, is_over
        try:
            ahead = following()
        except StopIteration:
            ahead = None
            if not is_over:
                is_over = True
                writer.finish()
            return
        writer.add(ahead)

    def element() -> Element:
        # The first call computes two elements, later ones one.
        nonlocal is_begun
        if not is_begun:
            advance()
            is_begun = True
        current = ahead
        if current is None:
            raise StopIteration
        advance()
        return current

    return element
