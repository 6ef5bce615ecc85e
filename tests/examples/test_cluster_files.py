"""The files for Kubernetes and Slurm are well-formed, and give each task the TF_CONFIG that TensorFlow's documentation describes."""

import json
import os
import stat
import subprocess
from pathlib import Path

import yaml

FILES = Path(__file__).resolve().parents[2] / "examples" / "cluster"


def commands(folder, **programs):
    """A PATH in which programs are scripts of sh."""
    for name, body in programs.items():
        path = folder / name
        path.write_text(f"#!/bin/sh\n{body}\n")
        path.chmod(path.stat().st_mode | stat.S_IEXEC)
    return {**os.environ, "PATH": f"{folder}:{os.environ['PATH']}"}


def test_pods_of_kubernetes_know_their_place(tmp_path):
    service, server, worker = yaml.safe_load_all((FILES / "kubernetes.yaml").read_text())
    assert [part["kind"] for part in (service, server, worker)] == ["Service", "StatefulSet", "Job"]
    assert server["spec"]["serviceName"] == worker["spec"]["template"]["spec"]["subdomain"] == service["metadata"]["name"]
    found = []
    for part, pods in ((server, ["ps-0"]), (worker, ["worker-0", "worker-1"])):
        labels = part["spec"]["template"]["metadata"]["labels"]
        assert service["spec"]["selector"].items() <= labels.items()
        (container,) = part["spec"]["template"]["spec"]["containers"]
        for pod in pods:
            env = commands(tmp_path, hostname=f"echo {pod}", tfcompat='echo "$TF_CONFIG"; echo "$@" >&2')
            done = subprocess.run([*container["command"], *container["args"]], env=env, capture_output=True, text=True, check=True)
            assert done.stderr == "run train.py --model_dir=/checkpoints\n"
            found.append(json.loads(done.stdout))
    assert [config["task"] for config in found] == [{"type": "ps", "index": 0}, {"type": "worker", "index": 0}, {"type": "worker", "index": 1}]
    expected = {"ps": ["ps-0.tf:2222"], "worker": ["worker-0.tf:2222", "worker-1.tf:2222"]}
    assert [config["cluster"] for config in found] == [expected] * 3


SRUN = r"""
for word in "$@"; do
  case "$word" in
    --ntasks=*) count=${word#--ntasks=} ;;
    --*) echo "$word" >> "$LOG" ;;
    *) break ;;
  esac
  shift
done
number=0
while [ "$number" -lt $((count - 1)) ]; do SLURM_PROCID=$number "$@"; number=$((number + 1)); done
SLURM_PROCID=$number exec "$@"
"""


def test_tasks_of_slurm_know_their_place(tmp_path):
    # The workers end, and with them the ps, when the ps has said what it is.
    task = '''case "$TF_CONFIG" in *'"ps", "index"'*) echo "$TF_CONFIG"; : > "$LOG.ps"; exec sleep 1000 ;; esac
until [ -e "$LOG.ps" ]; do :; done; echo "$TF_CONFIG"'''
    env = commands(tmp_path, scontrol="printf 'n1\\nn2\\nn3\\n'", srun=SRUN, tfcompat=task)
    env |= {"SLURM_JOB_NODELIST": "n[1-3]", "SLURM_JOB_ID": "123456", "LOG": str(tmp_path / "log")}
    assert subprocess.run(["bash", "-n", FILES / "slurm.sh"], check=False).returncode == 0
    done = subprocess.run(["bash", FILES / "slurm.sh"], env=env, capture_output=True, text=True, check=True)
    found = sorted((json.loads(line) for line in done.stdout.splitlines()), key=lambda config: list(config["task"].values()))
    assert [config["task"] for config in found] == [{"type": "ps", "index": 0}, {"type": "worker", "index": 0}, {"type": "worker", "index": 1}]
    assert [config["cluster"] for config in found] == [{"ps": ["n1:33456"], "worker": ["n2:33456", "n3:33456"]}] * 3
    assert sorted((tmp_path / "log").read_text().split()) == ["--nodelist=n1", "--nodelist=n2,n3", "--nodes=1", "--nodes=2"]
