"""Records one message of each kind that processes of TensorFlow 1.15.5 send each other, in tests/golden/cluster_traffic.json.

Two of them train through relays that pass the bytes on. TF1_PYTHON names their Python; run with tfcompat's.
"""

import base64
import functools
import json
import pathlib
import sys

import grpc

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT), str(ROOT / "tests")]

from cluster import processes  # noqa: E402

from tfcompat._src.cluster.channel import MASTER, OPTIONS, WORKER  # noqa: E402
from tfcompat._src.cluster.threads import WaitingThreads  # noqa: E402
from tfcompat._src.proto import pool  # noqa: E402

GOLDEN = ROOT / "tests" / "golden" / "cluster_traffic.json"
LONGEST = 6000


class Relay(grpc.GenericRpcHandler):
    """Passes calls on to a server, and notes messages by their names."""

    def __init__(self, server, address, seen):
        self._channel = grpc.insecure_channel(server, options=OPTIONS)
        self._methods = {m.path: m for service in (MASTER, WORKER) for m in pool.service(service).values()}
        self._seen = seen
        self._grpc = grpc.server(WaitingThreads(), handlers=[self], options=OPTIONS)
        self._grpc.add_insecure_port(address)
        self._grpc.start()

    def service(self, details):
        method = self._methods.get(details.method)
        return method and grpc.unary_unary_rpc_method_handler(functools.partial(self._pass_on, method))

    def _pass_on(self, method, request, context):
        self._note(method.request, request)
        try:
            reply = self._channel.unary_unary(method.path)(request, wait_for_ready=True)
        except grpc.RpcError as e:
            context.abort(e.code(), e.details())
        self._note(method.reply, reply)
        return reply

    def _note(self, message, content):
        """The longest message that is not too long says most."""
        name = message.DESCRIPTOR.full_name
        known = base64.b64decode(self._seen.get(name, ""))
        if name not in self._seen or len(known) < len(content) < LONGEST:
            self._seen[name] = base64.b64encode(content).decode()


def main():
    seen = {}
    ps, worker, to_ps, to_worker = processes.free_addresses(4)
    relays = [Relay(ps, to_ps, seen), Relay(worker, to_worker, seen)]
    with processes.server({"ps": [ps], "worker": [to_worker]}, "ps", 0, real=True):
        cluster = {"ps": [to_ps], "worker": [worker]}
        with processes.Process("traffic", cluster, f"grpc://{to_worker}", real=True) as program:
            program.end()
    del relays
    GOLDEN.write_text(json.dumps(dict(sorted(seen.items())), indent=1) + "\n")
    print(f"{len(seen)} kinds of messages")


if __name__ == "__main__":
    main()
