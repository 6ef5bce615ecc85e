"""What a port with TLS shows its clients and asks of them, by an SSLConfig: PEM texts of a key, a certificate, and the authority of clients."""

from __future__ import annotations

import ssl
import tempfile

import grpc

from tfcompat._src.base import errors
from tfcompat._src.proto import messages
from tfcompat._src.serving import server_config


def _config(file: str) -> messages.serving.SSLConfig:
    """The SSLConfig in a file in text format.

    Raises:
      errors.InvalidArgumentError: it is malformed, has no key or certificate, or asks for clients' certificates without an authority.
    """
    config = server_config.read(file, messages.serving.SSLConfig)
    needed = ["server_key", "server_cert"] + ["custom_ca"] * config.client_verify
    for name in needed:
        if not getattr(config, name):
            why = ", whose certificate proves those of clients that client_verify asks for" if name == "custom_ca" else ""
            raise errors.InvalidArgumentError(None, None, f"The SSLConfig in {file} has no {name}{why}.")
    return config


def grpc_credentials(file: str) -> grpc.ServerCredentials:
    """The credentials of a gRPC port, by a file with an SSLConfig.

    Raises:
      errors.InvalidArgumentError: it is malformed or incomplete.
    """
    config = _config(file)
    return grpc.ssl_server_credentials(
        [(config.server_key.encode(), config.server_cert.encode())], config.custom_ca.encode() or None, config.client_verify
    )


def http_context(file: str) -> ssl.SSLContext:
    """The TLS settings of an HTTP port, by a file with an SSLConfig.

    Raises:
      errors.InvalidArgumentError: it is malformed or incomplete, or its key or a certificate is.
    """
    config = _config(file)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    try:
        with tempfile.NamedTemporaryFile("w", prefix="tfcompat", suffix=".pem") as pem:  # for its owner only
            pem.write(config.server_key + "\n" + config.server_cert)
            pem.flush()
            context.load_cert_chain(pem.name)
        if config.client_verify:
            context.load_verify_locations(cadata=config.custom_ca)
            context.verify_mode = ssl.CERT_REQUIRED
    except ssl.SSLError as e:
        raise errors.InvalidArgumentError(None, None, f"The SSLConfig in {file} has a key or certificate that cannot be used: {e}") from None
    return context
