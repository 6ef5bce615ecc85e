"""The server of a task, until its input ends: serve.py CLUSTER JOB INDEX."""

import json
import sys

import tensorflow as tf

server = tf.train.Server(json.loads(sys.argv[1]), sys.argv[2], int(sys.argv[3]))
print(json.dumps("ready"), flush=True)
sys.stdin.read()
