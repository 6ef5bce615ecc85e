"""`python as_compat_v1.py SCRIPT` runs a TF1 script on TensorFlow 2, where `import tensorflow` is its compat.v1."""

import runpy
import sys

import tensorflow.compat.v1 as tf

tf.disable_v2_behavior()
sys.modules["tensorflow"] = tf
runpy.run_path(sys.argv[1], run_name="__main__")
