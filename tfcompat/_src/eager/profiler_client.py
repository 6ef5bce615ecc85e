"""`tensorflow.python.eager.profiler_client`: profiles over a network, which are refused."""

from __future__ import annotations

from typing import NoReturn


def start_tracing(
    service_addr: str, logdir: str, duration_ms: int, worker_list: str = "", include_dataset_ops: bool = True, num_tracing_attempts: int = 3
) -> NoReturn:
    """Refused: no profiler server is there to ask."""
    raise NotImplementedError(f"tfcompat has no profiler_client.start_tracing (of {service_addr}): profile within the process, by start and stop")


def monitor(service_addr: str, duration_ms: int, monitoring_level: int = 1, display_timestamp: bool = False) -> NoReturn:
    """Refused: no profiler server is there to ask."""
    raise NotImplementedError(f"tfcompat has no profiler_client.monitor (of {service_addr}): profile within the process, by start and stop")
