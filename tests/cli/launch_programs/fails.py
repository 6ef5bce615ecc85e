"""The second worker fails, the others would wait for ever."""

import json
import os
import signal
import sys

task = json.loads(os.environ["TF_CONFIG"])["task"]
if task == {"type": "worker", "index": 1}:
    print("no more")
    sys.exit(3)
signal.pause()
