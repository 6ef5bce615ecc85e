"""A small network that is trained on one device, to see that compiled steps work there and how long they take."""

from __future__ import annotations

import time
from typing import NamedTuple

import numpy as np

from tfcompat._src.graph.graph import Graph
from tfcompat._src.ops.array.constant import placeholder
from tfcompat._src.ops.array.fill import zeros
from tfcompat._src.ops.math.matmul import matmul
from tfcompat._src.ops.math.reduce import reduce_mean
from tfcompat._src.ops.nn.activation import relu
from tfcompat._src.proto import messages
from tfcompat._src.runtime.engines import choice
from tfcompat._src.runtime.session.session import Session
from tfcompat._src.train.gradient_descent import GradientDescentOptimizer
from tfcompat._src.variables.collections import global_variables_initializer
from tfcompat._src.variables.scope import get_variable

STEPS = 50
_UNITS = 256


class Training(NamedTuple):
    """The device that trained, seconds of the first step and of a later one, and the loss of the first and the last."""

    device: str
    compiling: float
    step: float
    losses: tuple[float, float]


def train() -> Training:
    """Trains where operations without a device go; compiles on a CPU too, where a few steps would be interpreted.

    Raises:
      errors.OpError: the device cannot compile or run a step.
    """
    random = np.random.RandomState(0)
    graph = Graph()
    with graph.as_default():
        x = placeholder("float32", [_UNITS, _UNITS])
        w = get_variable("w", initializer=random.normal(0, 0.1, [_UNITS, _UNITS]).astype(np.float32))
        v = get_variable("v", initializer=zeros([_UNITS, 1]))
        loss = reduce_mean((matmul(relu(matmul(x, w)), v) - 1.0) ** 2.0)
        step = GradientDescentOptimizer(0.01).minimize(loss)
        start = global_variables_initializer()
    feeds = {x: random.uniform(size=[_UNITS, _UNITS]).astype(np.float32)}
    with choice.without_interpreter(), Session(graph=graph, config=messages.ConfigProto()) as session:
        session.run(start)
        times = [time.perf_counter()]
        losses = []
        for _ in range(STEPS):
            losses.append(float(session.run([loss, step], feeds)[0]))
            times.append(time.perf_counter())
        device = session.context.placer.device_of(loss.op).name.rpartition("/device:")[2]
    return Training(device, times[1] - times[0], float(np.median(np.diff(times[1:]))), (losses[0], losses[-1]))
