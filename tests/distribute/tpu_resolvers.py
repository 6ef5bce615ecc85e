"""TPUClusterResolvers with a Cloud TPU service and a metadata server that are functions; imports under both Pythons."""

import os

TASKS = [{"ipAddress": "10.0.0.%d" % i, "port": 8470} for i in (1, 2)]
NODES = {
    "ready": {"state": "READY", "networkEndpoints": TASKS},
    "unlisted": {"ipAddress": "10.0.0.7", "port": "8470"},
    "starting": {"state": "CREATING", "networkEndpoints": TASKS},
    "empty": {"networkEndpoints": []},
}
METADATA = {"project/project-id": b"p", "instance/zone": b"projects/1/zones/z"}
ENDPOINTS = {"KUBE_GOOGLE_CLOUD_TPU_ENDPOINTS": "grpc://10.0.1.1:8470,grpc://10.0.1.2:8470"}


class Service:
    """The client of the Cloud TPU service, in which every call but the last returns the next client."""

    def projects(self):
        return self

    locations = nodes = projects

    def get(self, name):
        self.name = name
        return self

    def execute(self):
        parent, _, node = self.name.rpartition("/")
        assert parent == "projects/p/locations/z/nodes", parent
        return NODES[node]


HERE = {"project": "p", "zone": "z", "service": Service()}
CASES = {
    "ready": (dict(HERE, tpu="ready"), {}, False),
    "of this project and zone": ({"tpu": ["ready"], "service": Service()}, {}, True),
    "unlisted": (dict(HERE, tpu="unlisted", job_name="tpu"), {}, False),
    "with a coordinator": (dict(HERE, tpu="ready", coordinator_name="c", coordinator_address="10.0.0.9:1"), {}, False),
    "starting": (dict(HERE, tpu="starting"), {}, False),
    "empty": (dict(HERE, tpu="empty"), {}, False),
    "unknown": (dict(HERE, tpu="unknown"), {}, False),
    "no list": ({"tpu": []}, {}, False),
    "two": ({"tpu": ["a", "b"]}, {}, False),
    "none": ({}, {}, False),
    "without a client": ({"tpu": "ready", "project": "p", "zone": "z"}, {}, False),
    "TPU_NAME": (dict(HERE), {"TPU_NAME": "ready", "TPU_API_DISCOVERY_URL": "https://x"}, False),
    "endpoints": ({"discovery_url": "https://y"}, ENDPOINTS, False),
    "endpoints before TPU_NAME": ({}, dict(ENDPOINTS, TPU_NAME="ready"), False),
    "addresses": ({"tpu": "grpc://a:1,grpc://b:2", "job_name": "tpu", "coordinator_name": "c"}, {}, False),
    "addresses with a coordinator": ({"tpu": "grpc://a:1", "coordinator_name": "c", "coordinator_address": "d:1"}, {}, True),
    "nothing": ({"tpu": ""}, {}, False),
    "nothing in the cloud": ({"tpu": ""}, {}, True),
    "local": ({"tpu": "local", "coordinator_name": "c"}, {}, False),
    "localhost": ({"tpu": "localhost:1"}, {}, False),
    "bns": ({"tpu": "/bns/x"}, {}, False),
    "bns with a number": ({"tpu": "/bns/x:12"}, {}, True),
    "bns with a port": ({"tpu": "/bns/x:port"}, {}, False),
    "uptc": ({"tpu": "uptc://x"}, {}, False),
    "grpc in a name": (dict(HERE, tpu="grpctpu"), {}, False),
}


def tried(call):
    try:
        return call()
    except (ImportError, NotImplementedError, RuntimeError, ValueError) as e:
        return [type(e).__name__, str(e)]


def described(resolver):
    spec = tried(resolver.cluster_spec)
    return {
        "spec": spec.as_dict() if hasattr(spec, "as_dict") else spec,
        "master": tried(resolver.master),
        "another": tried(lambda: resolver.master("worker", 1, "http")),
        "here": [resolver.environment, resolver.rpc_layer, resolver.task_type, resolver.task_id],
        "job": resolver.get_job_name(),
        "kept": [str(resolver._tpu), resolver._project, resolver._zone, resolver._discovery_url, resolver._should_resolve()],
    }


def outcome(module, case):
    """What a resolver says, or its error. `module` is the one that defines the class."""
    arguments, environment, in_cloud = CASES[case]
    module.is_running_in_gce = lambda: in_cloud
    module.TPUClusterResolver._request_compute_metadata = lambda self, path: METADATA[path]
    for key in ("TPU_NAME", "TPU_API_DISCOVERY_URL", "KUBE_GOOGLE_CLOUD_TPU_ENDPOINTS"):
        os.environ.pop(key, None)
    os.environ.update(environment)
    return tried(lambda: described(module.TPUClusterResolver(**arguments)))
