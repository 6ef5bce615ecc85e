"""`python -m benchmarks --accelerator`: its models on the CPU, what it says of results, and the command."""

import importlib
import math

import jax
import numpy as np
import pytest

import tfcompat as tf
from benchmarks import __main__ as command
from benchmarks import accelerator, report
from benchmarks.measure import Measure
from benchmarks.worker import GraphRunner

CLASSES = {"resnet": 10, "base_transformer": 100, "fed_cnn": 10}


@pytest.mark.parametrize("workload", [*accelerator.TINY, "fed_cnn"])
def test_the_graph_trains_what_its_twin_trains(workload):
    name, *arguments = workload.split(":")
    with tf.Graph().as_default():
        runner = GraphRunner("tfcompat")
        runner.build(workload)
        runner.initialize()
        loss = runner.steps(1)["loss"]
        runner.session.close()
        ours = sorted(v.shape.num_elements() for v in tf.trainable_variables())
    assert 0.5 * math.log(CLASSES[name]) < loss < 3 * math.log(CLASSES[name])
    twin = importlib.import_module(f"benchmarks.workloads.{name}_jax").model(*arguments)
    params = jax.eval_shape(twin.init, jax.random.key(1))[0]
    assert sorted(int(np.prod(leaf.shape)) for leaf in jax.tree.leaves(params)) == ours


@pytest.mark.parametrize("workload", accelerator.TINY)
def test_a_twin_keeps_the_shapes_of_its_state(workload):
    name, *arguments = workload.split(":")
    twin = importlib.import_module(f"benchmarks.workloads.{name}_jax").model(*arguments)
    batch = importlib.import_module(f"benchmarks.workloads.{name}").batches(*arguments)[0]
    state = jax.eval_shape(twin.init, jax.random.key(1))
    after, loss = jax.eval_shape(twin.step, state, *batch)
    assert (loss.shape, loss.dtype) == ((), np.float32)
    assert jax.tree.map(lambda x: (x.shape, x.dtype), after) == jax.tree.map(lambda x: (x.shape, x.dtype), state)


def stored(name, ours, theirs):
    measured = {"workload": "lstm", "name": name, "unit": "ms", "values": {"tfcompat": ours, "jax": theirs}}
    return {**measured, "summary": report.summarize(measured)}


def test_what_falls_short_is_named():
    measures = [stored("step", [2.0, 2.0], [1.0, 1.2]), stored("first step", [1.0], [0.9]), stored("peak memory", [10.0], [8.0])]
    assert accelerator.short(measures) == [
        "lstm: step, jax / tfcompat is 0.55; 0.95 is wanted.",
        "lstm: peak memory, jax / tfcompat is 0.80; 0.9 is wanted.",
    ]


def test_what_no_time_is_left_for_is_named(monkeypatch):
    clock = iter([0.0, 0.0, 100.0, 400.0, 500.0, 500.0])
    monkeypatch.setattr(accelerator.time, "monotonic", lambda: next(clock))
    monkeypatch.setattr(accelerator, "WORKLOADS", ("lstm", "word2vec"))
    monkeypatch.setattr(accelerator, "measure", lambda workload, *rest: ([Measure(workload, "step", "ms")], {}))
    found = accelerator.measure_all([], False, lambda text: None)
    assert ([m.workload for m in found["measures"]], found["left_out"]) == (["lstm"], ["word2vec"])
    assert "word2vec is left out: no time was left." in report.notes(found | {"first_losses": {}, "absent": {}, "measures": []})


def test_the_command_measures_and_says_where_there_is_no_accelerator(monkeypatch, capsys):
    with pytest.raises(SystemExit, match="no accelerator here.*--tiny"):
        command.main(["--accelerator"])
    monkeypatch.setattr(accelerator, "TINY", ())
    monkeypatch.setattr(accelerator, "WORKLOADS", ("word2vec",))
    monkeypatch.setattr(accelerator, "SECONDS", 0.1)
    assert command.main(["--accelerator", "--tiny"]) == 0
    shown = capsys.readouterr().out
    assert " x cpu; " in shown and "word2vec  first step, s" in shown
    with pytest.raises(SystemExit):
        command.main(["--tiny"])
