"""Resolvers of clouds: Google Compute Engine, Kubernetes."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from tfcompat._src.base.export import export
from tfcompat._src.distribute.cluster_resolver.cluster_resolver import ClusterResolver, format_master_url
from tfcompat._src.train.cluster import ClusterSpec

if TYPE_CHECKING:
    from types import ModuleType


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
