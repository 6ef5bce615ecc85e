"""examples/serving: the Dockerfile and the manifest for Kubernetes are well formed, and fit the server and each other. Neither is built here."""

import json
import pathlib
import re
import shlex

import pytest

from tfcompat._src.serving.server import Settings

ROOT = pathlib.Path(__file__).parents[2]
EXAMPLES = ROOT / "examples" / "serving"
INSTRUCTIONS = {
    "ADD", "ARG", "CMD", "COPY", "ENTRYPOINT", "ENV", "EXPOSE", "FROM", "HEALTHCHECK", "LABEL", "ONBUILD", "RUN", "SHELL", "STOPSIGNAL", "USER",
    "VOLUME", "WORKDIR",
}  # fmt: skip


def instructions():
    """The instructions of the Dockerfile and their arguments (Dockerfile reference: format)."""
    text = re.sub(r"\\\n", " ", (EXAMPLES / "Dockerfile").read_text())
    lines = [line for line in text.splitlines() if line.strip() and not line.lstrip().startswith("#")]
    return [tuple(line.split(maxsplit=1)) for line in lines]


def flags(text):
    return set(re.findall(r"--([a-z_]+)=?", text))


def test_the_dockerfile():
    found = instructions()
    assert found[0][0] == "FROM" and {name for name, _ in found} <= INSTRUCTIONS
    for name, argument in found:
        if name == "COPY":
            *sources, _ = shlex.split(argument)
            assert all((ROOT / source).exists() for source in sources)
    ((entry,),) = [[json.loads(argument)] for name, argument in found if name == "ENTRYPOINT"]
    shell, option, script, zeroth = entry
    assert (shell, option, zeroth) == ("/bin/sh", "-c", "serve")  # what follows the image's name in `docker run` is "$@"
    assert script.startswith("exec tfcompat serve ")  # SIGTERM reaches the server
    assert flags(script) <= set(Settings._fields)


def test_the_manifest():
    yaml = pytest.importorskip("yaml")  # flax brings it
    deployment, service = yaml.safe_load_all((EXAMPLES / "kubernetes.yaml").read_text())
    assert (deployment["apiVersion"], deployment["kind"], service["apiVersion"], service["kind"]) == ("apps/v1", "Deployment", "v1", "Service")
    spec = deployment["spec"]
    assert spec["selector"]["matchLabels"] == spec["template"]["metadata"]["labels"] == service["spec"]["selector"]
    (container,) = spec["template"]["spec"]["containers"]
    assert set().union(*map(flags, container["args"])) <= set(Settings._fields)
    ports = {port["name"]: port["containerPort"] for port in container["ports"]}
    exposed = next(argument for name, argument in instructions() if name == "EXPOSE")
    assert sorted(ports.values()) == list(map(int, exposed.split()))
    assert all(port["targetPort"] in ports and port["port"] == ports[port["name"]] for port in service["spec"]["ports"])
    (model,) = [variable["value"] for variable in container["env"] if variable["name"] == "MODEL_NAME"]
    assert container["readinessProbe"]["httpGet"] == {"path": f"/v1/models/{model}", "port": "rest"}
    volumes = {volume["name"] for volume in spec["template"]["spec"]["volumes"]}
    assert {mount["name"] for mount in container["volumeMounts"]} == volumes
    environment = dict(pair.split("=") for name, argument in instructions() if name == "ENV" for pair in shlex.split(argument))
    assert environment["TFCOMPAT_CACHE_DIR"] in {mount["mountPath"] for mount in container["volumeMounts"]}
