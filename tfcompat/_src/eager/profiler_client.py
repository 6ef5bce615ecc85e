"""`tensorflow.python.eager.profiler_client`: profiling over a network, which is not supported."""

from __future__ import annotations

from typing import NoReturn


def start_tracing(
    service_addr: str, logdir: str, duration_ms: int, worker_list: str = "", include_dataset_ops: bool = True, num_tracing_attempts: int = 3
) -> NoReturn:
    """Raises NotImplementedError: there is no profiler server to connect to."""
    raise NotImplementedError(f"tfcompat has no profiler_client.start_tracing (of {service_addr}). Profile within the process: call start and stop.")


def monitor(service_addr: str, duration_ms: int, monitoring_level: int = 1, display_timestamp: bool = False) -> NoReturn:
    """Raises NotImplementedError: there is no profiler server to connect to."""
    raise NotImplementedError(f"tfcompat has no profiler_client.monitor (of {service_addr}). Profile within the process: call start and stop.")
