"""Resolvers of clouds: TPUs, Google Compute Engine, Kubernetes."""

from __future__ import annotations

import importlib
import os
import urllib.error
import urllib.request
from typing import TYPE_CHECKING, Any

from tfcompat._src.base.export import export
from tfcompat._src.distribute.cluster_resolver.cluster_resolver import (
    ClusterResolver,
    format_master_url,
    get_accelerator_devices,
)
from tfcompat._src.train.cluster import ClusterSpec

if TYPE_CHECKING:
    from types import ModuleType

_GKE_ENDPOINTS = "KUBE_GOOGLE_CLOUD_TPU_ENDPOINTS"


_METADATA = "http://metadata.google.internal/computeMetadata/v1"


def is_running_in_gce() -> bool:
    """Whether this machine is of Google Compute Engine: it asks for the metadata that machines there get."""
    request = urllib.request.Request(_METADATA, headers={"Metadata-Flavor": "Google"})
    try:
        with urllib.request.urlopen(request, timeout=1) as reply:
            return reply.headers.get("Metadata-Flavor") == "Google"
    except urllib.error.URLError:
        return False


@export("distribute.cluster_resolver.TPUClusterResolver", "contrib.cluster_resolver.TPUClusterResolver")
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
        coordinator_name: str | None = None, coordinator_address: str | None = None, credentials: object = "default",
        service: object = None, discovery_url: str | None = None,
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
        self, task_type: str | None = None, task_id: int | None = None, config_proto: object = None
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


def _client(module: str, package: str, what: str) -> ModuleType:
    """A module of a cloud's client library; ImportError where that is not installed."""
    try:
        return importlib.import_module(module)
    except ImportError:
        raise ImportError(f"{what} needs the package {package}: install it, or give a client of your own.") from None


@export("distribute.cluster_resolver.GCEClusterResolver", "contrib.cluster_resolver.GCEClusterResolver")
class GCEClusterResolver(ClusterResolver):
    """The running machines of a Google Compute Engine group, which is asked each time.

    Args:
      project, zone, instance_group: of the group.
      port: of the TensorFlow servers.
      task_type: the job that the machines are.
      task_id: the number of this one.
      rpc_layer: the protocol before addresses.
      credentials: for the service, by default those of the application.
      service: a client of the service, by default one of the package google-api-python-client.

    Raises:
      ImportError: no service is given and the package is not installed.
    """

    rpc_layer: Any = None
    task_id: Any = None

    def __init__(
        self, project: str, zone: str, instance_group: str, port: int, task_type: str = "worker", task_id: int = 0,
        rpc_layer: str = "grpc", credentials: Any = "default", service: Any = None,
    ) -> None:  # fmt: skip
        self._group = {"project": project, "zone": zone}
        self._instance_group, self._port = instance_group, port
        self._task_type, self.task_id, self.rpc_layer = task_type, task_id, rpc_layer
        self._service = service or self._discovered(credentials)

    @staticmethod
    def _discovered(credentials: object) -> Any:
        discovery = _client("googleapiclient.discovery", "google-api-python-client", "GCEClusterResolver")
        if credentials == "default":
            credentials = _client("google.auth", "google-auth", "GCEClusterResolver").default()[0]
        return discovery.build("compute", "v1", credentials=credentials)

    @property
    def task_type(self) -> str:
        return self._task_type

    @task_type.setter
    def task_type(self, task_type: str) -> None:
        raise RuntimeError("You cannot reset the task_type of the GCEClusterResolver after it has been created.")

    def _address(self, instance: dict) -> str:
        name = instance["instance"].rpartition("/")[-1]
        found = self._service.instances().get(instance=name, **self._group).execute()
        return f"{found['networkInterfaces'][0]['networkIP']}:{self._port}"

    def cluster_spec(self) -> ClusterSpec:
        """The addresses of the machines that run, in order."""
        groups, found = self._service.instanceGroups(), []
        request = groups.listInstances(
            instanceGroups=self._instance_group, body={"instanceState": "RUNNING"}, orderBy="name", **self._group
        )
        while request is not None:
            response = request.execute()
            found += map(self._address, response["items"])
            request = groups.listInstances_next(previous_request=request, previous_response=response)
        return ClusterSpec({self._task_type: sorted(found)})

    def master(self, task_type: str | None = None, task_id: int | None = None, rpc_layer: str | None = None) -> str:
        """The address of a task, by default of this one, with its protocol; "" where no task is meant."""
        task_type = self.task_type if task_type is None else task_type
        task_id = self.task_id if task_id is None else task_id
        if task_type is None or task_id is None:
            return ""
        return format_master_url(self.cluster_spec().task_address(task_type, task_id), rpc_layer or self.rpc_layer)


@export("distribute.cluster_resolver.KubernetesClusterResolver", "contrib.cluster_resolver.KubernetesClusterResolver")
class KubernetesClusterResolver(ClusterResolver):
    """The pods of a Kubernetes cluster, which is asked each time.

    Args:
      job_to_label_mapping: for each job a list of label selectors of its pods; by default {"worker": ["job-name=tensorflow"]}.
      tf_server_port: port of the TensorFlow servers.
      rpc_layer: the protocol before addresses.
      override_client: a client of the cluster, by default one of the package kubernetes.

    Raises:
      ImportError: no client is given and the package is not installed.
    """

    def __init__(
        self, job_to_label_mapping: dict | None = None, tf_server_port: int = 8470, rpc_layer: str = "grpc",
        override_client: Any = None,
    ) -> None:  # fmt: skip
        self._job_to_label_mapping = job_to_label_mapping or {"worker": ["job-name=tensorflow"]}
        self._tf_server_port, self._client = tf_server_port, override_client or self._configured()
        self.task_type, self.task_id, self.rpc_layer = None, None, rpc_layer

    @staticmethod
    def _configured() -> Any:
        kubernetes = _client("kubernetes", "kubernetes", "KubernetesClusterResolver")
        kubernetes.config.load_kube_config()
        return kubernetes.client.CoreV1Api()

    def _address(self, pod: Any) -> str:
        if pod.status.phase != "Running":
            raise RuntimeError(f'Pod "{pod.metadata.name}" is not running; phase: "{pod.status.phase}"')
        return f"{pod.status.host_ip}:{self._tf_server_port}"

    def _addresses(self, selector: str) -> list[str]:
        pods = self._client.list_pod_for_all_namespaces(label_selector=selector).items
        return [self._address(pod) for pod in sorted(pods, key=lambda pod: pod.metadata.name)]

    def cluster_spec(self) -> ClusterSpec:
        """The addresses of the pods; RuntimeError where one does not run."""
        jobs = self._job_to_label_mapping.items()
        return ClusterSpec({job: [a for selector in selectors for a in self._addresses(selector)] for job, selectors in jobs})

    def master(self, task_type: str | None = None, task_id: int | None = None, rpc_layer: str | None = None) -> str:
        """The address of a task with its protocol; "" where no task is meant."""
        task_type = self.task_type if task_type is None else task_type
        task_id = self.task_id if task_id is None else task_id
        if task_type is None or task_id is None:
            return ""
        return format_master_url(self.cluster_spec().task_address(task_type, task_id), rpc_layer or self.rpc_layer)
