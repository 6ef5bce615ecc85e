"""Access control of servers: files that graphs of other processes may use, TLS certificates, and limits on message sizes.

Whoever reaches a server's port can run graphs there. If other machines reach it, or TFCOMPAT_SERVER_FILES names folders, requests of other
processes may use files in these folders only, and may not call Python functions of this process. A request is answered within these limits,
and each file is checked where it is opened: see `base/confinement`. Sessions of the server's own process are not restricted: they can do no
more than the process itself.
"""

from __future__ import annotations

import functools
import ipaddress
import os

import grpc

from tfcompat._src.base import errors
from tfcompat._src.base.confinement import Confinement
from tfcompat._src.platform import logging

FILES = "TFCOMPAT_SERVER_FILES"
CERTIFICATE, KEY, AUTHORITY = "TFCOMPAT_TLS_CERT", "TFCOMPAT_TLS_KEY", "TFCOMPAT_TLS_CA"
MAX_MESSAGE = "TFCOMPAT_SERVER_MAX_MESSAGE"
_LARGEST, _LARGEST_FROM_BEYOND = 2**31 - 1, 2**28
"""The default largest message in bytes: gRPC's own limit, and that of servers which other machines reach."""
_REMEDY = f"{FILES} names the folders whose files it lets others use."

def is_loopback(host: str) -> bool:
    """Whether a server that listens at this host is reached from this machine only."""
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return host == "localhost"


class Gate:
    """The restrictions of a server on what it runs for other processes.

    Args:
      host: the host at which the server listens.

    Attributes:
      host: as given.
      is_beyond_loopback: whether other machines reach the server.
      confinement: the limits of other processes' requests; None on loopback, unless the environment names folders.
    """

    def __init__(self, host: str) -> None:
        named = os.environ.get(FILES)
        folders = tuple(os.path.realpath(folder) for folder in (named or "").split(os.pathsep) if folder)
        self.host = host
        self.is_beyond_loopback = not is_loopback(host)
        is_limited = self.is_beyond_loopback or named is not None
        self.confinement = Confinement(folders, _REMEDY) if is_limited else None

    def say(self, address: str) -> None:
        """Logs a warning if other machines reach the server: who may use it, and which files it lets them use."""
        if self.is_beyond_loopback and self.confinement is not None:
            logging.warning(
                "This server listens at %s: whoever reaches that can run graphs in this process. They may use files in %s (%s), and %s.",
                address, ", ".join(self.confinement.folders) or "no folder", FILES,
                "need a certificate" if os.environ.get(AUTHORITY) else f"need no certificate ({AUTHORITY})",
            )  # fmt: skip


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
