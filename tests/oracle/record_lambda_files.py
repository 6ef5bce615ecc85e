"""Writes golden/keras/lambda_*.h5: a model whose Lambda is stored as the bytecode of the Python that runs this.

Run it with 1.15.5 and with tfcompat on each version of Python; the name of the file says which it was.

    python tests/oracle/record_lambda_files.py tensorflow|tfcompat NAME
"""

import importlib
import sys
from pathlib import Path

tf = importlib.import_module(sys.argv[1])
folder = Path(__file__).resolve().parent.parent / "golden" / "keras"

layer = tf.keras.layers.Lambda(lambda x: x * 2.0 + 1.0, input_shape=(2,), name="twice")
tf.keras.Sequential([layer]).save(str(folder / ("lambda_%s.h5" % sys.argv[2])))
