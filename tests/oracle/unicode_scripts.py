"""Records ICU's script of every code point, as TensorFlow 1.15.5 gives it, in tfcompat/_src/ops/strings/unicode_scripts.json.

The file is a list of [distance, script]: how far the range starts behind the one before, and its UScriptCode.
"""

import json
import os

import numpy as np
import tensorflow as tf

PATH = os.path.join(os.path.dirname(__file__), "..", "..", "tfcompat", "_src", "ops", "strings", "unicode_scripts.json")

with tf.Session() as session:
    scripts = session.run(tf.strings.unicode_script(tf.constant(np.arange(0x110000, dtype=np.int32))))
starts = np.flatnonzero(np.diff(scripts, prepend=-99))
rows = [[int(distance), int(scripts[start])] for start, distance in zip(starts, np.diff(starts, prepend=0))]
with open(PATH, "w") as f:
    f.write(json.dumps(rows, separators=(",", ":")) + "\n")
