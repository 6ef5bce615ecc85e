"""tf.test.create_local_cluster: the servers of a cluster in this process."""

from __future__ import annotations

import socket

from tfcompat._src.base.export import export
from tfcompat._src.train.cluster import ClusterSpec, Server


def free_addresses(count: int) -> list[str]:
    """Addresses of this machine at ports that nothing uses."""
    sockets = [socket.socket() for _ in range(count)]
    try:
        for one in sockets:
            one.bind(("localhost", 0))
        return [f"localhost:{one.getsockname()[1]}" for one in sockets]
    finally:
        for one in sockets:
            one.close()


@export("test.create_local_cluster")
def create_local_cluster(
    num_workers: int, num_ps: int, protocol: str = "grpc", worker_config: object = None, ps_config: object = None
) -> tuple[list[Server], list[Server]]:
    """Starts the servers of a cluster with the jobs "worker" and "ps" in this process.

    Args:
      num_workers, num_ps: how many tasks the jobs have.
      protocol: "grpc".
      worker_config, ps_config: ConfigProtos with defaults of their sessions.

    Returns:
      the servers of the workers and those of the parameter servers.
    """
    addresses = free_addresses(num_workers + num_ps)
    cluster = ClusterSpec({"worker": addresses[:num_workers], "ps": addresses[num_workers:]})

    def servers(job: str, count: int, config: object) -> list[Server]:
        return [Server(cluster, job, index, protocol, config) for index in range(count)]

    return servers("worker", num_workers, worker_config), servers("ps", num_ps, ps_config)
