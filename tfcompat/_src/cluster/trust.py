"""What a server lets graphs of other processes do, and who it talks to.

Whoever reaches a server's port can run graphs there. Where that is more than this machine, such graphs may use files only inside of the
folders that TFCOMPAT_SERVER_FILES names, and call no Python function of this process. The operations that use files are a table here;
those whose file names are tensors get a node in front that looks at the names when they are there. Sessions of the server's own process are not
asked: they can do anyway what the process can.
"""

from __future__ import annotations

import functools
import ipaddress
import os
from collections.abc import Iterable

import grpc

from tfcompat._src.base import errors
from tfcompat._src.base.arrays import NDArray
from tfcompat._src.graph import shape_inference as si
from tfcompat._src.graph.op_spec import EXTERNAL, HOST, NotDifferentiable, op
from tfcompat._src.platform import logging
from tfcompat._src.proto import messages

FILES = "TFCOMPAT_SERVER_FILES"
CERTIFICATE, KEY, AUTHORITY = "TFCOMPAT_TLS_CERT", "TFCOMPAT_TLS_KEY", "TFCOMPAT_TLS_CA"
MAX_MESSAGE = "TFCOMPAT_SERVER_MAX_MESSAGE"
_LARGEST, _LARGEST_FROM_BEYOND = 2**31 - 1, 2**28
CHECK = "_AllowedPath"
_INPUTS: dict[str, tuple[int, ...]] = {
    **dict.fromkeys(("ReadFile", "WriteFile", "MatchingFiles", "Save", "SaveSlices", "SaveV2", "Restore", "RestoreSlice", "RestoreV2"), (0,)),
    **dict.fromkeys(("TextLineDataset", "TFRecordDataset", "FixedLengthRecordDataset", "FixedLengthRecordDatasetV2"), (0,)),
    **dict.fromkeys(("CSVDataset", "ExperimentalCSVDataset", "LMDBDataset", "ExperimentalLMDBDataset"), (0,)),
    **dict.fromkeys(("MatchingFilesDataset", "ExperimentalMatchingFilesDataset", "LoadAndRemapMatrix"), (0,)),
    **dict.fromkeys(("CacheDataset", "CacheDatasetV2", "DatasetToTFRecord", "ExperimentalDatasetToTFRecord", "SnapshotDataset"), (1,)),
    **dict.fromkeys(("SqlDataset", "ExperimentalSqlDataset", "InitializeTableFromTextFile", "InitializeTableFromTextFileV2"), (1,)),
    **dict.fromkeys(("CreateSummaryFileWriter", "CreateSummaryDbWriter"), (1,)),
    **dict.fromkeys(("MergeV2Checkpoints", "GenerateVocabRemapping"), (0, 1)),
}
"""The inputs that are names of files, by op type."""
_ATTRS = {
    "FixedUnigramCandidateSampler": "vocab_file", "RecordInput": "file_pattern", "Skipgram": "filename", "PrintV2": "output_stream",
    **dict.fromkeys(("DecodeProtoV2", "EncodeProto"), "descriptor_source"),
    **dict.fromkeys(("DebugIdentity", "DebugNanCount", "DebugNumericSummary"), "debug_urls"),
}  # fmt: skip
"""The attribute that names a file, by op type."""
_NO_FILES = ("", "stdout", "stderr", "log(info)", "log(warning)", "log(error)", "local://", "bytes://")
"""What those attributes may be that names no file; the last one: as a beginning."""
_REFUSED = frozenset((
    "PyFunc", "PyFuncStateless", "EagerPyFunc", "ReaderRead", "ReaderReadV2", "ReaderReadUpTo", "ReaderReadUpToV2", "LMDBReader",
))  # fmt: skip
"""Op types that call Python functions of this process, or get names of files by a queue."""
_WILDCARDS = frozenset("*?[{")


def is_loopback(host: str) -> bool:
    """Whether only this machine reaches what listens at a host."""
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return host == "localhost"


class Gate:
    """What a server lets graphs of other processes do.

    Args:
      host: where it listens.

    Attributes: `host`; `is_beyond_loopback`: whether other machines reach it.
    """

    def __init__(self, host: str) -> None:
        named = os.environ.get(FILES)
        self._folders = [os.path.realpath(folder) for folder in (named or "").split(os.pathsep) if folder]
        self.host = host
        self.is_beyond_loopback = not is_loopback(host)
        self._asks = self.is_beyond_loopback or named is not None

    def say(self, address: str) -> None:
        """Says once who may use a server that others can reach."""
        if self.is_beyond_loopback:
            logging.warning(
                "This server listens at %s: whoever reaches that can run graphs in this process. They may use files in %s (%s), and %s.",
                address, ", ".join(self._folders) or "no folder", FILES,
                "need a certificate" if os.environ.get(AUTHORITY) else f"need no certificate ({AUTHORITY})",
            )  # fmt: skip

    def checked(self, graph_def: messages.GraphDef) -> messages.GraphDef:
        """A graph of another process with checks of the names of its files.

        Raises:
          errors.PermissionDeniedError: it has an operation that is refused.
        """
        if not self._asks:
            return graph_def
        found = messages.GraphDef()
        found.CopyFrom(graph_def)
        nodes = list(found.node)
        found.node.extend(self._checks(nodes, ""))
        for function in found.library.function:
            function.node_def.extend(self._checks(list(function.node_def), ":output:0"))
        return found

    def _checks(self, nodes: Iterable[messages.NodeDef], output: str) -> list[messages.NodeDef]:
        """The nodes that check names of files, as which they take; `output` is written behind a node's name as an input."""
        made = []
        for node in nodes:
            self._require(node)
            for position in _INPUTS.get(node.op, ()):
                check = messages.NodeDef(name=f"{node.name}_allowed_path_{position}", op=CHECK, device=node.device)
                check.input.append(node.input[position])
                check.attr["folders"].list.s.extend(folder.encode() for folder in self._folders)
                node.input[position] = check.name + output
                made.append(check)
        return made

    def _require(self, node: messages.NodeDef) -> None:
        if node.op in _REFUSED and self.is_beyond_loopback:
            raise _denied(f"{node.op} ({node.name!r}), which a graph of another process may not have where a server listens beyond loopback")
        if node.op in _ATTRS and _ATTRS[node.op] in node.attr:
            value = node.attr[_ATTRS[node.op]]
            for text in (value.s, *value.list.s):
                name = text.decode(errors="replace")
                if name not in _NO_FILES and not name.startswith(_NO_FILES[-1]):
                    require_allowed(name, self._folders)


def _denied(what: str) -> errors.PermissionDeniedError:
    return errors.PermissionDeniedError(None, None, f"This server refuses {what}. {FILES} names the folders whose files it lets others use.")


def require_allowed(path: str, folders: Iterable[str]) -> None:
    """Requires that a file is inside of one of some folders, whose names are real paths.

    Raises:
      errors.PermissionDeniedError: it is not.
    """
    name = path.removeprefix("file://")
    fixed = name
    if _WILDCARDS.intersection(name):
        if ".." in name.split("/"):
            raise _denied(f"the file {path!r}")
        parts = name.split("/")
        first = next(i for i, part in enumerate(parts) if _WILDCARDS.intersection(part))
        fixed = "/".join(parts[:first]) or ("/" if name.startswith("/") else ".")
    real = os.path.realpath(fixed)
    if "://" in name or not any(real == folder or real.startswith(folder.rstrip("/") + "/") for folder in folders):
        raise _denied(f"the file {path!r}")


def _allowed_path(path: NDArray, *, folders: list[bytes]) -> NDArray:
    for text in path.ravel().tolist():
        name = os.fsdecode(text)
        if name:
            require_allowed(name, [os.fsdecode(folder) for folder in folders])
    return path


op(CHECK, "(path: string, *, folders: list(string) = []) -> (output: string)", shape=si.unchanged, kernel=_allowed_path, side=HOST,
   effects=EXTERNAL, gradient=NotDifferentiable("the names of files have no derivative"))  # fmt: skip


# ---- certificates and limits ----


def _pem() -> tuple[bytes, bytes, bytes] | None:
    """The certificate, its key, and the authority that signs those of others; None where none is named.

    Raises:
      ValueError: some of the three are named and others not, or cannot be read.
    """
    names = [os.environ.get(name) for name in (CERTIFICATE, KEY, AUTHORITY)]
    if not any(names):
        return None
    contents = []
    for variable, path in zip((CERTIFICATE, KEY, AUTHORITY), names):
        if not path:
            raise ValueError(f"{variable} is not set: encryption between servers needs {CERTIFICATE}, {KEY} and {AUTHORITY}, files in PEM form")
        try:
            with open(path, "rb") as file:
                contents.append(file.read())
        except OSError as e:
            raise ValueError(f"{variable}: {e}") from None
    certificate, key, authority = contents
    return certificate, key, authority


def add_port(server: grpc.Server, where: str) -> int:
    """Has a gRPC server listen at "host:port", encrypted where certificates are named; the port.

    Raises:
      RuntimeError: it cannot listen there. ValueError: as for the certificates.
    """
    pem = _pem()
    if pem is None:
        return int(server.add_insecure_port(where))
    certificate, key, authority = pem
    return int(server.add_secure_port(where, grpc.ssl_server_credentials([(key, certificate)], authority, require_client_auth=True)))


def channel(address: str, options: tuple[tuple[str, int], ...]) -> grpc.Channel:
    """A channel to a server, encrypted where certificates are named; ValueError as for these."""
    pem = _pem()
    if pem is None:
        return grpc.insecure_channel(address, options=options)
    certificate, key, authority = pem
    return grpc.secure_channel(address, grpc.ssl_channel_credentials(authority, key, certificate), options=options)


def is_encrypted() -> bool:
    """Whether connections between servers are encrypted; ValueError as for the certificates."""
    return _pem() is not None


def _named_largest() -> int | None:
    text = os.environ.get(MAX_MESSAGE)
    if text is not None and not text.isdigit():
        raise ValueError(f"{MAX_MESSAGE} is to be a number of bytes, not {text!r}")
    return None if text is None else int(text)


def largest_message(is_beyond_loopback: bool) -> int:
    """The bytes of the largest message that a server takes: what the environment names, else less where other machines reach it.

    Raises:
      ValueError: the environment names no number.
    """
    named = _named_largest()
    return min(_LARGEST, named) if named is not None else _LARGEST_FROM_BEYOND if is_beyond_loopback else _LARGEST


@functools.cache
def _memory() -> int:
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")


def require_array_size(size: int) -> None:
    """Requires that an array is one that servers send each other: not larger than the environment names, else than this machine's memory.

    Raises:
      errors.ResourceExhaustedError: it has more bytes. ValueError: the environment names no number.
    """
    named = _named_largest()
    largest = _memory() if named is None else named
    if size > largest:
        raise errors.ResourceExhaustedError(None, None, f"An array of {size} bytes is larger than the {largest} that servers send each other ({MAX_MESSAGE})")
