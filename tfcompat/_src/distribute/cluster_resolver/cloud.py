"""Resolvers of clouds: of TPUs, and of managers that tfcompat does not ask."""

from __future__ import annotations

import os
from typing import Any

from tfcompat._src.distribute.cluster_resolver.cluster_resolver import (
    ClusterResolver,
    format_master_url,
    get_accelerator_devices,
)
from tfcompat._src.framework.export import export
from tfcompat._src.train.cluster import ClusterSpec

_GKE_ENDPOINTS = "KUBE_GOOGLE_CLOUD_TPU_ENDPOINTS"


@export("distribute.cluster_resolver.TPUClusterResolver", "contrib.cluster_resolver.TPUClusterResolver", "contrib.tpu.TPUClusterResolver")
class TPUClusterResolver(ClusterResolver):
    """The TPUs of this machine, or of given addresses.

    Args:
      tpu: "" or "local" for this machine's, or "grpc://address:port,..."; by default KUBE_GOOGLE_CLOUD_TPU_ENDPOINTS or TPU_NAME.
      zone, project, credentials, service, discovery_url: of a Cloud TPU, which is looked up by name; see below.
      job_name: job of the TPUs' tasks.
      coordinator_name, coordinator_address: a further job of one task.

    Raises:
      ValueError: no TPU is given. NotImplementedError: it is given by a name that the cloud has to be asked for.
    """

    def __init__(
        self, tpu: Any = None, zone: str | None = None, project: str | None = None, job_name: str = "worker",
        coordinator_name: str | None = None, coordinator_address: str | None = None, credentials: Any = "default",
        service: Any = None, discovery_url: str | None = None,
    ) -> None:  # fmt: skip
        if isinstance(tpu, list):
            if not tpu:
                raise ValueError("At least one TPU must be specified.")
            if len(tpu) != 1:
                raise NotImplementedError("Using multiple TPUs in a single session is not yet implemented")
            tpu = tpu[0]
        if tpu is None:
            tpu = os.environ.get(_GKE_ENDPOINTS, os.environ.get("TPU_NAME"))
        if tpu is None:
            raise ValueError("Please provide a TPU Name to connect to.")
        tpu = tpu.decode() if isinstance(tpu, bytes) else tpu
        is_here = tpu in ("", "local") or tpu.startswith(("localhost:", "/bns", "uptc://"))
        if not is_here and not tpu.startswith("grpc://"):
            raise NotImplementedError(
                f"TPUClusterResolver({tpu!r}): Cloud TPUs are not looked up by name. On a TPU machine use tpu='local': "
                "JAX finds its TPUs."
            )
        self._tpu = tpu.removeprefix("grpc://")
        self._environment, self.rpc_layer = ("google", None) if is_here else ("", "grpc")
        self.task_type, self.task_id = job_name, 0
        self._coordinator = {coordinator_name: [coordinator_address]} if coordinator_address else {}

    def master(self, task_type: str | None = None, task_id: int | None = None, rpc_layer: str | None = None) -> str:
        """The first address, with its protocol."""
        return format_master_url(self._tpu.split(",")[0], rpc_layer or self.rpc_layer)

    def get_master(self) -> str:
        """As `master`."""
        return self.master()

    def get_job_name(self) -> str | None:
        """The job of the TPUs where they are found by name, which they are not."""
        return None

    def cluster_spec(self) -> ClusterSpec | None:
        """The tasks, None for this machine's TPUs."""
        if self.rpc_layer is None:
            return None
        tasks = [address.removeprefix("grpc://") for address in self._tpu.split(",")]
        return ClusterSpec({self.task_type: tasks, **self._coordinator})

    def num_accelerators(
        self, task_type: str | None = None, task_id: int | None = None, config_proto: Any = None
    ) -> dict[str, int]:  # fmt: skip
        """How many TPU cores this machine has."""
        master = "" if self._environment == "google" else self.master()
        found = get_accelerator_devices(master, config_proto)
        return {"TPU": sum(device.device_type == "TPU" for device in found)}

    @property
    def environment(self) -> str:
        return self._environment

    def __deepcopy__(self, memo: dict) -> TPUClusterResolver:
        return self


class _AsksCloud(ClusterResolver):
    """A resolver that would ask a cloud."""

    def cluster_spec(self) -> ClusterSpec:
        raise NotImplementedError(f"tfcompat has no {type(self).__name__}; use SimpleClusterResolver with the addresses.")

    def master(self, task_type: str | None = None, task_id: int | None = None, rpc_layer: str | None = None) -> str:
        raise NotImplementedError(f"tfcompat has no {type(self).__name__}; use SimpleClusterResolver with the addresses.")


@export("distribute.cluster_resolver.GCEClusterResolver", "contrib.cluster_resolver.GCEClusterResolver")
class GCEClusterResolver(_AsksCloud):
    """The machines of a Google Compute Engine group.

    Raises:
      NotImplementedError: always; use SimpleClusterResolver with their addresses.
    """

    def __init__(
        self, project: str, zone: str, instance_group: str, port: int, task_type: str = "worker", task_id: int = 0,
        rpc_layer: str = "grpc", credentials: Any = "default", service: Any = None,
    ) -> None:  # fmt: skip
        raise NotImplementedError("tfcompat has no GCEClusterResolver; use SimpleClusterResolver with the addresses.")


@export("distribute.cluster_resolver.KubernetesClusterResolver", "contrib.cluster_resolver.KubernetesClusterResolver")
class KubernetesClusterResolver(_AsksCloud):
    """The pods of a Kubernetes cluster.

    Raises:
      NotImplementedError: always; use SimpleClusterResolver with their addresses.
    """

    def __init__(
        self, job_to_label_mapping: dict | None = None, tf_server_port: int = 8470, rpc_layer: str = "grpc",
        override_client: Any = None,
    ) -> None:  # fmt: skip
        raise NotImplementedError("tfcompat has no KubernetesClusterResolver; use SimpleClusterResolver with the addresses.")
