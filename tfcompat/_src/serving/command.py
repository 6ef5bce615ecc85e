"""`tfcompat serve`: a model server with tensorflow_model_server's flags."""

from __future__ import annotations

import argparse
import contextlib
import gc
import os
import signal
import sys
import threading
from typing import Any

from tfcompat._src.base import errors
from tfcompat._src.serving import processes
from tfcompat._src.serving.server import ModelServer, Settings

_SWITCH_SECONDS = 0.0005
"""How long a thread that loads a version may hold the interpreter while a request waits for it, which it does several times."""
ARGUMENTS = "--model_base_path=FOLDER [--model_name=NAME] [--rest_api_port=PORT] [--port=PORT] [OPTIONS]"
_HELP = {
    "port": "TCP port to listen at for gRPC; 0: none",
    "grpc_socket_path": "UNIX socket to listen at for gRPC; empty: none",
    "grpc_max_threads": "gRPC requests that are answered at the same time",
    "rest_api_port": "TCP port to listen at for HTTP/REST; 0: none",
    "rest_api_num_threads": "HTTP requests that are answered at the same time",
    "rest_api_timeout_in_ms": "time limit of an HTTP request",
    "max_waiting_requests": "requests of a port that may wait while others are answered; more are refused",
    "rest_api_max_body_bytes": "the longest body of an HTTP request",
    "rest_api_max_inflated_bytes": "the most bytes that a compressed body of an HTTP request has when it is inflated",
    "rest_api_max_connections": "HTTP connections that are open at the same time; the one that has waited longest for a request makes room for a new one",
    "rest_api_header_seconds": "seconds in which the head of an HTTP request must come",
    "max_request_elements": "the most elements that the tensors of a gRPC request have together",
    "drain_seconds": "seconds that requests under way have after SIGTERM; then their connections are closed",
    "host": "address to listen at",
    "processes": "processes that share the ports",
    "model_name": "name of the model, without model_config_file",
    "model_base_path": "folder with a numbered folder for each version, without model_config_file",
    "model_config_file": "file with a ModelServerConfig in text format",
    "model_config_file_poll_wait_seconds": "seconds between two readings of model_config_file; 0: one reading",
    "file_system_poll_wait_seconds": "seconds between two looks for new versions; 0: one look",
    "max_num_load_retries": "how often loading a version is tried again",
    "load_retry_interval_micros": "microseconds between two tries",
    "allow_version_labels_for_unavailable_models": "labels may name versions that are not available yet",
    "saved_model_tags": "tags of the graph, separated by commas",
    "enable_batching": "join requests into batches",
    "batching_parameters_file": "file with BatchingParameters in text format",
    "prepared_batch_sizes": "numbers of rows, with commas, that are run before a version is available, besides allowed_batch_sizes",
    "enable_model_warmup": "run the requests in assets.extra/tf_serving_warmup_requests before a version is available",
    "ssl_config_file": "file with an SSLConfig in text format, for gRPC",
    "rest_api_ssl_config_file": "file with an SSLConfig in text format, for HTTP; it may be that of ssl_config_file",
    "monitoring_config_file": "file with a MonitoringConfig in text format",
    "enable_grpc_healthcheck_service": "answer grpc.health.v1.Health",
    "enable_page": "show models, signatures, load and a form for requests at / of the REST port",
    "enable_session_service": "answer tensorflow.serving.SessionService: clients may run any operation of a model's graph, also one that changes it",
}


def _truth(text: str) -> bool:
    if text.lower() not in ("true", "false", "1", "0"):
        raise argparse.ArgumentTypeError(f"{text!r} is neither true nor false")
    return text.lower() in ("true", "1")


def settings_of(arguments: list[str]) -> Settings:
    """The Settings of a command line; SystemExit where it is wrong, or asks for help."""
    parser = argparse.ArgumentParser("tfcompat serve", description="Serve SavedModels over REST and gRPC.", allow_abbrev=False)
    for name, default in Settings()._asdict().items():
        option: dict[str, Any] = {"default": default, "help": f"{_HELP[name]} (default: {default!r})".replace("%", "%%")}
        if isinstance(default, bool):
            parser.add_argument(f"--{name}", type=_truth, nargs="?", const=True, metavar="true|false", **option)
        else:
            parser.add_argument(f"--{name}", type=int if default is None else type(default), metavar="VALUE", **option)
    found = vars(parser.parse_args(arguments))
    for name in ("port", "rest_api_port"):
        found[name] = found[name] or None
    return Settings(**found)


def serve(settings: Settings) -> int:
    """Serves until SIGTERM or SIGINT, then answers what is under way; the exit status."""
    if settings.processes == 1:
        return _serve(settings)
    with contextlib.ExitStack() as held:
        try:
            for name in ("port", "rest_api_port"):
                if (port := getattr(settings, name)) is not None:
                    reserved = held.enter_context(processes.reserve(settings.host, port))
                    settings = settings._replace(**{name: reserved.getsockname()[1]})
        except OSError as e:
            return _failed(f"Cannot listen at {settings.host}:{port}: {e}")
        gc.collect()
        gc.freeze()  # the processes share what is never collected
        found = processes.start(settings.processes)
        return found if isinstance(found, int) else _serve(settings, found)


def _failed(text: object) -> int:
    sys.stderr.write(f"Failed to start server. Error: {text}\n")
    return 1


def _serve(settings: Settings, group: processes.Group | None = None) -> int:
    """Serves in this process."""
    ending, is_up = threading.Event(), False

    def end(number: int, frame: object) -> None:
        ending.set()
        if not is_up:  # models may be waited for without end
            raise SystemExit(0)

    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, end)
    sys.setswitchinterval(_SWITCH_SECONDS)
    gc.collect()
    gc.freeze()  # else a full collection, which loading brings about, looks through all modules while requests wait
    try:
        server = ModelServer(settings, group)
        server.start()
        is_up = True
    except (errors.OpError, OSError) as e:
        return _failed(e.message if isinstance(e, errors.OpError) else e)
    if server.grpc is not None:
        sys.stderr.write(f"Running gRPC ModelServer at {settings.host}:{server.grpc.port} ...\n")
    if server.http is not None:
        sys.stderr.write(f"Exporting HTTP/REST API at:{settings.host}:{server.http.port} ...\n")
    sys.stderr.flush()
    ending.wait()
    if not server.stop():
        sys.stderr.write(f"Requests did not end within {settings.drain_seconds:g} seconds; their connections are closed.\n")
        sys.stderr.flush()
        os._exit(0)  # the interpreter would wait for their threads
    return 0
