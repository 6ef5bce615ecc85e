"""Random graphs of a client that tries to reach files, addresses and Python of a server that restricts it.

`PYTHONPATH=. python tests/cluster/attack.py 10000` makes so many.
"""

import os
import random
import sys
import tempfile
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from cluster import processes, reach

import tfcompat as tf
from tfcompat._src.base import confinement
from tfcompat._src.cluster import channel, wire
from tfcompat._src.nodes import raw
from tfcompat._src.proto import messages
from tfcompat._src.runtime.devices import local_servers

SECRET = b"word 1 of the secret"
_EVENTS = ("open", "os.", "sqlite3.connect", "socket.connect", "subprocess.Popen", "shutil.", "glob.glob")
_OF_PYTHON = (sys.prefix, sys.base_prefix, str(Path(tf.__file__).parent), "/proc/", "/sys/", "/usr/")
"""Where modules are imported from, and what the machine says of itself."""
_SUFFIXES = ("", "_allowed_path_0", "/read", "_checked", "/_0", "_1")


class Attack:
    """Graphs against a server in this process; `found` has what should not have happened.

    Args:
      folder: an empty folder. seed: of the random choices.
    """

    def __init__(self, folder, seed):
        self.random = random.Random(seed)
        self.inside, self.outside = folder / "in", folder / "out"
        self.inside.mkdir(), self.outside.mkdir()
        (self.inside / "link").symlink_to(self.outside)
        (self.inside / "text").write_text("a 1\n")
        (self.outside / "secret").write_bytes(SECRET)
        os.environ.update(TFCOMPAT_LISTEN_HOST="0.0.0.0", TFCOMPAT_SERVER_FILES=str(self.inside))
        try:
            self.server = tf.train.Server({"local": processes.free_addresses(1)})
        finally:
            del os.environ["TFCOMPAT_LISTEN_HOST"], os.environ["TFCOMPAT_SERVER_FILES"]
        self.services = local_servers._running[self.server.target].services
        self.master = channel.RemoteService(f"localhost:{self.server.target.rpartition(':')[2]}", channel.MASTER)
        self.found, self.steps, self.answered, self.refused = [], 0, 0, 0
        with tf.Graph().as_default():
            self.function = tf.py_func(lambda: self.found.append("Python ran") or np.int64(1), [], tf.int64)
        sys.addaudithook(self._note)

    def _note(self, event, arguments):
        if confinement.current() is None or not event.startswith(_EVENTS) or not arguments:
            return
        if event == "socket.connect" or event == "subprocess.Popen":
            self.found.append((event, arguments))
        path = arguments[0]
        if isinstance(path, (str, bytes, os.PathLike)):
            path = os.path.realpath(os.fsdecode(path))
            if not path.startswith((str(self.inside), *_OF_PYTHON)) and not path.endswith("__path_hook__") and path not in ("/", str(self.inside.parent)):
                self.found.append((event, path))

    def _path(self):
        inside, outside = str(self.inside), str(self.outside)
        return self.random.choice([
            f"{outside}/secret", f"{inside}/../out/secret", f"file://{outside}/secret", f"{inside}/link/secret", f"{inside}/text", f"{inside}/new",
            inside, outside, f"{inside}/*/secret", f"{inside}/*/../../out/*", "/etc/passwd", f"{inside}/text\0", f"{outside}/new", "", ":memory:",
        ])  # fmt: skip

    def _graph(self):
        """A GraphDef of a few nodes that reach outside, some by a fed name."""
        with tf.Graph().as_default() as graph:
            fed = tf.placeholder_with_default(tf.constant(self._path()), [], name="R")
            for _ in range(self.random.randint(1, 3)):
                kind = self.random.random()
                try:
                    if kind < 0.15:
                        self.random.choice(list(reach.PYTHON.values()))(self.function.op.get_attr("token").decode())
                    elif kind < 0.2:
                        self.random.choice(list(reach.ADDRESSES.values()))("localhost:1")
                    elif kind < 0.4:
                        self.random.choice([raw.ReadFile, raw.MatchingFiles, lambda p: raw.WriteFile(p, "x"), lambda p: raw.Restore(p, "x", dt=tf.float32)])(fed)
                    else:
                        self.random.choice(list(reach.FILES.values()))(self._path())
                except (ValueError, TypeError):
                    continue
        return graph.as_graph_def()

    def _step(self, handle, names):
        """A RunStep that feeds and fetches random nodes, those that a server could have made included."""
        def name(choices):
            return self.random.choice(choices) + self.random.choice(_SUFFIXES if self.random.random() < 0.2 else [""])

        request = {"session_handle": handle, "store_errors_in_response_body": True, "request_id": self.steps + 1}
        feeds = [name(names) for _ in range(self.random.choice([0, 0, 1, 2]))]
        request["feed"] = [
            messages.NamedTensorProto(name=f"{one}:0", tensor=wire.to_proto(np.array(self._path().encode(), object), tf.string)) for one in feeds
        ]
        if self.random.random() < 0.6:
            request["fetch"] = [f"{name(names)}:0"]
        request["target"] = [name(names)]
        request["options"] = messages.RunOptions(timeout_in_ms=3000)
        if self.random.random() < 0.1:
            watch = request["options"].debug_options.debug_tensor_watch_opts.add(node_name=self.random.choice(names), output_slot=0)
            watch.debug_ops.append("DebugIdentity")
            watch.debug_urls.append(f"file://{self.outside}/dump")
        self.steps += 1
        try:
            reply = self.master.call("RunStep", timeout=20, **request)
        except tf.errors.OpError:
            return
        self.answered += not reply.status_code
        self.refused += reply.status_code == tf.errors.PERMISSION_DENIED
        if SECRET in reply.SerializeToString():
            self.found.append(("the secret is in a reply", request))

    def run(self, count):
        """Sends so many graphs."""
        for _ in range(count):
            try:
                session = self.master.call("CreateSession", timeout=20, graph_def=self._graph(), config=messages.ConfigProto())
            except tf.errors.OpError:
                continue
            names = [op.name for op in self.services.master.session(session.session_handle).graph.get_operations()]
            for _ in range(3):
                self._step(session.session_handle, names)
            self.master.call("CloseSession", timeout=20, session_handle=session.session_handle)
        if sorted(path.name for path in self.outside.iterdir()) != ["secret"] or (self.outside / "secret").read_bytes() != SECRET:
            self.found.append("a file outside was written")


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        attack = Attack(Path(folder), 0)
        attack.run(int(sys.argv[1]))
        print(f"{sys.argv[1]} graphs, {attack.steps} steps: {attack.answered} answered, {attack.refused} refused by permission; reached: {attack.found[:5] or 'nothing'}")
