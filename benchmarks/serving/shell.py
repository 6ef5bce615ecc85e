"""A Session behind HTTP, as one writes it by hand: `python shell.py FOLDER SIGNATURE`; prints its port.

Takes the rows of TensorFlow Serving's REST interface. Runs with TensorFlow 1.15 and under `tfcompat run`.
"""

import base64
import http.server
import json
import sys

import numpy as np
import tensorflow as tf


def decoded(rows):
    return [base64.b64decode(row["b64"]) for row in rows] if isinstance(rows[0], dict) else rows


def as_json(value):
    return value.decode() if isinstance(value, bytes) else value


def main(folder, key):
    session = tf.Session(graph=tf.Graph())
    signature = tf.saved_model.loader.load(session, ["serve"], folder).signature_def[key]
    (fed,) = signature.inputs.values()
    fetches = {name: info.name for name, info in signature.outputs.items()}
    kind = tf.as_dtype(fed.dtype).as_numpy_dtype

    class Handler(http.server.BaseHTTPRequestHandler):
        protocol_version, disable_nagle_algorithm, wbufsize = "HTTP/1.1", True, -1

        def do_POST(self):
            document = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            found = session.run(fetches, {fed.name: np.array(decoded(document["instances"]), kind)})
            columns = [value.tolist() for value in found.values()]
            body = json.dumps({"predictions": [dict(zip(found, row)) for row in zip(*columns)]}, default=as_json).encode()
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)
            self.wfile.flush()

        def log_message(self, *arguments):
            """Nothing."""

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    print("port", server.server_address[1], flush=True)
    server.serve_forever()


if __name__ == "__main__":
    main(*sys.argv[1:])
