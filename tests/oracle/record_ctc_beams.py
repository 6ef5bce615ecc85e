"""Records how TensorFlow 1.15 decodes by beams that are full: `python tests/oracle/record_ctc_beams.py`, on its interpreter."""

import json
import os

import numpy as np
import tensorflow as tf

SEARCHES = [
    dict(seed=0, time=20, classes=6, lengths=[20, 11], beam_width=10, top_paths=3, merge_repeated=True),
    dict(seed=1, time=40, classes=12, lengths=[40, 3, 0], beam_width=30, top_paths=1, merge_repeated=False),
    dict(seed=2, time=30, classes=4, lengths=[30], beam_width=5, top_paths=5, merge_repeated=False),
    dict(seed=3, time=25, classes=29, lengths=[25, 25], beam_width=100, top_paths=2, merge_repeated=True),
    dict(seed=4, time=25, classes=3, lengths=[25, 25], beam_width=1, top_paths=1, merge_repeated=False),
]


def record(search):
    logits = np.random.RandomState(search["seed"]).standard_normal((search["time"], len(search["lengths"]), search["classes"]))
    options = {name: search[name] for name in ("beam_width", "top_paths", "merge_repeated")}
    with tf.Graph().as_default(), tf.compat.v1.Session() as session:
        decoded, scores = session.run(tf.nn.ctc_beam_search_decoder(logits.astype(np.float32), search["lengths"], **options))
    return dict(search, paths=[[part.tolist() for part in path] for path in decoded], scores=scores.tolist())


if __name__ == "__main__":
    golden = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "golden", "ctc_beams.json")
    with open(golden, "w") as file:
        file.write("[" + ",\n".join(json.dumps(record(search), sort_keys=True) for search in SEARCHES) + "]\n")
