"""The resolver of Cloud TPUs, of TPUs behind given addresses, and of this machine's.

A name is looked up by the Cloud TPU service with Google's API client, which is imported only then. Addresses, "" and "local" are taken
without asking anybody.
"""

from __future__ import annotations

import importlib
import os
import re
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import six

from tfcompat._src.base import errors
from tfcompat._src.base.export import export
from tfcompat._src.distribute.cluster_resolver.cluster_resolver import (
    ClusterResolver,
    format_master_url,
    get_accelerator_devices,
)
from tfcompat._src.graph.scopes import executing_eagerly_outside_functions
from tfcompat._src.platform import logging
from tfcompat._src.platform.compat import as_bytes, as_text
from tfcompat._src.train.cluster import ClusterSpec, Server

_METADATA = "http://metadata.google.internal/computeMetadata/v1"
_CORE = re.compile(r".*task:(?P<task>\d+)/.*device:TPU:(?P<core>\d+)$")
_RETRIES = 120
_LOCAL = ("", "local")


class DeviceDetails(NamedTuple):
    """The numbers of the TPU cores of each task, and how many cores there are."""

    device_map: dict[str, list[str]]
    total_cores: int


def _metadata_request(path: str) -> Any:
    return six.moves.urllib.request.Request(_METADATA + path, headers={"Metadata-Flavor": "Google"})


def is_running_in_gce() -> bool:
    """Whether this machine belongs to Google Compute Engine: asks for the metadata that machines there get, for one second at most."""
    try:
        reply = six.moves.urllib.request.urlopen(_metadata_request(""), timeout=1)
    except six.moves.urllib.error.URLError:
        return False
    return reply.info().get("Metadata-Flavor") == "Google"


def _api_client() -> tuple[Any, Any]:
    """Returns the discovery module of Google's API client, and the class of its credentials.

    Raises:
      ImportError: one of their packages is not installed.
    """
    try:
        return importlib.import_module("googleapiclient.discovery"), importlib.import_module("oauth2client.client").GoogleCredentials
    except ImportError:
        raise ImportError(
            "googleapiclient and oauth2client must be installed before using the TPU cluster resolver. Execute: "
            "`pip install --upgrade google-api-python-client` and `pip install --upgrade oauth2client` to install with pip."
        ) from None


def _without_number(address: str) -> str:
    """An address of Google's name service without its port, if that is a number; named ports stay."""
    name, _, port = address.rpartition(":")
    return name if name and port.isdigit() else address


@export("distribute.cluster_resolver.TPUClusterResolver", "contrib.cluster_resolver.TPUClusterResolver")
class TPUClusterResolver(ClusterResolver):
    """The tasks of a Cloud TPU, of given addresses, or the TPUs of this machine.

    Args:
      tpu: the name of a Cloud TPU, or a list of one; "grpc://address:port,..."; "" or "local" for this machine's TPUs. By default the value
        of KUBE_GOOGLE_CLOUD_TPU_ENDPOINTS, else that of TPU_NAME.
      zone, project: of a Cloud TPU; by default those of this machine, for which its metadata server is asked.
      job_name: job of the TPUs' tasks.
      coordinator_name: a further job of one task, which is this process; None for no such job.
      coordinator_address: the address of that task; by default a server is started for it where the TPU is a Cloud TPU.
      credentials: for the Cloud TPU service, by default those of the application.
      service: a client of the Cloud TPU service, by default one of the package google-api-python-client.
      discovery_url: where the service is described; TPU_API_DISCOVERY_URL takes precedence.

    Raises:
      ValueError: no TPU is given.
      NotImplementedError: there are several.
      RuntimeError: `tpu` is "" on a machine of Google Compute Engine.
      ImportError: `tpu` is a name, `service` is None, and Google's API client is not installed.
    """

    rpc_layer: str | None

    def __init__(
        self, tpu: Any = None, zone: str | None = None, project: str | None = None, job_name: str | None = "worker",
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
            tpu = self._gke_endpoints() if self._in_gke() else os.environ.get("TPU_NAME")
        if tpu is None:
            raise ValueError("Please provide a TPU Name to connect to.")
        name = as_text(tpu)
        if not name and is_running_in_gce():
            raise RuntimeError("You need to specify a TPU Name if you are running in the Google Cloud environment.")
        is_google = name in _LOCAL or name.startswith(("localhost:", "/bns", "uptc://"))
        self._is_name = not is_google and not name.startswith("grpc://")
        self._environment, self.rpc_layer = ("google", None) if is_google else ("", "grpc")
        # Bytes, as in 1.15, whose programs and errors show them.
        self._tpu = as_bytes(_without_number(name) if name.startswith("/bns") else name.removeprefix("grpc://"))
        self.task_type, self.task_id = job_name, 0

        self._service, self._credentials = service, credentials
        self._discovery_url = self._environment_discovery_url() or discovery_url
        if self._is_name:
            if service is None:
                _api_client()
            project = project or as_text(self._request_compute_metadata("project/project-id"))
            zone = zone or as_text(self._request_compute_metadata("instance/zone")).rpartition("/")[-1]
        self._project, self._zone = project, zone

        self._coordinator_name, self._coordinator_address = coordinator_name, coordinator_address
        if coordinator_name and not coordinator_address and (self._is_name or self._in_gke()):
            self._start_local_server()

    @staticmethod
    def _in_gke() -> bool:
        """Whether Google Kubernetes Engine says which TPUs the container has."""
        return "KUBE_GOOGLE_CLOUD_TPU_ENDPOINTS" in os.environ

    @staticmethod
    def _gke_endpoints() -> str:
        return os.environ["KUBE_GOOGLE_CLOUD_TPU_ENDPOINTS"]

    @staticmethod
    def _environment_discovery_url() -> str | None:
        return os.environ.get("TPU_API_DISCOVERY_URL")

    def _should_resolve(self) -> bool:
        """Whether the Cloud TPU service has to be asked for the addresses."""
        return self._is_name

    def _request_compute_metadata(self, path: str) -> bytes:
        """Returns what the metadata server of Google Compute Engine says of this machine."""
        return as_bytes(six.moves.urllib.request.urlopen(_metadata_request("/" + path)).read())

    def _start_local_server(self) -> None:
        """Starts a server in this process, under this machine's address, as the coordinator."""
        address = as_text(self._request_compute_metadata("instance/network-interfaces/0/ip"))
        self._server = Server({"local": ["0.0.0.0:0"]}, protocol="grpc")
        self._coordinator_port = as_text(self._server.target).rpartition(":")[-1]
        self._coordinator_address = f"{address}:{self._coordinator_port}"

    def _tpu_service(self) -> Any:
        """Returns a client of the Cloud TPU service: a new one each time, as connections do not last as long as programs."""
        if self._service:
            return self._service
        discovery, credentials_class = _api_client()
        given = self._credentials if self._credentials not in (None, "default") else credentials_class.get_application_default()
        url = {"discoveryServiceUrl": self._discovery_url} if self._discovery_url else {}
        return discovery.build("tpu", "v1", credentials=given, cache_discovery=False, **url)

    def _fetch_cloud_tpu_metadata(self) -> dict[str, Any]:
        """Returns the Cloud TPU service's description of the TPU.

        Raises:
          ValueError: the service did not answer, or does not know the TPU.
        """
        name = f"projects/{self._project}/locations/{self._zone}/nodes/{as_text(self._tpu)}"
        try:
            return self._tpu_service().projects().locations().nodes().get(name=name).execute()
        # The errors of the service are those of a package which may not be installed.
        except Exception as e:
            raise ValueError(
                f"Could not lookup TPU metadata from name '{self._tpu!r}'. Please doublecheck the tpu argument in the "
                f"TPUClusterResolver constructor. Exception: {e}"
            ) from e

    def _resolved(self) -> list[str]:
        """The addresses of a Cloud TPU's tasks; RuntimeError where it is not ready."""
        found = self._fetch_cloud_tpu_metadata()
        if found.get("state", "READY") != "READY":
            raise RuntimeError(f'TPU "{as_text(self._tpu)}" is not yet ready; state: "{found["state"]}"')
        # A TPU of one task may be described without a list.
        return [f"{task['ipAddress']}:{task['port']}" for task in found.get("networkEndpoints", [found])]

    def _given(self) -> list[str]:
        """The addresses that the resolver was given; of several, each may have its protocol."""
        return [a.removeprefix("grpc://") if self.rpc_layer == "grpc" else a for a in as_text(self._tpu).split(",")]

    def cluster_spec(self) -> ClusterSpec | None:
        """The tasks of the TPUs, for which the Cloud TPU service is asked each time, and the coordinator.

        Returns:
          None in a graph for the TPUs of this machine, which are in no cluster.

        Raises:
          RuntimeError: a Cloud TPU is not ready. ValueError: it cannot be looked up.
        """
        if self.rpc_layer is None and not executing_eagerly_outside_functions():
            return None
        spec = {self.task_type: self._resolved() if self._is_name else self._given()}
        if self._coordinator_address:
            spec[self._coordinator_name] = [self._coordinator_address]
        return ClusterSpec(spec)

    def master(self, task_type: str | None = None, task_id: int | None = None, rpc_layer: str | None = None) -> str:
        """The target of a Session: the address of a Cloud TPU's task, by default of `self.task_type` and `self.task_id`; else the first address.

        Raises:
          ValueError: there is no such task. RuntimeError: a Cloud TPU is not ready.
        """
        if not self._is_name:
            return format_master_url(self._given()[0], rpc_layer or self.rpc_layer)
        if task_type is None or task_id is None:
            task_type, task_id = self.task_type, self.task_id
        return format_master_url(self.cluster_spec().task_address(task_type, task_id or 0), rpc_layer or self.rpc_layer)

    def get_master(self) -> str:
        """As `master`."""
        return self.master()

    def get_job_name(self) -> str | None:
        """The job of the TPUs: None where operations need not name it, which is in a graph, for TPUs without a name, outside of Google's cloud."""
        return self.task_type if executing_eagerly_outside_functions() or self._is_name or is_running_in_gce() else None

    @staticmethod
    def _get_device_dict_and_cores(devices: Iterable[Any]) -> DeviceDetails:
        """Sorts the TPU cores among the devices of a session by tasks."""
        cores: dict[str, list[str]] = {}
        for match in filter(None, (_CORE.match(device.name) for device in devices)):
            cores.setdefault(match["task"], []).append(match["core"])
        return DeviceDetails(cores, sum(map(len, cores.values())))

    @staticmethod
    def _verify_and_return_same_core_count(device_dict: Mapping[Any, list]) -> int:
        """Returns how many cores each task has; RuntimeError where they have different numbers."""
        counts = {len(cores) for cores in device_dict.values()}
        if len(counts) != 1:
            raise RuntimeError(f"TPU cores on each device is not the same. This should never happen. Devices: {device_dict}")
        return counts.pop()

    def num_accelerators(
        self, task_type: str | None = None, task_id: int | None = None, config_proto: object = None
    ) -> dict[str, int]:  # fmt: skip
        """How many TPU cores each task has, as a session on the master says; `task_type` and `task_id` do not matter, as all have as many.

        Raises:
          RuntimeError: the master does not answer in 120 tries, or tasks have different numbers.
        """
        tries = 0
        while True:
            try:
                found = self._get_device_dict_and_cores(get_accelerator_devices(self.master(), config_proto))
                break
            except errors.DeadlineExceededError as e:
                tries += 1
                text = (
                    "Failed to connect to master. The TPU might not be ready (e.g. still scheduling) or the master address is "
                    f"incorrect: got ({self.master()})"
                )
                if tries > _RETRIES:
                    raise RuntimeError(text) from e
                logging.warning("%s", text)
                logging.warning("Retrying (%d/%d)...", tries, _RETRIES)
        return {"TPU": self._verify_and_return_same_core_count(found.device_map) if found.total_cores else 0}

    @property
    def environment(self) -> str:
        """Returns "google" for the TPUs of this machine, and for addresses that only Google's network has; else ""."""
        return self._environment

    def __deepcopy__(self, memo: dict) -> TPUClusterResolver:
        return self
