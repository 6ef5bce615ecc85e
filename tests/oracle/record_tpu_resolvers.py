"""Records what TPUClusterResolvers of TensorFlow 1.15.5 say (tests/distribute/tpu_resolvers.py); run it with Python 3.7."""

import json
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "distribute"))

import tpu_resolvers  # noqa: E402
from tensorflow.python.distribute.cluster_resolver import tpu_cluster_resolver  # noqa: E402
from tensorflow.python.eager import context  # noqa: E402

found = {"graph": {case: tpu_resolvers.outcome(tpu_cluster_resolver, case) for case in tpu_resolvers.CASES}}
with context.eager_mode():
    found["eager"] = {case: tpu_resolvers.outcome(tpu_cluster_resolver, case) for case in tpu_resolvers.CASES}
with open(os.path.join(HERE, "..", "golden", "distribute", "tpu_resolvers.json"), "w") as file:
    json.dump(found, file, sort_keys=True)
    file.write("\n")
