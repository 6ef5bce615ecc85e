"""Access control of servers: files that graphs of other processes may use, TLS certificates, and limits on message sizes.

Whoever reaches a server's port can run graphs there. If other machines reach it, such graphs may use files only in the folders of
TFCOMPAT_SERVER_FILES, and may not call Python functions of this process. Tables list the ops that use files; if the file name is a tensor, a
check node is inserted before that input. Sessions of the server's own process are not restricted: they can do no more than the process itself.
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
"""The default largest message in bytes: gRPC's own limit, and that of servers which other machines reach."""
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
"""The positions of inputs that are file names, by op type."""
_ATTRS = {
    "FixedUnigramCandidateSampler": "vocab_file", "RecordInput": "file_pattern", "Skipgram": "filename", "PrintV2": "output_stream",
    **dict.fromkeys(("DecodeProtoV2", "EncodeProto"), "descriptor_source"),
    **dict.fromkeys(("DebugIdentity", "DebugNanCount", "DebugNumericSummary"), "debug_urls"),
}  # fmt: skip
"""The attribute that is a file name, by op type."""
_NO_FILES = ("", "stdout", "stderr", "log(info)", "log(warning)", "log(error)", "local://", "bytes://")
"""Values of such attributes that name no file. The last one is a prefix."""
_REFUSED = frozenset((
    "PyFunc", "PyFuncStateless", "EagerPyFunc", "ReaderRead", "ReaderReadV2", "ReaderReadUpTo", "ReaderReadUpToV2", "LMDBReader",
))  # fmt: skip
"""Op types that call Python functions of this process, or take file names from a queue, where no check node can be inserted."""
_WILDCARDS = frozenset("*?[{")


def is_loopback(host: str) -> bool:
    """Whether a server that listens at this host is reached from this machine only."""
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return host == "localhost"


class Gate:
    """The restrictions of a server on graphs of other processes.

    Args:
      host: the host at which the server listens.

    Attributes: `host`; `is_beyond_loopback`: whether other machines reach the server.
    """

    def __init__(self, host: str) -> None:
        named = os.environ.get(FILES)
        self._folders = [os.path.realpath(folder) for folder in (named or "").split(os.pathsep) if folder]
        self.host = host
        self.is_beyond_loopback = not is_loopback(host)
        # On loopback graphs are checked only if the environment names folders.
        self._asks = self.is_beyond_loopback or named is not None

    def say(self, address: str) -> None:
        """Logs a warning if other machines reach the server: who may use it, and which files it lets them use."""
        if self.is_beyond_loopback:
            logging.warning(
                "This server listens at %s: whoever reaches that can run graphs in this process. They may use files in %s (%s), and %s.",
                address, ", ".join(self._folders) or "no folder", FILES,
                "need a certificate" if os.environ.get(AUTHORITY) else f"need no certificate ({AUTHORITY})",
            )  # fmt: skip

    def checked(self, graph_def: messages.GraphDef) -> messages.GraphDef:
        """Returns a copy of another process's graph with check nodes before inputs that are file names; the graph itself if nothing is restricted.

        Raises:
          errors.PermissionDeniedError: the graph has an op that is not allowed, or an attribute with a file that is not.
        """
        if not self._asks:
            return graph_def
        found = messages.GraphDef()
        found.CopyFrom(graph_def)
        # A list, as the check nodes are added to the field that is iterated.
        nodes = list(found.node)
        found.node.extend(self._checks(nodes, ""))
        # In a FunctionDef an input names the output argument too.
        for function in found.library.function:
            function.node_def.extend(self._checks(list(function.node_def), ":output:0"))
        return found

    def _checks(self, nodes: Iterable[messages.NodeDef], output: str) -> list[messages.NodeDef]:
        """Makes the check nodes of some nodes, and rewires their inputs; `output` is the suffix of a check node's name as an input."""
        made = []
        for node in nodes:
            self._require(node)
            # The check forwards the name, so the op cannot run before it.
            for position in _INPUTS.get(node.op, ()):
                check = messages.NodeDef(name=f"{node.name}_allowed_path_{position}", op=CHECK, device=node.device)
                check.input.append(node.input[position])
                check.attr["folders"].list.s.extend(folder.encode() for folder in self._folders)
                node.input[position] = check.name + output
                made.append(check)
        return made

    def _require(self, node: messages.NodeDef) -> None:
        """Checks the type and the attributes of a node."""
        if node.op in _REFUSED and self.is_beyond_loopback:
            raise _denied(f"{node.op} ({node.name!r}), which a graph of another process may not have where a server listens beyond loopback")
        if node.op in _ATTRS and _ATTRS[node.op] in node.attr:
            # The attribute is one string or a list of them.
            value = node.attr[_ATTRS[node.op]]
            for text in (value.s, *value.list.s):
                name = text.decode(errors="replace")
                if name not in _NO_FILES and not name.startswith(_NO_FILES[-1]):
                    require_allowed(name, self._folders)


def _denied(what: str) -> errors.PermissionDeniedError:
    """Returns the error for a file or node, `what`, that is not allowed."""
    return errors.PermissionDeniedError(None, None, f"This server refuses {what}. {FILES} names the folders whose files it lets others use.")


def require_allowed(path: str, folders: Iterable[str]) -> None:
    """Requires that a file or pattern is inside of one of `folders`, which are real paths.

    Raises:
      errors.PermissionDeniedError: the file is elsewhere, or on another file system than the local one.
    """
    name = path.removeprefix("file://")
    fixed = name
    # A pattern is checked by the folder before its first wildcard; ".." could lead out of that after the expansion.
    if _WILDCARDS.intersection(name):
        if ".." in name.split("/"):
            raise _denied(f"the file {path!r}")
        parts = name.split("/")
        first = next(i for i, part in enumerate(parts) if _WILDCARDS.intersection(part))
        fixed = "/".join(parts[:first]) or ("/" if name.startswith("/") else ".")
    # realpath resolves symbolic links, which could lead out of the folder too.
    real = os.path.realpath(fixed)
    if "://" in name or not any(real == folder or real.startswith(folder.rstrip("/") + "/") for folder in folders):
        raise _denied(f"the file {path!r}")


def _allowed_path(path: NDArray, *, folders: list[bytes]) -> NDArray:
    """Kernel of the check node: returns its input if all names in it are allowed. "" is no file."""
    for text in path.ravel().tolist():
        name = os.fsdecode(text)
        if name:
            require_allowed(name, [os.fsdecode(folder) for folder in folders])
    return path


op(CHECK, "(path: string, *, folders: list(string) = []) -> (output: string)", shape=si.unchanged, kernel=_allowed_path, side=HOST,
   effects=EXTERNAL, gradient=NotDifferentiable("the names of files have no derivative"))  # fmt: skip


# ---- certificates and limits ----


def _pem() -> tuple[bytes, bytes, bytes] | None:
    """Reads the certificate, its key, and the certificate authority of the environment; None if none is set.

    Raises:
      ValueError: only some of the three are set, or a file cannot be read.
    """
    names = [os.environ.get(name) for name in (CERTIFICATE, KEY, AUTHORITY)]
    if not any(names):
        return None
    # Half a configuration is an error: a server must not fall back to plain connections.
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
    """Makes a gRPC server listen at "host:port", with TLS if certificates are set; returns the port.

    Raises:
      RuntimeError: it cannot listen there. ValueError: the certificates cannot be read, see `_pem`.
    """
    pem = _pem()
    if pem is None:
        return int(server.add_insecure_port(where))
    certificate, key, authority = pem
    # Mutual TLS: a client without a certificate of the authority cannot connect.
    return int(server.add_secure_port(where, grpc.ssl_server_credentials([(key, certificate)], authority, require_client_auth=True)))


def channel(address: str, options: tuple[tuple[str, int], ...]) -> grpc.Channel:
    """Returns a channel to a server, with TLS if certificates are set; ValueError if these cannot be read."""
    pem = _pem()
    if pem is None:
        return grpc.insecure_channel(address, options=options)
    certificate, key, authority = pem
    return grpc.secure_channel(address, grpc.ssl_channel_credentials(authority, key, certificate), options=options)


def is_encrypted() -> bool:
    """Whether certificates are set, so that connections use TLS; ValueError if these cannot be read."""
    return _pem() is not None


def _configured_limit() -> int | None:
    """Returns the limit that the environment sets, in bytes, or None."""
    text = os.environ.get(MAX_MESSAGE)
    if text is not None and not text.isdigit():
        raise ValueError(f"{MAX_MESSAGE} must be a number of bytes, not {text!r}.")
    return None if text is None else int(text)


def largest_message(is_beyond_loopback: bool) -> int:
    """Returns the size in bytes of the largest message that a server accepts: the limit of the environment, or a default.

    Raises:
      ValueError: the environment's limit is not a number.
    """
    named = _configured_limit()
    return min(_LARGEST, named) if named is not None else _LARGEST_FROM_BEYOND if is_beyond_loopback else _LARGEST


@functools.cache
def _memory() -> int:
    """Returns the size of this machine's memory in bytes."""
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")


def largest_array() -> int:
    """Returns the size in bytes of the largest array that is sent or received over a line: the environment's limit, by default this machine's memory.

    Raises:
      ValueError: the environment's limit is not a number.
    """
    named = _configured_limit()
    return _memory() if named is None else named


def require_array_size(size: int, largest: int) -> None:
    """Raises errors.ResourceExhaustedError if an array of `size` bytes is larger than `largest_array` returned."""
    if size > largest:
        raise errors.ResourceExhaustedError(
            None, None, f"An array of {size} bytes is larger than the {largest} that servers send each other: raise {MAX_MESSAGE}."
        )  # fmt: skip
